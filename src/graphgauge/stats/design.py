"""The design of a comparison: which runs belong together, and what the claim is about.

The design follows from ids and declarations, never from the scores: seeds that all methods share pair their runs, seeds
that no two methods share do not, and the datasets are a sample or the whole population as the caller declares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from msgspec import Struct

from graphgauge.core.errors import InputError
from graphgauge.core.number import plural
from graphgauge.core.result import Interval
from graphgauge.core.types import AnyArray, Floats
from graphgauge.stats.effects import units_needed
from graphgauge.stats.panel import Gap, Missing, Panel
from graphgauge.stats.runs import Score, Seed, on_dataset, seed_order
from graphgauge.stats.shift import Sample
from graphgauge.stats.text import listing, several_of, units
from graphgauge.stats.truth import split_of

RunsDesign = Literal["auto", "paired", "unpaired"]
DatasetsDesign = Literal["drawn", "these"]
DESIGNS, DATASETS = ("auto", "paired", "unpaired"), ("drawn", "these")
# The squares of larger scores are infinite.
_LARGEST = 1e150


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
    compared, all of them.
    """

    methods: tuple[str, ...]
    strata: tuple[tuple[Floats | Sample, ...], ...]
    design: Design
    notes: tuple[str, ...] = ()
    cluster: AnyArray | None = None
    in_time: bool = False
    intervals: Mapping[str, Interval] = field(default_factory=dict)


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
        split=split_of(panel.truths, named),
    )
    if number == 1 or datasets == "these":
        _refuse_without_spread(panel.metric, named, methods, strata)
        return Layout(tuple(methods), tuple(strata), design, tuple(notes))
    means = np.array([[Sample.from_scores(cell).mean for cell in cells] for cells in strata]).T
    drawn = Design(unit="dataset", units=(number, number), paired=True, datasets="drawn", number=number)
    return Layout(tuple(methods), (tuple(means),), drawn, tuple(notes))


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


def _refuse_infinite(metric: str, dataset: str, methods: Sequence[str], cells: Sequence[Floats | Sample]) -> None:
    for method, cell in zip(methods, cells, strict=True):
        largest = largest_of(cell)
        if not largest <= _LARGEST:
            what = f"{metric} of {on_dataset(method, dataset)} is {largest:g}"
            raise InputError(what, fix="Repeat the run, or leave it out.")
