"""Sums of quantile losses, and of any numbers of each cell, by horizon and by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import added, grown
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.forecast import Sums, empty_tile, empty_totals, rounded, steps_together
from graphgauge.kernels.forecast_cells import (
    ROWS,
    STRIDE,
    Address,
    Rows,
    Totals,
    add_by_group,
    add_count,
    count_by_group,
    counted_cells,
    fold_tile,
    kept,
    read_cells,
    round_totals,
    round_twin,
    seen_cells,
    started,
    tiles_of,
)
from graphgauge.kernels.jit import inlined, kernel
from graphgauge.kernels.lanes import LANES, address, ahead, fill, first, load, load_every, load_some, ones, store, where

# Cells of a tile: those of all levels stay in the second cache. Eight lanes of some rows are copied.
_TILE = 1024
_COPIED = ROWS * LANES


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
    asked = np.ones(2 * count if with_quantiles else count, np.bool_)
    sizes = (blocks, horizons), (int(place[-1]) + 1 if blocks else 0, nodes)
    by_horizon, by_node = (empty_totals(size, asked.size, count + len(pairs) + 1) for size in sizes)
    if y.size:
        dtype = np.result_type(y.dtype, quantiles.dtype, np.float32)
        seen = np.zeros(0, np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_).reshape(-1)
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        add = _add_quantiles.implementation(quantiles.size * 2)
        with np.errstate(all="ignore"):
            add(
                exact(y, dtype).reshape(-1),
                exact(quantiles, dtype).reshape(-1),
                seen,
                np.array(levels),
                ends,
                asked,
                steps_together(steps, horizons * nodes),
                place.astype(np.int64),
                by_horizon,
                by_node,
                *empty_tile(asked.size, count + len(pairs) + 1),
                np.empty((count + 1) * _COPIED),
            )
    return rounded(by_horizon, asked), rounded(by_node, asked)


def column_sums(
    values: Sequence[Floats], counts: Sequence[AnyArray], shape: tuple[int, int, int, int], *, place: Ints | None = None
) -> tuple[Sums, Sums]:
    """Sums of numbers and of counts per cell, for cells (blocks, steps, horizons, nodes)."""
    blocks, steps, horizons, nodes = shape
    place = np.arange(blocks) if place is None else place
    asked = np.ones(len(values), np.bool_)
    sizes = (blocks, horizons), (int(place[-1]) + 1 if blocks else 0, nodes)
    by_horizon, by_node = (empty_totals(size, len(values), len(counts)) for size in sizes)
    cells = blocks * steps * horizons * nodes
    if cells and (values or counts):
        numbers = np.empty((len(values), cells))
        tallies = np.empty((len(counts), cells), np.int64)
        for row, column in enumerate(values):
            numbers[row] = column.reshape(-1)
        for row, tally in enumerate(counts):
            tallies[row] = tally.reshape(-1)
        add = _add_columns.implementation(cells * (len(values) + len(counts)))
        with np.errstate(all="ignore"):
            add(
                numbers,
                tallies,
                asked,
                steps_together(steps, horizons * nodes),
                place.astype(np.int64),
                by_horizon,
                by_node,
                *empty_tile(asked.size, len(counts)),
            )
    return rounded(by_horizon, asked), rounded(by_node, asked)


def _add_quantiles_twin(
    y: AnyArray,
    quantiles: AnyArray,
    mask: Mask,
    levels: Floats,
    ends: Ints,
    asked: Mask,
    together: int,
    place: Ints,
    of_horizon: Totals,
    of_node: Totals,
    tile: Floats,
    tally: Ints,
    copied: Floats,
) -> None:
    count, shape = levels.size, (of_horizon[0].shape[0], -1, of_horizon[0].shape[2], of_node[0].shape[2])
    seen = mask.reshape(shape) if mask.size else np.ones(y.size, np.bool_).reshape(shape)
    truth = np.where(seen, y.reshape(shape), 0).astype(np.float64)
    table = [np.where(seen, quantiles[level::count].reshape(shape), 0).astype(np.float64) for level in range(count)]
    crossed = np.zeros(truth.shape, np.bool_)
    for level, quantile in enumerate(table):
        above = truth - quantile
        loss = np.maximum(levels[level] * above, (levels[level] - 1.0) * above)
        add_by_group(level, loss, place, of_horizon, of_node)
        if asked.size > count:
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
    y: AnyArray,
    quantiles: AnyArray,
    mask: Mask,
    levels: Floats,
    ends: Ints,
    asked: Mask,
    together: int,
    place: Ints,
    of_horizon: Totals,
    of_node: Totals,
    tile: Floats,
    tally: Ints,
    copied: Floats,
) -> None:
    blocks, period = of_horizon[0].shape[0], of_horizon[0].shape[2] * of_node[0].shape[2]
    counted, masked, rows_of = np.ones(of_node[2].shape[1], np.bool_), mask.size > 0, np.arange(asked.size)
    cells, seen, sums, counts = (
        (address(y), address(quantiles), address(copied)),
        address(mask),
        address(tile),
        address(tally),
    )
    what = (levels.size, len(ends), masked, asked.size > levels.size)
    chances, pairs = address(levels), address(ends)
    for block, begin, stop, lanes, start, width, to in tiles_of(y.size, blocks, together, period, _TILE):
        for top in range(begin, stop, ROWS * lanes):
            rows = (top, min((stop - top - 1) // lanes + 1, ROWS), lanes)
            for at in range(0, width, LANES):
                if masked or width - at < LANES:
                    _add_lanes(cells, seen, rows, at, width - at, what, chances, pairs, top == begin, sums, counts)
                else:
                    _add_lanes(cells, None, rows, at, LANES, what, chances, pairs, top == begin, sums, counts)
        fold_tile(start, width, asked, counted, block, place[block], tile, tally, of_horizon, of_node, rows_of, to)
    round_totals(of_horizon, of_node)


@inlined
def _add_lanes(
    cells: tuple[Address, Address, Address],
    mask: Address | None,
    rows: Rows,
    at: int,
    count: int,
    what: tuple[int, int, bool, bool],
    levels: Address,
    ends: Address,
    new: bool,
    tile: Address,
    tally: Address,
) -> None:
    """Add eight lanes of some rows; their truths and quantiles are copied first, 0 for cells that do not count."""
    y, quantiles, copied = cells
    size, pairs, masked, wide = what
    for number in range(rows[1], 2 * rows[1]):
        row = rows[0] + at + number * rows[2]
        ahead(y, row)
        for cell in range(row * size, (row + LANES) * size, 2 * LANES):
            ahead(quantiles, cell)
    stop = 0
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        store(copied, stop, read_cells(y, row, count, seen, 0.0))
        for level in range(size):
            quantile = load_every(quantiles, row * size + level, size, count)
            if mask is not None:
                quantile = where(seen, quantile, fill(0.0))
            store(copied, (level + 1) * _COPIED + stop, quantile)
        stop += LANES
    for level in range(size):
        q, place = levels[level], 2 * level * STRIDE + at
        high, low = started(tile, place, new)
        below = fill(0)
        for j in range(0, stop, LANES):
            above = load(copied, j) - load(copied, (level + 1) * _COPIED + j)
            high, low = grown(high, low, where(above > 0.0, q * above, (q - 1.0) * above))
            seen = seen_cells(mask, masked, rows[0] + at + j // LANES * rows[2], count)
            below = below + counted_cells(above <= 0.0, seen)
        kept(tile, place, high, low)
        add_count(tally, level * STRIDE + at, below, new)
        if wide:
            high, low = started(tile, place + 2 * size * STRIDE, new)
            for j in range(0, stop, LANES):
                high, low = added(high, low, load(copied, (level + 1) * _COPIED + j))
            kept(tile, place + 2 * size * STRIDE, high, low)
    for pair in range(pairs):
        inside = fill(0)
        for j in range(0, stop, LANES):
            low = load(copied, (ends[2 * pair] + 1) * _COPIED + j)
            high = load(copied, (ends[2 * pair + 1] + 1) * _COPIED + j)
            seen = seen_cells(mask, masked, rows[0] + at + j // LANES * rows[2], count)
            inside = inside + counted_cells((low <= load(copied, j)) & (load(copied, j) <= high), seen)
        add_count(tally, (size + pair) * STRIDE + at, inside, new)
    crossing = fill(0)
    for j in range(0, stop, LANES):
        crossed = first(0)
        for level in range(1, size):
            crossed = crossed | (load(copied, (level + 1) * _COPIED + j) < load(copied, level * _COPIED + j))
        crossing = crossing + ones(crossed)
    add_count(tally, (size + pairs) * STRIDE + at, crossing, new)


def _add_columns_twin(
    values: Floats,
    counts: Ints,
    asked: Mask,
    together: int,
    place: Ints,
    of_horizon: Totals,
    of_node: Totals,
    tile: Floats,
    tally: Ints,
) -> None:
    shape = (of_horizon[0].shape[0], -1, of_horizon[0].shape[2], of_node[0].shape[2])
    for row, value in enumerate(values):
        add_by_group(row, value.reshape(shape), place, of_horizon, of_node)
    for row, tally in enumerate(counts):
        count_by_group(row, tally.reshape(shape), place, of_horizon, of_node)
    round_twin(of_horizon, of_node)


@kernel(twin=_add_columns_twin)
def _add_columns(
    values: Floats,
    counts: Ints,
    asked: Mask,
    together: int,
    place: Ints,
    of_horizon: Totals,
    of_node: Totals,
    tile: Floats,
    tally: Ints,
) -> None:
    blocks, period = of_horizon[0].shape[0], of_horizon[0].shape[2] * of_node[0].shape[2]
    cells = max(values.shape[1], counts.shape[1])
    numbers, tallies, sums, totals = address(values), address(counts), address(tile), address(tally)
    counted, rows_of = np.ones(len(counts), np.bool_), np.arange(asked.size)
    for block, begin, stop, lanes, start, width, to in tiles_of(cells, blocks, together, period, _TILE):
        for top in range(begin, stop, ROWS * lanes):
            rows = min((stop - top - 1) // lanes + 1, ROWS)
            for at in range(0, width, LANES):
                count = min(width - at, LANES)
                for k in range(asked.size):
                    high, low = started(sums, 2 * k * STRIDE + at, top == begin)
                    for row in range(rows):
                        high, low = added(high, low, _some(numbers, k * cells + top + at + row * lanes, count))
                    kept(sums, 2 * k * STRIDE + at, high, low)
                for k in range(counted.size):
                    number = fill(0)
                    for row in range(rows):
                        number = number + _some(tallies, k * cells + top + at + row * lanes, count)
                    add_count(totals, k * STRIDE + at, number, top == begin)
        fold_tile(start, width, asked, counted, block, place[block], tile, tally, of_horizon, of_node, rows_of, to)
    round_totals(of_horizon, of_node)


@inlined
def _some(cells: Address, at: int, count: int) -> Any:
    return load(cells, at) if count == LANES else load_some(cells, at, count)
