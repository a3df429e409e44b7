"""Interquartile mean, probability of improvement and their intervals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.stats.resample import interquartile_mean, probability_of_improvement, stratified_interval


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


def test_stratified_interval_covers() -> None:
    """The mean over three datasets of unequal spread, five seeds each: the plain percentile would cover about .87."""
    rng = np.random.default_rng(0)
    spread = np.array([1.0, 2.0, 0.5])
    hits = 0
    for _ in range(300):
        strata = [rng.normal(0, s, (1, 5)) for s in spread]
        low, high = stratified_interval(
            lambda block: sum(stratum.mean(axis=2) for stratum in block),  # type: ignore[arg-type, return-value]
            strata,
            confidence=0.95,
            seed=rng,
            resamples=400,
        )
        hits += bool(low[0] <= 0 <= high[0])
    assert 0.91 <= hits / 300 <= 0.99


def test_seeds_are_drawn_for_all_methods_at_once() -> None:
    """Two methods that differ by a constant on each seed: their difference has no spread."""
    base = np.random.default_rng(1).normal(size=6)
    drawn = []

    def difference(block: Any) -> Any:
        drawn.append(block[0].mean(axis=2) @ np.array([[1.0], [-1.0]]))
        return drawn[-1]

    low, high = stratified_interval(difference, [np.stack([base + 1, base])], confidence=0.9, seed=3, resamples=50)
    assert np.concatenate(drawn) == pytest.approx(1.0)
    assert np.isnan([low[0], high[0]]).all()  # all draws are equal


def test_one_seed_has_no_interval() -> None:
    low, _ = stratified_interval(
        lambda block: block[0].mean(axis=2), [np.ones((2, 1))], confidence=0.9, seed=0, resamples=10
    )
    assert np.isnan(low).all()


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
