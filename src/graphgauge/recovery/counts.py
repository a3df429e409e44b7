"""Every count that depends on a threshold, as a sum over the states of node pairs.

A pair is in one of 64 states (four cells: true and predicted, each way; two marks: whether the true and the predicted
edge is undirected) and a lagged cell in one of four. Only the number in each state has to be counted; the counts
below are weights over the states, so they are exact for whole numbers and for expectations alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.graphs import MARKED_STATES, STATES, mirrored

Numbers = NDArray[Any]
Weights = tuple[NDArray[np.int64], NDArray[np.int64]]

_STATE = np.arange(MARKED_STATES)
_TRUE = _STATE & 1, _STATE >> 2 & 1
_PREDICTED = _STATE >> 1 & 1, _STATE >> 3 & 1
_CELL = np.arange(4)
_TRUE_CELL, _PREDICTED_CELL = _CELL & 1, _CELL >> 1
_NO_CELL = np.zeros(4, np.int64)

_true_pair = _TRUE[0] | _TRUE[1]
_predicted_pair = _PREDICTED[0] | _PREDICTED[1]
_common_pair = _true_pair & _predicted_pair
# An undirected edge fills both cells, without an arrow.
_true_undirected = _true_pair & _STATE >> 4
_predicted_undirected = _predicted_pair & _STATE >> 5
_true_arrow = _TRUE[0] & ~_true_undirected, _TRUE[1] & ~_true_undirected
_predicted_arrow = _PREDICTED[0] & ~_predicted_undirected, _PREDICTED[1] & ~_predicted_undirected
# Adjacent in both graphs, in one of them without direction.
_direction_in_one = _common_pair & (_true_undirected ^ _predicted_undirected)
_lacking = (_TRUE[0] & ~_PREDICTED[0]) + (_TRUE[1] & ~_PREDICTED[1])
_surplus = (_PREDICTED[0] & ~_TRUE[0]) + (_PREDICTED[1] & ~_TRUE[1])
_differs = ((_lacking + _surplus > 0) | (_direction_in_one > 0)).astype(np.int64)
_turned = _lacking & _surplus & ~_direction_in_one & 1
_same = _common_pair & ~_differs & 1
_two_way = (_true_arrow[0] & _true_arrow[1]), (_predicted_arrow[0] & _predicted_arrow[1])
_undecided = _common_pair & _differs & (_predicted_undirected | _two_way[1] & ~_true_undirected)
_missing_cell, _extra_cell = _TRUE_CELL & ~_PREDICTED_CELL, _PREDICTED_CELL & ~_TRUE_CELL

WEIGHTS: dict[str, Weights] = {
    "true": (_true_arrow[0] + _true_arrow[1], _TRUE_CELL),
    "predicted": (_predicted_arrow[0] + _predicted_arrow[1], _PREDICTED_CELL),
    "tp": (
        (_true_arrow[0] & _predicted_arrow[0]) + (_true_arrow[1] & _predicted_arrow[1]), _TRUE_CELL & _PREDICTED_CELL
    ),
    "cells": (np.full(MARKED_STATES, 2), np.ones(4, np.int64)),
    "pairs": (np.ones(MARKED_STATES, np.int64), np.ones(4, np.int64)),
    "true_pairs": (_true_pair, _TRUE_CELL),
    "predicted_pairs": (_predicted_pair, _PREDICTED_CELL),
    "common_pairs": (_common_pair, _TRUE_CELL & _PREDICTED_CELL),
    "true_undirected": (_true_undirected, _NO_CELL),
    "predicted_undirected": (_predicted_undirected, _NO_CELL),
    "true_two_way": (_two_way[0], _NO_CELL),
    "predicted_two_way": (_two_way[1], _NO_CELL),
    "differing_pairs": (_differs, _missing_cell + _extra_cell),
    "differing_cells": (np.where(_direction_in_one, 1, _lacking + _surplus), _missing_cell + _extra_cell),
    # A pair that differs has a direction in one graph only, has only lost cells, has only gained cells, or is
    # reversed.
    "direction_in_one": (_direction_in_one, _NO_CELL),
    "missing_pairs": (_differs & ~_direction_in_one & (_surplus == 0), _missing_cell),
    "extra_pairs": (_differs & ~_direction_in_one & (_lacking == 0), _extra_cell),
    "missing_cells": (np.where(_turned | _direction_in_one, 0, _lacking), _missing_cell),
    "extra_cells": (np.where(_turned | _direction_in_one, 0, _surplus), _extra_cell),
    "reversed": (_turned, _NO_CELL),
    # Time orients a lagged edge, so only pairs have an orientation that can be wrong.
    "oriented_pairs": (_common_pair, _NO_CELL),
    "correct": (_same, _NO_CELL),
    "undecided": (_undecided, _NO_CELL),
    "one_way_in_both": (
        (_true_arrow[0] ^ _true_arrow[1]) & (_predicted_arrow[0] ^ _predicted_arrow[1]), _NO_CELL
    ),
    "two_way_in_both": (_two_way[0] & _two_way[1] | _true_undirected & _predicted_undirected, _NO_CELL),
}  # fmt: skip

_MIRRORED = np.array([mirrored(state) for state in range(MARKED_STATES)])
_CROSSED = (_STATE & 0b110101) | (_STATE >> 2 & 0b0010) | (_STATE << 2 & 0b1000)
# Matrices for counts of states: transpose the predictions; sum over predictions by true state; count cells.
_CROSSING = np.eye(MARKED_STATES, dtype=np.int64)[np.minimum(_CROSSED, _MIRRORED[_CROSSED])]
_SAME_TRUTH = ((_STATE & 0b010101)[:, np.newaxis] == (_STATE & 0b010101)).astype(np.int64)
_BOTH_CELLS = np.eye(4, dtype=np.int64)[_STATE & 3] + np.eye(4, dtype=np.int64)[_STATE >> 2 & 3]
_SAME_TRUE_CELL = (_TRUE_CELL[:, np.newaxis] == _TRUE_CELL).astype(np.int64)
# Random states of a pair: no edge, one way, both ways, an undirected edge; other states are not drawn.
_DRAWN = np.full(MARKED_STATES, 4)
_DRAWN[_STATE >> 5 == 0] = (_PREDICTED[0] + _PREDICTED[1])[_STATE >> 5 == 0]
_DRAWN[(_STATE >> 5 == 1) & (_PREDICTED[0] + _PREDICTED[1] == 2)] = 3


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
        """From pairs counted in 16 states if no edge is undirected, or in all 64."""
        marked = np.zeros((len(pairs), MARKED_STATES), pairs.dtype)
        marked[:, : pairs.shape[1]] = pairs
        none = np.zeros((len(pairs), MARKED_STATES), np.int64), np.zeros((len(pairs), 4), np.int64)
        return cls(marked, *none, loops, np.broadcast_to(omitted, len(pairs)))

    def __getitem__(self, name: str) -> Numbers:
        pair_weights, cell_weights = WEIGHTS[name]
        total: Numbers = self.pairs @ pair_weights + self._lagged_cells @ cell_weights
        return total - self.omitted if name == "cells" else total

    def __len__(self) -> int:
        return len(self.pairs)

    def lagged(self) -> Counts:
        """The same cells, read as edges over time: loops are edges, and a pair is two cells, not a direction."""
        nothing = np.zeros_like(self.pairs), np.zeros_like(self.loops)
        return Counts(nothing[0], self.pairs, self.loops, nothing[1], self.omitted)

    def total(self) -> Counts:
        """All rows as one graph."""
        return Counts(*(part.sum(0, keepdims=True) for part in self._parts()))

    def rows(self, index: slice) -> Counts:
        return Counts(*(part[index] for part in self._parts()))

    def crossed(self) -> Counts:
        """The counts of the transposed predictions."""
        return replace(self, pairs=self.pairs @ _CROSSING, lagged_pairs=self.lagged_pairs @ _CROSSING)

    def without_prediction(self) -> Counts:
        """The counts of an empty prediction."""
        nothing = np.zeros(len(self))
        return self._predicting(nothing, nothing + 1, nothing, nothing)

    def at_random(self) -> Counts:
        """The expected counts if the predicted number of cells is drawn uniformly, without replacement.

        The predicted number of undirected pairs is drawn first, and the cells from the other pairs.
        """
        undirected = self["predicted_undirected"].astype(float)
        drawn, cells = self["predicted"].astype(float), self["cells"] - 2 * undirected
        without = undirected / np.maximum(self.pairs.sum(1), 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            ordered = cells * (cells - 1)
            both, neither = drawn * (drawn - 1) / ordered, (cells - drawn) * (cells - drawn - 1) / ordered
        # With fewer than two cells there is no pair to draw.
        both, neither = (np.where(without < 1, (1 - without) * share, 0.0) for share in (both, neither))
        return self._predicting(both, neither, without, drawn / np.maximum(cells, 1))

    def with_random_skeleton(self) -> Counts:
        """The expected counts if the predicted number of adjacent pairs is drawn uniformly, without directions."""
        true, drawn, units = (self[name].astype(float) for name in ("true_pairs", "predicted_pairs", "pairs"))
        common = true * drawn / np.maximum(units, 1)
        pairs = np.zeros((len(self), STATES))
        pairs[:, :4] = np.stack([units - true - drawn + common, true - common, drawn - common, common], 1)
        return Counts.of(pairs, np.zeros((len(self), 4)))

    def _predicting(self, both: Numbers, neither: Numbers, undirected: Numbers, one: Numbers) -> Counts:
        """The expected counts, given the probabilities of `both` cells of a pair, `neither`, an undirected edge,
        and of `one` lagged cell."""
        either = (1 - both - neither - undirected) / 2
        chances = np.stack([neither, either, both, undirected, np.zeros_like(both)], 1)[:, _DRAWN]
        pairs = self.pairs @ _SAME_TRUTH * chances
        cells = self._lagged_cells @ _SAME_TRUE_CELL * np.stack([1 - one, 1 - one, one, one], 1)
        return Counts(pairs, np.zeros_like(pairs), cells, np.zeros_like(cells), self.omitted)

    @cached_property
    def _lagged_cells(self) -> Numbers:
        cells: Numbers = self.lagged_pairs @ _BOTH_CELLS + self.lagged_loops
        return cells

    def _parts(self) -> tuple[Numbers, ...]:
        return self.pairs, self.lagged_pairs, self.lagged_loops, self.loops, self.omitted


def joined(parts: list[Counts]) -> Counts:
    """The rows of several counts, concatenated."""
    return Counts(*(np.concatenate(rows) for rows in zip(*(part._parts() for part in parts), strict=True)))
