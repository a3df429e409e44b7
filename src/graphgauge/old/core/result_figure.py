"""The figure of one result: its value with its interval among its reference levels, or its values along an axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.old.core.figures import CHANCE, COLOURS, figure
from graphgauge.old.core.result import Result, Table

# The most groups drawn: the largest ones, in their order.
_GROUPS = 40
_DASHES = {"chance": "--", "baseline": ":", "ideal": "-."}


def draw_result(result: Result, by: str | None, path: str | Path) -> None:
    if by is None and not result.defined:
        raise InputError(f"{result.key} has no value to draw: {result.reason or 'not defined on this input'}")
    table = None if by is None else result.by(by)
    rows = 1 if table is None else min(len(table), _GROUPS)
    with figure(path, width=5.4, height=1.5 + 0.24 * rows) as (axes,):
        if table is None:
            _point(axes, result.value, result.interval, 0)
            axes.set_yticks([0], [_text(result.key)])
        else:
            _groups(axes, table)
            axes.axvline(result.value, color=COLOURS[1], lw=1, label="all")
        for level in result.chance:
            axes.axvline(level.value, ls=_DASHES[level.kind], color=CHANCE, lw=1.2, label=_text(level.name))
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_xlabel(_text(result.key))
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _groups(axes: Any, table: Table) -> None:
    shown = np.sort(np.argsort(-table["n"], kind="stable")[:_GROUPS])
    low, high = (
        table[side][shown] if side in table.columns else np.full(len(shown), np.nan) for side in ("low", "high")
    )
    for place, (value, *ends) in enumerate(zip(table["value"][shown], low, high, strict=True)):
        if value == value:
            _point(axes, value, None if ends[0] != ends[0] else ends, place)
    axes.set_yticks(range(len(shown)), [_text(label) for label in table[table.axis][shown]], fontsize=8)


def _point(axes: Any, value: float, ends: Any, place: int) -> None:
    if ends is not None:
        axes.plot(list(ends), [place, place], color=COLOURS[0], lw=2.2)
    axes.plot([value], [place], "o", color=COLOURS[0], ms=6)


def _text(name: object) -> str:
    """With dollars escaped, because matplotlib reads text between them as mathematics."""
    return str(name)[:40].replace("$", r"\$")
