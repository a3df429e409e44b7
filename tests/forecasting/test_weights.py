"""Node weights: values against NumPy at every door, and what has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting import ForecastState

RNG = np.random.default_rng(81)
Y = RNG.normal(size=(40, 3, 5))
MEAN = Y + RNG.normal(size=Y.shape) * np.arange(1, 6)
MASK = RNG.random(Y.shape) < 0.8
WEIGHTS = np.array([1.0, 2.0, 0.0, 0.5, 3.0])
FORMS: dict[str, dict[str, Any]] = {
    "point": {"y_pred": MEAN},
    "gaussian": {"y_pred": MEAN, "std": np.abs(MEAN) + 0.5},
    "quantiles": {"quantiles": MEAN[..., None] + np.array([-2.0, 0.0, 2.0]), "levels": (0.1, 0.5, 0.9)},
    "samples": {"samples": MEAN[..., None] + RNG.normal(size=(*Y.shape, 9))},
}


def average(values: np.ndarray, axis: Any = None) -> np.ndarray:
    return (values * WEIGHTS * MASK).sum(axis=axis) / (WEIGHTS * MASK).sum(axis=axis)


@pytest.mark.parametrize("form", FORMS)
def test_values_are_weighted_means(form: str) -> None:
    given = FORMS[form]
    found = forecasting.evaluate(Y, **given, mask=MASK, weights=WEIGHTS)
    forecast = given.get("y_pred", given["samples"].mean(axis=-1) if form == "samples" else MEAN)
    error = forecast - Y
    assert found["mae"].value == pytest.approx(average(np.abs(error)), rel=1e-12)
    assert found["rmse"].value == pytest.approx(np.sqrt(average(error**2)), rel=1e-12)
    assert found["bias"].value == pytest.approx(average(error), rel=1e-12)
    assert found["r2"].value == pytest.approx(1 - average(error**2) / average((Y - average(Y)) ** 2), rel=1e-10)
    np.testing.assert_allclose(found.by("horizon")["mae"], average(np.abs(error), axis=(0, 2)), rtol=1e-12)
    assert found["mae"].n == MASK.sum()
    # A node's own value does not depend on its weight.
    alone = forecasting.evaluate(Y, **given, mask=MASK)
    np.testing.assert_array_equal(found.by("node")["mae"], alone.by("node")["mae"])
    if form == "gaussian":
        inside = np.abs(error) <= 1.959963984540054 * given["std"]
        assert found["coverage_95"].value == pytest.approx(average(inside), rel=1e-12)
        assert "ece" not in found


@pytest.mark.parametrize("form", FORMS)
def test_equal_weights_change_nothing(form: str) -> None:
    weighted, plain = (forecasting.evaluate(Y, **FORMS[form], weights=given) for given in (np.full(5, 7.0), None))
    for key, result in weighted.items():
        assert result.value == pytest.approx(plain[key].value, rel=1e-12)
        if result.interval is not None:
            assert tuple(result.interval)[:2] == pytest.approx(tuple(plain[key].interval)[:2], rel=1e-9)


def test_streams_merges_and_files(tmp_path: Any) -> None:
    expected = forecasting.evaluate(Y, MEAN, weights=WEIGHTS)
    parts = [
        ForecastState(weights=WEIGHTS).update(Y[:13], MEAN[:13], start=0),
        ForecastState(weights=WEIGHTS).update(Y[13:], MEAN[13:], start=13),
    ]
    parts[0].save(tmp_path / "part.npz")
    merged = ForecastState.load(tmp_path / "part.npz").merge(parts[1])
    assert merged.evaluate()["mae"] == expected["mae"]
    with pytest.raises(InputError, match="Give every part the same node weights"):
        parts[1].merge(ForecastState().update(Y, MEAN, start=40))
    for name, array in (("y", Y), ("mean", MEAN), ("weights", WEIGHTS)):
        np.save(tmp_path / f"{name}.npy", array)
    found = forecasting.evaluate_files(
        true=tmp_path / "y.npy", pred=tmp_path / "mean.npy", weights=tmp_path / "weights.npy"
    )
    assert found["mae"].value == expected["mae"].value


def test_comparisons_are_weighted_as_the_metric_is() -> None:
    other = Y + RNG.normal(size=Y.shape)
    found = forecasting.compare(Y, MEAN, other, mask=MASK, weights=WEIGHTS)
    assert found.difference == pytest.approx(average(np.abs(MEAN - Y)) - average(np.abs(other - Y)), rel=1e-10)
    with pytest.raises(OptionError, match="'energy' has no node weights"):
        forecasting.compare(Y, FORMS["samples"], FORMS["samples"], loss="energy", weights=WEIGHTS)


def test_bad_weights_and_metrics_without_weights() -> None:
    for bad, words in (
        ([1, 2], "2 where 5 are expected"),
        ([1, 2, 3, 4, -5], "at least 0"),
        ([0] * 5, "not all 0"),
        ("cos-latitude", r"one number per node.*np.cos\(np.deg2rad\(latitude\)\)"),
    ):
        with pytest.raises((InputError, OptionError), match=words):
            forecasting.evaluate(Y, MEAN, weights=bad)
    with pytest.raises(OptionError, match="ece has no node weights"):
        forecasting.evaluate(Y, **FORMS["gaussian"], weights=WEIGHTS, metrics=["ece"])


def test_channels() -> None:
    y, mean = RNG.normal(size=(2, 30, 2, 3, 4))
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    found = forecasting.evaluate(y, mean, axes=("time", "horizon", "channel", "node"), weights=weights)
    table = found.by("channel")
    error = np.abs(mean - y)
    np.testing.assert_allclose(table["mae"], (error * weights).sum(axis=(0, 1, 3)) / (30 * 2 * 10), rtol=1e-12)
    np.testing.assert_allclose(found.by("node")["mae"], error.mean(axis=(0, 1)).ravel(), rtol=1e-12)
    assert found.by("node")["node"][5] == "1 1"
    moved = forecasting.evaluate(
        np.moveaxis(y, 2, 0), np.moveaxis(mean, 2, 0), axes=("channel", "time", "horizon", "node")
    )
    assert moved["mae"].value == pytest.approx(error.mean(), rel=1e-12)
    with pytest.raises(OptionError, match="needs an axis channel"):
        forecasting.evaluate(Y, MEAN, by="channel")
