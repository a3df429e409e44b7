"""The table of intervals: which one, by what is measured, over which units, and how many there are.

| what | over | needs | interval | rule |
|---|---|---|---|---|
| a share of independent items, each 0 or 1 | items | 1 | Wilson | `of_share` |
| a mean between bounds | items, clusters | df ≥ 2 | score-t | `of_bounded_mean` |
| an area under a ROC curve | items, queries, clusters | df ≥ 1 | logit-t | `of_area` |
| a mean of numbers that are not negative | items, clusters | df ≥ 1 | log-t | `of_positive` |
| any other mean | items, clusters, seeds | df ≥ 1 | t | `of_mean` |
| a mean over time | time steps | 30 steps | cosine-t, on the scale of its kind | `over_time` |
| a mean over pairs that share nodes | pairs | df ≥ 3 | t, logit-t | `of_mean`, `of_area` with the error of `dyads` |
| all units at an end of the possible values | units | 1 | Clopper–Pearson | within the rules |

Rules return the `Bounds` that a metric's `interval` returns; below them are the formulas, which return two arrays with
one entry per estimate. Errors and degrees of freedom come from `errors` and `dyads`. NaN means that there is
no valid interval: too few units, or units that are equal up to rounding and have no spread.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.metric import Bounds
from graphgauge.core.options import confidence_level
from graphgauge.core.result import Interval, enclosing
from graphgauge.core.types import Floats
from graphgauge.stats.errors import FEWEST_STEPS, Spread, cosine_error, is_rounding, sample_std

Ends = tuple[Floats, Floats]
Scale = Literal["linear", "log", "logit"]

# A score interval needs this many degrees of freedom: three units of one size. With fewer its width says little.
FEWEST_DF = 2.0
# What a mean over items may not have seen of a bounded value: see `score_interval`.
AT_ENDS = 0.05
_UNSEEN, _FARTHER = 1 / 3, 4.0


# ---- the table


def of_share(successes: ArrayLike, n: ArrayLike, confidence: float, *, over: str) -> Bounds:
    """A share of independent items that are each 0 or 1: Wilson."""
    return Bounds(*wilson_interval(successes, n, confidence), "wilson", over, "at least one of the")


def of_bounded_mean(
    value: ArrayLike,
    spread: Spread,
    ends: tuple[ArrayLike, ArrayLike],
    confidence: float,
    *,
    over: str,
    at_ends: float = AT_ENDS,
    clustered: bool = False,
) -> Bounds:
    """A mean between `ends` over items or clusters, from `errors.spread` or `errors.macro_spread`: score-t.

    `at_ends` is 0 if hardly any single item reaches the ends, as of mean ranks.
    """
    low, high = score_interval(value, spread, ends, confidence, at_ends=at_ends)
    return Bounds(low, high, "cluster-score-t" if clustered else "score-t", over, "at least three")


def of_area(value: ArrayLike, error: ArrayLike, df: ArrayLike, confidence: float, *, over: str) -> Bounds:
    """An area under a ROC curve, or a share with an error of its own (`errors.auc_error`, `dyads`): logit-t."""
    return Bounds(*logit_t_interval(value, error, df, confidence), "logit-t", over)


def of_positive(
    value: ArrayLike, error: ArrayLike, df: ArrayLike, confidence: float, *, over: str, scale: ArrayLike = 0.0
) -> Bounds:
    """A mean of numbers that are not negative, such as errors: log-t. `scale` as in `t_interval`."""
    return Bounds(*log_t_interval(value, error, df, confidence, scale=scale), "log-t", over)


def of_mean(
    value: ArrayLike,
    error: ArrayLike,
    df: ArrayLike,
    confidence: float,
    *,
    over: str,
    scale: ArrayLike = 0.0,
    possible: tuple[float, float] | None = None,
    units: ArrayLike | None = None,
) -> Bounds:
    """Any other mean: Student's t.

    If all units are at an end of the `possible` values, their number (`units`, or df + 1) bounds how many may differ.
    """
    low, high = t_interval(value, error, df, confidence, scale=scale)
    if possible is not None:
        at, span = np.asarray(value, dtype=np.float64), possible[1] - possible[0]
        at_end = is_rounding(error, span) & (is_rounding(at - possible[0], span) | is_rounding(possible[1] - at, span))
        number = np.asarray(df, dtype=np.float64) + 1 if units is None else units
        alike = agreement_interval(at, number, possible, confidence)
        low, high = np.where(at_end, alike[0], low), np.where(at_end, alike[1], high)
    return Bounds(low, high, "t", over)


def over_time(
    value: ArrayLike,
    influence: ArrayLike,
    confidence: float,
    *,
    cells: ArrayLike | None = None,
    scale: Scale = "linear",
    size: ArrayLike = 0.0,
) -> Bounds:
    """A mean or ratio over time steps, from what each step (row) adds to its error: cosine-t, of `cosine_error`.

    `scale` is `log` for numbers that are not negative, `logit` for shares. `size` is that of the numbers that the value
    was computed from, if they may be larger than it.
    """
    formula, method = {
        "linear": (t_interval, "cosine-t"),
        "log": (log_t_interval, "log-cosine-t"),
        "logit": (logit_t_interval, "logit-cosine-t"),
    }[scale]
    at = np.asarray(value)
    error, df = (part.reshape(at.shape) for part in cosine_error(influence, cells))
    return Bounds(*formula(at, error, df, confidence, scale=size), method, "time steps", f"at least {FEWEST_STEPS}")


def of_runs(
    scores: ArrayLike, confidence: float, *, over: str = "seeds", bounds: tuple[float, float] = (-math.inf, math.inf)
) -> Interval | None:
    """The mean of independent runs: Student's t. None if they have no spread: too few, or all equal."""
    values = np.asarray(scores, dtype=np.float64)
    n, std = len(values), sample_std(values)
    if math.isnan(std):
        return None
    return of_value(values.mean(), std / math.sqrt(n), n - 1, confidence, "t", over, bounds)


