"""Metrics over all thresholds, from the counts above and at each true edge's score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import floor, inf, nan
from typing import NamedTuple

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.kernels.tails import TailCounts, average_precision, roc_auc, tail_counts
from graphgauge.kernels.threads import map_blocks, row_blocks

# Blocks that are copied are smaller by this factor than blocks that are only read.
_COPIED = 8


class Layer(NamedTuple):
    """Scores of the counted cells: a matrix, with or without its diagonal, or stored values and a number of zeros."""

    scores: AnyArray
    diagonal: bool = True
    zeros: int = 0

    def above_and_beside(self, marks: AnyArray, threads: int | None) -> TailCounts:
        """How many scores are greater than each distinct mark and equal to it."""
        scores, zeros = self.scores.ravel(order="K"), self.zeros
        stored = int(np.count_nonzero(scores))
        if stored < scores.size // 2:
            # Most are 0, as in thresholded weights: these share one place and need no search.
            blocks = row_blocks(scores.size, scores.size)
            parts = map_blocks(lambda block: scores[block][scores[block] != 0], blocks, threads=threads)
            scores, zeros = np.concatenate(parts), zeros + scores.size - stored
        tails = tail_counts(marks, scores, threads=threads)
        greater = tails.greater + zeros * (tails.values < 0)
        equal = tails.equal + zeros * (tails.values == 0)
        cells = tails.negatives + zeros
        if not self.diagonal:
            own = tail_counts(marks, np.diagonal(self.scores))
            greater, equal, cells = greater - own.greater, equal - own.equal, cells - own.negatives
        return TailCounts(tails.values, tails.positives, greater, equal, cells, 0, 0)

    def some_scores(self, most: int) -> AnyArray:
        """The scores, or evenly spaced ones if there are more than `most`; one zero represents all unstored cells."""
        scores = self.scores
        if not self.diagonal:
            scores = scores[~np.eye(len(scores), dtype=bool)] if scores.size <= most else scores.ravel(order="K")
        chosen = scores.ravel()[:: max(1, -(-scores.size // max(1, most)))]
        return np.append(chosen, 0) if self.zeros else chosen

    def highest_below(self, bound: float, threads: int | None) -> float:
        matrix = np.atleast_2d(self.scores)

        def highest(block: slice) -> float:
            scores = matrix[block]
            below = np.where(scores < bound, scores, -inf)
            if not self.diagonal:
                rows = np.arange(len(scores))
                below[rows, block.start + rows] = -inf
            return float(below.max(initial=-inf))

        found = map_blocks(highest, row_blocks(len(matrix), matrix.size * _COPIED), threads=threads)
        return max([*found, 0.0 if self.zeros and bound > 0 else -inf])


@dataclass(frozen=True)
class Curve:
    """At each distinct score of a true edge, highest first: the true edges with it, and the other cells."""

    tails: TailCounts
    highest_below: Callable[[float], float]

    @cached_property
    def edges(self) -> int:
        return int(self.tails.positives.sum())

    @cached_property
    def cells(self) -> int:
        return self.edges + self.tails.negatives

    @cached_property
    def found(self) -> Ints:
        """True edges at or above each score."""
        return np.cumsum(self.tails.positives)

    @cached_property
    def selected(self) -> Ints:
        """Cells at or above each score."""
        return self.found + self.tails.greater + self.tails.equal

    def average_precision(self) -> float:
        return average_precision(self.tails)

    def trapezoid(self) -> float:
        """The area under straight lines between the points of the precision-recall curve, from (0, 1)."""
        if not self.edges or not self.tails.negatives:
            return nan
        # Just above a true score are the true edges before it and all other cells that are higher.
        before = self.found - self.tails.positives
        reached = before + self.tails.greater
        start = np.divide(before, reached, out=np.ones(len(before)), where=reached > 0)
        return float(np.sum(self.tails.positives * (start + self.found / self.selected) / 2) / self.edges)

    def roc_auc(self) -> float:
        return roc_auc(self.tails)

    def f1_at(self, fraction: float) -> float:
        """F1 of the K highest cells, K = fraction · edges, the mean over random order among equal scores."""
        if not self.edges:
            return nan
        k = self.cut(fraction)
        found, selected = self.found, self.selected
        level = int(np.searchsorted(selected, k))
        hits = float(found[level - 1]) if level else 0.0
        if level < len(selected):
            tied = int(self.tails.positives[level] + self.tails.equal[level])
            inside = k - (int(selected[level]) - tied)
            hits += max(inside, 0) * int(self.tails.positives[level]) / tied
        return 2 * hits / (k + self.edges)

    def cut(self, fraction: float) -> int:
        # .29 · 100 is 28.999… in floating point.
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
        return self.highest_below(float(self.tails.values[self._best[0]])) if self.edges else nan


def curve_over(layers: list[Layer], pos: AnyArray, *, threads: int | None) -> Curve:
    """The curve of the true edges' scores `pos` among all scores."""
    counted = [layer.above_and_beside(pos, threads) for layer in layers]
    values, positives = counted[0].values, counted[0].positives
    greater, equal, cells = (sum(getattr(part, name) for part in counted) for name in ("greater", "equal", "negatives"))
    before = np.cumsum(positives) - positives
    tails = TailCounts(values, positives, greater - before, equal - positives, cells - len(pos), 0, 0)

    def highest_below(bound: float) -> float:
        return max(layer.highest_below(bound, threads) for layer in layers)

    return Curve(tails, highest_below)
