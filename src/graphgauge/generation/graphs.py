"""Graphs as samples: simple graphs, directed or not, with labels of nodes and edges; isomorphic graphs are equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints, as_numeric, on_host
from graphgauge.core.errors import InputError
from graphgauge.generation.graph_reading import (
    ALL_LABELS,
    LabelNames,
    Words,
    are_matrices,
    as_list,
    is_graph,
    is_graph_object,
    is_stack,
    label_words,
    read_graph,
    read_stack,
)
from graphgauge.kernels.orbits import Neighbourhoods

# Maximum number of nodes of all graphs together; more would exhaust the memory.
_MOST_NODES = 20_000_000
# Nodes that may be stated by their number alone, and how many for each end of an edge: a short file must not ask for
# more memory than there is.
_MOST_ISOLATED, _ISOLATED_PER_END = 1_000_000, 100
# The label of nodes and edges without one.
UNLABELLED = 0


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs one after the other: graph i has nodes 0 … nodes[i] − 1 and edges[offsets[i]:offsets[i + 1]].

    Every edge is stored once, an undirected one with its smaller end first, and the edges of a graph are sorted.
    `node_labels` and `edge_labels` are hashes of the labels, one per node of all graphs and one per edge, if there are
    any.

    Examples
    --------
    >>> from graphgauge import generation
    >>> graphs = generation.Graphs.of([[[0, 1], [1, 2]], [[0, 1]]])
    >>> len(graphs), graphs.nodes.tolist()
    (2, [3, 2])
    >>> len(graphs.take([1]))
    1
    """

    nodes: Ints
    offsets: Ints
    edges: Ints
    node_labels: Words | None = None
    edge_labels: Words | None = None
    directed: bool = False
    # Attributes that are not labels, because they are numbers or arrays.
    ignored: tuple[str, ...] = ()
    # The attributes that the labels are from, if these have names.
    node_names: tuple[str, ...] | None = None
    edge_names: tuple[str, ...] | None = None
    # How many graphs from matrices of one size end in nodes without edges, which may be padding.
    padded: int = 0

    @classmethod
    def of(cls, value: Any, name: str = "graphs", labels: LabelNames = ALL_LABELS, *, padded: bool = False) -> Graphs:
        """From a list of networkx graphs, PyG data, adjacency matrices, edge lists (E, 2), pairs (number of nodes, edge
        list), or pairs [types of nodes (N,), types of edges (N, N)]; or from a stack (n, N, N) of adjacency matrices.

        An edge list cannot contain isolated nodes: its nodes are those that occur. Attributes of networkx graphs that
        are text, whole numbers or truth values are labels, unless `labels` names others. `padded`: the last nodes of an
        adjacency matrix that have no edges are padding, and no nodes.

        Parameters
        ----------
        value
            The graphs.
        name
            What errors call them.
        labels
            The attributes that are labels of nodes and edges.
        padded
            Whether the last nodes without edges are padding.

        Returns
        -------
        Graphs
            The graphs.

        Raises
        ------
        InputError
            If an element is no graph; the message names it.
        """
        if isinstance(value, Graphs):
            return value.labelled_by(labels, name)
        value = as_list(value)
        one_size = is_stack(value)
        if one_size:
            value = read_stack(as_numeric(value, name), name, padded=padded)
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise InputError(
                f"expected a list of graphs, found {_described(value)}",
                where=name,
                fix="Adjacency matrices have shape (n, N, N).",
            )
        matrices = are_matrices(value)
        one_size = one_size or (matrices and len({item.shape for item in value}) == 1)
        read = [
            read_graph(graph, f"{name}[{index}]", labels, matrix=matrices, padded=padded)
            for index, graph in enumerate(value)
        ]
        isolated = sum(graph.listed.max(initial=-1) < graph.nodes - 1 for graph in read) if one_size else 0
        total = sum(graph.nodes for graph in read)
        if total > _MOST_NODES:
            raise InputError(f"graphs with {total:.3g} nodes together; the limit is {_MOST_NODES}", where=name)
        shown = sum(2 * len(graph.listed) + (graph.nodes if graph.node_values else 0) for graph in read)
        if total > max(_MOST_ISOLATED, _ISOLATED_PER_END * shown):
            raise InputError(
                f"graphs with {total:,} nodes, nearly all without edges", where=name, fix="Check the numbers of nodes."
            )
        kinds = {graph.directed for graph in read if len(graph.listed)}
        if len(kinds) > 1:
            raise InputError("some graphs are directed and others are not", where=name, fix="Convert them to one kind.")
        directed = kinds == {True}
        chosen = (
            label_words([graph.node_values for graph in read], labels.nodes, "node", name, some=total > 0),
            label_words(
                [graph.edge_values for graph in read],
                labels.edges,
                "edge",
                name,
                some=any(len(graph.listed) for graph in read),
            ),
        )
        require_same_labels(
            [words is not None for words, graph in zip(chosen[0].words, read, strict=True) if graph.nodes], "node", name
        )
        require_same_labels(
            [words is not None for words, graph in zip(chosen[1].words, read, strict=True) if len(graph.listed)],
            "edge",
            name,
        )
        sorted_edges = [
            _sorted(graph.listed, words, f"{name}[{index}]", directed=directed)
            for index, (graph, words) in enumerate(zip(read, chosen[1].words, strict=True))
        ]
        nodes = np.array([graph.nodes for graph in read], np.int64)
        offsets = np.append(0, np.cumsum([len(edges) for edges, _ in sorted_edges], dtype=np.int64)).astype(np.int64)
        edges = np.concatenate([edges for edges, _ in sorted_edges]) if read else np.empty((0, 2), np.int64)
        others = (attribute for graph in read for attribute in graph.others)
        return cls(
            nodes,
            offsets,
            edges,
            _joined(chosen[0].words, nodes),
            _joined([words for _, words in sorted_edges], np.diff(offsets)),
            directed,
            tuple(dict.fromkeys((*chosen[0].ignored, *chosen[1].ignored, *others))),
            chosen[0].names,
            chosen[1].names,
            int(isolated),
        )

    def labelled_by(self, labels: LabelNames, name: str) -> Graphs:
        """The same graphs without the labels that are not asked for.

        Parameters
        ----------
        labels
            The names of the labels to keep.
        name
            What errors call the graphs.

        Returns
        -------
        Graphs
            The graphs.

        Raises
        ------
        InputError
            If the graphs have no labels of these names.
        """
        for kind, wanted, words, known in (
            ("node", labels.nodes, self.node_labels, self.node_names),
            ("edge", labels.edges, self.edge_labels, self.edge_names),
        ):
            if wanted and words is not None and (known is None or set(wanted) != set(known)):
                own = "have no names" if known is None else f"are {', '.join(known)}"
                fix = f"Ignore them with {kind}_labels=[]."
                raise InputError(f"labels of {kind}s {own}", where=name, fix=fix)
        found = self
        if labels.nodes == ():
            found = replace(found, node_labels=None, node_names=None)
        if labels.edges == ():
            found = replace(found, edge_labels=None, edge_names=None)
        return found

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, index: int) -> Ints:
        """The edges of one graph."""
        return self.edges[self.offsets[index] : self.offsets[index + 1]]

    def take(self, index: NDArray[Any]) -> Graphs:
        """Some of the graphs, by a mask or by index.

        Parameters
        ----------
        index
            A mask (n,), or the numbers of graphs.

        Returns
        -------
        Graphs
            The chosen graphs.
        """
        places = np.arange(len(self))[on_host(index, "index")]
        lengths = np.diff(self.offsets)[places]
        chosen = _ranges(self.offsets[places], lengths)
        of_nodes = _ranges(self.starts[places], self.nodes[places])
        return replace(
            self,
            nodes=self.nodes[places],
            offsets=np.append(0, np.cumsum(lengths)).astype(np.int64),
            edges=self.edges[chosen],
            node_labels=None if self.node_labels is None else self.node_labels[of_nodes],
            edge_labels=None if self.edge_labels is None else self.edge_labels[chosen],
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arguments of `Graphs(**arrays)`.

        Returns
        -------
        dict[str, NDArray[Any]]
            The arrays by the names of the arguments.
        """
        arrays: dict[str, NDArray[Any]] = {"nodes": self.nodes, "offsets": self.offsets, "edges": self.edges}
        if self.node_labels is not None:
            arrays["node_labels"] = self.node_labels
        if self.edge_labels is not None:
            arrays["edge_labels"] = self.edge_labels
        for name in ("node_names", "edge_names"):
            if getattr(self, name) is not None:
                arrays[name] = np.array(getattr(self, name))
        return arrays | ({"directed": np.array(True)} if self.directed else {})

    @property
    def labelled(self) -> tuple[bool, bool]:
        """Whether nodes and edges have labels."""
        return self.node_labels is not None, self.edge_labels is not None

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
        """Neighbours, for triangles and orbits."""
        return Neighbourhoods.of(self.ends, int(self.nodes.sum()))

    @cached_property
    def degrees(self) -> Ints:
        """Degrees in the underlying undirected graphs."""
        return np.bincount(self.ends[:, 0], minlength=int(self.nodes.sum()))


def _described(value: Any) -> str:
    return f"an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__


def rows_of(samples: Any, rows: Any) -> Any:
    """Some of the samples, by index or mask: graphs, or an array."""
    return samples.take(rows) if isinstance(samples, Graphs) else samples[rows]


def concatenated(first: Any, second: Any) -> Any:
    """Samples of the first collection and then those of the second: both graphs, or both arrays; either may be None."""
    if first is None or second is None:
        return second if first is None else first
    if not isinstance(first, Graphs):
        return np.concatenate([first, second])
    return Graphs(
        np.concatenate([first.nodes, second.nodes]),
        np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
        np.concatenate([first.edges, second.edges]),
        _joined([first.node_labels, second.node_labels], np.array([first.nodes.sum(), second.nodes.sum()])),
        _joined([first.edge_labels, second.edge_labels], np.array([len(first.edges), len(second.edges)])),
        first.directed or second.directed,
        tuple(dict.fromkeys((*first.ignored, *second.ignored))),
        first.node_names or second.node_names,
        first.edge_names or second.edge_names,
        first.padded + second.padded,
    )


def require_same_labels(labelled: Iterable[bool], kind: str, where: str) -> None:
    """Refuse to compare graphs with and without labels, which would all differ."""
    if len(set(labelled)) > 1:
        raise InputError(
            f"some graphs have labelled {kind}s and others do not",
            where=where,
            fix=f"Label all of them, or ignore the labels with {kind}_labels=[] (on the command line, "
            f'--{kind}-labels ""). '
            f"Floats are labels only if {kind}_labels names them.",
        )


def _joined(parts: Sequence[Words | None], sizes: Ints) -> Words | None:
    if all(part is None for part in parts):
        return None
    filled = [
        np.full(int(size), UNLABELLED, np.uint64) if part is None else part
        for part, size in zip(parts, sizes, strict=True)
    ]
    return np.concatenate(filled).astype(np.uint64)


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """All numbers of some ranges, one range after the other."""
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths), np.int64)


def is_graphs(value: Any) -> bool:
    """Whether this is a list of graphs rather than an array of samples."""
    if isinstance(value, Graphs):
        return True
    value = as_list(value)
    if not isinstance(value, list | tuple) or not value:
        return False
    if all(map(is_graph, value)) or any(map(is_graph_object, value)):
        return True
    # Square arrays of one size may be samples of bits.
    return are_matrices(value) and (len({item.shape for item in value}) > 1 or hasattr(value[0], "toarray"))


def require_alike(collections: Iterable[Graphs], where: str = "graphs") -> None:
    """Refuse to compare directed graphs with others, labelled ones with others, and labels of different attributes."""
    given = [graphs for graphs in collections if len(graphs)]
    if len({graphs.directed for graphs in given if len(graphs.edges)}) > 1:
        raise InputError(
            "some graphs are directed and others are not",
            where=where,
            fix="Convert them to one kind. PyG data that list each edge once are read as directed: use to_undirected.",
        )
    require_same_labels((graphs.labelled[0] for graphs in given if graphs.nodes.any()), "node", where)
    require_same_labels((graphs.labelled[1] for graphs in given if len(graphs.edges)), "edge", where)
    for kind, names in (
        ("node", {graphs.node_names for graphs in given if graphs.node_names}),
        ("edge", {graphs.edge_names for graphs in given if graphs.edge_names}),
    ):
        if len(names) > 1:
            texts = " and by ".join(", ".join(own) for own in sorted(names))
            raise InputError(
                f"{kind}s are labelled by {texts}",
                where=where,
                fix=f"Name the attributes of the labels with {kind}_labels=.",
            )


def _sorted(edges: Ints, words: Words | None, where: str, *, directed: bool) -> tuple[Ints, Words | None]:
    """Distinct sorted edges with their labels."""
    if not directed:
        edges = np.sort(edges, axis=1)
    first, same = _distinct(edges)
    if words is None:
        return edges[first], None
    if len(first) < len(edges) and (words != words[first][same]).any():
        source, target = edges[np.flatnonzero(words != words[first][same])[0]].tolist()
        raise InputError(
            f"the edge between {source} and {target} has two labels",
            where=where,
            fix="Label both directions alike, or ignore the labels with edge_labels=[].",
        )
    return edges[first], words[first]


def _distinct(edges: Ints) -> tuple[Ints, Ints]:
    """The first place of each edge, in the order of the edges, and the edge of each place."""
    low, span = int(edges.min(initial=0)), int(np.ptp(edges)) + 1 if len(edges) else 1
    if span > _LARGEST_SPAN:
        _, first, same = np.unique(edges, axis=0, return_index=True, return_inverse=True)
    else:
        # As one number each, which is many times as fast as by rows.
        keys = (edges[:, 0] - low) * span + (edges[:, 1] - low)
        _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first), np.asarray(same).ravel()


# Numbers of nodes up to this have a product in 64 bits.
_LARGEST_SPAN = 1 << 31
