"""A comparison of graphs, and the samples that metrics are computed on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any, TypedDict, Unpack

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.loop import Axis
from graphgauge.old.recovery.counts import Counts, joined
from graphgauge.old.recovery.inputs import Graph, SparseGraph, per_argument, read_pair, several
from graphgauge.old.recovery.pairs import DensePair, Options, SparsePair, compared, curve_of
from graphgauge.old.recovery.samples import Curves, EdgeCounts, GraphSample, Models, Weights
from graphgauge.old.recovery.structure import Model

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
        truth, prediction = read_pair(A_true, A_pred, lagged=options.lagged, **given)
        if prediction.has_marks and not 0 <= options.threshold < 1:
            raise OptionError(
                f"threshold {options.threshold:g} with a graph of marks, whose edges score 1 and other cells 0",
                fix="Pass a threshold of at least 0 and below 1, or none.",
            )
        return cls(truth, prediction, options, rules)

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
            samples = {"edges": self._whole, "curves": self._curves([(self.pair, self._rows)])}
        else:
            samples = {
                "edges": self._whole,
                "curves": self._curves([(self.pair, [row]) for row in self._rows]),
                "models": Models(pairs=self.models, **self._common),
            }
        if self.pair.may_have_weights:
            samples["weights"] = Weights(common=self._weights(), **self._common)
        return samples

    @property
    def _whole(self) -> EdgeCounts:
        """The counts that values are computed from: each graph of a stack, or all lags of one graph together."""
        edges = self._edges(self._total)
        if not self.pair.missing_scores:
            return edges
        # A cell without a score drops its true edge too: the transposed prediction leaves out other cells.
        turned = replace(self, prediction=replace(self.prediction, turned=not self.prediction.turned))
        return replace(edges, turned=lambda: turned._total)

    @property
    def _total(self) -> Counts:
        return self.counts.total() if self.options.lagged else self.counts

    def axes(self) -> list[Axis]:
        """The same one by one: by graph of a stack, or by lag and for the summary graph; none if there is only one."""
        if self.options.lagged:
            rows: list[tuple[Any, Iterable[int]]] = [(self.pair, [row]) for row in self._rows]
            late = self._rows[1:]
            views = [self.counts, self.summary.counts]
            curves = [*rows, (self.summary.pair, [0])]
            labels = [*map(str, self._rows), "summary"]
            if late:
                views.append(self.counts.rows(slice(1, None)).total())
                curves.append((self.pair, late))
                labels.append("lagged")
            parts = {"edges": self._edges(joined(views)), "curves": self._curves(curves)}
            return [_axis("lag", labels, parts)]
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
            draw=lambda: [curve_of(pair, rows) for pair, rows in groups], area=self.rules.area, **self._common
        )

    def models(self) -> list[tuple[Model, Model]]:
        """Both graphs of each row as causal models."""
        found = []
        for row in self._rows:
            sides = zip(
                (self.truth, self.prediction),
                (self.pair.true_edges(row), self.pair.predicted_edges(row)),
                self.pair.special(row),
                ("A_true", "A_pred"),
                strict=True,
            )
            truth, prediction = (
                Model(edges, self.d, side.may_be_undirected, name, self.truth.names, special)
                for side, edges, special, name in sides
            )
            found.append((truth, prediction))
        return found

    def _weights(self) -> list[tuple[Any, Any]]:
        rows = [self.pair.common_weights(row) for row in self._rows]
        if not self.options.lagged:
            return rows
        true, predicted = zip(*rows, strict=True)
        return [(np.concatenate(true), np.concatenate(predicted))]


@dataclass(frozen=True)
class Stack:
    """Comparisons of several graphs that are no array together: of different sizes, with lags, or of any class."""

    parts: tuple[Comparison, ...]

    @property
    def first(self) -> Comparison:
        return self.parts[0]

    @property
    def options(self) -> Options:
        return self.first.options

    @cached_property
    def counts(self) -> Counts:
        return joined([part._total for part in self.parts])

    def models(self) -> list[tuple[Model, Model]]:
        return [pair for part in self.parts for pair in part.models()]

    @cached_property
    def _samples(self) -> dict[str, GraphSample]:
        each = [part.samples() for part in self.parts]
        shared = set.intersection(*(set(samples) for samples in each))
        joiners: dict[str, Any] = {
            "edges": lambda parts: replace(parts[0], counts=self.counts, turned=self._turned(parts)),
            "curves": lambda parts: replace(parts[0], draw=lambda: [curve for part in parts for curve in part.curves]),
            "models": lambda parts: replace(parts[0], pairs=lambda: [pair for part in parts for pair in part.pairs()]),
            "weights": lambda parts: replace(parts[0], common=[pair for part in parts for pair in part.common]),
        }
        return {name: joiners[name]([samples[name] for samples in each]) for name in each[0] if name in shared}

    def _turned(self, parts: Sequence[EdgeCounts]) -> Callable[[], Counts] | None:
        """The transposed predictions of graphs of which some have cells without a score."""
        return (lambda: joined([part.transposed for part in parts])) if any(part.turned for part in parts) else None

    def samples(self) -> dict[str, GraphSample]:
        return self._samples

    def axes(self) -> list[Axis]:
        return [_axis("graph", range(len(self.counts)), self.samples())]


def compare(A_true: Any, A_pred: Any, rules: Rules = USUAL, **reading: Unpack[Reading]) -> Comparison | Stack:
    """The comparison of two graphs, of two stacks, or of two lists of graphs.

    Graphs that cannot be one array are compared one by one. A list of predictions may have one truth.
    """
    lagged = reading.get("lagged", False)
    encodings = per_argument("encoding", reading.get("encoding"), None)
    truths, predictions = (
        several(value, lagged, encoded=code) for value, code in zip((A_true, A_pred), encodings, strict=True)
    )
    if predictions is None and truths is None:
        if not (_is_list_of_arrays(A_pred) and _is_one_graph(A_true)):
            return Comparison.of(A_true, A_pred, rules, **reading)
        predictions = A_pred
    predictions = predictions or _as_stack(A_pred, lagged)
    if predictions is None:
        raise InputError(
            f"{len(truths or ())} true graphs with one prediction",
            where="A_true and A_pred",
            fix="Pass a list of both.",
        )
    truths = truths or _as_stack(A_true, lagged) or [A_true] * len(predictions)
    if len(truths) != len(predictions) or not truths:
        raise InputError(f"{len(truths)} true graphs with {len(predictions)} predicted ones", where="A_true and A_pred")
    return Stack(tuple(Comparison.of(*pair, rules, **reading) for pair in zip(truths, predictions, strict=True)))


def _as_stack(value: Any, lagged: bool) -> list[Any] | None:
    """The graphs of a plain stack; None for one graph."""
    stack = isinstance(value, np.ndarray) and value.ndim == 3 + lagged
    return list(value) if stack or _is_list_of_arrays(value) else None


def _is_list_of_arrays(value: Any) -> bool:
    """Whether this is a list of matrices; a list of rows is one matrix."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, np.ndarray) and part.ndim >= 2 for part in value)
    )


def _is_one_graph(value: Any) -> bool:
    if not isinstance(value, list):
        return getattr(value, "ndim", 2) == 2
    return not value or isinstance(value[0], tuple) or np.ndim(value[0]) == 1


def _axis(name: str, labels: Iterable[Any], samples: Mapping[str, GraphSample]) -> Axis:
    each = {need: replace(sample, averaged=False) for need, sample in samples.items()}
    edges = each["edges"]
    assert isinstance(edges, EdgeCounts)
    return Axis(name, list(labels), edges["cells"], each)
