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

# Cells that a program takes at once, nodes at most, and about as many programs as keep a device busy. A program is one
# warp: nothing waits for other warps when a tile is reduced, and few sums are kept in registers.
_TILE, _NODES, _PROGRAMS, _WARPS = 64, 64, 16384, 1
# Counts of a lane are 8 bits of an integer, so a piece has no more steps.
_STEPS = 255
# How near to an edge the share of a percentile may be wrong in float32, and how near a distance to a half-width,
# relative to it, many times over; beyond this magnitude, or below its inverse, float32 is not used.
_MARGIN, _CLOSE, _ODD = 1e-4, 4e-6, 1e30
# Rows of the sums: as in `kernels.forecast_cells`, then the excesses. Bins of percentiles: a power of two.
_FLOATS, _COUNTS, _BINS = 16, 7, 128


@triton.jit
def _lanes(sums, totals, row, values):  # type: ignore[no-untyped-def]  # Triton evaluates annotations
    """Write the sum of a tile to its row; returns the sums of its nodes."""
    lane = tl.sum(values, 0)
    tl.store(totals + row, tl.sum(lane, 0))
    return sums + lane.to(sums.dtype)


@triton.jit
def _added_up(total, lost, values):  # type: ignore[no-untyped-def]
    """Kahan's sum: the total, and what it exceeds the true one by."""
    change = values - lost
    more = total + change
    return more, (more - total) - change


