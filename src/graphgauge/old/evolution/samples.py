"""Samples for the evolution metrics other than areas: births by label, a probe, growth, and whole runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.old.core.metric import Bounds, Estimate, IntervalRule, NoInterval
from graphgauge.old.evolution.inputs import Flags
from graphgauge.old.stats.dyads import Dyads
from graphgauge.old.stats.intervals import logit_t_interval, mean_interval, wilson_interval

CONDITIONS_APART = "conditions are not averaged: read it by condition"
ONE_RUN = "one run of many cycles has no interval; run more seeds"


def single(value: float, n: int, reason: str, warnings: tuple[str, ...] = ()) -> Estimate:
    return Estimate(np.array([float(value)]), np.array([n]), reason=reason, warnings=warnings)


@dataclass(frozen=True)
class LabelPairs:
    """Births with both labels known: their nodes and classes, and two chance levels of agreement.

    `classes` has the class of either end; `kinds` is the number of classes that nodes have, `labelled` that of nodes.
    """

    classes: Ints
    ends: Ints
    births: int
    kinds: int
    labelled: int
    random: float
    by_degree: float
    directed: bool = False

    def __len__(self) -> int:
        return len(self.classes)

    @property
    def reason(self) -> str:
        return "no births" if not self.births else "no birth has two nodes with labels"

    @cached_property
    def same(self) -> Flags:
        return np.asarray(self.classes[:, 0] == self.classes[:, 1])

    @cached_property
    def share(self) -> float:
        return float(np.count_nonzero(self.same) / len(self.same)) if len(self.same) else np.nan

    @cached_property
    def dyads(self) -> Dyads:
        return Dyads(self.ends)

    @cached_property
    def _intervals(self) -> dict[float, Bounds]:
        return {}

    def interval(self, confidence: float) -> Bounds:
        """The interval of the share; computed once for all metrics that differ by a constant."""
        if confidence not in self._intervals:
            if self.dyads.independent:
                bounds = wilson_interval(np.count_nonzero(self.same), len(self.same), confidence)
            else:
                bounds = logit_t_interval(self.share, *self.dyads.error(self.same), confidence)
            self._intervals[confidence] = bounds
        return self._intervals[confidence]

    def difference(self, baseline: float, missing: str) -> Estimate:
        reason = self.reason
        if self.kinds < 2:
            baseline, reason = np.nan, "fewer than two classes: every pair agrees"
        elif np.isnan(baseline):
            reason = missing
        return single(self.share - baseline, len(self.same), reason)

    # ---- the ends of the births, paired at random

    @cached_property
    def ends_by_class(self) -> tuple[Floats, Floats]:
        """How many ends each class has: of sources and of targets; without direction, half of all for either."""
        size = int(self.classes.max(initial=-1)) + 1
        first, second = (np.bincount(column, minlength=size).astype(float) for column in self.classes.T)
        return (first, second) if self.directed else ((first + second) / 2, (first + second) / 2)

    @cached_property
    def by_ends(self) -> float:
        """The share in the same class if the ends of the births were paired at random, every node keeping its number.

        With direction, sources are paired with targets. Without, an end is paired with one of any other node: nodes
        have weights whose products are the expected numbers of births of each pair (quasi-independence).
        """
        n = len(self)
        if n < 1 or (not self.directed and n < 2):
            return np.nan
        if self.directed:
            first, second = self.ends_by_class
            return float(first @ second / n**2)
        return float(self._partners.mean())

    @cached_property
    def _partners(self) -> Floats:
        """For each end of each birth, the share of the nodes that it could be paired with, by weight, in its class."""
        nodes, place, degrees = np.unique(self.ends, return_inverse=True, return_counts=True)
        place = place.reshape(-1, 2)
        weights, hub = pair_weights(degrees)
        own = np.zeros(len(nodes), np.int64)
        own[place] = self.classes
        in_class = np.bincount(own, weights)
        shares = (in_class[own] - weights) / (weights.sum() - weights)
        if hub is not None:  # all births are of one node: the others can be paired with it alone
            shares = np.where(np.arange(len(nodes)) == hub, shares, own == own[hub])
        return np.asarray(shares[place])

    def beyond_ends(self) -> Floats:
        """Each birth's contribution to the share minus `by_ends`: that of the mean, to first order."""
        if not self.directed:
            return np.asarray(self.same - self._partners.sum(axis=1))
        first, second = self.ends_by_class
        n = max(len(self), 1)
        own = (second[self.classes[:, 0]] + first[self.classes[:, 1]]) / n
        return np.asarray(self.same - own)

    @cached_property
    def squares(self) -> float:
        """Σ of the squared shares of ends by class: agreement if ends were drawn with replacement."""
        if not len(self):
            return np.nan
        first, second = self.ends_by_class
        return float(first @ second / len(self) ** 2)

    @cached_property
    def adjusted(self) -> float:
        """Agreement beyond that of drawn ends, over its maximum (Platonov et al. 2023)."""
        return np.nan if not self.squares < 1 else (self.share - self.squares) / (1 - self.squares)

    def adjusted_influence(self) -> Floats:
        """The contribution of each birth to `adjusted`, to first order."""
        first, second = self.ends_by_class
        own = (second[self.classes[:, 0]] + first[self.classes[:, 1]]) / max(len(self), 1)
        room = 1 - self.squares
        return np.asarray((self.same - own) / room + (self.share - self.squares) * own / room**2)


