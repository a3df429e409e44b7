"""Sums in two floats: the second one collects the rounding errors of the first, in any order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Floats


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b as a float and its exact rounding error.

    >>> two_sum(np.array([1.0]), np.array([1e-20]))
    (array([1.]), array([1.e-20]))
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def dd_add(high: Floats, low: Floats, more_high: Floats, more_low: Floats) -> tuple[Floats, Floats]:
    """The sum of two sums of two floats each."""
    total, lost = two_sum(high, more_high)
    return total, low + (more_low + lost)


def folded(high: Floats, low: Floats) -> tuple[Floats, Floats]:
    """Sums over the first axis, in two floats."""
    if not len(high):
        return np.zeros(high.shape[1:]), np.zeros(high.shape[1:])
    while len(high) > 1:
        half = len(high) // 2
        pair_high, pair_low = dd_add(high[:half], low[:half], high[half : 2 * half], low[half : 2 * half])
        odd = slice(2 * half, len(high))
        high, low = np.concatenate([pair_high, high[odd]]), np.concatenate([pair_low, low[odd]])
    return high[0].copy(), low[0].copy()


Pair = tuple[Floats, Floats]

# Numbers split into parts of 26 bits can be added 2**26 at a time without rounding.
_PART = 26
_LARGEST = 1e280


def sum_along(high: Floats, low: Floats, axis: int) -> Pair:
    """Sum doubled numbers along an axis."""
    return folded(np.moveaxis(high, axis, 0), np.moveaxis(low, axis, 0))


def exact_bincount(index: NDArray[np.int64], values: Floats, size: int) -> Pair:
    """Sum numbers by index in any order, exact to twice the precision."""
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


def dd_times(high: Floats, low: Floats | float, factor: Floats) -> tuple[Floats, Floats]:
    """Multiply a doubled number by a plain one (Dekker's product)."""
    parts = []
    for number in (high, factor):
        lifted = number * (2.0**27 + 1)
        large = lifted - (lifted - number)
        parts.append((large, number - large))
    (a, b), (c, d) = parts
    product = high * factor
    lost = ((a * c - product) + a * d + b * c) + b * d
    return two_sum(product, lost + low * factor)
