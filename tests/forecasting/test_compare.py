"""Diebold and Mariano's test through `stats.compare`, on the losses that evaluations keep."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import forecasting, stats
from graphgauge.stats.errors import cosine_error

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(200, 3, 5))
ONE, OTHER = (Y + scale * RNG.normal(size=Y.shape) for scale in (1.0, 1.1))


def test_losses_are_compared_over_time() -> None:
    runs = {name: forecasting.evaluate(Y, mean, metrics=["mse"]) for name, mean in (("one", ONE), ("other", OTHER))}
    (pair,) = stats.compare(runs, metric="mse", over="items").pairs
    difference = (np.square(ONE - Y) - np.square(OTHER - Y)).mean(axis=(1, 2))
    assert abs(pair.difference) == pytest.approx(abs(difference.mean()), rel=1e-12)
    (error,), _ = cosine_error((difference - difference.mean())[:, None] / len(difference))
    low, high = pair.interval
    assert high - low == pytest.approx(2 * 2.306 * float(error), rel=0.35)
    assert pair.p_value < 0.01


def test_losses_of_the_user_are_compared_too() -> None:
    runs = {
        name: forecasting.evaluate(Y, scores={"brier": ((mean > 0) - (Y > 0).astype(float)) ** 2})
        for name, mean in (("one", ONE), ("none", 0 * ONE))
    }
    (pair,) = stats.compare(runs, metric="brier", over="items").pairs
    assert pair.p_value < 0.05


def test_forecasts_of_different_forms_are_compared_and_the_comparison_says_so() -> None:
    """A model with intervals may have a rival without."""
    runs = {"one": forecasting.evaluate(Y, ONE, std=np.ones(Y.shape)), "other": forecasting.evaluate(Y, OTHER)}
    comparison = stats.compare(runs, metric="mae", over="items")
    assert comparison.pairs[0].p_value < 0.01
    assert "forecast is gaussian in 1 run" in str(comparison)
