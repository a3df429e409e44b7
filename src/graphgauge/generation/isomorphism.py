"""Which graphs are isomorphic: colour refinement, then canonical forms by individualisation and refinement.

Graphs that differ under colour refinement are not isomorphic (Weisfeiler and Leman 1968). The others are brought into
a canonical form (McKay and Piperno 2014), by a search that is bounded; a graph beyond the bound is compared by its
colours alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
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


def canonical_form(graphs: Graphs, index: int, *, most: int = MOST_REFINEMENTS) -> bytes | None:
    """Bytes that are equal for isomorphic graphs only; None if the search exceeds its bound."""
    start = int(graphs.starts[index])
    nodes = slice(start, start + int(graphs.nodes[index]))
    edges = slice(int(graphs.offsets[index]), int(graphs.offsets[index + 1]))
    form, _, undecided = _core.graph_words(
        graphs.nodes[index : index + 1],
        np.array([0, edges.stop - edges.start]),
        np.ascontiguousarray(graphs.edges[edges], np.int64),
        None if graphs.node_labels is None else graphs.node_labels[nodes],
        None if graphs.edge_labels is None else graphs.edge_labels[edges],
        directed=graphs.directed,
        bound=most,
    )
    return None if undecided[0] else bytes(form.tobytes())
