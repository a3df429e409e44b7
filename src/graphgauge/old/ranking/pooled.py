"""The errors of average precision and of hits over a pool of queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.kernels.dtypes import exact, working_dtype
from graphgauge.kernels.tails import TailCounts
from graphgauge.old.core.metric import Bounds
from graphgauge.old.ranking.samples import Pooled
from graphgauge.old.stats.intervals import (
    standard_error,
    t_or_agreement_interval,
    tail,
    two_samples,
    wilson_interval,
)

Floats = NDArray[np.floating[Any]]

_BLOCK = 1 << 20


def average_precision_error(
    pos: AnyArray, neg: AnyArray, offsets: Ints, tails: TailCounts, cluster: Ints | None
) -> tuple[float, float]:
    """Standard error and degrees of freedom, with a query as one unit, by linearisation.

    Precision at a score s is T/(T + F), with T positives and F negatives at or above s. A positive at or above s adds
    F/(T + F)² to it, a negative takes T/(T + F)² away; summed over the positives these are each score's influence.
    """
    if len(pos) < 2:
        return np.nan, 0.0
    at_or_above = np.cumsum(tails.positives)
    false = tails.greater + tails.equal
    selected = (at_or_above + false).astype(float)
    precision = at_or_above / selected
    # Descending values: the contribution of a score at its level and every lower one is a sum from the end.
    gained = np.cumsum((tails.positives * false / selected**2)[::-1])[::-1]
    lost = np.append(np.cumsum((tails.positives * at_or_above / selected**2)[::-1])[::-1], 0.0)
    ascending = tails.values[::-1]

    def level_of(scores: AnyArray) -> Ints:
        """The first level at or below each score, in descending order; one past the last if there is none."""
        return len(ascending) - np.searchsorted(ascending, scores, side="right")

    added = (precision + gained)[level_of(pos)] / len(pos)
    if not len(offsets):
        taken = np.concatenate(
            [lost[level_of(neg[start : start + _BLOCK])] / len(pos) for start in range(0, len(neg), _BLOCK)]
        )
        return _two_samples(len(pos) * (added - added.mean()), len(neg) * taken, cluster)
    influence = added.copy()
    for start in range(0, len(neg), _BLOCK):
        block = neg[start : start + _BLOCK]
        query = np.searchsorted(offsets, np.arange(start, start + len(block)), side="right") - 1
        influence -= np.bincount(query, lost[level_of(block)] / len(pos), len(pos))
    # Queries are centred on the value that their number of negatives would give.
    lost_in_all = added.sum() - influence.sum()
    influence -= added.mean()
    influence += np.diff(offsets) * (lost_in_all / len(neg))
    units = np.arange(len(pos)) if cluster is None else cluster
    error, df = standard_error(len(pos) * influence, np.ones(len(pos)), cluster=units)
    return float(error[0]), float(df[0])


def two_sample_auc_error(pooled: Pooled) -> tuple[float, float]:
    """Standard error and degrees of freedom of the AUC of positives against an unrelated pool (DeLong et al. 1988)."""
    pos, neg = pooled.pos, pooled.neg
    if min(len(pos), len(neg)) < 2:
        return np.nan, 0.0
    won, lost = _shares_beaten(pos, neg), _shares_beaten(neg, pos)
    return _two_samples(won - won.mean(), lost, pooled.units)


def _shares_beaten(scores: AnyArray, others: AnyArray) -> Floats:
    """For each score the share of the others below it, ties half."""
    dtype = working_dtype(scores.dtype, others.dtype)
    ordered, scores = np.sort(exact(others, dtype)), exact(scores, dtype)
    twice = np.searchsorted(ordered, scores) + np.searchsorted(ordered, scores, side="right")
    return twice / (2 * len(ordered))


def _two_samples(of_positives: Floats, of_negatives: Floats, cluster: Ints | None) -> tuple[float, float]:
    """Standard error and degrees of freedom from the influence of every positive and negative."""
    positives = standard_error(of_positives, np.ones(len(of_positives)), cluster=cluster)
    negatives = standard_error(of_negatives - of_negatives.mean(), np.ones(len(of_negatives)))
    return two_samples(positives, negatives)


def pooled_hits_bounds(pooled: Pooled, k: int, value: float, confidence: float) -> Bounds:
    """Interval of the share of positives above the k-th best negative, including the error of that threshold.

    In another sample the number of negatives above the same threshold would not be k, but near it (within a Poisson
    count's limits, widened if negatives of one query or cluster are close). The shares at the negatives with
    these ranks show the effect on the value. Distances to them and to the bounds of the positives alone add up in
    squares (Zou and Donner 2008).
    """
    low, high = _positives_alone(pooled, k, value, confidence)
    if k > len(pooled.neg):  # no threshold: every positive is a hit
        return low, high
    fewest, most = count_limits(k, _dispersion(pooled, k), confidence)
    first, last = (pooled.share_above(rank) for rank in (int(np.floor(fewest)), int(np.ceil(most))))
    return value - np.hypot(value - low, value - first), value + np.hypot(high - value, last - value)


def _positives_alone(pooled: Pooled, k: int, value: float, confidence: float) -> Bounds:
    n = len(pooled.pos)
    if pooled.units is None:
        return wilson_interval([round(value * n)], [n], confidence)
    hits = pooled.pos > pooled.threshold(k)
    error, df = standard_error(hits - value, np.ones(n), cluster=pooled.units)
    return t_or_agreement_interval([value], error, df, (0.0, 1.0), confidence)


def _dispersion(pooled: Pooled, k: int) -> float:
    """The variance of the number of negatives above the threshold over that of a Poisson count; at least 1."""
    if not len(pooled.offsets):
        return 1.0
    above = np.flatnonzero(pooled.neg >= pooled.threshold(k))
    query = np.searchsorted(pooled.offsets, above, side="right") - 1
    excess: Floats = np.bincount(query, minlength=len(pooled.pos)).astype(float)
    excess -= np.diff(pooled.offsets) * (len(above) / len(pooled.neg))
    if pooled.units is not None:
        excess = np.bincount(pooled.units, excess).astype(float)
    units = len(excess)
    return max(1.0, float(excess @ excess) * units / (units - 1) / len(above)) if units > 1 else 1.0


def count_limits(count: int, dispersion: float, confidence: float) -> tuple[float, float]:
    """Limits of a count with this dispersion, from those of a Poisson count (Garwood 1936)."""
    from scipy.special import gammaincinv

    own, outside = count / dispersion, tail(confidence)
    low, high = gammaincinv(own, outside), gammaincinv(own + 1, 1 - outside)
    return dispersion * float(low), dispersion * float(high)
