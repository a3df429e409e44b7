"""Sums kept as two numbers, high and low, so that the result does not depend on order or sharding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.kernels.doubled import dd_add, folded

Pair = tuple[Floats, Floats]

# Numbers split into parts of 26 bits can be added 2**26 at a time without rounding.
_PART = 26
_LARGEST = 1e280


def sum_along(high: Floats, low: Floats, axis: int) -> Pair:
    """Sum doubled numbers along an axis."""
    return folded(np.moveaxis(high, axis, 0), np.moveaxis(low, axis, 0))


def exact_sum(values: Floats, axis: tuple[int, ...]) -> Pair:
    """Sum numbers along axes in any order, exact to twice the precision."""
    return _joined([part.sum(axis=axis) for part in _parts(values)])


def exact_bincount(index: NDArray[np.int64], values: Floats, size: int) -> Pair:
    """Sum numbers by index, to the same precision."""
    return _joined([np.bincount(index, part, size).astype(np.float64) for part in _parts(values)])


def _parts(values: Floats) -> list[Floats]:
    """Three arrays that add up to the values; the sums of the first two are exact."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if not 0.0 < largest < _LARGEST:
        return [values]
    exponent = int(np.frexp(largest)[1])
    parts = []
    for cut in (_PART, 2 * _PART + 1):
        lift = 1.5 * 2.0 ** min(max(exponent - cut + 52, -1000), 1000)
        part = (values + lift) - lift
        parts.append(part)
        values = values - part
    return [*parts, values]


def _joined(sums: list[Floats]) -> Pair:
    high, low = sums[0], np.zeros_like(sums[0])
    for part in sums[1:]:
        high, low = dd_add(high, low, part, np.zeros_like(part))
    return high, low
