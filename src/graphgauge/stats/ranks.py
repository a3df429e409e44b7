"""Wilcoxon's tests by ranks, exact with ties, with the shifts of Hodges and Lehmann."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from graphgauge import _core
from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import confidence_level
from graphgauge.core.types import Floats, Ints
from graphgauge.stats.text import fixed, listing, p_text

# The exact distribution of 500 differences takes a tenth of a second; beyond, the normal is exact to three digits.
_EXACT_PAIRS = 500
# Up to this many scores of both samples together the rank-sum distribution is counted.
_EXACT_SCORES = 80
Better = Literal["higher", "lower"]


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
        """The smaller of both sums."""
        return min(self.w_plus, self.w_minus)

    @property
    def rank_biserial(self) -> float:
        """(W₊ − W₋)/(W₊ + W₋): 1 if every difference is positive, −1 if every one is negative (Kerby 2014)."""
        return (self.w_plus - self.w_minus) / (self.w_plus + self.w_minus) if self.n else math.nan


@dataclass(frozen=True)
class RankSum:
    """`u` counts pairs of scores in which the first is higher, ties half; p is two-sided (Mann and Whitney 1947)."""

    u: float
    sizes: tuple[int, int]
    p_value: float
    exact: bool

    @property
    def rank_biserial(self) -> float:
        """1 if every score of the first is higher, −1 if every one is lower; Cliff's delta."""
        return 2 * self.u / (self.sizes[0] * self.sizes[1]) - 1


@dataclass(frozen=True)
class PairedTest:
    """Wilcoxon's signed-rank test of paired scores.

    `effect_size_r` is the rank-biserial correlation, positive if the first is better. `n` counts the pairs that differ,
    `lowest_p` is the smallest p that so many can have.
    """

    test_statistic: float
    p_value: float
    effect_size_r: float
    significant: bool
    n: int
    pairs: int
    means: tuple[float, float]
    better: Better
    confidence: float

    @property
    def lowest_p(self) -> float:
        """2^(1−n)."""
        return min(1.0, 2.0 ** (1 - self.n))

    def __str__(self) -> str:
        size = f"r = {fixed(self.effect_size_r, 2)} ({effect_word(self.effect_size_r)})"
        said = f"Wilcoxon's signed-rank test of {self.pairs} pairs: {p_text(self.p_value)}, {size}."
        alpha = 1 - self.confidence
        if self.lowest_p <= alpha:
            return said
        needed = math.ceil(1 - math.log2(alpha))
        return f"{said} {self.n} pairs that differ cannot have p below {self.lowest_p:g}; it takes {needed}."


def paired_test(
    a: ArrayLike | Mapping[Any, float],
    b: ArrayLike | Mapping[Any, float],
    *,
    better: Better = "higher",
    confidence: float = 0.95,
) -> PairedTest:
    """Wilcoxon's signed-rank test of two methods on the same seeds or datasets, two-sided, exact with ties and zeros.

    Parameters
    ----------
    a, b
        Scores of both methods; arrays pair by position, mappings by their keys.
    better
        `higher` or `lower`.
    confidence
        The difference is significant if p is at most 1 − confidence.

    Returns
    -------
    PairedTest
        test_statistic, p_value, effect_size_r and significant.

    Raises
    ------
    InputError
        If the pairs do not match, or a score is NaN.

    Examples
    --------
    >>> from graphgauge import stats
    >>> test = stats.paired_test([.91, .93, .95, .90, .91], [.64, .70, .66, .58, .67])
    >>> test.p_value, test.effect_size_r, test.significant
    (0.0625, 1.0, False)
    """
    one_of("direction", better, ("higher", "lower"))
    first, second = _pairs(a, b)
    differences = on_paper(first - second, max(np.abs(first).max(), np.abs(second).max()))
    ranked = signed_rank(differences)
    return PairedTest(
        test_statistic=ranked.statistic,
        p_value=ranked.p_value,
        effect_size_r=-ranked.rank_biserial if better == "lower" else ranked.rank_biserial,
        significant=ranked.p_value <= alpha_of(confidence),
        n=ranked.n,
        pairs=len(differences),
        means=(float(first.mean()), float(second.mean())),
        better=better,
        confidence=confidence,
    )


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
    signed = _row(differences, "differences")
    signed = signed[signed != 0]
    n, doubled = len(signed), doubled_midranks(np.abs(signed))
    plus = int(doubled[signed > 0].sum())
    minus = int(doubled.sum()) - plus
    if n <= _EXACT_PAIRS:
        p = 2 * float(_signed_sums(doubled)[: min(plus, minus) + 1].sum())
    else:
        spread = math.sqrt(float(np.sum(np.square(doubled, dtype=np.float64))) / 4)
        # The 1 is the correction for continuity, in doubled ranks.
        p = 2 * _core.normal_tail(max(abs(plus - minus) / 2 - 1, 0.0) / spread)
    return SignedRank(n, plus / 2, minus / 2, min(1.0, p), n <= _EXACT_PAIRS)


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
    first, second = _row(a, "a"), _row(b, "b")
    n, m = len(first), len(second)
    doubled = doubled_midranks(np.concatenate((first, second)))
    statistic = int(doubled[:n].sum())
    u = statistic / 2 - n * (n + 1) / 2
    if n + m <= _EXACT_SCORES:
        ways = _subset_sums(doubled, n)
        p = 2 * min(math.fsum(ways[: statistic + 1]), math.fsum(ways[statistic:])) / math.fsum(ways)
        return RankSum(u, (n, m), min(1.0, p), True)
    _, counts = np.unique(doubled, return_counts=True)
    size = n + m
    ties = float(np.sum(counts.astype(np.float64) ** 3 - counts)) / (size * (size - 1))
    spread = math.sqrt(n * m / 12 * (size + 1 - ties))
    p = 2 * _core.normal_tail(max(abs(u - n * m / 2) - 0.5, 0.0) / spread) if spread > 0 else 1.0
    return RankSum(u, (n, m), min(1.0, p), False)


