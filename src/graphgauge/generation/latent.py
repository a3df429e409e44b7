"""Whether conditions are ordered along one direction of a latent space."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError

# Ridge penalties, as shares of the largest squared singular value.
_PENALTIES = np.logspace(-8, 2, 21)


def held_out_order(
    points: NDArray[np.floating], codes: Ints, *, folds: int = 5, generator: np.random.Generator
) -> Floats:
    """The position of each point along the direction that best predicts its condition's rank, by cross-validation.

    Ridge regression of the code on the standardised coordinates; the penalty is chosen by generalised cross-validation
    within the other folds. Folds are stratified by condition: otherwise an uninformative latent space would predict low
    values in folds with high codes.
    """
    points, codes = np.asarray(points, np.float64), np.asarray(codes)
    n = len(points)
    folds = min(folds, n)
    if folds < 2 or points.ndim != 2 or codes.shape != (n,):
        raise InputError(
            f"expected at least two points with one code each, found shapes {points.shape} and {codes.shape}"
        )
    fold = np.empty(n, np.int64)
    fold[np.lexsort((generator.random(n), codes))] = np.arange(n) % folds
    predicted = np.empty(n)
    for held_out in range(folds):
        out = fold == held_out
        predicted[out] = _ridge(points[~out], codes[~out].astype(np.float64), points[out])
    return predicted


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Rank correlation, with mean ranks for ties; NaN if either side is constant.

    >>> round(spearman([1, 2, 2, 3], [10, 20, 30, 40]), 6)
    0.948683
    """
    first, second = (_centred_ranks(np.asarray(values)) for values in (a, b))
    norm = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / norm if norm > 0 else math.nan


def _ridge(points: Floats, target: Floats, others: Floats) -> Floats:
    centre, spread = points.mean(axis=0), points.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    left, singular, right = np.linalg.svd((points - centre) / scale, full_matrices=False)
    mean = target.mean()
    along = left.T @ (target - mean)
    outside = float(((target - mean) ** 2).sum() - along @ along)
    best, weights = math.inf, np.zeros_like(singular)
    for penalty in _PENALTIES * max(float(singular.max(initial=0.0)) ** 2, np.finfo(float).tiny):
        kept = singular**2 / (singular**2 + penalty)
        free = len(points) - 1 - kept.sum()
        error = (outside + float((((1 - kept) * along) ** 2).sum())) / free**2 if free > 0.5 else math.inf
        if error < best:
            best, weights = error, singular / (singular**2 + penalty) * along
    prediction: Floats = mean + (others - centre) / scale @ (right.T @ weights)
    return prediction


def _centred_ranks(values: NDArray[np.generic]) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[place]
    return np.asarray(ranks - (len(values) + 1) / 2)
