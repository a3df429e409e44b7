"""The page's tables and lists, made of families: headline, metrics per dataset, conventions, provenance."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from graphgauge.core.errors import OptionError
from graphgauge.core.references import REFERENCES
from graphgauge.old.core.family import family_names
from graphgauge.old.core.metric import find
from graphgauge.old.core.result import Result
from graphgauge.old.core.text import ARROWS, number
from graphgauge.old.stats.collect import Collected
from graphgauge.old.stats.fair import Fairness, legend
from graphgauge.old.stats.text import bounds, fixed, listing, several
from graphgauge.report.family import Family, Row
from graphgauge.report.tables import BETTER, Cell, Head, PageTable, span

_RANK = Head("Rank", numeric=True)
_COUNT_HEADS = (Head("Runs", numeric=True), Head("n", numeric=True))
# The most warnings and notes in a family's list.
_WARNINGS = 20
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
# Levels that are not chance, in the row of chance.
_KINDS = {"baseline": "a baseline", "ideal": "the best possible"}
_MARKS_NOTE = "★ best mean; ≈ not significantly different (paired tests, Holm's correction over all pairs, α = 0.05)."
_TARGET_NOTE = "◎: the best is closest to the target, by the mean distance of its runs; the value shown has its sign."


def headline(families: Sequence[Family]) -> PageTable:
    """One family: methods by its leading metrics. Several: each by its first metric, one line per method."""
    return _leading_metrics(families[0]) if len(families) == 1 else _leading_metric_of_each(families)


def _leading_metrics(family: Family) -> PageTable:
    keys, rows = family.headlines, []
    digits = {key: family.digits(key) for key in keys}
    alone = len(family.datasets) == 1  # then it is in the caption
    for dataset in family.datasets:
        for method, rank in _ranked(family, dataset):
            found = [family.rows.get((key, dataset, method)) for key in keys]
            values = [_value_cell(row, digits[key], chance=True) for key, row in zip(keys, found, strict=True)]
            names = [Cell(method)] if alone else [Cell(dataset), Cell(method)]
            rows.append([*names, rank, *values, *_count_cells(found)])
    named = [Head("Method")] if alone else [Head("Dataset"), Head("Method")]
    heads = [*named, _RANK, *(_metric_head(family, key) for key in keys), *_COUNT_HEADS]
    ranks = _rank_notes(rows, len(named))
    notes = *ranks, *_table_notes(rows, [family]), *_target_notes(heads), *_fairness_notes(family, keys)
    where = f" on {family.datasets[0]}" if alone else ""
    return PageTable(f"{family.name}{where}: methods by leading metrics", heads, rows, len(named), notes)


def _leading_metric_of_each(families: Sequence[Family]) -> PageTable:
    rows = []
    for family in families:
        for key in family.headlines[:1]:
            digits = family.digits(key)
            for dataset in family.datasets:
                for method, rank in _ranked(family, dataset):
                    row = family.rows.get((key, dataset, method))
                    value = _value_cell(row, digits)
                    rows.append(
                        [
                            Cell(dataset),
                            Cell(method),
                            rank,
                            Cell(_arrowed(family.facts[key])),
                            Cell(value.text, sort=value.sort, mark=value.mark),
                            Cell(value.note or "–"),
                            Cell(span(row.chance if row else (), digits) or "–"),
                            *_count_cells([row]),
                        ]
                    )
    heads = [Head("Dataset"), Head("Method"), _RANK, Head("Metric")]
    heads += [Head(name, numeric=True) for name in ("Mean", "Interval", "Chance")]
    caption = "Every method by the leading metric of its family"
    targets = _target_notes([Head(row[3].text) for row in rows])
    notes = (*_rank_notes(rows, 2), *_table_notes(rows, families), *targets)
    return PageTable(caption, [*heads, *_COUNT_HEADS], rows, 2, notes)


def _ranked(family: Family, dataset: str) -> list[tuple[str, Cell]]:
    """The methods as a leaderboard, with the cells of their ranks; those without a place come last."""
    places = family.places(dataset)
    others = [method for method in family.methods if method not in places]
    cells = [(method, Cell(str(place.rank), place.certain, float(place.rank))) for method, place in places.items()]
    return [*cells, *((method, Cell("–")) for method in others)]


def _target_notes(heads: Sequence[Head]) -> list[str]:
    return [_TARGET_NOTE] if any(ARROWS["target"] in head.text for head in heads) else []


def _rank_notes(rows: Sequence[Sequence[Cell]], column: int) -> Iterator[str]:
    if any(row[column].note for row in rows):
        yield "Below a rank: the ranks that the pairwise tests leave open, by the number of significant differences."


def dataset_table(family: Family, dataset: str) -> PageTable | None:
    """All metrics of all methods on one dataset, with chance levels; None if there is no value."""
    of_key = {key: family.by(key, dataset) for key in family.keys}
    keys = [key for key, found in of_key.items() if any(row.runs for row in found)]
    if not keys:
        return None
    digits = {key: family.digits(key) for key in keys}
    rows = [
        [Cell(method), *(_value_cell(family.rows.get((key, dataset, method)), digits[key]) for key in keys)]
        for method, _ in _ranked(family, dataset)
        if any((key, dataset, method) in family.rows for key in keys)
    ]
    heads = [Head("Method"), *(_metric_head(family, key) for key in keys)]
    notes = *_table_notes(rows, [family]), *_target_notes(heads), *_fairness_notes(family, keys)
    if any(row.chance for found in of_key.values() for row in found):
        levels = (span((level for row in of_key[key] for level in row.chance), digits[key]) for key in keys)
        rows.append([Cell("chance", mark="chance"), *(Cell(level or "–") for level in levels)])
        notes = *notes, *_level_notes(family, keys)
    return PageTable(f"{family.name} on {dataset}: mean and interval", heads, rows, notes=notes)


def _level_notes(family: Family, keys: Sequence[str]) -> Iterator[str]:
    """Whose level is in the row of chance, if it is not the same reference for all metrics."""
    names: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        level = family.facts[key].chance_level
        if level is not None:
            kind = "" if level.kind == "chance" else f", {_KINDS[level.kind]}"
            names[f"{level.name}{kind}"].append(key)
    if len(names) > 1:
        yield f"Chance: {'; '.join(f'{name} for {listing(own, 4)}' for name, own in names.items())}."


def metric_table(family: Family) -> PageTable:
    """The definition, better direction and conventions of each metric."""
    rows = []
    for key, result in family.facts.items():
        summary, reference = _registered(key, family.name)
        interval = result.interval
        how = f"{interval.method} over {interval.over}" if interval else f"none: {result.no_interval or 'not given'}"
        conventions = "; ".join(f"{name}: {value}" for name, value in result.conventions.items())
        low, high = (number(bound) for bound in result.bounds)
        rows.append(
            [
                Cell(key),
                Cell(summary),
                Cell(BETTER.get(result.direction, "neither way is better")),
                Cell(f"{low} to {high}"),
                Cell(how),
                Cell(conventions or "–"),
                Cell(level.name if (level := result.chance_level) else "–"),
                Cell(reference),
            ]
        )
    names = ("Metric", "What it is", "Better", "Range", "Interval of one run", "Conventions", "Chance", "Reference")
    return PageTable(f"{family.name}: metrics and conventions", [Head(name) for name in names], rows)


def warnings(family: Family) -> list[str]:
    """Warnings of single metrics and notes of evaluations, each once."""
    evaluations = [record.evaluation for record in family.records if record.evaluation is not None]
    of_metrics = (f"{key}: {text}" for e in evaluations for key, result in e.items() for text in result.warnings)
    found = _alike([*of_metrics, *(str(note) for e in evaluations for note in e.notes)])
    more = len(found) - _WARNINGS
    return [*found[:_WARNINGS], *([f"… and {more} more, in the result files"] if more > 0 else [])]


def _alike(texts: Sequence[str]) -> list[str]:
    """Texts that differ only in their numbers, once: the first, and how many others there are."""
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for text in texts:
        groups[_NUMBERS.sub("#", text)][text] = None
    return [
        first if len(own) == 1 else f"{first} (and {len(own) - 1} more with other numbers)"
        for own in groups.values()
        for first in [next(iter(own))]
    ]


def shared_conventions(family: Family) -> list[tuple[str, str]]:
    """Options that affect the values, and the settings that occur."""
    values: dict[str, dict[str, None]] = defaultdict(dict)
    for record in family.records:
        for name, value in record.evaluation.conventions.items() if record.evaluation else ():
            values[name][value] = None
    return [(name, listing(list(found), 5)) for name, found in values.items()]


def provenance(collected: Collected) -> str:
    receipts = [record.receipt for record in collected.records]
    versions: dict[str, dict[str, None]] = defaultdict(dict)
    for receipt in receipts:
        for name, value in dict(receipt.get("versions") or {}).items():
            versions[name][str(value)] = None
    inputs = [entry for receipt in receipts for entry in receipt.get("inputs") or () if isinstance(entry, dict)]
    hashes = {str(entry["hash"]) for entry in inputs if entry.get("hash")}
    newest = max(filter(None, (_moment(receipt.get("started")) for receipt in receipts)), default=None)
    parts = [
        ", ".join(f"{name} {' and '.join(found)}" for name, found in versions.items()),
        several(len(collected.records), "result"),
        several(len(hashes), "input") + " hashed" if hashes else "no input hashed",
        f"newest result {newest:%Y-%m-%d %H:%M} UTC" if newest else "",
    ]
    return " · ".join(part for part in parts if part)


def _moment(started: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(started))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _registered(key: str, name: str) -> tuple[str, str]:
    """A metric's one-line definition and reference; only built-in families have one."""
    if name not in family_names():
        return "", ""
    try:
        entry, _ = find(key, name)
    except OptionError:
        return "", ""
    return entry.summary, REFERENCES[entry.reference].short


