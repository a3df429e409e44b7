"""What was wrong with forecasting in 0.2, each with a test of its kind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError
from graphgauge.io.tables import read_table

RNG = np.random.default_rng(0)


def long_table(unit: str = "ns") -> pd.DataFrame:
    days = pd.date_range("2026-01-31", periods=90).astype(f"datetime64[{unit}]")
    slow = np.repeat(RNG.normal(size=18), 5)
    y = RNG.normal(size=(90, 2))
    return pd.DataFrame(
        {
            "unique_id": np.repeat(["a", "b"], 90),
            "ds": [*days, *days],
            "y": y.T.ravel(),
            "A": (y + slow[:, None]).T.ravel(),
        }
    ).sample(frac=1, random_state=0)


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_f31_dates_of_any_resolution_keep_their_order(unit: str, tmp_path: Path) -> None:
    frame = long_table(unit)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "t.parquet")
    ordered = frame.sort_values(["ds", "unique_id"])
    arrays = [ordered[name].to_numpy().reshape(90, 2) for name in ("y", "A")]
    expected = forecasting.evaluate(*arrays, axes=("time", "node"))["mae"]
    for table in (frame, read_table("t.parquet", tmp_path)):
        found = forecasting.evaluate_table(table, model="A")["mae"]
        assert tuple(found.interval) == pytest.approx(tuple(expected.interval), rel=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_f32_a_column_of_dates_or_times_becomes_no_sensor(kind: str) -> None:
    frame: Any = pd.DataFrame({"time": range(40), "a": RNG.normal(size=40)})
    frame = frame if kind == "pandas" else pa.Table.from_pandas(frame)
    with pytest.raises(InputError, match=r'from_wide\(frame, time="…"\)'):
        forecasting.evaluate(frame, frame)
    wide = forecasting.from_wide(frame, time="time")
    assert forecasting.evaluate(wide, wide).by("node")["node"].tolist() == ["a"]


def test_f33_a_state_does_not_lose_its_order_without_a_word() -> None:
    y = RNG.normal(size=(60, 1, 2))
    with pytest.raises(TypeError, match="start"):
        forecasting.ForecastState().update(y, y)  # type: ignore[call-arg]
    state = forecasting.ForecastState()
    for part in (y[:30], y[30:]):
        state.update(part, part + RNG.normal(size=part.shape), start="next")
    assert state.evaluate()["mae"].interval is not None


def test_f34_no_interval_carries_a_doubt_of_its_own() -> None:
    y = RNG.normal(size=(150, 1, 2))
    text = str(forecasting.evaluate(y, y + RNG.normal(size=y.shape)))
    assert "≈" not in text
    assert "covers" not in text


def test_f35_methods_are_compared_over_time_from_what_is_kept() -> None:
    y = RNG.normal(size=(120, 3, 4))
    noise = RNG.normal(size=y.shape)
    one, other = (forecasting.evaluate(y, y + scale * noise) for scale in (1, 2))
    assert one.per_item is not None
    assert other.per_item is not None
    assert one.per_item.unit == "time step"
    assert one.per_item.ids.tolist() == other.per_item.ids.tolist()
    assert (one.per_item["mae"] < other.per_item["mae"]).all()


def test_f36_any_distribution_by_its_samples_and_losses() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    mixed = torch.distributions.Categorical(torch.ones(60, 2))
    parts = torch.distributions.Normal(torch.tensor([-1.0, 1.0]).expand(60, 2), torch.ones(60, 2))
    forecast = torch.distributions.MixtureSameFamily(mixed, parts)
    y = forecast.sample()
    with pytest.raises(InputError, match=r"samples=d\.sample"):
        forecasting.evaluate(y, forecast)
    samples = forecast.sample((200,)).movedim(0, -1)
    ev = forecasting.evaluate(y, samples=samples, scores={"nll": -forecast.log_prob(y)})
    assert ev["nll"].value == pytest.approx(float(-forecast.log_prob(y).mean()), rel=1e-6)
    assert ev["crps"].interval is not None


def test_f37_training_tables_are_histories() -> None:
    frame = long_table()
    past = frame.assign(y=frame.y * 2)
    assert forecasting.evaluate_table(frame, model="A", history=past, metrics=["mase"])["mase"].defined
    with pytest.raises(InputError, match="history: has no rows of 'b', which the table has"):
        forecasting.evaluate_table(frame, model="A", history=past[past.unique_id == "a"], metrics=["mase"])


def test_f38_weights_and_masks_over_one_of_two_dimensions() -> None:
    """The tests of labels have the values."""
    dims = {"time": np.arange(40), "lat": np.array([0.0, 60.0]), "lon": np.array([0.0, 90.0, 180.0])}
    y = forecasting.from_wide({"t": [1, 2], "a": [1.0, 2.0]}, time="t")
    make = type(y)
    truth = make(RNG.normal(size=(40, 2, 3)), tuple(dims), dims)
    one = {"lat": dims["lat"]}
    options: dict[str, Any] = {"axes": {"time": "time", "node": ("lat", "lon")}}
    weighted = forecasting.evaluate(truth, truth, weights=make(np.array([1.0, 0.5]), ("lat",), one), **options)
    assert weighted.conventions["node weights"] == "given"
    masked = forecasting.evaluate(truth, truth, mask=make(np.array([True, False]), ("lat",), one), **options)
    assert masked["mae"].n == 120


def test_f39_pinball_losses_need_no_median() -> None:
    y = RNG.normal(size=40)
    assert forecasting.pinball(y, np.stack([y - 1, y + 1], axis=-1), levels=[0.1, 0.9]) == pytest.approx(0.1)


def test_f40_missing_values_of_any_size_are_found() -> None:
    y = RNG.normal(10, 1, (200, 1, 4))
    y[::29] = -9999
    forecast = np.where(y < 0, 10, y) + RNG.normal(size=y.shape)
    assert "unmasked-zeros" in [each.check for each in forecasting.evaluate(y, forecast).findings]


def test_f41_the_first_call_and_its_words_take_no_second() -> None:
    code = """
