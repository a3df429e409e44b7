"""Euclidean distances between points, tile by tile, from the differences of their coordinates.

The product ‖x‖² + ‖y‖² − 2x·y loses all digits if points are close to each other. It is exact, and many times as fast,
for small integers such as bits, and is used for those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.types import Floats

# Points per side of a tile that stays in the cache.
TILE = 128
# Integers up to this are exact in single precision.
_EXACT = 2.0**24


class Points(NamedTuple):
    """Points (n, D), in a unit that is a power of 2 and keeps squares in range."""

    rows: Floats
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
        rows = np.require(np.ldexp(points, -exponent), None, ("C", "A"))
        return cls(rows, float(np.ldexp(1.0, exponent)), integers, lengths)

    def squared(self, rows: slice, columns: slice) -> Floats:
        """Squared distances between two ranges of points, in squared units."""
        if self.integers is not None and self.lengths is not None:
            tile = self.integers[rows] @ self.integers[columns].T
            tile *= -2
            tile += self.lengths[rows, np.newaxis]
            tile += self.lengths[columns]
            return tile.astype(np.float64) / self.unit**2
        return np.asarray(_core.squared_distances(self.rows[rows], self.rows[columns]))

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
