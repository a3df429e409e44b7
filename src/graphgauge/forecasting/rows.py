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

    def union(self, other: Steps) -> Steps:
        """The union of disjoint ranges."""
        return Steps([*self.ranges, *other.ranges])


class Once:
    """Which cells of an array (time, horizon, node) were seen: one bit per cell."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self._bits = np.zeros(-(-prod(shape) // 8), np.uint8)

    def again(self, step: Ints, horizon: Ints, node: Ints) -> Ints:
        """Mark the cells of some rows; return the rows whose cell was already marked."""
        cell = (step * self.shape[1] + horizon) * self.shape[2] + node
        bit = np.left_shift(1, cell & 7).astype(np.uint8)
        known = self._bits[cell >> 3] & bit != 0
        order = np.argsort(cell, kind="stable")
        known[order[1:]] |= cell[order[1:]] == cell[order[:-1]]
        np.bitwise_or.at(self._bits, cell >> 3, bit)
        return np.flatnonzero(known)


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
