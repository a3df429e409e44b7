"""Labelled arrays as weather and sensor data have them: grids, issue times and lead times.

Dimensions of an xarray object are called time, horizon, node and channel. Others, such as latitude and longitude, are
nodes. A truth by valid time is looked up for forecasts by issue time and lead time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError
from graphgauge.forecasting.options import AXES, CHANNEL

_WIDER = ("quantiles", "samples")
# Units of lead times that are numbers, in nanoseconds.
_UNITS = {
    ("days", "day", "d"): 86_400 * 10**9,
    ("hours", "hour", "hrs", "hr", "h"): 3_600 * 10**9,
    ("minutes", "minute", "mins", "min"): 60 * 10**9,
    ("seconds", "second", "secs", "sec", "s"): 10**9,
}


@dataclass(frozen=True)
class Labelled:
    """Values with named axes and their labels, as much of an xarray.DataArray as is read."""

    values: AnyArray
    dims: tuple[str, ...]
    coords: Mapping[str, Any]
    # Lead times as they were given, before they became the labels of the horizons.
    leads: AnyArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> AnyArray:
        return np.asarray(self.values, dtype)


def dims_of(value: Any) -> tuple[str, ...] | None:
    """The names of the dimensions, if an array has names."""
    dims = getattr(value, "dims", None)
    return tuple(map(str, dims)) if isinstance(dims, tuple) and hasattr(value, "values") else None


def arranged(given: Mapping[str, Any], axes: Any) -> dict[str, Any]:
    """The arrays with the dimensions time, horizon, channel and node, if the truth has a dimension time."""
    truth = dims_of(given["y_true"])
    known = {*AXES, CHANNEL}
    if truth is None or tuple(axes) != AXES or "time" not in truth:
        return dict(given)
    read = {name: _read(array) for name, array in given.items() if dims_of(array) is not None}
    dims = read["y_true"].dims
    places = tuple(dim for dim in dims if dim not in known or dim == "node")
    for name, array in read.items():
        for dim, labels in array.coords.items():
            if dim not in known and labels.dtype.kind in "mM":
                raise InputError(
                    f"its dimension {dim} has times: which of them are time and horizon?",
                    where=name,
                    fix=f"Rename it: .rename({dim}='{'time' if labels.dtype.kind == 'M' else 'horizon'}').",
                )
    ahead = any("horizon" in read[name].dims for name in read if name not in ("y_true", "mask"))
    if set(dims) <= known and (not ahead or "horizon" in dims):
        return dict(given) | {name: array for name, array in read.items() if _durations(array)}
    found = dict(given) | {name: _stacked(name, array, places) for name, array in read.items()}
    return _by_issue_time(found) if ahead and "horizon" not in dims else found


def _durations(array: Labelled) -> bool:
    return array.leads is not None and array.leads.dtype.kind == "m"


def _read(array: Any) -> Labelled:
    dims = tuple(map(str, array.dims))
    coords = {str(name): array.coords[name] for name in array.coords} if hasattr(array, "coords") else {}
    labels = {dim: _values(coords[dim]) for dim in dims if dim in coords}
    leads = None
    if "horizon" in labels:
        leads = _with_unit(labels["horizon"], coords["horizon"])
        labels["horizon"] = lead_labels(leads)
    return Labelled(np.asarray(array.values), dims, labels, leads)


def _values(coordinate: Any) -> AnyArray:
    return np.asarray(coordinate.values if hasattr(coordinate, "values") else coordinate)


def _with_unit(leads: AnyArray, coordinate: Any) -> AnyArray:
    """Lead times as durations, if they are, or if the coordinate has an attribute with their unit."""
    unit = str((getattr(coordinate, "attrs", None) or {}).get("units", "")).strip().lower()
    size = next((size for names, size in _UNITS.items() if unit in names), None)
    if size is None or leads.dtype.kind not in "iuf":
        return leads
    return np.rint(leads.astype(np.float64) * size).astype(np.int64).astype("m8[ns]")


def lead_labels(leads: AnyArray) -> AnyArray:
    """Durations in hours if all are whole hours, otherwise as text with their unit; numbers and text as they are.

    >>> lead_labels(np.array([6, 12], "m8[h]")), lead_labels(np.array([30, 60], "m8[m]")).tolist()
    (array([ 6, 12]), ['30 min', '60 min'])
    """
    if leads.dtype.kind != "m":
        return leads
    if np.isnat(leads).any():
        raise InputError("has an empty lead time", fix="Give every lead time.")
    exact = leads.astype("m8[ns]").astype(np.int64)
    sizes = ((3_600 * 10**9, ""), (60 * 10**9, " min"), (10**9, " s"), (10**6, " ms"), (1, " ns"))
    size, unit = next((size, unit) for size, unit in sizes if not (exact % size).any())
    counts = exact // size
    return counts if not unit else np.array([f"{count}{unit}" for count in counts.tolist()])


def _stacked(name: str, array: Labelled, places: tuple[str, ...]) -> Labelled:
    """The dimensions of the places as one, at the end; members and quantiles come after it."""
    missing = [dim for dim in places if dim not in array.dims]
    if missing:
        raise InputError(
            f"has the dimensions {', '.join(array.dims)}, but y_true has {', '.join(missing)}",
            where=name,
            fix="Dimensions are matched by name: rename them.",
        )
    if not places:
        return array
    others = [dim for dim in array.dims if dim not in places]
    last = [dim for dim in others if dim not in (*AXES, CHANNEL)] if name in _WIDER else []
    first = [dim for dim in others if dim not in last]
    order = [array.dims.index(dim) for dim in (*first, *places, *last)]
    values = array.values.transpose(order)
    shape = values.shape
    values = values.reshape(*shape[: len(first)], -1, *shape[len(first) + len(places) :])
    coords = {dim: labels for dim, labels in array.coords.items() if dim in (*first, *last)}
    if all(dim in array.coords for dim in places):
        coords["node"] = _names([array.coords[dim] for dim in places])
    return Labelled(values, (*first, "node", *last), coords, array.leads)


def _names(sides: list[AnyArray]) -> AnyArray:
    if len(sides) == 1:
        return sides[0]
    grid = np.meshgrid(*[_texts(side) for side in sides], indexing="ij")
    return np.array([", ".join(cell) for cell in zip(*(side.ravel() for side in grid), strict=True)])


def _by_issue_time(found: dict[str, Any]) -> dict[str, Any]:
    """The truth at issue time plus lead time; cells whose valid time it lacks are masked."""
    truth = found["y_true"]
    name, forecast = next(
        (name, array)
        for name, array in found.items()
        if name not in ("y_true", "mask") and "horizon" in (dims_of(array) or ())
    )
    for owner, array in (("y_true", truth), (name, forecast)):
        if "time" not in array.coords or "time" not in array.dims:
            raise InputError("has no coordinate time", where=owner, fix="Lead times are added to issue times.")
    if "horizon" not in forecast.coords:
        raise InputError("has no coordinate with lead times", where=name)
    assert forecast.leads is not None
    index = _valid_times(truth.coords["time"], forecast.coords["time"], forecast.leads, name)
    there = index >= 0
    found["y_true"] = _looked_up(truth, index, forecast)
    mask = found.get("mask")
    if mask is None:
        if not there.all():
            shape = tuple(
                len(index) if dim == "time" else index.shape[1] if dim == "horizon" else size
                for dim, size in zip(found["y_true"].dims, found["y_true"].shape, strict=True)
            )
            seen = np.broadcast_to(there.reshape(*there.shape, *(1,) * (len(shape) - 2)), shape)
            found["mask"] = Labelled(np.ascontiguousarray(seen), found["y_true"].dims, found["y_true"].coords)
    elif dims_of(mask) is not None and "horizon" not in mask.dims:
        given = _looked_up(mask, index, forecast)
        extra = there.reshape(*there.shape, *(1,) * (len(given.shape) - 2))
        found["mask"] = Labelled(given.values.astype(bool) & extra, given.dims, given.coords)
    elif not there.all():
        raise InputError(
            "some valid times are missing in y_true", where=name, fix="Pass a mask with the dimensions of y_true."
        )
    return found


def _looked_up(array: Labelled, index: Ints, forecast: Labelled) -> Labelled:
    values = np.moveaxis(array.values, array.dims.index("time"), 0)
    dims = [dim for dim in array.dims if dim != "time"]
    coords = {dim: labels for dim, labels in array.coords.items() if dim != "time"}
    coords |= {dim: forecast.coords[dim] for dim in ("time", "horizon")}
    return Labelled(values[np.maximum(index, 0)], ("time", "horizon", *dims), coords, forecast.leads)


def _valid_times(known: AnyArray, issued: AnyArray, leads: AnyArray, name: str) -> Ints:
    """The place of issue time + lead time among the known times, or −1."""
    kinds = [("dates" if times.dtype.kind in "MO" else "numbers") for times in (known, issued)]
    if kinds[0] != kinds[1]:
        raise InputError(f"its issue times are {kinds[1]}, but the times of y_true are {kinds[0]}", where=name)
    if kinds[0] == "dates" and leads.dtype.kind != "m":
        raise InputError(
            "its lead times are numbers without a unit",
            where=name,
            fix="Make them durations, as in np.array([6, 12], 'm8[h]'), or set the attribute units of the coordinate.",
        )
    if kinds[0] == "numbers" and leads.dtype.kind not in "iuf":
        raise InputError(
            "its lead times are durations, but its issue times are numbers",
            where=name,
            fix="Give lead times in the unit of the issue times.",
        )
    if known.dtype.kind == "O" or issued.dtype.kind == "O":
        # Dates of other calendars.
        known, issued, leads = known.astype(object), issued.astype(object), leads.astype("m8[us]").astype(object)
    elif known.dtype.kind in "u" or issued.dtype.kind == "u" or leads.dtype.kind == "u":
        known, issued, leads = (
            times.astype(np.int64 if times.dtype.kind == "u" else times.dtype) for times in (known, issued, leads)
        )
    valid = issued[:, np.newaxis] + leads[np.newaxis]
    order = np.argsort(known, kind="stable")
    times = known[order]
    if (times[1:] == times[:-1]).any():
        again = times[1:][times[1:] == times[:-1]][0]
        raise InputError(f"has the time {again} twice", where="y_true", fix="Give each valid time once.")
    place = np.minimum(np.searchsorted(times, valid), len(known) - 1)
    index = np.where(times[place] == valid, order[place], -1) if len(known) else np.full(valid.shape, -1)
    if not (index >= 0).any():
        raise InputError("no issue time plus lead time is a time of y_true", where=name, fix="Compare their units.")
    return np.asarray(index, np.int64)


def _texts(side: AnyArray) -> Any:
    """Coordinates as text, in as many digits as their own dtype has: .1 in float32 and in float64 are one place."""
    known = np.asarray(side)
    if known.dtype.kind == "f" and known.dtype.itemsize < 8:
        return np.array([str(float(str(label))) for label in known], object)
    return np.array([str(label) for label in known.tolist()], object)
