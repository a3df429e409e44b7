"""Zaratustra: an engine that grows its own graph, and whether its growth can be predicted.

In every cycle some nodes get edges to anchors, and new nodes appear between anchors; then all embeddings are smoothed
over the graph. Anchors are the elites, with degrees far above the mean (Normal), nodes of low degree (Inverted), or any
nodes (Off, the null model). That Normal is best and Inverted worst is a hypothesis, which the table at the end tests.

    python examples/zaratustra.py                # on a graph that is made, with three cycles and seven seeds
    python examples/zaratustra.py cora.npz --cycles 50

The .npz has `edges` (E, 2), `labels` (N,), and `features` (N, F) or its parts as a sparse matrix in CSR form:
`feature_data`, `feature_indices`, `feature_indptr` and `num_features`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from graphgauge.evolution import EvaluationSuite, poincare_distance

CONDITIONS = ("Normal", "Off", "Inverted")  # in the predicted order


@dataclass(frozen=True)
class Graph:
    """Undirected edges (E, 2), each once and without loops; a label and a row of features for each node."""

    edges: np.ndarray
    labels: np.ndarray
    features: Any


@dataclass(frozen=True)
class Settings:
    """How a graph grows.

    `anchor="distance"` takes the nearest elites, or the farthest nodes of low degree. This is circular: the distance
    that chooses the edges is the one that scores them.
    """

    seeds_per_cycle: int = 20  # nodes that get new edges
    edges_per_seed: int = 2
    births_per_cycle: int = 2  # new nodes, with as many edges as a seed
    elite_sigmas: float = 2.0  # elites have a degree this many standard deviations above the mean
    low_share: float = 0.25  # low degrees are those up to this quantile
    anchor: Literal["uniform", "distance"] = "uniform"
    embedding: Literal["features", "random"] = "features"
    dimension: int = 16
    radius: float = 0.9  # the largest norm of an embedding
    smoothing: float = 0.1  # weight of the neighbours in a cycle
    birth_noise: float = 0.02


class Zaratustra:
    """A graph that rewrites itself. A cycle's draws depend on the seed and the cycle, not on the condition."""

    def __init__(self, graph: Graph, settings: Settings, condition: str, seed: int = 0) -> None:
        self.settings, self.condition, self.seed = settings, condition, seed
        self.edges, self.cycle = graph.edges, 0
        self._neighbours: list[set[int]] = [set() for _ in graph.labels]
        for u, v in graph.edges.tolist():
            self._join(u, v)
        # One row for each node of the last cycle: whether it could become an anchor.
        self.pools = np.zeros(len(graph.labels), np.int64)
        self.embeddings = first_embeddings(graph.features, settings, seed)

    def step(self) -> np.ndarray:
        """Run one cycle; returns the edges that were born in it, and no others."""
        settings, draw = self.settings, np.random.default_rng([self.seed, self.cycle])
        nodes, pool = len(self._neighbours), self._pool()
        seeds = draw.choice(nodes, min(settings.seeds_per_cycle, nodes), replace=False)
        born = [(u, v) for u in seeds.tolist() for v in self._link(u, pool, draw)]
        for _ in range(settings.births_per_cycle if len(pool) else 0):
            born += self._birth(pool, draw)
        self.pools = np.isin(np.arange(nodes), pool).astype(np.int64)
        births = np.array(born, np.int64).reshape(-1, 2)
        self.edges = np.concatenate([self.edges, births])
        self.embeddings = smoothed(self.embeddings, self.edges, settings)
        self.cycle += 1
        return births

    def _pool(self) -> np.ndarray:
        """The nodes that can be anchors."""
        degrees = np.array([len(around) for around in self._neighbours])
        if self.condition == "Normal":
            return np.flatnonzero(degrees > degrees.mean() + self.settings.elite_sigmas * degrees.std())
        if self.condition == "Inverted":
            return np.flatnonzero(degrees <= np.quantile(degrees, self.settings.low_share))
        return np.arange(len(degrees))

    def _link(self, u: int, pool: np.ndarray, draw: np.random.Generator) -> list[int]:
        """Connect a node to anchors that are not its neighbours yet."""
        free = pool[~np.isin(pool, [u, *self._neighbours[u]])]
        count = min(self.settings.edges_per_seed, len(free))
        if self.settings.anchor == "distance" and self.condition != "Off" and count:
            here = np.broadcast_to(self.embeddings[u], self.embeddings[free].shape)
            distance = poincare_distance(here, self.embeddings[free])
            anchors = free[np.argsort(distance if self.condition == "Normal" else -distance, kind="stable")[:count]]
        else:
            anchors = draw.choice(free, count, replace=False)
        for v in anchors.tolist():
            self._join(u, v)
        chosen: list[int] = anchors.tolist()
        return chosen

    def _birth(self, pool: np.ndarray, draw: np.random.Generator) -> list[tuple[int, int]]:
        """A new node near the midpoint of its anchors, with an edge to each."""
        anchors = draw.choice(pool, min(self.settings.edges_per_seed, len(pool)), replace=False)
        noise = self.settings.birth_noise * draw.standard_normal(self.embeddings.shape[1])
        place = into_ball(self.embeddings[anchors].mean(axis=0) + noise, self.settings.radius)
        self.embeddings = np.vstack([self.embeddings, place])
        newborn = len(self._neighbours)
        self._neighbours.append(set())
        for v in anchors.tolist():
            self._join(newborn, v)
        return [(newborn, v) for v in anchors.tolist()]

    def _join(self, u: int, v: int) -> None:
        self._neighbours[u].add(v)
        self._neighbours[v].add(u)


