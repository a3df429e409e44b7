"""Errors and correlations of numbers, each with the influence of its items.

A measure takes truths and predictions of one task, both (n,), and the share of each item, which add up to 1. It returns
its value and what each item adds to the error: the mean of the influence, weighted by the shares, is 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphgauge.core.types import Floats

TargetMeasure = Callable[[Floats, Floats, Floats], tuple[float, Floats]]


def mae(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Σ w |ŷ − y|."""
    away = np.abs(pred - true)
    value = float(share @ away)
    return value, away - value


def rmse(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """√(Σ w (ŷ − y)²)."""
    squares = (pred - true) ** 2
    value = float(np.sqrt(share @ squares))
    return value, (squares - value**2) / (2 * value) if value > 0 else np.zeros_like(squares)


def r2(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """1 − Σ w (ŷ − y)² / Σ w (y − ȳ)²; NaN if the truths are equal up to rounding."""
    squares, around = (pred - true) ** 2, (true - share @ true) ** 2
    error, spread = float(share @ squares), float(share @ around)
    if _flat(true, spread):
        return np.nan, np.zeros_like(true)
    return 1 - error / spread, (error * around / spread - squares) / spread


def pearson(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """r = Σ w z_y z_ŷ of standardised numbers; NaN if either is constant. Influence: z_y z_ŷ − r (z_y² + z_ŷ²) / 2."""
    x, y = true - share @ true, pred - share @ pred
    spread_x, spread_y = float(share @ x**2), float(share @ y**2)
    if _flat(true, spread_x) or _flat(pred, spread_y):
        return np.nan, np.zeros_like(true)
    x, y = x / np.sqrt(spread_x), y / np.sqrt(spread_y)
    value = float(np.clip(share @ (x * y), -1.0, 1.0))
    return value, x * y - value * (x**2 + y**2) / 2


def spearman(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Pearson's correlation of mid-ranks.

    The influence is that of Pearson's plus what an item adds by moving the ranks of all others (Borkowf 2002): with
    standardised ranks u and v, the means over the others of v where their truth is larger, and of u where their
    prediction is.
    """
    u, v = _ranks(true), _ranks(pred)
    value, own = pearson(u, v, share)
    if np.isnan(value):
        return value, own
    scale_u, scale_v = np.sqrt(np.var(u)), np.sqrt(np.var(v))
    x, y = (u - u.mean()) / scale_u, (v - v.mean()) / scale_v
    # A rank is half the number of smaller or equal plus half that of smaller ones, so an item lifts what is above it.
    lifted_x = _mean_above(true, y - value * x) / scale_u * len(true)
    lifted_y = _mean_above(pred, x - value * y) / scale_v * len(true)
    moved = lifted_x + lifted_y
    return value, own + moved - moved.mean()


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values with their mean."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    last = np.append(first[1:], len(values))
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((first + last + 1) / 2, last - first)
    return ranks


def _mean_above(values: Floats, carried: Floats) -> Floats:
    """For each item, the mean over all of what those with larger values carry, those with equal ones half."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(carried[order], first)
    above = sums.sum() - np.cumsum(sums) + sums / 2
    means = np.empty(len(values))
    means[order] = np.repeat(above, np.diff(np.append(first, len(values)))) / len(values)
    return means


def mean(values: Floats, share: Floats) -> float:
    """Σ w y."""
    return float(share @ values)


def median(values: Floats, share: Floats) -> float:
    """The number with half of the weight on either side."""
    order = np.argsort(values)
    reached = np.cumsum(share[order])
    low, high = (int(np.searchsorted(reached, half)) for half in (0.5 - 1e-12, 0.5 + 1e-12))
    ends = values[order][np.minimum([low, high], len(values) - 1)]
    return float(ends.mean())


def _flat(values: Floats, variance: float) -> bool:
    """Whether a variance is only rounding of these numbers."""
    largest = float(np.abs(values).max())
    return variance <= (1e-12 * largest) ** 2
