"""Samples of recovery metrics: counted states, curves, or the graphs themselves; one row per graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import OptionError
from graphgauge.old.core.cluster import mapped
from graphgauge.old.core.metric import Estimate
from graphgauge.old.recovery.counts import Counts
from graphgauge.old.recovery.curves import Curve
from graphgauge.old.recovery.members import BOUNDS, MOST_MEMBERS, matches_over_members, sid_over_members
from graphgauge.old.recovery.structure import Model, adjustment_distance, class_counts, v_structures

Numbers = NDArray[Any]


@dataclass(frozen=True)
class GraphSample(ABC):
    """Rows that are averaged (the graphs of a stack) or kept separate (`averaged` false)."""

    averaged: bool = True
    zero_division: float = np.nan

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
    """Thresholded graphs as counted states; `shd` says what a distance counts.

    `turned` counts the transposed prediction if the counts do not determine it.
    """

    counts: Counts = field(kw_only=True)
    shd: str = "pair"
    turned: Callable[[], Counts] | None = None

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
    def transposed(self) -> Counts:
        return self.turned() if self.turned else self.counts.crossed()

    @cached_property
    def at_random(self) -> EdgeCounts:
        return replace(self, counts=self.counts.at_random())

    @cached_property
    def with_random_skeleton(self) -> EdgeCounts:
        return replace(self, counts=self.counts.with_random_skeleton())


@dataclass(frozen=True)
class Curves(GraphSample):
    """The curve of the scores of each row; computed on first use."""

    draw: Callable[[], list[Curve]] = field(kw_only=True)
    area: str = "steps"

    @cached_property
    def curves(self) -> list[Curve]:
        return self.draw()

    def __len__(self) -> int:
        return len(self.curves)

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
        return max((truth.d for truth, _ in self._pairs), default=0)

    @property
    def edges(self) -> int:
        return sum(len(truth.cells) + len(found.cells) for truth, found in self._pairs)

    @cached_property
    def empty(self) -> Models:
        blank = [(truth, Model(truth.cells[:0], truth.d, False, "A_pred")) for truth, _ in self._pairs]
        return replace(self, pairs=lambda: blank)

    @cached_property
    def v_structures(self) -> tuple[Numbers, Numbers, Numbers]:
        """For each graph, the numbers of true, predicted and common ones."""
        found = [(v_structures(truth), v_structures(prediction)) for truth, prediction in self._pairs]
        common = [len(np.intersect1d(true, predicted, assume_unique=True)) for true, predicted in found]
        return np.array([len(true) for true, _ in found]), np.array([len(own) for _, own in found]), np.array(common)

    def cpdag_distance(self) -> Estimate:
        return self._distance(_differing_pairs, self._unordered)

    def adjustment_distance(self, kind: str) -> Estimate:
        return self._distance(partial(_adjusted, kind), self._ordered, dags_only=kind == "sid")

    def over_members(self, quantity: str, bound: str) -> Estimate:
        """The minimum, mean or maximum of a distance or of F1 over the members of both classes."""
        if bound not in BOUNDS:
            raise OptionError(f"{bound!r} is not one of {', '.join(BOUNDS)}")
        size = self._ordered if quantity == "sid" else self._unordered
        many = (
            f"a class has more than {MOST_MEMBERS:,} members to enumerate"
            if quantity != "f1"
            else "both graphs are empty"
        )
        value = partial(_over_members, quantity, bound, self.zero_division)
        return self._distance(value, size, true_dag=quantity == "sid", reason=many)

    @property
    def _ordered(self) -> Numbers:
        return np.array([truth.d * (truth.d - 1) for truth, _ in self._pairs], np.int64)

    @property
    def _unordered(self) -> Numbers:
        return self._ordered // 2

    def _distance(
        self,
        distance: Callable[[Model, Model], Value],
        n: Numbers,
        *,
        dags_only: bool = False,
        true_dag: bool = False,
        reason: str = "fewer than two nodes",
    ) -> Estimate:
        """A number for each pair of graphs; NaN if one of them represents no class, or several DAGs."""
        flaws = [self._flaw(row, dags_only, true_dag) for row in range(len(self))]
        sound = [pair for flaw, pair in zip(flaws, self._pairs, strict=True) if not flaw]
        measured = iter([value for part in mapped(partial(_measured, distance), _together(sound)) for value in part])
        found_values = [Value(np.nan) if flaw else next(measured) for flaw in flaws]
        values = [value.number for value in found_values]
        why = next(filter(None, flaws), reason if n.any() else "fewer than two nodes")
        found = self.estimate(np.where(n > 0, values, np.nan), n, why)
        unlike = [
            model for row, pair in enumerate(self._pairs) if not flaws[row] for model in pair if not model.is_class
        ]
        found = found.warned(*(_NOT_A_CLASS.format(name) for name in dict.fromkeys(model.name for model in unlike)))
        return found.warned(*dict.fromkeys(value.remark for value in found_values if value.remark is not None))

    def _flaw(self, row: int, dags_only: bool, true_dag: bool) -> str | None:
        for model in self._pairs[row]:
            flaw = model.flaw
            if flaw is None and (dags_only or (true_dag and model is self._pairs[row][0])) and model.has_undirected:
                flaw = f"{model.name} has undirected edges, and this distance compares DAGs"
            if flaw is not None:
                return f"graph {row}: {flaw}" if len(self) > 1 else flaw
        return None


class Value(NamedTuple):
    """A number for a pair of graphs, and what restricts it."""

    number: float
    remark: str | None = None


Pair = tuple[Model, Model]
# Cells of the graphs that one task of an engine measures, and at most so many pairs.
_CELLS = 1 << 20
_PAIRS = 64


def _together(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs of graphs in parts, for an engine."""
    parts: list[list[Pair]] = []
    room = 0
    for pair in pairs:
        if room < pair[0].d ** 2 or len(parts[-1]) == _PAIRS:
            parts.append([])
            room = _CELLS
        parts[-1].append(pair)
        room -= pair[0].d ** 2
    return parts


