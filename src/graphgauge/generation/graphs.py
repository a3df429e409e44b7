"""Graphs as samples: simple, undirected and unlabelled; isomorphic graphs are equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need

Words = NDArray[np.uint64]

# Rounds of colour refinement; graphs that still look equal are compared exactly.
_ROUNDS = 4
# Maximum number of nodes of all graphs together; more would exhaust the memory.
_MOST_NODES = 20_000_000


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs one after the other: graph i has nodes 0 … nodes[i] − 1 and edges[offsets[i]:offsets[i + 1]].

    Every edge is stored once, with its smaller end first, and the edges of a graph are sorted.
    """

    nodes: Ints
    offsets: Ints
    edges: Ints

    @classmethod
    def of(cls, value: Any, name: str = "graphs") -> Graphs:
        """From a list of networkx graphs, of edge lists (E, 2), or of pairs (number of nodes, edge list).

        An edge list cannot contain isolated nodes: its nodes are those that occur.
        """
        if isinstance(value, Graphs):
            return value
        read = [_graph(graph, f"{name}[{index}]") for index, graph in enumerate(value)]
        total = sum(count for count, _ in read)
        if total > _MOST_NODES:
            raise InputError(f"graphs with {total:.3g} nodes together; the limit is {_MOST_NODES}", where=name)
        nodes = np.array([count for count, _ in read], np.int64)
        offsets = np.append(0, np.cumsum([len(edges) for _, edges in read], dtype=np.int64)).astype(np.int64)
        edges = np.concatenate([edges for _, edges in read]) if read else np.empty((0, 2), np.int64)
        return cls(nodes, offsets, edges)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> Ints:
        """The edges of one graph."""
        return self.edges[self.offsets[index] : self.offsets[index + 1]]

    def take(self, index: NDArray[Any]) -> Graphs:
        """Some of the graphs, by a mask or by index."""
        places = np.arange(len(self))[index]
        edges = [self[place] for place in places]
        lengths = np.array([len(part) for part in edges], np.int64)
        joined = np.concatenate(edges) if edges else np.empty((0, 2), np.int64)
        return Graphs(self.nodes[places], np.append(0, np.cumsum(lengths)).astype(np.int64), joined)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arguments of `Graphs(**arrays)`."""
        return {"nodes": self.nodes, "offsets": self.offsets, "edges": self.edges}

    @cached_property
    def owner(self) -> Ints:
        """The graph of each node."""
        return np.repeat(np.arange(len(self)), self.nodes)

    @cached_property
    def ends(self) -> Ints:
        """The edges in both directions, with the nodes of all graphs numbered consecutively."""
        start = np.append(0, np.cumsum(self.nodes))[:-1]
        through = self.edges + np.repeat(start, np.diff(self.offsets))[:, np.newaxis]
        return np.concatenate([through, through[:, ::-1]])

    @cached_property
    def degrees(self) -> Ints:
        return np.bincount(self.ends[:, 0], minlength=int(self.nodes.sum()))


def is_graphs(value: Any) -> bool:
    """Whether this is a list of graphs rather than an array of samples."""
    if isinstance(value, Graphs):
        return True
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(_is_graph(item) for item in value)


def graph_ids(*collections: Graphs) -> tuple[Ints, ...]:
    """Ids that are equal if and only if graphs are isomorphic, over all collections together.

    Graphs that differ under colour refinement are not isomorphic (Weisfeiler and Leman 1968); the others are compared
    exactly.
    """
    classes: dict[tuple[int, int, int], list[tuple[int, int, Ints, Words]]] = defaultdict(list)
    found, known = [], 0
    for graphs in collections:
        colours = _colours(graphs)
        signature = np.zeros(len(graphs), np.uint64)
        np.add.at(signature, graphs.owner, _mixed(colours))
        starts = np.append(0, np.cumsum(graphs.nodes))
        ids = np.empty(len(graphs), np.int64)
        for index in range(len(graphs)):
            edges, own = graphs[index], colours[starts[index] : starts[index + 1]]
            alike = classes[int(graphs.nodes[index]), len(edges), int(signature[index])]
            for known_id, nodes, other_edges, other in alike:
                if _isomorphic(nodes, edges, own, other_edges, other):
                    ids[index] = known_id
                    break
            else:
                alike.append((known, int(graphs.nodes[index]), edges, own))
                ids[index], known = known, known + 1
        found.append(ids)
    return tuple(found)


def _colours(graphs: Graphs) -> Words:
    """A number for each node of all graphs that is invariant under isomorphism."""
    colours = graphs.degrees.astype(np.uint64)
    source, target = graphs.ends.T
    for _ in range(_ROUNDS):
        around = np.zeros(len(colours), np.uint64)
        np.add.at(around, source, _mixed(colours)[target])
        colours = _mixed(colours + _mixed(around))
    return colours


def _mixed(words: Words) -> Words:
    """Mix the bits of a word (splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _isomorphic(nodes: int, edges: Ints, colours: Words, other_edges: Ints, other_colours: Words) -> bool:
    if np.array_equal(edges, other_edges):
        return True
    networkx = need("networkx", "comparing graphs up to isomorphism")

    def coloured(ends: Ints, own: Words) -> Any:
        graph = networkx.Graph()
        graph.add_nodes_from((node, {"colour": int(colour)}) for node, colour in enumerate(own))
        graph.add_edges_from(ends.tolist())
        return graph

    same_colour = networkx.algorithms.isomorphism.categorical_node_match("colour", None)
    first, second = coloured(edges, colours), coloured(other_edges, other_colours)
    return bool(networkx.is_isomorphic(first, second, node_match=same_colour))


def is_networkx(value: Any) -> bool:
    return hasattr(value, "edges") and hasattr(value, "nodes") and hasattr(value, "is_directed")


def _is_graph(value: Any) -> bool:
    if is_networkx(value):
        return True
    if _is_pair(value):
        value = value[1]
    if isinstance(value, np.ndarray):
        return value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind in "iu"
    return isinstance(value, list | tuple) and all(isinstance(edge, list | tuple) and len(edge) == 2 for edge in value)


def _is_pair(value: Any) -> bool:
    """(number of nodes, edges)."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int | np.integer)


def _graph(value: Any, where: str) -> tuple[int, Ints]:
    """The number of nodes, and the edges as pairs of node indices."""
    if not _is_graph(value):
        raise InputError(
            f"expected a graph, found {type(value).__name__}", where=where,
            fix="Pass a networkx graph, an edge list (E, 2), or (number of nodes, edge list).",
        )  # fmt: skip
    if is_networkx(value):
        if value.is_directed() or value.is_multigraph():
            raise InputError(
                f"expected a simple undirected graph, found {type(value).__name__}", where=where,
                fix="Convert it with networkx.Graph(graph).",
            )  # fmt: skip
        place = {node: index for index, node in enumerate(value.nodes)}
        return len(place), _edges([(place[a], place[b]) for a, b in value.edges], where)
    if _is_pair(value):
        edges = _edges(value[1], where)
        if value[0] < 0 or edges.max(initial=-1) >= value[0] or edges.min(initial=0) < 0:
            raise InputError(f"its edges refer to nodes beyond its {value[0]} nodes", where=where)
        return int(value[0]), edges
    names: dict[Any, int] = {}
    try:
        numbered = [[names.setdefault(end, len(names)) for end in edge] for edge in _listed(value)]
    except TypeError as error:
        raise InputError(f"the name of a node is not hashable ({error})", where=where) from None
    return len(names), _edges(numbered, where)


def _listed(value: NDArray[Any] | Sequence[Any]) -> Sequence[Any]:
    listed: Sequence[Any] = value.tolist() if isinstance(value, np.ndarray) else value
    return listed


def _edges(value: Any, where: str) -> Ints:
    """Distinct sorted edges with the smaller end first."""
    ends = np.asarray(value)
    if ends.size and ends.dtype.kind not in "iu":
        raise InputError("some ends of edges are not integers", where=where, fix="Count nodes from 0.")
    edges = np.sort(ends.astype(np.int64).reshape(-1, 2), axis=1)
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if loops.size:
        node = int(edges[loops[0], 0])
        raise InputError(
            f"{loops.size} self-loops, the first at node {node}", where=where, fix="Remove them: graphs must be simple."
        )
    return np.unique(edges, axis=0)
