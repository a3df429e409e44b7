"""The contribution of each forecast cell to the sums, lane by lane: the loop, and its NumPy twin.

Cells are taken in tiles that stay in the nearest cache; each quantity is one short loop over the tile, which the
compiler turns into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import added, dd_add, folded, grown, two_sum
from graphgauge.kernels.forecast_gaussian import (
    BIAS,
    EXP,
    FAR,
    HALF_LOG_2PI,
    INTEGER_BITS,
    INVERSE_SQRT_PI,
    LIFT,
    LIFTED_BIAS,
    LN2_HIGH,
    LN2_LOW,
    LOG,
    LOG2_E,
    LOWEST_NORMAL,
    MANTISSA,
    OFFSET,
    ROUNDER,
    SQRT_CARRY,
    SQRT_HALF_BITS,
    STRETCH,
    TAIL,
    gaussian_crps,
    gaussian_nll,
    polynomial,
)
from graphgauge.kernels.jit import inlined, kernel

Counts = NDArray[np.int32]
# High and low parts of sums, and counts, each (block, quantity, group).
Totals = tuple[Floats, Floats, Ints]

# Most cells of a tile: wider tiles would leave the cache, narrower ones read the input in pieces.
_TILE = 4096
# Stride of its rows: at a power of two they would all compete for the same cache lines.
STRIDE = _TILE + 8
# Cells that the twin processes at once.
_AT_ONCE = 1 << 15
# The bits, less one, of the first numbers that are not a valid standard deviation.
_UNSOUND_SINGLE, _UNSOUND_DOUBLE = 0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF
# The factor that splits a float into halves whose products are exact.
_SPLITTER = 2.0**27 + 1
# The sums in their order, each with the part that counts it; those that need a standard deviation come last.
SUMS = {
    "abs": "errors", "square": "errors", "error": "bias", "y": "size", "y2": "size", "abs_y": "size", "ape": "relative",
    "sape": "symmetric", "std": "spread", "var": "spread", "nll": "scores", "crps": "scores",
}  # fmt: skip
# Rows of a tile's values: the sums, the rounding error of the squared truth, one row per half-width.
ABS, SQUARE, ERROR, Y, Y2, ABS_Y, APE, SAPE, STD, VAR, NLL, CRPS, Y2_LOST, OVER = range(len(SUMS) + 2)
N, NONZERO, BAD_STD, INSIDE = range(4)


def _add_cells_twin(
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, mask: Mask, buffer: AnyArray, buffer_bits: AnyArray,
    widths: Floats, asked: Mask, late: Mask, together: int, place: Ints, of_horizon: Totals, of_node: Totals,
) -> None:  # fmt: skip
    blocks, _, horizons = of_horizon[0].shape
    nodes = of_node[0].shape[2]
    block_size = y.size // blocks
    shape = (block_size // (horizons * nodes), horizons, nodes)
    few = max(_AT_ONCE // block_size, 1)
    for first in range(0, blocks, few):
        some = slice(first, min(first + few, blocks))
        part = slice(some.start * block_size, some.stop * block_size)
        cells = tuple(array[part].reshape(-1, *shape) if array.size else None for array in (y, mean, std, mask))
        _add_blocks(cells, widths, asked, place[some], tuple(table[some] for table in of_horizon), of_node)
    _add_late_to_one(late, place, of_horizon, of_node)
    round_twin(of_horizon, of_node)


def _add_late_to_one(late: Mask, place: Ints, of_horizon: Totals, of_node: Totals) -> None:
    """Add the late sums of all blocks to the last block that has a cell."""
    seen = np.flatnonzero(of_horizon[2][:, N].any(axis=1))
    if not late.any() or not len(seen):
        return
    for block, (high, low, _) in ((seen[-1], of_horizon), (place[seen[-1]], of_node)):
        sums = folded(high[:, late], low[:, late])
        high[:, late], low[:, late] = 0.0, 0.0
        high[block, late], low[block, late] = sums


def _add_blocks(
    cells: tuple[Any, ...], widths: Floats, asked: Mask, place: Ints, of_horizon: Any, of_node: Totals
) -> None:
    """Add cells (blocks, steps, horizons, nodes); the sums of `place` are those of the nodes."""
    y, mean, std, mask = cells
    seen = np.ones(y.shape, np.bool_) if mask is None else mask
    truth, forecast = (np.where(seen, array, 0).astype(np.float64) for array in (y, mean))
    error = forecast - truth
    size = np.abs(error)

    def add(row: int, values: Floats) -> None:
        if asked[row]:
            add_by_group(row, values, place, of_horizon, of_node)

    def count(row: int, cells: Mask) -> None:
        count_by_group(row, cells & seen, place, of_horizon, of_node)

    count(N, seen)
    add(ABS, size)
    add(SQUARE, error * error)
    add(ERROR, error)
    add(Y, truth)
    add(Y2, truth * truth)
    add(ABS_Y, np.abs(truth))
    if asked[Y2_LOST]:
        scaled = truth * _SPLITTER
        large = scaled - (scaled - truth)
        small = truth - large
        add(Y2_LOST, ((large * large - truth * truth) + 2.0 * (large * small)) + small * small)
    if asked[APE]:
        scale = np.abs(truth)
        count(NONZERO, scale > 0)
        add(APE, size / np.where(scale > 0, scale, np.inf))
    if asked[SAPE]:
        scales = np.abs(truth) + np.abs(forecast)
        add(SAPE, 2.0 * size / np.where(scales > 0, scales, 1.0))
    if std is None:
        return
    deviation = np.where(seen, std, 1).astype(np.float64)
    count(BAD_STD, ~((deviation > 0) & (deviation < np.inf)))
    for level, width in enumerate(widths[: asked.size - OVER]):
        count(INSIDE + level, size <= width * deviation)
        add(OVER + level, np.where(size - width * deviation <= 0, 0.0, size - width * deviation))
    add(STD, deviation * seen)
    add(VAR, (deviation * seen) ** 2)
    if asked[NLL]:
        add(NLL, gaussian_nll(error, deviation, seen))
        add(CRPS, gaussian_crps(error, deviation, seen))


def add_by_group(row: int, values: Floats, place: Ints, of_horizon: Totals, of_node: Totals) -> None:
    """Add values (blocks, steps, horizons, nodes) to the sums of a quantity."""
    lanes = folded(values.swapaxes(0, 1), np.zeros(values.shape).swapaxes(0, 1))
    high, low = folded(*(np.moveaxis(lane, 2, 0) for lane in lanes))
    of_horizon[0][:, row], of_horizon[1][:, row] = dd_add(of_horizon[0][:, row], of_horizon[1][:, row], high, low)
    high, low = folded(*(np.moveaxis(lane, 1, 0) for lane in lanes))
    for block, at in enumerate(place.tolist()):
        of_node[0][at, row], of_node[1][at, row] = dd_add(
            of_node[0][at, row], of_node[1][at, row], high[block], low[block]
        )


def count_by_group(row: int, cells: AnyArray, place: Ints, of_horizon: Totals, of_node: Totals) -> None:
    """The same for counts."""
    lanes = cells.sum(1, dtype=np.int64)
    of_horizon[2][:, row] += lanes.sum(2)
    np.add.at(of_node[2][:, row], place, lanes.sum(1))


@kernel(twin=_add_cells_twin)
def add_cells(
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, mask: Mask, buffer: AnyArray, buffer_bits: AnyArray,
    widths: Floats, asked: Mask, late: Mask, together: int, place: Ints, of_horizon: Totals, of_node: Totals,
) -> None:  # fmt: skip
    """Add the cells of some time blocks to the sums of their block and horizon, and of `place` and their node.

    Sums and counts are (block, quantity, group). Each block is summed by lane, `together` steps side by side, in
    tiles; then lanes are added to their horizon and node. Masked cells are neutralised in a copy of the tile. The lanes
    of `late` quantities are added after the last block, to the last block that has a cell.
    """
    sums, blocks, horizons, nodes = asked.size, of_horizon[0].shape[0], of_horizon[0].shape[2], of_node[0].shape[2]
    period, masked, spread = horizons * nodes, mask.size > 0, std.size > 0
    counted = np.full(of_node[2].shape[1], spread)
    counted[N], counted[NONZERO] = True, asked[APE]
    # The contribution of each cell of a row, and for each sum its high and low part.
    value, tile = np.empty((sums, STRIDE)), np.empty((2 * sums, STRIDE))
    tally = np.empty((INSIDE + widths.size, STRIDE), np.int32)
    weight, work = np.ones(_TILE), np.empty((4, STRIDE))
    at_once, uncounted = asked & ~late, np.zeros(counted.size, np.bool_)
    # The last block that has a cell, and the most lanes so far.
    last_seen, widest = 0, 0
    for block, begin, stop, lanes, start, width in tiles_of(y.size, blocks, together, period, _TILE):
        fresh = block == 0 and begin == start
        for k in range(sums):
            if at_once[k] or k < ERROR or (late[k] and fresh):
                clear(tile[2 * k, :width])
                clear(tile[2 * k + 1, :width])
        for row in range(len(tally)):
            clear(tally[row, :width])
        for first in range(begin, stop, 4 * lanes):
            last = min(first + 4 * lanes, stop)
            if masked:
                rows = 0
                for row in range(first, last, lanes):
                    cells = slice(row, row + width)
                    to = slice(rows * STRIDE, rows * STRIDE + width)
                    _copy_seen(y[cells], mask[cells], 0.0, buffer[0, to])
                    _copy_seen(mean[cells], mask[cells], 0.0, buffer[1, to])
                    if spread:
                        _copy_seen(std[cells], mask[cells], 1.0, buffer[2, to])
                    _count_seen(mask[cells], tally[N])
                    rows += 1
                _add_four(
                    buffer[0], buffer[1], buffer[2, : len(buffer[2]) * spread], buffer_bits, 0, rows * STRIDE,
                    STRIDE, width, widths, tile, tally,
                )  # fmt: skip
                for row in range(rows):
                    at, to = first + row * lanes, slice(row * STRIDE, row * STRIDE + width)
                    if spread:
                        _copy_weight(mask[at : at + width], weight)
                    _add_row(
                        buffer[0, to], buffer[1, to], buffer[2, to], weight, widths, asked, value, work, tile,
                        tally,
                    )  # fmt: skip
            else:
                _add_four(y, mean, std, std_bits, first, last, lanes, width, widths, tile, tally)
                for row in range(first, last, lanes):
                    cells = slice(row, row + width)
                    _add_row(y[cells], mean[cells], std[cells], weight, widths, asked, value, work, tile, tally)
        rows = (stop - begin - 1) // lanes + 1
        if not masked:
            for j in range(np.uint64(width)):
                tally[N, j] = rows
        elif spread:
            # With error 0 and standard deviation 1 a masked cell was counted as inside.
            for row in range(INSIDE, counted.size):
                for j in range(width):
                    tally[row, j] -= rows - tally[N, j]
        fold_tile(start, width, at_once, counted, block, place[block], tile, tally, of_horizon, of_node)
        last_seen, widest = 0 if fresh else last_seen, width if fresh else widest
        if not masked or tally[N, :width].any():
            last_seen = block
        if stop == y.size:
            fold_tile(start, widest, late, uncounted, last_seen, place[last_seen], tile, tally, of_horizon, of_node)
    round_totals(asked, of_horizon, of_node)


@inlined
def clear(row: AnyArray) -> None:
    # An assignment to a slice is a slow loop.
    for j in range(np.uint64(row.size)):
        row[j] = 0


@inlined
def tiles_of(
    size: int, blocks: int, together: int, period: int, most: int
) -> list[tuple[int, int, int, int, int, int]]:
    """The tiles of some time blocks: block, first cell, end of the cells, distance of the rows, first lane, width.

    Rows are whole groups of steps side by side, then the steps that are left; a tile is at most so many lanes of them.
    """
    block_size, tiles = size // blocks, []
    # Part by part, because the sums of many nodes leave the cache between two blocks.
    for part in range((min(together * period, block_size) - 1) // most + 1):
        for block in range(blocks):
            begin, end = block * block_size, (block + 1) * block_size
            while begin < end:
                lanes = min(together * period, end - begin)
                stop = begin + (end - begin) // lanes * lanes
                parts = (lanes - 1) // most + 1
                if part < parts:
                    start = lanes * part // parts
                    tiles.append((block, begin + start, stop, lanes, start, lanes * (part + 1) // parts - start))
                begin = stop
    return tiles


@inlined
def _copy_seen(cells: AnyArray, seen: Mask, stand_in: float, copied: AnyArray) -> None:
    for j in range(np.uint64(copied.size)):
        copied[j] = cells[j] if seen[j] else stand_in


@inlined
def _copy_weight(seen: Mask, weight: Floats) -> None:
    for j in range(np.uint64(seen.size)):
        weight[j] = seen[j]


@inlined
def _count_seen(seen: Mask, counts: Counts) -> None:
    for j in range(np.uint64(seen.size)):
        counts[j] += seen[j]


@inlined
def _add_four(
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, first: int, last: int, lanes: int, width: int,
    widths: Floats, tile: Floats, tally: Counts,
) -> None:  # fmt: skip
    """`_add_rows` for up to four rows, all of them at once if there are four."""
    if last - first > 3 * lanes:
        second, third, fourth = first + lanes, first + 2 * lanes, first + 3 * lanes
        rows = (np.uint64(first), np.uint64(second), np.uint64(third), np.uint64(fourth))
        _add_rows(y, mean, std, std_bits, rows, width, widths, tile, tally)
    else:
        for row in range(first, last, lanes):
            _add_rows(y, mean, std, std_bits, (np.uint64(row),), width, widths, tile, tally)


@inlined
def _add_row(
    truth: AnyArray, forecast: AnyArray, deviation: AnyArray, weight: Floats, widths: Floats, asked: Mask,
    value: Floats, work: Floats, tile: Floats, tally: Counts,
) -> None:  # fmt: skip
    """Add all but absolute errors and their squares."""
    sums = asked.size
    if asked[ERROR]:
        _find_errors(truth, forecast, value[ERROR])
    if asked[Y]:
        _find_sizes(truth, not asked[Y2_LOST], value)
    if asked[APE]:
        _find_relative(truth, forecast, value[APE], tally[NONZERO])
    if asked[SAPE]:
        _find_symmetric(truth, forecast, value[SAPE])
    if asked[STD]:
        _find_spread(deviation, weight, value)
    if sums > OVER and asked[OVER]:
        for level in range(sums - OVER):
            _find_over(truth, forecast, deviation, widths[level], value[OVER + level])
    if asked[NLL]:
        _find_scores(truth, forecast, deviation, weight, value, work)
    for k in range(ERROR, sums):
        if asked[k]:
            _add_values(value[k], truth.size, tile[2 * k], tile[2 * k + 1])


@inlined
def fold_tile(
    start: int, width: int, asked: Mask, counted: Mask, block: int, place: int, tile: Floats, tally: Counts,
    of_horizon: Totals, of_node: Totals,
) -> None:  # fmt: skip
    """Add the lanes from `start` on to the sums of their horizon and of their node."""
    horizons, nodes = of_horizon[0].shape[2], of_node[0].shape[2]
    lane = start
    while lane < start + width:
        horizon, node = lane // nodes % horizons, lane % nodes
        size, at = min(nodes - node, start + width - lane), lane - start
        for k in range(asked.size):
            if asked[k]:
                _merge_lanes(of_node[0], of_node[1], place, k, node, tile, at, size)
                _collapse(tile, 2 * k, at, size)
                of_horizon[0][block, k, horizon], of_horizon[1][block, k, horizon] = dd_add(
                    of_horizon[0][block, k, horizon], of_horizon[1][block, k, horizon], tile[2 * k, at],
                    tile[2 * k + 1, at],
                )  # fmt: skip
        for row in range(counted.size):
            if counted[row]:
                of_horizon[2][block, row, horizon] += _add_counts(of_node[2], place, row, node, tally, at, size)
        lane += size


# Indices instead of slices, which cost as much as many additions, and unsigned ones, because possibly negative ones
# prevent vector instructions.


@inlined
def _merge_lanes(high: Floats, low: Floats, place: int, k: int, node: int, tile: Floats, lane: int, size: int) -> None:
    """Add the lanes of a quantity to the sums of their nodes."""
    to, at = np.uint64(node), np.uint64(lane)
    for j in range(np.uint64(size)):
        high[place, k, to + j], low[place, k, to + j] = dd_add(
            high[place, k, to + j], low[place, k, to + j], tile[2 * k, at + j], tile[2 * k + 1, at + j]
        )


@inlined
def _collapse(tile: Floats, row: int, lane: int, size: int) -> None:
    """Add lanes to the first of them: halves are added until one is left."""
    at = np.uint64(lane)
    while size > 1:
        half = size // 2
        size -= half
        other = np.uint64(lane + size)
        for j in range(np.uint64(half)):
            tile[row, at + j], tile[row + 1, at + j] = dd_add(
                tile[row, at + j], tile[row + 1, at + j], tile[row, other + j], tile[row + 1, other + j]
            )


@inlined
def _add_counts(counts: Ints, place: int, row: int, node: int, tally: Counts, lane: int, size: int) -> int:
    """Add counts to those of their nodes; their sum."""
    to, at, total = np.uint64(node), np.uint64(lane), 0
    for j in range(np.uint64(size)):
        counts[place, row, to + j] += tally[row, at + j]
        total += tally[row, at + j]
    return total


@inlined
def round_totals(asked: Mask, of_horizon: Totals, of_node: Totals) -> None:
    """Carry what the low parts have collected into the high parts."""
    for high, low in ((of_horizon[0], of_horizon[1]), (of_node[0], of_node[1])):
        for block in range(high.shape[0]):
            for k in range(asked.size):
                if asked[k]:
                    _carry(high[block, k], low[block, k])


@inlined
def _carry(high: Floats, low: Floats) -> None:
    for j in range(np.uint64(high.size)):
        high[j], low[j] = two_sum(high[j], low[j])


def round_twin(of_horizon: Totals, of_node: Totals) -> None:
    """`round_totals` in NumPy."""
    for high, low, _ in (of_horizon, of_node):
        high[:], low[:] = two_sum(high, low)


@inlined
def _add_rows(
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, rows: tuple[Any, ...], width: int, widths: Floats,
    tile: Floats, tally: Counts,
) -> None:  # fmt: skip
    """Add absolute errors and their squares, and count invalid standard deviations and cells within `widths`.

    The cells of several rows are added at once, so that the sums are read and written once for all of them.
    """
    _add_errors(y, mean, std, std_bits, rows, width, widths[0], tile, tally)
    for level in range(1, widths.size, 2):
        _add_inside(y, mean, std, rows, width, widths[level : level + 2], tally[INSIDE + level : INSIDE + level + 2])


@inlined
def _add_errors(
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, rows: tuple[Any, ...], width: int, half: float,
    tile: Floats, tally: Counts,
) -> None:  # fmt: skip
    unsound = np.uint64(_UNSOUND_SINGLE if std.itemsize == 4 else _UNSOUND_DOUBLE)
    # Unsigned, because possibly negative indices prevent vector instructions.
    for j in range(np.uint64(width)):
        size, size_lost, square, square_lost = tile[0, j], tile[1, j], tile[2, j], tile[3, j]
        bad, inside = tally[BAD_STD, j], tally[INSIDE, j]
        for row in rows:
            error = np.float64(mean[row + j]) - np.float64(y[row + j])
            size, size_lost = grown(size, size_lost, abs(error))
            square, square_lost = grown(square, square_lost, error * error)
            if std.size:
                # The bits, less one, of NaN, infinities, zeros and negative numbers all start here.
                bad += std_bits[row + j] - np.uint64(1) >= unsound
                inside += abs(error) <= half * np.float64(std[row + j])
        tile[0, j], tile[1, j], tile[2, j], tile[3, j] = size, size_lost, square, square_lost
        tally[BAD_STD, j], tally[INSIDE, j] = bad, inside


@inlined
def _add_inside(
    y: AnyArray, mean: AnyArray, std: AnyArray, rows: tuple[Any, ...], width: int, widths: Floats, tally: Counts
) -> None:
    narrow, wide = widths[0], widths[1]
    for j in range(np.uint64(width)):
        inside, inside_wide = tally[0, j], tally[1, j]
        for row in rows:
            size, deviation = abs(np.float64(mean[row + j]) - np.float64(y[row + j])), np.float64(std[row + j])
            inside += size <= narrow * deviation
            inside_wide += size <= wide * deviation
        tally[0, j], tally[1, j] = inside, inside_wide


@inlined
def _find_errors(y: AnyArray, mean: AnyArray, errors: Floats) -> None:
    for j in range(np.uint64(y.size)):
        errors[j] = np.float64(mean[j]) - np.float64(y[j])


@inlined
def _find_sizes(y: AnyArray, exact: bool, value: Floats) -> None:
    """The truth, its absolute value and its square; if that is not exact, also its rounding error."""
    for j in range(np.uint64(y.size)):
        truth = np.float64(y[j])
        value[Y, j] = truth
        value[ABS_Y, j] = abs(truth)
        value[Y2, j] = truth * truth
    if not exact:
        for j in range(np.uint64(y.size)):
            truth = np.float64(y[j])
            scaled = truth * _SPLITTER
            large = scaled - (scaled - truth)
            small = truth - large
            value[Y2_LOST, j] = ((large * large - truth * truth) + 2.0 * (large * small)) + small * small


@inlined
def _find_relative(y: AnyArray, mean: AnyArray, relative: Floats, nonzero: Counts) -> None:
    for j in range(np.uint64(y.size)):
        truth = np.float64(y[j])
        size, error = abs(truth), abs(np.float64(mean[j]) - truth)
        relative[j] = np.divide(error, size if size > 0.0 else np.inf)
        nonzero[j] += size > 0.0


@inlined
def _find_symmetric(y: AnyArray, mean: AnyArray, relative: Floats) -> None:
    for j in range(np.uint64(y.size)):
        truth, forecast = np.float64(y[j]), np.float64(mean[j])
        sizes = abs(truth) + abs(forecast)
        relative[j] = np.divide(2.0 * abs(forecast - truth), sizes if sizes > 0.0 else 1.0)


@inlined
def _find_spread(std: AnyArray, weight: Floats, value: Floats) -> None:
    for j in range(np.uint64(std.size)):
        deviation = np.float64(std[j]) * weight[j]
        value[STD, j] = deviation
        value[VAR, j] = deviation * deviation


@inlined
def _find_over(y: AnyArray, mean: AnyArray, std: AnyArray, half: float, over: Floats) -> None:
    for j in range(np.uint64(y.size)):
        beyond = abs(np.float64(mean[j]) - np.float64(y[j])) - half * np.float64(std[j])
        over[j] = 0.0 if beyond <= 0.0 else beyond


@inlined
def _find_scores(y: AnyArray, mean: AnyArray, std: AnyArray, weight: Floats, value: Floats, work: Floats) -> None:
    """`gaussian_nll` and `gaussian_crps`, in loops of a few vector instructions each."""
    span, bits = np.uint64(y.size), work.view(np.int64)
    # log(std): exponent and mantissa, then the series.
    for j in range(span):
        deviation = np.float64(std[j])
        work[0, j] = deviation * (LIFT if deviation < LOWEST_NORMAL else 1.0)
    for j in range(span):
        carried = bits[0, j] + SQRT_CARRY
        bits[1, j] = (carried >> 52) | INTEGER_BITS
        bits[2, j] = (carried & MANTISSA) + SQRT_HALF_BITS
    for j in range(span):
        exponent = work[1, j] - (LIFTED_BIAS if np.float64(std[j]) < LOWEST_NORMAL else BIAS)
        f = np.divide(work[2, j] - 1.0, work[2, j] + 1.0)
        q = f * f
        work[3, j] = exponent * LN2_HIGH + ((2.0 * f + f * (q * polynomial(LOG, q))) + exponent * LN2_LOW)
    # The error in standard deviations, and exp(-z²/2) as a power of 2 and a polynomial.
    for j in range(span):
        z = np.divide(np.float64(mean[j]) - np.float64(y[j]), np.float64(std[j]))
        value[NLL, j] = (work[3, j] + 0.5 * (z * z)) + HALF_LOG_2PI * weight[j]
        near = abs(z)
        near = FAR if near > FAR else near
        power = -0.5 * (near * near)
        work[0, j] = near
        work[1, j] = power
        work[2, j] = power * LOG2_E + ROUNDER
    for j in range(span):
        bits[3, j] = (bits[2, j] + 1023) << 52
    for j in range(span):
        whole = work[2, j] - ROUNDER
        rest = (work[1, j] - whole * LN2_HIGH) - whole * LN2_LOW
        falling = polynomial(EXP, rest) * work[3, j]
        near = work[0, j]
        tail = polynomial(TAIL, np.divide(STRETCH * near, near + OFFSET) - 1.0)
        error = abs(np.float64(mean[j]) - np.float64(y[j]))
        deviation = np.float64(std[j]) * weight[j]
        value[CRPS, j] = error + deviation * (falling * tail - INVERSE_SQRT_PI)


@inlined
def _add_values(more: Floats, width: int, high: Floats, low: Floats) -> None:
    for j in range(np.uint64(width)):
        high[j], low[j] = added(high[j], low[j], more[j])
