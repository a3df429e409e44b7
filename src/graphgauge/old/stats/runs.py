"""Runs: method × dataset × seed, each with the scores of its metrics."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.result import READINGS, Direction
from graphgauge.old.core.truths import Reference, Truth
from graphgauge.old.stats.fair import READING, Fairness, fairness_of
from graphgauge.old.stats.text import listing, several, several_do
from graphgauge.old.stats.truths import TRUTHS, Truths, different_truths, refuse_different, warnings_of

Missing = Literal["raise", "omit", "worst"]
Better = Literal["higher", "lower"]
Seed = int | str
MISSING = ("raise", "omit", "worst")
# The metric of a table that does not name it; it takes the name that it is asked for by.
UNNAMED_METRIC = "value"
_SIZES_LISTED = 4
# This many different values in common are hardly a coincidence.
_TELLING = 3


@dataclass(frozen=True)
class Score:
    """A metric's value in one run, with the facts that decide whether it can be compared. Direction None: unknown."""

    value: float
    direction: Direction | None = None
    target: float | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)
    conventions: Mapping[str, str] = field(default_factory=dict)
    n: int | None = None
    reason: str | None = None
    # Levels that depend on the test alone, by name.
    references: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SideFile:
    """A side file of a result, and its hash in the result."""

    path: Path
    hash: str

    @classmethod
    def of(cls, path: Path) -> SideFile:
        return cls(path, hashlib.sha256(path.read_bytes()).hexdigest())


@dataclass(frozen=True)
class Run:
    """One trained and evaluated model. `failed` says why there are no scores; `items` are its items or their file.

    `truths` are the inputs that it was measured against, by name, if a receipt records them. `partial` says how much an
    adaptive run has read that did not read everything: its values are known up to their intervals, and its items are no
    sample with equal chances.

    Examples
    --------
    >>> from graphgauge import stats
    >>> runs = stats.load({"ours": [0.91, 0.93], "theirs": [0.64, 0.70]})
    >>> [(run.method, run.seed) for run in runs]
    [('ours', 'ours #1'), ('ours', 'ours #2'), ('theirs', 'theirs #1'), ('theirs', 'theirs #2')]
    """

    method: str
    dataset: str
    seed: Seed
    scores: Mapping[str, Score]
    family: str = ""
    source: str = ""
    failed: str | None = None
    items: Any = None
    truths: Mapping[str, Truth] = field(default_factory=dict)
    partial: str | None = None
    # The warnings and errors that its file records, by the name of the check.
    findings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{on_dataset(self.method, self.dataset)}, seed {self.seed}"

    @cached_property
    def telling(self) -> tuple[tuple[str, float], ...]:
        """All finite values, if there are enough that another run would hardly have the same."""
        values = tuple((key, score.value) for key, score in self.scores.items() if math.isfinite(score.value))
        # A few values can be the same by chance, and bounds such as 0 and 1 in many runs.
        return values if len({value for _, value in values if not value.is_integer()}) >= _TELLING else ()


@dataclass(frozen=True)
class Gap:
    """A run without a value, and why."""

    method: str
    dataset: str
    seed: Seed
    why: str

    def __str__(self) -> str:
        return f"{on_dataset(self.method, self.dataset)} seed {self.seed} ({self.why})"


def seed_order(seed: object) -> tuple[bool, float, str]:
    """Numbers by size, then names: an order independent of that of the rows."""
    number = isinstance(seed, Real)
    return not number, float(seed) if isinstance(seed, Real) else 0.0, str(seed)


