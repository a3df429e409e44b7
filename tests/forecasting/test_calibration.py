"""A forecaster who is right about its own errors comes out best, by every measure of calibration."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.forecasting.conftest import calibrated

from graphgauge import forecasting
from graphgauge.forecasting.declared import mean_deviation
from graphgauge.forecasting.samples import Reliability
from graphgauge.old.core.result import Evaluation

FACTORS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)
DISTANCES = ("ece", "ence", "calibration_error", "central_calibration_error", "miscalibration_area")
SHARES = ("coverage_50", "coverage_80", "coverage_95")
SCORES = ("nll", "crps", "interval_score_50", "interval_score_80", "interval_score_95")


def badness(evaluation: Evaluation) -> dict[str, float]:
    """How far each measure of calibration is from its best: lower is better for all of them."""
    values = {key: evaluation[key].value for key in (*DISTANCES, *SCORES)}
    return values | {key: abs(evaluation[key].value - evaluation[key].target) for key in SHARES}


@pytest.mark.parametrize("seed", range(5))
def test_the_calibrated_forecaster_is_best(seed: int) -> None:
    data = calibrated(seed, 5_000, 4)
    swept = {
        factor: badness(forecasting.evaluate(data.y, data.mean, std=factor * data.std, axes=("time", "node"), by=()))
        for factor in FACTORS
    }
    for key in swept[1.0]:
        best = min(FACTORS, key=lambda factor: swept[factor][key])
        assert best == 1.0, (key, {factor: values[key] for factor, values in swept.items()})
        # Further from 1 is worse, on either side.
        for side in (FACTORS[5::-1], FACTORS[5:]):
            row = [swept[factor][key] for factor in side]
            assert row == sorted(row), (key, row)


def test_a_bias_makes_every_measure_worse() -> None:
    data = calibrated(11, 5_000, 4)
    right, shifted = (
        badness(forecasting.evaluate(data.y, data.mean + shift * data.std, std=data.std, axes=("time", "node"), by=()))
        for shift in (0, 3)
    )
    for key, value in right.items():
        assert shifted[key] > value + 0.01, key
    # No factor of the spread makes up for it.
    for factor in FACTORS:
        spread = badness(
            forecasting.evaluate(data.y, data.mean + 3 * data.std, std=factor * data.std, axes=("time", "node"), by=())
        )
        for key in ("calibration_error", "miscalibration_area", "nll", "crps"):
            assert spread[key] > right[key], (key, factor)


@pytest.mark.parametrize("n", [2_000, 20_000])
def test_distances_tend_to_what_a_perfect_forecaster_scores(n: int) -> None:
    ratios: dict[str, list[float]] = {key: [] for key in DISTANCES}
    for seed in range(60):
        data = calibrated(seed, n)
        found = forecasting.evaluate(data.y, data.mean, std=data.std, metrics=list(DISTANCES))
        for key in DISTANCES:
            ratios[key].append(found[key].value / found[key].chance[-1].value)
    for key, values in ratios.items():
        spread = np.std(values) / math.sqrt(len(values))
        assert abs(np.mean(values) - 1) < 4 * spread + 0.02, (key, np.mean(values))
        assert spread > 0


def test_distances_fall_with_the_root_of_n() -> None:
    small, large = (
        np.mean([badness(forecasting.evaluate(**calibrated(s, n).arguments))["ece"] for s in range(8)])
        for n in (1_000, 100_000)
    )
    assert 7 < small / large < 14


def test_coverage_of_a_calibrated_forecaster_is_nominal() -> None:
    data = calibrated(12, 50_000)
    found = forecasting.evaluate(**data.arguments)
    for key in SHARES:
        level = found[key].target
        assert abs(found[key].value - level) < 4 * math.sqrt(level * (1 - level) / 50_000), key


def test_the_drawn_null_agrees_with_the_closed_form_and_with_forecasters() -> None:
    """The draws stand for perfect forecasters with the same standard deviations, with and without an order in time."""
    data = calibrated(13, 4_000)
    found = forecasting.evaluate(**data.arguments)
    state = forecasting.ForecastState(axes=("time",))
    for rows in (slice(0, 1_000), slice(1_000, None)):
        state.update(data.y[rows], data.mean[rows], std=data.std[rows])
    unordered = state.evaluate()
    rng = np.random.default_rng(14)
    for key in ("ece", "ence"):
        timed, chance = ({item.name: item.value for item in some[key].chance} for some in (found, unordered))
        mean = chance["perfect forecaster, independent cells"]
        function = getattr(forecasting, key)
        real = [function(data.mean + data.std * rng.normal(size=4_000), data.mean, data.std) for _ in range(150)]
        assert np.mean(real) == pytest.approx(mean, rel=0.06)
        highest = np.quantile(real, 0.95)
        assert highest == pytest.approx(chance["perfect forecaster, 95th percentile, independent cells"], rel=0.12)
        # A covariance from few movements over time is uncertain, which the draws take into account.
        assert timed["perfect forecaster, independent cells"] == pytest.approx(mean, rel=1e-3)
        assert 0.5 * mean < timed["perfect forecaster"] < 2 * mean
        assert highest < timed["perfect forecaster, 95th percentile"] < 3 * highest
    assert forecasting.evaluate(**data.arguments)["ece"].chance == found["ece"].chance


def test_mean_deviation_of_a_share() -> None:
    rng = np.random.default_rng(15)
    p = np.array([0.01, 0.3, 0.5, 0.99])
    for n in (1, 7, 200):
        drawn = np.abs(rng.binomial(n, p, (200_000, 4)) / n - p).mean(axis=0)
        np.testing.assert_allclose(mean_deviation(n, p), drawn, rtol=0.03)


def test_few_cells_a_bin_are_said() -> None:
    data = calibrated(16, 500)
    found = forecasting.evaluate(**data.arguments)
    assert found["ece"].warnings == (
        "the smallest bin of spread has 50 cells: below 100, ece and ence mostly measure noise",
    )
    assert forecasting.evaluate(**calibrated(16, 1_000).arguments)["ece"].warnings == ()


def test_findings() -> None:
    data = calibrated(17, 2_000)
    found = {
        name: {finding.check for finding in forecasting.evaluate(data.y, mean, std=std).findings}
        for name, mean, std in (
            ("right", data.mean, data.std),
            ("narrow", data.mean, data.std / 3),
            ("wide", data.mean, data.std * 3),
            ("biased", data.mean + 4, data.std),
            ("noise", data.mean[::-1], data.std),
        )
    }
    assert found["right"] == set()
    assert found["narrow"] == found["wide"] == {"mis-scaled-spread"}
    assert "biased" in found["biased"]
    assert "no-better-than-the-mean" in found["noise"]


def test_a_forecast_that_copies_the_last_value_is_noticed() -> None:
    series = np.random.default_rng(18).normal(size=(300, 4)).cumsum(axis=0)
    windows = np.stack([series[step + 1 : step + 4] for step in range(290)])
    last = np.repeat(series[:290, None], 3, axis=1)
    checks = {finding.check for finding in forecasting.evaluate(windows, last).findings}
    assert "last-value" in checks
    mixed = last + 0.1 * np.random.default_rng(19).normal(size=last.shape)
    assert "last-value" not in {finding.check for finding in forecasting.evaluate(windows, mixed).findings}
    # One step ahead there is only the series itself.
    alone = forecasting.evaluate(series[1:], series[:-1], axes=("time", "node"))
    assert "last-value" in {finding.check for finding in alone.findings}


def test_the_area_where_the_curve_crosses_the_diagonal() -> None:
    """Four triangles of base and height 0.25: half of the truths lie at or below either probability."""
    curve = Reliability(np.array([0.25, 0.75]), np.array([[2.0, 2.0]]), np.array([4]))
    assert curve.area() == 0.125


@pytest.mark.parametrize("form", ["gaussian", "samples", "quantiles"])
def test_curves_are_in_the_result(form: str) -> None:
    """The histogram of positions, the reliability curve and coverage by level, by brute force."""
    random = np.random.default_rng(0)
    mean = random.normal(size=(60, 2, 5))
    y = mean + 1.3 * random.standard_normal(mean.shape)
    if form == "gaussian":
        found = forecasting.evaluate(y, mean, std=np.ones(y.shape))
        position = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2)))(y - mean)
        p = np.arange(1, 100) / 100
    elif form == "samples":
        # A truth above k of 99 members has the rank k, at or below the quantiles (k + 1)/100 and up.
        members = mean[..., None] + random.standard_normal((*mean.shape, 99))
        found = forecasting.evaluate(y, samples=members)
        position = ((members < y[..., None]).sum(axis=-1) + 1) / 100 - 1e-9
        p = np.arange(1, 100) / 100
    else:
        p = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
        quantiles = mean[..., None] + np.array([-1.28, -0.67, 0.0, 0.67, 1.28])
        found = forecasting.evaluate(y, quantiles=quantiles, levels=p)
        position = np.concatenate([p - 1e-9, [1.0]])[(y[..., None] > quantiles).sum(axis=-1)]
    share = np.array([(position <= level).mean() for level in p])
    curve = found.by("reliability")
    np.testing.assert_allclose(curve["reliability"], p)
    np.testing.assert_allclose(curve["share"], share, atol=1e-12)
    bars = found.by("pit")
    edges = np.concatenate([[0.0], bars["pit"]])
    np.testing.assert_allclose(
        bars["share"], [((position > low) & (position <= high)).mean() for low, high in pairwise(edges)], atol=1e-12
    )
    levels = found.by("level")
    for level, covered in zip(levels["level"], levels["share"], strict=True):
        low, high = (int(np.argmin(np.abs(p - end))) for end in ((1 - level) / 2, (1 + level) / 2))
        assert covered == pytest.approx(share[high] - share[low], abs=1e-12)
    assert {"pit", "reliability", "level"} <= set(found.breakdowns)
    assert (curve["low"] <= curve["reliability"]).all()
    assert (curve["reliability"] <= curve["high"]).all()
