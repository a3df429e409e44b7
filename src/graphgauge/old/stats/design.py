"""The design of a comparison: which runs belong together, and what the claim is about.

The design follows from ids and declarations, never from the scores: seeds that all methods share pair their runs, seeds
that no two methods share do not, and the datasets are a sample or the whole population as the caller declares.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.old.core.truths import Reference
from graphgauge.old.stats.runs import Panel, Run, Seed
from graphgauge.old.stats.text import listing, several

RunsDesign = Literal["auto", "paired", "unpaired"]
DatasetsDesign = Literal["drawn", "these"]
DESIGNS = ("auto", "paired", "unpaired")
DATASETS = ("drawn", "these")
_FEWEST_FOR_CORRELATION = 3


@dataclass(frozen=True)
class Design:
    """How runs and datasets enter the test.

    `runs` is `paired` (by seed) or `unpaired`; `datasets` is `one`, `these` (the claim is about further runs on them)
    or `drawn` (it is about further datasets like them). `seeds` are the smallest and the largest number of runs of a
    method on a dataset. `split` says whether receipts record one truth for all seeds (`shared`) or one per seed
    (`per seed`), None if they record none. `correlation` is that of the methods over seeds within datasets, the mean
    over pairs of methods; NaN if unpaired or with fewer than three seeds. `declared`: not derived from the seeds.
    """

    runs: str
    datasets: str
    count: int
    seeds: tuple[int, int]
    split: str | None = None
    correlation: float = math.nan
    declared: bool = False

    @property
    def sentence(self) -> str:
        return f"Design: {self._runs}{self._split}{self._datasets}; {self._claim}."

    @property
    def _runs(self) -> str:
        low, high = self.seeds
        each = " per dataset" if self.count > 1 else ""
        told = " (as declared)" if self.declared else ""
        if self.runs == "paired":
            number = several(low, "seed") if low == high else f"{low} to {high} seeds"
            measured = "" if math.isnan(self.correlation) else f", measured seed correlation {self.correlation:.2f}"
            return f"paired by seed{told}, {number}{each}{measured}"
        number = f"{several(low, 'run')} per method" if low == high else f"unequal, {low} to {high} runs per method"
        why = told or " (no seed is shared)"
        return f"unpaired{why}, {number}{' and dataset' if self.count > 1 else ''}"

    @property
    def _split(self) -> str:
        if self.split == "shared":
            return ", all on one shared split" + (" of each dataset" if self.count > 1 else "")
        return ", a split for each seed" if self.split else ""

    @property
    def _datasets(self) -> str:
        if self.datasets == "one":
            return ", one dataset"
        if self.datasets == "these":
            return f", stratified over these {self.count} datasets"
        return f", averaged within each of {self.count} datasets drawn from others like them"

    @property
    def _claim(self) -> str:
        where = "split" if self.split == "shared" else "dataset"
        if self.datasets == "one":
            return f"the claim is about further runs on this {where}"
        if self.datasets == "these":
            return f"the claim is about further runs on these {where}s"
        return "the claim is about further datasets"

    def to_dict(self) -> dict[str, Any]:
        """The design as a dictionary.

        Returns
        -------
        dict[str, Any]
            Values that JSON can hold; `sentence` is the design in words.
        """
        return {**asdict(self), "sentence": self.sentence}


@dataclass(frozen=True)
class Cells:
    """The scores of each dataset and method that enter a comparison; paired ones in the same order of seeds."""

    methods: list[str]
    datasets: list[str]
    scores: list[list[Floats]]
    seeds: list[list[str]]
    paired: bool
    notes: list[str]

    @property
    def sizes(self) -> list[list[int]]:
        return [[len(values) for values in row] for row in self.scores]


def runs_design(view: Panel, declared: RunsDesign, missing: str) -> Literal["paired", "unpaired"]:
    """Paired if all methods have the same seeds, unpaired if no two methods share one."""
    if declared != "auto":
        return "paired" if declared == "paired" else "unpaired"
    kinds = {dataset: _kind(by_method) for dataset, by_method in present(view).items()}
    found = set(kinds.values()) - {"none"}
    if found <= {"paired", "partial"}:
        return "paired"
    if found == {"unpaired"}:
        return "unpaired"
    if missing == "omit" and "unpaired" not in found:
        return "paired"
    unlike = [dataset or view.metric for dataset, kind in kinds.items() if kind == "unpaired"]
    raise InputError(
        f"methods share seeds on some datasets, but not on {listing(unlike)}",
        fix='Declare the design: design="unpaired" for independent runs, or design="paired".',
    )


def present(view: Panel) -> dict[str, dict[str, set[Seed]]]:
    """The seeds that methods were run on; a run that is only missed in comparison to others is not one."""
    absent = {(gap.method, gap.dataset, gap.seed) for gap in view.gaps if gap.why == "no run"}
    return {
        dataset: {
            method: {seed for seed in seeds if (method, dataset, seed) not in absent}
            for method, seeds in by_method.items()
        }
        for dataset, by_method in view.values.items()
    }


def _kind(by_method: Mapping[str, set[Seed]]) -> str:
    held = [seeds for seeds in by_method.values() if seeds]
    if len(held) < 2:
        return "none"
    if all(seeds == held[0] for seeds in held):
        return "paired"
    return "unpaired" if sum(map(len, held)) == len(set().union(*held)) else "partial"


def split_of(runs: Iterable[Run], datasets: Sequence[str]) -> str | None:
    """Whether the receipts record one truth for all seeds of each dataset; None if they do not say.

    Levels in place of files, such as that of a random scorer, differ between splits of different sizes only: equal ones
    do not show that a split is shared.
    """
    held: dict[str, dict[Seed, set[tuple[Any, ...]]]] = {dataset: {} for dataset in datasets}
    seen = set()
    for run in runs:
        if run.truths and run.dataset in held:
            content = tuple(sorted((name, truth.hashes) for name, truth in run.truths.items()))
            held[run.dataset].setdefault(run.seed, set()).add(content)
            if any(truth.paths and not isinstance(truth, Reference) for truth in run.truths.values()):
                seen.add(run.dataset)
    kinds = {
        ("shared" if dataset in seen else None) if len(set().union(*by_seed.values())) == 1 else "per seed"
        for dataset, by_seed in held.items()
        if len(by_seed) > 1
    }
    return kinds.pop() if len(kinds) == 1 else None


def seed_correlation(cells: Cells) -> float:
    """The mean correlation of two methods over seeds, within datasets."""
    blocks = [np.array(row) for row in cells.scores if len(row[0]) > 1] if cells.paired else []
    if sum(block.shape[1] for block in blocks) - len(blocks) + 1 < _FEWEST_FOR_CORRELATION:
        return math.nan
    centred = np.concatenate([block - block.mean(axis=1, keepdims=True) for block in blocks], axis=1)
    size = np.sqrt(np.square(centred).sum(axis=1))
    if not (size > 1e-12 * max(float(np.abs(block).max()) for block in blocks)).all():
        return math.nan
    together = centred @ centred.T / np.outer(size, size)
    return float(np.clip(together[np.triu_indices(len(size), 1)], -1, 1).mean())


def design_of(cells: Cells, declared: RunsDesign, datasets: DatasetsDesign, runs: Iterable[Run]) -> Design:
    sizes = [size for row in cells.sizes for size in row]
    return Design(
        "paired" if cells.paired else "unpaired",
        "one" if len(cells.datasets) == 1 else datasets,
        len(cells.datasets),
        (min(sizes), max(sizes)),
        split_of(list(runs), cells.datasets),
        seed_correlation(cells),
        declared != "auto",
    )
