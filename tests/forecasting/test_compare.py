"""Diebold and Mariano's test against its formula, cell by cell, and how often it errs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.stats import t as student

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError

RNG = np.random.default_rng(41)
Y = RNG.normal(size=(320, 3, 4))
A, B = Y + RNG.normal(size=Y.shape), Y + 1.1 * RNG.normal(size=Y.shape)


def by_formula(a: np.ndarray, b: np.ndarray, mask: np.ndarray, cosines: int) -> tuple[float, float, float]:
    """Difference, statistic and p of losses (steps, cells), written out."""
    steps, total = len(a), mask.sum()
    difference = (np.where(mask, a - b, 0)).sum() / total
    added = [float((a[t] - b[t])[mask[t]].sum() - difference * mask[t].sum()) / total for t in range(steps)]
    squares = [
        sum(value * math.cos(math.pi * k * (t + 0.5) / steps) for t, value in enumerate(added)) ** 2
        for k in range(1, cosines + 1)
    ]
    statistic = difference / math.sqrt(2 * sum(squares) / cosines)
    return difference, statistic, 2 * student.sf(abs(statistic), cosines)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize(("horizon", "cosines"), [(None, 8), (1, 8), (32, 5)])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_formula(loss: str, horizon: int | None, cosines: int, share: float) -> None:
    power = 1 if loss == "absolute" else 2
    mask = np.random.default_rng(0).random(Y.shape) < share
    losses = [(np.abs(Y - forecast) ** power).reshape(320, -1) for forecast in (A, B)]
    difference, statistic, p = by_formula(*losses, mask.reshape(320, -1), cosines)
    found = forecasting.compare(Y, A, B, loss=loss, horizon=horizon, mask=mask)
    assert (found.difference, found.statistic, found.p_value) == pytest.approx((difference, statistic, p))
    assert found.df == cosines
    assert found.interval is not None
    assert (0 in found.interval) == (p > 0.05)
    assert "a has the smaller mean loss" in str(found)
    turned = forecasting.compare(Y, B, A, loss=loss, horizon=horizon, mask=mask)
    assert (turned.difference, turned.p_value) == pytest.approx((-found.difference, found.p_value))


@given(st.integers(0, 10_000))
def test_it_weighs_cells_as_the_metric_does(seed: int) -> None:
    """However unevenly cells are observed, the difference is that of the metrics, and so is its sign."""
    rng = np.random.default_rng(seed)
    mask = rng.random((60, 2, 5)) < rng.random((60, 1, 1)) ** 3
    mask[0, 0, 0] = True
    y, a, b = rng.normal(size=(3, 60, 2, 5)) * rng.lognormal(size=(60, 1, 1))
    found = forecasting.compare(y, a, b, mask=mask)
    difference = forecasting.mae(y, a, mask=mask) - forecasting.mae(y, b, mask=mask)
    assert found.difference == pytest.approx(difference, rel=1e-9, abs=1e-12)
    squared = forecasting.compare(y, a, b, mask=mask, loss="squared").difference
    expected = forecasting.rmse(y, a, mask=mask) ** 2 - forecasting.rmse(y, b, mask=mask) ** 2
    assert squared == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_masks_and_axes() -> None:
    mask = RNG.random(Y.shape) < 0.5
    mask[7] = False
    found = forecasting.compare(np.where(mask, Y, np.nan), A, B, mask=mask)
    assert found.steps == 319
    turned = [array.transpose(1, 2, 0) for array in (Y, A, B, mask)]
    axes = ("horizon", "node", "time")
    again = forecasting.compare(*turned[:3], mask=turned[3], axes=axes)
    assert again.statistic == pytest.approx(found.statistic)


def test_nothing_to_test() -> None:
    same = forecasting.compare(Y, A, A)
    assert same.reason == "the losses never differ"
    assert math.isnan(same.p_value)
    assert "no test" in str(same)
    constant = forecasting.compare(np.zeros(9), np.ones(9), np.zeros(9))
    assert constant.reason == "the losses differ by the same at every step"
    short = forecasting.compare(Y[:3], A[:3], B[:3])
    assert short.reason == "3 time steps for forecasts 3 steps ahead"
    assert forecasting.compare(Y[:0], A[:0], B[:0]).reason == "no time step has cells in both"
    assert forecasting.compare(Y[:7], A[:7], B[:7], horizon=1).reason == "7 time steps for forecasts 1 steps ahead"
    few = np.zeros(Y.shape, bool)
    few[3], few[:, 0, 0] = True, True
    assert forecasting.compare(Y, A, B, mask=few).reason is None
    burst = np.zeros((40, 1, 400), bool)
    burst[3], burst[:, 0, 0] = True, True
    one, two = RNG.normal(size=(2, *burst.shape))
    assert forecasting.compare(0 * one, one, two, mask=burst).reason == "nearly all cells are in a few time steps"


def test_bad_input() -> None:
    holes = B.copy()
    holes[3, 1, 2] = np.nan
    with pytest.raises(InputError, match="b: 1 of 3840 values are NaN"):
        forecasting.compare(Y, A, holes)
    with pytest.raises(InputError, match="the forecasts are missing different cells"):
        forecasting.compare(Y, A, holes, nan="omit")
    with pytest.raises(InputError, match="a: expected shape"):
        forecasting.compare(Y, A[:1], B)
    for options in ({"loss": "cubic"}, {"horizon": 0}, {"horizon": 1.5}):
        with pytest.raises(OptionError):
            forecasting.compare(Y, A, B, **options)
    with pytest.raises(OptionError, match="confidence must be between 0 and 1"):
        forecasting.compare(Y, A, A, confidence=2)


def equally_good(rng: np.random.Generator, steps: int, memory: float) -> tuple[np.ndarray, np.ndarray]:
    shocks = math.sqrt(1 - memory**2) * rng.normal(size=(2, steps + 200))
    a, b = lfilter([1.0], [1.0, -memory], shocks, axis=1)[:, 200:]
    return a, b


@pytest.mark.parametrize(("steps", "memory"), [(40, 0.0), (200, 0.0), (200, 0.5), (200, 0.9), (1000, 0.9)])
def test_it_rejects_as_often_as_it_says(steps: int, memory: float) -> None:
    """Two equally good forecasts, whose errors last: about 5 % at p < .05."""
    rng, repeats = np.random.default_rng(42), 600
    rejected = sum(
        forecasting.compare(np.zeros(steps), *equally_good(rng, steps, memory)).p_value < 0.05 for _ in range(repeats)
    )
    assert abs(rejected / repeats - 0.05) < 3.5 * math.sqrt(0.05 * 0.95 / repeats)


def test_forecasts_that_overlap() -> None:
    rng, h, steps, repeats = np.random.default_rng(43), 4, 200, 600
    rejected = 0
    for _ in range(repeats):
        noise = rng.normal(size=(2, steps + h))
        a, b = (np.convolve(row, np.ones(h) / math.sqrt(h), "valid")[:steps] for row in noise)
        rejected += forecasting.compare(np.zeros(steps), a, b, horizon=h).p_value < 0.05
    assert abs(rejected / repeats - 0.05) < 3.5 * math.sqrt(0.05 * 0.95 / repeats)


def test_it_sees_a_difference() -> None:
    rng = np.random.default_rng(44)
    a, b = equally_good(rng, 1000, 0.5)
    found = forecasting.compare(np.zeros(1000), a, 1.3 * b)
    assert found.difference < 0
    assert found.p_value < 0.01


def test_every_score_can_be_compared() -> None:
    """The difference and the skill are those of the metrics, for forecasts of any kind."""
    rng = np.random.default_rng(8)
    y = rng.standard_normal((60, 3, 4))
    mask = rng.random(y.shape) < 0.8
    levels = (0.1, 0.5, 0.9)
    mean, std = y + rng.standard_normal(y.shape), np.full(y.shape, 1.2)
    gaussian = {"y_pred": mean, "std": std}
    members = {"samples": mean[..., None] + rng.standard_normal((*y.shape, 15))}
    quantiles = {"quantiles": mean[..., None] + np.array([-1.3, 0.0, 1.3]), "levels": levels}
    wider = {"quantiles": mean[..., None] + np.array([-2.0, 0.0, 2.0]), "levels": levels}
    other = {"samples": members["samples"][..., :9]}
    for key, loss, a, b in (
        ("crps", "crps", gaussian, members),
        ("crps", "crps", members, quantiles),
        ("mae", "absolute", mean, gaussian),
        ("nll", "nll", gaussian, {"y_pred": mean, "std": std * 2}),
        ("pinball", "pinball", quantiles, wider),
        ("crps_fair", "crps_fair", members, other),
        ("energy_score", "energy", members, other),
        ("rmse", "squared", members, gaussian),
    ):
        values = []
        for forecast in (a, b):
            given = forecast if isinstance(forecast, dict) else {"y_pred": forecast}
            value = forecasting.evaluate(y, **given, mask=mask)[key].value
            values.append(value**2 if key == "rmse" else value)
        found = forecasting.compare(y, a, b, loss=loss, mask=mask)
        assert found.difference == pytest.approx(values[0] - values[1], rel=1e-9, abs=1e-12), key
        if found.interval is not None and loss not in ("nll", "crps_fair"):
            assert found.skill == pytest.approx(1 - values[0] / values[1], rel=1e-9, abs=1e-12)
            assert found.skill_interval.low <= found.skill <= found.skill_interval.high
        else:
            assert found.skill_interval is None
        horizons = forecasting.compare_by_horizon(y, a, b, loss=loss, mask=mask)
        assert list(horizons) == [1, 2, 3]
        for horizon, result in horizons.items():
            alone = [slice(None), slice(horizon - 1, horizon)]
            part = [
                {k: v if k == "levels" else v[tuple(alone)] for k, v in each.items()}
                if isinstance(each, dict)
                else each[tuple(alone)]
                for each in (a, b)
            ]
            single = forecasting.compare(y[tuple(alone)], *part, loss=loss, mask=mask[tuple(alone)], horizon=horizon)
            assert result.difference == pytest.approx(single.difference, rel=1e-12)
            assert result.p_value == pytest.approx(single.p_value, rel=1e-9, nan_ok=True)
    # The crps of a point is its absolute error.
    point = forecasting.compare(y, mean, gaussian, loss="crps")
    expected = forecasting.mae(y, mean) - forecasting.crps(y, mean, std)
    assert point.difference == pytest.approx(expected, rel=1e-9)


def test_what_cannot_be_compared_is_refused() -> None:
    y = np.random.default_rng(0).standard_normal((20, 2, 1))
    with pytest.raises(OptionError, match="loss 'nll' needs std"):
        forecasting.compare(y, y, {"y_pred": y, "std": y * 0 + 1}, loss="nll")
    with pytest.raises(OptionError, match="a has 'sd'"):
        forecasting.compare(y, {"y_pred": y, "sd": y}, y)
    with pytest.raises(OptionError, match="at least two nodes"):
        forecasting.compare(y, {"samples": y[..., None] + [0, 1]}, {"samples": y[..., None] + [0, 1]}, loss="energy")


def test_a_series_too_short_for_its_memory_is_tested_by_few_cosines() -> None:
    """60 steps with memory .95 are worth two independent ones: no test keeps its level."""
    rng, repeats = np.random.default_rng(45), 200
    found = [forecasting.compare(np.zeros(60), *equally_good(rng, 60, 0.95)) for _ in range(repeats)]
    rejected = sum(test.p_value < 0.05 for test in found) / repeats
    assert rejected < 0.15  # .2 without the correction for memory
    assert found[0].skill_interval is not None
    assert found[0].skill_interval.level == 0.95


@pytest.mark.parametrize(("bad", "what"), [(np.nan, "NaN"), (np.inf, "infinite")])
def test_members_that_are_no_numbers_have_no_energy_score(bad: float, what: str) -> None:
    rng = np.random.default_rng(0)
    y, a = rng.normal(size=(20, 2, 3)), rng.normal(size=(20, 2, 3, 5))
    b = a + 1
    b[3, 1, 1, 0] = bad
    with pytest.raises(InputError, match=rf"1 of 600 values are {what}, the first at index \(3, 1, 1, 0\)"):
        forecasting.compare(y, {"samples": a}, {"samples": b}, loss="energy")
