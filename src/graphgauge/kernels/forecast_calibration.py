"""Counts for calibration: the position of truths within their forecasts, and errors by predicted standard deviation.

Nothing is sorted. Standard deviations are grouped by the leading bits of their floats (`STD_BITS` of the mantissa,
steps of less than 0.1 %); only cells that share these bits with a bin edge are compared exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import added, dd_add, exact_bincount, two_sum
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.jit import kernel

STD_BITS = 10
SHIFT = 52 - STD_BITS
# Up to this many keys are counted in a table; more span many orders of magnitude, and are sorted.
_MOST_KEYS = 1 << 18
# Equal steps between the outermost edges, to find the approximate bin of a number.
_STEPS = 1024
_TILE = 512
# Ranges of standard deviations that are followed over time: 2**COARSE per octave, 32 octaves either side of 1.
COARSE = 4
SPREAD_KEYS = 64 << COARSE
FIRST_KEY = (1023 - 32) << COARSE
_SQUARE, _VAR, _VAR2, _COUNT = range(4)


@dataclass(frozen=True)
class StdCells:
    """Cells by the leading bits of their standard deviation, ascending: how many, and Σe², Σσ², Σσ⁴ in two floats."""

    key: Ints
    count: Ints
    square: Floats
    var: Floats
    var2: Floats


def pit_counts(
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray,
    mask: Mask | None = None,
    *,
    edges: Sequence[float] | Floats,
    blocks: int | None = None,
    by_node: NDArray[np.int32] | None = None,
) -> tuple[Ints, NDArray[np.int32]]:
    """Cells of (steps, horizons, nodes) with edges[i-1] < (y - mean)/std <= edges[i], by horizon and by node.

    With `blocks`, those by horizon have a leading axis of so many time blocks of equal length. Counts by node are added
    to `by_node`, if it is given.

    >>> pit_counts(np.array([[[0.0, 3.0]]]), np.zeros((1, 1, 2)), np.ones((1, 1, 2)), edges=[-1.0, 0.0, 1.0])[1]
    array([[0, 1, 0, 0],
           [0, 0, 0, 1]], dtype=int32)
    """
    edges = np.asarray(edges, np.float64)
    _, horizons, nodes = y.shape
    by_horizon = np.zeros((blocks or 1, horizons, edges.size + 1), np.int64)
    if by_node is None:
        by_node = np.zeros((nodes, edges.size + 1), np.int32)
    low, span = edges[0], edges[-1] - edges[0]
    scale = _STEPS / span if span > 0 else 1.0
    # The first edge that a number of this step may not exceed; one step earlier, because of rounding.
    starts = np.searchsorted(edges, low + (np.arange(_STEPS + 1) - 1) / scale).astype(np.int32)
    if y.size:
        with np.errstate(all="ignore"):
            count = _count_pit.implementation(y.size * 4)
            count(*_cells(y, mean, std, mask), edges, starts, low, scale, by_horizon, by_node)
    return by_horizon if blocks is not None else by_horizon[0], by_node


def std_cells(y: AnyArray, mean: AnyArray, std: AnyArray, mask: Mask | None = None) -> list[StdCells]:
    """Errors by standard deviation, for each horizon of (steps, horizons, nodes); an invalid `std` is left out."""
    cells = _cells(y, mean, std, mask)
    lowest, highest = _key_range(cells[2], cells[3])
    keys = max(highest - lowest + 1, 0)
    found = []
    for horizon in range(y.shape[1]):
        if keys > _MOST_KEYS:
            with np.errstate(all="ignore"):
                found.append(_sorted_cells(*_of_horizon(*cells, horizon)))
            continue
        # The entries of a key are adjacent: four sums, then their rounding errors. Counts are exact in floats too.
        sums = np.zeros((keys, 2, 4))
        if y.size:
            with np.errstate(all="ignore"):
                _add_by_key.implementation(cells[0].size * 4)(*cells, horizon, lowest, sums)
        kept = np.flatnonzero(sums[:, 0, _COUNT])
        count = sums[kept, 0, _COUNT].astype(np.int64)
        found.append(StdCells(kept + lowest, count, *(sums[kept, :, column] for column in (_SQUARE, _VAR, _VAR2))))
    return found


def spread_by_block(
    y: AnyArray, mean: AnyArray, std: AnyArray, mask: Mask | None = None, *, blocks: int
) -> tuple[Floats, Floats]:
    """Σ(e² − σ²) as doubled sums, for each time block and each of `SPREAD_KEYS` ranges of standard deviations.

    Standard deviations farther than 2**±32 from 1 count in the outermost range.
    """
    high, low = np.zeros((2, blocks, SPREAD_KEYS))
    if y.size:
        with np.errstate(all="ignore"):
            _add_by_block.implementation(y.size * 4)(*_cells(y, mean, std, mask), high, low)
    return high, low


def spread_key(key: Ints, bits: int = STD_BITS) -> Ints:
    """The range of `spread_by_block` of a key with this many bits of the mantissa."""
    return np.asarray(np.clip((key >> (bits - COARSE)) - FIRST_KEY, 0, SPREAD_KEYS - 1))


def places_of(std: AnyArray, mask: Mask | None = None, *, keys: Ints) -> Ints:
    """The flat indices of counted cells whose standard deviation has one of the `keys`.

    >>> places_of(np.array([1.0, 2.0, 1.0]), keys=np.array([2.0]).view(np.int64) >> 52 - STD_BITS)
    array([1])
    """
    if not keys.size:
        return np.zeros(0, np.int64)
    flat = exact(std, np.result_type(std.dtype, np.float32)).reshape(-1)
    lowest = int(keys.min())
    # One extra place for all other keys.
    wanted = np.zeros(int(keys.max()) - lowest + 2, np.bool_)
    wanted[keys - lowest] = True
    among = np.empty(flat.size, np.bool_)
    _look_up.implementation(flat.size)(flat, wanted, lowest, among)
    if mask is not None:
        among &= mask.reshape(-1)
    return np.flatnonzero(among)


def _cells(y: AnyArray, mean: AnyArray, std: AnyArray, mask: Mask | None) -> tuple[AnyArray, AnyArray, AnyArray, Mask]:
    dtype = np.result_type(y.dtype, mean.dtype, std.dtype, np.float32)
    seen = np.zeros((0, 0, 0), np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_)
    return exact(y, dtype), exact(mean, dtype), exact(std, dtype), seen


def _key_range(std: AnyArray, seen: Mask) -> tuple[int, int]:
    """The lowest and the highest key of the valid standard deviations; an empty range if there are none."""
    with np.errstate(invalid="ignore"):
        sound = (std > 0) & (std < np.inf)
    if seen.size:
        sound &= seen
    if sound.all():
        lowest, highest = float(std.min(initial=np.inf)), float(std.max(initial=0.0))
    else:
        lowest, highest = float(np.where(sound, std, np.inf).min()), float(np.where(sound, std, 0.0).max())
    if highest == 0.0:
        return 0, -1
    low, high = (np.array([lowest, highest]).view(np.int64) >> SHIFT).tolist()
    return int(low), int(high)


def _of_horizon(y: AnyArray, mean: AnyArray, std: AnyArray, seen: Mask, horizon: int) -> tuple[Floats, Floats]:
    """Error and standard deviation of the counted cells of one horizon."""
    truth, forecast, deviation = (array[:, horizon].astype(np.float64) for array in (y, mean, std))
    with np.errstate(invalid="ignore"):
        kept = (deviation > 0) & (deviation < np.inf)
    if seen.size:
        kept &= seen[:, horizon]
    return forecast[kept] - truth[kept], deviation[kept]


def _sorted_cells(error: Floats, deviation: Floats) -> StdCells:
    """The cells of one horizon by key, for any range of keys."""
    key = deviation.view(np.int64) >> SHIFT
    order = np.argsort(key, kind="stable")
    key, error, deviation = key[order], error[order], deviation[order]
    var = deviation * deviation
    high, low = np.stack([error * error, var, var * var]), np.zeros((3, key.size))
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if key.size else np.zeros(0, np.int64)
    count = np.diff(starts, append=key.size)
    place = np.arange(key.size) - np.repeat(starts, count)
    left = count
    # In every round, neighbouring cells of a key are added in pairs.
    while left.size and left.max() > 1:
        first = np.flatnonzero(place % 2 == 0)
        paired = first[place[first] + 1 < np.repeat(left, left)[first]]
        high[:, paired], low[:, paired] = dd_add(
            high[:, paired], low[:, paired], high[:, paired + 1], low[:, paired + 1]
        )
        high, low, place, left = high[:, first], low[:, first], place[first] // 2, (left + 1) // 2
    high, low = two_sum(high, low)
    return StdCells(key[starts], count, *(np.stack([high[row], low[row]], 1) for row in range(3)))


def _count_pit_twin(
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray,
    seen: Mask,
    edges: Floats,
    starts: NDArray[np.int32],
    low: float,
    scale: float,
    by_horizon: Ints,
    by_node: NDArray[np.int32],
) -> None:
    z = (y.astype(np.float64) - mean.astype(np.float64)) / std.astype(np.float64)
    bins = np.where(z == z, np.searchsorted(edges, z), edges.size)
    size, (blocks, horizons, _) = edges.size + 1, by_horizon.shape
    block = np.arange(len(z)) * blocks // len(z)
    by_block = (block * horizons)[:, np.newaxis, np.newaxis] + np.arange(horizons)[:, np.newaxis]
    for table, group in ((by_horizon, by_block), (by_node, np.arange(len(by_node)))):
        codes = group * size + bins
        table += np.bincount(codes[seen] if seen.size else codes.ravel(), minlength=table.size).reshape(table.shape)


@kernel(twin=_count_pit_twin)
def _count_pit(
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray,
    seen: Mask,
    edges: Floats,
    starts: NDArray[np.int32],
    low: float,
    scale: float,
    by_horizon: Ints,
    by_node: NDArray[np.int32],
) -> None:
    masked, last, steps = seen.size > 0, edges.size, starts.size - 1
    z, near = np.zeros(_TILE), np.zeros(_TILE, np.int32)
    # Nothing is beyond the last edge.
    beyond = np.append(edges, np.inf)
    length = y.shape[0] // by_horizon.shape[0]
    for step in range(y.shape[0]):
        for horizon in range(y.shape[1]):
            counts = by_horizon[step // length, horizon]
            for start in range(0, y.shape[2], _TILE):
                width = min(_TILE, y.shape[2] - start)
                truths, forecasts = y[step, horizon, start : start + width], mean[step, horizon, start : start + width]
                deviations = std[step, horizon, start : start + width]
                for j in range(width):
                    score = np.divide(np.float64(truths[j]) - np.float64(forecasts[j]), np.float64(deviations[j]))
                    score = score if score == score else np.inf
                    z[j] = score
                    position = (score - low) * scale
                    position = position if position > 0.0 else 0.0
                    near[j] = np.int32(position if position < steps else steps)
                for j in range(width):
                    if masked and not seen[step, horizon, start + j]:
                        continue
                    score = z[j]
                    bin_ = starts[near[j]]
                    # Usually at most one edge is near: one step without a branch, and the rest in a loop.
                    bin_ += beyond[bin_] < score
                    while bin_ < last and edges[bin_] < score:
                        bin_ += 1
                    counts[bin_] += 1
                    by_node[start + j, bin_] += 1


def _add_by_key_twin(
    y: AnyArray, mean: AnyArray, std: AnyArray, seen: Mask, horizon: int, lowest: int, sums: Floats
) -> None:
    cells = _sorted_cells(*_of_horizon(y, mean, std, seen, horizon))
    places = cells.key - lowest
    sums[places, 0, _COUNT] = cells.count
    for column, pairs in ((_SQUARE, cells.square), (_VAR, cells.var), (_VAR2, cells.var2)):
        sums[places, :, column] = pairs


@kernel(twin=_add_by_key_twin)
def _add_by_key(
    y: AnyArray, mean: AnyArray, std: AnyArray, seen: Mask, horizon: int, lowest: int, sums: Floats
) -> None:
    masked, keys = seen.size > 0, sums.shape[0]
    values, deviations = np.zeros((_COUNT, _TILE)), np.zeros(_TILE)
    bits = deviations.view(np.int64)
    for step in range(y.shape[0]):
        for start in range(0, y.shape[2], _TILE):
            width = min(_TILE, y.shape[2] - start)
            for j in range(width):
                deviation = np.float64(std[step, horizon, start + j])
                error = np.float64(mean[step, horizon, start + j]) - np.float64(y[step, horizon, start + j])
                deviations[j] = deviation
                values[_SQUARE, j] = error * error
                values[_VAR, j] = deviation * deviation
                values[_VAR2, j] = (deviation * deviation) * (deviation * deviation)
            for j in range(width):
                key = (bits[j] >> SHIFT) - lowest
                if 0 <= key < keys and not (masked and not seen[step, horizon, start + j]):
                    sums[key, 0, _COUNT] += 1.0
                    for column in range(_COUNT):
                        sums[key, 0, column], sums[key, 1, column] = added(
                            sums[key, 0, column], sums[key, 1, column], values[column, j]
                        )
    for key in range(keys):
        for column in range(_COUNT):
            sums[key, 0, column], sums[key, 1, column] = two_sum(sums[key, 0, column], sums[key, 1, column])


def _add_by_block_twin(y: AnyArray, mean: AnyArray, std: AnyArray, seen: Mask, high: Floats, low: Floats) -> None:
    deviation = std.astype(np.float64)
    error = mean.astype(np.float64) - y.astype(np.float64)
    kept = (deviation > 0) & (deviation < np.inf)
    if seen.size:
        kept &= seen
    key = spread_key(np.ascontiguousarray(deviation).view(np.int64), 52)
    code = (np.arange(len(y)) * len(high) // len(y))[:, np.newaxis, np.newaxis] * SPREAD_KEYS + key
    excess = (error * error - deviation * deviation)[kept]
    found = exact_bincount(code[kept], excess, high.size)
    high[:], low[:] = (part.reshape(high.shape) for part in two_sum(*found))


@kernel(twin=_add_by_block_twin)
def _add_by_block(y: AnyArray, mean: AnyArray, std: AnyArray, seen: Mask, high: Floats, low: Floats) -> None:
    masked, length = seen.size > 0, y.shape[0] // high.shape[0]
    excess, deviations = np.zeros(_TILE), np.zeros(_TILE)
    bits = deviations.view(np.int64)
    for step in range(y.shape[0]):
        block = step // length
        for horizon in range(y.shape[1]):
            for start in range(0, y.shape[2], _TILE):
                width = min(_TILE, y.shape[2] - start)
                for j in range(width):
                    deviation = np.float64(std[step, horizon, start + j])
                    error = np.float64(mean[step, horizon, start + j]) - np.float64(y[step, horizon, start + j])
                    deviations[j] = deviation
                    excess[j] = error * error - deviation * deviation
                for j in range(width):
                    if (masked and not seen[step, horizon, start + j]) or not 0.0 < deviations[j] < np.inf:
                        continue
                    key = min(max((bits[j] >> (52 - COARSE)) - FIRST_KEY, 0), SPREAD_KEYS - 1)
                    high[block, key], low[block, key] = added(high[block, key], low[block, key], excess[j])
    for block in range(high.shape[0]):
        for key in range(SPREAD_KEYS):
            high[block, key], low[block, key] = two_sum(high[block, key], low[block, key])


def _look_up_twin(std: AnyArray, wanted: Mask, lowest: int, among: Mask) -> None:
    key = (std.astype(np.float64).view(np.int64) >> SHIFT) - lowest
    among[:] = wanted[np.where((key >= 0) & (key < wanted.size), key, wanted.size - 1)]


@kernel(twin=_look_up_twin)
def _look_up(std: AnyArray, wanted: Mask, lowest: int, among: Mask) -> None:
    deviations, last = np.zeros(_TILE), np.uint64(wanted.size - 1)
    bits = deviations.view(np.int64)
    for start in range(0, std.size, _TILE):
        width = np.uint64(min(_TILE, std.size - start))
        at = np.uint64(start)
        for j in range(width):
            deviations[j] = np.float64(std[at + j])
        for j in range(width):
            # Unsigned, a key below the lowest is above all others.
            key = np.uint64((bits[j] >> SHIFT) - lowest)
            among[at + j] = wanted[min(key, last)]
