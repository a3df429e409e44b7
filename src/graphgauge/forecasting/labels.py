"""Labels of arrays: data frames label rows and columns, xarray labels dimensions and coordinates.

Axes that two arrays label are matched by label, and different labels are an error. Axes that only one of them labels
are matched by position, and the labels are kept. Steps are put in the order of their times, because intervals depend on
it. Neither pandas nor xarray is imported: objects are recognised by
their attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting.grids import dims_of
from graphgauge.forecasting.options import AXES, CHANNEL

# Arrays with one more axis than the truth, at the end.
_WIDER = ("quantiles", "samples")
# A date as text, with the year first: the alphabetical order is that in time.
_DATE = re.compile(r"\d{4}(-?(\d\d|Q\d|[WM]\d\d)(-?\d\d)?([T ].*)?)?")


@dataclass(frozen=True)
class Names:
    """Labels along one axis; `counted` if they are a default 0, 1, 2 …."""

    names: list[Any]
    owner: str
    counted: bool = False


@dataclass
class _Array:
    values: Any
    dims: tuple[str, ...] | None
    labels: list[tuple[list[Any], bool] | None]


@dataclass
class Matched:
    """Arrays with matching axes and labels; `names` are the labels along the axes of the truth."""

    arrays: dict[str, Any]
    names: list[Names | None]
    levels: list[Any] | None = None
    dims: tuple[str, ...] | None = None
    dims_of: str = ""
    # The labels before steps were sorted.
    unsorted: list[Names | None] = field(default_factory=list)


def refuse_objects(given: Mapping[str, Any]) -> None:
    """Refuse distributions of torch or SciPy, and a dataset of xarray, which contains several arrays."""
    for name, value in given.items():
        if callable(getattr(value, "cdf", None)) or callable(getattr(value, "log_prob", None)):
            raise InputError(
                f"is a distribution ({type(value).__name__}), not numbers",
                where=name,
                fix="Draw from it, samples=d.sample((200,)).movedim(0, -1), or pass its quantiles= at levels=.",
            )
        variables = getattr(value, "data_vars", None)
        if variables is not None:
            raise InputError(
                f"is a dataset of {', '.join(map(str, variables)):.120}",
                where=name,
                fix="Select a variable: dataset['…'].",
            )


def has_names(value: Any) -> bool:
    """Whether an array names its axes or labels along them."""
    value = _as_frame(value)
    return dims_of(value) is not None or (hasattr(value, "to_numpy") and hasattr(value, "columns"))


def axes_of(y_true: Any, axes: Iterable[str]) -> Iterable[str]:
    """The dimensions of the truth if they are axis names and `axes` does not contradict them; otherwise `axes`."""
    dims = dims_of(y_true)
    if dims is None or isinstance(axes, str) or not isinstance(axes, Iterable):
        return axes
    asked = tuple(axes)
    if not set(dims) <= {*AXES, CHANNEL}:
        if asked == AXES:  # by position, a dimension of sensors would be taken for time
            raise OptionError(
                f"y_true has the dimensions {', '.join(dims)}: which of them are {', '.join(AXES)}?",
                fix=f"Rename them: .rename({dims[0]}='time', …).",
            )
        return asked
    if set(dims) == set(asked):
        return asked
    if asked != AXES:
        raise OptionError(
            f"y_true has the dimensions {', '.join(dims)}, but axes= names {', '.join(map(str, asked))}",
            fix="Leave axes= out, or name the same dimensions.",
        )
    return dims


def matched(
    given: Mapping[str, Any],
    axes: Sequence[str] | None = None,
    known: Mapping[str, Sequence[Any] | Names | None] | None = None,
) -> Matched:
    """The plain arrays, `y_true` first, with their axes in the order of `axes` and their labels in one order.

    `known` are labels of axes that were passed separately: as `Names`, those of arrays without labels too, otherwise
    those in the order of which all arrays are put. Steps with times as labels are sorted.
    """
    read = {name: None if value is None else _read(value, name) for name, value in given.items()}
    if not any(read.values()) and not any(isinstance(names, Names) for names in (known or {}).values()):
        return Matched(dict(given), [])
    truth = read["y_true"]
    cells = len(truth.labels) if truth is not None else _dimensions(given["y_true"])
    found = Matched({}, [None] * cells)
    if axes is not None and len(axes) == cells:
        for place, axis in enumerate(axes):
            names = (known or {}).get(axis)
            found.names[place] = names if isinstance(names, Names) else None
    for name, array in read.items():
        found.arrays[name] = given[name] if array is None else _placed(name, array, found, axes)
    for place, axis in enumerate(axes if axes is not None and len(axes) == cells else ()):
        names = (known or {}).get(axis)
        if names is not None and not isinstance(names, Names):
            _rearrange(found, place, axis, Names([_plain(n) for n in names], f"{axis}s"))
    found.unsorted = list(found.names)
    _sort_times(found, axes)
    return found


def _dimensions(y_true: Any) -> int:
    return int(y_true.ndim) if is_tensor(y_true) else as_numeric(y_true, "y_true").ndim


def _rearrange(found: Matched, place: int, axis: str, known: Names) -> None:
    """Put all arrays in the order of names that were passed separately; those without labels go with the others."""
    own = found.names[place]
    if own is None:
        found.names[place] = known
        return
    found.names[place], index = _matched_names(own, known, axis)
    if index is not None:
        _take(found, index, place)


def _take(found: Matched, order: list[int], place: int) -> None:
    for name, array in found.arrays.items():
        if array is not None:
            values = as_numeric(array, name)
            if values.ndim > place and values.shape[place] == len(order):
                found.arrays[name] = np.take(values, order, axis=place)


def _sort_times(found: Matched, axes: Sequence[str] | None) -> None:
    """Put the steps in the order of their times."""
    cells = len(found.names)
    if cells == 1:
        place = 0
    elif axes is None or len(axes) != cells or "time" not in axes:
        return
    else:
        place = list(axes).index("time")
    names = found.names[place]
    order = None if names is None or names.counted else time_order(names.names)
    if names is None or order is None:
        return
    found.names[place] = Names([names.names[at] for at in order], names.owner)
    _take(found, order, place)


def time_order(labels: Sequence[Any]) -> list[int] | None:
    """The order of times that are numbers or dates; None if they are in order, or text without a known order."""
    keys = time_keys(labels)
    order = sorted(range(len(labels)), key=keys.__getitem__) if keys is not None else []
    return None if keys is None or order == list(range(len(labels))) else order


def time_keys(labels: Sequence[Any]) -> list[Any] | None:
    """What times that are numbers, or text with the year first, are sorted by; None if their order is unknown."""
    if all(isinstance(label, int) for label in labels):
        return list(labels)
    if all(isinstance(label, str) and _DATE.fullmatch(label) for label in labels):
        return [label.replace(" ", "T", 1) for label in labels]
    try:
        keys = [float(label) for label in labels]
    except ValueError:
        return None
    return keys if all(map(isfinite, keys)) else None


def _placed(name: str, array: _Array, found: Matched, axes: Sequence[str] | None) -> Any:
    """The values of one array, in the order of the previous ones."""
    cells = len(found.names)
    if len(array.labels) != cells + (name in _WIDER):
        return array.values  # another shape, which the batch will reject
    values, labels = array.values, array.labels
    if array.dims is not None:
        order = _order(name, array.dims, found, axes)
        values, labels = values.transpose(order), [labels[place] for place in order]
    for place, own in enumerate(labels[:cells]):
        if own is not None:
            axis = axes[place] if axes is not None and len(axes) == cells else f"axis {place}"
            found.names[place], index = _matched_names(Names(own[0], name, own[1]), found.names[place], axis)
            values = values if index is None else np.take(values, index, axis=place)
    if name == "quantiles" and labels[-1] is not None:
        found.levels = labels[-1][0]
    return values


def _order(name: str, dims: tuple[str, ...], found: Matched, axes: Sequence[str] | None) -> list[int]:
    cells = len(found.names)
    if found.dims is None:
        known = axes is not None and len(axes) == cells and set(axes) <= set(dims)
        found.dims, found.dims_of = (tuple(axes or ()) if known else dims[:cells]), name
    missing = [dim for dim in found.dims if dim not in dims]
    if missing:
        raise InputError(
            f"has the dimensions {', '.join(dims)}, but {found.dims_of} has {', '.join(found.dims)}",
            where=name,
            fix="Dimensions are matched by name: rename them.",
        )
    rest = [place for place, dim in enumerate(dims) if dim not in found.dims]
    return [*(dims.index(dim) for dim in found.dims), *rest]


def _matched_names(own: Names, known: Names | None, axis: str) -> tuple[Names, list[int] | None]:
    """The labels along an axis, and the positions of the array's labels among them."""
    if known is None and not own.counted:
        require_distinct(own.names, own.owner, axis)
    if known is None or own.names == known.names:
        return (own if known is None or known.counted else known), None
    place, there = {label: index for index, label in enumerate(own.names)}, set(known.names)
    if len(place) == len(own.names) == len(known.names) and place.keys() == there:
        return known, [place[label] for label in known.names]
    if own.counted or known.counted:
        same = len(own.names) == len(known.names)  # another shape is rejected later
        return (own if known.counted and same else known), None
    alone = next((label for label in own.names if label not in there), None)
    lacking = next((label for label in known.names if label not in place), None)
    if alone is not None:
        what = f"it has {alone!r:.60}, which is missing there"
    else:
        what = "it has duplicates" if lacking is None else f"it lacks {lacking!r:.60}"
    raise InputError(
        f"its labels along {axis} differ from those of {known.owner}: {what}",
        where=own.owner,
        fix="Labels are matched: select the same rows and columns of both, or pass plain arrays.",
    )


