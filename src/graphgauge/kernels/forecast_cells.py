"""The contribution of each forecast cell to the sums, lane by lane: the loop, and its NumPy twin.

Cells are taken in tiles whose sums stay in a near cache, eight lanes and a few steps at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
from graphgauge.kernels.lanes import (
    LANES,
    address,
    ahead,
    bits,
    fill,
    first,
    lane,
    larger_first,
    load,
    load_some,
    of_bits,
    ones,
    some,
    store,
    store_some,
    where,
)

# High and low parts of sums, and counts, each (block, quantity, group).
Totals = tuple[Floats, Floats, Ints]
Tile = tuple[int, int, int, int, int, int, int]

# Most cells of a tile: wider tiles would leave the cache, narrower ones read the input in pieces.
TILE = 4096
# Stride of its rows: at a power of two they would all compete for the same cache lines.
STRIDE = TILE + LANES
# Steps that are added at once, so that the sums are read and written once for all of them.
ROWS = 4
# Of blocks of one step: steps whose cells stay in the second cache, and vectors that are added at once.
_STEPS = 8
_VECTORS = 64
# Which sums a tile is added to.
BOTH, HORIZON, NODE = range(3)
# Cells that the twin processes at once.
_AT_ONCE = 1 << 15
# The factor that splits a float into halves whose products are exact.
_SPLITTER = 2.0**27 + 1
# The sums in their order, each with the part that counts it; those that need a standard deviation come last.
SUMS = {
    "abs": "errors",
    "square": "errors",
    "error": "bias",
    "y": "size",
    "y2": "size",
    "abs_y": "size",
    "ape": "relative",
    "sape": "symmetric",
    "std": "spread",
    "var": "spread",
    "nll": "scores",
    "crps": "scores",
}
# Rows of a tile's values: the sums, the rounding error of the squared truth, one row per half-width.
ABS, SQUARE, ERROR, Y, Y2, ABS_Y, APE, SAPE, STD, VAR, NLL, CRPS, Y2_LOST, OVER = range(len(SUMS) + 2)
N, NONZERO, BAD_STD, INSIDE = range(4)


def _add_cells_twin(
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray,
    mask: Mask,
    widths: Floats,
    asked: Mask,
    late: Mask,
    together: int,
    place: Ints,
    of_horizon: Totals,
    of_node: Totals,
    rows_of: Ints,
    tile: Floats,
    tally: Ints,
) -> None:
    blocks, _, horizons = of_horizon[0].shape
    nodes = of_node[0].shape[2]
    block_size = y.size // blocks
    shape = (block_size // (horizons * nodes), horizons, nodes)
    few = max(_AT_ONCE // block_size, 1)
    for start in range(0, blocks, few):
        some = slice(start, min(start + few, blocks))
        part = slice(some.start * block_size, some.stop * block_size)
        cells = tuple(array[part].reshape(-1, *shape) if array.size else None for array in (y, mean, std, mask))
        _add_blocks(cells, widths, asked, place[some], tuple(table[some] for table in of_horizon), of_node, rows_of)
    _add_late_to_one(rows_of[late], place, of_horizon, of_node)
    round_twin(of_horizon, of_node)


def _add_late_to_one(late: Ints, place: Ints, of_horizon: Totals, of_node: Totals) -> None:
    """Add the late sums of all blocks to the last block that has a cell."""
    seen = np.flatnonzero(of_horizon[2][:, N].any(axis=1))
    if not late.size or not len(seen):
        return
    for block, (high, low, _) in ((seen[-1], of_horizon), (place[seen[-1]], of_node)):
        sums = folded(high[:, late], low[:, late])
        high[:, late], low[:, late] = 0.0, 0.0
        high[block, late], low[block, late] = sums


def _add_blocks(
    cells: tuple[Any, ...], widths: Floats, asked: Mask, place: Ints, of_horizon: Any, of_node: Totals, rows_of: Ints
) -> None:
    """Add cells (blocks, steps, horizons, nodes); the sums of `place` are those of the nodes."""
    y, mean, std, mask = cells
    seen = np.ones(y.shape, np.bool_) if mask is None else mask
    truth, forecast = (np.where(seen, array, 0).astype(np.float64) for array in (y, mean))
    error = forecast - truth
    size = np.abs(error)

    def add(row: int, values: Floats) -> None:
        if asked[row]:
            add_by_group(int(rows_of[row]), values, place, of_horizon, of_node)

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
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray,
    mask: Mask,
    widths: Floats,
    asked: Mask,
    late: Mask,
    together: int,
    place: Ints,
    of_horizon: Totals,
    of_node: Totals,
    rows_of: Ints,
    tile: Floats,
    tally: Ints,
) -> None:
    """Add the cells of some time blocks to the sums of their block and horizon, and of `place` and their node.

    Sums and counts are (block, quantity, group). Each block is summed by lane, `together` steps side by side, in
    tiles; then lanes are added to their horizon and node. The lanes of `late` quantities are added after the last
    block, to the last block that has a cell.
    """
    blocks, period, masked, spread = (
        of_horizon[0].shape[0],
        of_horizon[0].shape[2] * of_node[0].shape[2],
        mask.size > 0,
        std.size > 0,
    )
    counted = np.full(of_node[2].shape[1], spread)
    counted[N], counted[NONZERO] = masked, asked[APE]
    at_once, uncounted = asked & ~late, np.zeros(counted.size, np.bool_)
    cells, seen = (address(y), address(mean), address(std)), address(mask)
    what = (asked.size, counted.size - INSIDE, spread, masked)
    halves, sums, counts = address(widths), address(tile), address(tally)
    # As bits, which are cheaper to pass than arrays.
    asks = lates = 0
    for k in range(min(asked.size, OVER + 1)):
        asks, lates = asks | asked[k] << k, lates | late[k] << k
    # The last block that has a cell, and the most lanes so far.
    last_seen, widest = 0, 0
    if y.size == blocks * period and place[-1] - place[0] + 1 < blocks:
        tiles = _tiles_of_steps(blocks, period, of_node[0].shape[2], place)
    else:
        tiles = tiles_of(y.size, blocks, together, period, TILE)
    for block, begin, stop, lanes, start, width, to in tiles:
        fresh = to != HORIZON and block == 0 and begin == start
        most = _VECTORS if to == HORIZON else ROWS
        now = asks & ~lates if to == HORIZON else asks
        for top in range(begin, stop, most * lanes):
            rows = (top, min((stop - top - 1) // lanes + 1, most), lanes)
            new = (top == begin, fresh and top == begin)
            for at in range(0, width, LANES):
                if masked or width - at < LANES:
                    _add_lanes(cells, seen, rows, at, width - at, what, halves, now, lates, new, sums, counts)
                else:
                    _add_lanes(cells, None, rows, at, LANES, what, halves, now, lates, new, sums, counts)
        if not masked:
            add_equal((stop - begin - 1) // lanes + 1, start, width, N, block, place[block], of_horizon, of_node, to)
        fold_tile(start, width, at_once, counted, block, place[block], tile, tally, of_horizon, of_node, rows_of, to)
        if to != NODE and (not masked or tally[N * STRIDE : N * STRIDE + width].any()):
            last_seen = block
        if fresh:
            widest = width
        if to != HORIZON and stop == y.size:
            fold_tile(
                start,
                widest,
                late,
                uncounted,
                last_seen,
                place[last_seen],
                tile,
                tally,
                of_horizon,
                of_node,
                rows_of,
                BOTH,
            )
    round_totals(of_horizon, of_node)


@inlined
def tiles_of(size: int, blocks: int, together: int, period: int, most: int) -> list[Tile]:
    """The tiles of some time blocks: block, first cell, end of the cells, distance of the rows, first lane, width, and
    which sums it is added to.

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
                    tiles.append((block, begin + start, stop, lanes, start, lanes * (part + 1) // parts - start, BOTH))
                begin = stop
    return tiles


@inlined
def _tiles_of_steps(blocks: int, period: int, nodes: int, place: Ints) -> list[Tile]:
    """The tiles of blocks of one step, some of which share the sums by node.

    Each cell is added twice, because that is cheaper than adding a tile of one step to both sums. For the
    sum of a horizon the rows are vectors of one step, for those of the nodes they are steps.
    """
    tiles, parts = [], (period - 1) // TILE + 1
    for part in range(parts):
        start, end, block = period * part // parts, period * (part + 1) // parts, 0
        while block < blocks:
            stop = block
            while stop < min(block + _STEPS, blocks) and place[stop] == place[block]:
                begin = start
                while begin < end:
                    size, cell = min(nodes - begin % nodes, end - begin), stop * period + begin
                    whole = size - size % LANES
                    if whole:
                        tiles.append((stop, cell, cell + whole, LANES, begin, LANES, HORIZON))
                    if whole < size:
                        tiles.append((stop, cell + whole, cell + size, LANES, begin + whole, size - whole, HORIZON))
                    begin += size
                stop += 1
            tiles.append((block, block * period + start, stop * period, period, start, end - start, NODE))
            block = stop
    return tiles


# In the functions below, `mask` is None if all eight cells are there and count; otherwise the first `count` are there,
# and those that the mask hides, if there is one, do not count. `rows` are their first cell, their
# number and their distance. `new` sums start at 0. Arrays are given by their addresses.

Address = Any
Rows = tuple[int, int, int]


@inlined
def _add_lanes(
    cells: tuple[Address, Address, Address],
    mask: Address | None,
    rows: Rows,
    at: int,
    count: int,
    what: tuple[int, int, bool, bool],
    widths: Address,
    asked: int,
    late: int,
    new: tuple[bool, bool],
    tile: Address,
    tally: Address,
) -> None:
    """Add eight lanes of some rows."""
    y, mean, std = cells
    sums, levels, spread, masked = what
    if at % (2 * LANES) == 0:
        # The processor does not foresee so many rows: fetch those that come next.
        for number in range(rows[1], 2 * rows[1]):
            row = rows[0] + at + number * rows[2]
            ahead(y, row)
            ahead(mean, row)
            if spread:
                ahead(std, row)
    size, size_low = started(tile, 2 * ABS * STRIDE + at, new[0])
    square, square_low = started(tile, 2 * SQUARE * STRIDE + at, new[0])
    there = inside = fill(0)
    half = widths[0] if levels else 0.0
    total, least = fill(0.0), fill(1.0)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        error = read_cells(mean, row, count, seen, 0.0) - read_cells(y, row, count, seen, 0.0)
        size, size_low = grown(size, size_low, abs(error))
        square, square_low = grown(square, square_low, error * error)
        if mask is not None:
            there = there + ones(seen)
        if spread:
            deviation = read_cells(std, row, count, seen, 1.0)
            total, least = total + deviation, larger_first(least, deviation)[1]
            inside = inside + counted_cells(abs(error) <= half * deviation, seen)
    kept(tile, 2 * ABS * STRIDE + at, size, size_low)
    kept(tile, 2 * SQUARE * STRIDE + at, square, square_low)
    if mask is not None:
        add_count(tally, N * STRIDE + at, there, new[0])
    if _has(asked, ERROR):
        _add_signed(y, mean, mask, masked, rows, at, count, new[1] if _has(late, ERROR) else new[0], tile)
    if _has(asked, Y):
        _add_sizes(y, mask, masked, rows, at, count, new[1] if _has(late, Y) else new[0], tile)
    if _has(asked, Y2_LOST):
        _add_lost(y, mask, masked, rows, at, count, new[1] if _has(late, Y2_LOST) else new[0], tile)
    if _has(asked, APE):
        _add_relative(y, mean, mask, masked, rows, at, count, new[0], tile, tally)
    if _has(asked, SAPE):
        _add_symmetric(y, mean, mask, masked, rows, at, count, new[0], tile)
    if not spread:
        return
    if some((total < np.inf) & (least > 0.0)) < LANES:
        _add_bad(std, mask, masked, rows, at, count, new[0], tally)
    else:
        add_count(tally, BAD_STD * STRIDE + at, fill(0), new[0])
    if levels:
        add_count(tally, INSIDE * STRIDE + at, inside, new[0])
    for level in range(1, levels):
        _add_inside(cells, mask, masked, rows, at, count, widths[level], new[0], tally, (INSIDE + level) * STRIDE + at)
    if _has(asked, STD):
        _add_spread(std, mask, masked, rows, at, count, new[0], tile)
    if sums > OVER and _has(asked, OVER):
        for level in range(sums - OVER):
            place = 2 * (OVER + level) * STRIDE + at
            _add_over(cells, mask, masked, rows, at, count, widths[level], new[0], tile, place)
    if _has(asked, NLL):
        _add_scores(cells, mask, masked, rows, at, count, new[0], tile)


@inlined
def _has(parts: int, k: int) -> bool:
    return (parts >> k) & 1 == 1


@inlined
def seen_cells(mask: Address | None, masked: bool, at: int, count: int) -> Any:
    """Which of eight cells count."""
    if mask is None:
        return None
    if not masked:
        return first(count)
    return load(mask, at) if count >= LANES else first(count) & load_some(mask, at, count)


@inlined
def read_cells(cells: Address, at: int, count: int, seen: Any, stand_in: float) -> Any:
    """Eight cells; a number stands in for those that do not count."""
    if seen is None:
        return load(cells, at)
    return where(seen, load(cells, at) if count >= LANES else load_some(cells, at, count), fill(stand_in))


@inlined
def counted_cells(flags: Any, seen: Any) -> Any:
    """1 for each cell that counts and has the flag."""
    return ones(flags) if seen is None else ones(flags & seen)


@inlined
def started(tile: Address, place: int, new: bool) -> Any:
    """The sum of eight lanes so far, in two floats."""
    return (fill(0.0), fill(0.0)) if new else (load(tile, place), load(tile, place + STRIDE))


@inlined
def kept(tile: Address, place: int, high: Any, low: Any) -> None:
    """The opposite."""
    store(tile, place, high)
    store(tile, place + STRIDE, low)


@inlined
def add_count(tally: Address, place: int, more: Any, new: bool) -> None:
    store(tally, place, more if new else load(tally, place) + more)


@inlined
def _add_bad(
    std: Address, mask: Address | None, masked: bool, rows: Rows, at: int, count: int, new: bool, tally: Address
) -> None:
    """Count what is no standard deviation, if their total or the least of them looks like it."""
    bad = fill(0)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        deviation = read_cells(std, row, count, seen, 1.0)
        bad = bad + counted_cells(~((deviation > 0.0) & (deviation < np.inf)), seen)
    add_count(tally, BAD_STD * STRIDE + at, bad, new)


@inlined
def _add_inside(
    cells: tuple[Address, Address, Address],
    mask: Address | None,
    masked: bool,
    rows: Rows,
    at: int,
    count: int,
    half: float,
    new: bool,
    tally: Address,
    place: int,
) -> None:
    y, mean, std = cells
    inside = fill(0)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        size = abs(read_cells(mean, row, count, seen, 0.0) - read_cells(y, row, count, seen, 0.0))
        inside = inside + counted_cells(size <= half * read_cells(std, row, count, seen, 1.0), seen)
    add_count(tally, place, inside, new)


@inlined
def _add_signed(
    y: Address,
    mean: Address,
    mask: Address | None,
    masked: bool,
    rows: Rows,
    at: int,
    count: int,
    new: bool,
    tile: Address,
) -> None:
    high, low = started(tile, 2 * ERROR * STRIDE + at, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        high, low = added(high, low, read_cells(mean, row, count, seen, 0.0) - read_cells(y, row, count, seen, 0.0))
    kept(tile, 2 * ERROR * STRIDE + at, high, low)


@inlined
def _add_sizes(
    y: Address, mask: Address | None, masked: bool, rows: Rows, at: int, count: int, new: bool, tile: Address
) -> None:
    """Add the truth, its absolute value and its square."""
    total, total_low = started(tile, 2 * Y * STRIDE + at, new)
    square, square_low = started(tile, 2 * Y2 * STRIDE + at, new)
    size, size_low = started(tile, 2 * ABS_Y * STRIDE + at, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        truth = read_cells(y, row, count, seen_cells(mask, masked, row, count), 0.0)
        total, total_low = added(total, total_low, truth)
        square, square_low = grown(square, square_low, truth * truth)
        size, size_low = grown(size, size_low, abs(truth))
    kept(tile, 2 * Y * STRIDE + at, total, total_low)
    kept(tile, 2 * Y2 * STRIDE + at, square, square_low)
    kept(tile, 2 * ABS_Y * STRIDE + at, size, size_low)


@inlined
def _add_lost(
    y: Address, mask: Address | None, masked: bool, rows: Rows, at: int, count: int, new: bool, tile: Address
) -> None:
    """Add the rounding error of the squared truth."""
    high, low = started(tile, 2 * Y2_LOST * STRIDE + at, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        truth = read_cells(y, row, count, seen_cells(mask, masked, row, count), 0.0)
        scaled = truth * _SPLITTER
        large = scaled - (scaled - truth)
        small = truth - large
        high, low = added(high, low, ((large * large - truth * truth) + 2.0 * (large * small)) + small * small)
    kept(tile, 2 * Y2_LOST * STRIDE + at, high, low)


@inlined
def _add_relative(
    y: Address,
    mean: Address,
    mask: Address | None,
    masked: bool,
    rows: Rows,
    at: int,
    count: int,
    new: bool,
    tile: Address,
    tally: Address,
) -> None:
    high, low = started(tile, 2 * APE * STRIDE + at, new)
    nonzero = fill(0)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        truth = read_cells(y, row, count, seen, 0.0)
        size, error = abs(truth), abs(read_cells(mean, row, count, seen, 0.0) - truth)
        high, low = grown(high, low, error / where(size > 0.0, size, fill(np.inf)))
        nonzero = nonzero + ones(size > 0.0)
    kept(tile, 2 * APE * STRIDE + at, high, low)
    add_count(tally, NONZERO * STRIDE + at, nonzero, new)


@inlined
def _add_symmetric(
    y: Address,
    mean: Address,
    mask: Address | None,
    masked: bool,
    rows: Rows,
    at: int,
    count: int,
    new: bool,
    tile: Address,
) -> None:
    high, low = started(tile, 2 * SAPE * STRIDE + at, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        truth, forecast = read_cells(y, row, count, seen, 0.0), read_cells(mean, row, count, seen, 0.0)
        sizes = abs(truth) + abs(forecast)
        high, low = grown(high, low, 2.0 * abs(forecast - truth) / where(sizes > 0.0, sizes, fill(1.0)))
    kept(tile, 2 * SAPE * STRIDE + at, high, low)


@inlined
def _add_spread(
    std: Address, mask: Address | None, masked: bool, rows: Rows, at: int, count: int, new: bool, tile: Address
) -> None:
    high, low = started(tile, 2 * STD * STRIDE + at, new)
    square, square_low = started(tile, 2 * VAR * STRIDE + at, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        deviation = read_cells(std, row, count, seen_cells(mask, masked, row, count), 0.0)
        high, low = added(high, low, deviation)
        square, square_low = grown(square, square_low, deviation * deviation)
    kept(tile, 2 * STD * STRIDE + at, high, low)
    kept(tile, 2 * VAR * STRIDE + at, square, square_low)


@inlined
def _add_over(
    cells: tuple[Address, Address, Address],
    mask: Address | None,
    masked: bool,
    rows: Rows,
    at: int,
    count: int,
    half: float,
    new: bool,
    tile: Address,
    place: int,
) -> None:
    y, mean, std = cells
    high, low = started(tile, place, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        size = abs(read_cells(mean, row, count, seen, 0.0) - read_cells(y, row, count, seen, 0.0))
        beyond = size - half * read_cells(std, row, count, seen, 1.0)
        high, low = grown(high, low, where(beyond <= 0.0, fill(0.0), beyond))
    kept(tile, place, high, low)


@inlined
def _add_scores(
    cells: tuple[Address, Address, Address],
    mask: Address | None,
    masked: bool,
    rows: Rows,
    at: int,
    count: int,
    new: bool,
    tile: Address,
) -> None:
    """Add `gaussian_nll` and `gaussian_crps`."""
    y, mean, std = cells
    nll, nll_low = started(tile, 2 * NLL * STRIDE + at, new)
    crps, crps_low = started(tile, 2 * CRPS * STRIDE + at, new)
    for number in range(rows[1]):
        row = rows[0] + at + number * rows[2]
        seen = seen_cells(mask, masked, row, count)
        error = read_cells(mean, row, count, seen, 0.0) - read_cells(y, row, count, seen, 0.0)
        deviation = read_cells(std, row, count, seen, 1.0)
        # log(std): exponent and mantissa, then the series.
        tiny = deviation < LOWEST_NORMAL
        carried = bits(deviation * where(tiny, fill(LIFT), fill(1.0))) + SQRT_CARRY
        exponent = of_bits((carried >> 52) | INTEGER_BITS) - where(tiny, fill(LIFTED_BIAS), fill(BIAS))
        mantissa = of_bits((carried & MANTISSA) + SQRT_HALF_BITS)
        f = (mantissa - 1.0) / (mantissa + 1.0)
        q = f * f
        log = exponent * LN2_HIGH + ((2.0 * f + f * (q * polynomial(LOG, q))) + exponent * LN2_LOW)
        # The error in standard deviations, and exp(-z²/2) as a power of 2 and a polynomial.
        z = error / deviation
        near = abs(z)
        near = where(near > FAR, fill(FAR), near)
        power = -0.5 * (near * near)
        shifted = power * LOG2_E + ROUNDER
        whole = shifted - ROUNDER
        rest = (power - whole * LN2_HIGH) - whole * LN2_LOW
        falling = polynomial(EXP, rest) * of_bits((bits(shifted) + 1023) << 52)
        far = polynomial(TAIL, STRETCH * near / (near + OFFSET) - 1.0)
        density = (log + 0.5 * (z * z)) + HALF_LOG_2PI
        score = abs(error) + deviation * (falling * far - INVERSE_SQRT_PI)
        if mask is not None:
            density, score = where(seen, density, fill(0.0)), where(seen, score, fill(0.0))
        nll, nll_low = added(nll, nll_low, density)
        crps, crps_low = added(crps, crps_low, score)
    kept(tile, 2 * NLL * STRIDE + at, nll, nll_low)
    kept(tile, 2 * CRPS * STRIDE + at, crps, crps_low)


@inlined
def fold_tile(
    start: int,
    width: int,
    asked: Mask,
    counted: Mask,
    block: int,
    place: int,
    tile: Floats,
    tally: Ints,
    of_horizon: Totals,
    of_node: Totals,
    rows_of: Ints,
    to_which: int,
) -> None:
    """Add the lanes from `start` on to the sums of their horizon and of their node, or to one of them."""
    horizons, nodes = of_horizon[0].shape[2], of_node[0].shape[2]
    high, low, counts = address(of_node[0]), address(of_node[1]), address(of_node[2])
    sums, tallies = address(tile), address(tally)
    begin = start
    while begin < start + width:
        horizon, node = begin // nodes % horizons, begin % nodes
        size, at = min(nodes - node, start + width - begin), begin - start
        for k in range(asked.size):
            if asked[k]:
                column = rows_of[k]
                to, row = (place * of_node[0].shape[1] + column) * nodes + node, 2 * k * STRIDE + at
                total, lost = of_horizon[0][block, column, horizon], of_horizon[1][block, column, horizon]
                total, lost = _merged(sums, row, high, low, to, size, total, lost, to_which)
                of_horizon[0][block, column, horizon], of_horizon[1][block, column, horizon] = total, lost
        for k in range(counted.size):
            if counted[k]:
                to, row = (place * of_node[2].shape[1] + k) * nodes + node, k * STRIDE + at
                of_horizon[2][block, k, horizon] += _merged_counts(tallies, row, counts, to, size, to_which)
        begin += size


@inlined
def _merged(
    tile: Address, row: int, high: Address, low: Address, to: int, size: int, total: Any, total_low: Any, to_which: int
) -> tuple[Any, Any]:
    """Add the lanes of a quantity to the sums of their nodes; the total with all of them added."""
    lanes = lanes_low = fill(0.0)
    left = size % LANES
    for j in range(0, size - left, LANES):
        more, more_low = load(tile, row + j), load(tile, row + j + STRIDE)
        if to_which != HORIZON:
            sums, sums_low = dd_add(load(high, to + j), load(low, to + j), more, more_low)
            store(high, to + j, sums)
            store(low, to + j, sums_low)
        if to_which != NODE:
            lanes, lanes_low = dd_add(lanes, lanes_low, more, more_low)
    if left:
        j = size - left
        more, more_low = load_some(tile, row + j, left), load_some(tile, row + j + STRIDE, left)
        if to_which != HORIZON:
            sums, sums_low = dd_add(load_some(high, to + j, left), load_some(low, to + j, left), more, more_low)
            store_some(high, to + j, sums, left)
            store_some(low, to + j, sums_low, left)
        if to_which != NODE:
            lanes, lanes_low = dd_add(lanes, lanes_low, more, more_low)
    if to_which != NODE:
        for number in range(LANES):
            total, total_low = dd_add(total, total_low, lane(lanes, number), lane(lanes_low, number))
    return total, total_low


@inlined
def _merged_counts(tally: Address, row: int, counts: Address, to: int, size: int, to_which: int) -> int:
    """Add counts to those of their nodes; their sum."""
    lanes = fill(0)
    left = size % LANES
    for j in range(0, size - left, LANES):
        more = load(tally, row + j)
        if to_which != HORIZON:
            store(counts, to + j, load(counts, to + j) + more)
        lanes = lanes + more
    if left:
        j = size - left
        more = load_some(tally, row + j, left)
        if to_which != HORIZON:
            store_some(counts, to + j, load_some(counts, to + j, left) + more, left)
        lanes = lanes + more
    total = 0
    if to_which != NODE:
        for number in range(LANES):
            total += lane(lanes, number)
    return total


@inlined
def add_equal(
    rows: int,
    start: int,
    width: int,
    k: int,
    block: int,
    place: int,
    of_horizon: Totals,
    of_node: Totals,
    to_which: int,
) -> None:
    """Count the same number for each lane."""
    horizons, nodes = of_horizon[0].shape[2], of_node[0].shape[2]
    counts, row, more = address(of_node[2]), (place * of_node[2].shape[1] + k) * nodes, fill(rows)
    begin = start
    while begin < start + width:
        horizon, node = begin // nodes % horizons, begin % nodes
        size = min(nodes - node, start + width - begin)
        if to_which != NODE:
            of_horizon[2][block, k, horizon] += rows * size
        if to_which != HORIZON:
            left = size % LANES
            for to in range(row + node, row + node + size - left, LANES):
                store(counts, to, load(counts, to) + more)
            if left:
                to = row + node + size - left
                store_some(counts, to, load_some(counts, to, left) + more, left)
        begin += size


@inlined
def round_totals(of_horizon: Totals, of_node: Totals) -> None:
    """Carry what the low parts have collected into the high parts."""
    for high, low in ((of_horizon[0], of_horizon[1]), (of_node[0], of_node[1])):
        for block in range(high.shape[0]):
            for k in range(high.shape[1]):
                _carry(high[block, k], low[block, k])


@inlined
def _carry(high: Floats, low: Floats) -> None:
    for j in range(np.uint64(high.size)):
        high[j], low[j] = two_sum(high[j], low[j])


def round_twin(of_horizon: Totals, of_node: Totals) -> None:
    """`round_totals` in NumPy."""
    for high, low, _ in (of_horizon, of_node):
        high[:], low[:] = two_sum(high, low)
