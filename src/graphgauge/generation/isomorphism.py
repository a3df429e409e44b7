"""Which graphs are isomorphic: colour refinement, then canonical forms by individualisation and refinement.

Graphs that differ under colour refinement are not isomorphic (Weisfeiler and Leman 1968). The others are brought into
a canonical form (McKay and Piperno 2014): nodes of the first cell of equal colours are singled out one by one, the
colours are refined again, and the smallest of the numberings that result is the form. The search of one graph is
bounded; a graph beyond the bound is compared by its colours alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints
from graphgauge.generation.graph_reading import Words
from graphgauge.generation.graphs import Graphs, require_alike, require_same_labels

# Rounds of colour refinement on all graphs at once.
ROUNDS = 4
# Refinements in the search of one graph at most; random regular graphs of 60 nodes need about 100.
MOST_REFINEMENTS = 4000


class GraphIds(NamedTuple):
    """Ids of each collection, and how many graphs were compared by their colours alone."""

    ids: tuple[Ints, ...]
    undecided: int


def graph_ids(*collections: Graphs, most: int = MOST_REFINEMENTS) -> tuple[Ints, ...]:
    """Ids that are equal if and only if graphs are isomorphic, over all collections together."""
    return compared(*collections, most=most).ids


def compared(*collections: Graphs, most: int = MOST_REFINEMENTS) -> GraphIds:
    """The same, with the number of graphs that exceed the bound: those may be equal without being isomorphic."""
    _alike(collections)
    alike: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for place, graphs in enumerate(collections):
        before = refined(graphs, ROUNDS - 1)
        colours = _refined_once(before, _links(graphs.through, graphs.edge_labels, graphs.directed))
        signature = np.zeros(len(graphs), np.uint64)
        np.add.at(signature, graphs.owner, mixed(colours))
        # If every node has a colour of its own, another round of equal colours maps neighbours to neighbours.
        settled = _all_different(before, graphs)
        keys = graphs.nodes.tolist(), np.diff(graphs.offsets).tolist(), signature.tolist(), settled.tolist()
        for index, key in enumerate(zip(*keys, strict=True)):
            alike[key].append((place, index))
    ids = [np.empty(len(graphs), np.int64) for graphs in collections]
    known, undecided = 0, 0
    for (*_, settled), members in alike.items():
        found: list[bytes | None] = [b""] * len(members)
        # Graphs with the same edges are equal without a search.
        plain = [] if settled else [_plain_form(collections[place], index) for place, index in members]
        different = dict(zip(plain, members, strict=False))
        if len(different) > 1:
            forms = {
                own: canonical_form(collections[place], index, most=most) for own, (place, index) in different.items()
            }
            found = [forms[own] for own in plain]
        if None in found:
            undecided += len(members)
            found = [b""] * len(members)
        number = {form: known + place for place, form in enumerate(dict.fromkeys(found))}
        for (place, index), form in zip(members, found, strict=True):
            ids[place][index] = number[form]
        known += len(number)
    return GraphIds(_in_order(ids), undecided)


def _all_different(colours: Words, graphs: Graphs) -> NDArray[np.bool_]:
    """Whether the nodes of each graph have different colours."""
    found = np.ones(len(graphs), bool)
    order = np.lexsort((colours, graphs.owner))
    owner, colours = graphs.owner[order], colours[order]
    found[owner[1:][(owner[1:] == owner[:-1]) & (colours[1:] == colours[:-1])]] = False
    return found


def _in_order(ids: list[Ints]) -> tuple[Ints, ...]:
    """The same ids, numbered in the order of their first occurrence."""
    joined = np.concatenate(ids) if ids else np.empty(0, np.int64)
    _, first, inverse = np.unique(joined, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return tuple(np.split(rank[inverse], np.cumsum([len(part) for part in ids])[:-1]))


def _alike(collections: tuple[Graphs, ...]) -> None:
    """Refuse to compare graphs of different kinds."""
    given = [graphs for graphs in collections if len(graphs)]
    require_alike(given)
    require_same_labels([graphs.labelled[0] for graphs in given if graphs.nodes.any()], "node", "graphs")
    require_same_labels([graphs.labelled[1] for graphs in given if len(graphs.edges)], "edge", "graphs")


def _plain_form(graphs: Graphs, index: int) -> bytes:
    nodes = slice(int(graphs.starts[index]), int(graphs.starts[index] + graphs.nodes[index]))
    edges = slice(int(graphs.offsets[index]), int(graphs.offsets[index + 1]))
    parts: list[NDArray[Any]] = [graphs.edges[edges]]
    parts += [graphs.node_labels[nodes]] if graphs.node_labels is not None else []
    parts += [graphs.edge_labels[edges]] if graphs.edge_labels is not None else []
    return b"|".join(part.tobytes() for part in parts)


def refined(graphs: Graphs, rounds: int = ROUNDS) -> Words:
    """A number for each node of all graphs that is invariant under isomorphism."""
    links = _links(graphs.through, graphs.edge_labels, graphs.directed)
    size = int(graphs.nodes.sum())
    colours = np.zeros(size, np.uint64) if graphs.node_labels is None else graphs.node_labels.copy()
    np.add.at(colours, links.source, mixed(links.words))
    for _ in range(rounds):
        colours = _refined_once(colours, links)
    return colours


# Colours are counted in this many bins per round.
_BINS = 512


def colour_counts(graphs: Graphs, rounds: int = 1) -> NDArray[np.float64]:
    """Counts (n, bins) of the colours of each graph's nodes after 0 … `rounds` rounds; near graphs have near counts."""
    links = _links(graphs.through, graphs.edge_labels, graphs.directed)
    colours = refined(graphs, 0)
    found = []
    for turn in range(rounds + 1):
        colours = _refined_once(colours, links) if turn else colours
        bins = (mixed(colours) % np.uint64(_BINS)).astype(np.int64)
        counts = np.bincount(graphs.owner * _BINS + bins, minlength=len(graphs) * _BINS)
        found.append(counts.reshape(len(graphs), _BINS).astype(float))
    return np.concatenate(found, axis=1)


