"""The steps and cells that were counted, so that none counts twice, and cells given as rows arranged into arrays."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.forecasting.inputs import Slab

Range = tuple[int, int]


class Steps:
    """Half-open ranges of steps, sorted and disjoint."""

    def __init__(self, ranges: Iterable[Iterable[int]] = ()) -> None:
        self.ranges: list[Range] = []
        for first, end in sorted((int(first), int(end)) for first, end in ranges):
            if not 0 <= first < end or (self.ranges and first < self.ranges[-1][1]):
                raise ValueError("ranges that overlap or are empty")
            if self.ranges and first == self.ranges[-1][1]:
                self.ranges[-1] = self.ranges[-1][0], end
            else:
                self.ranges.append((first, end))

    def refuse_shared(self, other: Steps, fix: str) -> None:
        """Raise an error that names the first steps that both contain."""
        mine, theirs = iter(self.ranges), iter(other.ranges)
        one, two = next(mine, None), next(theirs, None)
        while one is not None and two is not None:
            first, end = max(one[0], two[0]), min(one[1], two[1])
            if first < end:
                raise InputError(f"time steps {first} to {end - 1} were already counted", where="start", fix=fix)
            if one[1] <= two[1]:
                one = next(mine, None)
            else:
                two = next(theirs, None)

    def __len__(self) -> int:
        return sum(end - first for first, end in self.ranges)

    def union(self, other: Steps) -> Steps:
        """The union of disjoint ranges."""
        return Steps([*self.ranges, *other.ranges])


# The most cells that are checked for a second row, one bit per cell.
MOST_CELLS = 1 << 33


class Once:
    """Which cells of an array (time, horizon, node) were seen: one bit per cell. There may be more steps later."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self._bits = np.zeros(-(-prod(shape) // 8), np.uint8)

    def again(self, step: Ints, horizon: Ints, node: Ints) -> Ints:
        """Mark the cells of some rows; return the rows whose cell was already marked."""
        known = self.repeated(step, horizon, node)
        self.mark(step, horizon, node)
        return known

    def repeated(self, step: Ints, horizon: Ints, node: Ints) -> Ints:
        """The rows whose cell was marked, or is that of an earlier row."""
        cell = self._cell(step, horizon, node)
        known = self._bits[cell >> 3] & self._bit(cell) != 0
        order = np.argsort(cell, kind="stable")
        known[order[1:]] |= cell[order[1:]] == cell[order[:-1]]
        return np.flatnonzero(known)

    def mark(self, step: Ints, horizon: Ints, node: Ints) -> None:
        cell = self._cell(step, horizon, node)
        np.bitwise_or.at(self._bits, cell >> 3, self._bit(cell))

    def _cell(self, step: Ints, horizon: Ints, node: Ints) -> Ints:
        cell = (step * self.shape[1] + horizon) * self.shape[2] + node
        size = (int(cell.max(initial=-1)) >> 3) + 1
        if size > len(self._bits):
            self._bits = np.concatenate([self._bits, np.zeros(max(size, len(self._bits)), np.uint8)])
        return np.asarray(cell)

    @staticmethod
    def _bit(cell: Ints) -> AnyArray:
        return np.asarray(np.left_shift(1, cell & 7), np.uint8)


def checked_places(given: Any, name: str, rows: int, size: int) -> Ints:
    """The position of each row along an axis of this size."""
    places = as_numeric(given, name)
    require_shape(places, (rows,), name, "One for each row.")
    if places.dtype.kind not in "iu" and rows:
        raise InputError(f"expected whole numbers, found {places.dtype}", where=name, fix="Positions count from 0.")
    if rows and not 0 <= int(places.min()) <= int(places.max()) < size:
        raise InputError(
            f"positions from {places.min()} to {places.max()}, but the size is {size}",
            where=name,
            fix="Positions count from 0.",
        )
    return places.astype(np.int64)


def side_by_side(flat: Slab, block: Ints, horizon: Ints, node: Ints, horizons: int) -> tuple[Slab, Ints, Ints]:
    """A slab of the time blocks and nodes that occur in the rows, and their numbers; cells without a row are masked.

    Cells of the same block, horizon and node are stored one after the other.
    """
    (blocks, row), (nodes, column) = (np.unique(numbers, return_inverse=True) for numbers in (block, node))
    code = (row * horizons + horizon) * len(nodes) + column
    order = np.argsort(code, kind="stable")
    depth = np.empty(len(code), np.int64)
    depth[order] = np.arange(len(code)) - np.searchsorted(code[order], code[order])
    shape = (len(blocks), int(depth.max(initial=0)) + 1, horizons, len(nodes))

    def placed(values: AnyArray) -> AnyArray:
        table = np.zeros(shape, values.dtype)
        table[row, depth, horizon, column] = values.reshape(-1)
        return table.reshape(-1, *shape[2:])

    std = None if flat.std is None else placed(flat.std)
    slab = Slab(placed(flat.y), placed(flat.mean), std, None, None, placed(flat.counted), flat.dropped)
    return slab, blocks, nodes
