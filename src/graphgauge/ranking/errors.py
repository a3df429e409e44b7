"""How ranking metrics err: which rule of the table of intervals each follows, and what a shared pool adds.

A metric of ranks or lists declares `of_mean`, `of_share`, `of_log_mean` or `of_median`. What it estimates is in the
facts of its estimate: `ends` (the least and the largest possible value, or a function that computes them), `at_ends`
(how much of an item may be unseen at either), `fewest` (items that are needed), `binary` (whether every item scores 0
or 1), and for a shared pool `worth` and `slope`: what a positive is worth, and how far the metric moves if its mean
moves by 1.

Pooled scores that belong to queries err query by query. Those of one pool belong to none: its positives and negatives
are two samples, each with an error of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import sorted_unique
from graphgauge.core.metric import Bounds, Estimate, NoInterval
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.ranking.counting import parts_of
from graphgauge.ranking.samples import AT_ENDS, Pooled, Ranks, Sample
from graphgauge.stats import intervals
from graphgauge.stats.errors import auc_error, is_rounding, macro_spread, standard_error, two_samples
from graphgauge.stats.intervals import score_interval, t_interval, t_quantile


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


def of_log_mean(ranks: Ranks, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """The interval of the mean logarithm, carried back: of a geometric mean, whose `worth` is a logarithm."""
    with np.errstate(invalid="ignore"):
        influence = _influence(estimate) / ranks.to_cells(estimate.value)
        facts = {**estimate.facts, "ends": [np.log(end) for end in _ends(estimate)]}
        logs = replace(estimate, value=np.log(estimate.value), influence=influence, facts=facts)
    found = of_mean(ranks, logs, confidence)
    if isinstance(found, NoInterval):
        return found
    method = found.method.replace("score", "log-score")
    return replace(found, low=np.exp(found.low), high=np.exp(found.high), method=method)


def of_median(ranks: Ranks, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """The distribution function's own interval at the median, carried back to ranks (Woodruff 1952).

    Many queries may share the median's rank, and the shares below it and at or below it err differently. Even all
    n units enclose the median only with probability 1 − 2^(1−n): if that is too little, there are no bounds.
    """
    if ranks.shared:
        return NoInterval("the positives share one pool of negatives, whose error is not known for a median")
    shares = [ranks.estimate(ranks.within(ranks.to_cells(estimate.value - step))) for step in (0.25, 0.0)]
    below, upto = (ranks.spread(_influence(share)) for share in shares)
    reach = t_quantile(below.df, confidence)
    low, high = 0.5 - reach * below.error, 0.5 + reach * upto.error
    too_few = 2.0 ** (1.0 - ranks.units) > 1 - confidence
    unknown = np.isnan(low) | too_few | (is_rounding(below.error, 1.0) & is_rounding(upto.error, 1.0))
    ends = (quantile(ranks, np.where(unknown, 0.5, end)) for end in (low, high))
    low, high = (np.where(unknown, np.nan, end) for end in ends)
    return Bounds(low, high, "woodruff", ranks.over, "at least six (at 95 %)")


def quantile(ranks: Ranks, probability: Floats) -> Floats:
    """The rank below which this share of each group's positives is, or the midpoint between two ranks.

    Under `expected` the mass of a positive is spread evenly over its possible places.
    """
    mass = np.where(np.isnan(ranks.mass), 0.0, ranks.mass)
    wanted = np.clip(probability, 0.0, 1.0) * mass
    # Shares such as 1/3 + 1/3 + 1/3 miss their sum by rounding: values this close count as reached.
    slack = 1e-9 * np.maximum(mass, 1e-300)
    below, above = np.maximum(wanted - slack, slack), np.minimum(wanted + slack, mass)
    middle = (_first_reaching(ranks, below) + _first_reaching(ranks, above)) / 2
    return np.where(ranks.n > 0, middle, np.nan)


def _first_reaching(ranks: Ranks, wanted: Floats) -> Floats:
    """For each group the smallest rank at or below which this much of it is, by bisection over half ranks."""
    low = np.full(ranks.groups, 2, np.int64)
    high = np.full(ranks.groups, 2 * (int((ranks.greater + ranks.equal).max(initial=0)) + 1))
    if ranks.ties == "expected":  # ranks are whole
        low, high = low // 2, high // 2
    step = 1.0 if ranks.ties == "expected" else 2.0
    slack = 1e-12 * wanted
    while (low < high).any():
        middle = (low + high) // 2
        reached = ranks.total(ranks.within(ranks.to_cells(middle / step)) * ranks.count) >= wanted - slack
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return low / step


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


# ---- all positives against all negatives: areas under curves, hits above a threshold

# Negatives that are placed at once.
_BLOCK = 1 << 20


def auc_bounds(sample: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    """DeLong on the logit scale, with a query or cluster as one unit."""
    if sample.offsets is None:
        error, df = _pool_error(sample, float(estimate.value[0]))
    else:
        _, *both = auc_error(sample.pos, sample.neg, sample.offsets, cluster=sample.units)
        error, df = (np.array([each]) for each in both)
    return intervals.of_area(estimate.value, error, df, confidence, over=sample.over)


def _pool_error(sample: Pooled, auc: float) -> tuple[Floats, Floats]:
    """DeLong's error of two samples (1988): of what each positive wins, and of what each negative loses.

    Negatives lose alike at a level and between two, so none has a number of its own.
    """
    (m, n), at = (len(sample.pos), len(sample.neg)), sample.levels
    if min(m, n) < 2:
        return np.array([np.nan]), np.array([0.0])
    above, ends = np.cumsum(at.positives), at.greater + at.equal
    count = np.concatenate([np.append(at.greater, n) - np.append(0, ends), at.equal])
    losses = np.concatenate([np.append(0, above), above - at.positives / 2]) / m
    return two_samples(
        _of_positives(sample, 1 - (at.greater + ends) / (2 * n) - auc), standard_error(losses - auc, count)
    )


def _of_positives(sample: Pooled, influence: Floats) -> tuple[Floats, Floats]:
    """The error of positives that have this influence at each level."""
    if sample.units is None:
        return standard_error(influence, sample.levels.positives)
    return standard_error(influence[_level_of(sample, sample.pos)], cluster=sample.units)


def _level_of(sample: Pooled, scores: AnyArray) -> Ints:
    """The first level at or below each score, in descending order; one past the last if there is none."""
    rising = sample.levels.values[::-1]
    return len(rising) - np.searchsorted(rising, scores, side="right")


def precision_bounds(sample: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    """First-order variance on the logit scale, with a query or cluster as one unit."""
    error, df = _precision_error(sample)
    return intervals.of_area(estimate.value, error, df, confidence, over=sample.over)


def _precision_error(sample: Pooled) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of average precision, by linearisation.

    Precision at a score s is T/(T + F), with T positives and F negatives at or above s. A positive at or above s adds
    F/(T + F)² to it, a negative takes T/(T + F)² away; summed over the positives these are each score's influence.
    """
    pos, neg, counts = sample.pos, sample.neg, sample.levels
    if len(pos) < 2 or not len(neg):
        return np.array([np.nan]), np.array([0.0])
    at_or_above, false = np.cumsum(counts.positives), counts.greater + counts.equal
    selected = (at_or_above + false).astype(np.float64)
    # Descending values: the contribution of a score at its level and every lower one is a sum from the end.
    gained = np.cumsum((counts.positives * false / selected**2)[::-1])[::-1]
    lost = np.append(np.cumsum((counts.positives * at_or_above / selected**2)[::-1])[::-1], 0.0)
    added = at_or_above / selected + gained
    if sample.offsets is None:
        count = np.diff(false, prepend=0, append=len(neg))
        of_negatives = lost * (len(neg) / len(pos))
        centred = added - float(counts.positives @ added) / len(pos)
        of_pool = standard_error(of_negatives - float(count @ of_negatives) / len(neg), count)
        return two_samples(_of_positives(sample, centred), of_pool)
    added = added[_level_of(sample, pos)]
    influence = added.copy()
    for part in parts_of(len(neg), _BLOCK):
        place = np.arange(part.start, min(part.stop, len(neg)))
        query = np.searchsorted(sample.offsets, place, side="right") - 1
        influence -= np.bincount(query, lost[_level_of(sample, neg[part])], len(pos))
    # Queries are centred on the value that their number of negatives would give.
    lost_in_all = added.sum() - influence.sum()
    influence += np.diff(sample.offsets) * (lost_in_all / len(neg)) - added.mean()
    units = np.arange(len(pos)) if sample.units is None else sample.units
    return standard_error(influence, cluster=units)


