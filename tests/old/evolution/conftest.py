"""Graphs to grow, a small one made here and Cora where it stands beside the checkout; and distances to be held to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest

CORA = Path(__file__).parents[3] / "shared" / "data" / "cora.npz"


class Graph(NamedTuple):
    points: np.ndarray
    edges: np.ndarray
    labels: np.ndarray

    @property
    def nodes(self) -> int:
        return len(self.labels)

    def free(self) -> np.ndarray:
        """All pairs without an edge."""
        taken = np.zeros((self.nodes, self.nodes), bool)
        taken[self.edges[:, 0], self.edges[:, 1]] = taken[self.edges[:, 1], self.edges[:, 0]] = True
        return np.argwhere(np.triu(~taken, 1))


def block_graph(nodes: int = 120, classes: int = 3, seed: int = 0) -> Graph:
    """Classes of unequal sizes around centres in the ball, and edges mostly within them."""
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.choice(classes, nodes, p=np.arange(1, classes + 1) / (classes * (classes + 1) / 2)))
    centres = rng.normal(size=(classes, 4))
    points = centres[labels] / np.linalg.norm(centres[labels], axis=1)[:, None] * 0.4 + rng.normal(0, 0.12, (nodes, 4))
    points /= np.maximum(1, np.linalg.norm(points, axis=1) / 0.95)[:, None]
    pairs = np.argwhere(np.triu(np.ones((nodes, nodes), bool), 1))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    edges = pairs[rng.random(len(pairs)) < np.where(same, 0.1, 0.01)]
    return Graph(points, edges, labels)


@pytest.fixture
def graph() -> Graph:
    return block_graph()


@pytest.fixture(scope="session")
def cora() -> Graph:
    if not CORA.exists():
        pytest.skip("shared data absent: cora.npz does not stand beside the checkout")
    with np.load(CORA, allow_pickle=False) as stored:
        labels, edges = stored["labels"], stored["edges"]
        columns, starts = stored["feature_indices"], stored["feature_indptr"]
        size = int(stored["num_features"])
    rng = np.random.default_rng(0)
    # A random projection of the words, drawn into the ball.
    projection = rng.normal(size=(size, 32))
    points = np.add.reduceat(projection[columns], starts[:-1]) * (np.diff(starts) > 0)[:, None]
    points *= 0.7 / np.linalg.norm(points, axis=1).max()
    return Graph(points, edges.astype(np.int64), labels.astype(np.int64))


def same(one: Any, other: Any) -> bool:
    """Whether flat results are equal, NaN included."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def exact_distance(u: np.ndarray, v: np.ndarray) -> float:
    """In the Poincaré ball, with a hundred digits."""
    with mpmath.workdps(100):
        x, y = ([mpmath.mpf(float(value)) for value in point] for point in (u, v))
        gap = mpmath.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True))
        room = (1 - mpmath.fsum(a * a for a in x)) * (1 - mpmath.fsum(b * b for b in y))
        return float(mpmath.acosh(1 + 2 * gap / room))
