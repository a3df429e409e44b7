"""Any input to aligned pairs of graphs: how it is read, numbered alike and checked; here and nowhere else.

pairs(A_true, A_pred, Reading(…)) -> [Pair, …]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_numeric, is_frame, is_tensor, on_host
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.adapters import Side, decoded, from_library, listed
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.graph import (
    Cut,
    Graph,
    Kind,
    Layer,
    Listed,
    Names,
    are_numbers,
    distinct_names,
    mirrored,
    numbers_of,
    refuse_other_names,
    some,
    weighting,
)

# ---- options

SIGNS = ("absolute", "keep")
_FORWARD, _ORIENTATIONS = "row_to_column", ("row_to_column", "column_to_row")
_ROLES = ("source", "target", "weight")
# What truth and prediction are called in errors.
_ARGUMENTS, _BOTH = ("A_true", "A_pred"), "A_true and A_pred"
# Nodes of a graph, of which a file may give no more than the number.
_MOST_NODES = 10_000_000


@dataclass(frozen=True)
class Form:
    """How one argument is written; `where` is its name, for errors."""

    where: str
    orientation: str = _FORWARD
    encoding: str | None = None
    columns: Mapping[str, str] | None = None
    lagged: bool = False

    def __post_init__(self) -> None:
        one_of("orientation", str(self.orientation), _ORIENTATIONS)
        if self.encoding is not None and self.orientation != _FORWARD:
            what = f"orientation={self.orientation!r} with encoding={self.encoding!r}"
            raise OptionError(what, fix="An encoding sets the direction.")
        if self.columns is not None and not {"source", "target"} <= set(self.columns) <= set(_ROLES):
            fix = 'For example columns={"source": "TF", "target": "gene", "weight": "score"}.'
            raise OptionError(f"columns names {', '.join(map(str, self.columns)) or 'nothing'}", fix=fix)


@dataclass(frozen=True)
class Reading:
    """The options of `evaluate` that say how truth and prediction are read, and which cells count."""

    threshold: float | None = None
    sign: str | None = None
    orientation: Any = _FORWARD
    encoding: Any = None
    nodes: Any = None
    columns: Mapping[str, str] | None = None
    lagged: bool | None = None
    sources: Any = None
    nan: str = "raise"

    def __post_init__(self) -> None:
        if self.threshold is not None:
            number("threshold", self.threshold)
        if self.sign is not None:
            one_of("sign", self.sign, SIGNS)
        nan_policy(self.nan)
        _ = self.forms

    @cached_property
    def forms(self) -> tuple[Form, Form]:
        """How truth and prediction are written."""
        orientations = _for_both("orientation", self.orientation, _FORWARD)
        encodings = _for_both("encoding", self.encoding, None)
        named = self.columns or {}
        own = {role: name for role, name in named.items() if not role.startswith("true_")}
        true = {role.removeprefix("true_"): name for role, name in named.items() if role not in own}
        columns = own | true or None, own or None
        truth, prediction = zip(_ARGUMENTS, orientations, encodings, columns, strict=True)
        return Form(*truth), Form(*prediction)


def _for_both(option: str, value: Any, usual: Any) -> tuple[Any, ...]:
    """An option of truth and prediction: one value is the prediction's, a pair sets both."""
    value = _one_word(value)
    if isinstance(value, str) or value is None:
        return usual, value
    if not isinstance(value, tuple | list) or len(value) != 2:
        fix = "Pass one name, for the prediction, or two, for truth and prediction."
        raise OptionError(f"{option} is {value!r:.60}", fix=fix)
    return tuple(usual if each in (None, "none") else each for each in value)


def _one_word(value: Any) -> Any:
    """A list of one word, as commands write it, as that word."""
    is_word = isinstance(value, tuple | list) and len(value) == 1 and isinstance(value[0], str)
    return value[0] if is_word else value


# ---- one graph, or several


