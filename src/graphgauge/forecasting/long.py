"""Long tables, one row per cell: data frames of any library, columns in a mapping, or files; also Nixtla's format."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, text_array
from graphgauge.core.errors import InputError, OptionError
from graphgauge.forecasting.compare import DieboldMariano, compare
from graphgauge.forecasting.evaluate import evaluate
from graphgauge.forecasting.grids import lead_labels
from graphgauge.forecasting.labels import is_empty, time_keys
from graphgauge.forecasting.options import probabilities
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.io.tables import column_batches, column_names

# The roles of columns and the names that they have by default; `unique_id`, `ds` and `cutoff` are Nixtla's.
_ROLES = {
    "id": ("id", "unique_id"),
    "time": ("time", "ds"),
    "horizon": ("horizon",),
    "issued": ("cutoff",),
    "y": ("y",),
    "mean": ("mean",),
    "std": ("std",),
}
ROLES = tuple(_ROLES)
_BOUND = re.compile(r"-(lo|hi)-(\d+(?:\.\d+)?)")
_QUANTILE = re.compile(r"(?:-q-|_q|-ql|_ql)(0?\.\d+)")


def evaluate_table(
    table: Any,
    *,
    columns: Mapping[str, str] | None = None,
    model: str | None = None,
    quantiles: Mapping[float, str] | None = None,
    samples: Sequence[str] | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a long table, one row per cell: a pandas, polars or Arrow frame, a mapping of columns, or a file.

    `columns` names the columns of the roles id, time, horizon, issued, y, mean and std, if they are not called so.
    `quantiles` maps levels to columns, `samples` are the columns of members. Nixtla's names are known: `unique_id`,
    `ds`, `y`, `cutoff`, and for a `model` its column with `-lo-90`, `-hi-90`, `-median` or `_q0.1` at the end. The
    horizon is counted from `cutoff` if there is no column for it. Cells without a row are masked. Other options are
    those of `evaluate`.

    Parameters
    ----------
    table
        The table, or the path of a .parquet or .csv file.
    columns
        Names of columns by role.
    model
        A model by the name of its column, as in Nixtla's tables.
    quantiles
        Columns by level.
    samples
        Columns of the members.
    options
        Options of `evaluate`.

    Returns
    -------
    Evaluation
        As from `evaluate`.

    Raises
    ------
    InputError
        If a column is missing, or a cell has two rows.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> table = {"id": ["a", "a", "b", "b"], "time": [1, 2, 1, 2], "y": [1, 2, 3, 4], "mean": [1, 2, 3, 6]}
    >>> forecasting.evaluate_table(table)["mae"].value
    0.5
    """
    given = table_arrays(table, columns=columns, model=model, quantiles=quantiles, samples=samples)
    _refuse_arrays(options, given)
    return evaluate(**given, **options)


def compare_table(
    table: Any, a: str, b: str, *, columns: Mapping[str, str] | None = None, **options: Any
) -> DieboldMariano:
    """The test of `compare` for two models of a long table, such as a cross-validation of Nixtla's.

    `a` and `b` are models as in `evaluate_table`: columns, with those of their quantiles for `loss="pinball"` or
    `"crps"`. Rows are the same for both, so they are compared on the same cells. Other options are those of `compare`.

    Parameters
    ----------
    table, columns
        As in `evaluate_table`.
    a, b
        Names of the models.
    options
        Options of `compare`.

    Returns
    -------
    DieboldMariano
        The mean loss of a minus that of b, with interval and two-sided p.

    Raises
    ------
    InputError
        If the table has no such model.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> days = np.arange(20)
    >>> table = {"unique_id": ["a"] * 20, "ds": days, "y": days % 3, "Naive": (days - 1) % 3, "Zero": days * 0}
    >>> forecasting.compare_table(table, "Naive", "Zero").difference
    0.4
    """
    frame = _Frame(table)
    forecasts = {}
    for name, model in (("a", a), ("b", b)):
        given = table_arrays(frame, columns=columns, model=model)
        forecasts[name] = {key: given[key] for key in ("y_pred", "std", "quantiles", "levels") if key in given}
    _refuse_arrays(options, given)
    loss = options.get("loss", "absolute")
    if loss in ("absolute", "squared"):
        forecasts = {name: {"y_pred": forecast["y_pred"]} for name, forecast in forecasts.items()}
    found = compare(given["y_true"], forecasts["a"], forecasts["b"], mask=given["mask"], **options)
    return replace(found, names=(a, b))