def of_value(
    value: float, error: float, df: float, confidence: float, method: str, over: str, bounds: tuple[float, float]
) -> Interval | None:
    """Student's t around one value, within the bounds of its metric; None if there is no spread."""
    low, high = enclosing(value, *t_interval(value, error, df, confidence), bounds)
    return None if np.isnan(low) else Interval(float(low), float(high), confidence, method, over)


# ---- the formulas


def tail(confidence: float) -> float:
    """The probability outside an interval, on either side."""
    return (1 - confidence_level(confidence)) / 2


def t_quantile(df: ArrayLike, confidence: float) -> Floats:
    """The two-sided critical value of Student's t; NaN where df < 1."""
    each = np.asarray(df, dtype=np.float64)
    freedom = sorted_unique(each)
    values = np.array([_t_quantile(known, confidence) for known in freedom.tolist()])
    return np.asarray(values[np.searchsorted(freedom, each)]) if len(freedom) else each


@lru_cache(maxsize=4096)
def _t_quantile(df: float, confidence: float) -> float:
    """Kept, because the metrics of one sample share their degrees of freedom."""
    return _core.student_quantile(tail(confidence), df) if df >= 1 else math.nan


def t_interval(value: ArrayLike, error: ArrayLike, df: ArrayLike, confidence: float, *, scale: ArrayLike = 0.0) -> Ends:
    """value ± t·error. NaN if df < 1, or if the error is only rounding of the value.

    `scale` is the size of the numbers that the value was computed from, if they may be larger than the value.
    """
    at, spread = np.asarray(value, dtype=np.float64), np.asarray(error, dtype=np.float64)
    flat = is_rounding(spread, np.maximum(np.abs(at), scale))
    margin = t_quantile(df, confidence) * np.where(flat, np.nan, spread)
    return at - margin, at + margin