def pairs(A_true: Any, A_pred: Any, reading: Reading) -> list[Pair]:
    """Each pair of a true and a predicted graph, over the same nodes in the same order."""
    opened = [_opened(value, where) for value, where in zip((A_true, A_pred), _ARGUMENTS, strict=True)]
    lagged = any(map(_has_lags, opened)) if reading.lagged is None else reading.lagged
    forms = [replace(form, lagged=lagged) for form in reading.forms]
    truths, predictions = (_several(value, form) for value, form in zip(opened, forms, strict=True))
    found = [opened[1]] if predictions is None else predictions
    true = [opened[0]] * len(found) if truths is None else truths
    if len(true) != len(found) or not found:
        ones = "one prediction" if predictions is None else f"{len(found)} predicted ones"
        fix = "Pass as many of each, or one truth for all."
        raise InputError(f"{len(true)} true graphs with {ones}", where=_BOTH, fix=fix)
    return [
        _pair(_read(one, forms[0]), _read(other, forms[1]), reading, None if predictions is None else row)
        for row, (one, other) in enumerate(zip(true, found, strict=True))
    ]


def _opened(value: Any, where: str) -> Any:
    """A result of another library as a side, also each one in a list; anything else as it is."""
    if isinstance(value, list):
        return [from_library(part, where) or part for part in value]
    return from_library(value, where) or value


def _has_lags(opened: Any) -> bool:
    """Whether a result, or the first of several, has lags of its own."""
    first = opened[0] if isinstance(opened, list) and opened else opened
    return isinstance(first, Side) and len(first.layers) > 1


def _several(value: Any, form: Form) -> list[Any] | None:
    """The graphs of a stack or list; None for one graph."""
    if isinstance(value, list):
        if not value or _are_edges(value):
            return None
        if any(map(_is_graph, value)):
            return value
        value = None if form.encoding else as_numeric(value, form.where)
    is_stack = (isinstance(value, np.ndarray) or is_tensor(value)) and value.ndim == 3 + form.lagged
    return list(value) if is_stack else None


def _is_graph(part: Any) -> bool:
    """Whether a part of a list is a graph of its own, and not the row of a matrix."""
    if isinstance(part, list):
        return bool(part) and _are_edges(part)
    return not np.isscalar(part) and getattr(part, "ndim", 2) >= 2


def _are_edges(value: list[Any]) -> bool:
    """Whether a list is one of edges."""
    return all(isinstance(edge, tuple) for edge in value)


# ---- one graph


def _read(value: Any, form: Form) -> Side:
    """One argument as a side."""
    side = value if isinstance(value, Side) else _read_plain(value, form)
    if form.lagged and side.occur is not None:
        raise InputError("a list of edges has no lags", where=form.where, fix="Pass an array (d, d, lags + 1).")
    if len(side.layers) > 1 and not form.lagged:
        raise InputError("has lags", where=form.where, fix="Pass lagged=True, or leave it out.")
    if form.orientation not in (_FORWARD, side.orientation):
        what = f"orientation is {form.orientation}, and {form.where} states its directions itself"
        raise OptionError(what, fix="Leave orientation= out.")
    return side


def _read_plain(value: Any, form: Form) -> Side:
    where = form.where
    if isinstance(value, Graph):
        return listed(value, where)
    if isinstance(value, list) and _are_edges(value):
        try:
            return listed(Graph.from_edges(value), where)
        except InputError as error:
            raise error.in_words(error.what, where, error.fix) from None
    if isinstance(value, Mapping) or is_frame(value):
        return _from_table(value, form)
    if hasattr(value, "tocsr") and hasattr(value, "nnz"):
        _refuse_many(max(value.shape), where)
        if form.encoding is None and not form.lagged:
            layer = _from_sparse(value if form.orientation == _FORWARD else value.T, where)
            return Side(where, (layer,), orientation=form.orientation)
        value = value.toarray()
    if form.encoding is not None:
        return Side(where, decoded(value, form.encoding, where), states_marks=True)
    return Side(where, _matrices(as_numeric(value, where), form), orientation=form.orientation)


def _matrices(array: AnyArray, form: Form) -> tuple[Layer, ...]:
    """The layers of one matrix, or of one per lag."""
    fits = array.ndim == 2 + form.lagged and array.shape[0] == array.shape[1] and array.shape[-1] > 0
    if not fits and (form.lagged or array.shape != (0, 0)):
        expected, fix = ("(d, d, lags + 1)", _LAGS) if form.lagged else ("(d, d) or (graphs, d, d)", _SQUARE)
        raise InputError(f"expected shape {expected}, found {array.shape}", where=form.where, fix=fix)
    lags = np.moveaxis(array, -1, 0) if form.lagged else array[np.newaxis]
    lags = lags if form.orientation == _FORWARD else lags.swapaxes(1, 2)
    return tuple(Layer(len(each), np.ascontiguousarray(each), late=lag > 0) for lag, each in enumerate(lags))


