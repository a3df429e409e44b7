"""Loops over directed graphs, against all orders and all equivalent graphs of few nodes."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from graphgauge import _core


def cells(edges, nodes):
    return np.array(sorted(a * nodes + b for a, b in edges), np.int64)


def drawn(nodes, share, seed):
    """A random DAG whose nodes have any order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes).tolist()
    return [(order[a], order[b]) for a, b in combinations(range(nodes), 2) if rng.random() < share]


def v_structures(edges):
    linked = {frozenset(edge) for edge in edges}
    return {
        (frozenset((a, b)), c)
        for (a, c), (b, d) in product(edges, edges)
        if c == d and a < b and frozenset((a, b)) not in linked
    }


def is_acyclic(edges):
    return nx.is_directed_acyclic_graph(nx.DiGraph(edges))


def equivalent(edges):
    """All DAGs with the same adjacencies and v-structures."""
    wanted = v_structures(edges)
    for turned in product([False, True], repeat=len(edges)):
        found = [(b, a) if turn else (a, b) for (a, b), turn in zip(edges, turned, strict=True)]
        if is_acyclic(found) and v_structures(found) == wanted:
            yield set(found)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("nodes", [1, 2, 5, 60])
def test_no_edge_leads_back(nodes, seed):
    edges = drawn(nodes, 0.3, seed)
    order = _core.topological_order(cells(edges, nodes), nodes).tolist()
    assert sorted(order) == [*range(nodes)]
    assert all(order.index(a) < order.index(b) for a, b in edges)


@pytest.mark.parametrize(
    "edges", [[(0, 0)], [(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 0), (3, 4)], [(4, 0), (1, 2), (2, 1)]]
)
def test_cycles_end_the_order_early(edges):
    assert len(_core.topological_order(cells(edges, 5), 5)) < 5
    assert _core.compelled_edges(cells(edges, 5), 5) is None


@pytest.mark.parametrize("seed", range(60))
def test_compelled_edges_are_in_every_equivalent_dag(seed):
    nodes = 3 + seed % 3
    edges = drawn(nodes, 0.3 + seed / 100, seed)
    shared = set(edges).intersection(*equivalent(edges))
    given = cells(edges, nodes)
    expected = [divmod(cell, nodes) in shared for cell in given.tolist()]
    assert _core.compelled_edges(given, nodes).tolist() == expected


@pytest.mark.parametrize("seed", range(60))
def test_sinks_are_found_exactly_if_there_is_a_dag(seed):
    """Graphs with some edges undirected: that of a DAG, and any."""
    nodes, rng = 4, np.random.default_rng(seed)
    edges = drawn(nodes, 0.7, seed)
    keep = rng.random(len(edges)) < 0.5
    arrows = [edge for edge, kept in zip(edges, keep, strict=True) if kept]
    lines = [edge for edge, kept in zip(edges, keep, strict=True) if not kept]
    both = lines + [(b, a) for a, b in lines]
    order = _core.sinks_first(cells(arrows, nodes), cells(both, nodes), nodes).tolist()
    assert len(set(order)) == len(order)
    extensions = []
    for turned in product([False, True], repeat=len(lines)):
        whole = arrows + [(b, a) if turn else (a, b) for (a, b), turn in zip(lines, turned, strict=True)]
        linked = {frozenset(edge) for edge in edges}
        before = {
            (frozenset((a, b)), c)
            for (a, c), (b, d) in product(arrows, arrows)
            if c == d and a < b and frozenset((a, b)) not in linked
        }
        if is_acyclic(whole) and v_structures(whole) == before:
            extensions.append(set(whole))
    assert (len(order) == nodes) == bool(extensions)
    if extensions:
        place = {node: at for at, node in enumerate(order)}
        own = {(a, b) if place[b] < place[a] else (b, a) for a, b in lines}
        assert own | set(arrows) in extensions


def test_nothing():
    empty = np.empty(0, np.int64)
    for nodes in (0, 3):
        assert len(_core.topological_order(empty, nodes)) == nodes
        assert len(_core.sinks_first(empty, empty, nodes)) == nodes
    assert _core.compelled_edges(empty, 3).tolist() == []


@pytest.mark.parametrize(("given", "nodes"), [([-1], 3), ([9], 3), ([2, 1], 3), ([1, 1], 3), ([0], 0)])
def test_what_is_no_graph_is_refused(given, nodes):
    wrong, fine = np.array(given), np.empty(0, np.int64)
    for call, name in (
        (lambda: _core.topological_order(wrong, nodes), "cells"),
        (lambda: _core.compelled_edges(wrong, nodes), "cells"),
        (lambda: _core.sinks_first(wrong, fine, nodes), "directed"),
        (lambda: _core.sinks_first(fine, wrong, nodes), "undirected"),
    ):
        with pytest.raises(ValueError, match=f"{name} must rise within 0 to nodes"):
            call()


@pytest.mark.parametrize("nodes", [-1, 1 << 31])
def test_too_many_nodes_are_refused(nodes):
    with pytest.raises(ValueError, match="nodes must be from 0 to"):
        _core.topological_order(np.empty(0, np.int64), nodes)
