"""Two graphs over the same nodes, counted against each other in two small tables.

A `Layer` has the edges between nodes 0 … d − 1 at one time: as a matrix of weights, in which every cell is an arrow, or
as a list of edges. A `late` layer has the edges of one lag: time orients them, and self-edges count. A `Pair` has the
layers of truth and prediction. Its table 0 counts unordered pairs of nodes by true and predicted kind of edge, table 1
single ordered cells: those of late layers, and those whose opposite does not count (`sources`, or a missing score).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.graph import KINDS, MIRRORED, Kind, Names

# ---- one graph as numbers

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

    def weights_in(self, cells: Ints) -> AnyArray:
        """The weights of the arrows in these cells: 0 is one, where the threshold is below 0."""
        if self.matrix is not None:
            return self.matrix.ravel()[cells]
        return self.arrows.weights[np.searchsorted(self.arrows.cells, cells)]

    def loops(self, cut: Cut) -> int:
        """Edges from a node to itself."""
        if self.edges is None:
            return int(np.count_nonzero(cut.above(np.diagonal(self.weights))))
        loops = self.edges.cells % (self.d + 1) == 0
        return int(np.count_nonzero(cut.above(self.edges.weights[loops])))

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
        matrix, high = self.weights, cut.threshold
        if matrix.dtype.kind == "f":  # compared in the type of the weights, as NumPy does
            high = float(matrix.dtype.type(high))
        if matrix.dtype not in _DIRECT:
            small = np.float32 if matrix.dtype.itemsize <= 4 else np.float64
            matrix = matrix.astype(small if matrix.dtype.kind == "f" else np.int64)
        low = -high if cut.absolute else -np.inf
        loopless, threads = 0 if self.late else self.d, threads_for(matrix.size)
        words, kinds = _core.cell_bits(np.require(matrix, None, ("C", "A")), loopless, low, high, threads)
        return words, kinds

    @cached_property
    def facts(self) -> dict[str, bool]:
        """Whether there are edges at all, and weights that are missing, negative, or other than 0 and 1."""
        if self.edges is None:
            bits = self.bits(NOT_ZERO)[1] if self.d else 0
            return {name: bool(bits & bit) for name, bit in _FACTS.items()}
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

    def renumbered(self, number: Ints, d: int) -> Layer:
        """Node i becomes node `number[i]` of d."""
        grid = np.ix_(np.argsort(number), np.argsort(number))
        scores = None if self.scores is None else self.scores[grid]
        if self.matrix is not None:
            return replace(self, matrix=self.matrix[grid], scores=scores)
        cells, kinds, weights = self.edges or self.listed
        source, target = (number[ends] for ends in np.divmod(cells, max(self.d, 1)))
        swapped = (source > target) & (kinds >= Kind.LINE) & (not self.late)
        kinds = np.where(swapped, MIRRORED[kinds], kinds)
        cells = np.where(swapped, target * d + source, source * d + target)
        return replace(self, d=d, edges=Listed.ordered(cells, kinds, weights), scores=scores)


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


# ---- two graphs

# What is left of a kind where only the cell i → j counts, or only j → i: an arrow, or an edge without direction.
_FORWARD = np.arange(KINDS)
_FORWARD[[Kind.BACKWARD, Kind.TWO_WAY]] = Kind.NONE, Kind.FORWARD
_BACKWARD = MIRRORED[_FORWARD[MIRRORED]]
# The kinds in truth and prediction of the 16 states that the core counts: bits for both cells of both graphs.
_STATES = np.arange(16)
_STATE_KINDS = (_STATES & 1) + 2 * (_STATES >> 2 & 1), (_STATES >> 1 & 1) + 2 * (_STATES >> 3 & 1)


@dataclass(frozen=True, eq=False)
class Pair:
    """Truth and prediction: one layer each, or one per lag.

    `sources` are the nodes whose outgoing cells count, if not all do. `missing` are for each layer the cells that would
    count if they had a score; they are in neither graph.
    """

    truth: tuple[Layer, ...]
    prediction: tuple[Layer, ...]
    cut: Cut
    names: Names | None = None
    sources: Mask | None = None
    missing: tuple[Ints, ...] = ()

    @property
    def d(self) -> int:
        return self.truth[0].d

    @property
    def lags(self) -> range:
        """The layers, by number."""
        return range(len(self.truth))

    @property
    def is_lagged(self) -> bool:
        return len(self.truth) > 1

    # ---- what counts

    @property
    def is_whole(self) -> bool:
        """Whether all cells count."""
        return self.sources is None and not self.missing

    def allowed(self, cells: Ints, lag: int) -> Mask:
        """Which of these cells count."""
        allowed = np.ones(len(cells), np.bool_) if self.sources is None else self.sources[cells // max(self.d, 1)]
        return allowed & ~is_among(self.missing[lag], cells) if self.missing else allowed

    def units(self, lag: int) -> tuple[int, int]:
        """How many pairs count with both cells, and how many cells count alone."""
        d, missing = self.d, self.missing[lag] if self.missing else np.empty(0, np.int64)
        inside = d if self.sources is None else int(self.sources.sum())
        if self.truth[lag].late:
            return 0, inside * d - len(missing)
        within = missing if self.sources is None else missing[self.sources[missing % max(d, 1)]]
        broken = np.unique(np.minimum(within, mirrored(within, self.d)))
        pairs = inside * (inside - 1) // 2 - len(broken)
        return pairs, inside * (d - 1) - len(missing) - 2 * pairs

    def arrows(self, side: int, lag: int = 0) -> Ints:
        """The cells of true (0) or predicted (1) arrows that count, in order."""
        layer, cut = ((self.truth, NOT_ZERO), (self.prediction, self.cut))[side]
        cells = layer[lag].cells(cut)
        return cells if self.is_whole else cells[self.allowed(cells, lag)]

    def edges(self, lag: int = 0) -> tuple[Ints, AnyArray]:
        """The keys at which one of the graphs has an edge that counts, in order, and its kinds in both, (2, keys)."""
        sides = self.truth[lag].pairs(NOT_ZERO), self.prediction[lag].pairs(self.cut)
        keys = sorted_unique(np.append(sides[0][0], sides[1][0]))
        kinds = np.full((2, len(keys)), int(Kind.NONE))
        for row, (side_keys, side_kinds) in zip(kinds, sides, strict=True):
            row[np.searchsorted(keys, side_keys)] = side_kinds
        if self.is_whole:
            return keys, kinds
        forward, backward = self.ways(keys, lag)
        from_source = np.where(backward, kinds, _FORWARD[kinds])
        kinds = np.where(forward, from_source, np.where(backward, _BACKWARD[kinds], Kind.NONE))
        is_edge = kinds.any(0)
        return keys[is_edge], kinds[:, is_edge]

    def ways(self, keys: Ints, lag: int) -> tuple[Mask, Mask]:
        """Whether the cells i → j and j → i count."""
        forward = self.allowed(keys, lag)
        return forward, forward if self.truth[lag].late else self.allowed(mirrored(keys, self.d), lag)

    @property
    def loops(self) -> tuple[int, int]:
        """Edges of truth and prediction from a node to itself, which do not count."""
        return self.truth[0].loops(NOT_ZERO), self.prediction[0].loops(self.cut)

    # ---- tables

    @cached_property
    def tables(self) -> AnyArray:
        """Both tables of each layer, (lags, 2, 11, 11)."""
        return np.stack([self._tables(lag) for lag in self.lags])

    def _tables(self, lag: int) -> AnyArray:
        truth, prediction = self.truth[lag], self.prediction[lag]
        dense = prediction.matrix is not None and not truth.is_open and not truth.late and self.d > 1
        if dense and self.is_whole:
            return self._plain_tables(truth, prediction)
        keys, kinds = self.edges(lag)
        pairs, cells = self.units(lag)
        if truth.late:
            return np.stack([np.zeros((KINDS, KINDS), np.int64), _table(kinds, cells)])
        forward, backward = self.ways(keys, lag)
        is_pair = forward & backward
        # A single cell is seen from its source.
        single = np.where(forward, kinds, MIRRORED[kinds])[:, ~is_pair]
        return np.stack([_table(kinds[:, is_pair], pairs), _table(single, cells)])

    def _plain_tables(self, truth: Layer, prediction: Layer) -> AnyArray:
        """The same for two matrices whose cells all count, by bits."""
        true, predicted = truth.bits(NOT_ZERO)[0], prediction.bits(self.cut)[0]
        states = _core.pair_states(true, predicted, self.d, threads_for(true.size * 64))[0][:16]
        states[0] = self.d * (self.d - 1) // 2 - states[1:].sum()
        tables = np.zeros((2, KINDS, KINDS), np.int64)
        np.add.at(tables[0], _STATE_KINDS, states)
        return tables

    # ---- other pairs

    def at(self, threshold: float) -> Pair:
        """The same graphs, with the prediction cut at another threshold."""
        return replace(self, cut=self.cut._replace(threshold=threshold))

    def right_both_ways(self) -> tuple[int, int]:
        """True arrows between nodes that the prediction finds, and that the transposed one does.

        At lag 0, of the pairs that count with both cells.
        """
        pairs = np.stack([self.tables[0, 0], self.tables[0, 0][:, MIRRORED]])
        right: Ints = Counts(np.stack([pairs, 0 * pairs], axis=1))["tp"]
        for lag in self.lags[1:]:
            true, predicted = self.arrows(0, lag), self.arrows(1, lag)
            predicted = predicted[predicted % (self.d + 1) != 0]
            right += [int(is_among(true, cells).sum()) for cells in (predicted, mirrored(predicted, self.d))]
        return int(right[0]), int(right[1])

    def summary(self) -> Pair:
        """One graph over all lags: an edge where some lag has one, with its highest score; without self-edges.

        An edge without direction is one of the summary where no lag has an arrow between its nodes.
        """
        scores = np.fmax.reduce([self.cut.scores(layer.weights) for layer in self.prediction])
        sides = (
            self._summary(0, self._filled([self.arrows(0, lag) for lag in self.lags]), 0),
            self._summary(1, scores, self.cut.threshold),
        )
        missing = ~self._filled([np.setdiff1d(np.arange(self.d**2), cells) for cells in self.missing])
        omitted = (np.flatnonzero(missing & ~np.eye(self.d, dtype=bool)),) if self.missing else ()
        return replace(self, truth=sides[:1], prediction=sides[1:], cut=Cut(self.cut.threshold), missing=omitted)

    def _summary(self, side: int, weights: AnyArray, threshold: float) -> Layer:
        """One side of the summary, with arrows where the weights (d, d) exceed the threshold."""
        layers = (self.truth, self.prediction)[side]
        ranks = [self.cut.scores(layer.weights) if layer.scores is None else layer.scores for layer in layers]
        scores = np.fmax.reduce(ranks) if any(layer.scores is not None for layer in layers) else None
        edges = [self.edges(lag) for lag in self.lags]
        undirected = self._filled([keys[kinds[side] >= Kind.LINE] for keys, kinds in edges])
        arrows = weights > threshold
        lines = np.triu(undirected | undirected.T, 1) & ~(arrows | arrows.T)
        if not lines.any():
            return Layer(self.d, weights, scores=scores)
        cells = np.flatnonzero(lines | (weights != 0))
        kinds = np.where(lines.flat[cells], int(Kind.LINE), int(Kind.FORWARD))
        sizes = np.where(lines.flat[cells], threshold + 1, weights.flat[cells])
        return Layer(self.d, edges=Listed(cells, kinds, sizes), scores=scores)

    def _filled(self, cells: list[Ints]) -> Mask:
        """A matrix that is true in the cells."""
        matrix = np.zeros(self.d * self.d, np.bool_)
        matrix[np.concatenate([np.empty(0, np.int64), *cells])] = True
        return matrix.reshape(self.d, self.d)


def _table(kinds: AnyArray, units: int) -> AnyArray:
    """How many units have each combination of kinds; those without an edge are not listed."""
    table = np.bincount(kinds[0] * KINDS + kinds[1], minlength=KINDS * KINDS).reshape(KINDS, KINDS)
    table[0, 0] += units - table.sum()
    return table
