"""Checks of the fields of subgraphs, events and explanations, and of a model's answers to masks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray, Floats, as_numeric, is_tensor, on_host, refuse_nan, text_array
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


def lines_up(value: Any, count: int, name: str, what: str) -> AnyArray:
    """One number per item of the kind named by `what`, or several rows of them."""
    array = _host(value, name)
    if array.ndim < 2:
        return lined_up(array, count, name, what)
    if array.ndim > 2 or array.shape[1] != count or not len(array):
        raise InputError(
            f"shape {array.shape} for {count} {what}s",
            where=name,
            fix=f"Give one number per {what}, or several rows of them.",
        )
    return as_numeric(array, name)


def type_names(value: Any, count: int, name: str, what: str) -> AnyArray:
    """The type of each node or edge, as text."""
    array = _host(value, name)
    array = array.astype(np.str_) if array.size == 0 else array
    if array.shape != (count,) or array.dtype.kind != "U":
        raise InputError(
            f"expected {count} names, found shape {array.shape} of {array.dtype}",
            where=name,
            fix=f"Give one name per {what}.",
        )
    return array


def typed_rows(value: Any, types: AnyArray, name: str, what: str) -> Mapping[str, AnyArray]:
    """Arrays by type and argument name, with one row per node or edge of the type."""
    found: dict[str, AnyArray] = {}
    for key, each in ({} if value is None else value).items():
        of, slash, _ = str(key).rpartition("/")
        if not slash:
            raise InputError(f"{key!r:.60} names no type", where=name, fix='Name inputs as "paper/x".')
        rows = int(np.count_nonzero(types == of))
        found |= named_rows({key: each}, rows, name, f"{of} {what}")
    return found


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
            raise InputError(
                f"shape {array.shape} for {count} {what}s", where=f"{name}, {key}", fix=f"Give one row per {what}."
            )
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
    """A read-only copy, so that a caller can use a buffer again; events with the same large array share one."""
    if _is_constant(array):
        return array
    copy = array.copy()
    copy.flags.writeable = False
    if copy.nbytes < _LARGE:
        return copy
    key = copy.dtype.str, copy.shape, hashlib.blake2b(copy.tobytes(), digest_size=32).digest()
    return _shared.setdefault(key, copy)


def copied(value: Any) -> Any:
    """A target whose lists, dictionaries and arrays do not change with those of the caller; other objects stay."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if is_tensor(value):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    return {key: copied(each) for key, each in value.items()} if type(value) is dict else value


_LARGE = 1 << 16
_shared: WeakValueDictionary[Any, AnyArray] = WeakValueDictionary()


def _is_constant(array: Any) -> bool:
    """Whether nobody can write into an array: neither it nor what it is a view of is writeable."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)


def _host(value: Any, name: str) -> AnyArray:
    """Any value as an array on the host."""
    if isinstance(value, np.ma.MaskedArray):
        return as_numeric(value, name)
    if isinstance(value, list) and value and all(type(each) is str for each in value):
        return text_array(value, name)
    try:
        return np.asarray(on_host(value, name))
    except InputError:
        raise
    except ValueError:
        raise InputError("rows of different lengths", where=name, fix="Make all rows as long as the first.") from None


# Tolerance for rounding: how far probabilities may be outside [0, 1], and their sum from 1.
_OUTSIDE = 1e-6
_SUM = 1e-3


def answer_rows(answer: Any, masks: int, where: str) -> Floats:
    """A model's answers as an array (masks, C)."""
    array = numbers(answer, where)
    if array.shape == (masks,):
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != masks or array.shape[1] < 1:
        raise InputError(
            f"shape {array.shape} for {masks} masks", where=where, fix=f"Expected ({masks}, classes) or ({masks},)."
        )
    return array.astype(np.float64)


def checked_outputs(outputs: Floats, model_output: str | None, where: str) -> Floats:
    """The answers, checked for NaN and against the declared `model_output`."""
    if model_output is None:
        raise InputError("answers without model_output", where=where, fix="Is the header of the table complete?")
    refuse_nan(outputs, where, fix='Fix the model, or pass nan="omit" to leave such events out.')
    if model_output == "logit":
        if outputs.shape[1] > 1 and (np.isposinf(outputs).any() or np.isneginf(outputs).all(axis=1).any()):
            raise InputError("infinite logits have no probabilities", where=where)
        return outputs
    low, high = outputs.min(), outputs.max()
    if low < -_OUTSIDE or high > 1 + _OUTSIDE:
        wrong = low if low < -_OUTSIDE else high
        raise InputError(f"{wrong:.4g} is not a probability", where=where, fix='For logits, pass model_output="logit".')
    if outputs.shape[1] > 1:
        totals = outputs.sum(axis=1)
        worst = int(np.argmax(np.abs(totals - 1)))
        if abs(totals[worst] - 1) > _SUM:
            raise InputError(
                f"probabilities of one mask sum to {totals[worst]:.4g}",
                where=where,
                fix="Classes must be mutually exclusive: normalise the outputs, or return a single one.",
            )
    return np.clip(outputs, 0, 1)


def probabilities(outputs: Floats, model_output: str | None) -> Floats:
    """Class probabilities (R, C ≥ 2): softmax of logits, and one output p as (1 − p, p)."""
    if outputs.shape[1] > 1:
        if model_output == "probability":
            return outputs
        shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
    one = outputs[:, 0]
    if model_output == "probability":
        return np.stack([1 - one, one], axis=1)
    # The smaller of the two probabilities is computed, to keep all digits.
    less = np.exp(-np.abs(one)) / (1 + np.exp(-np.abs(one)))
    return np.where((one >= 0)[:, np.newaxis], np.stack([less, 1 - less], axis=1), np.stack([1 - less, less], axis=1))
