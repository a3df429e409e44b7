"""Structure learning: samples of random linear models, and three estimators of their graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.core.types import Floats
from graphgauge.demo import Demo, save

_NODES, _PARENTS, _SAMPLES = 15, 2, 400
# Estimates beyond this many standard errors are edges: their scores are above the threshold 0.5.
_CLEAR = 3.0


def _sorted_regression(samples: Floats) -> Floats:
    """Sort variables by variance and regress each on the previous ones (Reisach et al. 2021): t values."""
    found = np.zeros((_NODES, _NODES))
    order, centred = np.argsort(samples.var(axis=0)), samples - samples.mean(axis=0)
    for place, node in enumerate(order[1:], 1):
        parents = centred[:, order[:place]]
        weights = np.linalg.lstsq(parents, centred[:, node], rcond=None)[0]
        spread = (centred[:, node] - parents @ weights).std()
        found[order[:place], node] = weights / (spread * np.sqrt(np.diag(np.linalg.inv(parents.T @ parents))))
    return found


def _write(folder: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    order = draw.permutation(_NODES)
    edges = (order[:, None] < order) & (draw.random((_NODES, _NODES)) < 2 * _PARENTS / (_NODES - 1))
    weights = edges * draw.uniform(0.5, 1.5, edges.shape) * draw.choice([-1, 1], edges.shape)
    samples = draw.normal(size=(_SAMPLES, _NODES)) @ np.linalg.inv(np.eye(_NODES) - weights)
    precision = np.linalg.inv(np.cov(samples, rowvar=False))
    scale = np.sqrt(np.diag(precision))
    found = {
        "correlation": np.corrcoef(samples, rowvar=False) * np.sqrt(_SAMPLES),
        "partial correlation": precision / np.outer(scale, scale) * np.sqrt(_SAMPLES),
        "sorted regression": _sorted_regression(samples),
    }
    save(folder / "data" / str(seed), graph=edges.astype(float))
    for name, values in found.items():
        scores = np.abs(values) / (2 * _CLEAR) * (1 - np.eye(_NODES))
        save(folder / name / str(seed), graph=scores)


DEMO = Demo(
    dataset="linear models",
    methods=("correlation", "partial correlation", "sorted regression"),
    inputs={"true": "recovery/data/{seed}/graph.npy", "pred": "recovery/{method}/{seed}/graph.npy"},
    metric="directed_f1",
    write=_write,
)
