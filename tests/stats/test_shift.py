"""Tests of mean differences against enumeration, R's examples and each other."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from graphgauge.stats import shift
from graphgauge.stats.shift import Sample

# Student's sleep data, as ?t.test in R has them: hours gained with two drugs by the same ten patients.
FIRST = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SECOND = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])


def samples(a, b):
    return [(Sample.from_scores(np.asarray(a, float)), Sample.from_scores(np.asarray(b, float)))]


def test_welch_on_the_sleep_data():
    """?t.test: t = −1.8608, df = 17.776, p = 0.07939, interval −3.3654832 to 0.2054832."""
    found = shift.of_independent(samples(FIRST, SECOND), 0.05)
    assert found.difference / found.error == pytest.approx(-1.8608, abs=5e-5)
    assert (found.df, found.p_value) == (pytest.approx(17.776, abs=5e-4), pytest.approx(0.07939, abs=5e-6))
    assert (found.low, found.high) == (pytest.approx(-3.3654832, abs=5e-7), pytest.approx(0.2054832, abs=5e-7))


def test_more_than_fifteen_pairs_are_scipys_paired_t():
    x = np.random.default_rng(0).normal(0.3, 1, 40)
    found, wanted = shift.of_pairs(x, 0.05), scipy_stats.ttest_1samp(x, 0)
    ends = wanted.confidence_interval(0.95)
    assert found.p_value == pytest.approx(wanted.pvalue, rel=1e-9)
    assert (found.low, found.high) == (pytest.approx(ends.low), pytest.approx(ends.high))


@pytest.mark.parametrize("seed", range(12))
def test_sign_flips_equal_enumeration_and_their_interval_is_the_test_inverted(seed):
    random = np.random.default_rng(seed)
    x = np.round(random.normal(0.4, 1, random.integers(6, 11)), 1)
    found = shift.of_pairs(x, 0.05)

    def p_at(value):
        sums = [abs(sum(sign * (each - value) for sign, each in zip(signs, x, strict=True))) for signs in patterns]
        return np.mean(np.array(sums) >= sums[0] - 1e-9)

    patterns = list(itertools.product((1, -1), repeat=len(x)))
    assert found.p_value == pytest.approx(p_at(0.0), abs=1e-12)
    if found.interval == "sign flips":
        inside, step = (found.low + found.high) / 2, 1e-6
        assert p_at(inside) > 0.05
        if abs(found.low) > 1e-9:
            assert p_at(found.low - step) <= 0.05 < p_at(found.low + step)
        if abs(found.high) > 1e-9:
            assert p_at(found.high + step) <= 0.05 < p_at(found.high - step)


@pytest.mark.parametrize("n", [3, 4, 6, 9, 15, 16, 40])
def test_the_interval_contains_0_exactly_if_p_is_above_alpha(n):
    random = np.random.default_rng(n)
    for _ in range(60):
        x = np.round(random.normal(random.choice([0, 0.5, 1.0]), 1, n), 1)
        y = np.round(random.normal(0, 1, n), 1)
        for found in (
            shift.of_pairs(x, 0.05),
            shift.of_independent(samples(x, y), 0.05),
            shift.of_ranks(x, y, 0.05, paired=False),
            shift.of_clusters(np.repeat(x, 2), np.repeat(np.arange(n), 2), 0.05),
        ):
            if found.lowest_p <= 0.05 and not math.isnan(found.low):
                assert (found.low <= 0 <= found.high) == (found.p_value > 0.05), found


def test_clusters_of_one_item_are_pairs():
    x = np.random.default_rng(2).normal(0.3, 1, 9)
    pairs, clusters = shift.of_pairs(x, 0.05), shift.of_clusters(x, np.arange(9), 0.05)
    assert clusters.p_value == pairs.p_value
    assert (clusters.low, clusters.high) == pytest.approx((pairs.low, pairs.high))


def test_flips_do_not_depend_on_units_of_the_scores():
    x = np.round(np.random.default_rng(3).normal(0.3, 1, 10), 2)
    for factor in (1e-9, 1e9):
        assert shift.of_pairs(factor * x, 0.05).p_value == shift.of_pairs(x, 0.05).p_value


def test_strata_of_one_are_pairs_and_their_error_adds_up():
    one, other = FIRST - SECOND, SECOND - FIRST + 1
    found = shift.of_strata([one, other], 0.05)
    variances = [x.var(ddof=1) / 10 for x in (one, other)]
    assert found.difference == pytest.approx(0.5)
    assert found.error == pytest.approx(math.sqrt(sum(variances)) / 2)
    assert found.df == pytest.approx(sum(variances) ** 2 / sum(each**2 / 9 for each in variances))


def test_a_test_never_claims_more_than_its_design():
    """Three against three: 20 ways to share the runs out, and 2 of them are as extreme."""
    found = shift.of_independent(samples([5.0, 5.1, 5.2], [1.0, 1.1, 1.2]), 0.05)
    assert found.p_value == found.lowest_p == pytest.approx(0.1)
    assert found.low > 0  # the interval is that of t alone
    assert shift.of_independent(samples([5.0, 5.1, 5.2], [1.0, 1.1]), 0.05).lowest_p == pytest.approx(0.1)
    constant = shift.of_pairs(np.full(20, 0.1), 0.05)
    assert constant.p_value == 2.0**-19
    assert math.isnan(constant.low)


def test_single_runs_cannot_be_tested():
    found = shift.of_independent(samples([1.0], [2.0]), 0.05)
    assert (found.p_value, found.lowest_p) == (1.0, 1.0)
    assert math.isnan(found.low)


def test_draws_are_stable():
    """The first draws of the fixed signs, which no version of NumPy changes."""
    signs = shift._signs(20, shift.DRAWS + 1)
    assert signs.shape == (10_000, 20)
    assert signs[0].min() == 1
    bits = np.random.PCG64(0).random_raw(1)
    assert [int(each) for each in (1 - signs[1]) / 2] == [int(bits[0]) >> i & 1 for i in range(20)]
    assert abs(float(signs[1:].mean())) < 0.01


@pytest.mark.parametrize("seed", range(6))
def test_flips_of_clusters_equal_enumeration_and_their_interval_is_the_test_inverted(seed):
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(8), random.integers(1, 5, 8))
    x = random.normal(0.5, 1, len(labels))
    sums, sizes = np.bincount(labels, x), np.bincount(labels)
    patterns = np.array(list(itertools.product((1, -1), repeat=8)))

    def p_at(value):
        moved = np.abs(patterns @ (sums - value * sizes))
        return np.mean(moved >= moved[0] - 1e-9)

    found = shift.of_clusters(x, labels, 0.05)
    assert (found.p_value, found.lowest_p) == (pytest.approx(p_at(0)), 2 / 256)
    for end, inwards in ((found.low, 1e-6), (found.high, -1e-6)):
        assert p_at(end - inwards) <= 0.05 < p_at(end + inwards) or abs(end) < 1e-9


def test_fifteen_pairs_are_flipped_and_sixteen_are_not():
    x = np.linspace(-0.2, 1, 16)
    flipped, by_t = shift.of_pairs(x[1:], 0.05), shift.of_pairs(x, 0.05)
    assert (flipped.method, flipped.lowest_p) == ("sign flips", 2.0**-14)
    assert (by_t.method, by_t.lowest_p) == ("Student's t", 2.0**-15)


@pytest.mark.parametrize("n", [1, 2, 16, 40])
def test_no_difference_has_p_1_and_no_p_is_above_it(n):
    zeros = np.zeros(n)
    found = [shift.of_pairs(zeros, 0.05), shift.of_clusters(zeros, np.arange(n), 0.05), shift.of_strata([zeros], 0.05)]
    assert [each.p_value for each in found] == [1, 1, 1]
    assert all(each.lowest_p <= 1 and math.isnan(each.low) for each in found)


def test_many_clusters_are_cr2_t():
    x, labels = np.random.default_rng(0).normal(0.1, 1, 4002), np.repeat(np.arange(2001), 2)
    found = shift.of_clusters(x, labels, 0.05)
    means = x.reshape(-1, 2).mean(axis=1)  # clusters of one size are as good as their means
    wanted = scipy_stats.ttest_1samp(means, 0)
    assert (found.method, found.p_value) == ("CR2-t", pytest.approx(wanted.pvalue, rel=1e-6))
    assert (found.low, found.high) == pytest.approx(tuple(wanted.confidence_interval(0.95)))


def test_strata_of_independent_runs_by_welch():
    random = np.random.default_rng(1)
    pairs = [(random.normal(1, 1, 3), random.normal(0, 2, 3)), (random.normal(1, 1, 4), random.normal(0, 1, 4))]
    found = shift.of_independent([samples(a, b)[0] for a, b in pairs], 0.05)
    parts = [(x.var(ddof=1) / len(x) / 4, len(x) - 1) for pair in pairs for x in pair]
    total = sum(part for part, _ in parts)
    assert found.difference == pytest.approx(np.mean([a.mean() - b.mean() for a, b in pairs]))
    assert found.error == pytest.approx(math.sqrt(total))
    assert found.df == pytest.approx(total**2 / sum(part**2 / df for part, df in parts))
    assert found.lowest_p == pytest.approx(2 / (20 * 70))
    p = 2 * scipy_stats.t.sf(abs(found.difference) / found.error, found.df)
    assert found.p_value == pytest.approx(p, rel=1e-9)


def test_strata_cannot_claim_more_than_the_flips_of_all_their_pairs():
    found = shift.of_strata([np.array([1.0, 1.1, 1.2]), np.array([2.0, 2.1, 0.0, 1.9])], 0.05)
    assert found.lowest_p == 2.0**-5


def test_thirty_steps_are_tested_and_29_are_not():
    x = np.random.default_rng(2).normal(0.4, 1, 30)
    found = shift.of_steps(x, 0.05)
    p = 2 * scipy_stats.t.sf(found.difference / found.error, found.df)
    assert (found.method, found.p_value, found.lowest_p) == ("cosine-t", pytest.approx(p, rel=1e-9), 0)
    assert (shift.of_steps(x[:29], 0.05).p_value, math.isnan(shift.of_steps(x[:29], 0.05).low)) == (1, True)
