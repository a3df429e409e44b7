"""Read single graphs from what other libraries have: networkx, PyG, edge lists, adjacency matrices, JSON."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, compress
from operator import eq
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints, as_numeric, on_host
from graphgauge.core.errors import InputError

Words = NDArray[np.uint64]
# Values (one per node or edge) by attribute.
Attributes = Mapping[Any, Sequence[Any]]
# The attribute of labels that have no name, such as those of JSON files and PyG's `x`.
UNNAMED = ""


class LabelNames(NamedTuple):
    """The attributes that label nodes and edges; None for all that are text, whole numbers or truth values."""

    nodes: tuple[str, ...] | None = None
    edges: tuple[str, ...] | None = None


ALL_LABELS = LabelNames()


@dataclass(frozen=True)
class OneGraph:
    """Edges as they are listed, and the values of attributes; `others` are the names of those that are not read."""

    nodes: int
    listed: Ints
    node_values: Attributes = field(default_factory=dict)
    edge_values: Attributes = field(default_factory=dict)
    directed: bool = False
    others: tuple[str, ...] = ()


# ---------------------------------------------------------------------------------------------------- kinds of input


def is_networkx(value: Any) -> bool:
    return hasattr(value, "edges") and hasattr(value, "nodes") and hasattr(value, "is_directed")


def is_pyg(value: Any) -> bool:
    """Whether this is PyG's `Data`, or an object like it."""
    return hasattr(value, "edge_index") and hasattr(value, "num_nodes")


def is_stack(value: Any) -> bool:
    """Whether this is one array (n, N, N)."""
    shape = getattr(value, "shape", None)
    return shape is not None and len(shape) == 3 and shape[1] == shape[2]


def may_be_adjacency(array: NDArray[Any]) -> bool:
    """Whether an array could be adjacency matrices of undirected graphs: square, symmetric, 0 on the diagonal."""
    if not is_stack(array) or array.shape[1] < 3 or not len(array):
        return False
    loops = np.diagonal(array, axis1=1, axis2=2).any()
    return not loops and bool(array.any()) and bool((array == np.swapaxes(array, 1, 2)).all())


def is_graph_object(value: Any) -> bool:
    """Whether this can be nothing but one graph: of networkx or PyG, from JSON, or types of nodes and edges."""
    return is_networkx(value) or is_pyg(value) or _is_mapping(value) or _is_typed(value)


def is_graph(value: Any) -> bool:
    if is_graph_object(value):
        return True
    if _is_pair(value):
        value = value[1]
    if isinstance(value, np.ndarray):
        return value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind in "iu"
    return isinstance(value, list | tuple) and all(isinstance(edge, list | tuple) and len(edge) == 2 for edge in value)


def is_matrix(value: Any) -> bool:
    """Whether this could be one adjacency matrix: a square array, tensor or sparse matrix."""
    shape = getattr(value, "shape", None)
    return shape is not None and len(shape) == 2 and shape[0] == shape[1]


def are_matrices(values: Sequence[Any]) -> bool:
    """Whether a list is one of adjacency matrices; whole numbers of shape (2, 2) alone are lists of edges."""
    return all(map(is_matrix, values)) and not all(map(is_graph, values))


def as_list(value: Any) -> Any:
    """A list of graphs from an iterator, an array of objects, or PyG's batch or data set of graphs."""
    if hasattr(value, "to_data_list"):
        return value.to_data_list()
    if _is_typed(value, batch=1):
        return [list(pair) for pair in zip(*value, strict=True)]
    if callable(getattr(value, "indices", None)) and hasattr(value, "__len__") and not hasattr(value, "shape"):
        return [value[place] for place in range(len(value))]
    if isinstance(value, Iterator) or (isinstance(value, np.ndarray) and value.dtype == object):
        return list(value)
    return value


def _is_mapping(value: Any) -> bool:
    """A graph as JSON files have it: {"nodes": number, "edges": […]}, with "node_labels" and so on."""
    return isinstance(value, Mapping) and "edges" in value


