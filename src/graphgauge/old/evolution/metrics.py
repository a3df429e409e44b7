"""The evolution metrics: one function each, with its declared facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.old.core.metric import (
    AS_CHOSEN,
    Baseline,
    Bounds,
    ChanceFunction,
    Estimate,
    Exempt,
    IntervalChoice,
    IntervalRule,
    MetricFunction,
    NoChance,
    NoInterval,
    metric,
)
from graphgauge.old.evolution.areas import Area
from graphgauge.old.evolution.samples import Folds, Growth, Kept, LabelPairs, Trajectory, single
from graphgauge.old.stats.dyads import FEWEST_DYADIC_DF, TOO_FEW
from graphgauge.old.stats.intervals import logit_t_interval, mean_interval, sample_std, t_interval

_OVER_RUNS = "For several runs: Student's t over seeds. For one run of many cycles: none."
# With fewer births within a class, or between classes, normal approximations to shares are poor.
_FEW_OF_A_KIND = 3
_NO_DEGREES = "the graph before the cycle has no edges"


def _or_runs(own: IntervalChoice) -> IntervalChoice:
    """The rule for one cycle, or the rule for runs if the sample is several cycles."""

    def choice(sample: Any, estimate: Estimate) -> IntervalRule | NoInterval:
        return sample.rule() if isinstance(sample, Trajectory) else own(sample, estimate)

    choice.__doc__ = f"{own.__doc__} {_OVER_RUNS}"
    return choice


def _levels(own: Callable[[Any], Mapping[str, float]]) -> ChanceFunction:
    def chance(function: MetricFunction, sample: Any, params: Mapping[str, Any]) -> Mapping[str, float]:
        levels = sample.chance if isinstance(sample, Trajectory) else own(sample)
        return {name: level for name, level in levels.items() if level == level}

    chance.__doc__ = own.__doc__
    return chance


def _area_bounds(area: Area, estimate: Estimate, confidence: float) -> Bounds:
    return logit_t_interval(estimate.value, *area.error(), confidence)


@_or_runs
def _over_births(area: Area, estimate: Estimate) -> IntervalRule | NoInterval:
    """t on the logit scale over births; those that share a node err together; sampled negatives add their error."""
    if len(area) and area.dyads.df < FEWEST_DYADIC_DF:
        return NoInterval(TOO_FEW)
    return IntervalRule("logit t", "births", _area_bounds)


def _coin(area: Area) -> Mapping[str, float]:
    """A constant scorer: half of the pairs are farther apart."""
    return {"constant scorer": 0.5}


def _coin_and_baselines(area: Area) -> Mapping[str, float]:
    """A constant scorer, and simple scores of the graph before: Adamic–Adar and preferential attachment."""
    return {**{name: Baseline(value) for name, value in area.baselines.items()}, **_coin(area)}


def _share_bounds(pairs: LabelPairs, estimate: Estimate, confidence: float) -> Bounds:
    shift = estimate.value - pairs.share
    low, high = pairs.interval(confidence)
    return low + shift, high + shift


@_or_runs
def _over_labelled(pairs: LabelPairs, estimate: Estimate) -> IntervalRule | NoInterval:
    """Wilson's over births; if some share a node, t on the logit scale, in which these err together."""
    if len(pairs) and not pairs.dyads.independent and pairs.dyads.df < FEWEST_DYADIC_DF:
        return NoInterval(TOO_FEW)
    return IntervalRule("wilson" if pairs.dyads.independent else "logit t", "births", _share_bounds)


def _linear(influence: Callable[[LabelPairs], Floats]) -> Callable[[LabelPairs, Estimate, float], Bounds]:
    def bounds(pairs: LabelPairs, estimate: Estimate, confidence: float) -> Bounds:
        low, high = t_interval(estimate.value, *pairs.dyads.error(influence(pairs)), confidence, scale=1.0)
        few = min(np.count_nonzero(pairs.same), np.count_nonzero(~pairs.same))
        if few >= _FEW_OF_A_KIND:
            return low, high
        # With few births of a kind, a variance to first order misses what the interval of the share knows.
        room = 1.0 if influence is LabelPairs.beyond_ends else 1 - pairs.squares
        outer = [estimate.value + (end - pairs.share) / room for end in pairs.interval(confidence)]
        return np.fmin(low, outer[0]), np.fmax(high, outer[1])

    return bounds


