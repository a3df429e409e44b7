"""Sums by time block and group: what metrics are ratios of, and how they moved in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.forecasting.doubled import sum_along
from graphgauge.kernels.doubled import dd_add
from graphgauge.kernels.forecast import Sums

Ints = NDArray[np.int64]

# Blocks of time at most: intervals need the slow movements of the errors, not every step of them.
MOST_BLOCKS = 256
# Numbers of blocks times groups at most, and blocks below which a group is not followed in time at all.
_ROOM = 1 << 16
FEWEST_BLOCKS = 16


def blocks_for(groups: int) -> int:
    """How many blocks of time are kept apart for so many groups: a power of two, 1 where there is no room."""
    room = min(MOST_BLOCKS, _ROOM // max(groups, 1))
    return 1 << (room.bit_length() - 1) if room >= FEWEST_BLOCKS else 1


class BlockSums:
    """Doubled sums and counts of (block, group, column). Blocks are 2**shift steps long, counted from step 0.

    When there are too many blocks, neighbours are joined: the blocks depend on the last step alone, and not on how the
    steps came in.
    """

    def __init__(self, groups: int, floats: int, counts: int, most: int = MOST_BLOCKS) -> None:
        self.most, self.shift = min(most, blocks_for(groups)), 0
        self.high, self.low = np.zeros((0, groups, floats)), np.zeros((0, groups, floats))
        self.counts = np.zeros((0, groups, counts), np.int64)

    def __len__(self) -> int:
        return len(self.counts)

    def reserve(self, steps: int) -> None:
        """Make room for so many steps."""
        while -(-steps >> self.shift) > self.most:
            self._join_neighbours()
        missing = -(-steps >> self.shift) - len(self)
        if missing > 0:
            self._pad(missing)

    def _pad(self, blocks: int) -> None:
        def padded(table: NDArray[Any]) -> NDArray[Any]:
            padding = np.zeros((blocks, *table.shape[1:]), table.dtype)
            return np.concatenate([table, padding]) if len(table) else padding

        if blocks:
            self.high, self.low, self.counts = padded(self.high), padded(self.low), padded(self.counts)

    def _join_neighbours(self) -> None:
        if len(self) % 2:
            self._pad(1)
        self.high, self.low = dd_add(self.high[0::2], self.low[0::2], self.high[1::2], self.low[1::2])
        self.counts = self.counts[0::2] + self.counts[1::2]
        self.shift += 1

    def collapse(self) -> None:
        """Forget when things happened."""
        if len(self) != 1:
            self.high, self.low = (table[np.newaxis] for table in sum_along(self.high, self.low, 0))
            self.counts = self.counts.sum(axis=0, keepdims=True)
        self.shift = 0

    def add(self, block: int, sums: Sums, groups: Ints | slice = slice(None)) -> None:
        """Add to one block, to all groups or to some."""
        at = block, groups
        self.high[at], self.low[at] = dd_add(self.high[at], self.low[at], sums.high, sums.low)
        self.counts[at] += sums.counts

    def merge(self, other: BlockSums) -> None:
        """Add another's blocks, step by step where both have them."""
        theirs = other.copy()
        while theirs.shift < self.shift:
            theirs._join_neighbours()
        if not len(self) and len(theirs) <= self.most:
            self.shift, self.high, self.low, self.counts = theirs.shift, theirs.high, theirs.low, theirs.counts
            return
        self.reserve(len(theirs) << theirs.shift)
        while theirs.shift < self.shift:
            theirs._join_neighbours()
        while self.shift < theirs.shift:
            self._join_neighbours()
        for table in (self, theirs):
            table._pad(max(len(self), len(theirs)) - len(table))
        self.high, self.low = dd_add(self.high, self.low, theirs.high, theirs.low)
        self.counts = self.counts + theirs.counts

    def copy(self) -> BlockSums:
        twin = BlockSums(self.high.shape[1], self.high.shape[2], self.counts.shape[2], self.most)
        twin.shift, twin.high, twin.low, twin.counts = self.shift, self.high, self.low, self.counts.copy()
        return twin

    def pooled(self) -> BlockSums:
        """All groups as one."""
        twin = BlockSums(1, self.high.shape[2], self.counts.shape[2])
        twin.shift = self.shift
        twin.high, twin.low = (table[:, np.newaxis] for table in sum_along(self.high, self.low, 1))
        twin.counts = self.counts.sum(axis=1, keepdims=True)
        return twin

    # ------------------------------------------------------------------ file

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        return {
            f"{prefix}.high": self.high, f"{prefix}.low": self.low, f"{prefix}.counts": self.counts,
            f"{prefix}.shift": np.array(self.shift),
        }  # fmt: skip

    @classmethod
    def restored(cls, prefix: str, arrays: Mapping[str, NDArray[Any]], empty: BlockSums) -> BlockSums:
        """What `arrays` wrote, if it can have been counted into what was `empty`."""
        sums, shape = empty.copy(), (*empty.high.shape[1:], empty.counts.shape[2])
        high, low, counts = (arrays[f"{prefix}.{name}"] for name in ("high", "low", "counts"))
        groups, floats, integers = shape
        if high.shape != low.shape or high.shape[1:] != (groups, floats) or counts.shape[1:] != (groups, integers):
            raise ValueError("sums of another shape")
        if len(high) != len(counts) or len(counts) > sums.most or high.dtype != low.dtype or high.dtype != np.float64:
            raise ValueError("blocks of another number or kind")
        if counts.dtype != np.int64 or (counts.size and int(counts.min()) < 0) or not np.isfinite(high + low).all():
            raise ValueError("impossible counts or sums")
        sums.high, sums.low, sums.counts = high, low, counts
        sums.shift = int(arrays[f"{prefix}.shift"])
        if not 0 <= sums.shift < 48:
            raise ValueError("blocks of impossible length")
        return sums
