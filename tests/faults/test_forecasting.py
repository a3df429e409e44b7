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


@pytest.mark.parametrize("form", ["point", "std", "quantiles", "samples"])
@pytest.mark.parametrize("layout", ["F", "axes", "channel"])
@pytest.mark.parametrize("masked", [None, bool, int])
def test_null_values_of_arrays_in_any_layout(form: str, layout: str, masked: type | None) -> None:
    rng = np.random.default_rng(5)
    y = np.round(rng.normal(1, 1, (40, 2, 3)))
    point, mask = y + rng.normal(size=y.shape), rng.random(y.shape) < (0.8 if masked else 1)
    wide = np.stack([point - 1, point, point + 1], axis=-1)
    forecast = {"std": {"y_pred": point, "std": np.ones(y.shape)}, "quantiles": {"quantiles": wide}}
    arrays = {
        **({"mask": mask.astype(masked)} if masked else {}),
        **forecast.get(form, {"samples": wide} if form == "samples" else {"y_pred": point}),
    }
    counted, weights, history = mask & (y != 0), np.array([0.5, 1.0, 2.0]), rng.normal(5, 1, (30, 3))
    away, share = np.abs(point - y)[counted], np.broadcast_to(weights, y.shape)[counted]
    scaled = (np.abs(point - y) / np.abs(np.diff(history, axis=0)).mean(axis=0))[counted]

    def laid_out(array: np.ndarray) -> np.ndarray:
        """The same numbers in Fortran's order, with nodes in front, or as two channels between horizons and nodes."""
        if layout == "channel":
            return np.moveaxis(np.stack([array, array]), 0, 2)
        return np.moveaxis(array, 2, 0) if layout == "axes" else np.asfortranarray(array)

    axes = {"axes": ("node", "time", "horizon"), "channel": ("time", "horizon", "channel", "node")}.get(layout)
    given = {name: laid_out(array) for name, array in arrays.items()}
    options: dict[str, Any] = {"axes": axes, "null_value": 0, "history": history}
    options |= {"levels": (0.1, 0.5, 0.9)} if form == "quantiles" else {}
    for expected, weight in ((away.mean(), None), ((away * share).sum() / share.sum(), weights)):
        found = forecasting.evaluate(laid_out(y), **given, **options, weights=weight)
        values = found.by("channel") if layout == "channel" else {key: found[key].value for key in found}
        assert values["mae"] == pytest.approx(expected, rel=1e-12)
        if weight is None:
            assert values["mase"] == pytest.approx(scaled.mean(), rel=1e-12)


@pytest.mark.parametrize("door", ["arrays", "table", "state"])
def test_the_null_tolerance_applies_to_the_history(door: str) -> None:
    past, y = np.array([1.0, 3.0, 1e-5, 4.0, 6.0]), np.array([5.0, 6.0, 1e-5])
    # Naive errors of pairs without a null value: 2 and 2; both truths that count are 1 off.
    options: dict[str, Any] = {"null_value": 0.0, "null_tolerance": 1e-4}
    if door == "table":
        table = {"unique_id": [0] * 3, "ds": [5, 6, 7], "cutoff": [4, 5, 6], "y": y, "model": y + 1}
        history = {"unique_id": [0] * 5, "ds": range(5), "y": past}
        found = forecasting.evaluate_table(table, model="model", history=history, metrics=["mase", "rmsse"], **options)
    elif door == "state":
        state = forecasting.ForecastState(axes=("time",), history=past, **options)
        state.update(y, y + 1, start=0)
        found = state.evaluate(metrics=["mase", "rmsse"])
    else:
        found = forecasting.evaluate(y, y + 1, history=past, metrics=["mase", "rmsse"], **options)
    assert found["mase"].value == pytest.approx(0.5)
    assert found["rmsse"].value == pytest.approx(0.5)


def autoregressive(rng: np.random.Generator, shape: tuple[int, ...], memory: float) -> np.ndarray:
    noise = rng.normal(size=shape)
    for step in range(1, shape[0]):
        noise[step] = memory * noise[step - 1] + np.sqrt(1 - memory**2) * noise[step]
    return noise


@pytest.mark.parametrize("stated", ["any", "by node"])
@pytest.mark.parametrize(("memory", "scale"), [(0.0, 1.0), (0.0, 2.0), (0.8, 1.0), (0.8, 0.5)])
def test_perfect_forecasters_score_what_simulated_ones_do(memory: float, scale: float, stated: str) -> None:
    """Errors are `scale` times smaller than stated; those of a perfect forecaster follow each other alike."""
    levels, scores = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        error = autoregressive(rng, (100, 1, 10), memory)
        std = np.broadcast_to(rng.uniform(0.5, 3, 10 if stated == "by node" else error.shape), error.shape)
        ours, perfect = (
            forecasting.evaluate(size * std * error, 0 * error, std=scale * std, metrics=["ece", "ence"])
            for size in (1, scale)
        )
        levels.append([each.chance.value for each in ours.values()])
        scores.append([each.value for each in perfect.values()])
    np.testing.assert_allclose(np.mean(levels, axis=0), np.mean(scores, axis=0), rtol=0.12)
