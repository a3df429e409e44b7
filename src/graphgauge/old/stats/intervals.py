"""Confidence intervals, in closed form where possible.

Bounds are two arrays with one entry per group. Items are cells with counts, so that a million queries with few
distinct ranks cost as much as their histogram. NaN means that there is no valid interval: too few units, or units that
are equal up to rounding and have no spread. `is_rounding` decides that for all families.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge import _core
from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.options import confidence_level
from graphgauge.old.core.result import Interval, enclosing

Bounds = tuple[Floats, Floats]

_BLOCK = 1 << 17
# A score interval needs this many degrees of freedom: three units of one size. With fewer its width says little.
FEWEST_DF = 2.0
# Values that were not seen: on either side a third of an item, this many times as far out as the farthest one seen.
FARTHER = 4.0
UNSEEN = 1 / 3
# Relative rounding error of sums of many numbers.
_ROUNDING = 1e-12


def tail(confidence: float) -> float:
    """The probability outside on either side."""
    return (1 - confidence_level(confidence)) / 2


def t_quantile(df: ArrayLike, confidence: float) -> Floats:
    """The two-sided critical value of Student's t; NaN where df < 1."""
    df = np.atleast_1d(np.asarray(df, dtype=float))
    if df.size == 1:
        return np.full(df.shape, _critical_value(df.item(), confidence))
    return _critical_values(df, confidence)


@lru_cache(maxsize=1024)
def _critical_value(df: float, confidence: float) -> float:
    """Kept, because the metrics of one sample share their degrees of freedom."""
    return float(_critical_values(np.array(df), confidence))


def _critical_values(df: Floats, confidence: float) -> Floats:
    freedom, place = np.unique(df, return_inverse=True)
    found = [_core.student_quantile(tail(confidence), each) if each >= 1 else np.nan for each in freedom.tolist()]
    return np.array(found)[place].reshape(df.shape)


def is_rounding(spread: ArrayLike, scale: ArrayLike) -> NDArray[np.bool_]:
    """Whether a spread of numbers of this size is only rounding error."""
    return np.asarray(np.asarray(spread) <= _ROUNDING * np.abs(scale))


def without_rounding(spread: float | np.floating, values: ArrayLike) -> float:
    """The spread of these values, or 0 if it is only rounding error."""
    return 0.0 if is_rounding(spread, np.max(np.abs(values), initial=0.0)) else float(spread)


def t_interval(
    value: ArrayLike, standard_error: ArrayLike, df: ArrayLike, confidence: float, *, scale: ArrayLike = 0.0
) -> Bounds:
    """value ± t·se. NaN if df < 1 or if the error is only rounding of the value.

    `scale` is the size of the numbers that the value was computed from, if they may be larger than the value.
    """
    value, error = np.asarray(value, dtype=float), np.asarray(standard_error, dtype=float)
    flat = is_rounding(error, np.maximum(np.abs(value), scale))
    margin = t_quantile(df, confidence) * np.where(flat, np.nan, error)
    return value - margin, value + margin


def sample_std(scores: Floats) -> float:
    """Standard deviation with ddof 1; NaN for a single score, or if a score is infinite."""
    if len(scores) < 2 or not np.isfinite(scores).all():
        return math.nan
    return without_rounding(float(scores.std(ddof=1)), scores)


