"""Draws without replacement, non-edges and approximate PageRank, against Python's lists and dictionaries."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from graphgauge import _core

THREADS = pytest.mark.parametrize("threads", [1, 2, 5])


def draws(rows, seed):
    """Arguments of `draw_distinct`, and the free places of each row."""
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 20, rows)
    stop = start + rng.choice([0, 1, 5, 60], rows)
    excluded = [
        np.flatnonzero(rng.random(b - a) < rng.choice([0, 0.4, 1])) + a for a, b in zip(start, stop, strict=True)
    ]
    sizes = np.array([len(places) for places in excluded], np.int64)
    last = np.cumsum(sizes)
    take = rng.integers(0, stop - start - sizes + 1)
    uniform = rng.random((rows, int(take.max(initial=0)) + 1))
    free = [sorted({*range(a, b)} - {*gone.tolist()}) for a, b, gone in zip(start, stop, excluded, strict=True)]
    taken = np.concatenate([*excluded, np.empty(0)]).astype(np.int64)
    return (start, stop, taken, last - sizes, last, take, uniform), free


@THREADS
@pytest.mark.parametrize(("rows", "seed"), [(0, 0), (1, 3), (30, 0), (700, 1)])
def test_draw_distinct(rows, seed, threads):
    given, free = draws(rows, seed)
    found = _core.draw_distinct(*given, threads=threads)
    take, uniform = given[5], given[6]
    for places, count, numbers, row in zip(free, take.tolist(), uniform.tolist(), found.tolist(), strict=True):
        drawn = []  # Floyd: a rank that was drawn before is replaced by the newest one
        for step in range(count):
            newest = len(places) - count + step
            rank = int(numbers[step] * (newest + 1))
            drawn.append(newest if rank in drawn else rank)
        assert row == [places[rank] for rank in drawn] + [-1] * (len(row) - count)
        assert len(set(drawn)) == count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": [-1]}, "row 0 excludes places outside of taken"),
        ({"last": [3]}, "row 0 excludes places outside of taken"),
        ({"first": [2], "last": [1]}, "row 0 excludes places outside of taken"),
        ({"take": [9]}, "row 0 takes more places than are free"),
        ({"take": [-1]}, "row 0 takes more places than are free"),
        ({"stop": [-1]}, "row 0 takes more places than are free"),
        ({"take": [4]}, "uniform has fewer columns than places to take"),
        ({"start": [0, 0]}, "differ in length"),
        ({"uniform": [[0.0, 0.5, 1.0]]}, "uniform must be from 0 to below 1"),
        ({"uniform": [[0.0, 0.5, np.nan]]}, "uniform must be from 0 to below 1"),
    ],
)
def test_draws_that_do_not_fit_are_refused(change, message):
    given = {"start": [0], "stop": [9], "taken": [1, 5], "first": [0], "last": [2], "take": [3]}
    arrays = {name: np.array(value, np.int64) for name, value in (given | change).items() if name != "uniform"}
    with pytest.raises(ValueError, match=message):
        _core.draw_distinct(**arrays, uniform=np.array(change.get("uniform", np.zeros((1, 3)))))


def csr(graph):
    rows = [sorted(graph[node]) for node in sorted(graph)]
    return np.cumsum([0, *map(len, rows)], dtype=np.int64), np.array([n for row in rows for n in row], np.int64)


@THREADS
@pytest.mark.parametrize("limit", [1e-2, 1e-7])
@pytest.mark.parametrize("graph", [nx.empty_graph(3), nx.gnp_random_graph(40, 0.1, seed=0), nx.star_graph(30)])
def test_pagerank(graph, limit, threads):
    offsets, neighbours = csr(graph)
    nodes, values, bounds = _core.push_pagerank(
        offsets, neighbours, np.arange(len(graph)), 0.15, limit, threads=threads
    )
    degree = np.maximum(np.diff(offsets), 1)
    adjacency = nx.to_numpy_array(graph)
    exact = 0.15 * np.linalg.inv(np.eye(len(graph)) - 0.85 * adjacency / degree[:, None])
    found = np.zeros_like(exact)
    found[np.repeat(np.arange(len(graph)), np.diff(bounds)), nodes] = values
    assert len({*zip(np.repeat(np.arange(len(graph)), np.diff(bounds)), nodes, strict=True)}) == len(nodes)
    assert (found <= exact + 1e-12).all()
    assert (exact - found).max() <= limit * degree.sum() / 0.15
    one = _core.push_pagerank(offsets, neighbours, np.arange(len(graph)), 0.15, limit)
    assert [part.tobytes() for part in one] == [part.tobytes() for part in (nodes, values, bounds)]


def test_walks_that_do_not_exist_are_refused():
    offsets, neighbours = csr(nx.cycle_graph(4))
    source = np.array([0])
    for restart, limit in ((0.0, 1e-3), (1.1, 1e-3), (0.1, 0.0), (np.nan, 1e-3), (0.1, np.nan)):
        with pytest.raises(ValueError, match="restart must be above 0 and at most 1, and limit above 0"):
            _core.push_pagerank(offsets, neighbours, source, restart, limit)
    for wrong in (-1, 4):
        with pytest.raises(ValueError, match=f"sources has {wrong} at index 0"):
            _core.push_pagerank(offsets, neighbours, np.array([wrong]), 0.1, 1e-3)
    with pytest.raises(ValueError, match="offsets must lie between 0 and 8"):
        _core.push_pagerank(offsets - 1, neighbours, source, 0.1, 1e-3)
    with pytest.raises(ValueError, match="indices has 9 at index 3"):
        _core.push_pagerank(offsets, np.where(np.arange(8) == 3, 9, neighbours), source, 0.1, 1e-3)
