"""Any input to aligned pairs of graphs: how it is read, numbered alike and checked; here and nowhere else.

pairs(A_true, A_pred, Reading(…)) -> [Pair, …]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_array, as_numeric, is_frame, is_tensor, on_host
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy, number
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.adapters import Side, decoded, from_library, has_lags, listed
from graphgauge.recovery.compare import Cut, Layer, Listed, Pair, mirrored
from graphgauge.recovery.graph import (
    Graph,
    Kind,
    Names,
    are_numbers,
    distinct_names,
    numbers_of,
    refuse_other_names,
    some,
)

_BOTH = "A_true and A_pred"
# What truth and prediction are called in errors.
_ARGUMENTS = ("A_true", "A_pred")
_ORIENTATIONS, SIGNS = ("row_to_column", "column_to_row"), ("absolute", "keep")
_ROLES = ("source", "target", "weight")
# Nodes of a graph, of which a file may give no more than the number.
_MOST_NODES = 10_000_000


@dataclass(frozen=True)
class Reading:
    """The options of `evaluate` that say how truth and prediction are read, and which cells count."""

    threshold: float | None = None
    sign: str | None = None
    orientation: Any = "row_to_column"
    encoding: Any = None
    nodes: Any = None
    columns: Any = None
    lagged: bool | None = None
    sources: Any = None
    nan: str = "raise"

    def __post_init__(self) -> None:
        if self.threshold is not None:
            number("threshold", self.threshold)
        if self.sign is not None:
            one_of("sign", self.sign, SIGNS)
        nan_policy(self.nan)
        for direction, code in zip(self.orientations, self.encodings, strict=True):
            one_of("orientation", str(direction), _ORIENTATIONS)
            if code is not None and direction != "row_to_column":
                what = f"orientation={direction!r} with encoding={code!r}"
                raise OptionError(what, fix="An encoding sets the direction.")
        for columns in self.tables:
            if columns is not None and not {"source", "target"} <= set(columns) <= set(_ROLES):
                fix = 'For example columns={"source": "TF", "target": "gene", "weight": "score"}.'
                raise OptionError(f"columns names {', '.join(map(str, columns)) or 'nothing'}", fix=fix)

    @property
    def orientations(self) -> tuple[Any, ...]:
        return _for_both("orientation", self.orientation, "row_to_column")

    @property
    def encodings(self) -> tuple[Any, ...]:
        return _for_both("encoding", self.encoding, None)

    @property
    def tables(self) -> tuple[Mapping[str, str] | None, ...]:
        """The columns of truth and prediction; of both, unless it is a pair or some are called `true_…`."""
        if not isinstance(self.columns, Mapping):
            return _for_both("columns", self.columns, None)
        own = {role: name for role, name in self.columns.items() if not str(role).startswith("true_")}
        true = {role.removeprefix("true_"): name for role, name in self.columns.items() if role not in own}
        return own | true, own if own or not true else None


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
    said = [has_lags(value, where) for value, where in zip((A_true, A_pred), _ARGUMENTS, strict=True)]
    lagged = any(said) if reading.lagged is None else reading.lagged
    truths, predictions = (
        _several(value, lagged, code) for value, code in zip((A_true, A_pred), reading.encodings, strict=True)
    )
    found = [A_pred] if predictions is None else predictions
    true = [A_true] * len(found) if truths is None else truths
    if len(true) != len(found) or not found:
        ones = "one prediction" if predictions is None else f"{len(found)} predicted ones"
        fix = "Pass as many of each, or one truth for all."
        raise InputError(f"{len(true)} true graphs with {ones}", where=_BOTH, fix=fix)
    both = enumerate(zip(true, found, strict=True))
    return [_pair(*graphs, reading, lagged, None if predictions is None else row) for row, graphs in both]


def _several(value: Any, lagged: bool, encoding: str | None) -> list[Any] | None:
    """The graphs of a stack or list; None for one graph."""
    text = isinstance(value, np.ndarray) and value.dtype.kind in "US"  # tigramite's links always have lags
    axes = 3 if lagged or text else 2
    if isinstance(value, np.ndarray) or is_tensor(value):
        return list(value) if value.ndim == axes + 1 else None
    if not isinstance(value, list) or not value or _are_edges(value):
        return None
    if any(_are_edges(part) if isinstance(part, list) else _is_graph(part) for part in value):
        return value
    if all(isinstance(part, list) for part in value) and encoding is None:
        array = as_numeric(value, "A_true or A_pred")
        return list(array) if array.ndim == axes + 1 else None
    return None


def _is_graph(part: Any) -> bool:
    """Whether a part of a list is a graph of its own, and not the row of a matrix."""
    if isinstance(part, tuple):
        return from_library(part, "") is not None
    return not np.isscalar(part) and getattr(part, "ndim", 2) >= 2


# ---- one graph


def _read(value: Any, where: str, lagged: bool, reading: Reading) -> Side:
    """One argument as a side."""
    place = _ARGUMENTS.index(where)
    side = from_library(value, where) or _read_plain(
        value, where, reading.encodings[place], lagged, reading.tables[place]
    )
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
    if isinstance(value, list) and (not value or _are_edges(value)):
        try:
            return listed(Graph.from_edges(value), where)
        except InputError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None
    if isinstance(value, Mapping) or is_frame(value):
        return _from_table(value, where, encoding, lagged, columns)
    if hasattr(value, "tocsr") and hasattr(value, "nnz"):
        _refuse_many(max(value.shape), where)
        if encoding is None and not lagged:
            return Side(where, (_from_sparse(value, where),))
        value = value.toarray()
    if encoding is not None:
        return Side(where, decoded(value, encoding, where), states_marks=True)
    return Side(where, _matrices(as_numeric(value, where), where, lagged))


def _are_edges(value: list[Any]) -> bool:
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
    values = {name: as_array(table[name], where, ragged=_TABLE) for name in names}
    if (columns and columns["source"] in names) or {"source", "target"} <= set(names):
        return _edges_of(values, where, columns)
    index, size = getattr(table, "index", None), len(next(iter(values.values()), ()))
    index = None if type(index).__name__ == "RangeIndex" else index
    if index is None and len(names) == size + 1:
        index, names = [str(name) for name in values[names[0]].tolist()], names[1:]
    if len(names) != size or any(values[name].dtype.kind not in "fiubO" for name in names):
        head = some([str(name) for name in values])
        named = '"source": …, "target": …, "weight": …'
        if columns and where == _ARGUMENTS[0]:
            named = '"true_source": …, "true_target": …'
        fix = f"The columns are {head}; for edges pass columns={{{named}}}."
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


def _pair(A_true: Any, A_pred: Any, reading: Reading, lagged: bool, row: int | None = None) -> Pair:
    """One pair; errors about values name its `row` among several."""
    given = zip((A_true, A_pred), _ARGUMENTS, strict=True)
    true, prediction = (_read(value, where, lagged, reading) for value, where in given)
    sides = true, prediction if reading.threshold is None else _to_cut(prediction)
    order, d = _nodes(sides, reading.nodes)
    truth, layers = (_placed(side, order, d, reading.nodes) for side in sides)
    if len(truth) != len(layers):
        what = f"{len(truth)} true lags with {len(layers)} predicted ones"
        raise InputError(what, where=_BOTH, fix="Both need the same lags, from 0 on: pad with zeros.")
    prediction = sides[1]
    sign = reading.sign or prediction.sign
    threshold = reading.threshold if reading.threshold is not None else 0.0 if sign == "absolute" else 0.5
    if prediction.states_marks and not 0 <= threshold < 1:
        raise OptionError(
            f"threshold is {threshold:g} for a graph of marks, whose edges score 1 and other cells 0",
            fix="Pass a threshold of at least 0 and below 1, or none.",
        )
    # NumPy's numbers stay as they are: 0.3 in half the precision is as round as 0.3.
    cut = Cut(threshold if isinstance(threshold, np.floating) else float(threshold), sign == "absolute")
    pair = Pair(truth, layers, cut, order)
    pair = replace(pair, sources=_sources(reading.sources, pair))
    return _checked(pair, sign, prediction.states_marks, reading.nan, row)


def _to_cut(side: Side) -> Side:
    """A prediction to which a threshold applies: of a learner the weights that its graph was cut from."""
    if side.weights is not None:
        return replace(side, layers=(side.weights,), states_marks=False, sign="absolute")
    if any(layer.scores is not None for layer in side.layers):
        fix = "Leave threshold= out, or pass its scores as a matrix."
        raise OptionError(f"{side.where} has a graph of its own, on which no threshold acts", fix=fix)
    return side


# ---- nodes


def _nodes(sides: tuple[Side, ...], nodes: Any) -> tuple[Names | None, int]:
    """The names of the nodes in order, if there are any, and their number."""
    count, order = _counted_or_named(nodes, sides)
    named = [side for side in sides if side.names is not None]
    if order is None and named:
        stated = named[0].names or ()
        order = tuple(sorted(stated, key=lambda name: int(str(name)))) if are_numbers(stated) else stated
        unnamed = next((side.where for side in sides if side.names is side.occur is None), None)
        if unnamed is not None and not are_numbers(stated):
            names = some(sorted(map(repr, stated)))
            raise InputError(
                f"{named[0].where} names its nodes, and {unnamed} does not",
                where=_BOTH,
                fix=f"Pass nodes= with the names in the order of the rows of {unnamed}: nodes=[{names}].",
            )
    for side in named:
        if order is not None:
            refuse_other_names(side.names or (), order, side.where)
    sizes = [side.layers[0].d for side in sides if side.occur is None]
    d = count if count is not None else len(order) if order is not None else sizes[0] if sizes else None
    if d is None:
        fix = 'Pass nodes=: a number, names, or "listed" for those that occur.'
        raise InputError("a list of edges does not show nodes without edges", where=_BOTH, fix=fix)
    _refuse_many(d, "nodes" if count is not None else _BOTH)
    return order, d


def _counted_or_named(nodes: Any, sides: tuple[Side, ...]) -> tuple[int | None, Names | None]:
    """The value of `nodes=`: the number of nodes, or their names."""
    nodes = _one_word(nodes)
    if nodes is None:
        return None, None
    if isinstance(nodes, str) and nodes == "listed":
        other = next((side.where for side in sides if side.occur is None), None)
        if other is not None:
            raise OptionError(f'nodes="listed" is for lists of edges, and {other} is none')
        every: set[Any] = {name for side in sides for name in side.occur or ()}
        return len(every), tuple(sorted(every, key=lambda name: (str(type(name)), name)))
    if isinstance(nodes, str) and nodes.isdecimal():
        return int(nodes), None
    if isinstance(nodes, int | np.integer) and not isinstance(nodes, bool) and nodes >= 0:
        return int(nodes), None
    if isinstance(nodes, str | Set) or not np.iterable(nodes):
        raise OptionError(f"nodes must be a number of nodes, or their names in order, not {nodes!r:.80}")
    order = distinct_names(nodes, "nodes")
    return len(order), order


def _placed(side: Side, order: Names | None, d: int, nodes: Any) -> tuple[Layer, ...]:
    """The layers of one side over the nodes in order."""
    own = side.occur if side.names is None else side.names
    if own is None:
        if side.layers[0].d != d:
            fix = f"nodes= says {d}." if nodes is not None else f"The other has {d}; both must have the same nodes."
            what = f"{side.where} has {side.layers[0].d} nodes"
            raise InputError(what, where=_BOTH if nodes is None else "nodes", fix=fix)
        return side.layers
    if order is None:
        wrong = next((name for name in own if not str(name).isdecimal() or int(str(name)) >= d), None)
        if wrong is not None:
            fix = 'Pass nodes= to name them, or nodes="listed" for those that occur.'
            raise InputError(f"{wrong!r:.60} is not one of the nodes 0 … {d - 1}", where=side.where, fix=fix)
        number = np.array([int(str(name)) for name in own], np.int64)
        if len(np.unique(number)) < len(number):
            raise InputError("has the same node as a number and as text", where=side.where, fix="Write it in one way.")
    elif own == order:
        return side.layers
    else:
        number = numbers_of(own, order, side.where)
    return tuple(layer.renumbered(number, d) for layer in side.layers)


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
    given, order = list(on_host(sources, "sources")), pair.names if pair.names is not None else tuple(range(pair.d))
    if given and all(isinstance(each, bool | np.bool_) for each in given):
        if len(given) != pair.d:
            what = f"{len(given)} entries True or False for {pair.d} nodes"
            raise InputError(what, where="sources", fix="Pass one entry per node, or names.")
        return np.array(given, np.bool_)
    if are_numbers(order):  # which files have as texts
        given, order = list(map(str, given)), tuple(map(str, order))
    try:
        held[numbers_of(given, order, "sources")] = True
    except InputError as error:
        unnamed = f"The nodes are 0 … {pair.d - 1}; pass nodes= to name them." if pair.names is None else error.fix
        raise InputError(error.what, where="sources", fix=unnamed) from None
    return held


# ---- what cannot be compared


def _checked(pair: Pair, sign: str | None, states_marks: bool, nan: str, row: int | None) -> Pair:
    """The pair without cells that have no score; what cannot be compared is refused."""
    facts = [[layer.facts for layer in layers] for layers in (pair.truth, pair.prediction)]
    true, found = ({name: any(each[name] for each in side) for name in side[0]} for side in facts)
    if true["missing"]:
        wrong = [_cells(layer, np.isnan) for layer in pair.truth]
        raise _wrong_values(pair, 0, wrong, "values are NaN", "Cells must be 0 or not 0.", row)
    if pair.cut.threshold < 0 and any(layer.matrix is None for layer in pair.prediction):
        what = f"threshold is {pair.cut.threshold:g}, below 0, so every cell that is not stored would be an edge"
        raise OptionError(what, fix="Pass a dense matrix, or a threshold of at least 0.")
    if found["missing"] or any(layer.scores is not None for layer in pair.prediction):
        cells = [_missing(layer) for layer in pair.prediction]
        missing = tuple(each[pair.allowed(each, lag)] for lag, each in enumerate(cells))
        is_missing = any(cells.size for cells in missing)
        if nan == "raise" and is_missing:
            raise _wrong_values(pair, 1, missing, "values are NaN", _FIX_NAN, row)
        pair = replace(pair, missing=missing if is_missing else ())
    if found["negative"] and sign is None:
        wrong = [_cells(layer, lambda part: part < 0) for layer in pair.prediction]
        raise _wrong_values(pair, 1, wrong, "scores are negative", _FIX_SIGN, row)
    swapped = true["weighted"] and found["edges"] and not found["weighted"] and not states_marks
    if swapped and not _has_weights(pair.truth):
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


def _cells(layer: Layer, is_wrong: Callable[[AnyArray], Mask]) -> Ints:
    """The cells with a wrong weight."""
    return layer.listed.cells[is_wrong(layer.listed.weights)]


def _has_weights(layers: Sequence[Layer]) -> bool:
    """Whether values are weights: neither scores from 0 to 1 nor whole numbers, which may be marks."""
    values = np.concatenate([layer.listed.weights for layer in layers])
    return bool(((values < 0) | (values > 1)).any() and (values != np.floor(values)).any())


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
_LAGS = (
    "A[i, j, l] is the edge from i at t − l to j at t; pass np.moveaxis(A, 0, -1) if A is (lags + 1, d, d), or "
    "lagged=False without lags."
)
_FIX_NAN = 'Repair the model, or pass nan="omit": such cells are then left out of both graphs and reported.'
_FIX_SIGN = (
    'For weights pass sign="absolute". For scores that are negative where no edge is likely: sign="keep". '
    'For marks of a CPDAG: encoding=, such as "causal-learn".'
)