@triton.jit  # type: ignore[untyped-decorator]
def _sum_cells(  # type: ignore[no-untyped-def]
    y, mean, std, mask, widths, edges, bounds, jobs, totals, whole_totals, sums, whole_sums, pit, node_pit,
    horizons, nodes, next_row, y_step, y_ahead, y_node, m_step, m_ahead, m_node, s_step, s_ahead, s_node,
    k_step, k_ahead, k_node,
    STEPS: tl.constexpr, NODES: tl.constexpr, SCORED: tl.constexpr, NARROW: tl.constexpr, GAUSSIAN: tl.constexpr,
    MASKED: tl.constexpr, BIAS: tl.constexpr, SIZE: tl.constexpr, RELATIVE: tl.constexpr, SPREAD: tl.constexpr,
    SCORES: tl.constexpr, OVER: tl.constexpr, LEVELS: tl.constexpr, PIT: tl.constexpr, NODE_PIT: tl.constexpr,
    FLOATS: tl.constexpr, COUNTS: tl.constexpr, BINS: tl.constexpr, LAST: tl.constexpr, MARGIN: tl.constexpr,
    CLOSE: tl.constexpr, ODD: tl.constexpr,
):  # fmt: skip
    job, ahead, tile = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    node = tile * NODES + tl.arange(0, NODES)
    inside = node < nodes
    lane = tl.arange(0, STEPS)
    y_lane = y + ahead.to(tl.int64) * y_ahead + node.to(tl.int64)[None, :] * y_node
    m_lane = mean + ahead.to(tl.int64) * m_ahead + node.to(tl.int64)[None, :] * m_node
    s_lane = std + ahead.to(tl.int64) * s_ahead + node.to(tl.int64)[None, :] * s_node
    k_lane = mask + ahead.to(tl.int64) * k_ahead + node.to(tl.int64)[None, :] * k_node
    none = tl.zeros([NODES], tl.float64)
    n_abs, n_square, n_error, n_y, n_y2, n_abs_y, n_ape, n_sape = none, none, none, none, none, none, none, none
    n_std, n_var, n_nll, n_crps, n_over, n_over1, n_over2, n_over3 = none, none, none, none, none, none, none, none
    no = tl.zeros([NODES], tl.int64)
    n_cells, n_nonzero, n_bad, n_in, n_in1, n_in2, n_in3 = no, no, no, no, no, no, no
    for piece in range(tl.load(jobs + job), tl.load(jobs + job + 1)):
        nothing = tl.zeros([STEPS, NODES], tl.float64)
        a_abs, a_square, a_error, a_y, a_y2, a_abs_y = nothing, nothing, nothing, nothing, nothing, nothing
        a_ape, a_sape, a_std, a_var = nothing, nothing, nothing, nothing
        unscored = tl.zeros([STEPS, NODES], SCORED)
        a_nll, a_crps, l_nll, l_crps = unscored, unscored, unscored, unscored
        a_over, a_over1, a_over2, a_over3 = nothing, nothing, nothing, nothing
        kinds = tl.zeros([STEPS, NODES], tl.int32)  # cells, nonzero truths, bad deviations: 8 bits each
        levels = tl.zeros([STEPS, NODES], tl.int32)  # cells within each half-width, likewise
        found = tl.zeros([BINS], tl.int32)
        stop = tl.load(bounds + piece + 1)
        for first in range(tl.load(bounds + piece), stop, STEPS):
            step = (first + lane).to(tl.int64)[:, None]
            seen = (step < stop) & inside[None, :]
            if MASKED:
                seen = seen & (tl.load(k_lane + step * k_step, mask=seen, other=0) != 0)
            observed = tl.load(y_lane + step * y_step, mask=seen, other=0)
            predicted = tl.load(m_lane + step * m_step, mask=seen, other=0)
            truth, forecast = observed.to(tl.float64), predicted.to(tl.float64)
            error = forecast - truth
            size = tl.abs(error)
            a_abs += size
            a_square += error * error
            if MASKED:
                kinds += tl.where(seen, 1, 0)
            if BIAS:
                a_error += error
            if SIZE:
                a_y += truth
                a_y2 += truth * truth
                a_abs_y += tl.abs(truth)
            if RELATIVE:
                scale = tl.abs(truth)
                scales = scale + tl.abs(forecast)
                a_ape += size / tl.where(scale > 0, scale, float("inf"))
                a_sape += 2 * size / tl.where(scales > 0, scales, 1.0)
                kinds += tl.where(seen & (scale > 0), 1 << 8, 0)
            if GAUSSIAN:
                given = tl.load(s_lane + step * s_step, mask=seen, other=1)
                deviation = given.to(tl.float64)
                kinds += tl.where((given > 0) & (given < float("inf")), 0, 1 << 16)
                spread = given.to(SCORED)
                distance = tl.abs(predicted.to(SCORED) - observed.to(SCORED))
                far = distance / spread
                # Where float32 cannot decide, float64 does, for few tiles.
                odd = ~((spread > 1 / ODD) & (spread < ODD) & (distance < ODD))
                unsure = odd
                within = tl.zeros([STEPS, NODES], tl.int32)
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
                    falling = tl.exp(-0.5 * square)
                    if NARROW:
                        # Abramowitz and Stegun 7.1.26: the error is below 1.5e-7.
                        inverse = 1 / (1 + 0.23164189 * far)
                        tail = (1.061405429 * inverse - 1.453152027) * inverse + 1.421413741
                        tail = (tail * inverse - 0.284496736) * inverse + 0.254829592
                        central = 1 - tail * inverse * falling
                    else:
                        central = tl.math.erf(far * 0.7071067811865476)
                place = within
                if PIT:
                    share = (0.5 + 0.5 * tl.where(error > 0, -central, central)) * (LAST + 1)
                    place = tl.minimum(tl.maximum(share.to(tl.int32), 0), LAST)
                    rest = share - place.to(SCORED)
                    unsure = unsure | ((rest < MARGIN) & (place > 0)) | ((rest > 1 - MARGIN) & (place < LAST))
                if tl.max(tl.max(unsure.to(tl.int32), 1), 0) > 0:
                    if LEVELS > 0:
                        within = tl.where(size <= tl.load(widths) * deviation, 1, 0)
                    if LEVELS > 1:
                        within += tl.where(size <= tl.load(widths + 1) * deviation, 1 << 8, 0)
                    if LEVELS > 2:
                        within += tl.where(size <= tl.load(widths + 2) * deviation, 1 << 16, 0)
                    if LEVELS > 3:
                        within += tl.where(size <= tl.load(widths + 3) * deviation, 1 << 24, 0)
                    if PIT:
                        # A truth at an edge is below it; without a distance it is in the last bin.
                        z = -error / deviation
                        first_bin = tl.zeros([STEPS, NODES], tl.int32)
                        place = tl.where(odd, first_bin, place)
                        for _ in range(tl.where(tl.max(tl.max(odd.to(tl.int32), 1), 0) > 0, LAST, 1)):
                            low = tl.load(edges + tl.maximum(place - 1, 0))
                            high = tl.load(edges + tl.minimum(place, LAST - 1))
                            lower = ((place > 0) & (z <= low)).to(tl.int32)
                            place += ((place < LAST) & (z > high)).to(tl.int32) - lower
                        place = tl.where(z == z, place, LAST)
                if LEVELS > 0:
                    levels += tl.where(seen, within, 0)
                if SPREAD:
                    there = tl.where(seen, deviation, 0.0)
                    a_std += there
                    a_var += there * there
                if OVER:
                    over = size - tl.load(widths) * deviation
                    a_over += tl.where(over <= 0, 0.0, over)
                    if LEVELS > 1:
                        over = size - tl.load(widths + 1) * deviation
                        a_over1 += tl.where(over <= 0, 0.0, over)
                    if LEVELS > 2:
                        over = size - tl.load(widths + 2) * deviation
                        a_over2 += tl.where(over <= 0, 0.0, over)
                    if LEVELS > 3:
                        over = size - tl.load(widths + 3) * deviation
                        a_over3 += tl.where(over <= 0, 0.0, over)
                if SCORES:
                    nll = tl.log(spread) + 0.5 * square + 0.9189385332046728
                    crps = spread * (far * central + 0.7978845608028654 * falling - 0.5641895835477563)
                    if NARROW:
                        # Not a number in the sums: they are computed again in float64.
                        nll = tl.where(odd, float("nan"), nll)
                    a_nll, l_nll = _added_up(a_nll, l_nll, tl.where(seen, nll, 0.0))
                    a_crps, l_crps = _added_up(a_crps, l_crps, tl.where(seen, crps, 0.0))
                if PIT:
                    if NODE_PIT:
                        tl.atomic_add(node_pit + node[None, :] * (LAST + 1) + place, 1, mask=seen, sem="relaxed")
                    place = tl.where(seen, place, BINS - 1)
                    found += tl.histogram(tl.reshape(place, [STEPS * NODES]), BINS)
        row = ((piece * horizons + ahead) * tl.num_programs(2) + tile).to(tl.int64)
        total = totals + row * FLOATS
        n_abs = _lanes(n_abs, total, 0, a_abs)
        n_square = _lanes(n_square, total, 1, a_square)
        if BIAS:
            n_error = _lanes(n_error, total, 2, a_error)
        if SIZE:
            n_y = _lanes(n_y, total, 3, a_y)
            n_y2 = _lanes(n_y2, total, 4, a_y2)
            n_abs_y = _lanes(n_abs_y, total, 5, a_abs_y)
        if RELATIVE:
            n_ape = _lanes(n_ape, total, 6, a_ape)
            n_sape = _lanes(n_sape, total, 7, a_sape)
        if SPREAD:
            n_std = _lanes(n_std, total, 8, a_std)
            n_var = _lanes(n_var, total, 9, a_var)
        if SCORES:
            n_nll = _lanes(n_nll, total, 10, a_nll.to(tl.float64) - l_nll.to(tl.float64))
            n_crps = _lanes(n_crps, total, 11, a_crps.to(tl.float64) - l_crps.to(tl.float64))
        if OVER:
            n_over = _lanes(n_over, total, 12, a_over)
            n_over1 = _lanes(n_over1, total, 13, a_over1)
            n_over2 = _lanes(n_over2, total, 14, a_over2)
            n_over3 = _lanes(n_over3, total, 15, a_over3)
        whole = whole_totals + row * COUNTS
        if MASKED:
            n_cells = _lanes(n_cells, whole, 0, kinds & 255)
        if RELATIVE:
            n_nonzero = _lanes(n_nonzero, whole, 1, (kinds >> 8) & 255)
        if GAUSSIAN:
            n_bad = _lanes(n_bad, whole, 2, (kinds >> 16) & 255)
        if LEVELS > 0:
            n_in = _lanes(n_in, whole, 3, levels & 255)
        if LEVELS > 1:
            n_in1 = _lanes(n_in1, whole, 4, (levels >> 8) & 255)
        if LEVELS > 2:
            n_in2 = _lanes(n_in2, whole, 5, (levels >> 16) & 255)
        if LEVELS > 3:
            n_in3 = _lanes(n_in3, whole, 6, (levels >> 24) & 255)
        if PIT:
            tl.store(pit + row * BINS + tl.arange(0, BINS), found)
    cell = sums + (job * FLOATS * horizons + ahead) * nodes + node
    tl.store(cell, n_abs, mask=inside)
    tl.store(cell + next_row, n_square, mask=inside)
    if BIAS:
        tl.store(cell + 2 * next_row, n_error, mask=inside)
    if SIZE:
        tl.store(cell + 3 * next_row, n_y, mask=inside)
        tl.store(cell + 4 * next_row, n_y2, mask=inside)
        tl.store(cell + 5 * next_row, n_abs_y, mask=inside)
    if RELATIVE:
        tl.store(cell + 6 * next_row, n_ape, mask=inside)
        tl.store(cell + 7 * next_row, n_sape, mask=inside)
    if SPREAD:
        tl.store(cell + 8 * next_row, n_std, mask=inside)
        tl.store(cell + 9 * next_row, n_var, mask=inside)
    if SCORES:
        tl.store(cell + 10 * next_row, n_nll, mask=inside)
        tl.store(cell + 11 * next_row, n_crps, mask=inside)
    if OVER:
        tl.store(cell + 12 * next_row, n_over, mask=inside)
        tl.store(cell + 13 * next_row, n_over1, mask=inside)
        tl.store(cell + 14 * next_row, n_over2, mask=inside)
        tl.store(cell + 15 * next_row, n_over3, mask=inside)
    count = whole_sums + (job * COUNTS * horizons + ahead) * nodes + node
    if MASKED:
        tl.store(count, n_cells, mask=inside)
    if RELATIVE:
        tl.store(count + next_row, n_nonzero, mask=inside)
    if GAUSSIAN:
        tl.store(count + 2 * next_row, n_bad, mask=inside)
    if LEVELS > 0:
        tl.store(count + 3 * next_row, n_in, mask=inside)
    if LEVELS > 1:
        tl.store(count + 4 * next_row, n_in1, mask=inside)
    if LEVELS > 2:
        tl.store(count + 5 * next_row, n_in2, mask=inside)
    if LEVELS > 3:
        tl.store(count + 6 * next_row, n_in3, mask=inside)


