"""Long tables from Python and from files, with any column names and in Nixtla's format."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError

RNG = np.random.default_rng(83)
STEPS, NODES = 30, 3
Y = RNG.normal(size=(STEPS, NODES))
MEAN = Y + RNG.normal(size=Y.shape)
TIMES = pd.date_range("2026-01-01", periods=STEPS, freq="D")
NAMES = ["b", "a", "c"]


def long(**more: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame({"sensor": np.tile(NAMES, STEPS), "day": np.repeat(TIMES, NODES), "speed": Y.ravel()})
    return frame.assign(**{name: values.ravel() for name, values in more.items()}).sample(frac=1, random_state=1)


def nixtla() -> pd.DataFrame:
    frame = long(NHITS=MEAN, **{"NHITS-lo-80": MEAN - 1, "NHITS-hi-80": MEAN + 1, "NHITS-median": MEAN, "Naive": 0 * Y})
    return frame.rename(columns={"sensor": "unique_id", "day": "ds", "speed": "y"})


COLUMNS = {"id": "sensor", "time": "day", "y": "speed", "mean": "forecast"}


@pytest.mark.parametrize("how", ["frame", "mapping", "indexed", "arrow", "narwhals", "csv", "parquet"])
def test_any_table(how: str, tmp_path: Any) -> None:
    expected = forecasting.evaluate(Y, MEAN, axes=("time", "node"), nodes=NAMES)
    frame = long(forecast=MEAN)
    table: Any = frame
    if how == "mapping":
        table = {name: frame[name].to_numpy() for name in frame}
    elif how == "indexed":
        table = frame.set_index(["sensor", "day"])
    elif how == "arrow":
        table = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    elif how == "narwhals":
        table = pytest.importorskip("narwhals").from_native(pytest.importorskip("pyarrow").Table.from_pandas(frame))
    elif how == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
        table = tmp_path / "t.csv"
    elif how == "parquet":
        frame.to_parquet(tmp_path / "t.parquet", index=False)
        table = tmp_path / "t.parquet"
    found = forecasting.evaluate_table(table, columns=COLUMNS)
    assert found["mae"].value == pytest.approx(expected["mae"].value, rel=1e-12)
    assert tuple(found["mae"].ci)[:2] == pytest.approx(tuple(expected["mae"].ci)[:2], rel=1e-9)
    known = dict(zip(NAMES, expected.by("node")["mae"].tolist(), strict=True))
    assert dict(zip(*(found.by("node")[name].tolist() for name in ("node", "mae")), strict=True)) == (
        pytest.approx(known, rel=1e-12)
    )
    if how in ("csv", "parquet"):
        again = forecasting.evaluate_files(table=table, columns=COLUMNS)
        assert again["mae"].value == found["mae"].value


def test_nixtla_models_and_intervals(tmp_path: Any) -> None:
    found = forecasting.evaluate_table(nixtla(), model="NHITS")
    quantiles = np.stack([MEAN - 1, MEAN, MEAN + 1], axis=-1)
    expected = forecasting.evaluate(Y, MEAN, quantiles=quantiles, levels=(0.1, 0.5, 0.9), axes=("time", "node"))
    for key in ("mae", "pinball", "coverage_80"):
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-12)
    assert forecasting.evaluate_table(nixtla(), model="Naive")["mae"].value == pytest.approx(np.abs(Y).mean())
    nixtla().to_csv(tmp_path / "n.csv", index=False)
    again = forecasting.evaluate_files(table=tmp_path / "n.csv", model="NHITS")
    assert again["pinball"].value == pytest.approx(expected["pinball"].value, rel=1e-12)
    with pytest.raises(InputError, match="which column is the forecast"):
        forecasting.evaluate_table(nixtla())
    with pytest.raises(InputError, match="has no column 'TFT'"):
        forecasting.evaluate_table(nixtla(), model="TFT")


def test_horizons_from_the_cutoff() -> None:
    frame = nixtla().sort_values(["unique_id", "ds"])
    frame["cutoff"] = np.repeat(TIMES[::2] - pd.Timedelta("1D"), 2).repeat(1).tolist() * NODES
    found = forecasting.evaluate_table(frame, model="Naive").by("horizon")
    assert found["horizon"].tolist() == [1, 2]
    np.testing.assert_allclose(found["mae"], [np.abs(Y[::2]).mean(), np.abs(Y[1::2]).mean()], rtol=1e-12)


def test_cells_without_a_row_are_masked_and_second_rows_refused() -> None:
    frame = long(forecast=MEAN)
    found = forecasting.evaluate_table(frame.iloc[5:], columns=COLUMNS)
    assert found["mae"].n == STEPS * NODES - 5
    rest = frame.iloc[5:]
    assert found["mae"].value == pytest.approx((rest.forecast - rest.speed).abs().mean(), rel=1e-12)
    with pytest.raises(InputError, match="more than one row has id"):
        forecasting.evaluate_table(pd.concat([frame, frame.iloc[:1]]), columns=COLUMNS)


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(InputError, match="has no column id or unique_id"):
        forecasting.evaluate_table(long(mean=MEAN))
    with pytest.raises(InputError, match="has no column 'where'"):
        forecasting.evaluate_table(long(mean=MEAN), columns={"id": "where"})
    with pytest.raises(OptionError, match="unknown role 'node'"):
        forecasting.evaluate_table(long(mean=MEAN), columns={"node": "sensor"})
    with pytest.raises(InputError, match="'speed' has values that are not numbers"):
        forecasting.evaluate_table(long(mean=MEAN).assign(speed="x"), columns=COLUMNS | {"mean": "mean"})


# ------------------------------------------------------------------- calendars


def folds(times: Any, cutoffs: Any, horizons: Any = (1, 2, 3), ids: str = "ab") -> pd.DataFrame:
    """A cross-validation whose errors are the horizons."""
    rows = [(u, times[c + h], times[c], 0.0, float(h), 2.0) for c in cutoffs for u in ids for h in horizons]
    return pd.DataFrame(rows, columns=["unique_id", "ds", "cutoff", "y", "M", "Other"])


def errors_by_horizon(table: Any) -> dict[Any, float]:
    by = forecasting.evaluate_table(table, model="M", metrics=["mae"]).by("horizon")
    return dict(zip(by["horizon"].tolist(), by["mae"].tolist(), strict=True))


@pytest.mark.parametrize("freq", ["MS", "ME", "QS", "QE", "YS", "BME", "D", "2D", "W", "W-FRI", "h", "15min"])
@pytest.mark.parametrize("every", [1, 5])
def test_horizons_are_steps_of_the_calendar(freq: str, every: int) -> None:
    times = pd.date_range("2020-01-01", periods=45, freq=freq)
    expected = {h: h for h in (1, 2, 3, 4, 5)}
    assert errors_by_horizon(folds(times, range(5, 40, every), expected)) == pytest.approx(expected)


def test_horizons_that_are_not_all_there() -> None:
    days = pd.date_range("2026-01-01", periods=60)
    assert errors_by_horizon(folds(days, range(5, 30), (3, 6))) == {3: 3, 6: 6}
    hole = folds(days, range(5, 30, 3)).query("ds != '2026-01-15'")
    assert errors_by_horizon(hole) == {1: 1, 2: 2, 3: 3}
    months = pd.date_range("2018-01-01", periods=60, freq="MS")
    mixed = pd.concat([folds(days, range(5, 30), ids="a"), folds(months, range(5, 30), ids="b")])
    assert errors_by_horizon(mixed) == {1: 1, 2: 2, 3: 3}
    for kind in (np.uint16, np.float32, np.int64):
        numbers = folds(np.arange(60), range(5, 30)).astype({"ds": kind, "cutoff": kind})
        assert errors_by_horizon(numbers) == {1: 1, 2: 2, 3: 3}
        with pytest.raises(InputError, match="is not after"):
            errors_by_horizon(numbers.rename(columns={"ds": "cutoff", "cutoff": "ds"}))


def test_parts_with_other_horizons_do_not_merge(tmp_path: Any) -> None:
    days = pd.date_range("2026-01-01", periods=100)
    parts = {
        "one": folds(days, range(30)),
        "two": folds(days, range(30, 60), (2, 3, 4)),
        "short": folds(days, range(30, 60)).iloc[1:],
    }
    states = {}
    for name, part in parts.items():
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        forecasting.evaluate_files(table=tmp_path / f"{name}.csv", model="M", save_state=tmp_path / f"{name}.npz")
        states[name] = forecasting.ForecastState.load(tmp_path / f"{name}.npz")
    with pytest.raises(InputError, match="the states differ"):
        states["one"].merge(states["two"])
    whole = states["one"].merge(states["short"]).evaluate()
    assert whole["mae"].n == 359


@pytest.mark.parametrize("horizon", [["1", "2", "10"], [1.0, 2.0, 10.0], np.array([1, 2, 10], "m8[h]")])
def test_horizons_of_a_column(horizon: Any) -> None:
    table = {
        "id": ["a"] * 30,
        "time": np.repeat(np.arange(10), 3),
        "horizon": np.tile(horizon, 10),
        "y": [0.0] * 30,
        "mean": [1.0, 2.0, 10.0] * 10,
    }
    found = forecasting.evaluate_table(table, horizons=(2,))
    assert found.by("horizon")["mae"].tolist() == [2]
    assert forecasting.evaluate_table(table).by("horizon")["horizon"].tolist() == [1, 2, 10]


def test_two_models_of_a_table() -> None:
    days = pd.date_range("2026-01-01", periods=120)
    y = RNG.normal(size=(120, 2)).cumsum(axis=0)
    rows = [
        (u, days[c + h], days[c], y[c + h, k], y[c, k], y[c, k] + 0.5)
        for c in range(80)
        for k, u in enumerate("ab")
        for h in (1, 2, 3)
    ]
    table = pd.DataFrame(rows, columns=["unique_id", "ds", "cutoff", "y", "Naive", "Drift"])
    at = np.arange(80)[:, None] + np.array([1, 2, 3])
    truth, naive = y[at], np.repeat(y[:80, None], 3, axis=1)
    for loss in ("absolute", "squared"):
        expected = forecasting.compare(truth, naive, naive + 0.5, loss=loss)
        found = forecasting.compare_table(table.sample(frac=1, random_state=1), "Naive", "Drift", loss=loss)
        assert (found.steps, found.horizon) == (80, 3)
        assert f"{'Naive' if found.difference < 0 else 'Drift'} has the smaller mean loss" in str(found)
        assert (found.difference, found.p_value) == pytest.approx((expected.difference, expected.p_value), rel=1e-9)
    for name in ("Naive", "Drift"):
        table[f"{name}-lo-80"], table[f"{name}-hi-80"] = table[name] - 1, table[name] + 1
        table[f"{name}-median"] = table[name]
    quantiles = [
        {"quantiles": np.stack([mean - 1, mean, mean + 1], axis=-1), "levels": [0.1, 0.5, 0.9]}
        for mean in (naive, naive + 0.5)
    ]
    expected = forecasting.compare(truth, *quantiles, loss="pinball")
    assert forecasting.compare_table(table, "Naive", "Drift", loss="pinball").p_value == pytest.approx(expected.p_value)
    with pytest.raises(InputError, match="has no column 'TFT'"):
        forecasting.compare_table(table, "Naive", "TFT")
    with pytest.raises(OptionError, match="mask= is for arrays"):
        forecasting.compare_table(table, "Naive", "Drift", mask=[True])


# -------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "ids",
    [
        ["a", None],
        ["a", np.nan],
        pd.Categorical(["a", None]),
        ["a", ""],
        [1.0, np.nan],
        pd.array(["a", pd.NA]),
        [1, "1"],
    ],
)
def test_ids_that_are_missing_or_mixed_are_refused(ids: Any) -> None:
    table = pd.DataFrame({"id": ids, "time": [1, 2], "y": [1.0, 2], "mean": [1.0, 2]})
    with pytest.raises(InputError, match=r"column 'id' has (empty cells|text in some rows)"):
        forecasting.evaluate_table(table)


@pytest.mark.parametrize("times", [["1.2.2026", "10.1.2026"], ["t1", "t10"], ["9 am", "10 am"]])
def test_times_whose_order_is_unknown_are_refused(times: list[str]) -> None:
    table = {"id": ["a", "a"], "time": times, "y": [1.0, 2], "mean": [1.0, 2]}
    with pytest.raises(InputError, match=r"column 'time' has times such as .* whose order is unknown"):
        forecasting.evaluate_table(table)


@pytest.mark.parametrize("form", ["%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f+02:00", "%Y-%m-%d %H:%M:%S.%fZ"])
def test_times_as_text_are_read_to_the_last_digit(form: str, recwarn: Any) -> None:
    times = pd.date_range("2026-01-01", periods=40, freq="250ms").strftime(form)
    table = pd.DataFrame({"id": "a", "time": times, "y": np.arange(40.0), "mean": np.arange(40.0) + 1})
    assert forecasting.evaluate_table(table.sample(frac=1, random_state=0))["mae"].n == 40
    assert not recwarn.list


def test_tables_that_are_not_tables_are_refused() -> None:
    good = {"id": [1, 1], "time": [1, 2], "y": [1.0, 2], "mean": [1.0, 2]}
    for name in good:
        for size in (1, 3):
            bad = good | {name: list(range(size))}
            with pytest.raises(InputError, match="Columns must be equally long"):
                forecasting.evaluate_table(bad)
    twice = pd.DataFrame(good)
    twice = pd.concat([twice, twice[["y"]]], axis=1)
    with pytest.raises(InputError, match="has the column 'y' twice"):
        forecasting.evaluate_table(twice)
    with pytest.raises(InputError, match="has no rows"):
        forecasting.evaluate_table(pd.DataFrame(good).iloc[:0])
    for option in ({"nodes": ["a"]}, {"axes": ("time",)}, {"ahead": [1]}, {"y_true": [1]}):
        with pytest.raises(OptionError, match="is for arrays"):
            forecasting.evaluate_table(good, **option)
    two = nixtla().assign(**{"NHITS_q0.1": 0.0})
    with pytest.raises(InputError, match=r"'NHITS-lo-80' and 'NHITS_q0.1' are both the quantile 0.1"):
        forecasting.evaluate_table(two, model="NHITS")
