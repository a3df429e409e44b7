"""The evolution metrics: one function each, with its declared facts.

Intervals are over the births of one cycle: births that share a node err together (`stats.dyads`), and drawn negatives
add their error. Over several cycles a metric is that of a `Trajectory`, with intervals over seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from graphgauge.core.metric import AS_CHOSEN, Bounds, Estimate, Exempt, Metric, NoChance, NoInterval, whole
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference, Result
from graphgauge.core.types import Floats
from graphgauge.evolution.areas import Area
from graphgauge.evolution.cycle import State
from graphgauge.evolution.homophily import Folds, LabelPairs
from graphgauge.stats.dyads import FEWEST_DYADIC_DF, TOO_FEW
from graphgauge.stats.errors import sample_std
from graphgauge.stats.intervals import of_area, of_mean

# With fewer births within a class, or between classes, normal approximations to shares are poor.
_FEW_OF_A_KIND = 3
_NO_DEGREES = "the graph before the cycle has no edges"
_TOO_FEW_LABELS = "fewer than two labelled nodes"
CONDITIONS_APART = "conditions are not averaged: read it by condition"
ONE_RUN = "one run of many cycles has no interval; run more seeds"


# ---- intervals


def _over_births(area: Area, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """logit-t over births; those that share a node err together; sampled negatives add their error."""
    if len(area) and area.dyads.df < FEWEST_DYADIC_DF:
        return NoInterval(TOO_FEW)
    return of_area(estimate.value, *area.error(), confidence, over="births")


def _over_labelled(pairs: LabelPairs, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """That of the share, shifted by the level it is compared with."""
    if len(pairs) and not pairs.dyads.independent and pairs.dyads.df < FEWEST_DYADIC_DF:
        return NoInterval(TOO_FEW)
    own, shift = pairs.share_bounds(confidence), estimate.value - pairs.share
    return Bounds(own.low + shift, own.high + shift, own.method, own.over, own.fewest)


def _linearised(influence: Callable[[LabelPairs], Floats]) -> Callable[[LabelPairs, Estimate, float], Any]:
    def bounds(pairs: LabelPairs, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
        """t over births, to first order; those that share a node err together."""
        if len(pairs) and pairs.dyads.df < FEWEST_DYADIC_DF:
            return NoInterval(TOO_FEW)
        error = pairs.dyads.error(influence(pairs))
        found = of_mean(estimate.value, *error, confidence, over="births", scale=1.0)
        if min(np.count_nonzero(pairs.agreement), np.count_nonzero(~pairs.agreement)) >= _FEW_OF_A_KIND:
            return found
        # With few births of a kind, a variance to first order misses what the interval of the share knows.
        room = 1.0 if influence is LabelPairs.by_ends_influence else 1 - pairs.squares
        own = pairs.share_bounds(confidence)
        low, high = (estimate.value + (end - pairs.share) / room for end in (own.low, own.high))
        return Bounds(np.fmin(found.low, low), np.fmax(found.high, high), found.method, "births")

    return bounds


def _over_folds(folds: Folds, estimate: Estimate, confidence: float) -> Bounds:
    """t over the folds, which share most of their training data."""
    n = len(folds.accuracies)
    error = folds.accuracies.std(ddof=1) / np.sqrt(n)
    return of_mean(estimate.value, error, n - 1, confidence, over="folds", scale=1.0)


# ---- reference levels, the last of which is shown beside the value


def _levels(*levels: Reference) -> Iterator[Reference]:
    return (level for level in levels if not np.isnan(level.value))


def _coin(area: Area) -> Iterator[Reference]:
    """Simple scores of drawn pairs (`auc_birth`), and a constant scorer."""
    simple = (Reference(name, value, "baseline") for name, value in area.baselines.items())
    return _levels(*simple, Reference("constant scorer", 0.5))


def _nulls(pairs: LabelPairs, level: float) -> Iterator[Reference]:
    """The ends of the births paired at random, pairs drawn in proportion to degrees before, and random pairs."""
    return _levels(
        Reference("ends paired at random", pairs.by_ends - level),
        Reference("pairs by degree", pairs.by_degree - level),
        Reference("random pairs", pairs.random - level),
    )


def _no_adjusted_agreement(pairs: LabelPairs) -> Iterator[Reference]:
    """The ends of the births, paired at random, but no node with itself: below 0 if births share hubs."""
    room = 1 - pairs.squares
    # A single birth has only its own ends.
    level = pairs.share if np.isnan(pairs.by_ends) else pairs.by_ends
    return _levels(Reference("ends paired at random", (level - pairs.squares) / room if room > 0 else np.nan))


def _zero(name: str) -> Callable[[LabelPairs], Iterator[Reference]]:
    return lambda pairs: _levels(Reference(name, 0.0))


# ---- estimates


def _area_of(area: Area) -> Estimate:
    return whole(area.value, len(area), reason=area.reason, warnings=area.warnings)


def _beyond(pairs: LabelPairs, level: float, missing: str) -> Estimate:
    """The share of births within a class, minus a level of chance."""
    reason = pairs.reason
    if pairs.class_count < 2:
        level, reason = np.nan, "fewer than two classes: every pair agrees"
    elif np.isnan(level):
        reason = missing
    return whole(pairs.share - level, len(pairs), reason=reason, warnings=pairs.warnings)


# ---- declarations

_LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("cycles are evaluated as a whole and averaged"),
    "monotone": True,
    "symmetry": Exempt("births and non-edges have different roles"),
}
_TOGETHER = _LAWS | {"monotone": Exempt("a changed birth also changes the ends that are paired at random")}
_PLAIN = {"empty": "nan"}
_NEGATIVES = _PLAIN | {"negatives": AS_CHOSEN}
_TIES = _NEGATIVES | {"ties": "count half"}
_metric = partial(metric, family="evolution", laws=_LAWS)
_area = partial(
    _metric,
    direction="higher",
    bounds=(0, 1),
    unit="birth",
    reference="hanley1982",
    conventions=_TIES,
    chance=_coin,
    interval=_over_births,
    laws=_LAWS | {"monotone": Exempt("a changed birth also changes the non-edges, so both sides change")},
)
_homophily = partial(
    _metric,
    needs=("labels",),
    direction="higher",
    bounds=(-1, 1),
    unit="birth",
    reference="newman2003",
    conventions=_PLAIN | {"births": "with both labels known"},
    interval=_over_labelled,
)
_probed = partial(
    _metric,
    needs=("probe",),
    bounds=(0, 1),
    unit="node",
    reference="alain2017",
    conventions=_PLAIN | {"probe": "logistic regression, scaled within stratified folds"},
    laws=_LAWS | {"monotone": Exempt("the probe is refitted to every input")},
)
_UNSCORED: dict[str, Any] = {
    "direction": "none",
    "chance": NoChance("a count, a rate or a spread is not scored"),
    "interval": NoInterval("a count or rate of one cycle, not an estimate"),
}
_count = partial(_metric, bounds=(0, np.inf), unit="node", conventions=_NEGATIVES, **_UNSCORED)


@_area("auc_synthetic", default=True, needs=("after",))
def auc_synthetic(area: Area) -> Estimate:
    """Probability that a birth is closer than a non-edge of original nodes, on the embeddings after the cycle.

    Circular if these were smoothed over the births: read it together with `auc_birth`.
    """
    return _area_of(area)


@_area("auc_birth", default=True, needs=("before",))
def auc_birth(area: Area) -> Estimate:
    """Probability that a birth is closer than a non-edge of original nodes, on the embeddings before the cycle.

    Births with a node that had no embedding before the cycle are left out: see `auc_newborn`. So are births of edges
    that existed before and were removed, because the embeddings have seen them.
    """
    return _area_of(area)


@_area(
    "auc_newborn",
    default=True,
    needs=("newborn",),
    reference="libennowell2007",
    conventions=_TIES | {"newborn": AS_CHOSEN},
)
def auc_newborn(area: Area) -> Estimate:
    """Probability that a new node is closer to the node it is linked to than to another that it could be linked to.

    The new node has its embedding at insertion, the others have those before the cycle; candidates are the nodes of the
    same type and age without an edge to it.
    """
    return _area_of(area)


@_area("auc_matched", default=True, needs=("matched",), reference="yang2015", conventions=_TIES | {"pools": AS_CHOSEN})
def auc_matched(area: Area) -> Estimate:
    """Probability that a birth (u, v) is closer than u and another target of v's pool, before the cycle.

    By default, v's pool are the nodes of similar degree, in powers of two, the same type and the same age, original or
    new. In an undirected graph either end is replaced in turn, and both results are averaged.
    """
    return _area_of(area)


@_area("static_auc", needs=("held_out",), unit="pair", reference="libennowell2007")
def static_auc(area: Area) -> Estimate:
    """Probability that a held-out edge is closer than a non-edge; the usual metric, for contrast."""
    return _area_of(area)


@_homophily(
    "delta_homophily", default=True, reference="mcpherson2001", chance=lambda pairs: _nulls(pairs, pairs.random)
)
def delta_homophily(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the share among random pairs."""
    return _beyond(pairs, pairs.random, _TOO_FEW_LABELS)


