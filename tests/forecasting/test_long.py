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
