"""Results as text for a terminal and as a table for a notebook; nothing is computed here."""

from __future__ import annotations

import html
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from graphgauge.core.result import Evaluation, Result

if TYPE_CHECKING:
    from graphgauge.core.result import Table

_ARROWS = {"higher": "↑", "lower": "↓", "target": "◎", "none": ""}
_HEADS = ("metric", "", "value", "interval", "chance", "n")
# Rows and metrics of a breakdown that a terminal shows; the file has them all.
_SHOWN = 20
_COLUMNS = 4


def number(value: float) -> str:
    """At most six significant digits, without trailing noise; NaN as a dash."""
    if value != value:
        return "–"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1000 and value != int(value) else f"{value:.6g}"


def result_cells(result: Result) -> tuple[str, ...]:
    interval = result.interval
    bounds = f"[{number(interval.low)}, {number(interval.high)}]" if interval else ""
    # Several baselines: the last is the one that no tie rule flatters.
    chance = number(result.chance[-1].value) if result.chance else ""
    return result.key, _ARROWS[result.direction], number(result.value), bounds, chance, f"{result.n:,}"


def render(evaluation: Evaluation) -> RenderableType:
    """The whole evaluation: one table, then what a reader has to know."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in _HEADS:
        table.add_column(head, justify="right" if head in ("value", "interval", "chance", "n") else "left")
    for result in evaluation.values():
        if "macro" in result.params:
            continue  # stands under its breakdown
        table.add_row(*(Text(cell) for cell in result_cells(result)))
    parts: list[RenderableType] = [Text(_title(evaluation), style="bold"), table]
    parts += [_breakdown(evaluation.by(axis), evaluation) for axis in evaluation.breakdowns]
    parts += [Text(line) for line in _remarks(evaluation)]
    return Group(*parts)


def evaluation_text(evaluation: Evaluation, width: int = 100) -> str:
    stream = StringIO()
    Console(file=stream, width=width, color_system=None, highlight=False).print(render(evaluation))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def evaluation_html(evaluation: Evaluation) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEADS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in result_cells(result)) + "</tr>"
        for result in evaluation.values()
    )
    remarks = "".join(f"<p>{html.escape(line)}</p>" for line in _remarks(evaluation))
    return f"<table><caption>{html.escape(_title(evaluation))}</caption><tr>{head}</tr>{rows}</table>{remarks}"


def _title(evaluation: Evaluation) -> str:
    conventions = ", ".join(f"{name}: {value}" for name, value in evaluation.conventions.items())
    named = [str(evaluation.run[name]) for name in ("method", "dataset") if evaluation.run[name] is not None]
    return f"{evaluation.family}{' · ' + ' on '.join(named) if named else ''}  ({conventions})"


def _remarks(evaluation: Evaluation) -> Iterator[str]:
    levels = {result.interval.level for result in evaluation.values() if result.interval}
    methods = dict.fromkeys(f"{r.interval.method} over {r.interval.over}" for r in evaluation.values() if r.interval)
    if levels:
        yield f"{max(levels):.0%} intervals: {', '.join(methods)}."
    baselines = dict.fromkeys(result.chance[-1].name for result in evaluation.values() if result.chance)
    if baselines:
        yield f"chance: {', '.join(baselines)}."
    for result in evaluation.values():
        if result.reason:
            yield f"{result.key}: no value, {result.reason}."
    for warning in dict.fromkeys(warning for result in evaluation.values() for warning in result.warnings):
        yield f"warning: {warning}."
    for finding in evaluation.findings:
        if not finding.ignored:
            yield f"{finding.severity} [{finding.check}]: {finding.message}. {finding.remedy}"
    for key, reason in evaluation.skipped.items():
        yield f"skipped {key}: {reason}."
    for note in evaluation.notes:
        yield f"note: {note}."


def _breakdown(table: Table, evaluation: Evaluation) -> RenderableType:
    keys = [name for name in table.columns if name in evaluation][:_COLUMNS]
    shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, title=f"by {table.axis}", title_justify="left")
    for name in (table.axis, "n", *keys):
        shown.add_column(name, justify="left" if name == table.axis else "right")
    for row in range(min(len(table), _SHOWN)):
        values = (number(float(table[key][row])) for key in keys)
        shown.add_row(Text(str(table[table.axis][row])), f"{int(table['n'][row]):,}", *values)
    if len(table) > _SHOWN:
        shown.add_row(Text(f"… {len(table) - _SHOWN} more"), "", *("" for _ in keys))
    macro = [evaluation.get(f"{key}_macro_{table.axis}") for key in keys]
    shown.add_row("macro", "", *(number(result.value) if result else "" for result in macro))
    return shown
