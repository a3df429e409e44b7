"""Systems to evaluate: a small graph with classes, and runs that grow and smooth it."""

from __future__ import annotations

from typing import Any, NamedTuple

import mpmath
import numpy as np


class Graph(NamedTuple):
    points: np.ndarray
    edges: np.ndarray
    labels: np.ndarray


def block_graph(nodes: int = 90, classes: int = 3, seed: int = 0) -> Graph:
    """Classes around centres in the ball, and edges mostly within them."""
    rng = np.random.default_rng(seed)
    labels = np.arange(nodes) % classes
    points = np.eye(classes, 4)[labels] * 0.4 + rng.normal(0, 0.12, (nodes, 4))
    points /= np.maximum(1, np.linalg.norm(points, axis=1) / 0.95)[:, None]
    pairs = np.argwhere(np.triu(np.ones((nodes, nodes), bool), 1))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return Graph(points, pairs[rng.random(len(pairs)) < np.where(same, 0.1, 0.02)], labels)


def smoothed(points: np.ndarray, edges: np.ndarray, weight: float) -> np.ndarray:
    """Every point moved towards the mean of its neighbours."""
    matrix = np.zeros((len(points), len(points)))
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = 1
    degrees = matrix.sum(1)[:, None]
    return (1 - weight) * points + weight * np.where(degrees > 0, matrix @ points / np.maximum(degrees, 1), points)


def cycles(
    seed: int = 0, count: int = 3, births: int = 20, weight: float = 0.0, condition: str = "run"
) -> list[dict[str, Any]]:
    """Random births on the block graph; embeddings are smoothed over the graph after each cycle."""
    graph, rng = block_graph(seed=seed), np.random.default_rng([seed, 1])
    points, edges, found = graph.points, graph.edges, []
    for cycle in range(count):
        taken = {tuple(edge) for edge in edges.tolist()}
        free = [pair for pair in np.argwhere(np.triu(np.ones((90, 90), bool), 1)).tolist() if tuple(pair) not in taken]
        new = np.array([free[row] for row in rng.choice(len(free), births, replace=False)])
        after = np.concatenate([edges, new])
        moved = smoothed(points, after, weight)
        found.append(
            {
                "condition": condition,
                "seed": seed,
                "cycle": cycle,
                "embeddings": moved,
                "new_edges": new,
                "all_edges": after,
                "previous_embeddings": points,
                "previous_edges": edges,
            }
        )
        points, edges = moved, after
    return found


def exact_distance(u: np.ndarray, v: np.ndarray) -> float:
    """In the Poincaré ball, with a hundred digits."""
    with mpmath.workdps(100):
        x, y = ([mpmath.mpf(float(value)) for value in point] for point in (u, v))
        gap = mpmath.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True))
        room = (1 - mpmath.fsum(a * a for a in x)) * (1 - mpmath.fsum(b * b for b in y))
        return float(mpmath.acosh(1 + 2 * gap / room))
