"""Arrays with labels: xarray's, wide data frames, and how they are matched.

Dimensions and labels are matched by name, in any order; what one array has and another lacks is refused by name. Arrays
without labels are in the order of those with labels, which then have one order. No library is imported: objects are
read by their attributes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, text_array
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Ints

AXES = ("time", "horizon", "node")
CHANNEL = "channel"
# In which arrays are handed on.
ORDER = ("time", "horizon", CHANNEL, "node")
# Arrays with one more axis than the truth: quantiles have levels, samples have members.
WIDER = ("quantiles", "samples")
_ONE_SIDED = "Label this dimension in all arrays, or in none."


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
    columns = columns_of(frame)
    if time not in columns:
        raise InputError(f"no column {time!r:.60}; it has {', '.join(columns):.200}", where="frame")
    return _wide(columns, columns.pop(time), "frame")


def _wide(nodes: Mapping[str, AnyArray], times: AnyArray, where: str) -> Labelled:
    text = next((name for name, column in nodes.items() if column.dtype.kind not in "fiub"), None)
    if text is not None:
        fix = "A table with a row per cell goes to forecasting.evaluate_table; a wide one has a column per node."
        raise InputError(f"column {text!r:.60} has values that are not numbers", where=where, fix=fix)
    values = [as_numeric(column, f"{where}, column {name!r:.60}") for name, column in nodes.items()]
    labels = {"time": labels_of(times, f"{where}, its times"), "node": np.array(list(nodes), np.str_)}
    return Labelled(np.stack(values, axis=1), ("time", "node"), labels)


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
    return _wide({str(column): np.asarray(value[column]) for column in value.columns}, np.asarray(index), name)


def _with_unit(labels: AnyArray, coordinate: Any) -> AnyArray:
    """Numbers whose coordinate has an attribute `units` of hours, days … as durations."""
    unit = str((getattr(coordinate, "attrs", None) or {}).get("units", "")).strip().lower().rstrip("s")
    codes = {"day": "D", "hour": "h", "hr": "h", "h": "h", "minute": "m", "min": "m", "second": "s", "sec": "s"}
    if unit not in codes or labels.dtype.kind not in "iu":
        return labels
    return labels.astype(f"m8[{codes[unit]}]").astype("m8[ns]")


Roles = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Matched:
    """Plain arrays by name, the axes of the truth in order, labels by axis, and those of the dimensions of nodes."""

    arrays: Mapping[str, Any]
    axes: tuple[str, ...]
    labels: Mapping[str, AnyArray]
    places: Mapping[str, AnyArray]


def refuse_other_rows(arrays: Mapping[str, Any]) -> None:
    """Refuse series and frames of pandas whose indices or columns differ: their numbers are matched by position."""
    indexed = {name: value for name, value in arrays.items() if hasattr(getattr(value, "index", None), "equals")}
    for name, value in indexed.items():
        first, one = next(iter(indexed.items()))
        columns, others = list(getattr(value, "columns", ())), list(getattr(one, "columns", ()))
        if not one.index.equals(value.index) or (columns and others and columns != others):
            fix = "Give both the same labels in one order, or pass to_numpy()."
            raise InputError(f"has another index, or other columns, than {first}", where=name, fix=fix)


def matched(
    arrays: Mapping[str, Any], axes: Any, levels: Sequence[float] = (), *, named: bool = True
) -> Matched | None:
    """Arrays in the order and with the labels of the truth, whose dimensions `axes` names; None without any labels.

    A coordinate of the quantiles' last dimension is matched with the `levels`. Nodes of several dimensions have no
    names unless they are to be `named`.
    """
    refuse_other_rows({name: value for name, value in arrays.items() if not is_frame(value)})
    known = {name: each for name, value in arrays.items() if (each := read(value, name)) is not None}
    if not known:
        return None
    if "y_true" not in known:
        raise InputError("has no labels, but other arrays have", where="y_true", fix=f"{next(iter(known))} has labels.")
    roles = _roles(axes, known)
    lead = roles.get("horizon", ("",))[0]
    forecast = next((name for name, each in known.items() if lead in each.dims), "y_true")
    observed = None
    if forecast != "y_true":
        known, observed = _at_valid_times(known, forecast, roles)
    truth = known["y_true"]
    order = [dim for role in ORDER for dim in roles.get(role, ())]
    lacking = next((dim for dim in order if dim not in truth.dims), None)
    if lacking is not None or len(order) < len(truth.dims):
        raise InputError(
            f"has the dimensions {', '.join(truth.dims)}, the axes have {', '.join(order)}",
            where="y_true",
            fix="Rename or select them, or name them with axes={…}.",
        )
    sizes = {dim: truth.values.shape[truth.dims.index(dim)] for dim in order}
    labels = {dim: truth.labels[dim] for dim in order if dim in truth.labels}
    known |= _in_the_order_of(known[forecast], {**arrays, **known}, sizes)
    for dim in roles.get("time", ()):
        if dim in labels and labels[dim].dtype.kind in "iufM":
            labels[dim] = np.sort(labels[dim])  # intervals depend on the order
    for name, array in known.items():
        one = next((dim for dim in order if dim in array.dims and (dim in labels) != (dim in array.labels)), None)
        if one is not None:
            has, other = ("no labels", "them") if one in labels else ("labels", "none")
            what = f"has {has} along {one}, y_true has {other}"
            raise InputError(what, where=name, fix=_ONE_SIDED)
        last = [dim for dim in array.dims if dim in array.labels and dim not in order]
        if name == "quantiles" and last and levels:
            labels |= {dim: np.array(levels) for dim in last}
    found = {name: _placed(name, array, sizes, labels) for name, array in known.items()}
    if observed is not None:
        there = _placed("mask", observed, sizes, labels)
        found["mask"] = found["mask"] * there if "mask" in found else there
    nodes = roles.get("node", ())
    if len(nodes) > 1:
        outer = len(order) - len(nodes)
        found = {
            name: array.reshape(*array.shape[:outer], -1, *array.shape[len(order) :]) for name, array in found.items()
        }
    names = {role: labels[dims[0]] for role, dims in roles.items() if len(dims) == 1 and dims[0] in labels}
    if named and len(nodes) > 1 and all(dim in labels for dim in nodes):
        names["node"] = _crossed([labels[dim] for dim in nodes])
    places = {dim: labels.get(dim, np.arange(sizes[dim])) for dim in nodes}
    return Matched({**arrays, **found}, tuple(role for role in ORDER if role in roles), names, places)


def _in_the_order_of(leader: Labelled, arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Labelled]:
    """The arrays without labels, with the dimensions and labels of one with labels, from which no other may differ."""
    dims = tuple(dim for dim in leader.dims if dim in sizes)
    labels = {dim: leader.labels[dim] for dim in dims if dim in leader.labels}
    plain = {name: each for name, each in arrays.items() if each is not None and not isinstance(each, Labelled)}
    for name, array in arrays.items():
        for dim, known in labels.items() if plain and isinstance(array, Labelled) else ():
            if not np.array_equal(array.labels.get(dim, known), known):
                what = f"has no labels, and the labels of {name} along {dim} have another order"
                raise InputError(what, where=next(iter(plain)), fix="Sort all arrays alike, or label all of them.")
    found = {}
    for name, each in plain.items():
        values, all_dims = as_numeric(each, name), (*dims, "") if name in WIDER else dims
        wanted = (*[sizes[dim] for dim in dims], *values.shape[len(dims) :][: len(all_dims) - len(dims)])
        if values.shape != wanted:
            raise InputError(f"has shape {values.shape}, not {wanted}", where=name, fix="Nothing is broadcast.")
        found[name] = Labelled(values, all_dims, labels)
    return found


def _roles(axes: Any, known: Mapping[str, Labelled]) -> Roles:
    """The dimensions of each axis."""
    truth = known["y_true"]
    every = dict.fromkeys(dim for each in known.values() for dim in each.dims)
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
        ahead = [dim for dim in every if dim not in truth.dims][:2]  # of forecasts by issue and lead time
        when = f"'time': {ahead[0]!r}, 'horizon': {ahead[1]!r}" if len(ahead) == 2 else "'time': 'time'"
        raise OptionError(
            f"y_true has the dimensions {', '.join(truth.dims)}: which are time, horizon and node?",
            fix=f"Name them, for example axes={{{when}, 'node': {tuple(dim for dim in truth.dims if dim != 'time')}}}.",
        )
    absent = next((dim for dims in roles.values() for dim in dims if dim not in every), None)
    if absent is not None:
        raise OptionError(f"axes names {absent!r:.60}, but the dimensions are {', '.join(every)}")
    return roles


def _at_valid_times(
    known: Mapping[str, Labelled], name: str, roles: Roles
) -> tuple[dict[str, Labelled], Labelled | None]:
    """The arrays with truth and mask at the issue plus lead times of an array, and where there is a truth, or None."""
    issue, lead, truth, forecast = roles["time"][0], roles["horizon"][0], known["y_true"], known[name]
    others = [dim for dim in truth.dims if dim not in (*roles.get("node", ()), *roles.get(CHANNEL, ()))]
    if len(others) != 1:
        raise InputError(f"has no single dimension of valid times among {', '.join(truth.dims)}", where="y_true")
    valid = others[0]
    for where, array, dim in (("y_true", truth, valid), (name, forecast, issue), (name, forecast, lead)):
        if dim not in array.labels:
            raise InputError(f"has no labels along {dim}", where=where, fix="Truth is looked up at issue + lead time.")
        if len(np.unique(array.labels[dim])) < len(array.labels[dim]):
            raise InputError("has a label twice", where=f"{where}, {dim}", fix="Give each once.")
    index = _places_of_valid_times(truth.labels[valid], forecast.labels[issue], forecast.labels[lead], name)
    times = {dim: forecast.labels[dim] for dim in (issue, lead)}

    def looked_up(array: Labelled) -> Labelled:
        values = np.moveaxis(array.values, array.dims.index(valid), 0)[np.maximum(index, 0)]
        labels = {dim: each for dim, each in array.labels.items() if dim != valid} | times
        return Labelled(values, (issue, lead, *(dim for dim in array.dims if dim != valid)), labels)

    turned = {**known, "y_true": looked_up(truth)}
    mask = known.get("mask")
    if mask is not None and valid in mask.dims and lead not in mask.dims:
        own = _places(mask.labels.get(valid, truth.labels[valid]), truth.labels[valid], f"mask, {valid}")
        if own is not None:
            mask = replace(mask, values=np.take(mask.values, own, axis=mask.dims.index(valid)))
        turned["mask"] = looked_up(mask)
    return turned, None if (index >= 0).all() else Labelled(index >= 0, (issue, lead), times)


def _places_of_valid_times(known: AnyArray, issued: AnyArray, leads: AnyArray, name: str) -> Ints:
    """The place of issue time + lead time among the known times, or −1."""
    if known.dtype.kind != issued.dtype.kind or (known.dtype.kind == "M") != (leads.dtype.kind == "m"):
        raise InputError(
            f"times of y_true are {known.dtype}, issue times {issued.dtype}, lead times {leads.dtype}",
            where=name,
            fix="Give dates with durations, such as np.array([6, 12], 'm8[h]'), or numbers with numbers.",
        )
    valid = issued[:, np.newaxis] + leads[np.newaxis]
    order = np.argsort(known, kind="stable")
    times = known[order]
    place = np.minimum(np.searchsorted(times, valid), len(known) - 1)
    index = np.where(times[place] == valid, order[place], -1)
    if not (index >= 0).any():
        raise InputError("no issue time plus lead time is a time of y_true", where=name)
    return np.asarray(index, np.int64)


def _placed(
    name: str, array: Labelled, sizes: Mapping[str, int], labels: Mapping[str, AnyArray], *, partial: bool = False
) -> AnyArray:
    """The values of an array along dimensions of these sizes and labels, in their order; members and levels last.

    A mask, or what is `partial`, is the same along dimensions that it lacks.
    """
    there = [dim for dim in sizes if dim in array.dims]
    last = [dim for dim in array.dims if dim not in sizes]
    if (len(there) < len(sizes) and not partial and name != "mask") or len(last) != (name in WIDER):
        more = f", and one of {'levels' if name == 'quantiles' else 'members'} is needed" if name in WIDER else ""
        raise InputError(
            f"has the dimensions {', '.join(array.dims)}, y_true has {', '.join(sizes)}{more}",
            where=name,
            fix="Rename or select them, or name them with axes={…}.",
        )
    values = array.values
    for place, dim in enumerate(array.dims):
        if dim in labels and dim in array.labels:
            wanted = _places(array.labels[dim], labels[dim], f"{name}, {dim}", more=partial)
            values = values if wanted is None else np.take(values, wanted, axis=place)
    values = np.asarray(values).transpose([array.dims.index(dim) for dim in (*there, *last)])
    if len(there) == len(sizes):
        return values
    return np.broadcast_to(
        values.reshape([size if dim in there else 1 for dim, size in sizes.items()]), [*sizes.values()]
    )


def _places(own: AnyArray, wanted: AnyArray, where: str, *, more: bool = False) -> Ints | None:
    """Where each wanted label is among an array's own, which may be more on request; None if they are the same."""
    if own.shape == wanted.shape and (own == wanted).all():
        return None
    if own.dtype.kind != wanted.dtype.kind and {own.dtype.kind, wanted.dtype.kind} - set("iuf"):
        own, wanted = own.astype(np.str_), wanted.astype(np.str_)
    order = np.argsort(own, kind="stable")
    place = order[np.minimum(np.searchsorted(own[order], wanted), max(len(own) - 1, 0))] if len(own) else wanted[:0]
    lacking = np.flatnonzero(own[place] != wanted) if len(own) else np.arange(len(wanted))
    extra = own[:0] if more or len(np.unique(own)) < len(own) else np.delete(own, place)
    if len(lacking) or len(np.unique(own)) < len(own) or len(extra):
        what = f"has the label {extra[0]}, which y_true lacks" if len(extra) else "has a label twice"
        what = f"does not have the label {wanted[lacking[0]]}" if len(lacking) else what
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
    for dim, labels in places.items():
        if dim in own.dims and dim not in own.labels and not np.array_equal(labels, np.arange(len(labels))):
            raise InputError(f"has no labels along {dim}, y_true has them", where=name, fix=_ONE_SIDED)
    others = {dim: size for dim, size in zip(own.dims, own.values.shape, strict=True) if dim not in places}
    sizes = (others if len(others) == 1 else {}) | {dim: len(labels) for dim, labels in places.items()}
    values = _placed(name, own, sizes, places, partial=True)
    return values.reshape(*values.shape[: len(sizes) - len(places)], -1)


