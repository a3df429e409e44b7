"""The items with the worst values: single queries, events, nodes or other groups, by the leading metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.scrub import clean
from graphgauge.old.core.text import number
from graphgauge.old.stats.collect import Record
from graphgauge.old.stats.compare_items import kept_items
from graphgauge.old.stats.runs import Panel
from graphgauge.report.family import Family
from graphgauge.report.marks import is_ordered
from graphgauge.report.tables import Cell, Head, PageTable

_SHOWN = 20
_MOST_METHODS = 6
# Fewer groups are all seen in the chart.
_FEWEST_GROUPS = 9

# The values of each method by item, and what is said about an item.
_Values = Mapping[str, Mapping[str, Sequence[float]]]


def worst_items(family: Family, dataset: str) -> list[PageTable]:
    """The items and the groups on which the leading method does worst, next to the other methods."""
    found = [next((table for metric in family.headlines if (table := _items(family, dataset, metric))), None)]
    found += [_groups(family, dataset, axis) for axis in _named_axes(family, dataset)]
    return [table for table in found if table is not None]


def _items(family: Family, dataset: str, metric: str) -> PageTable | None:
    panel = family.tables[metric].panels[metric]
    read = list(_kept(_records(family, dataset), panel, metric))
    if not read:
        return None
    nested = _nested(read)
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    ranks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    candidates: dict[str, int] = {}
    for record, items, found in read:
        run = record.run
        names = [clean(str(name)) for name in np.asarray(items.ids).tolist()]
        if nested:
            names = [f"seed\u00a0{run.seed}:\u00a0{name}" for name in names]
        for name, value in zip(names, found.tolist(), strict=True):
            values[run.method][name].append(value)
        if hasattr(items, "greater"):  # ranked among candidates
            placed = 1 + np.asarray(items.greater) + np.asarray(items.equal) / 2
            for name, rank, count in zip(names, placed.tolist(), np.asarray(items.candidates).tolist(), strict=True):
                ranks[run.method][name].append(rank)
                candidates[name] = int(count)
    said = {
        method: {name: f"rank {np.mean(own):.4g} of {candidates[name]}" for name, own in by_item.items()}
        for method, by_item in ranks.items()
    }
    over = "each seed has its own" if nested else "means over runs"
    return _table(family, dataset, metric, panel, values, family.facts[metric].unit, over, said)


def _kept(records: Sequence[Record], panel: Panel, metric: str) -> Iterator[tuple[Record, Any, Any]]:
    for record in records:
        if record.run.items is None:
            continue
        try:
            items = kept_items(record.run)
            rules = {"ties": panel.conventions["ties"]} if "ties" in panel.conventions else {}
            yield record, items, np.asarray(items.values(metric, **rules), dtype=float)
        except (GraphgaugeError, TypeError, ValueError):  # changed, or a metric that single items do not have
            continue


def _nested(read: Sequence[tuple[Record, Any, Any]]) -> bool:
    """Whether each seed has its own items: other ids, or another truth under the same ids."""
    by_seed: dict[Any, set[tuple[Any, ...]]] = defaultdict(set)
    for record, items, _ in read:
        truths = tuple((name, truth.hashes) for name, truth in sorted(record.run.truths.items()))
        by_seed[record.run.seed].add((np.asarray(items.ids).tobytes(), truths))
    return len(by_seed) > 1 and len(set.union(*by_seed.values())) > 1


def _named_axes(family: Family, dataset: str) -> list[str]:
    """Axes with too many groups for a chart to name the worst."""
    found: dict[str, None] = {}
    for record in _records(family, dataset):
        for axis, table in record.evaluation.breakdowns.items() if record.evaluation is not None else ():
            if len(table) >= _FEWEST_GROUPS and not is_ordered(axis, table[axis].tolist()):
                found[axis] = None
    return list(found)


def _groups(family: Family, dataset: str, axis: str) -> PageTable | None:
    for metric in family.headlines:
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for record in _records(family, dataset):
            evaluation = record.evaluation
            if evaluation is None or metric not in evaluation or axis not in evaluation.breakdowns:
                continue
            broken = evaluation.breakdowns[axis]
            if broken.column_of(metric) in broken.columns:
                column = np.asarray(broken[broken.column_of(metric)], float)
                for label, value in zip(broken[axis].tolist(), column.tolist(), strict=True):
                    values[record.run.method][clean(str(label))].append(value)
        panel = family.tables[metric].panels[metric]
        table = _table(family, dataset, metric, panel, values, axis, "means over runs", {})
        if table is not None:
            return table
    return None


def _records(family: Family, dataset: str) -> list[Record]:
    return [record for (place, _), records in family.cells.items() if place == dataset for record in records]


def _table(
    family: Family,
    dataset: str,
    metric: str,
    panel: Panel,
    values: _Values,
    unit: str,
    over: str,
    said: Mapping[str, Mapping[str, str]],
) -> PageTable | None:
    if not values or panel.better is None:
        return None
    methods = [method for method in family.methods if method in values][:_MOST_METHODS]
    means = {method: {name: _mean(own) for name, own in values[method].items()} for method in methods}
    leader = methods[0]
    known = {name: value for name, value in means[leader].items() if value == value}
    order = sorted(known, key=lambda name: -panel.badness(known[name]))[:_SHOWN]
    rows = [
        [Cell(name), *(_cell(means[method].get(name), said.get(method, {}).get(name, "")) for method in methods)]
        for name in order
    ]
    if not rows:
        return None
    heads = [Head(unit.capitalize()), *(Head(method, numeric=True) for method in methods)]
    notes = (f"The {len(rows)} of {len(known):,} on which {leader} does worst by {metric}; {over}.",)
    return PageTable(f"{family.name} on {dataset}: where {leader} fails, by {unit}", heads, rows, notes=notes)


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return sum(known) / len(known) if known else float("nan")


def _cell(value: float | None, note: str) -> Cell:
    return Cell("–") if value is None or value != value else Cell(number(value), note, value)
