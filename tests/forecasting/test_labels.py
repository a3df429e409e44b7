"""Labelled arrays: matched by name in any order, or refused by the name of what is missing."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting.labelled import Labelled

RNG = np.random.default_rng(0)
TIMES = np.arange("2026-01-01", "2026-03-01", dtype="M8[D]").astype("M8[ns]")
LAT, LON = [-60.0, 0.0, 60.0], [0.0, 90.0]
PLACES = {"time": "time", "node": ("lat", "lon")}


class Coordinate:
    """A coordinate of xarray, as much of it as is read."""

    def __init__(self, values: Any, attrs: Any = None) -> None:
        self.values, self.attrs = np.asarray(values), attrs or {}


class Grid:
    """An array of xarray, as much of it as is read and the tests need; the peers' tests have real ones."""

    def __init__(self, values: np.ndarray, **coords: Any) -> None:
        self.values, self.dims = values, tuple(coords)
        self.coords = {dim: each if isinstance(each, Coordinate) else Coordinate(each) for dim, each in coords.items()}

    def turned(self, *dims: str) -> Grid:
        order = [self.dims.index(dim) for dim in dims]
        return Grid(self.values.transpose(order), **{dim: self.coords[dim] for dim in dims})

    def taken(self, dim: str, places: Any) -> Grid:
        axis = self.dims.index(dim)
        values = np.take(self.values, places, axis=axis)
        return Grid(values, **self.coords | {dim: Coordinate(self.coords[dim].values[places])})

    def with_labels(self, **labels: Any) -> Grid:
        return Grid(self.values, **self.coords | {dim: Coordinate(each) for dim, each in labels.items()})

    def renamed(self, one: str, other: str) -> Grid:
        return Grid(self.values, **{other if dim == one else dim: each for dim, each in self.coords.items()})


grid = Grid


def weather() -> tuple[Any, Any]:
    """Daily truths, and forecasts issued every day for one, two and three days."""
    truth = grid(RNG.normal(280, 5, (59, 3, 2)), time=TIMES, lat=LAT, lon=LON)
    leads = np.array([1, 2, 3], "m8[D]").astype("m8[ns]")
    forecast = grid(RNG.normal(280, 5, (50, 3, 3, 2)), init=TIMES[:50], lead=leads, lat=LAT, lon=LON)
    return truth, forecast


def by_hand(truth: Any, forecast: Any, *, weights: np.ndarray | None = None) -> float:
    total = size = 0.0
    for i in range(50):
        for lead in range(3):
            if i + lead + 1 < len(truth.values):
                error = np.abs(forecast.values[i, lead] - truth.values[i + lead + 1])
                w = np.ones(error.shape) if weights is None else np.broadcast_to(weights[:, None], error.shape)
                total, size = total + (error * w).sum(), size + w.sum()
    return total / size


ROLES = {"time": "init", "horizon": "lead", "node": ("lat", "lon")}


def test_truth_is_looked_up_at_issue_plus_lead_time() -> None:
    truth, forecast = weather()
    found = forecasting.evaluate(truth, forecast, axes=ROLES)
    assert found["mae"].value == pytest.approx(by_hand(truth, forecast), rel=1e-14)
    assert found.by("horizon")["horizon"].tolist() == [24, 48, 72]
    assert found.by("node")["node"].tolist()[:2] == ["-60, 0", "-60, 90"]
    assert found["mae"].interval is not None


def test_permuted_dimensions_and_labels_change_nothing() -> None:
    truth, forecast = weather()
    expected = forecasting.evaluate(truth, forecast, axes=ROLES)["mae"]
    turned = forecast.turned("lon", "lead", "lat", "init").taken("lat", [2, 0, 1]).taken("init", RNG.permutation(50))
    found = forecasting.evaluate(truth.taken("time", RNG.permutation(59)), turned, axes=ROLES)["mae"]
    assert found.value == pytest.approx(expected.value, rel=1e-15)
    assert tuple(found.interval) == pytest.approx(tuple(expected.interval), rel=1e-9)


def test_times_without_a_truth_are_masked() -> None:
    truth, forecast = weather()
    short = truth.taken("time", np.arange(52))
    found = forecasting.evaluate(short, forecast, axes=ROLES)["mae"]
    assert found.n == (50 + 50 + 49) * 6
    assert found.value == pytest.approx(by_hand(short, forecast), rel=1e-14)


def test_weights_and_masks_over_one_dimension() -> None:
    truth, forecast = weather()
    weights = np.cos(np.deg2rad(LAT))
    both = grid(np.repeat(weights[:, None], 2, axis=1), lat=LAT, lon=LON)
    for given in (both, both.turned("lon", "lat"), grid(weights[::-1], lat=LAT[::-1])):
        found = forecasting.evaluate(truth, forecast, axes=ROLES, weights=given)
        assert found["mae"].value == pytest.approx(by_hand(truth, forecast, weights=weights), rel=1e-14)
    land = grid(np.array([True, False, True]), lat=LAT)
    masked = forecasting.evaluate(truth, forecast, axes=ROLES, mask=land)
    assert masked["mae"].n == 50 * 3 * 4
    assert masked.by("node")["n"].tolist() == [150, 150, 0, 0, 150, 150]


