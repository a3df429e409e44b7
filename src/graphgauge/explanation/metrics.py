"""Metrics of the edges that an explanation selects: how close they are, whether they are right, whether seeds agree.

Those of the model's answers are in `fidelity`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.metric import AS_CHOSEN, Bounds, Estimate, Exempt, NoChance, NoInterval
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.explanation import fidelity  # noqa: F401, its metrics come first
from graphgauge.explanation.declared import EMPTY, LAWS, against, explained
from graphgauge.explanation.events import Event
from graphgauge.explanation.inputs import RANDOM
from graphgauge.explanation.masks import Level
from graphgauge.explanation.sample import EMPTY as NOTHING
from graphgauge.explanation.sample import NO_CANDIDATES, Sample, error_over_events
from graphgauge.explanation.temporal import phases, touching
from graphgauge.stats.intervals import of_positive

_USUAL, _FIFTH = Level("0.1"), Level("0.2")
_UNIT = (0.0, 1.0)
_NO_TRUTH, _NO_TIMES = "no known truth", "no times, all times equal, or fewer than two edges"
_ONE_RUN = "explained with one seed only"
_selected = partial(explained, needs=("edges",), conventions=EMPTY)


# ---- cohesiveness


class _TimedEdges(NamedTuple):
    """The edges with times of all rankings that some level selects, each after those of its ranking before it.

    `ranking` is the number of the edge's ranking, `rank` that of its unit in it. `agreement` is the sum of
    cos(|tᵢ − tⱼ|/ΔT) over the earlier edges of the ranking that share a node with it, and `neighbours` their number.
    """

    ranking: Ints
    rank: Ints
    agreement: Floats
    neighbours: Ints


def _timed_edges(sample: Sample, levels: Sequence[Level]) -> _TimedEdges:
    parts: list[Any] = [[np.zeros(0, np.int64)] * 5]
    first_ranking = first_node = longest = 0
    most = np.max([sample.count(level) for level in levels], axis=0)
    for event, ranks, count in zip(sample.events, sample.ranks, most, strict=True):
        graph, places = event.subgraph, np.arange(len(ranks))[:, np.newaxis]
        phase = _phase(sample, event)
        if phase is not None and len(ranks):
            rank = ranks[:, graph.unit_of]
            order = graph.order[np.argsort(rank[:, graph.order], axis=1, kind="stable")]
            # Nodes of different rankings are different nodes.
            ends = (end[order] + first_node + len(graph.nodes) * places for end in graph.ends)
            ranking = np.broadcast_to(first_ranking + places, order.shape)
            rank = np.take_along_axis(rank, order, 1)
            parts.append([column[rank < count] for column in (ranking, rank, *ends, phase[order])])
            first_node, longest = first_node + len(ranks) * len(graph.nodes), max(longest, len(graph))
        first_ranking += len(ranks)
    ranking, rank, source, sink, phase = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _TimedEdges(ranking, rank, *touching(source, sink, phase, longest))


def _phase(sample: Sample, event: Event) -> Floats | None:
    """The times of an event's candidates over ΔT, which are the same for all explainers."""
    key, times = ("phase", sample.rules.delta_t, event.id), event.subgraph.candidate_times
    if key not in sample.shared:
        sample.shared[key] = None if times is None else phases(times, sample.rules.delta_t)
    phase: Floats | None = sample.shared[key]
    return phase


def _cohesiveness(sample: Sample, level: Level, pairs: str) -> Estimate:
    """Of each ranking, the summed agreement of its selected edges over the number of pairs; NaN without pairs."""
    levels = sample.grid if level in sample.grid else (level,)
    edges = sample.memo(("timed edges", levels), lambda sample: _timed_edges(sample, levels))
    selected = np.flatnonzero(edges.rank < sample.count(level)[sample.event[edges.ranking]])
    ranking, rankings = edges.ranking[selected], len(sample.owner)
    agreement = np.bincount(ranking, edges.agreement[selected], rankings)
    count = np.bincount(ranking, minlength=rankings)
    adjacent = np.bincount(ranking, edges.neighbours[selected], rankings)
    number = count * (count - 1) / 2 if pairs == "all" else adjacent
    values = np.divide(agreement, number, out=np.full(rankings, np.nan), where=number > 0)
    # No cosine of differences up to ΔT itself is negative.
    bounds = _UNIT if sample.rules.delta_t is None else (-1.0, 1.0)
    estimate = sample.mean(values, _NO_TIMES, bounds)
    return replace(estimate, facts={**estimate.facts, "bounds": bounds})


_timed = partial(
    _selected,
    needs=("times",),
    reference="chen2023",
    conventions=EMPTY | {"delta_t": AS_CHOSEN},
    bounds=(-1, 1),
    levels=against("shuffled"),
)


@_timed("cohesiveness@{level}", default=True)
def cohesiveness_at(sample: Sample, *, level: Level = _FIFTH) -> Estimate:
    """How close the edges of the explanation are to each other, in the graph and in time.

    The mean over ordered pairs of different edges of cos(|tᵢ − tⱼ|/ΔT) if they share a node and 0 otherwise; ΔT is the
    range of all candidates' times. With a smaller `delta_t` the value can be negative.
    """
    return _cohesiveness(sample, level, "all")