def _from_sparse(matrix: Any, where: str) -> Layer:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"expected a square matrix, found shape {matrix.shape}", where=where, fix=_SQUARE)
    rows, d = matrix.tocsr(copy=False), int(matrix.shape[0])
    if not rows.has_canonical_format:  # the caller's matrix is not changed
        rows = rows.copy()
        rows.sum_duplicates()
    cells = np.repeat(np.arange(d, dtype=np.int64) * d, np.diff(rows.indptr)) + rows.indices
    return Layer(d, edges=Listed(cells, np.full(len(cells), int(Kind.FORWARD)), as_numeric(rows.data, where)))


def _from_table(table: Any, form: Form) -> Side:
    """A frame, or columns by name: edges, or a square matrix whose rows and columns are named nodes.

    Rows have the names of an index of pandas that is no plain count, of one more column in front, or of the columns.
    """
    where, columns = form.where, form.columns
    names = tuple(getattr(table, "column_names", None) or (table if isinstance(table, Mapping) else table.columns))
    values = {name: as_array(table[name], where, ragged=_TABLE) for name in names}
    if (columns and columns["source"] in names) or {"source", "target"} <= set(names):
        return _edges_of(values, form)
    index, size = getattr(table, "index", None), len(next(iter(values.values()), ()))
    if type(index).__name__ == "RangeIndex":
        index = None
    if index is None and len(names) == size + 1:
        index, names = [str(name) for name in values[names[0]].tolist()], names[1:]
    if len(names) != size or any(values[name].dtype.kind not in "fiubO" for name in names):
        fix = f"The columns are {some(list(map(str, values)))}; for edges pass columns={_EDGE_COLUMNS}."
        raise InputError("is neither a square matrix nor a table of edges", where=where, fix=fix)
    rows, order = distinct_names(names if index is None else index, where), distinct_names(names, where)
    matrix = np.column_stack([values[name] for name in names]) if names else np.zeros((0, 0))
    if rows != order:
        refuse_other_names(rows, order, f"{where}, its rows against its columns")
        matrix = matrix[np.argsort(numbers_of(rows, order, where))]
    return replace(_read_plain(matrix, form), names=order)


def _edges_of(table: Mapping[Any, AnyArray], form: Form) -> Side:
    """Edges from columns by name."""
    where, chosen = form.where, form.columns
    if not chosen or chosen["source"] not in table:
        chosen = {role: role for role in _ROLES if role in table}
    if where == _ARGUMENTS[0] and chosen.get("weight") not in table:  # which only scores need
        chosen = {role: chosen[role] for role in _ROLES[:2]}
    absent = next((name for name in chosen.values() if name not in table), None)
    if absent is not None:
        raise InputError(f"has no column {absent!r}", where=where, fix=f"It has {some(list(map(str, table)))}.")
    unread = next((name for name in table if name not in chosen.values() and table[name].dtype.kind == "f"), None)
    if where == _ARGUMENTS[1] and "weight" not in chosen and unread is not None:
        fix = f'Pass columns={{"source": …, "target": …, "weight": "{unread}"}}, or leave the column out.'
        raise InputError(f"has no weights, and the column {unread!r} is not read", where=where, fix=fix)
    source, target, *weight = (table[chosen[role]].tolist() for role in _ROLES if role in chosen)
    try:
        return listed(Graph(source, target, *(list(map(float, column)) for column in weight)), where)
    except ValueError as error:
        raise InputError(f"a weight is not a number ({error})", where=where) from None


def _refuse_many(d: int, where: str) -> None:
    """Refuse more nodes than there is memory to count: in a file they are only a number."""
    if d > _MOST_NODES:
        what = f"has {d:,} nodes, more than {_MOST_NODES:,}"
        raise InputError(what, where=where, fix="Leave out nodes without edges.")


# ---- one pair


