"""Metrics of the edges that an explanation selects: how close they are, whether they are right, whether seeds agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.metric import AS_CHOSEN, Estimate, Exempt, MetricFunction, NoChance, NoInterval, metric
from graphgauge.explanation.declared import DEFAULT, EMPTY, EXPLAINED, LAWS
from graphgauge.explanation.masks import Level
from graphgauge.explanation.samples import NO_CANDIDATES, EventSample, Path, Scored, ordered_mean
from graphgauge.kernels.tails import roc_auc, tail_counts

_NO_TRUTH, _NO_TIMES = "no known truth", "no times, all times equal, or fewer than two edges"
_ONE_RUN = "explained with one seed only"
_TRUTH_LAWS = LAWS | {"monotone": True, "symmetry": Exempt("an importance is ranked, a truth is not")}
_EDGES = EXPLAINED | {"needs": ("edges",), "conventions": EMPTY}


def _cohesiveness(sample: EventSample, level: Level, pairs: str) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        if event.row.subgraph.times is None or path.ranking is None:
            return np.nan
        edges = int(np.count_nonzero(path.selected(level.of(event.units))[event.row.subgraph.unit_of]))
        if not edges:
            return np.nan
        return float(path.cohesiveness(pairs, sample.rules.delta_t)[edges - 1])

    estimate = sample.each(value, _NO_TIMES, (0.0, 1.0) if sample.rules.delta_t is None else (-1.0, 1.0))
    if sample.rules.delta_t is not None:
        return estimate.warned("with a given delta_t the value can be outside [0, 1]")
    return estimate


_COHESION = _EDGES | {
    "needs": ("times",), "reference": "chen2023", "conventions": EMPTY | {"delta_t": AS_CHOSEN},
}  # fmt: skip


@metric(key="cohesiveness@{level}", **_COHESION)
def cohesiveness_at(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """How close the edges of the explanation are to each other, in the graph and in time.

    The mean over ordered pairs of edges of cos(|tᵢ − tⱼ|/ΔT) if they share a node and 0 otherwise; ΔT is the range
    of all candidates' times.
    """
    return _cohesiveness(sample, level, "all")


@metric(key="cohesiveness_adjacent@{level}", **_COHESION | {"default": False})
def cohesiveness_adjacent(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """How close in time those edges of the explanation are that share a node."""
    return _cohesiveness(sample, level, "adjacent")


@metric(
    key="sparsity@{level}",
    **_EDGES
    | {
        "direction": "none",
        "chance": NoChance("at a given level every explainer is equally sparse"),
        "default": False,
        "interval": NoInterval("set by the level and the number of edges, not estimated"),
    },
)
def sparsity(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """The share of the edges that the explanation leaves out, 1 − k/E as achieved."""
    return sample.each(lambda event, path: 1 - level.of(event.units) / event.units, NO_CANDIDATES, (0.0, 1.0))


@metric(
    key="elapsed",
    **_EDGES | {
        "needs": ("elapsed",), "direction": "lower", "bounds": (0, np.inf), "conventions": {"empty": "nan"},
        "chance": NoChance("guessing takes no time"),
    },
)  # fmt: skip
def elapsed(sample: EventSample) -> Estimate:
    """Running time of an explanation in seconds."""

    def value(event: Scored, path: Path) -> float:
        known = [one.elapsed for one in event.explanations if one.elapsed is not None]
        return float(np.mean(known)) if known else np.nan

    return sample.each(value, "no elapsed seconds")


# ----------------------------------------------------------------------------------------- a known truth


def _hypergeometric(units: int, marked: int, drawn: int) -> tuple[Floats, Floats]:
    """The number of marked units in a random draw: its possible values and their probabilities."""
    from scipy.special import gammaln

    def ways(n: Any, k: Any) -> Any:
        return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    found = np.arange(max(0, drawn + marked - units), min(drawn, marked) + 1)
    logs = ways(marked, found) + ways(units - marked, drawn - found) - ways(units, drawn)
    return found.astype(float), np.exp(logs) / np.exp(logs).sum()


Overlap = Callable[[Any, int, int], Any]  # numbers of true units selected, units selected, true units


def _overlap(sample: EventSample, level: Level, share: Overlap) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        truth = event.truth
        if truth is None:
            return np.nan
        held = path.selected(level.of(event.units))
        return float(share(int((held & truth).sum()), int(held.sum()), int(truth.sum())))

    return sample.each(value, _NO_TRUTH, (0.0, 1.0))


def _drawn(share: Overlap) -> Any:
    """The empty explanation, and the exact mean over random explanations of the same size."""

    def chance(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
        def value(event: Scored, path: Path) -> float:
            if event.truth is None:
                return np.nan
            true, count = int(event.truth.sum()), params["level"].of(event.units)
            found, weights = _hypergeometric(event.units, true, count)
            return float(np.sum(weights * share(found, count, true)))

        mean = float(sample.each(value, _NO_TRUTH).value[0])
        empty = float(function(sample.empty, **params).value[0])
        known = {} if np.isnan(empty) else {"empty explanation": empty}
        return {**known, "random explainer": min(max(mean, 0.0), 1.0)}

    chance.__doc__ = _drawn.__doc__
    return chance


def _precision(found: Any, held: int, true: int) -> Any:
    return found / held if held else found * np.nan


def _recall(found: Any, held: int, true: int) -> Any:
    return found / true if true else found * np.nan


def _f1(found: Any, held: int, true: int) -> Any:
    return 2 * found / (held + true) if held + true else np.nan


def _jaccard(found: Any, held: Any, true: Any) -> Any:
    return found / (held + true - found) if held + true else np.nan


_TRUTH = _EDGES | {"needs": ("truth",), "laws": _TRUTH_LAWS, "reference": "rijsbergen1979", "default": False}


@metric(key="truth_precision@{level}", **_TRUTH | {"chance": _drawn(_precision)})
def truth_precision(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Share of the explanation's edges that are in the right explanation."""
    return _overlap(sample, level, _precision)


