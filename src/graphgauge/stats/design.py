"""The design of a comparison: which runs or items belong together, and what the claim is about.

The design follows from ids and declarations, never from the scores: seeds that all methods share pair their runs, seeds
that no two methods share do not, and the datasets are a sample or the whole population as the caller declares. Items
(queries, events, time steps) are paired by their ids.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from msgspec import Struct

from graphgauge.core.errors import InputError
from graphgauge.core.family import family, family_names
from graphgauge.core.items import Items
from graphgauge.core.number import plural
from graphgauge.core.result import Interval
from graphgauge.core.types import AnyArray, Floats, Mask
from graphgauge.stats import truth
from graphgauge.stats.effects import units_needed
from graphgauge.stats.panel import Gap, Missing, Panel
from graphgauge.stats.runs import Run, Score, Seed, on_dataset, seed_order
from graphgauge.stats.shift import Sample
from graphgauge.stats.text import listing, several_of, units

RunsDesign = Literal["auto", "paired", "unpaired"]
DatasetsDesign = Literal["drawn", "these"]
DESIGNS, DATASETS = ("auto", "paired", "unpaired"), ("drawn", "these")
# The squares of larger scores are infinite.
_LARGEST = 1e150
# What else to do in families whose runs may have no items.
NO_ITEMS = {
    "recovery": "Learners are compared on several graphs: recovery.evaluate(truths, predictions), with --keep-items in "
    'files, and over="items".',
    "generation": "Single generators are compared by their samples: generation.compare_samples.",
}

# What to do if items were asked something else, by the name of what differs.
_ASKED = {
    "candidates": "Filtered and raw ranks, or ranks among other negatives, are not compared: pass the same known=, "
    "negatives and masks for all.",
    "weights": "Give all runs the same weights=.",
    "truths over naive errors": "Evaluate all runs with the same history and season.",
    "cells": "Evaluate all runs with the same cells masked.",
    "sums of truths": "Evaluate all runs against the same truths, from the same first step on: steps are numbered.",
}
# Questions that only these metrics ask, by the beginning of their keys.
_ASKED_BY = {"truths over naive errors": ("mase", "rmsse", "msis")}


class Design(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How runs and datasets enter a comparison.

    `unit` is what is counted: `seed` (paired), `run` (independent), `dataset`, or the unit of items; `units` are their
    smallest and largest number for a method, on a dataset if there are several. `datasets` are one, `these` (the claim
    is about further runs on them) or `drawn` (about further datasets like them). `clusters` of items err together,
    and items are averaged over `seeds`. `split` says whether receipts record one truth for all seeds (`shared`) or
    several (`per seed`).
    """

    unit: str
    units: tuple[int, int]
    paired: bool
    datasets: Literal["one", "these", "drawn"] = "one"
    number: int = 1
    declared: bool = False
    printed: bool = False
    split: str | None = None
    clusters: int | None = None
    seeds: int = 1

    @property
    def sentence(self) -> str:
        """The design and its claim in words."""
        return f"Design: {', '.join(filter(None, self._parts()))}; the claim is about {self._claim}."

    @property
    def over(self) -> str:
        """`8 seeds`, `3 to 5 runs`, `112 datasets`."""
        low, high = self.units
        return units(low, self.unit) if low == high else f"{low:,} to {high:,} {self.plural}"

    @property
    def plural(self) -> str:
        """The unit's plural."""
        return several_of(self.unit)

    @property
    def count(self) -> int:
        """The number of units that are independent of each other."""
        return self.clusters or self.units[0]

    def units_for(self, effect: float, error: float, power: float, confidence: float, tests: int = 1) -> int | None:
        """How many units show a difference of `effect`.

        Parameters
        ----------
        effect
            The true difference.
        error
            The standard error of a measured difference; without one the answer is None.
        power, confidence, tests
            Of the tests, and their number.

        Returns
        -------
        int or None
            As of `units_needed`.
        """
        if not error > 0:
            return None
        strata = self.number if self.datasets == "these" else 1
        std = error * math.sqrt(self.count * strata / (1 if self.paired else 2))
        return units_needed(effect, std, paired=self.paired, power=power, confidence=confidence, comparisons=tests)

    def _parts(self) -> list[str]:
        told = " as declared" if self.declared else ""
        each = {"these": f" on each of these {self.number} datasets"}.get(self.datasets, "")
        if self.unit == "dataset":
            return [f"{self.over} drawn from others like them, paired"]
        if self.printed:
            return [f"printed means of {self.over}{each}, independent"]
        parts = [f"{self.over}{each}, {'paired' if self.paired else 'independent'}{told}"]
        if self.clusters is not None:
            parts.append(f"in {self.clusters:,} clusters")
        if self.seeds > 1:
            parts.append(f"averaged over {self.seeds} seeds")
        return [*parts, {"shared": "one split", "per seed": "a split for each seed"}.get(self.split or "", "")]

    @property
    def _claim(self) -> str:
        if self.datasets == "drawn":
            return "further datasets"
        if self.unit not in ("seed", "run"):
            return f"these trained models on further {self.plural}"
        where = "split" if self.split == "shared" else "dataset"
        return (
            f"further runs on {'this' if self.datasets == 'one' else 'these'} {where}{'s' * (self.datasets != 'one')}"
        )


