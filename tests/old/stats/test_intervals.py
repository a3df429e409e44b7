"""Intervals against published tables, brute force and exact enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from graphgauge.core.errors import OptionError
from graphgauge.old.stats.intervals import (
    Masses,
    Spread,
    agreement_interval,
    delong,
    logit_t_interval,
    mean_interval,
    percentile_interval,
    sample_interval,
    sample_std,
    score_interval,
    spread,
    standard_error,
    t_interval,
    t_quantile,
    wilson_interval,
)


# Student's table, two-sided 95 %.
@pytest.mark.parametrize(("df", "t"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (120, 1.980)])
def test_t_quantile_is_students(df: int, t: float) -> None:
    assert t_quantile(df, 0.95)[0] == pytest.approx(t, abs=5e-4)


def test_t_interval_has_no_bounds_without_spread() -> None:
    low, high = t_interval([0.5, 0.5], [np.nan, 0.1], [0, 4], 0.95)
    assert np.isnan([low[0], high[0]]).all()
    assert (low[1], high[1]) == pytest.approx((0.5 - 0.27764, 0.5 + 0.27764), abs=1e-5)


# Newcombe (1998), Statistics in Medicine 17, Table I, method 3.
@pytest.mark.parametrize(
    ("x", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_is_newcombes_method_3(x: int, n: int, low: float, high: float) -> None:
    bounds = wilson_interval([x], [n], 0.95)
    assert (bounds[0][0], bounds[1][0]) == pytest.approx((low, high), abs=5e-5)


def test_wilson_stays_inside_and_touches_the_ends() -> None:
    low, high = wilson_interval([0, 7, 0], [7, 7, 0], 0.95)
    assert low[0] == 0
    assert high[1] == 1
    assert np.isnan([low[2], high[2]]).all()


@pytest.mark.parametrize(("n", "df"), [(5, 4), (30, 29), (200, 199)])
def test_logit_at_one_is_clopper_pearson(n: int, df: int) -> None:
    low, high = logit_t_interval([1.0, 0.0], [0.0, 0.0], [df, df], 0.95)
    assert low[0] ** n == pytest.approx(0.025)  # n agreeing units have probability α/2 at the bound
    assert (1 - high[1]) ** n == pytest.approx(0.025)
    assert (high[0], low[1]) == (1.0, 0.0)


def test_logit_is_the_delta_method() -> None:
    low, high = logit_t_interval([0.9], [0.03], [24], 0.95)
    for bound, sign in ((low[0], -1), (high[0], 1)):
        moved = math.log(0.9 / 0.1) + sign * 2.0638986 * 0.03 / 0.09
        assert bound == pytest.approx(1 / (1 + math.exp(-moved)), abs=1e-7)


def test_logit_without_units_has_no_bounds() -> None:
    low, high = logit_t_interval([1.0, 0.5, np.nan], [np.nan, np.nan, 0.1], [0, 0, 9], 0.95)
    assert np.isnan([low, high]).all()


def test_standard_error_of_cells_is_that_of_items() -> None:
    items = np.array([1.0, 1.0, 1.0, 0.5, 0.5, 0.25])
    cells, count = np.unique(items, return_counts=True)
    error, df = standard_error(cells - items.mean(), count)
    assert error[0] == pytest.approx(items.std(ddof=1) / math.sqrt(6))
    assert df[0] == 5


def cr2_by_matrices(values: np.ndarray, cluster: np.ndarray) -> tuple[float, float]:
    """Bell and McCaffrey's variance of a mean, item by item, and its degrees of freedom under cluster effects."""
    n, names = len(values), np.unique(cluster)
    residual, variance = values - values.mean(), 0.0
    share = np.array([np.mean(cluster == name) for name in names])
    for name in names:
        own = cluster == name
        roots, vectors = np.linalg.eigh(np.eye(own.sum()) - 1 / n)
        variance += (vectors @ np.diag(roots**-0.5) @ vectors.T @ residual[own]).sum() ** 2 / n**2
    # The variance is a quadratic form in the clusters' effects: Σ λ and Σ λ² of its matrix match a chi-square.
    form = np.diag(share / np.sqrt(1 - share)) @ (np.eye(len(names)) - share)
    roots = np.linalg.eigvalsh(form @ form.T)
    return math.sqrt(variance), roots.sum() ** 2 / (roots**2).sum()


