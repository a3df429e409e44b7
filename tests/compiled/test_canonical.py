"""Forms of graphs against networkx: equal exactly for isomorphic graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import categorical_edge_match, categorical_node_match

from graphgauge import _core


def arrays(graphs):
    """Words are labels; graphs of which none is labelled have no words."""
    nodes = np.array([len(graph) for graph in graphs], np.int64)
    offsets = np.cumsum([0, *(graph.size() for graph in graphs)], dtype=np.int64)
    edges = np.array([edge for graph in graphs for edge in graph.edges], np.int64).reshape(-1, 2)
    node_words = [word for graph in graphs for _, word in sorted(graph.nodes(data="label"))]
    edge_words = [word for graph in graphs for *_, word in graph.edges(data="label")]
    words = (None if None in found else np.array(found, np.uint64) for found in (node_words, edge_words))
    return nodes, offsets, edges, *words


def forms(graphs, bound=4000, threads=1):
    found, colours, undecided = _core.graph_words(
        *arrays(graphs), directed=graphs[0].is_directed(), bound=bound, threads=threads
    )
    return [tuple(row) for row in found.tolist()], colours.tolist(), undecided.tolist()


def shuffled(graph, seed=0):
    """The same graph with other numbers, its edges in another order."""
    rng = np.random.default_rng(seed)
    images = nx.relabel_nodes(graph, dict(enumerate(rng.permutation(len(graph)).tolist())))
    found = type(graph)()
    found.add_nodes_from(sorted(images.nodes(data=True)))
    edges = list(images.edges(data=True))
    found.add_edges_from(edges[place] for place in rng.permutation(len(edges)))
    return found


def isomorphic(a, b):
    match = categorical_node_match("label", None), categorical_edge_match("label", None)
    return nx.is_isomorphic(a, b, *match)


def labelled(graph, seed):
    rng = np.random.default_rng(seed)
    for node in graph:
        graph.nodes[node]["label"] = int(rng.integers(2))
    for edge in graph.edges:
        graph.edges[edge]["label"] = int(rng.integers(2))
    return graph


def plain(*graphs):
    return [nx.Graph(nx.convert_node_labels_to_integers(graph).edges) for graph in graphs]


FAMILIES = {
    "up to five nodes": [graph for graph in nx.graph_atlas_g() if len(graph) < 6],
    "regular": [nx.random_regular_graph(3, 10, seed=seed) for seed in range(30)],
    "trees": [nx.random_labeled_tree(7, seed=seed) for seed in range(40)],
    "symmetric": plain(
        nx.petersen_graph(),
        nx.circular_ladder_graph(5),
        nx.hypercube_graph(4),
        nx.cycle_graph(12),
        nx.complete_bipartite_graph(6, 6),
        nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3)),
        nx.cycle_graph(6),
        nx.moebius_kantor_graph(),
        nx.desargues_graph(),
        nx.dodecahedral_graph(),
        nx.grid_2d_graph(4, 4, periodic=True),
        nx.line_graph(nx.complete_graph(6)),
        nx.star_graph(200),
    ),
    "directed": [nx.gnp_random_graph(4, 0.4, seed=seed, directed=True) for seed in range(60)],
    "labelled": [labelled(nx.gnp_random_graph(4, 0.5, seed=seed), seed) for seed in range(60)],
    "directed and labelled": [labelled(nx.gnp_random_graph(3, 0.6, seed=i, directed=True), i) for i in range(60)],
}


@pytest.mark.parametrize("graphs", FAMILIES.values(), ids=FAMILIES)
def test_equal_forms_are_isomorphic_graphs(graphs):
    found, colours, undecided = forms(graphs)
    assert not any(undecided)
    for a, one in enumerate(graphs):
        for b in range(a):
            equal = isomorphic(one, graphs[b])
            assert (found[a] == found[b]) == equal
            assert colours[a] == colours[b] or not equal


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("graphs", FAMILIES.values(), ids=FAMILIES)
def test_the_order_of_nodes_and_edges_changes_nothing(graphs, threads):
    expected = forms(graphs)
    for seed in range(3):
        assert forms([shuffled(graph, seed) for graph in graphs], threads=threads) == expected


def test_a_bound_leaves_graphs_undecided():
    graphs = plain(nx.petersen_graph(), nx.path_graph(4), nx.cycle_graph(5))
    needed = [min(bound for bound in range(60) if not forms([graph], bound)[2][0]) for graph in graphs]
    assert min(needed) >= 1
    for bound in (0, 1, needed[0] - 1, needed[0]):
        found, colours, undecided = forms(graphs, bound)
        assert undecided == [bound < least for least in needed]
        assert colours == forms(graphs)[1]
        assert [form == (0, 0) for form in found] == undecided


def test_nothing():
    empty = np.empty(0, np.int64)
    found, colours, undecided = _core.graph_words(empty, np.zeros(1, np.int64), empty.reshape(0, 2))
    assert (found.shape, colours.shape, undecided.shape) == ((0, 2), (0,), (0,))
    first, second, third = forms([nx.empty_graph(0), nx.empty_graph(1), nx.empty_graph(0)])[0]
    assert first == third != second


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [2, -1]}, "graph 1 has -1 nodes"),
        ({"nodes": [2]}, "n graphs need n \\+ 1 offsets"),
        ({"offsets": [0, -1, 2]}, "offsets falls at index 1"),
        ({"offsets": [0, 1, 3]}, "offsets must lie between 0 and 2"),
        ({"edges": [[0, 1], [0, 3]]}, "edges has 3 in graph 1 of 3 nodes"),
        ({"edges": [[-1, 1], [0, 2]]}, "edges has -1 in graph 0 of 2 nodes"),
        ({"edges": [[0, 1, 0], [0, 2, 0]]}, "edges must have two columns"),
        ({"node_words": [1] * 4}, "node_words needs a word for each node"),
        ({"edge_words": [1] * 3}, "edge_words needs a word for each edge"),
        ({"bound": -1}, "bound must not be negative"),
    ],
)
def test_what_is_no_graph_is_refused(change, message):
    given = {"nodes": [2, 3], "offsets": [0, 1, 2], "edges": [[0, 1], [0, 2]]} | change
    dtypes = {"node_words": np.uint64, "edge_words": np.uint64}
    kept = {
        name: value if name == "bound" else np.array(value, dtypes.get(name, np.int64)) for name, value in given.items()
    }
    with pytest.raises(ValueError, match=message):
        _core.graph_words(**kept)


def test_other_arrays_are_refused():
    nodes, offsets, edges, *_ = arrays(plain(nx.cycle_graph(5)))
    for wrong in (nodes.astype(np.int32), nodes.astype(">i8")):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            _core.graph_words(wrong, offsets, edges)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.graph_words(nodes, offsets, edges[:, ::-1])
