"""What other codes report, transcribed from their definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from graphgauge import forecasting
from graphgauge.cli.family import family_command
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.result import Evaluation

HORIZONS, NODES = 4, 5


@pytest.fixture(scope="module")
def speeds() -> tuple[np.ndarray, np.ndarray]:
    """Zeros are missing, and some were scaled and back; nodes differ in how many are missing."""
    random = np.random.default_rng(0)
    y = 50 + 10 * random.standard_normal((80, HORIZONS, NODES))
    forecast = y + np.arange(1, HORIZONS + 1)[:, None] * random.standard_normal(y.shape)
    y[random.random(y.shape) < 0.05 * np.arange(NODES)] = 0
    return y, forecast


def reported(found: Evaluation) -> dict[str, float]:
    table = found.by("convention")
    return dict(zip(table["convention"].tolist(), table["value"].tolist(), strict=True))


def masked(y: np.ndarray, forecast: np.ndarray, seen: np.ndarray) -> tuple[float, float, float]:
    """Masked means as training loops compute them: each term times its mask over the mean of the mask."""
    weight = seen / seen.mean()
    error = np.abs(forecast - y)
    relative = error / np.where(seen, y, 1)
    return float((error * weight).mean()), float(np.sqrt((error**2 * weight).mean())), float((relative * weight).mean())


def test_graph_wavenet_averages_over_horizons(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    y, forecast = speeds
    found = forecasting.evaluate(y, forecast, convention="graph-wavenet")
    wanted = np.mean([masked(y[:, h], forecast[:, h], y[:, h] != 0) for h in range(HORIZONS)], axis=0)
    values = reported(found)
    assert list(values) == ["MAE", "RMSE", "MAPE"]
    assert list(values.values()) == pytest.approx(wanted.tolist(), rel=1e-12)
    assert values["RMSE"] != pytest.approx(found["rmse"].value, rel=1e-3)  # pooled over cells
    assert found.conventions["convention"] == "graph-wavenet"
    assert found.conventions["null_value"] == "0"


@pytest.mark.parametrize(("name", "first"), [("libcity", None), ("libcity-average", 0)])
def test_libcity_has_a_value_by_horizon(speeds: tuple[np.ndarray, np.ndarray], name: str, first: int | None) -> None:
    y, forecast = speeds
    y = np.where(y == 0, 3e-5, y)  # within 1e-4 of the mask value
    values = reported(forecasting.evaluate(y, forecast, convention=name))
    for h in range(HORIZONS):
        part = slice(h if first is None else first, h + 1)
        wanted = masked(y[:, part], forecast[:, part], np.abs(y[:, part]) > 1e-4)
        names = [f"masked_{metric}@{h + 1}" for metric in ("MAE", "RMSE", "MAPE")]
        assert [values[key] for key in names] == pytest.approx(list(wanted), rel=1e-12)


def test_basicts_pools_all_cells(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    """As `masked_mae` does at 7f87b775; `masked_wape` is a mean of ratios by window and node there (1caeaa5f)."""
    y, forecast = speeds
    y = np.where(y == 0, 3e-5, y)
    values = reported(forecasting.evaluate(y, forecast, convention="basicts"))
    wanted = masked(y, forecast, np.abs(y) > 5e-5)
    assert list(values) == ["MAE", "RMSE", "MAPE"]
    assert [values[key] for key in ("MAE", "RMSE", "MAPE")] == pytest.approx(list(wanted), rel=1e-12)


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
    found = forecasting.evaluate(y, forecast, naive=history, convention="utilsforecast")
    assert reported(found) == pytest.approx(wanted, rel=1e-12)
    assert "null_value" not in found.conventions


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
    values = reported(forecasting.evaluate(y, convention="gluonts", **options))
    assert {name: values[name] for name in wanted} == pytest.approx(wanted, rel=1e-12)


def test_choices(speeds: tuple[np.ndarray, np.ndarray]) -> None:
    y, forecast = speeds
    given = forecasting.evaluate(y, forecast, convention="libcity", null_value=-1)
    assert given.conventions["null_value"] == "-1"
    some = forecasting.evaluate(y, forecast, convention="graph-wavenet", metrics=["mae"])
    assert "MAE" in reported(some)
    with pytest.raises(OptionError, match="no node weights"):
        forecasting.evaluate(y, forecast, convention="basicts", weights=np.ones(NODES))
    with pytest.raises(UnknownNameError, match="graph-wavenet"):
        forecasting.evaluate(y, forecast, convention="graph-wavnet")


def test_on_the_command_line(speeds: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("y.npy", "mean.npy")]
    for name, array in zip(names, speeds, strict=False):
        np.save(name, array)
    command = ["--true", names[0], "--pred", names[1], "--convention", "graph-wavenet"]
    ran = CliRunner().invoke(family_command("forecasting"), command)
    assert ran.exit_code == 0, ran.output
    assert f"{reported(forecasting.evaluate(*speeds, convention='graph-wavenet'))['RMSE']:.4f}" in ran.output
