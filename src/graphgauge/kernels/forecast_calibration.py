"""Counts for calibration: the position of truths within their forecasts, and errors by predicted standard deviation.

Nothing is sorted. Standard deviations are grouped by the leading bits of their floats (`STD_BITS` of the mantissa,
steps of less than 0.1 %); only cells that share these bits with a bin edge are compared exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import dd_add, two_sum
from graphgauge.kernels.dtypes import exact

STD_BITS = 10
SHIFT = 52 - STD_BITS
# Up to this many keys are counted in a table; more span many orders of magnitude, and are sorted.
_MOST_KEYS = 1 << 18
# Ranges of standard deviations that are followed over time: 2**COARSE per octave, 32 octaves either side of 1.
COARSE = 4
SPREAD_KEYS = 64 << COARSE
FIRST_KEY = (1023 - 32) << COARSE


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
    if y.size:
        _core.add_positions(*_cells(y, mean, std, mask), edges, by_horizon, by_node)
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
        error, deviation = _of_horizon(*cells, horizon)
        key, var = (deviation.view(np.int64) >> SHIFT) - lowest, deviation * deviation
        high, low = _core.grouped_sums(np.stack([error * error, var, var * var]), key, keys)
        count = np.bincount(key, minlength=keys)
        kept = np.flatnonzero(count)
        sums = np.stack([high, low], axis=2)[:, kept]
        found.append(StdCells(kept + lowest, count[kept], *sums))
    return found


def spread_by_block(
    y: AnyArray, mean: AnyArray, std: AnyArray, mask: Mask | None = None, *, blocks: int
) -> tuple[Floats, Floats]:
    """Σ(e² − σ²) as doubled sums, for each time block and each of `SPREAD_KEYS` ranges of standard deviations.

    Standard deviations farther than 2**±32 from 1 count in the outermost range.
    """
    y, mean, std, seen = _cells(y, mean, std, mask)
    high, low = np.zeros((2, blocks, SPREAD_KEYS))
    steps = len(y) // blocks
    for block in range(blocks):
        rows = slice(block * steps, (block + 1) * steps)
        truth, forecast, deviation = (array[rows].ravel().astype(np.float64) for array in (y, mean, std))
        kept = (deviation > 0) & (deviation < np.inf)
        if seen is not None:
            kept &= seen[rows].ravel()
        error, deviation = forecast[kept] - truth[kept], deviation[kept]
        key = spread_key(deviation.view(np.int64) >> SHIFT)
        excess = (error * error - deviation * deviation)[np.newaxis]
        (high[block],), (low[block],) = _core.grouped_sums(excess, key, SPREAD_KEYS)
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
    key = (flat.astype(np.float64).view(np.int64) >> SHIFT) - lowest
    among = wanted[np.where((key >= 0) & (key < wanted.size), key, wanted.size - 1)]
    if mask is not None:
        among &= mask.reshape(-1)
    return np.flatnonzero(among)


def _cells(
    y: AnyArray, mean: AnyArray, std: AnyArray, mask: Mask | None
) -> tuple[AnyArray, AnyArray, AnyArray, Mask | None]:
    dtype = np.result_type(y.dtype, mean.dtype, std.dtype, np.float32)
    seen = None if mask is None else np.require(mask, np.bool_, ("C", "A"))
    return exact(y, dtype), exact(mean, dtype), exact(std, dtype), seen


def _key_range(std: AnyArray, seen: Mask | None) -> tuple[int, int]:
    """The lowest and the highest key of the valid standard deviations; an empty range if there are none."""
    with np.errstate(invalid="ignore"):
        sound = (std > 0) & (std < np.inf)
    if seen is not None:
        sound &= seen
    if sound.all():
        lowest, highest = float(std.min(initial=np.inf)), float(std.max(initial=0.0))
    else:
        lowest, highest = float(np.where(sound, std, np.inf).min()), float(np.where(sound, std, 0.0).max())
    if highest == 0.0:
        return 0, -1
    low, high = (np.array([lowest, highest]).view(np.int64) >> SHIFT).tolist()
    return int(low), int(high)


def _of_horizon(y: AnyArray, mean: AnyArray, std: AnyArray, seen: Mask | None, horizon: int) -> tuple[Floats, Floats]:
    """Error and standard deviation of the counted cells of one horizon."""
    truth, forecast, deviation = (array[:, horizon].astype(np.float64) for array in (y, mean, std))
    with np.errstate(invalid="ignore"):
        kept = (deviation > 0) & (deviation < np.inf)
    if seen is not None:
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