@dataclass(frozen=True)
class Layout:
    """The scores that a comparison tests: for each stratum (a dataset) those of every method.

    Paired scores are in the same order. Printed ones are samples without scores. `cluster` labels items that err
    together, and items `in_time` are time steps in their order. `intervals` are those of evaluations whose items are
    compared, all of them. `invalid` are methods that nothing ranks, and why.
    """

    methods: tuple[str, ...]
    strata: tuple[tuple[Floats | Sample, ...], ...]
    design: Design
    notes: tuple[str, ...] = ()
    cluster: AnyArray | None = None
    in_time: bool = False
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)


def layout_of_runs(panel: Panel, declared: RunsDesign, datasets: DatasetsDesign, missing: Missing) -> Layout:
    """The runs of a panel as units: seeds, independent runs, or datasets."""
    is_printed = any(s.runs > 1 for own in panel.scores.values() for seeds in own.values() for s in seeds.values())
    paired = not is_printed and _is_paired(panel, declared, missing)
    methods = sorted(panel.methods)
    panel = _without_gaps(panel, missing, paired)
    strata, named, sizes, notes = [], [], [], list(panel.notes)
    for dataset, own in sorted(panel.scores.items()):
        kept = _kept(own, methods, paired)
        lost = [str(gap) for gap in panel.gaps if gap.dataset == dataset and missing == "omit"]
        without = [method for method, seeds in kept.items() if not seeds]
        if without:
            notes.append(f"{dataset or panel.metric} is left out: {listing(without)} without a score there")
            continue
        if lost:
            who = ", with their partners" if paired else ""
            notes.append(f"{on_dataset('left out', dataset)}{who}: {listing(lost)}")
        cells = tuple(_cell([own[method][seed] for seed in seeds]) for method, seeds in kept.items())
        _refuse_infinite(panel.metric, dataset, methods, cells)
        strata.append(cells)
        named.append(dataset)
        sizes += [cell.n if isinstance(cell, Sample) else len(cell) for cell in cells]
    if not strata:
        what = f"there is no {'dataset and seed' if paired else 'dataset'} with {panel.metric} for all methods"
        raise InputError(what, fix=f"The methods are {listing(methods)}.")
    number = len(strata)
    design = Design(
        unit="seed" if paired else "run",
        units=(min(sizes), max(sizes)),
        paired=paired,
        datasets="one" if number == 1 else datasets,
        number=number,
        declared=declared != "auto" and not is_printed,
        printed=is_printed,
        split=truth.split_of(panel.truths, named),
    )
    if number == 1 or datasets == "these":
        _refuse_without_spread(panel.metric, named, methods, strata)
        return Layout(tuple(methods), tuple(strata), design, tuple(notes), invalid=panel.invalid)
    means = np.array([[Sample.from_scores(cell).mean for cell in cells] for cells in strata]).T
    drawn = Design(unit="dataset", units=(number, number), paired=True, datasets="drawn", number=number)
    return Layout(tuple(methods), (tuple(means),), drawn, tuple(notes), invalid=panel.invalid)


