"""How ranking metrics err: which rule of the table of intervals each follows, and what a shared pool adds.

A metric declares one of `of_mean`, `of_share`. What it estimates is in the facts of its
estimate: `ends` (the least and the largest possible value, or a function that computes them), `at_ends` (how much of an
item may be unseen at either), `fewest` (items that are needed), `binary` (whether every item scores 0 or 1), and for a
shared pool `worth` and `slope`: what a positive is worth, and how far the metric moves if its mean moves by 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import sorted_unique
from graphgauge.core.metric import Bounds, Estimate, NoInterval
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.ranking.samples import AT_ENDS, Ranks, Sample
from graphgauge.stats import intervals
from graphgauge.stats.errors import macro_spread
from graphgauge.stats.intervals import score_interval, t_interval


def of_mean(sample: Sample, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Score interval with Student's t over queries, or over clusters (CR2, degrees of freedom by their sizes)."""
    if isinstance(sample, Ranks) and sample.shared:
        return _over_pool(sample, estimate, confidence)
    spread = sample.spread(_influence(estimate))
    at_ends, clustered = estimate.facts.get("at_ends", AT_ENDS), sample.cluster is not None
    ends, over = _ends(estimate), sample.over
    found = intervals.of_bounded_mean(
        estimate.value, spread, ends, confidence, over=over, at_ends=at_ends, clustered=clustered
    )
    fewest = estimate.facts.get("fewest", lambda: 0)()
    few = sample.units < fewest
    needed = "as many as three equally large" if clustered else found.fewest
    if np.any(few):
        needed = f"at least {int(np.max(fewest))}"
    return replace(found, low=np.where(few, np.nan, found.low), high=np.where(few, np.nan, found.high), fewest=needed)


def of_share(sample: Sample, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Wilson where every query scores 0 or 1 and errs for itself, else the score interval with Student's t."""
    if isinstance(sample, Ranks) and sample.shared:
        return NoInterval("the negative at place k is a threshold with an error of its own: see pooled_hits@k")
    if sample.cluster is None and estimate.facts["binary"]:
        return intervals.of_share(np.round(estimate.value * estimate.n), estimate.n, confidence, over="queries")
    return of_mean(sample, estimate, confidence)


def macro(sample: Sample, estimate: Estimate, confidence: float, bounds: tuple[float, float]) -> tuple[Any, Any, Any]:
    """The mean over groups with equal weights, and the ends of its interval, NaN without one.

    The groups are those of interest, such as the relations of a graph, and only their items are drawn.
    """
    value = float(np.mean(estimate.value)) if len(estimate.value) else np.nan
    shared = isinstance(sample, Ranks) and sample.shared
    if estimate.influence is None or np.isnan(value) or shared or sample.group is None:
        return value, np.nan, np.nan
    by: dict[str, Any] = {"group": sample.group, "groups": sample.groups, "cluster": sample.cluster}
    spread = macro_spread(_influence(estimate), sample.count, estimate.value, most=sample.most, **by)
    units = int(sample.units.sum()) if sample.cluster is None else len(sorted_unique(sample.cluster))
    if bool(np.any(units < np.asarray(estimate.facts.get("fewest", lambda: 0)()))):
        return value, np.nan, np.nan
    floor, ceiling = (float(np.mean(end)) for end in _ends(estimate))
    at_ends = estimate.facts.get("at_ends", AT_ENDS)
    ends = score_interval(value, spread, (floor, ceiling), confidence, at_ends=at_ends)
    low, high = (float(end) for end in ends)
    return value, max(min(low, value), bounds[0]), min(max(high, value), bounds[1])


def _influence(estimate: Estimate) -> Floats:
    assert estimate.influence is not None
    return estimate.influence


def _ends(estimate: Estimate) -> tuple[Any, Any]:
    ends = estimate.facts["ends"]
    low, high = ends() if callable(ends) else ends
    return low, high


# ---- one pool of negatives for all positives


def _over_pool(ranks: Ranks, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Interval of a metric over one pool: positives and negatives are two samples, and both errors count.

    A single negative above many positives moves all of their ranks.
    """
    if "worth" not in estimate.facts:
        return NoInterval("the positives share one pool of negatives, whose error is not known for this metric")
    if ranks.groups != 1:
        return NoInterval("the groups share one pool of negatives")
    used = ranks.under(estimate.facts.get("under", ranks.ties))
    spread = used.spread(_influence(estimate))
    variance, pool_df = _pool_variance(used, estimate.facts["worth"])
    of_pool = float(estimate.facts.get("slope", lambda: 1.0)()) ** 2 * variance
    error, df = float(spread.error[0]), float(spread.df[0])
    both = error**2 + of_pool
    over = "positives and negatives" if ranks.cluster is None else "clusters and negatives"
    if not both > 0 or np.isnan(error):
        return Bounds(np.array([np.nan]), np.array([np.nan]), "two-sample jackknife", over)
    # Satterthwaite: the sum of two variances, each estimated with its own degrees of freedom.
    df = both**2 / (error**4 / max(df, 1.0) + of_pool**2 / pool_df)
    at, whole = estimate.value, np.sqrt([both])
    if estimate.facts.get("scale") == "logit":
        low, high = intervals.logit_t_interval(at, whole, [df], confidence)
    else:
        low, high = t_interval(at, whole, [df], confidence, scale=1.0)
    return Bounds(low, high, "two-sample jackknife", over)


def _pool_variance(ranks: Ranks, worth: Any) -> tuple[float, float]:
    """The variance that the pool adds to the mean worth, by leaving out each of its negatives; degrees of freedom.

    A negative at place p of the pool, counted from the best, is above the positives with p or more negatives above
    them and ties with those at whose score it is. So what leaving it out does depends on its place only. By the
    inequality of Efron and Stein the jackknife is too large rather than too small on average.
    """
    negatives = int(ranks.fewest_candidates) - 1
    if negatives < 2:
        return np.nan, 0.0
    moved, length = _moved(ranks, worth)
    squares, fourth = float(length @ moved**2), float(length @ moved**4)
    # Few negatives decide: as many as would have this spread if all counted alike.
    df = max(squares**2 / fourth, 2.0) if fourth > 0 else 2.0
    return (negatives - 1) / negatives * squares, df


def _moved(ranks: Ranks, worth: Any) -> tuple[Floats, Ints]:
    """By how much leaving out a negative moves the mean worth, more than on average, and how many do so."""
    negatives, weight = int(ranks.fewest_candidates) - 1, ranks.count / ranks.count.sum()
    greater, equal, now = ranks.greater, ranks.equal, worth(ranks)

    def change(fewer: Ranks, where: Mask) -> Floats:
        return np.where(where, worth(fewer) - now, 0.0)

    without_above = change(ranks.alike(np.maximum(greater - 1, 0), equal, ranks.candidates), greater > 0)
    without_tied = change(ranks.alike(greater, np.maximum(equal - 1, 0), ranks.candidates), equal > 0)
    places = sorted_unique(np.concatenate([[0, negatives], greater, greater + equal]))
    steps = np.zeros(len(places))
    steps[0] += float(weight @ without_above)
    np.add.at(steps, np.searchsorted(places, greater), weight * (without_tied - without_above))
    np.add.at(steps, np.searchsorted(places, greater + equal), -weight * without_tied)
    moved, length = np.cumsum(steps)[:-1], np.diff(places)
    return moved - float(length @ moved) / negatives, length
