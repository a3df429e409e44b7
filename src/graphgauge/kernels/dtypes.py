"""The dtype in which two arrays of scores compare exactly, and blocks of them in that dtype.

Kernels see five dtypes: int32, int64, uint64, float32, float64. Other types (float16, bool, small integers,
swapped bytes, strides) are converted block by block. Nothing is narrowed unless every value
survives. 64-bit integers against floats, and signed against unsigned ones, compare as float64, and an
integer beyond ±2**53 is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.kernels.jit import kernel

Halves = NDArray[np.float16]
Singles = NDArray[np.float32]


def singles(halves: Halves) -> Singles:
    """The same values in float32, in a new array.

    >>> singles(np.array([0.5, -np.inf], np.float16))
    array([ 0.5, -inf], dtype=float32)
    """
    halves = np.ascontiguousarray(halves)
    widened = np.empty(halves.shape, np.float32)
    flat = widened.reshape(-1)
    bits = halves.reshape(-1).view(np.uint16)
    _widen.implementation(halves.size)(bits, flat.view(np.uint32), flat)
    return widened


def _widen_twin(bits: NDArray[np.uint16], words: NDArray[np.uint32], widened: Singles) -> None:
    widened[:] = bits.view(np.float16)


@kernel(twin=_widen_twin)
def _widen(bits: NDArray[np.uint16], words: NDArray[np.uint32], widened: Singles) -> None:
    """Write the bits of normal numbers, infinities and NaN to `words`, then the rest to the same memory as floats."""
    some_left = False
    for index in range(bits.size):
        half = np.uint32(bits[index])
        magnitude = half & np.uint32(0x7FFF)
        # The exponent is rebiased from 15 to 127, and by as much again for infinity or NaN.
        rebias = np.uint32(0x70000000) if magnitude >= np.uint32(0x7C00) else np.uint32(0x38000000)
        words[index] = (half & np.uint32(0x8000)) << np.uint32(16) | (magnitude << np.uint32(13)) + rebias
        if magnitude < np.uint32(0x0400):
            some_left = True
    if some_left:
        for index in range(bits.size):
            magnitude = bits[index] & np.uint16(0x7FFF)
            if magnitude < np.uint16(0x0400):
                size = np.float32(magnitude) * np.float32(2.0**-24)
                widened[index] = -size if bits[index] & np.uint16(0x8000) else size


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
    if block.dtype == np.float16 and dtype == np.float32:
        block = singles(block)
    converted = np.ascontiguousarray(block, dtype).view()
    # Always read-only, so that each kernel is compiled only once per dtype.
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
    if pos.dtype.kind == narrow.kind == "f" and narrow.itemsize < dtype.itemsize:
        with np.errstate(over="ignore", under="ignore"):
            candidate = pos.astype(narrow)
        if np.array_equal(candidate, pos, equal_nan=True):
            return exact(candidate, narrow)
    return exact(pos, dtype)