def _is_pair(value: Any) -> bool:
    """(number of nodes, edges)."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int | np.integer)


def _is_typed(value: Any, batch: int = 0) -> bool:
    """[types of nodes (N,), types of edges (N, N)], as DiGress returns graphs, or the same as one-hot codes.

    `batch`: the number of axes before those of a graph.
    """
    if not isinstance(value, list | tuple) or len(value) != 2:
        return False
    nodes, edges = (tuple[int, ...](getattr(part, "shape", ())) for part in value)
    if nodes[:batch] != edges[:batch] or len(edges) != len(nodes) + 1 or len(nodes) - batch not in (1, 2):
        return False
    return edges[batch] == edges[batch + 1] == nodes[batch]


# ----------------------------------------------------------------------------------------------------------- reading


def read_graph(value: Any, where: str, labels: LabelNames, *, matrix: bool = False, padded: bool = False) -> OneGraph:
    """The number of nodes, the edges as pairs of node indices, and attributes.

    `matrix`: an array that could be a list of edges or a matrix is a matrix. `padded`: the last rows of a matrix that
    have no edges are not nodes.
    """
    if is_matrix(value) and (matrix or not is_graph(value)):
        return _from_matrix(value, where, padded=padded)
    if not is_graph(value):
        raise InputError(
            f"expected a graph, found {'nothing' if value is None else type(value).__name__}",
            where=where,
            fix="Pass a networkx graph, PyG data, an adjacency matrix, an edge list (E, 2), (number of nodes, edge "
            "list), or [types of nodes (N,), types of edges (N, N)].",
        )
    if is_networkx(value):
        return _from_networkx(value, where)
    if is_pyg(value):
        return _from_pyg(value, where, labels)
    if _is_mapping(value):
        return _from_mapping(value, where)
    if _is_typed(value):
        return _from_types(value[0], value[1], where)
    if _is_pair(value):
        edges = as_edges(value[1], where)
        _within(int(value[0]), edges, where)
        return OneGraph(int(value[0]), edges)
    return _from_edges(value, where)


def _from_edges(value: Any, where: str, edge_values: Attributes | None = None, *, directed: bool = False) -> OneGraph:
    """The nodes are those that occur."""
    names: dict[Any, int] = {}
    try:
        listed = value.tolist() if isinstance(value, np.ndarray) else value
        numbered = [[names.setdefault(end, len(names)) for end in edge] for edge in listed]
    except TypeError as error:
        raise InputError(f"the name of a node is not hashable ({error})", where=where) from None
    return OneGraph(len(names), as_edges(numbered, where), {}, edge_values or {}, directed)


def _from_matrix(value: Any, where: str, *, padded: bool = False) -> OneGraph:
    """From an adjacency matrix: an array, a tensor, or a sparse matrix of SciPy."""
    dense = value.toarray() if hasattr(value, "toarray") else value
    array = as_numeric(dense, where)
    if not np.isin(array, (0, 1)).all():
        raise InputError("an adjacency matrix has entries other than 0 and 1", where=where, fix="Pass weights != 0.")
    _require_symmetric(array, where)
    return OneGraph(_size(array) if padded else len(array), as_edges(np.argwhere(np.triu(array)), where))


def _from_types(nodes: Any, edges: Any, where: str) -> OneGraph:
    types, array = (_types(part, where, axes) for part, axes in ((nodes, 1), (edges, 2)))
    kept = np.flatnonzero(types != _PADDING)
    if (array[types == _PADDING] > 0).any() or (array[:, types == _PADDING] > 0).any():
        raise InputError("types of nodes: padding has edges", where=where, fix="Pass the type of each node.")
    types, array = types[kept], array[np.ix_(kept, kept)]
    if not all((part >= 0).all() and (part == np.floor(part)).all() for part in (types, array)):
        raise InputError(
            "types of nodes or edges are not whole numbers from 0",
            where=where,
            fix="Nodes that are padding have type -1, or one-hot codes of 0.",
        )
    _require_symmetric(array, where)
    listed = as_edges(np.argwhere(np.triu(array)), where)
    return OneGraph(
        len(types),
        listed,
        {UNNAMED: types.astype(np.int64).tolist()},
        {UNNAMED: array[listed[:, 0], listed[:, 1]].astype(np.int64).tolist()},
    )


# The type of nodes that are none.
_PADDING = -1


def _types(value: Any, where: str, axes: int) -> NDArray[Any]:
    """Types from 0, or from one-hot codes; a node without any is padding, and edges without any are none."""
    array = as_numeric(value, where)
    if array.ndim == axes:
        return array
    if not np.isin(array, (0, 1)).all() or (array.sum(-1) > 1).any():
        raise InputError(
            "types of nodes or edges are not one-hot codes", where=where, fix="Pass types: the argmax of the last axis."
        )
    return np.where(array.any(-1), array.argmax(-1), _PADDING if axes == 1 else 0)


def _require_symmetric(array: NDArray[Any], where: str) -> None:
    if (array != array.T).any():
        raise InputError(
            "an adjacency matrix is not symmetric", where=where, fix="Pass directed graphs as networkx.DiGraph."
        )


def _size(matrix: NDArray[Any]) -> int:
    """The number of nodes up to the last one with an edge."""
    return int(np.flatnonzero(matrix.any(axis=1)).max(initial=-1)) + 1


def read_stack(array: NDArray[Any], name: str, *, padded: bool = False) -> list[tuple[int, Ints]]:
    """The graphs of a stack of symmetric adjacency matrices of 0 and 1."""
    if not np.isin(array, (0, 1)).all():
        raise InputError("adjacency matrices have entries other than 0 and 1", where=name, fix="Pass weights != 0.")
    if not may_be_adjacency(array) and array.any():
        raise InputError(
            "adjacency matrices of undirected graphs are symmetric with a diagonal of 0",
            where=name,
            fix="Pass directed graphs as networkx.DiGraph.",
        )
    return [(_size(matrix) if padded else len(matrix), np.argwhere(np.triu(matrix, 1))) for matrix in array]


def _within(nodes: int, edges: Ints, where: str) -> None:
    if nodes < 0 or edges.max(initial=-1) >= nodes or edges.min(initial=0) < 0:
        raise InputError(f"its edges refer to nodes beyond its {nodes} nodes", where=where)


def _from_mapping(value: Mapping[str, Any], where: str) -> OneGraph:
    unknown = [name for name in value if name not in ("nodes", "edges", "node_labels", "edge_labels", "directed")]
    if unknown:
        raise InputError(f"a graph has no {unknown[0]!r}", where=where, fix="See the page on generation.")
    value = {name: on_host(part, f"{where}, {name}") for name, part in value.items()}
    directed = value.get("directed", False)
    if not isinstance(directed, bool | np.bool_):
        raise InputError(f"directed is {directed!r:.40}", where=where, fix="Write true or false.")
    listed, count = value["edges"], value.get("nodes")
    if not isinstance(listed, list | tuple | np.ndarray):
        raise InputError(f"edges are {type(listed).__name__}", where=where, fix="List pairs of nodes.")
    if any(not hasattr(edge, "__len__") or isinstance(edge, str) or len(edge) != 2 for edge in listed):
        raise InputError("some edges are not pairs of nodes", where=where, fix="Each edge is [source, target].")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int | np.integer)):
        raise InputError(
            f"nodes is {count!r:.40}", where=where, fix="It is the number of nodes; labels are in node_labels."
        )
    if count is None and value.get("node_labels") is not None:
        count = len(value["node_labels"])
    found: dict[str, Attributes] = {"node_labels": {}, "edge_labels": {}}
    for name, rows in (("node_labels", count), ("edge_labels", len(listed))):
        if value.get(name) is not None:
            if isinstance(value[name], str) or not hasattr(value[name], "__len__") or len(value[name]) != rows:
                size = len(value[name]) if hasattr(value[name], "__len__") else 1
                raise InputError(f"{size} {name} for {rows} {name[:4]}s", where=where)
            found[name] = {UNNAMED: list(value[name])}
    if count is None:
        return _from_edges(listed, where, found["edge_labels"], directed=bool(directed))
    edges = as_edges(listed, where)
    _within(int(count), edges, where)
    return OneGraph(int(count), edges, found["node_labels"], found["edge_labels"], bool(directed))


def _from_networkx(value: Any, where: str) -> OneGraph:
    if value.is_multigraph():
        raise InputError(
            f"expected a simple graph, found {type(value).__name__}",
            where=where,
            fix="Convert it with networkx.Graph(graph) or networkx.DiGraph(graph).",
        )
    place = {node: index for index, node in enumerate(value.nodes)}
    directed = bool(value.is_directed())
    around = [neighbours for _, neighbours in value.adjacency()]
    source = np.repeat(np.arange(len(around)), [len(neighbours) for neighbours in around])
    ends = chain.from_iterable(around)
    numbered = all(map(eq, place, range(len(place))))  # by networkx's own generators, and much faster
    target = np.fromiter(ends if numbered else map(place.__getitem__, ends), np.int64, len(source))
    # An undirected edge is listed at both ends.
    kept = np.ones(len(source), bool) if directed else source <= target
    contents = list(chain.from_iterable(neighbours.values() for neighbours in around))
    of_edges = _values(list(compress(contents, kept))) if any(contents) else {}
    return OneGraph(
        len(place),
        as_edges(np.stack([source, target], axis=1)[kept], where),
        _values([content for _, content in value.nodes(data=True)]),
        of_edges,
        directed,
    )


def _values(contents: Sequence[Mapping[Any, Any]]) -> Attributes:
    """The values of each attribute; None for nodes or edges without it."""
    names = dict.fromkeys(name for content in contents if content for name in content)
    return {name: [content.get(name) for content in contents] for name in names}


def _from_pyg(value: Any, where: str, labels: LabelNames) -> OneGraph:
    ends = as_numeric(value.edge_index, f"{where}.edge_index")
    if ends.ndim != 2 or len(ends) != 2:
        raise InputError(f"edge_index has shape {ends.shape}", where=where, fix="Its shape must be (2, E).")
    count = int(value.num_nodes)
    _within(count, ends, where)

    def values(standard: str, rows: int, chosen: tuple[str, ...] | None) -> Attributes:
        """The standard attribute, whose columns have no names, or those that are chosen."""
        if chosen is None:
            content = getattr(value, standard, None)
            return {} if content is None else {UNNAMED: _items(content, rows, f"{where}.{standard}")}
        given = {name: getattr(value, name, None) for name in chosen}
        return {
            name: _items(content, rows, f"{where}.{name}") for name, content in given.items() if content is not None
        }

    edges = as_edges(ends.T, where)
    # Undirected edges are listed in both directions.
    listed = set(map(tuple, edges.tolist()))
    directed = any((b, a) not in listed for a, b in listed)
    nodes, of_edges = values("x", count, labels.nodes), values("edge_attr", len(edges), labels.edges)
    others: tuple[str, ...] = ()
    if labels.nodes is None and hasattr(value, "keys"):
        keys = value.keys() if callable(value.keys) else value.keys
        others = tuple(str(key) for key in keys if key not in _STANDARD and _has_rows(getattr(value, key), count))
    return OneGraph(count, edges, nodes, of_edges, directed, others)


_STANDARD = ("x", "edge_index", "edge_attr", "y", "batch", "ptr", "num_nodes")


def _has_rows(content: Any, rows: int) -> bool:
    shape: tuple[int, ...] = getattr(content, "shape", ())
    return len(shape) > 0 and shape[0] == rows


def _items(content: Any, rows: int, where: str) -> list[Any]:
    """One value per row: a number, or a tuple of several. Zeros and ones are whole numbers, as in one-hot codes."""
    array = as_numeric(content, where)
    if array.ndim == 0 or len(array) != rows:
        raise InputError(f"has shape {array.shape}, expected {rows} rows", where=where)
    array = array.reshape(rows, -1)
    if array.dtype.kind == "f" and np.isin(array, (0, 1)).all():
        array = array.astype(np.int64)
    return [row[0] if len(row) == 1 else tuple(row) for row in array.tolist()]


def as_edges(value: Any, where: str) -> Ints:
    """Pairs of nodes, without loops."""
    ends = np.asarray(value)
    if ends.size and ends.dtype.kind not in "iu":
        raise InputError("some ends of edges are not integers", where=where, fix="Count nodes from 0.")
    if ends.size and (ends.ndim != 2 or ends.shape[1] != 2):
        raise InputError(f"edges have shape {ends.shape}", where=where, fix="Their shape must be (E, 2).")
    edges = ends.astype(np.int64).reshape(-1, 2)
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if loops.size:
        node = int(edges[loops[0], 0])
        raise InputError(
            f"{loops.size} self-loops, the first at node {node}", where=where, fix="Remove them: graphs must be simple."
        )
    return edges


# ------------------------------------------------------------------------------------------------------------ labels


class Chosen(NamedTuple):
    """The words of each graph's labels (None without any), the attributes that they are from, and the others."""

    words: list[Words | None]
    names: tuple[str, ...] | None
    ignored: tuple[str, ...]


