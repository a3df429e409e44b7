"""Births compared with pairs without an edge: for each birth, the share of these pairs that are farther apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.metric import Estimate
from graphgauge.evolution.inputs import Flags, Points, among, numbered, pair_codes
from graphgauge.evolution.samples import single
from graphgauge.kernels.negatives import non_edges
from graphgauge.kernels.poincare import closer_pairs
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.stats.intervals import standard_error

# Number of redraws of targets before the remaining candidates are enumerated.
_REDRAWS = 16


@dataclass(frozen=True)
class Area:
    """For each positive, the share of negatives that are farther (ties half); `source` groups dependent positives.

    `drawn` is the variance that sampled negatives add to the area; it is 0 if all negatives are used.
    """

    shares: Floats
    negatives: int
    source: Ints | None = None
    drawn: float = 0.0
    nodes: int = 0
    reason: str = "no births"
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.shares)

    @cached_property
    def value(self) -> float:
        # Sorted, so that the sum does not depend on the order of the births.
        return float(np.sort(self.shares).sum() / len(self)) if len(self) and self.negatives else np.nan

    def error(self) -> tuple[float, float]:
        """Standard error and degrees of freedom of the area."""
        # There are at least as many negatives as births, so they do not limit the degrees of freedom.
        error, df = standard_error(self.shares - self.value, np.ones(len(self)), cluster=self.source)
        return sqrt(error[0] ** 2 + self.drawn), float(df[0])

    def estimate(self) -> Estimate:
        return single(self.value, len(self), self.reason, self.warnings)

    def count(self, value: int) -> Estimate:
        return single(value if self.nodes else np.nan, self.nodes, "no nodes")


def area_against_non_edges(
    points: Points,
    positives: Ints,
    graph: Ints,
    eligible: Ints,
    *,
    per_positive: int | None,
    rng: np.random.Generator,
    source: Ints | None,
    reason: str,
    threads: int | None = None,
) -> Area:
    """Positives against pairs of eligible nodes (sorted) without an edge in `graph` (codes over all nodes, sorted).

    `per_positive` of them are drawn per positive, without replacement; None takes all.
    """
    nodes = len(points)
    if not len(positives):
        return Area(np.empty(0), 0, nodes=nodes, reason=reason)
    q = points.order(positives[:, 0], positives[:, 1])
    inside = _among_eligible(graph, nodes, eligible)
    free = len(eligible) * (len(eligible) - 1) // 2 - len(inside)
    wanted = free if per_positive is None else per_positive * len(positives)
    if free == 0:
        return Area(np.empty(0), 0, nodes=nodes, reason="every pair of original nodes has an edge")
    if wanted >= free:
        columns = np.ascontiguousarray(points.rows[eligible].T)
        pairs = closer_pairs(columns, points.margins(eligible), q, threads=threads)
        own = points.order(eligible[inside // len(eligible)], eligible[inside % len(eligible)])
        tails = _without(pairs, tail_counts(-q, -own))
    else:
        codes = non_edges(inside, len(eligible), wanted, rng)
        first, second = eligible[codes // len(eligible)], eligible[codes % len(eligible)]
        tails = tail_counts(-q, -points.order(first, second))
    short = per_positive is not None and wanted > free
    return Area(
        _shares(-q, tails),
        tails.negatives,
        source,
        0.0 if wanted >= free else _drawn_variance(tails),
        nodes,
        reason,
        (f"only {free} pairs have no edge, fewer than the {wanted} requested: all are used",) if short else (),
    )


def area_against_matched(
    points: Points,
    births: Ints,
    graph: Ints,
    pools: Ints,
    *,
    per_positive: int | None,
    rng: np.random.Generator,
    reason: str,
) -> Area:
    """Each birth (u, v) against u with other targets of v's pool that are not neighbours of u.

    `pools` has one number per node, negative if the node cannot be a target.
    """
    q = points.order(births[:, 0], births[:, 1])
    owner, target = _redrawn(births, graph, pools, len(points), per_positive, rng)
    other = points.order(births[owner, 0], target)
    wins = (other > q[owner]) + 0.5 * (other == q[owner])
    counts = np.bincount(owner, minlength=len(births))
    have = counts > 0
    shares = np.bincount(owner, wins, len(births))[have] / counts[have]
    alone = np.count_nonzero(~have)
    return Area(
        shares,
        len(target),
        numbered(births[have, 0]),
        nodes=len(points),
        reason="no birth has another target to compare with" if len(births) else reason,
        warnings=(f"births left out of auc_matched, because their pool has no other target: {alone}",)
        if alone and have.any()
        else (),
    )


def _redrawn(
    births: Ints, graph: Ints, pools: Ints, nodes: int, per_positive: int | None, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Birth numbers, and other targets for them: `per_positive` random ones each, or all."""
    members = np.argsort(pools, kind="stable")
    ordered = pools[members]
    pool = pools[births[:, 1]]
    start, stop = np.searchsorted(ordered, pool), np.searchsorted(ordered, pool, side="right")

    def fits(owner: Ints, target: Ints) -> Flags:
        source = births[owner, 0]
        free: Flags = (target != source) & ~among(pair_codes(np.stack([source, target], axis=1), nodes), graph)
        return free

    if per_positive is None:
        owner = np.repeat(np.arange(len(births)), stop - start)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(stop - start) - (stop - start), stop - start)
        target = members[start[owner] + step]
        good = fits(owner, target)
        return owner[good], target[good]
    pending = np.repeat(np.arange(len(births)), per_positive)
    owners, targets = [], []
    for _ in range(_REDRAWS):
        target = members[rng.integers(start[pending], stop[pending])]
        good = fits(pending, target)
        owners.append(pending[good])
        targets.append(target[good])
        pending = pending[~good]
    for birth in np.unique(pending):
        listed = members[start[birth] : stop[birth]]
        listed = listed[fits(np.full(len(listed), birth), listed)]
        if len(listed):
            chosen = rng.choice(listed, np.count_nonzero(pending == birth))
            owners.append(np.full(len(chosen), birth))
            targets.append(chosen)
    return np.concatenate(owners), np.concatenate(targets)


