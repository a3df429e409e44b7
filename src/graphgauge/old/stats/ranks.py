"""Shifts by ranks: the Hodges–Lehmann estimates and intervals of Wilcoxon's tests, and the exact rank-sum test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import Floats, as_numeric, refuse_nan, require_shape
from graphgauge.old.stats.wilcoxon import doubled_midranks, signed_sum_distribution

# Up to this many runs of both methods together the rank-sum distribution is counted.
_EXACT_RUNS = 80
# Up to this many pairs the distribution of the signed-rank sum is used, beyond it the normal.
_EXACT_PAIRS = 500


@dataclass(frozen=True)
class RankSum:
    """`u` counts pairs of runs in which the first is higher, ties half; p is two-sided (Mann and Whitney 1947)."""

    u: float
    sizes: tuple[int, int]
    p_value: float
    exact: bool

    @property
    def rank_biserial(self) -> float:
        """1 if every score of the first is higher, −1 if every one is lower; Cliff's delta."""
        return 2 * self.u / (self.sizes[0] * self.sizes[1]) - 1


def rank_sum(a: ArrayLike, b: ArrayLike) -> RankSum:
    """Test that two independent samples come from one distribution; exact with ties for up to 80 scores.

    Parameters
    ----------
    a, b
        Scores of the two samples.

    Returns
    -------
    RankSum
        The statistic, two-sided p and the rank-biserial correlation.

    Raises
    ------
    InputError
        If a score is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.rank_sum([.91, .93, .95, .90, .92], [.64, .70, .66, .58, .67]).p_value
    0.007936507936507936
    """
    first, second = (_row(values, name) for values, name in ((a, "a"), (b, "b")))
    n, m = len(first), len(second)
    doubled = doubled_midranks(np.concatenate((first, second)))
    statistic = int(doubled[:n].sum())
    u = statistic / 2 - n * (n + 1) / 2
    if n + m <= _EXACT_RUNS:
        ways = _subset_sums(doubled.tolist(), n)
        total = math.fsum(ways)
        p = 2 * min(math.fsum(ways[: statistic + 1]), math.fsum(ways[statistic:])) / total
        return RankSum(u, (n, m), min(1.0, p), True)
    _, counts = np.unique(doubled, return_counts=True)
    size = n + m
    ties = float(np.sum(counts.astype(float) ** 3 - counts)) / (size * (size - 1))
    spread = math.sqrt(n * m / 12 * (size + 1 - ties))
    distance = max(abs(u - n * m / 2) - 0.5, 0.0)
    p = math.erfc(distance / spread / math.sqrt(2)) if spread > 0 else 1.0
    return RankSum(u, (n, m), min(1.0, p), False)


def signed_rank_shift(differences: Floats, alpha: float) -> tuple[float, float, float]:
    """The Hodges–Lehmann estimate, the median of the means of two, and its interval; NaN if pairs are too few."""
    rows, columns = np.triu_indices(len(differences))
    means = np.sort((differences[rows] + differences[columns]) / 2)
    return _ordered(means, signed_rank_cut(len(differences), alpha))


def rank_sum_shift(a: Floats, b: Floats, alpha: float) -> tuple[float, float, float]:
    """The median of the differences of a run of each, and its interval; NaN if runs are too few."""
    return _ordered(np.sort((a[:, None] - b).ravel()), rank_sum_cut(len(a), len(b), alpha))


def _ordered(values: Floats, cut: int) -> tuple[float, float, float]:
    estimate = float(np.median(values))
    if cut < 1:
        return estimate, math.nan, math.nan
    return estimate, float(values[cut - 1]), float(values[-cut])


@lru_cache(maxsize=256)
def signed_rank_cut(n: int, alpha: float) -> int:
    """How many of the ordered means, from either end, the interval begins with."""
    if n > _EXACT_PAIRS:
        return _normal_cut(n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24), alpha)
    ways = signed_sum_distribution(np.arange(1, n + 1))
    return int(np.searchsorted(np.cumsum(ways), alpha / 2 * (1 + 1e-12), side="right"))


@lru_cache(maxsize=256)
def rank_sum_cut(n: int, m: int, alpha: float) -> int:
    if n + m > _EXACT_RUNS:
        return _normal_cut(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12), alpha)
    ways = np.array(_subset_sums(list(range(1, n + m + 1)), n))[n * (n + 1) // 2 :]
    return int(np.searchsorted(np.cumsum(ways / ways.sum()), alpha / 2 * (1 + 1e-12), side="right"))


def _normal_cut(mean: float, spread: float, alpha: float) -> int:
    from scipy.special import ndtri

    return max(0, math.floor(mean + float(ndtri(alpha / 2)) * spread))


def _subset_sums(ranks: list[int], size: int) -> list[float]:
    """How many subsets of this size have each sum."""
    ways = np.zeros((size + 1, sum(ranks) + 1))
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return [float(way) for way in ways[size]]


def _row(values: ArrayLike, name: str) -> Floats:
    row = as_numeric(values, name).astype(float)
    require_shape(row, (None,), name, "Pass one score per run.")
    refuse_nan(row, name, fix="Leave failed runs out and report it.")
    return row
