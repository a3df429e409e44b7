"""Intervals under dependence in time and between nodes, and what wide inputs cost."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.signal import lfilter

from graphgauge import forecasting
from graphgauge.forecasting.serial import cosine_error, interval_error, memory_of
from graphgauge.old.stats.intervals import t_interval


def dependent(rng, steps, nodes, memory=0.8, common=0.5):
    """Standard normal errors that remember and share shocks."""
    shared = np.sqrt(common) * rng.standard_normal((steps + 60, 1))
    shocks = shared + np.sqrt(1 - common) * rng.standard_normal((steps + 60, nodes))
    return lfilter([np.sqrt(1 - memory**2)], [1.0, -memory], shocks, axis=0)[60:]


@pytest.mark.parametrize("form", ["gaussian", "quantiles", "samples"])
def test_perfect_forecasters_seldom_exceed_their_95th_percentile(form):
    rng = np.random.default_rng(1)
    keys = ["ece", "calibration_error"] if form == "gaussian" else ["calibration_error"]
    over, alone = dict.fromkeys(keys, 0), 0
    runs = 50
    for _ in range(runs):
        std = np.exp(rng.normal(0, 0.4, 10)) * np.ones((200, 1))
        y = std * dependent(rng, 200, 10)
        given = {"y_pred": np.zeros_like(y), "std": std}
        if form == "quantiles":
            levels = np.array([0.1, 0.5, 0.9])
            given = {"quantiles": std[..., None] * np.array([-1.2815515655, 0, 1.2815515655]), "levels": levels}
        elif form == "samples":
            given = {"samples": std[..., None] * rng.standard_normal((*y.shape, 25))}
        found = forecasting.evaluate(y, **given, axes=("time", "node"), by=[], metrics=keys, threads=1)
        for key in keys:
            levels_of = {level.name: level.value for level in found[key].chance}
            over[key] += found[key].value > levels_of["perfect forecaster, 95th percentile"]
            alone += found[key].value > 2 * levels_of.get("perfect forecaster, independent cells", np.inf)
    assert max(over.values()) <= 8  # 5 % are 2.5; 8 or fewer in 99.8 % of cases
    if form == "gaussian":
        assert alone > runs / 4  # with independent cells they would never be twice the mean


@pytest.mark.parametrize("metrics", [["mae", "rmse"], ["mae", "crps", "coverage_95"]])
def test_wide_inputs_take_little_memory(metrics):
    rng = np.random.default_rng(2)
    y = rng.standard_normal((256, 1, 20_000), dtype=np.float32)
    mean, std = y + 1, np.ones_like(y)
    std_given = {} if metrics[1] == "rmse" else {"std": std}
    evaluate = forecasting.evaluate
    evaluate(y[:2], mean[:2], metrics=metrics, **{name: array[:2] for name, array in std_given.items()})
    tracemalloc.start()
    found = evaluate(y, mean, metrics=metrics, threads=1, **std_given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = y.nbytes * (2 + len(std_given))
    assert found["mae"].value == pytest.approx(np.abs(mean.astype(float) - y).mean(), rel=1e-12)
    assert peak < 1.5 * size


def regimes(rng, steps, runs, levels, switch):
    """Absolute errors whose size changes rarely."""
    level = rng.integers(0, len(levels), runs)
    found = np.empty((steps, runs))
    for step in range(steps):
        level = np.where(rng.random(runs) < switch, rng.integers(0, len(levels), runs), level)
        found[step] = np.abs(np.array(levels)[level] * rng.standard_normal(runs))
    return found


def hidden(rng, steps, runs, memory):
    """Noise around a slow bias."""
    slow = lfilter([1.0], [1.0, -memory], rng.standard_normal((steps + 300, runs)), axis=0)[300:]
    return 0.6 * np.sqrt(1 - memory**2) * slow + rng.standard_normal((steps, runs))


@pytest.mark.parametrize(
    ("series", "truth", "least"),
    [
        (lambda rng: regimes(rng, 500, 300, (1.0, 3.0), 0.02), 2 * np.sqrt(2 / np.pi), 0.84),
        (lambda rng: regimes(rng, 800, 300, (0.5, 1.0, 2.0), 0.03), 3.5 / 3 * np.sqrt(2 / np.pi), 0.89),
        (lambda rng: hidden(rng, 500, 300, 0.95), 0.0, 0.89),
    ],
)
def test_slow_changes_that_noise_hides_are_found(series, truth, least):
    """With the memory of neighbours alone, these intervals cover between .6 and .82."""
    values = series(np.random.default_rng(17))
    influence, cells = (values - values.mean(axis=0)) / len(values), np.ones(values.shape)
    covered = []
    for error, freedom in (
        interval_error(influence, cells),
        cosine_error(influence, cells, memory=memory_of(influence)),
    ):
        low, high = t_interval(values.mean(axis=0), error, freedom, 0.95)
        covered.append(float(np.mean((low <= truth) & (truth <= high))))
    assert covered[0] >= least
    assert covered[1] < 0.85


def test_without_slow_changes_intervals_stay_as_they_are():
    values = np.random.default_rng(18).standard_normal((300, 300))
    influence, cells = (values - values.mean(axis=0)) / 300, np.ones(values.shape)
    one, _ = interval_error(influence, cells)
    other, _ = cosine_error(influence, cells, memory=memory_of(influence))
    assert np.mean(np.isclose(one, other, rtol=1e-9)) > 0.85
    # Rows that are missing are left out, as if those around them were neighbours.
    gaps = np.random.default_rng(19).random(values.shape) < 0.5
    for column in range(5):
        alone = influence[gaps[:, column], column][:, None]
        whole = interval_error(influence[:, [column]], gaps[:, [column]].astype(float))
        np.testing.assert_allclose(whole, interval_error(alone, np.ones(alone.shape)), rtol=1e-9)
