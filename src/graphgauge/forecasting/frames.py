"""Columns of data frames of any library, by `{name: np.asarray(frame[name])}`, and labels that can be ordered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from graphgauge.core.arrays import text_array
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ZONE = re.compile(r"\d{4}-\d\d-\d\d.+(Z|[+-]\d\d:?\d\d)$")


def is_frame(value: Any) -> bool:
    """Whether a value is a frame of columns."""
    return hasattr(value, "__getitem__") and (hasattr(value, "columns") or hasattr(value, "column_names"))


def columns_of(frame: Any, *, index: bool = False) -> dict[str, AnyArray]:
    """The columns by name, equally long; with `index` also the index of pandas, if it has a name."""
    if isinstance(frame, Mapping):
        columns = {str(name): np.asarray(values) for name, values in frame.items()}
    else:
        if callable(getattr(frame, "collect", None)):
            frame = frame.collect()
        if not is_frame(frame):
            what = f"{type(frame).__name__} is not a table"
            raise InputError(what, where="table", fix="Pass a frame of columns, or a mapping of them.")
        if index and any(name is not None for name in getattr(getattr(frame, "index", None), "names", ())):
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
    if array.dtype.kind == "O":
        array = _of_objects(array, where)
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
