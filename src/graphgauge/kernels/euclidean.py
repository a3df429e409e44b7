"""Euclidean distances between points, tile by tile, from the differences of their coordinates.

The product ‖x‖² + ‖y‖² − 2x·y loses all digits if points are close to each other. It is exact, and many times as fast,
for small integers such as bits, and is used for those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Floats
from graphgauge.kernels.jit import expect, kernel

# Points per side of a tile that stays in the cache.
TILE = 128
# Coordinates per pass over a tile; points are padded with zeros to a multiple of it.
_TOGETHER = 4
# Integers up to this are exact in single precision.
_EXACT = 2.0**24


class Points(NamedTuple):
    """Points (n, D) and their transpose (D, n), in a unit that is a power of 2 and keeps squares in range."""

    rows: Floats
    turned: Floats
    unit: float
    # The points as they are, and their squared lengths, if both and all products are exact in single precision.
    integers: NDArray[np.float32] | None = None
    lengths: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, points: NDArray[Any]) -> Points:
        """Finite points of any type; the original is not changed."""
        points = np.asarray(points, np.float64)
        largest = float(max(points.max(initial=0.0), -points.min(initial=0.0)))
        if points.ndim != 2 or not np.isfinite(largest):
            raise ValueError(f"expected rows of finite numbers, found shape {points.shape} up to {largest}")
        exponent = int(np.frexp(largest)[1])
        integers = lengths = None
        if largest < _EXACT and 0 < points.shape[1] * (2 * largest) ** 2 < _EXACT and _are_whole(points):
            integers = points.astype(np.float32)
            lengths = np.einsum("ij,ij->i", integers, integers)
            # The transpose is not needed, so they are not copied once more.
            unit, none = float(np.ldexp(1.0, exponent)), np.empty((0, len(points)))
            return cls(np.ldexp(points, -exponent), none, unit, integers, lengths)
        rows = np.zeros((len(points), -(-points.shape[1] // _TOGETHER) * _TOGETHER))
        np.ldexp(points, -exponent, out=rows[:, : points.shape[1]])
        expect(len(rows) * rows.size)
        return cls(rows, np.ascontiguousarray(rows.T), float(np.ldexp(1.0, exponent)), integers, lengths)

    def squared(self, rows: slice, columns: slice) -> Floats:
        """Squared distances between two ranges of points, in squared units."""
        if self.integers is not None and self.lengths is not None:
            tile = self.integers[rows] @ self.integers[columns].T
            tile *= -2
            tile += self.lengths[rows, np.newaxis]
            tile += self.lengths[columns]
            return tile.astype(np.float64) / self.unit**2
        tile = np.empty((rows.stop - rows.start, columns.stop - columns.start))
        _fill.implementation(tile.size * len(self.turned))(self.rows[rows], self.turned[:, columns].copy(), tile)
        return tile

    def strip(self, rows: slice, columns: slice) -> Floats:
        """The same for a range of any width."""
        if self.integers is not None:
            return self.squared(rows, columns)
        return np.concatenate([self.squared(rows, part) for part in tiles(columns.start, columns.stop)], axis=1)

    def distances(self, rows: slice, columns: slice) -> Floats:
        """Distances between two ranges of points, in units."""
        tile = self.squared(rows, columns)
        return np.sqrt(tile, out=tile)


def _are_whole(points: Floats) -> bool:
    """Whether all coordinates are integers, without a copy of them all."""
    return all(bool((part == np.rint(part)).all()) for part in (points[rows] for rows in tiles(0, len(points))))


def tiles(start: int, stop: int) -> list[slice]:
    """A range of points in parts of at most `TILE`."""
    return [slice(first, min(first + TILE, stop)) for first in range(start, stop, TILE)]


def _fill_twin(own: Floats, turned: Floats, tile: Floats) -> None:
    tile[:] = 0
    for axis in range(0, len(turned), _TOGETHER):
        first, second, third, fourth = (
            (turned[axis + place] - own[:, axis + place, np.newaxis]) ** 2 for place in range(_TOGETHER)
        )
        tile += (first + second) + (third + fourth)


@kernel(twin=_fill_twin)
def _fill(own: Floats, turned: Floats, tile: Floats) -> None:
    """Fill a tile with the squared distances between `own` points and the columns of `turned`."""
    for row in range(tile.shape[0]):
        line = tile[row]
        line[:] = 0.0
        for axis in range(0, own.shape[1], _TOGETHER):
            a, b, c, d = own[row, axis], own[row, axis + 1], own[row, axis + 2], own[row, axis + 3]
            e, f, g, h = turned[axis], turned[axis + 1], turned[axis + 2], turned[axis + 3]
            for column in range(line.size):
                p, q, r, s = e[column] - a, f[column] - b, g[column] - c, h[column] - d
                line[column] += (p * p + q * q) + (r * r + s * s)