# Edges of all graphs without an edge together, up to which these are refined.
_MOST_LEFT = 3_000_000


def without_an_edge(graphs: Graphs) -> tuple[Ints, Words]:
    """Signatures of each graph and of it without each of its edges, and the graph of each signature.

    Isomorphic graphs have equal signatures. None of large graphs, whose colours show small changes as well.
    """
    counts = np.diff(graphs.offsets)
    # The smallest first, as long as there is room.
    order = np.argsort(counts, kind="stable")
    chosen = np.sort(order[np.cumsum(counts[order] ** 2) <= _MOST_LEFT])
    few = graphs.take(chosen)
    counts = np.diff(few.offsets)
    # Copies of each graph, one per edge; the edge with the number of the copy is left out.
    source = np.repeat(np.arange(len(few)), counts)
    copies = few.take(source)
    number = np.arange(len(source)) - np.repeat(few.offsets[:-1], counts)
    missing = copies.offsets[:-1] + number
    kept = np.ones(len(copies.edges), bool)
    kept[missing] = False
    left = replace(
        copies,
        edges=copies.edges[kept],
        offsets=copies.offsets - np.arange(len(copies) + 1),
        edge_labels=None if copies.edge_labels is None else copies.edge_labels[kept],
    )
    words = np.concatenate([_signatures(few), _signatures(left)])
    return chosen[np.concatenate([np.arange(len(few)), source])], words


def _signatures(graphs: Graphs) -> Words:
    found = mixed(graphs.nodes.astype(np.uint64))
    np.add.at(found, graphs.owner, mixed(refined(graphs)))
    return found


class Links(NamedTuple):
    """Edges as seen from their source; an edge of a directed graph is seen from its target with another word."""

    source: Ints
    target: Ints
    words: Words


def _links(edges: Ints, labels: Words | None, directed: bool) -> Links:
    words = np.ones(len(edges), np.uint64) if labels is None else labels
    back = mixed(words) if directed else words
    return Links(
        np.concatenate([edges[:, 0], edges[:, 1]]),
        np.concatenate([edges[:, 1], edges[:, 0]]),
        np.concatenate([words, back]),
    )


def _refined_once(colours: Words, links: Links) -> Words:
    around = np.zeros(len(colours), np.uint64)
    np.add.at(around, links.source, mixed(mixed(colours)[links.target] + links.words))
    return mixed(colours + mixed(around))


def mixed(words: Words) -> Words:
    """Mix the bits of a word (splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


# -------------------------------------------------------------------------------------------------- canonical forms


class _TooSymmetric(Exception):
    """The search of a graph exceeds its bound."""


def canonical_form(graphs: Graphs, index: int, *, most: int = MOST_REFINEMENTS) -> bytes | None:
    """Bytes that are equal for isomorphic graphs only; None if the search exceeds its bound.

    Components are searched separately, so that equal components do not multiply the search.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    size, edges = int(graphs.nodes[index]), graphs[index]
    start = int(graphs.starts[index])
    own = slice(int(graphs.offsets[index]), int(graphs.offsets[index + 1]))
    nodes = None if graphs.node_labels is None else graphs.node_labels[start : start + size]
    labels = None if graphs.edge_labels is None else graphs.edge_labels[own]
    adjacency = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(size, size))
    count, part = connected_components(adjacency, directed=False)
    budget, forms = [most], []
    try:
        for component in range(count):
            members = np.flatnonzero(part == component)
            inside = part[edges[:, 0]] == component
            number = np.full(size, -1)
            number[members] = np.arange(len(members))
            search = _Search(
                len(members),
                number[edges[inside]],
                None if nodes is None else nodes[members],
                None if labels is None else labels[inside],
                graphs.directed,
                budget,
            )
            forms.append(search.form())
    except _TooSymmetric:
        return None
    return b"/".join([str(size).encode(), *sorted(forms)])