def _pair(truth: Side, prediction: Side, reading: Reading, row: int | None) -> Pair:
    """One pair; errors about values name its `row` among several."""
    if reading.threshold is not None and any(layer.scores is not None for layer in prediction.layers):
        fix = "Leave threshold= out, or pass its scores as a matrix."
        raise OptionError(f"{prediction.where} has a graph of its own, on which no threshold acts", fix=fix)
    names = _nodes((truth, prediction), reading.nodes)
    true, found = (_placed(side, names) for side in (truth, prediction))
    if len(true) != len(found):
        what = f"{len(true)} true lags with {len(found)} predicted ones"
        raise InputError(what, where=_BOTH, fix="Both need the same lags, from 0 on: pad with zeros.")
    sign = reading.sign or prediction.sign
    threshold = reading.threshold if reading.threshold is not None else 0.0 if sign == "absolute" else 0.5
    if prediction.states_marks and not 0 <= threshold < 1:
        what = f"threshold is {threshold:g} for a graph of marks, whose edges score 1 and other cells 0"
        raise OptionError(what, fix="Pass a threshold of at least 0 and below 1, or none.")
    # As it is written: 0.3 in single precision is 0.3.
    cut = Cut(float(str(threshold)), sign == "absolute")
    pair = Pair(true, tuple(replace(layer, cut=cut) for layer in found), names)
    pair = replace(pair, sources=_sources(reading.sources, pair))
    return _checked(pair, sign, prediction.states_marks, reading.nan, row)


# ---- nodes


def _nodes(sides: tuple[Side, Side], nodes: Any) -> Names:
    """The names of the nodes in order: those that `nodes=` or one side states, or their numbers."""
    asked = _asked(nodes, sides)
    stated = [(side.where, side.names) for side in sides if side.names is not None]
    unnamed = [side for side in sides if side.names is side.occur is None]
    if asked is not None and (isinstance(asked, tuple) or not stated):
        order = asked
    elif stated:
        order = stated[0][1]
        if are_numbers(order):
            order = tuple(sorted(order, key=lambda name: int(str(name))))
        elif unnamed:
            what = f"{stated[0][0]} names its nodes, and {unnamed[0].where} does not"
            fix = f"Pass the names in the order of its rows: nodes=[{some(sorted(map(repr, order)))}]."
            raise InputError(what, where=_BOTH, fix=fix)
    elif unnamed:
        order = range(unnamed[0].layers[0].d)
    else:
        fix = 'Pass nodes=: a number, names, or "listed" for those that occur.'
        raise InputError("a list of edges does not show nodes without edges", where=_BOTH, fix=fix)
    for where, names in stated:
        refuse_other_names(names, order, where)
    _refuse_many(len(order), _BOTH if asked is None else "nodes")
    return order


def _asked(nodes: Any, sides: tuple[Side, Side]) -> Names | None:
    """The value of `nodes=` as names; a number of nodes has numbers for names."""
    nodes = _one_word(nodes)
    if nodes is None:
        return None
    if isinstance(nodes, str) and nodes == "listed":
        other = next((side.where for side in sides if side.occur is None), None)
        if other is not None:
            raise OptionError(f'nodes="listed" is for lists of edges, and {other} is none')
        every: set[Any] = {name for side in sides for name in side.occur or ()}
        return tuple(sorted(every, key=lambda name: (str(type(name)), name)))
    if isinstance(nodes, str) and nodes.isdecimal():
        nodes = int(nodes)
    if isinstance(nodes, int | np.integer) and not isinstance(nodes, bool) and nodes >= 0:
        return range(int(nodes))
    if isinstance(nodes, str | Set) or not np.iterable(nodes):
        raise OptionError(f"nodes must be a number of nodes, or their names in order, not {nodes!r:.80}")
    return distinct_names(nodes, "nodes")


def _placed(side: Side, order: Names) -> tuple[Layer, ...]:
    """The layers of one side over the nodes in order."""
    own, d = side.occur if side.names is None else side.names, side.layers[0].d
    if own is None and d != len(order):
        fix = "Both graphs, and nodes=, need the same nodes."
        raise InputError(f"{side.where} has {d} nodes, not {len(order)}", where=_BOTH, fix=fix)
    if own is None or own == order:
        return side.layers
    number = distinct_names(numbers_of(own, order, side.where).tolist(), side.where)
    return tuple(layer.renumbered(np.array(number, np.int64), len(order)) for layer in side.layers)


