"""Intervals of rank metrics whose positives share one pool of negatives.

The positives are one sample and the negatives another. Both errors count: that of the positives, given the pool, and
that of the pool. A single negative above many positives moves all of their ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints, sorted_unique
from graphgauge.old.core.metric import Bounds, Estimate, IntervalRule, Metric, NoInterval
from graphgauge.old.ranking.metrics import group_errors
from graphgauge.old.ranking.samples import Ranks
from graphgauge.old.stats.intervals import logit_t_interval, t_interval

Floats = NDArray[np.floating[Any]]
Worth = Callable[[Ranks], Floats]


def shared_rule(metric: Metric, ranks: Ranks, estimate: Estimate, params: dict[str, Any]) -> IntervalRule | NoInterval:
    """The interval of a rank metric over one pool."""
    if metric.name in ("hits", "adjusted_hits"):
        key = "pooled_hits@{k}".format(**params)
        return NoInterval(f"the negative at place k is a threshold with an error of its own: see {key}")
    if metric.name not in _WORTH:
        return NoInterval("the positives share one pool of negatives, whose error is not known for this metric")
    if ranks.groups != 1:
        return NoInterval("the groups share one pool of negatives")
    worth = _WORTH[metric.name]
    return IntervalRule(
        "two-sample jackknife",
        "positives and negatives" if ranks.cluster is None else "clusters and negatives",
        partial(_bounds, worth, metric, params),
    )


def _bounds(
    worth: Callable[..., Floats],
    metric: Metric,
    params: dict[str, Any],
    ranks: Ranks,
    estimate: Estimate,
    confidence: float,
) -> Bounds:
    used = _used(metric, ranks)
    error, df = (float(each[0]) for each in group_errors(used, estimate))
    variance, pool_df = pool_variance(used, partial(worth, **params))
    value = float(estimate.value[0])
    scale = _scale(metric, used, value)
    both = error**2 + scale**2 * variance
    if not both > 0 or np.isnan(error):
        return np.array([np.nan]), np.array([np.nan])
    # Satterthwaite: the sum of two variances, each estimated with its own degrees of freedom.
    df = both**2 / (error**4 / max(df, 1.0) + (scale**2 * variance) ** 2 / pool_df)
    return _interval(metric, estimate.value, np.sqrt([both]), np.array([df]), confidence)


def _used(metric: Metric, ranks: Ranks) -> Ranks:
    return ranks.under("expected") if metric.name in ("amri", "adjusted_mrr") else ranks


def _interval(metric: Metric, value: Floats, error: Floats, df: Floats, confidence: float) -> Bounds:
    if metric.bounds == (0, 1):
        return logit_t_interval(value, error, df, confidence)
    if metric.name == "geometric_mean_rank":
        low, high = t_interval(np.log(value), error / value, df, confidence, scale=1.0)
        return np.exp(low), np.exp(high)
    return t_interval(value, error, df, confidence, scale=1.0)


def _scale(metric: Metric, ranks: Ranks, value: float) -> float:
    """How far the metric moves if the mean of its items' worth moves by 1. All lists have the same length."""
    candidates = int(ranks.fewest_candidates)
    if metric.name == "amri":
        return 2 / max(candidates - 1, 1)
    if metric.name == "adjusted_mrr":
        blind = float(ranks.blindly(Ranks.reciprocal)[0])
        return 1 / (1 - blind) if blind < 1 else 0.0
    return value if metric.name == "geometric_mean_rank" else 1.0


def pool_variance(ranks: Ranks, worth: Worth) -> tuple[float, float]:
    """The variance that the pool adds to the mean worth, by leaving out each of its negatives; degrees of freedom.

    A negative at place p of the pool, counted from the best, is above the positives with p or more negatives above
    them and ties with those at whose score it is. So what leaving it out does depends on its place only. By the
    inequality of Efron and Stein the jackknife is too large rather than too small on average.
    """
    negatives = int(ranks.fewest_candidates) - 1
    if negatives < 2:
        return np.nan, 0.0
    moved, length = _moved(ranks, worth)
    squares = float(length @ moved**2)
    fourth = float(length @ moved**4)
    # Few negatives decide: as many as would have this spread if all counted alike.
    df = max(squares**2 / fourth, 2.0) if fourth > 0 else 2.0
    return (negatives - 1) / negatives * squares, df


def _moved(ranks: Ranks, worth: Worth) -> tuple[Floats, Ints]:
    """By how much leaving out a negative moves the mean worth, more than on average, and how many do so."""
    negatives = int(ranks.fewest_candidates) - 1
    weight = ranks.count / ranks.count.sum()
    now = worth(ranks)
    without_above = _change(worth, replace(ranks, greater=np.maximum(ranks.greater - 1, 0)), now, ranks.greater > 0)
    without_tied = _change(worth, replace(ranks, equal=np.maximum(ranks.equal - 1, 0)), now, ranks.equal > 0)
    places = sorted_unique(np.concatenate([[0, negatives], ranks.greater, ranks.greater + ranks.equal]))
    steps = np.zeros(len(places))
    first, last = np.searchsorted(places, ranks.greater), np.searchsorted(places, ranks.greater + ranks.equal)
    steps[0] += float(weight @ without_above)
    np.add.at(steps, first, weight * (without_tied - without_above))
    np.add.at(steps, last, -weight * without_tied)
    moved, length = np.cumsum(steps)[:-1], np.diff(places)
    return moved - float(length @ moved) / negatives, length


def _change(worth: Worth, other: Ranks, now: Floats, where: NDArray[np.bool_]) -> Floats:
    return np.where(where, worth(replace(other, count=other.count)) - now, 0.0)


_WORTH: dict[str, Callable[..., Floats]] = {
    "mrr": Ranks.reciprocal,
    "mean_rank": Ranks.rank,
    "geometric_mean_rank": Ranks.log,
    "ndcg": Ranks.ndcg,
    "amri": Ranks.rank,
    "adjusted_mrr": Ranks.reciprocal,
}
