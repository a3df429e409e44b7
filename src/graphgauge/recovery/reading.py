"""How graphs are read: the options, and any input as a side of a comparison; no file of another kind is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isnan
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy
from graphgauge.core.types import AnyArray
from graphgauge.recovery.adapters import Side, decoded, from_library, listed
from graphgauge.recovery.compare import Layer, Listed
from graphgauge.recovery.graph import Graph, Kind, distinct_names, numbers_of, refuse_other_names, some

# What truth and prediction are called in errors.
ARGUMENTS = ("A_true", "A_pred")
ORIENTATIONS, SIGNS = ("row_to_column", "column_to_row"), ("absolute", "keep")
_ROLES = ("source", "target", "weight")
# Nodes of a sparse graph, and of one that becomes a matrix.
MOST_NODES, _MOST_IN_MATRIX = 10_000_000, 10_000


@dataclass(frozen=True)
class Reading:
    """The options of `evaluate` that say how truth and prediction are read, and which cells count."""

    threshold: float | None = None
    sign: str | None = None
    orientation: Any = "row_to_column"
    encoding: Any = None
    nodes: Any = None
    columns: Mapping[str, str] | None = None
    lagged: bool | None = None
    sources: Any = None
    nan: str = "raise"

    def __post_init__(self) -> None:
        wrong = self.threshold is not None and (not isinstance(self.threshold, Real) or isnan(self.threshold))
        if wrong or isinstance(self.threshold, bool):
            raise OptionError(f"threshold must be a number, not {self.threshold!r}")
        if self.sign is not None:
            one_of("sign", self.sign, SIGNS)
        nan_policy(self.nan)
        for direction, code in zip(self.orientations, self.encodings, strict=True):
            one_of("orientation", str(direction), ORIENTATIONS)
            if code is not None and direction != "row_to_column":
                what = f"orientation={direction!r} with encoding={code!r}"
                raise OptionError(what, fix="An encoding sets the direction.")
        if self.columns is not None and not {"source", "target"} <= set(self.columns) <= set(_ROLES):
            fix = 'For example columns={"source": "TF", "target": "gene", "weight": "score"}.'
            raise OptionError(f"columns names {', '.join(map(str, self.columns)) or 'nothing'}", fix=fix)

    @property
    def orientations(self) -> tuple[Any, ...]:
        return _for_both("orientation", self.orientation, "row_to_column")

    @property
    def encodings(self) -> tuple[Any, ...]:
        return _for_both("encoding", self.encoding, None)


def _for_both(option: str, value: Any, usual: Any) -> tuple[Any, ...]:
    """An option of truth and prediction: one value is the prediction's, a pair sets both."""
    value = one_word(value)
    if isinstance(value, str) or value is None:
        return usual, value
    if not isinstance(value, tuple | list) or len(value) != 2:
        fix = "Pass one name, for the prediction, or two, for truth and prediction."
        raise OptionError(f"{option} is {value!r:.60}", fix=fix)
    return tuple(usual if each in (None, "none") else each for each in value)


def one_word(value: Any) -> Any:
    """A list of one word, as commands write it, as that word."""
    is_word = isinstance(value, tuple | list) and len(value) == 1 and isinstance(value[0], str)
    return value[0] if is_word else value


def read(value: Any, where: str, lagged: bool, reading: Reading) -> Side:
    """One argument as a side."""
    place = ARGUMENTS.index(where)
    side = from_library(value, where) or _read_plain(value, where, reading.encodings[place], lagged, reading.columns)
    if lagged and side.occur is not None:
        raise InputError("a list of edges has no lags", where=where, fix="Pass an array (d, d, lags + 1).")
    if len(side.layers) > 1 and not lagged:
        raise InputError("has lags", where=where, fix="Pass lagged=True, or leave it out.")
    direction = reading.orientations[place]
    if (side.states_marks or side.orientation is not None) and direction not in ("row_to_column", side.orientation):
        what = f"orientation is {direction}, and {where} states its directions itself"
        raise OptionError(what, fix="Leave orientation= out.")
    if direction == "row_to_column" or side.orientation is not None:
        return side
    return replace(side, layers=tuple(layer.turned() for layer in side.layers))


def _read_plain(value: Any, where: str, encoding: str | None, lagged: bool, columns: Any) -> Side:
    if isinstance(value, Graph):
        return listed(value, where)
    if isinstance(value, list) and (not value or are_edges(value)):
        try:
            return listed(Graph.from_edges(value), where)
        except InputError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None
    if isinstance(value, Mapping) or (hasattr(value, "columns") and hasattr(value, "__getitem__")):
        return _from_table(value, where, encoding, lagged, columns)
    if hasattr(value, "tocsr") and hasattr(value, "nnz"):
        plain = encoding is None and not lagged
        refuse_many(max(value.shape), where, MOST_NODES if plain else _MOST_IN_MATRIX)
        if plain:
            return Side(where, (_from_sparse(value, where),))
        value = value.toarray()
    if encoding is not None:
        return Side(where, decoded(value, encoding, where), states_marks=True)
    return Side(where, _matrices(as_numeric(value, where), where, lagged))