def _is_paired(panel: Panel, declared: RunsDesign, missing: Missing) -> bool:
    """Whether all methods have the same seeds; if no two methods share one, runs are independent."""
    if declared != "auto":
        return declared == "paired"
    kinds: dict[str, str] = {}
    for dataset in panel.datasets:
        held = [seeds for seeds in panel.present(dataset).values() if seeds]
        if len(held) > 1:
            shared = sum(map(len, held)) > len(set().union(*held))
            kinds[dataset] = "same" if all(seeds == held[0] for seeds in held) else "some" if shared else "none"
    if "none" not in kinds.values():
        return True
    if set(kinds.values()) == {"none"}:
        return False
    unlike = listing([dataset or panel.metric for dataset, kind in kinds.items() if kind == "none"])
    raise InputError(
        f"methods share seeds on some datasets, but not on {unlike}",
        fix='Declare the design: design="unpaired" for independent runs, or design="paired".',
    )


def _without_gaps(panel: Panel, missing: Missing, paired: bool) -> Panel:
    """The panel with its gaps refused, filled, or left for `_kept` to leave out."""
    present = {dataset: panel.present(dataset) for dataset in panel.datasets}
    gaps = [gap for gap in panel.gaps if paired or gap.seed in present[gap.dataset][gap.method]]
    if missing == "worst":
        for dataset, own in {} if paired else present.items():
            most = max(own.values(), key=len)
            without = [method for method, seeds in own.items() if not seeds]
            gaps += [Gap(each, dataset, seed, "no run") for each in without for seed in sorted(most, key=seed_order)]
        return panel.filled(gaps)
    lacking = [str(gap) for gap in gaps]
    for dataset, own in present.items():
        every = sorted(set().union(*own.values()), key=seed_order)
        for method, seeds in own.items():
            if paired:
                known = panel.scores[dataset][method]
                others = [seed for seed in every if seed not in known]
                lacking += [f"{on_dataset(method, dataset)} seed {seed} (other methods have it)" for seed in others]
            elif not seeds:
                lacking.append(f"{on_dataset(method, dataset)} (no run)")
    if lacking and missing == "raise":
        independent = '; or declare independent runs (design="unpaired")' if paired else ""
        raise InputError(
            f"{plural(len(lacking), 'run')} of {panel.metric} missing: {listing(lacking)}",
            fix='Repeat them; or leave those seeds out for all methods (missing="omit"), or score failures at the '
            f'bound (missing="worst"){independent}.',
        )
    return panel


def _kept(own: Mapping[str, Mapping[Seed, Score]], methods: Sequence[str], paired: bool) -> dict[str, list[Seed]]:
    """The seeds with a value: those of every method if they are paired, otherwise of each one."""
    seeds = {m: [s for s in sorted(own[m], key=seed_order) if own[m][s].value == own[m][s].value] for m in methods}
    if not paired:
        return seeds
    common = set(seeds[methods[0]]).intersection(*seeds.values())
    return {method: [seed for seed in seeds[methods[0]] if seed in common] for method in methods}


def _cell(scores: Sequence[Score]) -> Floats | Sample:
    """The scores of one method on one dataset; a printed mean is a sample without scores."""
    values = np.array([score.value for score in scores])
    if all(score.runs == 1 for score in scores):
        return values
    (score,) = scores
    return Sample(score.value, score.std**2, score.runs)


def largest_of(cell: Floats | Sample) -> float:
    """The size of the largest score."""
    return abs(cell.mean) if isinstance(cell, Sample) else float(np.abs(cell).max())


def _refuse_infinite(metric: str, dataset: str, methods: Sequence[str], cells: Sequence[Floats | Sample]) -> None:
    for method, cell in zip(methods, cells, strict=True):
        largest = largest_of(cell)
        if not largest <= _LARGEST:
            what = f"{metric} of {on_dataset(method, dataset)} is {largest:g}"
            raise InputError(what, fix="Repeat the run, or leave it out.")


def _refuse_without_spread(
    metric: str, datasets: Sequence[str], methods: Sequence[str], strata: Sequence[Sequence[Floats | Sample]]
) -> None:
    """Printed means of several runs are not tested without their standard deviations."""
    lacking = [
        on_dataset(method, dataset)
        for dataset, cells in zip(datasets, strata, strict=True)
        for method, cell in zip(methods, cells, strict=True)
        if isinstance(cell, Sample) and math.isnan(cell.variance)
    ]
    if lacking:
        what = f"the standard deviation of {metric} is missing for {listing(lacking, 4)}"
        raise InputError(what, fix="Printed means are compared by mean, std and n.")


