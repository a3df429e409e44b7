"""Metrics of the edges that an explanation selects: how close they are, whether they are right, whether seeds agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.explanation.declared import DEFAULT, EMPTY, EXPLAINED, LAWS
from graphgauge.explanation.masks import Level, seeded
from graphgauge.explanation.samples import NO_CANDIDATES, EventSample, Path, Scored, ordered_mean
from graphgauge.kernels.tails import roc_auc, tail_counts
from graphgauge.old.core.metric import AS_CHOSEN, Estimate, Exempt, MetricFunction, NoChance, NoInterval, metric

_NO_TRUTH, _NO_TIMES = "no known truth", "no times, all times equal, or fewer than two edges"
_ONE_RUN = "explained with one seed only"
_TRUTH_LAWS = LAWS | {"monotone": True, "symmetry": Exempt("an importance is ranked, a truth is not")}
_EDGES = EXPLAINED | {"needs": ("edges",), "conventions": EMPTY}


def _cohesiveness(sample: EventSample, level: Level, pairs: str) -> Estimate:
    def value(event: Scored, path: Path) -> float:
        if event.row.subgraph.candidate_times is None or path.ranking is None:
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
    "needs": ("times",),
    "reference": "chen2023",
    "conventions": EMPTY | {"delta_t": AS_CHOSEN},
}


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
    **_EDGES
    | {
        "needs": ("elapsed",),
        "direction": "lower",
        "bounds": (0, np.inf),
        "conventions": {"empty": "nan"},
        "chance": NoChance("guessing takes no time"),
    },
)
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
        return _nearest(event, path.selected(level.of(event.units)), share)

    return sample.each(value, _NO_TRUTH, (0.0, 1.0))


def _nearest(event: Scored, held: Any, share: Overlap) -> float:
    """The overlap with the accepted explanation that gives the largest; NaN if none is known."""
    found = [float(share(int((held & truth).sum()), int(held.sum()), int(truth.sum()))) for truth in event.truths]
    known = [value for value in found if value == value]
    return max(known) if known else np.nan


# Random sets per event behind the chance level if several explanations are accepted.
_DRAWS = 200


def _random_sets(event: Scored, count: int) -> Iterator[Any]:
    """Seeded random sets of units, the same for every explainer."""
    generator = seeded(event.row.id, event.settings.seed, "truths")
    for _ in range(_DRAWS):
        yield generator.permutation(event.units)[event.row.subgraph.unit_places] < count


def _drawn(share: Overlap) -> Any:
    """The empty explanation, and the mean over random explanations of the same size.

    It is exact for one right explanation, and a mean over 200 draws per event if several are accepted.
    """

    def chance(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
        def value(event: Scored, path: Path) -> float:
            if event.truth is None:
                return np.nan
            true, count = int(event.truth.sum()), params["level"].of(event.units)
            if len(event.truths) > 1:
                return float(np.mean([_nearest(event, held, share) for held in _random_sets(event, count)]))
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
    """The empty explanation ties all edges and scores a half, as a random order does on average.

    If several explanations are accepted, a random order scores more, by a mean over 200 draws per event.
    """
    blind = 0.5
    if any(len(event.truths) > 1 for event in sample.events):
        blind = float(function(sample.at_random).value[0])
    return {"empty explanation": 0.5, "random explainer": blind}


def _best_auc(event: Scored, values: Any) -> float:
    """The area for the accepted explanation that gives the largest."""
    found = [
        float(roc_auc(tail_counts(values[truth], values[~truth], threads=1)))
        for truth in event.truths
        if 0 < np.count_nonzero(truth) < event.units
    ]
    return max(found) if found else np.nan


def _random_auc(event: Scored) -> float:
    possible = [truth for truth in event.truths if 0 < np.count_nonzero(truth) < event.units]
    if len(possible) < 2:
        return 0.5 if possible else np.nan
    generator = seeded(event.row.id, event.settings.seed, "truths")
    places = event.row.subgraph.unit_places
    return float(np.mean([_best_auc(event, generator.random(event.units)[places]) for _ in range(_DRAWS)]))


@metric(
    key="truth_auc",
    **_TRUTH
    | {
        "chance": _even,
        "reference": "hanley1982",
        "conventions": {"empty": "nan", "ties": "count half"},
        "default": True,
    },
)
def truth_auc(sample: EventSample) -> Estimate:
    """Chance that an edge of the right explanation has a higher importance than another, ties counted half.

    If several explanations are accepted, that of the one that it fits best.
    """

    def value(event: Scored) -> float:
        if event.truth is None or not event.units:
            return np.nan
        if sample.paths == "random":
            return _random_auc(event)
        if sample.paths != "own":  # all edges are tied
            return 0.5 if _random_auc(event) == _random_auc(event) else np.nan
        return ordered_mean(np.array([_best_auc(event, values) for values in event.importances]))

    values = np.array([value(event) for event in sample.events], float)
    return sample.mean(values, "no known truth, or it contains all edges or none", (0.0, 1.0))


# -------------------------------------------------------------------------------------------- other seeds


def _pairwise(
    sample: EventSample, agreement: Callable[[Scored, int, int], float], possible: tuple[float, float], reason: str
) -> Estimate:
    """The mean over events of the mean agreement between pairs of an event's explanations."""

    def value(event: Scored) -> float:
        if not event.units:
            return np.nan
        found = np.array([agreement(event, *pair) for pair in combinations(range(len(event.explanations)), 2)])
        found = found[~np.isnan(found)]
        return ordered_mean(found) if len(found) else np.nan

    return sample.mean(np.array([value(event) for event in sample.events], float), reason, possible)


