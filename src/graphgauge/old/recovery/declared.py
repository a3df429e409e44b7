"""Shared declarations of the recovery metrics: laws, conventions, intervals over graphs, chance levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.old.core.metric import (
    Bounds,
    ChanceFunction,
    Estimate,
    Exempt,
    IntervalRule,
    MetricFunction,
    NoChance,
    NoInterval,
)
from graphgauge.old.recovery.samples import Curves, EdgeCounts, GraphSample, Models
from graphgauge.old.stats.intervals import mean_interval

LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("a graph is compared whole; graphs of a stack are averaged"),
    "monotone": True,
    "symmetry": True,
}
ONE_WAY = {"symmetry": Exempt("truth and prediction have different roles")}
EXCHANGED = {"symmetry": Exempt("precision and recall change places when truth and prediction do")}
TURNED_IS_ADJACENT = {"monotone": Exempt("a reversed edge that is dropped takes a true adjacency along")}
MORE_IS_NOT_BETTER = {"monotone": Exempt("a true edge that is found can change what others mean")}
EMPTY = {"empty": "nan"}
CELLS = EMPTY | {
    "cells": "off the diagonal; at lags above 0 all",
    "undirected": "no arrow: neither right nor wrong, not selected",
}
PAIRS = EMPTY | {"pairs": "unordered, each once; at lags above 0 each cell"}
# Classes of predictions that a metric is fair to (`Family.classes`): those that state every mark; those that stand for
# DAGs; and those of which no undirected edge states two tails.
STATED = ("DAG", "MAG", "lagged")
OF_DAGS = ("DAG", "CPDAG")
WITHOUT_LINES = ("DAG", "MAG", "PAG", "lagged")
TO_ALL: dict[str, Any] = {"fair_to": None}
NO_COMMON = "no pair is adjacent in both graphs"


def _t_bounds(sample: GraphSample, estimate: Estimate, confidence: float) -> Bounds:
    assert estimate.influence is not None
    return mean_interval(estimate.value, estimate.influence, estimate.facts.get("range"), confidence)


def over_graphs(sample: GraphSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t over the graphs of a stack; one graph has no interval."""
    if len(sample) < 2 or not sample.averaged:
        return NoInterval("a single graph has no interval")
    return IntervalRule("t", "graphs", _t_bounds)


def _values(
    function: MetricFunction, samples: Mapping[str, GraphSample], params: Mapping[str, Any]
) -> dict[str, float]:
    return {name: float(function(sample, **params).value[0]) for name, sample in samples.items()}


def _known(levels: Mapping[str, float]) -> dict[str, float]:
    return {name: level for name, level in levels.items() if level == level}


def _blind(
    function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any], at_random: Callable[[], EdgeCounts]
) -> dict[str, float]:
    samples = {"empty graph": edges.empty}
    # Cells without a score cannot be drawn, so the closed form does not apply.
    if not edges.omitted:
        samples["random graph with as many edges"] = at_random()
    return _known(_values(function, samples, params))


