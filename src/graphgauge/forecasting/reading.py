"""From the user's arguments to a sample, and to what is known of its nodes: converted and checked once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_cuda, is_tensor
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.options import nan_policy, number, whole_number
from graphgauge.core.threads import in_threads, threads_for
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.forecasting import labelled
from graphgauge.forecasting.labelled import AXES, CHANNEL, WIDER
from graphgauge.forecasting.sample import Rows, Sample, loss_of

_DAY = np.timedelta64(1, "D")
# Members whose mean is taken at once.
_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class Reading:
    """How arrays are read, as in `evaluate`."""

    axes: Sequence[str] | Mapping[str, Any] | None = None
    labels: Mapping[str, Sequence[Any]] | None = None
    null_value: float | None = None
    null_tolerance: float = 0.0
    nan: str = "raise"


def read_arrays(given: Mapping[str, Any], scores: Mapping[str, Any] | None, levels: Any, read: Reading) -> Sample:
    """Arrays by the names of their arguments, with the axes that `read` names or with labels of their own."""
    losses = {score_name(name): values for name, values in (scores or {}).items()}
    arrays = {**given, **{loss_of(name): values for name, values in losses.items()}}
    arrays = {name: value for name, value in arrays.items() if value is not None or name == "y_true"}
    axes, own, places = read.axes, {}, None
    match = labelled.matched(arrays, axes, _levels_of(levels))
    if match is not None:
        arrays, axes, own, places = dict(match.arrays), match.axes, dict(match.labels), match.places
    if not is_cuda(arrays["y_true"]) or not set(arrays) <= {"y_true", "y_pred", "std", "mask"}:
        arrays = {name: as_numeric(value, name) for name, value in arrays.items()}
    y = arrays["y_true"]
    names = _axes_of(y, axes)
    size = dict(zip(names, y.shape, strict=True))
    own |= _labels_given(read.labels or {}, size, own)
    shape = (size.get("time", 1), size.get("horizon", 1), size.get("node", 1))
    placed = {name: _canonical(value, name, names, y.shape) for name, value in arrays.items()}
    sample = checked(placed, shape, read, levels=_levels_of(levels), scores=tuple(losses))
    return replace(sample, axes=names, labels=own, places=places or {"node": own.get("node", np.arange(shape[2]))})


def checked(
    arrays: Mapping[str, Any],
    shape: tuple[int, int, int],
    read: Reading,
    *,
    levels: tuple[float, ...],
    scores: tuple[str, ...],
    rows: Rows | None = None,
) -> Sample:
    """Arrays in canonical order as a sample: masked, converted, with a point forecast if there is one.

    They have the `shape` (time, horizon, node), or are the `rows` of a table; quantiles have their `levels`, and
    the losses are called `scores`.
    """
    nan_policy(read.nan)
    _refuse_incomplete(arrays, levels)
    if "quantiles" in arrays and arrays["quantiles"].shape[-1] != len(levels):
        what = f"{arrays['quantiles'].shape[-1]} along the last axis, for {len(levels)} levels"
        raise InputError(what, where="quantiles")
    if "samples" in arrays and arrays["samples"].shape[-1] < 2:
        raise InputError("a single member", where="samples", fix="The last axis has the members, at least two.")
    mask = _truth_values(arrays["mask"]) if "mask" in arrays else None
    null = _null_of(read.null_value, read.null_tolerance, arrays["y_true"])
    if null is not None:
        # In the dtype of the truth, before any conversion.
        mask = _both(mask, _observed(arrays["y_true"], *null))
    numbers = _of_one_type({name: value for name, value in arrays.items() if name != "mask"})
    dropped = 0
    if read.nan == "omit":
        there = _without_nan(numbers)
        dropped = int((~there).sum() if mask is None else (mask & ~there).sum())
        mask = _both(mask, there) if dropped else mask
    if mask is not None and not is_tensor(mask):
        mask = np.ascontiguousarray(mask)  # comparisons keep the layout of the truth
    mean, point = _point_of(numbers, levels)
    numbers |= {} if mean is None else {"y_pred": mean}
    sample = Sample(shape, numbers, mask, rows, levels, scores, point, dropped=dropped)
    shown = {
        "forecast": sample.form,
        "errors of": "" if point in ("y_pred", "none") else point,
        "null_value": "" if null is None else f"{null[0]:g}",
        "mask": "given" if "mask" in arrays else "",
        "nan": "omit" if read.nan == "omit" else "",
    }
    known = {name: value for name, value in shown.items() if value}
    return replace(sample, null=null, conventions=known)


def _refuse_incomplete(arrays: Mapping[str, Any], levels: tuple[float, ...]) -> None:
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


def _axes_of(y: Any, axes: Any) -> tuple[str, ...]:
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


def _canonical(array: Any, name: str, axes: tuple[str, ...], shape: tuple[int, ...]) -> Any:
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


def _levels_of(levels: Any) -> tuple[float, ...]:
    """The probabilities of quantiles, rising."""
    if levels is None:
        return ()
    given = [levels] if isinstance(levels, Real) else list(levels)
    found = tuple(number("levels", level, 0, 1, inside=True) for level in given)
    if not found or list(found) != sorted(set(found)):
        raise OptionError(f"levels are {found!s:.80}", fix="Give rising probabilities between 0 and 1.")
    return found


def _labels_given(labels: Mapping[str, Any], size: Mapping[str, int], own: Mapping[str, Any]) -> dict[str, AnyArray]:
    """Labels by axis; those that arrays have of their own are the same, and times are in order."""
    found = {}
    for axis, names in labels.items():
        where = f"labels[{axis!r}]"
        if axis not in size:
            raise OptionError(f"labels has {axis!r:.40}, which is no axis", fix=f"Axes are {', '.join(size)}.")
        found[axis] = known = labelled.labels_of(list(names), where)
        if known.shape != (size[axis],):
            raise InputError(f"{len(known)} labels for {size[axis]}", where=where)
        if len(np.unique(known)) < len(known):
            raise InputError("a label is there twice", where=where)
        if axis in own and not np.array_equal(known.astype(np.str_), own[axis].astype(np.str_)):
            raise InputError("differ from the labels of the arrays", where=where, fix="Leave them out.")
        if axis == "time" and known.dtype.kind in "iufM" and (known[1:] < known[:-1]).any():
            raise InputError("are not in order, on which intervals depend", where=where, fix="Sort all arrays by time.")
    return found


def _null_of(value: Any, tolerance: Any, y_true: Any) -> tuple[float, float] | None:
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


def _observed(y: Any, null: float, tolerance: float) -> Any:
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


def _truth_values(mask: Any) -> Any:
    if str(mask.dtype) in ("bool", "torch.bool"):
        return mask
    if not bool(((mask == 0) | (mask == 1)).all()):
        raise InputError("has values other than 0 and 1", where="mask", fix="True where a cell counts.")
    return mask != 0


def _both(mask: Any, there: Any) -> Any:
    return there if mask is None else mask & there


def _of_one_type(arrays: Mapping[str, Any]) -> dict[str, Any]:
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


def _without_nan(arrays: Mapping[str, Any]) -> Any:
    """Cells of which no number is NaN."""
    there = None
    for name, array in arrays.items():
        seen = array == array
        there = _both(there, seen.all(axis=-1) if name in WIDER else seen)
    return there


def _point_of(arrays: Mapping[str, Any], levels: tuple[float, ...]) -> tuple[Any, str]:
    """The point forecast that errors are computed from, and what it is."""
    if "y_pred" in arrays:
        return arrays["y_pred"], "y_pred"
    middle = next((place for place, level in enumerate(levels) if abs(level - 0.5) < 1e-9), None)
    if "quantiles" in arrays and middle is not None:
        return np.ascontiguousarray(arrays["quantiles"][..., middle]), "the median"
    if "samples" in arrays:
        return _mean_of_members(arrays["samples"]), "the members' mean"
    return None, "none"


def _mean_of_members(members: AnyArray) -> Floats:
    parts = np.array_split(members, max(1, min(len(members), members.size // _AT_ONCE)))
    of_parts = in_threads(lambda part: part.mean(axis=-1, dtype=np.float64), parts, threads_for(members.size))
    return np.concatenate(of_parts)


# ---- what is known of nodes


@dataclass(frozen=True)
class Extras:
    """What is known of the nodes beside the forecasts: weights, naive errors (2, node), edges between them."""

    weights: Floats | None = None
    naive: Floats | None = None
    edges: Ints | None = None


def extras_of(sample: Sample, *, weights: Any, history: Any, season: int, graph: Any) -> Extras:
    """What is known of the nodes of a sample."""
    season = season_of(season, history)
    edges = _edges_of(graph, sample.shape[2])
    if edges is not None and sample.members is None:
        raise OptionError("graph= needs samples=", fix="Leave it out.")
    return Extras(
        None if weights is None else _weights(weights, sample),
        None if history is None else _naive_errors(history, season, sample),
        edges,
    )


def season_of(season: Any, history: Any) -> int:
    if whole_number("season", season, 1) != 1 and history is None:
        raise OptionError("season= needs history=", fix="Pass both.")
    return int(season)


def _weights(weights: Any, sample: Sample) -> Floats:
    if isinstance(weights, str):
        raise OptionError(
            "weights are one number per node, not a text", fix="Such as weights=np.cos(np.deg2rad(latitude))."
        )
    if isinstance(weights, Mapping) or hasattr(getattr(weights, "index", None), "equals"):
        return weights_by_name(weights, labelled.names_of(sample.labels.get("node"), "node", sample.shape[2]))
    values = as_numeric(labelled.over_nodes(weights, sample.places, "weights"), "weights").astype(np.float64)
    if values.shape != (sample.shape[2],):
        raise InputError(f"have shape {values.shape}, for {sample.shape[2]} nodes", where="weights")
    return of_mean_one(values)


def weights_by_name(weights: Any, nodes: AnyArray) -> Floats:
    """Weights with mean 1, from a mapping of names or a series of pandas."""
    by_name = {str(name): float(weight) for name, weight in weights.items()}
    names = [str(name) for name in nodes.tolist()]
    missing = next((name for name in names if name not in by_name), None)
    if missing is not None or len(by_name) < len(weights):
        what = f"has no weight of {missing!r:.60}" if missing is not None else "has a label twice"
        raise InputError(what, where="weights", fix="Give a weight for each name, or a list in the order of the nodes.")
    return of_mean_one(np.array([by_name[name] for name in names]))


def of_mean_one(weights: Floats) -> Floats:
    """Weights with mean 1."""
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise InputError("are not finite, below 0, or all 0", where="weights")
    return np.asarray(weights / weights.mean())


def _naive_errors(history: Any, season: int, sample: Sample) -> Floats:
    values = as_numeric(labelled.over_nodes(history, sample.places, "history"), "history")
    nodes = sample.shape[2]
    values = values[:, np.newaxis] if values.ndim == 1 and nodes == 1 else values
    if values.ndim != 2 or values.shape[1] != nodes:
        raise InputError(f"has shape {values.shape}, for {nodes} nodes", where="history", fix="Pass (time, node).")
    if len(values) <= season:
        raise InputError(f"has {len(values)} steps, for a season of {season}", where="history")
    times, one = labelled.times_of(history, sample.places, len(values)), np.zeros(len(values), np.int64)
    issued = sample.labels.get("time", times[:0])
    if times.dtype.kind == issued.dtype.kind == "M" and len(issued) and len(times):
        refuse_late(times.max(), issued.min(), issued="horizon" in sample.axes)
    order = np.argsort(times, kind="stable")
    step = np.tile(steps_of(times[order], one), nodes)
    return naive_errors(
        values[order].T.ravel(), np.repeat(np.arange(nodes), len(values)), step, nodes, season, sample.null
    )


def refuse_late(last: Any, first: Any, *, issued: bool, of: str = "") -> None:
    """Refuse a history after the first issue time, or with the first time that is forecast."""
    if last > first or (last == first and not issued):
        when = "after its first cutoff" if issued else "not before the first time that is forecast"
        fix = "Pass the rows up to the first cutoff of each series."
        raise InputError(f"has {labelled.shown(last)}{of}, which is {when}", where="history", fix=fix)


def naive_errors(
    values: AnyArray, node: Ints, step: Ints, nodes: int, season: int, null: tuple[float, float] | None
) -> Floats:
    """Mean absolute and mean squared error of the (seasonal) naive forecast of each node's values (2, node).

    Values are in order of node and of the number of their step: each is compared with that of `season` steps before.
    Pairs of which one is not there, is NaN, or is as near to the null value as its tolerance, are left out; 0 without
    any.
    """
    past = values.astype(np.float64)
    if null is not None:
        past[~_observed(values, *null)] = np.nan
    if np.isinf(past).any():
        raise InputError("has infinite values", where="history", fix="Mask them as NaN.")
    place = node * (int(step.max(initial=0)) + season + 1) + step
    earlier = np.searchsorted(place, place - season)
    change = np.where(place[earlier] == place - season, past - past[earlier], np.nan)
    seen = ~np.isnan(change)
    change, at = change[seen], node[seen]
    with np.errstate(over="ignore"):
        sums = [np.bincount(at, each, nodes) for each in (np.abs(change), np.square(change))]
    return np.stack(sums) / np.maximum(np.bincount(at, minlength=nodes), 1)


def _edges_of(graph: Any, nodes: int) -> Ints | None:
    """Pairs of different nodes that an edge joins, each once.

    A graph is an adjacency matrix, or edges between positions as rows (source, target) or as two rows.
    """
    if graph is None:
        return None
    array = as_numeric(graph, "graph")
    if array.shape == (nodes, nodes):
        ends = np.argwhere((array != 0) & (array == array))
    elif array.ndim == 2 and 2 in array.shape:
        rows = {tuple(sorted(edge)) for edge in array.tolist()}
        if array.shape == (2, 2) and rows != {tuple(sorted(edge)) for edge in array.T.tolist()}:
            what = "two edges in two rows: are the rows edges, or the columns?"
            raise InputError(what, where="graph", fix="Repeat an edge, or pass an adjacency matrix.")
        ends = array if array.shape[1] == 2 else array.T
        if (ends != np.floor(ends)).any() or (ends.size and not 0 <= ends.min() <= ends.max() < nodes):
            raise InputError("has ends that are no positions of nodes", where="graph", fix="Positions count from 0.")
    else:
        what = f"has shape {array.shape}, for {nodes} nodes"
        raise InputError(what, where="graph", fix="Pass an adjacency matrix, or edges.")
    pairs = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0).astype(np.int64)
    if not len(pairs):
        raise InputError("has no edge between two nodes", where="graph", fix="Leave it out.")
    return pairs


# ---- times as numbers of steps


def steps_of(times: AnyArray, series: Ints) -> Ints:
    """The number of each time's step in its series, of rows in order of series and time.

    Where a time is missing a number is; times that are not whole steps apart are numbered as they follow each other.
    """
    first = np.append(True, series[1:] != series[:-1])[: len(series)]
    begin = np.flatnonzero(first)[np.cumsum(first) - 1]
    numbers = steps_since(times[begin], times, series) if times.dtype.kind in "iufM" else None
    return np.arange(len(series)) - begin if numbers is None else numbers


def steps_since(origins: AnyArray, times: AnyArray, series: Ints) -> Ints | None:
    """How many steps each time is after its origin; None if it is no whole number, or steps differ between series.

    A step is the shortest distance between two times of a series. Where days and working days give different numbers,
    it is a working day if all of these are there, and no series has a weekend.
    """
    both = np.stack([times, origins])
    found = next((number for each in _counts(both) if (number := _whole_steps(each, series)) is not None), None)
    if both.dtype.kind != "M" or not len(series) or not _daily(both):
        return found
    dates = both.astype("M8[D]")
    weekday = (dates.astype(np.int64) + 3) % 7
    seen = np.zeros((int(series.max()) + 1, 7), np.bool_)
    seen[np.tile(series, 2), weekday.ravel()] = True
    some = np.flatnonzero(~seen[series, 5:].any(axis=1))
    if not len(some):
        return found
    working = _whole_steps(np.busday_count(dates.min(), dates[:, some]), series[some])
    if working is None or np.array_equal(working, [] if found is None else found[some]):
        return found
    return working if len(some) == len(series) and seen[:, :5].any(axis=0).all() else None


def _whole_steps(both: AnyArray, series: Ints) -> Ints | None:
    of_row, at = np.tile(series, 2), both.ravel()
    order = np.lexsort((at, of_row))
    gap, own = np.diff(at[order]), np.diff(of_row[order]) == 0
    step = np.full(int(series.max(initial=0)) + 1, np.inf)
    np.minimum.at(step, of_row[order][1:][own & (gap > 0)], gap[own & (gap > 0)])
    number = (both[0] - both[1]) / step.min()
    whole = np.rint(number).astype(np.int64)
    alike = ((step == step.min()) | np.isinf(step)).all()
    return np.asarray(whole) if alike and np.allclose(number, whole, rtol=0, atol=1e-9) else None


def _daily(both: AnyArray) -> bool:
    days = (both - both.min()) / _DAY
    return bool((np.abs(days - np.rint(days)) < 1 / 23).all())


def _counts(both: AnyArray) -> Iterator[AnyArray]:
    """Times and origins as numbers: as they are, of days of 23 to 25 hours, of months. None of dates as 20260131."""
    if both.dtype.kind != "M":
        year, month, day = both // 10_000, both // 100 % 100, both % 100
        written = (year >= 1800) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        if not (both.size and written.all()):
            yield both
        return
    yield both.astype(np.int64)
    if both.size and _daily(both):
        yield np.rint((both - both.min()) / _DAY)
    if (np.diff(np.unique(both)) >= 28 * _DAY).all():
        yield both.astype("M8[M]").astype(np.int64)
