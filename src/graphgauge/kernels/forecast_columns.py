"""Sums of quantile losses, and of any numbers of each cell, by horizon and by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import added
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.forecast import Sums, empty_totals, rounded, steps_together
from graphgauge.kernels.forecast_cells import (
    Totals,
    add_by_group,
    clear,
    count_by_group,
    fold_tile,
    round_totals,
    round_twin,
    tiles_of,
)
from graphgauge.kernels.jit import inlined, kernel

# Cells of a tile: those of all levels stay in the second cache.
_TILE = 1024
_STRIDE = _TILE + 8


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
    blocks, steps, horizons, nodes = y.shape
    place = np.arange(blocks) if place is None else place
    count = len(levels)
    asked = np.full(2 * count, with_quantiles)
    asked[:count] = True
    totals = tuple(
        empty_totals(size, asked.size, count + len(pairs) + 1)
        for size in ((blocks, horizons), (int(place[-1]) + 1 if blocks else 0, nodes))
    )
    if y.size:
        dtype = np.result_type(y.dtype, quantiles.dtype, np.float32)
        seen = np.zeros(0, np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_).reshape(-1)
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        add = _add_quantiles.implementation(quantiles.size * 2)
        with np.errstate(all="ignore"):
            add(
                exact(y, dtype).reshape(-1), exact(quantiles, dtype).reshape(-1, count), seen, np.array(levels), ends,
                asked, steps_together(steps, horizons * nodes), place.astype(np.int64), *totals,
            )  # fmt: skip
    return rounded(totals[0], asked), rounded(totals[1], asked)


def column_sums(
    values: Sequence[Floats], counts: Sequence[AnyArray], shape: tuple[int, int, int, int], *, place: Ints | None = None
) -> tuple[Sums, Sums]:
    """Sums of numbers and of counts per cell, for cells (blocks, steps, horizons, nodes)."""
    blocks, steps, horizons, nodes = shape
    place = np.arange(blocks) if place is None else place
    asked = np.ones(len(values), np.bool_)
    totals = tuple(
        empty_totals(size, len(values), len(counts))
        for size in ((blocks, horizons), (int(place[-1]) + 1 if blocks else 0, nodes))
    )
    cells = blocks * steps * horizons * nodes
    if cells and (values or counts):
        numbers = np.empty((len(values), cells))
        tallies = np.empty((len(counts), cells), np.int32)
        for row, column in enumerate(values):
            numbers[row] = column.reshape(-1)
        for row, tally in enumerate(counts):
            tallies[row] = tally.reshape(-1)
        add = _add_columns.implementation(cells * (len(values) + len(counts)))
        with np.errstate(all="ignore"):
            add(numbers, tallies, asked, steps_together(steps, horizons * nodes), place.astype(np.int64), *totals)
    return rounded(totals[0], asked), rounded(totals[1], asked)


def _add_quantiles_twin(
    y: AnyArray, quantiles: AnyArray, mask: Mask, levels: Floats, ends: Ints, asked: Mask, together: int, place: Ints,
    of_horizon: Totals, of_node: Totals,
) -> None:  # fmt: skip
    count, shape = levels.size, (of_horizon[0].shape[0], -1, of_horizon[0].shape[2], of_node[0].shape[2])
    seen = mask.reshape(shape) if mask.size else np.ones(y.size, np.bool_).reshape(shape)
    truth = np.where(seen, y.reshape(shape), 0).astype(np.float64)
    table = [np.where(seen, quantiles[:, level].reshape(shape), 0).astype(np.float64) for level in range(count)]
    crossed = np.zeros(truth.shape, np.bool_)
    for level, quantile in enumerate(table):
        above = truth - quantile
        loss = np.maximum(levels[level] * above, (levels[level] - 1.0) * above)
        add_by_group(level, loss, place, of_horizon, of_node)
        if asked[count + level]:
            add_by_group(count + level, quantile, place, of_horizon, of_node)
        count_by_group(level, (truth <= quantile) & seen, place, of_horizon, of_node)
        if level:
            crossed |= quantile < table[level - 1]
    for row, (low, high) in enumerate(ends.tolist()):
        inside = (table[low] <= truth) & (truth <= table[high]) & seen
        count_by_group(count + row, inside, place, of_horizon, of_node)
    count_by_group(count + len(ends), crossed & seen, place, of_horizon, of_node)
    round_twin(of_horizon, of_node)


@kernel(twin=_add_quantiles_twin)
def _add_quantiles(
    y: AnyArray, quantiles: AnyArray, mask: Mask, levels: Floats, ends: Ints, asked: Mask, together: int, place: Ints,
    of_horizon: Totals, of_node: Totals,
) -> None:  # fmt: skip
    blocks, period, count, masked = (
        of_horizon[0].shape[0],
        of_horizon[0].shape[2] * of_node[0].shape[2],
        levels.size,
        mask.size > 0,
    )
    last = count + len(ends)
    counted = np.ones(last + 1, np.bool_)
    tile, tally = np.empty((2 * asked.size, _STRIDE)), np.empty((last + 1, _STRIDE), np.int32)
    value, truth = np.empty((count, _STRIDE)), np.empty(_STRIDE)
    hidden, crossed = np.zeros(_STRIDE, np.int32), np.empty(_STRIDE, np.int32)
    for block, begin, stop, lanes, start, width in tiles_of(y.size, blocks, together, period, _TILE):
        for k in range(asked.size):
            if asked[k]:
                clear(tile[2 * k, :width])
                clear(tile[2 * k + 1, :width])
        for row in range(len(tally)):
            clear(tally[row, :width])
        clear(hidden[:width])
        for row in range(begin, stop, lanes):
            clear(crossed[:width])
            for j in range(np.uint64(width)):
                truth[j] = y[np.uint64(row) + j]
            for level in range(count):
                for j in range(np.uint64(width)):
                    value[level, j] = quantiles[np.uint64(row) + j, level]
            if masked:
                for j in range(width):
                    if not mask[row + j]:
                        hidden[j] += 1
                        truth[j] = 0.0
                        value[:, j] = 0.0
            for level in range(count):
                _add_losses(width, levels[level], truth, value[level], tile[2 * level], tile[2 * level + 1])
                _count_below(width, truth, value[level], tally[level])
                if asked[count + level]:
                    _add_all(width, value[level], tile[2 * (count + level)], tile[2 * (count + level) + 1])
                if level:
                    _note_less(width, value[level], value[level - 1], crossed)
            for pair in range(len(ends)):
                low, high, inside = value[ends[pair, 0]], value[ends[pair, 1]], tally[count + pair]
                for j in range(np.uint64(width)):
                    inside[j] += (low[j] <= truth[j]) & (truth[j] <= high[j])
            for j in range(np.uint64(width)):
                tally[last, j] += crossed[j]
        if masked:
            # With truth and quantiles 0 a masked cell was counted as below and inside.
            for row in range(last):
                for j in range(np.uint64(width)):
                    tally[row, j] -= hidden[j]
        fold_tile(start, width, asked, counted, block, place[block], tile, tally, of_horizon, of_node)
    round_totals(asked, of_horizon, of_node)


@inlined
def _add_losses(width: int, level: float, truth: Floats, quantile: Floats, high: Floats, low: Floats) -> None:
    for j in range(np.uint64(width)):
        above = truth[j] - quantile[j]
        up, down = level * above, (level - 1.0) * above
        high[j], low[j] = added(high[j], low[j], up if above > 0.0 else down)


@inlined
def _count_below(width: int, truth: Floats, quantile: Floats, below: AnyArray) -> None:
    for j in range(np.uint64(width)):
        below[j] += truth[j] <= quantile[j]


@inlined
def _note_less(width: int, one: Floats, other: Floats, less: AnyArray) -> None:
    for j in range(np.uint64(width)):
        less[j] |= one[j] < other[j]


@inlined
def _add_all(width: int, value: Floats, high: Floats, low: Floats) -> None:
    for j in range(np.uint64(width)):
        high[j], low[j] = added(high[j], low[j], value[j])


def _add_columns_twin(
    values: Floats, counts: AnyArray, asked: Mask, together: int, place: Ints, of_horizon: Totals, of_node: Totals
) -> None:
    shape = (of_horizon[0].shape[0], -1, of_horizon[0].shape[2], of_node[0].shape[2])
    for row, value in enumerate(values):
        add_by_group(row, value.reshape(shape), place, of_horizon, of_node)
    for row, tally in enumerate(counts):
        count_by_group(row, tally.reshape(shape), place, of_horizon, of_node)
    round_twin(of_horizon, of_node)


@kernel(twin=_add_columns_twin)
def _add_columns(
    values: Floats, counts: AnyArray, asked: Mask, together: int, place: Ints, of_horizon: Totals, of_node: Totals
) -> None:
    blocks, period = of_horizon[0].shape[0], of_horizon[0].shape[2] * of_node[0].shape[2]
    cells = max(values.shape[1], counts.shape[1])
    counted = np.ones(len(counts), np.bool_)
    tile, tally = np.empty((2 * asked.size, _STRIDE)), np.empty((len(counts), _STRIDE), np.int32)
    for block, begin, stop, lanes, start, width in tiles_of(cells, blocks, together, period, _TILE):
        for row in range(len(tile)):
            clear(tile[row, :width])
        for row in range(len(tally)):
            clear(tally[row, :width])
        for first in range(begin, stop, lanes):
            for row in range(len(values)):
                _add_all(width, values[row, first : first + width], tile[2 * row], tile[2 * row + 1])
            for row in range(len(counts)):
                for j in range(np.uint64(width)):
                    tally[row, j] += counts[row, np.uint64(first) + j]
        fold_tile(start, width, asked, counted, block, place[block], tile, tally, of_horizon, of_node)
    round_totals(asked, of_horizon, of_node)
