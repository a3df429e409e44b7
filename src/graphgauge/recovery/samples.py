"""What metrics are computed on: counts, curves, the graphs themselves, or weights; a row per graph.

Rows are averaged (the graphs of a stack), or kept apart along an axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate
from graphgauge.core.types import AnyArray, Floats
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.curves import Curve, ranked
from graphgauge.recovery.structure import Model, NotDefined, models_of

NO_PAIR = "fewer than two nodes"
# The facts of an estimate whose values are from 0 to 1, which its interval needs.
SHARE = {"range": (0.0, 1.0)}
_NOT_A_CLASS = "{} is not the graph of an equivalence class: arrows are missing or superfluous; it is used unchanged"


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
        unlike: dict[str, None] = {}
        for row, pair in enumerate(self.pairs):
            value, flaw = np.nan, next(filter(None, (_flaw(pair, side, dags) for side in (0, 1))), None)
            if flaw is not None:
                reasons.append(f"graph {row}: {flaw}" if len(self.pairs) > 1 else flaw)
            else:
                unlike |= {model.name: None for model in pair if not model.is_class}
                try:
                    value = between(*pair) if pair[0].d > 1 else value
                except NotDefined as error:
                    reasons.append(str(error))
            values.append(value)
        units = np.array([truth.d * (truth.d - 1) // (1 if ordered else 2) for truth, _ in self.pairs], np.int64)
        warnings = tuple(map(_NOT_A_CLASS.format, unlike))
        return self.estimate(np.array(values), units, next(iter(reasons), NO_PAIR), warnings=warnings)


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
