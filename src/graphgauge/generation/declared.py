"""Shared declarations of the generation metrics: laws, conventions, intervals over samples, averages of levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphgauge.generation.samples import ConditionSample, Numbers
from graphgauge.old.core.metric import Bounds, Estimate, Exempt, IntervalRule, NoInterval
from graphgauge.old.stats.intervals import is_rounding, t_or_agreement_interval, tail, wilson_interval

FAMILY = "generation"
LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("needs all samples at once"),
    "monotone": Exempt("samples are judged together: no change of a single sample is certain to improve the value"),
    "symmetry": Exempt("real and generated samples are not interchangeable"),
}
COUNT_LAWS = LAWS | {"monotone": Exempt("a count is neither good nor bad")}
EMPTY = {"empty": "nan"}
MACRO = EMPTY | {"average": "macro"}
MICRO = EMPTY | {"average": "micro"}
TOTAL = EMPTY | {"average": "total"}
WHOLE = EMPTY | {"average": "whole"}
NO_ORDER = "conditions have no order"

FEWEST_VALID = 2
FEWEST_COMPARED = 10


def counted(sample: ConditionSample, counts: Numbers, reason: str) -> Estimate:
    """The number of samples in each condition; without any, there is nothing to measure."""
    some = counts.sum() > 0
    return sample.estimate(np.where(some, counts, np.nan).astype(float), counts, reason)


def level(sample: ConditionSample, values: Numbers, n: Numbers) -> float:
    """A baseline's values of conditions, averaged like the sample; NaN if no condition has one."""
    return float(sample.averaged(sample.average or "macro").estimate(values, n, "").value[0])


def known(levels: Mapping[str, float]) -> dict[str, float]:
    """The baselines that have a value."""
    return {name: value for name, value in levels.items() if value == value}


def members(codes: Numbers, groups: int) -> list[Numbers]:
    """The rows of each condition."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=groups))[:-1]) if groups else []


def few(count: int, fewest: int, noun: str, of: int | None = None) -> str:
    among = "" if of is None else f" among {of}"
    return f"{count} {noun}{'' if count == 1 else 's'}{among}; at least {fewest} are needed"


def nan_array(values: Iterable[float]) -> Numbers:
    return np.array(list(values), dtype=float)


def values_of(found: Iterable[Any], name: str) -> Numbers:
    """One attribute of each condition's measurement; NaN where there is none."""
    return nan_array(np.nan if each is None else getattr(each, name) for each in found)


def over_samples(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t over samples, with Satterthwaite's degrees of freedom for a mean over conditions."""
    method = "satterthwaite-t" if sample.average == "macro" else "t"
    return IntervalRule(method, "samples", _t_bounds)


def over_pairs(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t over samples, from each sample's mean distance to all others (the jackknife of a U-statistic)."""
    return IntervalRule("jackknife-t", "samples", _t_bounds)


def of_shares(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Wilson's interval over samples; for a mean over conditions, Student's t (Satterthwaite's degrees of freedom)."""
    if "successes" in estimate.facts:
        return IntervalRule("wilson", "samples", _wilson_bounds)
    return over_samples(sample, estimate)


def of_draws(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Percentiles of a bootstrap of the classifier's confusions and of its predictions on generated samples."""
    return IntervalRule("percentile bootstrap", "samples", _draw_bounds)


def of_discrepancy(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t with the standard error of an MMD² in large samples; of a biased one, of its expectation at these
    sizes."""
    return IntervalRule("asymptotic-t", "samples", _above_least)


def of_area(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t with DeLong's standard error of an area under the ROC curve."""
    return IntervalRule("delong-t", "samples", _t_bounds)


def of_correlation(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Fisher's z over samples; no interval if the order is perfect."""
    if is_rounding(1 - np.abs(estimate.value), 1.0).all():
        return NoInterval("the order is perfect, so the samples show no spread")
    return IntervalRule("fisher-z", "samples", _fisher_bounds, fewest="at least four")


def _t_bounds(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    error, df = (np.asarray(estimate.facts[name], dtype=float) for name in ("error", "df"))
    return t_or_agreement_interval(
        estimate.value, error, df, estimate.facts.get("range"), confidence, scale=0.0, units=estimate.facts["n"]
    )


def _above_least(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Not below the least value that the estimate can have: 0 if it is biased."""
    low, high = _t_bounds(sample, estimate, confidence)
    return np.maximum(low, estimate.facts.get("least", -np.inf)), high


def _wilson_bounds(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    return wilson_interval(estimate.facts["successes"], estimate.n, confidence)


def _draw_bounds(sample: Any, estimate: Estimate, confidence: float) -> Bounds:
    draws = estimate.facts["draws"]
    outside = tail(confidence)
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(draws, [outside, 1 - outside], axis=0)
    flat = is_rounding(high - low, 1.0)
    return np.where(flat, np.nan, low), np.where(flat, np.nan, high)


def _fisher_bounds(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    from scipy.special import ndtri

    n = np.asarray(estimate.n, dtype=float)
    inside = np.clip(estimate.value, -1 + 1e-15, 1 - 1e-15)
    with np.errstate(invalid="ignore", divide="ignore"):
        # 1.06 is Fieller's variance for ranks.
        margin = -float(ndtri(tail(confidence))) * np.sqrt(1.06 / np.where(n > 3, n - 3, np.nan))
        margin = np.where(is_rounding(1 - np.abs(estimate.value), 1.0), np.nan, margin)
    return np.tanh(np.arctanh(inside) - margin), np.tanh(np.arctanh(inside) + margin)