def first_embeddings(features: Any, settings: Settings, seed: int) -> np.ndarray:
    """The leading singular vectors of the features, or noise; the largest norm is the radius."""
    draw = np.random.default_rng(seed)
    if settings.embedding == "random":
        points = draw.standard_normal((features.shape[0], settings.dimension))
    else:
        start = draw.standard_normal(min(features.shape))
        left, size, right = svds(sp.csr_array(features, dtype=float), k=settings.dimension, v0=start)
        # The sign of a singular vector is arbitrary: its largest entry is made positive.
        points = left * size * np.sign(right[np.arange(len(size)), np.abs(right).argmax(axis=1)])
    return np.asarray(points * settings.radius / np.linalg.norm(points, axis=1).max())


def smoothed(points: np.ndarray, edges: np.ndarray, settings: Settings) -> np.ndarray:
    """x ← (1 − w)·x + w·Âx, with Â the adjacency matrix over the roots of both degrees, projected into the ball."""
    roots = np.sqrt(np.maximum(np.bincount(edges.ravel(), minlength=len(points)), 1))
    weight = 1 / (roots[edges[:, 0]] * roots[edges[:, 1]])
    half = sp.csr_array((weight, edges.T), shape=(len(points), len(points)))
    moved = (1 - settings.smoothing) * points + settings.smoothing * (half @ points + half.T @ points)
    return into_ball(moved, settings.radius)


def into_ball(points: np.ndarray, radius: float) -> np.ndarray:
    norms = np.linalg.norm(points, axis=-1, keepdims=True)
    return np.asarray(points * np.minimum(1, radius / np.maximum(norms, radius)))


def block_model(seed: int = 0, nodes: int = 600, classes: int = 4) -> Graph:
    """Classes with hubs, where four of five edges stay within a class, and words that tell something of the class."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, classes, nodes)
    weight = np.minimum(draw.pareto(1.7, nodes) + 1, 40)
    within = labels[:, None] == labels
    odds = np.outer(weight, weight) * np.where(within, 4 / within.sum(), 1 / (~within).sum())
    odds *= 4 * nodes / odds.sum()  # about two edges for each node
    edges = np.argwhere(np.triu(draw.random((nodes, nodes)) < odds, 1))
    topics = draw.random((classes, 200)) < 0.1
    words = draw.random((nodes, 200)) < np.where(topics[labels], 0.2, 0.05)
    return Graph(edges, labels, words.astype(float))


def read_graph(path: str) -> Graph:
    """The graph of an .npz; edges in both directions, repeated edges and loops count as in a simple graph."""
    with np.load(path, allow_pickle=False) as stored:
        pairs, labels = np.sort(stored["edges"], axis=1), stored["labels"]
        if "features" in stored:
            features = stored["features"]
        else:
            parts = (stored["feature_data"], stored["feature_indices"], stored["feature_indptr"])
            features = sp.csr_array(parts, shape=(len(labels), int(stored["num_features"])))
    return Graph(np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0), labels, features)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", nargs="?", help=".npz of a graph such as Cora")
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=7)
    parser.add_argument("--anchor", choices=("uniform", "distance"), default="uniform")
    arguments = parser.parse_args()
    graph = block_model() if arguments.graph is None else read_graph(arguments.graph)
    settings = Settings(anchor=arguments.anchor)
    metrics = ["auc_synthetic", "auc_birth", "auc_matched", "delta_homophily", "nca_mean"]
    suite = EvaluationSuite(range(len(graph.labels)), graph.labels, CONDITIONS, metrics=metrics)
    for condition in CONDITIONS:
        for seed in range(arguments.seeds):
            engine = Zaratustra(graph, settings, condition, seed)
            suite.begin(condition, engine.embeddings, engine.edges, seed)
            for cycle in range(arguments.cycles):
                births = engine.step()
                suite.step(condition, engine.embeddings, births, engine.edges, cycle, seed=seed, pools=engine.pools)
    suite.report()
    print(suite.compare("auc_birth"))
    if settings.anchor == "distance":
        print("The anchors were chosen by the distance that scores them: auc_birth is circular.")


if __name__ == "__main__":
    main()
