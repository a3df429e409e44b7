"""A graph that grows from its hubs, from random nodes or from its periphery, and embeddings to predict the growth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.demo import Demo, save
from graphgauge.evolution import Log

_NODES, _CLASSES, _CYCLES, _BIRTHS = 240, 4, 3, 60


def _smoothed(points: Floats, graph: Floats) -> Floats:
    """Move every point towards its neighbours; the more it has, the nearer it is to the centre."""
    degrees = graph.sum(axis=0)
    moved = 0.8 * points + 0.2 * graph @ points / np.maximum(degrees, 1)[:, None]
    radii = 0.9 * (1 - np.log1p(degrees) / np.log(degrees.max() + 2))
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True) * radii[:, None])


def _anchors(condition: str, degrees: Floats) -> Ints:
    """The nodes that new edges may lead to."""
    if condition == "Off":
        return np.arange(_NODES)
    order = np.argsort(degrees, kind="stable")
    return order[-_NODES // 10 :] if condition == "Normal" else order[: _NODES // 4]


def _write(folder: Path, seed: int) -> None:
    log, classes = Log(folder), np.arange(_NODES) % _CLASSES
    for condition in DEMO.methods:
        draw = np.random.default_rng(seed)
        weight = draw.pareto(2.0, _NODES) + 0.5
        odds = np.outer(weight, weight) * np.where(classes[:, None] == classes, 0.015, 0.002)
        graph = np.triu(draw.random(odds.shape) < odds, 1).astype(float)
        edges, graph = np.argwhere(graph), graph + graph.T
        points = _smoothed(draw.normal(0, 0.15, (_NODES, 6)) + 0.3 * np.eye(_CLASSES, 6)[classes], graph)
        log.begin(condition, seed, edges=edges, embeddings=points)
        for cycle in range(_CYCLES):
            anchors = draw.choice(_anchors(condition, graph.sum(axis=0)), _BIRTHS)
            pairs = np.sort(np.stack([draw.integers(0, _NODES, _BIRTHS), anchors], axis=1))
            births = np.unique(pairs[(pairs[:, 0] < pairs[:, 1]) & (graph[pairs[:, 0], pairs[:, 1]] == 0)], axis=0)
            graph[births[:, 0], births[:, 1]] = graph[births[:, 1], births[:, 0]] = 1
            points = _smoothed(points, graph)
            if cycle == log.next_cycle(condition, seed):  # an earlier demo in this folder has written the same
                log.append(condition, seed, cycle, embeddings=points, new_edges=births)
    save(folder, labels=classes)


DEMO = Demo(
    dataset="block model",
    methods=("Normal", "Off", "Inverted"),
    inputs={
        "log": "evolution/{method}/seed-{seed}",
        "labels": "evolution/labels.npy",
        # Without the probe, which would take longer than the rest of the demo.
        "metrics": ["auc_synthetic", "auc_birth", "auc_matched", "delta_homophily"],
    },
    metric="auc_birth",
    write=_write,
)
