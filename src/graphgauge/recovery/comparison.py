"""A comparison of graphs, and the samples that metrics are computed on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, TypedDict, Unpack

import numpy as np

from graphgauge.core.errors import OptionError, one_of
from graphgauge.core.loop import Axis
from graphgauge.recovery.counts import Counts, joined
from graphgauge.recovery.inputs import Graph, SparseGraph, read_pair
from graphgauge.recovery.pairs import DensePair, Options, SparsePair, compared, curves_of
from graphgauge.recovery.samples import Curves, EdgeCounts, GraphSample, Models
from graphgauge.recovery.structure import Model

SHD = ("pair", "cell")
AREAS = ("steps", "trapezoid")
_OPTIONS = ("threshold", "sign", "nan", "lagged", "threads")


class Reading(TypedDict, total=False):
    """How truth and prediction are read; see `evaluate` for the options."""

    threshold: float
    sign: str | None
    edges: str | tuple[str, str]
    encoding: str | tuple[str | None, str | None] | None
    nodes: int | Sequence[Hashable] | None
    lagged: bool
    nan: str
    threads: int | None


@dataclass(frozen=True)
class Rules:
    """Conventions of the metrics that do not change the counts."""

    shd: str = "pair"
    area: str = "steps"
    zero_division: float = np.nan

    def __post_init__(self) -> None:
        one_of("shd", self.shd, SHD)
        one_of("area", self.area, AREAS)
        if not isinstance(self.zero_division, Real):
            raise OptionError(f"zero_division must be a number, not {self.zero_division!r}")


USUAL = Rules()


@dataclass(frozen=True)
class Comparison:
    """Two graphs, or stacks of them, read and checked."""

    truth: Graph
    prediction: Graph
    options: Options
    rules: Rules = USUAL

    @classmethod
    def of(cls, A_true: Any, A_pred: Any, rules: Rules = USUAL, **reading: Unpack[Reading]) -> Comparison:
        given: dict[str, Any] = dict(reading)
        options = Options(**{name: given.pop(name) for name in _OPTIONS if name in given})
        return cls(*read_pair(A_true, A_pred, lagged=options.lagged, **given), options, rules)

    def at(self, threshold: float) -> Comparison:
        return replace(self, options=replace(self.options, threshold=threshold))

    @property
    def first(self) -> Comparison:
        """The first graph of a stack."""
        sides = [
            side if isinstance(side.data, SparseGraph) else replace(side, data=side.data[:1])
            for side in (self.truth, self.prediction)
        ]
        return replace(self, truth=sides[0], prediction=sides[1])

    @cached_property
    def summary(self) -> Comparison:
        """One graph over all lags, without self-edges."""
        assert isinstance(self.pair, DensePair)
        return Comparison(*self.pair.summary(), replace(self.options, sign="keep", lagged=False), self.rules)

    @cached_property
    def pair(self) -> DensePair | SparsePair:
        return compared(self.truth, self.prediction, self.options)

    @cached_property
    def counts(self) -> Counts:
        return self.pair.counts()

    @property
    def d(self) -> int:
        return self.truth.d

    def samples(self) -> dict[str, GraphSample]:
        """All graphs of a stack, to be averaged, or all lags of one graph together."""
        samples: dict[str, GraphSample]
        if self.options.lagged:
            samples = {"edges": self._edges(self.counts.total()), "curves": self._curves([(self.pair, self._rows)])}
        else:
            samples = {
                "edges": self._edges(self.counts),
                "curves": self._curves([(self.pair, [row]) for row in self._rows]),
                "models": Models(pairs=self._models, **self._common),
            }
        if not self.pair.missing_scores:
            return samples
        # A cell without a score drops its true edge too: the transposed prediction leaves out other cells.
        turned = replace(self, prediction=replace(self.prediction, turned=not self.prediction.turned))
        return {name: replace(sample, turned=partial(turned._sample, name)) for name, sample in samples.items()}

    def _sample(self, name: str) -> GraphSample:
        return self.samples()[name]

    def axes(self) -> list[Axis]:
        """The same one by one: by graph of a stack, or by lag and for the summary graph; none if there is only one."""
        if self.options.lagged:
            rows: list[tuple[Any, Iterable[int]]] = [(self.pair, [row]) for row in self._rows]
            edges = self._edges(joined([self.counts, self.summary.counts]))
            parts = {"edges": edges, "curves": self._curves([*rows, (self.summary.pair, [0])])}
            return [_axis("lag", [*map(str, self._rows), "summary"], parts)]
        return [_axis("graph", self._rows, self.samples())] if len(self._rows) > 1 else []

    @property
    def _rows(self) -> range:
        return range(len(self.counts))

    @property
    def _common(self) -> dict[str, Any]:
        return {"zero_division": float(self.rules.zero_division)}

    def _edges(self, counts: Counts) -> EdgeCounts:
        return EdgeCounts(counts=counts, shd=self.rules.shd, **self._common)

    def _curves(self, groups: list[tuple[Any, Iterable[int]]]) -> Curves:
        return Curves(
            draw=lambda: [curves_of(pair, rows) for pair, rows in groups], area=self.rules.area, **self._common
        )

    def _models(self) -> list[tuple[Model, Model]]:
        pairs, names = [], self.truth.names
        for row in self._rows:
            truth = Model(self.pair.true_edges(row), self.d, self.truth.may_be_undirected, "A_true", names)
            found = Model(self.pair.predicted_edges(row), self.d, self.prediction.may_be_undirected, "A_pred", names)
            pairs.append((truth, found))
        return pairs


def _axis(name: str, labels: Iterable[Any], samples: Mapping[str, GraphSample]) -> Axis:
    each = {need: replace(sample, averaged=False) for need, sample in samples.items()}
    edges = each["edges"]
    assert isinstance(edges, EdgeCounts)
    return Axis(name, list(labels), edges["cells"], each)
