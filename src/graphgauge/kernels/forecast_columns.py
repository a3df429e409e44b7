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
    parts = [(list(map(_row, columns)), kind) for columns, kind in ((values, "float"), (counts, "count"))]
    found = []
    for number, rows, groups in sides:
        group = np.broadcast_to(number, shape).reshape(-1).astype(np.int64)
        tables = {}
        for columns, kind in parts:
            high, low = np.zeros((2, len(columns), rows * groups))
            for place_of, column in enumerate(columns):
                high[place_of], low[place_of] = (part[0] for part in _core.grouped_sums(column, group, rows * groups))
            tables[kind] = [part.reshape(len(columns), rows, groups).transpose(1, 2, 0) for part in (high, low)]
        found.append(Sums(*tables["float"], tables["count"][0].astype(np.int64)))  # counts are exact in floats too
    return found[0], found[1]


def _row(column: AnyArray) -> Floats:
    return np.require(column, np.float64, ("C", "A")).reshape(1, -1)
