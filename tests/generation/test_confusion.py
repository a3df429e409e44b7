from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from graphgauge.generation.metrics.conditioning import bootstrapped_compositions, compositions, condition_number

Floats = NDArray[np.float64]


def ladder(k: int, right: float) -> Floats:
    """A classifier that is right with this probability and else one step off."""
    shares = np.eye(k) * right
    for i in range(k):
        beside = [j for j in (i - 1, i + 1) if 0 <= j < k]
        for j in beside:
            shares[i, j] += (1 - right) / len(beside)
    return shares


def test_the_true_composition_comes_back() -> None:
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(6), 4)
    shares = ladder(6, 0.8)
    found = compositions(np.rint(shares * 10**6).astype(int), np.rint(truth @ shares * 10**6).astype(int))
    np.testing.assert_allclose(found, truth, atol=2e-4)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_maximum_of_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    confusion = np.array([rng.multinomial(80, row) for row in ladder(4, 0.7)])
    predicted = rng.multinomial(50, rng.dirichlet(np.ones(4)))
    found = compositions(confusion, predicted[np.newaxis])[0]
    shares = confusion / confusion.sum(axis=1, keepdims=True)

    def loss(free: Floats) -> float:
        mixture = np.exp(free - free.max())
        return float(-predicted @ np.log(mixture / mixture.sum() @ shares + 1e-300))

    best = min(minimize(loss, rng.standard_normal(4), method="BFGS").fun for _ in range(5))
    assert -predicted @ np.log(found @ shares + 1e-300) == pytest.approx(best, abs=1e-4)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)


def test_where_the_inverse_leaves_the_simplex_this_stays_on_it() -> None:
    confusion, predicted = np.array([[9, 1], [1, 9]]), np.array([[100, 0]])
    inverse = np.linalg.solve((confusion / 10).T, predicted[0] / 100)
    assert inverse.min() < 0
    np.testing.assert_allclose(compositions(confusion, predicted), [[1.0, 0.0]], atol=1e-6)


def test_a_generator_that_does_what_was_asked_is_seen_through_a_classifier_that_errs() -> None:
    rng = np.random.default_rng(1)
    shares = ladder(5, 0.75)
    confusion = np.array([rng.multinomial(2000, row) for row in shares])
    asked = np.array([rng.multinomial(500, row) for row in shares])
    raw = np.diag(asked).sum() / asked.sum()
    assert raw == pytest.approx(0.75, abs=0.03)
    assert np.diag(compositions(confusion, asked)).mean() > 0.95
    ignored = np.array([rng.multinomial(500, shares.mean(axis=0)) for _ in range(5)])
    assert np.diag(compositions(confusion, ignored)).mean() == pytest.approx(0.2, abs=0.05)


def test_bootstrap_covers_the_truth_and_grows_with_the_noise() -> None:
    rng = np.random.default_rng(2)
    shares, truth = ladder(3, 0.85), np.array([[0.7, 0.2, 0.1]])
    covered, widths = 0, []
    for _ in range(60):
        confusion = np.array([rng.multinomial(150, row) for row in shares])
        predicted = np.array([rng.multinomial(150, truth[0] @ shares)])
        drawn = bootstrapped_compositions(confusion, predicted, draws=200, generator=rng)[:, 0, 0]
        low, high = np.quantile(drawn, [0.025, 0.975])
        covered += low <= 0.7 <= high
        widths.append(high - low)
    assert covered >= 51  # 57 of 60 expected; as few as 50 come once in a thousand runs at 95 %
    small = bootstrapped_compositions(confusion // 10, predicted, draws=200, generator=rng)[:, 0, 0]
    assert np.subtract(*np.quantile(small, [0.975, 0.025])) > np.mean(widths)


def test_condition_numbers() -> None:
    assert condition_number(np.eye(4) * 7) == pytest.approx(1.0)
    assert condition_number(ladder(14, 0.9) * 1000) < 10
    assert condition_number(ladder(14, 0.4) * 1000) > 10
    assert condition_number(np.array([[5, 5], [7, 7]])) > 1e12
    for empty in (np.array([[1, 0], [0, 0]]), np.zeros((0, 0)), np.zeros((2, 3))):
        assert math.isinf(condition_number(empty))
    # The rows are shares: how many real samples each condition has does not matter.
    assert condition_number(np.array([[900, 100], [1, 9]])) == pytest.approx(
        condition_number(np.array([[9, 1], [1, 9]]))
    )


def test_nothing_asked_or_nothing_known() -> None:
    confusion, predicted = np.array([[8, 2], [1, 9]]), np.array([[0, 0], [3, 4]])
    kept = confusion.copy(), predicted.copy()
    found = compositions(confusion, predicted)
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    assert np.isnan(compositions(np.array([[8, 2], [0, 0]]), predicted)).all()
    drawn = bootstrapped_compositions(confusion, predicted, draws=7, generator=np.random.default_rng(0))
    assert drawn.shape == (7, 2, 2)
    assert np.isnan(drawn[:, 0]).all()
    np.testing.assert_array_equal(confusion, kept[0])
    np.testing.assert_array_equal(predicted, kept[1])


def test_an_answer_that_no_real_sample_has_got_says_nothing() -> None:
    confusion = np.array([[9, 1, 0], [1, 9, 0], [1, 1, 0]])
    found = compositions(confusion, np.array([[9, 1, 5], [0, 0, 4]]))
    np.testing.assert_allclose(found[0].sum(), 1.0)
    np.testing.assert_allclose(found[0, 0], 1.0, atol=1e-3)
    np.testing.assert_allclose(found[1], [1 / 3] * 3)
