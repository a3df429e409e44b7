"""Counting closer pairs: every pair once, with the same bits from blocks and gathers."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge.kernels import poincare
from graphgauge.kernels.poincare import _spread, closer_pairs, margins, squared_gaps


def cloud(nodes: int, dimensions: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    # Few places, so that distances tie.
    columns = np.random.default_rng(seed).choice([-0.5, -0.25, 0.0, 0.25, 0.5], (dimensions, nodes))
    return columns, margins(columns)


def order_of_distances(columns: np.ndarray, margin: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return squared_gaps(np.ascontiguousarray(columns.T), first, second) / (margin[first] * margin[second])


@pytest.mark.parametrize("nodes", [0, 1, 2, 3, 17, 60])
def test_every_pair_is_counted_once(nodes: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(poincare, "_BLOCK_PAIRS", 50)
    columns, margin = cloud(nodes)
    first, second = np.triu_indices(nodes, 1)
    every = order_of_distances(columns, margin, first, second)
    asked = np.append(every[:5], [0.0, 0.4, 1e9])
    tails = closer_pairs(columns, margin, asked)
    assert tails.negatives == len(every)
    for value, greater, equal in zip(-tails.values, tails.greater, tails.equal, strict=True):
        assert greater == np.count_nonzero(every < value)
        assert equal == np.count_nonzero(every == value)


def test_blocks_and_gathered_pairs_have_the_same_bits():
    rng = np.random.default_rng(3)
    columns = rng.uniform(-0.3, 0.3, (7, 40))
    margin = margins(columns)
    first, second = np.triu_indices(40, 1)
    gathered = -order_of_distances(columns, margin, first, second)
    scores = np.empty(len(first))
    _spread(columns, margin, 0, 39, scores)
    assert scores.tobytes() == gathered.tobytes()
    assert order_of_distances(columns, margin, second, first).tobytes() == (-gathered).tobytes()


def test_no_table_of_all_pairs_is_kept():
    import tracemalloc

    rng = np.random.default_rng(0)
    columns = rng.uniform(-0.1, 0.1, (4, 1500))
    margin = margins(columns)
    closer_pairs(columns, margin, np.array([0.1]))
    tracemalloc.start()
    closer_pairs(columns, margin, np.array([0.1]), threads=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1500 * 1500 * 8 / 8
