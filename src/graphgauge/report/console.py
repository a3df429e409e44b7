"""Results as text for a terminal and as a table for a notebook; nothing is computed here."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from graphgauge.core.result import Evaluation, Interval, Result

if TYPE_CHECKING:
    from graphgauge.core.result import Table

ARROWS = {"higher": "↑", "lower": "↓", "target": "◎", "none": ""}
_HEADS = ("metric", "", "value", "interval", "chance", "n")
# Marks an interval that may cover the truth less often than its level.
APPROXIMATE = "≈"
# The most rows and metrics of a breakdown on a terminal; the file has them all.
_SHOWN = 20
_COLUMNS = 4


def number(value: float) -> str:
    """At most six significant digits, without trailing zeros; NaN as a dash."""
    if value != value:
        return "–"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1000 and value != int(value) else f"{value:.6g}"


def result_cells(result: Result) -> tuple[str, ...]:
    interval = result.interval
    bounds = f"{interval_mark(interval)}[{number(interval.low)}, {number(interval.high)}]" if interval else ""
    # Of several baselines, the last is the one that no tie rule favours.
    chance = number(result.chance[-1].value) if result.chance else ""
    return result.key, ARROWS[result.direction], number(result.value), bounds, chance, f"{result.n:,}"


def interval_mark(interval: Interval) -> str:
    return f"{APPROXIMATE} " if interval.approximate else ""


def interval_notes(results: Mapping[str, Result]) -> list[str]:
    """Why intervals are marked as approximate: each reason once, with its results."""
    marked = {key: r.interval.caveat for key, r in results.items() if r.interval and r.interval.caveat}
    return [f"{APPROXIMATE} {', '.join(keys)}: {note}" for note, keys in _grouped(marked)]


def render(evaluation: Evaluation) -> RenderableType:
    """The whole evaluation: a table of all results, or one per section with a summary, and remarks."""
    parts: list[RenderableType] = [Text(_title(evaluation), style="bold")]
    for name in evaluation.sections:
        parts += [Text(f"\n{name}", style="bold"), *_tables(evaluation, evaluation.section(name))]
    unsectioned = {key: result for key, result in evaluation.items() if result.section is None}
    if unsectioned:
        parts += _tables(evaluation, unsectioned)
    summary = list(_summary(evaluation))
    parts += [Text("\nsummary", style="bold"), *map(Text, summary), Text()] if summary else []
    parts += [Text(line) for line in _remarks(evaluation)]
    return Group(*parts)


def _tables(evaluation: Evaluation, results: Mapping[str, Result]) -> list[RenderableType]:
    """Results, and below them their breakdowns."""
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in _HEADS:
        table.add_column(head, justify="right" if head in ("value", "interval", "chance", "n") else "left")
    for result in results.values():
        if not result.is_companion:  # shown under its breakdown
            table.add_row(*(Text(cell) for cell in result_cells(result)))
    broken = {axis: _broken_down(evaluation.by(axis), results) for axis in evaluation.breakdowns}
    return [table, *(_breakdown(evaluation.by(axis), evaluation, keys) for axis, keys in broken.items() if keys)]


def _broken_down(table: Table, results: Mapping[str, Result]) -> list[str]:
    """The results with a column in a breakdown, as many as a terminal shows."""
    keys = [key for key, result in results.items() if not result.is_companion]
    return [key for key in keys if table.column_of(key) in table.columns][:_COLUMNS]


def _summary(evaluation: Evaluation) -> Iterator[str]:
    """The meaning of each section's result, and whether it reaches its goal."""
    for result in evaluation.values():
        if (result.priority is None and result.interpretation is None) or result.is_companion:
            continue
        sign = ">" if result.direction == "higher" else "≤"
        goal = "" if result.goal is None else f", target {sign} {number(result.goal)}"
        mark = {True: ", reached", False: ", missed", None: ""}[result.reached]
        meaning = result.interpretation or f"no value, {result.reason}"
        section = result.section or evaluation.family
        weight = "" if result.priority is None else f" ({result.priority} priority)"
        yield f"  {section}{weight}: {result.key} {number(result.value)}{goal}{mark}: {meaning}."


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
    model = evaluation.run["tags"].get("model") or ""
    who = "".join(f" · {part}" for part in (" on ".join(named), model) if part)
    return f"{evaluation.family}{who}  ({conventions})"


def _remarks(evaluation: Evaluation) -> Iterator[str]:
    levels = {result.interval.level for result in evaluation.values() if result.interval}
    methods = dict.fromkeys(f"{r.interval.method} over {r.interval.over}" for r in evaluation.values() if r.interval)
    if levels:
        yield f"{max(levels):.0%} intervals: {', '.join(methods)}."
    yield from (f"{note}." for note in interval_notes(evaluation))
    baselines = dict.fromkeys(result.chance[-1].name for result in evaluation.values() if result.chance)
    if baselines:
        yield f"chance: {', '.join(baselines)}."
    without = {result.key: result.reason for result in evaluation.values() if result.reason and not result.is_companion}
    for reason, keys in _grouped(without):
        yield f"{', '.join(keys)}: no value, {reason}."
    for warning in dict.fromkeys(warning for result in evaluation.values() for warning in result.warnings):
        yield f"warning: {warning}."
    for finding in evaluation.findings:
        if not finding.ignored:
            yield f"{finding.severity} [{finding.check}]: {finding.message}. {finding.remedy}"
    for reason, keys in _grouped(evaluation.skipped):
        yield f"skipped {_listed(keys)}: {reason}."
    for note in evaluation.notes:
        yield f"note: {note}."


def _grouped(reasons: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Keys grouped by reason, in the order of the first of each."""
    groups: dict[str, list[str]] = {}
    for key, reason in reasons.items():
        groups.setdefault(reason, []).append(key)
    return list(groups.items())


def _listed(keys: list[str]) -> str:
    """`a of x, y, b of z` for `a of x`, `a of y` and `b of z`."""
    parts: dict[str, list[str]] = {}
    for key in keys:
        whole, _, part = key.partition(" of ")
        parts.setdefault(whole, []).append(part)
    return ", ".join(f"{whole} of {', '.join(of)}" if all(of) else whole for whole, of in parts.items())


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
