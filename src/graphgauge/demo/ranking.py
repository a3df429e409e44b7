"""Link prediction on graphs with communities, by three scorers that need no training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.demo import Demo

_NEGATIVES = 50
_SEEDS = tuple(range(8))


@dataclass(frozen=True)
class LinkPrediction:
    """A graph with communities and hubs. Some of its edges are hidden, and negatives are drawn from the non-edges."""

    adjacency: NDArray[np.float64]
    pairs: NDArray[np.int64]
    negatives: NDArray[np.int64]
    community: NDArray[np.int64]

    @classmethod
    def make(cls, seed: int = 0, nodes: int = 600, communities: int = 6, hidden: int = 150) -> LinkPrediction:
        draw = np.random.default_rng(seed)
        community = draw.integers(0, communities, nodes)
        weight = draw.pareto(2.5, nodes) + 0.5
        odds = np.outer(weight, weight) * np.where(community[:, None] == community, 0.03, 0.003)
        upper = np.triu(draw.random((nodes, nodes)) < odds, 1)
        edges = np.argwhere(upper)
        test = draw.permutation(len(edges)) < hidden
        seen = np.zeros((nodes, nodes))
        seen[tuple(edges[~test].T)] = 1
        seen += seen.T
        pairs = edges[test]
        linked = upper | upper.T | np.eye(nodes, dtype=bool)
        negatives = np.array([draw.choice(np.flatnonzero(~linked[u]), _NEGATIVES, replace=False) for u, _ in pairs])
        return cls(seen, pairs, negatives, community)

    def scores(self) -> Iterator[tuple[str, Any, Any]]:
        """The scores of the hidden edges and of their negatives by three scorers."""
        degree = self.adjacency.sum(0)
        values, vectors = np.linalg.eigh(self.adjacency)
        top = np.argsort(-np.abs(values))[:8]
        spectral = (vectors[:, top] * values[top]) @ vectors[:, top].T
        matrices = (spectral, self.adjacency @ self.adjacency, np.broadcast_to(degree, self.adjacency.shape))
        source, target = self.pairs.T
        for name, matrix in zip(DEMO.methods, matrices, strict=True):
            yield name, matrix[source, target], matrix[source[:, None], self.negatives]

    @property
    def within(self) -> NDArray[np.str_]:
        """Whether each hidden edge is within a community."""
        same = self.community[self.pairs[:, 0]] == self.community[self.pairs[:, 1]]
        return np.where(same, "within", "across")


def _write(folder: Path) -> None:
    for seed in _SEEDS:
        data = LinkPrediction.make(seed)
        labels = folder / "ranking" / "data" / str(seed) / "community.npy"
        labels.parent.mkdir(parents=True, exist_ok=True)
        np.save(labels, data.within)
        for name, pos, neg in data.scores():
            place = folder / "ranking" / name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / "pos.npy", pos)
            np.save(place / "neg.npy", neg)


DEMO = Demo(
    family="ranking",
    dataset="communities",
    methods=("spectral", "common neighbours", "degree of the target"),
    seeds=_SEEDS,
    inputs={
        "pos_scores": "ranking/{method}/{seed}/pos.npy",
        "neg_scores": "ranking/{method}/{seed}/neg.npy",
        "groups": {"community": "ranking/data/{seed}/community.npy"},
        "keep": "items",
    },
    metric="mrr",
    write=_write,
)
