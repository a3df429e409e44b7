"""One family's results for the page: a row per metric, dataset and method, and comparisons of methods."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.old.core.family import family as declared_family
from graphgauge.old.core.family import family_names
from graphgauge.old.core.result import Result
from graphgauge.old.stats.aggregate import Aggregate, Summary, aggregate
from graphgauge.old.stats.collect import Record
from graphgauge.old.stats.compare import compare
from graphgauge.old.stats.comparison import Comparison
from graphgauge.old.stats.design import DatasetsDesign
from graphgauge.old.stats.runs import Runs
from graphgauge.old.stats.text import listing
from graphgauge.report.tables import digits_of, natural

_HEADLINE_METRICS = 3
# Pairs grow with the square of the methods; a larger table of pairs is not readable.
_MOST_COMPARED = 20
_MOST_COMPARED_OVERALL = 60


@dataclass(frozen=True)
class Row:
    """A mean over runs with its interval over seeds, or the value of a single run with its own interval."""

    metric: str
    dataset: str
    method: str
    value: float
    low: float
    high: float
    over: str
    runs: int
    planned: int
    reason: str
    results: tuple[Result, ...]
    mark: str = ""

    @property
    def chance(self) -> list[float]:
        """One level of each run; see `Result.chance_level`."""
        return [level.value for result in self.results if (level := result.chance_level)]

    @property
    def items(self) -> list[float]:
        return [float(result.n) for result in self.results if result.defined]


@dataclass(frozen=True)
class Place:
    """A method's rank, and the ranks between which the pairwise tests leave it; None if there are no tests."""

    rank: int
    low: int | None = None
    high: int | None = None

    @property
    def certain(self) -> str:
        return "" if self.low is None else f"{self.low}" if self.low == self.high else f"{self.low} to {self.high}"


@dataclass(frozen=True)
class Compared:
    """A comparison on one dataset or over all of them (`dataset` None), or why there is none."""

    dataset: str | None
    outcome: Comparison | None
    reason: str = ""

    @property
    def scope(self) -> str:
        return "all datasets" if self.dataset is None else self.dataset


@dataclass(frozen=True)
class Family:
    name: str
    records: tuple[Record, ...]
    runs: Runs
    facts: dict[str, Result]
    rows: dict[tuple[str, str, str], Row]
    refused: dict[str, str]
    headlines: tuple[str, ...]
    comparisons: tuple[Compared, ...]
    tables: dict[str, Aggregate] = field(repr=False)

    @cached_property
    def datasets(self) -> list[str]:
        return sorted(self.runs.datasets, key=natural)

    @cached_property
    def methods(self) -> list[str]:
        """By their mean place on the datasets, best first; as in the files if nothing can be judged."""
        places = defaultdict(list)
        for dataset in self.datasets:
            for method, place in self.places(dataset).items():
                places[method].append(place.rank)
        mean = {method: float(np.mean(ranks)) for method, ranks in places.items()}
        return sorted(self.runs.methods, key=lambda method: mean.get(method, math.inf))

    @cached_property
    def cells(self) -> dict[tuple[str, str], list[Record]]:
        """The records of each dataset and method, best methods first."""
        found = defaultdict(list)
        for record in self.records:
            found[record.run.dataset, record.run.method].append(record)
        order = [(dataset, method) for dataset in self.datasets for method in self.methods]
        return {cell: found[cell] for cell in order if cell in found}

    def places(self, dataset: str) -> dict[str, Place]:
        """The places of the methods on a dataset by the leading metric, best first, and how far they are certain."""
        if not self.headlines or dataset in self.tables[self.headlines[0]].panels[self.headlines[0]].conflicts:
            return {}
        metric = self.headlines[0]
        panel = self.tables[metric].panels[metric]
        if panel.better is None or dataset not in panel.datasets:
            return {}
        bad = {
            method: float(np.mean([panel.badness(value) for value in seeds.values() if value == value]))
            for method, seeds in panel.values[dataset].items()
            if any(value == value for value in seeds.values())
        }
        order = sorted(bad, key=lambda method: bad[method])
        rank = {method: 1 + sum(other < bad[method] for other in bad.values()) for method in order}
        outcome = next((item.outcome for item in self.comparisons if item.dataset == dataset), None)
        if outcome is None or set(outcome.methods) != set(order):
            return {method: Place(rank[method]) for method in order}
        found = {}
        for method in order:
            apart = [other for other in order if other != method and outcome.told_apart(method, other)]
            better = sum(bad[other] < bad[method] for other in apart)
            found[method] = Place(rank[method], 1 + better, len(order) - (len(apart) - better))
        return found

    @property
    def keys(self) -> list[str]:
        """The metrics that could be summarised, in the order of the result files."""
        return [key for key in self.facts if key not in self.refused]

    def digits(self, metric: str) -> int | None:
        """One number of digits for a whole column: enough for most intervals, limited by the widest."""
        wanted = self._digits.get(metric)
        return min(max(wanted), min(wanted) + 2) if wanted else None

    @cached_property
    def _digits(self) -> dict[str, list[int]]:
        found = defaultdict(list)
        for row in self.rows.values():
            if row.over:
                found[row.metric].append(digits_of(row.value, row.low, row.high))
        return dict(found)

    def by(self, metric: str, dataset: str) -> list[Row]:
        return self._by.get((metric, dataset), [])

    @cached_property
    def _by(self) -> dict[tuple[str, str], list[Row]]:
        found = defaultdict(list)
        for row in self.rows.values():
            found[row.metric, row.dataset].append(row)
        return dict(found)