def require_distinct(names: Sequence[Any], owner: str, axis: str) -> None:
    """Raise an error for a label that occurs twice."""
    if len(set(names)) < len(names):
        again = next(name for place, name in enumerate(names) if name in names[:place])
        raise InputError(
            f"its labels along {axis} cannot be matched: it has duplicates, such as {again!r:.60}",
            where=owner,
            fix="Label each row and column once, or pass plain arrays.",
        )


def named(nodes: list[Any] | None, known: list[Any] | None, values: Any, owner: str) -> tuple[list[Any] | None, Any]:
    """The names of the nodes, and the values with their last axis in that order."""
    if known is not None:
        require_distinct(known, owner, "node")
    if known is None or nodes is None:
        return (known if nodes is None else nodes), values
    if len(known) != len(nodes):
        raise InputError(f"{len(known)} nodes where {len(nodes)} are expected", where=owner, fix="Give each node once.")
    names, index = _matched_names(Names(known, owner), Names([_plain(n) for n in nodes], "nodes"), "node")
    return names.names, values if index is None else np.take(values, index, axis=-1)


def history_of(naive: Any, name: str = "naive") -> tuple[list[Any] | None, Any]:
    """The names of the nodes in a history (time, node) or in one value per node, and its values in order of time."""
    array = _read(naive, name)
    if array is None:
        return None, naive
    values, labels = array.values, array.labels
    if array.dims is not None and set(array.dims) == {"time", "node"}:
        places = [array.dims.index("time"), array.dims.index("node")]
        values, labels = values.transpose(places), [labels[place] for place in places]
    if len(labels) == 2 and labels[0] is not None:
        require_distinct(labels[0][0], name, "time")
        order = None if labels[0][1] else time_order(labels[0][0])
        values = values if order is None else np.take(values, order, axis=0)
    last = labels[-1] if labels else None
    return (None if last is None or last[1] else last[0]), values


