"""Arrays with labels: xarray's, wide data frames, and how they are matched.

Dimensions and labels are matched by name, in any order; what one array has and another lacks is refused by name. Arrays
without labels are matched by position. No library is imported: objects are read by their attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Ints
from graphgauge.forecasting.frames import columns_of, is_frame, labels_of

AXES = ("time", "horizon", "node")
CHANNEL = "channel"
# Arrays with one more axis than the truth: quantiles have levels, samples have members.
WIDER = ("quantiles", "samples")


@dataclass(frozen=True)
class Labelled:
    """Values with a name for each dimension, and the labels along those that have them."""

    values: Any
    dims: tuple[str, ...]
    labels: Mapping[str, AnyArray] = field(default_factory=dict)


def from_wide(frame: Any, *, time: str) -> Labelled:
    """A wide frame, a column per node and one of times, as an array (time, node) with labels.

    Parameters
    ----------
    frame
        Of pandas, polars or pyarrow, or a mapping of columns.
    time
        The name of the column of times; of pandas also that of the index.

    Returns
    -------
    Labelled
        For every argument of `evaluate` that is an array.

    Raises
    ------
    InputError
        If there is no such column, or another column is not of numbers.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> truth = forecasting.from_wide({"day": [1, 2], "a": [1.0, 2.0], "b": [3.0, 4.0]}, time="day")
    >>> truth.values.tolist(), truth.labels["node"].tolist()
    ([[1.0, 3.0], [2.0, 4.0]], ['a', 'b'])
    """
    columns = columns_of(frame, index=True)
    if time not in columns:
        raise InputError(f"no column {time!r:.60}; it has {', '.join(columns):.200}", where="frame")
    nodes = [name for name in columns if name != time]
    values = np.stack([as_numeric(columns[name], f"column {name!r:.60}") for name in nodes], axis=1)
    times = labels_of(columns[time], f"column {time!r:.60}")
    return Labelled(values, ("time", "node"), {"time": times, "node": np.array(nodes, np.str_)})


def read(value: Any, name: str) -> Labelled | None:
    """An array with labels as one of ours; None for other values."""
    if value is None or isinstance(value, Labelled):
        return value
    if callable(getattr(value, "log_prob", None)) or callable(getattr(value, "cdf", None)):
        raise InputError(
            f"a distribution ({type(value).__name__}), not numbers",
            where=name,
            fix="Pass samples=d.sample((200,)).movedim(0, -1), and any loss of it as scores={'nll': -d.log_prob(y)}.",
        )
    if hasattr(value, "data_vars"):
        raise InputError(
            f"a dataset of {', '.join(map(str, value.data_vars)):.120}", where=name, fix="Select one: dataset['…']."
        )
    dims = getattr(value, "dims", None)
    if isinstance(dims, tuple) and hasattr(value, "coords"):
        names = tuple(map(str, dims))
        coords = {dim: value.coords[dim] for dim in names if dim in value.coords}
        labels = {dim: _with_unit(labels_of(each.values, f"{name}, {dim}"), each) for dim, each in coords.items()}
        return Labelled(np.asarray(value.values), names, labels)
    if not is_frame(value):
        return None
    index = getattr(value, "index", None)
    if index is None or type(index).__name__ == "RangeIndex" or getattr(index, "nlevels", 1) > 1:
        raise InputError(
            "a frame whose column of times is not known",
            where=name,
            fix='Pass from_wide(frame, time="…"), or a long table to evaluate_table.',
        )
    columns = {str(column): np.asarray(value[column]) for column in value.columns}
    values = np.stack([as_numeric(column, f"{name}, column {key!r:.60}") for key, column in columns.items()], axis=1)
    times = labels_of(np.asarray(index), name)
    return Labelled(values, ("time", "node"), {"time": times, "node": np.array(list(columns), np.str_)})


def _with_unit(labels: AnyArray, coordinate: Any) -> AnyArray:
    """Numbers whose coordinate has an attribute `units` of hours, days … as durations."""
    unit = str((getattr(coordinate, "attrs", None) or {}).get("units", "")).strip().lower().rstrip("s")
    codes = {"day": "D", "hour": "h", "hr": "h", "h": "h", "minute": "m", "min": "m", "second": "s", "sec": "s"}
    if unit not in codes or labels.dtype.kind not in "iu":
        return labels
    return labels.astype(f"m8[{codes[unit]}]").astype("m8[ns]")


@dataclass(frozen=True)
class Matched:
    """Plain arrays by name, the axes of the truth in order, labels by axis, and those of the dimensions of nodes."""

    arrays: Mapping[str, Any]
    axes: tuple[str, ...]
    labels: Mapping[str, AnyArray]
    places: Mapping[str, AnyArray]


Roles = Mapping[str, tuple[str, ...]]


def matched(arrays: Mapping[str, Any], axes: Any) -> Matched | None:
    """Arrays in the order and with the labels of the truth, whose dimensions `axes` names; None without any labels."""
    known = {name: read(value, name) for name, value in arrays.items()}
    given = known["y_true"]
    if given is None:
        named = next((name for name, array in known.items() if array is not None), None)
        if named is not None:
            raise InputError("has no labels, but other arrays have", where="y_true", fix=f"{named} has labels.")
        return None
    roles, truth = _roles(axes, given, known), given
    lead = roles.get("horizon", ("",))[0]
    forecast = next((each for name, each in known.items() if each is not None and lead in each.dims), None)
    if lead and lead not in truth.dims and forecast is not None:
        known, truth = _at_valid_times(known, truth, forecast, roles)
    order = [dim for role in (*AXES[:2], CHANNEL, AXES[2]) for dim in roles.get(role, ())]
    truth = _in_order_of_time(truth, roles)
    found = {
        name: arrays[name] if array is None else _placed(name, array, truth, order) for name, array in known.items()
    }
    nodes, places = len(roles.get("node", ())), len(order) - len(roles.get("node", ()))
    folded = {
        name: values if nodes < 2 or known[name] is None else _folded(values, places, nodes)
        for name, values in found.items()
    }
    labels = {role: truth.labels[dims[0]] for role, dims in roles.items() if len(dims) == 1 and dims[0] in truth.labels}
    if nodes > 1 and all(dim in truth.labels for dim in roles["node"]):
        labels["node"] = _crossed([truth.labels[dim] for dim in roles["node"]])
    own = {dim: truth.labels.get(dim, np.arange(_size(truth, dim))) for dim in roles.get("node", ())}
    return Matched(folded, tuple(role for role in (*AXES[:2], CHANNEL, AXES[2]) if role in roles), labels, own)


def _size(array: Labelled, dim: str) -> int:
    return int(array.values.shape[array.dims.index(dim)])


def _roles(axes: Any, truth: Labelled, known: Mapping[str, Labelled | None]) -> Roles:
    """The dimensions of each axis."""
    every = dict.fromkeys(dim for name, each in known.items() if each and name not in WIDER for dim in each.dims)
    own = {*AXES, CHANNEL}
    if isinstance(axes, Mapping):
        unknown = next((role for role in axes if role not in own), None)
        if unknown is not None:
            raise OptionError(f"axes has {unknown!r:.60}", fix=f"Axes are {', '.join((*AXES, CHANNEL))}.")
        roles = {role: (dims,) if isinstance(dims, str) else tuple(dims) for role, dims in axes.items()}
    elif set(truth.dims) <= own:
        roles = {role: (role,) for role in (*AXES, CHANNEL) if role in every}
    elif axes is not None and len(tuple(axes)) == len(truth.dims):
        roles = {role: (dim,) for role, dim in zip(axes, truth.dims, strict=True)}
    else:
        rest = ", ".join(repr(dim) for dim in truth.dims if dim != "time")
        raise OptionError(
            f"y_true has the dimensions {', '.join(truth.dims)}: which are time, horizon and node?",
            fix=f"Name them, for example axes={{'time': 'time', 'node': ({rest},)}}.",
        )
    every |= dict.fromkeys(truth.dims)
    absent = next((dim for dims in roles.values() for dim in dims if dim not in every), None)
    if absent is not None:
        raise OptionError(f"axes names {absent!r:.60}, but the dimensions are {', '.join(every)}")
    return roles


def _at_valid_times(
    known: Mapping[str, Labelled | None], truth: Labelled, forecast: Labelled, roles: Roles
) -> tuple[dict[str, Labelled | None], Labelled]:
    """The truth, and what goes with it, at issue time plus lead time; cells without a truth are masked."""
    issue, lead = roles["time"][0], roles["horizon"][0]
    others = [dim for dim in truth.dims if dim not in roles.get("node", ()) and dim not in roles.get(CHANNEL, ())]
    if len(others) != 1:
        raise InputError(f"has no single dimension of valid times among {', '.join(truth.dims)}", where="y_true")
    valid_dim = others[0]
    for name, array, dim in (("y_true", truth, valid_dim), ("y_pred", forecast, issue), ("y_pred", forecast, lead)):
        if dim not in array.labels:
            raise InputError(f"has no labels along {dim}", where=name, fix="Truth is looked up at issue + lead time.")
    index = _places_of_valid_times(truth.labels[valid_dim], forecast.labels[issue], forecast.labels[lead])

    def looked_up(array: Labelled) -> Labelled:
        values = np.moveaxis(array.values, array.dims.index(valid_dim), 0)[np.maximum(index, 0)]
        labels = {dim: each for dim, each in array.labels.items() if dim != valid_dim} | times
        return Labelled(values, (issue, lead, *(dim for dim in array.dims if dim != valid_dim)), labels)

    times = {dim: forecast.labels[dim] for dim in (issue, lead)}
    turned, truth = {**known, "y_true": looked_up(truth)}, looked_up(truth)
    mask, there = known.get("mask"), Labelled(index >= 0, (issue, lead), times)
    if mask is not None and valid_dim in mask.dims and lead not in mask.dims:
        mask = looked_up(mask)
    if mask is not None and not there.values.all():
        parts = (_placed("mask", each, truth, truth.dims).astype(bool) for each in (mask, there))
        mask = Labelled(np.logical_and(*parts), truth.dims, truth.labels)
    turned["mask"] = there if mask is None and not there.values.all() else mask
    return turned, truth


def _places_of_valid_times(known: AnyArray, issued: AnyArray, leads: AnyArray) -> Ints:
    """The place of issue time + lead time among the known times, or −1."""
    if known.dtype.kind != issued.dtype.kind or (known.dtype.kind == "M") != (leads.dtype.kind == "m"):
        raise InputError(
            f"times of y_true are {known.dtype}, issue times {issued.dtype}, lead times {leads.dtype}",
            where="y_pred",
            fix="Give dates with durations, such as np.array([6, 12], 'm8[h]'), or numbers with numbers.",
        )
    valid = issued[:, np.newaxis] + leads[np.newaxis]
    order = np.argsort(known, kind="stable")
    times = known[order]
    if (times[1:] == times[:-1]).any():
        raise InputError("has a time twice", where="y_true", fix="Give each valid time once.")
    place = np.minimum(np.searchsorted(times, valid), len(known) - 1)
    index = np.where(times[place] == valid, order[place], -1)
    if not (index >= 0).any():
        raise InputError("no issue time plus lead time is a time of y_true", where="y_pred")
    return np.asarray(index, np.int64)


def _in_order_of_time(truth: Labelled, roles: Roles) -> Labelled:
    """The truth with rising times: intervals depend on the order."""
    (time,) = roles.get("time", ("",))
    labels = truth.labels.get(time)
    if labels is None or labels.dtype.kind not in "iufM" or (labels[1:] > labels[:-1]).all():
        return truth
    order = np.argsort(labels, kind="stable")
    values = np.take(truth.values, order, axis=truth.dims.index(time))
    return Labelled(values, truth.dims, {**truth.labels, time: labels[order]})


def _placed(name: str, array: Labelled, truth: Labelled, order: Sequence[str]) -> AnyArray:
    """The values of an array in the order of dimensions and labels of the truth; members and levels last."""
    missing = [dim for dim in order if dim not in array.dims]
    last = [dim for dim in array.dims if dim not in order]
    if (missing and name != "mask") or len(last) != (name in WIDER):
        raise InputError(
            f"has the dimensions {', '.join(array.dims)}, y_true has {', '.join(truth.dims)}",
            where=name,
            fix="Rename or select them, or name them with axes={…}.",
        )
    values = array.values
    for dim in array.dims:
        if dim in truth.labels and dim in array.labels:
            places = _places(array.labels[dim], truth.labels[dim], f"{name}, {dim}")
            values = values if places is None else np.take(values, places, axis=array.dims.index(dim))
    there = [dim for dim in order if dim in array.dims]
    values = values.transpose([array.dims.index(dim) for dim in (*there, *last)])
    if not missing:
        return np.asarray(values)
    # A mask is the same along dimensions that it lacks.
    sizes = [_size(truth, dim) for dim in order]
    shape = [size if dim in there else 1 for dim, size in zip(order, sizes, strict=True)]
    return np.broadcast_to(values.reshape(shape), sizes)


def _places(own: AnyArray, wanted: AnyArray, where: str) -> Ints | None:
    """Where each wanted label is among an array's own; None if they are the same."""
    if own.shape == wanted.shape and (own == wanted).all():
        return None
    if own.dtype.kind != wanted.dtype.kind and {own.dtype.kind, wanted.dtype.kind} - set("iuf"):
        own, wanted = own.astype(np.str_), wanted.astype(np.str_)
    order = np.argsort(own, kind="stable")
    place = order[np.minimum(np.searchsorted(own[order], wanted), max(len(own) - 1, 0))] if len(own) else wanted[:0]
    lacking = np.flatnonzero(own[place] != wanted) if len(own) else np.arange(len(wanted))
    if len(lacking) or len(np.unique(own)) < len(own):
        what = f"does not have the label {wanted[lacking[0]]}" if len(lacking) else "has a label twice"
        raise InputError(what, where=where, fix="Select the same labels in all arrays.")
    return np.asarray(place, np.int64)


