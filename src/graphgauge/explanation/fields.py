"""Fields of subgraphs, events and explanations: converted and validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, as_numeric, is_tensor
from graphgauge.core.errors import InputError


def numbers(value: Any, name: str) -> AnyArray:
    return as_numeric(_host(value, name), name)


def whole_numbers(value: Any, name: str) -> NDArray[np.int64]:
    array = _host(value, name)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise InputError(f"expected whole numbers, found values of type {array.dtype}", where=name)
    return array.astype(np.int64)


def ids(value: Any, name: str) -> AnyArray:
    """Ids as whole numbers or text."""
    array = _host(value, name)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iuU":
        raise InputError(
            f"expected a list of whole numbers or of text, found shape {array.shape} of {array.dtype}", where=name
        )
    return array


def within(array: NDArray[np.int64], count: int, name: str, what: str) -> None:
    wrong = array[(array < 0) | (array >= count)]
    if wrong.size:
        raise InputError(f"there is no {what} {wrong[0]} among {count}", where=name)


def lined_up(value: Any, count: int, name: str, what: str) -> AnyArray:
    """One number per edge, or per item of the kind named by `what`."""
    array = _host(value, name)
    array = array.astype(np.float64) if array.size == 0 else as_numeric(array, name)
    if array.shape != (count,):
        raise InputError(f"shape {array.shape} for {count} {what}s", where=name, fix=f"Give one number per {what}.")
    return array


def feature_rows(value: Any, count: int, name: str, what: str) -> AnyArray:
    array = numbers(value, name)
    if array.ndim != 2 or len(array) != count:
        raise InputError(f"shape {array.shape} for {count} {what}s", where=name, fix=f"Give one row per {what}.")
    return array


def named_rows(value: Any, count: int, name: str, what: str) -> Mapping[str, AnyArray]:
    """Arrays by name, with one row per item of the kind named by `what`."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError("expected a mapping from the model's argument names to arrays", where=name)
    arrays = {key: numbers(each, f"{name}, {key}") for key, each in value.items()}
    for key, array in arrays.items():
        if array.ndim == 0 or len(array) != count:
            raise InputError(f"shape {array.shape} for {count} {what}s", where=f"{name}, {key}",
                             fix=f"Give one row per {what}.")  # fmt: skip
    return {key: frozen(array) for key, array in arrays.items()}


def event_id(value: Any) -> str | int | None:
    if isinstance(value, np.integer):
        return int(value)
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise InputError(f"expected a whole number or text, found {value!r:.60}", where="event")


def integer(value: Any, name: str) -> int:
    """A whole number as a Python int; accepts 1.0 and True, refuses text and 0.7."""
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_) or value % 1 != 0:
        raise InputError(f"expected a whole number, found {value!r:.60}", where=name)
    return int(value)


def frozen(array: AnyArray) -> AnyArray:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def _host(value: Any, name: str) -> AnyArray:
    """Any value as an array on the host."""
    if is_tensor(value) or isinstance(value, np.ma.MaskedArray):
        return as_numeric(value, name)
    try:
        return np.asarray(value)
    except ValueError:
        raise InputError("rows of different lengths", where=name, fix="Make all rows as long as the first.") from None
