"""Any input to aligned pairs of graphs: read, numbered alike, checked; here and nowhere else.

pairs(A_true, A_pred, Reading(…)) -> [Pair, …]
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import isnan
from numbers import Real
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, is_tensor
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import nan_policy
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.adapters import from_library, has_lags
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.encodings import decoded
from graphgauge.recovery.graph import HEAD, KIND_OF, Graph, Kind, Names, are_numbers, distinct_names, numbers_of, some
from graphgauge.recovery.layers import ARGUMENTS, Cut, Layer, Open, Side, Stored
from graphgauge.recovery.refusals import checked, refuse_other_sizes

ORIENTATIONS = ("row_to_column", "column_to_row")
SIGNS = ("absolute", "keep")
_ROLES = ("source", "target", "weight")
# Nodes of a sparse graph, and of one that becomes a matrix.
_MOST_NODES, _MOST_IN_MATRIX = 10_000_000, 10_000


@dataclass(frozen=True)
class Reading:
    """How truth and prediction are read; `evaluate` describes the options."""

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
    value = value[0] if _is_word(value) else value
    if isinstance(value, str) or value is None:
        return usual, value
    if not isinstance(value, tuple | list) or len(value) != 2:
        fix = "Pass one name, for the prediction, or two, for truth and prediction."
        raise OptionError(f"{option} is {value!r:.60}", fix=fix)
    return tuple(usual if each in (None, "none") else each for each in value)


def _is_word(value: Any) -> bool:
    """Whether a list is one word, as commands write it."""
    return isinstance(value, tuple | list) and len(value) == 1 and isinstance(value[0], str)


def pairs(A_true: Any, A_pred: Any, reading: Reading) -> list[Pair]:
    """Each pair of a true and a predicted graph, over the same nodes in the same order."""
    lagged = reading.lagged
    if lagged is None:
        lagged = has_lags(A_true) or has_lags(A_pred)
    given = [_several(value, lagged, code) for value, code in zip((A_true, A_pred), reading.encodings, strict=True)]
    truths, predictions = given
    if predictions is None and truths is None:
        return [_pair(A_true, A_pred, reading, lagged)]
    if predictions is None and truths is not None and len(truths) == 1:
        return [_pair(truths[0], A_pred, reading, lagged)]
    if predictions is None:
        fix = "Pass a list of both."
        raise InputError(f"{len(truths or ())} true graphs with one prediction", where="A_true and A_pred", fix=fix)
    truths = [A_true] * len(predictions) if truths is None else truths
    if len(truths) != len(predictions) or not truths:
        raise InputError(
            f"{len(truths)} true graphs with {len(predictions)} predicted ones",
            where="A_true and A_pred",
            fix="Pass as many of each, or one truth for all.",
        )
    both = enumerate(zip(truths, predictions, strict=True))
    return [_pair(*graphs, reading, lagged, number) for number, graphs in both]


def _several(value: Any, lagged: bool, encoding: str | None) -> list[Any] | None:
    """The graphs of a stack or list; None for one graph."""
    text = isinstance(value, np.ndarray) and value.dtype.kind in "US"  # tigramite's links always have lags
    axes = 3 if lagged or text else 2
    if isinstance(value, np.ndarray) or is_tensor(value):
        return list(value) if value.ndim == axes + 1 else None
    if not isinstance(value, list) or not value or _are_edges(value):
        return None
    if any(isinstance(part, list) and _are_edges(part) for part in value) or any(map(_is_graph, value)):
        return value
    if all(isinstance(part, list) for part in value) and encoding is None:
        array = as_numeric(value, "A_true or A_pred")
        return list(array) if array.ndim == axes + 1 else None
    return None


def _are_edges(value: list[Any]) -> bool:
    """Whether a list is one of edges; an empty one may be."""
    return bool(value) and all(isinstance(edge, tuple) and from_library(edge, "") is None for edge in value)


def _is_graph(part: Any) -> bool:
    """Whether a part of a list is a graph of its own, and not the row of a matrix."""
    if isinstance(part, list | tuple):
        return isinstance(part, tuple) and from_library(part, "") is not None
    return not np.isscalar(part) and getattr(part, "ndim", 2) >= 2


# ---- one pair


def _pair(A_true: Any, A_pred: Any, reading: Reading, lagged: bool, number: int | None = None) -> Pair:
    """One pair; errors about values name its `number` among several."""
    truth, prediction = (
        _read(value, where, code, lagged, reading)
        for value, where, code in zip((A_true, A_pred), ARGUMENTS, reading.encodings, strict=True)
    )
    order, d = _nodes((truth, prediction), reading.nodes)
    sides = [
        _placed(side, where, order, d, direction)
        for side, where, direction in zip((truth, prediction), ARGUMENTS, reading.orientations, strict=True)
    ]
    refuse_other_sizes(sides, reading.nodes, d)
    sign = reading.sign or prediction.sign
    threshold = reading.threshold if reading.threshold is not None else 0.0 if sign == "absolute" else 0.5
    if prediction.states_marks and not 0 <= threshold < 1:
        raise OptionError(
            f"threshold is {threshold:g} for a graph of marks, whose edges score 1 and other cells 0",
            fix="Pass a threshold of at least 0 and below 1, or none.",
        )
    # NumPy's numbers stay as they are: 0.3 in half the precision is as round as 0.3.
    cut = Cut(threshold if isinstance(threshold, np.floating) else float(threshold), sign == "absolute")
    pair = Pair(sides[0], sides[1], cut, order)
    pair = replace(pair, sources=_sources(reading.sources, pair))
    return checked(pair, prediction, sign, reading.nan, number)


def _read(value: Any, where: str, encoding: str | None, lagged: bool, reading: Reading) -> Side:
    """One argument: layers, or edges between names."""
    side = from_library(value, where)
    if side is None:
        side = _read_plain(value, where, encoding, lagged, reading)
    if lagged and side.listed is not None:
        raise InputError("a list of edges has no lags", where=where, fix="Pass an array (d, d, lags + 1).")
    if len(side.layers) > 1 and not lagged:
        raise InputError("has lags", where=where, fix="Pass lagged=True, or leave it out.")
    if side.states_marks or side.orientation is not None:
        direction = reading.orientations[ARGUMENTS.index(where)]
        if direction not in ("row_to_column", side.orientation):
            what = f"orientation is {direction}, and {where} states its directions itself"
            raise OptionError(what, fix="Leave orientation= out.")
    return side


def _read_plain(value: Any, where: str, encoding: str | None, lagged: bool, reading: Reading) -> Side:
    if isinstance(value, Graph):
        return Side(listed=value)
    if isinstance(value, list) and (not value or _are_edges(value)):
        return Side(listed=_edges(value, where))
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return _from_frame(value, where, encoding, lagged, reading.columns)
    if isinstance(value, Mapping):
        return Side(listed=_from_columns(value, where, reading.columns))
    if hasattr(value, "tocsr") and hasattr(value, "nnz"):
        plain = encoding is None and not lagged
        _refuse_many(max(value.shape), where, _MOST_NODES if plain else _MOST_IN_MATRIX)
        if plain:
            return Side((_from_sparse(value, where),))
        value = value.toarray()
    if encoding is not None:
        return Side(decoded(value, encoding, where), states_marks=True)
    if np.asarray(value if not is_tensor(value) else 0).dtype.kind in "US":
        fix = 'For tigramite\'s links pass encoding="tigramite", and lagged=True if they have lags.'
        raise InputError("is an array of text", where=where, fix=fix)
    return Side(_matrices(as_numeric(value, where), where, lagged))


def _edges(listed: list[Any], where: str) -> Graph:
    try:
        return Graph.from_edges(listed)
    except InputError as error:
        raise InputError(error.what, where=where, fix=error.fix) from None


def _matrices(array: AnyArray, where: str, lagged: bool) -> tuple[Layer, ...]:
    """The layers of one matrix, or of one per lag."""
    if lagged:
        if array.ndim != 3 or array.shape[0] != array.shape[1] or not array.shape[2]:
            raise InputError(f"expected shape (d, d, lags + 1), found {array.shape}", where=where, fix=_LAGS)
        lags = range(array.shape[2])
        return tuple(Layer(np.ascontiguousarray(array[:, :, lag]), len(array), late=lag > 0) for lag in lags)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"expected shape (d, d) or (graphs, d, d), found {array.shape}", where=where, fix=_SQUARE)
    return (Layer(array, len(array)),)


def _from_sparse(matrix: Any, where: str) -> Layer:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"expected a square matrix, found shape {matrix.shape}", where=where, fix=_SQUARE)
    rows, d = matrix.tocsr(copy=False), int(matrix.shape[0])
    if not rows.has_canonical_format:  # the caller's matrix is not changed
        rows = rows.copy()
        rows.sum_duplicates()
    cells = np.repeat(np.arange(d, dtype=np.int64) * d, np.diff(rows.indptr))
    cells += rows.indices
    return Layer(Stored(cells, as_numeric(rows.data, where)), d)


def _from_frame(frame: Any, where: str, encoding: str | None, lagged: bool, columns: Any) -> Side:
    """A frame of edges by the names of its columns, or a square one whose rows and columns are named nodes."""
    names = tuple(frame.columns)
    if set(names) == {*_ROLES[:2]} or set(names) == {*_ROLES} or (columns and columns["source"] in names):
        return Side(listed=_from_columns({name: np.asarray(frame[name]) for name in names}, where, columns))
    index = getattr(frame, "index", names)
    rows, order = distinct_names(index, where), distinct_names(names, where)
    if len(rows) != len(order):
        head = some([str(name) for name in names])
        fix = f'The columns are {head}; for edges pass columns={{"source": …, "target": …, "weight": …}}.'
        raise InputError(f"has {len(rows)} rows and {len(order)} columns", where=where, fix=fix)
    values = frame.to_numpy()
    if rows != order:
        _same_names(rows, order, f"{where}, its rows against its columns")
        values = values[np.argsort(numbers_of(rows, order, where))]
    side = _read_plain(values, where, encoding, lagged, Reading())
    return replace(side, names=order)


def _from_columns(table: Mapping[str, Any], where: str, columns: Mapping[str, str] | None) -> Graph:
    """A table of edges as columns by name."""
    chosen = columns if columns and columns["source"] in table else {role: role for role in _ROLES if role in table}
    absent = [name for role, name in chosen.items() if name not in table]
    if absent or not {"source", "target"} <= set(chosen):
        head = some([str(name) for name in table])
        fix = f'The columns are {head}; pass columns={{"source": …, "target": …, "weight": …}}.'
        raise InputError(f"has no column {absent[0]!r}" if absent else "is no table of edges", where=where, fix=fix)
    source, target, *weight = (np.asarray(table[chosen[role]]) for role in _ROLES if role in chosen)
    try:
        return Graph(source.tolist(), target.tolist(), *(column.astype(np.float64) for column in weight))
    except ValueError as error:
        raise InputError(f"a weight is not a number ({error})", where=where) from None


# ---- nodes


def _nodes(sides: tuple[Side, Side], nodes: Any) -> tuple[Names | None, int]:
    """The names of the nodes in order, if there are any, and their number."""
    names = [side.names if side.listed is None else side.listed.nodes for side in sides]
    count, order = _counted_or_named(nodes, sides, names)
    unnamed = [where for where, side, own in zip(ARGUMENTS, sides, names, strict=True) if own is None and side.layers]
    stated = next((own for own in names if own is not None), None)
    if order is None and stated is not None:
        order = tuple(sorted(stated, key=lambda name: int(str(name)))) if are_numbers(stated) else stated
        if unnamed and not are_numbers(stated):
            shown = some(sorted(map(repr, stated)))
            raise InputError(
                f"{ARGUMENTS[unnamed == ['A_true']]} names its nodes, and {unnamed[0]} does not",
                where="A_true and A_pred",
                fix=f"Pass nodes= with the names in the order of the rows of {unnamed[0]}: nodes=[{shown}].",
            )
    for where, own in zip(ARGUMENTS, names, strict=True):
        if own is not None and order is not None and own != order:
            _same_names(own, order, where)
    sizes = [side.layers[0].d for side in sides if side.layers]
    d = count if count is not None else len(order) if order is not None else sizes[0] if sizes else None
    if d is None:
        raise InputError(
            "a list of edges does not show nodes without edges",
            where="A_true and A_pred",
            fix='Pass nodes=: a number, names, or "listed" for those that occur.',
        )
    _refuse_many(d, "nodes" if count is not None else "A_true and A_pred", _MOST_NODES)
    return order, d


def _refuse_many(d: int, where: str, most: int) -> None:
    """Refuse more nodes than there is memory to count: in a file they are only a number."""
    if d > most:
        what = f"has {d:,} nodes, more than {most:,}"
        raise InputError(what, where=where, fix="Leave out nodes without edges.")


def _counted_or_named(
    nodes: Any, sides: Sequence[Side], names: Sequence[Names | None]
) -> tuple[int | None, Names | None]:
    """The value of `nodes=`: the number of nodes, or their names."""
    if nodes is None:
        return None, None
    if _is_word(nodes) and (nodes[0] == "listed" or nodes[0].isdecimal()):
        nodes = int(nodes[0]) if nodes[0].isdecimal() else nodes[0]
    if isinstance(nodes, str) and nodes == "listed":
        every: dict[Hashable, None] = {}
        for where, side, own in zip(ARGUMENTS, sides, names, strict=True):
            if side.listed is None:
                raise OptionError(f'nodes="listed" is for lists of edges, and {where} is none')
            every |= dict.fromkeys((*(own or ()), *side.listed.source, *side.listed.target))
        listed = tuple(sorted(every, key=lambda name: (str(type(name)), name)))
        return len(listed), listed
    if isinstance(nodes, int | np.integer) and not isinstance(nodes, bool) and nodes >= 0:
        return int(nodes), None
    if isinstance(nodes, str | int | float | np.number | Set) or not np.iterable(nodes):
        raise OptionError(f"nodes must be a number of nodes, or their names in order, not {nodes!r:.80}")
    order = distinct_names(nodes, "nodes")
    return len(order), order


def _same_names(own: Names, order: Names, where: str) -> None:
    held, wanted = set(own), set(order)
    parts = {
        "lacks": [repr(name) for name in order if name not in held],
        "adds": [repr(name) for name in own if name not in wanted],
    }
    if any(parts.values()):
        said = " and ".join(f"{word} {some(labels)}" for word, labels in parts.items() if labels)
        raise InputError(f"node names differ: {said}", where=where, fix="Nodes are matched by name.")


def _placed(side: Side, where: str, order: Names | None, d: int, direction: str) -> tuple[Layer, ...]:
    """The layers of one side over the nodes in order."""
    if side.listed is not None:
        layers: tuple[Layer, ...] = (_numbered(side.listed, where, order, d),)
    elif side.names is None or order is None or side.names == order:
        layers = side.layers
    else:
        number = numbers_of(side.names, order, where)
        layers = tuple(layer.renumbered(number) for layer in side.layers)
    stated = side.states_marks or side.orientation is not None
    return layers if direction == "row_to_column" or stated else tuple(layer.turned() for layer in layers)


def _numbered(graph: Graph, where: str, order: Names | None, d: int) -> Layer:
    """Edges between names as a layer."""
    if order is None:
        ends = (*graph.source, *graph.target)
        wrong = next((end for end in ends if not str(end).isdecimal() or int(str(end)) >= d), None)
        if wrong is not None:
            fix = 'Pass nodes= to name them, or nodes="listed" for those that occur.'
            raise InputError(f"{wrong!r:.60} is not one of the nodes 0 … {d - 1}", where=where, fix=fix)
        source, target = (np.array([int(str(end)) for end in part], np.int64) for part in (graph.source, graph.target))
    else:
        source, target = (numbers_of(part, order, where) for part in (graph.source, graph.target))
    marks, weights = graph.ends(), graph.weight
    kinds = KIND_OF[marks[:, 0], marks[:, 1]] if len(marks) else np.empty(0, np.int64)
    opened = (kinds >= Kind.LINE) & (source != target)
    turned = ~opened & (marks[:, 0] == HEAD) if len(marks) else opened
    cells = np.where(turned, target * d + source, source * d + target)
    arrows = _each_once(cells[~opened], weights[~opened], None, graph, where, order, d)
    low = np.minimum(source, target)
    keys = low * d + np.maximum(source, target)
    swapped = KIND_OF[marks[:, 1], marks[:, 0]] if len(marks) else kinds
    kinds = np.where(source > target, swapped, kinds)
    edges = _each_once(keys[opened], weights[opened], kinds[opened], graph, where, order, d)
    return Layer(Stored(arrows[0], arrows[1]), d, Open(edges[0], edges[2], edges[1]))


def _each_once(
    cells: Ints, weights: AnyArray, kinds: Ints | None, graph: Graph, where: str, order: Names | None, d: int
) -> tuple[Ints, AnyArray, Ints]:
    """Cells in order with their weights and kinds; an undirected graph may list an edge both ways, alike."""
    kinds = np.zeros(len(cells), np.int64) if kinds is None else kinds
    place = np.argsort(cells, kind="stable")
    cells, weights, kinds = cells[place], weights[place], kinds[place]
    again = np.flatnonzero(cells[1:] == cells[:-1])
    alike = (weights[again] == weights[again + 1]) | (np.isnan(weights[again]) & np.isnan(weights[again + 1]))
    wrong = again[~(alike & (not graph.directed))]
    if wrong.size:
        ends = divmod(int(cells[wrong[0]]), d)
        labels = ends if order is None else (order[ends[0]], order[ends[1]])
        said = "is listed twice" if graph.directed else "has two weights"
        raise InputError(f"the edge {labels!r} {said}", where=where, fix="List it once.")
    kept = np.ones(len(cells), np.bool_)
    kept[again + 1] = False
    return cells[kept], weights[kept], kinds[kept]


def _sources(sources: Any, pair: Pair) -> Mask | None:
    """Which nodes have outgoing cells that count; None for all."""
    if sources is None:
        return None
    held = np.zeros(pair.d, np.bool_)
    if isinstance(sources, str) and sources == "listed":
        for lag in pair.lags:
            held[pair.arrows(lag)[0] // max(pair.d, 1)] = True
        return held
    if isinstance(sources, str) or not np.iterable(sources):
        fix = 'Pass names or numbers of nodes, or "listed" for those from which true edges start.'
        raise OptionError(f"sources is {sources!r:.60}", fix=fix)
    order = pair.names if pair.names is not None else tuple(range(pair.d))
    held[numbers_of(sources, order, "sources")] = True
    return held


_SQUARE = "Row i, column j is the edge i → j; pass a list of edges as a list of tuples."
_LAGS = (
    "A[i, j, l] is the edge from i at t − l to j at t; pass np.moveaxis(A, 0, -1) if A is (lags + 1, d, d), or "
    "lagged=False without lags."
)
