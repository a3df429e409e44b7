"""Scores against scores, exactly: the type in which two arrays compare, and the counts of them.

The loops see int32, int64, uint64, float32 and float64; those that count ranks see float16, too. Other types (bool,
small integers, strides) are converted, block by block. Nothing is narrowed unless every value survives.
64-bit integers against floats, and signed against unsigned ones, compare as float64, and an integer beyond ±2**53 is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import is_cuda, on_device
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints

_EXACT_IN_FLOAT64 = 2**53
# Negatives that are placed at a time.
_PLACED = 1 << 22
# Negatives per positive from which placing every negative is faster than sorting.
_FEW_POSITIVES = 128


def working_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest type of the loops that can represent all of `dtypes`."""
    common = np.result_type(*dtypes)
    if common.kind == "f":
        return np.dtype(np.float64 if common.itemsize == 8 else np.float32)
    if np.can_cast(common, np.int32):
        return np.dtype(np.int32)
    return np.dtype(np.int64 if np.can_cast(common, np.int64) else np.uint64)


def exact(scores: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    """A C-contiguous view of scores in `dtype`, or a copy if needed."""
    if dtype.kind == "f" and scores.dtype.kind in "iu" and scores.dtype.itemsize == 8 and scores.size:
        low, high = int(scores.min()), int(scores.max())
        if max(high, -low) > _EXACT_IN_FLOAT64:
            what = f"the integer {high if high > -low else low} beyond ±2**53 does not compare exactly with floats"
            raise InputError(what, fix="Give all scores in the same dtype.")
    return np.require(scores, dtype, ("C", "A"))


def comparable(pos: AnyArray, neg: AnyArray) -> AnyArray:
    """`pos` in the type in which it compares exactly with `neg`, narrowed to that of `neg` if nothing is lost."""
    dtype = working_dtype(pos.dtype, neg.dtype)
    narrow = neg.dtype if neg.dtype == np.float16 else working_dtype(neg.dtype)
    if pos.dtype.kind == narrow.kind == "f" and narrow.itemsize < dtype.itemsize:
        with np.errstate(over="ignore", under="ignore"):
            candidate = pos.astype(narrow)
        if np.array_equal(candidate, pos, equal_nan=True):
            return candidate
    return exact(pos, dtype)


class RowCounts(NamedTuple):
    """For each query: the negatives above the positive, beside it, NaN, at −inf, and all; NaN is only in the last."""

    greater: AnyArray
    equal: AnyArray
    missing: AnyArray
    lowest: AnyArray
    negatives: AnyArray


def row_counts(pos: Any, neg: Any, offsets: Ints | None = None, mask: Any = None) -> RowCounts:
    """Of positives (n,), each against its row of negatives (n, k), perhaps masked, or flat ones with `offsets`.

    A matrix on a CUDA device is counted there.
    """
    if is_cuda(neg):
        return device_counts(pos, neg.detach(), mask)
    # Slices of a memory map are slow to make; the plain array over it shares the memory.
    neg = np.asarray(neg)
    pos = comparable(pos, neg)
    neg, threads = exact(neg, pos.dtype), threads_for(neg.size)
    if offsets is not None:
        return RowCounts(*_core.ragged_rank_counts(pos, neg, offsets, threads=threads))
    use = None if mask is None else np.require(mask, None, ("C", "A"))
    return RowCounts(*_core.rank_counts(pos, neg, use, threads=threads))


def is_read_directly(scores: AnyArray) -> bool:
    """Whether the loops that count ranks read scores where they are, without a copy."""
    known = scores.dtype == np.float16 or scores.dtype == working_dtype(scores.dtype)
    return known and scores.flags.c_contiguous and scores.flags.aligned


class Levels(NamedTuple):
    """At each distinct positive score, highest first: positives equal to it, negatives greater and equal."""

    values: AnyArray
    positives: Ints
    greater: Ints
    equal: Ints


def levels(pos: AnyArray, neg: AnyArray) -> Levels:
    """The exact counts of negatives (n,) above and beside each distinct value of positives (m,), none of them NaN.

    With few positives no negative is sorted: each is placed among the positives.

    >>> levels(np.array([0.9, 0.5, 0.5]), np.array([0.7, 0.5, 0.1, 0.0]))[1:]
    (array([1, 2]), array([0, 1]), array([0, 1]))
    """
    dtype = working_dtype(pos.dtype, neg.dtype)
    values, positives = _core.distinct_values(np.sort(exact(pos, dtype)))
    threads = threads_for(neg.size)
    if pos.size * _FEW_POSITIVES > neg.size:
        greater, equal = _core.merged_counts(values, np.sort(exact(neg, dtype)), threads)
    else:
        rising, counts = np.ascontiguousarray(values[::-1]), np.zeros((2, len(values)), np.int64)
        for start in range(0, neg.size, _PLACED):  # what has to be converted is converted block by block
            counts += _core.placed_counts(rising, exact(neg[start : start + _PLACED], dtype), threads)[:2]
        greater, equal = counts[:, ::-1]
    return Levels(values + 0, positives, greater, equal)  # −0.0 and 0.0 are one value, and read as the latter


# ---- on a CUDA device, by plain operations of torch; only counts are copied to the host

# Elements compared at once.
_BLOCK = 1 << 23


def device_counts(pos: Any, neg: Any, mask: Any = None) -> RowCounts:
    """As `row_counts`, of tensors: `neg` is on the device, `pos` and `mask` there or on the host."""
    import torch

    pos, use = on_device(pos, neg.device), None if mask is None else on_device(mask, neg.device)
    dtype = _compared_as(pos, neg)
    counts = torch.zeros((5, len(pos)), dtype=torch.int64, device=neg.device)
    for part, columns in _tiles(len(pos), neg.shape[1]):
        reference, block = pos[part, None].to(dtype), neg[part, columns].to(dtype)
        marks = [block > reference, block == reference, block != block, torch.isneginf(block), block == block]
        marks[4] = marks[4] | marks[2]
        for column, mark in zip(counts, marks, strict=True):
            column[part] += (mark if use is None else mark & use[part, columns]).sum(1)
    return RowCounts(*counts.cpu().numpy())


def _tiles(rows: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a matrix with at most `_BLOCK` elements."""
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        for first in range(0, width, _BLOCK):
            yield slice(start, start + step), slice(first, first + _BLOCK)


def _compared_as(pos: Any, neg: Any) -> Any:
    """The type in which two tensors compare exactly; integers that do not compare exactly with floats are refused."""
    import torch

    if pos.is_floating_point() == neg.is_floating_point():
        return torch.promote_types(pos.dtype, neg.dtype)
    for scores in (pos, neg):
        if scores.dtype == torch.int64 and scores.numel() and int(scores.abs().max()) > _EXACT_IN_FLOAT64:
            what = f"integers beyond ±2**53, such as {int(scores.abs().max())}, do not compare exactly with floats"
            raise InputError(what, fix="Give all scores in the same type.")
    return torch.float64
