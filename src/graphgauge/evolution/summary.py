"""Summaries of runs: means over the cycles of each, and over seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid
from graphgauge.core.loop import measure
from graphgauge.core.metric import Metric
from graphgauge.core.registry import find
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.log import Run
from graphgauge.evolution.samples import Trajectory

Runs = Mapping[Run, AdaptiveEvaluator]


def means(evaluators: Sequence[AdaptiveEvaluator], conditions: int = 1) -> dict[str, Result]:
    """Every metric as the mean over runs of the mean over their cycles; copies of a run count once."""
    evaluators = without_copies(evaluators)
    first = evaluators[0]
    every = [evaluation for own in evaluators for evaluation in own.evaluations]
    keys = dict.fromkeys(key for evaluation in every for key in evaluation)
    chosen = [find(key, "evolution")[0] for key in keys]
    found = measure(
        [(over_runs(metric), {}) for metric in chosen],
        {metric.key: _trajectory(metric, evaluators, conditions) for metric in chosen},
        named=(),
        confidence=first.confidence,
        conventions=first.evaluations[0].conventions,
    )
    return {result.key: result for result in found.results}


def over_runs(metric: Metric) -> Metric:
    """The same metric of runs of several cycles."""
    return replace(
        metric,
        needs=(metric.key,),
        function=Trajectory.estimate,
        unit="cycle",
        chance=lambda trajectory: trajectory.references,
        interval=Trajectory.bounds,
    )


def _trajectory(metric: Metric, evaluators: Sequence[AdaptiveEvaluator], conditions: int) -> Trajectory:
    runs = [[evaluation.get(metric.key) for evaluation in own.evaluations] for own in evaluators]
    every = [result for run in runs for result in run if result is not None]
    levels: dict[str, list[Reference]] = {}
    # The metric's own order, in which the last is its chance level; a cycle may lack some of them.
    for result in sorted(every, key=lambda result: -len(result.references)):
        for level in result.references if result.defined or not any(one.defined for one in every) else ():
            levels.setdefault(level.name, []).append(level)
    return Trajectory(
        [np.array([np.nan if result is None else result.value for result in run]) for run in runs],
        tuple(Reference(name, float(np.mean([one.value for one in own])), own[0].kind) for name, own in levels.items()),
        conditions,
        tuple(dict.fromkeys(result.reason for result in every if result.reason)),
        tuple(dict.fromkeys(warning for result in every for warning in result.warnings)),
        metric.bounds if metric.direction == "higher" and np.isfinite(metric.bounds).all() else None,
    )


def without_copies(evaluators: Sequence[AdaptiveEvaluator]) -> list[AdaptiveEvaluator]:
    """The first of all runs with the same births and embeddings: the others say nothing new."""
    first: dict[Any, AdaptiveEvaluator] = {}
    for number, own in enumerate(evaluators):
        first.setdefault(own.fingerprint or number, own)
    return list(first.values())


def summary(runs: Runs, shared: tuple[str, str] | None = None) -> Evaluation:
    """All runs: by condition if there are several, otherwise by cycle. A single cycle is returned unchanged.

    Conditions are not averaged: with several, values are only in the breakdown by condition.
    """
    evaluators = list(runs.values())
    first = evaluators[0]
    names = list(dict.fromkeys(condition for condition, _ in runs))
    if len(evaluators) == len(first.evaluations) == 1:
        return first.evaluations[0]
    results = means(evaluators, len(names))
    several = len(names) > 1
    breakdowns = {"condition": _by_condition(runs, names)} if several else {"cycle": _by_cycle(evaluators)}
    every = [evaluation for own in evaluators for evaluation in own.evaluations]
    return Evaluation(
        "evolution",
        results.values(),
        conventions=first.evaluations[0].conventions,
        options=first.options.described | {"conditions": names},
        breakdowns=breakdowns,
        skipped=first.evaluations[0].skipped,
        drawings=lambda: drawings(runs),
        materials={
            "balances": tuple(entry for one in every for entry in one._materials["balances"]),
            "paired": tuple(entry for one in every for entry in one._materials["paired"] or ()),
            "sides": next((one for own in evaluators if (one := own.evaluations[0]._materials["sides"])), None),
            "held": next((one for own in evaluators if (one := own.evaluations[0]._materials["held"])), None),
            "notes": tuple(_first_notes(every)),
            "copies": {
                name: count for name in names if (count := len(own := _of(runs, name)) - len(without_copies(own)))
            },
            "shared": shared,
        },
    )


def _of(runs: Runs, condition: str) -> list[AdaptiveEvaluator]:
    return [own for run, own in runs.items() if run[0] == condition]


def _by_condition(runs: Runs, names: list[str]) -> Grid:
    groups = [_of(runs, name) for name in names]
    each = [means(group) for group in groups]
    columns: dict[str, Any] = {
        "condition": np.array(names),
        "n": np.array([sum(len(own.evaluations) for own in group) for group in groups]),
    }
    for key in dict.fromkeys(key for results in each for key in results):
        found = [results.get(key) for results in each]
        columns[key] = np.array([np.nan if result is None else result.value for result in found])
        ends = [(np.nan, np.nan) if one is None or one.interval is None else tuple(one.interval) for one in found]
        columns[f"{key}.low"], columns[f"{key}.high"] = np.array(ends).T
    return Grid(columns)


def _by_cycle(evaluators: Sequence[AdaptiveEvaluator]) -> Grid:
    """Each cycle's mean over seeds."""
    cycles, present = by_cycle(evaluators, "cycle")
    columns: dict[str, Any] = {"cycle": cycles, "n": np.count_nonzero(~np.isnan(present), axis=0)}
    for key in evaluators[0].evaluations[0]:
        columns[key] = _mean(by_cycle(evaluators, key)[1])
    return Grid(columns)


def _mean(values: Floats) -> Floats:
    count = np.count_nonzero(~np.isnan(values), axis=0)
    return np.asarray(np.nansum(values, axis=0) / np.where(count, count, np.nan))


def by_cycle(evaluators: Sequence[AdaptiveEvaluator], key: str) -> tuple[Ints, Floats]:
    """All cycles, and one row per run with the value of each cycle, NaN if it has none."""
    histories = [own.history for own in evaluators]
    cycles = np.unique(np.concatenate([history["cycle"] for history in histories])).astype(np.int64)
    values = np.full((len(histories), len(cycles)), np.nan)
    for row, history in enumerate(histories):
        if key in history:
            values[row, np.searchsorted(cycles, history["cycle"])] = history[key]
    return cycles, values


def drawings(runs: Runs) -> dict[str, Grid]:
    """What the dashboard is drawn from: a row per condition and cycle, with the mean over seeds of every metric."""
    rows = []
    for name in dict.fromkeys(condition for condition, _ in runs):
        own = _of(runs, name)
        cycles, _ = by_cycle(own, "cycle")
        values = {key: _mean(by_cycle(own, key)[1]) for key in own[0].history if key != "cycle"}
        rows.append({"condition": np.full(len(cycles), name), "cycle": cycles, **values})
    keys = [key for key in rows[0] if all(key in row for row in rows)]
    return {"cycles": Grid({key: np.concatenate([row[key] for row in rows]) for key in keys})}


def _first_notes(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Each kind of note once, from the first cycle that has it; its numbers may differ between cycles."""
    seen: set[str] = set()
    for evaluation in evaluations:
        for note in evaluation._materials["notes"]:
            kind = "".join(letter for letter in note if not letter.isdigit())
            if kind not in seen:
                seen.add(kind)
                yield f"{note} (cycle {evaluation.options['cycle']})"