def shown(names: Names | None) -> list[Any] | None:
    """Labels as shown in results; None if none were given."""
    return None if names is None or names.counted else names.names


# ---------------------------------------------------------------------- reading


@dataclass(frozen=True)
class NamedColumns:
    """Values whose columns have names, with the interface of a data frame."""

    values: Any
    columns: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def to_numpy(self) -> Any:
        return self.values


@dataclass(frozen=True)
class LabelledRow:
    """One value per node, with the interface of a series."""

    values: Any
    index: list[str]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def to_numpy(self) -> Any:
        return self.values


def _read(value: Any, name: str) -> _Array | None:
    """The plain values and labels of an array that names its axes; None for everything else."""
    refuse_objects({name: value})
    value = _as_frame(value)
    dims = dims_of(value)
    if dims is not None:
        coords = getattr(value, "coords", {})
        labels = [_labels(coords[dim], name) if dim in coords else None for dim in value.dims]
        return _Array(np.asarray(value.values), dims, labels)
    index, columns = getattr(value, "index", None), getattr(value, "columns", None)
    if callable(index) or not hasattr(value, "to_numpy"):
        return None
    _refuse_long(index, len(np.shape(value)))
    sides = [side for side in (index, columns) if side is not None]
    if len(np.shape(value)) == 2 and columns is not None:
        sides = [index, columns]
    if not sides or len(sides) != len(np.shape(value)):
        return None
    return _Array(_numbers(value), None, [None if side is None else _labels(side, name) for side in sides])


