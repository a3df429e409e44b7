from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.generation.graph_mmd import (
    clustering_histograms,
    degree_histograms,
    graph_mmd,
    spectral_histograms,
)
from graphgauge.generation.graphs import Graphs, is_graphs
from graphgauge.generation.isomorphism import graph_ids

Floats = NDArray[np.float64]


def relabelled(graph: Any, seed: int) -> Any:
    names = np.random.default_rng(seed).permutation(len(graph)).tolist()
    return nx.relabel_nodes(graph, {node: f"n{name}" for node, name in zip(graph, names, strict=True)})


def random_graphs(count: int, nodes: int = 9, share: float = 0.35, seed: int = 0) -> list[Any]:
    return [nx.gnp_random_graph(nodes, share, seed=seed + index) for index in range(count)]


def test_the_same_graphs_from_every_form() -> None:
    graphs = [nx.path_graph(4), nx.cycle_graph(5), nx.star_graph(3)]
    forms: list[list[Any]] = [
        graphs,
        [list(graph.edges) for graph in graphs],
        [np.array(graph.edges) for graph in graphs],
        [(len(graph), list(graph.edges)) for graph in graphs],
        [[(b, a) for a, b in graph.edges] * 2 for graph in graphs],
        [relabelled(graph, 1) for graph in graphs],
        [[(f"{a}!", f"{b}!") for a, b in graph.edges] for graph in graphs],
    ]
    for form in forms:
        assert is_graphs(form)
        ids = graph_ids(Graphs.of(graphs), Graphs.of(form))
        assert ids[0].tolist() == ids[1].tolist() == [0, 1, 2]


def test_nodes_without_an_edge_are_part_of_a_graph() -> None:
    alone = nx.path_graph(3)
    alone.add_node("x")
    ids = graph_ids(Graphs.of([alone, (4, [(0, 1), (1, 2)]), [(0, 1), (1, 2)], nx.empty_graph(2), (0, []), []]))[0]
    assert ids.tolist() == [0, 0, 1, 2, 3, 3]


def test_ids_against_networkx_on_all_pairs() -> None:
    graphs = random_graphs(60, nodes=5, share=0.4)
    ids = graph_ids(Graphs.of(graphs))[0]
    for (a, first), (b, second) in combinations(zip(ids, graphs, strict=True), 2):
        assert (a == b) == nx.is_isomorphic(first, second)


def test_relabelling_changes_nothing_and_one_edge_does() -> None:
    graphs = random_graphs(40, nodes=12)
    ids, others = graph_ids(Graphs.of(graphs), Graphs.of([relabelled(graph, 3) for graph in graphs]))
    assert ids.tolist() == others.tolist()
    for graph in graphs:
        graph.remove_edge(*next(iter(graph.edges)))
    assert not set(ids.tolist()) & set(graph_ids(Graphs.of(random_graphs(40, nodes=12)), Graphs.of(graphs))[1].tolist())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))),
        (nx.circular_ladder_graph(5), nx.petersen_graph()),
        (nx.circulant_graph(8, [1, 4]), nx.circulant_graph(8, [2, 4])),
    ],
)
def test_graphs_that_colours_cannot_tell_apart(first: Any, second: Any) -> None:
    assert not nx.is_isomorphic(first, second)
    ids = graph_ids(Graphs.of([first, second, relabelled(first, 0), relabelled(second, 1)]))[0]
    assert ids.tolist() == [0, 1, 0, 1]