def _arrowed(result: Result) -> str:
    return f"{result.key} {ARROWS[result.direction]}".strip()


def _metric_head(family: Family, key: str) -> Head:
    fairness = _fairness(family, key)
    return Head(_arrowed(family.facts[key]) + ("" if fairness is None else fairness.mark), numeric=True)


def _fairness(family: Family, key: str) -> Fairness | None:
    table = family.tables.get(key)
    return None if table is None or table.panels[key].better is None else table.panels[key].fairness


def _fairness_notes(family: Family, keys: Sequence[str]) -> list[str]:
    """Which columns are fair to methods that predict graphs of different classes."""
    return legend({key: _fairness(family, key) for key in keys})


def _value_cell(row: Row | None, digits: int | None, *, chance: bool = False) -> Cell:
    if row is None or row.value != row.value:
        return Cell("–", row.reason if row else "")
    text = number(row.value) if digits is None else fixed(row.value, digits)
    notes = [bounds((row.low, row.high), digits)] if row.over and digits is not None else []
    if chance and row.chance:
        levels = (level for each in row.results if (level := each.chance_level))
        named = sorted({level.name if level.kind == "ideal" else "chance" for level in levels})
        notes.append(f"{' or '.join(named)} {span(row.chance, digits)}")
    if row.runs != row.planned:
        notes.append(f"{row.runs} of {row.planned} runs")
    return Cell(text, " · ".join(notes), row.value, row.mark)


def _count_cells(rows: Sequence[Row | None]) -> list[Cell]:
    there = [row for row in rows if row is not None]
    runs = [float(row.runs) for row in there]
    items = [count for row in there for count in row.items]
    return [Cell(span(values) or "0", sort=max(values, default=0.0)) for values in (runs, items)]


def _table_notes(rows: Sequence[Sequence[Cell]], families: Sequence[Family]) -> Iterator[str]:
    over = dict.fromkeys(row.over for family in families for row in family.rows.values() if row.over)
    items = [text for text in over if text != "seeds"]
    if "seeds" in over:
        yield "In brackets: 95 % interval of the mean over seeds (Student's t)."
    if items:
        yield f"In brackets, if there is one run: its own interval, over {listing(items, 3)}."
    if any(cell.mark in ("best", "close") for row in rows for cell in row):
        yield _MARKS_NOTE
