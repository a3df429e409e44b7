"""Precision, recall, density and coverage of a generated sample (Kynkäänniemi et al. 2019, Naeem et al. 2020)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.kernels.euclidean import Points, tiles
from graphgauge.kernels.threads import map_blocks


class PRDC(NamedTuple):
    """Open balls around points, with the distance to the k-th nearest neighbour in the same sample as radius.

    precision: share of generated points in a real ball; recall: share of real points in a generated ball; density: real
    balls that contain a generated point, over k, on average; coverage: share of real balls with a generated point.
    """

    precision: float
    recall: float
    density: float
    coverage: float


def prdc(
    real: NDArray[np.floating], generated: NDArray[np.floating], *, k: int = 5, threads: int | None = None
) -> PRDC:
    """All four from Euclidean distances, computed in strips; memory grows with the points, not with the pairs."""
    n, m = len(real), len(generated)
    if not 1 <= k < min(n, m):
        raise InputError(f"{k} nearest neighbours need more than {k} points on either side, found {n} and {m}")
    cloud = Points.of(np.concatenate([real, generated]))
    sides = slice(0, n), slice(n, n + m)

    def strip(rows: slice, side: slice) -> Floats:
        parts = [cloud.distances(rows, columns) for columns in tiles(side.start, side.stop)]
        return np.concatenate(parts, axis=1)

    def radii(side: slice) -> Floats:
        # Each point is its own nearest neighbour, which does not count.
        return np.concatenate(
            map_blocks(
                lambda rows: np.partition(strip(rows, side), k, axis=1)[:, k], tiles(side.start, side.stop),
                threads=threads,
            )
        )  # fmt: skip

    real_radii, generated_radii = (radii(side) for side in sides)

    def count(rows: slice) -> tuple[NDArray[np.bool_], int, int, int]:
        distances = strip(rows, sides[1])
        inside = distances < real_radii[rows, np.newaxis]
        reached = (distances < generated_radii).any(axis=1)
        return np.asarray(inside.any(axis=0)), int(inside.sum()), int(inside.any(axis=1).sum()), int(reached.sum())

    held, inside, covered, reached = zip(*map_blocks(count, tiles(0, n), threads=threads), strict=True)
    return PRDC(float(np.any(held, axis=0).mean()), sum(reached) / n, sum(inside) / (k * m), sum(covered) / n)
