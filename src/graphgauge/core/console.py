"""One evaluation as tables for a terminal, laid out by rich; nothing is computed here.

Imported only when an evaluation is printed, because rich takes longer to load than a small evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from graphgauge.core.family import family, family_names
from graphgauge.core.result import Evaluation, Result, Table
from graphgauge.core.text import HEADS, number, remark_lines, result_cells, summary_lines, title_line

# The most rows and metrics of a breakdown on a terminal; the file has them all.
_SHOWN = 20
_COLUMNS = 4


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
    """Results, and below them their breakdowns."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in HEADS:
        table.add_column(head, justify="right" if head in ("value", "interval", "chance", "n") else "left")
    for result in results.values():
        if not result.is_companion:  # shown under its breakdown
            table.add_row(*(Text(cell) for cell in result_cells(result)))
    preferred = () if evaluation.family not in family_names() else family(evaluation.family).columns
    broken = {axis: _broken_down(evaluation.by(axis), results, preferred) for axis in evaluation.breakdowns}
    return [table, *(_breakdown(evaluation.by(axis), evaluation, keys) for axis, keys in broken.items() if keys)]


def _broken_down(table: Table, results: Mapping[str, Result], preferred: Sequence[str]) -> list[str]:
    """The results with a column in a breakdown, as many as a terminal shows."""
    keys = [key for key, result in results.items() if not result.is_companion]
    known = [key for key in keys if table.column_of(key) in table.columns]
    first = [key for key in preferred if key in known]
    return first if len(first) >= _COLUMNS else [*first, *(key for key in known if key not in first)][:_COLUMNS]


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
