"""Cells are matched by what they are called: both forecasts of a comparison, times, lead times, levels, channels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError
from graphgauge.forecasting import ForecastState
from graphgauge.forecasting.grids import Labelled

RNG = np.random.default_rng(91)
AXES = ("time", "node")
SHIFT = np.array([1.0, 10.0])
DAYS = pd.date_range("2026-01-01", periods=60)
Y = RNG.normal(size=(60, 3))
A, B = Y + RNG.normal(size=Y.shape), Y + 1.2 * RNG.normal(size=Y.shape)


def frame(values: np.ndarray, columns: str = "xyz", index: Any = DAYS) -> pd.DataFrame:
    return pd.DataFrame(values, columns=list(columns), index=index)


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    return table.sample(frac=1, random_state=3)[list("zxy")]


# ---------------------------------------------------------------- comparisons


@pytest.mark.parametrize("named", ["a", "b", "both", "truth", "all"])
def test_comparisons_match_both_forecasts(named: str) -> None:
    """Whichever of the three has labels, in whichever order: the test is that of the plain arrays."""
    expected = forecasting.compare(Y, A, B, axes=AXES)
    y, a, b = frame(Y), frame(A), frame(B)
    given: dict[str, tuple[Any, Any, Any]] = {
        "a": (Y, a, B),
        "b": (Y, A, b),
        "both": (Y, a, shuffled(b)),
        "truth": (y, shuffled(a), shuffled(b)),
        "all": (shuffled(y), a, shuffled(b)),
    }
    found = forecasting.compare(*given[named], axes=AXES)
    assert (found.difference, found.p_value) == pytest.approx((expected.difference, expected.p_value), rel=1e-9)


def test_times_of_one_forecast_sort_the_others() -> None:
    """Only b has dates, and is not in order: the truth and a belong to its rows."""
    expected = forecasting.compare(Y, A, B, axes=AXES)
    order = RNG.permutation(60)
    found = forecasting.compare(Y[order], A[order], frame(B[order], index=DAYS[order]), axes=AXES)
    assert (found.difference, found.p_value) == pytest.approx((expected.difference, expected.p_value), rel=1e-9)


def test_forecasts_of_other_cells_are_refused() -> None:
    with pytest.raises(InputError, match="b: its labels along time differ from those of a"):
        forecasting.compare(Y, frame(A), frame(B, index=DAYS.shift(1)), axes=AXES)
    with pytest.raises(InputError, match="b: its labels along node differ from those of a"):
        forecasting.compare(Y, frame(A), frame(B, "xyw"), axes=AXES)


def issued(start: int, leads: tuple[int, ...], count: int = 40) -> tuple[Labelled, Labelled]:
    hours = np.arange(800).astype("m8[h]") + np.datetime64("2026-01-01", "h")
    field = np.random.default_rng(0).normal(size=800)
    first = start + 12 * np.arange(count)
    at = first[:, None] + np.array(leads)
    values = field[at] + np.random.default_rng(start).normal(size=at.shape)
    coords = {"time": hours[first], "horizon": np.array(leads, "m8[h]")}
    return Labelled(field, ("time",), {"time": hours}), Labelled(values, ("time", "horizon"), coords)


@pytest.mark.parametrize("other", [(6, (6, 12)), (0, (12, 18)), (0, (6, 12, 18))], ids=["issued", "leads", "more"])
def test_forecasts_issued_at_other_times_are_refused(other: tuple[int, tuple[int, ...]]) -> None:
    truth, a = issued(0, (6, 12))
    _, b = issued(*other)
    with pytest.raises(InputError, match=r"b: its labels along|have the shapes"):
        forecasting.compare(truth, a, b)
    same = forecasting.compare(
        truth,
        a,
        Labelled(
            a.values[::-1, ::-1],
            a.dims,
            {"time": a.coords["time"][::-1], "horizon": a.coords["horizon"][::-1]},
        ),
    )
    assert same.reason == "the losses never differ"
    assert list(forecasting.compare_by_horizon(truth, a, a)) == [6, 12]


def test_cells_that_either_lacks_are_refused() -> None:
    """As many cells in each step and horizon, but others."""
    y = RNG.normal(size=(60, 1, 2))
    a, b = y + 1, y + 10 * RNG.normal(size=y.shape)
    a[:, :, 1] = b[:, :, 0] = np.nan
    for loss in ("absolute", "squared"):
        with pytest.raises(InputError, match="missing different cells"):
            forecasting.compare(y, a, b, nan="omit", loss=loss)
        with pytest.raises(InputError, match="missing different cells"):
            forecasting.compare(y, a, b, nan="omit", loss=loss, weights=[1, 1])
    b[:] = np.where(np.isnan(a), np.nan, y + 2)
    assert forecasting.compare(y, a, b, nan="omit").difference == pytest.approx(-1)


# --------------------------------------------------------------------- times


@pytest.mark.parametrize(
    "index",
    [
        DAYS,
        np.arange(60) * 7,
        np.arange(60) / 4,
        DAYS.strftime("%Y-%m-%d"),
        pd.period_range("2020-01", periods=60, freq="M"),
    ],
)
def test_steps_are_sorted_by_time(index: Any) -> None:
    slow = np.cumsum(RNG.normal(size=(60, 3)), axis=0)
    expected = forecasting.evaluate(Y, Y + slow, axes=AXES)["bias"]
    order = RNG.permutation(60)
    for truth, forecast in (
        (frame(Y, index=index).iloc[order], frame(Y + slow, index=index)),
        (Y[order], frame(Y + slow, index=index).iloc[order]),
    ):
        found = forecasting.evaluate(truth, forecast, axes=AXES)["bias"]
        assert tuple(found.ci)[:2] == pytest.approx(tuple(expected.ci)[:2], rel=1e-9)
        plain = forecasting.evaluate(Y[order], (Y + slow)[order], axes=AXES)["bias"]
        assert abs(plain.ci.high - plain.ci.low) < 0.8 * abs(found.ci.high - found.ci.low)


@pytest.mark.parametrize("named", ["truth", "forecast"])
def test_arrays_without_labels_go_with_those_that_have_some(named: str) -> None:
    """Names that come from elsewhere put a labelled truth in another order; a plain forecast follows it."""
    expected = forecasting.evaluate(Y, A, axes=AXES)
    given = (frame(Y), A) if named == "truth" else (Y, frame(A))
    for found in (
        forecasting.evaluate(*given, axes=AXES, nodes=list("zxy")),
        ForecastState(axes=AXES, nodes=list("zxy")).update(*given, start=0).evaluate(),
        forecasting.evaluate(*given, axes=AXES, weights=pd.Series([1.0, 1, 1], list("yzx"))),
    ):
        assert found["mae"].value == pytest.approx(expected["mae"].value, rel=1e-12)
        table = found.by("node")
        values = dict(zip(table["node"].tolist(), table["mae"].tolist(), strict=True))
        assert values == pytest.approx(dict(zip("xyz", np.abs(A - Y).mean(axis=0), strict=True)), rel=1e-12)


def test_histories_are_sorted_by_time() -> None:
    history = frame(np.arange(180.0).reshape(60, 3))
    expected = forecasting.evaluate(frame(Y), frame(A), axes=AXES, naive=history)["mase"].value
    found = forecasting.evaluate(frame(Y), frame(A), axes=AXES, naive=shuffled(history))["mase"].value
    assert found == pytest.approx(expected, rel=1e-12)
    assert ForecastState(axes=AXES, naive=shuffled(history)).update(frame(Y), A, start=0).evaluate()["mase"].value == (
        pytest.approx(expected, rel=1e-12)
    )


def test_labels_that_repeat_or_are_empty_are_refused() -> None:
    twice = [*DAYS[:-1], DAYS[0]]
    with pytest.raises(InputError, match="it has duplicates"):
        forecasting.evaluate(frame(Y, index=twice), frame(A, index=twice), axes=AXES)
    with pytest.raises(InputError, match=r"naive: .* it has duplicates"):
        forecasting.evaluate(Y, A, axes=AXES, naive=frame(Y, index=twice))
    with pytest.raises(InputError, match="has an empty label"):
        forecasting.evaluate(frame(Y, index=[*DAYS[:-1], pd.NaT]), A, axes=AXES)
    for make in (
        lambda: forecasting.evaluate(Y, A, axes=AXES, nodes=list("aab")),
        lambda: ForecastState(nodes=["a", "a"]),
    ):
        with pytest.raises(InputError, match="a node is named twice"):
            make()


# ---------------------------------------------------------------- lead times


def by_lead(unit: str, leads: Any, every: int, **attributes: Any) -> tuple[Labelled, Labelled]:
    """A truth that counts its steps, and forecasts of it without error, one, two and three steps ahead."""
    times = np.datetime64("2026-01-01", unit) + (every * np.arange(100)).astype(f"m8[{unit}]")
    values = np.arange(100.0)

    class Coordinate:
        attrs = attributes
        values = np.asarray(leads)

    coords = {"time": times[:50], "horizon": Coordinate if attributes else np.asarray(leads)}
    forecast = Labelled(values[:50, None] + np.array([1, 2, 3]), ("time", "horizon"), coords)
    return Labelled(values, ("time",), {"time": times}), forecast


@pytest.mark.parametrize(
    ("unit", "leads", "every", "attributes", "labels"),
    [
        ("m", np.array([30, 60, 90], "m8[m]"), 30, {}, ["30 min", "60 min", "90 min"]),
        ("s", np.array([20, 40, 60], "m8[s]"), 20, {}, ["20 s", "40 s", "60 s"]),
        ("ms", np.array([500, 1000, 1500], "m8[ms]"), 500, {}, ["500 ms", "1000 ms", "1500 ms"]),
        ("h", np.array([1, 2, 3], "m8[h]"), 1, {}, [1, 2, 3]),
        ("D", np.array([1, 2, 3], "m8[D]"), 1, {}, [24, 48, 72]),
        ("D", [1, 2, 3], 1, {"units": "days"}, [24, 48, 72]),
        ("m", [0.5, 1, 1.5], 30, {"units": "hours"}, ["30 min", "60 min", "90 min"]),
    ],
)
def test_lead_times_have_their_own_unit(
    unit: str, leads: Any, every: int, attributes: dict[str, Any], labels: list[Any]
) -> None:
    found = forecasting.evaluate(*by_lead(unit, leads, every, **attributes))
    assert found["mae"].value == 0
    assert found["mae"].n == 150
    assert found.by("horizon")["horizon"].tolist() == labels


def test_lead_times_that_cannot_be_added_are_refused() -> None:
    with pytest.raises(InputError, match="lead times are numbers without a unit"):
        forecasting.evaluate(*by_lead("h", [1, 2, 3], 1))
    truth, forecast = by_lead("h", np.array([1, 2, 3], "m8[h]"), 1)
    steps = Labelled(truth.values, ("time",), {"time": np.arange(100)})
    with pytest.raises(InputError, match="issue times are dates, but the times of y_true are numbers"):
        forecasting.evaluate(steps, forecast)
    counted = Labelled(forecast.values, forecast.dims, {**forecast.coords, "time": np.arange(50)})
    with pytest.raises(InputError, match="lead times are durations, but its issue times are numbers"):
        forecasting.evaluate(steps, counted)
    whole = Labelled(forecast.values, forecast.dims, {"time": np.arange(50, dtype=np.uint8), "horizon": [1, 2, 3]})
    assert forecasting.evaluate(steps, whole)["mae"].value == 0
    times = truth.coords["time"].copy()
    times[7] = times[8]
    with pytest.raises(InputError, match="y_true: has the time 2026-01-01T08 twice"):
        forecasting.evaluate(Labelled(truth.values, ("time",), {"time": times}), forecast)


@pytest.mark.parametrize(
    "labels", [([0, 6], [0, 12]), ([0, 6], [6, 12]), (["p", "q"], ["q", "r"]), ([0.5, 1.5], [1.5, 2.5])]
)
def test_any_label_of_a_horizon_is_kept(labels: tuple[list[Any], list[Any]]) -> None:
    y = RNG.normal(size=(30, 2))

    def part(names: list[Any], values: np.ndarray) -> Labelled:
        return Labelled(values, ("time", "horizon"), {"horizon": names})

    state = ForecastState(axes=("time", "horizon"))
    state.update(part(labels[0], y), part(labels[0], y + np.array([1, 2])), start=0)
    state.update(part(labels[0][::-1], y), part(labels[0][::-1], y + np.array([2, 1])), start=30)
    table = state.evaluate().by("horizon")
    assert list(map(str, table["horizon"].tolist())) == list(map(str, labels[0]))
    assert table["mae"].tolist() == pytest.approx([1, 2])
    with pytest.raises(InputError, match="labels along horizon differ"):
        state.update(part(labels[1], y), part(labels[1], y), start=60)


# ----------------------------------------------------------------------- levels


@pytest.mark.parametrize(
    "labels",
    [[0.9, 0.5, 0.1], ["0.9", "0.5", "0.1"]],
)
def test_labels_of_quantiles_are_read(labels: list[Any]) -> None:
    quantiles = A[..., None] + np.array([-1.0, 0.0, 1.0])
    expected = forecasting.evaluate(Y, quantiles=quantiles, levels=[0.1, 0.5, 0.9], axes=AXES)["pinball"].value
    turned = Labelled(quantiles[..., ::-1], (*AXES, "quantile"), {"quantile": labels})
    found = forecasting.evaluate(Labelled(Y, AXES, {}), quantiles=turned, levels=[0.1, 0.5, 0.9], axes=AXES)
    assert found["pinball"].value == pytest.approx(expected, rel=1e-12)
    for wrong in (["high", "middle", "low"], [90, 50, 10], ["q90", "q50", "q10"], [0.95, 0.5, 0.05]):
        other = Labelled(quantiles, (*AXES, "quantile"), {"quantile": wrong})
        with pytest.raises(InputError, match="quantiles: labelled"):
            forecasting.evaluate(Labelled(Y, AXES, {}), quantiles=other, levels=[0.1, 0.5, 0.9], axes=AXES)


def test_levels_in_float32_are_those_that_were_written() -> None:
    quantiles = A[..., None] + np.array([-1.0, 0.0, 1.0])
    found = forecasting.evaluate(Y, quantiles=quantiles, levels=np.array([0.1, 0.5, 0.9], "f4"), axes=AXES)
    assert found["coverage_80"].value == pytest.approx(((quantiles[..., 0] <= Y) & (quantiles[..., 2] >= Y)).mean())


# ------------------------------------------------------------------ channels


def channels(order: str = "abc", names: str = "uv") -> tuple[Labelled, Labelled]:
    """Errors 1, 10 and 100 of the nodes a, b and c, in both channels."""
    values = np.random.default_rng(5).normal(size=(40, 2, 3))
    size = np.array([{"a": 1, "b": 10, "c": 100}[node] for node in order])
    factor = np.array([{"u": 1, "v": 2}[name] for name in names])[:, None]
    coords = {"channel": list(names), "node": list(order)}
    dims = ("time", "channel", "node")
    return Labelled(values, dims, coords), Labelled(values + size * factor, dims, coords)


def test_weights_follow_the_nodes_of_each_channel() -> None:
    truth, forecast = channels()
    for names in ("abc", "cba"):
        weights = pd.Series([1.0 * (name == "a") for name in names], list(names))
        assert forecasting.evaluate(truth, forecast, weights=weights)["mae"].value == pytest.approx(1.5)
        assert forecasting.compare(truth, forecast, truth, weights=weights).difference == pytest.approx(1.5)
        state = ForecastState(axes=("time", "channel", "node"), weights=weights).update(truth, forecast, start=0)
        assert state.evaluate()["mae"].value == pytest.approx(1.5)


def test_batches_match_nodes_and_channels() -> None:
    state = ForecastState(axes=("time", "channel", "node"))
    for number, labels in enumerate((("abc", "uv"), ("cab", "uv"), ("abc", "vu"))):
        state.update(*channels(*labels), start=40 * number)
    table = state.evaluate().by("node")
    found = dict(zip(table["node"].tolist(), table["mae"].tolist(), strict=True))
    assert found == pytest.approx({"u a": 1, "u b": 10, "u c": 100, "v a": 2, "v b": 20, "v c": 200})


@pytest.mark.parametrize(
    "graph",
    [[["a", "b"], ["b", "c"], ["a", "b"]], [[0, 1], [1, 2], [0, 1]], np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])],
)
def test_every_channel_has_the_graph(graph: Any) -> None:
    truth, _ = channels()
    members = truth.values[..., None] + np.random.default_rng(6).normal(size=(*truth.values.shape, 5))
    found = forecasting.evaluate(truth, samples=members, graph=graph)["variogram_score"].value
    alone = [
        forecasting.evaluate(truth.values[:, k], samples=members[:, k], graph=[[0, 1], [1, 2], [0, 1]], axes=AXES)
        for k in range(2)
    ]
    assert found == pytest.approx(sum(part["variogram_score"].value for part in alone), rel=1e-9) or (
        found == pytest.approx(np.mean([part["variogram_score"].value for part in alone]), rel=1e-9)
    )


def test_two_edges_that_can_be_read_in_two_ways_are_refused() -> None:
    members = Y[..., None] + RNG.normal(size=(*Y.shape, 5))
    with pytest.raises(InputError, match="are the rows edges, or the columns"):
        forecasting.evaluate(Y, samples=members, graph=[[0, 0], [1, 2]], axes=AXES)
    assert forecasting.evaluate(Y, samples=members, graph=[[0, 1], [1, 2]], axes=AXES)["variogram_score"].value > 0


# --------------------------------------------------------------------- files


def write(path: Path, values: np.ndarray, columns: str) -> None:
    pd.DataFrame(values, columns=list("ab"))[list(columns)].to_csv(path, index=False)


def test_numbered_columns_of_csv_files_are_matched(tmp_path: Path) -> None:
    """Sensor numbers are names, not a step of truths."""
    rng = np.random.default_rng(8)
    y = pd.DataFrame(rng.normal(size=(30, 8)), columns=np.arange(400, 408))
    y.to_csv(tmp_path / "y.csv", index=False)
    (y + np.arange(8))[y.columns[::-1]].to_csv(tmp_path / "p.csv", index=False)
    found = forecasting.evaluate_files(true=tmp_path / "y.csv", pred=tmp_path / "p.csv", axes=AXES, by="node")
    assert found["mae"].n == 240
    np.testing.assert_allclose(found.by("node")["mae"], np.arange(8), atol=1e-12)
    assert list(found.by("node")["node"]) == [str(sensor) for sensor in range(400, 408)]


def test_columns_of_csv_files_are_matched(tmp_path: Path) -> None:
    y = RNG.normal(size=(30, 2))
    forecast = y + SHIFT
    for name, values, order in (
        ("y", y, "ab"),
        ("p", forecast, "ba"),
        ("h", np.arange(60.0).reshape(30, 2) ** 2, "ba"),
        ("w", np.array([[1.0, 0.0]]), "ba"),
    ):
        write(tmp_path / f"{name}.csv", values, order)
    given = {"true": tmp_path / "y.csv", "pred": tmp_path / "p.csv", "axes": AXES, "by": "node"}
    found = forecasting.evaluate_files(**given, naive=tmp_path / "h.csv")
    expected = forecasting.evaluate(y, forecast, axes=AXES, naive=np.arange(60.0).reshape(30, 2) ** 2)
    assert found["mae"].value == pytest.approx(5.5)
    assert found["mase"].value == pytest.approx(expected["mase"].value)
    assert found.by("node")["node"].tolist() == ["a", "b"]
    assert forecasting.evaluate_files(**given, weights=tmp_path / "w.csv")["mae"].value == pytest.approx(1)
    other = pd.DataFrame(forecast, columns=list("ac"))
    other.to_csv(tmp_path / "p.csv", index=False)
    with pytest.raises(InputError, match="labels along node differ"):
        forecasting.evaluate_files(**given)
    other.to_csv(tmp_path / "p.csv")
    with pytest.raises(InputError, match=r"has a column ''.*index=False"):
        forecasting.evaluate_files(**given)


def test_columns_of_shards_are_matched(tmp_path: Path) -> None:
    y = RNG.normal(size=(40, 2))
    for number, order in enumerate(("ab", "ba")):
        write(tmp_path / f"y-{number}.csv", y[20 * number :][:20], order)
        write(tmp_path / f"p-{number}.csv", (y + SHIFT)[20 * number :][:20], "ab")
    found = forecasting.evaluate_files(
        true=str(tmp_path / "y-*.csv"), pred=str(tmp_path / "p-*.csv"), axes=AXES, by="node"
    )
    assert found.by("node")["mae"].tolist() == pytest.approx([1, 10])


# -------------------------------------------------------------------- states


@pytest.mark.parametrize("forged", ["nodes", "cells", "negative", "seen", "names"])
def test_states_that_no_data_have_are_refused(tmp_path: Path, forged: str) -> None:
    state = ForecastState(axes=AXES, nodes=["a", "b", "c"]).update(Y, A, start=0)
    changes: dict[str, Callable[[], None]] = {
        "nodes": lambda: state.by_node.counts.fill(0),
        "cells": lambda: setattr(state, "cells", 10**9),
        "negative": lambda: np.negative(state.by_horizon.high, out=state.by_horizon.high),
        "seen": lambda: setattr(state, "seen", type(state.seen)()),
        "names": lambda: setattr(state, "nodes", ["a", "a", "b"]),
    }
    changes[forged]()
    state.save(tmp_path / "s.npz")
    with pytest.raises(InputError, match=r"damaged|named twice"):
        ForecastState.load(tmp_path / "s.npz")


def test_batches_with_and_without_names_are_noted() -> None:
    state = ForecastState(axes=AXES).update(Y, A, start=0).update(frame(Y), frame(A), start=60)
    assert any("matched with the others by position" in note for note in state.evaluate().notes)
    assert not any("by position" in note for note in forecasting.evaluate(frame(Y), frame(A), axes=AXES).notes)
