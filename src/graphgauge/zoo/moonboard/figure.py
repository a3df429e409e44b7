"""Problems drawn on the board."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.figures import CHANCE, COLOURS, figure
from graphgauge.zoo.moonboard.board import CHANNELS, COLUMNS, ROWS

_ACROSS = 5
# Shapes as well as colours, for colour-blind readers and for print.
_MARKS = {"start": (COLOURS[2], "^"), "middle": (COLOURS[0], "o"), "end": (COLOURS[1], "s")}
_PITCH = (len(COLUMNS) + 2.5, ROWS + 4.0)


def draw_boards(path: str | Path, grids: Sequence[Any], titles: Sequence[str]) -> None:
    """Draw boards, five per row, with their holds and titles."""
    across, down = min(len(grids), _ACROSS), -(-len(grids) // _ACROSS)
    with figure(path, width=2.2 * across + 0.2, height=3.7 * down + 0.4) as (axes,):
        axes.set_axis_off()
        axes.set_aspect("equal")
        for number, (grid, title) in enumerate(zip(grids, titles, strict=True)):
            left, bottom = number % _ACROSS * _PITCH[0], (down - 1 - number // _ACROSS) * _PITCH[1]
            _board(axes, left, bottom, title)
            for channel, name in enumerate(CHANNELS):
                rows, columns = np.nonzero(np.asarray(grid)[channel])
                colour, mark = _MARKS[name]
                axes.plot(
                    left + columns,
                    bottom + rows,
                    linestyle="",
                    marker=mark,
                    markersize=8,
                    markerfacecolor="none",
                    markeredgecolor=colour,
                    markeredgewidth=2,
                )
        for name, (colour, mark) in _MARKS.items():
            axes.plot(
                [],
                [],
                linestyle="",
                marker=mark,
                markerfacecolor="none",
                markeredgecolor=colour,
                markeredgewidth=2,
                label=name,
            )
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(CHANNELS), fontsize=8)


def _board(axes: Any, left: float, bottom: float, title: str) -> None:
    rows, columns = np.divmod(np.arange(ROWS * len(COLUMNS)), len(COLUMNS))
    axes.plot(left + columns, bottom + rows, linestyle="", marker=".", markersize=2, color=CHANCE, alpha=0.6)
    frame_x, frame_y = np.array([-0.7, len(COLUMNS) - 0.3]), np.array([-0.7, ROWS - 0.3])
    axes.plot(left + frame_x[[0, 1, 1, 0, 0]], bottom + frame_y[[0, 0, 1, 1, 0]], color=CHANCE, linewidth=0.8)
    axes.text(left + (len(COLUMNS) - 1) / 2, bottom + ROWS + 0.2, title, ha="center", fontsize=9)
    for column, name in enumerate(COLUMNS):
        axes.text(left + column, bottom - 1.0, name, ha="center", va="top", fontsize=5, color=CHANCE)
    for row in range(ROWS):
        axes.text(left - 0.9, bottom + row, str(row + 1), ha="right", va="center", fontsize=5, color=CHANCE)
