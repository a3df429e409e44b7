"""The bins of `ece` and `ence`: exact where the array is whole, near it where it is streamed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.forecasting.conftest import calibrated

from graphgauge import forecasting
from graphgauge.forecasting import ForecastState


def by_definition(y: np.ndarray, mean: np.ndarray, std: np.ndarray, bins: int) -> tuple[float, float]:
    y, mean, std = y.ravel(), mean.ravel(), std.ravel()
    less = (std[None, :] < std[:, None]).sum(axis=1)
    equal = (std[None, :] == std[:, None]).sum(axis=1)
    place = (bins * (2 * less + equal - 1)) // (2 * len(std))
    ece, relative = 0.0, []
    for number in np.unique(place):
        here = place == number
        rmse, rmv = np.sqrt(((y - mean)[here] ** 2).mean()), np.sqrt((std[here] ** 2).mean())
        ece += here.mean() * abs(rmse - rmv)
        relative.append(abs(rmse - rmv) / rmv)
    return ece, float(np.mean(relative))


STDS = {
    "all different": lambda rng, n: rng.uniform(0.5, 2, n),
    "all equal": lambda rng, n: np.full(n, 1.7),
    "few values": lambda rng, n: rng.choice([0.1, 1.0, 1.0001, 3.0], n),
    "nearly equal": lambda rng, n: 1 + rng.uniform(0, 1e-6, n),
    "over many magnitudes": lambda rng, n: 10.0 ** rng.uniform(-8, 8, n),
}


@pytest.mark.parametrize("kind", STDS)
@pytest.mark.parametrize("n", [1, 7, 500])
@pytest.mark.parametrize("bins", [1, 4, 10])
def test_exact_where_the_array_is_whole(kind: str, n: int, bins: int) -> None:
    rng = np.random.default_rng(n + bins)
    std = STDS[kind](rng, n)
    mean = rng.normal(size=n)
    y = mean + std * rng.normal(size=n)
    found = forecasting.ece(y, mean, std, bins=bins), forecasting.ence(y, mean, std, bins=bins)
    assert found == pytest.approx(by_definition(y, mean, std, bins), rel=1e-12)


@pytest.mark.parametrize("few", [0, 8, 10**9])
def test_exact_over_several_slabs_and_horizons(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the cells at the edges of bins are told apart slab by slab or once for all of them."""
    monkeypatch.setattr("graphgauge.forecasting.spread._FEW", few)
    monkeypatch.setattr("graphgauge.forecasting.inputs.SLAB", 192)
    data = calibrated(1, 50, 3, 4)
    found = forecasting.evaluate(**data.arguments)
    assert found["ece"].value == pytest.approx(by_definition(data.y, data.mean, data.std, 10)[0], rel=1e-12)
    for horizon, value in enumerate(found["ence"].by("horizon")["value"]):
        part = [array[:, horizon] for array in (data.y, data.mean, data.std)]
        assert value == pytest.approx(by_definition(*part, 10)[1], rel=1e-12)


@pytest.mark.parametrize("few", [0, 10**9])
def test_exact_where_many_cells_share_the_leading_bits(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphgauge.forecasting.spread._FEW", few)
    monkeypatch.setattr("graphgauge.forecasting.inputs.SLAB", 192)
    data = calibrated(4, 50, 3, 4)
    std = 1 + np.random.default_rng(4).uniform(0, 0.003, data.y.shape)
    found = forecasting.evaluate(data.y, data.mean, std=std)
    assert found["ece"].value == pytest.approx(by_definition(data.y, data.mean, std, 10)[0], rel=1e-12)
    for horizon, value in enumerate(found["ece"].by("horizon")["value"]):
        part = [array[:, horizon] for array in (data.y, data.mean, std)]
        assert value == pytest.approx(by_definition(*part, 10)[0], rel=1e-12)


def test_streamed_bins_are_near_and_say_how_near() -> None:
    data = calibrated(2, 20_000)
    whole = forecasting.evaluate(**data.arguments)
    state = ForecastState()
    for start in range(0, 20_000, 5_000):
        part = {name: array[start : start + 5_000] for name, array in data.arguments.items()}
        state.update(**part, start=start) if start else state.update(**part, start=0)
    streamed = state.evaluate()
    for key in ("ece", "ence"):
        assert whole[key].warnings == ()
        (said,) = streamed[key].warnings
        moved = float(said.split("up to ")[1].split("%")[0]) / 100
        assert 0 < moved < 0.02
        # A cell that changes bins moves both bins by at most its own error.
        assert abs(streamed[key].value - whole[key].value) < 0.05 * whole[key].value + moved


def test_streamed_bins_are_exact_where_few_values_occur() -> None:
    rng = np.random.default_rng(3)
    data = calibrated(3, 900)
    std = rng.choice([0.5, 1.0, 2.0], 900)
    state = ForecastState()
    for start in (0, 300, 600):
        state.update(
            data.y[start : start + 300], data.mean[start : start + 300], std=std[start : start + 300], start=start
        )
    assert state.evaluate()["ece"] == forecasting.ece(data.y, data.mean, std)
