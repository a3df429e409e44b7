"""Summaries of runs: means over cycles and over seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.loop import measured
from graphgauge.old.core.metric import Baseline, Metric, find
from graphgauge.old.core.result import Result, Table
from graphgauge.old.evolution.evaluator import AdaptiveEvaluator
from graphgauge.old.evolution.samples import ONE_RUN, Trajectory

# Condition and seed.
Run = tuple[str, int]
Runs = Mapping[Run, AdaptiveEvaluator]


def means(evaluators: Sequence[AdaptiveEvaluator], conditions: int = 1) -> dict[str, Result]:
    """Every metric as the mean over runs of the mean over their cycles; copies of a run count once."""
    evaluators = without_copies(evaluators)
    first = evaluators[0]
    chosen = [find(key, "evolution") for key in first.evaluations[0]]
    found = measured(
        [(replace(metric, function=Trajectory.estimate, unit="cycle"), params) for metric, params in chosen],
        lambda metric: _trajectory(metric, evaluators, conditions),
        confidence=first.confidence,
        conventions=first.evaluations[0].conventions,
    )
    return {result.key: result for result in found.results}


def without_copies(evaluators: Sequence[AdaptiveEvaluator]) -> list[AdaptiveEvaluator]:
    """The first of all runs with the same births and embeddings: the others say nothing new."""
    first: dict[Any, AdaptiveEvaluator] = {}
    for number, own in enumerate(evaluators):
        first.setdefault(own.fingerprint or number, own)
    return list(first.values())


def summary(
    runs: Runs, figure: Callable[[Evaluation, str | Path], None], shared: tuple[str, str] | None = None
) -> Evaluation:
    """All runs: by condition if there are several, otherwise by cycle. A single cycle is returned unchanged.

    Conditions are not averaged: with several, values are only in the breakdown by condition.
    """
    evaluators = list(runs.values())
    first = evaluators[0]
    if len(evaluators) == len(first.evaluations) == 1:
        one = first.evaluations[0]
        return Evaluation(
            "evolution",
            list(one.values()),
            conventions=one.conventions,
            options=one.options,
            skipped=one.skipped,
            findings=one.findings,
            notes=one.notes,
            figure=figure,
        )
    names = list(dict.fromkeys(condition for condition, _ in runs))
    results = means(evaluators, len(names))
    notes = [f"{note} (cycle {cycle})" for cycle, note in _first_notes(evaluators)]
    if any(result.defined and result.no_interval == ONE_RUN for result in results.values()):
        notes.append(f"no interval: {ONE_RUN}")
    for name in names:
        own = [evaluator for run, evaluator in runs.items() if run[0] == name]
        if copies := len(own) - len(without_copies(own)):
            notes.append(f"{name}: runs with the births and embeddings of an earlier seed, counted once: {copies}")
    by_condition = _by_condition(runs, names) if len(names) > 1 else None
    return Evaluation(
        "evolution",
        list(results.values()),
        conventions=first.evaluations[0].conventions,
        options=first.described | {"conditions": names},
        breakdowns={"cycle": _by_cycle(runs)} if by_condition is None else {"condition": by_condition},
        skipped=first.evaluations[0].skipped,
        materials={
            "by_condition": by_condition,
            "balances": tuple(
                entry for own in evaluators for one in own.evaluations for entry in one.materials["balances"]
            ),
            "sides": next((one for own in evaluators if (one := own.evaluations[0].materials["sides"])), None),
            "held": next((one for own in evaluators if (one := own.evaluations[0].materials["held"])), None),
            "shared": shared,
        },
        notes=tuple(notes),
        figure=figure,
    )


def _trajectory(metric: Metric, evaluators: Sequence[AdaptiveEvaluator], conditions: int) -> Trajectory:
    results = [[evaluation[metric.key] for evaluation in own.evaluations] for own in evaluators]
    every = [result for run in results for result in run]
    levels: dict[str, list[float]] = {}
    kinds = {chance.name: Baseline if chance.kind == "baseline" else float for one in every for chance in one.chance}
    # The metric's own order, in which the last is its chance level; a cycle may lack some of them.
    longest = max(every, key=lambda result: len(result.chance))
    for name in [*(chance.name for chance in longest.chance), *kinds]:
        levels.setdefault(name, [])
    for result in every:
        if result.defined or not any(one.defined for one in every):
            for chance in result.chance:
                levels[chance.name].append(chance.value)
    return Trajectory(
        [np.array([result.value for result in run]) for run in results],
        {name: kinds[name](float(np.mean(values))) for name, values in levels.items() if values},
        conditions,
        tuple(dict.fromkeys(result.reason for result in every if result.reason)),
        tuple(dict.fromkeys(warning for result in every for warning in result.warnings)),
        metric.bounds if metric.direction == "higher" and np.isfinite(metric.bounds).all() else None,
    )


def _by_condition(runs: Runs, names: list[str]) -> Table:
    groups = [[own for run, own in runs.items() if run[0] == name] for name in names]
    each = [means(group) for group in groups]
    columns: dict[str, Any] = {
        "condition": np.array(names),
        "n": np.array([sum(len(own.evaluations) for own in group) for group in groups]),
    }
    for key in each[0]:
        columns[key] = np.array([results[key].value for results in each])
        limits = np.array([tuple(results[key].interval or (np.nan, np.nan)) for results in each])
        columns[f"{key}.low"], columns[f"{key}.high"] = limits[:, 0], limits[:, 1]
    return Table("condition", columns)


def _by_cycle(runs: Runs) -> Table:
    """Each cycle's mean over seeds."""
    evaluators = list(runs.values())
    cycles, present = by_cycle(evaluators, "cycle")
    columns: dict[str, Any] = {"cycle": cycles, "n": np.count_nonzero(~np.isnan(present), axis=0)}
    for key in evaluators[0].evaluations[0]:
        values = by_cycle(evaluators, key)[1]
        count = np.count_nonzero(~np.isnan(values), axis=0)
        columns[key] = np.nansum(values, axis=0) / np.where(count, count, np.nan)
    return Table("cycle", columns)


def by_cycle(evaluators: Sequence[AdaptiveEvaluator], key: str) -> tuple[Ints, Floats]:
    """All cycles, and one row per run with the value of each cycle, NaN if it has none."""
    histories = [own.history for own in evaluators]
    cycles = np.unique(np.concatenate([history["cycle"] for history in histories])).astype(np.int64)
    values = np.full((len(histories), len(cycles)), np.nan)
    for row, history in enumerate(histories):
        values[row, np.searchsorted(cycles, history["cycle"])] = history[key]
    return cycles, values


def _first_notes(evaluators: Sequence[AdaptiveEvaluator]) -> Iterator[tuple[int, str]]:
    """Each kind of note once, from the first cycle that has it; its numbers may differ between cycles."""
    seen: set[str] = set()
    for own in evaluators:
        for evaluation in own.evaluations:
            for note in evaluation.notes:
                kind = "".join(letter for letter in note if not letter.isdigit())
                if kind not in seen:
                    seen.add(kind)
                    yield evaluation.options["cycle"], note
