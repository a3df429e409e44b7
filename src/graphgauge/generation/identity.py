"""Which samples are equal, and whose nearest neighbours are training samples rather than real held-out ones.

Bits are equal if all are, graphs if they are isomorphic with their labels, molecules if their canonical SMILES are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.generation.averages import flat
from graphgauge.generation.distances import Words, jaccard_distances, packed
from graphgauge.generation.graph_features import cityblock
from graphgauge.generation.graphs import Graphs, concatenated, require_alike
from graphgauge.generation.levels import MOST, rewire
from graphgauge.generation.molecules import Molecules
from graphgauge.generation.two_sample import at_most

# Refinements in the search of one graph at most; random regular graphs of 60 nodes need about 100.
MOST_REFINEMENTS = 4000
# Rounds of colour refinement by which near graphs are found, and bins that colours are counted in.
_ROUNDS, _BINS = 4, 512
# Edges of all graphs without an edge together, up to which these are compared.
_MOST_LEFT = 3_000_000
# Training graphs that are rewired, and generated ones that are compared with them, at most.
_REWIRED = 100


class Identity(NamedTuple):
    """Ids of each side, and how many graphs exceed the bound of the search: those may be equal without being so."""

    ids: tuple[Ints, ...]
    undecided: int = 0


def codes(*sides: Any, bound: int = MOST_REFINEMENTS) -> Identity:
    """Ids that are equal if and only if samples are, over all sides together, numbered as they first occur.

    All sides are of one kind and shape. A graph whose search exceeds `bound` refinements is equal to all graphs of its
    size and colours. Molecules that cannot be read are equal to no other.
    """
    undecided = 0
    if isinstance(sides[0], Graphs):
        ids, undecided = _graph_ids(sides, bound)
    elif isinstance(sides[0], Molecules):
        texts = [text or f" {place}" for place, text in enumerate(text for side in sides for text in side.smiles)]
        ids = np.unique(texts, return_inverse=True)[1]
    else:
        ids = _row_ids(np.concatenate([flat(side) for side in sides]))
    lengths = [len(side) for side in sides]
    return Identity(tuple(np.split(_in_order(ids), np.cumsum(lengths)[:-1])), undecided)


def unique_at(ids: AnyArray, k: int) -> float:
    """Expected share of distinct ids among k drawn without replacement; NaN if there are fewer than k.

    An id that occurs m times among n is missed with probability ∏ (n − k − i)/(n − i) over i < m.

    >>> unique_at(np.array([7, 7, 8]), 2)
    0.8333333333333334
    """
    n = len(ids)
    if not 1 <= k <= n:
        return math.nan
    multiplicity = np.unique(ids, return_counts=True)[1]
    drawn = np.arange(multiplicity.max())
    missed = np.cumprod(np.maximum(n - k - drawn, 0) / (n - drawn))
    return min(math.fsum(1 - missed[multiplicity - 1]) / k, 1.0)  # never above 1 by rounding


def _in_order(ids: Ints) -> Ints:
    """The same ids, numbered in the order of their first occurrence."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[inverse.ravel()])


def _row_ids(bits: Mask) -> Ints:
    words = packed(bits.astype(bool))
    if not words.size:
        return np.zeros(len(words), np.int64)  # rows without bits are all equal
    rows = words.view(np.dtype((np.void, words.shape[1] * words.itemsize))).ravel()
    return np.unique(rows, return_inverse=True)[1]


def _graph_ids(sides: tuple[Graphs, ...], bound: int) -> tuple[Ints, int]:
    """Ids from canonical forms; a class of colours with an undecided graph is one id."""
    require_alike(sides)
    parts = [_words(side, bound) for side in sides if len(side)]
    if not parts:
        return np.empty(0, np.int64), 0
    sizes, colours, forms, undecided = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    alike = np.unique(np.column_stack([sizes, colours]), axis=0, return_inverse=True)[1].ravel()
    # A single graph of its colours is different from all others, whether it is decided or not.
    several = np.bincount(alike)[alike] > 1
    doubtful = np.isin(alike, alike[undecided & several])
    forms = np.where(doubtful[:, np.newaxis], np.uint64(0), forms)
    ids = np.unique(np.column_stack([alike.astype(np.uint64), forms]), axis=0, return_inverse=True)[1].ravel()
    return ids, int(doubtful.sum())


def _words(graphs: Graphs, bound: int) -> tuple[Words, Words, Words, Mask]:
    """Numbers of nodes and edges, colours, canonical forms, and whether these are undecided, of each graph."""
    counts = np.diff(graphs.offsets)
    forms, colours, undecided = _core.graph_words(
        graphs.nodes,
        graphs.offsets,
        np.ascontiguousarray(graphs.edges),
        graphs.node_labels,
        graphs.edge_labels,
        directed=graphs.directed,
        bound=bound,
        threads=threads_for(int((graphs.nodes * counts).sum())),
    )
    return np.column_stack([graphs.nodes, counts]).astype(np.uint64), colours, forms, undecided


# ---------------------------------------------------------------------------------------------- nearest neighbours


@dataclass(frozen=True)
class Nearest:
    """The share of generated samples whose nearest neighbour is a training sample, among training and real samples.

    Ties share their weight. `drawn` are draws of the reference generators. `close` is, of graphs, the share that is
    nearer to a training graph than rewired training graphs are, which keep all degrees and are no copies, or
    differs from one by one edge.
    """

    share: float
    n: int
    drawn: Mapping[str, Floats]
    close: float = 1.0


