"""Scores of events, tails and scaled errors against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from graphgauge import forecasting
from graphgauge.core.errors import OptionError

RNG = np.random.default_rng(84)
Y = RNG.normal(size=(30, 2))
MEAN, STD = Y + RNG.normal(size=Y.shape), RNG.uniform(0.5, 2, Y.shape)
SAMPLES = MEAN[..., None] + RNG.normal(size=(*Y.shape, 11))
AXES = ("time", "node")
HISTORY = RNG.normal(size=(50, 2)).cumsum(axis=0)


def tail_score(cdf: np.ndarray, y: float, grid: np.ndarray) -> float:
    """∫ (F − 1{y ≤ z})² dz over the grid."""
    return float(np.trapezoid((cdf - (y <= grid)) ** 2, grid))


@pytest.mark.parametrize("threshold", [-1.5, 0.0, 0.7])
def test_threshold_weighted_crps_and_brier(threshold: float) -> None:
    keys = [f"twcrps_{threshold:g}", f"brier_{threshold:g}"]
    gaussian = forecasting.evaluate(Y, MEAN, std=STD, axes=AXES, thresholds=threshold, metrics=keys)
    members = forecasting.evaluate(Y, samples=SAMPLES, axes=AXES, metrics=keys)
    grid = np.linspace(threshold, 12, 40_001)
    expected = [tail_score(norm.cdf(grid, m, s), y, grid) for y, m, s in zip(Y.flat, MEAN.flat, STD.flat, strict=True)]
    assert gaussian[keys[0]].value == pytest.approx(np.mean(expected), rel=2e-4)
    expected = [
        tail_score((cell[:, None] <= grid).mean(axis=0), y, grid)
        for y, cell in zip(Y.flat, SAMPLES.reshape(-1, 11), strict=True)
    ]
    assert members[keys[0]].value == pytest.approx(np.mean(expected), rel=2e-3)
    event = threshold < Y
    assert gaussian[keys[1]].value == pytest.approx(np.mean((norm.sf(threshold, MEAN, STD) - event) ** 2), rel=1e-12)
    share = (threshold < SAMPLES).mean(axis=-1)
    assert members[keys[1]].value == pytest.approx(np.mean((share - event) ** 2), rel=1e-12)
    assert gaussian[keys[1]].chance[0].value == pytest.approx(event.mean() * (1 - event.mean()))


def test_a_threshold_far_below_is_the_crps() -> None:
    found = forecasting.evaluate(Y, MEAN, std=STD, axes=AXES, thresholds=-50)
    assert found["twcrps_-50"].value == pytest.approx(found["crps"].value, rel=1e-9)
    assert found["brier_-50"].value == pytest.approx(0, abs=1e-12)


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


def test_a_state_counts_the_thresholds_that_it_was_given() -> None:
    y, mean = np.arange(12.0), np.arange(12.0) + 1
    state = forecasting.ForecastState(thresholds=[3.0]).update(y, mean, std=np.ones(12))
    assert state.evaluate(metrics=["brier_3"])["brier_3"].defined
    with pytest.raises(OptionError, match="brier_4 was not counted"):
        state.evaluate(metrics=["brier_4"])
