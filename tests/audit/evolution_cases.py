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
    suite = EvaluationSuite(range(NODES), labels, names, metrics=["auc_synthetic", "auc_birth"])
    for name in names:
        for seed in range(2 if several else 1):
            new = born(rng, points, births, skill)
            after = np.concatenate([edges, new])
            moved = smoothed(points, after if over_births else edges, weight) + rng.normal(0, 0.003, points.shape)
            suite.begin(name, points, edges, seed)
            suite.step(name, moved, new, after, 0, seed=seed)
    return suite.evaluation()._materials


def trained(rng):
    """Births with and without skill, and embeddings that go on learning from the edges that stood before."""
    return grown(rng, rng.uniform(0, 0.4), int(rng.integers(15, 120)), over_births=False, skill=int(rng.choice([1, 5])))


def words(rng, labels, count=60):
    """Yes or no, more often in one class than in others; some are rare, and some never occur outside one class."""
    favoured = np.eye(4)[rng.integers(0, 4, count)][:, labels].T
    return rng.random((len(labels), count)) < rng.uniform(0, 0.1, count) + favoured * rng.uniform(0, 0.7, count)


def without_labels(rng):
    """Points far apart by class, smoothed ones, rounded ones, and words; a class of three nodes among the others."""
    points, edges, labels = start(rng)
    kind = rng.choice(["apart", "smoothed", "rounded", "words"])
    if kind == "apart":
        points = 0.5 * np.eye(4, 8)[labels] + 10 ** rng.uniform(-3, -1) * rng.normal(0, 1, points.shape)
    elif kind == "smoothed":
        for _ in range(5):
            points = smoothed(points, edges, 0.8)
    elif kind == "rounded":
        points = np.round(points, 2)
    else:
        points = words(rng, labels)
    labels = np.where(np.arange(NODES) < 3, 9, labels)
    return {"labels": labels, "embeddings": points.astype(rng.choice([np.float32, np.float64]))}


def with_labels(rng, fault):
    """A code of the labels beside the points, so wide against them, in float32."""
    code, width = fault
    points, _, labels = start(rng)
    columns = np.concatenate([points, width * points.std() * code[labels]], axis=1)
    return {"labels": labels, "embeddings": columns.astype(np.float32)}


def undeclared(rng, cycles=0):
    """Five cycles; births of so many of them are left to be told from the graphs."""
    points, edges, labels = start(rng)
    suite = EvaluationSuite(range(NODES), labels, ["run"], metrics=["delta_homophily"])
    suite.begin("run", points, edges)
    silent = rng.choice(5, cycles, replace=False)
    for cycle in range(5):
        new = born(rng, points, int(rng.integers(15, 60)), 1)
        edges = np.concatenate([edges, new])
        suite.step("run", points, None if cycle in silent else new, edges, cycle)
    return suite.evaluation()._materials


def repeated(rng, copies=0):
    """Four seeds that start alike; so many of them have the births of the first."""
    points, edges, labels = start(rng)
    suite = EvaluationSuite(range(NODES), labels, ["run"], metrics=["delta_homophily"])
    first = born(rng, points, 30, 1)
    for seed in range(4):
        new = first if seed <= copies else born(rng, points, 30, 1)
        suite.begin("run", points, edges, seed)
        suite.step("run", points, new, np.concatenate([edges, new]), 0, seed=seed)
    return suite.evaluation()._materials


def sided(rng, edges_between=0, held=0, shared=False):
    """A graph like the others, one with edges between two sides only, or one with test edges in it."""
    points, edges, labels = start(rng)
    if edges_between:
        pairs = np.stack([rng.integers(0, 50, 4 * edges_between), rng.integers(50, NODES, 4 * edges_between)], axis=1)
        edges = np.unique(pairs, axis=0)[:edges_between]
    else:
        edges = edges[: int(rng.integers(20, len(edges)))]
    test, rest = edges[-20:], edges[: len(edges) - 20 + held]
    names = ["a", "b"]
    suite = EvaluationSuite(range(NODES), labels, names, metrics=["static_auc"], test_edges=test)
    graph = rest
    for name in names:
        graph = graph if shared else rest
        suite.begin(name, points, graph)
        for cycle in range(int(rng.integers(1, 4))):
            ends = np.stack([rng.integers(0, 50, 20), rng.integers(50, NODES, 20)], axis=1)
            new = ends if edges_between else born(rng, points, 20, 1)
            new = new[~np.isin(np.sort(new) @ [NODES, 1], np.sort(test) @ [NODES, 1])]
            new = new[: max(1, shared)] if shared else new
            graph = np.concatenate([graph, new])
            suite.step(name, points, new, graph, cycle)
    return suite.evaluation()._materials


FLAG, NUMBER, ONE_HOT = np.eye(4)[:, :1], np.arange(4.0)[:, None], np.eye(4)

CASES = [
    Case(
        "circular-auc",
        trained,
        lambda rng, weight: grown(rng, weight, 120, over_births=True),
        {"a third of each point from its neighbours": 0.35, "half": 0.5, "three quarters": 0.75},
    ),
    Case("inferred-births", undeclared, undeclared, {"in one cycle of five": 1, "in three": 3, "in all": 5}),
    Case("copied-run", repeated, repeated, {"one of four seeds": 1, "two": 2, "three": 3}),
    Case(
        "bipartite-growth",
        sided,
        lambda rng, edges: sided(rng, edges_between=edges),
        {"200 edges between sides of 50 and 100 nodes": 200, "400": 400, "800": 800},
    ),
    Case(
        "test-edges-in-graph",
        sided,
        lambda rng, held: sided(rng, held=held),
        {"one of 20 test edges": 1, "five": 5, "all": 20},
    ),
    Case(
        "shared-state",
        sided,
        lambda rng, births: sided(rng, shared=births),
        {"one birth a cycle": 1, "five": 5, "twenty": 20},
    ),
    Case(
        "label-in-embeddings",
        without_labels,
        with_labels,
        {
            "a flag of one class in four, a hundredth as wide as the rest": (FLAG, 0.01),
            "one-hot labels": (ONE_HOT, 1.0),
            "a column of numbers": (NUMBER, 1.0),
        },
    ),
]
