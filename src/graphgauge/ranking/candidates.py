"""Who may stand in for the right answer of a query, and draws from among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import Ints, Mask, sorted_unique
from graphgauge.core.random import Random
from graphgauge.core.threads import default_threads
from graphgauge.ranking.edges import dense, pair_codes
from graphgauge.ranking.sets import Sets

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
    """Nodes of each query: the first `count[i]` of `nodes[i]`. `widened` queries needed other levels than their own."""

    nodes: Ints
    count: Ints
    widened: int = 0

    def then(self, other: Drawn) -> Drawn:
        """These nodes, and the other's behind them."""
        if not self.nodes.shape[1]:
            return other
        nodes = np.concatenate([self.nodes, other.nodes], axis=1)
        columns = [np.arange(each.nodes.shape[1]) >= each.count[:, None] for each in (self, other)]
        order = np.argsort(np.concatenate(columns, axis=1), axis=1, kind="stable")
        return Drawn(np.take_along_axis(nodes, order, 1), self.count + other.count, self.widened + other.widened)


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
        return Drawn(nodes, count, sum(part.widened for part in parts))

    def _block(self, rows: slice, wanted: Ints, width: int, random: Random) -> Drawn:
        start, stop, taken, first, last, widened = self._ranges(rows, wanted)
        take = np.minimum(wanted, (stop - start) - (last - first))
        uniform = random.uniform(len(take), width)
        places = _core.draw_distinct(start, stop, taken, first, last, take, uniform, threads=default_threads())
        nodes = self.pools.node_at(np.maximum(places, 0)) if len(self.pools.keys) else places
        return Drawn(nodes, take, widened)

    def _ranges(self, rows: slice, wanted: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, int]:
        """The range of each query's candidates, its excluded places, and how many ranges had to be widened."""
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
                widened = 0 if self.level is None else int(np.count_nonzero(reach))
                return start, stop, keys % width, first, last, widened
            reach += few
