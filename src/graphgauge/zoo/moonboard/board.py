"""The board: a grid of holds, the rules for problems, and their statistics.

A problem is a grid (channel, row, column) of zeros and ones; the channels are start, middle and end holds. Rows and
columns count from the lower left corner, so hold A1 is cell (0, 0).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError

CHANNELS = ("start", "middle", "end")
COLUMNS = "ABCDEFGHIJK"
ROWS = 18
SHAPE = (len(CHANNELS), ROWS, len(COLUMNS))
# Fontainebleau grades, from the easiest on the board to the hardest.
GRADES = (
    "5+",
    "6A",
    "6A+",
    "6B",
    "6B+",
    "6C",
    "6C+",
    "7A",
    "7A+",
    "7B",
    "7B+",
    "7C",
    "7C+",
    "8A",
    "8A+",
    "8B",
    "8B+",
    "8C",
    "8C+",
)
STATISTICS = ("num_holds", "num_start", "num_middle", "num_end", "vertical_spread", "horizontal_spread")

_LEAST_MIDDLE = 3
_MOST_HOLDS, _MOST_STARTS, _MOST_ENDS = 20, 4, 2
_HOLD = re.compile(r"([A-Z])([0-9]{1,3})")

Grids = NDArray[np.uint8]


def cell(hold: str) -> tuple[int, int]:
    """Row and column of a hold such as J4, counted from 0."""
    match = _HOLD.fullmatch(hold.strip().upper())
    if match is not None:
        column, row = COLUMNS.find(match[1]), int(match[2]) - 1
        if column >= 0 and 0 <= row < ROWS:
            return row, column
    raise InputError(f"{hold!r:.40} is not on the board", fix=f"Holds are A1 to {COLUMNS[-1]}{ROWS}.")


def hold(row: int, column: int) -> str:
    return f"{COLUMNS[column]}{row + 1}"


def grade_name(text: Any) -> str | None:
    """A grade as spelled in the list of grades, or None if it is unknown."""
    name = text.strip().upper() if isinstance(text, str) else None
    return name if name in GRADES else None


def valid(grids: Any) -> NDArray[np.bool_]:
    """Whether each grid is a valid problem: a start, an end, and at least three holds between."""
    counts = _counts(grids)
    return (counts[:, 0] >= 1) & (counts[:, 1] >= _LEAST_MIDDLE) & (counts[:, 2] >= 1)


def remarks(grid: Any) -> tuple[list[str], list[str]]:
    """Violations of the rules of a problem, and warnings about unusual counts."""
    starts, middle, ends = (int(count) for count in _counts(np.asarray(grid)[None])[0])
    holds = int(np.count_nonzero(np.asarray(grid).any(axis=0)))
    errors = [
        *(["no start hold"] if starts < 1 else []),
        *(["no end hold"] if ends < 1 else []),
        *([f"{middle} middle holds; at least {_LEAST_MIDDLE} are needed"] if middle < _LEAST_MIDDLE else []),
    ]
    most = (("holds", holds, _MOST_HOLDS), ("start holds", starts, _MOST_STARTS), ("end holds", ends, _MOST_ENDS))
    return errors, [f"{count} {name}, more than {limit}" for name, count, limit in most if count > limit]


def statistics(grids: Any) -> dict[str, NDArray[np.int64]]:
    """Counts of holds and the extent of the problem on the board, for each grid.

    A hold that is both start and end counts in both, and once in `num_holds`.
    """
    counts = _counts(grids)
    used = np.any(grids, axis=1)
    columns = (
        used.sum(axis=(1, 2)),
        counts[:, 0],
        counts[:, 1],
        counts[:, 2],
        _extent(np.any(used, axis=2)),
        _extent(np.any(used, axis=1)),
    )
    return dict(zip(STATISTICS, columns, strict=True))


def _counts(grids: Any) -> NDArray[np.int64]:
    array = np.asarray(grids)
    if array.shape[1:] != SHAPE:
        raise InputError(f"expected grids of shape (any, {SHAPE}), found {array.shape}", where="grids")
    return np.asarray(np.count_nonzero(array, axis=(2, 3)))


def _extent(occupied: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Distance from the first to the last occupied line; 0 without any."""
    first = occupied.argmax(axis=1)
    last = occupied.shape[1] - 1 - occupied[:, ::-1].argmax(axis=1)
    return np.where(occupied.any(axis=1), last - first, 0)
