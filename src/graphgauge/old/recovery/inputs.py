"""The inputs of a recovery evaluation: true and predicted graphs, converted from all forms to one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints, as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.old.core.graphs import EdgeList, EdgeMarks, NamedMatrix, Names
from graphgauge.old.recovery.encodings import Cells, Decoded, decode
from graphgauge.old.recovery.marks import Edge, Ends, kinds_of_ends
from graphgauge.old.recovery.nodes import by_number, checked_names, counted_or_named, numbered_edges, same_names
from graphgauge.old.recovery.tools import from_tool

EDGES = ("row_to_column", "column_to_row")
_ARGUMENTS = ("A_true", "A_pred")
# Nodes of a sparse graph, and of one that is a matrix.
_MOST_NODES, _MOST_IN_MATRIX = 10_000_000, 10_000
_EDGE_LIST_COLUMNS = (("source", "target"), ("source", "target", "weight"))


@dataclass(frozen=True)
class SparseGraph:
    """The stored cells row·d + column of one graph, distinct and in order, and their values; the others are 0."""

    cells: Ints
    values: AnyArray

    def dense(self, d: int) -> AnyArray:
        matrix = np.zeros(d * d, self.values.dtype)
        matrix[self.cells] = self.values
        return matrix.reshape(1, d, d)


@dataclass(frozen=True)
class Graph:
    """One side of a comparison: a stack (graphs, d, d) or stored cells, as given.

    `turned` says that row i, column j is the edge j → i; `undirected`, that two-way pairs are edges without direction,
    or which of them are. `ends` are the marks of a graph with edges other than arrows and undirected ones, and `late`
    the kinds of its lagged edges.
    """

    data: AnyArray | SparseGraph
    d: int
    names: Names | None = None
    undirected: bool | Cells = False
    turned: bool = False
    named: bool = False
    ends: Ends | None = None
    late: Ints | None = None

    @property
    def graphs(self) -> int:
        return 1 if isinstance(self.data, SparseGraph) else len(self.data)

    @property
    def may_be_undirected(self) -> bool:
        return self.undirected is not False

    @property
    def has_marks(self) -> bool:
        """Whether the edges are given by their marks, not by scores."""
        return self.undirected is True and not isinstance(self.data, SparseGraph)

    def undirected_cells(self, row: int = 0) -> Ints:
        """Both cells of every undirected edge, in order."""
        if not self.may_be_undirected:
            return np.empty(0, np.int64)
        if isinstance(self.data, SparseGraph):
            cells = self.data.cells[self.data.values != 0]
            source, target = np.divmod(cells, self.d)
            mirrored = (target * self.d + source)[source != target]
            return np.intersect1d(cells, mirrored, assume_unique=True)
        given = self.data[row] != 0 if self.undirected is True else self.undirected
        both: Cells = given & np.transpose(given) & ~np.eye(self.d, dtype=bool)
        return np.flatnonzero(both)

    def late_undirected_cells(self, lag: int) -> Ints:
        """The lagged edges without a direction; time orients all others."""
        if self.late is None:
            return np.empty(0, np.int64)
        return np.flatnonzero(self.late[lag - 1] > 1)

    @cached_property
    def special(self) -> tuple[Ints, Ints]:
        """The pairs i·d + j, i < j, with edges other than arrows and undirected ones, in order, and their kinds."""
        if self.ends is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        kinds = np.triu(kinds_of_ends(self.ends.T if self.turned else self.ends), 1)
        pairs = np.flatnonzero(kinds > Edge.LINE)
        return pairs, kinds.ravel()[pairs]


def read_pair(
    A_true: Any,
    A_pred: Any,
    *,
    edges: str | tuple[str, str] = "row_to_column",
    encoding: str | tuple[str | None, str | None] | None = None,
    nodes: int | Sequence[Hashable] | None = None,
    lagged: bool = False,
) -> tuple[Graph, Graph]:
    """Both graphs, over the same nodes in the same order."""
    directions = list(per_argument("edges", edges, "row_to_column"))
    encodings = list(per_argument("encoding", encoding, None))
    for direction, code in zip(directions, encodings, strict=True):
        one_of("edges", str(direction), EDGES)
        if code is not None and direction != "row_to_column":
            raise OptionError(f"edges={direction!r} with encoding={code!r}", fix="An encoding sets the direction.")
    values = [A_true, A_pred]
    for place, value in enumerate(values):
        tool = from_tool(value)
        if tool is not None:
            if tool.lagged and not lagged:
                raise InputError("the model has lags", where=_ARGUMENTS[place], fix="Pass lagged=True.")
            if tool.encoding is not None and directions[place] != "row_to_column":
                raise OptionError(
                    f"edges={directions[place]!r} with a result that states its directions: {_ARGUMENTS[place]}",
                    fix="Leave edges= out.",
                )
            values[place] = tool.values if tool.names is None else NamedMatrix(tool.values, tool.names)
            directions[place] = tool.edges or directions[place]
            if encodings[place] is None:
                encodings[place] = tool.encoding
    if isinstance(nodes, str) and nodes == "listed":
        nodes = _listed_nodes(values)
    count, names = counted_or_named(nodes)
    sides = [
        _as_matrix(value, name, code, lagged) for value, name, code in zip(values, _ARGUMENTS, encodings, strict=True)
    ]
    order = names or next((by_number(known) for known in map(_known_names, sides) if known is not None), None)
    if count is not None and order is not None and len(order) != count:
        raise InputError(f"the graphs name {len(order)} nodes", where="nodes", fix=f"nodes= says {count}.")
    sizes = [count, *(side.d for side in sides if isinstance(side, Graph)), None if order is None else len(order)]
    d = next((size for size in sizes if size is not None), None)
    if count is not None:
        _require_countable(count, "nodes")
    placed = [_placed(side, name, order, d) for side, name in zip(sides, _ARGUMENTS, strict=True)]
    for side, name in zip(placed, _ARGUMENTS, strict=True):
        if side.d != d:
            raise InputError(
                f"{name} has {side.d} nodes",
                where="A_true and A_pred" if count is None else "nodes",
                fix=f"The other has {d}; both must have the same nodes." if count is None else f"nodes= says {count}.",
            )
    if placed[0].graphs != placed[1].graphs:
        what, fix = ("lags", _SAME_LAGS) if lagged else ("graphs", _ONE_TRUTH)
        raise InputError(
            f"{placed[0].graphs} true {what} with {placed[1].graphs} predicted ones", where="A_true and A_pred", fix=fix
        )
    truth, prediction = (
        replace(side, turned=direction == "column_to_row") for side, direction in zip(placed, directions, strict=True)
    )
    return truth, prediction


def per_argument(option: str, value: Any, default: Any) -> tuple[Any, Any]:
    """An option: one value sets the prediction, a pair sets truth and prediction."""
    if isinstance(value, str) or value is None:
        return default, value
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise OptionError(
            f"{option} takes one name, for the prediction, or two, for truth and prediction, not {value!r}"
        )
    truth, prediction = value
    return truth, prediction


def _listed_nodes(values: Sequence[Any]) -> tuple[Any, ...]:
    """The nodes that occur in either list of edges, in alphabetical order."""
    found: dict[Any, None] = {}
    for value, name in zip(values, _ARGUMENTS, strict=True):
        listed = _as_edge_list(value)
        if listed is None:
            raise OptionError(f'nodes="listed" is for lists of edges, and {name} is none')
        found |= dict.fromkeys(listed.nodes or ())
        found |= dict.fromkeys(end for edge in listed.edges for end in tuple(edge)[:2])
    return tuple(sorted(found, key=lambda node: (str(type(node)), node)))


def _as_edge_list(value: Any) -> EdgeList | None:
    if _is_frame(value):
        if tuple(value.columns) in _EDGE_LIST_COLUMNS:
            return EdgeList(list(value.itertuples(index=False, name=None)))
        return None
    if _is_networkx(value):
        return _networkx_edges(value)
    if isinstance(value, list) and all(isinstance(edge, tuple) for edge in value):
        return EdgeList(value)
    return value if isinstance(value, EdgeList) else None


def several(value: Any, lagged: bool, *, encoded: str | None) -> list[Any] | None:
    """The graphs of a list or stack that cannot be read as one array; None for one graph and for plain stacks."""
    if isinstance(value, np.ndarray):
        single = 3 if lagged or encoded == "tigramite" else 2
        return list(value) if value.ndim == single + 1 and (lagged or encoded is not None) else None
    if not isinstance(value, list) or not any(map(_is_graph, value)):
        return None
    if not all(_is_graph(part) or isinstance(part, list) for part in value):
        return None
    shapes = {part.shape if isinstance(part, np.ndarray) else None for part in value}
    is_stack = encoded is None and not lagged and len(shapes) == 1 and None not in shapes
    return None if is_stack else value


def _is_graph(part: Any) -> bool:
    """Whether this is a graph and neither an edge nor the row of a matrix; a list of tuples is a list of edges."""
    if isinstance(part, list):
        return bool(part) and all(isinstance(edge, tuple) for edge in part)
    if isinstance(part, tuple):
        return from_tool(part) is not None
    return not np.isscalar(part) and getattr(part, "ndim", 2) >= 2


def _known_names(side: Graph | EdgeList) -> Names | None:
    return side.nodes if isinstance(side, EdgeList) else side.names


def _as_matrix(value: Any, name: str, encoding: str | None, lagged: bool) -> Graph | EdgeList:
    """The input as a matrix, or as edges whose nodes are not numbered yet."""
    listed = _as_edge_list(value)
    if listed is not None:
        if encoding is not None or lagged:
            option = "an encoding" if encoding is not None else "lagged=True"
            raise InputError(f"a list of edges does not go with {option}", where=name, fix="Pass a matrix.")
        return listed if listed.nodes is None else replace(listed, nodes=checked_names(listed.nodes, name))
    if isinstance(value, EdgeMarks):
        return _from_marks(value, name)
    if _is_frame(value):
        value = NamedMatrix(_square_frame(value, name), tuple(value.columns))
    if not isinstance(value, NamedMatrix):
        return _unnamed(value, name, encoding, lagged)
    graph = _unnamed(value.values, name, encoding, lagged)
    names = checked_names(value.names, name)
    if len(names) != graph.d:
        raise InputError(f"{len(names)} names for {graph.d} nodes", where=name, fix="Name every row once.")
    return replace(graph, names=names)


def _unnamed(value: Any, name: str, encoding: str | None, lagged: bool) -> Graph:
    if _is_sparse(value):
        if encoding is None and not lagged:
            return _from_sparse(value, name)
        _require_dense(max(value.shape), name)
        value = value.toarray()
    if encoding is None:
        stack = _stacked(as_numeric(value, name), name, lagged)
        return Graph(stack, stack.shape[-1])
    decoded = decode(value, encoding, name)
    cells = decoded.cells
    if cells.ndim == 3 and cells.shape[2] == 1 and not lagged:
        cells = cells[:, :, 0]
    if cells.ndim == 3 and not lagged:
        raise InputError("tigramite's links have lags", where=name, fix="Pass lagged=True.")
    return Graph(
        _stacked(cells, name, lagged),
        cells.shape[0],
        undirected=True,
        ends=decoded.ends if decoded.has_more_than_lines else None,
        late=decoded.late if decoded.has_late_marks else None,
    )


def _from_marks(listed: EdgeMarks, name: str) -> Graph:
    """A graph whose edges are listed with their marks, by name."""
    names = checked_names(listed.nodes, name)
    place = {label: index for index, label in enumerate(names)}
    _require_dense(len(names), name)
    ends = np.zeros((len(names), len(names)), np.int8)
    for source, target, at_source, at_target in listed.edges:
        if source not in place or target not in place:
            raise InputError(f"the edge {(source, target)!r} has an unknown node", where=name)
        i, j = place[source], place[target]
        if ends[i, j] or i == j:
            raise InputError(f"the pair {(source, target)!r} is listed twice, or with itself", where=name)
        ends[i, j], ends[j, i] = at_target, at_source
    decoded = Decoded(ends)
    return Graph(
        decoded.cells[np.newaxis],
        len(names),
        names,
        undirected=True,
        ends=ends if decoded.has_more_than_lines else None,
    )


def _stacked(array: AnyArray, name: str, lagged: bool) -> AnyArray:
    """A stack (graphs, d, d); the lags of one graph are such a stack too, lag 0 first."""
    if lagged:
        if array.ndim != 3 or array.shape[0] != array.shape[1] or not array.shape[2]:
            raise InputError(f"expected shape (d, d, lags + 1), found {array.shape}", where=name, fix=_LAGS)
        return np.moveaxis(array, 2, 0)
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2]:
        raise InputError(f"expected shape (d, d) or (graphs, d, d), found {array.shape}", where=name, fix=_SQUARE)
    return array if array.ndim == 3 else array[np.newaxis]


def _placed(side: Graph | EdgeList, name: str, order: Names | None, d: int | None) -> Graph:
    """The side over the nodes in `order`, or over the first d numbers if there are no names."""
    if isinstance(side, EdgeList):
        if d is None:
            raise InputError(
                "a list of edges does not show nodes without edges",
                where=name,
                fix='Pass nodes=: a number, names, or "listed" for those that occur.',
            )
        if side.nodes is not None and order is not None:
            same_names(side.nodes, order, name)
        return _from_edges(side, name, order, d)
    if side.names is None or order is None or side.names == order:
        return replace(side, names=order, named=side.names is not None)
    same_names(side.names, order, name)
    place = {label: index for index, label in enumerate(order)}
    number = np.array([place[label] for label in side.names])
    index = np.argsort(number)
    cells = index[:, np.newaxis], index
    return replace(
        side,
        data=_renumbered(side.data, number, side.d),
        names=order,
        named=True,
        undirected=side.undirected if isinstance(side.undirected, bool) else side.undirected[cells],
        ends=None if side.ends is None else side.ends[cells],
        late=None if side.late is None else side.late[:, cells[0], cells[1]],
    )


def _renumbered(data: AnyArray | SparseGraph, number: Ints, d: int) -> AnyArray | SparseGraph:
    """The same graph with node i renamed to `number[i]`."""
    if isinstance(data, SparseGraph):
        source, target = np.divmod(data.cells, d)
        cells = number[source] * d + number[target]
        sequence = np.argsort(cells)
        return SparseGraph(cells[sequence], data.values[sequence])
    index = np.argsort(number)
    return data[:, index[:, np.newaxis], index]


def _from_edges(listed: EdgeList, name: str, order: Names | None, d: int) -> Graph:
    numbers, weights = numbered_edges(listed.edges, name, order, d)
    cells = numbers[:, 0] * d + numbers[:, 1]
    sequence = np.argsort(cells, kind="stable")
    cells = cells[sequence]
    twice = np.flatnonzero(cells[1:] == cells[:-1])
    if twice.size:
        source, target = divmod(int(cells[twice[0]]), d)
        labels = (source, target) if order is None else (order[source], order[target])
        raise InputError(f"the edge {labels!r} is listed twice", where=name, fix="List it once.")
    data = SparseGraph(cells, weights[sequence])
    if listed.undirected:
        data = _both_ways(data, d)
    undirected = listed.undirected or listed.mixed
    graph = Graph(data, d, order, undirected, named=order is not None)
    _refuse_two_weights(graph, name)
    return graph


def _both_ways(data: SparseGraph, d: int) -> SparseGraph:
    """Every edge in both of its cells; one that is listed one way gets its weight in the other."""
    source, target = np.divmod(data.cells, d)
    mirrored = target * d + source
    alone = ~np.isin(mirrored, data.cells, assume_unique=True)
    cells = np.concatenate([data.cells, mirrored[alone]])
    sequence = np.argsort(cells)
    return SparseGraph(cells[sequence], np.concatenate([data.values, data.values[alone]])[sequence])


def _refuse_two_weights(graph: Graph, name: str) -> None:
    """Refuse an undirected edge with two weights: a threshold between them would make it directed."""
    assert isinstance(graph.data, SparseGraph)
    cells = graph.undirected_cells()
    source, target = np.divmod(cells, graph.d)
    there, back = (
        graph.data.values[np.searchsorted(graph.data.cells, at)] for at in (cells, target * graph.d + source)
    )
    differ = np.flatnonzero((there != back) & ~(np.isnan(there) & np.isnan(back)))
    if differ.size:
        first = differ[0]
        ends = int(source[first]), int(target[first])
        labels = ends if graph.names is None else (graph.names[ends[0]], graph.names[ends[1]])
        raise InputError(
            f"the undirected edge {labels!r} weighs {there[first]:g} one way and {back[first]:g} the other",
            where=name,
            fix="Give it one weight, or list directed edges.",
        )


def _require_dense(d: int, name: str) -> None:
    """Refuse a graph that is too large for a matrix: a short file can name many nodes."""
    if d > _MOST_IN_MATRIX:
        raise InputError(
            f"has {d:,} nodes; a graph with marks, lags or an encoding may have {_MOST_IN_MATRIX:,}", where=name
        )


def _require_countable(d: int, where: str) -> None:
    """Refuse more nodes than there is memory to count: in a sparse file they are only a number."""
    if d > _MOST_NODES:
        raise InputError(
            f"has {d:,} nodes, more than {_MOST_NODES:,}", where=where, fix="Leave out nodes without edges."
        )


def _from_sparse(matrix: Any, name: str) -> Graph:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"expected a square matrix, found shape {matrix.shape}", where=name, fix=_SQUARE)
    _require_countable(int(matrix.shape[0]), name)
    rows = matrix.tocsr(copy=False)
    if not rows.has_canonical_format:  # the caller's matrix is not changed
        rows = rows.copy()
        rows.sum_duplicates()
    d = int(rows.shape[0])
    cells = np.repeat(np.arange(d, dtype=np.int64) * d, np.diff(rows.indptr))
    cells += rows.indices
    return Graph(SparseGraph(cells, as_numeric(rows.data, name)), d)


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "itertuples")


def _is_networkx(value: Any) -> bool:
    return hasattr(value, "is_multigraph") and hasattr(value, "adjacency")


def _square_frame(frame: Any, name: str) -> AnyArray:
    """The frame's values with its rows in the order of its columns."""
    rows, columns = (checked_names(names, name) for names in (frame.index, frame.columns))
    if rows != columns:
        same_names(rows, columns, f"{name}, its rows against its columns")
        frame = frame.loc[list(columns)]
    return as_numeric(frame.to_numpy(), name)


def _networkx_edges(graph: Any) -> EdgeList:
    """Every edge with its `weight`, or 1 without one (pgmpy writes None).

    pgmpy's `PDAG` is a directed graph that lists its undirected edges both ways.
    """
    weighted = ((*ends, 1 if weight is None else weight) for *ends, weight in graph.edges(data="weight"))
    is_mixed = hasattr(graph, "undirected_edges")
    return EdgeList(list(weighted), tuple(graph.nodes), undirected=not graph.is_directed(), mixed=is_mixed)


_SQUARE = "Row i, column j is the edge i → j; pass a list of edges as a list of tuples."
_ONE_TRUTH = "To compare several predictions with one truth, repeat it: np.broadcast_to(A_true, A_pred.shape)."
_SAME_LAGS = "Both need the same lags, from 0 on: pad the shorter one with zeros."
_LAGS = (
    "A[i, j, l] is the edge from i at t − l to j at t; pass np.moveaxis(A, 0, -1) if A is (lags + 1, d, d), or "
    "lagged=False without lags."
)
