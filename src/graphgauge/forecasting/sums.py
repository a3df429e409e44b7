"""Sums by time block and group. Metrics are ratios of these sums; their changes over time give the intervals."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.kernels.doubled import dd_add, dd_times, sum_along
from graphgauge.kernels.forecast import Sums

# Maximum number of time blocks: intervals need the slow movements of the errors, not every step.
MOST_BLOCKS = 256
# Maximum of blocks × groups. With fewer than FEWEST_BLOCKS blocks, groups are not tracked over time.
_ROOM = 1 << 16
FEWEST_BLOCKS = 16


def blocks_for(groups: int) -> int:
    """The number of time blocks kept for this many groups: a power of two, or 1 if there are too many groups."""
    room = min(MOST_BLOCKS, _ROOM // max(groups, 1))
    return 1 << (room.bit_length() - 1) if room >= FEWEST_BLOCKS else 1


def _zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """Zeros in the order in which the kernels sum, column by column, because other copies are slow."""
    blocks, groups, columns = shape
    return np.zeros((blocks, columns, groups), dtype).swapaxes(1, 2)


class BlockSums:
    """Doubled sums and counts of (block, group, column); `at` contains the block numbers in increasing order.

    Block k contains the steps from k·2**shift up to the next block. Blocks without steps are not stored, so late starts
    and gaps cost no memory. When there are too many blocks, neighbours are merged. The blocks depend only on the set of
    steps, not on the order in which they were added.
    """

    def __init__(self, groups: int, floats: int, counts: int, most: int = MOST_BLOCKS) -> None:
        self.most, self.shift = min(most, blocks_for(groups)), 0
        self.at: Ints = np.zeros(0, np.int64)
        self.high, self.low = _zeros((0, groups, floats)), _zeros((0, groups, floats))
        self.counts = _zeros((0, groups, counts), np.int64)
        # Reserved blocks to which nothing was added; unknown after any other change.
        self._empty: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def reserve(self, start: int, steps: int) -> None:
        """Allocate blocks in an empty table for the steps from `start` on."""
        if not steps:
            return
        last = start + steps - 1
        while (last >> self.shift) - (start >> self.shift) >= self.most:
            self.shift += 1
        self._scatter(np.arange(start >> self.shift, (last >> self.shift) + 1))
        self._empty = np.ones(len(self.at), np.bool_)

    def _scatter(self, at: Ints) -> None:
        """Allocate these blocks, which include all present ones."""
        self._empty = None
        place = np.searchsorted(at, self.at)

        def scattered(table: NDArray[Any]) -> NDArray[Any]:
            wider = _zeros((len(at), *table.shape[1:]), table.dtype)
            if len(place):
                wider[place] = table
            return wider

        self.high, self.low, self.counts = scattered(self.high), scattered(self.low), scattered(self.counts)
        self.at = at

    def _join_neighbours(self) -> None:
        odd = self.at % 2 == 1
        right = self.rows(odd)
        left = self.rows(~odd)
        for side in (left, right):
            side.at = side.at >> 1
        left._add_all(right)
        self._empty = None
        self.at, self.high, self.low, self.counts = left.at, left.high, left.low, left.counts
        self.shift += 1

    def rows(self, chosen: NDArray[np.bool_]) -> BlockSums:
        """A copy with some of the blocks."""
        twin = self.copy()
        twin.at, twin.high, twin.low = self.at[chosen], self.high[chosen], self.low[chosen]
        twin.counts = self.counts[chosen]
        return twin

    def _add_all(self, other: BlockSums) -> None:
        """Add blocks of the same length."""
        if not len(self):
            self.at, self.high, self.low, self.counts = other.at, other.high, other.low, other.counts
            return
        at = np.union1d(self.at, other.at)
        for table in (self, other):
            table._scatter(at)
        self.high, self.low = dd_add(self.high, self.low, other.high, other.low)
        self.counts = self.counts + other.counts

    def collapse(self) -> None:
        """Drop the order in time."""
        if len(self) != 1:
            self.high, self.low = (table[np.newaxis] for table in sum_along(self.high, self.low, 0))
            self.counts = self.counts.sum(axis=0, keepdims=True)
        self.at, self.shift = np.zeros(1, np.int64), 0

    def add_blocks(self, first: int, sums: Sums) -> None:
        """Add the sums of successive blocks, of which `first` is the number of the first."""
        at = int(np.searchsorted(self.at, first))
        rows = slice(at, at + len(sums.counts))
        if self._empty is not None and self._empty[rows].all():
            self.high[rows], self.low[rows], self.counts[rows] = sums.high, sums.low, sums.counts
            self._empty[rows] = False
            return
        self.high[rows], self.low[rows] = dd_add(self.high[rows], self.low[rows], sums.high, sums.low)
        self.counts[rows] += sums.counts

    def merge(self, other: BlockSums) -> None:
        """Add the blocks of another table, each to the block with the same steps."""
        theirs = other.copy()
        while theirs.shift < self.shift:
            theirs._join_neighbours()
        while self.shift < theirs.shift:
            self._join_neighbours()
        while len(np.union1d(self.at, theirs.at)) > self.most:
            self._join_neighbours()
            theirs._join_neighbours()
        self._add_all(theirs)

    def seen(self) -> BlockSums:
        """The blocks in which a group has a counted cell."""
        there = np.asarray(self.counts[..., 0].any(axis=1))
        return self if there.all() else self.rows(there)

    def copy(self) -> BlockSums:
        twin = copy(self)
        twin.counts, twin._empty = self.counts.copy(), None
        return twin

    def pooled(self) -> BlockSums:
        """All groups as one."""
        twin = BlockSums(1, self.high.shape[2], self.counts.shape[2])
        twin.at, twin.shift = self.at, self.shift
        twin.high, twin.low = (table[:, np.newaxis] for table in sum_along(self.high, self.low, 1))
        twin.counts = self.counts.sum(axis=1, keepdims=True)
        return twin

    def grouped(self, groups: int, weights: Floats | None = None) -> BlockSums:
        """So many equal parts of the groups as one group each; `weights` of the groups are multiplied with the sums."""
        high, low = self.high, self.low
        if weights is not None:
            high, low = dd_times(high, low, weights[:, np.newaxis])
        blocks, size, columns = high.shape
        parts = (blocks, groups, size // max(1, groups))
        twin = BlockSums(groups, columns, self.counts.shape[2])
        twin.at, twin.shift = self.at, self.shift
        twin.high, twin.low = sum_along(high.reshape(*parts, columns), low.reshape(*parts, columns), 2)
        twin.counts = self.counts.reshape(*parts, self.counts.shape[2]).sum(axis=2)
        return twin

    # ------------------------------------------------------------------ file

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        return {
            f"{prefix}.high": self.high,
            f"{prefix}.low": self.low,
            f"{prefix}.counts": self.counts,
            f"{prefix}.at": self.at,
            f"{prefix}.shift": np.array(self.shift),
        }

    @classmethod
    def restored(cls, prefix: str, arrays: Mapping[str, NDArray[Any]], empty: BlockSums) -> BlockSums:
        """Restore what `arrays` wrote, if it fits the layout of `empty`."""
        sums, shape = empty.copy(), (*empty.high.shape[1:], empty.counts.shape[2])
        high, low, counts = (arrays[f"{prefix}.{name}"] for name in ("high", "low", "counts"))
        groups, floats, integers = shape
        if high.shape != low.shape or high.shape[1:] != (groups, floats) or counts.shape[1:] != (groups, integers):
            raise ValueError("sums of another shape")
        if len(high) != len(counts) or len(counts) > sums.most or high.dtype != low.dtype or high.dtype != np.float64:
            raise ValueError("blocks of another number or kind")
        if counts.dtype != np.int64 or (counts.size and int(counts.min()) < 0) or not np.isfinite(high + low).all():
            raise ValueError("impossible counts or sums")
        at = arrays[f"{prefix}.at"]
        if at.shape != (len(counts),) or at.dtype != np.int64 or (at < 0).any() or (np.diff(at) < 1).any():
            raise ValueError("impossible blocks")
        sums.at, sums.high, sums.low, sums.counts = at, high, low, counts
        sums.shift = int(arrays[f"{prefix}.shift"])
        if not 0 <= sums.shift < 48:
            raise ValueError("blocks of impossible length")
        return sums
