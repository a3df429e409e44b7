"""How many negatives are above a positive, and how many are tied with it: the counts behind every rank.

One pass over the negatives, without another array of their size. NaN is counted separately; the caller decides what
it means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Mask
from graphgauge.kernels.dtypes import Scores, comparable, exact
from graphgauge.kernels.jit import Kernel, kernel
from graphgauge.kernels.tally import tally
from graphgauge.kernels.threads import BLOCK_WORK, map_blocks, row_blocks, sum_blocks

Counts = NDArray[np.int32]
Offsets = NDArray[np.int64]

# Elements converted, or passed to a twin, at a time, so that temporaries stay in the cache.
_CACHED_WORK = 1 << 18
# Cells of the largest joint histogram of which every thread may have one.
_DENSE_CELLS = 1 << 20
# The scalar types that compare exactly with a row of the dtype, without conversion.
_SAME_TYPE = {np.dtype(np.float32): (np.float32,), np.dtype(np.float64): (np.float64, float)}


class RowCounts(NamedTuple):
    """For each row: the negatives greater than the positive, equal to it, NaN, and all; whether the positive is NaN."""

    greater: Counts
    equal: Counts
    missing: Counts
    negatives: Counts
    pos_missing: Mask


class Cells(NamedTuple):
    """How many rows have each pair (greater, equal), sorted by the pair."""

    greater: NDArray[np.int64]
    equal: NDArray[np.int64]
    rows: NDArray[np.int64]


def row_counts(pos: Scores, neg: Scores, *, threads: int | None = None) -> RowCounts:
    """The counts of each row of `neg` (n, k) against `pos` (n,).

    >>> counts = row_counts(np.array([0.5, 0.5]), np.array([[0.9, 0.5, 0.1], [0.5, 0.5, np.nan]]))
    >>> counts.greater, counts.equal, counts.missing
    (array([1, 0], dtype=int32), array([1, 2], dtype=int32), array([0, 1], dtype=int32))
    """
    pos, neg = _matched(pos, neg)
    rows, width = neg.shape
    greater, equal, missing = _blank(rows)
    count = _dense.implementation(neg.size)
    step = _rows_at_once(_dense, count, neg, pos.dtype)

    def block_counts(block: slice) -> None:
        for part in _parts(block, step):
            count(pos[part], exact(neg[part], pos.dtype), greater[part], equal[part], missing[part])

    map_blocks(block_counts, row_blocks(rows, neg.size), threads=threads)
    return RowCounts(greater, equal, missing, np.broadcast_to(np.int32(width), rows), np.isnan(pos))


def masked_counts(pos: Scores, neg: Scores, valid: Mask, *, threads: int | None = None) -> RowCounts:
    """The counts of each row of `neg` (n, k) against `pos` (n,), over the negatives where `valid` is True."""
    pos, neg = _matched(pos, neg)
    if valid.shape != neg.shape or valid.dtype != np.bool_:
        raise ValueError(f"the mask must be boolean of shape {neg.shape}, not {valid.dtype} of shape {valid.shape}")
    greater, equal, missing = _blank(len(pos))
    negatives = np.empty(len(pos), np.int32)
    count = _masked.implementation(neg.size)
    step = min(_rows_at_once(_masked, count, array, dtype) for array, dtype in ((neg, pos.dtype), (valid, valid.dtype)))

    def block_counts(block: slice) -> None:
        for part in _parts(block, step):
            scores, mask = exact(neg[part], pos.dtype), exact(valid[part], valid.dtype)
            count(pos[part], scores, mask, greater[part], equal[part], missing[part], negatives[part])

    map_blocks(block_counts, row_blocks(len(pos), neg.size), threads=threads)
    return RowCounts(greater, equal, missing, negatives, np.isnan(pos))


def ragged_counts(pos: Scores, values: Scores, offsets: Offsets, *, threads: int | None = None) -> RowCounts:
    """The counts of each row `values[offsets[i]:offsets[i + 1]]` against `pos[i]`."""
    pos, values, offsets = comparable(pos, values), np.asarray(values), np.asarray(offsets, np.int64)
    lengths = np.diff(offsets)
    if offsets.shape != (len(pos) + 1,):
        raise ValueError(f"{len(pos)} rows need {len(pos) + 1} offsets, not {offsets.size}")
    if offsets[0] < 0 or offsets[-1] > values.size or (lengths < 0).any():
        raise ValueError(f"offsets must rise from 0 or more to at most {values.size}, the number of values")
    _check_length(int(lengths.max(initial=0)))
    greater, equal, missing = _blank(len(pos))
    count = _ragged.implementation(values.size)
    work = _work_at_once(_ragged, count, values, pos.dtype)

    def block_counts(block: slice) -> None:
        for part in _ragged_parts(offsets, block, work):
            ends = offsets[part.start : part.stop + 1]
            scores = exact(values[ends[0] : ends[-1]], pos.dtype)
            count(pos[part], scores, ends - ends[0], greater[part], equal[part], missing[part])

    blocks = list(_ragged_parts(offsets, slice(0, len(pos)), BLOCK_WORK))
    map_blocks(block_counts, blocks, threads=threads)
    return RowCounts(greater, equal, missing, lengths.astype(np.int32), np.isnan(pos))


def joint_histogram(pos: Scores, neg: Scores, *, threads: int | None = None) -> Cells | None:
    """How many rows of `neg` (n, k) have each (greater, equal) against `pos` (n,); None if any score is NaN.

    With few negatives per row, no array of n items is written.
    """
    pos, neg = _matched(pos, neg)
    rows, width = neg.shape
    side = width + 1
    if side * side > min(rows, _DENSE_CELLS):
        counts = row_counts(pos, neg, threads=threads)
        if counts.pos_missing.any() or counts.missing.any():
            return None
        (greater, equal), frequencies = tally([counts.greater, counts.equal])
        return Cells(greater, equal, frequencies)
    add = _joint.implementation(neg.size)
    step = _rows_at_once(_joint, add, neg, pos.dtype)

    def add_block(block: slice, table: NDArray[np.int64]) -> bool:
        return any(add(pos[part], exact(neg[part], pos.dtype), table) for part in _parts(block, step))

    frequencies, nan_found = sum_blocks(add_block, row_blocks(rows, neg.size), side * side, threads=threads)
    if any(nan_found):
        return None
    codes = np.flatnonzero(frequencies)
    greater, equal = np.divmod(codes, side)
    return Cells(greater, equal, frequencies[codes])


def single_row_counts(pos: Any, neg: Scores) -> tuple[int, int, int]:
    """(greater, equal, missing) of one positive against a row of negatives (k,), for calls that take microseconds.

    >>> single_row_counts(0.5, np.array([0.9, 0.5, np.nan]))
    (1, 1, 1)
    """
    if type(pos) in _SAME_TYPE.get(neg.dtype, ()) and neg.ndim == 1 and neg.flags.c_contiguous:
        return _single.implementation(neg.size)(pos, neg)
    counts = row_counts(np.asarray([pos]), np.asarray(neg)[np.newaxis], threads=1)
    return int(counts.greater[0]), int(counts.equal[0]), int(counts.missing[0])


def _dense_twin(pos: Scores, neg: Scores, greater: Counts, equal: Counts, missing: Counts) -> None:
    reference = pos[:, np.newaxis]
    above = neg > reference
    np.add.reduce(above.view(np.int8), axis=1, dtype=np.int32, out=greater)
    if np.count_nonzero(above) + np.count_nonzero(neg < reference) == neg.size:
        equal[:] = missing[:] = 0
        return
    equal[:] = np.count_nonzero(neg == reference, axis=1)
    missing[:] = np.count_nonzero(neg != neg, axis=1)


# 32-bit counters use as many lanes of a vector as the scores do; numba would widen a plain `+=` to 64 bits. Two
# comparisons decide all but ties and NaN: an undecided row is read again, while it is in the cache.
@kernel(twin=_dense_twin)
def _dense(pos: Scores, neg: Scores, greater: Counts, equal: Counts, missing: Counts) -> None:
    for row in range(neg.shape[0]):
        reference = pos[row]
        above, below = np.int32(0), np.int32(0)
        for column in range(neg.shape[1]):
            score = neg[row, column]
            above = np.int32(above + (score > reference))
            below = np.int32(below + (score < reference))
        beside, nans = np.int32(0), np.int32(0)
        if above + below != neg.shape[1]:
            for column in range(neg.shape[1]):
                score = neg[row, column]
                beside = np.int32(beside + (score == reference))
                nans = np.int32(nans + (score != score))
        greater[row] = above
        equal[row] = beside
        # The array starts as zeros: without NaN its memory is not touched.
        if nans:
            missing[row] = nans


def _masked_twin(
    pos: Scores, neg: Scores, valid: Mask, greater: Counts, equal: Counts, missing: Counts, negatives: Counts
) -> None:
    reference = pos[:, np.newaxis]
    greater[:] = np.count_nonzero((neg > reference) & valid, axis=1)
    equal[:] = np.count_nonzero((neg == reference) & valid, axis=1)
    missing[:] = np.count_nonzero((neg != neg) & valid, axis=1)
    negatives[:] = np.count_nonzero(valid, axis=1)


@kernel(twin=_masked_twin)
def _masked(
    pos: Scores, neg: Scores, valid: Mask, greater: Counts, equal: Counts, missing: Counts, negatives: Counts
) -> None:
    for row in range(neg.shape[0]):
        reference = pos[row]
        above, beside, nans, counted = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
        for column in range(neg.shape[1]):
            score, use = neg[row, column], valid[row, column]
            above = np.int32(above + ((score > reference) & use))
            beside = np.int32(beside + ((score == reference) & use))
            nans = np.int32(nans + ((score != score) & use))
            counted = np.int32(counted + use)
        greater[row] = above
        equal[row] = beside
        missing[row] = nans
        negatives[row] = counted


def _ragged_twin(
    pos: Scores, values: Scores, offsets: Offsets, greater: Counts, equal: Counts, missing: Counts
) -> None:
    rows = np.repeat(np.arange(len(pos)), np.diff(offsets))
    reference = pos[rows]
    greater[:] = np.bincount(rows[values > reference], minlength=len(pos))
    equal[:] = np.bincount(rows[values == reference], minlength=len(pos))
    missing[:] = np.bincount(rows[values != values], minlength=len(pos))


@kernel(twin=_ragged_twin)
def _ragged(pos: Scores, values: Scores, offsets: Offsets, greater: Counts, equal: Counts, missing: Counts) -> None:
    for row in range(pos.size):
        reference = pos[row]
        above, beside, nans = np.int32(0), np.int32(0), np.int32(0)
        # The slice tells the compiler that no index is negative, which lets it vectorise.
        scores = values[offsets[row] : offsets[row + 1]]
        for index in range(scores.size):
            score = scores[index]
            above = np.int32(above + (score > reference))
            beside = np.int32(beside + (score == reference))
            nans = np.int32(nans + (score != score))
        greater[row] = above
        equal[row] = beside
        missing[row] = nans


def _joint_twin(pos: Scores, neg: Scores, table: NDArray[np.int64]) -> bool:
    reference = pos[:, np.newaxis]
    greater = np.count_nonzero(neg > reference, axis=1)
    equal = np.count_nonzero(neg == reference, axis=1)
    table += np.bincount(greater * (neg.shape[1] + 1) + equal, minlength=table.size)
    return bool(np.isnan(pos).any() or np.isnan(neg).any())


@kernel(twin=_joint_twin)
def _joint(pos: Scores, neg: Scores, table: NDArray[np.int64]) -> bool:
    width = neg.shape[1]
    found = False
    for row in range(neg.shape[0]):
        reference = pos[row]
        # Rows are shorter than 2**15 here: one counter has both counts, the scores below in its upper half.
        both = np.int32(0)
        for column in range(width):
            score = neg[row, column]
            both = np.int32(both + (np.int32(score > reference) | (np.int32(score < reference) << np.int32(16))))
        above, below = both & 0xFFFF, both >> 16
        beside = 0
        if above + below != width or reference != reference:
            tied, nans = np.int32(0), np.int32(reference != reference)
            for column in range(width):
                score = neg[row, column]
                tied = np.int32(tied + (score == reference))
                nans = np.int32(nans + (score != score))
            if nans:
                found = True
            beside = int(tied)
        table[above * (width + 1) + beside] += 1
    return found


def _single_twin(pos: Any, neg: Scores) -> tuple[int, int, int]:
    reference = neg.dtype.type(pos)
    return (
        int(np.count_nonzero(neg > reference)),
        int(np.count_nonzero(neg == reference)),
        int(np.count_nonzero(neg != neg)),
    )


@kernel(twin=_single_twin)
def _single(pos: Any, neg: Scores) -> tuple[int, int, int]:
    above, beside, nans = np.int32(0), np.int32(0), np.int32(0)
    for index in range(neg.size):
        score = neg[index]
        above = np.int32(above + (score > pos))
        beside = np.int32(beside + (score == pos))
        nans = np.int32(nans + (score != score))
    return int(above), int(beside), int(nans)


def _matched(pos: Scores, neg: Scores) -> tuple[Scores, Scores]:
    # Slices of a memory map are slow to make; the plain array over it shares the memory.
    pos, neg = np.asarray(pos), np.asarray(neg)
    if pos.ndim != 1 or neg.ndim != 2 or len(pos) != len(neg):
        raise ValueError(f"positives (n,) go with negatives (n, k), not {pos.shape} with {neg.shape}")
    _check_length(neg.shape[1])
    return comparable(pos, neg), neg


def _check_length(width: int) -> None:
    if width > np.iinfo(np.int32).max:
        raise ValueError(f"a row of {width} negatives is longer than 2**31 - 1")


def _blank(rows: int) -> tuple[Counts, Counts, Counts]:
    return np.empty(rows, np.int32), np.empty(rows, np.int32), np.zeros(rows, np.int32)


def _work_at_once(owner: Kernel[..., Any], chosen: Any, scores: Scores, dtype: np.dtype[Any]) -> int:
    """All of it if a compiled loop reads the input directly, else as many copies as fit in the cache."""
    as_it_is = scores.dtype == dtype and scores.flags.c_contiguous
    return max(1, scores.size) if as_it_is and chosen is not owner.twin else _CACHED_WORK


def _rows_at_once(owner: Kernel[..., Any], chosen: Any, scores: Scores, dtype: np.dtype[Any]) -> int:
    width: int = scores.shape[1]
    return max(1, _work_at_once(owner, chosen, scores, dtype) // max(1, width))


def _parts(block: slice, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, block.stop)) for start in range(block.start, block.stop, step))


def _ragged_parts(offsets: Offsets, block: slice, work: int) -> Iterator[slice]:
    """Groups of rows with at most `work` values, or one longer row."""
    start = block.start
    while start < block.stop:
        fitting = int(np.searchsorted(offsets, offsets[start] + work, side="right")) - 1
        stop = min(max(start + 1, fitting), block.stop)
        yield slice(start, stop)
        start = stop