def times_of(value: Any, places: Mapping[str, AnyArray], size: int) -> AnyArray:
    """The times of what `over_nodes` reads; positions if it has none that can be ordered."""
    own = read(value, "history")
    dims = () if own is None else own.dims[:1] if not set(places) & set(own.dims) else own.dims
    labels = next((own.labels.get(dim) for dim in dims if dim not in places), None) if own is not None else None
    return np.arange(size) if labels is None or labels.dtype.kind not in "iufM" else labels


def _crossed(labels: Sequence[AnyArray]) -> AnyArray:
    """A name for each combination: `60, 90`."""
    sides = np.meshgrid(*[np.array([str(label) for label in each.tolist()], object) for each in labels], indexing="ij")
    return np.array([", ".join(cell) for cell in zip(*(side.ravel() for side in sides), strict=True)], np.str_)


# ---- frames, by `{name: np.asarray(frame[name])}`, and labels that can be ordered

# In nanoseconds.
_HOUR = 3_600_000_000_000
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ZONE = re.compile(r"\d{4}-\d\d-\d\d.+(Z|[+-]\d\d:?\d\d)$")


def is_frame(value: Any) -> bool:
    """Whether a value is a frame of columns."""
    return hasattr(value, "__getitem__") and (hasattr(value, "columns") or hasattr(value, "column_names"))


