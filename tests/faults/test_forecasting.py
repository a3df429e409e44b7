"""What was wrong with forecasting in 0.2, each with a test of its kind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge import forecasting, stats
from graphgauge.core.errors import InputError
from graphgauge.forecasting.labelled import Labelled
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
    past = frame.assign(y=frame.y * 2, ds=frame.ds - pd.Timedelta(days=90))
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


# ---- labels, histories and horizons that were silently misread


def labelled(values: np.ndarray, **labels: Any) -> Any:
    return Labelled(values, tuple(labels), {name: each for name, each in labels.items() if each is not None})


DAYS = pd.date_range("2024-01-01", periods=50).to_numpy()


def test_plain_arrays_keep_the_order_of_a_truth_that_is_newest_first() -> None:
    walk = RNG.normal(size=(50, 2)).cumsum(axis=0)
    truth, mask = labelled(walk, time=DAYS[::-1], node=np.arange(2)), np.arange(50)[:, None] < [[30, 40]]
    error = np.where(mask, np.abs(walk) + 0.1, 9e3)
    found = forecasting.evaluate(truth, walk + error, mask=mask, scores={"own": error})
    assert found["mae"].value == pytest.approx(error[mask].mean())
    assert found["own"].value == pytest.approx(error[mask].mean())
    expected = forecasting.evaluate(walk[::-1], walk[::-1] + error[::-1], mask=mask[::-1], axes=("time", "node"))
    assert tuple(found["mae"].interval) == pytest.approx(tuple(expected["mae"].interval))
    frame = pd.DataFrame({"day": DAYS[::-1], "a": walk[:, 0], "b": walk[:, 1]})
    assert forecasting.evaluate(forecasting.from_wide(frame, time="day"), walk + 1)["mae"].value == pytest.approx(1)
    with pytest.raises(InputError, match="std: has no labels, and the labels of y_pred along time have another order"):
        forecasting.evaluate(truth, labelled(walk, time=DAYS, node=np.arange(2)), std=np.ones(walk.shape))
    turned = labelled(walk.T, node=np.arange(2), time=DAYS)
    assert forecasting.evaluate(turned, walk.T + 1)["mae"].value == pytest.approx(1)


def test_plain_functions_match_labels() -> None:
    values = np.array([1.0, 2.0, 4.0])
    one, other = (
        labelled(values, city=np.array(["a", "b", "c"])),
        labelled(values[::-1], city=np.array(["c", "b", "a"])),
    )
    spread = np.ones(3)
    for function in (forecasting.mae, forecasting.rmse):
        assert function(one, other) == 0
        assert function(one, values) == 0
    assert forecasting.crps(one, other, labelled(spread, city=one.labels["city"])) == pytest.approx(
        forecasting.crps(values, values, spread)
    )
    assert forecasting.coverage(one, other, other, level=0.9)["coverage"] == 1
    series = pd.Series(values)
    frame = pd.DataFrame({"a": values, "b": values + 1})
    for function in (forecasting.mae, forecasting.evaluate):
        with pytest.raises(InputError, match="y_pred: has another index"):
            function(series, series[::-1])
    with pytest.raises(InputError, match="other columns"):
        forecasting.mae(frame, frame[["b", "a"]])
    assert forecasting.mae(frame, frame + 1) == 1
    assert forecasting.mae(series, values + 1) == 1


def test_weights_are_matched_by_name() -> None:
    y = np.zeros((40, 2))
    truth = labelled(y, time=None, node=np.array(["a", "b"]))
    error = y + np.array([1.0, 0.0])
    for weights in (pd.Series({"b": 1.0, "a": 3.0}), {"b": 1.0, "a": 3.0}):
        assert forecasting.evaluate(truth, error, weights=weights)["mae"].value == pytest.approx(0.75)
    with pytest.raises(InputError, match="has no weight of 'b'"):
        forecasting.evaluate(truth, error, weights=pd.Series({"a": 3.0}))
    with pytest.raises(InputError, match="weights: has no labels along node"):
        forecasting.evaluate(truth, error, weights=labelled(np.ones(2), node=None))


def test_labels_of_a_state_hold_for_all_batches() -> None:
    state = forecasting.ForecastState(axes=("time", "node"), labels={"node": ["a", "b"]})
    batch = labelled(np.zeros((5, 2)), time=DAYS[:5], node=np.array(["b", "a"]))
    with pytest.raises(InputError, match=r"labels\['node'\]: differ from the labels of the arrays"):
        state.update(batch, np.zeros((5, 2)), start=0)


@pytest.mark.parametrize("other", [{"weights": [2, 1]}, {"history": True, "season": 2}, {"weights": [1, 2]}])
def test_states_with_other_weights_or_histories_do_not_merge(other: dict[str, Any]) -> None:
    y, past = RNG.normal(size=(5, 1, 2)), RNG.normal(size=(20, 2))
    own: dict[str, Any] = {"history": past} if "history" in other else {"weights": [1, 2]}
    other = other | ({"history": past} if "history" in other else {})
    one, two = (
        forecasting.ForecastState(**options).update(y, y + 1, start=start) for start, options in ((0, own), (5, other))
    )
    if own == other:
        assert one.merge(two).evaluate()["mae"].value == pytest.approx(1)
    else:
        with pytest.raises(InputError, match=r"^batch: (weights|history and season) is"):
            one.merge(two)


@pytest.mark.parametrize("over", ["items", "seeds"])
def test_errors_over_other_histories_are_not_compared(over: Any) -> None:
    y, past = RNG.normal(10, 2, (120, 1, 3)), RNG.normal(size=(50, 3))

    def runs(**options: Any) -> Any:
        noise = RNG.normal(size=(4 if over == "seeds" else 1, *y.shape))
        found = [forecasting.evaluate(y, y + each, metrics=["mase", "rmsse"], **options) for each in noise]
        return found if over == "seeds" else found[0]

    one, season, scaled = runs(history=past), runs(history=past, season=7), runs(history=9 * past)
    for other in (season, scaled):
        with pytest.raises(InputError, match=r"over (the )?naive error"):
            stats.compare({"A": one, "B": other}, metric="mase", over=over)
    assert stats.compare({"A": one, "B": runs(history=past)}, metric="mase", over=over).conclusion


def test_a_history_ends_before_what_is_forecast() -> None:
    days = pd.date_range("2026-01-01", periods=60).to_numpy()
    columns = {"unique_id": np.repeat("a", 60), "ds": days, "y": RNG.normal(size=60), "A": RNG.normal(size=60)}
    past, test = ({name: each[some] for name, each in columns.items()} for some in (slice(50), slice(50, 60)))
    mase: dict[str, Any] = {"model": "A", "metrics": ["mase"]}
    assert forecasting.evaluate_table(test, history=past, **mase)["mase"].defined
    first = {name: each[:51] for name, each in columns.items()}
    for table, options in ((test, {}), (test | {"h": np.arange(1, 11)}, {"horizon": "h"})):
        with pytest.raises(InputError, match="2026-02-20 of 'a', which is not before the first time"):
            forecasting.evaluate_table(table, history=first, **mase, **options)
    with pytest.raises(InputError, match="history: its times are int64, those of the table datetime64"):
        forecasting.evaluate_table(test, history=past | {"ds": np.arange(50)}, **mase)
    truth = labelled(columns["y"][50:, None], time=days[50:], node=np.array(["a"]))
    with pytest.raises(InputError, match="history: has 2026-03-01, which is not before the first time"):
        forecasting.evaluate(truth, truth, history=truth)
    before = labelled(columns["y"][:50, None], time=days[:50], node=np.array(["a"]))
    assert forecasting.evaluate(truth, truth, history=before)["mase"].value == 0


def horizons(cutoffs: Any, steps: Any, calendar: Any = None, **more: Any) -> dict[str, Any]:
    """Rows of one series, some steps after each cutoff, by places in a calendar."""
    pairs = [(each, each + step) for each in cutoffs for step in steps]
    cutoff, ds = np.array(pairs).T
    calendar = np.arange(1000) if calendar is None else calendar
    named = {"unique_id": ["a"] * len(pairs), "cutoff": calendar[cutoff], "ds": calendar[ds]}
    return named | {"y": np.zeros(len(pairs)), "A": np.zeros(len(pairs))} | more


CALENDAR = np.arange("2024-01-01", "2025-06-01", dtype="M8[D]")  # from a Monday
WORKING = CALENDAR[np.is_busday(CALENDAR)]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (horizons(range(0, 90, 3), [3], CALENDAR), "one horizon, 259200 s after each cutoff"),
        (horizons(range(4, 90, 7), [3, 4], CALENDAR), "not whole steps"),
        (horizons(range(0, 90, 3), [3]), "one horizon, 3 after each cutoff"),
        (horizons(range(25, 60), [1, 2], np.array([int(str(day).replace("-", "")) for day in CALENDAR])), "dates"),
    ],
    ids=["one of three", "Fridays", "numbers", "dates as numbers"],
)
def test_horizons_that_are_not_known_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        forecasting.evaluate_table(table, model="A")
    assert 'horizon="…"' in str(caught.value)
    given = table | {
        "h": np.ones(len(table["y"]), int) if words.startswith("one") else np.tile([1, 2], len(table["y"]) // 2)
    }
    assert forecasting.evaluate_table(given, model="A", horizon="h")["mae"].value == 0


def test_working_days_beside_days_are_refused_and_alone_are_counted() -> None:
    working, daily = horizons(range(40), [1, 2], WORKING), horizons(range(40), [1, 2], CALENDAR)
    for table in (working, daily):
        assert forecasting.evaluate_table(table, model="A").by("horizon")["horizon"].tolist() == [1, 2]
    daily["unique_id"] = ["b"] * len(daily["y"])
    both = {name: np.concatenate([working[name], daily[name]]) for name in working}
    with pytest.raises(InputError, match="not whole steps"):
        forecasting.evaluate_table(both, model="A")


def test_labels_that_the_truth_lacks_are_refused() -> None:
    values = RNG.normal(size=(50, 3))
    wide = labelled(values, time=DAYS, node=np.array(["a", "b", "c"]))
    fewer, shorter = (
        labelled(values[:, :2], time=DAYS, node=np.array(["a", "b"])),
        labelled(values[:49], time=DAYS[:49], node=np.array(["a", "b", "c"])),
    )
    for truth, words in (
        (fewer, "y_pred, node: has the label c, which"),
        (shorter, "y_pred, time: has the label 2024"),
    ):
        with pytest.raises(InputError, match=words):
            forecasting.evaluate(truth, wide)
    levels = labelled(
        np.sort(RNG.normal(size=(50, 3, 3))), time=DAYS, node=wide.labels["node"], q=np.array([0.1, 0.5, 0.9])
    )
    with pytest.raises(InputError, match=r"quantiles, q: has the label 0\.9"):
        forecasting.evaluate(wide, quantiles=levels, levels=(0.1, 0.5))


def test_texts_of_pandas_3_are_labels() -> None:
    texts = np.array(["u", "v"], np.dtypes.StringDType(na_object=np.nan))
    coordinates = {"time": SimpleNamespace(values=DAYS), "node": SimpleNamespace(values=texts)}
    truth = SimpleNamespace(values=RNG.normal(size=(50, 2)), dims=("time", "node"), coords=coordinates)
    assert forecasting.evaluate(truth, truth).by("node")["node"].tolist() == ["u", "v"]


def test_times_beside_arrays_are_dates_or_numbers_in_order() -> None:
    y = RNG.normal(size=(50, 1, 2))
    with pytest.raises(InputError, match=r"labels\['time'\]: are not in order"):
        forecasting.evaluate(y, y, labels={"time": RNG.permutation(50)})
    assert forecasting.evaluate(y, y + 1, labels={"time": DAYS})["mae"].value == pytest.approx(1)


def test_a_state_whose_null_value_is_nan_takes_several_batches() -> None:
    y = np.ones((10, 1, 2))
    y[0, 0] = np.nan
    state = forecasting.ForecastState(null_value=np.nan)
    for start in (0, 10):
        state.update(y, y + 1, start=start)
    assert state.evaluate()["mae"].value == 1
    assert state.evaluate()["mae"].n == 36
