"""Labelled grids: latitude and longitude as nodes, issue times and lead times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting.grids import Labelled

RNG = np.random.default_rng(82)
TIMES = np.arange("2026-01-01", "2026-01-16", np.timedelta64(6, "h"), dtype="M8[ns]")
LATITUDE, LONGITUDE = np.array([-60.0, 0.0, 45.0]), np.array([0.0, 90.0])
FIELD = RNG.normal(size=(len(TIMES), 3, 2))
ISSUED, LEADS = TIMES[:40:2], np.array([6, 12, 24], "m8[h]")
PLACES = {"latitude": LATITUDE, "longitude": LONGITUDE}
WHEN = np.arange(0, 40, 2)[:, None] + np.array([1, 2, 4])
ERROR = RNG.normal(size=(20, 3, 3, 2))


def array(values: np.ndarray, dims: tuple[str, ...], **coords: Any) -> Labelled:
    return Labelled(values, dims, coords)


def truth(**changed: Any) -> Labelled:
    return array(FIELD, ("time", "latitude", "longitude"), **{"time": TIMES, **PLACES, **changed})


def forecast(values: np.ndarray | None = None) -> Labelled:
    given = FIELD[WHEN] + ERROR if values is None else values
    return array(given, ("time", "horizon", "latitude", "longitude"), time=ISSUED, horizon=LEADS, **PLACES)


def test_truth_by_valid_time() -> None:
    found = forecasting.evaluate(truth(), forecast())
    assert found["mae"].value == pytest.approx(np.abs(ERROR).mean(), rel=1e-12)
    np.testing.assert_allclose(found.by("horizon")["mae"], np.abs(ERROR).mean(axis=(0, 2, 3)), rtol=1e-12)
    assert found.by("horizon")["horizon"].tolist() == [6, 12, 24]
    assert found.by("node")["node"][:2].tolist() == ["-60.0, 0.0", "-60.0, 90.0"]
    # Whatever the order of the dimensions and of the labels.
    turned = array(
        np.transpose((FIELD[WHEN] + ERROR)[::-1], (3, 1, 0, 2))[::-1],
        ("longitude", "horizon", "time", "latitude"),
        longitude=LONGITUDE[::-1],
        horizon=LEADS,
        time=ISSUED[::-1],
        latitude=LATITUDE,
    )
    assert forecasting.evaluate(truth(), turned)["mae"].value == pytest.approx(found["mae"].value, rel=1e-12)


def test_valid_times_that_the_truth_lacks_are_masked() -> None:
    short = array(FIELD[:30], ("time", "latitude", "longitude"), time=TIMES[:30], **PLACES)
    found = forecasting.evaluate(short, forecast())
    there = WHEN < 30
    assert found["mae"].n == there.sum() * 6
    assert found["mae"].value == pytest.approx(np.abs(ERROR[there]).mean(), rel=1e-12)
    other = array(FIELD, ("time", "latitude", "longitude"), time=TIMES + np.timedelta64(1, "h"), **PLACES)
    with pytest.raises(InputError, match="no issue time plus lead time is a time of y_true"):
        forecasting.evaluate(other, forecast())


def test_members_and_masks_follow() -> None:
    members = array(
        np.repeat((FIELD[WHEN] + ERROR)[None], 4, axis=0) + RNG.normal(size=(4, *ERROR.shape)),
        ("number", "time", "horizon", "latitude", "longitude"),
        time=ISSUED,
        horizon=LEADS,
        **PLACES,
    )
    seen = RNG.random(FIELD.shape) < 0.7
    mask = array(seen, ("time", "latitude", "longitude"), time=TIMES, **PLACES)
    found = forecasting.evaluate(truth(), samples=members, mask=mask)
    assert found["crps"].n == seen[WHEN].sum()
    plain = forecasting.evaluate(
        FIELD[WHEN].reshape(20, 3, 6),
        samples=np.moveaxis(members.values, 0, -1).reshape(20, 3, 6, 4),
        mask=seen[WHEN].reshape(20, 3, 6),
    )
    assert found["crps"].value == pytest.approx(plain["crps"].value, rel=1e-12)


def test_times_and_horizons_are_not_guessed() -> None:
    named = ("lead_time", "latitude", "longitude")
    values, coords = FIELD[WHEN] + ERROR, {"lead_time": LEADS, **PLACES}
    with pytest.raises(InputError, match=r"y_true: its dimension lead_time has times.*rename\(lead_time='horizon'\)"):
        forecasting.evaluate(array(values, ("time", *named), time=ISSUED, **coords), values)
    with pytest.raises(OptionError, match=r"which of them are time, horizon, node.*rename"):
        forecasting.evaluate(array(values, ("init_time", *named), init_time=ISSUED, **coords), values)
    with pytest.raises(InputError, match=r"y_pred: its dimension init_time has times.*rename\(init_time='time'\)"):
        forecasting.evaluate(truth(), array(values, ("init_time", *named), init_time=ISSUED, **coords))


def test_dimensions_that_are_missing_are_named() -> None:
    without = array(
        (FIELD[WHEN] + ERROR)[..., 0],
        ("time", "horizon", "latitude"),
        time=ISSUED,
        horizon=LEADS,
        latitude=LATITUDE,
    )
    with pytest.raises(InputError, match=r"y_pred: has the dimensions .*, but y_true has longitude"):
        forecasting.evaluate(truth(), without)
    shifted = array(
        (FIELD[WHEN] + ERROR),
        forecast().dims,
        time=ISSUED,
        horizon=LEADS,
        latitude=LATITUDE + 1,
        longitude=LONGITUDE,
    )
    with pytest.raises(InputError, match="labels along node differ"):
        forecasting.evaluate(truth(), shifted)


@pytest.mark.parametrize("dtype", ["float32", "float16", ">f4", ">f8"])
def test_coordinates_of_other_precision_are_the_same_places(dtype: str) -> None:
    """0.1 in single precision is another number, but the same latitude; in descending order, too."""
    latitude = np.array([0.3, 0.2, -0.1])
    given = array(FIELD, ("time", "latitude", "longitude"), time=TIMES, latitude=latitude, longitude=LONGITUDE)
    other = array(
        (FIELD + np.array([1.0, 2.0, 4.0])[:, None])[:, ::-1],
        ("time", "latitude", "longitude"),
        time=TIMES,
        latitude=latitude[::-1].astype(dtype),
        longitude=LONGITUDE.astype(dtype),
    )
    found = forecasting.evaluate(given, other)
    np.testing.assert_allclose(found.by("node")["mae"], [1, 1, 2, 2, 4, 4], rtol=1e-12)
