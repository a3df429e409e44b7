"""Who may stand in for the right answer of a query, and draws from among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge.core.arrays import Ints, Mask, sorted_unique
from graphgauge.core.errors import InputError
from graphgauge.kernels.distinct import draw_distinct

# Queries that are drawn for together.
_BLOCK = 1 << 14
_LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Lists:
    """Sorted node numbers in lists: those of list i are `values[offsets[i] : offsets[i + 1]]`."""

    values: Ints
    offsets: Ints

    @classmethod
    def of(cls, owner: Ints, nodes: Ints, lists: int) -> Lists:
        """The distinct nodes of each owner, which are numbered below `lists`."""
        width = int(nodes.max(initial=0)) + 1
        keys = sorted_unique(pair_codes(owner, nodes, width))
        return cls(keys % width, np.searchsorted(keys // width, np.arange(lists + 1)))

    def expanded(self, chosen: Ints) -> tuple[Ints, Ints]:
        """The values of chosen lists, one after another, and the place in `chosen` of each; -1 chooses none."""
        start = np.where(chosen < 0, 0, self.offsets[chosen])
        length = np.where(chosen < 0, 0, self.offsets[chosen + 1] - start)
        place = np.repeat(np.arange(len(chosen)), length)
        step = np.arange(len(place)) - np.repeat(np.cumsum(length) - length, length)
        return self.values[start[place] + step], place


@dataclass(frozen=True)
class Pools:
    """Candidates in pools, each sorted by level, then by node. `keys` combine the three and are sorted."""

    keys: Ints
    nodes: int
    levels: Ints

    @classmethod
    def of(cls, pool: Ints, node: Ints, nodes: int, levels: Ints | None = None) -> Pools:
        level = np.zeros(nodes, np.int64) if levels is None else levels
        made = cls(np.empty(0, np.int64), nodes, level)
        return cls(sorted_unique(made.key(pool, level[node], node)), nodes, level)

    def key(self, pool: Ints, level: Ints, node: Ints | int) -> Ints:
        depth = int(self.levels.max(initial=0)) + 3  # a level below the lowest, and one above the highest
        code = pair_codes(pool, level + 1, depth)
        return pair_codes(code, node, max(self.nodes, 1))

    def range_of(self, pool: Ints, lowest: Ints, highest: Ints) -> tuple[Ints, Ints]:
        """Where the candidates of pools with levels from lowest to highest begin and end."""
        return np.searchsorted(self.keys, self.key(pool, lowest, 0)), np.searchsorted(
            self.keys, self.key(pool, highest + 1, 0)
        )

    def whole(self, pool: Ints) -> tuple[Ints, Ints]:
        edge = np.zeros(len(pool), np.int64)
        return self.range_of(pool, edge, edge + int(self.levels.max(initial=0)))

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
class Draws:
    """Draws for queries from their pools, without the nodes in some lists.

    `excluded` has pairs of lists and the number of each query's list, or -1 for none.
    """

    pools: Pools
    pool: Ints
    excluded: Sequence[tuple[Lists, Ints]]
    # The level of the right answer, if candidates must be on the same level, or as near as it takes.
    level: Ints | None = None

    def into(self, out: Ints, filled: Ints, wanted: Ints, rng: np.random.Generator) -> int:
        """Draw `wanted` nodes for every query, or all there are, and append them to its row of `out`.

        `filled`, the number in each row so far, is brought up to date. Returns how many queries needed other levels.
        """
        widened = 0
        for rows in _blocks(len(self.pool)):
            start, stop, taken, first, last, wider = self._ranges(rows, wanted[rows])
            widened += wider
            take = np.minimum(wanted[rows], (stop - start) - (last - first))
            uniform = rng.random((len(take), int(wanted.max(initial=0))))
            places = np.zeros((len(take), int(take.max(initial=0))), np.int64)
            draw_distinct(start, stop, taken, first, last, take, uniform, places)
            append(out[rows], filled[rows], self.pools.node_at(places), take)
        return widened

    def _ranges(self, rows: slice, wanted: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, int]:
        """The range of each query's candidates, its excluded places, and how many ranges had to be widened."""
        columns = [self.pool[rows], *(number[rows] for _, number in self.excluded)]
        shared = dense(*(column + 1 for column in columns))
        one = np.unique(shared, return_index=True)[1]  # a query of each combination
        parts = [lists.expanded(number[one]) for (lists, _), number in zip(self.excluded, columns[1:], strict=True)]
        node, owner = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        place, found = self.pools.places(columns[0][one][owner], node)
        # One sorted run of excluded places per combination, in one array.
        width = len(self.pools.keys) + 1
        keys = sorted_unique(pair_codes(owner[found], place[found], width))

        def bounds(places: Ints) -> Ints:
            return np.searchsorted(keys, pair_codes(shared, places, width))

        if self.level is None:
            start, stop = self.pools.whole(self.pool[rows])
            return start, stop, keys % width, bounds(start), bounds(stop), 0
        level, widest = self.level[rows], int(self.pools.levels.max(initial=0))
        reach = np.zeros(len(level), np.int64)
        while True:
            lowest, highest = np.maximum(level - reach, 0), np.minimum(level + reach, widest)
            start, stop = self.pools.range_of(self.pool[rows], lowest, highest)
            first, last = bounds(start), bounds(stop)
            few = (stop - start) - (last - first) < wanted
            few &= (lowest > 0) | (highest < widest)
            if not few.any():
                return start, stop, keys % width, first, last, int(np.count_nonzero(reach))
            reach += few


def append(out: Ints, filled: Ints, nodes: Ints, take: Ints) -> None:
    """Append the first `take` nodes of each row to the rows of `out`."""
    if (take == nodes.shape[1]).all() and not filled.any():
        out[:, : nodes.shape[1]] = nodes
        filled += take
        return
    row, column = np.nonzero(np.arange(nodes.shape[1]) < take[:, None])
    out[row, filled[row] + column] = nodes[row, column]
    filled += take


def dense(*columns: Ints) -> Ints:
    """A number for each distinct row of columns, from 0 without gaps."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        span = int(column.max(initial=0)) + 1
        if (int(codes.max(initial=0)) + 1) * span > _LARGEST:
            codes = _numbered(codes)
        codes = pair_codes(codes, column, span)
    return _numbered(codes)


def _numbered(codes: Ints) -> Ints:
    numbers: Ints = np.unique(codes, return_inverse=True)[1].reshape(-1)
    return numbers


def pair_codes(first: Ints, second: Ints | int, width: int) -> Ints:
    """One number for two, if the second is below `width`."""
    if (int(first.max(initial=0)) + 1) * width > _LARGEST:
        raise InputError("node numbers are too large to be looked up", fix="Number nodes from 0 without gaps.")
    codes: Ints = first * width + second
    return codes


def _blocks(length: int) -> Iterator[slice]:
    for start in range(0, length, _BLOCK):
        yield slice(start, min(start + _BLOCK, length))
