"""One graph as numbers: the form in which all inputs are compared.

A `Layer` has the edges between nodes 0 … d − 1 at one time: as a matrix of weights, in which every cell is an arrow, or
as a list of edges. A `late` layer has the edges of one lag: time orients them, and self-edges count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.graph import MIRRORED, Kind

# What the core finds in a matrix while it packs it.
_FACTS = {"edges": 1, "missing": 2, "negative": 4, "weighted": 8}
# The types that the core reads.
_DIRECT = tuple(map(np.dtype, ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")))


class Listed(NamedTuple):
    """Edges in the order of their cells.

    The cell of an arrow is source·d + target; that of an edge without direction is its pair i·d + j, i < j, and in a
    late layer leads from the earlier node.
    """

    cells: Ints
    kinds: Ints
    weights: AnyArray

    @classmethod
    def ordered(cls, cells: Ints, kinds: Ints, weights: AnyArray) -> Listed:
        order = np.argsort(cells, kind="stable")
        return cls(cells[order], kinds[order], weights[order])

    def only(self, held: Mask) -> Listed:
        return Listed(self.cells[held], self.kinds[held], self.weights[held])


class Cut(NamedTuple):
    """Where an edge begins: its weight, or the size of its weight, is above the threshold."""

    threshold: float
    absolute: bool = False

    def above(self, weights: AnyArray) -> Mask:
        """Which weights are edges; NaN is none."""
        chosen: Mask = weights > self.threshold
        return chosen | (weights < -self.threshold) if self.absolute else chosen

    def scores(self, weights: AnyArray) -> AnyArray:
        """The weights as scores: larger is more of an edge."""
        if not self.absolute or weights.dtype.kind not in "if":
            return weights
        # The lowest number of a signed integer type has no positive counterpart.
        sizes: AnyArray = np.abs(weights.astype(np.int64) if weights.dtype.kind == "i" else weights)
        return sizes


# A true edge is whatever is not 0.
NOT_ZERO = Cut(0.0, absolute=True)


@dataclass(frozen=True, eq=False)
class Layer:
    """The edges of one graph; `scores` rank its cells, if their weights do not."""

    d: int
    matrix: AnyArray | None = None
    edges: Listed | None = None
    scores: AnyArray | None = None
    late: bool = False

    @cached_property
    def listed(self) -> Listed:
        """The edges with a weight other than 0, or NaN; self-edges only where they count."""
        if self.edges is not None:
            cells, kinds, weights = self.edges
        else:
            matrix = self.weights
            cells = np.flatnonzero(matrix)
            kinds, weights = np.full(len(cells), int(Kind.FORWARD)), matrix.ravel()[cells]
        return Listed(cells, kinds, weights).only((cells % (self.d + 1) != 0) | self.late)

    @cached_property
    def arrows(self) -> Listed:
        return self.listed.only(self.listed.kinds < Kind.LINE)

    @property
    def is_open(self) -> bool:
        """Whether there are edges that claim no direction."""
        return self.edges is not None and bool((self.edges.kinds >= Kind.LINE).any())

    @cached_property
    def weights(self) -> AnyArray:
        """The weight of the arrow in each cell, (d, d)."""
        if self.matrix is not None:
            return self.matrix
        weights = np.zeros((self.d, self.d), self.listed.weights.dtype)
        weights.flat[self.arrows.cells] = self.arrows.weights
        return weights

    def loops(self, cut: Cut) -> int:
        """Edges from a node to itself."""
        if self.edges is None:
            return int(np.count_nonzero(cut.above(np.diagonal(self.weights))))
        own = self.edges.cells % (self.d + 1) == 0
        return int(np.count_nonzero(cut.above(self.edges.weights[own])))

    def cells(self, cut: Cut) -> Ints:
        """The arrows as cells source·d + target, in order."""
        if self.matrix is None:
            return self.arrows.cells[cut.above(self.arrows.weights)]
        cells = np.flatnonzero(cut.above(self.matrix))
        return cells if self.late else cells[cells % (self.d + 1) != 0]

    def pairs(self, cut: Cut) -> tuple[Ints, Ints]:
        """All edges by their keys in order, and their kinds: pairs i·d + j, i < j, or the cells of a late layer."""
        cells = self.cells(cut)
        keys, kinds = (cells, np.full(len(cells), int(Kind.FORWARD))) if self.late else paired(cells, self.d)
        if not self.is_open:
            return keys, kinds
        opened = self.listed.only((self.listed.kinds >= Kind.LINE) & cut.above(self.listed.weights))
        keys, kinds = np.append(keys, opened.cells), np.append(kinds, opened.kinds)
        order = np.argsort(keys)
        return keys[order], kinds[order]

    def bits(self, cut: Cut) -> tuple[AnyArray, int]:
        """The arrows, a bit per cell; and which kinds of weights there are, for `facts`."""
        matrix = self.weights
        if matrix.dtype not in _DIRECT:
            small = np.float32 if matrix.dtype.itemsize <= 4 else np.float64
            matrix = matrix.astype(small if matrix.dtype.kind == "f" else np.int64)
        high = float(matrix.dtype.type(cut.threshold)) if matrix.dtype.kind == "f" else cut.threshold
        low = -high if cut.absolute else -np.inf
        loopless, threads = 0 if self.late else self.d, threads_for(matrix.size)
        words, kinds = _core.cell_bits(np.require(matrix, None, ("C", "A")), loopless, low, high, threads)
        return words, kinds

    @cached_property
    def facts(self) -> dict[str, bool]:
        """Whether there are edges at all, and weights that are missing, negative, or other than 0 and 1."""
        if self.edges is None:
            found = self.bits(NOT_ZERO)[1] if self.d else 0
            return {name: bool(found & bit) for name, bit in _FACTS.items()}
        weights = self.listed.weights
        signs = weights != 0, np.isnan(weights), weights < 0, (weights != 0) & (weights != 1)
        return {name: bool(each.any()) for name, each in zip(_FACTS, signs, strict=True)}

    # ---- the same graph otherwise

    def turned(self) -> Layer:
        """Every arrow the other way."""
        scores = None if self.scores is None else self.scores.T
        if self.matrix is not None:
            return replace(self, matrix=np.ascontiguousarray(self.matrix.T), scores=scores)
        cells, kinds, weights = self.edges or self.listed
        cells = np.where(kinds < Kind.LINE, mirrored(cells, self.d), cells)
        return replace(self, edges=Listed.ordered(cells, kinds, weights), scores=scores)

    def renumbered(self, number: Ints) -> Layer:
        """Node i becomes node `number[i]`."""
        grid = np.ix_(np.argsort(number), np.argsort(number))
        scores = None if self.scores is None else self.scores[grid]
        if self.matrix is not None:
            return replace(self, matrix=self.matrix[grid], scores=scores)
        cells, kinds, weights = self.edges or self.listed
        source, target = (number[ends] for ends in np.divmod(cells, max(self.d, 1)))
        swapped = (source > target) & (kinds >= Kind.LINE) & (not self.late)
        kinds = np.where(swapped, MIRRORED[kinds], kinds)
        cells = np.where(swapped, target * self.d + source, source * self.d + target)
        return replace(self, edges=Listed.ordered(cells, kinds, weights), scores=scores)


def mirrored(cells: Ints, d: int) -> Ints:
    """The cells j → i of cells i → j."""
    source, target = np.divmod(cells, max(d, 1))
    return target * d + source


def paired(cells: Ints, d: int) -> tuple[Ints, Ints]:
    """Arrows between different nodes by their pairs i·d + j, i < j, in order, and their kinds."""
    opposite = mirrored(cells, d)
    ways = np.minimum(cells, opposite) * 2 + (cells > opposite)
    ways.sort()
    starts = np.flatnonzero(np.diff(ways >> 1, prepend=-1))
    keys = ways[starts] >> 1
    return keys, np.add.reduceat(1 + (ways & 1), starts) if starts.size else keys


def is_among(ordered: Ints, wanted: Ints) -> Mask:
    """Which of `wanted` are among the ordered numbers."""
    if not len(ordered):
        return np.zeros(len(wanted), np.bool_)
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    held: Mask = ordered[place] == wanted
    return held
