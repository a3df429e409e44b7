"""Scores against a band: how many are above it, and which are inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.types import Ints
from graphgauge.kernels.threads import even_blocks, map_blocks

Scores = NDArray[np.floating[Any]]

# Scores that are gathered at a time, so that they stay in the cache.
_CACHED_WORK = 1 << 18


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

    def block_bands(block: slice) -> tuple[Ints, Ints, Ints]:
        own, bottom, top = scores[rows[block]], floor[block], ceiling[block]
        above = _core.rank_counts(top, own)[0].astype(np.int64)
        inside = np.flatnonzero((own >= bottom[:, np.newaxis]) & (own <= top[:, np.newaxis]))
        band, column = np.divmod(inside, max(own.shape[1], 1))
        return above, band + block.start, column

    parts = map_blocks(block_bands, _cached_blocks(scores, rows), threads=threads)
    above, bands, columns = (np.concatenate([part[index] for part in parts]) for index in range(3))
    return above, bands, columns


def threshold_counts(scores: Scores, rows: Ints, threshold: Scores, *, threads: int | None = None) -> tuple[Ints, Ints]:
    """How many of `scores[rows[i]]` are above `threshold[i]`, and how many equal it; NaN is neither.

    >>> threshold_counts(np.array([[0.1, 0.5, 0.9]]), np.array([0, 0]), np.array([0.5, 0.0]))
    (array([1, 3]), array([1, 0]))
    """

    def block_counts(block: slice) -> tuple[Ints, Ints]:
        above, equal, *_ = _core.rank_counts(threshold[block], scores[rows[block]])
        return above.astype(np.int64), equal.astype(np.int64)

    parts = map_blocks(block_counts, _cached_blocks(scores, rows), threads=threads)
    above, equal = (np.concatenate([part[index] for part in parts]) for index in range(2))
    return above, equal


def _cached_blocks(scores: Scores, rows: Ints) -> list[slice]:
    return even_blocks(len(rows), -(-len(rows) * scores.shape[1] // _CACHED_WORK))


def _outward(bounds: NDArray[np.float64], dtype: np.dtype[Any], towards: float) -> Scores:
    narrowed = bounds.astype(dtype)
    return np.nextafter(narrowed, dtype.type(towards)) if dtype != bounds.dtype else narrowed
