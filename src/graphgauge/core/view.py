"""One evaluation in words: its table, what to know before it is trusted, and a closing sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from graphgauge.core.family import family, family_names
from graphgauge.core.grid import Grid
from graphgauge.core.markup import html_text, plain_text
from graphgauge.core.number import percent, shown
from graphgauge.core.result import ARROWS, Reference, Result

if TYPE_CHECKING:
    from graphgauge.core.evaluation import Evaluation

# Rows of a breakdown on a terminal, and its metrics.
_MOST_GROUPS, _MOST_METRICS = 20, 4


def results_grid(
    results: Iterable[Result], notes: tuple[str, ...] = (), caption: str = "", levels: tuple[str, ...] = ()
) -> Grid:
    """A row per result: value, interval, the level of chance and the number of items.

    Named `levels` have a column each if any result has them; the column of chance then has no other kind of level.
    """
    rows = list(results)
    chances = [each.chance for each in rows]
    if levels:
        chances = [None if each is None or each.kind != "chance" else each for each in chances]
    named = {name: [_named(each, name) for each in rows] for name in levels}
    named = {name: column for name, column in named.items() if any(each is not None for each in column)}
    return Grid.of_rows(
        ("metric", "value", "low", "high", "chance", *named, "n"),
        [
            (
                f"{each.key} {ARROWS[each.direction]}".strip(),
                each.value,
                each.interval.low if each.interval else math.nan,
                each.interval.high if each.interval else math.nan,
                *(_comparable(column[place]) for column in (chances, *named.values())),
                each.n,
            )
            for place, each in enumerate(rows)
        ],
        notes=notes,
        caption=caption,
    )


def _named(result: Result, name: str) -> Reference | None:
    return next((each for each in result.references if each.name == name), None)


def _comparable(level: Reference | None) -> float:
    """A level's value. One of fewer samples than were evaluated is not comparable with the value in its row."""
    return level.value if level is not None and level.own is None else math.nan


def numbers_grid(results: Iterable[Result]) -> Grid:
    """A row per result, with plain names and all digits: for frames and CSV."""
    nothing = (math.nan, math.nan)
    rows = [(each.key, each.value, *(each.interval or nothing), each.n, each.unit, each.direction) for each in results]
    return Grid.of_rows(("key", "value", "low", "high", "n", "unit", "direction"), rows)


def text(evaluation: Evaluation, *, findings: bool = True) -> str:
    """Title, table, a table per section or breakdown, findings that matter, and what to conclude."""
    parts = [title(evaluation)]
    levels = levels_of(evaluation)
    if levels:
        parts.append(_narrow(results_grid(evaluation.values(), levels=levels)).to_text())
    for name in () if levels else evaluation.sections or (None,):
        shown_results = [each for each in evaluation.values() if each.section == name]
        grid = results_grid(shown_results)
        parts.append((f"{name}\n" if name else "") + _narrow(grid).to_text())
        parts += [str(grid) for grid in _breakdowns(evaluation, [each.key for each in shown_results])]
    if evaluation.sections and not levels:
        rest = [each for each in evaluation.values() if each.section is None]
        parts += [_narrow(results_grid(rest)).to_text()] if rest else []
    parts.append("\n".join(remarks(evaluation)))
    if findings:
        parts.append("\n".join(map(str, evaluation.findings.worst())))
    parts.append(conclusion(evaluation))
    return "\n\n".join(filter(None, parts))


def html(evaluation: Evaluation) -> str:
    """The table of results for a notebook, with the findings below it."""
    grid = results_grid(evaluation.values(), caption=title(evaluation), levels=levels_of(evaluation))
    below = [*remarks(evaluation), *map(str, evaluation.findings.worst()), conclusion(evaluation)]
    return grid.to_html() + "".join(f"<p>{html_text(line)}</p>" for line in below if line)


def levels_of(evaluation: Evaluation) -> tuple[str, ...]:
    """The named levels that tables of the family show."""
    return family(evaluation.family).levels if evaluation.family in family_names() else ()