@_homophily("delta_homophily_degree", chance=_zero("pairs by degree"))
def delta_homophily_degree(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the share among pairs drawn in proportion to degree."""
    return _beyond(pairs, pairs.by_degree, _NO_DEGREES)


@_homophily("delta_homophily_squares", chance=_zero("random pairs, drawn with replacement"))
def delta_homophily_squares(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the sum of the squared shares of the classes.

    Random pairs drawn with replacement: a node may be paired with itself.
    """
    return _beyond(pairs, pairs.random_squares, _TOO_FEW_LABELS)


@_homophily(
    "delta_homophily_ends",
    chance=_zero("ends paired at random"),
    interval=_linearised(LabelPairs.by_ends_influence),
    laws=_TOGETHER,
)
def delta_homophily_ends(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the share if their ends were paired at random.

    Every node keeps its number of births, so that births to one class alone do not count.
    """
    return _beyond(pairs, pairs.by_ends, "fewer than two births")


@_homophily(
    "adjusted_homophily",
    reference="platonov2023",
    bounds=(-np.inf, 1),
    chance=_no_adjusted_agreement,
    interval=_linearised(LabelPairs.adjusted_influence),
    laws=_TOGETHER,
)
def adjusted_homophily(pairs: LabelPairs) -> Estimate:
    """Homophily of births beyond that of randomly paired ends, as a share of the most that is possible."""
    value = pairs.adjusted if pairs.class_count > 1 else np.nan
    return whole(value, len(pairs), reason=pairs.reason if not len(pairs) else "all ends of births are in one class")


@_homophily("homophily_new_edges", bounds=(0, 1), reference="mcpherson2001", chance=lambda pairs: _nulls(pairs, 0.0))
def homophily_new_edges(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class."""
    return whole(pairs.share, len(pairs), reason=pairs.reason, warnings=pairs.warnings)


@_count("homophily_baseline", needs=("labels",), bounds=(0, 1), reference="newman2003", conventions=_PLAIN)
def homophily_baseline(pairs: LabelPairs) -> Estimate:
    """Share of pairs in the same class among all pairs of labelled nodes."""
    return whole(pairs.random, pairs.node_count, reason=_TOO_FEW_LABELS)


@_count("n_synthetic_positives", needs=("after",), reference="yang2015")
def n_synthetic_positives(area: Area) -> Estimate:
    """Number of births scored by `auc_synthetic`."""
    return whole(len(area) if area.nodes else np.nan, area.nodes, reason="no nodes")


@_count("n_synthetic_negatives", needs=("after",), reference="yang2015")
def n_synthetic_negatives(area: Area) -> Estimate:
    """Number of non-edges that `auc_synthetic` compares births with."""
    return whole(area.negatives if area.nodes else np.nan, area.nodes, reason="no nodes")


@_probed(
    "nca_mean",
    default=True,
    direction="higher",
    chance=lambda folds: _levels(Reference("majority class", folds.majority)),
    interval=_over_folds,
)
def nca_mean(folds: Folds) -> Estimate:
    """Accuracy of a linear probe for the labels, averaged over folds."""
    value = folds.accuracies.mean() if len(folds.accuracies) else np.nan
    return whole(float(value), folds.nodes, reason=folds.reason, warnings=folds.warnings)


@_probed("nca_std", **_UNSCORED)
def nca_std(folds: Folds) -> Estimate:
    """Standard deviation of the probe's accuracy over folds."""
    return whole(sample_std(folds.accuracies), folds.nodes, reason=folds.reason, warnings=folds.warnings)


@_count("retention", needs=("cycle",), bounds=(0, 1), unit="edge", reference="libennowell2007", conventions=_PLAIN)
def retention(state: State) -> Estimate:
    """Share of the edges born in earlier cycles that are in the graph after this one."""
    born, alive = state.kept
    return whole(alive / born if born else np.nan, born, reason="no births in earlier cycles")


@_count("tgc", needs=("cycle",), reference="erdos1960", conventions=_PLAIN | {"tgc": AS_CHOSEN})
def tgc(state: State) -> Estimate:
    """Topological generative capacity: births per node, times the share of nodes in the largest component.

    As reported by the system; otherwise computed after each cycle and smoothed with weight 0.1.
    """
    return whole(state.tgc, state.nodes, reason="no nodes")


# ---- a metric over the cycles and seeds of a condition


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
