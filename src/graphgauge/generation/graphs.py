"""Graphs as samples: simple graphs, directed or not, with labels of nodes and edges; isomorphic graphs are equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.arrays import on_host
from graphgauge.core.disk import read_json
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.generation.distances import Words
from graphgauge.generation.graph_objects import (
    OneGraph,
    is_networkx,
    is_pyg,
    label_words,
    listed_graphs,
    read_matrix,
    read_object,
    read_types,
)

# Nodes that may be stated by their number alone, and how many for each end of an edge: a short input must not ask for
# more memory than there is.
_MOST_ISOLATED, _ISOLATED_PER_END = 1_000_000, 100


class Neighbourhoods(NamedTuple):
    """The neighbours of node i: around[start[i]] to around[start[i + 1] - 1], in rising order."""

    start: Ints
    around: Ints


@dataclass(frozen=True, eq=False, repr=False)
class Graphs:
    """Graphs one after the other: graph i has nodes 0 … nodes[i] − 1 and edges[offsets[i]:offsets[i + 1]].

    Every edge is stored once, an undirected one with its smaller end first, and the edges of a graph are sorted.
    `node_labels` and `edge_labels` are hashes of the labels, one per node of all graphs and one per edge, if there are
    any.

    Examples
    --------
    >>> from graphgauge import generation
    >>> graphs = generation.Graphs.from_objects([(3, [(0, 1), (1, 2)]), (2, [(0, 1)])])
    >>> graphs
    Graphs: 2 undirected, 5 nodes, 3 edges
    >>> len(graphs.take([1]))
    1
    """

    nodes: Ints
    offsets: Ints
    edges: Ints
    node_labels: Words | None = None
    edge_labels: Words | None = None
    directed: bool = False

    @classmethod
    def from_objects(
        cls,
        graphs: Any,
        *,
        node_labels: Sequence[str] | None = None,
        edge_labels: Sequence[str] | None = None,
        where: str = "graphs",
    ) -> Graphs:
        """From a list of networkx graphs, PyG data, pairs (number of nodes, edges), or dictionaries as in JSON files.

        Parameters
        ----------
        graphs
            The graphs. A dictionary has `nodes` (how many), `edges` (pairs), and may have `node_labels`, `edge_labels`
            and `directed`.
        node_labels, edge_labels
            The attributes by which graphs of the same structure differ, such as `["atom"]`, or `["x"]` of PyG; `[]` for
            none. What has attributes needs either.
        where
            What errors call the graphs.

        Returns
        -------
        Graphs
            The graphs.

        Raises
        ------
        InputError
            If an element is no graph, or has attributes of which it is not said whether they are labels.
        """
        names = [None if given is None else _names(given) for given in (node_labels, edge_labels)]
        listed = enumerate(listed_graphs(graphs, where))
        return cls._joined_from([read_object(graph, f"{where}[{place}]", *names) for place, graph in listed], where)

    @classmethod
    def from_adjacency(
        cls, matrices: Any, *, node_types: Any = None, padded: bool = False, where: str = "graphs"
    ) -> Graphs:
        """From adjacency matrices of undirected graphs: a stack (n, N, N), or a list of arrays or sparse matrices.

        Parameters
        ----------
        matrices
            Zeros and ones. With `node_types` the types of edges from 1, 0 for none, or one-hot codes (n, N, N, types).
        node_types
            Types of nodes (n, N) from 0, −1 for padding, or one-hot codes, as DiGress returns them with the matrices.
        padded
            Whether the last nodes of a matrix that have no edges are padding, and no nodes.
        where
            What errors call the graphs.

        Returns
        -------
        Graphs
            The graphs.

        Raises
        ------
        InputError
            If a matrix is not symmetric, or has other entries.
        """
        listed = _parts(matrices, where, (3, 4))
        if node_types is None:
            read = [read_matrix(each, f"{where}[{place}]", padded=padded) for place, each in enumerate(listed)]
            return cls._joined_from(read, where)
        types = _parts(node_types, f"{where}, node_types", (2, 3))
        if len(types) != len(listed):
            raise InputError(f"{len(types)} graphs have node_types, and {len(listed)} have edges", where=where)
        pairs = enumerate(zip(types, listed, strict=True))
        return cls._joined_from([read_types(*pair, f"{where}[{place}]") for place, pair in pairs], where)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Graphs:
        """From what `arrays` returns."""
        content: dict[str, Any] = {**arrays, "directed": bool(arrays["directed"])}
        return cls(**content)

    @classmethod
    def _joined_from(cls, read: Sequence[OneGraph], where: str) -> Graphs:
        _require_few_isolated(read, where)
        require_alike(read, where)
        directed = any(graph.directed for graph in read if len(graph.edges))
        of_nodes = [label for graph in read for label in graph.node_labels or ()]
        of_edges = [label for graph in read for label in graph.edge_labels or ()]
        owner = np.repeat(np.arange(len(read)), [len(graph.edges) for graph in read])
        listed = np.concatenate([np.empty((0, 2), np.int64), *(graph.edges for graph in read)])
        words = label_words(of_edges) if of_edges else None
        edges, owner, words = _distinct(listed, owner, words, where, directed=directed)
        offsets = np.append(0, np.cumsum(np.bincount(owner, minlength=len(read)))).astype(np.int64)
        nodes = np.array([graph.nodes for graph in read], np.int64)
        return cls(nodes, offsets, edges, label_words(of_nodes) if of_nodes else None, words, directed)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> Ints:
        """The edges of one graph."""
        return self.edges[self.offsets[index] : self.offsets[index + 1]]

    def __repr__(self) -> str:
        kind, sizes = (
            "directed" if self.directed else "undirected",
            f"{self.nodes.sum()} nodes, {len(self.edges)} edges",
        )
        return f"Graphs: {len(self)} {kind}, {sizes}"

    def take(self, rows: Any) -> Graphs:
        """Some of the graphs, by a mask or by index.

        Parameters
        ----------
        rows
            A mask (n,), or the numbers of graphs.

        Returns
        -------
        Graphs
            The chosen graphs.
        """
        places = np.arange(len(self))[on_host(rows, "rows")]
        lengths = np.diff(self.offsets)[places]
        of_edges = _ranges(self.offsets[places], lengths)
        of_nodes = _ranges(self.starts[places], self.nodes[places])
        return replace(
            self,
            nodes=self.nodes[places],
            offsets=np.append(0, np.cumsum(lengths)).astype(np.int64),
            edges=self.edges[of_edges],
            node_labels=None if self.node_labels is None else self.node_labels[of_nodes],
            edge_labels=None if self.edge_labels is None else self.edge_labels[of_edges],
        )

    def joined(self, other: Graphs) -> Graphs:
        """These graphs and then the other ones, of the same kind."""
        require_alike((self, other))
        return Graphs(
            np.concatenate([self.nodes, other.nodes]),
            np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]]),
            np.concatenate([self.edges, other.edges]),
            concatenated(self.node_labels, other.node_labels),
            concatenated(self.edge_labels, other.edge_labels),
            self.directed or other.directed,
        )

    def arrays(self) -> dict[str, AnyArray]:
        """The arrays that `from_arrays` takes, by name."""
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: np.asarray(own) for name, own in known.items() if own is not None}

    @property
    def valid(self) -> Mask:
        """Which can be samples at all: those with nodes (n,)."""
        return np.asarray(self.nodes > 0)

    @cached_property
    def starts(self) -> Ints:
        """The number of the first node of each graph, with the nodes of all graphs numbered consecutively."""
        return np.append(0, np.cumsum(self.nodes))[:-1].astype(np.int64)

    @cached_property
    def owner(self) -> Ints:
        """The graph of each node."""
        return np.repeat(np.arange(len(self)), self.nodes)

    @cached_property
    def through(self) -> Ints:
        """The edges, with the nodes of all graphs numbered consecutively."""
        return self.edges + np.repeat(self.starts, np.diff(self.offsets))[:, np.newaxis]

    @cached_property
    def ends(self) -> Ints:
        """The edges of the underlying undirected graphs in both directions, numbered consecutively, each once."""
        both = np.concatenate([self.through, self.through[:, ::-1]])
        return np.unique(both, axis=0) if self.directed else both

    @cached_property
    def neighbourhoods(self) -> Neighbourhoods:
        """Neighbours in the underlying undirected graphs, for triangles and orbits."""
        order = np.lexsort((self.ends[:, 1], self.ends[:, 0]))
        start = np.append(0, np.cumsum(self.degrees)).astype(np.int64)
        return Neighbourhoods(start, np.ascontiguousarray(self.ends[order, 1]))

    @cached_property
    def degrees(self) -> Ints:
        """Degrees in the underlying undirected graphs."""
        return np.bincount(self.ends[:, 0], minlength=int(self.nodes.sum()))


def read_graphs(
    path: str | Path, *, node_labels: Sequence[str] | None = None, edge_labels: Sequence[str] | None = None
) -> Graphs:
    """The graphs of a file: .json, a list of {"nodes": number, "edges": pairs}; .g6 or .s6, one per line.

    Parameters
    ----------
    path
        The file.
    node_labels, edge_labels
        As in `Graphs.from_objects`.

    Returns
    -------
    Graphs
        The graphs.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    place, where = Path(path), str(path)
    ending = place.suffix.lower()
    if ending == ".json":
        content = read_json(place)
        if not isinstance(content, list):
            raise InputError("not a JSON list of graphs", where=where, fix='Each is {"nodes": 3, "edges": [[0, 1]]}.')
    elif ending in (".g6", ".s6"):
        networkx = need("networkx", "graph6 files")
        try:
            content = (networkx.read_graph6 if ending == ".g6" else networkx.read_sparse6)(place)
        except FileNotFoundError:
            raise InputError("no such file", where=where) from None
        except (networkx.NetworkXException, ValueError, IndexError) as error:
            fix = "Write one graph per line."
            raise InputError(f"cannot be read ({error!s:.100})", where=where, fix=fix) from None
        content = content if isinstance(content, list) else [content]
    else:
        what = f"{ending or 'no ending'} is no ending of graphs"
        raise InputError(what, where=where, fix="Write .json, .g6 or .s6.")
    return Graphs.from_objects(content, node_labels=node_labels, edge_labels=edge_labels, where=where)