def test_trees_of_the_same_degrees_need_no_exact_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of six nodes with a leaf beside its second node, and one with the leaf beside its third."""
    path = list(nx.path_graph(6).edges)
    first, second = Graphs.of([[*path, (1, 6)]]), Graphs.of([[*path, (2, 6)]])
    assert sorted(first.degrees) == sorted(second.degrees)

    def refuse(graphs: Graphs, index: int, *, most: int) -> None:
        raise AssertionError(index)

    monkeypatch.setattr("graphgauge.generation.isomorphism.canonical_form", refuse)
    assert [ids.tolist() for ids in graph_ids(first, second, first)] == [[0], [1], [0]]


def test_round_trip_and_taking() -> None:
    graphs = Graphs.of([*random_graphs(7), nx.empty_graph(3)])
    again = Graphs(**graphs.arrays())
    assert [array.tolist() for array in again.arrays().values()] == [a.tolist() for a in graphs.arrays().values()]
    mask = np.arange(8) % 2 == 1
    for some in (graphs.take(mask), graphs.take(np.flatnonzero(mask))):
        assert len(some) == 4
        assert [some[i].tolist() for i in range(4)] == [graphs[i].tolist() for i in (1, 3, 5, 7)]
        assert some.nodes.tolist() == [9, 9, 9, 3]
    assert len(graphs.take(np.zeros(8, np.bool_))) == len(Graphs.of([])) == 0
    assert Graphs.of(graphs) is graphs
    assert graph_ids(Graphs.of([]))[0].tolist() == []


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (nx.MultiGraph([(0, 1), (0, 1)]), "simple graph"),
        (nx.MultiDiGraph([(0, 1), (0, 1)]), "simple graph"),
        ({"nodes": 3, "edges": [(0, 1)], "node_labels": ["C"]}, "1 node_labels for 3 nodes"),
        ({"nodes": 3, "edges": [(0, 1)], "colour": ["C"]}, "'colour'"),
        (nx.Graph([(2, 2)]), "self-loop"),
        ([(1, 1)], "self-loop"),
        ((2, [(0, 5)]), "its edges refer to nodes beyond its 2 nodes"),
        ((2, [(0, -1)]), "its edges refer to nodes beyond its 2 nodes"),
        (7, "expected a graph"),
        ([(1, 2, 3)], "expected a graph"),
        (np.zeros((3, 4)), "expected a graph"),
    ],
)
def test_what_is_no_simple_graph_is_named(graph: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        Graphs.of([nx.path_graph(2), graph], "generated")
    assert "generated[1]" in str(caught.value)


@pytest.mark.parametrize(
    "value", [np.zeros((3, 4)), [[0, 1], [1, 0]], [np.zeros(4)], [], "graph", 3, [np.ones((2, 2))]]
)
def test_samples_are_no_graphs(value: Any) -> None:
    assert not is_graphs(value)


# ----------------------------------------------------------------------------------------------------- histograms


def reference(graphs: list[Any], values: Any, bins: int, top: float) -> Floats:
    edges = np.linspace(0, top, bins + 1)
    rows = [np.histogram(np.clip(values(graph), 0, top), edges)[0] for graph in graphs]
    return np.array(rows) / np.array([max(len(graph), 1) for graph in graphs])[:, np.newaxis]


def test_histograms_against_networkx() -> None:
    graphs = [*random_graphs(12, nodes=10), nx.barabasi_albert_graph(17, 3, seed=1), nx.empty_graph(4)]
    ours = Graphs.of(graphs)
    degrees = degree_histograms(ours)
    for row, graph in zip(degrees, graphs, strict=True):
        expected = np.array(nx.degree_histogram(graph)) / len(graph)
        np.testing.assert_allclose(row[: len(expected)], expected)
        assert not row[len(expected) :].any()
    rounding = 1e-9  # 1/3 and 2/3 fall inside bins, but 0.29 may lie on either side of its edge
    clustering = reference(graphs, lambda graph: np.array(list(nx.clustering(graph).values())) + rounding, 100, 1.0)
    np.testing.assert_allclose(clustering_histograms(ours), clustering)
    spectra = reference(graphs, lambda graph: nx.normalized_laplacian_spectrum(graph) + rounding, 200, 2.0)
    np.testing.assert_allclose(spectral_histograms(ours), spectra)


def test_graphs_without_nodes_and_no_graphs() -> None:
    for histograms in (degree_histograms, clustering_histograms, spectral_histograms):
        assert not histograms(Graphs.of([(0, []), (0, [])])).any()
        assert len(histograms(Graphs.of([]))) == 0


@pytest.mark.parametrize("kind", ["degree", "clustering", "spectral"])
def test_mmd_of_histograms_against_brute_force(kind: str) -> None:
    real, generated = Graphs.of(random_graphs(11)), Graphs.of(random_graphs(14, nodes=12, share=0.5, seed=50))
    found = graph_mmd(real, generated, kind, permutations=49, generator=np.random.default_rng(0))
    histograms = {"degree": degree_histograms, "clustering": clustering_histograms, "spectral": spectral_histograms}[
        kind
    ]
    rows = [histograms(graphs) for graphs in (real, generated)]
    width = max(part.shape[1] for part in rows)
    a, b = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in rows)

    def mean(x: Floats, y: Floats, pairs: Any) -> float:
        kernel = [
            math.exp(-((np.abs(x[i] - y[j]).sum() / 2) ** 2) / (2 * found.bandwidth**2))
            for i in range(len(x))
            for j in range(len(y))
            if pairs(i, j)
        ]
        return math.fsum(kernel) / len(kernel)

    across = mean(a, b, lambda i, j: True)
    unbiased = mean(a, a, lambda i, j: i != j) + mean(b, b, lambda i, j: i != j) - 2 * across
    assert found.value == pytest.approx(unbiased, rel=1e-9, abs=1e-12)
    assert found.p_value == 1 / 50
    same = graph_mmd(
        real, Graphs.of(random_graphs(14, seed=90)), kind, permutations=49, generator=np.random.default_rng(0)
    )
    assert same.p_value > 0.05


def test_mmd_needs_two_graphs_and_a_known_statistic() -> None:
    graphs = Graphs.of(random_graphs(3))
    with pytest.raises(InputError, match="two graphs"):
        graph_mmd(graphs, graphs.take(np.array([0])), "degree", permutations=9, generator=np.random.default_rng(0))
    with pytest.raises(UnknownNameError, match="degree"):
        graph_mmd(graphs, graphs, "degrees", permutations=9, generator=np.random.default_rng(0))
