"""Metrics of the edges that an explanation selects: how close they are, whether they are right, whether seeds agree.

Those of the model's answers are in `fidelity`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

from graphgauge.core.metric import AS_CHOSEN, Bounds, Estimate, Exempt, NoChance, NoInterval
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.explanation import fidelity  # noqa: F401, its metrics come first
from graphgauge.explanation.declared import EMPTY, LAWS, against, explained
from graphgauge.explanation.masks import RANDOM, Level
from graphgauge.explanation.sample import EMPTY as NOTHING
from graphgauge.explanation.sample import NO_CANDIDATES, Sample
from graphgauge.explanation.temporal import phases, touching
from graphgauge.stats.errors import standard_error
from graphgauge.stats.intervals import of_positive

_USUAL, _FIFTH = Level("0.1"), Level("0.2")
_UNIT = (0.0, 1.0)
_NO_TRUTH, _NO_TIMES = "no known truth", "no times, all times equal, or fewer than two edges"
_ONE_RUN = "explained with one seed only"
_selected = partial(explained, needs=("edges",), conventions=EMPTY)


# ---- cohesiveness


def _touched(s: Sample) -> tuple[Ints, Ints, Floats, Ints]:
    """The edges with times of all rankings, each from its first: the ranking's number, and the rank of the edge's unit.

    And the edge's agreement in time with the earlier edges that share a node with it, and their number.
    """
    parts: list[Any] = [[np.zeros(0, np.int64)] * 5]
    first = nodes = longest = 0
    for event, ranks in zip(s.events, s.ranks, strict=True):
        graph, rankings = event.subgraph, np.arange(len(ranks))[:, np.newaxis]
        times = graph.candidate_times
        phase = None if times is None else phases(times, s.rules.delta_t)
        if phase is not None and len(ranks):
            rank = ranks[:, graph.unit_of]
            falling = graph.order[np.argsort(rank[:, graph.order], axis=1, kind="stable")]
            # Nodes of different rankings are different nodes.
            ends = (end[falling] + nodes + len(graph.nodes) * rankings for end in graph.ends)
            owner = np.broadcast_to(first + rankings, falling.shape)
            facts = owner, np.take_along_axis(rank, falling, 1), *ends, phase[falling]
            parts.append([each.ravel() for each in facts])
            nodes, longest = nodes + len(ranks) * len(graph.nodes), max(longest, len(graph))
        first += len(ranks)
    owner, rank, source, sink, angles = (np.concatenate(each) for each in zip(*parts, strict=True))
    return owner, rank, *touching(source, sink, angles, longest)


def _cohesiveness(s: Sample, level: Level, pairs: str) -> Estimate:
    owner, rank, agreement, touched = s.memo("touched", _touched)
    held = np.flatnonzero(rank < s.count(level)[s.event[owner]])
    rankings = len(s.owner)
    edges = np.bincount(owner[held], minlength=rankings)
    adjacent = np.bincount(owner[held], touched[held], rankings)
    number = edges * (edges - 1) / 2 if pairs == "all" else adjacent
    total = np.bincount(owner[held], agreement[held], rankings)
    values = np.divide(total, number, out=np.full(rankings, np.nan), where=number > 0)
    return s.mean(values, _NO_TIMES, _UNIT if s.rules.delta_t is None else (-1.0, 1.0))


_TIMED: dict[str, Any] = {
    "needs": ("times",),
    "reference": "chen2023",
    "conventions": EMPTY | {"delta_t": AS_CHOSEN},
    "bounds": (-1, 1),
    "levels": against("random"),
}


@_selected("cohesiveness@{level}", **_TIMED, default=True)
def cohesiveness_at(s: Sample, *, level: Level = _FIFTH) -> Estimate:
    """How close the edges of the explanation are to each other, in the graph and in time.

    The mean over ordered pairs of different edges of cos(|tᵢ − tⱼ|/ΔT) if they share a node and 0 otherwise; ΔT is the
    range of all candidates' times. With a smaller `delta_t` the value can be negative.
    """
    return _cohesiveness(s, level, "all")


@_selected("cohesiveness_adjacent@{level}", **_TIMED)
def cohesiveness_adjacent(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """How close in time those edges of the explanation are that share a node: the mean of cos(|tᵢ − tⱼ|/ΔT)."""
    return _cohesiveness(s, level, "adjacent")


# ---- a known truth


# Of the numbers of true units selected, of units selected, and of true units.
Share = Callable[[Any, Any, Any], Any]


def _overlap(s: Sample, level: Level, share: Share) -> Estimate:
    """The overlap with the accepted explanation for which it is largest."""
    levels = s.grid if level in s.grid else (level,)
    found, true = s.memo(("found", levels), lambda s: _found(s, levels))
    with np.errstate(invalid="ignore", divide="ignore"):
        held, *hits = found[..., levels.index(level)]
        overlaps = share(np.reshape(hits, true.shape), held, true)
    return s.mean(np.fmax.reduce(overlaps, axis=0, initial=np.nan), _NO_TRUTH, _UNIT)


def _found(s: Sample, levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """(1 + T, M, L) how many units are selected, and of each accepted explanation; and how many that has, (T, M)."""
    most = max((len(event.truths) for event in s.events), default=0)
    found = np.full((1 + most, len(s.owner), len(levels)), np.nan)
    true = np.full((most, len(s.owner)), np.nan)
    counts = np.stack([s.count(level) for level in levels], axis=1)[:, np.newaxis, :, np.newaxis]
    first = 0
    for event, ranks, count in zip(s.events, s.ranks, counts, strict=True):
        accepted, mine = event.truths, slice(first, first + len(ranks))
        parts = np.vstack([np.ones(ranks.shape[1]), accepted])
        found[: len(parts), mine] = np.moveaxis((ranks[:, np.newaxis] < count) @ parts.T, -1, 0)
        true[: len(accepted), mine] = accepted.sum(axis=1)[:, np.newaxis]
        first += len(ranks)
    return found, true


_TRUTH: dict[str, Any] = {
    "needs": ("truth",),
    "laws": LAWS | {"monotone": True, "symmetry": Exempt("an importance is ranked, a truth is not")},
    "reference": "rijsbergen1979",
    "compared": True,
    "bounds": (0, 1),
    "levels": against("empty", "shuffled"),
}


@_selected("truth_precision@{level}", **_TRUTH)
def truth_precision(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Share of the explanation's edges that are in the right explanation; of several, in the nearest."""
    return _overlap(s, level, lambda found, held, true: found / held)