def _measured(distance: Callable[[Model, Model], Value], pairs: Sequence[Pair]) -> list[Value]:
    return [distance(*pair) for pair in pairs]


def _differing_pairs(truth: Model, prediction: Model) -> Value:
    return Value(int(class_counts(truth, prediction)["differing_pairs"][0]))


def _adjusted(kind: str, truth: Model, prediction: Model) -> Value:
    return Value(adjustment_distance(kind, truth, prediction))


def _over_members(quantity: str, bound: str, undefined: float, truth: Model, prediction: Model) -> Value:
    found: Any
    if quantity == "sid":
        found = sid_over_members(truth, prediction)
        chosen = getattr(found, bound)
    else:
        found = matches_over_members(truth, prediction)
        # The more arrows are right, the smaller is the distance.
        flipped = {"min": "max", "max": "min"}.get(bound, bound) if quantity == "shd" else bound
        right = getattr(found, flipped)
        both = found.true + found.predicted
        chosen = found.pairs - right if quantity == "shd" else 2 * right / both if both else undefined
    loose = not found.exact and bound != "mean"
    return Value(
        float(chosen), f"a bound: a class has more than {MOST_MEMBERS:,} members to enumerate" if loose else None
    )


_NOT_A_CLASS = "{} is not the graph of an equivalence class: arrows are missing or superfluous; it is used unchanged"


@dataclass(frozen=True)
class Weights(GraphSample):
    """The weights of the arrows that both graphs have, (true, predicted) for each graph."""

    common: list[tuple[Numbers, Numbers]] = field(kw_only=True)

    def __len__(self) -> int:
        return len(self.common)

    def each(self, value: Callable[[Numbers, Numbers], float], **facts: Any) -> Estimate:
        sizes = np.array([len(true) for true, _ in self.common], np.int64)
        values = [value(*pair) if len(pair[0]) else self.zero_division for pair in self.common]
        return self.estimate(np.array(values), sizes, "no arrow is in both graphs", **facts)
