"""Names that data frames and xarray bring along are matched or refused, never thrown away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting import ForecastState
from graphgauge.old.engines.fold import Fold

RNG = np.random.default_rng(71)
STEPS, NODES = 24, 4
Y, MEAN = RNG.normal(size=(2, STEPS, NODES))
STD = RNG.uniform(0.5, 2, Y.shape)
MASK = RNG.random(Y.shape) < 0.7
SAMPLES = MEAN[..., None] + RNG.normal(size=(*Y.shape, 5))
LEVELS = (0.1, 0.5, 0.9)
QUANTILES = MEAN[..., None] + np.array([-1.0, 0.0, 1.0])
SENSORS = ["north", "east", "south", "west"]
TIMES = pd.date_range("2026-01-01", periods=STEPS, freq="h")
AXES = ("time", "node")
ORDER = [2, 0, 3, 1]


class Labelled:
    """As much of an xarray.DataArray as is read."""

    def __init__(self, values: np.ndarray, dims: tuple[str, ...], coords: dict[str, Any]) -> None:
        self.values, self.dims, self.coords = values, dims, coords

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.values, dtype)


def data_array() -> Any:
    """The real one, where it is there."""
    try:
        from xarray import DataArray
    except ImportError:
        return Labelled
    return DataArray


def frame(values: np.ndarray, columns: Any = SENSORS, index: Any = TIMES) -> pd.DataFrame:
    return pd.DataFrame(values, columns=columns, index=index)


def xarray(values: np.ndarray, last: str | None = None, **coords: Any) -> Any:
    dims = (*AXES, *([] if last is None else [last]))
    return data_array()(values, dims=dims, coords={"time": TIMES.values, "node": SENSORS} | coords)


def turned(values: np.ndarray, last: str | None = None) -> Any:
    """The same cells, nodes in another order, time backwards, and the axes the other way round."""
    moved = np.moveaxis(values[::-1][:, ORDER], 1, 0)
    dims = ("node", "time") if last is None else ("node", "time", last)
    coords = {"time": TIMES.values[::-1], "node": [SENSORS[place] for place in ORDER]}
    if last is not None:
        moved, dims = np.moveaxis(moved, -1, 0), (last, "node", "time")
    return data_array()(moved, dims=dims, coords=coords)


def shuffled(values: np.ndarray) -> pd.DataFrame:
    return frame(values).iloc[RNG.permutation(STEPS)][[SENSORS[place] for place in ORDER]]


FORECASTS: dict[str, dict[str, np.ndarray]] = {
    "point": {"y_pred": MEAN},
    "masked": {"y_pred": MEAN, "mask": MASK},
    "gaussian": {"y_pred": MEAN, "std": STD},
}


@pytest.mark.parametrize("form", list(FORECASTS))
@pytest.mark.parametrize("how", [shuffled, turned], ids=["frame", "xarray"])
def test_names_are_matched(form: str, how: Callable[[np.ndarray], Any]) -> None:
    """Whichever argument comes in another order: the values are those of the arrays before they were named."""
    plain = FORECASTS[form]
    expected = forecasting.evaluate(Y, **plain, axes=AXES)
    named = frame if how is shuffled else xarray
    for changed in ("y_true", *plain):
        given = {name: (how if name == changed else named)(array) for name, array in {"y_true": Y, **plain}.items()}
        found = forecasting.evaluate(**given, axes=AXES)
        assert {key: result.value for key, result in found.items()} == pytest.approx(
            {key: result.value for key, result in expected.items()}, rel=1e-12
        )
        node = dict(zip(found.by("node")["node"].tolist(), found.by("node")["mae"].tolist(), strict=True))
        assert node == pytest.approx(dict(zip(SENSORS, expected.by("node")["mae"].tolist(), strict=True)), rel=1e-12)
        options = {name: array for name, array in given.items() if name in ("mask",)}
        assert forecasting.mae(given["y_true"], given["y_pred"], **options) == pytest.approx(expected["mae"].value)


def test_pairs_among_the_other_arguments() -> None:
    """The truth has no names: those of the forecast and of its spread are matched with each other."""
    expected = forecasting.evaluate(Y, MEAN, std=STD, axes=AXES)
    found = forecasting.evaluate(Y, frame(MEAN), std=shuffled(STD), axes=AXES)
    assert found["crps"].value == pytest.approx(expected["crps"].value, rel=1e-12)
    assert found.by("node")["node"].tolist() == SENSORS
    with pytest.raises(InputError, match="std: its labels along node differ from those of y_pred: it has 'up'"):
        forecasting.evaluate(Y, frame(MEAN), std=frame(STD, columns=[*SENSORS[:3], "up"]), axes=AXES)


def test_quantiles_and_samples() -> None:
    by_hand = forecasting.evaluate(Y, quantiles=QUANTILES, levels=LEVELS, axes=AXES)
    given = turned(QUANTILES, "level")
    found = forecasting.evaluate(xarray(Y), quantiles=given, levels=LEVELS, axes=AXES)
    assert found["pinball"].value == pytest.approx(by_hand["pinball"].value, rel=1e-12)
    backwards = xarray(QUANTILES[..., ::-1], "level", level=list(LEVELS[::-1]))
    found = forecasting.evaluate(xarray(Y), quantiles=backwards, levels=LEVELS, axes=AXES)
    assert found["pinball"].value == pytest.approx(by_hand["pinball"].value, rel=1e-12)
    assert forecasting.pinball(xarray(Y), backwards, LEVELS) == pytest.approx(by_hand["pinball"].value, rel=1e-12)
    named = xarray(QUANTILES, "level", level=[0.2, 0.5, 0.8])
    with pytest.raises(InputError, match=r"quantiles: labelled 0.2, 0.5, 0.8, but levels= are 0.1, 0.5, 0.9"):
        forecasting.evaluate(xarray(Y), quantiles=named, levels=LEVELS, axes=AXES)
    expected = forecasting.evaluate(Y, samples=SAMPLES, axes=AXES)["crps"].value
    found = forecasting.evaluate(xarray(Y), samples=turned(SAMPLES, "member"), axes=AXES)
    assert found["crps"].value == pytest.approx(expected, rel=1e-12)


def test_what_differs_is_refused() -> None:
    other = frame(MEAN, columns=[*SENSORS[:3], "up"])
    with pytest.raises(InputError, match="y_pred: its labels along node differ from those of y_true: it has 'up'"):
        forecasting.evaluate(frame(Y), other, axes=AXES)
    for compared in (
        lambda: forecasting.mae(frame(Y), other),
        lambda: forecasting.compare(frame(Y), MEAN, other, axes=AXES),
    ):
        with pytest.raises(InputError, match="its labels along"):
            compared()
    with pytest.raises(InputError, match="labels along time differ from those of y_true: it has '2026-01-02T00"):
        forecasting.evaluate(frame(Y), frame(MEAN, index=TIMES.shift(1)), axes=AXES)
    with pytest.raises(InputError, match="it has duplicates"):
        forecasting.evaluate(frame(Y, columns=list("abcc")), frame(MEAN, columns=list("abca")), axes=AXES)
    with pytest.raises(InputError, match="has the dimensions time, station, but y_true has time, node"):
        forecasting.evaluate(xarray(Y), data_array()(MEAN, dims=("time", "station"), coords={}), axes=AXES)
    with pytest.raises(OptionError, match="y_true has the dimensions time, node, but axes= names time, horizon"):
        forecasting.evaluate(xarray(Y), MEAN, axes=("time", "horizon"))
    with pytest.raises(InputError, match="labels along node differ from those of nodes"):
        forecasting.evaluate(frame(Y), MEAN, axes=AXES, nodes=list("abcd"))


def test_names_of_one_side_are_kept() -> None:
    expected = forecasting.evaluate(Y, MEAN, axes=AXES)["mae"].value
    for given in ((frame(Y), MEAN), (Y, frame(MEAN)), (xarray(Y), MEAN), (frame(Y), frame(MEAN, index=range(STEPS)))):
        found = forecasting.evaluate(*given, axes=AXES)
        assert found["mae"].value == expected
        assert found.by("node")["node"].tolist() == SENSORS
    # Rows that nobody named are not matched with rows that somebody did.
    found = forecasting.evaluate(frame(Y, index=range(100, 100 + STEPS)), pd.DataFrame(MEAN), axes=AXES)
    assert found["mae"].value == expected
    # Unless they are the same count, in another order.
    backwards = pd.DataFrame(MEAN).iloc[::-1]
    assert forecasting.evaluate(pd.DataFrame(Y), backwards, axes=AXES)["mae"].value == pytest.approx(expected)
    assert forecasting.evaluate(pd.DataFrame(Y), MEAN, axes=AXES).by("node")["node"].tolist() == [0, 1, 2, 3]


def test_the_dimensions_name_the_axes() -> None:
    expected = forecasting.evaluate(Y, MEAN, axes=AXES)
    found = forecasting.evaluate(turned(Y), xarray(MEAN))
    assert found["mae"].value == pytest.approx(expected["mae"].value)
    series = pd.Series(Y[:, 0], index=TIMES)
    assert forecasting.evaluate(series, pd.Series(MEAN[:, 0], index=TIMES)[::-1])["mae"].value == pytest.approx(
        np.abs(Y[:, 0] - MEAN[:, 0]).mean()
    )
    ahead = data_array()(Y, dims=("time", "horizon"), coords={"horizon": [3, 6, 9, 12]})
    assert forecasting.evaluate(ahead, MEAN, horizons=(6,)).by("horizon")["horizon"].tolist() == [6]


def test_streams_and_histories() -> None:
    history = np.random.default_rng(0).normal(size=(50, NODES)).cumsum(axis=0)
    expected = forecasting.evaluate(Y, MEAN, axes=AXES, naive=history)
    turned_history = frame(history, index=range(50))[[SENSORS[place] for place in ORDER]]
    whole = forecasting.evaluate(frame(Y), MEAN, axes=AXES, naive=turned_history)
    state = ForecastState(axes=AXES, naive=turned_history)
    state.update(frame(Y)[:10], shuffled(MEAN).sort_index()[:10], start=0)
    state.update(frame(Y)[10:], frame(MEAN)[10:], start=10)
    for found in (whole, state.evaluate()):
        assert found["mase"].value == pytest.approx(expected["mase"].value, rel=1e-12)
    assert dict(zip(*(state.evaluate().by("node")[name].tolist() for name in ("node", "mae")), strict=True)) == (
        pytest.approx(dict(zip(SENSORS, expected.by("node")["mae"].tolist(), strict=True)))
    )
    with pytest.raises(InputError, match="labels along node differ"):
        state.update(frame(Y, columns=list("abcd")), MEAN, start=24)
    names = ForecastState(axes=AXES).update(frame(Y), MEAN, start=0)
    merged = ForecastState(axes=AXES).merge(names).merge(ForecastState(axes=AXES).update(Y, MEAN, start=24))
    assert merged.evaluate().by("node")["node"].tolist() == SENSORS
    with pytest.raises(InputError, match="differ in axes, coverage, nodes"):
        merged.merge(ForecastState(axes=AXES).update(frame(Y, columns=list("abcd")), MEAN, start=48))


def test_engines_take_plain_arrays() -> None:
    with pytest.raises(InputError, match="y_pred: a DataFrame names its axes"):
        Fold.of("forecasting", (Y, frame(MEAN)), {"axes": AXES})


def test_columns_of_a_long_table_are_no_series_in_time() -> None:
    long = pd.DataFrame({"sensor": np.repeat(["a", "b"], 30), "step": np.tile(np.arange(30), 2), "y": np.arange(60.0)})
    by_cell = long.set_index(["sensor", "step"])["y"]
    by_step = long.set_index("step")["y"]
    for column, words in ((by_cell, "levels sensor, step"), (by_step, "repeated values")):
        with pytest.raises(InputError, match=words):
            forecasting.evaluate(column, column + 1)
        with pytest.raises(InputError, match=words):
            forecasting.evaluate(np.arange(60.0), column)
    wide = by_cell.unstack("sensor")
    assert forecasting.evaluate(wide, wide + 1, axes=("time", "node"))["mae"] == 1


def test_dimensions_of_other_names_are_not_taken_by_position() -> None:
    truth = Labelled(np.arange(60.0).reshape(2, 30), ("sensor", "step"), {})
    with pytest.raises(OptionError, match="the dimensions sensor, step: which of them are time, horizon, node"):
        forecasting.evaluate(truth, truth)
    named = forecasting.evaluate(truth, truth, axes=("node", "time"))
    assert named["mae"] == 0
    assert named["mae"].n == 60


@pytest.mark.parametrize("kind", ["table", "batch", "narwhals"])
def test_columns_of_other_frames_are_matched(kind: str) -> None:
    """Arrow, and frames with the interface of polars, which narwhals has too."""
    arrow = pytest.importorskip("pyarrow")

    def framed(values: np.ndarray, names: list[str]) -> Any:
        columns = {name: values[:, SENSORS.index(name)] for name in names}
        if kind == "batch":
            return arrow.RecordBatch.from_pydict({name: arrow.array(column) for name, column in columns.items()})
        table = arrow.table(columns)
        return pytest.importorskip("narwhals").from_native(table) if kind == "narwhals" else table

    turned = [SENSORS[k] for k in ORDER]
    found = forecasting.evaluate(framed(Y, SENSORS), framed(MEAN, turned), std=framed(STD, turned), axes=AXES)
    expected = forecasting.evaluate(Y, MEAN, std=STD, axes=AXES)
    assert found["crps"] == expected["crps"]
    assert found.by("node")["node"].tolist() == SENSORS
    with pytest.raises(InputError, match="differ"):
        forecasting.evaluate(framed(Y, SENSORS), pd.DataFrame(MEAN, columns=["a", "b", "c", "d"]), axes=AXES)


def test_a_dataset_is_not_an_array() -> None:
    class Dataset:
        data_vars: ClassVar = {"t2m": Y, "msl": Y}

    for given in ({"y_true": Dataset(), "y_pred": MEAN}, {"y_true": Y, "y_pred": MEAN, "std": Dataset()}):
        with pytest.raises(InputError, match=r"is a dataset of t2m, msl\. Select a variable"):
            forecasting.evaluate(**given, axes=AXES)


@pytest.mark.filterwarnings("error")
def test_the_same_moments_in_other_time_zones_are_matched() -> None:
    rng = np.random.default_rng(9)
    times = pd.date_range("2026-03-28", periods=60, freq="h", tz="UTC")  # the clocks change on the second day
    y = pd.DataFrame(rng.normal(size=(60, 2)), index=times, columns=["a", "b"])
    moved = (y + 1).tz_convert("Europe/Berlin")
    assert forecasting.evaluate(y, moved.iloc[::-1], axes=AXES)["mae"].value == pytest.approx(1, rel=1e-12)
    with pytest.raises(InputError, match="labels along time differ"):
        forecasting.evaluate(y, moved.tz_localize(None), axes=AXES)


def test_a_missing_label_is_named() -> None:
    """A sensor that only one of the arrays has, not the shapes that differ."""
    frame = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd"))
    for y, forecast, what in (
        (frame, frame.drop(columns="b"), "y_pred: its labels along node differ from those of y_true: it lacks 'b'"),
        (frame.drop(columns="b"), frame, "it has 'b', which is missing there"),
    ):
        with pytest.raises(InputError, match=what):
            forecasting.evaluate(y, forecast, axes=("time", "node"))
    with pytest.raises(InputError, match="expected shape"):  # a default index is no label
        forecasting.evaluate(frame, frame.iloc[:2], axes=("time", "node"))


@pytest.mark.parametrize("dtype", ["Float64", "Float32", "Int64", "double[pyarrow]"])
def test_number_types_of_pandas(dtype: str) -> None:
    """Their missing values are NaN, and a null value is compared in their own precision."""
    whole = np.round(np.random.default_rng(1).normal(size=(20, 3)), 1 if dtype != "Int64" else 0)
    whole[3, 1] = -999.9 if dtype != "Int64" else -999
    y = pd.DataFrame(whole).astype(dtype)
    y.iloc[5, 2] = pd.NA
    forecast = np.zeros(whole.shape)
    expected = np.ma.masked_array(np.abs(whole), [[(k, n) in ((3, 1), (5, 2)) for n in range(3)] for k in range(20)])
    null = -999.9 if dtype != "Int64" else -999
    found = forecasting.evaluate(y, forecast, axes=("time", "node"), nan="omit", null_value=null)
    assert found["mae"].n == 58
    assert found["mae"].value == pytest.approx(float(expected.mean()), rel=1e-6)
    with pytest.raises(InputError, match="1 of 60 values are NaN"):
        forecasting.evaluate(y, forecast, axes=("time", "node"))
    text = pd.DataFrame(whole).astype(object)
    with pytest.raises(InputError, match="Python objects"):
        forecasting.evaluate(text, forecast, axes=("time", "node"))


@pytest.mark.parametrize("name", ["time", None])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_index_in_a_file_is_refused(tmp_path: Path, ending: str, name: str | None) -> None:
    frame = pd.DataFrame(Y, index=pd.Index(np.arange(10, 10 + STEPS), name=name), columns=SENSORS)
    path = tmp_path / f"true.{ending}"
    frame.to_csv(path) if ending == "csv" else frame.to_parquet(path)
    with pytest.raises(InputError, match=r"has a column .*but every column is a node.*index=False"):
        forecasting.evaluate_files(true=path, pred=path, axes=AXES)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_dates_in_files_of_numbers_are_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"true.{ending}"
    frame = pd.DataFrame(Y, index=TIMES.rename("time"), columns=SENSORS)
    frame.to_csv(path) if ending == "csv" else frame.to_parquet(path)
    with pytest.raises(InputError, match=r"(2026-01-01 00:00:00' is not a number|'time' contains dates).*long table"):
        forecasting.evaluate_files(true=str(path), pred=str(path), axes=AXES)
