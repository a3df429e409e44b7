"""The tables of the page: heads, cells and formatted summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from graphgauge.core.grids import Grid
from graphgauge.core.text import number
from graphgauge.stats.text import decimals, fixed

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


def _leading_number(text: str) -> float | None:
    try:
        return float(text.split(" ")[0])
    except ValueError:
        return None
