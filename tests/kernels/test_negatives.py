"""Non-edges: distinct, unordered, without loops, and uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.kernels import negatives
from graphgauge.kernels.negatives import non_edges


def codes(pairs: np.ndarray, nodes: int) -> np.ndarray:
    return pairs.min(axis=1) * nodes + pairs.max(axis=1)


def all_pairs(nodes: int) -> np.ndarray:
    return np.argwhere(np.triu(np.ones((nodes, nodes), bool), 1))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, np.ndarray]:
    nodes = draw(st.integers(0, 40))
    pairs = all_pairs(nodes)
    share = draw(st.sampled_from([0.0, 0.05, 0.4, 0.9, 1.0]))
    chosen = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).random(len(pairs)) < share
    return nodes, codes(pairs[chosen], nodes) if chosen.any() else np.empty(0, np.int64)


@given(graphs(), st.integers(0, 900), st.integers(0, 2**32 - 1))
def test_no_negative_is_an_edge_repeated_or_a_loop(graph: tuple[int, np.ndarray], count: int, seed: int):
    nodes, edges = graph
    found = non_edges(edges, nodes, count, np.random.default_rng(seed))
    free = nodes * (nodes - 1) // 2 - len(edges)
    assert len(found) == min(count, max(free, 0))
    assert len(np.unique(found)) == len(found)
    assert not np.isin(found, edges).any()
    low, high = found // max(nodes, 1), found % max(nodes, 1)
    assert (low < high).all()
    assert (low >= 0).all()


def test_the_order_of_edges_does_not_matter_and_a_seed_repeats():
    rng = np.random.default_rng(0)
    pairs = all_pairs(60)
    for share in (0.1, 0.7):
        edges = codes(pairs[rng.random(len(pairs)) < share], 60)
        drawn = [non_edges(order, 60, 200, np.random.default_rng(3)) for order in (edges, rng.permutation(edges))]
        assert drawn[0].tolist() == drawn[1].tolist()
        assert drawn[0].tolist() != non_edges(edges, 60, 200, np.random.default_rng(4)).tolist()


@pytest.mark.parametrize("share", [0.05, 0.6])
def test_every_non_edge_is_as_likely(share: float):
    rng = np.random.default_rng(1)
    pairs = all_pairs(14)
    taken = rng.random(len(pairs)) < share
    edges, free = codes(pairs[taken], 14), codes(pairs[~taken], 14)
    times, count = 4000, 6
    drawn = np.concatenate([non_edges(edges, 14, count, rng) for _ in range(times)])
    seen = np.array([np.count_nonzero(drawn == code) for code in free])
    expected = times * count / len(free)
    # Each is in a draw or not: binomial, and the sum of the squares is about chi-squared.
    variance = expected * (1 - count / len(free))
    statistic = float(np.sum((seen - expected) ** 2) / variance)
    assert abs(statistic - len(free)) < 5 * np.sqrt(2 * len(free))


def test_draws_go_on_until_there_are_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(negatives.math, "ceil", lambda value: 3)
    found = non_edges(np.array([1], np.int64), 30, 100, np.random.default_rng(0))
    assert len(np.unique(found)) == 100


def test_large_graphs_take_little_memory():
    import tracemalloc

    nodes, rng = 1_000_000, np.random.default_rng(0)
    edges = np.unique(codes(rng.integers(0, nodes, (20_000, 2)), nodes))
    tracemalloc.start()
    found = non_edges(edges, nodes, 20_000, rng)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(np.unique(found)) == 20_000
    assert peak < 20_000 * 8 * 30
