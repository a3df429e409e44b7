"""The signed-rank test against full enumeration and printed tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.stats.wilcoxon import as_on_paper, signed_rank


def enumerated(differences: list[float]) -> tuple[Fraction, Fraction, Fraction]:
    """W₊, W₋ and the two-sided p from all sign patterns, in exact arithmetic."""
    sizes = [abs(d) for d in differences if d != 0]
    ranks = [
        Fraction(sum(other < size for other in sizes)) + Fraction(sum(other == size for other in sizes) + 1, 2)
        for size in sizes
    ]
    total = sum(ranks, Fraction(0))
    plus = sum((r for r, d in zip(ranks, (d for d in differences if d), strict=True) if d > 0), Fraction(0))
    low = min(plus, total - plus)
    sums = [
        sum((r for r, sign in zip(ranks, signs, strict=True) if sign), Fraction(0))
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    return plus, total - plus, min(Fraction(1), Fraction(2 * sum(s <= low for s in sums), len(sums)))


@pytest.mark.parametrize("seed", range(30))
def test_equals_enumeration_with_ties_and_zeros(seed: int) -> None:
    rng = np.random.default_rng(seed)
    differences = [float(d) for d in rng.integers(-3, 5, rng.integers(1, 12))]
    plus, minus, p = enumerated(differences)
    test = signed_rank(differences)
    assert (test.w_plus, test.w_minus) == (plus, minus)
    assert test.p_value == pytest.approx(float(p), abs=1e-14)
    assert test.exact
    if plus + minus:
        assert test.rank_biserial == pytest.approx(float((plus - minus) / (plus + minus)))


# Largest W with two-sided p ≤ .05: printed in every textbook's table.
@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137)]
)
def test_critical_values(n: int, critical: int) -> None:
    def p_at(w: int) -> float:
        """Ranks whose negative ones sum to w."""
        signs, left = np.ones(n), w
        for rank in range(n, 0, -1):
            if rank <= left:
                signs[rank - 1], left = -1, left - rank
        return signed_rank(np.arange(1, n + 1) * signs).p_value

    assert p_at(critical) <= 0.05 < p_at(critical + 1)


def test_no_difference_at_all() -> None:
    test = signed_rank([0.0, 0.0])
    assert (test.n, test.p_value) == (0, 1.0)
    assert math.isnan(test.rank_biserial)


def test_beyond_the_exact_limit_the_normal_agrees() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(0.1, 1, 500)
    exact = signed_rank(differences)
    approximate = signed_rank(np.append(differences, 1e-9))
    assert exact.exact
    assert not approximate.exact
    assert approximate.p_value == pytest.approx(exact.p_value, rel=0.02)


def test_ties_on_paper_are_ties() -> None:
    a, b = np.array([0.9, 0.8, 0.3]), np.array([0.8, 0.7, 0.3])
    assert len(set((a - b)[:2])) == 2
    assert as_on_paper(a - b, 0.9).tolist() == [0.1, 0.1, 0.0]
    assert as_on_paper(1e9 * a - 1e9 * b, 9e8).tolist() == [1e8, 1e8, 0.0]
    assert as_on_paper(np.zeros(2), 0.0).tolist() == [0, 0]


@pytest.mark.parametrize("bad", [[1.0, math.nan, -2.0], [[1.0, 2.0], [3.0, 4.0]], "x", ["x"], None])
def test_differences_are_a_row_of_numbers(bad: object) -> None:
    """A NaN is no difference: ranked, it would count as the largest."""
    with pytest.raises(InputError, match="differences"):
        signed_rank(bad)  # type: ignore[arg-type]
