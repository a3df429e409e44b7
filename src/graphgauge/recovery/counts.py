"""Every count as a weight over the 121 combinations of a true and a predicted kind of edge.

The two tables of a comparison (`compare.py`) have the number of units in each combination. A count is a weighted sum of
them, exact for whole numbers and for expectations alike; so the scores of empty and of random graphs are counts of
other tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.recovery.graph import CIRCLE, ENDS, HEAD, KINDS, MIRRORED, TAIL, Kind

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
        true, found = self._marginals()
        return Counts(_spread(true, found))

    def random_skeleton(self) -> Counts:
        """The same with as many adjacencies, whatever their kinds."""
        true, found = self._marginals()
        adjacent = np.zeros_like(found)
        adjacent[..., Kind.NONE] = found[..., Kind.NONE]
        adjacent[..., Kind.FORWARD] = found[..., 1:].sum(-1)
        return Counts(_spread(true, adjacent))

    def _marginals(self) -> tuple[Floats, Floats]:
        """How many units have each kind in the truth, and in the prediction; there the sides of a pair are equal."""
        tables = self.tables.astype(np.float64)
        true, found = tables.sum(-1), tables.sum(-2)
        found[:, 0] = (found[:, 0] + found[:, 0, MIRRORED]) / 2
        return true, found


def _spread(true: Floats, found: Floats) -> Floats:
    """The expected tables if the edges of the prediction do not depend on the truth."""
    units = np.maximum(found.sum(-1), 1)[..., np.newaxis, np.newaxis]
    tables: Floats = true[..., :, np.newaxis] * found[..., np.newaxis, :] / units
    return tables
