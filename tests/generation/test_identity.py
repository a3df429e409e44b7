"""Samples are equal where they should be, and near copies are nearest to what they copy."""

from __future__ import annotations

import math
import time
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphgauge.core.types import Mask
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.identity import codes, nearest, unique_at
from graphgauge.generation.levels import near_copies

BOARD = 3 * 18 * 11


def ids(*sides: Any) -> list[list[int]]:
    return [own.tolist() for own in codes(*sides).ids]


def shuffled(graph: Any, seed: int = 0) -> Any:
    """The same graph with its nodes numbered and listed in another order."""
    number = dict(zip(graph, np.random.default_rng(seed).permutation(len(graph)).tolist(), strict=True))
    made = graph.__class__()
    made.add_nodes_from(sorted((number[node], content) for node, content in graph.nodes(data=True)))
    made.add_edges_from((number[a], number[b], content) for a, b, content in graph.edges(data=True))
    return made


def random_graphs(count: int, nodes: int = 9, share: float = 0.35, seed: int = 0) -> list[Any]:
    return [nx.gnp_random_graph(nodes, share, seed=seed + index) for index in range(count)]


# -------------------------------------------------------------------------------------------------------------- bits


@given(hnp.arrays(np.bool_, st.tuples(st.integers(0, 12), st.just(3))), hnp.arrays(np.bool_, (5, 3)))
@settings(max_examples=60)
def test_ids_are_equal_where_rows_are(first: Mask, second: Mask) -> None:
    found = codes(first, second).ids
    rows = [tuple(row) for row in np.concatenate([first, second]).tolist()]
    for (a, left), (b, right) in combinations(zip(np.concatenate(found).tolist(), rows, strict=True), 2):
        assert (a == b) == (left == right)
    assert [len(part) for part in found] == [len(first), 5]


def test_ids_of_boards_against_numpy() -> None:
    rng = np.random.default_rng(0)
    distinct = rng.random((40, 3, 18, 11)) < 0.02
    bits = distinct[rng.integers(0, 40, 500)]
    assert len(np.unique(codes(bits).ids[0])) == len(np.unique(bits.reshape(500, BOARD), axis=0))
    assert ids(np.zeros((4, 0), np.bool_)) == [[0] * 4]
    assert ids(np.array([[1, 0], [0, 0]], bool), np.array([[0, 0]], bool)) == [[0, 1], [1]]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7))
@settings(max_examples=60)
def test_unique_at_k_is_the_mean_over_all_subsets(drawn: list[int]) -> None:
    for k in range(1, len(drawn) + 1):
        shares = [len(set(subset)) / k for subset in combinations(drawn, k)]
        assert unique_at(np.array(drawn), k) == pytest.approx(math.fsum(shares) / len(shares), rel=1e-13)


def test_unique_at_k_beyond_the_samples_or_below_one() -> None:
    assert math.isnan(unique_at(np.array([1, 2]), 3))
    assert math.isnan(unique_at(np.array([1, 2]), 0))
    assert math.isnan(unique_at(np.array([], np.int64), 1))
    assert unique_at(np.repeat(0, 10**5), 1000) == pytest.approx(1e-3, rel=1e-12)
    assert unique_at(np.arange(10**5), 1000) == pytest.approx(1.0, rel=1e-12)


# ------------------------------------------------------------------------------------------------------------ graphs

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
    graph = nx.Graph(SYMMETRIC[name].edges)
    graph.add_nodes_from(SYMMETRIC[name])
    found = codes(Graphs.from_objects([graph, *(shuffled(graph, seed) for seed in range(3))]))
    assert (found.ids[0].tolist(), found.undecided) == ([0, 0, 0, 0], 0)


def test_ids_against_networkx_on_all_pairs() -> None:
    graphs = random_graphs(60, nodes=5, share=0.4)
    found = codes(Graphs.from_objects(graphs)).ids[0]
    for (a, first), (b, second) in combinations(zip(found, graphs, strict=True), 2):
        assert (a == b) == nx.is_isomorphic(first, second)


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
    read = Graphs.from_objects(graphs, node_labels=[node] if node else None, edge_labels=[edge] if edge else None)
    found = codes(read).ids[0]
    match = nx.algorithms.isomorphism
    same_node = match.categorical_node_match(node, None) if node else None
    same_edge = match.categorical_edge_match(edge, None) if edge else None
    for (a, first), (b, second) in combinations(zip(found, graphs, strict=True), 2):
        assert (a == b) == nx.is_isomorphic(first, second, node_match=same_node, edge_match=same_edge)


def test_relabelling_changes_nothing_and_one_edge_does() -> None:
    graphs = random_graphs(40, nodes=12)
    first, second = ids(Graphs.from_objects(graphs), Graphs.from_objects([shuffled(graph, 3) for graph in graphs]))
    assert first == second
    for graph in graphs:
        graph.remove_edge(*next(iter(graph.edges)))
    first, second = ids(Graphs.from_objects(random_graphs(40, nodes=12)), Graphs.from_objects(graphs))
    assert not set(first) & set(second)


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
    assert ids(Graphs.from_objects([first, second, shuffled(first, 0), shuffled(second, 1)])) == [[0, 1, 0, 1]]


