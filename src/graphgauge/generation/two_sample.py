"""Two samples of points: maximum mean discrepancy, energy distance, precision and recall, and their tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import whole_number
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats
from graphgauge.generation.distances import Points, packed, tiles
from graphgauge.generation.graphs import rows_of

# Kernel values between a range of items and all items.
Strip = Callable[[slice], Floats]
Kernel = Callable[[Any, Any], Floats]
# A discrepancy from sums over ordered pairs within n items, within m others, and across.
Score = Callable[[Any, Any, Any, int, int], Any]
# Points of either side that are compared by default, and whose distances the default bandwidth is the median of.
_MOST = 2000


# ------------------------------------------------------------------------------------------------ permutations


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


def at_most(items: Any, most: int, generator: np.random.Generator) -> Any:
    """All items, or this many drawn without replacement."""
    if len(items) <= most:
        return items
    return rows_of(items, np.sort(generator.choice(len(items), most, replace=False)))


def two_samples(first: AnyArray, second: AnyArray) -> None:
    """Reject samples that cannot be compared."""
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1]:
        raise InputError(f"expected rows of the same length, found shapes {first.shape} and {second.shape}")
    if len(first) < 2 or len(second) < 2:
        raise InputError(f"expected at least two rows on either side, found {len(first)} and {len(second)}")


def unbiased(first: Any, second: Any, across: Any, n: int, m: int) -> Any:
    """MMD² without the pairs of an item with itself, for a kernel that is 1 there; it may be negative."""
    return (first - n) / (n * (n - 1)) + (second - m) / (m * (m - 1)) - 2 * across / (n * m)


def biased(first: Any, second: Any, across: Any, n: int, m: int) -> Any:
    """MMD² with the pairs of an item with itself, as most papers on graph generators print it."""
    return first / (n * n) + second / (m * m) - 2 * across / (n * m)


def energy(first: Any, second: Any, across: Any, n: int, m: int) -> Any:
    """Energy distance from sums of distances."""
    return -biased(first, second, across, n, m)


# ------------------------------------------------------------------------------------------------------- tests


@dataclass(frozen=True)
class Discrepancy:
    """A discrepancy of two samples, and its distribution under random permutations.

    `n` are the numbers of items compared on either side, `error` is the standard error of an MMD² in large samples, and
    `weight` that of this test among those of several conditions.
    """

    value: float
    p_value: float
    null: Floats
    n: tuple[int, int]
    bandwidth: float = math.nan
    error: float = math.nan
    weight: float = 1.0


def p_of_all(tests: Sequence[Discrepancy]) -> float:
    """The p-value of the weighted mean over conditions, with permutations within conditions."""
    weights = np.array([test.weight for test in tests]) / sum(test.weight for test in tests)
    values = (weights[:, np.newaxis] * [np.append(test.value, test.null) for test in tests]).sum(axis=0)
    return p_value(float(values[0]), values[1:])


def mmd_test(
    real: Floats,
    generated: Floats,
    *,
    permutations: int,
    generator: np.random.Generator,
    bandwidth: float | None = None,
    most: int = _MOST,
) -> Discrepancy:
    """MMD² (Gretton et al. 2012) with the kernel exp(−d²/2σ²) of Euclidean distances d, of at most `most` rows a side.

    σ is `bandwidth`, or the median distance of all pairs in the pooled samples, which does not change under
    permutations. If the median is 0, the smallest positive distance is used; if all points are equal, MMD² is 0.
    """
    two_samples(real, generated)
    real, generated = at_most(real, most, generator), at_most(generated, most, generator)
    n, m = len(real), len(generated)
    cloud = Points.of(np.concatenate([real, generated]))
    sigma = _median_distance(cloud) if bandwidth is None else bandwidth / cloud.unit

    def strip(rows: slice) -> Floats:
        return np.exp(cloud.squared(rows, slice(0, n + m)) / (-2 * sigma**2))

    return kernel_test(strip, n, m, sigma * cloud.unit, permutations=permutations, generator=generator)


def kernel_test(
    strip: Strip,
    n: int,
    m: int,
    bandwidth: float,
    *,
    permutations: int,
    generator: np.random.Generator,
    score: Score = unbiased,
) -> Discrepancy:
    """The test of n items against the m that follow them, for a kernel that is 1 between equal items."""
    sums = kernel_sums(strip, n, m, permutations, generator)
    values = score(sums.first, sums.second, sums.across, n, m)
    value, null = float(values[0]), values[1:]
    error = _error(null, sums, n, m) if permutations else math.nan
    return Discrepancy(value, p_value(value, null), null, (n, m), bandwidth, error)


def _error(null: Floats, sums: KernelSums, n: int, m: int) -> float:
    """From the first-order variance of the estimate, and its variance under the null hypothesis."""
    first = (sums.rows_first[:n] - 1) / (n - 1) - sums.rows_second[:n] / m
    second = (sums.rows_second[n:] - 1) / (m - 1) - sums.rows_first[n:] / n
    return math.sqrt(4 * (np.var(first) / n + np.var(second) / m) + np.var(null))


def _median_distance(cloud: Points) -> float:
    every = slice(0, len(cloud.rows))
    squared = np.concatenate(
        [
            cloud.squared(rows, every)[np.triu_indices(rows.stop - rows.start, rows.start + 1, every.stop)]
            for rows in tiles(0, every.stop)
        ]
    )
    distances = np.sqrt(squared)
    return float(np.median(distances)) or float(distances[distances > 0].min(initial=math.inf))


def energy_test(
    x: Floats, y: Floats, *, permutations: int, generator: np.random.Generator, most: int = _MOST
) -> Discrepancy:
    """The energy distance 2E‖X − Y‖ − E‖X − X'‖ − E‖Y − Y'‖ (Székely and Rizzo 2013) of at most `most` rows a side.

    Its weight is n·m/(n + m): the distance times this has a limit under the null hypothesis.
    """
    two_samples(x, y)
    x, y = at_most(x, most, generator), at_most(y, most, generator)
    n, m = len(x), len(y)
    cloud = Points.of(np.concatenate([x, y]))

    def strip(rows: slice) -> Floats:
        return np.sqrt(cloud.squared(rows, slice(0, n + m)))

    sums = kernel_sums(strip, n, m, permutations, generator)
    # Only negative by rounding.
    values = np.maximum(cloud.unit * energy(sums.first, sums.second, sums.across, n, m), 0.0)
    return Discrepancy(
        float(values[0]), p_value(float(values[0]), values[1:]), values[1:], (n, m), weight=n * m / (n + m)
    )


# -------------------------------------------------------------------- precision, recall, density and coverage


class PRDC(NamedTuple):
    """Closed balls around points, with the distance to the k-th nearest neighbour in the same sample as radius.

    precision: share of generated points in a real ball; recall: share of real points in a generated ball; density: real
    balls that contain a generated point, over k, on average; coverage: share of real balls with a generated point
    (Naeem et al. 2020). Open balls, which differ only if distances are tied, would leave out points of discrete data
    that are as near as the k-th neighbour.
    """

    precision: float
    recall: float
    density: float
    coverage: float


# ---------------------------------------------------------------------------------- plain numbers of any points


def prdc(real: Any, generated: Any, *, k: int = 5) -> PRDC:
    """Precision, recall, density and coverage of samples of points (n, D) and (m, D) with balls to the k-th neighbour.

    Parameters
    ----------
    real, generated
        Points (n, D) and (m, D).
    k
        The number of the neighbour that a ball reaches to.

    Returns
    -------
    PRDC
        Precision, recall and coverage in [0, 1]; density is at least 0 and may exceed 1.

    Raises
    ------
    InputError
        If either side has at most k points, or others than the other side.

    Examples
    --------
    >>> from graphgauge import generation
    >>> found = generation.prdc([[0.0], [1.0], [2.0]], [[0.5], [1.5], [9.0]], k=1)
    >>> round(found.precision, 4), found.recall, round(found.density, 4), found.coverage
    (0.6667, 1.0, 1.3333, 1.0)
    """
    one, other = _two(real, generated)
    n, m, k = len(one), len(other), whole_number("k", k, 1)
    if k >= min(n, m):
        raise InputError(f"{k} nearest neighbours need more than {k} points on either side, found {n} and {m}")
    rows = np.concatenate([one, other])
    bits = rows != 0
    # Zeros and ones are compared as words, which is many times as fast.
    rows = packed(bits) if np.array_equal(rows, bits) else Points.of(rows).rows
    sides, threads = (rows[:n], rows[n:]), threads_for(len(rows) * rows.size)
    # Each point is its own nearest neighbour, which does not count.
    radii = [_core.kth_distances(side, k, threads=threads) for side in sides]
    inside, reached, held = _core.ball_counts(sides[0], radii[0], sides[1], radii[1], threads=threads)
    return PRDC(
        float((held > 0).mean()), float((reached > 0).mean()), int(inside.sum()) / (k * m), float((inside > 0).mean())
    )


def energy_distance(real: Any, generated: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all pairs.

    Parameters
    ----------
    real, generated
        Points (n, D) and (m, D).

    Returns
    -------
    float
        At least 0; 0 for equal samples.

    Examples
    --------
    >>> from graphgauge import generation
    >>> generation.energy_distance([[0.0], [0.0]], [[1.0], [1.0]])
    2.0
    """
    one, other = _two(real, generated)
    return energy_test(one, other, permutations=0, generator=np.random.default_rng(0), most=len(one) + len(other)).value


