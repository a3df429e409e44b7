"""Synthetic problems from a seeded rule, so that everything runs without a download.

Every hold of the board has a size between 0 (poor) and 1 (good). The difficulty of a problem is the mean distance, in
cells, from each of its holds to the next one up, plus three times the mean poorness (1 − size) of its holds. Its grade
is that difficulty on a scale of equal steps, clipped at the ends. So a problem is hard if its holds are few and far
apart, or poor, or both, and `graded_by_rule` computes the grade of any set of holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.zoo.moonboard.board import COLUMNS, GRADES, ROWS, SHAPE, Grids
from graphgauge.zoo.moonboard.problems import Problems, graded

# The sizes are a property of the board: they are the same for every seed.
_BOARD = 2016
_POOR = 3.0
_EASIEST, _STEP = 3.3, 0.28
_MOST_MIDDLE = 9
_TOP = ROWS - 1


def hold_sizes() -> Floats:
    """The size of each hold, as a (row, column) grid."""
    return np.random.default_rng(_BOARD).random((ROWS, len(COLUMNS)))


def difficulty(grids: Any) -> Floats:
    """The difficulty of each grid by the rule; NaN with fewer than two holds."""
    sizes = hold_sizes()
    values = np.full(len(grids), np.nan)
    for index, used in enumerate(np.any(grids, axis=1)):
        places = np.argwhere(used)
        if len(places) > 1:
            reach = np.hypot(*np.diff(places, axis=0).T).mean()
            values[index] = reach + _POOR * (1 - sizes[used]).mean()
    return values


def graded_by_rule(grids: Any) -> NDArray[np.int64]:
    """The label of each grid's grade among all grades; −1 if its difficulty is not defined."""
    values = difficulty(grids)
    steps = np.floor((values - _EASIEST) / _STEP)
    return np.where(np.isnan(values), -1, np.clip(np.nan_to_num(steps), 0, len(GRADES) - 1)).astype(np.int64)


class Rule:
    """A classifier without errors on embedded problems of these grades; other grades are mapped to the nearest.

    It also returns a grade for boards with fewer than two holds, but those are not valid.
    """

    def __init__(self, grades: Sequence[str]) -> None:
        self._places = np.array([GRADES.index(grade) for grade in grades])

    def predict(self, samples: Any) -> NDArray[np.int64]:
        return np.asarray(np.abs(graded_by_rule(samples)[:, None] - self._places).argmin(axis=1))


def synthetic(count: int = 6000, seed: int = 0) -> Problems:
    """Problems with one or two starts low on the board, a zigzag of holds, and one or two ends on the top row."""
    grids = _set(count, np.random.default_rng(seed))
    return graded(grids, graded_by_rule(grids))


def _set(count: int, draw: np.random.Generator) -> Grids:
    """Create all problems at once. The target difficulty determines the number, distance and size of the holds."""
    ambition = draw.beta(1.4, 2, count)
    middle = np.clip(np.rint(_MOST_MIDDLE - 6 * ambition + draw.normal(0, 0.8, count)), 3, _MOST_MIDDLE).astype(int)
    first_row = draw.integers(3, 6, count)
    centre, drift = draw.uniform(3, 7, count), draw.uniform(-2, 2, count)
    side = draw.choice([-1.0, 1.0], count)
    width = 1 + 1.5 * ambition
    grids = np.zeros((count, *SHAPE), dtype=np.uint8)

    def place(channel: int, who: Any, row: Floats, column: Floats) -> None:
        chosen = _nearest_fit(grids[who], row[who], column[who], 1 - ambition[who], draw)
        grids[who, channel, chosen // len(COLUMNS), chosen % len(COLUMNS)] = 1

    everyone = np.arange(count)
    place(0, everyone, first_row.astype(float), centre + side * width)
    place(0, np.flatnonzero(draw.random(count) < 0.6), first_row.astype(float), centre - side * width)
    for step in range(1, _MOST_MIDDLE + 1):
        share = step / (middle + 1)
        line = centre + drift * share + side * width * (-1.0) ** step
        place(1, np.flatnonzero(step <= middle), first_row + share * (_TOP - first_row), line)
    last = centre + drift + side * width * (-1.0) ** (middle + 1)
    place(2, everyone, np.full(count, float(_TOP)), last)
    place(2, np.flatnonzero(draw.random(count) < 0.1), np.full(count, float(_TOP)), last + side)
    return grids


def _nearest_fit(grids: Grids, row: Floats, column: Floats, size: Floats, draw: np.random.Generator) -> Any:
    """A free hold for each problem, near a position and of a given size; only ends may be on the top row."""
    rows, columns = np.divmod(np.arange(ROWS * len(COLUMNS)), len(COLUMNS))
    off = (rows - row[:, None]) ** 2 + (columns - column[:, None]) ** 2
    fit = -off / 0.4 - 8 * (hold_sizes().ravel() - size[:, None]) ** 2 + draw.gumbel(size=off.shape)
    forbidden = grids.any(axis=1).reshape(len(grids), -1) | ((rows == _TOP) != (row[:, None] == _TOP))
    return np.where(forbidden, -np.inf, fit).argmax(axis=1)