def test_strongly_regular_graphs() -> None:
    """The 4 × 4 rook's graph and the Shrikhande graph have the same parameters."""
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    shrikhande = nx.Graph()
    steps = [(0, 1), (1, 0), (1, 1)]
    shrikhande.add_edges_from(
        ((a, b), ((a + x) % 4, (b + y) % 4)) for a in range(4) for b in range(4) for x, y in steps
    )
    assert not nx.is_isomorphic(rook, shrikhande)
    graphs = [nx.Graph(graph.edges) for graph in (rook, shrikhande)]
    assert ids(Graphs.from_objects([*graphs, *(shuffled(graph) for graph in graphs)])) == [[0, 1, 0, 1]]


def test_cubic_graphs_are_told_from_each_other_in_seconds() -> None:
    graphs = [nx.random_regular_graph(3, 60, seed=seed) for seed in range(30)]
    start = time.process_time()
    found = ids(Graphs.from_objects(graphs), Graphs.from_objects([shuffled(graph) for graph in graphs]))
    assert time.process_time() - start < 10
    assert found == [list(range(30))] * 2


def test_graphs_beyond_the_bound_are_counted_and_named() -> None:
    graphs = [nx.random_regular_graph(3, 40, seed=seed) for seed in range(3)]
    alone = nx.random_regular_graph(4, 40, seed=0)
    found = codes(Graphs.from_objects([*graphs, alone]), bound=3)
    assert found.undecided == 3
    assert found.ids[0].tolist() == [0, 0, 0, 1]  # not known to differ, but from the one of another degree


def test_directed_graphs_differ_from_their_reversal_only_if_they_do() -> None:
    fork, join = nx.DiGraph([(0, 1), (0, 2)]), nx.DiGraph([(1, 0), (2, 0)])
    chain = nx.DiGraph([(0, 1), (1, 2)])
    assert ids(Graphs.from_objects([fork, join, chain, chain.reverse(), shuffled(fork)])) == [[0, 1, 2, 2, 0]]


def test_no_graphs_and_an_empty_side() -> None:
    empty = Graphs.from_objects([])
    assert ids(empty) == [[]]
    assert ids(empty, Graphs.from_objects([(2, [])]), empty) == [[], [0], []]


# ------------------------------------------------------------------------------------------------ nearest neighbours


def sparse(rng: np.random.Generator, count: int) -> Mask:
    return rng.random((count, 594)) < rng.uniform(0.02, 0.04, (count, 1))


def test_the_share_of_nearest_neighbours_against_brute_force() -> None:
    """Jaccard distances, ties shared."""
    rng = np.random.default_rng(3)
    made, train, real = rng.random((40, 12)) < 0.3, rng.random((50, 12)) < 0.3, rng.random((30, 12)) < 0.3
    shares = []
    for sample in made:
        distances = []
        for other in np.concatenate([train, real]):
            either = (sample | other).sum()
            distances.append(1 - (sample & other).sum() / either if either else 0.0)
        closest = np.flatnonzero(np.array(distances) == min(distances))
        shares.append(np.mean(closest < 50))
    found = nearest(made, train, real, None, rng, 99)
    assert found.share == pytest.approx(np.mean(shares), abs=1e-14)
    assert found.n == 40
    assert list(found.drawn) == ["perfect"]
    assert found.drawn["perfect"].mean() == pytest.approx(50 / 80, abs=0.03)


def test_near_copies_of_graphs_are_nearest_to_what_they_copy() -> None:
    graphs = Graphs.from_objects([nx.gnp_random_graph(16, 0.25, seed=seed) for seed in range(120)])
    train, real = graphs.take(np.arange(60)), graphs.take(np.arange(60, 120))
    moved = near_copies(train, np.random.default_rng(0))
    found = nearest(moved, train, real, moved, np.random.default_rng(1), 199)
    assert found.share > 0.8
    assert found.share > np.quantile(found.drawn["perfect"], 0.99)
    assert np.quantile(found.drawn["near_copy"], 0.01) <= found.share
    fresh = Graphs.from_objects([nx.gnp_random_graph(16, 0.25, seed=500 + seed) for seed in range(60)])
    drawn = nearest(fresh, train, real, None, np.random.default_rng(1), 199)
    assert np.quantile(drawn.drawn["perfect"], 0.005) <= drawn.share <= np.quantile(drawn.drawn["perfect"], 0.995)


def test_near_copies_of_sparse_boards_are_found_in_most_runs_and_fresh_ones_in_few() -> None:
    """In Hamming's distance the emptiest board would be everybody's neighbour, and hide them."""
    alarms = {0.3: 0, 0.0: 0}
    for run in range(40):
        rng = np.random.default_rng([7, run])
        real, train, made = (sparse(rng, 300) for _ in range(3))
        for share in alarms:
            copied = int(share * 300)
            generated = np.concatenate([near_copies(train[rng.permutation(300)[:copied]], rng), made[copied:]])
            found = nearest(generated, train, real, None, rng, 199)
            alarms[share] += found.share > np.sort(found.drawn["perfect"])[-5]
    assert alarms[0.3] >= 36
    assert alarms[0.0] <= 2
