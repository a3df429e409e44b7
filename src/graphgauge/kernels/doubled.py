"""Sums in two floats: the second one collects the rounding errors of the first."""

from __future__ import annotations

import numpy as np

from graphgauge.kernels.jit import inlined
from graphgauge.kernels.types import Floats


@inlined
def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """a + b as a float and its exact rounding error.

    >>> two_sum(np.array([1.0]), np.array([1e-20]))
    (array([1.]), array([1.e-20]))
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@inlined
def added(high: Floats, low: Floats, more: Floats) -> tuple[Floats, Floats]:
    """The sum of a sum of two floats and one more."""
    total, lost = two_sum(high, more)
    return total, low + lost


@inlined
def grown(high: float, low: float, more: float) -> tuple[float, float]:
    """The same for numbers that are not negative: the larger one is known, so the error takes fewer steps."""
    large, small = (high, more) if high > more else (more, high)
    total = large + small
    return total, low + (small - (total - large))


@inlined
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
