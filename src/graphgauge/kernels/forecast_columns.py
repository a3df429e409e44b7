"""Sums of quantile losses, and of any numbers of each cell, by horizon and by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from graphgauge import _core
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.forecast import Sums, places, sums_of


def quantile_sums(
    y: AnyArray,
    quantiles: AnyArray,
    levels: Sequence[float],
    mask: Mask | None = None,
    *,
    pairs: Sequence[tuple[int, int]] = (),
    place: Ints | None = None,
    with_quantiles: bool = True,
) -> tuple[Sums, Sums]:
    """For (blocks, steps, horizons, nodes) with a last axis of levels: pinball losses and quantiles of each level.

    The counts are, for each level, the truths at or below the quantile; for each pair of levels the truths between
    them; and the cells in which a quantile is below that of a lower level.

    >>> y, quantiles = np.ones((1, 1, 1, 1)), np.array([0.0, 3.0]).reshape(1, 1, 1, 1, 2)
    >>> sums, _ = quantile_sums(y, quantiles, (0.25, 0.75), pairs=[(0, 1)])
    >>> sums.high[0, 0], sums.counts[0, 0]
    (array([0.25, 0.5 , 0.  , 3.  ]), array([0, 1, 1, 0]))
    """
    dtype = np.result_type(y.dtype, quantiles.dtype, np.float32)
    by_horizon, by_node = _core.quantile_sums(
        exact(y, dtype),
        exact(quantiles, dtype),
        None if mask is None else np.require(mask, np.bool_, ("C", "A")),
        np.array(levels, np.float64),
        np.array(pairs, np.int64).reshape(-1, 2),
        with_quantiles,
        places(len(y), place),
    )
    return sums_of(*by_horizon), sums_of(*by_node)


def column_sums(
    values: Iterable[Floats],
    counts: Iterable[AnyArray],
    shape: tuple[int, ...],
    *,
    place: Ints | None = None,
) -> tuple[Sums, Sums]:
    """Sums of numbers and of counts per cell, for cells (blocks, steps, horizons, nodes)."""
    of_block = places(shape[0], place)

    def summed(columns: Iterable[AnyArray]) -> list[list[tuple[Floats, Floats, Ints]]]:
        nothing = _core.column_sums(np.zeros((0, *shape)), of_block)
        rows = (np.require(column, np.float64, ("C", "A")).reshape(1, *shape) for column in columns)
        return [list(side) for side in zip(nothing, *(_core.column_sums(row, of_block) for row in rows), strict=True)]

    found = []
    for floats, whole in zip(summed(values), summed(counts), strict=True):
        high, low = (np.concatenate([part[side] for part in floats], axis=1) for side in range(2))
        # Counts are exact in floats too.
        tally = np.concatenate([part[0] for part in whole], axis=1).astype(np.int64)
        found.append(sums_of(high, low, tally))
    return found[0], found[1]
