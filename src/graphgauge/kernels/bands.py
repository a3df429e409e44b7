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
    scores: Scores, rows: Ints, low: NDArray[np.float64], high: NDArray[np.float64], *, threads: int | None = None
) -> tuple[Ints, Ints, Ints]:
    """For each band, the number of `scores[row]` above its `high`; band and column of each score in [low, high].

    Band i is that of row `rows[i]`; a row may have several. NaN is in none.

    >>> band_counts(np.array([[0.1, 0.5, 0.9]]), np.array([0, 0]), np.array([0.4, 0.0]), np.array([0.6, 0.2]))
    (array([1, 2]), array([0, 1]), array([1, 0]))
    """
    # Rounded outward to the scores' precision: a wider band costs little, a narrower one would be wrong.
    floor, ceiling = _outward(low, scores.dtype, -np.inf), _outward(high, scores.dtype, np.inf)
    work = len(rows) * scores.shape[1]
    count, place = _count.implementation(work), _place.implementation(work)

    def block_bands(block: slice) -> tuple[Ints, Ints, Ints]:
        row, bottom, top = rows[block], floor[block], ceiling[block]
        above, inside = np.empty(len(row), np.int64), np.empty(len(row), np.int64)
        count(scores, row, bottom, top, above, inside)
        columns = np.empty(int(inside.sum()), np.int64)
        place(scores, row, bottom, top, inside, columns)
        return above, np.repeat(np.arange(block.start, block.stop), inside), columns

    parts = map_blocks(block_bands, row_blocks(len(rows), work), threads=threads)
    above, bands, columns = (np.concatenate([part[index] for part in parts]) for index in range(3))
    return above, bands, columns


def threshold_counts(scores: Scores, rows: Ints, threshold: Scores, *, threads: int | None = None) -> tuple[Ints, Ints]:
    """How many of `scores[rows[i]]` are above `threshold[i]`, and how many equal it; NaN is neither.

    >>> threshold_counts(np.array([[0.1, 0.5, 0.9]]), np.array([0, 0]), np.array([0.5, 0.0]))
    (array([1, 3]), array([1, 0]))
    """
    work = len(rows) * scores.shape[1]
    count = _count.implementation(work)
    above, equal = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)

    def block_counts(block: slice) -> None:
        count(scores, rows[block], threshold[block], threshold[block], above[block], equal[block])

    map_blocks(block_counts, row_blocks(len(rows), work), threads=threads)
    return above, equal


def _outward(bounds: NDArray[np.float64], dtype: np.dtype[Any], towards: float) -> Scores:
    narrowed = bounds.astype(dtype)
    return np.nextafter(narrowed, dtype.type(towards)) if dtype != bounds.dtype else narrowed


def _count_twin(scores: Scores, rows: Ints, low: Scores, high: Scores, above: Ints, inside: Ints) -> None:
    for band, row in enumerate(rows):
        above[band] = np.count_nonzero(scores[row] > high[band])
        inside[band] = np.count_nonzero(scores[row] >= low[band]) - above[band]


@kernel(twin=_count_twin)
def _count(scores: Scores, rows: Ints, low: Scores, high: Scores, above: Ints, inside: Ints) -> None:
    for band in range(rows.size):
        floor, ceiling = low[band], high[band]
        line = scores[rows[band]]  # a slice, of which no index is negative, lets the compiler vectorise
        over, reached = np.int32(0), np.int32(0)
        for column in range(line.size):
            score = line[column]
            over = np.int32(over + (score > ceiling))
            reached = np.int32(reached + (score >= floor))
        above[band] = over
        inside[band] = reached - over


def _place_twin(scores: Scores, rows: Ints, low: Scores, high: Scores, inside: Ints, columns: Ints) -> None:
    found = [
        np.flatnonzero((scores[row] >= floor) & (scores[row] <= ceiling))
        for row, floor, ceiling in zip(rows, low, high, strict=True)
    ]
    columns[:] = np.concatenate(found) if found else 0


@kernel(twin=_place_twin)
def _place(scores: Scores, rows: Ints, low: Scores, high: Scores, inside: Ints, columns: Ints) -> None:
    filled = 0
    for band in range(rows.size):
        floor, ceiling = low[band], high[band]
        line = scores[rows[band]]
        last = filled + inside[band]
        for start in range(0, line.size, _STRIDE):
            if filled == last:  # mostly there is none
                break
            part = line[start : min(start + _STRIDE, line.size)]
            here = np.int32(0)
            for column in range(part.size):
                score = part[column]
                here = np.int32(here + ((score >= floor) & (score <= ceiling)))
            if here:
                for column in range(part.size):
                    score = part[column]
                    if score >= floor and score <= ceiling:
                        columns[filled] = start + column
                        filled += 1