def columns_of(frame: Any) -> dict[str, AnyArray]:
    """The columns by name, equally long, and the index of pandas, if it has a name of its own."""
    if isinstance(frame, Mapping):
        columns = {str(name): np.asarray(values) for name, values in frame.items()}
    else:
        if callable(getattr(frame, "collect", None)):
            frame = frame.collect()
        if not is_frame(frame):
            what = f"{type(frame).__name__} is not a table"
            raise InputError(what, where="table", fix="Pass a frame of columns, or a mapping of them.")
        index = getattr(getattr(frame, "index", None), "names", ())
        if any(name is not None and name not in frame.columns for name in index):
            frame = frame.reset_index()
        names = getattr(frame, "column_names", None) or list(frame.columns)
        twice = next((name for name in names if list(names).count(name) > 1), None)
        if twice is not None:
            raise InputError(f"has the column {twice!r:.60} twice", where="table", fix="Rename one of them.")
        columns = {str(name): np.asarray(frame[name]) for name in names}
    lengths = {name: values.shape for name, values in columns.items()}
    if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
        raise InputError(f"columns differ in shape: {lengths!s:.200}", where="table", fix="Make them equally long.")
    return columns


def labels_of(values: Any, where: str) -> AnyArray:
    """Labels that can be compared: whole numbers, floats, texts, dates (in UTC) or durations; none is empty.

    Dates of any resolution, with or without a zone, as objects or as ISO text are dates in nanoseconds.
    """
    array = np.asarray(values)
    if array.dtype.kind in "OT":
        array = _of_objects(array.astype(object), where)
    if array.dtype.kind == "U" and len(array) and all(_DATE.match(text) for text in array[:1].tolist()):
        array = _dates(array)
    if array.dtype.kind in "Mm":
        array = _in_nanoseconds(array, where)
    if array.dtype.kind not in "iubfUMm":
        raise InputError(f"has labels of type {array.dtype}", where=where, fix="Use numbers, texts or dates.")
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        array = np.array([float(str(label)) for label in array])  # .1 is .1 in any number of digits
    empty = {"f": np.isnan, "M": np.isnat, "m": np.isnat}.get(array.dtype.kind)
    if empty is not None and empty(array).any():
        raise InputError("has empty labels", where=where, fix="Fill or drop them.")
    if array.dtype.kind == "f" and len(array) and (array == np.floor(array)).all() and np.abs(array).max() < 2**53:
        array = array.astype(np.int64)  # a library that has no other empty integers makes them floats
    return array