import time, numpy as np
from graphgauge import forecasting
y = np.random.default_rng(0).normal(size=(1000, 12, 207)).astype("f4")
mask = np.random.default_rng(1).random(y.shape) < .9
std = np.random.default_rng(2).uniform(.5, 2, y.shape).astype("f4")
clock = time.process_time()
ev = forecasting.evaluate(y, y + 1, std=std, mask=mask)
evaluated = time.process_time() - clock
text = str(ev)
print(evaluated, time.process_time() - clock - evaluated)
"""
    run = [sys.executable, "-c", code]
    answers = [subprocess.run(run, capture_output=True, check=True).stdout for _ in range(3)]
    best = np.min([list(map(float, answer.split())) for answer in answers], axis=0)
    # Of 1.8 and .6 to 5.7 seconds before; in processor time, of all threads, which other processes do not lengthen.
    assert best[0] < 0.9
    assert best[1] < 0.5
    small = RNG.normal(size=(10, 24, 5))
    forecasting.evaluate(small, small + 1)
    clock = time.process_time()
    for _ in range(10):
        forecasting.evaluate(small, small + 1)
    assert (time.process_time() - clock) / 10 < 0.05


def test_f42_a_state_is_smaller_than_its_data(tmp_path: Path) -> None:
    y = RNG.normal(size=(500, 12, 40))
    forecasting.ForecastState().update(y, y + RNG.normal(size=y.shape), std=RNG.uniform(0.5, 2, y.shape), start=0).save(
        tmp_path / "s.npz"
    )
    assert (tmp_path / "s.npz").stat().st_size < min(2_000_000, y.nbytes)


def test_f43_horizons_in_tables_cells_by_name_and_vanishing_squares(tmp_path: Path) -> None:
    y = RNG.normal(size=(40, 3, 2))
    assert "horizon" in forecasting.evaluate(y, y + 1).by("horizon").to_csv().splitlines()[0]
    frame = long_table()
    frame.iloc[7, 3] = np.nan
    with pytest.raises(InputError, match=r"the first at time 2026-\d\d-\d\d, node [ab]"):
        forecasting.evaluate_table(frame, model="A")
    with pytest.raises(InputError, match="squares vanish"):
        forecasting.rmse(y * 1e-200, y * 2e-200)


@pytest.mark.parametrize("form", ["dense", "weights", "table"])
def test_r2_holds_where_the_mean_is_far_from_zero(form: str) -> None:
    """Pressures of a million and a spread of one: squares lose what the variation is made of, in every form."""
    rng = np.random.default_rng(2)
    truth = 1e6 + rng.normal(size=(20, 1, 3))
    predicted, weights = truth + rng.normal(size=truth.shape), np.array([0.3, 1.0, 2.7])
    share = np.broadcast_to(weights if form == "weights" else np.ones(3), truth.shape)
    centre = (share * (truth - 1e6)).sum() / share.sum()
    spread = (share * (truth - 1e6 - centre) ** 2).sum()
    expected = 1 - (share * (predicted - truth) ** 2).sum() / spread
    if form == "table":
        step, _, node = np.indices(truth.shape)
        columns = {"unique_id": node, "ds": step, "cutoff": step - 1, "y": truth, "model": predicted}
        table = {name: values.ravel() for name, values in columns.items()}
        found = forecasting.evaluate_table(table, model="model", metrics="r2")
    else:
        found = forecasting.evaluate(truth, predicted, weights=weights if form == "weights" else None, metrics="r2")
    assert found["r2"].value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1.0, 1e100, 1e140])
def test_gaussians_of_any_unit_have_the_same_calibration(scale: float) -> None:
    """Fourth powers of deviations are beyond the range of floats long before their squares are."""
    rng = np.random.default_rng(4)
    truth, std = rng.normal(size=(40, 1, 3)), np.exp(0.01 * rng.normal(size=(40, 1, 3)))
    plain = forecasting.evaluate(truth, np.zeros_like(truth), std=std, metrics=["ece", "ence"])
    with np.errstate(all="ignore"):
        scaled = forecasting.evaluate(
            scale * truth, np.zeros_like(truth), std=scale * std, metrics=["ece", "ence", "crps"]
        )
    assert scaled["ece"].value == pytest.approx(scale * plain["ece"].value, rel=1e-9)
    assert scaled["ence"].value == pytest.approx(plain["ence"].value, rel=1e-9)
