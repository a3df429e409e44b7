"""Scaled scores and quantile losses against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from graphgauge import forecasting

RNG = np.random.default_rng(84)
Y = RNG.normal(size=(30, 2))
MEAN, STD = Y + RNG.normal(size=Y.shape), RNG.uniform(0.5, 2, Y.shape)
SAMPLES = MEAN[..., None] + RNG.normal(size=(*Y.shape, 11))
AXES = ("time", "node")
HISTORY = RNG.normal(size=(50, 2)).cumsum(axis=0)


@pytest.mark.parametrize("form", ["gaussian", "samples", "quantiles"])
def test_scaled_interval_score(form: str) -> None:
    scale = np.abs(np.diff(HISTORY, axis=0)).mean(axis=0)
    half = norm.ppf(0.9)
    low, high = MEAN - half * STD, MEAN + half * STD
    given = {"y_pred": MEAN, "std": STD}
    if form == "quantiles":
        given = {"y_pred": MEAN, "quantiles": np.stack([low, high], axis=-1), "levels": (0.1, 0.9)}
    elif form == "samples":
        members = np.sort(SAMPLES, axis=-1)
        # Places .1·12 − 1 and .9·12 − 1 of the sorted members.
        low = members[..., 0] + 0.2 * (members[..., 1] - members[..., 0])
        high = members[..., 9] + 0.8 * (members[..., 10] - members[..., 9])
        given = {"samples": SAMPLES}
    score = (high - low) + 10 * (np.maximum(low - Y, 0) + np.maximum(Y - high, 0))
    found = forecasting.evaluate(Y, **given, axes=AXES, naive=HISTORY, coverage=0.8)
    assert found["msis_80"].value == pytest.approx((score / scale).mean(), rel=1e-9)


def test_rmsse_and_streams() -> None:
    scale = np.square(HISTORY[7:] - HISTORY[:-7]).mean(axis=0)
    expected = np.sqrt((np.square(MEAN - Y) / scale).mean())
    found = forecasting.evaluate(Y, MEAN, axes=AXES, naive=HISTORY, season=7)
    assert found["rmsse"].value == pytest.approx(expected, rel=1e-12)
    state = forecasting.ForecastState(axes=AXES, naive=HISTORY, season=7)
    for start in (0, 10, 20):
        state.update(Y[start : start + 10], MEAN[start : start + 10], start=start)
    assert state.evaluate()["rmsse"].value == pytest.approx(expected, rel=1e-12)
    # Errors that were given, not a history, have no squares.
    assert "rmsse" not in forecasting.evaluate(Y, MEAN, axes=AXES, naive=np.ones(2))


def test_quantile_losses() -> None:
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = MEAN[..., None] + np.array([-1.0, 0.0, 1.0])
    above = Y[..., None] - quantiles
    loss = np.maximum(levels * above, (levels - 1) * above)
    found = forecasting.evaluate(Y, quantiles=quantiles, levels=levels, axes=AXES)
    for place, key in enumerate(("pinball_10", "pinball_50", "pinball_90")):
        assert found[key].value == pytest.approx(loss[..., place].mean(), rel=1e-12)
    assert found["wql"].value == pytest.approx(np.mean(2 * loss.sum(axis=(0, 1)) / np.abs(Y).sum()), rel=1e-12)
