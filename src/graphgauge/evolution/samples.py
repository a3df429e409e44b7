"""Samples for the evolution metrics other than areas: births by label, a probe, growth, and whole runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import isqrt
from threading import Lock

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.metric import Bounds, Estimate, IntervalRule, NoInterval
from graphgauge.evolution.inputs import Flags
from graphgauge.stats.intervals import (
    logit_t_interval,
    mean_interval,
    standard_error,
    wilson_interval,
)

# Number of blocks per run: enough for a variance, with blocks long enough to be nearly independent.
_MOST_BLOCKS = 10


def single(value: float, n: int, reason: str, warnings: tuple[str, ...] = ()) -> Estimate:
    return Estimate(np.array([float(value)]), np.array([n]), reason=reason, warnings=warnings)


@dataclass(frozen=True)
class LabelPairs:
    """Births with both labels known: whether they agree, and two chance levels of agreement.

    `source` numbers the source nodes of the births, in order.
    """

    same: Flags
    source: Ints
    births: int
    classes: int
    labelled: int
    random: float
    by_degree: float

    @property
    def reason(self) -> str:
        return "no births" if not self.births else "no birth has two nodes with labels"

    @cached_property
    def share(self) -> float:
        return float(np.count_nonzero(self.same) / len(self.same)) if len(self.same) else np.nan

    @cached_property
    def independent(self) -> bool:
        """Whether every birth has a different source node."""
        return len(self.source) == int(self.source.max(initial=-1)) + 1

    @cached_property
    def _intervals(self) -> dict[float, Bounds]:
        return {}

    def interval(self, confidence: float) -> Bounds:
        """Standard error of the share, clustered by node; computed once for all metrics that differ by a constant."""
        if confidence not in self._intervals:
            if self.independent:
                bounds = wilson_interval(np.count_nonzero(self.same), len(self.same), confidence)
            else:
                error = standard_error(self.same - self.share, np.ones(len(self.same)), cluster=self.source)
                bounds = logit_t_interval(self.share, *error, confidence)
            self._intervals[confidence] = bounds
        return self._intervals[confidence]

    def difference(self, baseline: float, missing: str) -> Estimate:
        reason = self.reason
        if self.classes < 2:
            baseline, reason = np.nan, "fewer than two classes: every pair agrees"
        elif np.isnan(baseline):
            reason = missing
        return single(self.share - baseline, len(self.same), reason)


@dataclass(frozen=True)
class Folds:
    """Accuracy of a linear probe in each fold, and the share of the largest class."""

    accuracies: Floats
    nodes: int
    majority: float
    reason: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Growth:
    """Growth of the whole graph: the value of the cycle, smoothed or as given."""

    tgc: float
    nodes: int


@dataclass(frozen=True)
class Trajectory:
    """One metric over the cycles of runs; each run counts once, as the mean of its cycles that have a value.

    `possible` is the range of possible values, if it is bounded.
    """

    runs: Sequence[Floats]
    chance: Mapping[str, float] = field(default_factory=dict)
    conditions: int = 1
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    possible: tuple[float, float] | None = None

    @cached_property
    def means(self) -> Floats:
        return np.array([run[~np.isnan(run)].mean() for run in self.runs if not np.isnan(run).all()])

    @property
    def cycles(self) -> int:
        return int(sum(np.count_nonzero(~np.isnan(run)) for run in self.runs))

    def estimate(self) -> Estimate:
        value = float(self.means.mean()) if len(self.means) else np.nan
        missing = sum(len(run) for run in self.runs) - self.cycles
        left_out = (f"{missing} cycles have no value ({'; '.join(self.reasons)}) and are left out of the mean",)
        warnings = left_out if missing and self.cycles else ()
        return single(value, self.cycles, "; ".join(self.reasons) or "no cycles", (*self.warnings, *warnings))

    def rule(self) -> IntervalRule | NoInterval:
        if self.conditions > 1:
            return NoInterval("conditions are not a sample: read them one by one")
        if len(self.means) > 1:
            return IntervalRule("t", "seeds", lambda sample, estimate, level: self._t(estimate, self.means, level))
        blocks = self._blocks()
        if len(blocks) < 2:
            return NoInterval("one run has too few cycles for an interval")
        return IntervalRule(
            "t", "time blocks", lambda sample, estimate, level: self._t(estimate, blocks, level), approximate=True,
            note="neighbouring blocks of one run may be correlated",
        )  # fmt: skip

    def _blocks(self) -> Floats:
        """Means of consecutive cycles, because single cycles are correlated with their neighbours."""
        values = np.concatenate([run[~np.isnan(run)] for run in self.runs]) if self.runs else np.empty(0)
        count = min(_MOST_BLOCKS, isqrt(len(values)))
        edges = [len(values) * i // count for i in range(count + 1)] if count else [0]
        return np.array([values[a:b].mean() for a, b in pairwise(edges)])

    def _t(self, estimate: Estimate, values: Floats, confidence: float) -> Bounds:
        scale = float(np.abs(values if self.possible is None else self.possible).max())
        return mean_interval(estimate.value, values - values.mean(), self.possible, confidence, scale)


_STEPS = 1000
_filters = Lock()


def probe(points: Floats, classes: Ints, *, folds: int, seed: int) -> Folds:
    """Stratified folds; the scaler is fitted on the training part only."""
    counts = np.bincount(classes) if len(classes) else np.empty(0, np.int64)
    counts = counts[counts > 0]
    nodes = len(classes)
    majority = float(counts.max() / nodes) if nodes else np.nan
    if nodes == 0:
        return Folds(np.empty(0), 0, majority, "no labelled nodes")
    if len(counts) < 2:
        return Folds(np.empty(0), nodes, majority, "all labels are of one class")
    if nodes - counts.max() < 2:
        return Folds(
            np.empty(0),
            nodes,
            majority,
            "one node is outside the largest class: a training set would lack it",
        )
    if points.shape[1] == 0:
        return Folds(np.empty(0), nodes, majority, "the embeddings have no dimensions")
    if nodes < folds or counts.max() < folds:
        return Folds(np.empty(0), nodes, majority, f"no class has {folds} nodes, one per fold")
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    said = []
    if counts.min() < folds:
        said.append(f"classes with fewer nodes than folds: {np.count_nonzero(counts < folds)}")
    accuracies, steps = [], 0
    # Warnings ignored here are reported below; filters are global, so one thread at a time changes them.
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        split = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
        for training, test in split.split(points, classes):
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=_STEPS))
            model.fit(points[training], classes[training])
            accuracies.append(float(np.mean(model.predict(points[test]) == classes[test])))
            steps = max(steps, int(model[-1].n_iter_.max()))
    if steps >= _STEPS:
        said.append(f"the probe did not converge within {_STEPS} steps")
    return Folds(np.array(accuracies), nodes, majority, warnings=tuple(said))
