"""How many negatives are above a positive, and how many are tied with it: the counts behind every rank.

NaN is counted separately; the caller decides what it means.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import Mask
from graphgauge.kernels.dtypes import Scores, comparable, exact
from graphgauge.kernels.tally import tally
from graphgauge.kernels.threads import even_blocks, map_blocks, sum_blocks

Counts = NDArray[np.int32]
Offsets = NDArray[np.int64]

# Elements converted at a time, so that copies stay in the cache.
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
    return _row_counts(*_matched(pos, neg), None, threads)


def masked_counts(pos: Scores, neg: Scores, valid: Mask, *, threads: int | None = None) -> RowCounts:
    """The counts of each row of `neg` (n, k) against `pos` (n,), over the negatives where `valid` is True."""
    pos, neg = _matched(pos, neg)
    if valid.shape != neg.shape or valid.dtype != np.bool_:
        raise ValueError(f"the mask must be boolean of shape {neg.shape}, not {valid.dtype} of shape {valid.shape}")
    return _row_counts(pos, neg, np.asarray(valid), threads)


def _row_counts(pos: Scores, neg: Scores, valid: Mask | None, threads: int | None) -> RowCounts:
    if _as_they_are(neg, pos.dtype) and (valid is None or valid.flags.c_contiguous):
        counts = _core.rank_counts(pos, neg, valid, threads=threads_for(neg.size, threads))
    else:

        def block_counts(block: slice) -> tuple[Counts, ...]:
            mask = None if valid is None else np.require(valid[block], None, ("C", "A"))
            found: tuple[Counts, ...] = _core.rank_counts(pos[block], exact(neg[block], pos.dtype), mask)
            return found

        counts = _joined(map_blocks(block_counts, _cached_blocks(neg), threads=threads))
    greater, equal, missing, _, negatives = counts
    return RowCounts(greater, equal, missing, negatives, np.isnan(pos))


def ragged_counts(pos: Scores, values: Scores, offsets: Offsets, *, threads: int | None = None) -> RowCounts:
    """The counts of each row `values[offsets[i]:offsets[i + 1]]` against `pos[i]`."""
    pos, values, offsets = comparable(pos, values), np.asarray(values), np.require(offsets, np.int64, ("C", "A"))
    lengths = np.diff(offsets)
    if offsets.shape != (len(pos) + 1,):
        raise ValueError(f"{len(pos)} rows need {len(pos) + 1} offsets, not {offsets.size}")
    if offsets[0] < 0 or offsets[-1] > values.size or (lengths < 0).any():
        raise ValueError(f"offsets must rise from 0 or more to at most {values.size}, the number of values")
    _check_length(int(lengths.max(initial=0)))
    if _as_they_are(values, pos.dtype):
        counts = _core.ragged_rank_counts(pos, values, offsets, threads=threads_for(values.size, threads))
    else:

        def block_counts(block: slice) -> tuple[Counts, ...]:
            ends = offsets[block.start : block.stop + 1]
            scores = exact(values[ends[0] : ends[-1]], pos.dtype)
            found: tuple[Counts, ...] = _core.ragged_rank_counts(pos[block], scores, ends - ends[0])
            return found

        counts = _joined(map_blocks(block_counts, _ragged_blocks(offsets), threads=threads))
    greater, equal, missing, _, negatives = counts
    return RowCounts(greater, equal, missing, negatives, np.isnan(pos))


def joint_histogram(pos: Scores, neg: Scores, *, threads: int | None = None) -> Cells | None:
    """How many rows of `neg` (n, k) have each (greater, equal) against `pos` (n,); None if any score is NaN.

    With few negatives per row, no array of n items is written.
    """
    pos, neg = _matched(pos, neg)
    rows, width = neg.shape
    side = width + 1
    if side * side > min(rows, _DENSE_CELLS):
        counts = _row_counts(pos, neg, None, threads)
        if counts.pos_missing.any() or counts.missing.any():
            return None
        (greater, equal), frequencies = tally([counts.greater, counts.equal])
        return Cells(greater, equal, frequencies)
    if np.isnan(pos).any():
        return None

    def add_block(block: slice, table: NDArray[np.int64]) -> bool:
        above, beside, missing, *_ = _core.rank_counts(pos[block], exact(neg[block], pos.dtype))
        table += np.bincount(above * side + beside, minlength=table.size)
        return bool(missing.any())

    frequencies, nan_found = sum_blocks(add_block, _cached_blocks(neg), side * side, threads=threads)
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
        greater, equal, missing, *_ = _core.rank_counts(np.array([pos], neg.dtype), neg[np.newaxis])
    else:
        greater, equal, missing, *_ = row_counts(np.asarray([pos]), np.asarray(neg)[np.newaxis], threads=1)
    return int(greater[0]), int(equal[0]), int(missing[0])


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


def _as_they_are(scores: Scores, dtype: np.dtype[Any]) -> bool:
    """Whether the core reads the scores directly, without a copy."""
    return scores.dtype == dtype and scores.flags.c_contiguous and scores.flags.aligned


def _cached_blocks(neg: Scores) -> list[slice]:
    return even_blocks(len(neg), -(-neg.size // _CACHED_WORK))


def _ragged_blocks(offsets: Offsets) -> list[slice]:
    """Groups of rows with at most as many values as are converted at a time, or one longer row."""
    blocks, start, rows = [], 0, len(offsets) - 1
    while start < rows:
        fitting = int(np.searchsorted(offsets, offsets[start] + _CACHED_WORK, side="right")) - 1
        stop = min(max(start + 1, fitting), rows)
        blocks.append(slice(start, stop))
        start = stop
    return blocks or [slice(0, 0)]


def _joined(parts: list[tuple[Counts, ...]]) -> list[Counts]:
    return [np.concatenate(column) for column in zip(*parts, strict=True)]
