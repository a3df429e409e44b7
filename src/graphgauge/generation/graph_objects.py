"""Single graphs from what other libraries have: networkx, PyG, pairs (number of nodes, edges), JSON, matrices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeGuard

import numpy as np

from graphgauge.core.arrays import as_numeric, on_host
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints
from graphgauge.generation.distances import Words

# The attributes that are labels, sorted; None if that is not said.
Names = tuple[str, ...] | None
# Keys of PyG's data that describe no single node.
_OF_GRAPHS = ("edge_index", "y", "batch", "ptr", "num_nodes")
# The type of a node that is padding.
_PADDING = -1


@dataclass(frozen=True)
class OneGraph:
    """A graph as it is listed: every edge in one or both directions, and the labels of nodes and listed edges."""

    nodes: int
    edges: Ints
    node_labels: Sequence[Any] | None = None
    edge_labels: Sequence[Any] | None = None
    directed: bool = False


def listed_graphs(value: Any, where: str) -> list[Any]:
    """The items of a list, an iterator, an array of objects, or PyG's batch or data set."""
    if hasattr(value, "to_data_list"):
        return list(value.to_data_list())
    objects = isinstance(value, np.ndarray) and value.dtype == object
    if isinstance(value, list | tuple | Iterator) or objects or callable(getattr(value, "indices", None)):
        return list(value)
    found = f"an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__
    fix = "Adjacency matrices go into Graphs.from_adjacency."
    raise InputError(f"expected a list of graphs, found {found}", where=where, fix=fix)


def read_object(value: Any, where: str, node_names: Names, edge_names: Names) -> OneGraph:
    """One graph of a kind that says itself how many nodes it has."""
    if is_networkx(value):
        return _from_networkx(value, where, node_names, edge_names)
    if is_pyg(value):
        return _from_pyg(value, where, node_names, edge_names)
    if isinstance(value, Mapping) and "edges" in value:
        return _from_mapping(value, where, node_names, edge_names)
    if isinstance(value, list | tuple) and len(value) == 2 and _is_whole(value[0]):
        return OneGraph(int(value[0]), as_edges(value[1], int(value[0]), where))
    fix = "Pass a networkx graph, PyG data, or (number of nodes, edges)."
    if getattr(value, "ndim", 0) == 2 or hasattr(value, "toarray"):
        fix = "Pass adjacency matrices through Graphs.from_adjacency, edges as (number of nodes, edges)."
    if isinstance(value, list | tuple) and len(value) == 2 and all(hasattr(part, "shape") for part in value):
        fix = "Pairs of node types and edge types, as of DiGress, go into Graphs.from_adjacency: edges, node_types=."
    found = "nothing" if value is None else type(value).__name__
    raise InputError(f"expected a graph, found {found}", where=where, fix=fix)


def is_networkx(value: Any) -> bool:
    return hasattr(value, "edges") and hasattr(value, "nodes") and hasattr(value, "is_directed")


def is_pyg(value: Any) -> bool:
    """Whether this is PyG's `Data`, or an object like it."""
    return hasattr(value, "edge_index") and hasattr(value, "num_nodes")


def read_matrix(value: Any, where: str, *, padded: bool) -> OneGraph:
    """An undirected graph from its adjacency matrix. `padded`: the last nodes that have no edges are none."""
    array = as_numeric(value.toarray() if hasattr(value, "toarray") else value, where)
    _require_square(array, where)
    if not np.isin(array, (0, 1)).all():
        fix = "Pass weights != 0, or, if they are types of edges, node_types= too."
        raise InputError("an adjacency matrix has entries other than 0 and 1", where=where, fix=fix)
    size = int(np.flatnonzero(array.any(axis=1)).max(initial=-1)) + 1 if padded else len(array)
    return OneGraph(size, as_edges(np.argwhere(np.triu(array)), size, where))