def are_edges(value: list[Any]) -> bool:
    """Whether a list is one of edges."""
    return bool(value) and all(isinstance(edge, tuple) and from_library(edge, "") is None for edge in value)


def _matrices(array: AnyArray, where: str, lagged: bool) -> tuple[Layer, ...]:
    """The layers of one matrix, or of one per lag."""
    fits = array.ndim == 2 + lagged and array.shape[0] == array.shape[1] and array.shape[-1] > 0
    if lagged and not fits:
        raise InputError(f"expected shape (d, d, lags + 1), found {array.shape}", where=where, fix=_LAGS)
    if not fits and array.shape != (0, 0):
        raise InputError(f"expected shape (d, d) or (graphs, d, d), found {array.shape}", where=where, fix=_SQUARE)
    lags = np.moveaxis(array, -1, 0) if lagged else array[np.newaxis]
    return tuple(Layer(len(each), np.ascontiguousarray(each), late=lag > 0) for lag, each in enumerate(lags))


def _from_sparse(matrix: Any, where: str) -> Layer:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"expected a square matrix, found shape {matrix.shape}", where=where, fix=_SQUARE)
    rows, d = matrix.tocsr(copy=False), int(matrix.shape[0])
    if not rows.has_canonical_format:  # the caller's matrix is not changed
        rows = rows.copy()
        rows.sum_duplicates()
    cells = np.repeat(np.arange(d, dtype=np.int64) * d, np.diff(rows.indptr))
    cells += rows.indices
    return Layer(d, edges=Listed(cells, np.full(len(cells), int(Kind.FORWARD)), as_numeric(rows.data, where)))


def _from_table(table: Any, where: str, encoding: str | None, lagged: bool, columns: Any) -> Side:
    """A frame, or columns by name: edges, or a square matrix whose rows and columns are named nodes.

    Rows have the names of an index of pandas that is no plain count, of one more column in front, or of the columns.
    """
    names = tuple(getattr(table, "column_names", None) or (table if isinstance(table, Mapping) else table.columns))
    values = {name: np.asarray(table[name]) for name in names}
    if (columns and columns["source"] in names) or {"source", "target"} <= set(names):
        return _edges_of(values, where, columns)
    index, size = getattr(table, "index", None), len(next(iter(values.values()), ()))
    index = None if type(index).__name__ == "RangeIndex" else index
    if index is None and len(names) == size + 1:
        index, names = [str(name) for name in values[names[0]].tolist()], names[1:]
    if len(names) != size or any(values[name].dtype.kind not in "fiubO" for name in names):
        head = some([str(name) for name in values])
        fix = f'The columns are {head}; for edges pass columns={{"source": …, "target": …, "weight": …}}.'
        raise InputError("is neither a square matrix nor a table of edges", where=where, fix=fix)
    rows, order = distinct_names(names if index is None else index, where), distinct_names(names, where)
    matrix = np.column_stack([values[name] for name in names]) if names else np.zeros((0, 0))
    if rows != order:
        refuse_other_names(rows, order, f"{where}, its rows against its columns")
        matrix = matrix[np.argsort(numbers_of(rows, order, where))]
    return replace(_read_plain(matrix, where, encoding, lagged, None), names=order)


def _edges_of(table: Mapping[Any, AnyArray], where: str, columns: Mapping[str, str] | None) -> Side:
    """Edges from columns by name."""
    chosen = columns if columns and columns["source"] in table else {role: role for role in _ROLES if role in table}
    absent = next((name for name in chosen.values() if name not in table), None)
    if absent is not None:
        raise InputError(f"has no column {absent!r}", where=where, fix=f"It has {some(list(map(str, table)))}.")
    source, target, *weight = (table[chosen[role]].tolist() for role in _ROLES if role in chosen)
    try:
        return listed(Graph(source, target, *(list(map(float, column)) for column in weight)), where)
    except ValueError as error:
        raise InputError(f"a weight is not a number ({error})", where=where) from None


def refuse_many(d: int, where: str, most: int) -> None:
    """Refuse more nodes than there is memory to count: in a file they are only a number."""
    if d > most:
        what = f"has {d:,} nodes, more than {most:,}"
        raise InputError(what, where=where, fix="Leave out nodes without edges.")


_SQUARE = "Row i, column j is the edge i → j; pass a list of edges as a list of tuples."
_LAGS = (
    "A[i, j, l] is the edge from i at t − l to j at t; pass np.moveaxis(A, 0, -1) if A is (lags + 1, d, d), or "
    "lagged=False without lags."
)