def _linearised(influence: Callable[[LabelPairs], Floats]) -> IntervalChoice:
    @_or_runs
    def choice(pairs: LabelPairs, estimate: Estimate) -> IntervalRule | NoInterval:
        """t over births, to first order; those that share a node err together."""
        if len(pairs) and pairs.dyads.df < FEWEST_DYADIC_DF:
            return NoInterval(TOO_FEW)
        return IntervalRule("t", "births", _linear(influence))

    return choice


def _no_agreement(pairs: LabelPairs) -> Mapping[str, float]:
    """The ends of the births, paired at random."""
    return {"ends paired at random": 0.0}


def _no_adjusted_agreement(pairs: LabelPairs) -> Mapping[str, float]:
    """The ends of the births, paired at random, but no node with itself: below 0 if births share hubs."""
    room = 1 - pairs.squares
    # A single birth has only its own ends.
    level = pairs.share if np.isnan(pairs.by_ends) else pairs.by_ends
    return {"ends paired at random": (level - pairs.squares) / room if room > 0 else np.nan}


def _chance_agreement(pairs: LabelPairs) -> Mapping[str, float]:
    """Random pairs, pairs drawn in proportion to degrees before the cycle, and the births' ends paired at random."""
    return {"ends paired at random": pairs.by_ends, "pairs by degree": pairs.by_degree, "random pairs": pairs.random}


def _no_difference(pairs: LabelPairs) -> Mapping[str, float]:
    """Births between random nodes, births drawn in proportion to degree, and the births' ends paired at random."""
    return {
        "ends paired at random": pairs.by_ends - pairs.random,
        "pairs by degree": pairs.by_degree - pairs.random,
        "random pairs": 0.0,
    }


def _no_difference_by_degree(pairs: LabelPairs) -> Mapping[str, float]:
    """Births drawn in proportion to degrees before the cycle."""
    return {"pairs by degree": 0.0}


def _fold_bounds(folds: Folds, estimate: Estimate, confidence: float) -> Bounds:
    return mean_interval(estimate.value, folds.accuracies - folds.accuracies.mean(), None, confidence)


@_or_runs
def _over_folds(folds: Folds, estimate: Estimate) -> IntervalRule:
    """t over the folds, which share most of their training data."""
    return IntervalRule("t", "folds", _fold_bounds)


def _majority(folds: Folds) -> Mapping[str, float]:
    """Always the largest class."""
    return {"majority class": folds.majority}


@_or_runs
def _only_runs(sample: Any, estimate: Estimate) -> NoInterval:
    """None for one cycle, because its value is not an estimate."""
    return NoInterval("a count or rate of one cycle, not an estimate")


