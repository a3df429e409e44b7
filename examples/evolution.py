"""Is a score of new edges meaningful? A graph that grows at random, scored before and after each cycle.

Every cycle adds random edges and then smooths the embeddings over the graph. Scored with the embeddings after the
cycle, the new edges look well chosen, because smoothing moved their ends together. With the embeddings before the
cycle, they are at chance.
"""

from __future__ import annotations

import numpy as np

from graphgauge.evolution import EvaluationSuite


def start(seed: int, nodes: int = 400, classes: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points around one centre per class, edges mostly within classes, and the classes."""
    draw = np.random.default_rng(seed)
    labels = np.arange(nodes) % classes
    points = np.eye(classes, 8)[labels] * 0.2 + draw.normal(0, 0.12, (nodes, 8))
    pairs = draw.integers(0, nodes, (8 * nodes, 2))
    kept = pairs[(pairs[:, 0] < pairs[:, 1]) & (labels[pairs[:, 0]] == labels[pairs[:, 1]])]
    return points / max(1.0, np.linalg.norm(points, axis=1).max() / 0.9), np.unique(kept, axis=0), labels


def smoothed(points: np.ndarray, edges: np.ndarray, weight: float) -> np.ndarray:
    """Move every point towards the mean of its neighbours."""
    ends = np.concatenate([edges, edges[:, ::-1]])
    sums = np.zeros_like(points)
    np.add.at(sums, ends[:, 0], points[ends[:, 1]])
    degrees = np.bincount(ends[:, 0], minlength=len(points))[:, None]
    return (1 - weight) * points + weight * np.where(degrees > 0, sums / np.maximum(degrees, 1), points)


def main() -> None:
    _, _, labels = start(0)
    weights = {"no smoothing": 0.0, "smoothing": 0.6}
    suite = EvaluationSuite(range(len(labels)), labels, list(weights), n_neg_per_pos="all")
    for condition, weight in weights.items():
        for seed in range(5):
            draw = np.random.default_rng(seed)
            points, edges, _ = start(seed)
            suite.begin(condition, points, edges, seed)
            for cycle in range(5):
                births = np.stack([draw.permutation(len(labels))[:60], draw.permutation(len(labels))[:60]], axis=1)
                births = births[births[:, 0] != births[:, 1]]
                edges = np.concatenate([edges, births])
                points = smoothed(points, edges, weight)
                suite.step(condition, points, births, edges, cycle, seed=seed)
    suite.report()
    print(suite.compare("auc_synthetic"))


if __name__ == "__main__":
    main()
