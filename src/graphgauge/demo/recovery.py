"""Structure learning: samples of random linear models, and three estimators of their graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.demo import Demo

_SEEDS = tuple(range(8))
_NODES, _PARENTS, _SAMPLES = 15, 2, 400
# Correlations beyond this many standard errors are edges.
_CLEAR = 3.0


def linear_model(seed: int) -> tuple[Floats, Floats]:
    """A random acyclic graph, row i to column j, and samples of a linear model with Gaussian noise on it."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(_NODES)
    before = np.triu(np.ones((_NODES, _NODES), dtype=bool), 1)[np.ix_(np.argsort(order), np.argsort(order))]
    edges = before & (draw.random((_NODES, _NODES)) < 2 * _PARENTS / (_NODES - 1))
    weights = edges * draw.uniform(0.5, 1.5, edges.shape) * draw.choice([-1, 1], edges.shape)
    noise = draw.normal(size=(_SAMPLES, _NODES))
    return edges.astype(float), noise @ np.linalg.inv(np.eye(_NODES) - weights)


# All scores have the threshold 0.5: edges are the pairs that pass the estimator's test.


def correlation(samples: Floats) -> Floats:
    """Link correlated variables in both directions."""
    return _judged(np.asarray(np.corrcoef(samples, rowvar=False)))


def partial_correlation(samples: Floats) -> Floats:
    """Link variables with a partial correlation given all others."""
    precision = np.asarray(np.linalg.inv(np.cov(samples, rowvar=False)), dtype=np.float64)
    scale = np.sqrt(np.diag(precision))
    return _judged(-precision / np.outer(scale, scale))


def sorted_regression(samples: Floats) -> Floats:
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


def _judged(correlations: Floats) -> Floats:
    scores: Floats = np.abs(correlations) * np.sqrt(_SAMPLES) / (2 * _CLEAR)
    np.fill_diagonal(scores, 0)
    return scores


_ESTIMATORS = {
    "correlation": correlation,
    "partial correlation": partial_correlation,
    "sorted regression": sorted_regression,
}


def _write(folder: Path) -> None:
    for seed in _SEEDS:
        truth, samples = linear_model(seed)
        for name, content in {"data": truth, **{name: learn(samples) for name, learn in _ESTIMATORS.items()}}.items():
            place = folder / "recovery" / name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / "graph.npy", content)


DEMO = Demo(
    family="recovery",
    dataset="linear models",
    methods=tuple(_ESTIMATORS),
    seeds=_SEEDS,
    inputs={"true": "recovery/data/{seed}/graph.npy", "pred": "recovery/{method}/{seed}/graph.npy"},
    metric="directed_f1",
    write=_write,
)