def sample_interval(
    scores: Floats, confidence: float, over: str, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Interval | None:
    """Student's t-interval of the mean of independent scores; None if they have no spread: too few, or all equal."""
    n, std = len(scores), sample_std(scores)
    if math.isnan(std):
        return None
    mean = scores.mean()
    low, high = enclosing(mean, *t_interval(mean, std / math.sqrt(n), n - 1, confidence), bounds)
    return None if np.isnan(low[0]) else Interval(float(low[0]), float(high[0]), confidence, "t", over)


def wilson_interval(successes: ArrayLike, n: ArrayLike, confidence: float) -> Bounds:
    """Score interval of a share of independent 0/1 items (Wilson 1927). NaN if n = 0.

    Clustered items are not independent: use `logit_t_interval` with the clusters' standard error.
    """
    successes = np.atleast_1d(np.asarray(successes, dtype=float))
    n = np.atleast_1d(np.asarray(n, dtype=float))
    z = _normal_quantile(confidence)
    if successes.shape == n.shape == (1,) and 0 <= successes[0] <= n[0] > 0:
        return _one_wilson_interval(successes.item(), n.item(), z)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (successes + z**2 / 2) / (n + z**2)
        margin = z / (n + z**2) * np.sqrt(successes * (n - successes) / n + z**2 / 4)
    low = np.where(successes == 0, 0.0, centre - margin)
    high = np.where(successes == n, 1.0, centre + margin)
    empty = n <= 0
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def _one_wilson_interval(successes: float, n: float, z: float) -> Bounds:
    """A single `wilson_interval` in Python's numbers, with the same bits; see `_one_score_interval`."""
    centre = (successes + z**2 / 2) / (n + z**2)
    margin = z / (n + z**2) * math.sqrt(successes * (n - successes) / n + z**2 / 4)
    return (
        np.array([0.0 if successes == 0 else centre - margin]),
        np.array([1.0 if successes == n else centre + margin]),
    )


@lru_cache(maxsize=64)
def _normal_quantile(confidence: float) -> float:
    """The two-sided critical value of the normal distribution."""
    quantile: float = _core.normal_quantile(tail(confidence))
    return quantile


def log_t_interval(
    value: ArrayLike, standard_error: ArrayLike, df: ArrayLike, confidence: float, *, scale: ArrayLike = 0.0
) -> Bounds:
    """Delta-method t-interval on the log scale, for means of skewed numbers that are not negative; NaN at 0."""
    value, error = np.asarray(value, dtype=float), np.asarray(standard_error, dtype=float)
    flat = is_rounding(error, np.maximum(np.abs(value), scale)) | ~(value > 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        margin = t_quantile(df, confidence) * np.where(flat, np.nan, error) / value
        return value * np.exp(-margin), value * np.exp(margin)


def logit_t_interval(
    p: ArrayLike, standard_error: ArrayLike, df: ArrayLike, confidence: float, *, scale: ArrayLike = 0.0
) -> Bounds:
    """Delta-method t-interval on the logit scale, for shares and areas that may be near 0 or 1.

    At 0 or 1 there is no spread to measure. The bound is then Clopper and Pearson's for df + 1 independent
    units that all agree: 1 comes with low = (α/2)^(1/(df+1)). An AUC of 1 from m positives and n negatives has
    df + 1 = min(m, n), and the bound is conservative: that many disjoint pairs are all in order with probability
    AUC^min(m, n). NaN if df < 1, and if the error is only rounding (see `t_interval`) of a share in between.
    """
    p = np.atleast_1d(np.asarray(p, dtype=float))
    error = np.asarray(standard_error, dtype=float)
    df = np.atleast_1d(np.asarray(df, dtype=float))
    certain = is_rounding(error, 1.0)
    none = (p == 0) | (certain & is_rounding(p, 1.0))
    all_ = (p == 1) | (certain & is_rounding(1 - p, 1.0))
    safe = np.where(none | all_, 0.5, p)
    flat = is_rounding(error, np.maximum(p, scale))
    margin = t_quantile(df, confidence) * np.where(flat, np.nan, error) / (safe * (1 - safe))
    reach = tail(confidence) ** (1 / np.maximum(df + 1, 2))
    unknown = np.isnan(p) | (df < 1)
    centre = np.log(safe) - np.log1p(-safe)
    with np.errstate(over="ignore"):
        low = np.where(none, 0.0, np.where(all_, reach, 1 / (1 + np.exp(margin - centre))))
        high = np.where(none, 1 - reach, np.where(all_, 1.0, 1 / (1 + np.exp(-centre - margin))))
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def agreement_interval(
    value: ArrayLike, units: ArrayLike, possible: tuple[ArrayLike, ArrayLike], confidence: float
) -> Bounds:
    """Interval of a mean when all units have the same value and the possible values are bounded.

    With confidence, at most a share 1 − (α/2)^(1/units) of the population differs (Clopper and Pearson); that share
    may be anywhere between the bounds.
    """
    value, units = np.asarray(value, dtype=float), np.asarray(units, dtype=float)
    with np.errstate(divide="ignore"):
        other = np.where(units >= 1, 1 - tail(confidence) ** (1 / np.maximum(units, 1)), np.nan)
    floor, ceiling = (np.asarray(end, dtype=float) for end in possible)
    return value - other * (value - floor), value + other * (ceiling - value)


def mean_interval(
    value: ArrayLike, influence: ArrayLike, possible: tuple[float, float] | None, confidence: float, scale: float = 1.0
) -> Bounds:
    """Interval of a mean over units with these influences, one unit each; see `t_or_agreement_interval`."""
    error, df = standard_error(influence, np.ones(np.size(influence)))
    return t_or_agreement_interval(value, error, df, possible, confidence, scale=scale)


def t_or_agreement_interval(
    value: ArrayLike,
    error: ArrayLike,
    df: ArrayLike,
    possible: tuple[float, float] | None,
    confidence: float,
    *,
    scale: float = 1.0,
    units: ArrayLike | None = None,
) -> Bounds:
    """t-interval of a mean of shares, counts and other numbers of about this size (see `t_interval`).

    NaN with fewer than two units, or if all are equal up to rounding. Only if they are all at an end of the
    possible values, such as a share of 0 or 1, their number (`units`, or df + 1) bounds how many may differ.
    """
    low, high = t_interval(value, error, df, confidence, scale=scale)
    if possible is None:
        return low, high
    value, span = np.asarray(value, dtype=float), possible[1] - possible[0]
    at_end = is_rounding(error, span)
    if not at_end.any():
        return low, high
    at_end &= is_rounding(value - possible[0], span) | is_rounding(possible[1] - value, span)
    floor, ceiling = agreement_interval(value, np.asarray(df) + 1 if units is None else units, possible, confidence)
    return np.where(at_end, floor, low), np.where(at_end, ceiling, high)


def standard_error(
    influence: ArrayLike,
    count: ArrayLike,
    *,
    group: NDArray[np.integer] | None = None,
    groups: int = 1,
    cluster: NDArray[np.integer] | Clusters | None = None,
) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of one estimate per group, from the first-order error of each cell.

    `influence` is the contribution of one item of a cell to the error: x − mean for a mean, the linearisation for a
    ratio. `count` items are in each cell (or their weight), `group` is the group of a cell. Items in one `cluster`
    (a label per cell, which may span cells) err together: their influences are summed before they are squared. A large
    cluster pulls the mean towards itself, so its square is raised by 1 / (1 − its share of the items): CR2 of Bell and
    McCaffrey (2002). Degrees of freedom follow from the sizes, see `_size_df`. NaN with fewer than two units. What is
    the same for all estimates with these clusters can be computed once, as `Clusters`.
    """
    influence = np.asarray(influence, dtype=float)
    count = np.asarray(count, dtype=float)
    if cluster is not None and not isinstance(cluster, Clusters):
        cluster = Clusters.of(count, cluster, group, groups)
    return _standard_error(influence, count, _totals(group, count, groups), group, groups, cluster)


def _standard_error(
    influence: Floats,
    count: Floats,
    total: Floats,
    group: NDArray[np.integer] | None,
    groups: int,
    sizes: Clusters | None,
) -> tuple[Floats, Floats]:
    if sizes is None:
        squares = _totals(group, count * influence**2, groups)
        return np.sqrt(squares / np.where(total >= 2, total * (total - 1), np.nan)), np.maximum(total - 1, 0)
    summed = _totals(sizes.key, influence * count, len(sizes.present))[sizes.present]
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(_totals(sizes.owner, summed**2 / (1 - sizes.share), groups)) / total
    return np.where(sizes.df > 0, error, np.nan), sizes.df


def two_samples(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[float, float]:
    """The error of a sum of two means and its degrees of freedom (Satterthwaite), from those of `standard_error`."""
    variances = np.array([float(error[0]) ** 2 for error, _ in (one, other)])
    total = float(variances.sum())
    if not total > 0:
        return float(np.sqrt(total)), 1.0
    return float(np.sqrt(total)), total**2 / float(
        sum(part**2 / float(df[0]) for part, (_, df) in zip(variances, (one, other), strict=True))
    )


class Clusters(NamedTuple):
    """What the error of every estimate needs of its clusters: the cluster of each cell, and sizes.

    `present` says which clusters have items, and `owner` and `share` are the group of each of these and its share of
    the group's items. `df` are the degrees of freedom of each group, 0 with fewer than two clusters, and `units` is the
    number of clusters of one size that would be worth as much, 1 / Σ(shares²).
    """

    key: Ints
    present: NDArray[np.bool_]
    owner: Ints
    share: Floats
    df: Floats
    units: Floats

    @classmethod
    def of(
        cls,
        count: ArrayLike,
        cluster: NDArray[np.integer],
        group: NDArray[np.integer] | None = None,
        groups: int = 1,
    ) -> Clusters:
        count = np.asarray(count, dtype=float)
        key, owner = _cluster_keys(group, cluster)
        members = _totals(key, count, len(owner))
        present = members > 0
        owner, total = owner[present], _totals(group, count, groups)
        share = members[present] / total[owner]
        number = np.bincount(owner, minlength=groups).astype(np.int64)
        df = np.where(number >= 2, _size_df(share, owner, number), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(key, present, owner, share, df, 1 / _totals(owner, share**2, groups))


class Spread(NamedTuple):
    """The spread of one estimate per group: standard error, degrees of freedom, and what single items show.

    `units` is the number of units of one size that would be worth as much, 1 / Σ(shares²), and `items` the number of
    independent items with the same error. `lowest` and `highest` are the largest deviations of an item.
    """

    error: Floats
    df: Floats
    units: Floats
    items: Floats
    lowest: Floats
    highest: Floats


class Masses(NamedTuple):
    """What the spread of every estimate needs of its cells: the items of each, or their weight, and their sum.

    `everywhere` says that no cell is empty.
    """

    each: Floats
    total: float
    everywhere: bool

    @classmethod
    def of(cls, count: ArrayLike) -> Masses:
        each = np.asarray(count, dtype=float)
        return cls(each, float(np.add.reduce(each)), bool(np.minimum.reduce(each, initial=np.inf) > 0))


def spread(
    influence: ArrayLike,
    count: ArrayLike | Masses,
    *,
    group: NDArray[np.integer] | None = None,
    groups: int = 1,
    cluster: NDArray[np.integer] | Clusters | None = None,
    most: ArrayLike | None = None,
) -> Spread:
    """`standard_error` of one estimate per group, with what `score_interval` needs beside it.

    No estimate is worth more independent items than `most`: their number, if counts are not weights. What is the same
    for all estimates with these counts can be computed once, as `Masses`.
    """
    masses = count if isinstance(count, Masses) else Masses.of(count)
    influence, count = np.asarray(influence, dtype=float), masses.each
    if influence.shape != count.shape:
        influence = np.broadcast_to(influence, count.shape)
    if group is None and cluster is None:
        return _one_spread(influence, masses, most)
    if cluster is not None and not isinstance(cluster, Clusters):
        cluster = Clusters.of(count, cluster, group, groups)
    total = np.array([masses.total]) if group is None else _totals(group, count, groups)
    error, df = _standard_error(influence, count, total, group, groups, cluster)
    units = total if cluster is None else cluster.units
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = _totals(group, count * influence**2, groups) / total
        items = np.where(error > 0, variance / error**2, units)
    seen = influence if masses.everywhere else np.where(count > 0, influence, 0.0)
    lowest, highest = _extremes(group, seen, groups)
    most = total if most is None else np.asarray(most, dtype=float)
    return Spread(error, df, units, np.clip(items, units, np.maximum(most, units)), lowest, highest)


def _one_spread(influence: Floats, masses: Masses, most: ArrayLike | None) -> Spread:
    """The `spread` of a single estimate of independent items, in Python's numbers; see `_one_score_interval`."""
    count, total, everywhere = masses
    squares = float(np.add.reduce(count * influence**2))
    error = math.sqrt(squares / (total * (total - 1))) if total >= 2 else math.nan
    items = squares / total / (error * error) if error * error > 0 else total
    largest = total if most is None else max(float(np.asarray(most).item()), total)
    seen = influence if everywhere else np.where(count > 0, influence, 0.0)
    lowest, highest = np.minimum.reduce(seen, initial=0.0), np.maximum.reduce(seen, initial=0.0)
    facts = error, max(total - 1, 0.0), total, min(max(items, total), largest), lowest, highest
    return Spread(*np.array(facts)[:, None])


def score_interval(
    value: ArrayLike, spread: Spread, ends: tuple[ArrayLike, ArrayLike], confidence: float, *, at_ends: float = 0.0
) -> Bounds:
    """Interval of a mean of bounded, possibly skewed values: all means that a score test does not reject.

    As in Wilson's interval of a share, the variance depends on the mean m that is tested. It is proportional to
    (m − a)(b − m) between the ends a and b, with the factor that gives the standard error at the estimate. The
    statistic is compared with Student's t. Near an end the interval is skewed, as the distribution of the mean is.

    A sample often contains none of the rare values that matter most, such as the few first places of a model near
    chance. So the variance counts what was not seen: on either side a third of an item, four times as far out as the
    farthest one seen, but not beyond the end, and `at_ends` of an item at each end. If single items reach the ends, as
    reciprocal ranks and shares do, a twentieth is right. Ends may be infinite. NaN with fewer than two degrees of
    freedom, and if the error is only rounding; if all units are at an end that single items reach, see
    `agreement_interval`.
    """
    value = np.asarray(value, dtype=float)
    if value.size == 1 and (one := _one_score_interval(value, spread, ends, confidence, at_ends)):
        return np.array(one[0], ndmin=value.ndim), np.array(one[1], ndmin=value.ndim)
    low, high = (np.broadcast_to(np.asarray(end, dtype=float), value.shape) for end in ends)
    width = np.where(high > low, high - low, np.nan)
    shift, unseen = _allowance(value, spread, low, high, at_ends)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((value - low) / width, 0.0, 1.0)
        moved = np.clip((value + shift - low) / width, 0.0, 1.0)
        trials = moved * (1 - moved) * width**2 / (spread.error**2 + unseen)
        t = np.where(spread.df >= FEWEST_DF, t_quantile(spread.df, confidence), np.nan)
        centre = (share + t**2 / (2 * trials)) / (1 + t**2 / trials)
        margin = t / (1 + t**2 / trials) * np.sqrt(share * (1 - share) / trials + (t / (2 * trials)) ** 2)
        # Between ends that are infinitely far the variance does not depend on the mean.
        plain = t * np.sqrt(spread.error**2 + unseen)
        scored = low + width * (centre - margin), low + width * (centre + margin)
    bounded = np.isfinite(width)
    flat = is_rounding(spread.error, np.maximum(np.abs(value), np.where(bounded, width, 1.0)))
    lower, upper = (
        np.where(flat, np.nan, np.where(bounded | np.isnan(width), one, other))
        for one, other in zip(scored, (value - plain, value + plain), strict=True)
    )
    at_end = (
        flat
        & (at_ends > 0)
        & (spread.df >= FEWEST_DF)
        & (is_rounding(value - low, width) | is_rounding(high - value, width))
    )
    if not at_end.any():
        return lower, upper
    alike = agreement_interval(value, spread.units, (low, high), confidence)
    return np.where(at_end, alike[0], lower), np.where(at_end, alike[1], upper)


def _one_score_interval(
    value: Floats, spread: Spread, ends: tuple[ArrayLike, ArrayLike], confidence: float, at_ends: float
) -> tuple[float, float] | None:
    """A single `score_interval` in Python's numbers, with the same bits; None where it is not a plain case.

    Most evaluations have one value per metric, and NumPy needs ten times as long for a hundred steps on single numbers.
    Squares are products, as in NumPy: a power may be rounded otherwise.
    """
    low, high = np.asarray(ends[0], dtype=float), np.asarray(ends[1], dtype=float)
    if low.size != 1 or high.size != 1 or spread.error.size != 1 or spread.df.size != 1:
        return None
    at, a, b = value.item(), low.item(), high.item()
    error, df, items = spread.error.item(), spread.df.item(), spread.items.item()
    width = b - a
    if not (math.isfinite(width) and width > 0 and df >= FEWEST_DF and items > 0):
        return None
    if error <= _ROUNDING * max(abs(at), width):
        if not at_ends or (at - a > _ROUNDING * width and b - at > _ROUNDING * width):
            return math.nan, math.nan
        alike = agreement_interval(value, spread.units, (low, high), confidence)
        return alike[0].item(), alike[1].item()
    if not (error > 0 and a < at < b):
        return None
    down, up = min(a - at, 0.0), max(b - at, 0.0)
    below, above = max(FARTHER * spread.lowest.item(), down), min(FARTHER * spread.highest.item(), up)
    shift, unseen = UNSEEN * below + UNSEEN * above, UNSEEN * (below * below) + UNSEEN * (above * above)
    if at_ends:
        shift = shift + at_ends * down + at_ends * up
        unseen = unseen + at_ends * (down * down) + at_ends * (up * up)
    shift, unseen = shift / items, unseen / (items * items)
    share = (at - a) / width
    moved = min(max((at + shift - a) / width, 0.0), 1.0)
    trials = moved * (1 - moved) * (width * width) / (error * error + unseen)
    if not (trials > 0 and math.isfinite(trials)):
        return None
    t = _critical_value(df, confidence)
    square, half = t * t, t / (2 * trials)
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    margin = t / (1 + square / trials) * math.sqrt(share * (1 - share) / trials + half * half)
    return a + width * (centre - margin), a + width * (centre + margin)


def _allowance(value: Floats, spread: Spread, low: Floats, high: Floats, at_ends: float) -> Bounds:
    """By how much values that were not seen shift the mean, and what they add to its variance."""
    down, up = np.minimum(low - value, 0.0), np.maximum(high - value, 0.0)
    near = np.maximum(FARTHER * spread.lowest, down), np.minimum(FARTHER * spread.highest, up)
    places = [(UNSEEN, near[0]), (UNSEEN, near[1])]
    if at_ends:
        places += [(at_ends, down), (at_ends, up)]
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = sum(amount * away for amount, away in places) / spread.items
        return shift, sum(amount * away**2 for amount, away in places) / spread.items**2


def _size_df(share: Floats, owner: Ints, units: Ints) -> Floats:
    """Satterthwaite's degrees of freedom of the CR2 variance of a mean, from the clusters' shares of the items.

    Its expectation and variance if the items of a cluster err alike, which is when sizes matter most: a quadratic
    form in as many normal cluster effects, with the matrix a_g a_h (δ_gh − w_g − w_h + Σw²), a_g² = w_g² / (1 − w_g).
    Clusters of one size have their number less one, and two clusters have one.
    """
    groups = len(units)
    # The largest cluster is kept apart: if it contains nearly everything, the sums would lose all digits.
    order = np.lexsort((share, owner))
    largest = order[np.cumsum(np.bincount(owner, minlength=groups))[units > 0] - 1]
    others = np.ones(len(share), bool)
    others[largest] = False
    big, kin, w = np.zeros(groups), owner[others], share[others]
    big[owner[largest]] = share[largest]
    rest, even = _totals(kin, w, groups), _totals(kin, w**2, groups)  # 1 − w and Σw² without the largest
    with np.errstate(invalid="ignore", divide="ignore"):
        weight, big_weight = w**2 / (1 - w), big**2 / rest
        diagonal, big_diagonal = weight * (1 - 2 * w + (big**2 + even)[kin]), big_weight * (rest**2 + even)
        shift = (big**2 + even)[kin] / 2 - w
        pairs = 2 * _totals(kin, weight, groups) * _totals(kin, weight * shift**2, groups)
        pairs += 2 * _totals(kin, weight * shift, groups) ** 2 - _totals(kin, (2 * weight * shift) ** 2, groups)
        with_largest = 2 * big_weight * _totals(kin, weight * ((even - big * rest)[kin] - w) ** 2, groups)
        squares = _totals(kin, diagonal**2, groups) + big_diagonal**2 + pairs + with_largest
        df = (_totals(kin, diagonal, groups) + big_diagonal) ** 2 / squares
    # It is between one and the number of clusters less one, which equal sizes reach up to rounding.
    most = np.maximum(units - 1, 1)
    return np.where(df > most * (1 - 1e-9), most, np.maximum(df, 1.0))


# A group's variance counts as much as this many degrees of freedom of the variance pooled over groups.
_BORROWED = 4.0


def macro_spread(
    influence: ArrayLike,
    count: ArrayLike,
    value: ArrayLike,
    *,
    group: NDArray[np.integer],
    groups: int,
    cluster: NDArray[np.integer] | None = None,
    most: ArrayLike | None = None,
) -> Spread:
    """The spread of the mean over groups with equal weights, for `score_interval`; `value` is that of each group.

    The groups are the ones of interest, such as the relations of a graph; only their items are drawn. A group of few
    units tells little about its own variance, and one of a single unit nothing. So each variance is averaged with the
    one pooled over all groups, which counts like four degrees of freedom. Units in several groups (head and tail of a
    triple) err together. If no group has two units, the groups are treated as drawn: their values have the spread.
    """
    influence, count = np.asarray(influence, dtype=float), np.asarray(count, dtype=float)
    value = np.asarray(value, dtype=float)
    own = spread(influence, count, group=group, groups=groups, cluster=cluster, most=most)
    free = np.where(own.units > 1, own.df, 0.0)
    size = _totals(group, count, groups)
    lowest, highest = np.minimum(own.lowest.min(), 0.0), np.maximum(own.highest.max(), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        units = groups**2 / np.sum(1 / own.units)
        variance = np.where(free > 0, own.error**2, 0.0)
        freedom = free.sum()
        pooled = np.sum(free * variance * own.units) / freedom
        shrunk = (free * variance + _BORROWED * pooled / own.units) / (free + _BORROWED)
        # Degrees of freedom by size: the variance is a sum over groups of these multiples of their squares.
        lent = np.sum(_BORROWED / own.units / (free + _BORROWED)) / freedom
        multiples = 1 / (own.units * (free + _BORROWED)) + lent
        df = np.sum(multiples * free) ** 2 / np.sum(multiples**2 * free)
        total = shrunk.sum()
        if cluster is not None:
            together, clusters, fewer = _across_groups(influence, count, group, cluster, size)
            total, df, units = total + together, np.minimum(df, fewer), np.float64(clusters)
        error = np.sqrt(np.maximum(total, shrunk.sum() / groups)) / groups
        items = _totals(group, count * influence**2, groups).sum() / size.sum() / error**2
        largest = (size if most is None else np.asarray(most)).sum()
        items = np.clip(np.where(error > 0, items, units), units, np.maximum(largest, units))
    if freedom == 0:
        return spread(value - value.mean(), np.ones(groups))._replace(units=np.array([units]))
    return Spread(*np.array([error, df, units, items, lowest, highest], dtype=float)[:, np.newaxis])


def _across_groups(
    influence: Floats, count: Floats, group: NDArray[np.integer], cluster: NDArray[np.integer], size: Floats
) -> tuple[float, float, float]:
    """What clusters in several groups add to the sum of the groups' variances, and units and df by their sizes."""
    number = np.unique(cluster, return_inverse=True)[1]
    span = int(number.max()) + 1
    key, place = np.unique(np.asarray(group, dtype=np.int64) * span + number, return_inverse=True)
    within, label = np.divmod(key, span)
    share = np.bincount(place, count) / size[within]
    part = np.bincount(place, influence * count) / size[within] / np.sqrt(np.where(share < 1, 1 - share, np.inf))
    together = np.sum(np.bincount(label, part, span) ** 2) - np.sum(part**2)
    weight = np.bincount(label, share / len(size), span).astype(float)
    present = weight[weight > 0]
    (df,) = _size_df(present, np.zeros(len(present), np.int64), np.array([len(present)]))
    return float(together), float(1 / np.sum(present**2)), float(df)


def delong(
    pos: NDArray[np.floating],
    neg: NDArray[np.floating],
    offsets: NDArray[np.integer] | None = None,
    *,
    cluster: NDArray[np.integer] | None = None,
) -> tuple[float, float, float]:
    """Pooled AUC of all positives against all negatives, its standard error and df; ties count half, exactly.

    Without `offsets` all scores are independent (DeLong et al. 1988), df = min(positives, negatives) − 1. With them,
    the negatives of positive i are neg[offsets[i]:offsets[i+1]] and a query errs as one unit (Obuchowski 1997);
    `cluster`, a label per positive, joins queries that err together. Near 1 few units carry most of the error, so df
    is that of a variance estimated from units of this kurtosis (their number less one for normal ones), and for
    clusters at most what their sizes allow. Memory beyond the input stays at a few arrays of the positives' size:
    negatives are read in blocks.
    """
    m, n = len(pos), len(neg)
    if m == 0 or n == 0:
        return np.nan, np.nan, 0
    if offsets is None:
        auc, wins, _, squares = _outscored(pos, neg, None)
        if min(m, n) < 2:
            return auc, np.nan, 0
        spread = max(squares - n * auc**2, 0.0) / (n - 1)
        return auc, math.sqrt(np.var(wins, ddof=1) / m + spread / n), min(m, n) - 1
    auc, wins, losses, _ = _outscored(pos, neg, offsets)
    # The first-order error that each query or cluster adds to the AUC, which is its truth plus their mean.
    influence = losses - np.diff(offsets) * (m / n * auc) - auc + wins
    sizes = None if cluster is None else Clusters.of(np.ones(m), cluster)
    if sizes is not None:
        influence = _totals(sizes.key, influence, len(sizes.present))[sizes.present]
        influence *= len(influence) / m
    units = len(influence)
    if units < 2:
        return auc, np.nan, 0
    variance = float(np.mean(np.square(influence)))
    if variance == 0:
        return auc, 0.0, units - 1
    kurtosis = float(np.mean(np.square(influence) ** 2)) / variance**2
    df = min(units - 1.0, 2 * units / (kurtosis - (units - 3) / (units - 1)))
    if sizes is not None:
        df = min(df, float(sizes.df[0]))
    return auc, math.sqrt(variance / (units - 1)), df


def _outscored(
    pos: NDArray[np.floating], neg: NDArray[np.floating], offsets: NDArray[np.integer] | None
) -> tuple[float, Floats, Floats, float]:
    """Pooled AUC; the share of negatives below each positive; and of a query's negatives, summed, that of positives
    above, over n / m; without offsets their sum of squares instead. Ties count half."""
    m, n = len(pos), len(neg)
    order = np.argsort(pos)
    ordered = pos[order].astype(np.result_type(pos, neg), copy=False)
    twice = np.zeros(m + 1, dtype=np.int64)  # negatives below each positive, ties once: exact under any blocks
    losses = np.zeros(m)
    squares = 0.0
    for first in range(0, n, _BLOCK):
        block = neg[first : first + _BLOCK].astype(ordered.dtype, copy=False)
        below = np.searchsorted(ordered, block)
        upto = below.copy()
        tied = ordered[np.minimum(below, m - 1)] == block
        upto[tied] = np.searchsorted(ordered, block[tied], side="right")
        twice += np.bincount(below, minlength=m + 1) + np.bincount(upto, minlength=m + 1)
        above = 2 * m - below - upto
        if offsets is None:
            squares += float(np.sum(np.square(above / (2 * m))))
        else:
            query = np.searchsorted(offsets, np.arange(first, first + len(block)), side="right") - 1
            losses += np.bincount(query, above, m)
    np.cumsum(twice, out=twice)
    wins = np.empty(m)
    wins[order] = twice[:m] / (2 * n)
    return int(twice[:m].sum()) / (2 * m * n), wins, losses / (2 * n), squares


def percentile_interval(drawn: Floats, items: int, strata: int, confidence: float) -> tuple[float, float]:
    """Percentiles of a bootstrap distribution, widened as Student's t is relative to the normal.

    A resample of n items spreads too little, by √((n − 1)/n), and the plain percentiles ignore that the spread was
    estimated: at n = 5 they cover .83 of a nominal .95 (Hesterberg 2015). NaN if every stratum has one item,
    or if all draws are equal up to rounding.
    """
    df = items - strata
    if df < 1:
        return np.nan, np.nan
    outside = _core.normal_tail(math.sqrt(items / df) * t_quantile(df, confidence)[0])
    if is_rounding(np.ptp(drawn), np.abs(drawn).max()):
        return np.nan, np.nan
    low, high = np.quantile(drawn, [outside, 1 - outside])
    return float(low), float(high)


def _totals(group: NDArray[np.integer] | None, weights: Floats, groups: int) -> Floats:
    if group is None:
        return np.add.reduce(weights, keepdims=True)
    return np.bincount(group, weights, groups).astype(float, copy=False)


def _extremes(group: NDArray[np.integer] | None, values: Floats, groups: int) -> Bounds:
    """The smallest and the largest value of each group, and 0."""
    lowest, highest = np.zeros(groups), np.zeros(groups)
    if group is None:
        lowest[0], highest[0] = values.min(initial=0.0), values.max(initial=0.0)
    else:
        known = ~np.isnan(values)
        np.minimum.at(lowest, group[known], values[known])
        np.maximum.at(highest, group[known], values[known])
    return lowest, highest


def _cluster_keys(group: NDArray[np.integer] | None, cluster: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """The number of each cell's cluster within its group, and the group of each number; some may have no cell."""
    cluster = np.asarray(cluster)
    if cluster.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if int(cluster.max()) - int(cluster.min()) > 1 << 32:  # labels such as hashes, which overflow the sums below
        cluster = np.unique(cluster, return_inverse=True)[1]
    cluster = cluster - cluster.min()
    span = int(cluster.max()) + 1
    key = cluster if group is None else np.asarray(group, dtype=np.int64) * span + cluster
    if key.max() < 4 * key.size + 1024:
        labels = np.arange(int(key.max()) + 1)
    else:
        labels, key = np.unique(key, return_inverse=True)
    return key.astype(np.int64, copy=False), (labels // span).astype(np.int64, copy=False)