def test_members_and_quantiles_have_one_more_dimension() -> None:
    truth = grid(RNG.normal(size=(40, 3)), time=TIMES[:40], node=["a", "b", "c"])
    members = grid(RNG.normal(size=(5, 3, 40)), member=np.arange(5), node=["c", "b", "a"], time=TIMES[:40])
    found = forecasting.evaluate(truth, samples=members)
    plain = forecasting.evaluate(
        truth.values, samples=members.values.transpose(2, 1, 0)[:, ::-1], axes=("time", "node")
    )
    assert found["crps"].value == plain["crps"].value
    assert found.by("node")["node"].tolist() == ["a", "b", "c"]


def test_truth_is_looked_up_for_members_alone() -> None:
    truth, forecast = weather()
    members = np.stack([forecast.values - 1, forecast.values + 1], axis=-1)
    found = forecasting.evaluate(truth, samples=grid(members, **forecast.coords, member=[0, 1]), axes=ROLES)
    assert found["mae"].value == pytest.approx(by_hand(truth, forecast), rel=1e-14)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.with_labels(lat=[-60.0, 0.0, 61.0]), "y_pred, lat: does not have the label 60"),
        (lambda p: p.taken("lat", [0, 1]), "y_pred, lat: does not have the label 60"),
        (lambda p: p.taken("lat", [0, 1, 2, 2]), "y_pred, lat: has a label twice"),
        (lambda p: p.renamed("lat", "latitude"), "has the dimensions"),
        (lambda p: p.with_labels(lead=[1, 2, 3]), "lead times"),
        (lambda p: types.SimpleNamespace(data_vars=["t2m"]), "Select one"),
    ],
)
def test_what_does_not_match_is_refused_by_name(change: Any, words: str) -> None:
    truth, forecast = weather()
    with pytest.raises(InputError, match=words):
        forecasting.evaluate(truth, change(forecast), axes=ROLES)


def test_lead_times_with_a_unit_as_an_attribute() -> None:
    truth, forecast = weather()
    expected = forecasting.evaluate(truth, forecast, axes=ROLES)["mae"].value
    leads = Coordinate(np.array([24, 48, 72]), {"units": "hours"})
    found = forecasting.evaluate(truth, Grid(forecast.values, **forecast.coords | {"lead": leads}), axes=ROLES)
    assert found["mae"].value == expected
    assert found.by("horizon")["horizon"].tolist() == [24, 48, 72]


def test_coordinates_in_other_digits_are_the_same_places() -> None:
    tenths = np.array([0.1, 0.2, 0.3])
    truth = grid(RNG.normal(size=(40, 3)), time=TIMES[:40], node=tenths)
    other = grid(truth.values + 1, time=TIMES[:40], node=tenths.astype("f4"))
    assert forecasting.evaluate(truth, other)["mae"].value == pytest.approx(1)
    assert isinstance(forecasting.from_wide({"t": [1, 2], "a": [1.0, 2.0]}, time="t"), Labelled)


def test_dimensions_are_not_guessed() -> None:
    truth, forecast = weather()
    with pytest.raises(OptionError, match=r"axes=\{'time': 'init', 'horizon': 'lead', 'node': \('lat', 'lon'\)\}"):
        forecasting.evaluate(truth, forecast)
    with pytest.raises(OptionError, match=r"axes=\{'time': 'time', 'node': \('lat', 'lon'\)\}"):
        forecasting.evaluate(truth, Grid(truth.values + 1, **truth.coords))
    assert forecasting.evaluate(truth, Grid(truth.values + 1, **truth.coords), axes=PLACES)[
        "mae"
    ].value == pytest.approx(1, rel=1e-12)


# ---- wide frames


def frames() -> list[Any]:
    columns = {"day": TIMES[:40], "b": RNG.normal(size=40), "a": RNG.normal(size=40)}
    frame = pd.DataFrame(columns)
    return [columns, frame, frame.set_index("day"), pa.table(columns)]


@pytest.mark.parametrize("place", range(4), ids=["mapping", "pandas", "index", "pyarrow"])
def test_wide_frames_of_any_library(place: int) -> None:
    frame = frames()[place]
    wide = forecasting.from_wide(frame, time="day")
    assert wide.labels["node"].tolist() == ["b", "a"]
    assert wide.labels["time"].dtype == np.dtype("M8[ns]")
    other = forecasting.from_wide({"day": TIMES[:40], "a": wide.values[:, 1] + 1, "b": wide.values[:, 0]}, time="day")
    found = forecasting.evaluate(wide, other)
    assert found["mae"].value == pytest.approx(0.5)
    assert found.by("node")["mae"].tolist() == pytest.approx([0, 1])


def test_a_frame_without_times_is_refused_with_the_line_to_write() -> None:
    for frame in (frames()[1], frames()[3]):
        with pytest.raises(InputError, match=r'from_wide\(frame, time="…"\)'):
            forecasting.evaluate(frame, frame)
    indexed = frames()[2]
    assert forecasting.evaluate(indexed, indexed + 2)["mae"].value == pytest.approx(2)


