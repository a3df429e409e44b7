"""Built-in examples: real scorers on data that is made here, seeded, so that everything runs without a download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.result import Evaluation
from graphgauge.ranking import Items, compare, evaluate

_NEGATIVES = 50


@dataclass(frozen=True)
class LinkPrediction:
    """A graph with communities and hubs, some edges of which are hidden; negatives are drawn among the non-edges."""

    adjacency: NDArray[np.float64]
    pairs: NDArray[np.int64]
    negatives: NDArray[np.int64]
    community: NDArray[np.int64]

    @classmethod
    def make(cls, seed: int = 0, nodes: int = 600, communities: int = 6, hidden: float = 0.1) -> LinkPrediction:
        draw = np.random.default_rng(seed)
        community = draw.integers(0, communities, nodes)
        weight = draw.pareto(2.5, nodes) + 0.5
        odds = np.outer(weight, weight) * np.where(community[:, None] == community, 0.03, 0.003)
        upper = np.triu(draw.random((nodes, nodes)) < odds, 1)
        edges = np.argwhere(upper)
        test = draw.random(len(edges)) < hidden
        seen = np.zeros((nodes, nodes))
        seen[tuple(edges[~test].T)] = 1
        seen += seen.T
        pairs = edges[test]
        linked = upper | upper.T | np.eye(nodes, dtype=bool)
        negatives = np.array([draw.choice(np.flatnonzero(~linked[u]), _NEGATIVES, replace=False) for u, _ in pairs])
        return cls(seen, pairs, negatives, community)

    def scores(self) -> Iterator[tuple[str, Any, Any]]:
        """Three scorers that need no training, each with the scores of the hidden edges and of their negatives."""
        degree = self.adjacency.sum(0)
        values, vectors = np.linalg.eigh(self.adjacency)
        top = np.argsort(-np.abs(values))[:8]
        spectral = (vectors[:, top] * values[top]) @ vectors[:, top].T
        for name, matrix in (
            ("spectral", spectral),
            ("common neighbours", self.adjacency @ self.adjacency),
            ("degree of the target", np.broadcast_to(degree, self.adjacency.shape)),
        ):
            source, target = self.pairs.T
            yield name, matrix[source, target], matrix[source[:, None], self.negatives]


def ranking() -> tuple[dict[str, Evaluation], str]:
    """Evaluate the three scorers, and say in one sentence what their comparison shows."""
    data = LinkPrediction.make()
    same = np.where(data.community[data.pairs[:, 0]] == data.community[data.pairs[:, 1]], "within", "across")
    evaluations = {
        name: evaluate(pos, neg, groups={"community": same}, keep="items") for name, pos, neg in data.scores()
    }
    for name, evaluation in evaluations.items():
        evaluation.run |= {"method": name, "dataset": "communities", "seed": 0}
    first, second = (_items(evaluations[name]) for name in ("spectral", "common neighbours"))
    return evaluations, f"spectral against common neighbours, MRR over the same queries: {compare(first, second)}"


def _items(evaluation: Evaluation) -> Items:
    items: Items = evaluation.per_item
    return items
