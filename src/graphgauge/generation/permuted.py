"""Permutation tests of two samples.

A statistic that consists of sums of a kernel over pairs needs every kernel value once. With z the 0/1 vector of
membership in the first sample, the sums are zᵀKz, zᵀK1 and 1ᵀK1, for all permutations in one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.kernels.euclidean import tiles

# Kernel values between a range of items and all items.
Strip = Callable[[slice], Floats]


class KernelSums(NamedTuple):
    """Sums over ordered pairs, including each item with itself: within the first sample, within the second, across.

    The first entry of each is that of the observed samples, the others are those of permutations. `rows_first` and
    `rows_second` are the sums of each item with the observed first and second sample.
    """

    first: Floats
    second: Floats
    across: Floats
    rows_first: Floats
    rows_second: Floats


def kernel_sums(strip: Strip, n: int, m: int, permutations: int, generator: np.random.Generator) -> KernelSums:
    """The sums for n items and the m that follow them, and for `permutations` random permutations."""
    member = np.zeros((permutations + 1, n + m))
    member[:, :n] = 1
    generator.permuted(member[1:], axis=1, out=member[1:])
    within, with_all, everything = np.zeros(permutations + 1), np.zeros(permutations + 1), 0.0
    rows_first, rows_all = np.empty(n + m), np.empty(n + m)
    for rows in tiles(0, n + m):
        values = strip(rows)
        sums = values @ member.T
        rows_first[rows], rows_all[rows] = sums[:, 0], values.sum(axis=1)
        within += np.einsum("ip,pi->p", sums, member[:, rows])
        with_all += member[:, rows] @ rows_all[rows]
        everything += float(rows_all[rows].sum())
    across = with_all - within
    return KernelSums(within, everything - with_all - across, across, rows_first, rows_all - rows_first)


def p_value(observed: float, null: Floats) -> float:
    """The share of permutations, including the observed one, that are at least as extreme, up to rounding."""
    rounding = 1e-12 * max(abs(observed), float(np.abs(null).max(initial=0.0)))
    return float((1 + np.count_nonzero(null >= observed - rounding)) / (1 + len(null)))


def at_most(points: Floats, most: int, generator: np.random.Generator) -> Floats:
    """All points, or this many drawn without replacement."""
    if len(points) <= most:
        return points
    return points[np.sort(generator.choice(len(points), most, replace=False))]


def two_samples(first: Floats, second: Floats) -> None:
    """Reject samples that cannot be compared."""
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise InputError(f"expected rows of the same length, found shapes {first.shape} and {second.shape}")
    if len(first) < 2 or len(second) < 2:
        raise InputError(f"expected at least two rows on either side, found {len(first)} and {len(second)}")