def _among_eligible(graph: Ints, nodes: int, eligible: Ints) -> Ints:
    """The edges between eligible nodes, as codes over their positions."""
    if len(eligible) == nodes:
        return graph
    place = np.full(nodes, -1, np.int64)
    place[eligible] = np.arange(len(eligible))
    low, high = place[graph // max(nodes, 1)], place[graph % max(nodes, 1)]
    both = (low >= 0) & (high >= 0)
    return low[both] * len(eligible) + high[both]


def _without(pairs: TailCounts, edges: TailCounts) -> TailCounts:
    return pairs._replace(
        greater=pairs.greater - edges.greater,
        equal=pairs.equal - edges.equal,
        negatives=pairs.negatives - edges.negatives,
    )


def _shares(scores: Floats, tails: TailCounts) -> Floats:
    """For each positive, the share of negatives below it, ties half."""
    place = len(tails.values) - np.searchsorted(tails.values[::-1], scores, side="right")
    beaten = 2 * (tails.negatives - tails.greater) - tails.equal
    shares: Floats = beaten[place] / (2 * tails.negatives)
    return shares


def _drawn_variance(tails: TailCounts) -> float:
    """Variance of the area due to sampled negatives, each with its share of positives above (DeLong et al.)."""
    if tails.negatives < 2:
        return np.nan
    upto = np.cumsum(tails.positives)
    total = int(upto[-1])
    # Negatives in the gap above each distinct positive, and below the last.
    between = np.empty(len(upto) + 1, np.int64)
    between[:-1], between[-1] = tails.greater, tails.negatives
    between[1:] -= tails.greater + tails.equal
    gaps, ties = np.concatenate([[0], upto]) / total, (upto - tails.positives / 2) / total
    mean = (between @ gaps + tails.equal @ ties) / tails.negatives
    squares = between @ (gaps - mean) ** 2 + tails.equal @ (ties - mean) ** 2
    return float(squares / (tails.negatives - 1) / tails.negatives)
