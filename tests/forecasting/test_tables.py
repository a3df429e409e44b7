"""Long tables: Nixtla's columns or others, of any library, with series of any length."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.io.tables import read_table

RNG = np.random.default_rng(0)
DAYS = np.arange("2026-01-30", "2026-04-30", dtype="M8[D]")


def cross_validation(series: str = "ba", cutoffs: int = 40, horizons: int = 3) -> dict[str, Any]:
    """What a cross-validation of StatsForecast returns, in some other order."""
    rows = [
        {"unique_id": name, "cutoff": DAYS[first], "ds": DAYS[first + ahead + 1], "place": (first, ahead, name)}
        for name in series
        for first in range(cutoffs)
        for ahead in range(horizons)
    ]
    order = RNG.permutation(len(rows))
    columns = {name: np.array([rows[row][name] for row in order]) for name in ("unique_id", "cutoff", "ds")}
    y = RNG.normal(10, 2, len(rows))
    columns |= {"y": y, "Naive": y + RNG.normal(size=len(rows)), "Theta": y + 0.5 * RNG.normal(size=len(rows))}
    half = RNG.uniform(0.5, 2, len(rows))
    return columns | {"Theta-lo-80": columns["Theta"] - half, "Theta-hi-80": columns["Theta"] + half}


def as_arrays(table: dict[str, Any], column: str) -> np.ndarray:
    """The column as (cutoff, horizon, series)."""
    names, cutoffs = sorted(set(table["unique_id"])), sorted(set(table["cutoff"]))
    found = np.empty((len(cutoffs), 3, len(names)))
    for row, value in enumerate(table[column]):
        ahead = int((table["ds"][row] - table["cutoff"][row]) / np.timedelta64(1, "D")) - 1
        found[cutoffs.index(table["cutoff"][row]), ahead, names.index(table["unique_id"][row])] = value
    return found


def assert_equal(found: Any, expected: Any) -> None:
    assert list(found) == list(expected)
    for key in expected:
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-14), key
        assert (found[key].interval is None) == (expected[key].interval is None), key
        if expected[key].interval is not None:
            assert tuple(found[key].interval) == pytest.approx(tuple(expected[key].interval), rel=1e-9), key


TABLE = cross_validation()


def test_nixtlas_columns_are_known() -> None:
    found = forecasting.evaluate_table(TABLE, model="Theta")
    y, theta, low, high = (as_arrays(TABLE, name) for name in ("y", "Theta", "Theta-lo-80", "Theta-hi-80"))
    quantiles = np.stack([low, high], axis=-1)
    assert_equal(found, forecasting.evaluate(y, theta, quantiles=quantiles, levels=(0.1, 0.9)))
    assert "coverage_80" in found
    assert found.by("horizon")["horizon"].tolist() == [1, 2, 3]
    assert found.by("node")["node"].tolist() == ["a", "b"]
    indexed = forecasting.evaluate_table(pd.DataFrame(TABLE).set_index("unique_id"), model="Theta")
    assert indexed["mae"].value == found["mae"].value


def kinds() -> dict[str, Any]:
    frame = pd.DataFrame(TABLE)
    zone = timezone(timedelta(hours=2))
    there = {
        name: [datetime.fromisoformat(str(day)).replace(tzinfo=UTC).astimezone(zone) for day in TABLE[name]]
        for name in ("ds", "cutoff")
    }
    return {
        "days": TABLE,
        "nanoseconds": TABLE | {name: TABLE[name].astype("M8[ns]") for name in ("ds", "cutoff")},
        "microseconds": TABLE | {name: TABLE[name].astype("M8[us]") for name in ("ds", "cutoff")},
        "text": TABLE | {name: TABLE[name].astype(str) for name in ("ds", "cutoff")},
        "zones": TABLE | there,
        "pandas": frame,
        "pandas with an index": frame.set_index("unique_id").reset_index(),
        "pandas with zones": frame.assign(**{name: frame[name].dt.tz_localize("UTC") for name in ("ds", "cutoff")}),
        "pyarrow": pa.table(TABLE),
        "pyarrow with zones": pa.table(TABLE | {name: pa.array(there[name]) for name in there}),
    }


@pytest.mark.parametrize("kind", kinds())
def test_every_library_and_every_kind_of_date(kind: str) -> None:
    expected = forecasting.evaluate_table(TABLE, model="Naive", metrics="all")
    assert_equal(forecasting.evaluate_table(kinds()[kind], model="Naive", metrics="all"), expected)


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_dates_from_files_are_those_in_memory(tmp_path: Path, unit: str, zone: str | None) -> None:
    frame = pd.DataFrame({name: values for name, values in TABLE.items() if "-" not in name})
    for name in ("ds", "cutoff"):
        frame[name] = frame[name].astype(f"datetime64[{unit}]").dt.tz_localize("UTC" if zone else None)
        frame[name] = frame[name].dt.tz_convert(zone) if zone else frame[name]
    expected = forecasting.evaluate_table(TABLE, model="Naive")
    frame.to_csv(tmp_path / "table.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "table.parquet")
    assert_equal(forecasting.evaluate_table(frame, model="Naive"), expected)
    for file in ("table.csv", "table.parquet"):
        assert_equal(forecasting.evaluate_table(read_table(file, tmp_path), model="Naive"), expected)


def test_columns_of_other_names() -> None:
    renamed = {"sensor": TABLE["unique_id"], "when": TABLE["ds"], "issued": TABLE["cutoff"], "truth": TABLE["y"]}
    renamed |= {"f": TABLE["Naive"], "lead": (TABLE["ds"] - TABLE["cutoff"]).astype(int), "s": np.ones(len(TABLE["y"]))}
    names = {"id": "sensor", "time": "when", "y": "truth", "cutoff": "issued"}
    expected = forecasting.evaluate(as_arrays(TABLE, "y"), as_arrays(TABLE, "Naive"), std=np.ones((40, 3, 2)))
    for horizon in (None, "lead"):
        assert_equal(forecasting.evaluate_table(renamed, **names, pred="f", std="s", horizon=horizon), expected)


def test_quantiles_members_and_losses_by_column() -> None:
    columns = TABLE | {"q9": TABLE["y"] + 1, "q1": TABLE["y"] - 2, "loss": np.abs(TABLE["y"])}
    found = forecasting.evaluate_table(columns, quantiles={0.9: "q9", 0.1: "q1"}, scores=["loss"], metrics="all")
    assert found["pinball"].value == pytest.approx((0.1 * 1 + 0.1 * 2) / 2)
    assert found["loss"].value == pytest.approx(columns["loss"].mean(), rel=1e-15)
    assert "mae" not in found
    members = forecasting.evaluate_table(columns, samples=["Naive", "Theta"], metrics=["crps", "mae"])
    both = np.stack([as_arrays(TABLE, "Naive"), as_arrays(TABLE, "Theta")], axis=-1)
    expected = forecasting.evaluate(as_arrays(TABLE, "y"), samples=both, metrics=["crps", "mae"])
    assert_equal(members, expected)


def test_series_of_different_lengths_take_no_memory_for_their_gaps() -> None:
    """Each of 600 series has a cutoff of its own."""
    names, place = np.repeat(np.arange(600), 24), np.tile(np.arange(24), 600)
    y = RNG.normal(size=len(names))
    table = {"unique_id": names, "cutoff": names, "ds": names + place + 1, "y": y, "A": y + 1}
    found = forecasting.evaluate_table(table, model="A")
    assert found["mae"].value == pytest.approx(1)
    assert len(found.by("horizon")) == 24
    assert found["mae"].n == 14_400


@pytest.mark.parametrize("unit", ["ns", "us", "h"])
def test_a_missing_hour_of_the_history_does_not_shift_its_season(unit: str) -> None:
    hours = np.datetime64("2026-01-01T00", "h") + np.arange(24 * 10)
    y = RNG.normal(size=len(hours))
    there = np.delete(np.arange(len(hours)), [30, 31, 100])
    filled = np.full(len(hours), np.nan)
    filled[there] = y[there]
    later = hours[-1] + np.arange(1, 5)
    table = {"unique_id": ["a"] * 4, "ds": later.astype(f"M8[{unit}]"), "y": np.arange(4.0), "Naive": np.zeros(4)}
    past = {"unique_id": ["a"] * len(there), "ds": hours[there].astype(f"M8[{unit}]"), "y": y[there]}
    options = {"season": 24, "metrics": ["mase", "rmsse"]}
    found = forecasting.evaluate_table(table, model="Naive", history=past, **options)
    wide = forecasting.from_wide({"ds": past["ds"], "a": past["y"]}, time="ds")
    truth = forecasting.from_wide({"ds": table["ds"], "a": table["y"]}, time="ds")
    forecast = forecasting.from_wide({"ds": table["ds"], "a": table["Naive"]}, time="ds")
    expected = forecasting.evaluate(
        table["y"][:, None], table["Naive"][:, None], axes=("time", "node"), history=filled[:, None], **options
    )
    labelled = forecasting.evaluate(truth, forecast, history=wide, **options)
    for key in options["metrics"]:
        assert found[key].value == labelled[key].value == expected[key].value


def test_histories_are_training_tables() -> None:
    times = np.tile(np.arange("2025-12-01", "2025-12-21", dtype="M8[D]"), 2)
    past = {"unique_id": np.repeat(["b", "a"], 20), "ds": times, "y": RNG.normal(size=40)}
    shuffled = {name: values[RNG.permutation(40)] for name, values in past.items()}
    order = RNG.permutation(40)
    shuffled = {name: values[order] for name, values in past.items()}
    found = forecasting.evaluate_table(TABLE, model="Naive", history=shuffled, season=4, metrics=["mase", "rmsse"])
    both = np.stack([past["y"][20:], past["y"][:20]], axis=1)
    expected = forecasting.evaluate(
        as_arrays(TABLE, "y"), as_arrays(TABLE, "Naive"), history=both, season=4, metrics=["mase", "rmsse"]
    )
    assert_equal(found, expected)
    only = {name: values[:20] for name, values in past.items()}
    with pytest.raises(InputError, match="history: has no rows of 'a'"):
        forecasting.evaluate_table(TABLE, model="Naive", history=only)


def test_weights_by_series() -> None:
    found = forecasting.evaluate_table(TABLE, model="Naive", weights={"b": 3, "a": 1})
    expected = forecasting.evaluate(as_arrays(TABLE, "y"), as_arrays(TABLE, "Naive"), weights=[1, 3])
    assert_equal(found, expected)
    with pytest.raises(InputError, match="no weight of 'b'"):
        forecasting.evaluate_table(TABLE, model="Naive", weights={"a": 1})


def changed(**columns: Any) -> dict[str, Any]:
    return TABLE | columns


def without(row: int) -> dict[str, Any]:
    return {name: np.delete(values, row) for name, values in TABLE.items()}


def test_rows_may_be_missing() -> None:
    middle = int(np.flatnonzero((TABLE["ds"] - TABLE["cutoff"]).astype(int) == 1)[0])
    table = without(middle)
    table["h"] = (table["ds"] - table["cutoff"]).astype(int).astype(str)
    error = np.abs(table["Naive"] - table["y"])
    for horizon in ("h", None):
        found = forecasting.evaluate_table(table, model="Naive", horizon=horizon)
        assert found["mae"].value == pytest.approx(error.mean(), rel=1e-14)
        assert found.by("horizon")["n"].tolist() == [79, 80, 80]


def issued(ahead: list[Any], cutoffs: list[Any]) -> dict[str, Any]:
    """A forecast per cutoff and time ahead of it, whose error is the number of the time."""
    pairs = [(cutoff, time) for cutoff, times in zip(cutoffs, ahead, strict=True) for time in times]
    number = np.concatenate([np.arange(1, len(times) + 1) for times in ahead])
    zeros = np.zeros(len(pairs))
    return {
        "unique_id": ["a"] * len(pairs),
        "cutoff": np.array([cutoff for cutoff, _ in pairs], "M8[ns]"),
        "ds": np.array([time for _, time in pairs], "M8[ns]"),
        "y": zeros,
        "A": zeros + number,
    }


def of_horizons(table: Any, **options: Any) -> dict[int, float]:
    grid = forecasting.evaluate_table(table, model="A", **options).by("horizon")
    return dict(zip(grid["horizon"].tolist(), grid["mae"].tolist(), strict=True))


CALENDARS = {
    "hours": pd.date_range("2026-03-28", periods=72, freq="h"),
    "weeks": pd.date_range("2026-01-01", periods=72, freq="W"),
    "working days": pd.date_range("2026-01-01", periods=72, freq="B"),
    "months": pd.date_range("2024-01-01", periods=72, freq="MS"),
    "ends of months": pd.date_range("2024-01-01", periods=72, freq="ME"),
    "quarters": pd.date_range("2024-01-01", periods=72, freq="QS"),
    "years": pd.date_range("2000-01-01", periods=72, freq="YS"),
    "local days": pd.date_range("2026-03-01", periods=72, tz="Pacific/Auckland").tz_convert(None),
}


@pytest.mark.parametrize("calendar", CALENDARS)
def test_horizons_are_counted_in_steps_from_the_cutoff(calendar: str) -> None:
    times = CALENDARS[calendar].to_numpy()
    table = issued([times[first + 1 : first + 7] for first in range(0, 60, 6)], list(times[:60:6]))
    assert of_horizons(table) == {ahead: ahead for ahead in range(1, 7)}
    for kept in ([1, 2, 4, 5, 6], [4, 5, 6]):
        rows = np.isin(table["A"], kept)
        assert of_horizons({name: np.asarray(each)[rows] for name, each in table.items()}) == {h: h for h in kept}


def test_horizons_that_cannot_be_counted_are_refused() -> None:
    start = np.datetime64("2026-01-01T00")
    uneven = issued([[start + 1, start + 2], [start + 7, start + 9]], [start, start + 5])
    uneven["ds"][0] += np.timedelta64(7, "m")
    for table in (uneven, uneven | {"cutoff": np.array([0, 0, 1, 1])}):
        with pytest.raises(InputError, match="not whole steps after their cutoffs") as caught:
            forecasting.evaluate_table(table, model="A")
        assert 'horizon="…"' in str(caught.value.fix)
        assert of_horizons(table | {"h": [1, 2, 1, 2]}, horizon="h") == {1: 1, 2: 2}
    with pytest.raises(InputError, match="more than one row has unique_id a, cutoff 0, h 1"):
        of_horizons(table | {"h": [1, 1, 1, 2]}, horizon="h")


def test_text_whose_order_is_unknown_is_refused() -> None:
    texts = {name: pd.Series(TABLE[name]).dt.strftime("%d/%m/%Y").to_numpy() for name in ("ds", "cutoff")}
    hours = (TABLE["ds"] - TABLE["cutoff"]).astype(int)
    for options in ({}, {"horizon": "h"}):
        with pytest.raises(InputError, match="whose order is unknown"):
            forecasting.evaluate_table(TABLE | texts | {"h": hours}, model="Naive", **options)


def test_histories_are_checked_like_tables() -> None:
    days = np.arange("2025-12-01", "2026-01-31", dtype="M8[D]")
    past = {"unique_id": np.repeat(["b", "a"], 61), "ds": np.tile(days, 2), "y": RNG.normal(size=122)}
    mase = {"model": "Naive", "metrics": ["mase"]}
    assert forecasting.evaluate_table(TABLE, history=past, **mase)["mase"].defined
    for change, words in (
        ({name: np.append(each, each[:1]) for name, each in past.items()}, "history: more than one row has"),
        (past | {"ds": pd.Series(past["ds"]).dt.strftime("%d/%m/%Y")}, "history: times such as '01/12/2025'"),
        (past | {"ds": past["ds"] + 1}, "history: has 2026-01-31 of 'b', which is after its first cutoff"),
    ):
        with pytest.raises(InputError, match=words):
            forecasting.evaluate_table(TABLE, history=change, **mase)


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        (TABLE, {}, InputError, r"It could be Naive, Theta\."),
        (TABLE, {"model": "Theta", "coverage": 0.9}, OptionError, "coverage has 0.9; the quantiles bound 0.8"),
        (TABLE, {"model": "ETS"}, InputError, "no column 'ETS'; it has"),
        (TABLE, {"model": "Naive", "pred": "Theta"}, OptionError, "model= names the columns"),
        (TABLE, {"model": "Naive", "id": "sensor"}, InputError, "no column 'sensor'"),
        (TABLE, {"model": "Naive", "cutoff": "issued"}, InputError, "no column 'issued'"),
        (TABLE, {"model": "unique_id"}, InputError, "values that are not numbers"),
        (changed(ds=TABLE["ds"] - 100), {"model": "Naive"}, InputError, "is not after its cutoff"),
        (changed(unique_id=[None] * 240), {"model": "Naive"}, InputError, "empty labels"),
        ({name: values[:0] for name, values in TABLE.items()}, {"model": "Naive"}, InputError, "no rows"),
        ({"y": [1]}, {"pred": "y"}, InputError, "no column 'unique_id'"),
        ({name: values for name, values in TABLE.items() if name != "y"}, {"model": "Naive"}, InputError, "Join them"),
        (changed(y=TABLE["y"][:3]), {"model": "Naive"}, InputError, "differ in shape"),
        (5, {"model": "Naive"}, InputError, "int is not a table"),
        (TABLE, {"model": "Naive", "season": 7}, OptionError, "season= needs history="),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(table: Any, options: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        forecasting.evaluate_table(table, **options)


def test_errors_name_series_and_time() -> None:
    table = changed(Naive=np.where(np.arange(240) == 7, np.nan, TABLE["Naive"]))
    day = str(TABLE["cutoff"][7])
    with pytest.raises(
        InputError, match=f"1 of 240 values are NaN, the first at time {day}, horizon ., node"
    ) as caught:
        forecasting.evaluate_table(table, model="Naive")
    assert caught.value.what.endswith(f"node {TABLE['unique_id'][7]}")
    twice = {name: np.append(values, values[:1]) for name, values in TABLE.items()}
    with pytest.raises(InputError, match=f"more than one row has unique_id {TABLE['unique_id'][0]}, ds"):
        forecasting.evaluate_table(twice, model="Naive")


def test_missing_truths_are_omitted_on_request() -> None:
    table = changed(y=np.where(np.arange(240) % 5 == 0, np.nan, TABLE["y"]))
    found = forecasting.evaluate_table(table, model="Naive", nan="omit")
    assert found["mae"].n == 192
    assert "48 cells with NaN are left out" in found["mae"].warnings
