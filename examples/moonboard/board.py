"""The MoonBoard: 11 columns (A to K) and 18 rows of holds, and climbing problems as grids of zeros and ones.

A grid is (channel, row, column); the channels are start, middle and end holds. Hold A1, in the lower left corner, is
cell (0, 0).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

CHANNELS = ("start", "middle", "end")
COLUMNS = "ABCDEFGHIJK"
ROWS = 18
SHAPE = (len(CHANNELS), ROWS, len(COLUMNS))
# Fontainebleau grades from the easiest on the board to the hardest.
GRADES = ("5+", *(f"{number}{letter}{plus}" for number in "678" for letter in "ABC" for plus in ("", "+")))


class Problems(NamedTuple):
    """Grids, the label of each, and the names of the labels in order of difficulty."""

    grids: np.ndarray
    labels: np.ndarray
    grades: tuple[str, ...]

    def split(self, seed: int, share: float = 0.2) -> tuple[Problems, Problems]:
        """A part for training, and a share that is held out. Equal grids are on the same side."""
        _, kind = np.unique(self.grids.reshape(len(self.grids), -1), axis=0, return_inverse=True)
        held = np.random.default_rng(seed).random(kind.max() + 1)[kind] < share
        train, rest = (Problems(self.grids[part], self.labels[part], self.grades) for part in (~held, held))
        return train, rest


def valid(grids: Any) -> np.ndarray:
    """A problem has a start, an end, and at least three holds between them."""
    start, middle, end = np.asarray(grids).sum(axis=(2, 3)).T
    return np.asarray((start >= 1) & (middle >= 3) & (end >= 1))


def statistics(grids: Any) -> dict[str, np.ndarray]:
    """Counts of holds, and the rows and columns from the first hold to the last.

    A hold that is both start and end counts in both, and once in `num_holds`.
    """
    start, middle, end = np.asarray(grids).sum(axis=(2, 3)).T
    used = np.asarray(grids).any(axis=1)
    return {
        "num_holds": used.sum(axis=(1, 2)),
        "num_start": start,
        "num_middle": middle,
        "num_end": end,
        "vertical_spread": _extent(used.any(axis=2)),
        "horizontal_spread": _extent(used.any(axis=1)),
    }


def _extent(used: np.ndarray) -> np.ndarray:
    """The distance from the first line in use to the last; 0 without any."""
    last = used.shape[1] - 1 - used[:, ::-1].argmax(axis=1)
    return np.where(used.any(axis=1), last - used.argmax(axis=1), 0)


def read_problems(path: str | Path) -> Problems:
    """Read `{"data": [{"grade": "6B+", "moves": [{"description": "J4", "isStart": true, "isEnd": false}, …]}, …]}`.

    The list alone will do, and so will keys in PascalCase.
    """
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    items = _field(content, "data") if isinstance(content, dict) else content
    if not isinstance(items, list) or not items:
        raise ValueError(f'{path} has no problems: expected {{"data": [{{"grade": …, "moves": [{{…}}]}}]}}')
    grids, names = [], []
    for number, item in enumerate(items):
        try:
            if (grade := _field(item, "grade")) not in GRADES:
                raise ValueError(f"the grade {grade!r} is none of {', '.join(GRADES)}")
            moves = _field(item, "moves")
            if not isinstance(moves, list):
                raise ValueError(f"moves are {moves!r}, expected a list of holds")
            grids.append(_grid(moves))
        except ValueError as error:
            raise ValueError(f"{path}, problem {number}: {error}") from None
        names.append(grade)
    grades = tuple(grade for grade in GRADES if grade in names)
    return Problems(np.stack(grids), np.array([grades.index(name) for name in names]), grades)


def _grid(moves: list[dict[str, Any]]) -> np.ndarray:
    grid = np.zeros(SHAPE, bool)
    for move in moves:
        hold = _field(move, "description")
        match = re.fullmatch(rf"([{COLUMNS}])(\d+)", str(hold))
        if match is None or not 1 <= int(match[2]) <= ROWS:
            raise ValueError(f"the hold {hold!r} is not on the board: A1 to {COLUMNS[-1]}{ROWS}")
        place = int(match[2]) - 1, COLUMNS.index(match[1])
        grid[0][place] |= bool(_field(move, "isStart"))
        grid[2][place] |= bool(_field(move, "isEnd"))
        grid[1][place] = True
    grid[1] &= ~(grid[0] | grid[2])
    return grid


def _field(item: dict[str, Any], name: str) -> Any:
    """A field in camelCase or PascalCase."""
    if not isinstance(item, dict):
        raise ValueError(f"expected an object with {name!r}, found {item!r}")
    return item.get(name, item.get(name[0].upper() + name[1:]))


def synthetic(count: int, seed: int = 0) -> Problems:
    """Zigzags from the lower rows to the top; the fewer and the wider apart their holds are, the harder.

    The grade is the mean distance in cells from a hold to the next one up, in five steps.
    """
    draw = np.random.default_rng(seed)
    grids, reach = np.zeros((count, *SHAPE), bool), np.empty(count)
    for grid, number in zip(grids, range(count), strict=True):
        ambition = draw.random()
        holds = 10 - round(4 * ambition + draw.random())
        rows = np.rint(np.linspace(draw.integers(2, 5), ROWS - 1, holds)).astype(int)
        zigzag = (0.5 + 1.5 * ambition) * (-1) ** np.arange(holds) + draw.uniform(-1.5, 1.5) * rows / ROWS
        columns = np.clip(np.rint(draw.uniform(3, 7) + zigzag + draw.normal(0, 0.4, holds)), 0, 10).astype(int)
        grid[[0, *[1] * (holds - 2), 2], rows, columns] = True
        reach[number] = np.hypot(np.diff(rows), np.diff(columns)).mean()
    return Problems(grids, np.digitize(reach, [2.3, 2.8, 3.3, 3.8]), ("6A", "6B", "6C", "7A", "7B"))