def title(evaluation: Evaluation) -> str:
    """The family, whose results they are, and the conventions."""
    names = [each for each in (evaluation.run.method, evaluation.run.dataset) if each is not None]
    conventions = ", ".join(f"{name}: {value}" for name, value in evaluation.conventions.items())
    who = f" · {' on '.join(map(plain_text, names))}" if names else ""
    return f"{evaluation.family}{who}" + (f"  ({conventions})" if conventions else "")


def remarks(evaluation: Evaluation) -> Iterator[str]:
    """How the intervals and levels in the table were made, and why some are not there."""
    results = list(evaluation.values())
    methods = dict.fromkeys(f"{each.interval.method} over {each.interval.over}" for each in results if each.interval)
    levels = {each.interval.level for each in results if each.interval}
    own = levels_of(evaluation)
    chances = _grouped(
        {
            each.key: each.chance.name
            for each in results
            if each.chance is not None and not (own and (each.chance.kind != "chance" or each.chance.name == "chance"))
        }
    )
    said = [f"{percent(max(levels))} intervals: {', '.join(methods)}"] if levels else []
    if chances:
        said.append("chance: " + "; ".join(_of(name, keys, len(chances)) for name, keys in chances.items()))
    if own and evaluation.breakdowns:
        said.append(f"The result has tables by {', '.join(evaluation.breakdowns)}")
    if said:
        yield ". ".join(said) + "."
    for reason, keys in _grouped({each.key: each.reason for each in results if each.reason}).items():
        yield f"{', '.join(keys)}: no value, {reason}."
    for warning in dict.fromkeys(warning for each in results for warning in each.warnings):
        yield f"warning: {warning}."
    skipped = [f"{', '.join(keys)}: {reason}" for reason, keys in _grouped(evaluation.skipped).items()]
    if own:
        yield from [f"skipped {'; '.join(skipped)}."] if skipped else []
    else:
        yield from (f"skipped {each}." for each in skipped)


def conclusion(evaluation: Evaluation) -> str:
    """What to conclude, in one sentence: the family's own, or the headline metric against chance."""
    declared = family(evaluation.family) if evaluation.family in family_names() else None
    if declared is not None:
        own = declared.module("words")
        if own is not None:
            return str(own.conclusion(evaluation))
    keys = () if declared is None else declared.headlines
    result = next((evaluation[key] for key in (*keys, *evaluation) if key in evaluation), None)
    return "" if result is None or not result.defined else _sentence(result)


def _sentence(result: Result) -> str:
    value = f"{result.key} is {shown(result.value)}"
    if result.interval is not None:
        low, high = map(shown, result.interval)
        value += f", between {low} and {high} with {percent(result.interval.level)} confidence"
    level = result.chance
    if level is None or math.isnan(level.value):
        return f"{value}."
    return f"{value}; {level.name} has {shown(level.value)}."


def _breakdowns(evaluation: Evaluation, keys: list[str]) -> Iterator[Grid]:
    """The breakdowns as a terminal shows them: the first metrics of a section, without their intervals."""
    for axis, grid in evaluation.breakdowns.items():
        names = [name for key in keys for name in (key, key.removeprefix("overall_")) if name in grid]
        if not names:
            continue
        kept = [axis, *(["n"] if "n" in grid else []), *dict.fromkeys(names[:_MOST_METRICS])]
        rows = min(len(grid), _MOST_GROUPS)
        more = (f"{len(grid) - rows:,} more rows",) if rows < len(grid) else ()
        yield Grid({name: grid[name][:rows] for name in kept}, notes=more)


def _narrow(grid: Grid) -> Grid:
    """Both ends of the interval in one column, as a terminal shows them."""
    columns: dict[str, Any] = {}
    for name, values in grid.columns.items():
        if name == "low":
            ends = zip(values.tolist(), grid["high"].tolist(), strict=True)
            columns["interval"] = [f"[{shown(low)}, {shown(high)}]" if low == low else "" for low, high in ends]
        elif name != "high":
            columns[name] = values
    return Grid.of(**columns)


def _grouped(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """Keys by their reason."""
    groups: dict[str, list[str]] = {}
    for key, reason in reasons.items():
        groups.setdefault(reason, []).append(key)
    return groups


def _of(name: str, keys: list[str], groups: int) -> str:
    return name if groups == 1 else f"{name} of {', '.join(keys)}"