def _sources(sources: Any, pair: Pair) -> Mask | None:
    """Which nodes have outgoing cells that count; None for all."""
    if sources is None:
        return None
    held = np.zeros(pair.d, np.bool_)
    if isinstance(sources, str) and sources == "listed":
        for lag in pair.lags:
            held[pair.arrows(0, lag) // max(pair.d, 1)] = True
        return held
    if isinstance(sources, str) or not np.iterable(sources):
        fix = 'Pass names or numbers of nodes, or "listed" for those from which true edges start.'
        raise OptionError(f"sources is {sources!r:.60}", fix=fix)
    given = on_host(sources, "sources")
    held[numbers_of(given.tolist() if isinstance(given, np.ndarray) else given, pair.names, "sources")] = True
    return held


# ---- what cannot be compared


def _checked(pair: Pair, sign: str | None, states_marks: bool, nan: str, row: int | None) -> Pair:
    """The pair without cells that have no score; what cannot be compared is refused."""
    truth, prediction = pair.truth, pair.prediction
    if any(layer.flaws[0] for layer in truth):
        fix = "Cells must be 0 or not 0."
        raise _wrong_values(pair, 0, [_missing(layer) for layer in truth], "values are NaN", fix, row)
    if pair.cut.threshold < 0 and any(layer.matrix is None for layer in prediction):
        what = f"threshold is {pair.cut.threshold:g}, below 0, so every cell that is not stored would be an edge"
        raise OptionError(what, fix="Pass a dense matrix, or a threshold of at least 0.")
    if any(layer.flaws[0] or layer.scores is not None for layer in prediction):
        cells = [_missing(layer) for layer in prediction]
        missing = tuple(each[pair.allowed(each, lag)] for lag, each in enumerate(cells))
        if any(cells.size for cells in missing):
            if nan == "raise":
                raise _wrong_values(pair, 1, missing, "values are NaN", _FIX_NAN, row)
            pair = replace(pair, missing=missing)
    if sign is None and any(layer.flaws[1] for layer in prediction):
        cells = [layer.listed.cells[layer.listed.weights < 0] for layer in prediction]
        raise _wrong_values(pair, 1, cells, "scores are negative", _FIX_SIGN, row)
    if not states_marks and weighting(truth)[1] and _are_marks(truth) and weighting(prediction) == (True, False):
        raise InputError(
            "the arguments look swapped: the first has values other than 0 and 1, the second does not",
            where=_BOTH,
            fix="The truth comes first. If it has weights, pass A_true != 0; if it has the marks of a CPDAG, name the "
            'encoding of both, such as encoding=("causal-learn", "causal-learn").',
        )
    return pair


def _missing(layer: Layer) -> Ints:
    """The cells without a score, in order; both of an edge without direction."""
    if layer.scores is not None:
        cells = np.flatnonzero(np.isnan(layer.scores))
        return cells if layer.late else cells[cells % (layer.d + 1) != 0]
    cells, kinds, _ = layer.listed.only(np.isnan(layer.listed.weights))
    return np.sort(np.append(cells, mirrored(cells[kinds >= Kind.LINE], layer.d)))


def _are_marks(layers: Sequence[Layer]) -> bool:
    """Whether values may be scores from 0 to 1, or whole numbers that are marks: anything but weights."""
    values = np.concatenate([layer.listed.weights for layer in layers])
    return not ((values < 0) | (values > 1)).any() or bool((values == np.floor(values)).all())


def _wrong_values(pair: Pair, side: int, cells: Sequence[Ints], said: str, fix: str, row: int | None) -> InputError:
    """How many values are wrong, and where the first one is; a list of cells per layer."""
    lag = next(lag for lag, wrong in enumerate(cells) if len(wrong))
    first = [int(end) for end in divmod(int(cells[lag][0]), pair.d)]
    index = (*([] if row is None else [row]), *first, *([lag] if len(cells) > 1 else []))
    total = sum(2 * pairs + cells for pairs, cells in map(pair.units, pair.lags))
    what = f"{sum(map(len, cells)):,} of {total:,} {said}, the first at index {index}"
    return InputError(what, where=_ARGUMENTS[side], fix=fix)


_SQUARE = "Row i, column j is the edge i → j; pass a list of edges as a list of tuples."
_TABLE = "Columns are equally long; of tigramite's links pass structural_causal_processes.links_to_graph(links)."
_EDGE_COLUMNS = '{"source": …, "target": …, "weight": …}, and "true_source" and "true_target" of the truth'
_LAGS = (
    "A[i, j, l] is the edge from i at t − l to j at t; pass np.moveaxis(A, 0, -1) if A is (lags + 1, d, d), or "
    "lagged=False without lags."
)
_FIX_NAN = 'Repair the model, or pass nan="omit": such cells are then left out of both graphs and reported.'
_FIX_SIGN = (
    'For weights pass sign="absolute". For scores that are negative where no edge is likely: sign="keep". '
    'For marks of a CPDAG: encoding=, such as "causal-learn".'
)