def label_words(
    parts: Sequence[Attributes], names: tuple[str, ...] | None, kind: str, where: str, *, some: bool
) -> Chosen:
    """Which attributes are labels is decided for all graphs together; a single one counts without its name.

    `some`: whether there are any nodes or edges that could have the attributes.
    """
    present = dict.fromkeys(name for part in parts for name in part)
    ignored: tuple[str, ...] = ()
    if names is None:
        chosen = [name for name in present if all(_are_categories(part[name]) for part in parts if name in part)]
        others = [name for name in present if name not in chosen]
        ignored = tuple(_STANDARD_TEXT[kind] if name == UNNAMED else str(name) for name in others)
    else:
        by_text = {str(name): name for name in present}
        absent = [name for name in names if name not in by_text]
        if absent and some:
            known = ", ".join(text or "labels without a name" for text in by_text) or "none"
            raise InputError(
                f"no {kind} has the attribute {absent[0]!r}",
                where=where,
                fix=f"Attributes: {known}. Ignore them with {kind}_labels=[].",
            )
        chosen = [by_text[name] for name in names if name in by_text]
    if UNNAMED in chosen and len(chosen) > 1:
        if len(chosen) > 2:
            raise InputError(
                f"some graphs have labelled {kind}s without a name of the attribute, others have several",
                where=where,
                fix=f"Name one with {kind}_labels=.",
            )
        # One attribute, which has a name in some graphs only.
        other = next(name for name in chosen if name != UNNAMED)
        parts = [{UNNAMED if name == other else name: values for name, values in part.items()} for part in parts]
        chosen = [UNNAMED]
    words = [_hashed(part, chosen) if any(name in part for name in chosen) else None for part in parts]
    named = None if not chosen or chosen == [UNNAMED] else tuple(sorted(map(str, chosen)))
    return Chosen(words, named, ignored)


