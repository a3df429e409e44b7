"""Statistics compared with scipy, scikit-posthocs, statsmodels, rliable and autorank, if they compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.stats import (
    compare,
    critical_difference,
    friedman,
    holm,
    interquartile_mean,
    mean_ranks,
    probability_of_improvement,
    rank_sum,
    shift,
    signed_rank,
    units_needed,
)
from graphgauge.stats.errors import auc_error, standard_error
from graphgauge.stats.intervals import t_interval, wilson_interval
from graphgauge.stats.many import studentized_range
from graphgauge.stats.shift import Sample

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("n", [3, 5, 6, 10, 25, 50])
def test_wilcoxon_is_scipys_where_scipy_is_exact(n: int) -> None:
    from scipy.stats import wilcoxon

    differences = np.random.default_rng(n).normal(0.3, 1, n)
    expected = wilcoxon(differences, method="exact")
    ours = signed_rank(differences)
    assert (ours.statistic, ours.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)


def test_wilcoxon_with_ties_is_scipys_permutation() -> None:
    """If scipy approximates, the reference is its test over all sign patterns."""
    from scipy.stats import PermutationMethod, wilcoxon

    differences = np.array([0.1, 0.1, -0.1, 0.2, 0.2, 0.3, -0.05, 0.0, 0.4])
    kept = differences[differences != 0]
    expected = wilcoxon(kept, method=PermutationMethod(n_resamples=np.inf))
    assert signed_rank(differences).p_value == pytest.approx(expected.pvalue, rel=1e-12)


def test_large_samples_are_scipys_approximation() -> None:
    from scipy.stats import wilcoxon

    differences = np.random.default_rng(1).normal(0.05, 1, 900)
    expected = wilcoxon(differences, method="asymptotic", correction=True)
    assert signed_rank(differences).p_value == pytest.approx(expected.pvalue, rel=1e-3)


@pytest.mark.parametrize(("blocks", "methods"), [(14, 4), (30, 6), (8, 3)])
def test_friedman_is_scipys(blocks: int, methods: int) -> None:
    from scipy.stats import friedmanchisquare

    scores = np.random.default_rng(blocks).normal(size=(blocks, methods)).round(1)
    expected = friedmanchisquare(*scores.T)
    ours = friedman(scores)
    assert ours.statistic == pytest.approx(expected.statistic)
    if blocks > 10:  # the limit is far from the truth in few blocks
        assert ours.p_value == pytest.approx(expected.pvalue, abs=0.02)


def test_friedman_and_nemenyi_are_scikit_posthocs() -> None:
    """Pairs further apart than the critical difference are the pairs that Nemenyi's test rejects."""
    import scikit_posthocs

    scores = np.random.default_rng(3).normal(np.arange(5) * 0.6, 1, (20, 5))
    p = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    ranks = mean_ranks(scores)
    apart = np.abs(ranks[:, None] - ranks)
    for alpha in (0.01, 0.05, 0.1):
        rejected = (p < alpha) & ~np.eye(5, dtype=bool)
        assert np.array_equal(apart > critical_difference(5, 20, 1 - alpha), rejected)


@pytest.mark.parametrize("methods", [2, 3, 10, 30])
def test_studentized_range_is_scipys(methods: int) -> None:
    from scipy.stats import studentized_range as scipy_range

    assert studentized_range(methods, 0.05) == pytest.approx(scipy_range.ppf(0.95, methods, np.inf), rel=1e-6)


def test_holm_is_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).uniform(0, 0.1, 15).round(2)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_wilson_is_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    x, n = np.array([0, 1, 7, 50, 99, 100]), np.full(6, 100)
    expected = proportion_confint(x, n, alpha=0.1, method="wilson")
    assert np.stack(wilson_interval(x, n, 0.9)) == pytest.approx(np.stack(expected), abs=1e-12)


def test_t_interval_is_scipys() -> None:
    from scipy.stats import ttest_1samp

    x = np.random.default_rng(0).normal(size=7)
    expected = ttest_1samp(x, 0).confidence_interval(0.9)
    low, high = t_interval(x.mean(), x.std(ddof=1) / np.sqrt(7), 6, 0.9)
    assert (low, high) == pytest.approx((expected.low, expected.high))


def test_auc_is_the_mann_whitney_statistic() -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(0)
    pos, neg = rng.integers(0, 9, 40).astype(float), rng.integers(0, 7, 60).astype(float)
    assert auc_error(pos, neg)[0] == pytest.approx(mannwhitneyu(pos, neg).statistic / (40 * 60))
    assert probability_of_improvement(pos, neg) == pytest.approx(mannwhitneyu(pos, neg).statistic / (40 * 60))


@pytest.mark.parametrize("n", [4, 5, 10, 23])
def test_interquartile_mean_is_scipys_trimmed_mean(n: int) -> None:
    from scipy.stats import trim_mean

    x = np.random.default_rng(n).normal(size=n)
    assert interquartile_mean(x) == pytest.approx(trim_mean(x, 0.25))


def test_sign_flips_are_scipys() -> None:
    from scipy.stats import permutation_test

    differences = np.random.default_rng(0).normal(0.4, 1, 11).round(1)
    expected = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert shift.of_pairs(differences, 0.05).p_value == pytest.approx(expected.pvalue)


