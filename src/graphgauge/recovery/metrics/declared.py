"""What recovery metrics have in common: laws, conventions, intervals over graphs, and the scores of trivial graphs.

A metric is a function of `Edges`, `Curves`, `Models` or `Weights` below one of the decorators `edges`, `skeletons`,
`curves`, `models` and `weights`, which take what is different about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, isnan, sqrt
from typing import Any

from graphgauge.core.metric import Bounds, Estimate, Exempt, Metric, MetricFunction, NoChance, NoInterval
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.samples import Curves, Edges, Models, Rows
from graphgauge.stats.errors import sample_std
from graphgauge.stats.intervals import of_mean

# ---- laws and conventions

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
MARKS = EMPTY | {
    "circle": "unknown: never predicted; where true, marks are neither right nor wrong",
    "undirected": "two tails",
}
# Classes of predictions that a metric is fair to (`Family.classes`): those that state every mark; those that stand for
# DAGs; and those of which no undirected edge states two tails.
STATED = ("DAG", "MAG", "lagged")
OF_DAGS = ("DAG", "CPDAG")
WITHOUT_LINES = ("DAG", "MAG", "PAG", "lagged")


# ---- intervals


def over_graphs(sample: Rows, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Student's t over the graphs of a stack; one graph has no interval."""
    influence = estimate.influence
    if influence is None or len(influence) < 2:
        return NoInterval("a single graph has no interval")
    error = sample_std(influence) / sqrt(len(influence))
    possible = estimate.facts.get("range")
    return of_mean(estimate.value, error, len(influence) - 1, confidence, over="graphs", possible=possible)


# ---- trivial graphs


def _levels(function: MetricFunction, samples: dict[str, Rows], **params: Any) -> list[Reference]:
    """The metric of trivial graphs, where it has a value."""
    values = {name: float(function(sample, **params).value[0]) for name, sample in samples.items()}
    return [Reference(name, value) for name, value in values.items() if value == value]


def _trivial_graphs(function: MetricFunction, edges: Edges, *, random: Any = Counts.random) -> list[Reference]:
    """The empty graph, and the exact mean over random graphs with as many edges."""
    drawn = {"empty graph": Counts.empty, "random graph with as many edges": random}
    return _levels(function, {name: replace(edges, drawn=draw) for name, draw in drawn.items()})


def _trivial_skeletons(function: MetricFunction, edges: Edges) -> list[Reference]:
    """The empty graph, and the exact mean over random skeletons with as many edges."""
    return _trivial_graphs(function, edges, random=Counts.random_skeleton)


def _constant_scorer(function: MetricFunction, curves: Curves, **params: Any) -> list[Reference]:
    """Equal scores for all cells: the mean over random orders."""
    return _levels(function, {"constant scorer": replace(curves, others=curves)}, **params)


def _empty_model(function: MetricFunction, models: Models, **params: Any) -> list[Reference]:
    """The empty graph; where `zero_division` is not set, 0/0 counts as 0."""
    zero_division = 0.0 if isnan(models.zero_division) else models.zero_division
    empty = replace(models, predicts_nothing=True, zero_division=zero_division)
    return _levels(function, {"empty graph": empty}, **params)


def random_directions(edges: Edges) -> list[Reference]:
    """The mean over random directions of the predicted edges."""
    right = edges["one_way_in_both"] / 2 + edges["unturned_in_both"]
    value = float(edges.ratio(right, edges["oriented_pairs"], "").value[0])
    return [Reference("random directions", value)] if value == value else []


# ---- decorators

COUNT: dict[str, Any] = {"direction": "none", "bounds": (0, inf)}
DISTANCE: dict[str, Any] = {"direction": "lower", "bounds": (0, inf), "unit": "pair", "reference": "tsamardinos2006"}
_EDGES: dict[str, Any] = {
    "family": "recovery",
    "needs": ("edges",),
    "interval": over_graphs,
    "unit": "cell",
    "conventions": CELLS,
    "reference": "rijsbergen1979",
    "laws": LAWS,
    "direction": "higher",
    "bounds": (0, 1),
    "fair_to": STATED,
}
_SKELETONS = _EDGES | {"unit": "pair", "conventions": PAIRS, "laws": {**LAWS, **TURNED_IS_ADJACENT}, "fair_to": None}
_CURVES = _EDGES | {"needs": ("curves",), "laws": {**LAWS, **ONE_WAY}}
_MODELS = _EDGES | {"needs": ("models",), "unit": "pair", "laws": {**LAWS, **MORE_IS_NOT_BETTER}, "fair_to": OF_DAGS}
_WEIGHTS = _EDGES | {
    "needs": ("weights",),
    "unit": "edge",
    "reference": "zheng2018",
    "laws": {**LAWS, **MORE_IS_NOT_BETTER},
    "conventions": EMPTY | {"over": "the arrows in both graphs, with the weights as given"},
    "chance": NoChance("weights of edges that are found are not drawn at random"),
    "fair_to": None,
}


def _declared(
    usual: dict[str, Any], levels: Any, key: str, *, laws: dict[str, Any] | None = None, **own: Any
) -> Callable[[MetricFunction], Metric]:
    def declare(function: MetricFunction) -> Metric:
        properties = {"chance": partial(levels, function) if levels else None, **usual, **own}
        return metric(key, **properties | {"laws": usual["laws"] | (laws or {})})(function)

    return declare


# A metric of the thresholded graph, direction included; of adjacencies, fair to all classes; of the scores; of graphs
# that represent classes of DAGs; and of the weights of the arrows that both graphs have.
edges = partial(_declared, _EDGES, _trivial_graphs)
skeletons = partial(_declared, _SKELETONS, _trivial_skeletons)
curves = partial(_declared, _CURVES, _constant_scorer)
models = partial(_declared, _MODELS, _empty_model)
weights = partial(_declared, _WEIGHTS, None)