def _of_objects(array: AnyArray, where: str) -> AnyArray:
    cells = array.tolist()
    if any(cell is None or cell != cell for cell in cells):
        raise InputError("has empty labels", where=where, fix="Fill or drop them.")
    if all(isinstance(cell, str) for cell in cells):
        return text_array(cells, where)
    if all(hasattr(cell, "isoformat") for cell in cells):
        return _dates(np.array([cell.isoformat() for cell in cells]))
    if all(isinstance(cell, int | np.integer) for cell in cells):
        return np.array(cells, np.int64)
    if not any(isinstance(cell, str) for cell in cells):
        converted = np.array(cells)
        if converted.dtype.kind in "fmM":
            return converted
    raise InputError("has labels of several kinds", where=where, fix="Convert the column to one.")


def _dates(texts: AnyArray) -> AnyArray:
    """ISO text as dates, in UTC if it names a zone; other text as it is."""
    values = texts.tolist()
    try:
        if not any(_ZONE.search(text) for text in values):
            return np.array(values, "M8[ns]")
        moments = [datetime.fromisoformat(re.sub("Z$", "+00:00", text)) for text in values]
        if not all(moment.tzinfo for moment in moments):
            return texts
        return np.array([moment.astimezone(UTC).replace(tzinfo=None) for moment in moments], "M8[ns]")
    except ValueError:
        return texts