def _two_draws(function: MetricFunction, sample: EventSample, params: Mapping[str, Any]) -> dict[str, float]:
    """The exact mean over two random explanations of the same size, for the events that have a value."""
    values = function(sample, **params).facts["events"]
    found = [
        _two_random(event.units, params["level"].of(event.units))
        for event, value in zip(sample.events, values, strict=True)
        if value == value
    ]
    return {"random explainer": min(ordered_mean(found), 1.0)} if found else {}


def _two_random(units: int, count: int) -> float:
    """The expected Jaccard index of two random sets of this many units."""
    found, weights = _hypergeometric(units, count, count)
    return float(np.sum(weights * _jaccard(found, count, count)))


def _common(one: list[Path], other: list[Path], count: int) -> float:
    """The Jaccard index of the top units of two explanations.

    If the ties of both are averaged over random orders, over pairs of different orders: a common one would decide
    their ties alike.
    """
    pairs = product(enumerate(one), enumerate(other))
    both = len(one) > 1 and len(other) > 1
    found = [
        np.count_nonzero(first.selected(count) & second.selected(count))
        for (i, first), (j, second) in pairs
        if i != j or not both
    ]
    return ordered_mean(_jaccard(np.array(found), count, count))


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
        return _common(event.by_explanation[one], event.by_explanation[other], level.of(event.units))

    return _pairwise(sample, agreement, (0.0, 1.0), _ONE_RUN)


@metric(
    key="stability_spearman",
    **_SEEDS
    | {
        "chance": _unrelated,
        "reference": "spearman1904",
        "bounds": (-1, 1),
        "conventions": {"empty": "nan", "ties": "share their rank"},
    },
)
def stability_spearman(sample: EventSample) -> Estimate:
    """Agreement of an event's rankings under different seeds: the mean rank correlation."""

    def agreement(event: Scored, one: int, other: int) -> float:
        return _rank_correlation(event.importances[one], event.importances[other])

    return _pairwise(sample, agreement, (-1.0, 1.0), f"{_ONE_RUN}, or all importances equal")


def _rank_correlation(one: Floats, other: Floats) -> float:
    first, second = _centred_ranks(one), _centred_ranks(other)
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(np.clip(first @ second / spread, -1, 1)) if spread else np.nan


def _centred_ranks(values: Floats) -> Floats:
    """Ranks minus their mean, ties averaged; multiples of one half, so that sums are exact."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    upto = np.cumsum(counts)
    return np.asarray((upto - (counts - 1) / 2 - (len(values) + 1) / 2)[place])
