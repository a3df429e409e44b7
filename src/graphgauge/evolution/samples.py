"""Samples of a cycle that are single numbers, and of whole runs: one metric over cycles and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, NoInterval, whole
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats
from graphgauge.stats.intervals import of_mean

CONDITIONS_APART = "conditions are not averaged: read it by condition"
ONE_RUN = "one run of many cycles has no interval; run more seeds"


@dataclass(frozen=True)
class Kept:
    """The fate of the edges born in earlier cycles: how many were, and how many are in the graph after this one."""

    born: int
    alive: int

    @property
    def share(self) -> float:
        return self.alive / self.born if self.born else np.nan


@dataclass(frozen=True)
class Growth:
    """Growth of the whole graph: the value of the cycle, smoothed or as given."""

    tgc: float
    nodes: int


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
