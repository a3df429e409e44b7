"""Summaries of runs: means over the cycles of each, and over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.loop import measure
from graphgauge.core.metric import Bounds, Estimate, Metric, NoInterval, whole
from graphgauge.core.registry import find
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.log import Run
from graphgauge.stats.intervals import of_mean

Groups = Mapping[str, Sequence[AdaptiveEvaluator]]
CONDITIONS_APART = "conditions are not averaged: read it by condition"
ONE_RUN = "one run of many cycles has no interval; run more seeds"


# ---- one metric over the cycles and seeds of a condition


@dataclass(frozen=True)
class Trajectory:
    """One metric over the cycles of runs; each run counts once, as the mean of its cycles that have a value.

    `possible` is the range of possible values, if it is bounded; with several `conditions` there is no value.
    """

    runs: Sequence[Floats]
    references: tuple[Reference, ...] = ()
    conditions: int = 1
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    possible: tuple[float, float] | None = None

    @classmethod
    def from_results(cls, metric: Metric, runs: Sequence[Sequence[Result | None]], conditions: int = 1) -> Trajectory:
        """The results of every cycle of each run; None where a cycle lacks the metric."""
        every = [result for run in runs for result in run if result is not None]
        levels: dict[str, list[Reference]] = {}
        # The metric's own order, in which the last is its chance level; a cycle may lack some of them.
        for result in sorted(every, key=lambda result: -len(result.references)):
            for level in result.references if result.defined or not any(one.defined for one in every) else ():
                levels.setdefault(level.name, []).append(level)
        means = [
            Reference(name, float(np.mean([one.value for one in own])), own[0].kind) for name, own in levels.items()
        ]
        return cls(
            [np.array([np.nan if result is None else result.value for result in run]) for run in runs],
            tuple(means),
            conditions,
            tuple(dict.fromkeys(result.reason for result in every if result.reason)),
            _each_kind_once(every),
            metric.bounds if metric.direction == "higher" and np.isfinite(metric.bounds).all() else None,
        )

    @cached_property
    def means(self) -> Floats:
        """The mean of each run that has a value."""
        return np.array([run[~np.isnan(run)].mean() for run in self.runs if not np.isnan(run).all()])

    @property
    def cycles(self) -> int:
        return int(sum(np.count_nonzero(~np.isnan(run)) for run in self.runs))

    def estimate(self) -> Estimate:
        """The mean over runs."""
        if self.conditions > 1:
            return whole(np.nan, self.cycles, reason=CONDITIONS_APART, warnings=self.warnings)
        value = float(self.means.mean()) if len(self.means) else np.nan
        missing, reason = sum(len(run) for run in self.runs) - self.cycles, "; ".join(self.reasons)
        left_out = (f"{missing} cycles have no value ({reason}) and are left out of the mean",)
        said = (*self.warnings, *(left_out if missing and self.cycles else ()))
        return whole(value, self.cycles, reason=reason or "no cycles", warnings=said)

    def bounds(self, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
        """Student's t over seeds; one run of many cycles has none, because its cycles depend on each other."""
        if self.conditions > 1:
            return NoInterval(CONDITIONS_APART)
        values = self.means
        if len(values) < 2:
            return NoInterval(ONE_RUN)
        error = values.std(ddof=1) / np.sqrt(len(values))
        scale = float(np.abs(values if self.possible is None else self.possible).max())
        return of_mean(
            estimate.value, error, len(values) - 1, confidence, over="seeds", scale=scale, possible=self.possible
        )


def over_runs(metric: Metric) -> Metric:
    """The same metric of runs of several cycles: computed on a trajectory, which stands under the metric's own key."""
    return replace(
        metric,
        needs=(metric.key,),
        function=Trajectory.estimate,
        unit="cycle",
        chance=lambda trajectory: trajectory.references,
        interval=Trajectory.bounds,
    )


def _each_kind_once(results: Sequence[Result]) -> tuple[str, ...]:
    """Each kind of warning as it was first said; its numbers may differ between cycles."""
    kinds: dict[str, str] = {}
    for warning in (warning for result in results for warning in result.warnings):
        kinds.setdefault("".join(letter for letter in warning if not letter.isdigit()), warning)
    return tuple(kinds.values())


# ---- all metrics


