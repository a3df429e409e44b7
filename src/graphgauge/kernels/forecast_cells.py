"""What each cell of a forecast adds to the sums, lane by lane: the loop, and its NumPy twin.

Cells are taken in tiles that stay in the nearest cache; each quantity is one short loop over the tile, which the
compiler turns into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.doubled import folded
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
)
from graphgauge.kernels.jit import kernel

Array = NDArray[Any]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Most cells of a tile: wider tiles would leave the cache, narrower ones read the input in pieces.
_TILE = 4096
# Its rows lie this far apart: at a power of two they would all want the same places of the cache.
_STRIDE = _TILE + 8
# The bits, less one, of the first numbers that are no standard deviation.
_UNSOUND_SINGLE, _UNSOUND_DOUBLE = 0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF
# What splits a float into halves whose products are exact.
_SPLITTER = 2.0**27 + 1
# Rows of a tile's values: the sums in their order, what squaring the truth lost, then one row for each half-width.
ABS, SQUARE, ERROR, Y, Y2, ABS_Y, APE, SAPE, STD, VAR, NLL, CRPS, Y2_LOST, OVER = range(14)
N, NONZERO, BAD_STD, INSIDE = range(4)


def _add_cells_twin(
    y: Array, mean: Array, std: Array, std_bits: Array, mask: Mask, widths: Floats, asked: Mask, high: Floats,
    low: Floats, counts: NDArray[np.int32],
) -> None:  # fmt: skip
    shape = (y.size // counts.shape[1], counts.shape[1])
    truth, forecast = (array.reshape(shape).astype(np.float64) for array in (y, mean))
    error = forecast - truth
    size = np.abs(error)

    def add(row: int, values: Floats) -> None:
        if asked[row]:
            high[row], low[row] = folded(values, np.zeros_like(values))

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
        scale, scales = np.abs(truth), np.abs(truth) + np.abs(forecast)
        counts[NONZERO] = (scale > 0).sum(0)
        add(APE, size / np.where(scale > 0, scale, np.inf))
        add(SAPE, 2.0 * size / np.where(scales > 0, scales, 1.0))
    if not std.size:
        return
    deviation = std.reshape(shape).astype(np.float64)
    seen = mask.reshape(shape) if mask.size else np.ones(shape, np.bool_)
    counts[BAD_STD] = (~((deviation > 0) & (deviation < np.inf))).sum(0)
    for level, width in enumerate(widths):
        counts[INSIDE + level] = (size <= width * deviation).sum(0)
        if level < asked.size - OVER:
            add(OVER + level, np.where(size - width * deviation <= 0, 0.0, size - width * deviation))
    add(STD, deviation * seen)
    add(VAR, (deviation * seen) ** 2)
    if asked[NLL]:
        add(NLL, gaussian_nll(error, deviation, seen))
        add(CRPS, gaussian_crps(error, deviation, seen))


@kernel(twin=_add_cells_twin)
def add_cells(
    y: Array, mean: Array, std: Array, std_bits: Array, mask: Mask, widths: Floats, asked: Mask, high: Floats,
    low: Floats, counts: NDArray[np.int32],
) -> None:  # fmt: skip
    spread, masked, sums = std.size > 0, mask.size > 0, asked.size
    lanes, unsound = counts.shape[1], np.uint64(_UNSOUND_SINGLE if std.itemsize == 4 else _UNSOUND_DOUBLE)
    value, tile = np.empty((sums, _STRIDE)), np.empty((2 * sums, _STRIDE))
    # Absolute errors and their squares, and the counts, apart: the one loop that every metric needs runs faster so.
    errors = np.empty((4, min(_TILE, lanes) + 8))
    tally = np.empty((INSIDE + widths.size, min(_TILE, lanes) + 8), np.int32)
    weight, work = np.ones(_TILE), np.empty((4, _STRIDE))
    bits = work.view(np.int64)
    # So many half-widths are looked at in the loop of the errors.
    fused = min(widths.size, 3) if asked[ABS] else 0
    tiles = (lanes - 1) // _TILE + 1
    for index in range(tiles):
        start = lanes * index // tiles
        width = lanes * (index + 1) // tiles - start
        span = np.uint64(width)
        for k in range(ERROR, sums):
            if asked[k]:
                tile[2 * k, :width] = 0.0
                tile[2 * k + 1, :width] = 0.0
        errors[:, :width] = 0.0
        tally[:, :width] = 0
        for first in range(start, y.size, lanes):
            # Unsigned, because an index that might be negative keeps the compiler from vector instructions.
            at = np.uint64(first)
            if masked:
                for j in range(span):
                    weight[j] = 1.0 if mask[at + j] else 0.0
            if spread and not fused:
                for j in range(span):
                    # NaN, infinities, zeros and negative numbers all have bits from here on, less one.
                    tally[BAD_STD, j] += std_bits[at + j] - np.uint64(1) >= unsound
            if fused == 1:
                half_0 = widths[0]
                for j in range(span):
                    error = np.float64(mean[at + j]) - np.float64(y[at + j])
                    size, before = abs(error), errors[0, j]
                    total = before + size
                    part = total - before
                    errors[1, j] += (before - (total - part)) + (size - part)
                    errors[0, j] = total
                    square, before = error * error, errors[2, j]
                    total = before + square
                    part = total - before
                    errors[3, j] += (before - (total - part)) + (square - part)
                    errors[2, j] = total
                    tally[INSIDE, j] += size <= half_0 * np.float64(std[at + j])
                    tally[BAD_STD, j] += std_bits[at + j] - np.uint64(1) >= unsound
            elif fused:
                half_0, half_1, half_2 = widths[0], widths[1], widths[2]
                for j in range(span):
                    error = np.float64(mean[at + j]) - np.float64(y[at + j])
                    deviation = np.float64(std[at + j])
                    size, before = abs(error), errors[0, j]
                    total = before + size
                    part = total - before
                    errors[1, j] += (before - (total - part)) + (size - part)
                    errors[0, j] = total
                    square, before = error * error, errors[2, j]
                    total = before + square
                    part = total - before
                    errors[3, j] += (before - (total - part)) + (square - part)
                    errors[2, j] = total
                    tally[INSIDE, j] += size <= half_0 * deviation
                    tally[INSIDE + 1, j] += size <= half_1 * deviation
                    tally[INSIDE + 2, j] += size <= half_2 * deviation
                    tally[BAD_STD, j] += std_bits[at + j] - np.uint64(1) >= unsound
            elif asked[ABS]:
                for j in range(span):
                    error = np.float64(mean[at + j]) - np.float64(y[at + j])
                    size, before = abs(error), errors[0, j]
                    total = before + size
                    part = total - before
                    errors[1, j] += (before - (total - part)) + (size - part)
                    errors[0, j] = total
                    square, before = error * error, errors[2, j]
                    total = before + square
                    part = total - before
                    errors[3, j] += (before - (total - part)) + (square - part)
                    errors[2, j] = total
            for level in range(fused, widths.size):
                half, inside = widths[level], tally[INSIDE + level]
                for j in range(span):
                    error = abs(np.float64(mean[at + j]) - np.float64(y[at + j]))
                    inside[j] += error <= half * np.float64(std[at + j])
            if asked[ERROR]:
                for j in range(span):
                    value[ERROR, j] = np.float64(mean[at + j]) - np.float64(y[at + j])
            if asked[Y]:
                for j in range(span):
                    truth = np.float64(y[at + j])
                    value[Y, j] = truth
                    value[ABS_Y, j] = abs(truth)
                    value[Y2, j] = truth * truth
                if asked[Y2_LOST]:
                    for j in range(span):
                        truth = np.float64(y[at + j])
                        scaled = truth * _SPLITTER
                        large = scaled - (scaled - truth)
                        small = truth - large
                        value[Y2_LOST, j] = ((large * large - truth * truth) + 2.0 * (large * small)) + small * small
            if asked[APE]:
                for j in range(span):
                    truth = np.float64(y[at + j])
                    size, error = abs(truth), abs(np.float64(mean[at + j]) - truth)
                    value[APE, j] = np.divide(error, size if size > 0.0 else np.inf)
                    tally[NONZERO, j] += size > 0.0
                for j in range(span):
                    truth, forecast = np.float64(y[at + j]), np.float64(mean[at + j])
                    sizes = abs(truth) + abs(forecast)
                    value[SAPE, j] = np.divide(2.0 * abs(forecast - truth), sizes if sizes > 0.0 else 1.0)
            if asked[STD]:
                for j in range(span):
                    deviation = np.float64(std[at + j]) * weight[j]
                    value[STD, j] = deviation
                    value[VAR, j] = deviation * deviation
            if sums > OVER and asked[OVER]:
                for level in range(sums - OVER):
                    half, over = widths[level], value[OVER + level]
                    for j in range(span):
                        error = abs(np.float64(mean[at + j]) - np.float64(y[at + j]))
                        beyond = error - half * np.float64(std[at + j])
                        over[j] = 0.0 if beyond <= 0.0 else beyond
            if asked[NLL]:
                # log(std): exponent and mantissa, then the series.
                for j in range(span):
                    deviation = np.float64(std[at + j])
                    work[0, j] = deviation * (LIFT if deviation < LOWEST_NORMAL else 1.0)
                for j in range(span):
                    carried = bits[0, j] + SQRT_CARRY
                    bits[1, j] = (carried >> 52) | INTEGER_BITS
                    bits[2, j] = (carried & MANTISSA) + SQRT_HALF_BITS
                for j in range(span):
                    bias = LIFTED_BIAS if np.float64(std[at + j]) < LOWEST_NORMAL else BIAS
                    exponent = work[1, j] - bias
                    f = np.divide(work[2, j] - 1.0, work[2, j] + 1.0)
                    q = f * f
                    p = LOG[6] * q + LOG[5]
                    p = p * q + LOG[4]
                    p = p * q + LOG[3]
                    p = p * q + LOG[2]
                    p = p * q + LOG[1]
                    p = p * q + LOG[0]
                    work[3, j] = exponent * LN2_HIGH + ((2.0 * f + f * (q * p)) + exponent * LN2_LOW)
                # The error in standard deviations, and exp(-z²/2) as a power of 2 and a polynomial.
                for j in range(span):
                    error = np.float64(mean[at + j]) - np.float64(y[at + j])
                    z = np.divide(error, np.float64(std[at + j]))
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
                    r = (work[1, j] - whole * LN2_HIGH) - whole * LN2_LOW
                    p = EXP[10] * r + EXP[9]
                    p = p * r + EXP[8]
                    p = p * r + EXP[7]
                    p = p * r + EXP[6]
                    p = p * r + EXP[5]
                    p = p * r + EXP[4]
                    p = p * r + EXP[3]
                    p = p * r + EXP[2]
                    p = p * r + EXP[1]
                    p = p * r + EXP[0]
                    falling = p * work[3, j]
                    near = work[0, j]
                    u = np.divide(STRETCH * near, near + OFFSET) - 1.0
                    p = TAIL[16] * u + TAIL[15]
                    p = p * u + TAIL[14]
                    p = p * u + TAIL[13]
                    p = p * u + TAIL[12]
                    p = p * u + TAIL[11]
                    p = p * u + TAIL[10]
                    p = p * u + TAIL[9]
                    p = p * u + TAIL[8]
                    p = p * u + TAIL[7]
                    p = p * u + TAIL[6]
                    p = p * u + TAIL[5]
                    p = p * u + TAIL[4]
                    p = p * u + TAIL[3]
                    p = p * u + TAIL[2]
                    p = p * u + TAIL[1]
                    p = p * u + TAIL[0]
                    error = abs(np.float64(mean[at + j]) - np.float64(y[at + j]))
                    deviation = np.float64(std[at + j]) * weight[j]
                    value[CRPS, j] = error + deviation * (falling * p - INVERSE_SQRT_PI)
            for k in range(ERROR, sums):
                if asked[k]:
                    more, tile_high, tile_low = value[k], tile[2 * k], tile[2 * k + 1]
                    for j in range(span):
                        before = tile_high[j]
                        total = before + more[j]
                        part = total - before
                        tile_low[j] += (before - (total - part)) + (more[j] - part)
                        tile_high[j] = total
        for k in range(ERROR):
            high[k, start : start + width] = errors[2 * k, :width]
            low[k, start : start + width] = errors[2 * k + 1, :width]
        for k in range(ERROR, sums):
            if asked[k]:
                high[k, start : start + width] = tile[2 * k, :width]
                low[k, start : start + width] = tile[2 * k + 1, :width]
        counts[:, start : start + width] = tally[:, :width]
