"""One evaluation in words: its numbers, remarks and summary as text, and its table for a notebook.

Nothing is computed here, and nothing but the standard library is imported.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping

from graphgauge.core.result import Evaluation, Interval, Result

ARROWS = {"higher": "↑", "lower": "↓", "target": "◎", "none": ""}
HEADS = ("metric", "", "value", "interval", "chance", "n")
# Marks an interval that may cover the truth less often than its level.
APPROXIMATE = "≈"


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


def title_line(evaluation: Evaluation) -> str:
    conventions = ", ".join(f"{name}: {value}" for name, value in evaluation.conventions.items())
    named = [str(evaluation.run[name]) for name in ("method", "dataset") if evaluation.run[name] is not None]
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
        meaning = result.interpretation or f"no value, {result.reason}"
        section = result.section or evaluation.family
        weight = "" if result.priority is None else f" ({result.priority} priority)"
        yield f"  {section}{weight}: {result.key} {number(result.value)}{goal}{mark}: {meaning}."


def remark_lines(evaluation: Evaluation) -> Iterator[str]:
    levels = {result.interval.level for result in evaluation.values() if result.interval}
    methods = dict.fromkeys(f"{r.interval.method} over {r.interval.over}" for r in evaluation.values() if r.interval)
    if levels:
        yield f"{max(levels):.0%} intervals: {', '.join(methods)}."
    for result in evaluation.values():
        if result.new_queries is not None:
            low, high = map(number, result.new_queries)
            yield f"{result.key} for {result.new_queries.over}: [{low}, {high}] ({result.new_queries.method})."
    yield from (f"{note}." for note in interval_notes(evaluation))
    baselines = dict.fromkeys(result.chance[-1].name for result in evaluation.values() if result.chance)
    if baselines:
        yield f"chance: {', '.join(baselines)}."
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


def evaluation_html(evaluation: Evaluation) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in HEADS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in result_cells(result)) + "</tr>"
        for result in evaluation.values()
    )
    remarks = "".join(f"<p>{html.escape(line)}</p>" for line in remark_lines(evaluation))
    return f"<table><caption>{html.escape(title_line(evaluation))}</caption><tr>{head}</tr>{rows}</table>{remarks}"


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