@_timed("cohesiveness_adjacent@{level}")
def cohesiveness_adjacent(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """How close in time those edges of the explanation are that share a node: the mean of cos(|tᵢ − tⱼ|/ΔT)."""
    return _cohesiveness(sample, level, "adjacent")


# ---- a known truth


# Of the numbers of right units selected, of units selected, and of right units.
Share = Callable[[Any, Any, Any], Any]


class _Overlaps(NamedTuple):
    """What M rankings select at L levels, and what of it is in each of up to T accepted explanations.

    Numbers of units: `selected` (M, L), `hits` (T, M, L), and those of an explanation, `right` (T, M); NaN where an
    event has fewer explanations.
    """

    selected: Floats
    hits: Floats
    right: Floats


def _overlaps(sample: Sample, levels: Sequence[Level]) -> _Overlaps:
    most, rankings = max((len(event.truths) for event in sample.events), default=0), len(sample.owner)
    selected = np.full((rankings, len(levels)), np.nan)
    hits = np.full((most, rankings, len(levels)), np.nan)
    right = np.full((most, rankings), np.nan)
    counts = np.stack([sample.count(level) for level in levels], axis=1)[:, np.newaxis, :, np.newaxis]
    first = 0
    for event, ranks, count in zip(sample.events, sample.ranks, counts, strict=True):
        rows, accepted = slice(first, first + len(ranks)), event.truths
        # The first column counts every unit, the others those of an explanation.
        columns = np.vstack([np.ones(ranks.shape[1]), accepted]).T
        numbers = np.moveaxis((ranks[:, np.newaxis] < count) @ columns, -1, 0)
        selected[rows], hits[: len(accepted), rows] = numbers[0], numbers[1:]
        right[: len(accepted), rows] = accepted.sum(axis=1)[:, np.newaxis]
        first += len(ranks)
    return _Overlaps(selected, hits, right)


def _overlap(sample: Sample, level: Level, share: Share) -> Estimate:
    """The share of the accepted explanation for which it is largest; NaN without one, or where it is 0/0."""
    levels = sample.grid if level in sample.grid else (level,)
    overlaps = sample.memo(("overlaps", levels), lambda sample: _overlaps(sample, levels))
    place = levels.index(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = share(overlaps.hits[..., place], overlaps.selected[:, place], overlaps.right)
    return sample.mean(np.fmax.reduce(shares, axis=0, initial=np.nan), _NO_TRUTH, _UNIT)


_true = partial(
    _selected,
    needs=("truth",),
    laws=LAWS | {"monotone": True, "symmetry": Exempt("an importance is ranked, a truth is not")},
    reference="rijsbergen1979",
    compared=True,
    bounds=(0, 1),
    levels=against("empty", "shuffled"),
)


@_true("truth_precision@{level}")
def truth_precision(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """Share of the explanation's edges that are in the right one, hits / selected; of several, in the nearest."""
    return _overlap(sample, level, lambda hits, selected, right: hits / selected)


@_true("truth_recall@{level}")
def truth_recall(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """Share of the right explanation's edges that are in the explanation, hits / right; of several, the nearest's."""
    return _overlap(sample, level, lambda hits, selected, right: hits / right)


@_true("truth_f1@{level}")
def truth_f1(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """Harmonic mean of precision and recall of the explanation's edges: 2 · hits / (selected + right)."""
    return _overlap(sample, level, lambda hits, selected, right: 2 * hits / (selected + right))


@_true("truth_jaccard@{level}", reference="jaccard1912")
def truth_jaccard(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """Edges in the explanation and in the right one, over edges in either: hits / (selected + right − hits)."""
    return _overlap(sample, level, lambda hits, selected, right: hits / (selected + right - hits))


@_true("truth_auc", reference="hanley1982", conventions={"empty": "nan", "ties": "count half"}, default=True)
def truth_auc(sample: Sample) -> Estimate:
    """Chance that an edge of the right explanation has a higher importance than another, ties counted half.

    If several explanations are accepted, that of the one that it fits best. A random order has a half on average; of
    several explanations it fits one better, by its mean over drawn orders.
    """
    reason = f"{_NO_TRUTH}, or it contains all edges or none"
    values = np.array([_auc_of(sample, place) for place in range(len(sample))], np.float64)
    return sample.of_events(values, reason, _UNIT)


def _auc_of(sample: Sample, place: int) -> float:
    """The area of an event: the mean over its explanations."""
    truths = sample.events[place].truths
    truths = truths[truths.any(axis=1) & ~truths.all(axis=1)]
    if not len(truths):
        return np.nan
    if sample.who == NOTHING or (sample.who == RANDOM and len(truths) == 1):  # all edges are tied, on average
        return 0.5
    own = np.flatnonzero(sample.explained == place)
    listed = -sample.ranks[place] if sample.who == RANDOM else np.array([sample.values[each] for each in own])
    return float(np.mean([max(_area(ranks, truth) for truth in truths) for ranks in map(_midranks, listed)]))


def _area(ranks: Floats, truth: Mask) -> float:
    """(Σ ranks of the m right units − m (m − 1)/2) / (m (n − m)), with ranks of n units from 0 for the lowest."""
    right = int(truth.sum())
    return float((ranks[truth].sum() - right * (right - 1) / 2) / (right * (len(truth) - right)))


def _midranks(values: Floats) -> Floats:
    """Ranks from 0 for the lowest, ties averaged; multiples of one half, so that sums are exact."""
    rising = np.sort(values)
    return np.asarray((np.searchsorted(rising, values, "left") + np.searchsorted(rising, values, "right") - 1) / 2)


# ---- other seeds


def _pairs_of(sample: Sample, place: int) -> Iterator[tuple[Ints, Ints]]:
    """The rows of an event's rankings that are compared: those of every two explanations, or random orders in turn."""
    if sample.who == RANDOM:
        yield from ((np.array([one]), np.array([other])) for one, other in pairwise(range(len(sample.ranks[place]))))
        return
    first = int(np.searchsorted(sample.event, place))
    owner = sample.owner[first : first + len(sample.ranks[place])]
    yield from combinations([np.flatnonzero(owner == each) for each in np.unique(owner)], 2)


def _agreement(sample: Sample, place: int, count: int) -> float:
    """The mean Jaccard index of the top units of two explanations.

    If the ties of both are averaged over random orders, over pairs of different orders: a common one would decide
    their ties alike.
    """
    selected = sample.ranks[place] < count
    indices = []
    for one, other in _pairs_of(sample, place):
        both_averaged = len(one) > 1 and len(other) > 1
        rows = [(a, b) for (i, a), (j, b) in product(enumerate(one), enumerate(other)) if i != j or not both_averaged]
        common = [np.count_nonzero(selected[a] & selected[b]) for a, b in rows]
        indices.append(float(np.mean([each / (2 * count - each) for each in common])) if count else np.nan)
    return float(np.mean(indices)) if indices else np.nan


def _two_draws(sample: Sample, *, level: Level = _USUAL) -> Iterable[Reference]:
    """Two random explanations of the same size, of the events that have a value."""
    values, random = (stability_jaccard(each, level=level).facts["events"] for each in (sample, sample.shuffled))
    random = random[~np.isnan(values) & ~np.isnan(random)]
    if len(random):
        yield Reference(RANDOM, float(random.mean()))


@_selected("stability_jaccard@{level}", needs=("seeds",), reference="jaccard1912", chance=_two_draws)
def stability_jaccard(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """Overlap of an event's explanations under different seeds: the mean Jaccard index of their top edges."""
    values = [_agreement(sample, place, count) for place, count in enumerate(sample.count(level).tolist())]
    return sample.of_events(np.array(values, np.float64), _ONE_RUN, _UNIT)


def _unrelated(sample: Sample) -> Iterable[Reference]:
    """Random orders, which are uncorrelated."""
    return [Reference(RANDOM, 0.0)]


@_selected("stability_spearman", needs=("seeds",), reference="spearman1904", bounds=(-1, 1), chance=_unrelated)
def stability_spearman(sample: Sample) -> Estimate:
    """Agreement of an event's rankings under different seeds: the mean rank correlation."""
    ranks = [each - each.mean() if len(each) else each for each in map(_midranks, sample.values)]
    values = []
    for place in range(len(sample)):
        pairs = combinations(np.flatnonzero(sample.explained == place).tolist(), 2)
        correlations = np.array([_correlation(ranks[one], ranks[other]) for one, other in pairs])
        finite = correlations[~np.isnan(correlations)]
        values.append(finite.mean() if finite.size else np.nan)
    return sample.of_events(np.array(values, np.float64), f"{_ONE_RUN}, or all importances equal")


def _correlation(one: Floats, other: Floats) -> float:
    """Of two centred vectors; NaN if one is constant."""
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(np.clip(one @ other / spread, -1, 1)) if spread else np.nan


# ---- size and time


@_selected(
    "sparsity@{level}",
    direction="none",
    chance=NoChance("at a given level every explainer is equally sparse"),
    interval=NoInterval("set by the level and the number of edges, not estimated"),
)
def sparsity(sample: Sample, *, level: Level = _USUAL) -> Estimate:
    """The share of the edges that the explanation leaves out, 1 − k/E as achieved."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return sample.of_events(1 - sample.count(level) / sample.units, NO_CANDIDATES, _UNIT)


def _over_seconds(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """log-t over events."""
    error, df = error_over_events(sample, estimate)
    return of_positive(estimate.value, error, df, confidence, over="events")


@_selected(
    "elapsed",
    needs=("elapsed",),
    direction="lower",
    bounds=(0, np.inf),
    conventions={"empty": "nan"},
    chance=NoChance("guessing takes no time"),
    interval=_over_seconds,
)
def elapsed(sample: Sample) -> Estimate:
    """Running time of an explanation in seconds."""
    values = []
    for event in sample.events:
        known = [each.elapsed for each in event.by(sample.who) if each.elapsed is not None]
        values.append(float(np.mean(known)) if known else np.nan)
    return sample.of_events(np.array(values, np.float64), "no elapsed seconds")