def hits_bounds(sample: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    """Interval of the share of positives above the k-th best negative, including the error of that threshold.

    In another sample the number of negatives above the same threshold would not be k, but near it (within a Poisson
    count's limits, widened if negatives of one query or cluster are close). The shares at the negatives with
    these ranks show the effect on the value. Distances to them and to the bounds of the positives alone add up in
    squares (Zou and Donner 2008).
    """
    k, value = int(estimate.facts["k"]), float(estimate.value[0])
    low, high = _positives_alone(sample, k, value, confidence)
    if k <= len(sample.neg):  # else there is no threshold, and every positive is a hit
        fewest, most = _count_limits(k, _dispersion(sample, k), confidence)
        first, last = (sample.share_above(rank) for rank in (int(np.floor(fewest)), int(np.ceil(most))))
        low, high = value - np.hypot(value - low, value - first), value + np.hypot(high - value, last - value)
    method = "wilson and threshold" if sample.units is None else "cluster-t and threshold"
    return Bounds(np.atleast_1d(low), np.atleast_1d(high), method, sample.over)


def _positives_alone(sample: Pooled, k: int, value: float, confidence: float) -> tuple[Floats, Floats]:
    n = len(sample.pos)
    if sample.units is None:
        return intervals.wilson_interval([round(value * n)], [n], confidence)
    error, df = standard_error((sample.pos > sample.threshold(k)) - value, cluster=sample.units)
    found = intervals.of_mean([value], error, df, confidence, over="clusters", scale=1.0, possible=(0.0, 1.0))
    return found.low, found.high


def _dispersion(sample: Pooled, k: int) -> float:
    """The variance of the number of negatives above the threshold over that of a Poisson count; at least 1."""
    if sample.offsets is None:
        return 1.0
    above = np.flatnonzero(sample.neg >= sample.threshold(k))
    query = np.searchsorted(sample.offsets, above, side="right") - 1
    expected = np.diff(sample.offsets) * (len(above) / len(sample.neg))
    excess: Floats = np.bincount(query, minlength=len(sample.pos)) - expected
    if sample.units is not None:
        excess = np.bincount(sample.units, excess).astype(np.float64)
    units = len(excess)
    return max(1.0, float(excess @ excess) * units / (units - 1) / len(above)) if units > 1 else 1.0


def _count_limits(count: int, dispersion: float, confidence: float) -> tuple[float, float]:
    """Limits of a count with this dispersion, from those of a Poisson count (Byar's formula: Breslow and Day 1987)."""
    z, events = float(intervals.t_quantile(np.inf, confidence)), count / dispersion
    low, high = (
        dispersion * n * max(1 - 1 / (9 * n) + side * z / (3 * math.sqrt(n)), 0.0) ** 3
        for n, side in ((events, -1), (events + 1, 1))
    )
    return low, high