def family(name: str, records: Iterable[Record], asked: Sequence[str] = (), stratified: Collection[str] = ()) -> Family:
    """Summaries and comparisons of one family; metrics in `asked` lead.

    Of metrics in `stratified`, the comparison over all datasets is about these datasets, as the study declared.
    """
    mine = tuple(record for record in records if record.run.family == name)
    runs = Runs(record.run for record in mine)
    facts: dict[str, Result] = {}
    found = defaultdict(list)
    for record in mine:
        for key, result in (record.evaluation or {}).items():
            if not result.is_companion:  # the mean over groups is shown with the groups
                facts.setdefault(key, result)
                found[key, record.run.dataset, record.run.method].append(result)
    tables, refused = {}, {}
    for key in facts:
        try:
            # Infinite values have an infinite mean and no spread; do not warn.
            with np.errstate(invalid="ignore", over="ignore"):
                # Means are shown for any truth; only comparisons need the same one.
                tables[key] = aggregate(runs, missing="omit", metrics=[key], truths="any")
        except InputError as error:
            refused[key] = str(error)
    rows = {}
    for key, table in tables.items():
        for dataset in table.panels[key].datasets:
            marks = _marks(table, key, dataset)
            for summary in (row for row in table.rows if row.dataset == dataset):
                results = tuple(found[key, dataset, summary.method])
                rows[key, dataset, summary.method] = _row(summary, results, marks.get(summary.method, ""))
    headlines = _headlines(name, facts, [key for key in asked if key in tables], refused)
    compared = headlines and len(runs.methods) > 1
    comparisons = tuple(_compare(runs, headlines[0], headlines[0] in stratified)) if compared else ()
    return Family(name, mine, runs, facts, rows, refused, headlines, comparisons, tables)


def _marks(table: Aggregate, key: str, dataset: str) -> dict[str, str]:
    try:
        return table.marks(key, dataset)
    except InputError:  # infinite values cannot be paired
        return {}


def _row(summary: Summary, results: tuple[Result, ...], mark: str) -> Row:
    low, high, over = summary.ci_lower, summary.ci_upper, "seeds" if summary.n > 1 else ""
    own = next((result.interval for result in results if result.defined), None)
    if summary.n <= 1 and own is not None:
        low, high, over = own.low, own.high, own.over
    if math.isnan(low) or math.isnan(high):
        over = ""
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    return Row(
        summary.metric,
        summary.dataset,
        summary.method,
        summary.mean,
        low,
        high,
        over,
        summary.n,
        summary.planned,
        listing(list(reasons), 1) or (summary.reason or ""),
        results,
        mark,
    )


def _headlines(name: str, facts: dict[str, Result], asked: list[str], refused: dict[str, str]) -> tuple[str, ...]:
    judged = [key for key, result in facts.items() if result.direction != "none" and key not in refused]
    declared = declared_family(name).headlines if name in family_names() else ()
    known = [key for key in declared if key in judged]
    return tuple(dict.fromkeys([*asked, *known, *judged]))[:_HEADLINE_METRICS]


def _compare(runs: Runs, metric: str, these: bool) -> Iterable[Compared]:
    """Over all datasets, with datasets as units or within `these`, and within each, with seeds as units."""
    scopes: list[str | None] = [*sorted(runs.datasets, key=natural)]
    for dataset in [None, *scopes] if len(scopes) > 1 else scopes:
        part = runs if dataset is None else runs.only(dataset=[dataset])
        if len(part.methods) > (_MOST_COMPARED_OVERALL if dataset is None else _MOST_COMPARED):
            yield Compared(dataset, None, f"{len(part.methods)} methods are too many to compare pair by pair")
            continue
        try:
            with np.errstate(over="ignore"):
                design: DatasetsDesign = "these" if these and dataset is None else "drawn"
                yield Compared(dataset, compare(part, metric=metric, missing="omit", datasets=design))
        except InputError as error:
            yield Compared(dataset, None, str(error))