def test_a_date_column_is_no_sensor() -> None:
    frame = pd.DataFrame({"t": range(40), "when": TIMES[:40], "a": np.zeros(40)})
    with pytest.raises(InputError, match="column 'when'"):
        forecasting.from_wide(frame, time="t")
    with pytest.raises(InputError, match="no column 'day'"):
        forecasting.from_wide(frame, time="day")


def test_names_given_beside_arrays() -> None:
    y = RNG.normal(size=(5, 2, 3))
    found = forecasting.evaluate(y, y, labels={"node": ["a", "b", "c"], "horizon": [5, 10]})
    assert found.by("node")["node"].tolist() == ["a", "b", "c"]
    assert found.by("horizon")["horizon"].tolist() == [5, 10]
    wrong = ({"node": ["a", "b"]}, "2 labels for 3"), ({"lead": [1]}, "no axis"), ({"node": list("aab")}, "twice")
    for labels, words in wrong:
        with pytest.raises(InputError, match=words):
            forecasting.evaluate(y, y, labels=labels)


def test_channels_are_not_pooled() -> None:
    y = RNG.normal(size=(60, 2, 3, 4))
    f = y + np.array([1.0, 10.0, 100.0])[:, None] * RNG.normal(size=y.shape)
    axes = ("time", "horizon", "channel", "node")
    found = forecasting.evaluate(y, f, axes=axes, labels={"channel": ["no2", "o3", "pm"]})
    assert np.isnan(found["mae"].value)
    assert "not pooled" in str(found["mae"].reason)
    grid_of_channels = found.by("channel")
    for place, name in enumerate(("no2", "o3", "pm")):
        own = forecasting.evaluate(y[:, :, place], f[:, :, place])
        assert grid_of_channels["channel"][place] == name
        for key in own:
            assert grid_of_channels[key][place] == own[key].value
            assert grid_of_channels[f"{key}.low"][place] == own[key].interval.low
        assert found.by("node")["mae"][4 * place : 4 * place + 4].tolist() == own.by("node")["mae"].tolist()
    assert found.by("horizon")["horizon"].tolist() == ["no2, 1", "no2, 2", "o3, 1", "o3, 2", "pm, 1", "pm, 2"]
    assert found.gate("mae[channel=no2] < 2")
    with pytest.raises(InputError, match="no channels"):
        forecasting.evaluate(y[:, :, :0], f[:, :, :0], axes=axes)


# ---- levels, and labels on one side only


def test_levels_are_matched_by_their_coordinate() -> None:
    truth = grid(RNG.normal(size=(40, 3)), time=TIMES[:40], node=["a", "b", "c"])
    drawn = np.sort(RNG.normal(size=(40, 3, 3)), axis=-1)
    right = grid(drawn, time=TIMES[:40], node=["a", "b", "c"], quantile=[0.1, 0.5, 0.9])
    options = {"levels": (0.1, 0.5, 0.9), "metrics": ["pinball"]}
    plain = forecasting.evaluate(truth.values, quantiles=drawn, axes=("time", "node"), **options)
    for given in (right, right.taken("quantile", [2, 0, 1])):
        found = forecasting.evaluate(truth, quantiles=given, **options)
        assert found["pinball"].value == plain["pinball"].value
    with pytest.raises(InputError, match=r"quantiles, quantile: does not have the label 0\.05"):
        forecasting.evaluate(truth, quantiles=right, levels=(0.05, 0.5, 0.95))


def test_labels_on_one_side_only_are_refused() -> None:
    truth = grid(RNG.normal(size=(40, 3)), time=TIMES[:40], lat=LAT)
    bare = Grid(truth.values + 1, **truth.coords)
    del bare.coords["lat"]
    roles = {"time": "time", "node": "lat"}
    with pytest.raises(InputError, match="y_pred: has no labels along lat, y_true has them"):
        forecasting.evaluate(truth, bare, axes=roles)
    with pytest.raises(InputError, match="y_pred: has labels along lat, y_true has none"):
        forecasting.evaluate(bare, truth, axes=roles)
    assert forecasting.evaluate(truth, truth.values + 1, axes=roles)["mae"].value == pytest.approx(1)


def test_messages_name_the_argument_that_was_given() -> None:
    truth, forecast = weather()
    members = Grid(np.stack([forecast.values] * 2, axis=-1), **forecast.coords, member=[0, 1])
    twice = members.taken("init", [0, 0, *range(2, 50)])
    for given, words in (
        ({"samples": twice}, "samples, init: has a label twice"),
        ({"samples": members.with_labels(init=TIMES[:50] + 9)}, "samples: no issue time plus lead time"),
        ({"samples": forecast}, "samples: .* one of members is needed"),
        ({"y_pred": forecast, "weights": Grid(np.ones(2), lat=LAT[:2])}, "weights, lat: does not have the label"),
    ):
        with pytest.raises(InputError, match=words):
            forecasting.evaluate(truth, **given, axes=ROLES)