def test_standard_error_over_clusters_is_cr2() -> None:
    rng = np.random.default_rng(4)
    x, count = rng.normal(size=60), rng.integers(1, 4, 60)
    group, cluster = rng.integers(0, 3, 60), rng.integers(-2, 8, 60) * 10**9
    for labels in (cluster, cluster // 10**9):  # far apart and dense labels take different ways
        influence = np.empty(60)
        expected = []
        for g in range(3):
            at = group == g
            influence[at] = x[at] - np.average(x[at], weights=count[at])
            expected.append(cr2_by_matrices(np.repeat(x[at], count[at]), np.repeat(labels[at], count[at])))
        error, df = standard_error(influence, count, group=group, groups=4, cluster=labels)
        assert list(zip(error[:3], df[:3], strict=True)) == [pytest.approx(pair) for pair in expected]
        assert np.isnan(error[3])


@pytest.mark.parametrize("sizes", [[1, 1], [5, 1], [999, 1], [999, 1, 1], [3] * 7, [100, 50, 25, 12, 6, 3, 1]])
def test_degrees_of_freedom_follow_the_sizes(sizes: list[int]) -> None:
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    x = np.random.default_rng(5).normal(size=len(cluster))
    error, df = standard_error(x - x.mean(), np.ones(len(x)), cluster=cluster)
    assert (error[0], df[0]) == pytest.approx(cr2_by_matrices(x, cluster), rel=1e-6)
    assert 1 <= df[0] <= len(sizes) - 1
    if len(set(sizes)) == 1:
        assert df[0] == len(sizes) - 1


@pytest.mark.parametrize(
    ("clusters", "spread", "correlation"), [(20, 1.0, 0.2), (20, 1.5, 0.5), (200, 1.5, 0.9), (10, 2.0, 0.5)]
)
def test_uneven_clusters_keep_their_promise(clusters: int, spread: float, correlation: float) -> None:
    """Sizes are lognormal; degrees of freedom of clusters less one would cover .79 to .91 here."""
    rng = np.random.default_rng(6)
    held, repeats = 0, 600
    for _ in range(repeats):
        sizes = np.maximum(1, np.round(np.exp(rng.normal(2, spread, clusters)))).astype(int)
        cluster = np.repeat(np.arange(clusters), sizes)
        effect = rng.normal(size=clusters)[cluster]
        x = math.sqrt(correlation) * effect + math.sqrt(1 - correlation) * rng.normal(size=len(cluster))
        error, df = standard_error(x - x.mean(), np.ones(len(x)), cluster=cluster)
        low, high = t_interval(x.mean(), error, df, 0.95)
        held += bool(low[0] <= 0 <= high[0])
    assert held / repeats >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / repeats)


def test_clusters_of_one_item_change_nothing() -> None:
    x = np.random.default_rng(1).normal(size=12)
    plain = standard_error(x - x.mean(), np.ones(12))
    single = standard_error(x - x.mean(), np.ones(12), cluster=np.arange(12))
    assert single[0] == pytest.approx(plain[0])
    assert single[1] == plain[1]


def test_cells_without_items_are_no_cluster() -> None:
    error, df = standard_error([0.5, -0.5, 9.0], [1, 1, 0], cluster=np.array([0, 1, 2]))
    assert (error[0], df[0]) == (pytest.approx(0.5), 1)


def test_one_unit_has_no_standard_error() -> None:
    assert np.isnan(standard_error([0.0], [1])[0][0])
    assert np.isnan(standard_error([0.1, -0.1], [1, 1], cluster=np.array([7, 7]))[0][0])
    assert np.isnan(standard_error([], [], cluster=np.array([], dtype=int))[0][0])


def brute_force_delong(
    pos: np.ndarray, neg: np.ndarray, offsets: np.ndarray, cluster: np.ndarray
) -> tuple[float, float]:
    wins = np.array([[(p > q) + 0.5 * (p == q) for q in neg] for p in pos])
    auc = wins.mean()
    label = np.repeat(cluster, np.diff(offsets))
    labels = np.unique(cluster)
    total = 0.0
    for c in labels:
        mine = np.sum(wins.mean(axis=1)[cluster == c] - auc) / len(pos)
        theirs = np.sum(wins.mean(axis=0)[label == c] - auc) / len(neg)
        total += (mine + theirs) ** 2
    return auc, math.sqrt(len(labels) / (len(labels) - 1) * total)


