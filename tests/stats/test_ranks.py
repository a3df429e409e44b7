"""Rank tests against full enumeration, printed tables and the examples of R's manual."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from graphgauge import stats
from graphgauge.core.errors import InputError
from graphgauge.stats.many import studentized_range
from graphgauge.stats.ranks import on_paper, signed_rank_shift


def midranks(values):
    return [
        Fraction(sum(other < value for other in values)) + Fraction(sum(other == value for other in values) + 1, 2)
        for value in values
    ]


def signed_by_enumeration(differences):
    """W₊, W₋ and the two-sided p from all sign patterns, in exact arithmetic."""
    moved = [each for each in differences if each != 0]
    ranks = midranks([abs(each) for each in moved])
    total, plus = sum(ranks, Fraction(0)), sum((r for r, d in zip(ranks, moved, strict=True) if d > 0), Fraction(0))
    low = min(plus, total - plus)
    patterns = itertools.product((0, 1), repeat=len(ranks))
    sums = [sum((r for r, sign in zip(ranks, signs, strict=True) if sign), Fraction(0)) for signs in patterns]
    return plus, total - plus, min(Fraction(1), Fraction(2 * sum(each <= low for each in sums), len(sums)))


@pytest.mark.parametrize("seed", range(30))
def test_signed_ranks_equal_enumeration_with_ties_and_zeros(seed):
    random = np.random.default_rng(seed)
    differences = [float(each) for each in random.integers(-3, 5, random.integers(1, 12))]
    plus, minus, p = signed_by_enumeration(differences)
    test = stats.signed_rank(differences)
    assert (test.w_plus, test.w_minus, test.exact) == (plus, minus, True)
    assert test.p_value == pytest.approx(float(p), abs=1e-14)


@pytest.mark.parametrize("seed", range(30))
def test_rank_sums_equal_enumeration_with_ties(seed):
    random = np.random.default_rng(seed)
    n, m = (int(each) for each in random.integers(1, 6, 2))
    a, b = random.integers(0, 4, n).astype(float), random.integers(0, 4, m).astype(float)
    ranks = midranks([*a, *b])
    sums = [sum(each) for each in itertools.combinations(ranks, n)]
    own = sum(ranks[:n])
    tails = sum(each <= own for each in sums), sum(each >= own for each in sums)
    test = stats.rank_sum(a, b)
    assert test.u == float(own - Fraction(n * (n + 1), 2))
    assert test.p_value == pytest.approx(min(1.0, 2 * min(tails) / len(sums)), abs=1e-13)
    beaten = np.mean(np.sign(a[:, None] - b))
    assert test.rank_biserial == pytest.approx(beaten, abs=1e-14)


# Largest W with two-sided p ≤ .05, as every textbook's table prints it.
@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89), (30, 137)]
)
def test_critical_values(n, critical):
    def p_at(w):
        """p of ranks whose negative ones sum to w."""
        signs, left = np.ones(n), w
        for rank in range(n, 0, -1):
            if rank <= left:
                signs[rank - 1], left = -1, left - rank
        return stats.signed_rank(np.arange(1, n + 1) * signs).p_value

    assert p_at(critical) <= 0.05 < p_at(critical + 1)


def test_the_depression_scale_of_rs_manual():
    """?wilcox.test (Hollander and Wolfe 1973): V = 40, one-sided p = 0.01953."""
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    test = stats.signed_rank(np.subtract(before, after))
    assert test.w_plus == 40
    assert test.p_value / 2 == pytest.approx(0.01953, abs=5e-6)


def test_the_permeability_of_rs_manual():
    """?wilcox.test (Hollander and Wolfe 1973): W = 35, one-sided p = 0.1272."""
    term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    early = [1.15, 0.88, 0.90, 0.74, 1.21]
    test = stats.rank_sum(term, early)
    assert test.u == 35
    assert test.p_value / 2 == pytest.approx(0.1272, abs=5e-5)


def test_the_rounding_times_of_rs_manual():
    """?friedman.test (Hollander and Wolfe 1973): χ² = 11.143, p = 0.003805 by χ² with 2 degrees of freedom."""
    times = """5.40 5.50 5.55 5.85 5.70 5.75 5.20 5.60 5.50 5.55 5.50 5.40 5.90 5.85 5.70 5.45 5.55 5.60 5.40 5.40 5.35
        5.45 5.50 5.35 5.25 5.15 5.00 5.85 5.80 5.70 5.25 5.20 5.10 5.65 5.55 5.45 5.60 5.35 5.45 5.05 5.00 4.95 5.50
        5.50 5.40 5.45 5.55 5.50 5.55 5.55 5.35 5.45 5.50 5.55 5.50 5.45 5.25 5.65 5.60 5.40 5.70 5.65 5.55 6.30 6.30
        6.25"""
    test = stats.friedman(np.array(times.split(), float).reshape(22, 3))
    assert test.statistic == pytest.approx(11.143, abs=5e-4)
    assert test.p_value == pytest.approx(0.003805, abs=0.002)  # by fixed orders, not by the limit


def test_holm_as_rs_p_adjust():
    """?p.adjust: p.adjust(c(.01, .02, .03, .04, .05), "holm")."""
    assert stats.holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    # Sorted .005, .01, .03, .04: times 4, 3, 2, 1 gives .02, .03, .06, .04; the last may not fall below .06.
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


# Demšar (2006), Table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 UCI data sets.
DEMSAR = np.array(
    [
        ".763",
        ".768",
        ".771",
        ".798",
        ".599",
        ".591",
        ".590",
        ".569",
        ".954",
        ".971",
        ".968",
        ".967",
        ".628",
        ".661",
        ".654",
        ".657",
        ".882",
        ".888",
        ".886",
        ".898",
        ".936",
        ".931",
        ".916",
        ".931",
        ".661",
        ".668",
        ".609",
        ".685",
        ".583",
        ".583",
        ".563",
        ".625",
        ".775",
        ".838",
        ".866",
        ".875",
        "1",
        "1",
        "1",
        "1",
        ".940",
        ".962",
        ".965",
        ".962",
        ".619",
        ".666",
        ".614",
        ".669",
        ".972",
        ".981",
        ".975",
        ".975",
        ".957",
        ".978",
        ".946",
        ".970",
    ],
    float,
).reshape(14, 4)


def test_demsars_worked_example():
    """Mean ranks, critical differences 1.25 and 1.12, and Friedman's χ² of 9.28 with a tie that the print lacks.

    Two scores of one row are equal in three digits but ranked 2 and 3 in print, which moves two means by 1/28.
    """
    printed, tie = np.array([3.143, 2.000, 2.893, 1.964]), np.array([0, 0, 1, -1]) / 28
    assert stats.mean_ranks(DEMSAR) == pytest.approx(printed + tie, abs=5e-4)
    assert stats.critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert stats.critical_difference(4, 14, confidence=0.9) == pytest.approx(1.12, abs=5e-3)
    methods = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    rows = [
        {"method": method, "dataset": f"d{i}", "auc": DEMSAR[i, j]}
        for i in range(14)
        for j, method in enumerate(methods)
    ]
    found = stats.compare(rows, metric="auc", test="ranks")
    assert found.friedman.p_value < 0.05
    assert found.critical_difference == pytest.approx(1.25, abs=5e-3)


def test_demsars_table_2():
    """Table 2: C4.5 against C4.5+m, T = min(93, 12) = 12 at N = 14."""
    test = stats.signed_rank(on_paper(DEMSAR[:, 1] - DEMSAR[:, 0], 1.0))
    # The paper ranks the two zeros, too: that moves both negative ranks by 2 and adds half of the ranks 1 and 2.
    assert (test.n, test.statistic + 2 * 2 + 1.5) == (12, 12)
    assert test.p_value < 0.05


# Demšar (2006), Table 5(a): critical values, divided by √2 already.
@pytest.mark.parametrize(
    ("methods", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_studentized_range(methods, q):
    assert studentized_range(methods, 0.05) / np.sqrt(2) == pytest.approx(q, abs=1.1e-3)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (2, 4), (3, 4)])
@pytest.mark.parametrize("ties", [False, True])
def test_friedman_and_page_equal_enumeration(shape, ties):
    random = np.random.default_rng(sum(shape))
    scores = random.integers(0, 3, shape).astype(float) if ties else random.normal(size=shape)
    ranks = np.array([[float(rank) for rank in midranks(list(row))] for row in scores])
    tables = [np.sum(rows, axis=0) for rows in itertools.product(*(list(itertools.permutations(row)) for row in ranks))]
    unequal, places = [np.sum(each**2) for each in tables], np.arange(1, shape[1] + 1)
    reached = np.mean(np.array(unequal) >= np.sum(ranks.sum(axis=0) ** 2) - 1e-9)
    ordered = np.mean([each @ places >= ranks.sum(axis=0) @ places - 1e-9 for each in tables])
    found, trend = stats.friedman(scores), stats.page_test(scores)
    assert (found.method, found.p_value) == ("exact", pytest.approx(reached, abs=1e-12))
    assert trend.p_value == pytest.approx(ordered, abs=1e-12 if trend.method == "exact" else 0.02)


def test_hodges_and_lehmann_by_sorting():
    x = np.array([0.3, -0.1, 0.5, 0.9, 0.2, 0.7])
    means = sorted((a + b) / 2 for i, a in enumerate(x) for b in x[i:])
    assert signed_rank_shift(x, 0.05) == pytest.approx((np.median(means), means[0], means[-1]))


def test_ties_on_paper_are_ties():
    a, b = np.array([0.9, 0.8, 0.3]), np.array([0.8, 0.7, 0.3])
    assert len(set((a - b)[:2])) == 2
    assert on_paper(a - b, 0.9).tolist() == [0.1, 0.1, 0.0]
    assert on_paper(np.zeros(2), 0.0).tolist() == [0, 0]


def test_beyond_the_exact_limit_the_normal_agrees():
    differences = np.random.default_rng(0).normal(0.1, 1, 500)
    exact, limit = stats.signed_rank(differences), stats.signed_rank(np.append(differences, 1e-9))
    assert (exact.exact, limit.exact) == (True, False)
    assert limit.p_value == pytest.approx(exact.p_value, rel=0.02)


def test_no_difference_at_all():
    test = stats.paired_test([0.5, 0.5], [0.5, 0.5])
    assert (test.n, test.p_value, test.significant) == (0, 1.0, False)
    assert math.isnan(test.effect_size_r)


def test_paired_scores_by_seed_and_direction():
    a, b = {0: 1.0, 1: 2.0, 2: 3.0}, {2: 2.5, 1: 1.5, 0: 0.5}
    assert stats.paired_test(a, b).effect_size_r == 1
    assert stats.paired_test(a, b, better="lower").effect_size_r == -1
    with pytest.raises(InputError, match="without a partner: 2"):
        stats.paired_test(a, {0: 1.0, 1: 1.0})


@pytest.mark.parametrize("bad", [[1.0, math.nan, -2.0], [[1.0, 2.0], [3.0, 4.0]], "x", ["x"], None])
def test_differences_are_a_row_of_numbers(bad):
    with pytest.raises(InputError, match="differences"):
        stats.signed_rank(bad)
