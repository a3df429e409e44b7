"""The contribution of each forecast cell to the sums, lane by lane: the loop, and its NumPy twin.

Cells are taken in tiles that stay in the nearest cache; each quantity is one short loop over the tile, which the
compiler turns into vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import AnyArray, Floats, Mask
from graphgauge.kernels.doubled import added, folded, grown
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
    horner,
)
from graphgauge.kernels.jit import inlined, kernel

Counts = NDArray[np.int32]

# Most cells of a tile: wider tiles would leave the cache, narrower ones read the input in pieces.
_TILE = 4096
# Stride of its rows: at a power of two they would all compete for the same cache lines.
_STRIDE = _TILE + 8
# The bits, less one, of the first numbers that are not a valid standard deviation.
_UNSOUND_SINGLE, _UNSOUND_DOUBLE = 0x7F7FFFFF, 0x7FEFFFFFFFFFFFFF
# The factor that splits a float into halves whose products are exact.
_SPLITTER = 2.0**27 + 1
# The sums in their order, each with the part that counts it; those that need a standard deviation come last.
SUMS = {
    "abs": "errors", "square": "errors", "error": "bias", "y": "size", "y2": "size", "abs_y": "size", "ape": "relative",
    "sape": "relative", "std": "spread", "var": "spread", "nll": "scores", "crps": "scores",
}  # fmt: skip
# Rows of a tile's values: the sums, the rounding error of the squared truth, one row per half-width.
ABS, SQUARE, ERROR, Y, Y2, ABS_Y, APE, SAPE, STD, VAR, NLL, CRPS, Y2_LOST, OVER = range(len(SUMS) + 2)
N, NONZERO, BAD_STD, INSIDE = range(4)


def _add_cells_twin(
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, mask: Mask, widths: Floats, asked: Mask,
    high: Floats, low: Floats, counts: Counts,
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
    y: AnyArray, mean: AnyArray, std: AnyArray, std_bits: AnyArray, mask: Mask, widths: Floats, asked: Mask,
    high: Floats, low: Floats, counts: Counts,
) -> None:  # fmt: skip
    sums, lanes = asked.size, counts.shape[1]
    # The contribution of each cell of a row, and for each sum its high and low part.
    value, tile = np.empty((sums, _STRIDE)), np.empty((2 * sums, _STRIDE))
    tally = np.empty((counts.shape[0], min(_TILE, lanes) + 8), np.int32)
    weight, work = np.ones(_TILE), np.empty((4, _STRIDE))
    tiles = (lanes - 1) // _TILE + 1
    for index in range(tiles):
        start = lanes * index // tiles
        width = lanes * (index + 1) // tiles - start
        for k in range(sums):
            if asked[k] or k < ERROR:
                tile[2 * k : 2 * k + 2, :width] = 0.0
        tally[:, :width] = 0
        for first in range(start, y.size, 4 * lanes):
            last = min(first + 4 * lanes, y.size)
            if last - first > 3 * lanes:
                second, third, fourth = first + lanes, first + 2 * lanes, first + 3 * lanes
                rows = (np.uint64(first), np.uint64(second), np.uint64(third), np.uint64(fourth))
                _add_rows(y, mean, std, std_bits, rows, width, widths, tile, tally)
            else:
                for row in range(first, last, lanes):
                    _add_rows(y, mean, std, std_bits, (np.uint64(row),), width, widths, tile, tally)
            for row in range(first, last, lanes):
                cells = slice(row, row + width)
                truth, forecast, deviation = y[cells], mean[cells], std[cells]
                if mask.size:
                    weight[:width] = mask[cells]
                if asked[ERROR]:
                    _find_errors(truth, forecast, value[ERROR])
                if asked[Y]:
                    _find_sizes(truth, not asked[Y2_LOST], value)
                if asked[APE]:
                    _find_relative(truth, forecast, value, tally[NONZERO])
                if asked[STD]:
                    _find_spread(deviation, weight, value)
                if sums > OVER and asked[OVER]:
                    for level in range(sums - OVER):
                        _find_over(truth, forecast, deviation, widths[level], value[OVER + level])
                if asked[NLL]:
                    _find_scores(truth, forecast, deviation, weight, value, work)
                for k in range(ERROR, sums):
                    if asked[k]:
                        _add_values(value[k], width, tile[2 * k], tile[2 * k + 1])
        lane = slice(start, start + width)
        for k in range(sums):
            if asked[k]:
                high[k, lane] = tile[2 * k, :width]
                low[k, lane] = tile[2 * k + 1, :width]
        counts[:, lane] = tally[:, :width]


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
def _find_relative(y: AnyArray, mean: AnyArray, value: Floats, nonzero: Counts) -> None:
    for j in range(np.uint64(y.size)):
        truth = np.float64(y[j])
        size, error = abs(truth), abs(np.float64(mean[j]) - truth)
        value[APE, j] = np.divide(error, size if size > 0.0 else np.inf)
        nonzero[j] += size > 0.0
    for j in range(np.uint64(y.size)):
        truth, forecast = np.float64(y[j]), np.float64(mean[j])
        sizes = abs(truth) + abs(forecast)
        value[SAPE, j] = np.divide(2.0 * abs(forecast - truth), sizes if sizes > 0.0 else 1.0)


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
        work[3, j] = exponent * LN2_HIGH + ((2.0 * f + f * (q * horner(LOG, q))) + exponent * LN2_LOW)
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
        falling = horner(EXP, rest) * work[3, j]
        near = work[0, j]
        tail = horner(TAIL, np.divide(STRETCH * near, near + OFFSET) - 1.0)
        error = abs(np.float64(mean[j]) - np.float64(y[j]))
        deviation = np.float64(std[j]) * weight[j]
        value[CRPS, j] = error + deviation * (falling * tail - INVERSE_SQRT_PI)


@inlined
def _add_values(more: Floats, width: int, high: Floats, low: Floats) -> None:
    for j in range(np.uint64(width)):
        high[j], low[j] = added(high[j], low[j], more[j])