def seed_of(value: Any) -> Seed:
    """Seeds that look like integers are compared as integers, in any file format."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _seed_in(str(value).strip())


@lru_cache(4096)  # seeds occur in many rows
def _seed_in(text: str) -> Seed:
    found = re.fullmatch(r"(-?\d{1,18})(?:\.0*)?", text)
    return int(found[1]) if found else text


@cache
def known_metric(key: str) -> tuple[Direction | None, float | None, tuple[float, float]]:
    """The registered direction, target and bounds of a metric given as a plain number."""
    from graphgauge.old.core.metric import find

    unknown = (None, None, (-math.inf, math.inf))
    try:
        entry, _ = find(key)
    except OptionError:
        return unknown
    if key != entry.key and entry.parse(key) is None:
        return unknown  # the name of f1@{k} alone: an F1 of any kind may be called so
    return entry.direction, entry.target, entry.bounds


def repetition(method: str, number: int) -> str:
    """The label of a run without a seed: no other method has it, so nothing pairs the two."""
    return f"{method} #{number}"


def on_dataset(name: str, dataset: str) -> str:
    """`transe on wn18rr`, or `transe` if the dataset has no name."""
    return f"{name} on {dataset}" if dataset else name


class Runs:
    """A set of runs; two of the same method, dataset, seed and family are refused.

    `notes` say how tables were read, and which files of a folder could not be.

    Examples
    --------
    >>> from graphgauge import stats
    >>> runs = stats.load([{"method": name, "seed": seed, "mrr": 0.5} for name in ("a", "b") for seed in (0, 1)])
    >>> runs.methods, len(runs.only(method=["a"]))
    (['a', 'b'], 2)
    """

    def __init__(self, runs: Iterable[Run], notes: Iterable[str] = ()) -> None:
        self._runs = tuple(runs)
        self.notes = tuple(dict.fromkeys(notes))
        seen: dict[tuple[str, str, Seed, str], Run] = {}
        twice = []
        for run in self._runs:
            key = (run.method, run.dataset, run.seed, run.family)
            if key in seen:
                places = dict.fromkeys((seen[key].source or "twice in one input", run.source))
                twice.append(f"{run} ({'; '.join(filter(None, places))})")
            seen[key] = run
        if twice:
            what = f"{several_do(len(twice), 'run', 'occurs', 'occur')} twice: {listing(twice)}"
            raise InputError(what, fix="Keep one file for each run.")

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __repr__(self) -> str:
        counts = {"method": len(self.methods), "dataset": len(self.datasets), "seed": len({run.seed for run in self})}
        return f"<Runs: {len(self)} of {', '.join(several(count, noun) for noun, count in counts.items())}>"

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(run.method for run in self))

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(run.dataset for run in self))

    @property
    def metrics(self) -> list[str]:
        return list(self._metrics)

    @cached_property
    def _metrics(self) -> dict[str, None]:
        return dict.fromkeys(key for run in self for key in run.scores)

    def named(self, metric: str) -> str:
        """The key of one of the metrics; a metric without a name gets it.

        Parameters
        ----------
        metric
            The key of a metric.

        Returns
        -------
        str
            The key.

        Raises
        ------
        UnknownNameError
            If the runs do not have it.
        """
        if metric in self._metrics:
            return metric
        if self.metrics == [UNNAMED_METRIC] and isinstance(metric, str) and metric:
            return metric
        if not self.metrics:
            why = listing(
                list(dict.fromkeys(run.failed.removeprefix("failed: ") for run in self if run.failed)), 2
            ).rstrip(".")
            raise InputError("there is no value to compare", fix=f"All runs failed: {why}." if why else None)
        return one_of("metric", metric, self.metrics)

    def only(self, *, method: Iterable[str] = (), dataset: Iterable[str] = (), family: str | None = None) -> Runs:
        """The runs of some methods, datasets or of one family; an unknown name is an error.

        Parameters
        ----------
        method, dataset
            Names to keep; none for all.
        family
            The family to keep, or None.

        Returns
        -------
        Runs
            The runs.

        Raises
        ------
        UnknownNameError
            If a name is not among those of the runs.
        """
        methods, datasets = list(method), list(dataset)
        for name in methods:
            one_of("method", name, self.methods)
        for name in datasets:
            one_of("dataset", name, self.datasets)
        if family is not None:
            one_of("family", family, dict.fromkeys(run.family for run in self))
        return Runs(
            run
            for run in self
            if (not methods or run.method in methods)
            and (not datasets or run.dataset in datasets)
            and family in (None, run.family)
        ).noted(self.notes)

    def noted(self, notes: Iterable[str]) -> Runs:
        """These runs, with notes.

        Parameters
        ----------
        notes
            Sentences.

        Returns
        -------
        Runs
            A copy with the notes.
        """
        return Runs(self, (*self.notes, *notes))

    def calling(self, metric: str) -> Runs:
        """These runs, whose only metric has no name yet, with this one.

        Parameters
        ----------
        metric
            The key of a metric.

        Returns
        -------
        Runs
            A copy with the name.
        """
        direction, target, bounds = known_metric(metric)
        return Runs(
            (
                replace(run, scores={metric: replace(score, direction=direction, target=target, bounds=bounds)})
                for run in self
                for score in run.scores.values()
            ),
            self.notes,
        )


@dataclass(frozen=True)
class Panel:
    """One metric over methods, datasets and seeds; NaN if a run has no value; `gaps` says why."""

    metric: str
    direction: Direction | None
    target: float | None
    bounds: tuple[float, float]
    conventions: Mapping[str, str]
    values: Mapping[str, Mapping[str, Mapping[Seed, float]]]  # dataset → method → seed
    gaps: tuple[Gap, ...]
    notes: tuple[str, ...]
    conflicts: Mapping[str, str] = field(default_factory=dict)  # datasets whose truth differs between methods
    fairness: Fairness | None = None  # to methods that predict graphs of different classes, if any do
    fair_metrics: tuple[str, ...] = ()  # the runs' metrics that are fair to all of them

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(method for methods in self.values.values() for method in methods))

    @property
    def datasets(self) -> list[str]:
        return list(self.values)

    @property
    def better(self) -> Better | None:
        """The good direction; with a target, the distance from it is to be low."""
        if self.direction == "target":
            return "lower"
        return None if self.direction == "none" else self.direction

    def badness(self, value: float) -> float:
        """The value with lower as better, for any direction."""
        if self.direction == "target" and self.target is not None:
            return abs(value - self.target)
        return -value if self.direction == "higher" else value

    def refuse_missing(self, lacking: list[str], *, unpaired: bool = False) -> None:
        """`unpaired`: the runs may also have been meant to be independent."""
        if lacking:
            declare = '; or declare independent runs (design="unpaired")' if unpaired else ""
            runs, are = several(len(lacking), "run"), "is" if len(lacking) == 1 else "are"
            raise InputError(
                f"{runs} of {self.metric} {are} missing: {listing(lacking)}",
                fix='Repeat them; or leave those seeds out for all methods (missing="omit"), or score '
                f'failures at the bound (missing="worst"){declare}.',
            )

    def filled(self, gaps: Sequence[Gap] | None = None) -> Panel:
        """This panel with the worst value in its gaps, or in these only."""
        gaps = self.gaps if gaps is None else gaps
        if not gaps:
            return self
        worst = self.worst
        values = {
            dataset: {method: dict(seeds) for method, seeds in methods.items()}
            for dataset, methods in self.values.items()
        }
        for gap in gaps:
            values[gap.dataset][gap.method][gap.seed] = worst
        return replace(self, values=values)

    @property
    def worst(self) -> float:
        """The worst bound, for runs without a value."""
        low, high = self.bounds
        if self.direction == "target" and self.target is not None:
            worst = low if abs(low - self.target) >= abs(high - self.target) else high
        else:
            worst = {"higher": low, "lower": high}.get(self.direction or "", math.nan)
        if not math.isfinite(worst):
            why = "has no bound on its bad side" if self.direction else "has no known direction"
            raise OptionError(f'{self.metric} {why}, so missing="worst" is not defined', fix='Use missing="omit".')
        return worst


def panel(runs: Runs, metric: str, *, direction: Better | None = None, truths: Truths = "same") -> Panel:
    """The values of one metric; runs scored under different conventions are refused with the list.

    So are methods measured against different truths, unless `truths="any"`, which adds a note. Conventions for reading
    outputs may differ, and a note lists them.
    """
    one_of("truths", truths, TRUTHS)
    if not len(runs):
        raise InputError("there are no runs")
    metric = runs.named(metric)
    if metric not in runs.metrics:
        runs = runs.calling(metric)
    if direction is not None:
        one_of("direction", direction, ("higher", "lower"))
    families = {run.family for run in runs if metric in run.scores}
    if len(families) > 1:
        raise InputError(f"{metric} was measured in {' and '.join(sorted(families))}", fix="Choose one with family=.")
    chosen = [run for run in runs if run.family in families]
    scored = [(run, run.scores[metric]) for run in chosen if metric in run.scores]
    _refuse_mixed(metric, "direction", [(run, str(score.direction)) for run, score in scored])
    _refuse_mixed(metric, "target", [(run, str(score.target)) for run, score in scored])
    shared, read = dict(scored[0][1].conventions), []
    for name in dict.fromkeys(name for _, score in scored for name in score.conventions):
        stated = [(run, score.conventions.get(name, "not stated")) for run, score in scored]
        if name not in READINGS:
            _refuse_mixed(metric, name, stated)
        elif len({value for _, value in stated}) > 1:
            shared.pop(name, None)
            read.append(f"outputs were read differently: {name} is {_by_value(stated)}")
    conflicts = different_truths(with_references(scored))
    if truths == "same":
        refuse_different(conflicts)
    first = scored[0][1]
    values, gaps = _values(chosen, metric)
    fairness = _fairness(scored, metric)
    fair = [] if fairness is None else [key for key in runs.metrics if _is_fair(chosen, key)]
    return Panel(
        metric,
        direction or first.direction,
        first.target,
        first.bounds,
        shared,
        values,
        tuple(gaps),
        (
            *_notes(scored, metric),
            *read,
            *same_runs(chosen),
            *warnings_of(conflicts),
            *found_in_some(chosen),
            *partial_runs(chosen),
            *runs.notes,
        ),
        conflicts,
        fairness,
        tuple(fair),
    )


def _fairness(scored: Sequence[tuple[Run, Score]], metric: str) -> Fairness | None:
    return fairness_of(
        ((run.method, score.conventions.get(READING)) for run, score in scored), metric, scored[0][0].family
    )


def _is_fair(runs: Sequence[Run], metric: str) -> bool:
    """Whether a metric has a better direction and is fair to the methods of runs that have it."""
    scored = [(run, run.scores[metric]) for run in runs if metric in run.scores]
    if not scored or scored[0][1].direction in (None, "none"):
        return False
    found = _fairness(scored, metric)
    return found is not None and not found.unfair_to


def with_references(scored: Iterable[tuple[Run, Score]]) -> Iterator[Run]:
    """The runs, with the references of a metric as part of their truths: other candidates, masks or weights show there.

    Differences of rounding do not count.
    """
    known: dict[str, list[float]] = defaultdict(list)
    for run, score in scored:
        levels = {}
        for name, value in score.references.items():
            same = next((one for one in known[name] if math.isclose(one, value, rel_tol=1e-9, abs_tol=1e-12)), None)
            if same is None:
                known[name].append(same := value)
            levels[f"the level of the {name}"] = Reference((repr(same),), (repr(same),))
        yield replace(run, truths={**run.truths, **levels}) if levels else run


def same_runs(runs: Iterable[Run]) -> Iterator[str]:
    """Which seeds of a method have the same values in all metrics, as copies of one run have."""
    alike: dict[tuple[Any, ...], list[Run]] = defaultdict(list)
    for run in runs:
        if run.telling:
            alike[run.method, run.dataset, run.telling].append(run)
    for (method, dataset, _), own in alike.items():
        if len(own) > 1:
            seeds = listing([str(run.seed) for run in own], 3)
            yield f"{on_dataset(method, dataset)} has the same values in every metric for seeds {seeds}: one run?"


def found_in_some(runs: Sequence[Run]) -> Iterator[str]:
    """Findings of some methods only: the others do not have the fault, and a comparison of values does not show it."""
    methods: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        methods[run.method].append(run)
    checks = dict.fromkeys(check for run in runs for check in run.findings)
    for check in checks:
        having = {name: [run for run in own if check in run.findings] for name, own in methods.items()}
        if all(having.values()):
            continue
        for name, own in having.items():
            if own:
                count = f"{len(own)} of {several(len(methods[name]), 'run')}"
                yield f"{name} has the finding {check} in {count}, other methods do not: {own[0].findings[check]}"


def partial_runs(runs: Iterable[Run]) -> Iterator[str]:
    """Which runs are adaptive and have not read everything."""
    marked = [run for run in runs if run.partial]
    if marked:
        which = listing([f"{run}: {run.partial}" for run in marked], 3)
        yield (
            f"{several_do(len(marked), 'run', 'is', 'are')} adaptive and incomplete ({which}): values are known up "
            "to their intervals, which a comparison over seeds does not see"
        )


def _values(runs: list[Run], metric: str) -> tuple[dict[str, dict[str, dict[Seed, float]]], list[Gap]]:
    methods = list(dict.fromkeys(run.method for run in runs))
    values: dict[str, dict[str, dict[Seed, float]]] = {
        dataset: {method: {} for method in methods} for dataset in dict.fromkeys(run.dataset for run in runs)
    }
    gaps = []
    for run in runs:
        score = run.scores.get(metric)
        value = math.nan if score is None else score.value
        values[run.dataset][run.method][run.seed] = value
        if math.isnan(value):
            why = run.failed or (f"no {metric}" if score is None else score.reason or "NaN")
            gaps.append(Gap(run.method, run.dataset, run.seed, why))
    for dataset, by_method in values.items():
        for method, seed in _absent(by_method):
            by_method[method][seed] = math.nan
            gaps.append(Gap(method, dataset, seed, "no run"))
    return values, sorted(gaps, key=lambda gap: (gap.dataset, gap.method, seed_order(gap.seed)))


def _absent(by_method: Mapping[str, Mapping[Seed, float]]) -> list[tuple[str, Seed]]:
    """Runs missing compared to the method with the most: absence must not help. Different labels alone are no gap.

    Where runs have no seeds, nothing says how many there should be.
    """
    # Of equally full methods and of seeds, the first by name, not by row.
    most = max(sorted(by_method), key=lambda method: len(by_method[method]))
    fullest = sorted(by_method[most], key=seed_order)
    if set(fullest) == {repetition(most, number) for number in range(1, len(fullest) + 1)}:
        return []
    return [
        (method, seed)
        for method, seeds in by_method.items()
        for seed in [seed for seed in fullest if seed not in seeds][: len(fullest) - len(seeds)]
    ]


def _refuse_mixed(metric: str, name: str, stated: list[tuple[Run, str]]) -> None:
    if len({value for _, value in stated}) > 1:
        raise InputError(
            f"{metric} was measured under different conventions: {name} is {_by_value(stated)}",
            fix="Use the same conventions for all runs, or compare them separately.",
        )


def _by_value(stated: list[tuple[Run, str]]) -> str:
    by_value = defaultdict(list)
    for run, value in stated:
        by_value[value].append(str(run))
    return "; ".join(f"{value} in {several(len(who), 'run')} ({listing(who, 3)})" for value, who in by_value.items())


def _notes(scored: list[tuple[Run, Score]], metric: str) -> Iterator[str]:
    """Notes that do not prevent a comparison."""
    counted: dict[str, Counter[int]] = defaultdict(Counter)
    for run, score in scored:
        if score.n is not None:
            counted[run.dataset][score.n] += 1
    for dataset, sizes in counted.items():
        if len(sizes) > 1:
            counts = ", ".join(f"{n:,} in {several(times, 'run')}" for n, times in sorted(sizes.items()))
            if len(sizes) > _SIZES_LISTED:
                counts = f"{min(sizes):,} to {max(sizes):,}"
            yield f"{metric} on {dataset} is computed on different numbers of items: {counts}"
