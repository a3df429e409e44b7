"""Distinct draws from ranges without excluded places: valid and uniform."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from graphgauge.kernels.distinct import draw_distinct
from graphgauge.kernels.pagerank import personalised_pagerank


@st.composite
def rows(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    number = draw(st.integers(0, 30))
    start = rng.integers(0, 20, number)
    stop = start + rng.integers(0, draw(st.sampled_from([1, 5, 60])) + 1, number)
    share = draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    excluded = [np.flatnonzero(rng.random(b - a) < share) + a for a, b in zip(start, stop, strict=True)]
    last = np.cumsum([len(places) for places in excluded]).astype(np.int64)
    first = last - np.array([len(places) for places in excluded], np.int64)
    taken = np.concatenate([*excluded, np.empty(0, np.int64)]).astype(np.int64)
    take = rng.integers(0, (stop - start) - (last - first) + 1)
    return start, stop, taken, first, last, take, rng.random((number, int(take.max(initial=0)) + 1))


@given(rows())
def test_places_are_distinct_and_free(given_rows: tuple[np.ndarray, ...]) -> None:
    start, stop, taken, first, last, take, uniform = given_rows
    shape = len(start), int(take.max(initial=0))
    out = np.full(shape, -1)
    draw_distinct(start, stop, taken, first, last, take, uniform, out)
    for row in range(len(start)):
        places = out[row, : take[row]]
        free = set(range(start[row], stop[row])) - set(taken[first[row] : last[row]].tolist())
        assert set(places.tolist()) <= free
        assert len(set(places.tolist())) == take[row]
        assert (out[row, take[row] :] == -1).all()


def test_every_subset_is_as_likely() -> None:
    draws, size, take = 42_000, 9, 3
    taken = np.array([1, 5])  # 7 free places: 35 subsets of 3
    same = np.zeros(draws, np.int64)
    out = np.zeros((draws, take), np.int64)
    uniform = np.random.default_rng(0).random((draws, take))
    draw_distinct(same, same + size, taken, same, same + 2, same + take, uniform, out)
    codes = np.sort(out, axis=1) @ np.array([81, 9, 1])
    counts = np.unique(codes, return_counts=True)[1]
    assert len(counts) == 35
    assert stats.chisquare(counts).pvalue > 0.001


def random_graph(nodes: int, edges: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = np.zeros((nodes, nodes))
    ends = rng.integers(0, nodes, (edges, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    matrix[ends[:, 0], ends[:, 1]] = matrix[ends[:, 1], ends[:, 0]] = 1
    neighbours = np.nonzero(matrix)[1]
    return matrix, neighbours, np.concatenate([[0], np.cumsum(matrix.sum(axis=1))]).astype(np.int64)


def test_pagerank_is_within_its_tolerance_of_the_exact_one() -> None:
    matrix, neighbours, offsets = random_graph(20, 45, 0)
    degree = matrix.sum(axis=1)
    step = np.divide(matrix, degree[:, None], out=np.zeros_like(matrix), where=degree[:, None] > 0)
    exact = 0.15 * np.linalg.inv(np.eye(20) - 0.85 * step)
    found = personalised_pagerank(neighbours, offsets, np.arange(20), tolerance=1e-6)
    dense = np.zeros((20, 20))
    dense[np.repeat(np.arange(20), np.diff(found.offsets)), found.nodes] = found.values
    assert (dense <= exact + 1e-12).all()
    # What is left at a node would have moved on: at most `restart · tolerance` times its degree, at every node.
    assert (exact - dense).max() <= 1e-6 * 0.15 * degree.sum() / 0.15


def test_room_for_rows_is_found() -> None:
    _, neighbours, offsets = random_graph(1500, 6000, 1)
    found = personalised_pagerank(neighbours, offsets, np.arange(1), tolerance=1e-5)
    assert len(found.nodes) > 1024
    assert found.offsets[-1] == len(found.nodes) == len(found.values)