@metric(key="truth_recall@{level}", **_TRUTH | {"chance": _drawn(_recall)})
def truth_recall(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Share of the right explanation's edges that are in the explanation."""
    return _overlap(sample, level, _recall)


@metric(key="truth_f1@{level}", **_TRUTH | {"chance": _drawn(_f1)})
def truth_f1(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Harmonic mean of precision and recall of the explanation's edges."""
    return _overlap(sample, level, _f1)


@metric(key="truth_jaccard@{level}", **_TRUTH | {"chance": _drawn(_jaccard), "reference": "jaccard1912"})
def truth_jaccard(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Edges in the explanation and in the right one, over edges in either."""
    return _overlap(sample, level, _jaccard)


def _even(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
    """A random order scores a half on average; the empty explanation ties all edges and scores a half."""
    return {"empty explanation": 0.5, "random explainer": 0.5}


@metric(
    key="truth_auc",
    **_TRUTH | {
        "chance": _even, "reference": "hanley1982", "conventions": {"empty": "nan", "ties": "count half"},
        "default": True,
    },
)  # fmt: skip
def truth_auc(sample: EventSample) -> Estimate:
    """Chance that an edge of the right explanation has a higher importance than another, ties counted half."""

    def value(event: Scored) -> float:
        if event.truth is None or not event.units:
            return np.nan
        if sample.paths != "own":  # a random order, and one that ties all edges
            return 0.5 if 0 < np.count_nonzero(event.truth) < event.units else np.nan
        found = [
            roc_auc(tail_counts(values[event.truth], values[~event.truth], threads=1)) for values in event.importances
        ]
        return ordered_mean(np.array(found))

    values = np.array([value(event) for event in sample.events], float)
    return sample.mean(values, "no known truth, or it contains all edges or none", (0.0, 1.0))


# -------------------------------------------------------------------------------------------- other seeds


def _pairwise(sample: EventSample, agreement: Callable[[Scored, int, int], float], possible: tuple[float, float],
              reason: str) -> Estimate:  # fmt: skip
    """The mean over events of the mean agreement between pairs of an event's explanations."""

    def value(event: Scored) -> float:
        if not event.units:
            return np.nan
        found = np.array([agreement(event, *pair) for pair in combinations(range(len(event.explanations)), 2)])
        found = found[~np.isnan(found)]
        return ordered_mean(found) if len(found) else np.nan

    return sample.mean(np.array([value(event) for event in sample.events], float), reason, possible)


def _two_draws(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
    """The exact mean over two random explanations of the same size."""

    def value(event: Scored, path: Path) -> float:
        if len(event.explanations) < 2:
            return np.nan
        count = params["level"].of(event.units)
        found, weights = _hypergeometric(event.units, count, count)
        return float(np.sum(weights * _jaccard(found, count, count)))

    return {"random explainer": min(float(sample.each(value, _ONE_RUN).value[0]), 1.0)}


def _unrelated(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
    """Random orders, which are uncorrelated."""
    return {"random explainer": 0.0}


_SEEDS = _EDGES | {"needs": ("seeds",)}


@metric(
    key="stability_jaccard@{level}", **_SEEDS | {"chance": _two_draws, "reference": "jaccard1912", "default": False}
)
def stability_jaccard(sample: EventSample, *, level: Level = DEFAULT) -> Estimate:
    """Overlap of an event's explanations under different seeds: the mean Jaccard index of their top edges."""

    def agreement(event: Scored, one: int, other: int) -> float:
        count = level.of(event.units)
        pairs = product(event.by_explanation[one], event.by_explanation[other])
        common = [np.count_nonzero(first.selected(count) & second.selected(count)) for first, second in pairs]
        return ordered_mean(_jaccard(np.array(common), count, count))

    return _pairwise(sample, agreement, (0.0, 1.0), _ONE_RUN)


@metric(
    key="stability_spearman",
    **_SEEDS | {"chance": _unrelated, "reference": "spearman1904", "bounds": (-1, 1),
                "conventions": {"empty": "nan", "ties": "share their rank"}},
)  # fmt: skip
def stability_spearman(sample: EventSample) -> Estimate:
    """Agreement of an event's rankings under different seeds: the mean rank correlation."""

    def agreement(event: Scored, one: int, other: int) -> float:
        first, second = (_centred_ranks(event.importances[place]) for place in (one, other))
        spread = float(np.sqrt((first @ first) * (second @ second)))
        return float(np.clip(first @ second / spread, -1, 1)) if spread else np.nan

    return _pairwise(sample, agreement, (-1.0, 1.0), f"{_ONE_RUN}, or all importances equal")


def _centred_ranks(values: Floats) -> Floats:
    """Ranks minus their mean, ties averaged; multiples of one half, so that sums are exact."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    upto = np.cumsum(counts)
    return np.asarray((upto - (counts - 1) / 2 - (len(values) + 1) / 2)[place])