def log_t_interval(
    value: ArrayLike, error: ArrayLike, df: ArrayLike, confidence: float, *, scale: ArrayLike = 0.0
) -> Ends:
    """value · exp(± t·error / value): the delta method on the log scale, for skewed positive means; NaN at 0."""
    at, spread = np.asarray(value, dtype=np.float64), np.asarray(error, dtype=np.float64)
    flat = is_rounding(spread, np.maximum(np.abs(at), scale)) | ~(at > 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        margin = t_quantile(df, confidence) * np.where(flat, np.nan, spread) / at
        return at * np.exp(-margin), at * np.exp(margin)


def logit_t_interval(
    value: ArrayLike, error: ArrayLike, df: ArrayLike, confidence: float, *, scale: ArrayLike = 0.0
) -> Ends:
    """logit⁻¹(logit p ± t·error / (p (1 − p))): the delta method on the logit scale, for shares and areas.

    At 0 or 1 there is no spread to measure. The bound is then Clopper and Pearson's for df + 1 independent
    units that all agree: 1 comes with low = (α/2)^(1/(df+1)). An AUC of 1 from m positives and n negatives has
    df + 1 = min(m, n), and the bound is conservative: that many disjoint pairs are all in order with probability
    AUC^min(m, n). NaN if df < 1, and if the error is only rounding of a share in between.
    """
    p, spread = np.asarray(value, dtype=np.float64), np.asarray(error, dtype=np.float64)
    certain = is_rounding(spread, 1.0)
    none = (p == 0) | (certain & is_rounding(p, 1.0))
    all_ = (p == 1) | (certain & is_rounding(1 - p, 1.0))
    safe = np.where(none | all_, 0.5, p)
    flat = is_rounding(spread, np.maximum(p, scale))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        margin = t_quantile(df, confidence) * np.where(flat, np.nan, spread) / (safe * (1 - safe))
        centre = np.log(safe) - np.log1p(-safe)
        low, high = 1 / (1 + np.exp(margin - centre)), 1 / (1 + np.exp(-centre - margin))
    alike = agreement_interval(np.where(none, 0.0, 1.0), np.asarray(df) + 1.0, (0.0, 1.0), confidence)
    unknown = np.isnan(p) | (np.asarray(df) < 1)
    low, high = (
        np.where(unknown, np.nan, np.where(none | all_, end, inside))
        for end, inside in zip(alike, (low, high), strict=True)
    )
    return low, high


def wilson_interval(successes: ArrayLike, n: ArrayLike, confidence: float) -> Ends:
    """Score interval of a share of independent 0/1 items (Wilson 1927); NaN if n = 0.

    Clustered items are not independent: use the score interval with the clusters' spread.
    """
    k, items = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    z = _core.normal_quantile(tail(confidence))
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (k + z**2 / 2) / (items + z**2)
        margin = z / (items + z**2) * np.sqrt(k * (items - k) / items + z**2 / 4)
    low, high = np.where(k == 0, 0.0, centre - margin), np.where(k == items, 1.0, centre + margin)
    return np.where(items > 0, low, np.nan), np.where(items > 0, high, np.nan)


def agreement_interval(
    value: ArrayLike, units: ArrayLike, possible: tuple[ArrayLike, ArrayLike], confidence: float
) -> Ends:
    """Interval of a mean when all units have the same value and the possible values are bounded.

    With confidence, at most a share 1 − (α/2)^(1/units) of the population differs (Clopper and Pearson 1934); that
    share may be anywhere between the bounds.
    """
    at, number = np.asarray(value, dtype=np.float64), np.asarray(units, dtype=np.float64)
    other = np.where(number >= 1, 1 - tail(confidence) ** (1 / np.maximum(number, 1)), np.nan)
    floor, ceiling = (np.asarray(end, dtype=np.float64) for end in possible)
    with np.errstate(invalid="ignore"):  # infinitely far ends of units that do not differ
        return at - other * (at - floor), at + other * (ceiling - at)


def score_interval(
    value: ArrayLike, spread: Spread, ends: tuple[ArrayLike, ArrayLike], confidence: float, *, at_ends: float = AT_ENDS
) -> Ends:
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
    at = np.asarray(value, dtype=np.float64)
    low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), at.shape) for end in ends)
    # Spreads have an entry per group; a single value may be a number.
    error, df, units, items, lowest, highest = (part.reshape(at.shape) for part in spread)
    width = np.where(high > low, high - low, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        # What was not seen shifts the mean and adds to its variance.
        down, up = np.minimum(low - at, 0.0), np.maximum(high - at, 0.0)
        places = [(_UNSEEN, np.maximum(_FARTHER * lowest, down)), (_UNSEEN, np.minimum(_FARTHER * highest, up))]
        places += [(at_ends, down), (at_ends, up)] if at_ends else []
        shift = sum(amount * away for amount, away in places) / items
        variance = error**2 + sum(amount * away**2 for amount, away in places) / items**2
        share, moved = (np.clip((mean - low) / width, 0.0, 1.0) for mean in (at, at + shift))
        trials = moved * (1 - moved) * width**2 / variance
        t = np.where(df >= FEWEST_DF, t_quantile(df, confidence), np.nan)
        centre = (share + t**2 / (2 * trials)) / (1 + t**2 / trials)
        margin = t / (1 + t**2 / trials) * np.sqrt(share * (1 - share) / trials + (t / (2 * trials)) ** 2)
        # Between ends that are infinitely far the variance does not depend on the mean.
        bounded, reach = ~np.isinf(width), t * np.sqrt(variance)
        lower = np.where(bounded, low + width * (centre - margin), at - reach)
        upper = np.where(bounded, low + width * (centre + margin), at + reach)
        flat = is_rounding(error, np.maximum(np.abs(at), np.where(np.isfinite(width), width, 1.0)))
        at_end = flat & (is_rounding(at - low, width) | is_rounding(high - at, width))
        at_end &= (at_ends > 0) & (df >= FEWEST_DF)
    lower, upper = np.where(flat, np.nan, lower), np.where(flat, np.nan, upper)
    if not at_end.any():
        return lower, upper
    alike = agreement_interval(at, units, (low, high), confidence)
    return np.where(at_end, alike[0], lower), np.where(at_end, alike[1], upper)
