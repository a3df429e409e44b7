"""Sums of quantile losses, and of any numbers of each cell, by horizon and by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from graphgauge import _core
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.forecast import Sums, places


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
    seen = np.ones(y.shape, np.bool_) if mask is None else mask
    truth = np.where(seen, y, 0).astype(np.float64)
    known = [np.where(seen, quantiles[..., level], 0).astype(np.float64) for level in range(len(levels))]
    losses = (
        np.maximum(level * (truth - quantile), (level - 1) * (truth - quantile))
        for level, quantile in zip(levels, known, strict=True)
    )
    crossed = np.zeros(y.shape, np.bool_)
    for lower, higher in pairwise(known):
        crossed |= higher < lower
    flags = [seen & (truth <= quantile) for quantile in known]
    flags += [seen & (known[low] <= truth) & (truth <= known[high]) for low, high in pairs]
    return column_sums([*losses, *(known if with_quantiles else ())], [*flags, crossed], y.shape, place=place)


def column_sums(
    values: Iterable[Floats],
    counts: Iterable[AnyArray],
    shape: tuple[int, ...],
    *,
    place: Ints | None = None,
) -> tuple[Sums, Sums]:
    """Sums of numbers and of counts per cell, for cells (blocks, steps, horizons, nodes)."""
    blocks, _, horizons, nodes = shape
    block, _, horizon, node = np.ogrid[tuple(map(slice, shape))]
    of_block = places(blocks, place)
    sides = (
        (block * horizons + horizon, blocks, horizons),
        (of_block[block] * nodes + node, int(of_block.max(initial=-1)) + 1, nodes),
    )
    floats, whole = list(map(_row, values)), list(map(_row, counts))
    found = []
    for number, rows, groups in sides:
        group = np.broadcast_to(number, shape).reshape(-1).astype(np.int64)

        def summed(columns: list[Floats], group: Ints = group, size: tuple[int, int] = (rows, groups)) -> Floats:
            """High and low parts, (row, group, column)."""
            sums = np.zeros((2, len(columns), size[0] * size[1]))
            for column, cells in enumerate(columns):
                sums[:, column] = np.concatenate(_core.grouped_sums(cells, group, sums.shape[2]))
            return sums.reshape(2, len(columns), *size).transpose(0, 2, 3, 1)

        # Counts are exact in floats too.
        high, low = summed(floats)
        found.append(Sums(high, low, summed(whole)[0].astype(np.int64)))
    return found[0], found[1]


def _row(column: AnyArray) -> Floats:
    return np.require(column, np.float64, ("C", "A")).reshape(1, -1)
