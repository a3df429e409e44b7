"""What other codes report, transcribed from their definitions, and the options and breakdowns that give it."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import forecasting

HORIZONS, NODES = 4, 5


@pytest.fixture(scope="module")
def speeds() -> tuple[np.ndarray, np.ndarray]:
    """Zeros are missing, and some were scaled and back; nodes differ in how many are missing."""
    random = np.random.default_rng(0)
    y = 50 + 10 * random.standard_normal((80, HORIZONS, NODES))
    forecast = y + np.arange(1, HORIZONS + 1)[:, None] * random.standard_normal(y.shape)
    y[random.random(y.shape) < 0.05 * np.arange(NODES)] = 0
    return y, forecast


KEYS = ("mae", "rmse", "mape")


def masked(y: np.ndarray, forecast: np.ndarray, seen: np.ndarray) -> tuple[float, float, float]:
    """Masked means as training loops compute them: each term times its mask over the mean of the mask."""
    weight = seen / seen.mean()
    error = np.abs(forecast - y)
    relative = error / np.where(seen, y, 1)
    return float((error * weight).mean()), float(np.sqrt((error**2 * weight).mean())), float((relative * weight).mean())


def test_graph_wavenet_averages_over_horizons(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    y, forecast = speeds
    found = forecasting.evaluate(y, forecast, null_value=0)
    wanted = np.mean([masked(y[:, h], forecast[:, h], y[:, h] != 0) for h in range(HORIZONS)], axis=0)
    table = found.by("horizon")
    assert [table[key].mean() for key in KEYS] == pytest.approx(wanted.tolist(), rel=1e-12)
    assert table["rmse"].mean() != pytest.approx(found["rmse"].value, rel=1e-3)  # pooled over cells


@pytest.mark.parametrize("average", [False, True])
def test_libcity_has_a_value_by_horizon(speeds: tuple[np.ndarray, np.ndarray], average: bool) -> None:
    y, forecast = speeds
    y = np.where(y == 0, 3e-5, y)  # within 1e-4 of the mask value
    table = forecasting.evaluate(y, forecast, null_value=0, null_tolerance=1e-4).by("horizon")
    for h in range(HORIZONS):
        part = slice(0 if average else h, h + 1)
        wanted = masked(y[:, part], forecast[:, part], np.abs(y[:, part]) > 1e-4)
        if average:
            up_to = forecasting.evaluate(y[:, part], forecast[:, part], null_value=0, null_tolerance=1e-4)
            assert [up_to[key].value for key in KEYS] == pytest.approx(list(wanted), rel=1e-12)
        else:
            assert [table[key][h] for key in KEYS] == pytest.approx(list(wanted), rel=1e-12)


def test_basicts_pools_all_cells(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    """As `masked_mae` does at 7f87b775; `masked_wape` is a mean of ratios by window and node there (1caeaa5f)."""
    y, forecast = speeds
    y = np.where(y == 0, 3e-5, y)
    found = forecasting.evaluate(y, forecast, null_value=0, null_tolerance=5e-5)
    wanted = masked(y, forecast, np.abs(y) > 5e-5)
    assert [found[key].value for key in KEYS] == pytest.approx(list(wanted), rel=1e-12)


def test_utilsforecast_averages_over_series(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    """A value for each series, then their mean; zeros count as 0 in mape, and smape is at most 1."""
    y, forecast = speeds
    history = np.random.default_rng(1).normal(size=(50, NODES))
    error = np.abs(forecast - y)
    relative = np.divide(error, np.abs(y), out=np.zeros(y.shape), where=y != 0)
    scale = np.abs(np.diff(history, axis=0)).mean(axis=0)
    wanted = {
        "mae": error.mean(),
        "rmse": np.sqrt((error**2).mean(axis=(0, 1))).mean(),
        "mape": relative.mean(),
        "smape": (error / (np.abs(y) + np.abs(forecast))).mean(),
        "mase": (error.mean(axis=(0, 1)) / scale).mean(),
    }
    table = forecasting.evaluate(y, forecast, naive=history).by("node")
    found = {key: table[key].mean() for key in wanted}
    found["mape"] = (table["mape"] * (y != 0).mean(axis=(0, 1))).mean()
    found["smape"] /= 2
    assert found == pytest.approx(wanted, rel=1e-12)


def test_gluonts_weighs_quantile_losses(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    y, forecast = speeds
    levels = (0.025, 0.5, 0.975)
    quantiles = forecast[..., None] + np.array([-4, 0, 4])
    history = np.random.default_rng(1).normal(size=(50, NODES))
    scale = np.abs(np.diff(history, axis=0)).mean(axis=0)
    above = y[..., None] - quantiles
    loss = 2 * np.abs(above * ((above < 0) - np.array(levels)))
    low, high = quantiles[..., 0], quantiles[..., 2]
    msis = (high - low + 40 * np.maximum(low - y, 0) + 40 * np.maximum(y - high, 0)) / scale
    error = np.abs(forecast - y)
    wanted = {
        "ND": error.sum() / np.abs(y).sum(),
        "RMSE": np.sqrt((error**2).mean()),
        "MASE": (error / scale).mean(),
        "sMAPE": (2 * error / (np.abs(y) + np.abs(forecast))).mean(),
        "MSIS": msis.mean(),
        "mean_wQuantileLoss": (loss.sum(axis=(0, 1, 2)) / np.abs(y).sum()).mean(),
    }
    options = {"quantiles": quantiles, "levels": levels, "naive": history, "coverage": 0.95}
    keys = {"ND": "wape", "RMSE": "rmse", "MASE": "mase", "sMAPE": "smape", "MSIS": "msis_95"}
    found = forecasting.evaluate(y, **options)
    values = {name: found[key].value for name, key in (keys | {"mean_wQuantileLoss": "wql"}).items()}
    assert values == pytest.approx(wanted, rel=1e-12)