# ---- items


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
            f"runs without {panel.metric}: {listing([str(gap) for gap in panel.gaps])}",
            fix='Compare by a metric that all have, or repeat these runs; or leave them out (missing="omit").',
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
    other = _other_questions(tables, rows, panel)
    notes = [*panel.notes, *([other] if other else [])]
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
    invalid = dict.fromkeys(methods, other) if other else panel.invalid
    return Layout(tuple(methods), (tuple(table[:, known]),), design, tuple(notes), cluster, in_time, intervals, invalid)


def _intervals(runs: Sequence[Run], metric: str) -> dict[str, Interval]:
    """The interval of each evaluation: one value has one interval, wherever it is printed."""
    found = {run.method: run.evaluation[metric].interval for run in runs if run.evaluation is not None}
    return {method: interval for method, interval in found.items() if interval is not None}


def has_items(run: Run, metric: str) -> bool:
    """Whether the metric of a run is a mean over items that it kept, and that do not all err together."""
    return run.items is not None and metric in run.items.values and not _share_negatives(run, metric)


def _share_negatives(run: Run, metric: str) -> bool:
    return run.scores[metric].conventions.get("negatives", "").startswith("one pool for all")


def _items_of(run: Run, metric: str) -> Items:
    items = run.items
    if items is None:
        fix = NO_ITEMS.get(run.family, "Evaluate with --keep-items, or save the evaluations with their items.")
        raise InputError(f"{run} has no values of single items", where=run.source or None, fix=fix)
    if metric not in items.values:
        usual = f"such as {family(run.family).headlines[0]}" if run.family in family_names() else "of items"
        has = f"These are: {listing(list(items.values))}." if items.values else f"Evaluate a metric that is, {usual}."
        raise InputError(f"{metric} is no mean over items in {run}", fix=has)
    if _share_negatives(run, metric):
        what = f"all {units(len(items), items.unit)} of {run} share one pool of negatives, and err together"
        raise InputError(what, fix="Evaluate each with negatives of its own, or compare runs of several seeds.")
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
) -> str | None:
    """Refuse runs that were asked something else about the same items; what was omitted as NaN leaves them unranked."""
    (first, base), *others = tables.items()
    for run, items in others:
        if not base.asked or not items.asked:  # it was not recorded
            continue
        for name in dict.fromkeys((*base.asked, *items.asked)):
            if not panel.metric.startswith(_ASKED_BY.get(name, "")):
                continue
            one, other = base.asked.get(name), items.asked.get(name)
            if one is None or other is None:
                count = len(rows[first])
            else:
                count = int(_apart(one[rows[first]], other[rows[run]]).sum())
            if not count:
                continue
            what = f"{count:,} of {len(rows[first]):,} items have other {name}"
            if any(each.scores[panel.metric].conventions.get("nan") == "omit" for each in panel.runs):
                return f"methods were measured on different data: {what}"
            who = f"{first[0]} (seed {first[1]}) and {run[0]} (seed {run[1]})"
            raise InputError(f"{what} in {who}", fix=_ASKED.get(name, "Evaluate all runs on the same test data."))
    return None


def _apart(one: AnyArray, other: AnyArray) -> Mask:
    """Which numbers differ: whole ones at all, others by more than float32 rounds. NaN equals NaN."""
    if one.dtype.kind == other.dtype.kind == "f":
        nearly = np.abs(one - other) <= 1e-6 * np.nanmax(np.abs(one), initial=0.0)
        return np.asarray(~(nearly | ((one != one) & (other != other))))
    return np.asarray(one != other)


def _cluster(tables: Mapping[tuple[str, Seed], Items], rows: Mapping[tuple[str, Seed], AnyArray]) -> AnyArray | None:
    """The clusters of the items, numbered; all runs have to agree on them."""
    numbers = {
        key: np.unique(() if items.cluster is None else np.asarray(items.cluster)[rows[key]], return_inverse=True)[1]
        for key, items in tables.items()
    }
    first = next(iter(numbers.values()))
    for (method, seed), own in numbers.items():
        if not np.array_equal(own, first):
            what = f"the items of {method} (seed {seed}) are clustered differently"
            raise InputError(what, fix="Evaluate all runs on the same items, with the same cluster=.")
    return first if len(first) else None
