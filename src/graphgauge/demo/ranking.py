"""Link prediction on graphs with communities and hubs, by three scorers that need no training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.demo import Demo, save

_NODES, _COMMUNITIES, _HIDDEN, _NEGATIVES = 400, 5, 100, 40


def _write(folder: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    community, weight = draw.integers(0, _COMMUNITIES, _NODES), draw.pareto(2.5, _NODES) + 0.5
    odds = np.outer(weight, weight) * np.where(community[:, None] == community, 0.09, 0.003)
    linked = np.triu(draw.random(odds.shape) < odds, 1)
    source, target = draw.permutation(np.argwhere(linked))[:_HIDDEN].T
    linked |= linked.T | np.eye(_NODES, dtype=bool)
    negatives = np.stack([draw.choice(np.flatnonzero(~linked[u]), _NEGATIVES, replace=False) for u in source])
    graph = linked - np.eye(_NODES)
    graph[source, target] = graph[target, source] = 0

    values, vectors = np.linalg.eigh(graph)
    top = np.argsort(-np.abs(values))[:6]
    scores = {
        "spectral": (vectors[:, top] * values[top]) @ vectors[:, top].T,
        "common neighbours": graph @ graph,
        "degree of the target": np.broadcast_to(graph.sum(axis=0), graph.shape),
    }
    for name, matrix in scores.items():
        pos, neg = matrix[source, target], matrix[source[:, None], negatives]
        save(folder / name / str(seed), pos=pos, neg=neg)
    within = np.where(community[source] == community[target], "within", "across")
    save(folder / "data" / str(seed), community=within)


DEMO = Demo(
    dataset="communities",
    methods=("spectral", "common neighbours", "degree of the target"),
    inputs={
        "pos_scores": "ranking/{method}/{seed}/pos.npy",
        "neg_scores": "ranking/{method}/{seed}/neg.npy",
        "groups": {"community": "ranking/data/{seed}/community.npy"},
        "keep_items": True,
    },
    metric="mrr",
    write=_write,
)
