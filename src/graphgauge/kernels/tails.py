"""Counts above each positive score: the common primitive of ROC-AUC, average precision and best F1.

For every distinct positive score, the positives that have it, the negatives above it and those tied with it. With
many positives both sides are sorted and merged. With few, no negative is sorted: monotone quantisation of the
scores to bins finds the place of each negative among the positives, and only bins with positives need
comparisons.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.dtypes import Scores, exact, working_dtype
from graphgauge.kernels.jit import kernel
from graphgauge.kernels.sorting import ascending
from graphgauge.kernels.threads import even_blocks, map_blocks, row_blocks, sum_blocks

Counts = NDArray[np.int64]

# Negatives per positive from which placing every negative is faster than sorting.
_FEW_POSITIVES = 128
_BINS_PER_POSITIVE = 16
_MOST_BINS = 1 << 18
_CACHED_WORK = 1 << 16
# The cost of merging per score, in units of work.
_MERGING = 4


class TailCounts(NamedTuple):
    """At each distinct positive score, highest first: positives equal to it, negatives greater and equal.

    NaN is not in these counts; `pos_missing` and `neg_missing` are the numbers of NaN.
    """

    values: Scores
    positives: Counts
    greater: Counts
    equal: Counts
    negatives: int
    pos_missing: int
    neg_missing: int


def tail_counts(pos: Scores, neg: Scores, *, threads: int | None = None) -> TailCounts:
    """The exact counts of `neg` (N,) above and equal to each distinct value of `pos` (P,).

    >>> tails = tail_counts(np.array([0.9, 0.5, 0.5]), np.array([0.7, 0.5, 0.1, 0.0]))
    >>> tails.values, tails.positives, tails.greater, tails.equal
    (array([0.9, 0.5]), array([1, 2]), array([0, 1]), array([0, 1]))
    """
    pos, neg = np.asarray(pos), np.asarray(neg)
    if pos.ndim != 1 or neg.ndim != 1:
        raise ValueError(f"positives and negatives must be one-dimensional, not {pos.shape} and {neg.shape}")
    dtype = working_dtype(pos.dtype, neg.dtype)
    work = pos.size + neg.size
    if pos.size * _FEW_POSITIVES <= neg.size:
        ordered, pos_missing = _sorted(exact(pos, dtype), work)
        values, positives = _distinct_descending(ordered)
        greater, equal, neg_missing = _placed(values, neg, threads)
    else:
        # Every chunk of negatives is merged with all positives: more chunks than this would cost more than they save.
        count = min(len(row_blocks(neg.size, neg.size)), neg.size // pos.size)
        sides = [pos, *(neg[block] for block in even_blocks(neg.size, count))]
        sorting_threads = threads if len(row_blocks(work, work)) > 1 else 1
        (ordered, pos_missing), *chunks = map_blocks(
            lambda side: _sorted(exact(side, dtype), work), sides, threads=sorting_threads
        )
        values, positives = _distinct_descending(ordered)
        greater, equal = _merged(values, [chunk for chunk, _ in chunks], threads)
        neg_missing = sum(missing for _, missing in chunks)
    values += 0  # -0.0 and 0.0 are one value, and read as the latter
    return TailCounts(values, positives, greater, equal, neg.size - neg_missing, pos_missing, neg_missing)


def roc_auc_wins(tails: TailCounts) -> int:
    """Over all pairs of a positive and a negative, twice the wins of the positive plus the ties, exactly."""
    wins = 0
    for part in _cached_parts(tails):
        doubled = 2 * (tails.negatives - tails.greater[part]) - tails.equal[part]
        # Two halves of 31 bits: neither sum of products exceeds 64 bits with fewer than 2**32 positives.
        high, low = doubled >> 31, doubled & (2**31 - 1)
        wins += (int(np.dot(tails.positives[part], high)) << 31) + int(np.dot(tails.positives[part], low))
    return wins


def roc_auc(tails: TailCounts) -> float:
    """The probability that a positive scores above a negative, ties half; NaN if either side is empty."""
    pairs = int(tails.positives.sum()) * tails.negatives
    return roc_auc_wins(tails) / (2 * pairs) if pairs else math.nan


def average_precision(tails: TailCounts) -> float:
    """The mean over positives of the precision at their score, step-wise; NaN if either side is empty."""
    total = int(tails.positives.sum())
    if not total or not tails.negatives:
        return math.nan
    found, sums = 0, []
    for part in _cached_parts(tails):
        positives = tails.positives[part]
        hits = np.cumsum(positives) + found
        precision = hits / (hits + tails.greater[part] + tails.equal[part])
        sums.append(float((positives * precision).sum()))
        found = int(hits[-1])
    return math.fsum(sums) / total


def _cached_parts(tails: TailCounts) -> list[slice]:
    return [slice(start, start + _CACHED_WORK) for start in range(0, tails.values.size, _CACHED_WORK)]


def _sorted(scores: Scores, work: int) -> tuple[Scores, int]:
    """Ascending scores without NaN, and the number of NaN."""
    ordered = ascending(scores, work=work)
    if ordered.dtype.kind != "f":
        return ordered, 0
    # An infinity of another dtype would convert all scores to that dtype.
    kept = int(np.searchsorted(ordered, ordered.dtype.type(np.inf), side="right"))
    return ordered[:kept], ordered.size - kept


def _distinct_descending(ordered: Scores) -> tuple[Scores, Counts]:
    values, counts = np.empty_like(ordered), np.empty(ordered.size, np.int64)
    size = _distinct.implementation(ordered.size)(ordered, values, counts)
    return values[:size], counts[:size]


def _merged(values: Scores, chunks: list[Scores], threads: int | None) -> tuple[Counts, Counts]:
    """The negatives greater than and equal to each of `values`, from sorted chunks of negatives."""
    greater, equal = np.zeros(values.size, np.int64), np.zeros(values.size, np.int64)
    work = values.size + sum(chunk.size for chunk in chunks)
    merge = _merge.implementation(work)

    def merge_block(block: slice) -> None:
        for chunk in chunks:
            merge(values[block], chunk, greater[block], equal[block])

    map_blocks(merge_block, row_blocks(values.size, _MERGING * work), threads=threads)
    return greater, equal


def _placed(values: Scores, neg: Scores, threads: int | None) -> tuple[Counts, Counts, int]:
    """The negatives greater than and equal to each of `values`, and how many are NaN, without sorting negatives."""
    rising = np.ascontiguousarray(values[::-1])
    starts, low, scale = _quantised(rising)
    place = _place.implementation(neg.size)

    def place_block(block: slice, table: Counts) -> int:
        return place(rising, starts, low, scale, exact(neg[block], values.dtype), table)

    blocks = row_blocks(neg.size, neg.size)
    table, missing = sum_blocks(place_block, blocks, 2 * rising.size + 1, threads=threads)
    equal = table[1::2]
    greater = np.cumsum((table[2::2] + np.append(equal[1:], 0))[::-1])
    return greater, equal[::-1].copy(), sum(missing)


def _quantised(rising: Scores) -> tuple[NDArray[np.int32], float, float]:
    """Bins by `(score - low) * scale`, cut at both ends: those of `rising` in bin b start at `starts[b]`."""
    count = min(max(_BINS_PER_POSITIVE * rising.size, 1), _MOST_BINS)
    # The scale ignores the outermost positives: one far outlier would push all others into one bin.
    margin = rising.size // 64
    low, high = (float(rising[margin]), float(rising[-1 - margin])) if rising.size else (0.0, 0.0)
    with np.errstate(all="ignore"):
        scale = float(np.float64(count) / (np.float64(high) - low))
        position = (rising.astype(np.float64) - low) * scale
    bins = np.where(position > 0, np.minimum(position, count - 1), 0).astype(np.int64)
    starts = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(bins, minlength=count), out=starts[1:])
    return starts, low, scale


def _distinct_twin(ordered: Scores, values: Scores, counts: Counts) -> int:
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))[: ordered.size]
    values[: ends.size] = ordered[ends[::-1]]
    counts[: ends.size] = np.diff(ends, prepend=-1)[::-1]
    return ends.size


@kernel(twin=_distinct_twin)
def _distinct(ordered: Scores, values: Scores, counts: Counts) -> int:
    size = 0
    for index in range(ordered.size - 1, -1, -1):
        score = ordered[index]
        if size and values[size - 1] == score:
            counts[size - 1] += 1
        else:
            values[size] = score
            counts[size] = 1
            size += 1
    return size


def _merge_twin(values: Scores, chunk: Scores, greater: Counts, equal: Counts) -> None:
    right = np.searchsorted(chunk, values, side="right")
    greater += chunk.size - right
    equal += right - np.searchsorted(chunk, values, side="left")


@kernel(twin=_merge_twin)
def _merge(values: Scores, chunk: Scores, greater: Counts, equal: Counts) -> None:
    left = np.searchsorted(chunk, values[0], side="right") if values.size else 0
    for index in range(values.size):
        value = values[index]
        while left > 0 and chunk[left - 1] > value:
            left -= 1
        greater[index] += chunk.size - left
        beside = left
        while left > 0 and chunk[left - 1] == value:
            left -= 1
        equal[index] += beside - left


def _place_twin(rising: Scores, starts: NDArray[np.int32], low: float, scale: float, neg: Scores, table: Counts) -> int:
    ordered = np.sort(neg)
    kept = ordered.size - int(np.count_nonzero(neg != neg))
    left = np.searchsorted(ordered[:kept], rising, side="left")
    right = np.searchsorted(ordered[:kept], rising, side="right")
    table[1::2] += right - left
    table[::2] += np.append(left, kept) - np.append(0, right)
    return ordered.size - kept


@kernel(twin=_place_twin)
def _place(rising: Scores, starts: NDArray[np.int32], low: float, scale: float, neg: Scores, table: Counts) -> int:
    """Count each negative in cell 2i + 1 where it equals `rising[i]`, in cell 2i if it is in the gap before."""
    last = starts.size - 2
    missing = 0
    for index in range(neg.size):
        score = neg[index]
        position = (np.float64(score) - low) * scale
        bin_ = 0
        if position > 0:
            bin_ = last if position >= last else int(position)
        first, end = starts[bin_], starts[bin_ + 1]
        stop = end
        while first < stop:
            middle = (first + stop) >> 1
            if rising[middle] < score:
                first = middle + 1
            else:
                stop = middle
        if score != score:
            missing += 1
        elif first < end and rising[first] == score:
            table[2 * first + 1] += 1
        else:
            table[2 * first] += 1
    return missing
