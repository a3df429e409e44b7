"""Maximum mean discrepancy of two samples, unbiased, with a permutation test and its power (Gretton et al. 2012)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.generation.permuted import KernelSums, Strip, at_most, kernel_sums, p_value, two_samples
from graphgauge.kernels.euclidean import Points, tiles

LEVEL = 0.05


@dataclass(frozen=True)
class MMDTest:
    """MMD² of two samples, and its distribution under random permutations.

    `value` is the unbiased estimate, which may be negative. `critical` is the threshold of significance at 5 %, and
    `power` the probability that another pair of samples of this size exceeds it if the true MMD² is the measured one.
    """

    value: float
    p_value: float
    null: Floats
    critical: float
    power: float
    kernel: str
    bandwidth: float
    n: tuple[int, int]


def mmd_test(
    real: Floats,
    generated: Floats,
    *,
    permutations: int,
    generator: np.random.Generator,
    bandwidth: float | None = None,
    most: int = 2000,
) -> MMDTest:
    """Compare rows by the kernel exp(−d²/2σ²) of their Euclidean distance d; at most `most` rows of either side.

    σ is `bandwidth`, or the median distance of all pairs in the pooled samples, which does not change under
    permutations. If the median is 0, the smallest positive distance is used; if all points are equal, MMD² is 0.
    """
    two_samples(real, generated)
    real, generated = at_most(real, most, generator), at_most(generated, most, generator)
    n, m = len(real), len(generated)
    cloud = Points.of(np.concatenate([real, generated]))
    sigma = _median_distance(cloud) if bandwidth is None else bandwidth / cloud.unit

    def strip(rows: slice) -> Floats:
        squared = np.concatenate([cloud.squared(rows, columns) for columns in tiles(0, n + m)], axis=1)
        return np.exp(squared / (-2 * sigma**2))

    return kernel_test(strip, n, m, "exp(−d²/2σ²)", sigma * cloud.unit, permutations=permutations, generator=generator)


def kernel_test(
    strip: Strip,
    n: int,
    m: int,
    kernel: str,
    bandwidth: float,
    *,
    permutations: int,
    generator: np.random.Generator,
) -> MMDTest:
    """The test of n items against the m that follow them, for a kernel that is 1 between equal items."""
    sums = kernel_sums(strip, n, m, permutations, generator)
    # Each item adds 1 for the pair with itself.
    values = (sums.first - n) / (n * (n - 1)) + (sums.second - m) / (m * (m - 1)) - 2 * sums.across / (n * m)
    value, null = float(values[0]), values[1:]
    critical = float(np.quantile(null, 1 - LEVEL, method="higher")) if permutations else math.nan
    return MMDTest(
        value=value,
        p_value=p_value(value, null),
        null=null,
        critical=critical,
        power=_power(value, critical, null, sums, n, m),
        kernel=kernel,
        bandwidth=bandwidth,
        n=(n, m),
    )


def _power(value: float, critical: float, null: Floats, sums: KernelSums, n: int, m: int) -> float:
    """From the normal limit of the estimate: its first-order variance, and its variance under the null hypothesis."""
    from scipy.special import ndtr

    first = (sums.rows_first[:n] - 1) / (n - 1) - sums.rows_second[:n] / m
    second = (sums.rows_second[n:] - 1) / (m - 1) - sums.rows_first[n:] / n
    variance = 4 * (np.var(first) / n + np.var(second) / m) + np.var(null)
    return float(ndtr((value - critical) / math.sqrt(variance))) if variance > 0 else math.nan


def _median_distance(cloud: Points) -> float:
    strips = tiles(0, len(cloud.rows))
    distances = np.concatenate(
        [
            tile[np.triu_indices(len(tile), 1)] if rows == columns else tile.ravel()
            for place, rows in enumerate(strips)
            for columns in strips[place:]
            for tile in [cloud.distances(rows, columns)]
        ]
    )
    return float(np.median(distances)) or float(distances[distances > 0].min(initial=math.inf))