def means(
    evaluators: Sequence[AdaptiveEvaluator], keys: Sequence[str] | None = None, conditions: int = 1
) -> dict[str, Result]:
    """Every metric, or those in `keys`, as the mean over runs of the mean over their cycles; copies count once."""
    runs = [own.evaluations for own in without_copies(evaluators)]
    chosen = [find(key, "evolution")[0] for key in _computed(evaluators, keys)]
    samples = {
        metric.key: Trajectory.from_results(
            metric, [[each.get(metric.key) for each in run] for run in runs], conditions
        )
        for metric in chosen
    }
    measured = measure(
        [(over_runs(metric), {}) for metric in chosen],
        samples,
        named=(),
        confidence=evaluators[0].confidence,
        conventions=runs[0][0].conventions,
    )
    return {result.key: result for result in measured.results}


def _computed(evaluators: Iterable[AdaptiveEvaluator], keys: Sequence[str] | None = None) -> list[str]:
    """The keys that any cycle has, those asked for if any are."""
    every = dict.fromkeys(key for own in evaluators for evaluation in own.evaluations for key in evaluation)
    return [key for key in every if keys is None or key in keys]


def without_copies(evaluators: Sequence[AdaptiveEvaluator]) -> list[AdaptiveEvaluator]:
    """The first of all runs with the same births and embeddings: the others say nothing new."""
    first: dict[Any, AdaptiveEvaluator] = {}
    for number, own in enumerate(evaluators):
        first.setdefault(own.fingerprint or number, own)
    return list(first.values())


def summary(
    runs: Mapping[Run, AdaptiveEvaluator], shared: tuple[str, str] | None = None, keys: Sequence[str] | None = None
) -> Evaluation:
    """All runs: by condition if there are several, otherwise by cycle; of the metrics in `keys`, or all.

    Conditions are not averaged: with several, values are only in the breakdown by condition. A single cycle keeps the
    intervals that it has.
    """
    groups: dict[str, list[AdaptiveEvaluator]] = {}
    for (condition, _), own in runs.items():
        groups.setdefault(condition, []).append(own)
    evaluators = list(runs.values())
    every = [evaluation for own in evaluators for evaluation in own.evaluations]
    first, evidence = every[0], [each for own in evaluators for each in own.evidence]
    copies = {name: count for name, own in groups.items() if (count := len(own) - len(without_copies(own)))}
    if len(every) == 1:
        results, options, breakdowns = {key: first[key] for key in _computed(evaluators, keys)}, first.options, {}
    else:
        results = means(evaluators, keys, len(groups))
        options = evaluators[0].options.described | {"conditions": list(groups)}
        by_cycle = {name: values for name, values in _cycles(groups, keys).items() if name != "condition"}
        several = len(groups) > 1
        breakdowns = {"condition": _by_condition(groups, keys)} if several else {"cycle": Grid(by_cycle)}
    return Evaluation(
        "evolution",
        results.values(),
        conventions=first.conventions,
        options=options,
        breakdowns=breakdowns,
        skipped=first.skipped,
        drawings=lambda: {"cycles": Grid(_cycles(groups))},
        materials={name: tuple(entry for each in evidence for entry in each[name]) for name in evidence[0]}
        | {"copies": copies, "shared": shared},
    )


def _by_condition(groups: Groups, keys: Sequence[str] | None) -> Grid:
    """A row per condition: its mean of every metric, with the ends of its interval."""
    each = [means(group, keys) for group in groups.values()]
    cycles = [sum(len(own.evaluations) for own in group) for group in groups.values()]
    columns: dict[str, Any] = {"condition": np.array(list(groups)), "n": np.array(cycles)}
    none = np.nan, np.nan
    for key in dict.fromkeys(key for results in each for key in results):
        own = [results.get(key) for results in each]
        rows = [(np.nan, *none) if one is None else (one.value, *(one.interval or none)) for one in own]
        columns[key], columns[f"{key}.low"], columns[f"{key}.high"] = np.array(rows).T
    return Grid(columns)


def _cycles(groups: Groups, keys: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns with a row per condition and cycle: the mean over seeds of every metric, of those that have a value."""
    rows: dict[tuple[str, int], list[Evaluation]] = {}
    for name, group in groups.items():
        for each in sorted((each for own in group for each in own.evaluations), key=lambda each: each.options["cycle"]):
            rows.setdefault((name, each.options["cycle"]), []).append(each)
    condition, cycle = zip(*rows, strict=True)
    columns = {"condition": np.array(condition), "cycle": np.array(cycle), "n": np.array(list(map(len, rows.values())))}
    for key in _computed((own for group in groups.values() for own in group), keys):
        columns[key] = np.array([_mean([one[key].value for one in row if key in one]) for row in rows.values()])
    return columns


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan
