"""One evaluation in words: its numbers, remarks and summary as text, and its table for a notebook.

Nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from graphgauge.core.scrub import clean
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.grids import Cell, Grid
from graphgauge.old.core.result import Result, Table

ARROWS = {"higher": "↑", "lower": "↓", "target": "◎", "none": ""}
HEADS = ("metric", "", "value", "interval", "chance", "n")
# The most rows of a table of groups in a notebook or a printed line.
SHOWN_ROWS = 60
_BETTER = {"higher": "higher is better", "lower": "lower is better", "none": ""}


def number(value: float) -> str:
    """At most six significant digits, without trailing zeros; NaN as a dash."""
    if value != value:
        return "–"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1000 and value != int(value) else f"{value:.6g}"


def result_cells(result: Result) -> tuple[str, ...]:
    interval = result.interval
    bounds = f"[{number(interval.low)}, {number(interval.high)}]" if interval else ""
    # Of several baselines, the last is the one that no tie rule favours. A level for fewer samples is not comparable
    # with the value in this row: a remark has both.
    chance = number(result.chance[-1].value) if result.chance and result.chance[-1].own is None else ""
    return result.key, ARROWS[result.direction], number(result.value), bounds, chance, f"{result.n:,}"


def title_line(evaluation: Evaluation) -> str:
    conventions = ", ".join(f"{name}: {value}" for name, value in evaluation.conventions.items())
    named = [clean(str(evaluation.run[name])) for name in ("method", "dataset") if evaluation.run[name] is not None]
    model = evaluation.run["tags"].get("model") or ""
    who = "".join(f" · {part}" for part in (" on ".join(named), model) if part)
    return f"{evaluation.family}{who}  ({conventions})"


def summary_lines(evaluation: Evaluation) -> Iterator[str]:
    """The meaning of each section's result, and whether it reaches its goal; in a family without sections, of a few."""
    for result in evaluation.values():
        if (result.priority is None and result.interpretation is None) or result.is_companion:
            continue
        if result.section is None and "@" in result.key:  # the same at many levels; the result file has all of them
            continue
        sign = ">" if result.direction == "higher" else "≤"
        goal = "" if result.goal is None else f", target {sign} {number(result.goal)}"
        mark = {True: ", reached", False: ", missed", None: ""}[result.reached]
        if result.reached is False and "perfect" in (result.compatible or ()):
            mark = ", missed by real samples too"
        meaning = result.interpretation or f"no value, {result.reason}"
        section = result.section or evaluation.family
        weight = "" if result.priority is None else f" ({result.priority} priority)"
        yield f"  {section}{weight}: {result.key} {number(result.value)}{goal}{mark}: {meaning}."


def percent(level: float) -> str:
    """A level of confidence, with as many digits as tell it from 100 %."""
    digits = max(0, math.ceil(-math.log10(1 - level)) - 2) if level < 1 else 0
    return f"{100 * level:.{digits + 1}f}".rstrip("0").rstrip(".") + "%"


def remark_lines(evaluation: Evaluation) -> Iterator[str]:
    levels = {result.interval.level for result in evaluation.values() if result.interval}
    methods = dict.fromkeys(f"{r.interval.method} over {r.interval.over}" for r in evaluation.values() if r.interval)
    if levels:
        yield f"{percent(max(levels))} intervals: {', '.join(methods)}."
    for result in evaluation.values():
        if result.new_queries is not None:
            low, high = map(number, result.new_queries)
            yield f"{result.key} for {result.new_queries.over}: [{low}, {high}] ({result.new_queries.method})."
    yield from _chance_lines(evaluation)
    yield from _compatible_lines(evaluation)
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


def _chance_lines(evaluation: Evaluation) -> Iterator[str]:
    """Which reference the column of chance has: one for all, or by name with the metrics that it belongs to."""
    names = {
        result.key: result.chance[-1].name + (" (the best possible)" if result.chance[-1].kind == "ideal" else "")
        for result in evaluation.values()
        if result.chance and not result.is_companion
    }
    groups = _grouped(names)
    if len(groups) == 1:
        yield f"chance: {groups[0][0]}."
    elif groups:
        yield f"chance: {'; '.join(f'{name}: {_listed(keys)}' for name, keys in groups)}."