def test_clustered_errors_are_statsmodels() -> None:
    """Intercept-only regression with cluster-robust errors; the factor C/(C−1) is CR2's for clusters of one size."""
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    cluster = rng.permutation(np.arange(96) % 12)
    y = rng.normal(size=12)[cluster] + rng.normal(size=96)
    fit = sm.OLS(y, np.ones(96)).fit(cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False})
    groups = len(np.unique(cluster))
    error, df = standard_error(y - y.mean(), np.ones(96), cluster=cluster)
    assert error[0] == pytest.approx(fit.bse[0] * np.sqrt(groups / (groups - 1)))
    assert df[0] == groups - 1


@pytest.mark.parametrize("n", [6, 9, 12])
def test_paired_flips_are_scipys(n: int) -> None:
    from scipy.stats import permutation_test

    differences = np.random.default_rng(n).normal(0.5, 1, n)
    expected = permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert shift.of_pairs(differences, 0.05).p_value == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(("n", "m"), [(3, 5), (5, 5), (12, 9)])
def test_rank_sums_are_scipys(n: int, m: int) -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(n)
    a, b = rng.normal(0.5, 1, n), rng.normal(0, 1, m)
    expected = mannwhitneyu(a, b, method="exact")
    ours = rank_sum(a, b)
    assert (ours.u, ours.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_hodges_lehmann_intervals_are_scipys_test_inverted() -> None:
    from scipy.stats import mannwhitneyu, wilcoxon

    rng = np.random.default_rng(2)
    a, b = rng.normal(1, 1, 9), rng.normal(0, 1, 8)
    independent, paired = shift.of_ranks(a, b, 0.05, paired=False), shift.of_ranks(a, 0 * a, 0.05, paired=True)
    for step, inside in ((1e-6, True), (-1e-6, False)):
        for end, sign in (("low", 1), ("high", -1)):
            moved = (getattr(each, end) + sign * step for each in (independent, paired))
            assert (mannwhitneyu(a - next(moved), b, method="exact").pvalue > 0.05) == inside
            assert (wilcoxon(a - next(moved), method="exact").pvalue > 0.05) == inside


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 7), (20, 9)])
def test_welch_is_scipys(n: int, m: int) -> None:
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(n)
    a, b = rng.normal(1, 3, n), rng.normal(0, 1, m)
    expected = ttest_ind(a, b, equal_var=False)
    ours = shift.of_independent([(Sample.from_scores(a), Sample.from_scores(b))], 0.1)
    ends = expected.confidence_interval(0.9)
    assert (ours.p_value, ours.low, ours.high) == pytest.approx((expected.pvalue, ends.low, ends.high))


@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.7])
def test_needed_units_are_statsmodels(ratio: float) -> None:
    from statsmodels.stats.power import TTestIndPower, TTestPower

    for paired, peer in ((True, TTestPower()), (False, TTestIndPower())):
        expected = peer.solve_power(effect_size=ratio, alpha=0.05, power=0.8)
        assert units_needed(ratio, 1.0, paired=paired) == int(np.ceil(expected))


@pytest.mark.parametrize("margin", [0.1, 0.3, 0.6])
def test_equivalence_is_statsmodels_in_large_samples(margin: float) -> None:
    from statsmodels.stats.weightstats import ttost_paired

    rng = np.random.default_rng(8)
    a, b = rng.normal(0.05, 1, 60), rng.normal(0, 1, 60)
    p = ttost_paired(a, b, -margin, margin)[0]
    scores = {"a": dict(enumerate(a)), "b": dict(enumerate(b))}
    (said,) = compare(scores, metric="accuracy", margin=margin).margins
    assert ("are equivalent" in said) == (p < 0.05)


def test_aggregates_are_rliables() -> None:
    from rliable import metrics

    rng = np.random.default_rng(4)
    a, b = rng.normal(0.2, 1, (7, 5)), rng.normal(0, 1, (9, 5))  # runs × tasks
    assert interquartile_mean(a.ravel()) == pytest.approx(float(metrics.aggregate_iqm(a)))
    chances = probability_of_improvement(a.T, b.T)
    assert chances.mean() == pytest.approx(float(metrics.probability_of_improvement(a, b)))


def test_ranks_over_datasets_are_autoranks() -> None:
    import pandas as pd
    from autorank import autorank

    rng = np.random.default_rng(6)
    scores = rng.normal([0.0, 0.3, 0.5, 1.2], 1, (20, 4)) + rng.normal(0, 1, (20, 1))
    frame = pd.DataFrame(scores, columns=list("abcd"))
    expected = autorank(frame, alpha=0.05, verbose=False, force_mode="nonparametric")
    rows = [
        {"method": method, "dataset": f"data {row}", "seed": 0, "score": float(scores[row, column])}
        for column, method in enumerate("abcd")
        for row in range(20)
    ]
    comparison = compare(rows, metric="score", direction="higher", test="ranks")
    ours = {standing.method: standing.mean_rank for standing in comparison.standings}
    assert ours == pytest.approx(expected.rankdf["meanrank"].to_dict())
    assert comparison.critical_difference == pytest.approx(expected.cd, rel=1e-3)
    assert comparison.friedman is not None
    assert comparison.friedman.p_value == pytest.approx(expected.pvalue, abs=0.02)  # by fixed orders, not the limit
    pair = autorank(frame[["a", "d"]], alpha=0.05, verbose=False, force_mode="nonparametric")
    two = compare([row for row in rows if row["method"] in "ad"], metric="score", direction="higher", test="ranks")
    # autorank tests the side that is ahead in the data, which halves its p.
    assert two.pairs[0].p_value == pytest.approx(2 * pair.pvalue, rel=1e-6)
