"""Every number that depends on a threshold, as a sum over the states of pairs of nodes.

A pair is in one of sixteen states (four cells: true and predicted, each way) and a lagged cell in one of four. How many
are in each is all that has to be counted; the counts below are weights over the states, so they are exact for whole
numbers and for expectations alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.graphs import STATES, mirrored

Numbers = NDArray[Any]
Weights = tuple[NDArray[np.int64], NDArray[np.int64]]

_STATE = np.arange(STATES)
_TRUE = _STATE & 1, _STATE >> 2 & 1
_PREDICTED = _STATE >> 1 & 1, _STATE >> 3 & 1
_CELL = np.arange(4)
_TRUE_CELL, _PREDICTED_CELL = _CELL & 1, _CELL >> 1
_NO_CELL = np.zeros(4, np.int64)

_true_pair = _TRUE[0] | _TRUE[1]
_predicted_pair = _PREDICTED[0] | _PREDICTED[1]
_common_pair = _true_pair & _predicted_pair
_lacking = (_TRUE[0] & ~_PREDICTED[0]) + (_TRUE[1] & ~_PREDICTED[1])
_surplus = (_PREDICTED[0] & ~_TRUE[0]) + (_PREDICTED[1] & ~_TRUE[1])
_differs = (_lacking + _surplus > 0).astype(np.int64)
_turned = _lacking & _surplus & 1
_same = _common_pair & ~_differs & 1
_undecided = _common_pair & _PREDICTED[0] & _PREDICTED[1] & _differs
_missing_cell, _extra_cell = _TRUE_CELL & ~_PREDICTED_CELL, _PREDICTED_CELL & ~_TRUE_CELL

WEIGHTS: dict[str, Weights] = {
    "true": (_TRUE[0] + _TRUE[1], _TRUE_CELL),
    "predicted": (_PREDICTED[0] + _PREDICTED[1], _PREDICTED_CELL),
    "tp": ((_TRUE[0] & _PREDICTED[0]) + (_TRUE[1] & _PREDICTED[1]), _TRUE_CELL & _PREDICTED_CELL),
    "cells": (np.full(STATES, 2), np.ones(4, np.int64)),
    "pairs": (np.ones(STATES, np.int64), np.ones(4, np.int64)),
    "true_pairs": (_true_pair, _TRUE_CELL),
    "predicted_pairs": (_predicted_pair, _PREDICTED_CELL),
    "common_pairs": (_common_pair, _TRUE_CELL & _PREDICTED_CELL),
    "differing_pairs": (_differs, _missing_cell + _extra_cell),
    "differing_cells": (_lacking + _surplus, _missing_cell + _extra_cell),
    # A pair that differs has only lost cells, has only gained cells, or has been turned round.
    "missing_pairs": ((_differs & (_surplus == 0)), _missing_cell),
    "extra_pairs": ((_differs & (_lacking == 0)), _extra_cell),
    "missing_cells": (np.where(_turned, 0, _lacking), _missing_cell),
    "extra_cells": (np.where(_turned, 0, _surplus), _extra_cell),
    "reversed": (_turned, _NO_CELL),
    # Time orients a lagged edge, so only pairs can be oriented well or badly.
    "oriented_pairs": (_common_pair, _NO_CELL),
    "correct": (_same, _NO_CELL),
    "undecided": (_undecided, _NO_CELL),
    "one_way_in_both": (_common_pair & (_TRUE[0] ^ _TRUE[1]) & (_PREDICTED[0] ^ _PREDICTED[1]), _NO_CELL),
    "two_way_in_both": (_TRUE[0] & _TRUE[1] & _PREDICTED[0] & _PREDICTED[1], _NO_CELL),
}

_MIRRORED = np.array([mirrored(state) for state in range(STATES)])
_CROSSED = (_STATE & 0b0101) | (_STATE >> 2 & 0b0010) | (_STATE << 2 & 0b1000)
# Counts of states times one of these: as if predictions were transposed; each true state, over all predictions; cells.
_CROSSING = np.eye(STATES, dtype=np.int64)[np.minimum(_CROSSED, _MIRRORED[_CROSSED])]
_SAME_TRUTH = ((_STATE & 0b0101)[:, np.newaxis] == (_STATE & 0b0101)).astype(np.int64)
_BOTH_CELLS = np.eye(4, dtype=np.int64)[_STATE & 3] + np.eye(4, dtype=np.int64)[_STATE >> 2]
_SAME_TRUE_CELL = (_TRUE_CELL[:, np.newaxis] == _TRUE_CELL).astype(np.int64)
_WAYS = _PREDICTED[0] + _PREDICTED[1]


@dataclass(frozen=True)
class Counts:
    """States counted in one or more graphs, a row each: of pairs, of lagged pairs, of lagged self-edges, of loops.

    `omitted` cells have no score; they are in neither graph, and none of the cells that are counted.
    """

    pairs: Numbers
    lagged_pairs: Numbers
    lagged_loops: Numbers
    loops: Numbers
    omitted: Numbers

    @classmethod
    def of(cls, pairs: Numbers, loops: Numbers, omitted: Numbers | int = 0) -> Counts:
        none = np.zeros((len(pairs), STATES), np.int64), np.zeros((len(pairs), 4), np.int64)
        return cls(pairs, *none, loops, np.broadcast_to(omitted, len(pairs)))

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
        """The counts if the predictions were transposed."""
        return replace(self, pairs=self.pairs @ _CROSSING, lagged_pairs=self.lagged_pairs @ _CROSSING)

    def without_prediction(self) -> Counts:
        """The counts if nothing were predicted."""
        return self._predicting(np.zeros(len(self)), np.ones(len(self)), np.zeros(len(self)))

    def at_random(self) -> Counts:
        """The expected counts if as many cells as are predicted were drawn uniformly, without replacement."""
        drawn, cells = self["predicted"].astype(float), self["cells"].astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            ordered = cells * (cells - 1)
            both, neither = drawn * (drawn - 1) / ordered, (cells - drawn) * (cells - drawn - 1) / ordered
        return self._predicting(both, neither, drawn / np.maximum(cells, 1))

    def with_random_skeleton(self) -> Counts:
        """The expected counts if as many pairs as are adjacent were drawn uniformly; directions are left out."""
        true, drawn, units = (self[name].astype(float) for name in ("true_pairs", "predicted_pairs", "pairs"))
        common = true * drawn / np.maximum(units, 1)
        pairs = np.zeros((len(self), STATES))
        pairs[:, :4] = np.stack([units - true - drawn + common, true - common, drawn - common, common], 1)
        return Counts.of(pairs, np.zeros((len(self), 4)))

    def _predicting(self, both: Numbers, neither: Numbers, one: Numbers) -> Counts:
        """The expected counts where chance draws `both` cells of a pair, `neither` or either, and `one` lagged cell."""
        chances = np.stack([neither, (1 - both - neither) / 2, both], 1)[:, _WAYS]
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
    """Rows of several, one after the other."""
    return Counts(*(np.concatenate(rows) for rows in zip(*(part._parts() for part in parts), strict=True)))
