"""Counts for calibration: where truths fall within their forecast, and errors by predicted standard deviation.

Nothing is sorted. Standard deviations are told apart by the leading bits of their floats (`STD_BITS` of the mantissa,
steps of less than 0.1 %); only cells that share these bits with a cut between bins need a closer look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.forecast import dd_add, two_sum
from graphgauge.kernels.jit import kernel

Array = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

STD_BITS = 10
_SHIFT = 52 - STD_BITS
# Keys up to which they are counted in a table: more span many orders of magnitude, and are sorted.
_MOST_KEYS = 1 << 18
# Equal steps between the outermost edges that lead a number near its bin.
_STEPS = 1024
_TILE = 512
# Cells that are looked through at a time.
_COPIED = 1 << 20
_SQUARE, _VAR, _VAR2 = range(3)


@dataclass(frozen=True)
class StdCells:
    """Cells by the leading bits of their standard deviation, ascending: how many, and Σe², Σσ², Σσ⁴ in two floats."""

    key: Ints
    count: Ints
    square: Floats
    var: Floats
    var2: Floats


def pit_counts(
    y: Array, mean: Array, std: Array, mask: Mask | None = None, *, edges: Sequence[float] | Floats
) -> tuple[Ints, Ints]:
    """Cells of (steps, horizons, nodes) with edges[i-1] < (y - mean)/std <= edges[i], by horizon and by node.

    >>> pit_counts(np.array([[[0.0, 3.0]]]), np.zeros((1, 1, 2)), np.ones((1, 1, 2)), edges=[-1.0, 0.0, 1.0])[1]
    array([[0, 1, 0, 0],
           [0, 0, 0, 1]])
    """
    edges = np.asarray(edges, np.float64)
    _, horizons, nodes = y.shape
    by_horizon, by_node = (np.zeros((groups, edges.size + 1), np.int64) for groups in (horizons, nodes))
    low, span = edges[0], edges[-1] - edges[0]
    scale = _STEPS / span if span > 0 else 1.0
    # The first edge that a number of this step can fail to exceed; the step before, for what rounding may have done.
    starts = np.searchsorted(edges, low + (np.arange(_STEPS + 1) - 1) / scale).astype(np.int32)
    if y.size:
        with np.errstate(all="ignore"):
            count = _count_pit.implementation(y.size * 4)
            count(*_cells(y, mean, std, mask), edges, starts, low, scale, by_horizon, by_node)
    return by_horizon, by_node


def std_cells(y: Array, mean: Array, std: Array, mask: Mask | None = None) -> list[StdCells]:
    """Errors by standard deviation, for each horizon of (steps, horizons, nodes); a `std` that is none is left out."""
    cells = _cells(y, mean, std, mask)
    lowest, highest = _key_range(cells[2], cells[3])
    keys = max(highest - lowest + 1, 0)
    found = []
    for horizon in range(y.shape[1]):
        if keys > _MOST_KEYS:
            with np.errstate(all="ignore"):
                found.append(_sorted_cells(*_of_horizon(*cells, horizon)))
            continue
        count, sums = np.zeros(keys, np.int64), np.zeros((2, 3, keys))
        if y.size:
            with np.errstate(all="ignore"):
                _add_by_key.implementation(cells[0].size * 4)(*cells, horizon, lowest, count, sums)
        kept = np.flatnonzero(count)
        found.append(StdCells(kept + lowest, count[kept], *(sums[:, row, kept].T for row in range(3))))
    return found


def cells_of(y: Array, mean: Array, std: Array, mask: Mask | None = None, *, keys: Ints) -> tuple[Floats, Floats]:
    """Standard deviation and error of the cells whose standard deviation has one of the `keys` (ascending)."""
    y, mean, std, seen = _cells(y, mean, std, mask)
    found = []
    step = max(_COPIED * len(y) // max(y.size, 1), 1)
    for start in range(0, len(y), step):
        part = slice(start, start + step)
        deviation = std[part].astype(np.float64)
        key = deviation.view(np.int64) >> _SHIFT
        among = np.zeros(key.shape, np.bool_)
        for wanted in keys:
            among |= key == wanted
        if seen.size:
            among &= seen[part]
        found.append((deviation[among], mean[part][among].astype(np.float64) - y[part][among]))
    deviations, errors = (np.concatenate([pair[side] for pair in found] or [np.zeros(0)]) for side in range(2))
    return deviations, errors


def _cells(y: Array, mean: Array, std: Array, mask: Mask | None) -> tuple[Array, Array, Array, Mask]:
    dtype = np.result_type(y.dtype, mean.dtype, std.dtype, np.float32)
    seen = np.zeros((0, 0, 0), np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_)
    return exact(y, dtype), exact(mean, dtype), exact(std, dtype), seen


def _key_range(std: Array, seen: Mask) -> tuple[int, int]:
    """The lowest and the highest key of a standard deviation that is one; without any, a range of no keys."""
    where: Any = seen if seen.size else True
    with np.errstate(invalid="ignore"):
        lowest, highest = (
            float(extreme(std, initial=initial, where=where & (std > 0) & (std < np.inf)))
            for extreme, initial in ((np.min, np.inf), (np.max, 0.0))
        )
    if highest == 0.0:
        return 0, -1
    low, high = (np.array([lowest, highest]).view(np.int64) >> _SHIFT).tolist()
    return int(low), int(high)


def _of_horizon(y: Array, mean: Array, std: Array, seen: Mask, horizon: int) -> tuple[Floats, Floats]:
    """Error and standard deviation of the counted cells of one horizon."""
    truth, forecast, deviation = (array[:, horizon].astype(np.float64) for array in (y, mean, std))
    with np.errstate(invalid="ignore"):
        kept = (deviation > 0) & (deviation < np.inf)
    if seen.size:
        kept &= seen[:, horizon]
    return forecast[kept] - truth[kept], deviation[kept]


def _sorted_cells(error: Floats, deviation: Floats) -> StdCells:
    """The cells of one horizon by key, whatever the range of the keys."""
    key = deviation.view(np.int64) >> _SHIFT
    order = np.argsort(key, kind="stable")
    key, error, deviation = key[order], error[order], deviation[order]
    var = deviation * deviation
    high, low = np.stack([error * error, var, var * var]), np.zeros((3, key.size))
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if key.size else np.zeros(0, np.int64)
    count = np.diff(starts, append=key.size)
    place = np.arange(key.size) - np.repeat(starts, count)
    left = count
    # In every round neighbours of a key are added in pairs.
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
    y: Array, mean: Array, std: Array, seen: Mask, edges: Floats, starts: NDArray[np.int32], low: float, scale: float,
    by_horizon: Ints, by_node: Ints,
) -> None:  # fmt: skip
    z = (y.astype(np.float64) - mean.astype(np.float64)) / std.astype(np.float64)
    bins = np.where(z == z, np.searchsorted(edges, z), edges.size)
    size = edges.size + 1
    for table, axis in ((by_horizon, 1), (by_node, 2)):
        group = np.arange(len(table)).reshape([-1 if side == axis else 1 for side in range(3)])
        codes = group * size + bins
        table += np.bincount(codes[seen] if seen.size else codes.ravel(), minlength=table.size).reshape(table.shape)


@kernel(twin=_count_pit_twin)
def _count_pit(
    y: Array, mean: Array, std: Array, seen: Mask, edges: Floats, starts: NDArray[np.int32], low: float, scale: float,
    by_horizon: Ints, by_node: Ints,
) -> None:  # fmt: skip
    masked, last = seen.size > 0, edges.size
    z = np.zeros(_TILE)
    steps = np.float64(starts.size - 1)
    for step in range(y.shape[0]):
        for horizon in range(y.shape[1]):
            for start in range(0, y.shape[2], _TILE):
                width = min(_TILE, y.shape[2] - start)
                truths, forecasts = y[step, horizon, start : start + width], mean[step, horizon, start : start + width]
                deviations = std[step, horizon, start : start + width]
                for j in range(width):
                    z[j] = np.divide(np.float64(truths[j]) - np.float64(forecasts[j]), np.float64(deviations[j]))
                for j in range(width):
                    if masked and not seen[step, horizon, start + j]:
                        continue
                    score = z[j]
                    position = (score - low) * scale
                    bin_ = last
                    if position < steps:
                        bin_ = starts[int(position)] if position > 0.0 else 0
                        while bin_ < last and edges[bin_] < score:
                            bin_ += 1
                    elif score <= edges[last - 1]:
                        bin_ = last - 1
                    by_horizon[horizon, bin_] += 1
                    by_node[start + j, bin_] += 1


def _add_by_key_twin(
    y: Array, mean: Array, std: Array, seen: Mask, horizon: int, lowest: int, count: Ints, sums: Floats
) -> None:
    cells = _sorted_cells(*_of_horizon(y, mean, std, seen, horizon))
    places = cells.key - lowest
    count[places] = cells.count
    for row, pairs in enumerate((cells.square, cells.var, cells.var2)):
        sums[:, row, places] = pairs.T


@kernel(twin=_add_by_key_twin)
def _add_by_key(
    y: Array, mean: Array, std: Array, seen: Mask, horizon: int, lowest: int, count: Ints, sums: Floats
) -> None:
    masked = seen.size > 0
    values, deviations = np.zeros((3, _TILE)), np.zeros(_TILE)
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
                key = (bits[j] >> _SHIFT) - lowest
                if 0 <= key < count.size and not (masked and not seen[step, horizon, start + j]):
                    count[key] += 1
                    for row in range(3):
                        before, more = sums[0, row, key], values[row, j]
                        total = before + more
                        part = total - before
                        sums[1, row, key] += (before - (total - part)) + (more - part)
                        sums[0, row, key] = total
    for row in range(3):
        for key in range(count.size):
            before, more = sums[0, row, key], sums[1, row, key]
            total = before + more
            part = total - before
            sums[1, row, key] = (before - (total - part)) + (more - part)
            sums[0, row, key] = total
