"""Classes of nodes in a graph with communities, from noisy features, from neighbours, or from both."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.demo import Demo, save

_NODES, _CLASSES, _TESTED = 300, 4, 150


def _write(folder: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    classes = draw.integers(0, _CLASSES, _NODES)
    odds = np.where(classes[:, None] == classes, 0.08, 0.01)
    graph = np.triu(draw.random(odds.shape) < odds, 1)
    graph = (graph | graph.T).astype(float)
    features = np.eye(_CLASSES)[classes] + draw.normal(0, 1, (_NODES, _CLASSES))
    known = np.eye(_CLASSES)[classes] * (np.arange(_NODES) >= _TESTED)[:, None]
    votes = graph @ known
    scores = {"both": features + 2 * votes, "neighbours": votes, "features": features}
    save(folder / "data" / str(seed), true=classes[:_TESTED])
    for name, values in scores.items():
        save(folder / name / str(seed), scores=values[:_TESTED])


DEMO = Demo(
    dataset="classes of nodes",
    methods=("both", "neighbours", "features"),
    inputs={"true": "prediction/data/{seed}/true.npy", "scores": "prediction/{method}/{seed}/scores.npy"},
    metric="accuracy",
    write=_write,
)