@pytest.mark.parametrize("seed", range(20))
def test_delong_by_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 9))
    offsets = np.concatenate(
        (
            [0],
            np.cumsum(rng.integers(0, 5, m)),
        )
    )
    offsets[-1] += 2  # at least two negatives
    pos, neg = rng.integers(0, 5, m).astype(np.float32), rng.integers(0, 5, offsets[-1]).astype(np.float64)
    for cluster in (np.arange(m), np.arange(m) // 2):
        auc, error, df = delong(pos, neg, offsets, cluster=cluster)
        assert (auc, error) == pytest.approx(brute_force_delong(pos, neg, offsets, cluster))
        assert 1 <= df <= len(np.unique(cluster)) - 1
    assert delong(pos, neg, offsets) == pytest.approx(delong(pos, neg, offsets, cluster=np.arange(m)))
    auc, error, df = delong(pos, neg)
    wins = (pos[:, None] > neg) + 0.5 * (pos[:, None] == neg)
    spread = wins.mean(axis=1).var(ddof=1) / m + wins.mean(axis=0).var(ddof=1) / len(neg)
    assert (auc, error, df) == pytest.approx((wins.mean(), math.sqrt(spread), min(m, len(neg)) - 1))


def test_delong_counts_the_units_that_carry_the_error() -> None:
    """One query of a hundred holds all discordant pairs: its kurtosis leaves about two degrees of freedom."""
    pos, neg, offsets = np.arange(101.0, 201.0), np.arange(100.0), np.arange(101)
    assert delong(pos, neg, offsets) == (1.0, 0.0, 99)
    auc, error, df = delong(np.append(pos[:-1], -1.0), neg, offsets)
    assert auc == pytest.approx(0.99)
    assert 2 < df < 2.1
    assert error > 0


def test_delong_does_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    pos, neg, offsets = rng.normal(size=50), rng.normal(size=500).round(1), np.arange(51) * 10
    whole = delong(pos, neg, offsets)
    monkeypatch.setattr("graphgauge.old.stats.intervals._BLOCK", 7)
    assert delong(pos, neg, offsets) == whole


def test_delong_extremes() -> None:
    assert delong(np.array([np.inf, 2.0]), np.array([-np.inf, 1.0]))[:2] == (1.0, 0.0)
    assert delong(np.zeros(3), np.zeros(4))[:2] == (0.5, 0.0)
    assert np.isnan(delong(np.zeros(0), np.zeros(4))[0])
    assert np.isnan(delong(np.zeros(1), np.zeros(4))[1])


def test_percentile_interval_by_full_enumeration() -> None:
    """All 4⁴ resamples of four items, each equally likely: the percentiles are known exactly."""
    items = np.array([0.0, 1.0, 1.0, 3.0])
    means = np.sort([np.mean(draw) for draw in itertools.product(items, repeat=4)])
    drawn = np.random.default_rng(1).choice(items, size=(40_000, 4)).mean(axis=1)
    low, high = percentile_interval(drawn, 4, 1, 0.5)
    outside = 0.18856  # Φ(−√(4/3)·0.76489): Student's quartile at 3 df from the table, widened by √(n/(n−1))
    assert low == pytest.approx(np.quantile(means, outside), abs=0.01)
    assert high == pytest.approx(np.quantile(means, 1 - outside), abs=0.01)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95])
def test_confidence_outside_the_unit_interval(confidence: float) -> None:
    with pytest.raises(OptionError, match="between 0 and 1"):
        t_interval([0.5], [0.1], [4], confidence)


def test_agreement_interval_by_hand() -> None:
    """Ten units that all score 0.5 of [0, 1]: with confidence at most a share s differs, (1 − s)¹⁰ = α/2."""
    low, high = agreement_interval([0.5], [10], (0.0, 1.0), 0.95)
    share = 1 - 0.025 ** (1 / 10)
    assert (low[0], high[0]) == pytest.approx((0.5 - 0.5 * share, 0.5 + 0.5 * share))
    assert np.isnan(agreement_interval([0.5], [0], (0.0, 1.0), 0.95)).all()


def test_clusters_may_be_labelled_by_hashes():
    draw = np.random.default_rng(8)
    influence, cluster = draw.normal(size=40), np.repeat(np.arange(20), 2)
    hashes = draw.integers(np.iinfo(np.int64).min, np.iinfo(np.int64).max, 20)[cluster]
    group = np.arange(40) % 3
    options = {"group": group, "groups": 3}
    plain = standard_error(influence, np.ones(40), cluster=cluster, **options)
    hashed = standard_error(influence, np.ones(40), cluster=hashes, **options)
    np.testing.assert_allclose(hashed[0], plain[0], rtol=1e-12)
    np.testing.assert_array_equal(hashed[1], plain[1])


