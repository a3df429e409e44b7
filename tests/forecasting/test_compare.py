"""Diebold and Mariano's test against the formula of Harvey, Leybourne and Newbold, and how often it errs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError

RNG = np.random.default_rng(41)
Y = RNG.normal(size=(80, 3, 4))
A, B = Y + RNG.normal(size=Y.shape), Y + 1.1 * RNG.normal(size=Y.shape)


def by_formula(gaps: np.ndarray, h: int) -> tuple[float, float]:
    n, centred = len(gaps), gaps - gaps.mean()
    gamma = [float((centred[k:] * centred[: n - k]).sum() / n) for k in range(h)]
    statistic = gaps.mean() / math.sqrt((gamma[0] + 2 * sum(gamma[1:])) / n)
    statistic *= math.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
    return statistic, 2 * student.sf(abs(statistic), n - 1)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("horizon", [None, 1, 2])
def test_the_formula(loss: str, horizon: int | None) -> None:
    power = 1 if loss == "absolute" else 2
    gaps = (np.abs(Y - A) ** power - np.abs(Y - B) ** power).mean(axis=(1, 2))
    found = forecasting.compare(Y, A, B, loss=loss, horizon=horizon)
    statistic, p = by_formula(gaps, 3 if horizon is None else horizon)
    assert found.difference == pytest.approx(gaps.mean())
    assert found.statistic == pytest.approx(statistic)
    assert found.p_value == pytest.approx(p)
    assert found.interval is not None
    assert (0 in found.interval) == (p > 0.05)
    assert "a has the smaller mean loss" in str(found)
    turned = forecasting.compare(Y, B, A, loss=loss, horizon=horizon)
    assert (turned.difference, turned.p_value) == pytest.approx((-found.difference, found.p_value))


def test_masks_and_axes() -> None:
    mask = RNG.random(Y.shape) < 0.5
    mask[7] = False
    found = forecasting.compare(np.where(mask, Y, np.nan), A, B, mask=mask)
    assert found.steps == 79
    turned = [array.transpose(1, 2, 0) for array in (Y, A, B, mask)]
    axes = ("horizon", "node", "time")
    again = forecasting.compare(*turned[:3], mask=turned[3], axes=axes)
    assert again.statistic == pytest.approx(found.statistic)


def test_a_variance_that_is_not_positive() -> None:
    gaps = np.array([1.0, -1.0] * 10) + 0.01
    found = forecasting.compare(np.zeros(20), np.maximum(gaps, 0), np.maximum(-gaps, 0), horizon=2)
    assert found.variance == "bartlett"
    n, centred = 20, gaps - gaps.mean()
    variance = (centred @ centred + 2 * 0.5 * (centred[1:] @ centred[:-1])) / n  # the second of two counts half
    corrected = gaps.mean() / math.sqrt(variance / n) * math.sqrt((n + 1 - 4 + 2 / n) / n)
    assert found.statistic == pytest.approx(corrected)
    assert found.p_value == pytest.approx(2 * student.sf(abs(corrected), n - 1))


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


def test_bad_input() -> None:
    holes = B.copy()
    holes[3, 1, 2] = np.nan
    with pytest.raises(InputError, match="b: 1 of 960 values are NaN"):
        forecasting.compare(Y, A, holes)
    with pytest.raises(InputError, match="the forecasts lack different cells"):
        forecasting.compare(Y, A, holes, nan="omit")
    with pytest.raises(InputError, match="a: expected shape"):
        forecasting.compare(Y, A[:1], B)
    for options in ({"loss": "cubic"}, {"horizon": 0}, {"horizon": 1.5}):
        with pytest.raises(OptionError):
            forecasting.compare(Y, A, B, **options)
    with pytest.raises(OptionError, match="confidence must lie between 0 and 1"):
        forecasting.compare(Y, A, A, confidence=2)


def test_it_rejects_as_often_as_it_says() -> None:
    """Two equally good forecasts, overlapping ones among them: about 5 % at p < .05."""
    rng = np.random.default_rng(42)
    for h, steps in ((1, 40), (4, 200)):
        rejected = 0
        for _ in range(600):
            noise = rng.normal(size=(2, steps + h))
            a, b = (np.convolve(row, np.ones(h) / math.sqrt(h), "valid")[:steps] for row in noise)
            rejected += forecasting.compare(np.zeros(steps), a, b, horizon=h).p_value < 0.05
        assert abs(rejected / 600 - 0.05) < 3.5 * math.sqrt(0.05 * 0.95 / 600), h
