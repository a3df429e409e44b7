"""What metrics are computed on, and what they have in common.

A metric is a function of one sample: of counts, curves, the graphs themselves, or weights, with a row per graph. Rows
are averaged (the graphs of a stack), or kept apart along an axis. The decorators `edges`, `skeletons`, `curves`,
`models` and `weights` below declare a metric; they take what is different about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, isnan, sqrt
from typing import Any

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, Exempt, Metric, MetricFunction, NoChance, NoInterval
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.core.types import AnyArray, Floats
from graphgauge.recovery.compare import Counts, Pair
from graphgauge.recovery.curves import Curve, ranked
from graphgauge.recovery.structure import Model, NotDefined, models_of
from graphgauge.stats.errors import sample_std
from graphgauge.stats.intervals import of_mean

NO_PAIR = "fewer than two nodes"
# The facts of an estimate whose values are from 0 to 1, which its interval needs.
SHARE = {"range": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a sample, each some layers of a pair of graphs: averaged, or along an axis.

    `shd` says what a distance counts, pairs or cells; `zero_division` is the value of a ratio without denominator.
    """

    layers: Sequence[tuple[Pair, Sequence[int]]]
    averaged: bool = True
    zero_division: float = np.nan
    shd: str = "pair"

    @property
    def graphs(self) -> list[Pair]:
        return [pair for pair, _ in self.layers]

    def estimate(self, values: AnyArray, n: AnyArray, reason: str, **parts: Any) -> Estimate:
        """The mean of the rows that have a value, or the values themselves."""
        values = np.asarray(values, dtype=np.float64)
        sizes = np.where(np.isnan(values), 0, n).astype(np.int64)
        if not self.averaged:
            return Estimate(values, sizes, reason=reason, **parts)
        defined = ~np.isnan(values)
        # A sum over sorted values does not depend on their order.
        mean = np.sort(values[defined]).sum() / defined.sum() if defined.any() else np.nan
        if defined.any() and not defined.all():
            share = f"{np.count_nonzero(~defined)} of {len(values)} graphs"
            warning = f"{share} have no value ({reason}) and are left out of the mean"
            parts["warnings"] = (*parts.get("warnings", ()), warning)
        with np.errstate(invalid="ignore"):
            influence = (values - mean)[defined]
        return Estimate(np.array([mean]), np.array([sizes.sum()]), influence, reason=reason, **parts)

    def ratio(self, part: AnyArray, whole: AnyArray, reason: str) -> Estimate:
        """A share; `reason` says why there is none where the whole is 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(whole > 0, part / whole, self.zero_division)
        return self.estimate(values, whole, reason, facts=SHARE)


@dataclass(frozen=True, eq=False)
class Edges(Rows):
    """Thresholded graphs as counts by name; or in place of the prediction what `drawn` makes of the counts."""

    drawn: Callable[[Counts], Counts] | None = None

    @cached_property
    def counts(self) -> Counts:
        counts = Counts(np.stack([pair.tables[list(lags)].sum(0) for pair, lags in self.layers]))
        return self.drawn(counts) if self.drawn else counts

    def __getitem__(self, name: str) -> AnyArray:
        return self.counts[name]

    def number(self, values: AnyArray, out_of: str) -> Estimate:
        """A number of units, such as `cells`; NaN if there are none."""
        units = self[out_of]
        return self.estimate(np.where(units > 0, values, np.nan), units, NO_PAIR)


@dataclass(frozen=True, eq=False)
class Curves(Rows):
    """The curve of the scores of each row, drawn when it is first needed; or that of `others`, if all were equal."""

    others: Curves | None = None

    @cached_property
    def curves(self) -> list[Curve]:
        if self.others is not None:
            return [curve.constant() for curve in self.others.curves]
        return [Curve.over(ranked(pair, lag) for lag in lags) for pair, lags in self.layers]

    def each(self, value: Callable[[Curve], float], reason: str, **parts: Any) -> Estimate:
        """A number of each curve."""
        cells = [curve.cells if curve.edges else 0 for curve in self.curves]
        return self.estimate(np.array([value(curve) for curve in self.curves]), np.array(cells), reason, **parts)

    def share(self, value: Callable[[Curve], float], reason: str) -> Estimate:
        """A number from 0 to 1 of each curve."""
        return self.each(value, reason, facts=SHARE)


@dataclass(frozen=True, eq=False)
class Models(Rows):
    """The graphs themselves, true and predicted; or beside the true ones graphs without edges."""

    predicts_nothing: bool = False

    @cached_property
    def pairs(self) -> list[tuple[Model, Model]]:
        both = [models_of(pair) for pair in self.graphs]
        if self.predicts_nothing:
            return [(truth, replace(found, keys=found.keys[:0], kinds=found.kinds[:0])) for truth, found in both]
        return both

    @cached_property
    def colliders(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """For each graph, the numbers of true, predicted and common v-structures."""
        both = [(truth.colliders(), found.colliders()) for truth, found in self.pairs]
        common = [len(np.intersect1d(true, found, assume_unique=True)) for true, found in both]
        return np.array([len(true) for true, _ in both]), np.array([len(found) for _, found in both]), np.array(common)

    def distance(
        self, between: Callable[[Model, Model], float], *, ordered: bool = False, dags: tuple[int, ...] = ()
    ) -> Estimate:
        """A number of each pair of graphs that represent classes of DAGs; of those in `dags`, single DAGs."""
        values, reasons = [], []
        for row, pair in enumerate(self.pairs):
            value, flaw = np.nan, next(filter(None, (_flaw(pair, side, dags) for side in (0, 1))), None)
            if flaw is not None:
                reasons.append(f"graph {row}: {flaw}" if len(self.pairs) > 1 else flaw)
            elif pair[0].d > 1:
                try:
                    value = between(*pair)
                except NotDefined as error:
                    reasons.append(str(error))
            values.append(value)
        units = np.array([truth.d * (truth.d - 1) // (1 if ordered else 2) for truth, _ in self.pairs], np.int64)
        return self.estimate(np.array(values), units, next(iter(reasons), NO_PAIR))


def _flaw(pair: tuple[Model, Model], side: int, dags: tuple[int, ...]) -> str | None:
    model = pair[side]
    if model.flaw is None and side in dags and model.lines.size:
        return f"{model.name} has undirected edges, and this distance compares DAGs"
    return model.flaw


@dataclass(frozen=True, eq=False)
class Weights(Rows):
    """The weights of the arrows that both graphs have: (true, predicted) for each graph."""

    @cached_property
    def common(self) -> list[tuple[Floats, Floats]]:
        return [_common_weights(pair) for pair in self.graphs]

    def each(self, value: Callable[[Floats, Floats], float]) -> Estimate:
        """A number of the weights of each graph."""
        sizes = np.array([len(true) for true, _ in self.common], np.int64)
        values = [value(*pair) if len(pair[0]) else self.zero_division for pair in self.common]
        return self.estimate(np.array(values), sizes, "no arrow is in both graphs")


def _common_weights(pair: Pair) -> tuple[Floats, Floats]:
    weights: tuple[list[Floats], list[Floats]] = [], []
    for lag in pair.lags:
        cells = np.intersect1d(pair.arrows(0, lag), pair.arrows(1, lag), assume_unique=True)
        for side, layer in zip(weights, (pair.truth[lag], pair.prediction[lag]), strict=True):
            side.append(layer.weights_in(cells))
    return np.concatenate(weights[0]), np.concatenate(weights[1])


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


def _trivial_graphs(function: MetricFunction, edges: Edges) -> list[Reference]:
    """The empty graph, and the exact mean over random graphs with as many edges."""
    drawn = {"empty graph": Counts.empty, "random graph with as many edges": Counts.random}
    return _levels(function, {name: replace(edges, drawn=draw) for name, draw in drawn.items()})


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
skeletons = partial(_declared, _SKELETONS, _trivial_graphs)
curves = partial(_declared, _CURVES, _constant_scorer)
models = partial(_declared, _MODELS, _empty_model)
weights = partial(_declared, _WEIGHTS, None)
