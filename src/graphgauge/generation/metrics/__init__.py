"""The metrics of the family by section, in the order of tables; how they are declared, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.metric import Bounds, Estimate, Exempt, Metric, NoChance, NoInterval
from graphgauge.core.registry import metric, section
from graphgauge.generation.averages import FAMILY, Average, View
from graphgauge.stats.errors import is_rounding
from graphgauge.stats.intervals import of_mean, of_share, t_interval, tail

# ---- declarations

_LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("needs all samples at once"),
    "monotone": Exempt("samples are judged together: no change of a single sample is certain to improve the value"),
    "symmetry": Exempt("real and generated samples are not interchangeable"),
}
_NEUTRAL = _LAWS | {"monotone": Exempt("a count is neither good nor bad")}
# What counts declare, and p-values.
COUNT: dict[str, Any] = {
    "direction": "none",
    "bounds": (0, np.inf),
    "chance": NoChance("a count is neither good nor bad"),
    "interval": NoInterval("a count of these samples"),
}
P_VALUE: dict[str, Any] = {
    "direction": "none",
    "bounds": (0, 1),
    "chance": NoChance("p-values are uniform if nothing differs"),
    "interval": NoInterval("a p-value is not an estimate"),
}


def with_options(levels: Callable[..., Any]) -> Callable[..., Any]:
    """Levels of a sample and options as levels of the sample for each choice of options, with the same words."""

    @wraps(levels)
    def chosen(*options: Any, **more: Any) -> Callable[..., Any]:
        @wraps(levels)
        def of(sample: Any, **params: Any) -> Any:
            return levels(sample, *options, **more, **params)

        return of

    return chosen


def declared(
    key: str,
    *,
    average: Average,
    direction: str = "higher",
    bounds: tuple[float, float] = (0, 1),
    unit: str = "sample",
    laws: Mapping[str, bool | Exempt] | None = None,
    conventions: Mapping[str, str] | None = None,
    **properties: Any,
) -> Callable[[Callable[..., Estimate]], Metric]:
    """Declare a metric with its average over conditions: function, levels and interval see the sample in it.

    By default it is a share of samples, and higher is better; `laws` and `conventions` are those of its own.
    """

    def seen(call: Any) -> Any:
        if isinstance(call, NoChance | NoInterval):
            return call

        @wraps(call)
        def inner(sample: Any, *args: Any, **params: Any) -> Any:
            return call(sample.seen(average), *args, **params)

        return inner

    properties |= {name: seen(properties[name]) for name in ("chance", "interval")}
    properties["laws"] = (_NEUTRAL if direction == "none" else _LAWS) | dict(laws or {})
    properties["conventions"] = {"average": average, **(conventions or {})}
    entry = metric(key, family=FAMILY, direction=direction, bounds=bounds, unit=unit, **properties)
    return lambda function: entry(seen(function))


# ---- intervals


def over_samples(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over samples, with Satterthwaite's degrees of freedom for a mean over conditions."""
    return _student(estimate, confidence, "satterthwaite-t" if sample.average == "macro" else "t")


def over_pairs(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over samples, from each sample's mean distance to all others (the jackknife of a U-statistic)."""
    return _student(estimate, confidence, "jackknife-t")


def of_shares(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds:
    """Wilson's interval over samples; for a mean over conditions Student's t."""
    if "successes" in estimate.facts:
        return of_share(estimate.facts["successes"], estimate.n, confidence, over="samples")
    return over_samples(sample, estimate, confidence)


def of_discrepancy(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds:
    """Student's t with the large-sample standard error; of biased MMDs, of their expectation."""
    bounds = _student(estimate, confidence, "asymptotic-t")
    return replace(bounds, low=np.maximum(bounds.low, estimate.facts.get("least", -np.inf)))


def of_recognition(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds:
    """Student's t with DeLong's standard error of an area under the ROC curve."""
    return _student(estimate, confidence, "delong-t")


def of_draws(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds:
    """Percentiles of a bootstrap of the classifier's confusions and of its answers to generated samples."""
    outside = tail(confidence)
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(estimate.facts["draws"], [outside, 1 - outside], axis=0)
    same = is_rounding(high - low, 1.0)
    return Bounds(np.where(same, np.nan, low), np.where(same, np.nan, high), "percentile bootstrap", "samples")


def of_correlation(sample: View[Any], estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Fisher's z over samples, with Fieller's variance for ranks; no interval if the order is perfect."""
    perfect = is_rounding(1 - np.abs(estimate.value), 1.0)
    if perfect.all():
        return NoInterval("the order is perfect, so the samples show no spread")
    n = np.asarray(estimate.n, dtype=float)
    inside = np.clip(estimate.value, -1 + 1e-15, 1 - 1e-15)
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = _core.normal_quantile(tail(confidence)) * np.sqrt(1.06 / np.where(n > 3, n - 3, np.nan))
        margin = np.where(perfect, np.nan, margin)
    low, high = np.tanh(np.arctanh(inside) - margin), np.tanh(np.arctanh(inside) + margin)
    return Bounds(low, high, "fisher-z", "samples", "at least four")


def _student(estimate: Estimate, confidence: float, method: str) -> Bounds:
    facts = estimate.facts
    error, df = (np.asarray(facts[name], dtype=float) for name in ("error", "df"))
    possible = facts.get("range")
    if possible is None:
        return Bounds(*t_interval(estimate.value, error, df, confidence), method, "samples")
    bounds = of_mean(estimate.value, error, df, confidence, over="samples", possible=possible, units=facts["n"])
    return replace(bounds, method=method)


# ---- sections

for _name, _question in (
    ("reconstruction", "how much of a real sample comes back when it is encoded and decoded"),
    (
        "diversity",
        "how many attempts are valid, and how much they differ from each other and from the training set",
    ),
    ("statistical", "whether generated samples have the distribution of real ones"),
    ("latent_space", "whether conditions are separated, and in order, in the latent space"),
    ("grade_conditioning", "whether a classifier recognises the requested conditions in generated samples"),
):
    section(_name, family=FAMILY, question=_question)

for _name in (
    "reconstruction",
    "diversity",
    "statistical",
    "recognition",
    "latent_space",
    "conditioning",
):
    import_module(f"{__name__}.{_name}")
