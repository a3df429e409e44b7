"""Wasserstein distances against SciPy, and those between two draws from one sample."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from graphgauge.generation.distances import null_distances, spreads, wasserstein

Floats = NDArray[np.float64]


def by_scipy(
    real: Floats, generated: Floats, real_codes: NDArray[np.int64], codes: NDArray[np.int64], c: int
) -> Floats:
    found = np.full((c, real.shape[1]), np.nan)
    for code in range(c):
        ours, theirs = real[real_codes == code], generated[codes == code]
        if len(ours) and len(theirs):
            found[code] = [wasserstein_distance(a, b) for a, b in zip(ours.T, theirs.T, strict=True)]
    return found


@pytest.mark.parametrize("kind", ["whole", "any", "both", "wide"])
@pytest.mark.parametrize(("n", "m", "conditions"), [(1, 1, 1), (40, 90, 3), (500, 70, 14), (3, 4, 9)])
def test_against_scipy(kind: str, n: int, m: int, conditions: int) -> None:
    rng = np.random.default_rng(n)
    real, generated = rng.poisson(8, (n, 6)) - 3.0, rng.poisson(9, (m, 6)) - 4.0
    if kind in ("any", "both"):
        columns = slice(None, None, 1 if kind == "any" else 2)
        real[:, columns] += rng.random(real[:, columns].shape)
        generated[:, columns] *= 0.7
    if kind == "wide":
        real *= 10**9
        generated *= 10**9
    real_codes, codes = rng.integers(0, conditions, n), rng.integers(0, conditions, m)
    for array in (real, generated, real_codes, codes):
        array.flags.writeable = False
    found = wasserstein(real, generated, real_codes, codes, conditions)
    expected = by_scipy(real, generated, real_codes, codes, conditions)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


WHOLE = st.lists(st.tuples(st.integers(0, 2), st.integers(-5, 5)), min_size=1, max_size=25)


@pytest.mark.hypothesis
@given(WHOLE, WHOLE)
@settings(max_examples=60)
def test_drawn_whole_numbers(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    (real_codes, real), (codes, generated) = (np.array(side).T for side in (ours, theirs))
    arguments = (real[:, np.newaxis] * 1.0, generated[:, np.newaxis] * 1.0, real_codes, codes, 3)
    np.testing.assert_allclose(wasserstein(*arguments), by_scipy(*arguments), rtol=1e-12, atol=1e-13)


def test_the_order_of_rows_changes_no_bit() -> None:
    rng = np.random.default_rng(0)
    real, generated = rng.standard_normal((80, 3)), rng.standard_normal((60, 3))
    real[:, 0], generated[:, 0] = rng.integers(0, 9, 80), rng.integers(0, 9, 60)
    real_codes, codes = rng.integers(0, 4, 80), rng.integers(0, 4, 60)
    expected = wasserstein(real, generated, real_codes, codes, 4)
    a, b = rng.permutation(80), rng.permutation(60)
    np.testing.assert_array_equal(wasserstein(real[a], generated[b], real_codes[a], codes[b], 4), expected)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (3, 0)])
def test_an_empty_side_has_no_distance(n: int, m: int) -> None:
    empty = [np.zeros(size, np.int64) for size in (n, m)]
    assert np.isnan(wasserstein(np.zeros((n, 2)), np.zeros((m, 2)), *empty, 2)).all()
    assert wasserstein(np.zeros((n, 0)), np.zeros((m, 0)), *empty, 2).shape == (2, 0)


def test_other_types_and_layouts() -> None:
    rng = np.random.default_rng(1)
    real, generated = rng.integers(0, 9, (50, 4)), rng.integers(0, 9, (70, 4))
    codes = [np.zeros(50, np.int8), np.zeros(70, np.uint8)]
    expected = by_scipy(real * 1.0, generated * 1.0, *codes, 1)
    for ours, theirs in ((real, generated), (np.asfortranarray(real), generated.astype(np.float16))):
        np.testing.assert_allclose(wasserstein(ours, theirs, *codes, 1), expected, rtol=1e-12)
    found = wasserstein(real[::2, ::-1], generated[:, ::-1], codes[0][::2], codes[1], 1)
    np.testing.assert_allclose(found, by_scipy(real[::2, ::-1], generated[:, ::-1], codes[0][::2], codes[1], 1))


def test_spreads_by_condition() -> None:
    rng = np.random.default_rng(2)
    values, codes = rng.standard_normal((60, 3)) + 1e6, rng.integers(0, 4, 60)
    values[:, 2] = 0.1  # whose mean is rounded
    std = spreads(values, codes, 5)
    for code in range(4):
        np.testing.assert_allclose(std[code, :2], values[codes == code, :2].std(axis=0), rtol=1e-9)
    assert np.isnan(std[4]).all()
    assert (std[:4, 2] == 0).all()
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(spreads(values * scale, codes, 4), std[:4] * scale, rtol=1e-6)


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