def nearest(made: Any, train: Any, real: Any, near: Any, generator: np.random.Generator, draws: int) -> Nearest:
    """Nearest neighbours of generated samples among training and real ones.

    The distance of bits is Jaccard's, of molecules Tanimoto's (on sparse bits, the emptiest sample would be everybody's
    neighbour in Hamming's). Graphs that differ by one edge, removed, added or moved, are nearer than all others, whose
    distance is that of counts of colours. `near` are near copies of training samples, or None.
    """
    train, real = (at_most(part, 5 * MOST, generator) for part in (train, real))
    made = at_most(made, MOST, generator)
    pool, size = concatenated(train, real), len(train)
    counts = _weights(made, pool).sum(0)
    dealt = [counts[generator.choice(len(pool), size, replace=False)].sum() for _ in range(draws)]
    drawn = {"perfect": np.array(dealt) / len(made)}
    if near is not None and len(near):
        shares = _weights(at_most(near, MOST, generator), pool)[:, :size].sum(1)
        drawn["near_copy"] = np.array([generator.choice(shares, len(made)).mean() for _ in range(draws)])
    share = float(counts[:size].sum() / len(made))
    close = 1.0
    if isinstance(made, Graphs) and share > np.quantile(drawn["perfect"], 0.95):
        some, copied = (at_most(graphs, _REWIRED, generator) for graphs in (made, train))
        far, control = (_graph_distances(each, train).min(1) for each in (some, rewire(copied, generator)))
        close = float(np.mean(far < max(np.quantile(control, 0.05), 0.0)))  # below 0: by one edge at most
    return Nearest(share, len(made), drawn, close)


def _weights(samples: Any, pool: Any) -> Floats:
    """How much of the nearest neighbour of each sample each of the pool is."""
    if isinstance(samples, Graphs):
        distances = _graph_distances(samples, pool)
    elif isinstance(samples, Molecules):
        distances = jaccard_distances(samples.fingerprints, pool.fingerprints)
    else:
        distances = jaccard_distances(flat(samples), flat(pool))
    closest = distances == distances.min(axis=1, keepdims=True)
    return np.asarray(closest / closest.sum(axis=1, keepdims=True))


def _graph_distances(graphs: Graphs, others: Graphs) -> Floats:
    """Distances of counts of colours; those of graphs that differ by one edge at most are below 0.

    Two graphs differ by one edge if one of them, or one of them without an edge, equals the other, or the other without
    an edge.
    """
    from scipy.sparse import csr_array

    far = cityblock(_colour_counts(graphs), _colour_counts(others))
    (owner, words), (other_owner, other_words) = _without_an_edge(graphs), _without_an_edge(others)
    known, place = np.unique(np.concatenate([words, other_words]), return_inverse=True)

    def incidence(rows: Ints, columns: Ints, count: int) -> Any:
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, len(known)))

    has = incidence(owner, place[: len(words)], len(graphs))
    other_has = incidence(other_owner, place[len(words) :], len(others))
    near = (has @ other_has.T).tocoo()
    far[near.row, near.col] = -1 / (1 + far[near.row, near.col])
    return far


def _without_an_edge(graphs: Graphs) -> tuple[Ints, Words]:
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
    missing = copies.offsets[:-1] + np.arange(len(source)) - np.repeat(few.offsets[:-1], counts)
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
    found = _mixed(graphs.nodes.astype(np.uint64))
    np.add.at(found, graphs.owner, _mixed(_colours(graphs)[-1]))
    return found


def _colour_counts(graphs: Graphs) -> Floats:
    """Counts (n, bins) of the colours of each graph's nodes after no round and one; near graphs have near counts."""
    counts = []
    for colours in _colours(graphs, 1):
        bins = (_mixed(colours) % np.uint64(_BINS)).astype(np.int64)
        own = np.bincount(graphs.owner * _BINS + bins, minlength=len(graphs) * _BINS)
        counts.append(own.reshape(len(graphs), _BINS).astype(float))
    return np.concatenate(counts, axis=1)


def _colours(graphs: Graphs, rounds: int = _ROUNDS) -> list[Words]:
    """Numbers of the nodes of all graphs that are invariant under isomorphism, after 0 to `rounds` rounds.

    An edge of a directed graph is seen from its target with another word than from its source.
    """
    edges = graphs.through
    own = np.ones(len(edges), np.uint64) if graphs.edge_labels is None else graphs.edge_labels
    source, target = np.concatenate([edges, edges[:, ::-1]]).T
    labels = np.concatenate([own, _mixed(own) if graphs.directed else own])
    size = int(graphs.nodes.sum())
    colours = np.zeros(size, np.uint64) if graphs.node_labels is None else graphs.node_labels.copy()
    np.add.at(colours, source, _mixed(labels))
    found = [colours]
    for _ in range(rounds):
        around = np.zeros(size, np.uint64)
        np.add.at(around, source, _mixed(_mixed(found[-1])[target] + labels))
        found.append(_mixed(found[-1] + _mixed(around)))
    return found


def _mixed(words: Words) -> Words:
    """Mix the bits of a word (splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
