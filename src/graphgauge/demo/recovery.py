"""Structure learning: samples of random linear models, and three estimators of their graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.demo import SEEDS, Demo, save

_NODES, _PARENTS, _SAMPLES = 15, 2, 400
# Estimates beyond this many standard errors are edges: their scores are above the threshold 0.5.
_CLEAR = 3.0


def _linear_model(seed: int) -> tuple[Floats, Floats]:
    """A random acyclic graph, row i to column j, and samples of a linear model with Gaussian noise on it."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(_NODES)
    edges = (order[:, None] < order) & (draw.random((_NODES, _NODES)) < 2 * _PARENTS / (_NODES - 1))
    weights = edges * draw.uniform(0.5, 1.5, edges.shape) * draw.choice([-1, 1], edges.shape)
    noise = draw.normal(size=(_SAMPLES, _NODES))
    return edges.astype(float), noise @ np.linalg.inv(np.eye(_NODES) - weights)


def _correlation(samples: Floats) -> Floats:
    """Link correlated variables in both directions."""
    return np.abs(np.corrcoef(samples, rowvar=False) - np.eye(_NODES)) * np.sqrt(_SAMPLES) / (2 * _CLEAR)


def _partial_correlation(samples: Floats) -> Floats:
    """Link variables with a partial correlation given all others."""
    precision = np.linalg.inv(np.cov(samples, rowvar=False))
    scale = np.sqrt(np.diag(precision))
    return np.abs(precision / np.outer(scale, scale) - np.eye(_NODES)) * np.sqrt(_SAMPLES) / (2 * _CLEAR)


def _sorted_regression(samples: Floats) -> Floats:
    """Sort variables by variance and regress each on the previous ones (Reisach et al. 2021)."""
    scores = np.zeros((_NODES, _NODES))
    order = np.argsort(samples.var(axis=0))
    centred = samples - samples.mean(axis=0)
    for place, node in enumerate(order[1:], 1):
        parents = centred[:, order[:place]]
        weights, *_ = np.linalg.lstsq(parents, centred[:, node], rcond=None)
        rest = centred[:, node] - parents @ weights
        errors = np.sqrt(np.diag(np.linalg.inv(parents.T @ parents)) * rest.var())
        scores[order[:place], node] = np.abs(weights / errors) / (2 * _CLEAR)
    return scores


_ESTIMATORS = {
    "correlation": _correlation,
    "partial correlation": _partial_correlation,
    "sorted regression": _sorted_regression,
}


def _write(folder: Path) -> None:
    for seed in SEEDS:
        truth, samples = _linear_model(seed)
        save(folder / "recovery" / "data" / str(seed), graph=truth)
        for name, estimate in _ESTIMATORS.items():
            save(folder / "recovery" / name / str(seed), graph=estimate(samples))


DEMO = Demo(
    family="recovery",
    dataset="linear models",
    methods=tuple(_ESTIMATORS),
    inputs={"true": "recovery/data/{seed}/graph.npy", "pred": "recovery/{method}/{seed}/graph.npy"},
    metric="directed_f1",
    write=_write,
)
