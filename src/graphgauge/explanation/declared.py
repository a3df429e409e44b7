"""Shared declarations of the explanation metrics: laws, conventions, intervals over events, chance levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from graphgauge.explanation.masks import Level
from graphgauge.explanation.samples import EventSample, Rules
from graphgauge.old.core.metric import AS_CHOSEN, Bounds, Estimate, Exempt, IntervalRule, Metric, MetricFunction
from graphgauge.old.stats.intervals import mean_interval

_JOINED = Exempt("parts of a table are joined as files and scored together")
_MODEL_DECIDES = Exempt("only the model decides whether a change of importance is an improvement")
_PARTS = Exempt("model and explanation have different roles")
LAWS = {"permutation": True, "merge": _JOINED, "monotone": _MODEL_DECIDES, "symmetry": _PARTS}
EMPTY = {"empty": "nan", "ties": AS_CHOSEN}
SCORED = EMPTY | {"score": AS_CHOSEN}
DEFAULT = Level(0.1)
# Metrics of the size of a change; they are signed if `absolute` is false.
ABSOLUTE = ("fidelity_drop", "fidelity_keep", "fidelity_best", "necessity_auc", "sufficiency_auc")
RANDOM = "random explainer"


def t_bounds(sample: EventSample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over events; if all values are at an end of the scale, the bound for that many events."""
    assert estimate.influence is not None
    return mean_interval(estimate.value, estimate.influence, estimate.facts.get("range"), confidence)


def over_events(sample: EventSample, estimate: Estimate) -> IntervalRule:
    """Student's t over events; if all values are at an end of the scale, the bound for that many events."""
    return IntervalRule("t", "events", t_bounds)


def _value(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> float:
    return float(function(sample, **params).value[0])


def blind(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty explanation, and the random explainer: the mean over random orders of the same edges."""
    levels = {"empty explanation": sample.empty, RANDOM: sample.at_random}
    found = {name: _value(function, level, params) for name, level in levels.items()}
    return {name: value for name, value in found.items() if value == value}


EXPLAINED: dict[str, Any] = {
    "family": "explanation",
    "needs": ("answers",),
    "interval": over_events,
    "chance": blind,
    "unit": "event",
    "conventions": SCORED,
    "reference": "yuan2023",
    "laws": LAWS,
    "direction": "higher",
    "bounds": (0, 1),
}


def follows_ranking(metric: Metric) -> bool:
    """Whether the metric has a value for any ranking of the edges, such as a random one."""
    return not metric.name.startswith("stability_") and metric.name != "elapsed"


def directed(metric: Metric, rules: Rules) -> Metric:
    """The metric with the direction and bounds that follow from the options."""
    if metric.key == "fidelity_best" and rules.best == "keep":
        metric = replace(metric, direction="lower")
    if metric.key == "acc_auc" and rules.acc_auc.mode == "drop":
        metric = replace(metric, direction="lower")
    signed = not rules.absolute and metric.name in ABSOLUTE
    if signed or (rules.delta_t is not None and metric.name.startswith("cohesiveness")):
        metric = replace(metric, bounds=(-1, 1))
    return metric