def _numbers(value: Any) -> Any:
    """The values of a frame or series; missing values of pandas' own number types are NaN."""
    values = value.to_numpy()
    kept = getattr(value, "dtypes", None)
    if values.dtype != object or kept is None:
        return values
    types = [getattr(one, "numpy_dtype", one) for one in (kept if values.ndim > 1 else [kept])]
    if any(getattr(one, "kind", "O") not in "fiu" for one in types):
        return values
    common = np.result_type(*types)
    return value.to_numpy(dtype=common if common.kind == "f" else np.float64, na_value=np.nan)


def _as_frame(value: Any) -> Any:
    """Arrow tables and record batches, which name their columns otherwise, as a frame; everything else as it is."""
    names = getattr(value, "column_names", None)
    if names is None or not hasattr(value, "schema") or hasattr(value, "to_numpy"):
        return value
    return NamedColumns(np.column_stack([np.asarray(value[name]) for name in names]), list(names))


def _refuse_long(index: Any, ndim: int) -> None:
    """Refuse a column of a long table, whose rows are cells and not time steps."""
    levels = [str(name) for name in getattr(index, "names", ()) or ()]
    if len(levels) > 1 or (ndim == 1 and getattr(index, "has_duplicates", False)):
        what = f"levels {', '.join(levels)}" if len(levels) > 1 else "repeated values"
        raise InputError(
            f"has an index with {what}: a long table has one row per cell, and rows must be time steps",
            fix="Pass the table to evaluate_table or compare_table, or to `graphgauge forecasting --table`.",
        )


def _labels(side: Any, name: str) -> tuple[list[Any], bool]:
    """Labels along an axis, and whether they are a default count from 0."""
    counted = type(side).__name__ == "RangeIndex" and (side.start, side.step) == (0, 1)
    side = side.to_timestamp() if type(side).__name__ == "PeriodIndex" else side
    if getattr(side, "tz", None) is not None:
        side = side.tz_convert(None)  # the same moments in other zones are the same labels
    values = np.asarray(side.values if hasattr(side, "values") else side)
    if any(map(is_empty, values.tolist())) or (values.dtype.kind in "mM" and np.isnat(values).any()):
        raise InputError("has an empty label", where=name, fix="Label every row and column, or pass plain arrays.")
    # In one unit, regardless of how they are stored.
    if values.dtype.kind == "M":
        values = values.astype("M8[ns]").astype(str)
    elif values.dtype.kind == "m":
        values = values.astype("m8[ns]").astype(np.int64)
    elif values.dtype.kind == "f" and (values != np.floor(values)).any():
        values = values.astype(str)
    return [_plain(label) for label in values.tolist()], counted


def is_empty(label: Any) -> bool:
    """Whether a label is a missing value of Python, NumPy or pandas."""
    missing = label is None or type(label).__name__ in ("NAType", "NaTType")
    return missing or (isinstance(label, float | np.floating) and bool(label != label))


def _plain(label: Any) -> Any:
    """The label as an integer or a string."""
    if isinstance(label, int | str):
        return label
    if isinstance(label, np.generic):
        return _plain(label.item())
    return int(label) if isinstance(label, float) and label.is_integer() else str(label)
