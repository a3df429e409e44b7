"""The dtype in which two arrays of scores compare exactly, and blocks of them in that dtype.

Loops see five dtypes: int32, int64, uint64, float32, float64; those that count ranks see float16 too. Other types
(bool, small integers, swapped bytes, strides) are converted block by block. Nothing is narrowed unless every value
survives. 64-bit integers against floats, and signed against unsigned ones, compare as float64, and an
integer beyond ±2**53 is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError

Scores = NDArray[Any]

_EXACT_IN_FLOAT64 = 2**53


def working_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest of the five dtypes that can represent all of `dtypes`."""
    for dtype in dtypes:
        if dtype.kind not in "biuf" or dtype.itemsize > 8:
            raise TypeError(f"scores must be real numbers of at most 64 bits, not {dtype}")
    common = np.result_type(*dtypes)
    if common.kind == "f":
        return np.dtype(np.float64 if common.itemsize == 8 else np.float32)
    if np.can_cast(common, np.int32):
        return np.dtype(np.int32)
    return np.dtype(np.int64 if np.can_cast(common, np.int64) else np.uint64)


def exact(block: Scores, dtype: np.dtype[Any]) -> Scores:
    """A C-contiguous, read-only view of `block` in `dtype`, or a copy if needed."""
    if dtype.kind == "f" and block.dtype.kind in "iu" and block.dtype.itemsize == 8 and block.size:
        refuse_inexact(int(block.min()), int(block.max()))
    converted = np.require(block, dtype, ("C", "A")).view()
    converted.flags.writeable = False
    return converted


def refuse_inexact(low: int, high: int) -> None:
    """Raise an error if integers between these do not all compare exactly with float64."""
    if max(high, -low) > _EXACT_IN_FLOAT64:
        raise InputError(
            f"the integer {high if high > -low else low} beyond ±2**53 does not compare exactly with floats",
            fix="Give all scores in the same dtype.",
        )


def comparable(pos: Scores, neg: Scores) -> Scores:
    """`pos` in the dtype in which it compares exactly with `neg`, narrowed to that of `neg` if nothing is lost."""
    dtype, narrow = working_dtype(pos.dtype, neg.dtype), working_dtype(neg.dtype)
    if neg.dtype == np.float16:
        narrow = neg.dtype
    if pos.dtype.kind == narrow.kind == "f" and narrow.itemsize < dtype.itemsize:
        with np.errstate(over="ignore", under="ignore"):
            candidate = pos.astype(narrow)
        if np.array_equal(candidate, pos, equal_nan=True):
            return exact(candidate, narrow)
    return exact(pos, dtype)
