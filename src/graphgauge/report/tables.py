"""The tables of the page: heads, cells and formatted summaries."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from graphgauge.old.core.grids import Grid
from graphgauge.old.core.text import number
from graphgauge.old.stats.text import decimals, fixed

BETTER = {"higher": "higher is better", "lower": "lower is better", "target": "closer to its target is better"}


@dataclass(frozen=True)
class Head:
    text: str
    numeric: bool = False


@dataclass(frozen=True)
class Cell:
    """The text, a smaller second line, the sort key, and a mark: `best`, `close` or none."""

    text: str
    note: str = ""
    sort: float | None = None
    mark: str = ""


@dataclass(frozen=True)
class PageTable:
    """`fixed` columns at the left name the row."""

    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    fixed: int = 1
    notes: tuple[str, ...] = ()

    @property
    def wide(self) -> bool:
        return len(self.heads) > 8

    @property
    def long(self) -> bool:
        return len(self.rows) > 8


def from_grid(grid: Grid, caption: str) -> PageTable:
    """A table of the statistics as one of the page."""
    rows = [
        [Cell(cell.text, mark=_mark(cell.mark, grid.reference), sort=_leading_number(cell.text)) for cell in row]
        for row in grid.rows
    ]
    heads = [Head(text, numeric=index > 0) for index, text in enumerate(grid.head)]
    return PageTable(caption, heads, rows, notes=grid.notes)


def _mark(mark: str, reference: str) -> str:
    """The page explains marks as about the best; those about a baseline are in the table of pairs."""
    return mark if reference == "the best" else "best" if mark.startswith("best") else ""


def digits_of(value: float, low: float, high: float) -> int:
    """Enough digits to show two digits of an interval's width."""
    return decimals(high - low, value)


def span(values: Iterable[float], digits: int | None = None, *, as_text: Callable[[float], str] = number) -> str:
    """One number if all agree as printed, else the two ends."""
    shown = sorted(value for value in values if value == value)
    if not shown:
        return ""
    low, high = (as_text(value) if digits is None else fixed(value, digits) for value in (shown[0], shown[-1]))
    return low if low == high else f"{low} to {high}"


def natural(label: object) -> list[tuple[int, float, str]]:
    """The key by which names are in the order of the numbers in them: step 2 before step 10."""
    if isinstance(label, int | float):
        return [(0, float(label), "")]
    parts = re.split(r"([0-9]+)", str(label))
    return [(0, float(part), "") if part.isdigit() else (1, 0.0, part) for part in parts if part]


def _leading_number(text: str) -> float | None:
    try:
        return float(text.split(" ")[0])
    except ValueError:
        return None