def equal_on_paper(size: float, n: int) -> np.ndarray:
    """The same number, computed in three ways."""
    ways = np.array([0.3, 0.1 + 0.2, 0.1 * 3]) * size
    assert len(set(ways.tolist())) > 1
    return np.resize(ways, n)


SIZES = [1e-100, 1e-20, 1e-3, 1.0, 1e6, 1e100]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("units", [2, 3, 5, 7, 5_000])
def test_what_is_equal_up_to_rounding_has_no_interval(units: int, size: float) -> None:
    """The mean of three times 0.1 is not 0.1 in its last bits, which is no spread; neither is 0.3 beside 0.1 + 0.2."""
    for values in (np.full(units, 0.1 * size), equal_on_paper(size, units)):
        away = values - values.mean()
        assert np.isnan(mean_interval([values.mean()], away, None, 0.95, scale=0.0)).all()
        assert sample_interval(values, 0.95, "seeds") is None
        assert sample_std(values) == 0
        assert np.isnan(percentile_interval(values, units, 1, 0.95)).all()


@pytest.mark.parametrize("units", [3, 6, 7])
def test_only_at_an_end_of_the_scale_does_the_number_of_equal_units_bound_the_others(units: int) -> None:
    """As for a share of 0 or 1 (Clopper and Pearson), whether or not the mean is 1 to the last bit."""
    share = 1 - 0.025 ** (1 / units)
    for value, expected in ((1.0, (1 - share, 1.0)), (0.0, (0.0, share)), (1 - 1e-16, (1 - share, 1.0))):
        values = np.full(units, value)
        bounds = mean_interval([values.mean()], values - values.mean(), (0.0, 1.0), 0.95)
        assert (bounds[0][0], bounds[1][0]) == pytest.approx(expected)
    for value in (0.1, 0.5, 1 - 1e-9):
        values = np.full(units, value)
        assert np.isnan(mean_interval([values.mean()], values - values.mean(), (0.0, 1.0), 0.95)).all()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("units", [2, 5, 5_000])
def test_a_spread_of_a_millionth_is_no_rounding(units: int, size: float) -> None:
    values = 0.1 * size * (1 + 1e-6 * (np.arange(units) % 2))
    interval = sample_interval(values, 0.95, "seeds")
    assert interval is not None
    assert interval.low < values.mean() < interval.high
    assert sample_std(values) == pytest.approx(values.std(ddof=1), rel=1e-12)
    low, high = mean_interval([values.mean()], values - values.mean(), None, 0.95, scale=0.0)
    assert (low[0], high[0]) == pytest.approx(tuple(interval), rel=1e-12)


@pytest.mark.parametrize("n", [10**6, 10**7])
def test_the_error_of_a_long_sum_is_no_spread(n: int) -> None:
    """Added one after the other, a million times 0.1 is 1.3e-11 too much, which the mean inherits."""
    values = np.full(n, 0.1)
    mean = float(np.bincount(np.zeros(n, np.int64), values)[0]) / n
    assert abs(mean - 0.1) > 1e-12
    assert np.isnan(mean_interval([mean], values - mean, None, 0.95, scale=0.0)).all()


@pytest.mark.parametrize("share", [1e-3, 0.02, 0.5, 0.999])
def test_equal_shares_have_no_interval_on_the_logit_scale(share: float) -> None:
    values = equal_on_paper(share / 0.3, 46)
    error, df = standard_error(values - values.mean(), np.ones(46))
    assert error[0] > 0
    assert np.isnan(logit_t_interval([values.mean()], error, df, 0.95)).all()


def test_nearly_all_by_rounding_is_all() -> None:
    """Shares that add up to 1 but for the last bit have the bound of those that add up to 1."""
    for p, whole in ((1 - 2**-52, 1.0), (1e-17, 0.0)):
        found, expected = (logit_t_interval([value], [1e-17], [9], 0.95) for value in (p, whole))
        assert np.array_equal(found, expected)


def test_runs_have_intervals_within_the_bounds_of_their_metric() -> None:
    scores = np.array([0.02, 0.4, 0.9])
    assert sample_interval(scores, 0.95, "seeds").low < 0
    low, high = sample_interval(scores, 0.95, "seeds", (0.0, 1.0))
    assert (low, high) == (0, 1)


