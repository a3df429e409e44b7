"""Who may stand in for the right answer of a query, and draws from among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import Floats, Ints, Mask, sorted_unique
from graphgauge.core.random import Random
from graphgauge.core.threads import default_threads
from graphgauge.ranking.counting import runs_of
from graphgauge.ranking.sets import Edges, Sets, dense, pair_codes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# PageRank returns to its source with this probability; this much of it may be left per degree.
_RESTART, _TOLERANCE = 0.15, 5e-5
# Sums that differ by rounding are equal.
_DECIMALS = 12
# Fixed nodes whose scores are computed together.
_AT_ONCE = 256


def adjacency(history: Edges, nodes: int) -> csr_array:
    """The undirected graph without loops and repeated edges."""
    from scipy.sparse import csr_array

    apart = history.head != history.tail
    ends = np.concatenate([history.head[apart], history.tail[apart]])
    others = np.concatenate([history.tail[apart], history.head[apart]])
    graph = csr_array((np.ones(len(ends)), (ends, others)), shape=(nodes, nodes))
    graph.sum_duplicates()
    graph.data[:] = 1.0
    return graph


def scored(graph: csr_array, sources: Ints) -> Iterator[tuple[slice, Ints, Ints, Floats, Floats]]:
    """For blocks of sources: place among the sources, node, and both scores, of nodes with a score above 0.

    The scores are resource allocation, the sum of 1 / degree over common neighbours, and PageRank from the source.
    """
    degree = np.diff(graph.indptr).astype(float)
    weighted = graph.multiply(1 / np.maximum(degree, 1)[:, None]).tocsr()
    offsets, neighbours = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    size, limit = np.int64(graph.shape[0]), _RESTART * _TOLERANCE
    for start in range(0, len(sources), _AT_ONCE):
        block = slice(start, min(start + _AT_ONCE, len(sources)))
        shared: Any = (graph[sources[block]] @ weighted).tocoo()
        near, walk, bounds = _core.push_pagerank(
            offsets, neighbours, sources[block], _RESTART, limit, threads=default_threads()
        )
        by_neighbours = shared.row * size + shared.col
        by_walk = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)) * size + near
        keys = sorted_unique(np.concatenate([by_neighbours, by_walk]))
        columns = np.zeros((2, len(keys)))
        columns[0, np.searchsorted(keys, by_neighbours)] = np.round(shared.data, _DECIMALS)
        columns[1, np.searchsorted(keys, by_walk)] = np.round(walk, _DECIMALS)
        yield block, start + keys // size, keys % size, columns[0], columns[1]


def best_ranks(owner: Ints, scores: list[Floats]) -> Floats:
    """The best rank of each candidate of each owner by several scores; owners are sorted.

    Nodes with score 0 rank after all others of their owner, together.
    """
    best: Floats = np.min([_ranks(owner, score) for score in scores], axis=0)
    return best


def _ranks(owner: Ints, score: Floats) -> Floats:
    """1 for the best score of each owner; nodes with equal scores share the rank of the last of them.

    The nodes with the best score count as one, as in HeaRT.
    """
    if not len(owner):
        return np.empty(0)
    order = np.lexsort((score, owner))
    who, value = owner[order], score[order]
    run, _, _, before = runs_of(who, value)
    # Scores of 0 come first in ascending order and are not counted.
    zeros = np.bincount(who, value == 0, minlength=int(who.max()) + 1).astype(np.int64)
    below = before[run] - zeros[who]
    end = np.flatnonzero(np.append(who[1:] != who[:-1], True))
    most = np.zeros(len(zeros), np.int64)
    most[who[end]] = np.where(value[end] > 0, below[end] + 1, 0)
    ranks = np.empty(len(who))
    ranks[order] = np.where(value > 0, most[who] - below, most[who] + 1)
    return ranks


# Queries that are drawn for together.
_BLOCK = 1 << 14


def sets_of(owner: Ints, nodes: Ints, sets: int) -> Sets:
    """The distinct nodes of each owner, which are numbered below `sets`."""
    return Sets.from_pairs(owner, nodes, sets, int(nodes.max(initial=0)) + 1)


@dataclass(frozen=True)
class SetOf:
    """A set of nodes for each query: the one with its `number`; several queries may share one."""

    sets: Sets
    number: Ints

    def contain(self, queries: Ints, owner: Ints, node: Ints) -> Mask:
        """Whether `node[i]` is in the set of `queries[owner[i]]`."""
        own = self.sets.take(self.number[queries])
        inside = node < own.entities
        return inside & own.contain(owner, np.where(inside, node, 0))


@dataclass(frozen=True)
class Pools:
    """Candidates in pools, each sorted by level, then by node. `keys` combine the three and are sorted."""

    keys: Ints
    nodes: int
    levels: Ints

    @classmethod
    def of(cls, pool: Ints, node: Ints, nodes: int, levels: Ints | None = None) -> Pools:
        level = np.zeros(nodes, np.int64) if levels is None else levels
        empty = cls(np.empty(0, np.int64), nodes, level)
        return cls(sorted_unique(empty.key(pool, level[node], node)), nodes, level)

    @property
    def top(self) -> int:
        return int(self.levels.max(initial=0))

    def key(self, pool: Ints, level: Ints, node: Ints | int) -> Ints:
        # Room for a level below the lowest and one above the highest.
        return pair_codes(pair_codes(pool, level + 1, self.top + 3), node, max(self.nodes, 1))

    def range_of(self, pool: Ints, lowest: Ints, highest: Ints) -> tuple[Ints, Ints]:
        """Where the candidates of pools with levels from lowest to highest begin and end."""
        first, last = self.key(pool, lowest, 0), self.key(pool, highest + 1, 0)
        return np.searchsorted(self.keys, first), np.searchsorted(self.keys, last)

    def places(self, pool: Ints, node: Ints) -> tuple[Ints, Mask]:
        """The places of nodes in their pools, and which of them are there."""
        if not len(self.keys):
            return np.zeros(len(node), np.int64), np.zeros(len(node), bool)
        keys = self.key(pool, self.levels[node], node)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return place, self.keys[place] == keys

    def node_at(self, places: Ints) -> Ints:
        return self.keys[places] % max(self.nodes, 1)


@dataclass(frozen=True)
class Drawn:
    """Nodes of each query: the first `count[i]` of `nodes[i]`."""

    nodes: Ints
    count: Ints

    def then(self, other: Drawn) -> Drawn:
        """These nodes, and the other's behind them."""
        if not self.nodes.shape[1]:
            return other
        nodes = np.concatenate([self.nodes, other.nodes], axis=1)
        columns = [np.arange(each.nodes.shape[1]) >= each.count[:, None] for each in (self, other)]
        order = np.argsort(np.concatenate(columns, axis=1), axis=1, kind="stable")
        return Drawn(np.take_along_axis(nodes, order, 1), self.count + other.count)