def blind(function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph, and the exact mean over random graphs with as many edges."""
    return _blind(function, edges, params, lambda: edges.at_random)


def blind_skeleton(function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph, and the exact mean over random skeletons with as many edges."""
    return _blind(function, edges, params, lambda: edges.with_random_skeleton)


def coin_flips(function: MetricFunction, edges: EdgeCounts, params: Mapping[str, Any]) -> dict[str, float]:
    """The mean over random directions of the predicted edges."""
    if edges.omitted:
        return {}
    right = edges["one_way_in_both"] / 2 + edges["two_way_in_both"]
    return _known({"random directions": float(edges.ratio(right, edges["oriented_pairs"], NO_COMMON).value[0])})


def constant_scores(level: Callable[..., float]) -> ChanceFunction:
    """Equal scores for all cells (the mean over random orders)."""

    def chance(function: MetricFunction, curves: Curves, params: Mapping[str, Any]) -> dict[str, float]:
        return _known({"constant scorer": curves.mean(lambda curve: level(curve, **params))})

    chance.__doc__ = constant_scores.__doc__
    return chance


def empty_model(function: MetricFunction, models: Models, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph."""
    return _known(_values(function, {"empty graph": models.empty}, params))


def blind_model(function: MetricFunction, models: Models, params: Mapping[str, Any]) -> dict[str, float]:
    """The empty graph, for which 0/0 counts as 0."""
    return _known(_values(function, {"empty graph": replace(models.empty, zero_division=0.0)}, params))


EDGES: dict[str, Any] = {
    "family": "recovery",
    "needs": ("edges",),
    "interval": over_graphs,
    "chance": blind,
    "unit": "cell",
    "conventions": CELLS,
    "reference": "rijsbergen1979",
    "laws": LAWS,
    "direction": "higher",
    "bounds": (0, 1),
    "fair_to": STATED,
}
SHARE = EDGES | {"laws": LAWS | EXCHANGED}
COUNT = EDGES | {"direction": "none", "bounds": (0, np.inf)}
DIRECTIONS = COUNT | {"unit": "pair", "conventions": PAIRS | {"undirected": "equals an undirected edge only"}}
DISTANCE = DIRECTIONS | {"direction": "lower", "reference": "tsamardinos2006"}
PART = DISTANCE | {"direction": "none", "laws": LAWS | ONE_WAY}
SKELETON = EDGES | {
    "unit": "pair",
    "conventions": PAIRS,
    "chance": blind_skeleton,
    "laws": LAWS | TURNED_IS_ADJACENT,
    **TO_ALL,
}
SKELETON_SHARE = SKELETON | {"laws": LAWS | EXCHANGED | TURNED_IS_ADJACENT}
SKELETON_COUNT = SKELETON | {"direction": "none", "bounds": (0, np.inf)}
CURVE = EDGES | {"needs": ("curves",), "laws": LAWS | ONE_WAY}
MODEL = EDGES | {
    "needs": ("models",),
    "unit": "pair",
    "chance": blind_model,
    "laws": LAWS | MORE_IS_NOT_BETTER,
    "fair_to": OF_DAGS,
}
COLLIDERS = MODEL | {
    "reference": "verma1990",
    "laws": LAWS | EXCHANGED | MORE_IS_NOT_BETTER,
    "conventions": EMPTY | {"v-structure": "a → c ← b by one-way edges, a and b not adjacent"},
}
MODEL_DISTANCE = MODEL | {"direction": "lower", "bounds": (0, np.inf)}
ADJUSTMENT = MODEL_DISTANCE | {
    "reference": "henckel2024",
    "chance": empty_model,
    "fair_to": ("DAG",),
    "laws": LAWS | ONE_WAY | MORE_IS_NOT_BETTER,
    "conventions": {"counts": "ordered pairs, of d·(d − 1)", "graphs": "DAGs, or CPDAGs with a named encoding"},
}
MARK = EDGES | {
    "unit": "mark",
    "reference": "spirtes2000",
    "conventions": EMPTY
    | {"circle": "unknown: never predicted; where true, marks are neither right nor wrong", "undirected": "two tails"},
    "laws": LAWS | ONE_WAY,
}
MEMBERS = MODEL | {
    "reference": "tsamardinos2006",
    "chance": empty_model,
    "default": False,
    "conventions": {"members": "all DAGs that a CPDAG or MPDAG represents, each counted once; a DAG is its own"},
}
WEIGHTS: dict[str, Any] = EDGES | {
    "needs": ("weights",),
    "unit": "edge",
    "default": False,
    "reference": "zheng2018",
    "laws": LAWS | MORE_IS_NOT_BETTER,
    "conventions": EMPTY | {"over": "the arrows in both graphs, with the weights as given"},
    "chance": NoChance("weights of edges that are found are not drawn at random"),
    **TO_ALL,
}
ADJUSTMENT_DISTANCES = ("sid", "parent_aid", "ancestor_aid", "oset_aid")
