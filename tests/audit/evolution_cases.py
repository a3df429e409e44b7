"""Growing graphs, clean and with planted faults."""

import numpy as np
from tests.audit.cases import Case

from graphgauge.evolution import EvaluationSuite

NODES = 150


def start(rng):
    """Points around one centre a class, and edges within classes."""
    labels = np.arange(NODES) % 4
    points = 0.2 * np.eye(4, 8)[labels] + rng.normal(0, 0.12, (NODES, 8))
    pairs = rng.integers(0, NODES, (6 * NODES, 2))
    edges = pairs[(pairs[:, 0] < pairs[:, 1]) & (labels[pairs[:, 0]] == labels[pairs[:, 1]])]
    return points / max(1.0, np.linalg.norm(points, axis=1).max() / 0.9), np.unique(edges, axis=0), labels


def born(rng, points, count, skill):
    """Births of a few sources, each the nearest of so many targets drawn at random."""
    sources = rng.choice(rng.permutation(NODES)[: max(10, count // 3)], count)
    targets = rng.integers(0, NODES, (count, skill))
    apart = np.linalg.norm(points[targets] - points[sources][:, None], axis=2)
    births = np.stack([sources, targets[np.arange(count), apart.argmin(axis=1)]], axis=1)
    return births[births[:, 0] != births[:, 1]]


def smoothed(points, edges, weight):
    ends = np.concatenate([edges, edges[:, ::-1]])
    sums = np.zeros_like(points)
    np.add.at(sums, ends[:, 0], points[ends[:, 1]])
    degrees = np.bincount(ends[:, 0], minlength=len(points))[:, None]
    return (1 - weight) * points + weight * np.where(degrees > 0, sums / np.maximum(degrees, 1), points)


def grown(rng, weight, births, over_births, skill=1):
    """One cycle, or two conditions of two seeds, whose embeddings are smoothed over the graph with or without it."""
    points, edges, labels = start(rng)
    several = rng.random() < 0.1
    names = ["a", "b"] if several else ["run"]
    suite = EvaluationSuite(range(NODES), labels, names, metrics=["auc_synthetic", "auc_birth"], threads=1)
    for name in names:
        for seed in range(2 if several else 1):
            new = born(rng, points, births, skill)
            after = np.concatenate([edges, new])
            moved = smoothed(points, after if over_births else edges, weight) + rng.normal(0, 0.003, points.shape)
            suite.begin(name, points, edges, seed)
            suite.step(name, moved, new, after, 0, seed=seed)
    return suite.evaluation().materials


def trained(rng):
    """Births with and without skill, and embeddings that go on learning from the edges that stood before."""
    return grown(rng, rng.uniform(0, 0.4), int(rng.integers(15, 120)), over_births=False, skill=int(rng.choice([1, 5])))


CASES = [
    Case("circular-auc", trained, lambda rng, weight: grown(rng, weight, 120, over_births=True),
         {"a third of each point from its neighbours": 0.35, "half": 0.5, "three quarters": 0.75}),
]  # fmt: skip