def are_graph_objects(value: Any) -> bool:
    """Whether this is a list of objects that can be nothing but graphs: of networkx or PyG."""
    listed = value if isinstance(value, list | tuple) else ()
    return hasattr(value, "to_data_list") or any(is_networkx(each) or is_pyg(each) for each in listed[:1])


def require_alike(collections: Iterable[Graphs | OneGraph], where: str = "graphs") -> None:
    """Refuse to compare directed graphs with others, and labelled ones with others, which would all differ."""
    known = list(collections)
    with_edges = [graphs for graphs in known if len(graphs.edges)]
    if len({graphs.directed for graphs in with_edges}) > 1:
        fix = "Convert them to one kind. PyG data that list each edge once are read as directed: use to_undirected."
        raise InputError("some graphs are directed and others are not", where=where, fix=fix)
    with_nodes = [graphs for graphs in known if np.any(graphs.nodes)]
    for kind, some in (("node", with_nodes), ("edge", with_edges)):
        if len({getattr(graphs, f"{kind}_labels") is None for graphs in some}) > 1:
            fix = f"Label all of them, or ignore the labels with {kind}_labels=[]."
            raise InputError(f"some graphs have labelled {kind}s and others do not", where=where, fix=fix)


def _require_few_isolated(read: Sequence[OneGraph], where: str) -> None:
    total = sum(graph.nodes for graph in read)
    shown = sum(2 * len(graph.edges) + len(graph.node_labels or ()) for graph in read)
    if total > max(_MOST_ISOLATED, _ISOLATED_PER_END * shown):
        fix = "Check the numbers of nodes."
        raise InputError(f"graphs with {total:,} nodes, nearly all without edges", where=where, fix=fix)


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(sorted(map(str, given)))


