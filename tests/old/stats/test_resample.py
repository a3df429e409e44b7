"""Interquartile mean, probability of improvement and their intervals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old.stats.resample import (
    counted_chances,
    counted_interquartile_means,
    drawn_counts,
    interquartile_mean,
    probability_of_improvement,
    stratified_bounds,
    win_matrix,
)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 8, 11])
def test_interquartile_mean_by_hand(n: int) -> None:
    scores = np.random.default_rng(n).normal(size=n)
    kept = sorted(scores)[n // 4 : n - n // 4]
    assert interquartile_mean(scores) == pytest.approx(sum(kept) / len(kept))


def test_probability_of_improvement_by_pairs() -> None:
    a, b = [1, 2, 2, 5], [2, 0, 3]
    wins = [1.0 if x > y else 0.5 if x == y else 0.0 for x, y in itertools.product(a, b)]
    assert probability_of_improvement(a, b) == pytest.approx(np.mean(wins))
    rows = probability_of_improvement(np.array([a, a[::-1]]), np.array([b, b]))
    assert rows == pytest.approx([np.mean(wins), np.mean(wins)])


def test_stratified_bounds_cover() -> None:
    """The mean over three datasets of unequal spread, five seeds each: the plain percentile would cover about .87."""
    rng = np.random.default_rng(0)
    spread = np.array([1.0, 2.0, 0.5])
    hits = 0
    for _ in range(300):
        scores = [rng.normal(0, s, 5) for s in spread]
        counts = drawn_counts([5, 5, 5], 400, rng)
        drawn = sum(count @ own for count, own in zip(counts, scores, strict=True)) / 5
        low, high = stratified_bounds(drawn[:, None], 15, 3, 0.95)
        hits += bool(low[0] <= 0 <= high[0])
    assert 0.91 <= hits / 300 <= 0.99


def test_a_resample_has_as_many_seeds_as_the_dataset() -> None:
    for size, counts in zip((1, 4, 9), drawn_counts([1, 4, 9], 50, np.random.default_rng(0)), strict=True):
        assert counts.shape == (50, size)
        assert (counts.sum(axis=1) == size).all()


def test_draws_that_are_all_equal_have_no_interval() -> None:
    low, high = stratified_bounds(np.ones((50, 2)), 6, 1, 0.9)
    assert np.isnan([low, high]).all()


def test_one_seed_has_no_interval() -> None:
    low, _ = stratified_bounds(np.random.default_rng(0).normal(size=(10, 2)), 1, 1, 0.9)
    assert np.isnan(low).all()


@pytest.mark.parametrize("n", [1, 2, 5, 11])
def test_counted_interquartile_means_are_those_of_the_resamples(n: int) -> None:
    rng = np.random.default_rng(n)
    scores = rng.normal(size=n).round(1)
    (counts,) = drawn_counts([n], 20, rng)
    expected = [interquartile_mean(np.repeat(scores, count.astype(int))) for count in counts]
    assert counted_interquartile_means(scores, counts) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_counted_chances_are_those_of_the_resamples(n: int) -> None:
    """Runs of one seed, also if it was drawn twice, are not compared."""
    rng = np.random.default_rng(n)
    scores = rng.normal(size=(3, n)).round(1)
    (counts,) = drawn_counts([n], 20, rng)
    pairs = [(0, 1), (2, 1)]
    found = counted_chances([win_matrix(scores[a], scores[b]) for a, b in pairs], counts)
    for row, count in zip(found, counts, strict=True):
        seeds = np.repeat(np.arange(n), count.astype(int))
        expected = [probability_of_improvement(scores[a][seeds], scores[b][seeds], seeds=seeds) for a, b in pairs]
        assert row == pytest.approx(np.array(expected), nan_ok=True)


@pytest.mark.parametrize("bad", [[1.0, 2.0, 3.0, 4.0, np.nan], [[1.0, np.nan], [1.0, 2.0]], [], 5.0, "x"])
def test_what_has_no_interquartile_mean(bad: object) -> None:
    """NaN sorts last, and would be cut away as if it were the best score."""
    with pytest.raises(InputError, match="scores"):
        interquartile_mean(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [[1.0, np.nan], [], 5.0, "x"])
def test_what_cannot_be_improved_upon(bad: object) -> None:
    for pair in ((bad, [1.0]), ([1.0], bad)):
        with pytest.raises(InputError, match=r"^[ab]: "):
            probability_of_improvement(*pair)  # type: ignore[arg-type]
