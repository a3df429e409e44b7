"""One metric over the cycles and seeds of a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, Metric, NoInterval, whole
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats
from graphgauge.stats.intervals import of_mean

CONDITIONS_APART = "conditions are not averaged: read it by condition"
ONE_RUN = "one run of many cycles has no interval; run more seeds"


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