def test_mean_interval_is_students_where_units_differ() -> None:
    x = np.array([0.2, 0.4, 0.9])
    low, high = mean_interval([x.mean()], x - x.mean(), (0.0, 1.0), 0.95)
    margin = 4.302653 * x.std(ddof=1) / math.sqrt(3)
    assert (low[0], high[0]) == pytest.approx((x.mean() - margin, x.mean() + margin), abs=1e-6)


def test_a_sample_without_spread_has_no_interval() -> None:
    assert math.isnan(sample_std(np.array([1.0])))
    assert math.isnan(sample_std(np.array([1.0, np.inf])))
    assert sample_interval(np.array([1.0]), 0.95, "seeds") is None
    assert sample_interval(np.array([1.0, np.inf]), 0.95, "seeds") is None


@given(
    values=arrays(float, st.integers(3, 30), elements=st.floats(0, 1)),
    at_ends=st.sampled_from([0.0, 0.05]),
    ends=st.sampled_from([(0.0, 1.0), (-0.5, 2.0), (-1e3, 1e3), (-np.inf, 1.0), (0.5, 0.5)]),
    confidence=st.sampled_from([0.5, 0.95, 0.999]),
)
def test_one_score_interval_has_the_bits_of_several(
    values: np.ndarray, at_ends: float, ends: tuple[float, float], confidence: float
) -> None:
    """Single intervals are computed in Python's numbers, several in arrays."""
    value = values.mean()
    one = spread(values - value, np.ones(len(values)))
    two = Spread(*(np.repeat(column, 2) for column in one))
    single = score_interval(np.array([value]), one, ends, confidence, at_ends=at_ends)
    several = score_interval(np.array([value, value]), two, ends, confidence, at_ends=at_ends)
    for first, second in zip(single, several, strict=True):
        np.testing.assert_array_equal(np.repeat(first, 2), second)


@given(
    cells=st.lists(st.tuples(st.integers(-64, 64), st.integers(0, 5)), max_size=12),
    most=st.sampled_from([None, 1.0, 7.0, 40.0]),
)
def test_one_spread_has_the_bits_of_several(cells: list[tuple[int, int]], most: float | None) -> None:
    """In eighths, so that sums are exact in any order."""
    influence = np.array([cell[0] / 8 for cell in cells])
    count = np.array([cell[1] for cell in cells], dtype=float)
    single = spread(influence, count, most=most)
    group = np.repeat([0, 1], len(cells))
    several = spread(np.tile(influence, 2), np.tile(count, 2), group=group, groups=2, most=most)
    for one, two in zip(single, several, strict=True):
        np.testing.assert_array_equal(np.repeat(one, 2), two)


@given(value=st.sampled_from([0.0, 0.25, 1.0]), units=st.integers(1, 40), at_ends=st.sampled_from([0.0, 0.05]))
def test_one_interval_of_equal_units_has_the_bits_of_several(value: float, units: int, at_ends: float) -> None:
    one = spread(np.zeros(1), np.array([units]))
    two = Spread(*(np.repeat(column, 2) for column in one))
    single = score_interval([value], one, (0.0, 1.0), 0.95, at_ends=at_ends)
    several = score_interval([value, value], two, (0.0, 1.0), 0.95, at_ends=at_ends)
    for first, second in zip(single, several, strict=True):
        np.testing.assert_array_equal(np.repeat(first, 2), second)


@given(n=st.integers(0, 10**7), share=st.floats(0, 1), confidence=st.sampled_from([0.5, 0.95, 0.999]))
@example(n=5, share=0.0, confidence=0.95)
@example(n=5, share=1.0, confidence=0.95)
def test_one_wilson_interval_has_the_bits_of_several(n: int, share: float, confidence: float) -> None:
    successes = round(share * n)
    single = wilson_interval(successes, n, confidence)
    several = wilson_interval([successes] * 2, [n] * 2, confidence)
    for first, second in zip(single, several, strict=True):
        np.testing.assert_array_equal(np.repeat(first, 2), second)


def test_empty_cells_do_not_show_a_spread() -> None:
    cells = Masses.of([3, 0, 3])
    found = spread([-1.0, 9.0, 1.0], cells)
    assert (found.lowest[0], found.highest[0], found.units[0]) == (-1.0, 1.0, 6.0)
