"""Samples of the reference generators."""

from __future__ import annotations

import networkx as nx
import numpy as np

from graphgauge.generation.graphs import Graphs
from graphgauge.generation.levels import near_copies, unstructured


def test_near_copies_differ_by_one_move() -> None:
    rng = np.random.default_rng(0)
    bits = rng.random((50, 2, 10)) < 0.5
    moved = near_copies(bits, rng)
    assert ((bits != moved).sum((1, 2)) == 2).all()
    np.testing.assert_array_equal(bits.sum((1, 2)), moved.sum((1, 2)))
    graphs = Graphs.from_objects([nx.gnp_random_graph(8, 0.4, seed=seed) for seed in range(10)])
    other = near_copies(graphs, rng)
    for index in range(10):
        before, after = (set(map(tuple, side[index].tolist())) for side in (graphs, other))
        assert len(before ^ after) == 2
        assert len(before) == len(after)


def test_what_cannot_be_moved_stays() -> None:
    rng = np.random.default_rng(0)
    whole = near_copies(Graphs.from_objects([nx.complete_graph(4), nx.empty_graph(3)]), rng)
    assert [len(whole[index]) for index in range(2)] == [6, 0]
    flat = np.array([[True, True], [False, False]])
    np.testing.assert_array_equal(near_copies(flat, rng), flat)
    assert near_copies(np.zeros((3, 0), bool), rng).shape == (3, 0)
    assert near_copies(Graphs.from_objects([nx.DiGraph([(0, 1)])]), rng) is None


def test_labels_move_with_their_edges() -> None:
    graph = nx.cycle_graph(6)
    nx.set_edge_attributes(graph, {edge: place for place, edge in enumerate(graph.edges)}, "bond")
    graphs = Graphs.from_objects([graph], edge_labels=["bond"])
    moved = near_copies(graphs, np.random.default_rng(0))
    assert graphs.edge_labels is not None
    assert moved.edge_labels is not None
    assert sorted(graphs.edge_labels.tolist()) == sorted(moved.edge_labels.tolist())
    labels = [
        dict(zip(map(tuple, side.edges.tolist()), side.edge_labels.tolist(), strict=True)) for side in (graphs, moved)
    ]
    assert sum(labels[1].get(edge) == label for edge, label in labels[0].items()) == 5


def test_samples_without_structure_keep_what_they_should() -> None:
    rng = np.random.default_rng(0)
    columns = np.stack([np.arange(500), np.arange(500)], axis=1).astype(float)
    apart = unstructured(columns, 400, rng)
    assert abs(np.corrcoef(apart.T)[0, 1]) < 0.2
    assert set(apart[:, 0]) <= set(columns[:, 0])
    graphs = Graphs.from_objects([nx.star_graph(6)] * 3)
    made = unstructured(graphs, 5, rng)
    assert made.nodes.tolist() == [7] * 5
    assert np.diff(made.offsets).tolist() == [6] * 5
