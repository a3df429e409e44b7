"""The items of runs, aligned by their ids, as units of a comparison: queries, events, time steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.items import Items
from graphgauge.core.result import Interval
from graphgauge.core.types import AnyArray, Floats, Mask
from graphgauge.stats import truth
from graphgauge.stats.design import Design, Layout
from graphgauge.stats.panel import Missing, Panel
from graphgauge.stats.runs import Run, Seed, seed_order
from graphgauge.stats.text import OTHER_DATA, listing

_KEEP = "Evaluate all runs with --keep-items, or save the evaluations with their items."
# What else to do in families whose runs may have no items.
_NO_ITEMS = {
    "recovery": f"{_KEEP} A single graph has none: evaluate lists of graphs.",
    "generation": "Generators are compared by their samples: generation.compare_samples.",
}

# What to do if items were asked something else, by the name of what differs.
_ASKED = {
    "candidates": "Filtered and raw ranks, or ranks among other negatives, are not compared: pass the same known=, "
    "negatives and masks for all.",
    "weights": "Give all runs the same weights=.",
    "cells": "Evaluate all runs with the same cells masked.",
    "sums of truths": "Evaluate all runs against the same truths.",
}


def layout_of_items(panel: Panel, missing: Missing) -> Layout:
    """The items of all runs on one dataset. Runs of several seeds are averaged if all have the same items.

    A weighted mean enters by what each item contributes to it, so that means and their differences are those of the
    evaluations.
    """
    if len(panel.datasets) > 1:
        fix = f"Choose one of {listing(panel.datasets)}: read_runs(…).only(dataset=[…])."
        raise InputError(f"items of {len(panel.datasets)} datasets cannot be compared together", fix=fix)
    truth.refuse({} if panel.different else truth.conflicts(panel.truths, across_seeds=True))
    if missing == "raise" and panel.gaps:
        raise InputError(
            f"runs are missing: {listing([str(gap) for gap in panel.gaps])}", fix=f'{_KEEP} Or missing="omit".'
        )
    runs = sorted((run for run in panel.runs if panel.metric in run.scores), key=lambda run: seed_order(run.seed))
    tables = {(run.method, run.seed): _items_of(run, panel.metric) for run in runs}
    first, ids = next(iter(tables.values())), _ids(tables, missing)
    rows = {key: _rows(items, ids) for key, items in tables.items()}
    methods = sorted({method for method, _ in tables})
    columns = {key: _contributions(items, panel.metric)[rows[key]] for key, items in tables.items()}
    table = np.array(
        [np.mean([values for (m, _), values in columns.items() if m == method], axis=0) for method in methods]
    )
    known = ~np.isnan(table).any(axis=0)
    cluster = _cluster(tables, rows)
    notes = [*panel.notes, *_other_questions(tables, rows, panel)]
    if not known.all():
        notes.append(f"{int((~known).sum()):,} of {len(known):,} items are left out, for which a method has no value")
    cluster = None if cluster is None else np.unique(cluster[known], return_inverse=True)[1]
    number = int(known.sum())
    if number < 2:
        raise InputError(f"{number} items have a value for all methods", fix="Evaluate on more items.")
    design = Design(
        unit=first.unit,
        units=(number, number),
        paired=True,
        clusters=None if cluster is None else int(cluster.max()) + 1,
        seeds=max(sum(m == method for m, _ in tables) for method in methods),
    )
    in_time = first.unit == "time step"
    whole = design.seeds == 1 and all(len(items) == number for items in tables.values())
    intervals = _intervals(runs, panel.metric) if whole else {}
    return Layout(tuple(methods), (tuple(table[:, known]),), design, tuple(notes), cluster, in_time, intervals)


def _intervals(runs: Sequence[Run], metric: str) -> dict[str, Interval]:
    """The interval of each evaluation: one value has one interval, wherever it is printed."""
    found = {run.method: run.evaluation[metric].interval for run in runs if run.evaluation is not None}
    return {method: interval for method, interval in found.items() if interval is not None}


def _items_of(run: Run, metric: str) -> Items:
    items = run.items
    if items is None:
        fix = _NO_ITEMS.get(run.family, _KEEP)
        raise InputError(f"{run} has no values of single items", where=run.source or None, fix=fix)
    if metric not in items.values:
        has = f'It has {listing(list(items.values))}; compare others with over="seeds".'
        raise InputError(f"{metric} is no mean over items in {run}", fix=has)
    if len(np.unique(items.ids)) < len(items):
        raise InputError("an id occurs twice", where=str(run), fix="Give each item an id of its own.")
    return items


def _contributions(items: Items, metric: str) -> Floats:
    """Values with the mean and the spread of the metric: of a weighted mean, pseudo-values."""
    values = items.values[metric]
    weights = items.weights.get(metric)
    if weights is None:
        return values
    known = ~np.isnan(values) & ~np.isnan(weights)
    total = float(weights[known].sum())
    if not total > 0:
        raise InputError(f"the weights of {metric} are 0", fix="Weigh at least one item.")
    mean = float(weights[known] @ values[known]) / total
    return np.where(known, mean + weights * int(known.sum()) / total * (values - mean), np.nan)


def _ids(tables: Mapping[tuple[str, Seed], Items], missing: Missing) -> AnyArray:
    """The ids that all runs have, in the order of the first."""
    (name, first), *others = tables.items()
    common = first.ids
    for other, items in others:
        kept = common[np.isin(common, items.ids)]
        if missing != "omit" and (len(kept) < len(common) or len(items) > len(kept)):
            what = f"{name[0]} (seed {name[1]}) and {other[0]} (seed {other[1]}) have different items"
            raise InputError(what, fix='Evaluate all on the same items; or compare those in common (missing="omit").')
        common = kept
    return common


def _rows(items: Items, ids: AnyArray) -> AnyArray:
    order = np.argsort(items.ids, kind="stable")
    return np.asarray(order[np.searchsorted(items.ids, ids, sorter=order)])


def _other_questions(
    tables: Mapping[tuple[str, Seed], Items], rows: Mapping[tuple[str, Seed], AnyArray], panel: Panel
) -> list[str]:
    """Refuse runs that were asked something else about the same items; what was omitted as NaN is said."""
    (first, base), *others = tables.items()
    for run, items in others:
        if not base.asked or not items.asked:  # it was not recorded
            continue
        for name in dict.fromkeys((*base.asked, *items.asked)):
            one, other = base.asked.get(name), items.asked.get(name)
            if one is None or other is None:
                count = len(rows[first])
            else:
                count = int(_apart(one[rows[first]], other[rows[run]]).sum())
            if not count:
                continue
            what = f"{count:,} of {len(rows[first]):,} items have other {name}"
            if any(each.scores[panel.metric].conventions.get("nan") == "omit" for each in panel.runs):
                return [f"{OTHER_DATA}: {what}"]
            who = f"{first[0]} (seed {first[1]}) and {run[0]} (seed {run[1]})"
            raise InputError(f"{what} in {who}", fix=_ASKED.get(name, "Evaluate all runs on the same test data."))
    return []


def _apart(one: AnyArray, other: AnyArray) -> Mask:
    """Which numbers differ: whole ones at all, others by more than float32 rounds. NaN equals NaN."""
    if one.dtype.kind == other.dtype.kind == "f":
        nearly = np.abs(one - other) <= 1e-6 * np.nanmax(np.abs(one), initial=0.0)
        return np.asarray(~(nearly | ((one != one) & (other != other))))
    return np.asarray(one != other)


def _cluster(tables: Mapping[tuple[str, Seed], Items], rows: Mapping[tuple[str, Seed], AnyArray]) -> AnyArray | None:
    """The clusters of the items, which all runs have to agree on."""
    labels = {
        key: None if items.cluster is None else np.asarray(items.cluster)[rows[key]] for key, items in tables.items()
    }
    first = next(iter(labels.values()))
    for (method, seed), own in labels.items():
        if (own is None) != (first is None) or (own is not None and not _alike(own, first)):
            what = f"the items of {method} (seed {seed}) are clustered differently"
            raise InputError(what, fix="Evaluate all runs on the same items, with the same cluster=.")
    return first


def _alike(one: AnyArray, other: AnyArray | None) -> bool:
    return other is not None and np.array_equal(
        np.unique(one, return_inverse=True)[1], np.unique(other, return_inverse=True)[1]
    )
