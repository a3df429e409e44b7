"""The Triton kernel of forecasts: all sums in one pass. Imported only where Triton is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl

from graphgauge.core.types import Ints
from graphgauge.kernels.device_forecast import Asked, CellSums, Pieces
from graphgauge.kernels.forecast import Sums
from graphgauge.kernels.forecast_cells import SUMS
from graphgauge.kernels.forecast_gaussian import HALF_LOG_2PI

# A program is one warp, so that nothing waits for other warps when sums are added up. It takes a tile of steps × nodes,
# several of them at once if blocks have the steps for it; about so many programs keep a device busy.
_TILE, _NODES, _AT_ONCE, _PROGRAMS, _WARPS = 64, 32, 2, 8192, 1
# Cells of a lane in a piece: counts have 8 bits of an integer, and a product of so many numbers below 2 is a float32.
_STEPS = 120
# How near to an edge the share of a percentile may be wrong in float32 (with the largest errors that a GPU's functions
# may have, 4.2e-5 of a bin), and how near a distance to a half-width, relative to it (3e-7), with a margin. Float32 is
# not used for distances beyond so many standard deviations, nor for deviations beyond a magnitude or below its inverse.
_MARGIN, _CLOSE, _ODD, _HUGE = 1e-4, 4e-6, 1e15, 1e37
# Rows of the sums: as in `kernels.forecast_cells`, then the excesses. Bins of percentiles: a power of two.
_FLOATS, _COUNTS, _BINS = 16, 7, 128
_NLL = list(SUMS).index("nll")


@triton.jit
def _lanes(sums, totals, row, values, MORE):  # type: ignore[no-untyped-def]  # Triton evaluates annotations
    """Write the sum of a tile to its row; returns the sums of its nodes, with those before if there is more."""
    lane = tl.sum(values, 0).to(sums.dtype)
    tl.store(totals + row, tl.sum(lane, 0))
    return sums + lane if MORE else lane


@triton.jit
def _inverse(value):  # type: ignore[no-untyped-def]
    """The inverse of a positive float32, to about its last bit; a division would first look for other numbers."""
    root = tl.rsqrt(value)
    guess = root * root
    return guess * (1 - value * guess) + guess


@triton.jit
def _excess(distance, width, deviation):  # type: ignore[no-untyped-def]
    """How far distances are beyond a half-width, summed over the tiles."""
    over = distance - tl.load(width) * deviation
    return tl.sum(tl.where(over <= 0, 0.0, over), 0)


@triton.jit  # type: ignore[untyped-decorator]
def _any(flags, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    return tl.max(tl.reshape(flags.to(tl.int32), [SIZE]), 0) > 0


# Lanes are one node apart whatever the strides are. If Triton knew that a stride is 1, it would give each lane several
# adjacent nodes, and adding up the tiles would take other lanes.
_STRIDES = [f"{array}_{axis}" for array in "ymsk" for axis in ("step", "ahead", "node")]


@triton.jit(do_not_specialize=_STRIDES)  # type: ignore[untyped-decorator]
def _sum_cells(  # type: ignore[no-untyped-def]
    y,
    mean,
    std,
    mask,
    widths,
    edges,
    bounds,
    jobs,
    totals,
    whole_totals,
    sums,
    whole_sums,
    pit,
    node_pit,
    horizons,
    nodes,
    tiles,
    next_row,
    y_step,
    y_ahead,
    y_node,
    m_step,
    m_ahead,
    m_node,
    s_step,
    s_ahead,
    s_node,
    k_step,
    k_ahead,
    k_node,
    OFFSETS: tl.constexpr,
    ALIKE: tl.constexpr,
    MORE: tl.constexpr,
    AT_ONCE: tl.constexpr,
    STEPS: tl.constexpr,
    NODES: tl.constexpr,
    NARROW: tl.constexpr,
    GAUSSIAN: tl.constexpr,
    MASKED: tl.constexpr,
    BIAS: tl.constexpr,
    SIZE: tl.constexpr,
    RELATIVE: tl.constexpr,
    SPREAD: tl.constexpr,
    SCORES: tl.constexpr,
    OVER: tl.constexpr,
    LEVELS: tl.constexpr,
    PIT: tl.constexpr,
    NODE_PIT: tl.constexpr,
    FLOATS: tl.constexpr,
    COUNTS: tl.constexpr,
    BINS: tl.constexpr,
    LAST: tl.constexpr,
    MARGIN: tl.constexpr,
    CLOSE: tl.constexpr,
    ODD: tl.constexpr,
    HUGE: tl.constexpr,
):
    number, tile = tl.program_id(0) // tiles, tl.program_id(0) % tiles
    job, ahead = (number // horizons).to(tl.int64), (number % horizons).to(tl.int64)
    node = tile * NODES + tl.arange(0, NODES)
    inside, column = (node < nodes)[None, None, :], node.to(OFFSETS)[None, None, :]
    lane = tl.arange(0, AT_ONCE)[:, None, None] * STEPS + tl.arange(0, STEPS)[None, :, None]
    # A lane has the same node in all tiles, so that adding them up takes no other lane.
    CELLS: tl.constexpr = AT_ONCE * STEPS * NODES
    SCORED: tl.constexpr = tl.float32 if NARROW else tl.float64
    none = tl.zeros([NODES], tl.float64)
    n_abs, n_square, n_error, n_y, n_y2, n_abs_y, n_ape, n_sape = none, none, none, none, none, none, none, none
    n_std, n_var, n_nll, n_crps, n_over, n_over1, n_over2, n_over3 = none, none, none, none, none, none, none, none
    no = tl.zeros([NODES], tl.int32)
    n_cells, n_nonzero, n_bad, n_in, n_in1, n_in2, n_in3 = no, no, no, no, no, no, no
    for piece in range(tl.load(jobs + job), tl.load(jobs + job + 1)):
        nothing = tl.zeros([STEPS, NODES], tl.float64)
        a_abs, a_square, a_error, a_y, a_y2, a_abs_y = nothing, nothing, nothing, nothing, nothing, nothing
        a_ape, a_sape, a_std, a_var, a_nll, a_crps = nothing, nothing, nothing, nothing, nothing, nothing
        a_over, a_over1, a_over2, a_over3 = nothing, nothing, nothing, nothing
        mantissas = tl.full([AT_ONCE, STEPS, NODES], 1.0, tl.float32)
        exponents = tl.zeros([STEPS, NODES], tl.int32)
        kinds = tl.zeros([STEPS, NODES], tl.int32)  # cells, nonzero truths, bad deviations: 8 bits each
        levels = tl.zeros([STEPS, NODES], tl.int32)  # cells within each half-width, likewise
        found = tl.zeros([BINS], tl.int32)
        start = tl.load(bounds + piece)
        length = (tl.load(bounds + piece + 1) - start).to(tl.int32)
        y_first, m_first = y + start * y_step + ahead * y_ahead, mean + start * m_step + ahead * m_ahead
        s_first, k_first = std + start * s_step + ahead * s_ahead, mask + start * k_step + ahead * k_ahead
        y_cell = lane.to(OFFSETS) * y_step + column * y_node
        m_cell = y_cell if ALIKE else lane.to(OFFSETS) * m_step + column * m_node
        s_cell = y_cell if ALIKE else lane.to(OFFSETS) * s_step + column * s_node
        k_cell = lane.to(OFFSETS) * k_step + column * k_node
        next_seen = (lane < length) & inside
        next_observed = tl.load(y_first + y_cell, mask=next_seen, other=0)
        next_predicted = tl.load(m_first + m_cell, mask=next_seen, other=0)
        next_given = tl.load(s_first + s_cell, mask=next_seen, other=1.0) if GAUSSIAN else next_observed
        next_mark = tl.load(k_first + k_cell, mask=next_seen, other=0) if MASKED else next_observed
        for first in range(0, length, AT_ONCE * STEPS):
            seen, observed, predicted, given = next_seen, next_observed, next_predicted, next_given
            if MASKED:  # a cell that is not seen may have any value
                seen = seen & (next_mark != 0)
                observed, predicted = tl.where(seen, observed, 0), tl.where(seen, predicted, 0)
                given = tl.where(seen, given, 1.0) if GAUSSIAN else given
            # The next tiles are on their way while these are summed.
            step = (first + AT_ONCE * STEPS + lane).to(OFFSETS)
            next_seen = (step < length) & inside
            next_y = step * y_step + column * y_node
            next_observed = tl.load(y_first + next_y, mask=next_seen, other=0)
            next_m = next_y if ALIKE else step * m_step + column * m_node
            next_predicted = tl.load(m_first + next_m, mask=next_seen, other=0)
            if GAUSSIAN:
                next_s = next_y if ALIKE else step * s_step + column * s_node
                next_given = tl.load(s_first + next_s, mask=next_seen, other=1.0)
            if MASKED:
                next_mark = tl.load(k_first + step * k_step + column * k_node, mask=next_seen, other=0)
            truth, forecast = observed.to(tl.float64), predicted.to(tl.float64)
            error = forecast - truth
            size = tl.abs(error)
            a_abs += tl.sum(size, 0)
            a_square += tl.sum(error * error, 0)
            if MASKED:
                kinds += tl.sum(seen.to(tl.int32), 0)
            if BIAS:
                a_error += tl.sum(error, 0)
            if SIZE:
                a_y += tl.sum(truth, 0)
                a_y2 += tl.sum(truth * truth, 0)
                a_abs_y += tl.sum(tl.abs(truth), 0)
            if RELATIVE:
                scale = tl.abs(truth)
                scales = scale + tl.abs(forecast)
                a_ape += tl.sum(size / tl.where(scale > 0, scale, float("inf")), 0)
                a_sape += tl.sum(2 * size / tl.where(scales > 0, scales, 1.0), 0)
                kinds += tl.sum(tl.where(seen & (scale > 0), 1 << 8, 0), 0)
            if GAUSSIAN:
                spread, difference = given.to(SCORED), predicted.to(SCORED) - observed.to(SCORED)
                distance = tl.abs(difference)
                far = distance * _inverse(spread) if NARROW else distance / spread
                # Where the scores' type cannot decide, float64 does, for few tiles.
                # False for NaN, too: that is the inverse of 0, of infinity and of what is negative.
                sound = (far < ODD) & (spread < HUGE)
                if not NARROW:
                    sound = sound & (spread > 1 / HUGE)
                unsure = ~sound
                within = tl.zeros([AT_ONCE, STEPS, NODES], tl.int32)
                if LEVELS > 0:
                    limit = tl.load(widths).to(SCORED)
                    within += tl.where(far <= limit, 1, 0)
                    unsure = unsure | (tl.abs(far - limit) <= CLOSE * limit)
                if LEVELS > 1:
                    limit = tl.load(widths + 1).to(SCORED)
                    within += tl.where(far <= limit, 1 << 8, 0)
                    unsure = unsure | (tl.abs(far - limit) <= CLOSE * limit)
                if LEVELS > 2:
                    limit = tl.load(widths + 2).to(SCORED)
                    within += tl.where(far <= limit, 1 << 16, 0)
                    unsure = unsure | (tl.abs(far - limit) <= CLOSE * limit)
                if LEVELS > 3:
                    limit = tl.load(widths + 3).to(SCORED)
                    within += tl.where(far <= limit, 1 << 24, 0)
                    unsure = unsure | (tl.abs(far - limit) <= CLOSE * limit)
                if SCORES or PIT:
                    square = far * far
                    if NARROW:
                        # Abramowitz and Stegun 7.1.26: the error is below 1.5e-7.
                        falling = tl.exp2(-0.7213475204444817 * square)
                        inverse = _inverse(1 + 0.23164189 * far)
                        tail = (1.061405429 * inverse - 1.453152027) * inverse + 1.421413741
                        tail = (tail * inverse - 0.284496736) * inverse + 0.254829592
                        central = 1 - tail * inverse * falling
                    else:
                        falling = tl.exp(-0.5 * square)
                        central = tl.math.erf(far * 0.7071067811865476)
                place = within
                if PIT:
                    # The middle of bin i is i. At either end there is no edge to be near to.
                    HALF: tl.constexpr = 0.5 * (LAST + 1)
                    if NARROW:  # the sign is a bit
                        sign = difference.to(tl.int32, bitcast=True) & -2147483648
                        signed = (central.to(tl.int32, bitcast=True) ^ sign).to(tl.float32, bitcast=True)
                    else:
                        signed = tl.where(difference > 0, central, -central)
                    share = (HALF - 0.5) - HALF * signed
                    share = tl.minimum(tl.maximum(share, -0.4), LAST + 0.4)
                    if NARROW:
                        # A float32 of this size has no fraction: the sum is rounded, and ends with the bits of the bin.
                        rounded = share + 12582912.0
                        place = rounded.to(tl.int32, bitcast=True) & (BINS - 1)
                        rest = share - (rounded - 12582912.0)
                    else:
                        place = (share + 0.5).to(tl.int32)
                        rest = share - place.to(SCORED)
                    unsure = unsure | (tl.abs(rest) > 0.5 - MARGIN)
                if _any(unsure, CELLS):
                    behind = observed.to(tl.float64) - predicted.to(tl.float64)
                    wrong = tl.abs(behind)
                    deviation = given.to(tl.float64)
                    z = behind / deviation
                    odd = ~(sound & (tl.abs(z) < ODD) & (deviation < HUGE) & (deviation > 1 / HUGE))
                    kinds += tl.sum(tl.where((given > 0) & (given < float("inf")), 0, 1 << 16), 0)
                    if NARROW and SCORES:
                        # Not a number in the sums: they are computed again in float64.
                        a_nll += tl.sum(tl.where(odd, float("nan"), 0.0), 0)
                    if LEVELS > 0:
                        within = tl.where(wrong <= tl.load(widths) * deviation, 1, 0)
                    if LEVELS > 1:
                        within += tl.where(wrong <= tl.load(widths + 1) * deviation, 1 << 8, 0)
                    if LEVELS > 2:
                        within += tl.where(wrong <= tl.load(widths + 2) * deviation, 1 << 16, 0)
                    if LEVELS > 3:
                        within += tl.where(wrong <= tl.load(widths + 3) * deviation, 1 << 24, 0)
                    if PIT:
                        # A truth at an edge is below it; without a distance it is in the last bin.
                        place = tl.where(odd, 0, place)
                        for _ in range(tl.where(_any(odd, CELLS), LAST, 1)):
                            low = tl.load(edges + tl.maximum(place - 1, 0))
                            high = tl.load(edges + tl.minimum(place, LAST - 1))
                            lower = ((place > 0) & (z <= low)).to(tl.int32)
                            place += ((place < LAST) & (z > high)).to(tl.int32) - lower
                        place = tl.where(z == z, place, LAST)
                if LEVELS > 0:
                    levels += tl.sum(tl.where(seen, within, 0), 0)
                if SPREAD:
                    there = tl.where(seen, given, 0).to(tl.float64)
                    a_std += tl.sum(there, 0)
                    a_var += tl.sum(there * there, 0)
                if OVER:
                    a_over += _excess(size, widths, given.to(tl.float64))
                    if LEVELS > 1:
                        a_over1 += _excess(size, widths + 1, given.to(tl.float64))
                    if LEVELS > 2:
                        a_over2 += _excess(size, widths + 2, given.to(tl.float64))
                    if LEVELS > 3:
                        a_over3 += _excess(size, widths + 3, given.to(tl.float64))
                if SCORES:
                    # Cells that are not seen have the deviation 1, and so add nothing to the logarithms.
                    a_nll += 0.5 * tl.sum(square, 0).to(tl.float64)
                    if NARROW:
                        # One logarithm for all cells of a lane: of the product of their mantissas.
                        bits = spread.to(tl.int32, bitcast=True)
                        mantissas *= ((bits & 0x7FFFFF) | 0x3F800000).to(tl.float32, bitcast=True)
                        exponents += tl.sum((bits >> 23) - 127, 0)
                    else:
                        a_nll += tl.sum(tl.log(spread), 0)
                    part = far * central + (0.7978845608028654 * falling - 0.5641895835477563)
                    a_crps += tl.sum(tl.where(seen, spread, 0.0) * part, 0).to(tl.float64)
                if PIT:
                    if NODE_PIT:
                        own = node_pit + node.to(tl.int64)[None, None, :] * (LAST + 1) + place
                        tl.atomic_add(own, 1, mask=seen, sem="relaxed")
                    place = tl.where(seen, place, BINS - 1)
                    found += tl.histogram(tl.reshape(place, [CELLS]), BINS)
        row = ((piece * horizons + ahead) * tiles + tile).to(tl.int64)
        total = totals + row * FLOATS
        n_abs = _lanes(n_abs, total, 0, a_abs, MORE)
        n_square = _lanes(n_square, total, 1, a_square, MORE)
        if BIAS:
            n_error = _lanes(n_error, total, 2, a_error, MORE)
        if SIZE:
            n_y = _lanes(n_y, total, 3, a_y, MORE)
            n_y2 = _lanes(n_y2, total, 4, a_y2, MORE)
            n_abs_y = _lanes(n_abs_y, total, 5, a_abs_y, MORE)
        if RELATIVE:
            n_ape = _lanes(n_ape, total, 6, a_ape, MORE)
            n_sape = _lanes(n_sape, total, 7, a_sape, MORE)
        if SPREAD:
            n_std = _lanes(n_std, total, 8, a_std, MORE)
            n_var = _lanes(n_var, total, 9, a_var, MORE)
        if SCORES:
            if NARROW:
                a_nll += tl.sum(tl.log(mantissas), 0) + 0.6931471805599453 * exponents.to(tl.float64)
            n_nll = _lanes(n_nll, total, 10, a_nll, MORE)
            n_crps = _lanes(n_crps, total, 11, a_crps, MORE)
        if OVER:
            n_over = _lanes(n_over, total, 12, a_over, MORE)
            n_over1 = _lanes(n_over1, total, 13, a_over1, MORE)
            n_over2 = _lanes(n_over2, total, 14, a_over2, MORE)
            n_over3 = _lanes(n_over3, total, 15, a_over3, MORE)
        whole = whole_totals + row * COUNTS
        if MASKED:
            n_cells = _lanes(n_cells, whole, 0, kinds & 255, MORE)
        if RELATIVE:
            n_nonzero = _lanes(n_nonzero, whole, 1, (kinds >> 8) & 255, MORE)
        if GAUSSIAN:
            n_bad = _lanes(n_bad, whole, 2, (kinds >> 16) & 255, MORE)
        if LEVELS > 0:
            n_in = _lanes(n_in, whole, 3, levels & 255, MORE)
        if LEVELS > 1:
            n_in1 = _lanes(n_in1, whole, 4, (levels >> 8) & 255, MORE)
        if LEVELS > 2:
            n_in2 = _lanes(n_in2, whole, 5, (levels >> 16) & 255, MORE)
        if LEVELS > 3:
            n_in3 = _lanes(n_in3, whole, 6, (levels >> 24) & 255, MORE)
        if PIT:
            tl.store(pit + row * BINS + tl.arange(0, BINS), found)
    cell = sums + (job * FLOATS * horizons + ahead) * nodes + node
    tl.store(cell, n_abs, mask=node < nodes)
    tl.store(cell + next_row, n_square, mask=node < nodes)
    if BIAS:
        tl.store(cell + 2 * next_row, n_error, mask=node < nodes)
    if SIZE:
        tl.store(cell + 3 * next_row, n_y, mask=node < nodes)
        tl.store(cell + 4 * next_row, n_y2, mask=node < nodes)
        tl.store(cell + 5 * next_row, n_abs_y, mask=node < nodes)
    if RELATIVE:
        tl.store(cell + 6 * next_row, n_ape, mask=node < nodes)
        tl.store(cell + 7 * next_row, n_sape, mask=node < nodes)
    if SPREAD:
        tl.store(cell + 8 * next_row, n_std, mask=node < nodes)
        tl.store(cell + 9 * next_row, n_var, mask=node < nodes)
    if SCORES:
        tl.store(cell + 10 * next_row, n_nll, mask=node < nodes)
        tl.store(cell + 11 * next_row, n_crps, mask=node < nodes)
    if OVER:
        tl.store(cell + 12 * next_row, n_over, mask=node < nodes)
        tl.store(cell + 13 * next_row, n_over1, mask=node < nodes)
        tl.store(cell + 14 * next_row, n_over2, mask=node < nodes)
        tl.store(cell + 15 * next_row, n_over3, mask=node < nodes)
    count = whole_sums + (job * COUNTS * horizons + ahead) * nodes + node
    if MASKED:
        tl.store(count, n_cells, mask=node < nodes)
    if RELATIVE:
        tl.store(count + next_row, n_nonzero, mask=node < nodes)
    if GAUSSIAN:
        tl.store(count + 2 * next_row, n_bad, mask=node < nodes)
    if LEVELS > 0:
        tl.store(count + 3 * next_row, n_in, mask=node < nodes)
    if LEVELS > 1:
        tl.store(count + 4 * next_row, n_in1, mask=node < nodes)
    if LEVELS > 2:
        tl.store(count + 5 * next_row, n_in2, mask=node < nodes)
    if LEVELS > 3:
        tl.store(count + 6 * next_row, n_in3, mask=node < nodes)


class Summed(NamedTuple):
    """What the kernel wrote, on the device: sums and counts of each piece, of each job and of percentiles."""

    pieces: Pieces
    totals: Any
    whole_totals: Any
    sums: Any
    whole_sums: Any
    pit: Any
    node_pit: Any


def _tile(nodes: int, steps: int, in_time: bool) -> tuple[int, int, int]:
    """Tiles at once, and their steps and nodes, for blocks of so many steps: with few cells to spare.

    Lanes are adjacent nodes, or steps if those are next to each other in memory.
    """
    few, in_time = triton.next_power_of_2(nodes), in_time and steps >= _TILE // 2
    widths = [width for width in (few, _NODES, _NODES // 2) if width <= few]
    width = 1 if in_time else min(widths, key=lambda width: (triton.cdiv(nodes, width) * width, -width))
    if not in_time and triton.cdiv(nodes, _NODES) * _NODES <= 1.1 * nodes:
        width = _NODES  # longer stretches of memory are worth some idle lanes
    if width > 1 and steps < 2 * _TILE // width:
        width = min(few, _TILE)
    height = max(1, _TILE // width)
    spare = {count: triton.cdiv(steps, count * height) * count * height for count in (1, _AT_ONCE)}
    return max(count for count in spare if spare[count] <= max(spare[1], 1.1 * steps)), height, width


def prepared(
    y: Any, mean: Any, std: Any, mask: Any, edges: Ints, place: Ints, asked: Asked, *, wide: bool
) -> tuple[Summed, Callable[[], Any]]:
    """Room for the sums, and the function that starts the kernel; nothing is waited for."""
    _, horizons, nodes = y.shape
    at_once, together, width = _tile(nodes, int(np.median(np.diff(edges))), y.stride(0) < y.stride(2))
    tiles = triton.cdiv(nodes, width)
    programs = triton.cdiv(_PROGRAMS, (int(place[-1]) + 1) * horizons * tiles)
    pieces = Pieces.of(edges, place, programs, _STEPS * together)
    jobs, count = len(pieces.place), len(pieces.block)

    def empty(*shape: int, dtype: Any = torch.float64) -> Any:
        return torch.empty(shape, dtype=dtype, device=y.device)

    gaussian, parts, levels = std is not None, asked.parts, len(asked.widths)
    with_pit, last = gaussian and asked.edges is not None, 0 if asked.edges is None else len(asked.edges)
    by_node = with_pit and asked.by_node_pit
    found = Summed(
        pieces,
        empty(count, horizons, tiles, _FLOATS),
        empty(count, horizons, tiles, _COUNTS, dtype=torch.int64),
        empty(jobs, _FLOATS, horizons, nodes),
        empty(jobs, _COUNTS, horizons, nodes, dtype=torch.int64),
        empty(count, horizons, tiles, _BINS if with_pit else 0, dtype=torch.int32),
        torch.zeros(nodes * by_node, last + 1, dtype=torch.int32, device=y.device),
    )
    arrays = [y, mean, y if std is None else std, y if mask is None else mask]
    numbers = [
        torch.as_tensor(np.asarray(each), device=y.device)
        for each in (asked.widths if levels else [0.0], asked.edges if with_pit else [0.0], pieces.bounds, pieces.jobs)
    ]
    alike = all(each.stride() == y.stride() for each in arrays[1:3])
    reach = max(_STEPS * together * abs(each.stride(0)) + nodes * abs(each.stride(2)) for each in arrays)
    narrow = not wide and all(each.element_size() <= 4 for each in arrays[:3])
    launch = partial(
        _sum_cells[(jobs * horizons * tiles,)],
        *(each.view(torch.uint8) if each.dtype == torch.bool else each for each in arrays),
        *numbers,
        *found[1:],
        horizons,
        nodes,
        tiles,
        horizons * nodes,
        *(stride for each in arrays for stride in each.stride()),
        OFFSETS=tl.int32 if reach < 1 << 31 else tl.int64,
        ALIKE=alike,
        MORE=count > jobs,
        AT_ONCE=at_once,
        STEPS=together,
        NODES=width,
        NARROW=narrow,
        GAUSSIAN=gaussian,
        MASKED=mask is not None,
        BIAS="bias" in parts,
        SIZE="size" in parts,
        RELATIVE="relative" in parts or "symmetric" in parts,
        SPREAD=gaussian and "spread" in parts,
        SCORES=gaussian and "scores" in parts,
        OVER=gaussian and "over" in parts and levels > 0,
        LEVELS=levels if gaussian else 0,
        PIT=with_pit,
        NODE_PIT=by_node,
        FLOATS=_FLOATS,
        COUNTS=_COUNTS,
        BINS=_BINS,
        LAST=last,
        MARGIN=_MARGIN,
        CLOSE=_CLOSE,
        ODD=_ODD,
        HUGE=_HUGE,
        num_warps=_WARPS,
        enable_fp_fusion=True,
    )
    return found, launch


def sum_cells(
    y: Any, mean: Any, std: Any, mask: Any, edges: Ints, place: Ints, asked: Asked, *, wide: bool
) -> CellSums:
    """As `kernels.device_forecast.cell_sums`."""
    found, launch = prepared(y, mean, std, mask, edges, place, asked, wide=wide)
    launch()
    pieces, totals, whole_totals, sums, whole_sums, pit, node_pit = found
    _, horizons, nodes = y.shape
    rows, levels = asked.rows, len(asked.widths)
    known = [0] * (mask is not None) + [1] * ("relative" in asked.parts) + [2] * (std is not None)
    known += [3 + level for level in range(levels)]
    blocks, places = len(edges) - 1, int(place[-1]) + 1
    by_horizon = _added(totals[..., rows].sum(2), pieces.block, blocks)
    by_node = _added(sums[:, rows].sum(2), pieces.place, places)
    horizon_counts = np.zeros((blocks, horizons, 3 + levels), np.int64)
    node_counts = np.zeros((places, 3 + levels, nodes), np.int64)
    if known:
        horizon_counts[..., known] = _added(whole_totals[..., known].sum(2), pieces.block, blocks)
        node_counts[:, known] = _added(whole_sums[:, known].sum(2), pieces.place, places)
    if mask is None:
        steps = np.diff(pieces.bounds)
        np.add.at(horizon_counts[..., 0], pieces.block, (steps * nodes)[:, None])
        np.add.at(node_counts[:, 0], pieces.place, (np.add.reduceat(steps, pieces.jobs[:-1]) * horizons)[:, None])
    if _NLL in rows:
        # The kernel leaves out the constant of the logarithmic score.
        by_horizon[..., rows.index(_NLL)] += HALF_LOG_2PI * horizon_counts[..., 0]
        by_node[:, rows.index(_NLL)] += HALF_LOG_2PI * node_counts[:, 0]
    counted = None
    if asked.edges is not None and std is not None:
        counted = _added(pit[..., : len(asked.edges) + 1].sum(2), pieces.block, blocks)
    return CellSums(
        Sums(by_horizon, np.zeros_like(by_horizon), horizon_counts),
        Sums(by_node.swapaxes(1, 2), np.zeros_like(by_node).swapaxes(1, 2), node_counts.swapaxes(1, 2)),
        counted,
        node_pit.cpu().numpy().astype(np.int64) if len(node_pit) else None,
    )


def _added(rows: Any, number: Ints, size: int) -> Any:
    """Rows of the same ascending number added up in their order on the device, then copied; zeros for other numbers."""
    flat = rows.reshape(len(rows), -1)
    if rows.is_floating_point():
        lengths = torch.as_tensor(np.bincount(number, minlength=size), device=rows.device)
        found = torch.segment_reduce(flat, "sum", lengths=lengths, initial=0)
    else:
        found = flat.new_zeros(size, flat.shape[1]).index_add_(0, torch.as_tensor(number, device=rows.device), flat)
    return found.reshape(size, *rows.shape[1:]).cpu().numpy()
