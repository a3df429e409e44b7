"""One graph as numbers: the form in which all inputs are compared.

A `Layer` has the edges between nodes 0 … d − 1 at one time. Arrows are cells source·d + target, as a matrix of weights
or as those that are stored. Edges that claim no direction are `open`: listed by their pair i·d + j, i < j, with their
kind. A `late` layer has the edges of one lag: time orients them, self-edges count, and open edges are listed by cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints
from graphgauge.recovery.graph import MIRRORED, Graph, Kind, Names

# What truth and prediction are called in errors.
ARGUMENTS = ("A_true", "A_pred")
# What the core finds in a matrix while it packs it.
_EDGE, _NAN, _NEGATIVE, _WEIGHTED = 1, 2, 4, 8
# The types that the core reads.
_DIRECT = tuple(map(np.dtype, ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")))
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Stored:
    """Cells in order, each once, and their weights; the others are 0."""

    cells: Ints
    values: AnyArray


@dataclass(frozen=True)
class Open:
    """Edges that claim no direction: keys in order, each once, with their kinds and weights."""

    keys: Ints = field(default_factory=lambda: _NONE)
    kinds: Ints = field(default_factory=lambda: _NONE)
    weights: AnyArray = field(default_factory=lambda: _NONE)


@dataclass(frozen=True)
class Cut:
    """Where an edge begins: its weight, or the size of its weight, is above the threshold."""

    threshold: float
    absolute: bool = False

    def above(self, weights: AnyArray) -> AnyArray:
        """Which weights are edges; NaN is none."""
        chosen: AnyArray = self.scores(weights) > self.threshold
        return chosen

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
    """The edges of one graph; `scores` rank its cells, if its arrows do not."""

    arrows: AnyArray | Stored
    d: int
    open: Open = field(default_factory=Open)
    scores: AnyArray | None = None
    late: bool = False

    @property
    def is_dense(self) -> bool:
        return isinstance(self.arrows, np.ndarray)

    @cached_property
    def stored(self) -> Stored:
        """The cells with a weight other than 0, or NaN; self-edges only where they count."""
        if isinstance(self.arrows, Stored):
            cells, values = self.arrows.cells, self.arrows.values
        else:
            cells = np.flatnonzero(self.arrows)
            values = self.arrows.ravel()[cells]
        if self.late:
            return Stored(cells, values)
        between = cells % (self.d + 1) != 0
        return Stored(cells, values) if between.all() else Stored(cells[between], values[between])

    @cached_property
    def matrix(self) -> AnyArray:
        """The weights of all cells, (d, d)."""
        if isinstance(self.arrows, np.ndarray):
            return self.arrows
        matrix = np.zeros(self.d * self.d, self.arrows.values.dtype)
        matrix[self.arrows.cells] = self.arrows.values
        return matrix.reshape(self.d, self.d)

    def loops(self, cut: Cut) -> int:
        """Edges from a node to itself."""
        if isinstance(self.arrows, Stored):
            own = self.arrows.values[self.arrows.cells % (self.d + 1) == 0]
        else:
            own = np.diagonal(self.arrows)
        return int(np.count_nonzero(cut.above(own)))

    # ---- edges

    def cells(self, cut: Cut) -> Ints:
        """The arrows as cells source·d + target, in order."""
        if not isinstance(self.arrows, np.ndarray):
            chosen: Ints = self.stored.cells[cut.above(self.stored.values)]
            return chosen
        cells = np.flatnonzero(cut.above(self.arrows))
        return cells if self.late else cells[cells % (self.d + 1) != 0]

    def edges(self, cut: Cut) -> tuple[Ints, Ints]:
        """All edges by their keys in order, and their kinds: pairs i·d + j, i < j, or the cells of a late layer."""
        cells = self.cells(cut)
        if self.late:
            keys, kinds = cells, np.full(len(cells), int(Kind.FORWARD))
        else:
            source, target = np.divmod(cells, max(self.d, 1))
            ways = (np.minimum(source, target) * self.d + np.maximum(source, target)) * 2 + (source > target)
            ways.sort()
            starts = np.flatnonzero(np.diff(ways >> 1, prepend=-1))
            keys = ways[starts] >> 1
            kinds = np.add.reduceat(1 + (ways & 1), starts) if starts.size else _NONE
        kept = cut.above(self.open.weights)
        if not kept.any():
            return keys, kinds
        keys, kinds = np.append(keys, self.open.keys[kept]), np.append(kinds, self.open.kinds[kept])
        order = np.argsort(keys)
        return keys[order], kinds[order]

    # ---- bits, for two plain matrices

    def bits(self, cut: Cut) -> tuple[AnyArray, int]:
        """The arrows, a bit per cell, in the order of memory; and which kinds of weights there are, for `facts`."""
        matrix = self.matrix if not self.is_turned else self.matrix.T
        if matrix.dtype not in _DIRECT:
            is_float = matrix.dtype.kind == "f"
            small = matrix.dtype.itemsize <= 4
            matrix = matrix.astype((np.float32 if small else np.float64) if is_float else np.int64)
        high = float(matrix.dtype.type(cut.threshold)) if matrix.dtype.kind == "f" else cut.threshold
        low = -high if cut.absolute else -np.inf
        loopless = 0 if self.late else self.d
        threads = threads_for(matrix.size)
        words, _, facts = _core.cell_bits(np.require(matrix, None, ("C", "A")), loopless, low, high, False, threads)
        return words, int(facts)

    @cached_property
    def is_turned(self) -> bool:
        """Whether the matrix is in memory column by column."""
        return not self.matrix.flags.c_contiguous and self.matrix.T.flags.c_contiguous

    @cached_property
    def facts(self) -> dict[str, bool]:
        """Whether there are edges at all, and weights that are missing, negative, or other than 0 and 1."""
        if isinstance(self.arrows, np.ndarray):
            found = self.bits(NOT_ZERO)[1] if self.d else 0
            facts = {"edges": _EDGE, "missing": _NAN, "negative": _NEGATIVE, "weighted": _WEIGHTED}
            plain = {name: bool(found & bit) for name, bit in facts.items()}
        else:
            values = self.stored.values
            plain = {
                "edges": bool(values.any()),
                "missing": bool(np.isnan(values).any()),
                "negative": bool((values < 0).any()),
                "weighted": bool(((values != 0) & (values != 1)).any()),
            }
        weights = self.open.weights
        plain["edges"] |= weights.size > 0
        plain["missing"] |= bool(np.isnan(weights).any())
        plain["negative"] |= bool((weights < 0).any())
        plain["weighted"] |= bool(((weights != 0) & (weights != 1)).any())
        return plain

    # ---- the same graph otherwise

    def turned(self) -> Layer:
        """Every arrow the other way."""
        scores = None if self.scores is None else self.scores.T
        if isinstance(self.arrows, np.ndarray):
            return replace(self, arrows=self.arrows.T, scores=scores)
        source, target = np.divmod(self.arrows.cells, max(self.d, 1))
        return replace(self, arrows=_ordered(target * self.d + source, self.arrows.values), scores=scores)

    def renumbered(self, number: Ints) -> Layer:
        """Node i becomes node `number[i]`."""
        place = np.argsort(number)
        grid = np.ix_(place, place)
        scores = None if self.scores is None else self.scores[grid]
        source, target = np.divmod(self.open.keys, max(self.d, 1))
        source, target = number[source], number[target]
        kinds = self.open.kinds
        if not self.late:
            kinds = np.where(source > target, MIRRORED[kinds], kinds)
            source, target = np.minimum(source, target), np.maximum(source, target)
        keys = source * self.d + target
        order = np.argsort(keys)
        opened = Open(keys[order], kinds[order], self.open.weights[order])
        if isinstance(self.arrows, np.ndarray):
            return replace(self, arrows=self.arrows[grid], open=opened, scores=scores)
        source, target = np.divmod(self.arrows.cells, max(self.d, 1))
        arrows = _ordered(number[source] * self.d + number[target], self.arrows.values)
        return replace(self, arrows=arrows, open=opened, scores=scores)


@dataclass(frozen=True, eq=False)
class Side:
    """One graph as it was read: its layers, or edges whose nodes have no numbers yet, and what it states itself.

    `names` are those of its nodes in order; `states_marks`, that its edges are given by their marks, not by scores;
    `orientation` and `sign`, that its writer is known to use these.
    """

    layers: tuple[Layer, ...] = ()
    listed: Graph | None = None
    names: Names | None = None
    states_marks: bool = False
    orientation: str | None = None
    sign: str | None = None


def _ordered(cells: Ints, values: AnyArray) -> Stored:
    order = np.argsort(cells)
    return Stored(cells[order], values[order])


def is_among(ordered: Ints, wanted: Ints) -> AnyArray:
    """Which of `wanted` are among the ordered numbers."""
    if not len(ordered):
        return np.zeros(len(wanted), np.bool_)
    place = np.searchsorted(ordered, wanted)
    place[place == len(ordered)] = 0
    held: AnyArray = ordered[place] == wanted
    return held
