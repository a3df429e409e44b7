"""Orbits against all induced subgraphs of up to four nodes."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from graphgauge import _core

# Each connected graph of up to four nodes, and the orbit of each of its nodes.
ORBITS = [
    (nx.path_graph(2), [0, 0]),
    (nx.path_graph(3), [1, 2, 1]),
    (nx.complete_graph(3), [3, 3, 3]),
    (nx.path_graph(4), [4, 5, 5, 4]),
    (nx.star_graph(3), [7, 6, 6, 6]),
    (nx.cycle_graph(4), [8, 8, 8, 8]),
    (nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)]), [10, 10, 11, 9]),
    (nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]), [13, 12, 13, 12]),
    (nx.complete_graph(4), [14, 14, 14, 14]),
]


def csr(graph):
    rows = [sorted(graph[node]) for node in sorted(graph)]
    offsets = np.cumsum([0, *map(len, rows)])
    return offsets.astype(np.int64), np.array([other for row in rows for other in row], np.int64)


def by_hand(graph):
    counts = np.zeros((len(graph), 15), int)
    for size in (2, 3, 4):
        for nodes in combinations(sorted(graph), size):
            part = graph.subgraph(nodes)
            for small, orbit in ORBITS:
                matcher = nx.isomorphism.GraphMatcher(part, small)
                if len(small) == size and small.size() == part.size() and matcher.is_isomorphic():
                    for node, image in matcher.mapping.items():
                        counts[node, orbit[image]] += 1
    return counts.tolist()


GRAPHS = {
    "nothing": nx.empty_graph(0),
    "a node": nx.empty_graph(1),
    "no edges": nx.empty_graph(20),
    "an edge": nx.path_graph(2),
    "star": nx.star_graph(9),
    "complete": nx.complete_graph(8),
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)),
    "petersen": nx.petersen_graph(),
    "sparse": nx.gnp_random_graph(14, 0.2, seed=0),
    "dense": nx.gnp_random_graph(12, 0.7, seed=1),
    "parts": nx.disjoint_union(nx.complete_bipartite_graph(3, 4), nx.cycle_graph(5)),
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_against_all_subgraphs(graph):
    expected = by_hand(graph)
    for threads in (1, 2, 5):
        assert _core.orbits(*csr(graph), threads=threads).tolist() == expected


@pytest.mark.parametrize("threads", [2, 5])
def test_any_number_of_threads(threads):
    offsets, indices = csr(nx.powerlaw_cluster_graph(700, 5, 0.6, seed=0))
    offsets.flags.writeable = indices.flags.writeable = False
    one = _core.orbits(offsets, indices)
    np.testing.assert_array_equal(_core.orbits(offsets, indices, threads=threads), one)
    assert one[:, 0].tolist() == np.diff(offsets).tolist()


@pytest.mark.parametrize(
    ("offsets", "indices", "message"),
    [
        ([], [], "offsets is empty"),
        ([-1, 0], [], "offsets must lie between 0 and 0"),
        ([0, 3], [0], "offsets must lie between 0 and 1"),
        ([0, 2, 1, 2], [1, 0], "offsets falls at index 2"),
        ([0, 1, 2], [1, -1], "indices has -1 at index 1, outside of 0 to 1"),
        ([0, 1, 2], [2, 0], "indices has 2 at index 0, outside of 0 to 1"),
        ([0, 1, 1], [0], "node 0 is its own neighbour"),
        ([0, 2, 3, 4], [2, 1, 0, 0], "node 0 is its own neighbour, or its neighbours do not rise"),
        ([0, 2, 4], [1, 1, 0, 0], "neighbours do not rise"),
        ([0, 1, 1], [1], "the edge from 0 to 1 has no way back"),
        ([0, 1, 2, 3], [1, 2, 0], "the edge from 0 to 1 has no way back"),
    ],
)
def test_what_is_no_graph_is_refused(offsets, indices, message):
    with pytest.raises(ValueError, match=message):
        _core.orbits(np.array(offsets, np.int64), np.array(indices, np.int64))


def test_other_arrays_are_refused():
    offsets, indices = csr(nx.cycle_graph(4))
    for wrong in (offsets.astype(np.int32), offsets.astype(">i8"), np.repeat(offsets, 2)[::2]):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.orbits(wrong, indices)
