"""Births compared with pairs without an edge: for each birth, the share of these pairs that are farther apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.kernels.negatives import non_edges
from graphgauge.kernels.poincare import closer_pairs
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.old.core.metric import Estimate
from graphgauge.old.evolution.baselines import Ranked
from graphgauge.old.evolution.inputs import Flags, Points, among, distinct
from graphgauge.old.evolution.samples import single
from graphgauge.old.stats.dyads import Dyads

# Number of redraws of targets before the remaining candidates are enumerated.
_REDRAWS = 16
# Pairs that are scored at once, and the most that are scored at all.
_BLOCK, _MOST_PAIRS = 1 << 22, 1 << 33
# Pairs that are drawn at once.
_MOST_DRAWN = 1 << 27
# Below this share of the other variance, one is only rounding.
_NOTHING = 1e-9
# With more edges than this per pair, drawn pairs are looked up among them: a table of all edges would take longer.
_LOOKED_UP = 32


@dataclass(frozen=True)
class Area:
    """For each positive, the share of negatives that are farther (ties half); `ends` are the nodes of the positives.

    `drawn` is the variance that sampled negatives add to the area; it is 0 if all negatives are used. `cancelled` is
    the variance of the area if nodes that are often chosen are also often candidates, so that their effects cancel.
    """

    shares: Floats
    negatives: int
    ends: Ints | None = None
    drawn: float = 0.0
    nodes: int = 0
    reason: str = "no births"
    warnings: tuple[str, ...] = ()
    # Areas of simple scores for the same births, by name.
    baselines: Mapping[str, float] = field(default_factory=dict)
    cancelled: float | None = None

    def __len__(self) -> int:
        return len(self.shares)

    @cached_property
    def value(self) -> float:
        # Sorted, so that the sum does not depend on the order of the births.
        return float(np.sort(self.shares).sum() / len(self)) if len(self) and self.negatives else np.nan

    @cached_property
    def dyads(self) -> Dyads:
        ends = np.arange(2 * len(self)).reshape(-1, 2) if self.ends is None else self.ends
        return Dyads(ends)

    def error(self) -> tuple[float, float]:
        """Standard error and degrees of freedom of the area."""
        # There are at least as many negatives as births, so they do not limit the degrees of freedom.
        error, df = self.dyads.error(self.shares)
        if self.cancelled is not None and self.cancelled > _NOTHING * error**2:
            error = min(error, sqrt(self.cancelled * self.dyads.correction))
        return sqrt(error**2 + self.drawn), df

    def estimate(self) -> Estimate:
        return single(self.value, len(self), self.reason, self.warnings)

    def count(self, value: int) -> Estimate:
        return single(value if self.nodes else np.nan, self.nodes, "no nodes")


@dataclass(frozen=True)
class Candidates:
    """Pairs that could be edges: of a source and a target (sorted nodes), without those in `taken` (sorted codes).

    Without direction, sources and targets are the same nodes or have none in common.
    """

    sources: Ints
    targets: Ints
    taken: Ints
    nodes: int
    directed: bool = False

    @cached_property
    def same(self) -> bool:
        return self.sources is self.targets or np.array_equal(self.sources, self.targets)

    @cached_property
    def inside(self) -> Ints:
        """The pairs that are edges, as sorted codes over positions."""
        if self.same and not self.directed:
            return _among_eligible(self.taken, self.nodes, self.sources)
        size = max(self.nodes, 1)
        rows, columns = np.full(self.nodes, -1, np.int64), np.full(self.nodes, -1, np.int64)
        rows[self.sources], columns[self.targets] = np.arange(len(self.sources)), np.arange(len(self.targets))
        first, second = self.taken // size, self.taken % size
        found = []
        for one, other in ((first, second), *(() if self.directed else ((second, first),))):
            place, across = rows[one], columns[other]
            both = (place >= 0) & (across >= 0)
            found.append(place[both] * len(self.targets) + across[both])
        return distinct(np.concatenate(found))

    @cached_property
    def free(self) -> int:
        if self.same and not self.directed:
            return len(self.sources) * (len(self.sources) - 1) // 2 - len(self.inside)
        return len(self.sources) * len(self.targets) - self._loops - len(self.inside)

    @cached_property
    def _loops(self) -> int:
        return len(np.intersect1d(self.sources, self.targets, assume_unique=True))

    def tails(
        self, points: Points | Ranked, q: Floats, wanted: int, rng: np.random.Generator, threads: int | None
    ) -> TailCounts:
        """For each of q, how many of the free pairs are closer: of so many drawn ones, or of all."""
        if wanted >= self.free:
            return self._all(points, q, threads)
        if self.same and not self.directed and len(self.inside) < _LOOKED_UP * wanted + _BLOCK:
            codes = non_edges(self.inside, len(self.sources), wanted, rng)
            first, second = self.sources[codes // len(self.sources)], self.sources[codes % len(self.sources)]
        else:
            codes = self._drawn(wanted, rng)
            first, second = self.sources[codes // len(self.targets)], self.targets[codes % len(self.targets)]
        return tail_counts(-q, -points.order(first, second))

    def _all(self, points: Points | Ranked, q: Floats, threads: int | None) -> TailCounts:
        if self.same and not self.directed:
            nodes = self.sources
            own = points.order(nodes[self.inside // len(nodes)], nodes[self.inside % len(nodes)])
            pairs = self._every_pair(points, q, threads)
        else:
            width = len(self.targets)
            own = points.order(self.sources[self.inside // width], self.targets[self.inside % width])
            pairs = self._enumerated(points, q)
        return _without(pairs, tail_counts(-q, -own))

    def _every_pair(self, points: Points | Ranked, q: Floats, threads: int | None) -> TailCounts:
        """Each pair of two sources once, edges included."""
        if not isinstance(points, Points) or points.score != "poincare":
            return self._enumerated(points, q)
        columns = np.ascontiguousarray(points.rows[self.sources].T)
        return closer_pairs(columns, points.margins(self.sources), q, threads=threads)

    def _enumerated(self, points: Points | Ranked, q: Floats) -> TailCounts:
        """All pairs in blocks of rows, edges included."""
        if len(self.sources) * len(self.targets) > _MOST_PAIRS:
            raise InputError(
                f"{len(self.sources) * len(self.targets):,} pairs are too many to score",
                where="negatives",
                fix='Pass negatives="sample".',
            )
        total: TailCounts | None = None
        for first, second in self._blocks():
            part = tail_counts(-q, -points.order(first, second))
            total = part if total is None else _sum(total, part)
        assert total is not None
        return total

    def _blocks(self) -> Iterator[tuple[Ints, Ints]]:
        step = max(1, _BLOCK // max(len(self.targets), 1))
        for start in range(0, len(self.sources), step):
            rows = np.arange(start, min(start + step, len(self.sources)))
            first, second = np.repeat(rows, len(self.targets)), np.tile(np.arange(len(self.targets)), len(rows))
            kept = first < second if self.same and not self.directed else self.sources[first] != self.targets[second]
            yield self.sources[first[kept]], self.targets[second[kept]]

    def _drawn(self, wanted: int, rng: np.random.Generator) -> Ints:
        """Distinct free pairs of a source and a target, as codes over positions, in the order of the draw."""
        width, every = len(self.targets), len(self.sources) * len(self.targets)
        if not (self.same and not self.directed) and 2 * (len(self.inside) + wanted) > every and every <= _BLOCK:
            codes = np.delete(np.arange(every), self.inside)
            codes = codes[self.sources[codes // width] != self.targets[codes % width]]
            return rng.choice(codes, wanted, replace=False)
        found = np.empty(0, np.int64)
        while len(found) < wanted:
            codes = rng.integers(0, every, 2 * (wanted - len(found)) + 16)
            codes = codes[self.sources[codes // width] != self.targets[codes % width]]
            if self.same and not self.directed:
                low, high = np.sort(np.stack([codes // width, codes % width]), axis=0)
                codes = low * width + high
            codes = np.concatenate([found, codes[~among(codes, self.inside)]])
            _, places = np.unique(codes, return_index=True)
            found = codes[np.sort(places)]
        return found[:wanted]


def area_against_non_edges(
    points: Points | Ranked,
    positives: Ints,
    group: Ints,
    candidates: Sequence[Candidates],
    *,
    per_positive: int | None,
    rng: np.random.Generator,
    reason: str,
    threads: int | None = None,
) -> Area:
    """Positives against the free pairs of their group.

    `per_positive` of them are drawn per positive, without replacement; None takes all.
    """
    nodes = len(points)
    if not len(positives):
        return Area(np.empty(0), 0, nodes=nodes, reason=reason)
    q = points.order(positives[:, 0], positives[:, 1])
    shares, used, drawn, negatives, warnings = np.full(len(q), np.nan), 0, 0.0, 0, []
    for number, own in enumerate(candidates):
        members = group == number
        count = int(np.count_nonzero(members))
        wanted = own.free if per_positive is None else per_positive * count
        if not count or own.free == 0:
            continue
        tails = own.tails(points, q[members], wanted, rng, threads)
        shares[members] = _shares(-q[members], tails)
        negatives += tails.negatives
        used += count
        drawn += 0.0 if wanted >= own.free else _drawn_variance(tails) * count**2
        if per_positive is not None and wanted > own.free:
            warnings.append(f"only {own.free} pairs have no edge, fewer than the {wanted} requested: all are used")
    if not used:
        return Area(np.empty(0), 0, nodes=nodes, reason="every pair of original nodes has an edge")
    have = ~np.isnan(shares)
    if not have.all():
        warnings.append(f"births left out, because every pair of their kind has an edge: {np.count_nonzero(~have)}")
    return Area(
        shares[have], negatives, positives[have], drawn / used**2, nodes, reason, tuple(dict.fromkeys(warnings))
    )


def area_against_matched(
    points: Points,
    births: Ints,
    arms: Ints,
    graph: Ints,
    pools: Ints,
    *,
    directed: bool,
    per_positive: int | None,
    rng: np.random.Generator,
    reason: str,
    what: str = "auc_matched",
) -> Area:
    """Each birth against pairs in which one of its ends gives way to another node of its pool.

    `arms` are (birth, kept end, replaced end), where ends are 0 or 1; a birth with two arms has their mean. `pools` has
    one number per node, negative if the node cannot be chosen. Neighbours are not candidates.
    """
    size = len(points)
    kept, replaced = births[arms[:, 0], arms[:, 1]], births[arms[:, 0], arms[:, 2]]
    q = points.order(births[:, 0], births[:, 1])[arms[:, 0]]

    def ordered(owner: Ints, node: Ints) -> tuple[Ints, Ints]:
        forward = (arms[owner, 1] == 0) | (not directed)
        return np.where(forward, kept[owner], node), np.where(forward, node, kept[owner])

    def fits(owner: Ints, node: Ints) -> Flags:
        first, second = ordered(owner, node)
        if not directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        free: Flags = node != kept[owner]
        free &= ~among(first * size + second, graph)
        return free

    owner, node = _redrawn(replaced, pools, fits, per_positive, rng)
    other = points.order(*ordered(owner, node))
    wins = (other > q[owner]) + 0.5 * (other == q[owner])
    counts = np.bincount(owner, minlength=len(arms))
    have = counts > 0
    shares = np.bincount(owner, wins, len(arms))[have] / counts[have]
    used = np.bincount(arms[have, 0], minlength=len(births))
    good = used > 0
    means = np.bincount(arms[have, 0], shares, len(births))[good] / used[good]
    alone = np.count_nonzero(~good)
    return Area(
        means,
        len(node),
        births[good],
        nodes=size,
        reason="no birth has another target to compare with" if len(births) else reason,
        warnings=(f"births left out of {what}, because their pool has no other target: {alone}",)
        if alone and good.any()
        else (),
        cancelled=_cancelled(means, kept[good], replaced[good], owner, node, wins, counts, size)
        if len(arms) == len(births) and (arms[:, 0] == np.arange(len(births))).all() and good.any()
        else None,
    )


def _cancelled(
    shares: Floats, kept: Ints, replaced: Ints, owner: Ints, node: Ints, wins: Floats, counts: Ints, size: int
) -> float:
    """The variance of an area in which every birth competes with candidates for one of its ends.

    A node's effect raises the shares of its own births and lowers those of the births for which it is a candidate: the
    errors of both are summed per node. Two births err together if they share the end that is kept or a node on the
    other side. What is in both is subtracted, unless the other side alone varies more (Cameron, Gelbach and Miller
    2011).
    """
    value = shares.mean()
    errors, own = shares - value, (wins - value) / counts[owner]
    # Births without a candidate are not among the shares.
    place = np.full(len(counts), -1, np.int64)
    place[counts > 0] = np.arange(len(shares))
    chosen = np.bincount(replaced, errors, size) + np.bincount(node, own, size)
    every = chosen + np.bincount(kept, errors, size)
    _, pair = np.unique(kept[place[owner]] * size + node, return_inverse=True)
    both = np.bincount(pair, own)
    total = every @ every - errors @ errors - both @ both
    return float(max(total, chosen @ chosen) / len(shares) ** 2)


def _redrawn(
    replaced: Ints,
    pools: Ints,
    fits: Callable[[Ints, Ints], Flags],
    per_positive: int | None,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Numbers of arms, and other nodes for them: `per_positive` random ones each, or all."""
    members = np.argsort(pools, kind="stable")
    ordered = pools[members]
    pool = pools[replaced]
    start, stop = np.searchsorted(ordered, pool), np.searchsorted(ordered, pool, side="right")
    if per_positive is None:
        owner = np.repeat(np.arange(len(replaced)), stop - start)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(stop - start) - (stop - start), stop - start)
        target = members[start[owner] + step]
        good = fits(owner, target)
        return owner[good], target[good]
    if per_positive * len(replaced) > _MOST_DRAWN:
        raise InputError(
            f"{per_positive * len(replaced):,} pairs are too many to draw",
            where="negatives_per_positive",
            fix='Draw fewer, or pass negatives="all".',
        )
    pending = np.repeat(np.arange(len(replaced)), per_positive)
    owners, targets = [], []
    for _ in range(_REDRAWS):
        target = members[rng.integers(start[pending], stop[pending])]
        good = fits(pending, target)
        owners.append(pending[good])
        targets.append(target[good])
        pending = pending[~good]
    for arm in np.unique(pending):
        listed = members[start[arm] : stop[arm]]
        listed = listed[fits(np.full(len(listed), arm), listed)]
        if len(listed):
            chosen = rng.choice(listed, np.count_nonzero(pending == arm))
            owners.append(np.full(len(chosen), arm))
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


def _sum(one: TailCounts, other: TailCounts) -> TailCounts:
    return one._replace(
        greater=one.greater + other.greater, equal=one.equal + other.equal, negatives=one.negatives + other.negatives
    )


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
