"""Samples of recovery metrics: counted states, curves, or the graphs themselves; one row per graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.metric import Estimate
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.curves import Curve
from graphgauge.recovery.structure import Model, adjustment_distance, cpdag_counts, v_structures

Numbers = NDArray[Any]


@dataclass(frozen=True)
class GraphSample(ABC):
    """Rows that are averaged (the graphs of a stack) or kept separate (`averaged` false).

    `turned` makes the sample of the transposed prediction if the counts do not determine it.
    """

    averaged: bool = True
    zero_division: float = np.nan
    turned: Callable[[], Any] | None = None

    @abstractmethod
    def __len__(self) -> int: ...

    def estimate(self, values: Numbers, n: Numbers, reason: str, **facts: Any) -> Estimate:
        """The mean of the rows' defined values, or the values themselves."""
        values = np.asarray(values, dtype=float)
        sizes = np.where(np.isnan(values), 0, n).astype(np.int64)
        if not self.averaged:
            return Estimate(values, sizes, reason=reason)
        defined = ~np.isnan(values)
        # One number per graph: a sum over sorted values does not depend on their order.
        mean = np.sort(values[defined]).sum() / defined.sum() if defined.any() else np.nan
        with np.errstate(invalid="ignore"):
            influence = (values - mean)[defined]
        estimate = Estimate(np.array([mean]), np.array([sizes[defined].sum()]), influence, reason=reason, facts=facts)
        if defined.any() and not defined.all():
            share = f"{np.count_nonzero(~defined)} of {len(values)} graphs"
            return estimate.warned(f"{share} have no value ({reason}) and are left out of the mean")
        return estimate

    def count(self, values: Numbers, n: Numbers) -> Estimate:
        """Counts out of n possible ones; NaN if n is 0."""
        return self.estimate(np.where(n > 0, values, np.nan), n, "fewer than two nodes")

    def ratio(self, part: Numbers, whole: Numbers, reason: str) -> Estimate:
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.where(whole > 0, part / whole, self.zero_division)
        return self.estimate(values, whole, reason, range=(0.0, 1.0))


@dataclass(frozen=True)
class EdgeCounts(GraphSample):
    """Thresholded graphs as counted states; `shd` says what a distance counts."""

    counts: Counts = field(kw_only=True)
    shd: str = "pair"

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, name: str) -> Numbers:
        return self.counts[name]

    @property
    def omitted(self) -> bool:
        """Whether there are cells without a score."""
        return bool(self.counts.omitted.any())

    @cached_property
    def empty(self) -> EdgeCounts:
        return replace(self, counts=self.counts.without_prediction())

    @cached_property
    def transposed(self) -> EdgeCounts:
        found: EdgeCounts = self.turned() if self.turned else replace(self, counts=self.counts.crossed())
        return found

    @cached_property
    def at_random(self) -> EdgeCounts:
        return replace(self, counts=self.counts.at_random())

    @cached_property
    def with_random_skeleton(self) -> EdgeCounts:
        return replace(self, counts=self.counts.with_random_skeleton())


@dataclass(frozen=True)
class Curves(GraphSample):
    """The scores of each row, as the curve of the prediction and that of its transpose; computed on first use."""

    draw: Callable[[], list[tuple[Curve, Curve]]] = field(kw_only=True)
    area: str = "steps"

    @cached_property
    def _drawn(self) -> list[tuple[Curve, Curve]]:
        return self.draw()

    @property
    def curves(self) -> list[Curve]:
        return [curve for curve, _ in self._drawn]

    def __len__(self) -> int:
        return len(self._drawn)

    @cached_property
    def transposed(self) -> Curves:
        drawn = self._drawn
        crossed = replace(self, draw=lambda: [(other, curve) for curve, other in drawn])
        found: Curves = self.turned() if self.turned else crossed
        return found

    def each(self, value: Callable[[Curve], float], reason: str, **facts: Any) -> Estimate:
        cells = [curve.cells if curve.edges else 0 for curve in self.curves]
        return self.estimate(np.array([value(curve) for curve in self.curves]), np.array(cells), reason, **facts)

    def mean(self, value: Callable[[Curve], float]) -> float:
        """The mean over the graphs that have one."""
        values = np.array([value(curve) for curve in self.curves if curve.edges])
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else np.nan


@dataclass(frozen=True)
class Models(GraphSample):
    """The graphs themselves, true and predicted."""

    pairs: Callable[[], list[tuple[Model, Model]]] = field(kw_only=True)

    @cached_property
    def _pairs(self) -> list[tuple[Model, Model]]:
        return self.pairs()

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def d(self) -> int:
        return self._pairs[0][0].d if self._pairs else 0

    @property
    def edges(self) -> int:
        return sum(len(truth.cells) + len(found.cells) for truth, found in self._pairs)

    @cached_property
    def empty(self) -> Models:
        blank = [(truth, Model(truth.cells[:0], truth.d, False, "A_pred")) for truth, _ in self._pairs]
        return replace(self, pairs=lambda: blank)

    @cached_property
    def transposed(self) -> Models:
        mirrored = [(truth, replace(found, cells=found.mirrored)) for truth, found in self._pairs]
        found: Models = self.turned() if self.turned else replace(self, pairs=lambda: mirrored)
        return found

    @cached_property
    def v_structures(self) -> tuple[Numbers, Numbers, Numbers]:
        """For each graph, the numbers of true, predicted and common ones."""
        found = [(v_structures(truth), v_structures(prediction)) for truth, prediction in self._pairs]
        common = [len(np.intersect1d(true, predicted, assume_unique=True)) for true, predicted in found]
        return np.array([len(true) for true, _ in found]), np.array([len(own) for _, own in found]), np.array(common)

    def cpdag_distance(self) -> Estimate:
        return self._distance(lambda *pair: int(cpdag_counts(*pair)["differing_pairs"][0]), self.d * (self.d - 1) // 2)

    def adjustment_distance(self, kind: str) -> Estimate:
        return self._distance(partial(adjustment_distance, kind), self.d * (self.d - 1), dags_only=kind == "sid")

    def _distance(self, distance: Callable[[Model, Model], int], n: int, *, dags_only: bool = False) -> Estimate:
        """A number for each pair of graphs; NaN if one of them represents no class, or several DAGs."""
        flaws = [self._flaw(row, dags_only) for row in range(len(self))]
        values = [np.nan if flaw else distance(*pair) for flaw, pair in zip(flaws, self._pairs, strict=True)]
        found = self.estimate(
            np.where(n > 0, values, np.nan), np.full(len(self), n), next(filter(None, flaws), "fewer than two nodes")
        )
        unlike = [
            model for row, pair in enumerate(self._pairs) if not flaws[row] for model in pair if not model.is_class
        ]
        return found.warned(*(_NOT_A_CLASS.format(name) for name in dict.fromkeys(model.name for model in unlike)))

    def _flaw(self, row: int, dags_only: bool) -> str | None:
        for model in self._pairs[row]:
            flaw = model.flaw
            if flaw is None and dags_only and model.has_undirected:
                flaw = f"{model.name} has undirected edges, and this distance compares DAGs"
            if flaw is not None:
                return f"graph {row}: {flaw}" if len(self) > 1 else flaw
        return None


_NOT_A_CLASS = "{} is not the graph of an equivalence class: arrows are missing or superfluous; it is used unchanged"
