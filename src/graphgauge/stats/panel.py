"""One metric of many runs: its direction, what the runs have to agree on, and which values are missing."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import READINGS
from graphgauge.core.family import family, family_names
from graphgauge.core.number import plural
from graphgauge.core.result import Direction
from graphgauge.core.types import Floats
from graphgauge.stats import truth
from graphgauge.stats.runs import (
    UNNAMED,
    Run,
    Runs,
    Score,
    Seed,
    declared_metric,
    on_dataset,
    seed_order,
    usual_direction,
)
from graphgauge.stats.text import listing, together

Missing = Literal["raise", "omit", "worst"]
Better = Literal["higher", "lower"]
MISSING, TRUTHS, DIRECTIONS = ("raise", "omit", "worst"), ("same", "any"), ("higher", "lower")
# So many different values in common are hardly a coincidence.
_TELLING = 3


@dataclass(frozen=True)
class Gap:
    """A run without a value, and why."""

    method: str
    dataset: str
    seed: Seed
    why: str

    def __str__(self) -> str:
        return f"{on_dataset(self.method, self.dataset)} seed {self.seed} ({self.why})"


@dataclass(frozen=True)
class Panel:
    """One metric over methods, datasets and seeds; a run without a value has NaN, and a gap says why.

    `scores` are by dataset, method and seed. `invalid` are methods that no comparison can rank, because of an
    error or because the metric is not fair to the class of graphs that they predict; `unfair` says which these are.
    """

    metric: str
    direction: Direction | None
    target: float | None
    bounds: tuple[float, float]
    conventions: Mapping[str, str]
    scores: Mapping[str, Mapping[str, Mapping[Seed, Score]]]
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]
    runs: tuple[Run, ...]
    truths: Mapping[Run, truth.Truths]
    different: Mapping[str, str] = field(default_factory=dict)
    invalid: Mapping[str, str] = field(default_factory=dict)
    unfair: str | None = None

    @property
    def methods(self) -> list[str]:
        """All methods, in the order of the runs."""
        return list(dict.fromkeys(method for methods in self.scores.values() for method in methods))

    @property
    def datasets(self) -> list[str]:
        """All datasets, in the order of the runs."""
        return list(self.scores)

    @property
    def better(self) -> Better:
        """The good direction; the distance from a target is to be low."""
        if self.direction == "none":
            raise OptionError(f"{self.metric} has no better direction", fix="Compare another metric.")
        if self.direction is None:
            fix = 'Pass direction="higher" or direction="lower"'
            fix += ', or name the metric: metric="accuracy".' if self.metric == UNNAMED else "."
            raise OptionError(f"the better direction of {self.metric} is not known", fix=fix)
        return "lower" if self.direction == "target" else self.direction

    def badness(self, values: ArrayLike) -> Floats:
        """Values with lower as better: with a target, the distances from it."""
        scores = np.asarray(values, dtype=np.float64)
        if self.direction == "target" and self.target is not None:
            return np.asarray(np.abs(scores - self.target))
        return -scores if self.better == "higher" else scores

    def present(self, dataset: str) -> dict[str, set[Seed]]:
        """The seeds that each method was run with on a dataset."""
        absent = {(gap.method, gap.seed) for gap in self.gaps if gap.dataset == dataset and gap.why == "no run"}
        return {
            method: {seed for seed in seeds if (method, seed) not in absent}
            for method, seeds in self.scores[dataset].items()
        }

    def filled(self, gaps: Sequence[Gap]) -> Panel:
        """This panel with the worst bound of the metric in these gaps."""
        if not gaps:
            return self
        low, high = self.bounds
        if self.direction == "target" and self.target is not None:
            worst = low if abs(low - self.target) >= abs(high - self.target) else high
        else:
            worst = {"higher": low, "lower": high}.get(self.direction or "", math.nan)
        if not math.isfinite(worst):
            why = "has no bound on its bad side" if self.direction else "has no known direction"
            raise OptionError(f'{self.metric} {why}, so missing="worst" is not defined', fix='Use missing="omit".')
        scores = {dataset: {m: dict(seeds) for m, seeds in own.items()} for dataset, own in self.scores.items()}
        for gap in gaps:
            scores[gap.dataset][gap.method][gap.seed] = Score(worst)
        said = f"scored at the bound {worst:g}: {listing([str(gap) for gap in gaps])}"
        return replace(self, scores=scores, notes=(*self.notes, said))


def panel_of(
    runs: Runs,
    metric: str | None,
    *,
    direction: Better | None = None,
    truths: Literal["same", "any"] = "same",
    levels: bool = True,
) -> Panel:
    """The values of one metric; runs scored under different conventions, or against different truths, are refused.

    How an output was read (sign, threshold, orientation) may differ. `truths="any"` turns the refusal of truths into a
    warning. Without `levels` only receipts say what the truth was: items tell themselves what they were asked.
    """
    one_of("truths", truths, TRUTHS)
    if direction is not None:
        one_of("direction", direction, DIRECTIONS)
    if not len(runs):
        raise InputError("there are no runs")
    if not isinstance(metric, str | None):
        raise OptionError(f"metric is {metric!r:.80}, not one name", fix="Compare on one metric at a time.")
    if metric is None and len(runs.metrics) != 1:
        raise OptionError("metric is missing", fix=f"The runs have {listing(runs.metrics) or 'none'}.").about("metric")
    metric = runs.metrics[0] if metric is None else metric
    runs = runs.named(metric)
    families = {run.family for run in runs if metric in run.scores}
    if len(families) > 1:
        fix = "Compare the runs of one family: read_runs(…).only(family=…)."
        names = together([name or "an unnamed family" for name in sorted(families)])
        raise InputError(f"{metric} was measured in {names}", fix=fix)
    chosen = tuple(run for run in runs if run.family in families)
    scored = [(run, run.scores[metric]) for run in chosen if metric in run.scores]
    facts = {name: [(run, str(getattr(score, name))) for run, score in scored] for name in ("direction", "target")}
    first = scored[0][1]
    stated = {
        name: [(run, score.conventions.get(name, "not stated")) for run, score in scored]
        for name in dict.fromkeys(name for _, score in scored for name in score.conventions)
    }
    mixed = {name: each for name, each in {**facts, **stated}.items() if len({value for _, value in each}) > 1}
    _refuse_mixed(metric, {name: each for name, each in mixed.items() if name not in READINGS})
    notes = [f"outputs were read differently: {name} is {_by_value(each)}" for name, each in mixed.items()]
    known = truth.truths_by_run(chosen, metric if levels else None)
    different = truth.conflicts(known)
    if truths == "same":
        truth.refuse(different)
    invalid, remarks = _findings(chosen)
    unfair = _unfair(scored, metric)
    who = together([f"{method} ({each})" for method, each in unfair.items()])
    says = f"{metric} is not fair to all methods: it counts marks that graphs of {who} leave open as missing"
    return Panel(
        metric,
        direction or first.direction or usual_direction(metric),
        first.target,
        _bounds([score for _, score in scored]),
        {name: value for name, value in first.conventions.items() if name not in mixed},
        *_values(chosen, metric),
        (
            *truth.warning(different),
            *remarks,
            *notes,
            *_sizes(scored, metric),
            *_copies(chosen),
            *_partial(chosen),
            *runs.notes,
        ),
        chosen,
        known,
        different,
        {**dict.fromkeys(unfair, f"{metric} is not fair to it"), **invalid},
        says if unfair else None,
    )


def _values(runs: Sequence[Run], metric: str) -> tuple[dict[str, dict[str, dict[Seed, Score]]], tuple[Gap, ...]]:
    """The scores, and the runs without one; absence must not help, so a method lacks the seeds that another one has."""
    methods = list(dict.fromkeys(run.method for run in runs))
    scores: dict[str, dict[str, dict[Seed, Score]]] = {}
    gaps = []
    for run in runs:
        score = run.scores.get(metric, Score(math.nan))
        scores.setdefault(run.dataset, {method: {} for method in methods})[run.method][run.seed] = score
        if math.isnan(score.value):
            why = run.failed or score.reason or ("NaN" if metric in run.scores else f"no {metric}")
            gaps.append(Gap(run.method, run.dataset, run.seed, why))
    for dataset, own in scores.items():
        for method, seeds in own.items():
            if len(seeds) > 1 and any(score.runs > 1 for score in seeds.values()):
                what = f"{on_dataset(method, dataset)} has a printed mean of {metric} and other scores"
                raise InputError(what, fix="Keep one of them, or name the column in which they differ.")
        for method, seed in _absent(own):
            own[method][seed] = Score(math.nan)
            gaps.append(Gap(method, dataset, seed, "no run"))
    return scores, tuple(sorted(gaps, key=lambda gap: (gap.dataset, gap.method, seed_order(gap.seed))))


def _absent(own: Mapping[str, Mapping[Seed, Score]]) -> list[tuple[str, Seed]]:
    """Runs that are missing in comparison to the method with the most. Different labels alone are no gap.

    Where runs have no seeds, or are printed means, nothing says how many there should be.
    """
    # Of equally full methods and of seeds, the first by name, not by row.
    most = max(sorted(own), key=lambda method: len(own[method]))
    fullest = sorted(own[most], key=seed_order)
    if any(isinstance(seed, str) and " #" in seed for seed in fullest) or any(
        score.runs > 1 for seeds in own.values() for score in seeds.values()
    ):
        return []
    return [
        (method, seed)
        for method, seeds in own.items()
        for seed in [seed for seed in fullest if seed not in seeds][: len(fullest) - len(seeds)]
    ]


def _bounds(scores: Sequence[Score]) -> tuple[float, float]:
    """What the metric declares; percentages of a metric from 0 to 1 are beyond it, and have none."""
    low, high = scores[0].bounds
    return (-math.inf, math.inf) if any(each.value < low or each.value > high for each in scores) else (low, high)


# How runs under other conventions become comparable.
_FIXES = {
    "quantile levels": "Evaluate all at the same levels; a Gaussian or members can be given as quantiles.",
    "beyond the lists": "Compare lists with lists: ranking.Queries.from_topk takes the best items of any model.",
}


def _refuse_mixed(metric: str, mixed: Mapping[str, Sequence[tuple[Run, str]]]) -> None:
    """Refuse runs in which these conventions differ: the first is named, and the way out that any of them has."""
    for name, stated in mixed.items():
        usual = "Use the same conventions for all runs, or compare them separately."
        fix = next((_FIXES[each] for each in mixed if each in _FIXES), usual)
        what = f"{metric} was measured under different conventions: {name} is {_by_value(stated)}"
        raise InputError(what, fix=fix)


def _by_value(stated: Sequence[tuple[Run, str]]) -> str:
    runs: dict[str, list[str]] = defaultdict(list)
    for run, value in stated:
        runs[value].append(str(run))
    return "; ".join(f"{value} in {plural(len(who), 'run')} ({listing(who, 3)})" for value, who in runs.items())


def _findings(runs: Sequence[Run]) -> tuple[dict[str, str], list[str]]:
    """Methods with an error, and findings that some methods have and others do not: values do not show them."""
    by_method: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_method[run.method].append(run)
    invalid: dict[str, str] = {}
    remarks = []
    for check in dict.fromkeys(check for run in runs for check in run.findings):
        having = {m: [run for run in own if check in run.findings] for m, own in by_method.items()}
        for method, own in having.items():
            if not own:
                continue
            severity, message = own[0].findings[check]
            if severity == "error":
                invalid.setdefault(method, f"{check}: {message}")
            if severity == "error" or not all(having.values()):
                count = f"{len(own)} of {plural(len(by_method[method]), 'run')}"
                remarks.append(f"{severity} [{check}] in {count} of {method}: {message}")
    return invalid, remarks


def _sizes(scored: Sequence[tuple[Run, Score]], metric: str) -> Iterator[str]:
    """Datasets on which the metric was computed on different numbers of items."""
    sizes: dict[str, set[int]] = defaultdict(set)
    for run, score in scored:
        if score.n is not None:
            sizes[run.dataset].add(score.n)
    for dataset, counts in sizes.items():
        if len(counts) > 1:
            span = f"{min(counts):,} to {max(counts):,}"
            yield f"{on_dataset(metric, dataset)} is computed on different numbers of items, {span}"


def _copies(runs: Iterable[Run]) -> Iterator[str]:
    """Seeds of a method that have the same values in all metrics, as copies of one run have."""
    alike: dict[tuple[Any, ...], list[Run]] = defaultdict(list)
    for run in runs:
        values = tuple((key, score.value) for key, score in run.scores.items() if math.isfinite(score.value))
        # A few values can be the same by chance, and bounds such as 0 and 1 in many runs.
        if len({value for _, value in values if not float(value).is_integer()}) >= _TELLING:
            alike[run.method, run.dataset, values].append(run)
    for (method, dataset, _), own in alike.items():
        if len(own) > 1:
            seeds = listing([str(run.seed) for run in own], 3)
            yield f"{on_dataset(method, dataset)} has the same values in every metric for seeds {seeds}: one run?"


def _partial(runs: Iterable[Run]) -> Iterator[str]:
    """Adaptive runs that have not read everything."""
    marked = [f"{run}: {run.partial}" for run in runs if run.partial]
    if marked:
        yield f"{plural(len(marked), 'run is', 'runs are')} adaptive and incomplete ({listing(marked, 3)})"


def _unfair(scored: Sequence[tuple[Run, Score]], metric: str) -> dict[str, str]:
    """The methods that a metric is not fair to, and their class, if methods predict several, such as DAGs and CPDAGs.

    A method that predicts several classes, such as CPDAGs of which some have no undirected edge, counts as the widest.
    """
    name = scored[0][0].family
    classes = family(name).classes if name in family_names() else ()
    if not classes:
        return {}
    widest: dict[str, str] = {}
    for run, score in scored:
        predicted = score.conventions.get("classes", "").rpartition(" and ")[2].split(" or ")
        own = [each for each in predicted if each in classes] or classes[:1]
        widest[run.method] = max([*own, widest.get(run.method, classes[0])], key=classes.index)
    fair_to = getattr(declared_metric(metric, name), "fair_to", None)
    others = {method: each for method, each in widest.items() if fair_to is not None and each not in fair_to}
    return others if len(set(widest.values())) > 1 else {}