_STANDARD_TEXT = {"node": "x", "edge": "edge_attr"}


def _hashed(part: Attributes, chosen: Sequence[Any]) -> Words:
    rows = len(next(iter(part.values())))
    columns = {name: _comparable_values(part.get(name, [None] * rows)) for name in chosen}
    if len(chosen) == 1:
        column = columns[chosen[0]]
        known = {value: hashed_label(value) for value in set(column)}  # most labels occur many times
        return np.array([known[value] for value in column], np.uint64)
    ordered = sorted(chosen, key=str)
    items = zip(*(columns[name] for name in ordered), strict=True)
    texts = [str(name) for name in ordered]
    return np.array([hashed_label(tuple(zip(texts, item, strict=True))) for item in items], np.uint64)


def _are_categories(values: Sequence[Any]) -> bool:
    """Whether all are text, whole numbers or truth values, or missing."""
    return set(map(type, values)) <= _PLAIN or all(value is None or _is_category(value) for value in values)


def _is_category(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_category, value))
    return isinstance(value, str | bool | int | np.bool_ | np.integer)


# Types of labels that are what they are compared as; most graphs have no others.
_PLAIN = {str, int, type(None)}


def _comparable_values(values: Sequence[Any]) -> Sequence[Any]:
    return values if set(map(type, values)) <= _PLAIN else [comparable(value) for value in values]


def comparable(value: Any) -> Hashable:
    """Values that are equal have equal texts: 1, 1.0, True and NumPy's 1."""
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, int) or (isinstance(item, float) and item.is_integer()):
        return int(item)
    if isinstance(item, list | tuple):
        return tuple(map(comparable, item))
    return item if isinstance(item, Hashable) else repr(item)


def hashed_label(value: Any) -> int:
    """A word for a label: equal labels have equal words, never 0."""
    word = int.from_bytes(blake2b(repr(value).encode(), digest_size=8).digest(), "big")
    return word or 1