_TOGETHER = Exempt("a changed birth also changes the ends that are paired at random")
_WHOLE = Exempt("cycles are evaluated as a whole and averaged")
_BOTH_SIDES = Exempt("a changed birth also changes the non-edges, so both sides of the comparison change")
_PARTS = Exempt("births and non-edges have different roles")
_LAWS: dict[str, bool | Exempt] = {"permutation": True, "merge": _WHOLE, "monotone": True, "symmetry": _PARTS}
_AREA: dict[str, Any] = {
    "family": "evolution",
    "direction": "higher",
    "bounds": (0, 1),
    "unit": "birth",
    "reference": "hanley1982",
    "conventions": {"ties": "count half", "empty": "nan", "negatives": AS_CHOSEN},
    "chance": _levels(_coin),
    "interval": _over_births,
    "laws": _LAWS | {"monotone": _BOTH_SIDES},
}
_COUNT: dict[str, Any] = {
    "family": "evolution",
    "needs": ("after",),
    "direction": "none",
    "bounds": (0, np.inf),
    "unit": "node",
    "reference": "yang2015",
    "conventions": {"empty": "nan", "negatives": AS_CHOSEN},
    "chance": NoChance("a number of pairs is not scored"),
    "interval": _only_runs,
    "laws": _LAWS,
}
_LABELS: dict[str, Any] = {
    "family": "evolution",
    "needs": ("labels",),
    "direction": "higher",
    "bounds": (-1, 1),
    "unit": "birth",
    "reference": "mcpherson2001",
    "conventions": {"empty": "nan", "births": "with both labels known"},
    "interval": _over_labelled,
    "laws": _LAWS,
}
_PROBE: dict[str, Any] = {
    "family": "evolution",
    "needs": ("probe",),
    "bounds": (0, 1),
    "unit": "node",
    "reference": "alain2017",
    "conventions": {"empty": "nan", "probe": "logistic regression, scaled within stratified folds"},
    "laws": _LAWS | {"monotone": Exempt("the probe is refitted to every input")},
}


@metric(key="auc_synthetic", needs=("after",), **_AREA)
def auc_synthetic(area: Area) -> Estimate:
    """Probability that a birth is closer than a non-edge of original nodes, on the embeddings after the cycle.

    Circular if these were smoothed over the births: read it together with `auc_birth`.
    """
    return area.estimate()


@metric(key="auc_birth", needs=("before",), **_AREA | {"chance": _levels(_coin_and_baselines)})
def auc_birth(area: Area) -> Estimate:
    """Probability that a birth is closer than a non-edge of original nodes, on the embeddings before the cycle.

    Births with a node that had no embedding before the cycle are left out: see `auc_newborn`. So are births of edges
    that existed before and were removed, because the embeddings have seen them.
    """
    return area.estimate()


@metric(
    key="auc_newborn",
    needs=("newborn",),
    **_AREA | {"reference": "libennowell2007", "conventions": _AREA["conventions"] | {"newborn": AS_CHOSEN}},
)
def auc_newborn(area: Area) -> Estimate:
    """Probability that a new node is closer to the node it is linked to than to another that it could be linked to.

    The new node has its embedding at insertion, the others have those before the cycle; candidates are the nodes of the
    same type and age without an edge to it.
    """
    return area.estimate()


@metric(
    key="auc_matched",
    needs=("matched",),
    **_AREA | {"reference": "yang2015", "conventions": _AREA["conventions"] | {"pools": AS_CHOSEN}},
)
def auc_matched(area: Area) -> Estimate:
    """Probability that a birth (u, v) is closer than u and another target of v's pool, before the cycle.

    By default, v's pool are the nodes of similar degree, in powers of two, the same type and the same age, original or
    new. In an undirected graph either end is replaced in turn, and both results are averaged.
    """
    return area.estimate()