@_selected("truth_recall@{level}", **_TRUTH)
def truth_recall(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Share of the right explanation's edges that are in the explanation; of several, the nearest's."""
    return _overlap(s, level, lambda found, held, true: found / true)


@_selected("truth_f1@{level}", **_TRUTH)
def truth_f1(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Harmonic mean of precision and recall of the explanation's edges: 2 · found / (selected + right)."""
    return _overlap(s, level, lambda found, held, true: 2 * found / (held + true))


@_selected("truth_jaccard@{level}", **_TRUTH | {"reference": "jaccard1912"})
def truth_jaccard(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Edges in the explanation and in the right one, over edges in either."""
    return _overlap(s, level, lambda found, held, true: found / (held + true - found))


@_selected(
    "truth_auc",
    **_TRUTH | {"reference": "hanley1982", "conventions": {"empty": "nan", "ties": "count half"}},
    default=True,
)
def truth_auc(s: Sample) -> Estimate:
    """Chance that an edge of the right explanation has a higher importance than another, ties counted half.

    If several explanations are accepted, that of the one that it fits best. A random order has a half on average; of
    several explanations it fits one better, by its mean over drawn orders.
    """
    reason = f"{_NO_TRUTH}, or it contains all edges or none"
    values = np.array([_auc_of(s, place) for place in range(len(s))], np.float64)
    return s.of_events(values, reason, _UNIT)


def _auc_of(s: Sample, place: int) -> float:
    """The area of an event: the mean over its explanations."""
    truths = s.events[place].truths
    truths = truths[truths.any(axis=1) & ~truths.all(axis=1)]
    if not len(truths):
        return np.nan
    if s.who == NOTHING or (s.who == RANDOM and len(truths) == 1):  # all edges are tied, on average
        return 0.5
    own = np.flatnonzero(s.explained == place)
    listed = -s.ranks[place] if s.who == RANDOM else np.array([s.values[each] for each in own])
    return float(np.mean([max(_area(ranks, truth) for truth in truths) for ranks in map(_midranks, listed)]))


def _area(ranks: Floats, truth: Mask) -> float:
    true = int(truth.sum())
    return float((ranks[truth].sum() - true * (true - 1) / 2) / (true * (len(truth) - true)))


def _midranks(values: Floats) -> Floats:
    """Ranks from 0 for the lowest, ties averaged; multiples of one half, so that sums are exact."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts + 1) / 2)[place])


# ---- other seeds


def _pairs_of(s: Sample, place: int) -> Iterator[tuple[Ints, Ints]]:
    """The rows of an event's rankings that are compared: those of every two explanations, or random orders in turn."""
    if s.who == RANDOM:
        yield from ((np.array([one]), np.array([other])) for one, other in pairwise(range(len(s.ranks[place]))))
        return
    first = int(np.searchsorted(s.event, place))
    owner = s.owner[first : first + len(s.ranks[place])]
    yield from combinations([np.flatnonzero(owner == each) for each in np.unique(owner)], 2)


def _agreement(s: Sample, place: int, count: int) -> float:
    """The mean Jaccard index of the top units of two explanations.

    If the ties of both are averaged over random orders, over pairs of different orders: a common one would decide
    their ties alike.
    """
    held = s.ranks[place] < count
    found = []
    for one, other in _pairs_of(s, place):
        apart = len(one) > 1 and len(other) > 1
        rows = [(a, b) for (i, a), (j, b) in product(enumerate(one), enumerate(other)) if i != j or not apart]
        common = [np.count_nonzero(held[a] & held[b]) for a, b in rows]
        found.append(float(np.mean([each / (2 * count - each) for each in common])) if count else np.nan)
    return float(np.mean(found)) if found else np.nan


_SEEDS: dict[str, Any] = {"needs": ("seeds",)}


def _two_draws(s: Sample, *, level: Level = _USUAL) -> Iterable[Reference]:
    """Two random explanations of the same size, of the events that have a value."""
    if len(s.shuffled.owner):
        own, drawn = (stability_jaccard(each, level=level).facts["events"] for each in (s, s.shuffled))
        yield Reference(RANDOM, float(drawn[~np.isnan(own)].mean()))


@_selected("stability_jaccard@{level}", **_SEEDS, reference="jaccard1912", chance=_two_draws)
def stability_jaccard(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """Overlap of an event's explanations under different seeds: the mean Jaccard index of their top edges."""
    values = [_agreement(s, place, count) for place, count in enumerate(s.count(level).tolist())]
    return s.of_events(np.array(values, np.float64), _ONE_RUN, _UNIT)


def _unrelated(s: Sample) -> Iterable[Reference]:
    """Random orders, which are uncorrelated."""
    return [Reference(RANDOM, 0.0)]


@_selected(
    "stability_spearman",
    **_SEEDS,
    reference="spearman1904",
    bounds=(-1, 1),
    chance=_unrelated,
)
def stability_spearman(s: Sample) -> Estimate:
    """Agreement of an event's rankings under different seeds: the mean rank correlation."""
    ranks = [each - each.mean() if len(each) else each for each in map(_midranks, s.values)]
    values = []
    for place in range(len(s)):
        pairs = combinations(np.flatnonzero(s.explained == place).tolist(), 2)
        found = np.array([_correlation(ranks[one], ranks[other]) for one, other in pairs])
        values.append(found[~np.isnan(found)].mean() if np.isfinite(found).any() else np.nan)
    return s.of_events(np.array(values, np.float64), f"{_ONE_RUN}, or all importances equal")


def _correlation(one: Floats, other: Floats) -> float:
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(np.clip(one @ other / spread, -1, 1)) if spread else np.nan


# ---- size and time


@_selected(
    "sparsity@{level}",
    direction="none",
    chance=NoChance("at a given level every explainer is equally sparse"),
    interval=NoInterval("set by the level and the number of edges, not estimated"),
)
def sparsity(s: Sample, *, level: Level = _USUAL) -> Estimate:
    """The share of the edges that the explanation leaves out, 1 − k/E as achieved."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return s.of_events(1 - s.count(level) / s.units, NO_CANDIDATES, _UNIT)


def _over_seconds(s: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """log-t over events."""
    assert estimate.influence is not None
    known = ~np.isnan(estimate.influence)
    error, df = standard_error(
        estimate.influence[known], group=None if s.group is None else s.group[known], groups=s.groups
    )
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
def elapsed(s: Sample) -> Estimate:
    """Running time of an explanation in seconds."""
    values = []
    for event in s.events:
        known = [each.elapsed for each in event.by(s.who) if each.elapsed is not None]
        values.append(float(np.mean(known)) if known else np.nan)
    return s.of_events(np.array(values, np.float64), "no elapsed seconds")
