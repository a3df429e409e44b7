from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from graphgauge.kernels import wasserstein as module
from graphgauge.kernels.wasserstein import moments, wasserstein

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


@pytest.mark.hypothesis
def test_counting_and_sorting_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = st.lists(st.tuples(st.integers(0, 2), st.integers(-5, 5)), min_size=1, max_size=25)

    @given(whole, whole)
    @settings(max_examples=60)
    def check(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
        (real_codes, real), (codes, generated) = (np.array(side).T for side in (ours, theirs))
        arguments = (real[:, np.newaxis] * 1.0, generated[:, np.newaxis] * 1.0, real_codes, codes, 3)
        expected = by_scipy(*arguments)
        for cells in (10**9, 0):
            monkeypatch.setattr(module, "_CELLS_A_VALUE", cells)
            np.testing.assert_allclose(wasserstein(*arguments), expected, rtol=1e-12, atol=1e-13)

    check()


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


def test_moments_by_condition() -> None:
    rng = np.random.default_rng(2)
    values, codes = rng.standard_normal((60, 3)) + 1e6, rng.integers(0, 4, 60)
    mean, std, counts = moments(values, codes, 5)
    for code in range(4):
        np.testing.assert_allclose(mean[code], values[codes == code].mean(axis=0))
        np.testing.assert_allclose(std[code], values[codes == code].std(axis=0), rtol=1e-9)
    assert np.isnan([mean[4], std[4]]).all()
    assert counts.tolist() == [*np.bincount(codes, minlength=4).tolist(), 0]
    for scale in (1e-300, 1e300):
        huge = moments(values * scale, codes, 4)
        np.testing.assert_allclose(huge[0], mean[:4] * scale, rtol=1e-9)
        np.testing.assert_allclose(huge[1], std[:4] * scale, rtol=1e-6)
