"""Two graphs over the same nodes, counted against each other in two small tables.

Table 0 of a `Pair` counts unordered pairs of nodes by true and predicted kind of edge, table 1 single ordered cells:
those of late layers, and those whose opposite does not count (`sources`, or a missing score). Every count is a weight
over the 121 combinations of a true and a predicted kind, exact for whole numbers and for expectations alike; so the
scores of empty and of random graphs are counts of other tables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.graph import (
    CIRCLE,
    ENDS,
    HEAD,
    KINDS,
    MIRRORED,
    NOT_ZERO,
    TAIL,
    Cut,
    Kind,
    Layer,
    Names,
    is_among,
    mirrored,
)

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
    names: Names
    sources: Mask | None = None
    missing: tuple[Ints, ...] = ()

    @property
    def d(self) -> int:
        return self.truth[0].d

    @property
    def cut(self) -> Cut:
        """Where predicted edges begin."""
        return self.prediction[0].cut

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
        cells = (self.truth, self.prediction)[side][lag].cells
        return cells if self.is_whole else cells[self.allowed(cells, lag)]

    def edges(self, lag: int = 0) -> tuple[Ints, AnyArray]:
        """The keys at which one of the graphs has an edge that counts, in order, and its kinds in both, (2, keys)."""
        sides = self.truth[lag].pairs, self.prediction[lag].pairs
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
        """Whether the cells i → j and j → i count; a key of a late layer is a single cell."""
        forward = self.allowed(keys, lag)
        late = self.truth[lag].late
        return forward, np.zeros_like(forward) if late else self.allowed(mirrored(keys, self.d), lag)

    # ---- tables

    @cached_property
    def tables(self) -> AnyArray:
        """Both tables of each layer, (lags, 2, 11, 11)."""
        return np.stack([self._tables(lag) for lag in self.lags])

    def _tables(self, lag: int) -> AnyArray:
        truth, prediction = self.truth[lag], self.prediction[lag]
        if self.is_whole and prediction.matrix is not None and not truth.is_open and not truth.late and self.d:
            return self._packed_tables(truth, prediction)
        keys, kinds = self.edges(lag)
        pairs, cells = self.units(lag)
        forward, backward = self.ways(keys, lag)
        is_pair = forward & backward
        # A single cell is seen from its source.
        single = np.where(forward, kinds, MIRRORED[kinds])[:, ~is_pair]
        return np.stack([_table(kinds[:, is_pair], pairs), _table(single, cells)])

    def _packed_tables(self, truth: Layer, prediction: Layer) -> AnyArray:
        """The same for two matrices whose cells all count, by bits."""
        threads = threads_for(truth.bits.size * 64)
        states = _core.pair_states(truth.bits, prediction.bits, self.d, threads)[0][:16]
        states[0] = self.d * (self.d - 1) // 2 - states[1:].sum()
        tables = np.zeros((2, KINDS, KINDS), np.int64)
        np.add.at(tables[0], _STATE_KINDS, states)
        return tables

    # ---- other pairs

    def at(self, threshold: float) -> Pair:
        """The same graphs, with the prediction cut at another threshold."""
        cut = self.cut._replace(threshold=threshold)
        return replace(self, prediction=tuple(replace(layer, cut=cut) for layer in self.prediction))

    def summary(self) -> Pair:
        """One graph over all lags: an edge where some lag has one, with its highest score; without self-edges.

        An edge without direction is one of the summary where no lag has an arrow between its nodes.
        """
        truth = self._filled([self.arrows(0, lag) for lag in self.lags])
        scores = np.fmax.reduce([self.cut.scores(layer.weights) for layer in self.prediction])
        missing = (reduce(np.intersect1d, self.missing),) if self.missing else ()
        sides = self._summary(0, truth, NOT_ZERO), self._summary(1, scores, Cut(self.cut.threshold))
        return replace(self, truth=sides[:1], prediction=sides[1:], missing=missing)

    def _summary(self, side: int, weights: AnyArray, cut: Cut) -> Layer:
        """One side of the summary, with arrows where the weights (d, d) are above the cut."""
        layers = (self.truth, self.prediction)[side]
        ranks = [self.cut.scores(layer.weights) if layer.scores is None else layer.scores for layer in layers]
        scores = np.fmax.reduce(ranks) if any(layer.scores is not None for layer in layers) else None
        edges = [self.edges(lag) for lag in self.lags]
        undirected = self._filled([keys[kinds[side] >= Kind.LINE] for keys, kinds in edges])
        arrows = cut.above(weights)
        lines = np.triu(undirected | undirected.T, 1) & ~(arrows | arrows.T)
        if not lines.any():
            return Layer(self.d, weights, scores=scores, cut=cut)
        kinds = np.where(lines, int(Kind.LINE), np.where(weights != 0, int(Kind.FORWARD), int(Kind.NONE)))
        return Layer.of_kinds(kinds, np.where(lines, cut.threshold + 1, weights), scores=scores, cut=cut)

    def _filled(self, cells: list[Ints]) -> Mask:
        """A matrix that is true in the cells."""
        matrix = np.zeros((self.d, self.d), np.bool_)
        matrix.flat[np.concatenate(cells)] = True
        return matrix


def _table(kinds: AnyArray, units: int) -> AnyArray:
    """How many units have each combination of kinds; those without an edge are not listed."""
    table = np.bincount(kinds[0] * KINDS + kinds[1], minlength=KINDS * KINDS).reshape(KINDS, KINDS)
    table[0, 0] += units - table.sum()
    return table


# ---- counts: weights over the 121 combinations of a true and a predicted kind

_KINDS = np.arange(KINDS)
TRUE, FOUND = np.divmod(np.arange(KINDS * KINDS), KINDS)


def _is(*kinds: Kind) -> Ints:
    return np.isin(_KINDS, kinds).astype(np.int64)


# Of each kind: whether there is an edge, one without direction, two arrows or one; and which cells it fills.
_EDGE = 1 - _is(Kind.NONE)
_OPEN = (_KINDS >= Kind.LINE).astype(np.int64)
_TWO_WAY, _ONE = _is(Kind.TWO_WAY), _is(Kind.FORWARD, Kind.BACKWARD)
_ARROWS = np.stack([_is(Kind.FORWARD, Kind.TWO_WAY), _is(Kind.BACKWARD, Kind.TWO_WAY)], axis=1)
CELLS = _ARROWS | _OPEN[:, np.newaxis]
# Whether an end states its mark: a circle leaves it open, and the ends of a line are those of no direction.
_STATED = (ENDS > 0) & (ENDS & CIRCLE == 0) & (_KINDS != Kind.LINE)[:, np.newaxis]

# Of each combination: adjacent in both; by different edges; of which one has no direction; cells lost and gained.
_COMMON = _EDGE[TRUE] & _EDGE[FOUND]
_DIFFERS = (TRUE != FOUND).astype(np.int64)
_SAME = _COMMON & (1 - _DIFFERS)
_OPENLY = _COMMON & _DIFFERS & (_OPEN[TRUE] | _OPEN[FOUND])
_LOST = (CELLS[TRUE] & (1 - CELLS[FOUND])).sum(1)
_GAINED = (CELLS[FOUND] & (1 - CELLS[TRUE])).sum(1)
_REVERSED = ((_LOST > 0) & (_GAINED > 0) & (_OPENLY == 0)).astype(np.int64)
_CONTRADICTS = _COMMON & ((ENDS[TRUE] != ENDS[FOUND]) & _STATED[TRUE] & _STATED[FOUND]).any(1)
_UNDECIDED = (_COMMON & _DIFFERS) & (
    (_OPEN[FOUND] & (1 - _is(Kind.TWO_HEADS)[FOUND]) & (1 - _CONTRADICTS)) | (_TWO_WAY[FOUND] & (1 - _OPEN[TRUE]))
)


def _marks(name: str, mark: int) -> dict[str, Ints]:
    """True, predicted and common marks; where the truth has a circle, a mark is neither right nor wrong."""
    true, found = (ENDS[TRUE] & mark) > 0, ((ENDS[FOUND] & mark) > 0) & (ENDS[TRUE] & CIRCLE == 0)
    return {f"{name}_true": true.sum(1), f"{name}_predicted": found.sum(1), f"{name}_tp": (true & found).sum(1)}


# The weights in table 0, of pairs.
_PAIRS = {
    "true": _ARROWS[TRUE].sum(1),
    "predicted": _ARROWS[FOUND].sum(1),
    "tp": (_ARROWS[TRUE] & _ARROWS[FOUND]).sum(1),
    "cells": np.full(KINDS * KINDS, 2),
    "pairs": np.ones(KINDS * KINDS, np.int64),
    "true_pairs": _EDGE[TRUE],
    "predicted_pairs": _EDGE[FOUND],
    "common_pairs": _COMMON,
    # A pair that differs has no direction in one of the graphs, has only lost or only gained cells, or is reversed.
    "differing_pairs": _DIFFERS,
    "differing_cells": np.where(_OPENLY, 1, _LOST + _GAINED),
    "undirected_differs": _OPENLY,
    "missing_pairs": _DIFFERS & (1 - _OPENLY) & (_GAINED == 0),
    "extra_pairs": _DIFFERS & (1 - _OPENLY) & (_LOST == 0),
    "missing_cells": np.where(_REVERSED | _OPENLY, 0, _LOST),
    "extra_cells": np.where(_REVERSED | _OPENLY, 0, _GAINED),
    "reversed": _REVERSED,
    "oriented_pairs": _COMMON,
    "correct": _SAME,
    "undecided": _UNDECIDED,
    "one_way_in_both": _ONE[TRUE] & _ONE[FOUND],
    "unturned_in_both": _SAME & (_TWO_WAY[TRUE] | _OPEN[TRUE]),
    **_marks("arrowheads", HEAD),
    **_marks("tails", TAIL),
}
# In table 1, of single cells: nothing can be reversed, and what time or `sources` orients is not counted as oriented.
_ORIENTED = ("reversed", "oriented_pairs", "correct", "undecided", "one_way_in_both", "unturned_in_both")
_SINGLE = _PAIRS | {
    "cells": np.ones(KINDS * KINDS, np.int64),
    "differing_cells": _DIFFERS,
    "missing_cells": _PAIRS["missing_pairs"],
    "extra_cells": _PAIRS["extra_pairs"],
    **{name: np.zeros(KINDS * KINDS, np.int64) for name in _ORIENTED},
}
WEIGHTS: dict[str, Ints] = {name: np.stack([_PAIRS[name], _SINGLE[name]]) for name in _PAIRS}


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of several comparisons by name, from their tables (rows, 2, 11, 11)."""

    tables: AnyArray

    def __len__(self) -> int:
        return len(self.tables)

    def __getitem__(self, name: str) -> AnyArray:
        weights = WEIGHTS[name]
        used = np.flatnonzero(weights)
        counts: AnyArray = self.tables.reshape(len(self), -1)[:, used] @ weights.ravel()[used]
        return counts

    def empty(self) -> Counts:
        """The counts of an empty prediction."""
        tables = np.zeros_like(self.tables)
        tables[..., Kind.NONE] = self.tables.sum(-1)
        return Counts(tables)

    def random(self) -> Counts:
        """The expected counts of a random graph: the predicted edges, each on a random pair and to a random side."""
        tables = self.tables.astype(np.float64)
        true, found = tables.sum(-1), tables.sum(-2)
        found[:, 0] = (found[:, 0] + found[:, 0, MIRRORED]) / 2
        units = np.maximum(found.sum(-1), 1)[..., np.newaxis, np.newaxis]
        return Counts(true[..., :, np.newaxis] * found[..., np.newaxis, :] / units)
