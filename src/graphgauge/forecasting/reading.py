"""Arguments as arrays in canonical order: axes, levels, labels, null values, types."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, is_tensor
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import number
from graphgauge.core.types import AnyArray
from graphgauge.forecasting.labelled import AXES, CHANNEL, WIDER

_HOUR = 3_600_000_000_000


def refuse_incomplete(arrays: Mapping[str, Any], levels: tuple[float, ...]) -> None:
    """Refuse no forecast, parts of one, and two."""
    forms = [name for name in ("std", "quantiles", "samples") if name in arrays]
    if len(forms) > 1:
        raise InputError(f"{' and '.join(forms)} are given", fix="A forecast is one of them.")
    if bool(levels) != ("quantiles" in arrays):
        raise OptionError("quantiles= and levels= go together", fix="Give both or neither.")
    if set(arrays) <= {"y_true", "mask"}:
        raise InputError("not given", where="y_pred", fix="It may be left out with samples=, quantiles= or scores=.")
    if "std" in arrays and "y_pred" not in arrays:
        raise InputError("not given, but std is", where="y_pred", fix="A Gaussian has a mean and a std.")


def score_name(name: Any) -> str:
    if not isinstance(name, str) or not name.replace("_", "").replace(".", "").isalnum():
        raise OptionError(f"scores has the name {name!r:.60}", fix="Use letters, digits, _ and dots.")
    return name


def axes_of(y: Any, axes: Any) -> tuple[str, ...]:
    """The axis of each dimension of the truth."""
    names = AXES if axes is None else tuple(axes)
    if axes is None and y.ndim == 1:
        names = ("time",)  # a single series
    if isinstance(axes, str | Mapping) or not set(names) <= {*AXES, CHANNEL} or len(set(names)) < len(names):
        fix = f"Name the dimensions in order, from {', '.join((*AXES, CHANNEL))}."
        raise OptionError(f"axes are {axes!r:.80}", fix=fix)
    if y.ndim != len(names):
        what = f"expected the axes {', '.join(names)}, found {y.ndim} dimensions"
        raise InputError(what, where="y_true", fix='Name them, for example axes=("time", "node").')
    return names


def canonical(array: Any, name: str, axes: tuple[str, ...], shape: tuple[int, ...]) -> Any:
    """An array as (time, horizon, node), with an axis of channels in front and of levels or members at the end."""
    extra = int(name in WIDER)
    if array.ndim != len(axes) + extra or tuple(array.shape[: len(axes)]) != tuple(shape):
        fix = "The last axis has the levels or members." if extra else "Nothing is broadcast."
        wanted = f"{tuple(shape)} and one more axis" if extra else tuple(shape)
        raise InputError(f"has shape {tuple(array.shape)}, not {wanted}", where=name, fix=fix)
    order = [axes.index(axis) for axis in (CHANNEL, *AXES) if axis in axes]
    moved = array
    if order != list(range(len(axes))):
        moved = (array.permute if is_tensor(array) else array.transpose)(*order, *range(len(axes), array.ndim))
    sizes = dict(zip(axes, shape, strict=True))
    lengths = [sizes.get(axis, 1) for axis in ((CHANNEL, *AXES) if CHANNEL in axes else AXES)]
    return moved.reshape(*lengths, *moved.shape[len(axes) :])


def levels_of(levels: Any) -> tuple[float, ...]:
    """The probabilities of quantiles, rising."""
    if levels is None:
        return ()
    given = [levels] if isinstance(levels, Real) else list(levels)
    found = tuple(number("levels", level, 0, 1, inside=True) for level in given)
    if not found or list(found) != sorted(set(found)):
        raise OptionError(f"levels are {found!s:.80}", fix="Give rising probabilities between 0 and 1.")
    return found


def labels_given(labels: Mapping[str, Any], size: Mapping[str, int]) -> dict[str, AnyArray]:
    found = {}
    for axis, names in labels.items():
        if axis not in size:
            raise OptionError(f"labels has {axis!r:.40}, which is no axis", fix=f"Axes are {', '.join(size)}.")
        found[axis] = as_labels(list(names), f"labels[{axis!r}]")
        if len(found[axis]) != size[axis]:
            raise InputError(f"{len(found[axis])} labels for {size[axis]}", where=f"labels[{axis!r}]")
        if len(np.unique(found[axis])) < len(found[axis]):
            raise InputError("a label is there twice", where=f"labels[{axis!r}]")
    return found


def null_of(value: Any, tolerance: Any, y_true: Any) -> tuple[float, float] | None:
    tolerance = number("null_tolerance", tolerance, 0)
    if value is None:
        if tolerance:
            raise OptionError("null_tolerance= needs null_value=", fix="Pass both.")
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(f"null_value must be a number, not {value!r:.60}")
    if is_tensor(y_true) and str(y_true.dtype) == "torch.bfloat16":
        value = float(y_true.new_tensor(float(value)).float())  # as that type, which NumPy lacks, stores it
    return float(value), float(tolerance)


def observed(y: Any, null: float, tolerance: float) -> Any:
    """True where the truth is not the null value, compared in the dtype of the truth."""
    if np.isnan(null):
        return y == y
    if tolerance:
        if not is_tensor(y):
            with np.errstate(over="ignore", invalid="ignore"):
                far = np.abs(y - y.dtype.type(null) if y.dtype.kind == "f" else y.astype(float) - null)
            return ~(far <= tolerance)
        return ~((y - null).abs() <= tolerance)
    if is_tensor(y):
        return y != y.new_tensor(null)
    if y.dtype.kind == "f":
        with np.errstate(over="ignore"):
            stored = y.dtype.type(null)
        # A number that the dtype cannot represent is no value of the truth.
        return y != stored if np.isfinite(stored) or np.isinf(null) else np.ones(y.shape, bool)
    return y != int(null) if float(null).is_integer() else np.ones(y.shape, bool)


def truth_values(mask: Any) -> Any:
    if str(mask.dtype) in ("bool", "torch.bool"):
        return mask
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise InputError("has values other than 0 and 1", where="mask", fix="True where a cell counts.")
    return mask != 0


def both(mask: Any, there: Any) -> Any:
    return there if mask is None else mask & there


def of_one_type(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Contiguous arrays of float32 if all are floats of at most 32 bits, otherwise of float64."""
    if any(is_tensor(array) for array in arrays.values()):
        from graphgauge.forecasting.device import of_one_type

        return of_one_type(arrays)
    narrow = all(array.dtype.kind == "f" and array.dtype.itemsize <= 4 for array in arrays.values())
    dtype = np.float32 if narrow else np.float64
    for name, array in arrays.items():
        long = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size
        if long and max(int(array.max()), -int(array.min())) > 2**53:
            raise InputError("has integers beyond ±2**53, which floats round", where=name)
    return {name: np.require(array, dtype, ("C", "A")) for name, array in arrays.items()}


def without_nan(arrays: Mapping[str, Any]) -> Any:
    """Cells of which no number is NaN."""
    there = None
    for name, array in arrays.items():
        seen = array == array
        there = both(there, seen.all(axis=-1) if name in WIDER else seen)
    return there


def point_of(arrays: Mapping[str, Any], levels: tuple[float, ...]) -> tuple[Any, str]:
    """The point forecast that errors are computed from, and what it is."""
    if "y_pred" in arrays:
        return arrays["y_pred"], "y_pred"
    middle = next((place for place, level in enumerate(levels) if abs(level - 0.5) < 1e-9), None)
    if "quantiles" in arrays and middle is not None:
        return np.ascontiguousarray(arrays["quantiles"][..., middle]), "the median"
    if "samples" in arrays:
        members = arrays["samples"]
        return members.mean(axis=-1, dtype=np.float64), "the members' mean"
    return None, "none"


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