def _in_nanoseconds(array: AnyArray, where: str) -> AnyArray:
    with np.errstate(over="ignore"):
        exact = array.astype(f"{array.dtype.kind}8[ns]")
    if (exact.astype(array.dtype) != array)[~np.isnat(array)].any():
        raise InputError("has dates outside of 1678 to 2261", where=where, fix="Number the time steps instead.")
    return exact


def shown(label: Any) -> str:
    """A label as text: durations in seconds, dates without a time that is midnight."""
    if isinstance(label, np.timedelta64):
        return f"{label.astype('m8[ns]').astype(np.int64) / 1e9:g} s"
    if isinstance(label, np.datetime64):
        seconds = label.astype("M8[s]")
        return str(seconds if label == seconds else label).removesuffix("T00:00:00")
    return str(label)


def names_of(labels: AnyArray | None, axis: str, size: int) -> AnyArray:
    """The labels of an axis as numbers or texts; without any, horizons count from 1 and nodes from 0."""
    if labels is None:
        first = int(axis == "horizon")
        return np.arange(first, size + first)
    if labels.dtype.kind == "m" and not (labels.astype(np.int64) % _HOUR).any():
        return labels.astype(np.int64) // _HOUR  # in hours
    return labels if labels.dtype.kind in "iufb" else np.array([shown(label) for label in labels], object)
