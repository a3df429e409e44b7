"""The items with the worst values: single queries, edges, nodes, events or samples, by the leading metric."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.scrub import clean
from graphgauge.core.text import number
from graphgauge.report.family import Family
from graphgauge.report.tables import Cell, Head, PageTable
from graphgauge.stats.compare_items import kept_items

_SHOWN = 20
_MOST_METHODS = 6


def worst_items(family: Family, dataset: str) -> PageTable | None:
    """The items on which the leading method does worst, next to the others; None if the results keep no items."""
    for metric in family.headlines:
        table = _worst(family, dataset, metric)
        if table is not None:
            return table
    return None


def _worst(family: Family, dataset: str, metric: str) -> PageTable | None:
    panel = family.tables[metric].panels[metric]
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in family.records:
        run = record.run
        if run.dataset != dataset or run.items is None:
            continue
        try:
            items = kept_items(run)
            rules = {"ties": panel.conventions["ties"]} if "ties" in panel.conventions else {}
            found = np.asarray(items.values(metric, **rules), dtype=float)
        except (GraphgaugeError, TypeError, ValueError):  # changed, or a metric that single items do not have
            continue
        for name, value in zip(np.asarray(items.ids).tolist(), found.tolist(), strict=True):
            values[run.method][clean(str(name))].append(value)
    if not values or panel.better is None:
        return None
    methods = [method for method in family.methods if method in values][:_MOST_METHODS]
    means = {method: {name: float(np.nanmean(own)) for name, own in values[method].items()} for method in methods}
    leader = methods[0]
    known = {name: value for name, value in means[leader].items() if value == value}
    order = sorted(known, key=lambda name: -panel.badness(known[name]))[:_SHOWN]
    rows = [[Cell(name), *(_value(means[method].get(name)) for method in methods)] for name in order]
    unit = family.facts[metric].unit
    heads = [Head(unit.capitalize()), *(Head(method, numeric=True) for method in methods)]
    notes = (f"The {len(rows)} of {len(known):,} on which {leader} does worst by {metric}; means over its runs.",)
    return PageTable(f"{family.name} on {dataset}: where {leader} fails", heads, rows, notes=notes)


def _value(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(number(value), sort=value)
