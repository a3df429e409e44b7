"""Conversion of inputs to arrays: NumPy, torch on the host, torch on CUDA, lists."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray as AnyArray
from graphgauge.core.types import Floats as Floats
from graphgauge.core.types import Ints as Ints
from graphgauge.core.types import Mask as Mask

_EQUAL_ROWS = "Make all rows as long as the first."
# Characters that an array of texts may have in any case, or this many times those of the texts.
_MOST_CHARACTERS, _MOST_PADDING = 1 << 24, 100


def is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_frame(value: Any) -> bool:
    """Whether a value is a frame, of any library: its `columns` are names. An array that names its own is none."""
    columns = getattr(value, "columns", None)
    return columns is not None and not callable(columns) and not isinstance(value, np.ndarray) and not is_tensor(value)


def is_cuda(value: Any) -> bool:
    return is_tensor(value) and bool(value.is_cuda)


def on_host(value: Any, name: str) -> Any:
    """A tensor as an array, also those in lists: NumPy cannot read the tensors of a device. Other values stay."""
    if is_tensor(value):
        return _host_view(value, name)
    if type(value) in (list, tuple) and "torch" in sys.modules and _has_tensors(value):
        # [()] makes a number of a tensor without axes.
        return type(value)(on_host(each, name)[()] if is_tensor(each) else on_host(each, name) for each in value)
    return value


def _has_tensors(values: Sequence[Any]) -> bool:
    """Whether a list begins with a tensor, or with a list that does, or anything in a tuple is one: (5, edges)."""
    looked_at = values if type(values) is tuple else values[:1]
    return any(is_tensor(each) or (type(each) in (list, tuple) and _has_tensors(each)) for each in looked_at)


def on_device(values: Any, device: Any) -> Any:
    """Numbers as a tensor on a device; an array is copied, because torch takes no read-only memory.

    >>> import torch
    >>> on_device(np.array([1, 2]), torch.device("cpu")).tolist()
    [1, 2]
    """
    if is_tensor(values):
        return values.detach().to(device)
    return sys.modules["torch"].tensor(np.ascontiguousarray(values), device=device)


def as_array(value: Any, name: str, *, ragged: str = _EQUAL_ROWS) -> AnyArray:
    """A host array of any type; `ragged` says what to do about rows of different lengths."""
    try:
        return np.asarray(on_host(value, name))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"rows of different lengths ({error})", where=name, fix=ragged) from None


def as_numeric(value: Any, name: str, *, ragged: str = _EQUAL_ROWS) -> AnyArray:
    """A numeric host array, without a copy where possible. Other types are an error, not converted.

    `ragged` says what to do about rows of different lengths.
    """
    if is_tensor(value):
        array = _host_view(value, name)
    elif "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray):  # it takes long to import
        # np.asarray would drop the mask and bring back what it hides.
        raise InputError("found a masked array", where=name, fix="Pass its data and, if the function takes one, mask=.")
    else:
        array = as_array(value, name, ragged=ragged)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        found = "Python objects" if array.dtype == object else f"values of type {array.dtype}"
        raise InputError(f"expected numbers, found {found}", where=name, fix="Convert it to a float or integer array.")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_labels(value: Any, name: str) -> AnyArray:
    """A 1-D array of integer, boolean or text labels, one per item."""
    if isinstance(value, list | tuple) and value and all(type(label) is str for label in value):
        return text_array(value, name)
    try:
        array = np.asarray(on_host(value, name))
    except InputError:
        raise
    except ValueError:
        raise InputError("labels are lists of different lengths", where=name, fix=_ONE_LABEL) from None
    if array.dtype == object and array.ndim == 1 and all(isinstance(label, str) for label in array):
        array = text_array([str(label) for label in array], name)
    if array.shape == (0,):
        array = array.astype(np.int64)  # an empty list comes as floats
    if array.dtype.kind not in "iubU" or array.ndim != 1:
        raise InputError(
            f"expected a 1-D array of integer or text labels, found shape {array.shape} of type {array.dtype}",
            where=name,
            fix=_ONE_LABEL,
        )
    return array


def text_array(texts: Sequence[str], where: str) -> AnyArray:
    """Texts as an array. In it each takes the space of the longest, so a few long ones among many are refused."""
    longest = max(map(len, texts), default=0)
    if longest * len(texts) > max(_MOST_CHARACTERS, _MOST_PADDING * sum(map(len, texts))):
        raise InputError(
            f"one of {len(texts):,} texts has {longest:,} characters, which each would take",
            where=where,
            fix="Shorten it, or write numbers.",
        )
    return np.array(texts, np.str_)


def sorted_unique(values: AnyArray) -> AnyArray:
    """The distinct values, sorted; NaN once.

    By sorting: `np.unique` of NumPy 2.3 and 2.4 hashes, which takes ten times as long where most values differ.

    >>> sorted_unique(np.array([3, 1, 3]))
    array([1, 3])
    """
    ordered = np.sort(values, axis=None)
    new = np.ones(ordered.size, bool)
    new[1:] = ordered[1:] != ordered[:-1]
    if ordered.dtype.kind == "f":
        new[1:] &= ~np.isnan(ordered[:-1])  # sorted last, and unequal to each other
    kept: AnyArray = ordered[new]
    return kept


def require_shape(array: Any, shape: tuple[int | None, ...], name: str, fix: str) -> None:
    """Check a shape, in which `None` matches any length. Nothing is broadcast."""
    fits = len(array.shape) == len(shape) and all(
        want in (None, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise InputError(f"expected shape ({wanted}), found {tuple(array.shape)}", where=name, fix=fix)


def refuse_nan(array: AnyArray, name: str, *, fix: str = 'Repair the model, or pass nan="omit" to drop them.') -> None:
    """Raise an error that reports the number of NaN and the index of the first one."""
    if array.dtype.kind != "f":
        return
    missing = np.isnan(array)
    count = int(np.count_nonzero(missing))
    if count:
        first = tuple(int(index) for index in np.unravel_index(int(np.argmax(missing)), array.shape))
        where = first[0] if len(first) == 1 else first
        raise InputError(f"{count} of {array.size} values are NaN, the first at index {where}", where=name, fix=fix)


def _host_view(tensor: Any, name: str) -> AnyArray:
    torch = sys.modules["torch"]
    kind = _unreadable(tensor, torch)
    if kind is not None:
        raise InputError(f"expected a dense real tensor, found {kind}", where=name, fix="Convert it before the call.")
    try:
        tensor = tensor.detach().cpu()
        if tensor.dtype == torch.bfloat16 or str(tensor.dtype).startswith("torch.float8"):
            # NumPy has neither; widening is exact. What repeats in memory, a row for example, still does.
            once = tensor[tuple(slice(None if stride else 1) for stride in tensor.stride())]
            tensor = once.float().expand(tensor.shape)
        array: AnyArray = tensor.resolve_conj().resolve_neg().numpy()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        what = " ".join(str(error).split())
        raise InputError(
            f"a tensor of {tensor.dtype} cannot be read ({what:.120})",
            where=name,
            fix="Convert it to a float or integer tensor.",
        ) from None
    return array


def _unreadable(tensor: Any, torch: Any) -> str | None:
    """What a tensor is that has no plain numbers in memory, in words."""
    if tensor.is_meta:
        return "a tensor on the meta device, which has a shape but no values"
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.is_quantized:
        return f"a quantized tensor ({tensor.dtype})"
    if tensor.layout != torch.strided:
        return f"a sparse tensor ({tensor.layout})"
    return f"values of {tensor.dtype}" if tensor.dtype.is_complex else None


_ONE_LABEL = "Pass one label per item."
