"""Two graphs over the same nodes, counted against each other in two small tables.

Table 0 counts unordered pairs of nodes by true and predicted kind of edge, table 1 single ordered cells: those of late
layers, and those whose opposite does not count (`sources`, or a score that is missing).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.graph import KINDS, MIRRORED, Kind, Names
from graphgauge.recovery.layers import NOT_ZERO, Cut, Layer, Listed, is_among, mirrored

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

    def counted(self, cells: Ints) -> Ints:
        """Those of the cells that start at one of the sources."""
        return cells if self.sources is None else cells[self.sources[cells // max(self.d, 1)]]

    def allowed(self, cells: Ints, lag: int) -> Mask:
        """Which of these cells count."""
        held = np.ones(len(cells), np.bool_) if self.sources is None else self.sources[cells // max(self.d, 1)]
        return held & ~is_among(self.missing[lag], cells) if self.missing else held

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
        for row, (own, each) in zip(kinds, sides, strict=True):
            row[np.searchsorted(keys, own)] = each
        if self.is_whole:
            return keys, kinds
        there, back = self.ways(keys, lag)
        kinds = np.where(there, np.where(back, kinds, _FORWARD[kinds]), np.where(back, _BACKWARD[kinds], Kind.NONE))
        held = kinds.any(0)
        return keys[held], kinds[:, held]

    def ways(self, keys: Ints, lag: int) -> tuple[Mask, Mask]:
        """Whether the cells i → j and j → i count."""
        there = self.allowed(keys, lag)
        return there, there if self.truth[lag].late else self.allowed(mirrored(keys, self.d), lag)

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
        there, back = self.ways(keys, lag)
        # A single cell is seen from its source.
        alone = np.where(there, kinds, MIRRORED[kinds])[:, ~(there & back)]
        return np.stack([_table(kinds[:, there & back], pairs), _table(alone, cells)])

    def _plain_tables(self, truth: Layer, prediction: Layer) -> AnyArray:
        """The same for two matrices whose cells all count, by bits."""
        true, found = truth.bits(NOT_ZERO)[0], prediction.bits(self.cut)[0]
        states = _core.pair_states(true, found, self.d, threads_for(true.size * 64))[0][:16]
        states[0] = self.d * (self.d - 1) // 2 - states[1:].sum()
        tables = np.zeros((2, KINDS, KINDS), np.int64)
        np.add.at(tables[0], _STATE_KINDS, states)
        return tables

    # ---- other pairs

    def at(self, threshold: float) -> Pair:
        return replace(self, cut=self.cut._replace(threshold=threshold))

    def right_both_ways(self) -> tuple[int, int]:
        """True arrows between nodes that the prediction finds, and that the transposed one does.

        At lag 0, of the pairs that count with both cells.
        """
        pairs = np.stack([self.tables[0, 0], self.tables[0, 0][:, MIRRORED]])
        right: Ints = Counts(np.stack([pairs, 0 * pairs], axis=1))["tp"]
        for lag in self.lags[1:]:
            true, found = self.arrows(0, lag), self.arrows(1, lag)
            found = found[found % (self.d + 1) != 0]
            right += [int(is_among(true, cells).sum()) for cells in (found, mirrored(found, self.d))]
        return int(right[0]), int(right[1])

    def summary(self) -> Pair:
        """One graph over all lags: an edge where some lag has one, with its highest score; without self-edges.

        An edge without direction is one of the summary where no lag has an arrow between its nodes.
        """
        found = np.fmax.reduce([self.cut.scores(layer.weights) for layer in self.prediction])
        sides = (
            self._summary(0, self._filled([self.arrows(0, lag) for lag in self.lags]), 0),
            self._summary(1, found, self.cut.threshold),
        )
        missing = ~self._filled([np.setdiff1d(np.arange(self.d**2), cells) for cells in self.missing])
        omitted = (np.flatnonzero(missing & ~np.eye(self.d, dtype=bool)),) if self.missing else ()
        return replace(self, truth=sides[:1], prediction=sides[1:], cut=Cut(self.cut.threshold), missing=omitted)

    def _summary(self, side: int, weights: AnyArray, threshold: float) -> Layer:
        layers = (self.truth, self.prediction)[side]
        ranks = [self.cut.scores(layer.weights) if layer.scores is None else layer.scores for layer in layers]
        scores = np.fmax.reduce(ranks) if any(layer.scores is not None for layer in layers) else None
        both = [self.edges(lag) for lag in self.lags]
        opened = self._filled([keys[kinds[side] >= Kind.LINE] for keys, kinds in both])
        arrows = weights > threshold
        lines = np.triu(opened | opened.T, 1) & ~(arrows | arrows.T)
        if not lines.any():
            return Layer(self.d, weights, scores=scores)
        cells = np.flatnonzero(lines | (weights != 0))
        kinds = np.where(lines.flat[cells], int(Kind.LINE), int(Kind.FORWARD))
        sizes = np.where(lines.flat[cells], threshold + 1, weights.flat[cells])
        return Layer(self.d, edges=Listed(cells, kinds, sizes), scores=scores)

    def _filled(self, cells: list[Ints]) -> Mask:
        """A matrix that is true in the cells."""
        held = np.zeros(self.d * self.d, np.bool_)
        held[np.concatenate([np.empty(0, np.int64), *cells])] = True
        return held.reshape(self.d, self.d)


def _table(kinds: AnyArray, units: int) -> AnyArray:
    """How many units have each combination of kinds; those without an edge are not listed."""
    table = np.bincount(kinds[0] * KINDS + kinds[1], minlength=KINDS * KINDS).reshape(KINDS, KINDS)
    table[0, 0] += units - table.sum()
    return table