def _compatible_lines(evaluation: Evaluation) -> Iterator[str]:
    """Within which simulated levels the values are, and with how many samples they were compared."""
    found = {
        result.key: " or ".join(result.compatible) or "none of the levels"
        for result in evaluation.values()
        if result.compatible is not None and not result.is_companion
    }
    for names, keys in _grouped(found):
        yield f"compatible with {names}: {', '.join(keys)}."
    notes = {f"{result.key}": level.note for result in evaluation.values() for level in result.chance if level.note}
    for note, keys in _grouped(notes):
        yield f"levels of {', '.join(keys)}: {note}."
    for result in evaluation.values():
        own = [level.own for level in result.chance if level.own is not None]
        if own and not result.is_companion:
            levels = (f"{level.name} {number(level.value)}" for level in result.chance if level.own is not None)
            yield f"{result.key} {number(own[-1])} with so many samples: {', '.join(levels)}."


def results_grid(results: Iterable[Result], notes: Iterable[str] = ()) -> Grid:
    """A row per result, with the columns of a terminal; the arrow is next to the name."""
    heads = [head for head in HEADS if head]
    rows = []
    for result in results:
        name, arrow, *others = result_cells(result)
        rows.append([Cell(f"{name} {arrow}".strip()), *map(Cell, others)])
    return Grid(heads, rows, tuple(notes))


def evaluation_grid(evaluation: Evaluation) -> Grid:
    shown = [result for result in evaluation.values() if not result.is_companion]
    return results_grid(shown, remark_lines(evaluation))


def evaluation_html(evaluation: Evaluation) -> str:
    return evaluation_grid(evaluation).html(title_line(evaluation))


def result_sentence(result: Result) -> str:
    """One result with what is needed to read it, in a line."""
    direction = f"target {number(result.target)}" if result.target is not None else _BETTER.get(result.direction, "")
    parts = [f"{result.key} {ARROWS[result.direction]}".strip() + f" {number(result.value)}"]
    if not result.defined:
        parts.append(f"no value, {result.reason or 'not defined on this input'}")
    if result.interval:
        low, high = (number(end) for end in result.interval)
        how = f"{result.interval.method} over {result.interval.over}"
        parts.append(f"{result.interval.level:.0%} interval {low} to {high} ({how})")
    elif result.defined and result.no_interval:
        parts.append(f"no interval: {result.no_interval}")
    parts += [f"{level.name} {number(level.value)}" for level in result.chance]
    parts.append(f"n = {result.n:,} ({result.unit})")
    return ", ".join(filter(None, [*parts, direction]))


def result_html(result: Result) -> str:
    conventions = "; ".join(f"{name}: {value}" for name, value in result.conventions.items())
    notes = [f"conventions: {conventions}." if conventions else "", *(f"{note}." for note in result.warnings)]
    if result.interval is not None:
        notes.append(f"{result.interval.level:.0%} interval: {result.interval.method} over {result.interval.over}.")
    elif result.no_interval:
        notes.append(f"no interval: {result.no_interval}.")
    notes += [f"{level.name}: {number(level.value)}." for level in result.chance]
    if result.reason:
        notes.append(f"no value: {result.reason}.")
    return results_grid([result], filter(None, notes)).html()


def table_grid(table: Table, most: int | None = None) -> Grid:
    """A breakdown with numbers as they are printed; long ones are cut, with a note."""
    shown = len(table) if most is None else min(len(table), most)
    columns = [table.columns[name][:shown].tolist() for name in table.columns]
    rows = [[Cell(_cell(value)) for value in row] for row in zip(*columns, strict=True)]
    notes = (f"{len(table) - shown} more rows; to_frame() has all.",) if shown < len(table) else ()
    return Grid(list(table.columns), rows, notes)


def _cell(value: Any) -> str:
    return number(float(value)) if isinstance(value, float | np.floating) else str(value)


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
