"""Benchmarks by name, against the lines of their own evaluators."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import OptionError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["metr-la", "pems-bay"])
def test_traffic_is_masked_as_by_dcrnn(name: str) -> None:
    y = np.where(RNG.random((90, 12, 6)) < 0.2, 0.0, RNG.uniform(20, 70, (90, 12, 6)))
    forecast = y + RNG.normal(size=y.shape)
    mask = (y != 0) / (y != 0).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        theirs = {
            "mae": np.nan_to_num(np.abs(forecast - y) * mask).mean(),
            "rmse": np.sqrt(np.nan_to_num(np.square(forecast - y) * mask).mean()),
            "mape": np.nan_to_num(mask * np.abs((forecast - y) / y), posinf=0.0).mean(),
        }
    found = forecasting.evaluate(y, forecast, protocol=name)
    assert list(found) == list(theirs)
    for key, value in theirs.items():
        assert found[key].value == pytest.approx(value, rel=1e-12), key
    state = forecasting.ForecastState(null_value=0.0).update(y, forecast, start=0)
    assert state.evaluate(protocol=name)["mae"].value == found["mae"].value
    with pytest.raises(OptionError, match="null_value of the state is None"):
        forecasting.ForecastState().update(y, forecast, start=0).evaluate(protocol=name)
    with pytest.raises(OptionError, match="null_value"):
        forecasting.evaluate(y, forecast, protocol=name, null_value=-1.0)


def test_m4_is_the_mean_over_series_of_one_length() -> None:
    train, y = RNG.uniform(5, 9, (60, 4)), RNG.uniform(5, 9, (6, 4))
    forecast, season = y + RNG.normal(size=y.shape), 4
    found = forecasting.evaluate(y, forecast, history=train, season=season, axes=("time", "node"), protocol="m4")
    smape, mase = [], []
    for node in range(4):
        error = np.abs(y[:, node] - forecast[:, node])
        smape.append(np.mean(2 * error / (np.abs(y[:, node]) + np.abs(forecast[:, node]))))
        mase.append(np.mean(error) / np.mean(np.abs(train[season:, node] - train[:-season, node])))
    assert found["smape"].value == pytest.approx(np.mean(smape), rel=1e-13)
    assert found["mase"].value == pytest.approx(np.mean(mase), rel=1e-13)