def _parts(value: Any, where: str, axes: tuple[int, ...]) -> list[Any]:
    """The parts of a stack, or of a list."""
    dimensions = getattr(value, "ndim", None)
    if not isinstance(value, list | tuple) and dimensions not in axes:
        found = type(value).__name__ if dimensions is None else f"an array of shape {tuple(value.shape)}"
        raise InputError(f"found {found}", where=where, fix="Adjacency matrices have shape (n, N, N).")
    return list(on_host(value, where))


def _distinct(
    edges: Ints, owner: Ints, words: Words | None, where: str, *, directed: bool
) -> tuple[Ints, Ints, Words | None]:
    """The edges of each graph, sorted and each once, with their graph and their labels."""
    edges = edges if directed else np.sort(edges, axis=1)
    order = np.lexsort((edges[:, 1], edges[:, 0], owner))
    edges, owner, words = edges[order], owner[order], None if words is None else words[order]
    same = (edges[1:] == edges[:-1]).all(axis=1) & (owner[1:] == owner[:-1])
    if words is not None:
        unlike = np.flatnonzero(same & (words[1:] != words[:-1]))
        if unlike.size:
            source, target = edges[unlike[0]].tolist()
            fix = "Label both directions alike, or ignore the labels with edge_labels=[]."
            own = f"{where}[{owner[unlike[0]]}]"
            raise InputError(f"the edge between {source} and {target} has two labels", where=own, fix=fix)
    kept = np.append(True, ~same) if len(edges) else np.empty(0, bool)
    return edges[kept], owner[kept], None if words is None else words[kept]


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """All numbers of some ranges, one range after the other."""
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths), np.int64)


def rows_of(items: Any, rows: Any) -> Any:
    """Some of the samples, by index or mask: graphs, molecules, the rows of an array or a list, or of each column."""
    if isinstance(items, Mapping):
        return {name: rows_of(column, rows) for name, column in items.items()}
    if isinstance(items, list | tuple):
        return [items[place] for place in np.arange(len(items))[np.asarray(rows)]]
    return items.take(rows) if hasattr(items, "joined") else items[rows]


def concatenated(first: Any, second: Any) -> Any:
    """Samples of the first collection and then those of the second, of one kind; either may be None."""
    if first is None or second is None:
        return second if first is None else first
    return first.joined(second) if hasattr(first, "joined") else np.concatenate([first, second])
