from __future__ import annotations

import itertools
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.stats import wasserstein_distance

from graphgauge.core.errors import InputError
from graphgauge.generation.distances import (
    hamming_pairs,
    jaccard_pairs,
    null_distances,
    row_ids,
    unique_at,
)

BOARD = 3 * 18 * 11


@pytest.mark.parametrize(("n", "width"), [(2, 1), (30, 594), (700, 40), (65, 64)])
@pytest.mark.parametrize("density", [0.02, 0.5])
def test_means_and_spreads_of_pairs_against_scipy(n: int, width: int, density: float) -> None:
    bits = np.random.default_rng(n).random((n, width)) < density
    for ours, metric, scale in ((hamming_pairs(bits), "hamming", width), (jaccard_pairs(bits), "jaccard", 1)):
        distances = pdist(bits, metric) * scale
        assert ours.mean == pytest.approx(distances.mean(), rel=1e-12)
        assert ours.std == pytest.approx(distances.std(), rel=1e-9, abs=1e-12)
        rows = squareform(distances).sum(axis=1) / (n - 1)
        np.testing.assert_allclose(ours.row_means, rows, rtol=1e-9, atol=1e-11)


def test_nothing_is_lost_where_almost_all_pairs_are_alike() -> None:
    bits = np.zeros((3000, 594), np.bool_)
    bits[0, 0] = True
    pairs = 3000 * 2999 // 2
    found = hamming_pairs(bits)
    share = 2999 / pairs
    assert found.mean == share
    assert found.std == pytest.approx(math.sqrt(share * (1 - share)), rel=1e-14)
    assert hamming_pairs(np.ones((50, 7), np.bool_)).std == jaccard_pairs(np.ones((50, 7), np.bool_)).std == 0.0


def test_two_problems_of_eleven_holds_cannot_be_far_apart() -> None:
    """A target of 0.3 for the share of differing cells would be out of reach."""
    bits = np.zeros((2, BOARD), np.bool_)
    bits[0, :11], bits[1, 11:22] = True, True
    assert hamming_pairs(bits).mean / BOARD == pytest.approx(0.037, abs=5e-4)
    assert jaccard_pairs(bits).mean == 1.0


@pytest.mark.parametrize("n", [0, 1])
def test_no_pair_has_no_distance(n: int) -> None:
    for found in (hamming_pairs(np.zeros((n, 4), np.bool_)), jaccard_pairs(np.zeros((n, 4), np.bool_))):
        assert math.isnan(found.mean)
        assert math.isnan(found.std)
        assert found.row_means.shape == (n,)


def test_samples_without_a_bit_are_alike() -> None:
    for bits in (np.zeros((3, 5), np.bool_), np.zeros((3, 0), np.bool_)):
        for found in (hamming_pairs(bits), jaccard_pairs(bits)):
            assert (found.mean, found.std, found.row_means.tolist()) == (0.0, 0.0, [0.0] * 3)


@pytest.mark.parametrize("samples", [np.zeros((3, 4)), np.zeros((3, 4), np.uint8), np.zeros(3, np.bool_)])
def test_rows_of_bits_only(samples: NDArray[np.generic]) -> None:
    for function in (hamming_pairs, jaccard_pairs, row_ids):
        with pytest.raises(InputError, match="rows of bits"):
            function(samples)  # type: ignore[arg-type]


@given(hnp.arrays(np.bool_, st.tuples(st.integers(0, 12), st.just(3))), hnp.arrays(np.bool_, (5, 3)))
@settings(max_examples=60)
def test_ids_are_equal_where_rows_are(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> None:
    ids = np.concatenate(row_ids(first, second)).tolist()
    rows = [tuple(row) for row in np.concatenate([first, second]).tolist()]
    for (a, left), (b, right) in combinations(zip(ids, rows, strict=True), 2):
        assert (a == b) == (left == right)
    assert [len(part) for part in row_ids(first, second)] == [len(first), 5]


def test_ids_of_wide_rows_against_numpy() -> None:
    rng = np.random.default_rng(0)
    distinct = rng.random((40, BOARD)) < 0.02
    bits = distinct[rng.integers(0, 40, 500)]
    (ids,) = row_ids(bits)
    assert len(np.unique(ids)) == len(np.unique(bits, axis=0))
    assert row_ids(np.zeros((4, 0), np.bool_))[0].tolist() == [0] * 4
    with pytest.raises(InputError, match="3 and 4 bits"):
        row_ids(np.zeros((1, 3), np.bool_), np.zeros((1, 4), np.bool_))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7))