@metric(
    key="delta_homophily",
    chance=_levels(_no_difference),
    **_LABELS | {"conventions": _LABELS["conventions"] | {"null": AS_CHOSEN}},
)
def delta_homophily(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the share among random pairs."""
    return pairs.difference(pairs.random, "fewer than two labelled nodes")


@metric(key="nca_mean", direction="higher", chance=_levels(_majority), interval=_over_folds, **_PROBE)
def nca_mean(folds: Folds) -> Estimate:
    """Accuracy of a linear probe for the labels, averaged over folds."""
    value = folds.accuracies.mean() if len(folds.accuracies) else np.nan
    return single(float(value), folds.nodes, folds.reason, folds.warnings)


@metric(key="n_synthetic_positives", **_COUNT)
def n_synthetic_positives(area: Area) -> Estimate:
    """Number of births scored by `auc_synthetic`."""
    return area.count(len(area))


@metric(key="n_synthetic_negatives", **_COUNT)
def n_synthetic_negatives(area: Area) -> Estimate:
    """Number of non-edges that `auc_synthetic` compares births with."""
    return area.count(area.negatives)


@metric(key="homophily_new_edges", chance=_levels(_chance_agreement), **_LABELS | {"bounds": (0, 1)})
def homophily_new_edges(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class."""
    return single(pairs.share, len(pairs.same), pairs.reason)


@metric(
    key="homophily_baseline",
    chance=NoChance("it is a chance level"),
    **_LABELS
    | {
        "direction": "none",
        "bounds": (0, 1),
        "unit": "node",
        "interval": _only_runs,
        "reference": "newman2003",
        "conventions": {"empty": "nan", "null": AS_CHOSEN},
    },
)
def homophily_baseline(pairs: LabelPairs) -> Estimate:
    """Share of pairs in the same class among all pairs of labelled nodes."""
    return single(pairs.random, pairs.labelled, "fewer than two labelled nodes")


@metric(key="delta_homophily_degree", chance=_levels(_no_difference_by_degree), **_LABELS | {"reference": "newman2003"})
def delta_homophily_degree(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the share among pairs drawn in proportion to degree."""
    return pairs.difference(pairs.by_degree, _NO_DEGREES)


@metric(
    key="delta_homophily_ends",
    chance=_levels(_no_agreement),
    **_LABELS
    | {
        "reference": "newman2003",
        "interval": _linearised(LabelPairs.beyond_ends),
        "laws": _LAWS | {"monotone": _TOGETHER},
    },
)
def delta_homophily_ends(pairs: LabelPairs) -> Estimate:
    """Share of births between nodes of the same class, minus the share if their ends were paired at random.

    Every node keeps its number of births, so that births to one class alone do not count.
    """
    return pairs.difference(pairs.by_ends, "fewer than two births")


@metric(
    key="adjusted_homophily",
    chance=_levels(_no_adjusted_agreement),
    **_LABELS
    | {
        "reference": "platonov2023",
        "bounds": (-np.inf, 1),
        "interval": _linearised(LabelPairs.adjusted_influence),
        "laws": _LAWS | {"monotone": _TOGETHER},
    },
)
def adjusted_homophily(pairs: LabelPairs) -> Estimate:
    """Homophily of births beyond that of randomly paired ends, as a share of the most that is possible."""
    value = pairs.adjusted if pairs.kinds > 1 else np.nan
    return single(value, len(pairs), pairs.reason if not len(pairs) else "all ends of births are in one class")


@metric(
    key="retention",
    family="evolution",
    needs=("kept",),
    direction="none",
    bounds=(0, 1),
    unit="edge",
    conventions={"empty": "nan"},
    reference="libennowell2007",
    chance=NoChance("a rate of survival is not scored"),
    interval=_only_runs,
    laws=_LAWS,
)
def retention(kept: Kept) -> Estimate:
    """Share of the edges born in earlier cycles that are in the graph after this one."""
    return single(kept.share, kept.born, "no births in earlier cycles")


@metric(key="nca_std", direction="none", interval=_only_runs, chance=NoChance("a spread is not scored"), **_PROBE)
def nca_std(folds: Folds) -> Estimate:
    """Standard deviation of the probe's accuracy over folds."""
    return single(sample_std(folds.accuracies), folds.nodes, folds.reason, folds.warnings)


@metric(key="static_auc", needs=("held_out",), **_AREA | {"unit": "pair", "reference": "libennowell2007"})
def static_auc(area: Area) -> Estimate:
    """Probability that a held-out edge is closer than a non-edge; the usual metric, for contrast."""
    return area.estimate()


@metric(
    key="tgc",
    family="evolution",
    needs=("growth",),
    direction="none",
    bounds=(0, np.inf),
    unit="node",
    conventions={"tgc": AS_CHOSEN, "empty": "nan"},
    reference="erdos1960",
    chance=NoChance("a rate of growth is not scored"),
    interval=_only_runs,
    laws=_LAWS,
)
def tgc(growth: Growth) -> Estimate:
    """Topological generative capacity: births per node, times the share of nodes in the largest component.

    As reported by the system; otherwise computed after each cycle and smoothed with weight 0.1.
    """
    return single(growth.tgc, growth.nodes, "no nodes")