class Summed(NamedTuple):
    """What the kernel wrote, on the device: sums and counts of each piece, of each job and of percentiles."""

    pieces: Pieces
    totals: Any
    whole_totals: Any
    sums: Any
    whole_sums: Any
    pit: Any
    node_pit: Any


def _width(nodes: int, steps: int) -> int:
    """Nodes of a tile: with few to spare, and one step at a time if blocks have few steps."""
    if nodes >= _TILE and steps < _TILE // _NODES:
        return _TILE
    widths = [width for width in (_NODES, _NODES // 2, _NODES // 4) if width <= nodes] or [
        triton.next_power_of_2(nodes)
    ]
    return min(widths, key=lambda width: triton.cdiv(nodes, width) * width)


def prepared(
    y: Any, mean: Any, std: Any, mask: Any, edges: Ints, place: Ints, asked: Asked, *, wide: bool
) -> tuple[Summed, Callable[[], Any]]:
    """Room for the sums, and the function that starts the kernel; nothing is waited for."""
    _, horizons, nodes = y.shape
    width = _width(nodes, int(np.median(np.diff(edges))))
    together, tiles = _TILE // width, triton.cdiv(nodes, width)
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
    numbers = [torch.as_tensor(np.asarray(each), device=y.device) for each in (
        asked.widths if levels else [0.0], asked.edges if with_pit else [0.0], pieces.bounds, pieces.jobs)]  # fmt: skip
    narrow = not wide and all(each.element_size() <= 4 for each in arrays[:3])
    launch = partial(
        _sum_cells[(jobs, horizons, tiles)],
        *(each.view(torch.uint8) if each.dtype == torch.bool else each for each in arrays), *numbers, *found[1:],
        horizons, nodes, horizons * nodes, *(stride for each in arrays for stride in each.stride()),
        STEPS=together, NODES=width, SCORED=tl.float32 if narrow else tl.float64, NARROW=narrow,
        GAUSSIAN=gaussian,
        MASKED=mask is not None, BIAS="bias" in parts, SIZE="size" in parts,
        RELATIVE="relative" in parts or "symmetric" in parts,
        SPREAD=gaussian and "spread" in parts, SCORES=gaussian and "scores" in parts,
        OVER=gaussian and "over" in parts and levels > 0, LEVELS=levels if gaussian else 0, PIT=with_pit,
        NODE_PIT=by_node, FLOATS=_FLOATS, COUNTS=_COUNTS, BINS=_BINS, LAST=last, MARGIN=_MARGIN,
        CLOSE=_CLOSE, ODD=_ODD, num_warps=_WARPS,
    )  # fmt: skip
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
