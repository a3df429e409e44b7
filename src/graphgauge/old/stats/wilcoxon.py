"""Wilcoxon's signed-rank test, exact with ties, its effect size, and what it can show with so many pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge.core.arrays import Floats, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import OptionError
from graphgauge.core.options import whole_number

# The exact distribution of 500 differences takes a tenth of a second; beyond, the normal is exact to three digits.
EXACT_LIMIT = 500


@dataclass(frozen=True)
class SignedRank:
    """`n` differences that are not zero, the rank sums of the positive and the negative ones, and the two-sided p."""

    n: int
    w_plus: float
    w_minus: float
    p_value: float
    exact: bool

    @property
    def statistic(self) -> float:
        return min(self.w_plus, self.w_minus)

    @property
    def rank_biserial(self) -> float:
        """(W₊ − W₋)/(W₊ + W₋): 1 if every difference is positive, −1 if every one is negative (Kerby 2014)."""
        return (self.w_plus - self.w_minus) / (self.w_plus + self.w_minus) if self.n else math.nan


def signed_rank(differences: ArrayLike) -> SignedRank:
    """Test that differences are symmetric about zero; zeros are dropped, ties get their mean rank.

    Up to 500 differences p is exact: the distribution of twice the rank sum, an integer even with ties, is built up
    difference by difference. Beyond, it is the normal approximation with the variance of the tied ranks.

    Parameters
    ----------
    differences
        One number per pair.

    Returns
    -------
    SignedRank
        Both rank sums, two-sided p and the rank-biserial correlation.

    Raises
    ------
    InputError
        If a difference is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.signed_rank([0.27, 0.23, 0.29, 0.32, 0.24]).p_value
    0.0625
    """
    signed = as_numeric(differences, "differences").astype(float)
    require_shape(signed, (None,), "differences", "Pass one difference per pair.")
    refuse_nan(signed, "differences", fix="A failed run cannot be paired: leave its pair out and report it.")
    signed = signed[signed != 0]
    n = len(signed)
    doubled = doubled_midranks(np.abs(signed))
    plus = int(doubled[signed > 0].sum())
    minus = int(doubled.sum()) - plus
    if n <= EXACT_LIMIT:
        p = min(1.0, 2 * float(signed_sum_distribution(doubled)[: min(plus, minus) + 1].sum()))
    else:
        spread = math.sqrt(float(np.sum(np.square(doubled, dtype=float))) / 4)
        distance = abs(plus - minus) / 2
        p = min(1.0, math.erfc(max(distance - 1, 0.0) / spread / math.sqrt(2)))  # 1: continuity, in doubled ranks
    return SignedRank(n, plus / 2, minus / 2, p, n <= EXACT_LIMIT)


def rank_biserial(differences: Floats) -> float:
    """(W₊ − W₋)/(W₊ + W₋) of differences without NaN, zeros dropped; NaN if all are zero."""
    signed = differences[differences != 0]
    if not len(signed):
        return math.nan
    doubled = doubled_midranks(np.abs(signed))
    return float((doubled * np.sign(signed)).sum() / doubled.sum())


def as_on_paper(computed: Floats, largest: float) -> Floats:
    """Values computed from scores up to `largest`, rounded to 12 digits of that, so that exact ties are ties."""
    if not 1e-280 < largest < math.inf:  # 0, or too large or small to be rounded
        return computed
    return np.round(computed, 11 - math.floor(math.log10(largest)))


def doubled_midranks(sizes: Floats) -> NDArray[np.int64]:
    _, inverse, count = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (2 * last - count + 1)[inverse]


def signed_sum_distribution(doubled: NDArray[np.int64]) -> Floats:
    """Probability of each value of the doubled rank sum under random signs."""
    probability = np.zeros(int(doubled.sum()) + 1)
    probability[0] = 1.0
    reached = 0
    for rank in doubled:
        moved = probability[: reached + 1] / 2
        probability[: reached + 1] = moved
        probability[rank : reached + rank + 1] += moved
        reached += int(rank)
    return probability


def attainable_p(n: int) -> float:
    """The smallest two-sided p that a signed-rank or sign-flip test on n non-zero differences can reach: 2^(1−n).

    Parameters
    ----------
    n
        Number of differences that are not 0.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> from graphgauge import stats
    >>> stats.attainable_p(5), stats.attainable_p(6)
    (0.0625, 0.03125)
    """
    return min(1.0, 2.0 ** (1 - n))


def seeds_needed(comparisons: int = 1, alpha: float = 0.05) -> int:
    """The fewest pairs with which the smallest p of `comparisons` tests can pass Holm's first step at `alpha`.

    Parameters
    ----------
    comparisons
        Number of tests in the family.
    alpha
        Level of the family.

    Returns
    -------
    int
        At least 1.

    Raises
    ------
    OptionError
        If there is no comparison, or alpha is not in (0, 1).

    Examples
    --------
    >>> from graphgauge import stats
    >>> [stats.seeds_needed(m) for m in (1, 3, 6, 10)]
    [6, 7, 8, 9]
    """
    require_alpha(alpha)
    whole_number("comparisons", comparisons, 1)
    return math.ceil(1 + math.log2(comparisons / alpha))


def require_alpha(alpha: Any) -> None:
    if not isinstance(alpha, float | np.floating) or not 0 < alpha < 1:
        raise OptionError(f"alpha must be between 0 and 1, not {alpha!r:.60}", fix="Use 0.05 for a 5 % test.")