def read_types(nodes: Any, edges: Any, where: str) -> OneGraph:
    """A graph from the types of its nodes (N,) and of its pairs of nodes (N, N), or the same as one-hot codes."""
    types, array = _types(nodes, where, 1), _types(edges, where, 2)
    _require_square(array, where)
    if len(types) != len(array):
        raise InputError(f"{len(types)} types of nodes for {len(array)} nodes", where=where)
    kept = types != _PADDING
    joined = (array[~kept] > 0).any()
    types, array = types[kept], array[np.ix_(kept, kept)]
    if joined or any((part < 0).any() or (part != np.floor(part)).any() for part in (types, array)):
        fix = "They are whole numbers from 0; padding has type -1, or one-hot codes of 0, and no edges."
        raise InputError("types of nodes or edges are no types", where=where, fix=fix)
    listed = as_edges(np.argwhere(np.triu(array)), len(types), where)
    of_edges = array[listed[:, 0], listed[:, 1]].astype(np.int64).tolist()
    return OneGraph(len(types), listed, types.astype(np.int64).tolist(), of_edges)


def _types(value: Any, where: str, axes: int) -> AnyArray:
    """Types from 0, or from one-hot codes; a node without any is padding, and edges without any are none."""
    array = as_numeric(value, where)
    if array.ndim == axes:
        return array
    if array.ndim != axes + 1 or not np.isin(array, (0, 1)).all() or (array.sum(-1) > 1).any():
        fix = "Pass types: the argmax of the last axis."
        raise InputError("types of nodes or edges are not one-hot codes", where=where, fix=fix)
    return np.where(array.any(-1), array.argmax(-1), _PADDING if axes == 1 else 0)


def _require_square(array: AnyArray, where: str) -> None:
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"an adjacency matrix has shape {array.shape}, not (N, N)", where=where)
    if (array != array.T).any():
        fix = "Pass directed graphs as networkx.DiGraph."
        raise InputError("an adjacency matrix is not symmetric", where=where, fix=fix)


# ---------------------------------------------------------------------------------------------------- kinds of objects


def _from_networkx(graph: Any, where: str, node_names: Names, edge_names: Names) -> OneGraph:
    if graph.is_multigraph():
        fix = "Convert it with networkx.Graph(graph) or networkx.DiGraph(graph)."
        raise InputError(f"expected a simple graph, found {type(graph).__name__}", where=where, fix=fix)
    place = {node: index for index, node in enumerate(graph.nodes)}
    listed = list(graph.edges(data=True))

    def labels(contents: list[dict[Any, Any]], names: Names, kind: str) -> list[Any] | None:
        known = dict.fromkeys(name for content in contents for name in content)
        # None for nodes or edges without the attribute.
        return _named(known, lambda name: [each.get(name) for each in contents], len(contents), names, kind, where)

    return OneGraph(
        len(place),
        as_edges([(place[source], place[target]) for source, target, _ in listed], len(place), where),
        labels([content for _, content in graph.nodes(data=True)], node_names, "node"),
        labels([content for _, _, content in listed], edge_names, "edge"),
        bool(graph.is_directed()),
    )


def _from_pyg(data: Any, where: str, node_names: Names, edge_names: Names) -> OneGraph:
    ends = as_numeric(data.edge_index, f"{where}.edge_index")
    if ends.ndim != 2 or len(ends) != 2:
        raise InputError(f"edge_index has shape {ends.shape}", where=where, fix="Its shape must be (2, E).")
    count = int(data.num_nodes)
    edges = as_edges(ends.T, count, where)
    # Undirected edges are listed in both directions.
    keys, turned = edges @ np.array([count, 1]), edges @ np.array([1, count])
    directed = not np.isin(turned, keys).all()
    every = list(data.keys() if callable(data.keys) else data.keys) if hasattr(data, "keys") else ["x", "edge_attr"]

    def labels(rows: int, names: Names, kind: str) -> list[Any] | None:
        shapes = {key: tuple(getattr(getattr(data, key, None), "shape", ())) for key in every if key not in _OF_GRAPHS}
        known = [key for key, shape in shapes.items() if ("edge" in key) == (kind == "edge") and shape[:1] == (rows,)]
        return _named(known, lambda key: _rows(as_numeric(getattr(data, key), where)), rows, names, kind, where)

    return OneGraph(count, edges, labels(count, node_names, "node"), labels(len(edges), edge_names, "edge"), directed)


def _rows(array: AnyArray) -> list[Any]:
    """One value per row: a number, or a tuple of several."""
    return [row[0] if len(row) == 1 else tuple(row) for row in array.reshape(len(array), -1).tolist()]


