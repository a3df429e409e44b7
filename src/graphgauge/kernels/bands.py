"""Scores against a band: how many are above it, and which are inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints
from graphgauge.kernels.jit import kernel
from graphgauge.kernels.threads import map_blocks, row_blocks

Scores = NDArray[np.floating[Any]]

# Scores processed together: mostly none is inside, and then they cost only two counts.
_STRIDE = 1024


def band_counts(
    scores: Scores, low: NDArray[np.float64], high: NDArray[np.float64], *, threads: int | None = None
) -> tuple[Ints, Ints, Ints]:
    """For each row of `scores` (b, m) the number above its `high`; row and column of each score in [low, high].

    >>> band_counts(np.array([[0.1, 0.5, 0.9]]), np.array([0.4]), np.array([0.6]))
    (array([1]), array([0]), array([1]))
    """
    # Rounded outward to the scores' precision: a wider band costs little, a narrower one would be wrong.
    floor, ceiling = _outward(low, scores.dtype, -np.inf), _outward(high, scores.dtype, np.inf)
    count, place = _count.implementation(scores.size), _place.implementation(scores.size)

    def block_bands(block: slice) -> tuple[Ints, Ints, Ints]:
        part, bottom, top = scores[block], floor[block], ceiling[block]
        above, inside = np.empty(len(part), np.int64), np.empty(len(part), np.int64)
        count(part, bottom, top, above, inside)
        columns = np.empty(int(inside.sum()), np.int64)
        place(part, bottom, top, columns)
        return above, np.repeat(np.arange(block.start, block.stop), inside), columns

    parts = map_blocks(block_bands, row_blocks(len(scores), scores.size), threads=threads)
    above, rows, columns = (np.concatenate([part[index] for part in parts]) for index in range(3))
    return above, rows, columns


def _outward(bounds: NDArray[np.float64], dtype: np.dtype[Any], towards: float) -> Scores:
    narrowed = bounds.astype(dtype)
    return np.nextafter(narrowed, dtype.type(towards)) if dtype != bounds.dtype else narrowed


def _count_twin(scores: Scores, low: Scores, high: Scores, above: Ints, inside: Ints) -> None:
    for row in range(len(scores)):
        above[row] = np.count_nonzero(scores[row] > high[row])
        inside[row] = np.count_nonzero(scores[row] >= low[row]) - above[row]


@kernel(twin=_count_twin)
def _count(scores: Scores, low: Scores, high: Scores, above: Ints, inside: Ints) -> None:
    for row in range(scores.shape[0]):
        floor, ceiling = low[row], high[row]
        over, reached = np.int32(0), np.int32(0)
        for column in range(scores.shape[1]):
            score = scores[row, column]
            over = np.int32(over + (score > ceiling))
            reached = np.int32(reached + (score >= floor))
        above[row] = over
        inside[row] = reached - over


def _place_twin(scores: Scores, low: Scores, high: Scores, columns: Ints) -> None:
    found = [
        np.flatnonzero((row >= floor) & (row <= ceiling)) for row, floor, ceiling in zip(scores, low, high, strict=True)
    ]
    columns[:] = np.concatenate(found) if found else 0


@kernel(twin=_place_twin)
def _place(scores: Scores, low: Scores, high: Scores, columns: Ints) -> None:
    filled = 0
    for row in range(scores.shape[0]):
        floor, ceiling = low[row], high[row]
        for start in range(0, scores.shape[1], _STRIDE):
            stop = min(start + _STRIDE, scores.shape[1])
            here = np.int32(0)
            for column in range(start, stop):
                score = scores[row, column]
                here = np.int32(here + ((score >= floor) & (score <= ceiling)))
            if here:
                for column in range(start, stop):
                    score = scores[row, column]
                    if score >= floor and score <= ceiling:
                        columns[filled] = column
                        filled += 1
