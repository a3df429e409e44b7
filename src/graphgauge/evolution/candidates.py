"""Pairs that could be edges and are not: all of them, or drawn ones, in the order of a score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import Floats, Ints
from graphgauge.evolution.edges import among, distinct
from graphgauge.evolution.links import Ranked
from graphgauge.evolution.points import Points
from graphgauge.kernels.negatives import non_edges
from graphgauge.kernels.tails import TailCounts, tail_counts

# Pairs that are scored at once, and the most that are scored at all.
_BLOCK, _MOST_PAIRS = 1 << 22, 1 << 33
# With more edges than this per pair, drawn pairs are looked up among them: a table of all edges would take longer.
_LOOKED_UP = 32


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

    def tails(self, points: Points | Ranked, q: Floats, wanted: int, rng: np.random.Generator) -> TailCounts:
        """For each of q, how many of the free pairs are closer: of so many drawn ones, or of all."""
        if wanted >= self.free:
            return self._all(points, q)
        if self.same and not self.directed and len(self.inside) < _LOOKED_UP * wanted + _BLOCK:
            codes = non_edges(self.inside, len(self.sources), wanted, rng)
            first, second = self.sources[codes // len(self.sources)], self.sources[codes % len(self.sources)]
        else:
            codes = self._drawn(wanted, rng)
            first, second = self.sources[codes // len(self.targets)], self.targets[codes % len(self.targets)]
        return tail_counts(-q, -points.order(first, second))

    def _all(self, points: Points | Ranked, q: Floats) -> TailCounts:
        if self.same and not self.directed:
            nodes = self.sources
            own = points.order(nodes[self.inside // len(nodes)], nodes[self.inside % len(nodes)])
        else:
            width = len(self.targets)
            own = points.order(self.sources[self.inside // width], self.targets[self.inside % width])
        return _without(self._enumerated(points, q), tail_counts(-q, -own))

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