def pair_weights(degrees: Ints) -> tuple[Floats, int | None]:
    """Weights x of nodes with x_u · Σ_{v ≠ u} x_v = d_u, and the node that has all births, if there is one.

    x_u is a root of x(S − x) = d_u, the smaller one unless one node has nearly as many births as all others together;
    S is the sum of the weights. A node with all births has an unbounded weight: here the weights of the others count.
    """
    from scipy.optimize import brentq

    sizes, place, count = np.unique(np.asarray(degrees, float), return_inverse=True, return_counts=True)
    largest, total = float(sizes[-1]), float(sizes @ count)
    if count[-1] == 1 and 2 * largest >= total * (1 - 1e-12):
        return np.asarray(degrees, float), int(np.argmax(degrees))

    def small(sum_: float) -> Floats:
        # Stable for large sums, where S − √(S² − 4d) would cancel.
        return np.asarray(2 * sizes / (sum_ + np.sqrt(np.maximum(sum_**2 - 4 * sizes, 0.0))))

    lowest = 2 * np.sqrt(largest)
    if small(lowest) @ count >= lowest:
        high = lowest
        while small(high) @ count > high:
            high *= 2
        sum_ = float(brentq(lambda own: small(own) @ count - own, lowest, high)) if high > lowest else lowest
        return small(sum_)[place], None

    # The largest takes the larger root: the weights of all others make up its smaller one.
    def rest(sum_: float) -> float:
        return float(small(sum_) @ count - 2 * small(sum_)[-1])

    high = lowest
    while rest(high) < 0:
        high *= 2
    sum_ = float(brentq(rest, lowest, high)) if high > lowest else lowest
    weights = small(sum_)
    weights[-1] = largest / weights[-1]
    return weights[place], None


@dataclass(frozen=True)
class Kept:
    """The fate of the edges born in earlier cycles: how many were, and how many are in the graph after this one."""

    born: int
    alive: int

    @property
    def share(self) -> float:
        return self.alive / self.born if self.born else np.nan


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
        if self.conditions > 1:
            return single(np.nan, self.cycles, CONDITIONS_APART, self.warnings)
        value = float(self.means.mean()) if len(self.means) else np.nan
        missing = sum(len(run) for run in self.runs) - self.cycles
        left_out = (f"{missing} cycles have no value ({'; '.join(self.reasons)}) and are left out of the mean",)
        warnings = left_out if missing and self.cycles else ()
        return single(value, self.cycles, "; ".join(self.reasons) or "no cycles", (*self.warnings, *warnings))

    def rule(self) -> IntervalRule | NoInterval:
        if self.conditions > 1:
            return NoInterval(CONDITIONS_APART)
        if len(self.means) > 1:
            return IntervalRule("t", "seeds", lambda sample, estimate, level: self._over_seeds(estimate, level))
        return NoInterval(ONE_RUN)

    def _over_seeds(self, estimate: Estimate, confidence: float) -> Bounds:
        values = self.means
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