def _named(
    attributes: Iterable[Any], values: Callable[[Any], Sequence[Any]], rows: int, names: Names, kind: str, where: str
) -> list[Any] | None:
    """The labels of nodes or edges: the values of the attributes of these names, a tuple of those of several."""
    known = {str(name): name for name in attributes}
    if not rows or names == () or (names is None and not known):
        return None
    if names is None:
        what = f"its {kind}s have the attribute{'s' * (len(known) > 1)} {', '.join(known)}, which may be labels"
        fix = (
            "Graphs.from_objects(graphs, node_labels=[], edge_labels=[]) ignores all attributes; "
            f"{kind}_labels=[{next(iter(known))!r}] if graphs with others differ."
        )
        raise InputError(what, where=where, fix=fix)
    absent = [name for name in names if name not in known]
    if absent:
        fix = f"Attributes: {', '.join(known) or 'none'}. Ignore labels with {kind}_labels=[]."
        raise InputError(f"no {kind} has the attribute {absent[0]!r}", where=where, fix=fix)
    columns = [values(known[name]) for name in names]
    return list(columns[0]) if len(columns) == 1 else list(zip(*columns, strict=True))


def _from_mapping(value: Mapping[str, Any], where: str, node_names: Names, edge_names: Names) -> OneGraph:
    """{"nodes": number, "edges": pairs}, as JSON files have it, with "node_labels", "edge_labels", "directed"."""
    unknown = [name for name in value if name not in ("nodes", "edges", "node_labels", "edge_labels", "directed")]
    if unknown:
        raise InputError(f"a graph has no {unknown[0]!r}", where=where, fix="See the page on generation.")
    count, directed = value.get("nodes"), value.get("directed", False)
    if not _is_whole(count) or not isinstance(directed, bool):
        fix = "nodes is their number (labels are in node_labels), and directed true or false."
        raise InputError(f"nodes is {count!r:.40} and directed {directed!r:.40}", where=where, fix=fix)
    edges = as_edges(value["edges"], int(count), where)

    def labels(kind: str, names: Names, rows: int) -> list[Any] | None:
        own = on_host(value.get(f"{kind}_labels"), where)
        if own is None or names is not None or not rows:
            return _named((), list, rows, names, kind, where)
        size = len(own) if isinstance(own, list | tuple | np.ndarray) else 1
        if size != rows or isinstance(own, str):
            raise InputError(f"{size} {kind}_labels for {rows} {kind}s", where=where)
        return list(own)

    of_nodes, of_edges = labels("node", node_names, int(count)), labels("edge", edge_names, len(edges))
    return OneGraph(int(count), edges, of_nodes, of_edges, directed)


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def as_edges(value: Any, nodes: int, where: str) -> Ints:
    """Pairs of these nodes, without loops."""
    ends = as_numeric(value, where, ragged="Each edge is [source, target].")
    if ends.size and (ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu"):
        fix = "Edges are (E, 2) whole numbers, with nodes counted from 0."
        raise InputError(f"edges of shape {ends.shape} and type {ends.dtype}", where=where, fix=fix)
    edges = ends.astype(np.int64).reshape(-1, 2)
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if loops.size:
        what = f"{loops.size} self-loops, the first at node {edges[loops[0], 0]}"
        raise InputError(what, where=where, fix="Remove them: graphs must be simple.")
    if nodes < 0 or edges.max(initial=-1) >= nodes or edges.min(initial=0) < 0:
        raise InputError(f"its edges refer to nodes beyond its {nodes} nodes", where=where)
    return edges


# -------------------------------------------------------------------------------------------------------------- labels


def label_words(labels: Sequence[Any]) -> Words:
    """A word for each label: equal labels have equal words, never 0."""
    comparable = labels if set(map(type, labels)) <= {str, int} else [_comparable(label) for label in labels]
    known = {label: _hashed(label) for label in set(comparable)}  # most labels occur many times
    return np.array([known[label] for label in comparable], np.uint64)


def _comparable(value: Any) -> Hashable:
    """Values that are equal have equal texts: 1, 1.0, True and NumPy's 1."""
    item = value.item() if isinstance(value, np.generic) else value
    if isinstance(item, int) or (isinstance(item, float) and item.is_integer()):
        return int(item)
    if isinstance(item, list | tuple | np.ndarray):
        return tuple(map(_comparable, item))
    return item if isinstance(item, Hashable) else repr(item)


def _hashed(label: Hashable) -> int:
    return int.from_bytes(blake2b(repr(label).encode(), digest_size=8).digest(), "big") or 1