def over_nodes(value: Any, places: Mapping[str, AnyArray], name: str) -> Any:
    """What is known of nodes, with the nodes as last axis, in the order of the labels of their dimensions.

    What lacks one of several dimensions of the nodes is the same along it.
    """
    own = read(value, name)
    if own is None:
        return value
    if len(places) == 1 and not set(places) & set(own.dims):
        places = {own.dims[-1]: next(iter(places.values()))}  # their only dimension, under another name
    others = [dim for dim in own.dims if dim not in places]
    sizes = {dim: len(labels) for dim, labels in places.items()}
    truth = Labelled(np.empty(tuple(sizes.values())), tuple(sizes), places)
    if others and len(others) == 1:
        truth = Labelled(np.empty((_size(own, others[0]), *sizes.values())), (others[0], *sizes), places)
    values = _placed("mask", own, truth, truth.dims)
    return values.reshape(*values.shape[: len(others)], -1)


def _folded(values: AnyArray, places: int, nodes: int) -> AnyArray:
    """The dimensions of the nodes as one."""
    return values.reshape(*values.shape[:places], -1, *values.shape[places + nodes :])


def _crossed(labels: Sequence[AnyArray]) -> AnyArray:
    """A name for each combination: `60, 90`."""
    sides = np.meshgrid(*[np.array([str(label) for label in each.tolist()], object) for each in labels], indexing="ij")
    return np.array([", ".join(cell) for cell in zip(*(side.ravel() for side in sides), strict=True)], np.str_)