def mmd(real: Any, generated: Any, *, bandwidth: float | None = None) -> float:
    """The unbiased MMD² of two samples of points (n, D) and (m, D) with the kernel exp(−d²/2σ²); it may be negative.

    Parameters
    ----------
    real, generated
        Points (n, D) and (m, D).
    bandwidth
        σ of the kernel, above 0; the median distance between 2,000 points of either sample, taken evenly, if not given.

    Returns
    -------
    float
        At most 2; around 0 for samples of one distribution.

    Examples
    --------
    >>> from graphgauge import generation
    >>> round(generation.mmd([[0.0], [0.0]], [[1.0], [1.0]], bandwidth=1.0), 6)
    0.786939
    """
    one, other = _two(real, generated)
    if bandwidth is None:
        few = [side[:: -(-len(side) // _MOST)] for side in (one, other)]
        cloud = Points.of(np.concatenate(few))
        bandwidth = _median_distance(cloud) * cloud.unit
    if not bandwidth > 0:
        raise OptionError(f"bandwidth must be above 0, not {bandwidth!r:.60}").about("bandwidth")
    most = len(one) + len(other)
    return mmd_test(
        one, other, permutations=0, generator=np.random.default_rng(0), bandwidth=bandwidth, most=most
    ).value


def _two(real: Any, generated: Any) -> tuple[Floats, Floats]:
    """Both samples, checked."""
    one, other = _points(real, "real"), _points(generated, "generated")
    two_samples(one, other)
    return one, other


def _points(values: Any, name: str) -> Floats:
    """Rows of finite numbers."""
    array = as_numeric(values, name)
    require_shape(array, (None, None), name, "Pass one row of numbers per point.")
    refuse_nan(array, name, fix="Repair them.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("has infinite values", where=name, fix="Repair them.")
    return array.astype(np.float64)
