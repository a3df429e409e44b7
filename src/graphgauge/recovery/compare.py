"""Two graphs over the same nodes, counted against each other in two small tables.

Table 0 counts unordered pairs of nodes by true and predicted kind of edge, table 1 single ordered cells: those of late
layers, and those whose opposite does not count (`sources`, or a score that is missing).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.graph import KINDS, MIRRORED, Kind, Names
from graphgauge.recovery.layers import NOT_ZERO, Cut, Layer, Open, is_among

Edges = tuple[Ints, Ints]

# What is left of a kind where only the cell i → j counts: an arrow, or an edge without direction.
_ONE_WAY = np.arange(KINDS)
_ONE_WAY[[Kind.BACKWARD, Kind.TWO_WAY]] = Kind.NONE, Kind.FORWARD
# The kinds in truth and prediction of the 16 states that the core counts: bits for both cells of both graphs.
_STATES = np.arange(16)
_STATE_KINDS = (_STATES & 1) + 2 * (_STATES >> 2 & 1), (_STATES >> 1 & 1) + 2 * (_STATES >> 3 & 1)


@dataclass(frozen=True, eq=False)
class Pair:
    """Truth and prediction: one layer each, or one per lag.

    `sources` are the nodes whose outgoing cells count, if not all do. `missing` are for each layer the cells without a
    score, which are in neither graph.
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

    # ---- tables

    @cached_property
    def tables(self) -> AnyArray:
        """Both tables of each layer, (lags, 2, 11, 11)."""
        return np.stack([self._tables(lag) for lag in self.lags])

    def _tables(self, lag: int) -> AnyArray:
        truth, prediction = self.truth[lag], self.prediction[lag]
        plain = prediction.is_dense and not truth.late and not self._restricted(lag) and self.d > 1
        if plain and not truth.open.keys.size and not prediction.open.keys.size:
            return self._plain_tables(truth, prediction)
        sides = self.edges(lag)
        keys = np.union1d(sides[0][0], sides[1][0])
        kinds = []
        for listed, own in sides:
            whole = np.full(len(keys), int(Kind.NONE))
            whole[np.searchsorted(keys, listed)] = own
            kinds.append(whole)
        pairs, cells = self.units(lag)
        if truth.late:
            return np.stack([np.zeros((KINDS, KINDS), np.int64), _table(kinds[0], kinds[1], cells)])
        there, back = self._counted(keys, lag)
        both, back_alone = there & back, back & ~there
        # A single cell is seen from its source.
        kinds = [np.where(back_alone, MIRRORED[own], own) for own in kinds]
        alone = ~both
        return np.stack(
            [
                _table(kinds[0][both], kinds[1][both], pairs),
                _table(kinds[0][alone], kinds[1][alone], cells),
            ]
        )

    def _plain_tables(self, truth: Layer, prediction: Layer) -> AnyArray:
        """The same for two matrices whose cells all count, by bits."""
        true, found = truth.bits(NOT_ZERO)[0], prediction.bits(self.cut)[0]
        states = _core.pair_states(true, found, self.d, threads_for(true.size * 64))[0][:16]
        states[0] = self.d * (self.d - 1) // 2 - states[1:].sum()
        tables = np.zeros((2, KINDS, KINDS), np.int64)
        np.add.at(tables[0], _STATE_KINDS, states)
        if truth.is_turned != prediction.is_turned:
            tables[0] = tables[0][:, MIRRORED]
        return tables

    def units(self, lag: int) -> tuple[int, int]:
        """How many pairs count with both cells, and how many cells count alone."""
        d, sources = self.d, self.sources if self.sources is not None else np.ones(self.d, np.bool_)
        inside = int(sources.sum())
        missing = self.missing[lag] if self.missing else np.empty(0, np.int64)
        source, target = np.divmod(missing, max(d, 1))
        held = sources[source]
        if self.truth[lag].late:
            return 0, inside * d - int(held.sum())
        opposite = is_among(missing, target * d + source)
        between = held & sources[target]
        alone = int((between & ~opposite).sum())
        lost = alone + int((between & opposite).sum()) // 2
        return inside * (inside - 1) // 2 - lost, inside * (d - inside) + alone - int((held & ~sources[target]).sum())

    # ---- edges

    def edges(self, lag: int = 0) -> tuple[Edges, Edges]:
        """What counts of the edges of truth and prediction: keys in order, and kinds."""
        sides = self.truth[lag].edges(NOT_ZERO), self.prediction[lag].edges(self.cut)
        if not self._restricted(lag):
            return sides
        kept = [self._kept(keys, kinds, lag) for keys, kinds in sides]
        return kept[0], kept[1]

    def arrows(self, lag: int = 0) -> tuple[Ints, Ints]:
        """The cells of true and of predicted arrows that count, in order."""
        true, found = self.truth[lag].cells(NOT_ZERO), self.prediction[lag].cells(self.cut)
        if not self._restricted(lag):
            return true, found
        return true[self.allowed(true, lag)], found[self.allowed(found, lag)]

    def allowed(self, cells: Ints, lag: int) -> Mask:
        """Which of these cells count."""
        held = np.ones(len(cells), np.bool_) if self.sources is None else self.sources[cells // max(self.d, 1)]
        return held & ~is_among(self.missing[lag], cells) if self.missing else held

    def _restricted(self, lag: int) -> bool:
        return self.sources is not None or (bool(self.missing) and self.missing[lag].size > 0)

    def _counted(self, keys: Ints, lag: int) -> tuple[Mask, Mask]:
        """Whether the cells i → j and j → i of pairs count."""
        low, high = np.divmod(keys, max(self.d, 1))
        return self.allowed(keys, lag), self.allowed(high * self.d + low, lag)

    def _kept(self, keys: Ints, kinds: Ints, lag: int) -> Edges:
        if self.truth[lag].late:
            held = self.allowed(keys, lag)
            return keys[held], kinds[held]
        there, back = self._counted(keys, lag)
        seen_back = MIRRORED[_ONE_WAY[MIRRORED[kinds]]]
        kinds = np.select([there & back, there, back], [kinds, _ONE_WAY[kinds], seen_back], int(Kind.NONE))
        held = kinds != Kind.NONE
        return keys[held], kinds[held]

    @property
    def omitted(self) -> int:
        """How many cells would count if they had a score."""
        whole = replace(self, missing=())
        return sum(int(whole.allowed(cells, lag).sum()) for lag, cells in enumerate(self.missing))

    @property
    def loops(self) -> tuple[int, int]:
        """Edges of truth and prediction from a node to itself, which do not count."""
        return self.truth[0].loops(NOT_ZERO), self.prediction[0].loops(self.cut)

    # ---- other pairs

    def at(self, threshold: float) -> Pair:
        return replace(self, cut=replace(self.cut, threshold=threshold))

    def right_both_ways(self) -> tuple[int, int]:
        """True arrows between nodes that the prediction finds, and that the transposed one does.

        At lag 0, of the pairs that count with both cells.
        """
        pairs = np.stack([self.tables[0, 0], self.tables[0, 0][:, MIRRORED]])
        right: Ints = Counts(np.stack([pairs, 0 * pairs], axis=1))["tp"]
        for lag in self.lags[1:]:
            true, found = self.arrows(lag)
            source, target = np.divmod(found[found % (self.d + 1) != 0], max(self.d, 1))
            right += [
                int(is_among(true, cells).sum()) for cells in (source * self.d + target, target * self.d + source)
            ]
        return int(right[0]), int(right[1])

    def summary(self) -> Pair:
        """One graph over all lags: an edge where some lag has one, with its highest score; without self-edges.

        An edge without direction is one of the summary where no lag has an arrow between its nodes.
        """
        sides = _summary(self, 0), _summary(self, 1)
        missing = np.bitwise_and.reduce([_matrix_of(cells, self.d) for cells in self.missing]) if self.missing else None
        omitted = () if missing is None else (np.flatnonzero(missing & ~np.eye(self.d, dtype=bool)),)
        return replace(self, truth=(sides[0],), prediction=(sides[1],), cut=Cut(self.cut.threshold), missing=omitted)


def _summary(pair: Pair, side: int) -> Layer:
    layers, cut = ((pair.truth, NOT_ZERO), (pair.prediction, pair.cut))[side]
    d = pair.d
    weights = np.fmax.reduce([cut.scores(layer.matrix) for layer in layers]) if side else _any(pair)
    scores = [cut.scores(layer.matrix) if layer.scores is None else layer.scores for layer in layers]
    lines = np.zeros((d, d), np.bool_)
    for lag in pair.lags:
        keys, kinds = pair.edges(lag)[side]
        source, target = np.divmod(keys[kinds >= Kind.LINE], max(d, 1))
        lines[source, target] = True
    arrows = weights > (cut.threshold if side else 0)
    lines = np.triu(lines | lines.T, 1) & ~(arrows | arrows.T)
    keys = np.flatnonzero(lines)
    above = cut.threshold + 1 if side else 1
    opened = Open(keys, np.full(len(keys), int(Kind.LINE)), np.full(len(keys), float(above)))
    own = np.fmax.reduce(scores) if any(layer.scores is not None for layer in layers) else None
    return Layer(weights, d, opened, scores=own)


def _any(pair: Pair) -> AnyArray:
    """Where the truth has an arrow that counts at some lag."""
    found = np.zeros((pair.d, pair.d), np.bool_)
    for lag in pair.lags:
        found |= _matrix_of(pair.arrows(lag)[0], pair.d)
    return found


def _matrix_of(cells: Ints, d: int) -> Mask:
    held = np.zeros(d * d, np.bool_)
    held[cells] = True
    return held.reshape(d, d)


def _table(true: Ints, found: Ints, units: int) -> AnyArray:
    """How many units have each combination of kinds; those without an edge are not listed."""
    table = np.bincount(true * KINDS + found, minlength=KINDS * KINDS).reshape(KINDS, KINDS)
    table[0, 0] += units - table.sum()
    return table
