"""Metrics over all thresholds, from the counts above and at each true edge's score."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import floor, fsum, inf, nan
from typing import NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.graph import is_among


class Ranked(NamedTuple):
    """The scores of the cells that count: of true arrows; of all cells; and of those that are in neither.

    `zeros` cells have no stored score, and `own` are scores of self-edges among `every`, which do not count.
    """

    positive: AnyArray
    every: AnyArray
    own: AnyArray
    zeros: int = 0

    @property
    def counted(self) -> AnyArray:
        """The stored scores without those of self-edges, which are on the diagonal of a matrix."""
        return np.delete(self.every, np.s_[:: len(self.own) + 1]) if self.own.size else self.every


def ranked(pair: Pair, lag: int = 0) -> Ranked:
    """The scores of one layer."""
    layer, true, none = pair.prediction[lag], pair.arrows(0, lag), np.empty(0)
    if layer.matrix is None and layer.scores is None:
        cells, scores = layer.arrows.cells, pair.cut.scores(layer.arrows.weights)
        positive, there = np.zeros(len(true), scores.dtype), is_among(cells, true)
        positive[there] = scores[np.searchsorted(cells, true[there])]
        every = scores if pair.is_whole else scores[pair.allowed(cells, lag)]
        pairs, alone = pair.units(lag)
        return Ranked(positive, every, none, 2 * pairs + alone - len(every))
    every = (layer.scores if layer.scores is not None else pair.cut.scores(layer.weights)).ravel()
    if pair.is_whole:
        return Ranked(every[true], every, none if layer.late else every[:: pair.d + 1])
    cells = np.arange(pair.d**2)
    held = pair.allowed(cells, lag) & (layer.late | (cells % (pair.d + 1) != 0))
    return Ranked(every[true], every[held], none)


@dataclass(frozen=True)
class Curve:
    """At each distinct score of a true edge, highest first: the true edges with it, and the other cells."""

    values: AnyArray
    positives: Ints
    greater: Ints
    equal: Ints
    others: int
    layers: tuple[Ranked, ...]

    @classmethod
    def over(cls, layers: Iterable[Ranked]) -> Curve:
        """The curve over all cells of some layers."""
        parts = tuple(layers)
        dtype = np.result_type(np.float32, *(part.every.dtype for part in parts))
        rising, repeats = np.unique(np.concatenate([part.positive for part in parts]).astype(dtype), return_counts=True)
        values, positives = np.ascontiguousarray(rising[::-1]), repeats[::-1]
        greater, equal, cells = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64), 0
        for part in parts:
            own = _beside(values, part.own.astype(dtype))
            every = _beside(values, part.every.astype(dtype, copy=False))
            greater += every[0] - own[0] + part.zeros * (values < 0)
            equal += every[1] - own[1] + part.zeros * (values == 0)
            cells += len(part.every) - len(part.own) + part.zeros
        # Among all cells are the true edges themselves.
        before = np.cumsum(positives) - positives
        edges = int(positives.sum())
        return cls(values + 0, positives, greater - before, equal - positives, cells - edges, parts)

    def constant(self) -> Curve:
        """The curve if all scores are equal."""
        zero = np.zeros(min(self.edges, 1), np.int64)
        return Curve(np.zeros(len(zero)), zero + self.edges, zero, zero + self.others, self.others, ())

    @cached_property
    def edges(self) -> int:
        return int(self.positives.sum())

    @property
    def cells(self) -> int:
        return self.edges + self.others

    @cached_property
    def found(self) -> Ints:
        """True edges at or above each score."""
        return np.cumsum(self.positives)

    @cached_property
    def selected(self) -> Ints:
        """Cells at or above each score."""
        return self.found + self.greater + self.equal

    @property
    def prevalence(self) -> float:
        """The share of true edges among the cells; NaN if there is nothing else, or no cell."""
        return self.edges / self.cells if self.others else nan

    def average_precision(self) -> float:
        """The mean over true edges of the precision at their score."""
        if not self.edges or not self.others:
            return nan
        return fsum((self.positives * (self.found / self.selected)).tolist()) / self.edges

    def trapezoid(self) -> float:
        """The area under straight lines between the points of the precision-recall curve, from (0, 1)."""
        if not self.edges or not self.others:
            return nan
        # Just above a true score are the true edges before it and all other cells that are higher.
        before = self.found - self.positives
        reached = before + self.greater
        start = np.divide(before, reached, out=np.ones(len(before)), where=reached > 0)
        return float(np.sum(self.positives * (start + self.found / self.selected) / 2) / self.edges)

    def roc_auc(self) -> float:
        """The probability that a true edge scores above another cell; ties count half."""
        if not self.edges or not self.others:
            return nan
        doubled = 2 * (self.others - self.greater) - self.equal
        # Two halves, because products of large counts exceed 64 bits.
        wins = (int(self.positives @ (doubled >> 31)) << 31) + int(self.positives @ (doubled & (2**31 - 1)))
        return wins / (2 * self.edges * self.others)

    def f1_at(self, fraction: float) -> float:
        """F1 of the K highest cells, K = fraction · edges, the mean over random order among equal scores."""
        if not self.edges:
            return nan
        k = self.cut(fraction)
        level = int(np.searchsorted(self.selected, k))
        hits = float(self.found[level - 1]) if level else 0.0
        if level < len(self.selected):
            tied = int(self.positives[level] + self.equal[level])
            inside = k - (int(self.selected[level]) - tied)
            hits += max(inside, 0) * int(self.positives[level]) / tied
        return 2 * hits / (k + self.edges)

    def cut(self, fraction: float) -> int:
        """How many cells a fraction of the true edges is; .29 · 100 is 28.999… in floating point."""
        return min(max(1, floor(fraction * self.edges + 1e-9)), self.cells)

    @cached_property
    def _best(self) -> tuple[int, float]:
        scores = 2 * self.found / (self.selected + self.edges)
        best = int(np.argmax(scores))
        return best, float(scores[best])

    def best_f1(self) -> float:
        """The highest F1 of any threshold."""
        return self._best[1] if self.edges else nan

    def best_threshold(self) -> float:
        """The highest threshold with the best F1: the highest score that is not selected."""
        if not self.edges:
            return nan
        least, below = self.values[self._best[0]], [-inf]
        for part in self.layers:
            lower = part.counted[part.counted < least]
            below += [float(lower.max())] if lower.size else []
            below += [0.0] if part.zeros and least > 0 else []
        return max(below)


def _beside(values: AnyArray, scores: AnyArray) -> tuple[Ints, Ints]:
    """How many scores are greater than, and equal to, each of the falling values."""
    rising, scores = (np.require(each, None, ("C", "A")) for each in (values[::-1], scores))
    greater, equal, _ = _core.placed_counts(rising, scores, threads_for(values.size + scores.size))
    return greater[::-1], equal[::-1]
