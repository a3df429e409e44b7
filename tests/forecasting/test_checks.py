"""Checks and calibration: what is found in spoiled forecasts, and nothing in right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.forecasting.conftest import calibrated
from tests.forecasting.planted import CASES, Case

from graphgauge import forecasting
from graphgauge.core.finding import checks

RIGHT = calibrated(0, 200, 4, 12)


def found(**changes: Any) -> list[str]:
    return [each.check for each in forecasting.evaluate(**{**RIGHT.arguments, **changes}).findings]


def test_right_forecasts_have_no_finding() -> None:
    assert found() == []


def windows(series: np.ndarray, horizons: int = 3) -> np.ndarray:
    """Windows (time, horizon, node) that move one step at a time."""
    return np.stack([series[ahead : len(series) - horizons + ahead] for ahead in range(1, horizons + 1)], axis=1)


def test_each_check_finds_what_it_is_for() -> None:
    y, mean, std = RIGHT.y, RIGHT.mean, RIGHT.std
    assert found(std=std / 2) == ["mis-scaled-spread"]
    assert "biased" in found(y_pred=mean + 8)
    noise = np.random.default_rng(1).normal(10, 6, y.shape)
    assert "no-better-than-the-mean" in found(y_pred=noise, std=None)
    assert "leaked-target" in found(y_pred=np.where(np.arange(12) < 2, y, mean), std=None)
    loud = y.copy()
    loud[..., 0] += 80 * np.random.default_rng(2).normal(size=y.shape[:2])
    assert "errors-in-few-nodes" in found(y_true=loud, std=None)
    quantiles = np.stack([mean + 1, mean, mean + 2], axis=-1)
    assert "crossing-quantiles" in found(std=None, quantiles=quantiles, levels=(0.1, 0.5, 0.9))
    series = np.random.default_rng(3).normal(size=(300, 5)).cumsum(axis=0)
    truth = windows(series)
    assert found(y_true=truth, y_pred=np.repeat(series[:297, None], 3, axis=1), std=None) == ["last-value"]
    few = {name: array[:20] for name, array in RIGHT.arguments.items()}
    assert found(**few) == ["few-time-steps"]


@pytest.mark.parametrize(("offset", "scale"), [(4.2e6, 0.005), (101325, 0.05), (280, 2e-4)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_small_errors_about_a_large_offset_are_no_leak(offset: float, scale: float, dtype: str) -> None:
    rng = np.random.default_rng(0)
    y = offset + rng.normal(0, scale, (200, 3, 5))
    forecast = (y + rng.normal(0, scale, y.shape)).astype(dtype)
    assert "leaked-target" not in [each.check for each in forecasting.evaluate(y, forecast).findings]
    wide = rng.normal(50, 10, y.shape)
    leaked = np.where(np.arange(5) < 1, wide, wide + rng.normal(size=y.shape)).astype(dtype)
    assert "leaked-target" in [each.check for each in forecasting.evaluate(wide, leaked).findings]


@pytest.mark.parametrize("value", [0.0, -9999.0, 9999.0])
def test_values_that_are_no_observations(value: float) -> None:
    """Whatever the value is: forecasts never approach it."""
    y = RIGHT.y.copy() + 40
    y[np.random.default_rng(0).random(y.shape) < 0.02] = value
    ev = forecasting.evaluate(y, RIGHT.mean + 40)
    finding = next(each for each in ev.findings if each.check == "unmasked-zeros")
    assert f"exactly {value:g}" in finding.message
    masked = forecasting.evaluate(y, RIGHT.mean + 40, null_value=value)
    assert "unmasked-zeros" not in [each.check for each in masked.findings]


def test_null_values_that_mask_nothing_or_not_all() -> None:
    assert found(null_value=-999.0) == ["unused-null-value"]
    y = RIGHT.y.copy()
    y[np.random.default_rng(0).random(y.shape) < 0.05] = 1e-6
    y[0, 0, 0] = 0
    assert "almost-null" in found(y_true=y, null_value=0.0, std=None)


def test_rain_and_counts_may_be_0() -> None:
    rain = np.maximum(np.random.default_rng(0).normal(-1, 2, (200, 3, 5)), 0)
    forecast = np.maximum(rain + np.random.default_rng(1).normal(0, 0.5, rain.shape), 0)
    assert forecasting.evaluate(rain, forecast).findings == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.check)
def test_planted_faults_are_found_and_clean_forecasts_are_not_blamed(case: Case) -> None:
    strongest = list(case.strengths.values())[-1]
    assert case.share(lambda rng: case.planted(rng, strongest), 5, 1) >= 0.6
    assert case.share(case.clean, 10, 2) <= 0.1


def test_every_check_has_planted_faults() -> None:
    assert {case.check for case in CASES} == {each.name for each in checks("forecasting")}


# ---- calibration


def test_a_perfect_forecaster_is_in_its_band() -> None:
    inside = []
    for seed in range(30):
        data = calibrated(seed, 120, 2, 5)
        ev = forecasting.evaluate(**data.arguments, metrics=["ece", "ence", "calibration_error", "miscalibration_area"])
        inside += [ev[key].chance.contains(ev[key].value) for key in ev]
    assert 0.85 <= np.mean(inside) <= 1


def test_a_wrong_spread_is_outside_of_the_band() -> None:
    data = calibrated(1, 120, 2, 5)
    ev = forecasting.evaluate(data.y, data.mean, std=data.std * 1.5, metrics=["ece", "calibration_error"])
    assert ev["ece"].compatible == ()
    assert ev["calibration_error"].compatible == ()
    assert ev["ece"].interval is None
    assert "biased upwards" in str(ev["ece"].no_interval)


def test_errors_that_follow_each_other_widen_the_band() -> None:
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(400, 1, 1))
    for step in range(1, 400):
        steps[step] += 0.9 * steps[step - 1]
    error = steps / steps.std() * np.ones((1, 1, 20))
    alone = rng.normal(size=error.shape)
    bands = []
    for each in (error, alone):
        level = forecasting.evaluate(each, 0 * each, std=np.ones(each.shape), metrics=["ece"])["ece"].chance
        bands.append(level.high)
    assert bands[0] > 5 * bands[1]


def test_drawings_are_the_tables_of_the_figure() -> None:
    ev = forecasting.evaluate(**RIGHT.arguments)
    pit, curve, spread = (ev.drawings[name] for name in ("pit", "reliability", "spread"))
    assert pit["share"].sum() == pytest.approx(1)
    assert (np.abs(curve["share"] - curve["reliability"]) < 0.03).all()
    assert spread["n"].sum() == RIGHT.y.size
    np.testing.assert_allclose(spread["rmse"], spread["rmv"], rtol=0.1)
