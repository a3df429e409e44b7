"""Samples of the reference generators: near copies of training samples, and samples without structure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Ints
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.molecules import Molecules


def near_copies(samples: Any, generator: np.random.Generator) -> Any:
    """Each sample with one set bit moved, or one edge; None of molecules and of directed graphs."""
    if isinstance(samples, Molecules) or (isinstance(samples, Graphs) and samples.directed):
        return None
    return _moved_edges(samples, generator) if isinstance(samples, Graphs) else _moved_bits(samples, generator)


def unstructured(samples: Any, count: int, generator: np.random.Generator) -> Any:
    """Rows whose coordinates are drawn separately, or random graphs with the nodes and edges of real ones."""
    if isinstance(samples, Graphs):
        chosen = samples.take(generator.integers(0, len(samples), count))
        sizes = zip(chosen.nodes.tolist(), np.diff(chosen.offsets).tolist(), strict=True)
        return Graphs.from_objects([(nodes, _random_edges(nodes, edges, generator)) for nodes, edges in sizes])
    rows = generator.integers(0, len(samples), (count, samples.shape[1]))
    return samples[rows, np.arange(samples.shape[1])]


def _moved_bits(samples: AnyArray, generator: np.random.Generator) -> AnyArray:
    """Samples that are all 0 or all 1 are unchanged."""
    bits = np.array(samples, copy=True).reshape(len(samples), int(np.prod(np.shape(samples)[1:])))
    if not bits.size:
        return bits.reshape(np.shape(samples))
    mask = bits != 0
    weight = generator.random(bits.shape)
    off, on = np.where(mask, weight, -1).argmax(1), np.where(mask, -1, weight).argmax(1)
    rows = np.flatnonzero(mask.any(1) & ~mask.all(1))
    bits[rows, off[rows]], bits[rows, on[rows]] = 0, 1
    return bits.reshape(np.shape(samples))


def _moved_edges(graphs: Graphs, generator: np.random.Generator) -> Graphs:
    """A moved edge keeps its label. Graphs without edges and complete ones are unchanged."""
    counts, nodes = np.diff(graphs.offsets), graphs.nodes
    movable = np.flatnonzero((counts > 0) & (counts < nodes * (nodes - 1) // 2))
    edges = graphs.edges.copy()
    width = int(nodes.max(initial=1))

    def keys(owner: Ints, pairs: Ints) -> Ints:
        return np.asarray((owner * width + pairs[:, 0]) * width + pairs[:, 1])

    owner = np.repeat(np.arange(len(graphs)), counts)
    known = keys(owner, edges)  # sorted, as edges are
    moved = graphs.offsets[movable] + generator.integers(0, counts[movable])
    waiting = np.arange(len(movable))
    while len(waiting):
        size = nodes[movable[waiting]]
        first = generator.integers(0, size)
        second = (first + generator.integers(1, size)) % size
        pairs = np.sort(np.stack([first, second], axis=1), axis=1)
        wanted = keys(movable[waiting], pairs)
        free = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] != wanted
        edges[moved[waiting[free]]] = pairs[free]
        waiting = waiting[~free]
    order = np.argsort(keys(owner, edges), kind="stable")
    labels = None if graphs.edge_labels is None else graphs.edge_labels[order]
    return replace(graphs, edges=edges[order], edge_labels=labels)


def _random_edges(nodes: int, count: int, generator: np.random.Generator) -> Ints:
    possible = nodes * (nodes - 1) // 2
    pair = generator.choice(possible, min(count, possible), replace=False)
    # Pairs are numbered row by row of the upper triangle, whose rows start here.
    start = np.append(0, np.cumsum(np.arange(nodes - 1, 0, -1)))
    low = np.searchsorted(start, pair, side="right") - 1
    return np.stack([low, pair - start[low] + low + 1], axis=1).astype(np.int64)