@settings(max_examples=60)
def test_unique_at_k_is_the_mean_over_all_subsets(ids: list[int]) -> None:
    for k in range(1, len(ids) + 1):
        shares = [len(set(subset)) / k for subset in combinations(ids, k)]
        assert unique_at(np.array(ids), k) == pytest.approx(math.fsum(shares) / len(shares), rel=1e-13)


def test_unique_at_k_beyond_the_samples_or_below_one() -> None:
    assert math.isnan(unique_at(np.array([1, 2]), 3))
    assert math.isnan(unique_at(np.array([1, 2]), 0))
    assert math.isnan(unique_at(np.array([], np.int64), 1))
    assert unique_at(np.repeat(0, 10**5), 1000) == pytest.approx(1e-3, rel=1e-12)
    assert unique_at(np.arange(10**5), 1000) == pytest.approx(1.0, rel=1e-12)


# ---------------------------------------------------------------------------------------------------- resampling


def test_null_of_poisson_counts_lies_where_it_should() -> None:
    """Poisson(8), 100 against 100: about .49 on average, .85 at the 95th percentile."""
    rng = np.random.default_rng(0)
    real = rng.poisson(8, (100 * 40, 1)).astype(float)
    codes = np.repeat(np.arange(40), 100)
    nulls = null_distances(real, codes, np.full(40, 100), np.full(40, 100), draws=500, generator=rng).distances
    assert nulls.shape == (500, 40, 1)
    assert nulls.mean() == pytest.approx(0.48, abs=0.03)
    assert np.quantile(nulls, 0.95) == pytest.approx(0.84, abs=0.04)


def test_scales_are_those_of_the_draw_that_stands_for_the_real_samples() -> None:
    values = (0.0, 1.0, 3.0)
    real = np.array([[value, 5.0, 0.1 + 0.2 if value else 0.3] for value in values])
    drawn = null_distances(
        real, np.zeros(3, int), np.array([2]), np.array([3]), draws=4000, generator=np.random.default_rng(2)
    )
    # Of a draw without spread, the scale is that of both draws together; every pair of draws is met.
    possible = set()
    for second in itertools.product(values, repeat=3):
        for first in itertools.product(values, repeat=2):
            scale = float(np.std(second)) or float(np.std(first + second))
            possible.add((round(wasserstein_distance(first, second), 9), round(scale, 9)))
    found = np.column_stack([drawn.distances[:, 0, 0], drawn.scales[:, 0, 0]]).round(9)
    assert {(distance, scale) for distance, scale in found.tolist()} == possible
    assert not drawn.scales[:, 0, 1].any()
    assert not drawn.scales[:, 0, 2].any()  # they differ by rounding alone


@pytest.mark.parametrize("size", [7, 400])  # drawn one by one, and as a multinomial
def test_draws_are_those_of_resampled_rows(size: int) -> None:
    rng = np.random.default_rng(1)
    real = rng.integers(0, 3, (30, 2)).astype(float)
    drawn = null_distances(
        real, np.zeros(30, np.int64), np.array([size]), np.array([30]), draws=3000, generator=rng
    ).distances[:, 0]
    by_hand = []
    for _ in range(1500):
        a, b = real[rng.integers(0, 30, size)], real[rng.integers(0, 30, 30)]
        by_hand.append([wasserstein_distance(a[:, column], b[:, column]) for column in range(2)])
    np.testing.assert_allclose(drawn.mean(axis=0), np.mean(by_hand, axis=0), atol=0.012)
    np.testing.assert_allclose(drawn.std(axis=0), np.std(by_hand, axis=0), atol=0.012)
    # Rows are drawn with all their statistics.
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(np.transpose(by_hand))[0, 1], abs=0.1)


def test_the_same_seed_gives_the_same_draws_and_conditions_without_rows_none() -> None:
    real, codes = np.arange(12.0).reshape(6, 2), np.array([0, 0, 0, 0, 2, 2])
    both = (
        null_distances(
            real, codes, np.array([5, 5, 0]), np.array([4, 0, 2]), draws=20, generator=np.random.default_rng(4)
        )
        for _ in range(2)
    )
    for first, second in zip(*both, strict=True):
        np.testing.assert_array_equal(first, second)
        assert np.isnan(first[:, 1:]).all()
        assert not np.isnan(first[:, 0]).any()


def test_blocks_of_draws_change_nothing_but_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.generation.distances._BLOCK", 50)
    real = np.random.default_rng(5).standard_normal((20, 1))
    sizes = np.array([20])
    draws = null_distances(real, np.zeros(20, np.int64), sizes, sizes, draws=101, generator=np.random.default_rng(6))
    for drawn in draws:
        assert np.isfinite(drawn).all()
        assert len(np.unique(drawn)) > 90
