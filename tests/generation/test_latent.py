from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression

from graphgauge.generation.metrics.latent_space import held_out_order, spearman


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("levels", [2, 5, 10**6])
def test_spearman_with_ties_against_scipy(levels: int) -> None:
    rng = generator(levels)
    a, b = rng.integers(0, levels, 80), rng.integers(0, levels, 80) + rng.integers(0, 2, 80)
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    assert spearman(-a, b) == pytest.approx(-spearman(a, b), abs=1e-12)


@pytest.mark.parametrize(("a", "b"), [([1, 1, 1], [1, 2, 3]), ([1, 2], [5, 5]), ([1], [1]), ([], [])])
def test_a_constant_side_has_no_rank_correlation(a: list[int], b: list[int]) -> None:
    assert math.isnan(spearman(a, b))


def test_an_order_along_one_direction_is_found_where_the_silhouette_sees_little() -> None:
    rng = generator()
    codes = np.repeat(np.arange(14), 60)
    points = rng.standard_normal((len(codes), 16))
    points[:, 5] += 0.8 * codes
    points.flags.writeable = codes.flags.writeable = False
    found = held_out_order(points, codes, generator=generator(1))
    assert spearman(found, codes) > 0.9
    best = LinearRegression().fit(points, codes).predict(points)
    assert spearman(found, codes) == pytest.approx(spearman(best, codes), abs=0.02)
    assert spearman(held_out_order(-7 * points + 3, codes, generator=generator(1)), codes) == pytest.approx(
        spearman(found, codes), abs=1e-6
    )


@pytest.mark.parametrize(("n", "dimensions"), [(60, 5), (60, 59), (60, 200)])
def test_noise_has_no_held_out_order(n: int, dimensions: int) -> None:
    """Within the sample it would be perfect once there are as many dimensions as points."""
    codes = np.arange(n) % 6
    values = [
        spearman(
            held_out_order(generator(seed).standard_normal((n, dimensions)), codes, generator=generator(seed)), codes
        )
        for seed in range(40)
    ]
    assert abs(np.nanmean(values)) < 0.12


def test_more_dimensions_than_points_still_show_an_order() -> None:
    codes = np.repeat(np.arange(5), 20)
    points = generator(2).standard_normal((100, 300))
    points += np.outer(codes, generator(3).standard_normal(300)) * 0.3
    assert spearman(held_out_order(points, codes, generator=generator()), codes) > 0.7


def test_no_point_sees_itself() -> None:
    """One point far out along an own direction, with a code of its own: only itself could tell."""
    codes = np.append(np.zeros(40, np.int64), 9)
    points = np.zeros((41, 2))
    points[:40, 0] = generator().standard_normal(40)
    points[40, 1] = 1.0
    assert held_out_order(points, codes, generator=generator())[40] < 1.0


def test_folds_follow_the_seed() -> None:
    points, codes = generator(5).standard_normal((50, 4)), np.arange(50) % 5
    first, second, other = (held_out_order(points, codes, generator=generator(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_the_penalty_is_that_of_generalised_cross_validation() -> None:
    """More coordinates than can be trusted: the direction by hand, from the hat matrix of every penalty."""
    rng = np.random.default_rng(3)
    codes = np.arange(60) % 4
    points = rng.standard_normal((60, 35))
    points[:, 0] += codes
    found = held_out_order(points, codes, folds=5, generator=np.random.default_rng(0))
    fold = np.empty(60, int)
    fold[np.lexsort((np.random.default_rng(0).random(60), codes))] = np.arange(60) % 5
    for held_out in range(5):
        inside, outside = points[fold != held_out], points[fold == held_out]
        centre, scale, target = inside.mean(axis=0), inside.std(axis=0), codes[fold != held_out]
        own = (inside - centre) / scale
        best, predicted = np.inf, None
        for share in np.logspace(-8, 2, 21):
            penalty = share * np.linalg.norm(own, 2) ** 2
            solve = np.linalg.solve(own.T @ own + penalty * np.eye(35), own.T)
            hat = own @ solve + 1 / len(own)
            error = ((target - hat @ target) ** 2).sum() / (len(own) - np.trace(hat)) ** 2
            if error < best:
                weights = solve @ (target - target.mean())
                best, predicted = error, target.mean() + (outside - centre) / scale @ weights
        np.testing.assert_allclose(found[fold == held_out], predicted, rtol=1e-6)
