"""Counts above each positive score: the common primitive of ROC-AUC, average precision and best F1.

For every distinct positive score, the positives that have it, the negatives above it and those tied with it. With
many positives both sides are sorted and merged. With few, no negative is sorted: each is placed among the positives.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.kernels.dtypes import Scores, exact, working_dtype
from graphgauge.kernels.threads import even_blocks, map_blocks, row_blocks

Counts = NDArray[np.int64]

# Negatives per positive from which placing every negative is faster than sorting.
_FEW_POSITIVES = 128
_CACHED_WORK = 1 << 16


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
    if pos.size * _FEW_POSITIVES <= neg.size:
        ordered, pos_missing = _sorted(exact(pos, dtype))
        values, positives = _core.distinct_values(ordered)
        greater, equal, neg_missing = _placed(values, neg, threads)
    else:
        # Every chunk of negatives is merged with all positives: more chunks than this would cost more than they save.
        count = min(len(row_blocks(neg.size, neg.size)), neg.size // pos.size)
        sides = [pos, *(neg[block] for block in even_blocks(neg.size, count))]
        work = pos.size + neg.size
        sorting_threads = threads if len(row_blocks(work, work)) > 1 else 1
        (ordered, pos_missing), *chunks = map_blocks(
            lambda side: _sorted(exact(side, dtype)), sides, threads=sorting_threads
        )
        values, positives = _core.distinct_values(ordered)
        greater, equal = np.zeros(values.size, np.int64), np.zeros(values.size, np.int64)
        for chunk, _ in chunks:
            above, beside = _core.merged_counts(values, chunk, threads_for(values.size + chunk.size, threads))
            greater += above
            equal += beside
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


def _sorted(scores: Scores) -> tuple[Scores, int]:
    """Ascending scores without NaN, and the number of NaN."""
    ordered = np.sort(scores)
    if ordered.dtype.kind != "f":
        return ordered, 0
    # An infinity of another dtype would convert all scores to that dtype.
    kept = int(np.searchsorted(ordered, ordered.dtype.type(np.inf), side="right"))
    return ordered[:kept], ordered.size - kept


def _placed(values: Scores, neg: Scores, threads: int | None) -> tuple[Counts, Counts, int]:
    """The negatives greater than and equal to each of `values`, and how many are NaN, without sorting negatives."""
    rising = np.require(values[::-1], None, ("C", "A"))
    greater, equal, missing = np.zeros(values.size, np.int64), np.zeros(values.size, np.int64), 0
    for block in row_blocks(neg.size, neg.size):  # what has to be converted is converted block by block
        above, beside, nans = _core.placed_counts(
            rising, exact(neg[block], rising.dtype), threads_for(neg.size, threads)
        )
        greater += above
        equal += beside
        missing += nans
    return greater[::-1].copy(), equal[::-1].copy(), missing
