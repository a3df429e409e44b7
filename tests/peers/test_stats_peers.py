"""Statistics compared with scipy, pingouin, scikit-posthocs and statsmodels, if they compute the same quantity."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.stats import (
    critical_difference,
    friedman,
    holm,
    interquartile_mean,
    mean_ranks,
    paired_items,
    paired_test,
    probability_of_improvement,
    signed_rank,
)
from graphgauge.stats.intervals import delong, t_interval, wilson_interval
from graphgauge.stats.many import studentized_range

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


@pytest.mark.parametrize("seed", range(6))
def test_rank_biserial_is_pingouins_with_its_sign(seed: int) -> None:
    import pingouin

    rng = np.random.default_rng(seed)
    a, b = rng.normal(0.5 * (-1) ** seed, 1, 12), rng.normal(0, 1, 12)
    expected = float(pingouin.wilcoxon(a, b)["RBC"].iloc[0])
    assert paired_test(a, b).effect_size_r == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("blocks", "methods"), [(14, 4), (30, 6), (8, 3)])
def test_friedman_is_scipys(blocks: int, methods: int) -> None:
    from scipy.stats import friedmanchisquare

    scores = np.random.default_rng(blocks).normal(size=(blocks, methods)).round(1)
    expected = friedmanchisquare(*scores.T)
    ours = friedman(scores)
    assert ours.statistic == pytest.approx(expected.statistic)
    if not ours.exact:
        assert ours.p_value == pytest.approx(expected.pvalue)


def test_friedman_and_nemenyi_are_scikit_posthocs() -> None:
    """Pairs further apart than the critical difference are the pairs that Nemenyi's test rejects."""
    import scikit_posthocs

    scores = np.random.default_rng(3).normal(np.arange(5) * 0.6, 1, (20, 5))
    p = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    ranks = mean_ranks(scores)
    apart = np.abs(ranks[:, None] - ranks)
    for alpha in (0.01, 0.05, 0.1):
        rejected = (p < alpha) & ~np.eye(5, dtype=bool)
        assert np.array_equal(apart > critical_difference(5, 20, alpha), rejected)


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
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))


def test_auc_is_the_mann_whitney_statistic() -> None:
    from scipy.stats import mannwhitneyu

    rng = np.random.default_rng(0)
    pos, neg = rng.integers(0, 9, 40).astype(float), rng.integers(0, 7, 60).astype(float)
    assert delong(pos, neg)[0] == pytest.approx(mannwhitneyu(pos, neg).statistic / (40 * 60))
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
    assert paired_items(differences).p_value == pytest.approx(expected.pvalue)


def test_clustered_errors_are_statsmodels() -> None:
    """Intercept-only regression with cluster-robust errors and the C/(C−1) factor."""
    import statsmodels.api as sm

    from graphgauge.stats.intervals import standard_error

    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 12, 90)
    y = rng.normal(size=12)[cluster] + rng.normal(size=90)
    fit = sm.OLS(y, np.ones(90)).fit(cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False})
    groups = len(np.unique(cluster))
    error, df = standard_error(y - y.mean(), np.ones(90), cluster=cluster)
    assert error[0] == pytest.approx(fit.bse[0] * np.sqrt(groups / (groups - 1)))
    assert df[0] == groups - 1
