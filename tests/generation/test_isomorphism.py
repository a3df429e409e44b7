"""Labels, directions, forms of input, and canonical forms."""

from __future__ import annotations

import time
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from graphgauge import generation
from graphgauge.core.errors import InputError
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.isomorphism import compared, graph_ids


def shuffled(graph: Any, seed: int = 0) -> Any:
    """The same graph with its nodes numbered and listed in another order."""
    number = dict(zip(graph, np.random.default_rng(seed).permutation(len(graph)).tolist(), strict=True))
    made = graph.__class__()
    made.add_nodes_from(sorted((number[node], content) for node, content in graph.nodes(data=True)))
    made.add_edges_from((number[a], number[b], content) for a, b, content in graph.edges(data=True))
    return made


SYMMETRIC = {
    "cycle": nx.cycle_graph(40),
    "torus": nx.grid_2d_graph(6, 6, periodic=True),
    "hypercube": nx.hypercube_graph(5),
    "complete": nx.complete_graph(30),
    "bipartite": nx.Graph(nx.complete_bipartite_graph(8, 9).edges),
    "rook": nx.line_graph(nx.complete_graph(8)),
    "star": nx.star_graph(40),
    "binary tree": nx.balanced_tree(2, 6),
    "tree": nx.random_labeled_tree(200, seed=1),
    "equal parts": nx.disjoint_union_all([nx.petersen_graph()] * 4),
    "circulant": nx.circulant_graph(40, [1, 7]),
    "nothing": nx.empty_graph(12),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_graphs_are_decided_within_the_bound(name: str) -> None:
    graph = nx.Graph(SYMMETRIC[name])
    found = compared(Graphs.of([graph, *(shuffled(graph, seed) for seed in range(3))]))
    assert (found.ids[0].tolist(), found.undecided) == ([0, 0, 0, 0], 0)


def test_cubic_graphs_are_told_from_each_other_in_seconds() -> None:
    graphs = [nx.random_regular_graph(3, 60, seed=seed) for seed in range(30)]
    start = time.process_time()
    ids, others = graph_ids(Graphs.of(graphs), Graphs.of([shuffled(graph) for graph in graphs]))
    assert time.process_time() - start < 30
    assert ids.tolist() == others.tolist() == list(range(30))


def test_strongly_regular_graphs_that_colours_cannot_separate() -> None:
    """The 4 × 4 rook's graph and the Shrikhande graph have the same parameters."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    shrikhande = nx.Graph()
    steps = [(0, 1), (1, 0), (1, 1)]
    shrikhande.add_edges_from(
        ((a, b), ((a + x) % 4, (b + y) % 4)) for a in range(4) for b in range(4) for x, y in steps
    )
    assert not nx.is_isomorphic(rook, shrikhande)
    graphs = [nx.Graph(graph.edges) for graph in (rook, shrikhande)]
    assert graph_ids(Graphs.of([*graphs, *(shuffled(graph) for graph in graphs)]))[0].tolist() == [0, 1, 0, 1]


def test_graphs_beyond_the_bound_are_counted_and_named() -> None:
    graphs = [nx.random_regular_graph(3, 40, seed=seed) for seed in range(3)]
    found = compared(Graphs.of(graphs), most=3)
    assert found.undecided == 3
    assert found.ids[0].tolist() == [0, 0, 0]  # not known to differ


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("node", "edge"), [(None, None), ("atom", None), (None, "bond"), ("atom", "bond")])
def test_ids_of_labelled_graphs_against_networkx(directed: bool, node: str | None, edge: str | None) -> None:
    rng = np.random.default_rng(5)
    graphs = []
    for _ in range(40):
        graph = nx.gnp_random_graph(4, 0.5, seed=int(rng.integers(1 << 30)), directed=directed)
        if node:
            nx.set_node_attributes(graph, {place: str(rng.choice(["C", "O"])) for place in graph}, node)
        if edge:
            nx.set_edge_attributes(graph, {pair: int(rng.integers(1, 3)) for pair in graph.edges}, edge)
        graphs.append(graph)
    ids = graph_ids(Graphs.of(graphs))[0]
    match = nx.algorithms.isomorphism
    same_node = match.categorical_node_match(node, None) if node else None
    same_edge = match.categorical_edge_match(edge, None) if edge else None
    for (a, first), (b, second) in combinations(zip(ids, graphs, strict=True), 2):
        expected = nx.is_isomorphic(first, second, node_match=same_node, edge_match=same_edge)
        assert (a == b) == expected


def molecules(last: str) -> Any:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict(enumerate(["C", "C", last])), "atom")
    return graph


def test_labels_are_part_of_a_graph() -> None:
    graphs = [molecules(last) for last in ("O", "N", "F", "S", "Cl", "Br")]
    found = generation.evaluate(generated=graphs, train=[molecules("O")] * 3, metrics=["diversity"])
    assert found["overall_uniqueness_ratio"] == 1
    assert found["novelty"] == pytest.approx(5 / 6)
    plain = generation.evaluate(generated=graphs, train=[molecules("O")], node_labels=[], metrics=["diversity"])
    assert plain["overall_uniqueness_ratio"] == pytest.approx(1 / 6)
    assert plain["novelty"] == 0


@pytest.mark.parametrize("within", [True, False])
def test_labels_on_some_graphs_only_are_refused(within: bool) -> None:
    bare = nx.path_graph(3)
    given = {"generated": [molecules("O"), bare]} if within else {"generated": [bare] * 3, "train": [molecules("O")]}
    with pytest.raises(InputError, match=r"some graphs have labelled nodes .*node_labels=\[\]"):
        generation.evaluate(**given, metrics=["diversity"])


def test_attributes_that_are_numbers_are_ignored_and_named() -> None:
    graphs = [nx.random_geometric_graph(8, 0.5, seed=seed) for seed in range(4)]
    found = generation.evaluate(generated=graphs, metrics=["diversity"])
    assert any("ignored: pos" in note for note in found.notes)


def test_directed_graphs_differ_from_their_reversal_only_if_they_do() -> None:
    fork, join = nx.DiGraph([(0, 1), (0, 2)]), nx.DiGraph([(1, 0), (2, 0)])
    chain = nx.DiGraph([(0, 1), (1, 2)])
    graphs = Graphs.of([fork, join, chain, chain.reverse(), shuffled(fork)])
    assert graph_ids(graphs)[0].tolist() == [0, 1, 2, 2, 0]
    with pytest.raises(InputError, match="some graphs are directed"):
        Graphs.of([fork, nx.path_graph(3)])
    with pytest.raises(InputError, match="some graphs are directed"):
        graph_ids(graphs, Graphs.of([nx.path_graph(3)]))


def test_an_adjacency_stack_is_not_silently_read_as_bits() -> None:
    """Relabelled copies of one path differ as bits, and are one graph."""
    rng = np.random.default_rng(0)
    path = nx.to_numpy_array(nx.path_graph(7))
    stack = np.array([path[np.ix_(order, order)] for order in (rng.permutation(7) for _ in range(20))])
    with pytest.raises(InputError, match="adjacency matrices") as caught:
        generation.evaluate(generated=stack)
    assert "samples" in str(caught.value)
    graphs = generation.evaluate(generated=stack, samples="graphs", metrics=["diversity"])
    assert graphs["overall_uniqueness_ratio"] == pytest.approx(1 / 20)
    bits = generation.evaluate(generated=stack, samples="bits", metrics=["diversity"])
    assert bits["overall_uniqueness_ratio"] > 0.9
    again = generation.evaluate(generated=Graphs.of(stack), metrics=["overall_uniqueness_ratio"])
    assert again["overall_uniqueness_ratio"] == graphs["overall_uniqueness_ratio"]
    with pytest.raises(InputError, match="symmetric"):
        generation.evaluate(generated=np.triu(stack), samples="graphs")


def test_data_of_pyg() -> None:
    """Edges are listed in both directions; one-hot features are labels."""
    both = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    one = SimpleNamespace(edge_index=both, num_nodes=3, x=np.eye(3)[[0, 1, 0]], edge_attr=None)
    other = SimpleNamespace(edge_index=both, num_nodes=3, x=np.eye(3)[[0, 0, 1]], edge_attr=None)
    arrow = SimpleNamespace(edge_index=both[:, ::2], num_nodes=3)
    assert graph_ids(Graphs.of([one, other, one]))[0].tolist() == [0, 1, 0]
    assert Graphs.of([arrow]).directed
    assert not Graphs.of([one]).directed


def test_graphs_of_files_have_labels_and_directions(tmp_path: Any) -> None:
    listed = [
        {"nodes": 3, "edges": [(0, 1), (1, 2)], "node_labels": ["C", "C", last], "edge_labels": [1, 2]}
        for last in ("O", "N", "O")
    ]
    graphs = Graphs.of(listed)
    assert graph_ids(graphs)[0].tolist() == [0, 1, 0]
    table = generation.SampleTable.of(generated=listed, train=listed[:1])
    table.save(tmp_path / "table.npz")
    again = generation.SampleTable.load(tmp_path / "table.npz")
    assert generation.evaluate(again, metrics=["novelty"])["novelty"] == pytest.approx(1 / 3)
    arrows = Graphs.of([{"nodes": 2, "edges": [(1, 0)], "directed": True}])
    generation.SampleTable.of(generated=arrows).save(tmp_path / "arrows.npz")
    assert generation.SampleTable.load(tmp_path / "arrows.npz").generated.directed