@dataclass(frozen=True)
class Draws:
    """Draws for queries from their pools, without the nodes in some sets.

    With `level`, that of the right answer, candidates must be on the same level, or as near as it takes.
    """

    pools: Pools
    pool: Ints
    excluded: Sequence[SetOf]
    level: Ints | None = None

    def drawn(self, wanted: Ints, random: Random) -> Drawn:
        """`wanted` nodes for every query, or all there are."""
        width = int(wanted.max(initial=0))
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(self.pool), _BLOCK)]
        parts = [self._block(rows, wanted[rows], width, random) for rows in blocks]
        nodes = np.concatenate([np.zeros((0, width), np.int64), *(part.nodes for part in parts)])
        count = np.concatenate([np.zeros(0, np.int64), *(part.count for part in parts)])
        return Drawn(nodes, count)

    def _block(self, rows: slice, wanted: Ints, width: int, random: Random) -> Drawn:
        start, stop, taken, first, last = self._ranges(rows, wanted)
        take = np.minimum(wanted, (stop - start) - (last - first))
        uniform = random.uniform(len(take), width)
        places = _core.draw_distinct(start, stop, taken, first, last, take, uniform, threads=default_threads())
        nodes = self.pools.node_at(np.maximum(places, 0)) if len(self.pools.keys) else places
        return Drawn(nodes, take)

    def _ranges(self, rows: slice, wanted: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """The range of each query's candidates, and its excluded places."""
        columns = [self.pool[rows], *(each.number[rows] for each in self.excluded)]
        shared = dense(*columns)
        one = np.unique(shared, return_index=True)[1]  # a query of each combination
        parts = [each.sets.take(number[one]) for each, number in zip(self.excluded, columns[1:], strict=True)]
        node = np.concatenate([part.values for part in parts])
        owner = np.concatenate([part.rows for part in parts])
        place, inside = self.pools.places(columns[0][one][owner], node)
        # One sorted run of excluded places per combination, in one array.
        width = len(self.pools.keys) + 1
        keys = sorted_unique(pair_codes(owner[inside], place[inside], width))

        def bounds(places: Ints) -> Ints:
            return np.searchsorted(keys, pair_codes(shared, places, width))

        own = np.zeros(len(shared), np.int64) if self.level is None else self.level[rows]
        reach = np.full(len(own), self.pools.top if self.level is None else 0)
        while True:
            lowest, highest = np.maximum(own - reach, 0), np.minimum(own + reach, self.pools.top)
            start, stop = self.pools.range_of(self.pool[rows], lowest, highest)
            first, last = bounds(start), bounds(stop)
            few = (stop - start) - (last - first) < wanted
            few &= (lowest > 0) | (highest < self.pools.top)
            if not few.any():
                return start, stop, keys % width, first, last
            reach += few
