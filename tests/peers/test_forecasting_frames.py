"""What other libraries return, as it is: frames of Nixtla, polars and pyarrow, arrays of xarray; and their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer

from graphgauge import forecasting

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]


def forecasts() -> tuple[Any, Any]:
    """Training rows and forecasts of three series of different lengths, as utilsforecast has them."""
    pd = peer("pandas")
    rng = np.random.default_rng(0)
    train, test = [], []
    for name, size in (("a", 40), ("b", 50), ("c", 33)):
        y = rng.normal(20, 3, size + 7).cumsum() / 10
        days = pd.date_range("2026-01-01", periods=size + 7)
        train.append(pd.DataFrame({"unique_id": name, "ds": days[:size], "y": y[:size]}))
        model = y[size:] + rng.normal(size=7)
        columns = {"unique_id": name, "ds": days[size:], "y": y[size:], "A": model}
        test.append(pd.DataFrame(columns | {"A-lo-90": model - 1, "A-hi-90": model + 1.5}))
    return pd.concat(train, ignore_index=True), pd.concat(test, ignore_index=True)


def test_losses_of_utilsforecast() -> None:
    """Theirs are by series; ours too, in `by("node")`."""
    losses = peer("utilsforecast.losses")
    train, test = forecasts()
    found = forecasting.evaluate_table(test, model="A", history=train, season=7, metrics="all")
    grid = found.by("node")
    for key, theirs in {
        "mae": losses.mae(test, ["A"]),
        "mse": losses.mse(test, ["A"]),
        "rmse": losses.rmse(test, ["A"]),
        "mape": losses.mape(test, ["A"]),
        "bias": losses.bias(test, ["A"]),
        "mase": losses.mase(test, ["A"], seasonality=7, train_df=train),
        "rmsse": losses.rmsse(test, ["A"], seasonality=7, train_df=train),
        "coverage_90": losses.coverage(test, ["A"], level=90),
    }.items():
        np.testing.assert_allclose(grid[key], theirs.sort_values("unique_id")["A"], rtol=1e-12, err_msg=key)
    quantiles = losses.quantile_loss(test, {"A": "A-hi-90"}, q=0.95)
    np.testing.assert_allclose(grid["pinball_95"], quantiles.sort_values("unique_id")["A"], rtol=1e-12)


def test_frames_of_polars_and_pyarrow() -> None:
    polars = peer("polars")
    train, test = forecasts()
    expected = forecasting.evaluate_table(test, model="A", history=train)
    for one, other in (
        (polars.from_pandas(test), polars.from_pandas(train)),
        (polars.from_pandas(test).to_arrow(), polars.from_pandas(train).to_arrow()),
    ):
        found = forecasting.evaluate_table(one, model="A", history=other)
        assert {key: each.value for key, each in found.items()} == {key: each.value for key, each in expected.items()}
    wide = polars.DataFrame({"day": test.ds[:7].to_numpy(), "a": np.arange(7.0)})
    assert forecasting.from_wide(wide, time="day").labels["node"].tolist() == ["a"]


def test_arrays_of_xarray() -> None:
    xr, pd = peer("xarray"), peer("pandas")
    rng = np.random.default_rng(1)
    times = pd.date_range("2026-01-01", periods=60, freq="6h")
    coords = {"time": times, "lat": [-60.0, 0.0, 60.0], "lon": [0.0, 90.0]}
    truth = xr.DataArray(rng.normal(size=(60, 3, 2)), coords, tuple(coords))
    leads = pd.to_timedelta([6, 12, 18], unit="h")
    issued = {"init": times[:50], "lead": leads, "lat": [60.0, 0.0, -60.0], "lon": [0.0, 90.0]}
    forecast = xr.DataArray(rng.normal(size=(50, 3, 3, 2)), issued, tuple(issued))
    weights = np.cos(np.deg2rad(truth.lat))
    found = forecasting.evaluate(
        truth,
        forecast.transpose("lon", "lead", "lat", "init"),
        axes={"time": "init", "horizon": "lead", "node": ("lat", "lon")},
        weights=weights,
        mask=truth.lat < 50,
    )
    valid = (forecast.init + forecast.lead).rename("time")
    error = abs(forecast - truth.sel(time=valid)).where(forecast.lat < 50)
    assert found["mae"].value == pytest.approx(float(error.weighted(weights).mean()), rel=1e-14)
    assert found["mae"].n == 50 * 3 * 4
    assert found.by("horizon")["horizon"].tolist() == [6, 12, 18]


def test_distributions_of_torch_and_scores_of_scoringrules() -> None:
    torch, sr = peer("torch"), peer("scoringrules")
    torch.manual_seed(0)
    gamma = torch.distributions.Gamma(torch.rand(80, 4) + 1, torch.ones(80, 4))
    y = gamma.sample()
    shape, rate = gamma.concentration.numpy(), gamma.rate.numpy()
    crps = sr.crps_gamma(y.numpy(), shape, rate)
    found = forecasting.evaluate(
        y,
        samples=gamma.sample((200,)).movedim(0, -1),
        scores={"nll": -gamma.log_prob(y), "crps_gamma": crps},
        axes=("time", "node"),
    )
    assert found["crps_gamma"].value == pytest.approx(crps.mean(dtype=float), rel=1e-6)
    assert found["crps"].value == pytest.approx(crps.mean(), rel=0.02)
    assert found["nll"].interval is not None