class _Search:
    """The search tree of one connected graph."""

    def __init__(
        self, size: int, edges: Ints, nodes: Words | None, labels: Words | None, directed: bool, budget: list[int]
    ) -> None:
        self.size, self.edges, self.labels, self.directed = size, edges, labels, directed
        self.nodes = np.zeros(size, np.uint64) if nodes is None else nodes
        self.links, self._budget = _links(edges, labels, directed), budget
        # In a tree, nodes of equal colour are images of each other: one of them is as good as all.
        self._any = len(edges) < size and not directed

    def form(self) -> bytes:
        return self._best(self._stable(self.nodes))

    def _best(self, colours: Words) -> bytes:
        """The smallest numbering below these colours."""
        cell = self._cell(colours)
        if cell is None:
            return self._numbered(colours)
        if self._any or self._twins(cell):
            return self._best(self._stable(self._singled(colours, cell[0])))
        children = [self._stable(self._singled(colours, node)) for node in cell]
        # Only children with the smallest invariant can contain the smallest numbering; isomorphic graphs agree on them.
        keys = [np.sort(child).tobytes() for child in children]
        chosen = [child for child, key in zip(children, keys, strict=True) if key == min(keys)]
        best = self._best(chosen[0])
        first = self._leaf(chosen[0])
        for child in chosen[1:]:
            # Equal numberings are an automorphism: the subtree repeats the first one.
            if self._leaf(child) != first:
                best = min(best, self._best(child))
        return best

    def _leaf(self, colours: Words) -> bytes:
        """The numbering at the end of one path."""
        while (cell := self._cell(colours)) is not None:
            colours = self._stable(self._singled(colours, cell[0]))
        return self._numbered(colours)

    def _cell(self, colours: Words) -> Ints | None:
        """The nodes of the smallest colour that several nodes have."""
        values, inverse, counts = np.unique(colours, return_inverse=True, return_counts=True)
        if len(values) == self.size:
            return None
        several = np.flatnonzero(counts > 1)
        chosen = several[np.argmin(counts[several])]  # of the smallest cells, the one with the smallest colour
        return np.flatnonzero(inverse == chosen)

    def _twins(self, cell: Ints) -> bool:
        """Whether all nodes of a cell have the same neighbours, apart from each other."""
        first = self._around(cell[0])
        outside = {key: word for key, word in first.items() if key[0] not in cell}
        words = {word for key, word in first.items() if key[0] in cell}
        inner = len(first) - len(outside)
        if inner not in (0, len(cell) - 1) or len(words) > 1:
            return False
        for node in cell[1:]:
            own = self._around(node)
            if {key: word for key, word in own.items() if key[0] not in cell} != outside:
                return False
            if len(own) - len(outside) != inner or {word for key, word in own.items() if key[0] in cell} != words:
                return False
        return not (self.directed and inner)

    def _around(self, node: int) -> dict[tuple[int, int], int]:
        places = np.flatnonzero(self.links.source == node)
        forward = (places < len(self.edges)).astype(int) if self.directed else np.zeros(len(places), int)
        ends = zip(self.links.target[places].tolist(), forward.tolist(), strict=True)
        return dict(zip(ends, self.links.words[places].tolist(), strict=True))

    def _singled(self, colours: Words, node: int) -> Words:
        changed = colours.copy()
        changed[node] = mixed(changed[node : node + 1] ^ np.uint64(0xD6E8FEB86659FD93))[0]
        return changed

    def _stable(self, colours: Words) -> Words:
        """Colours refined until no further ones appear."""
        if not self._budget[0]:
            raise _TooSymmetric
        self._budget[0] -= 1
        count = len(np.unique(colours))
        while True:
            colours = _refined_once(colours, self.links)
            found = len(np.unique(colours))
            if found == count:
                return colours
            count = found

    def _numbered(self, colours: Words) -> bytes:
        """The graph with its nodes numbered by colour."""
        number = np.empty(self.size, np.int64)
        order = np.argsort(colours)
        number[order] = np.arange(self.size)
        edges = number[self.edges]
        if not self.directed:
            edges = np.sort(edges, axis=1)
        sequence = np.lexsort((edges[:, 1], edges[:, 0]))
        labels: NDArray[Any] = np.empty(0) if self.labels is None else self.labels[sequence]
        return b"|".join([self.nodes[order].tobytes(), edges[sequence].tobytes(), labels.tobytes()])
