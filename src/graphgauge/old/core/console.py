"""One evaluation as tables for a terminal, laid out by rich; nothing is computed here.

Imported only when an evaluation is printed, because rich takes longer to load than a small evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

import numpy as np
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.family import family, family_names
from graphgauge.old.core.result import Result, Table
from graphgauge.old.core.text import HEADS, number, remark_lines, result_cells, summary_lines, title_line

# The most rows of a breakdown on a terminal, and the metrics that have a column on one of usual width. The
# file has them all.
_SHOWN = 20
_COLUMNS = 4
_NARROW, _USUAL_WIDTH = 80, 100
# The most groups that are shown as columns.
_GROUPS = 6


def render(evaluation: Evaluation) -> RenderableType:
    """The whole evaluation: a table of all results, or one per section with a summary, and remarks."""
    parts: list[RenderableType] = [Text(title_line(evaluation), style="bold")]
    for name in evaluation.sections:
        parts += [Text(f"\n{name}", style="bold"), *_tables(evaluation, evaluation.section(name))]
    unsectioned = {key: result for key, result in evaluation.items() if result.section is None}
    if unsectioned:
        parts += _tables(evaluation, unsectioned)
    summary = list(summary_lines(evaluation))
    parts += [Text("\nsummary", style="bold"), *map(Text, summary), Text()] if summary else []
    parts += [Text(line) for line in remark_lines(evaluation)]
    return Group(*parts)


def _tables(evaluation: Evaluation, results: Mapping[str, Result]) -> list[RenderableType]:
    """Results, and below them their breakdowns; if results have values only for each group, a column per group."""
    apart = _only_by_group(evaluation, results)
    if apart is not None:
        return [_columns_of_groups(apart, results)]
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head in ("value", "interval", "chance", "n") else "left")
    for result in results.values():
        if not result.is_companion:  # shown under its breakdown
            table.add_row(*(Text(cell) for cell in result_cells(result)))
    preferred = () if evaluation.family not in family_names() else family(evaluation.family).columns
    broken = {axis: _broken_down(evaluation.by(axis), results, preferred) for axis in evaluation.breakdowns}
    return [table, *(_Breakdown(evaluation.by(axis), evaluation, keys) for axis, keys in broken.items() if keys)]


def _only_by_group(evaluation: Evaluation, results: Mapping[str, Result]) -> Table | None:
    """The breakdown with the values of results that have none over all, if it has few groups."""
    if any(result.defined for result in results.values()):
        return None
    for axis in evaluation.breakdowns:
        table = evaluation.by(axis)
        names = [table.column_of(key) for key in results]
        known = any(
            table[name][row] == table[name][row] for name in names if name in table.columns for row in range(len(table))
        )
        if known and len(table) <= _GROUPS:
            return table
    return None


def _columns_of_groups(table: Table, results: Mapping[str, Result]) -> RenderableType:
    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=Text(f"by {table.axis}"), title_justify="left")
    shown.add_column("metric")
    for name in table[table.axis]:
        shown.add_column(Text(str(name)), justify="right")
    for result in results.values():
        name = table.column_of(result.key)
        if name not in table.columns or result.is_companion:
            continue
        shown.add_row(Text(result.key), *(Text(_with_bounds(table, name, row)) for row in range(len(table))))
    return shown


def _with_bounds(table: Table, name: str, row: int) -> str:
    value = number(float(table[name][row]))
    if f"{name}.low" not in table.columns or table[f"{name}.low"][row] != table[f"{name}.low"][row]:
        return value
    return f"{value} [{number(float(table[f'{name}.low'][row]))}, {number(float(table[f'{name}.high'][row]))}]"


def _broken_down(table: Table, results: Mapping[str, Result], preferred: Sequence[str]) -> list[str]:
    """The results with a column in a breakdown, those that the family prefers first."""
    keys = [key for key, result in results.items() if not result.is_companion]
    known = [key for key in keys if table.column_of(key) in table.columns]
    first = [key for key in preferred if key in known]
    return [*first, *(key for key in known if key not in first)]


class _Breakdown:
    """A breakdown with as many columns as the terminal is wide, and the names of the others."""

    def __init__(self, table: Table, evaluation: Evaluation, keys: list[str]) -> None:
        self._table, self._evaluation, self._keys = table, evaluation, keys

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        keys = self._keys
        # A name needs its length and the space between columns.
        needed = np.cumsum([len(self._table.column_of(key)) + 3 for key in keys]) + 24
        shown = max(int(np.count_nonzero(needed <= options.max_width)), 1)
        if options.max_width in range(_NARROW, _USUAL_WIDTH + 1):
            shown = min(len(keys), _COLUMNS)
        yield _breakdown(self._table, self._evaluation, keys[:shown])
        if shown < len(keys):
            names = ", ".join(self._table.column_of(key) for key in keys[shown:])
            yield Text(f'further columns of by("{self._table.axis}") and of the result file: {names}')


def evaluation_text(evaluation: Evaluation, width: int = 100) -> str:
    stream = StringIO()
    Console(file=stream, width=width, color_system=None, highlight=False).print(render(evaluation))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _breakdown(table: Table, evaluation: Evaluation, keys: list[str]) -> RenderableType:
    names = [table.column_of(key) for key in keys]
    title = Text(f"by {table.axis}")  # as text, because names come from data
    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_justify="left")
    for name in (table.axis, "n", *names):
        shown.add_column(Text(name), justify="left" if name == table.axis else "right")
    own = f"{names[0]}.n"  # metrics of different samples have their own counts
    counts = table[own if own in table.columns else "n"]
    for row in range(min(len(table), _SHOWN)):
        values = (number(float(table[name][row])) for name in names)
        shown.add_row(Text(str(table[table.axis][row])), f"{int(counts[row]):,}", *values)
    if len(table) > _SHOWN:
        shown.add_row(Text(f"… {len(table) - _SHOWN} more"), "", *("" for _ in keys))
    for average in ("macro", "micro"):
        found = [_average(evaluation, key, average, table.axis) for key in keys]
        if any(result is not None for result in found):
            shown.add_row(average, "", *("" if result is None else number(result.value) for result in found))
    return shown


def _average(evaluation: Evaluation, key: str, average: str, axis: str) -> Result | None:
    """A metric's mean over an axis: a companion result, or the metric if it is that mean."""
    companion: Result | None = evaluation.get(f"{key}_{average}_{axis}")
    other = "micro" if average == "macro" else "macro"
    is_own = companion is None and f"{key}_{other}_{axis}" in evaluation and "average" in evaluation[key].conventions
    return evaluation[key] if is_own else companion
