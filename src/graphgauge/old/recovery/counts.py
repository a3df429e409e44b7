"""Every count that depends on a threshold, as a sum over the states of node pairs.

A pair is in one of 121 states, its kind of edge in the truth times that in the prediction, and a lagged cell in one of
sixteen. Only the number in each state has to be counted; the counts below are weights over the states, so they are
exact for whole numbers and for expectations alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.graphs import STATES
from graphgauge.old.recovery.marks import ARROWHEAD, CIRCLE, KINDS, MIRRORED, TAIL, Edge, has_mark

Numbers = NDArray[Any]
Weights = tuple[NDArray[np.int64], NDArray[np.int64]]

PAIR_STATES = KINDS * KINDS
# A lagged cell has no edge, an arrow, an arrow whose start is unknown (o→), or two arrowheads (↔).
CELL_KINDS = 4
CELL_STATES = CELL_KINDS * CELL_KINDS

_TRUE_KIND, _PREDICTED_KIND = np.divmod(np.arange(PAIR_STATES), KINDS)
_TRUE_CELL_KIND, _PREDICTED_CELL_KIND = np.divmod(np.arange(CELL_STATES), CELL_KINDS)
_NO_CELL = np.zeros(CELL_STATES, np.int64)


def _of(kinds: NDArray[Any], *wanted: int) -> NDArray[np.int64]:
    return np.isin(kinds, wanted).astype(np.int64)


_true_pair, _predicted_pair = (1 - _of(kinds, Edge.NONE) for kinds in (_TRUE_KIND, _PREDICTED_KIND))
_common_pair = _true_pair & _predicted_pair
# Adjacent without a direction.
_true_undirected, _predicted_undirected = (
    (kinds >= Edge.LINE).astype(np.int64) for kinds in (_TRUE_KIND, _PREDICTED_KIND)
)
_true_arrow, _predicted_arrow = (
    (_of(kinds, Edge.FORWARD, Edge.TWO_WAY), _of(kinds, Edge.BACKWARD, Edge.TWO_WAY))
    for kinds in (_TRUE_KIND, _PREDICTED_KIND)
)
_two_way = _of(_TRUE_KIND, Edge.TWO_WAY), _of(_PREDICTED_KIND, Edge.TWO_WAY)
_differs = (_TRUE_KIND != _PREDICTED_KIND).astype(np.int64)
# Adjacent in both graphs by different edges, of which at least one has no direction.
_undirected_differs = _common_pair & _differs & (_true_undirected | _predicted_undirected)
# Cells that an edge fills: an edge without a direction fills both.
_true_cells = _true_arrow[0] | _true_undirected, _true_arrow[1] | _true_undirected
_predicted_cells = _predicted_arrow[0] | _predicted_undirected, _predicted_arrow[1] | _predicted_undirected
_lacking = sum(true & ~found & 1 for true, found in zip(_true_cells, _predicted_cells, strict=True))
_surplus = sum(found & ~true & 1 for true, found in zip(_true_cells, _predicted_cells, strict=True))
_turned = ((_lacking > 0) & (_surplus > 0) & (_undirected_differs == 0)).astype(np.int64)
_same = _common_pair & (1 - _differs)


def _contradicts() -> NDArray[np.int64]:
    """Where both graphs state a mark at one end and state different ones; a line and a circle state none."""
    tails, heads, circles = has_mark(TAIL), has_mark(ARROWHEAD), has_mark(CIRCLE)
    stated = (circles == 0) & (np.arange(KINDS) != Edge.LINE)[:, np.newaxis]
    true, found = _TRUE_KIND, _PREDICTED_KIND
    unlike = (tails[true] != tails[found]) | (heads[true] != heads[found])
    contradicting: NDArray[np.int64] = _common_pair & (unlike & stated[true] & stated[found]).any(1)
    return contradicting


_contradiction = _contradicts()
_undecided = (
    _common_pair
    & _differs
    & (
        _predicted_undirected & (1 - _of(_PREDICTED_KIND, Edge.TWO_HEADS)) & (1 - _contradiction)
        | _two_way[1] & (1 - _true_undirected)
    )
)
_true_cell, _predicted_cell = (_TRUE_CELL_KIND > 0) * 1, (_PREDICTED_CELL_KIND > 0) * 1
_true_cell_arrow, _predicted_cell_arrow = _of(_TRUE_CELL_KIND, 1), _of(_PREDICTED_CELL_KIND, 1)
_missing_cell, _extra_cell = _true_cell & ~_predicted_cell & 1, _predicted_cell & ~_true_cell & 1
_unlike_cell = _true_cell & _predicted_cell & (_TRUE_CELL_KIND != _PREDICTED_CELL_KIND)


def _mark_weights(mark: int) -> dict[str, Weights]:
    """True, predicted and common marks of one sort; where the truth has a circle, a mark is neither right nor wrong.

    A lagged edge has an arrowhead at its later end.
    """
    marks, circles = has_mark(mark), has_mark(CIRCLE)
    true, found = marks[_TRUE_KIND], marks[_PREDICTED_KIND] * (1 - circles[_TRUE_KIND])
    early = np.array([0, mark == TAIL, 0, mark == ARROWHEAD], np.int64)
    late = np.array([0, mark == ARROWHEAD, mark == ARROWHEAD, mark == ARROWHEAD], np.int64)
    known = 1 - _of(_TRUE_CELL_KIND, 2)
    true_cell = early[_TRUE_CELL_KIND] + late[_TRUE_CELL_KIND]
    found_cell = early[_PREDICTED_CELL_KIND] * known + late[_PREDICTED_CELL_KIND]
    both = (early[_TRUE_CELL_KIND] & early[_PREDICTED_CELL_KIND]) + (late[_TRUE_CELL_KIND] & late[_PREDICTED_CELL_KIND])
    return {
        "true": (true.sum(1), true_cell),
        "predicted": (found.sum(1), found_cell),
        "tp": ((true & found).sum(1), both),
    }


WEIGHTS: dict[str, Weights] = {
    "true": (_true_arrow[0] + _true_arrow[1], _true_cell_arrow),
    "predicted": (_predicted_arrow[0] + _predicted_arrow[1], _predicted_cell_arrow),
    "tp": (
        (_true_arrow[0] & _predicted_arrow[0]) + (_true_arrow[1] & _predicted_arrow[1]),
        _true_cell_arrow & _predicted_cell_arrow,
    ),
    "cells": (np.full(PAIR_STATES, 2), np.ones(CELL_STATES, np.int64)),
    "pairs": (np.ones(PAIR_STATES, np.int64), np.ones(CELL_STATES, np.int64)),
    "true_pairs": (_true_pair, _true_cell),
    "predicted_pairs": (_predicted_pair, _predicted_cell),
    "common_pairs": (_common_pair, _true_cell & _predicted_cell),
    "true_undirected": (_true_undirected, _of(_TRUE_CELL_KIND, 2, 3)),
    "predicted_undirected": (_predicted_undirected, _of(_PREDICTED_CELL_KIND, 2, 3)),
    "true_two_way": (_two_way[0], _NO_CELL),
    "predicted_two_way": (_two_way[1], _NO_CELL),
    "differing_pairs": (_differs, _missing_cell + _extra_cell + _unlike_cell),
    "differing_cells": (
        np.where(_undirected_differs, 1, _lacking + _surplus),
        _missing_cell + _extra_cell + _unlike_cell,
    ),
    # A pair that differs has no direction in one of the graphs, has only lost cells, has only gained cells, or is
    # reversed.
    "undirected_differs": (_undirected_differs, _unlike_cell),
    "missing_pairs": (_differs & (1 - _undirected_differs) & (_surplus == 0), _missing_cell),
    "extra_pairs": (_differs & (1 - _undirected_differs) & (_lacking == 0), _extra_cell),
    "missing_cells": (np.where(_turned | _undirected_differs, 0, _lacking), _missing_cell),
    "extra_cells": (np.where(_turned | _undirected_differs, 0, _surplus), _extra_cell),
    "reversed": (_turned, _NO_CELL),
    # Time orients a lagged edge, so only pairs have an orientation that can be wrong.
    "oriented_pairs": (_common_pair, _NO_CELL),
    "correct": (_same, _NO_CELL),
    "undecided": (_undecided, _NO_CELL),
    "one_way_in_both": (
        _of(_TRUE_KIND, Edge.FORWARD, Edge.BACKWARD) & _of(_PREDICTED_KIND, Edge.FORWARD, Edge.BACKWARD),
        _NO_CELL,
    ),
    "two_way_in_both": (_same & (_two_way[0] | _true_undirected), _NO_CELL),
    **{f"arrowheads_{name}": weights for name, weights in _mark_weights(ARROWHEAD).items()},
    **{f"tails_{name}": weights for name, weights in _mark_weights(TAIL).items()},
}


def _canonical(states: NDArray[Any]) -> NDArray[Any]:
    """Pairs have no order: a state and its mirror image are one class, counted under the smaller number."""
    true, found = np.divmod(states, KINDS)
    smaller: NDArray[Any] = np.minimum(states, MIRRORED[true] * KINDS + MIRRORED[found])
    return smaller


def _matrix(targets: NDArray[Any], size: int) -> NDArray[np.int64]:
    """The matrix that moves the count of state s to the state `targets[s]`."""
    moved: NDArray[np.int64] = np.eye(size, dtype=np.int64)[targets]
    return moved


_FOLDING = _matrix(_canonical(np.arange(PAIR_STATES)), PAIR_STATES)
_CROSSING = _matrix(_canonical(_TRUE_KIND * KINDS + MIRRORED[_PREDICTED_KIND]), PAIR_STATES)
_SAME_TRUTH = (_TRUE_KIND[:, np.newaxis] == _TRUE_KIND).astype(np.int64)
# The sixteen states of the kernel: bits for the true and the predicted cell, each way.
_BITS = np.arange(STATES)
_KERNEL_STATES = ((_BITS & 1) + 2 * (_BITS >> 2 & 1)) * KINDS + (_BITS >> 1 & 1) + 2 * (_BITS >> 3 & 1)
# Two lagged cells between the same nodes, (i, j) and (j, i), together.
_CELL_PAIRS = CELL_STATES * CELL_STATES
_THERE, _BACK = np.divmod(np.arange(_CELL_PAIRS), CELL_STATES)
_BOTH_CELLS = _matrix(_THERE, CELL_STATES) + _matrix(_BACK, CELL_STATES)
_swapped = [one // CELL_KINDS * CELL_KINDS + other % CELL_KINDS for one, other in ((_THERE, _BACK), (_BACK, _THERE))]
_CELL_CROSSING = _matrix(_swapped[0] * CELL_STATES + _swapped[1], _CELL_PAIRS)
_SAME_TRUE_CELL = (_TRUE_CELL_KIND[:, np.newaxis] == _TRUE_CELL_KIND).astype(np.int64)
_as_cells = [(_true_arrow[way] * CELL_KINDS + _predicted_arrow[way]) for way in (0, 1)]
_AS_CELL_PAIRS = _matrix(_as_cells[0] * CELL_STATES + _as_cells[1], _CELL_PAIRS)
# Loops are counted in four states: true + 2·predicted.
_LOOP_CELLS = _matrix(np.array([0, CELL_KINDS, 1, CELL_KINDS + 1]), CELL_STATES)


def _moved(counts: Numbers, matrix: NDArray[np.int64]) -> Numbers:
    """`counts @ matrix` over the states that occur, which are few of all."""
    kept = np.flatnonzero(counts.any(0))
    product: Numbers = counts[:, kept] @ matrix[kept]
    return product


@dataclass(frozen=True)
class Counts:
    """Counts of states in one or more graphs, one row per graph: pairs, lagged pairs, lagged self-edges, loops.

    `omitted` cells have no score; they are in neither graph and are not counted as cells.
    """

    pairs: Numbers
    lagged_pairs: Numbers
    lagged_loops: Numbers
    loops: Numbers
    omitted: Numbers

    @classmethod
    def of(cls, pairs: Numbers, loops: Numbers, omitted: Numbers | int = 0) -> Counts:
        """From pairs counted in the 16 states of plain cells, or in all states."""
        if pairs.shape[1] == STATES:
            plain, pairs = pairs, np.zeros((len(pairs), PAIR_STATES), pairs.dtype)
            pairs[:, _KERNEL_STATES] = plain
        rows = len(pairs)
        none = np.zeros((rows, _CELL_PAIRS), np.int64), np.zeros((rows, CELL_STATES), np.int64)
        return cls(_moved(pairs, _FOLDING), *none, loops, np.broadcast_to(omitted, rows))

    @classmethod
    def of_lagged_cells(cls, true: Numbers, predicted: Numbers) -> Counts:
        """From the kinds of the lagged cells (d, d) of one lag."""
        cells = true * CELL_KINDS + predicted
        upper = np.triu_indices(len(cells), 1)
        pairs = np.bincount(cells[upper] * CELL_STATES + cells.T[upper], minlength=_CELL_PAIRS)
        own = np.bincount(np.diagonal(cells), minlength=CELL_STATES)
        no_pairs, no_loops = np.zeros((1, PAIR_STATES), np.int64), np.zeros((1, 4), np.int64)
        return cls(no_pairs, pairs[None], own[None], no_loops, np.zeros(1, np.int64))

    def __getitem__(self, name: str) -> Numbers:
        pair_weights, cell_weights = WEIGHTS[name]
        (pairs, kept), (cells, kept_cells) = self._occurring
        total: Numbers = pairs @ pair_weights[kept] + cells @ cell_weights[kept_cells]
        return total - self.omitted if name == "cells" else total

    def __len__(self) -> int:
        return len(self.pairs)

    def lagged(self) -> Counts:
        """The same cells, read as edges over time: a pair is two cells, not a direction, and self-edges count."""
        return Counts(
            np.zeros_like(self.pairs),
            _moved(self.pairs, _AS_CELL_PAIRS),
            self.loops @ _LOOP_CELLS,
            np.zeros_like(self.loops),
            self.omitted,
        )

    def total(self) -> Counts:
        """All rows as one graph."""
        return Counts(*(part.sum(0, keepdims=True) for part in self._parts()))

    def rows(self, index: slice) -> Counts:
        return Counts(*(part[index] for part in self._parts()))

    def crossed(self) -> Counts:
        """The counts of the transposed predictions."""
        crossed = _moved(self.pairs, _CROSSING), _moved(self.lagged_pairs, _CELL_CROSSING)
        return replace(self, pairs=crossed[0], lagged_pairs=crossed[1])

    def between_nodes(self, name: str) -> Numbers:
        """A count without self-edges, which are the same in the transposed prediction."""
        return self[name] - self.lagged_loops @ WEIGHTS[name][1]

    def without_prediction(self) -> Counts:
        """The counts of an empty prediction."""
        chances = np.zeros((len(self), KINDS))
        chances[:, Edge.NONE] = 1
        return self._predicting(chances, np.zeros((len(self), CELL_KINDS)))

    def at_random(self) -> Counts:
        """The expected counts if the predicted number of cells is drawn uniformly, without replacement.

        Pairs with edges that have no direction are drawn first, as many as predicted, and the cells from the others.
        """
        units = np.maximum(self.pairs.sum(1), 1)[:, np.newaxis]
        kinds = _moved(self.pairs, _matrix(_PREDICTED_KIND, KINDS)) / units
        kinds = (kinds + kinds[:, MIRRORED]) / 2
        kinds[:, : Edge.LINE] = 0
        without = kinds.sum(1)
        late = self._lagged_cells @ _matrix(_PREDICTED_CELL_KIND, CELL_KINDS)
        late_share = late / np.maximum(late.sum(1, keepdims=True), 1)
        late_share[:, :2] = 0
        unlike = self["predicted_undirected"].astype(float)
        lines = without * units[:, 0]
        drawn, cells = self["predicted"].astype(float), self["cells"] - 2 * lines - (unlike - lines)
        with np.errstate(invalid="ignore", divide="ignore"):
            ordered = cells * (cells - 1)
            rest = cells - drawn
            shares = [rest * (rest - 1) / ordered, drawn * rest / ordered, drawn * (drawn - 1) / ordered]
        # With fewer than two cells there is no pair to draw.
        neither, either, both = (np.where(without < 1, (1 - without) * share, 0.0) for share in shares)
        kinds[:, : Edge.LINE] = np.stack([neither, either, either, both], 1)
        late_share[:, 1] = (1 - late_share.sum(1)) * drawn / np.maximum(cells, 1)
        return self._predicting(kinds, late_share)

    def with_random_skeleton(self) -> Counts:
        """The expected counts if the predicted number of adjacent pairs is drawn uniformly, without directions."""
        true, drawn, units = (self[name].astype(float) for name in ("true_pairs", "predicted_pairs", "pairs"))
        common = true * drawn / np.maximum(units, 1)
        pairs = np.zeros((len(self), STATES))
        pairs[:, :4] = np.stack([units - true - drawn + common, true - common, drawn - common, common], 1)
        return Counts.of(pairs, np.zeros((len(self), 4)))

    def _predicting(self, kinds: Numbers, cell_kinds: Numbers) -> Counts:
        """The expected counts, given the probabilities of every kind of a pair, and of every edge of a lagged cell."""
        pairs = _moved(self.pairs, _SAME_TRUTH) * kinds[:, _PREDICTED_KIND]
        cell_kinds = cell_kinds.copy()
        cell_kinds[:, 0] = 1 - cell_kinds[:, 1:].sum(1)
        cells = self._lagged_cells @ _SAME_TRUE_CELL * cell_kinds[:, _PREDICTED_CELL_KIND]
        nothing = np.zeros((len(self), _CELL_PAIRS))
        return Counts(pairs, nothing, cells, np.zeros((len(self), 4)), self.omitted)

    @cached_property
    def _lagged_cells(self) -> Numbers:
        return _moved(self.lagged_pairs, _BOTH_CELLS) + self.lagged_loops

    @cached_property
    def _occurring(self) -> tuple[tuple[Numbers, Numbers], tuple[Numbers, Numbers]]:
        """The counts of pairs and of lagged cells, and their states, without the states that no graph has."""
        kept = [np.flatnonzero(counts.any(0)) for counts in (self.pairs, self._lagged_cells)]
        return (self.pairs[:, kept[0]], kept[0]), (self._lagged_cells[:, kept[1]], kept[1])

    def _parts(self) -> tuple[Numbers, ...]:
        return self.pairs, self.lagged_pairs, self.lagged_loops, self.loops, self.omitted


def joined(parts: list[Counts]) -> Counts:
    """The rows of several counts, concatenated."""
    return Counts(*(np.concatenate(rows) for rows in zip(*(part._parts() for part in parts), strict=True)))