def _refuse_arrays(options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse options that describe arrays, which a table is not."""
    if options.get("mask") is not None:
        raise OptionError("mask= is for arrays", fix="Leave rows out, or set y to a null value.")
    taken = next((name for name in options if name in (*given, "nodes", "ahead", "axes")), None)
    if taken is not None:
        raise OptionError(f"{taken}= is for arrays", fix="A table has columns for it: name them with columns=.")


def table_arrays(
    table: Any,
    *,
    columns: Mapping[str, str] | None = None,
    model: str | None = None,
    quantiles: Mapping[float, str] | None = None,
    samples: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The arguments of `evaluate`: arrays (time, horizon, node), a mask if cells have no row, and the node names."""
    frame = table if isinstance(table, _Frame) else _Frame(table)
    roles = _found_roles(frame, columns)
    if model is not None:
        if "mean" in (columns or {}) or quantiles is not None:
            raise OptionError("model= names the columns of the forecast", fix="Leave columns mean and quantiles out.")
        roles["mean"], quantiles = _of_model(frame, model)
    for role in ("id", "time", "y"):
        if role not in roles:
            raise InputError(
                f"has no column {' or '.join(_ROLES[role])}; it has {', '.join(frame.names):.200}",
                where=frame.where,
                fix=f"Name it: columns={{'{role}': …}}.",
            )
    if "mean" not in roles and quantiles is None and samples is None:
        others = [name for name in frame.names if name not in roles.values()]
        raise InputError(
            f"which column is the forecast? It could be {', '.join(others) or 'none'}"[:300],
            where=frame.where,
            fix="Name it: model=…, or call it mean.",
        )
    nodes, node = _places(frame, roles["id"])
    if not len(node):
        raise InputError("has no rows", where=frame.where)
    times, step, ahead, horizon = _when(frame, roles)
    shape = (len(times), len(ahead), len(nodes))
    cell = (step * shape[1] + horizon) * shape[2] + node
    counts = np.bincount(cell, minlength=int(np.prod(shape)))
    if (counts > 1).any():
        again = int(np.argmax(counts[cell] > 1))
        at = ", ".join(f"{role} {frame[roles[role]][again]}" for role in ("id", "time", "horizon") if role in roles)
        raise InputError(
            f"more than one row has {at:.120}", where=frame.where, fix="A cell is one row: drop the others."
        )

    def spread(name: str) -> AnyArray:
        values = frame.numbers(name)
        found = np.zeros(int(np.prod(shape)), values.dtype)
        found[cell] = values
        return found.reshape(shape)

    given: dict[str, Any] = {"y_true": spread(roles["y"]), "nodes": nodes.tolist()}
    if "mean" in roles:
        given["y_pred"] = spread(roles["mean"])
    if "std" in roles and quantiles is None and samples is None:
        given["std"] = spread(roles["std"])
    if quantiles is not None:
        levels = sorted(probabilities(list(quantiles), "quantiles"))
        by_level = {float(level): name for level, name in quantiles.items()}
        given |= {"quantiles": np.stack([spread(by_level[level]) for level in levels], axis=-1), "levels": levels}
    if samples is not None:
        given["samples"] = np.stack([spread(name) for name in samples], axis=-1)
    # Always, so that tables with all rows and tables without some can be merged.
    given["mask"] = (counts > 0).reshape(shape)
    return given | ({"ahead": ahead.tolist()} if "horizon" in roles or "issued" in roles else {})


def truth_columns(names: Sequence[str], columns: Mapping[str, str] | None) -> dict[str, str]:
    """The columns of the truth in a table that was read: its keys and the observed values, by role."""
    found = {role: known for role, usual in _ROLES.items() for known in usual[::-1] if known in names} | dict(
        columns or {}
    )
    return {role: found[role] for role in ("id", "time", "issued", "horizon", "y") if role in found}


def _found_roles(frame: _Frame, columns: Mapping[str, str] | None) -> dict[str, str]:
    named = dict(columns or {})
    for role, name in named.items():
        if role not in _ROLES:
            raise OptionError(f"unknown role {role!r:.60} of a column", fix=f"Roles are {', '.join(_ROLES)}.")
        if name not in frame.names:
            raise InputError(f"has no column {name!r:.60}; it has {', '.join(frame.names):.200}", where=frame.where)
    for role, usual in _ROLES.items():
        known = [name for name in usual if name in frame.names]
        if known:
            named.setdefault(role, known[0])
    return named


def _of_model(frame: _Frame, model: str) -> tuple[str, dict[float, str] | None]:
    """The point forecast of a model, and its quantiles if the table has bounds of intervals."""
    levels: dict[float, str] = {}
    for name in frame.names:
        rest = name[len(model) :] if name.startswith(model) else ""
        bound, quantile = _BOUND.fullmatch(rest), _QUANTILE.fullmatch(rest)
        level = None
        if bound is not None:
            tail = (1 - float(bound[2]) / 100) / 2
            level = round(tail if bound[1] == "lo" else 1 - tail, 10)
        elif quantile is not None:
            level = float(quantile[1])
        elif rest == "-median":
            level = 0.5
        if level in levels:
            raise InputError(
                f"columns {levels[level]!r} and {name!r} are both the quantile {level:g} of {model!r}"[:200],
                where=frame.where,
                fix="Drop one of them.",
            )
        if level is not None:
            levels[level] = name
    if model in frame.names:
        return model, levels or None
    if 0.5 in levels:
        return levels[0.5], levels
    known = [name for name in frame.names if not _BOUND.search(name)]
    raise InputError(f"has no column {model!r:.60}; it has {', '.join(known):.200}", where=frame.where)


def _places(frame: _Frame, name: str) -> tuple[AnyArray, Ints]:
    """The distinct values of a column, sorted, and which of them each row has."""
    values = _complete(frame, name)
    labels, place = np.unique(values, return_inverse=True)
    return labels, place.astype(np.int64)


def _complete(frame: _Frame, name: str) -> AnyArray:
    """A column without empty cells, as numbers, dates or text."""
    values = frame[name]
    if values.dtype.kind == "O":
        cells = values.tolist()
        texts = [isinstance(cell, str) for cell in cells]
        if any(map(is_empty, cells)):
            raise InputError(f"column {name!r} has empty cells", where=frame.where)
        if any(texts) and not all(texts):
            raise InputError(f"column {name!r} has text in some rows and numbers in others", where=frame.where)
        whole = not any(texts) and all(isinstance(cell, int | np.integer) for cell in cells)
        values = (
            np.array(cells, np.int64) if whole else text_array([str(cell) for cell in cells], f"{frame.where}, {name}")
        )
    empty: dict[str, Callable[[AnyArray], AnyArray]] = {
        "f": np.isnan,
        "M": np.isnat,
        "m": np.isnat,
        "U": lambda texts: np.char.strip(texts) == "",
    }
    check = empty.get(values.dtype.kind)
    if check is not None and check(values).any():
        raise InputError(f"column {name!r} has empty cells", where=frame.where)
    return values


def _times(frame: _Frame, name: str) -> tuple[AnyArray, Ints]:
    """The times in order, and which of them each row has."""
    times, step = _places(frame, name)
    order = np.argsort(in_order_of_time(times, name, frame.where), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return times[order], place[step]


def in_order_of_time(times: AnyArray, name: str, where: str) -> AnyArray:
    """What distinct times are sorted by; text that is neither date nor number is refused."""
    keys = time_keys(times.tolist()) if times.dtype.kind == "U" else times
    if keys is None:
        raise InputError(
            f"column {name!r} has times such as {str(times[0])!r:.40}, whose order is unknown",
            where=where,
            fix="Write them as 2026-01-31 or 2026-01-31T12:00, or as numbers.",
        )
    return np.asarray(keys)


def _when(frame: _Frame, roles: Mapping[str, str]) -> tuple[AnyArray, Ints, AnyArray, Ints]:
    """The times and the horizons, and which of them each row has.

    With a column of issue times, time is that, and the horizon is counted from it, unless it is given.
    """
    times, step = _times(frame, roles["issued" if "issued" in roles else "time"])
    if "horizon" in roles:
        return times, step, *_given_horizons(frame, roles["horizon"])
    if "issued" not in roles:
        return times, step, np.array([1]), np.zeros(len(step), np.int64)
    horizon = _counted_horizons(frame, roles)
    labels, place = np.unique(horizon, return_inverse=True)
    return times, step, labels, place.astype(np.int64)


def _given_horizons(frame: _Frame, name: str) -> tuple[AnyArray, Ints]:
    """The horizons of a column with whole numbers, also as text or floats, or with durations."""
    values = _complete(frame, name)
    if values.dtype.kind in "Uf":
        with suppress(ValueError):
            numbers = values.astype(np.float64)
            if (numbers == np.floor(numbers)).all():
                values = numbers.astype(np.int64)
    labels, place = np.unique(values, return_inverse=True)
    labels = lead_labels(labels)
    return (labels.astype(str) if labels.dtype.kind == "f" else labels), place.astype(np.int64)


def _counted_horizons(frame: _Frame, roles: Mapping[str, str]) -> Ints:
    """How many steps each row is ahead of its issue time.

    A step is a number or a duration, or the next time in the table, or in the series. Several ways to count may fit;
    the one with the fewest horizons is taken.
    """
    valid, issued = _complete(frame, roles["time"]), _complete(frame, roles["issued"])
    if {valid.dtype.kind, issued.dtype.kind} & {"U"} or (valid.dtype.kind == "M") != (issued.dtype.kind == "M"):
        raise InputError(
            f"columns {roles['time']!r} and {roles['issued']!r} are not both dates, or both numbers, so the horizon "
            "cannot be counted",
            where=frame.where,
            fix="Convert them, or add a column horizon.",
        )
    if valid.dtype.kind == "u" or issued.dtype.kind == "u":
        valid, issued = valid.astype(np.int64), issued.astype(np.int64)
    if not (valid > issued).all():
        raise InputError(f"{roles['time']!r} is not after {roles['issued']!r} in every row", where=frame.where)
    times = np.unique(np.concatenate([valid, issued]))
    first, last = np.searchsorted(times, issued), np.searchsorted(times, valid)
    ways = [last - first, _steps_of_each(_places(frame, roles["id"])[1], first, last, len(times))]
    even = _even_steps(times)
    if even is not None:
        ways.insert(0, even[last] - even[first])
    return np.asarray(min(ways, key=lambda horizon: len(np.unique(horizon))), np.int64)


def _even_steps(times: AnyArray) -> Ints | None:
    """The number of each time on an even grid; None if there is no such grid."""
    if len(times) < 2:
        return None
    if times.dtype.kind == "M":
        times = times.astype(np.int64)
    gaps = np.diff(times)
    if times.dtype.kind == "f":
        steps = (times - times[0]) / gaps.min()
        return np.rint(steps).astype(np.int64) if np.allclose(steps, np.rint(steps), rtol=0, atol=1e-6) else None
    return np.asarray((times - times[0]) // int(np.gcd.reduce(gaps)), np.int64)


def _steps_of_each(node: Ints, first: Ints, last: Ints, size: int) -> Ints:
    """The number of steps from `first` to `last` among the times of the same series."""
    own = np.unique(np.concatenate([node * size + first, node * size + last]))
    return np.asarray(np.searchsorted(own, node * size + last) - np.searchsorted(own, node * size + first), np.int64)


class _Frame:
    """The columns of a table as arrays, read when they are needed."""

    def __init__(self, table: Any) -> None:
        self._table, self.where = table, "table"
        self._read: dict[str, AnyArray] = {}
        if isinstance(table, str | PathLike):
            self.where = str(table)
            self.names = column_names(self.where)
        elif isinstance(table, Mapping):
            self.names = [str(name) for name in table]
        else:
            if hasattr(table, "collect") or not (hasattr(table, "columns") and hasattr(table, "__getitem__")):
                self._table = _native(table)
            names = getattr(self._table, "column_names", None) or self._table.columns
            self.names = [str(name) for name in names]
            index = getattr(self._table, "index", None)
            if index is not None and any(name is not None for name in getattr(index, "names", ())):
                self._table = self._table.reset_index()
                self.names = [str(name) for name in self._table.columns]

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self._read:
            if self.names.count(name) > 1:
                raise InputError(f"has the column {name!r:.60} twice", where=self.where, fix="Rename one of them.")
            values = self._column(name)
            for other, known in self._read.items():
                if values.shape != known.shape:
                    raise InputError(
                        f"column {name!r} has the shape {values.shape}, but {other!r} has {known.shape}",
                        where=self.where,
                        fix="Columns must be equally long.",
                    )
            if values.ndim != 1:
                raise InputError(f"column {name!r} has {values.ndim} dimensions", where=self.where)
            self._read[name] = values
        return self._read[name]

    def numbers(self, name: str) -> AnyArray:
        if name not in self.names:
            raise InputError(f"has no column {name!r:.60}; it has {', '.join(self.names):.200}", where=self.where)
        values = self[name]
        if values.dtype.kind == "O":
            with suppress(TypeError, ValueError):
                values = values.astype(float)
        if values.dtype.kind not in "fiu":
            raise InputError(f"column {name!r} has values that are not numbers", where=self.where)
        return values

    def _column(self, name: str) -> AnyArray:
        if isinstance(self._table, str | PathLike):
            parts = [batch[name] for batch in column_batches(self.where, [name])]
            if not parts:
                raise InputError("has no rows", where=self.where)
            return _dates(np.concatenate(parts))
        column = self._table[name]
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        return _dates(np.asarray(values)) if values.dtype.kind in "OU" else np.asarray(values)


def _dates(values: AnyArray) -> AnyArray:
    """Text that is a date in ISO format as dates, in UTC if it names a zone."""
    if not len(values) or not re.match(r"\d{4}-\d\d-\d\d", str(values[0])):
        return values
    texts = [str(value) for value in values.tolist()]
    try:
        if any(_ZONE.search(text) for text in texts):
            parsed = [datetime.fromisoformat(re.sub("Z$", "+00:00", text)) for text in texts]
            if not all(moment.tzinfo is not None for moment in parsed):
                return values
            return np.array([moment.astimezone(UTC).replace(tzinfo=None) for moment in parsed], "M8[ns]")
        return np.array(texts, "M8[ns]")
    except ValueError:
        return values


_ZONE = re.compile(r"\d{4}-\d\d-\d\d.+(Z|[+-]\d\d:?\d\d)$")


def _native(table: Any) -> Any:
    """A frame of another library, through narwhals."""
    from graphgauge.core.extras import need

    narwhals = need("narwhals", "reading this table")
    try:
        frame = narwhals.from_native(table)
    except TypeError:
        raise InputError(
            f"a {type(table).__name__} is not a table",
            where="table",
            fix="Pass a data frame, a mapping of columns, or a file.",
        ) from None
    return frame.collect() if hasattr(frame, "collect") else frame