def signed_rank_shift(differences: Floats, alpha: float) -> tuple[float, float, float]:
    """The median of the means of two differences, and its interval; NaN if pairs are too few."""
    rows, columns = np.triu_indices(len(differences))
    return _shift((differences[rows] + differences[columns]) / 2, _signed_rank_cut(len(differences), alpha))


def rank_sum_shift(a: Floats, b: Floats, alpha: float) -> tuple[float, float, float]:
    """The median of the differences of a score of each, and its interval; NaN if scores are too few."""
    return _shift((a[:, None] - b).ravel(), _rank_sum_cut(len(a), len(b), alpha))


def doubled_midranks(sizes: Floats) -> Ints:
    """Twice the rank of each number, 2 for the smallest; ties share the mean of their ranks."""
    _, inverse, count = np.unique(sizes, return_inverse=True, return_counts=True)
    return np.asarray((2 * np.cumsum(count) - count + 1)[inverse])


def rank_biserial(differences: Floats) -> float:
    """(W₊ − W₋)/(W₊ + W₋ + W₀) of differences without NaN; zeros have the lowest ranks. NaN if all are zero."""
    doubled = doubled_midranks(np.abs(differences))
    return float((doubled * np.sign(differences)).sum() / doubled.sum()) if differences.any() else math.nan


def effect_word(size: float, *, of_means: bool = False) -> str:
    """What an effect is usually called (Cohen 1988): a rank-biserial correlation, or a scaled difference of means."""
    steps = {"large": 0.8, "medium": 0.5, "small": 0.2} if of_means else {"large": 0.5, "medium": 0.3, "small": 0.1}
    return "none" if math.isnan(size) else next((word for word, least in steps.items() if abs(size) >= least), "tiny")


def on_paper(computed: Floats, largest: float) -> Floats:
    """Values computed from scores up to `largest`, rounded to 12 digits of that, so that exact ties are ties."""
    if not 1e-280 < largest < math.inf:  # 0, or too large or small to be rounded
        return computed
    return np.round(computed, 11 - math.floor(math.log10(largest)))


def alpha_of(confidence: float) -> float:
    """1 − confidence, without the rounding by which p = 0.05 would miss it."""
    return round(1 - confidence_level(confidence), 12)


def _signed_sums(doubled: Ints) -> Floats:
    """Probability of each value of the doubled rank sum under random signs."""
    probability = np.zeros(int(doubled.sum()) + 1)
    probability[0] = 1.0
    reached = 0
    for rank in doubled.tolist():
        moved = probability[: reached + 1] / 2
        probability[: reached + 1] = moved
        probability[rank : reached + rank + 1] += moved
        reached += rank
    return probability


def _subset_sums(ranks: Ints, size: int) -> Floats:
    """How many subsets of this size have each sum."""
    ways = np.zeros((size + 1, int(ranks.sum()) + 1))
    ways[0, 0] = 1.0
    for rank in ranks.tolist():
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    return np.asarray(ways[size])


def _shift(values: Floats, cut: int) -> tuple[float, float, float]:
    ordered = np.sort(values)
    estimate = float(np.median(ordered))
    return (estimate, float(ordered[cut - 1]), float(ordered[-cut])) if cut else (estimate, math.nan, math.nan)


@lru_cache(maxsize=256)
def _signed_rank_cut(n: int, alpha: float) -> int:
    """How many of the ordered means, from either end, are outside the interval or its end."""
    if n > _EXACT_PAIRS:
        return _normal_cut(n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24), alpha)
    return _cut(_signed_sums(np.arange(1, n + 1)), alpha)


@lru_cache(maxsize=256)
def _rank_sum_cut(n: int, m: int, alpha: float) -> int:
    if n + m > _EXACT_SCORES:
        return _normal_cut(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12), alpha)
    ways = _subset_sums(np.arange(1, n + m + 1), n)[n * (n + 1) // 2 :]
    return _cut(ways / ways.sum(), alpha)


def _cut(chances: Floats, alpha: float) -> int:
    return int(np.searchsorted(np.cumsum(chances), alpha / 2 * (1 + 1e-12), side="right"))


def _normal_cut(mean: float, spread: float, alpha: float) -> int:
    return max(0, math.floor(mean - float(_core.normal_quantile(alpha / 2)) * spread))


def _row(values: ArrayLike, name: str) -> Floats:
    row = as_numeric(values, name).astype(np.float64)
    require_shape(row, (None,), name, "Pass one number per pair or run.")
    refuse_nan(row, name, fix="A failed run has no rank: leave it out, with its partner, and report it.")
    return row


def _pairs(a: Any, b: Any) -> tuple[Floats, Floats]:
    """Scores in the same order; entries without a partner are an error."""
    if isinstance(a, Mapping) != isinstance(b, Mapping):
        raise InputError(
            "one side has keys and the other none", fix="Pass two arrays, or two mappings from seed to score."
        )
    if isinstance(a, Mapping):
        alone = [str(key) for key in (*a, *b) if (key in a) != (key in b)]
        if alone:
            raise InputError(
                f"scores without a partner: {listing(alone)}", fix="Repeat them, or leave them out and say so."
            )
        a, b = list(a.values()), [b[key] for key in a]
    first, second = _row(a, "a"), _row(b, "b")
    if len(first) != len(second) or not len(first):
        raise InputError(f"{len(first)} scores against {len(second)}", fix="Pass one score of both for each pair.")
    return first, second
