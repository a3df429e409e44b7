"""Long tables, one row per cell: data frames of any library, columns in a mapping, or files; also Nixtla's format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.result import Evaluation
from graphgauge.forecasting.evaluate import evaluate
from graphgauge.forecasting.options import probabilities
from graphgauge.io.tables import column_batches, column_names

# The roles of columns and the names that they have by default; `unique_id`, `ds` and `cutoff` are Nixtla's.
_ROLES = {
    "id": ("id", "unique_id"), "time": ("time", "ds"), "horizon": ("horizon",), "issued": ("cutoff",), "y": ("y",),
    "mean": ("mean",), "std": ("std",),
}  # fmt: skip
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

    >>> table = {"id": ["a", "a", "b", "b"], "time": [1, 2, 1, 2], "y": [1, 2, 3, 4], "mean": [1, 2, 3, 6]}
    >>> evaluate_table(table)["mae"].value
    0.5
    """
    given = table_arrays(table, columns=columns, model=model, quantiles=quantiles, samples=samples)
    mask = options.pop("mask", None)
    if mask is not None:
        raise OptionError("mask= is for arrays", fix="Leave rows out, or set y to a null value.")
    return evaluate(**given, **options)


def table_arrays(
    table: Any,
    *,
    columns: Mapping[str, str] | None = None,
    model: str | None = None,
    quantiles: Mapping[float, str] | None = None,
    samples: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The arguments of `evaluate`: arrays (time, horizon, node), a mask if cells have no row, and the node names."""
    frame = _Frame(table)
    roles = _found_roles(frame, columns)
    if model is not None:
        if "mean" in (columns or {}) or quantiles is not None:
            raise OptionError("model= names the columns of the forecast", fix="Leave columns mean and quantiles out.")
        roles["mean"], quantiles = _of_model(frame, model)
    for role in ("id", "time", "y"):
        if role not in roles:
            raise InputError(
                f"has no column {' or '.join(_ROLES[role])}; it has {', '.join(frame.names):.200}", where=frame.where,
                fix=f"Name it: columns={{'{role}': …}}.",
            )  # fmt: skip
    if "mean" not in roles and quantiles is None and samples is None:
        others = [name for name in frame.names if name not in roles.values()]
        raise InputError(
            f"which column is the forecast? It could be {', '.join(others) or 'none'}"[:300], where=frame.where,
            fix="Name it: columns={'mean': …}, or model=….",
        )  # fmt: skip
    nodes, node = _places(frame, roles["id"])
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
    if not counts.all():
        given["mask"] = (counts > 0).reshape(shape)
    return given | ({"ahead": ahead.tolist()} if "horizon" in roles else {})


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
        if bound is not None:
            tail = (1 - float(bound[2]) / 100) / 2
            levels[round(tail if bound[1] == "lo" else 1 - tail, 10)] = name
        elif quantile is not None:
            levels[float(quantile[1])] = name
        elif rest == "-median":
            levels[0.5] = name
    if model in frame.names:
        return model, levels or None
    if 0.5 in levels:
        return levels[0.5], levels
    known = [name for name in frame.names if not _BOUND.search(name)]
    raise InputError(f"has no column {model!r:.60}; it has {', '.join(known):.200}", where=frame.where)


def _places(frame: _Frame, name: str) -> tuple[AnyArray, Ints]:
    values = frame[name]
    if values.dtype.kind == "O":
        values = np.array([str(value) for value in values.tolist()])
    if values.dtype.kind in "fMm" and (np.isnan(values) if values.dtype.kind == "f" else np.isnat(values)).any():
        raise InputError(f"column {name!r} has empty cells", where=frame.where)
    labels, place = np.unique(values, return_inverse=True)
    return labels, place.astype(np.int64)


def _when(frame: _Frame, roles: Mapping[str, str]) -> tuple[AnyArray, Ints, AnyArray, Ints]:
    """The times and the horizons, and which of them each row has.

    With a column of issue times, time is that, and the horizon the number of times between, unless it is given.
    """
    if "issued" not in roles:
        times, step = _places(frame, roles["time"])
        if "horizon" not in roles:
            return times, step, np.array([1]), np.zeros(len(step), np.int64)
        return times, step, *_places(frame, roles["horizon"])
    times, step = _places(frame, roles["issued"])
    if "horizon" in roles:
        return times, step, *_places(frame, roles["horizon"])
    valid = frame[roles["time"]]
    if valid.dtype.kind in "OU":
        raise InputError(
            f"column {roles['time']!r} is text, so the horizon cannot be counted from {roles['issued']!r}",
            where=frame.where, fix="Convert both to dates or numbers, or add a column horizon.",
        )  # fmt: skip
    gaps, place = np.unique(valid - frame[roles["issued"]], return_inverse=True)
    if not (gaps > np.zeros(1, gaps.dtype)).all():
        raise InputError(f"{roles['time']!r} is not after {roles['issued']!r} in every row", where=frame.where)
    return times, step, np.arange(1, len(gaps) + 1), place.astype(np.int64)


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
            if not (hasattr(table, "columns") and hasattr(table, "__getitem__")) or hasattr(table, "collect"):
                self._table = _native(table)
            names = getattr(self._table, "column_names", None) or self._table.columns
            self.names = [str(name) for name in names]
            index = getattr(self._table, "index", None)
            if index is not None and any(name is not None for name in getattr(index, "names", ())):
                self._table = self._table.reset_index()
                self.names = [str(name) for name in self._table.columns]

    def __getitem__(self, name: str) -> AnyArray:
        if name not in self._read:
            self._read[name] = self._column(name)
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
    """Text that is a date in ISO format as dates."""
    if not len(values) or not re.match(r"\d{4}-\d\d-\d\d", str(values[0])):
        return values
    try:
        return np.array([str(value) for value in values.tolist()], "M8[s]")
    except ValueError:
        return values


def _native(table: Any) -> Any:
    """A frame of another library, through narwhals."""
    from graphgauge.core.extras import need

    narwhals = need("narwhals", "reading this table")
    try:
        frame = narwhals.from_native(table)
    except TypeError:
        raise InputError(
            f"a {type(table).__name__} is not a table", where="table",
            fix="Pass a data frame, a mapping of columns, or a file.",
        ) from None  # fmt: skip
    return frame.collect() if hasattr(frame, "collect") else frame
