"""Errors and correlations of numbers, each with the influence of its items.

A measure takes truths and predictions of one task, both (n,), and the share of each item, which add up to 1. It returns
its value and what each item adds to the error: the mean of the influence, weighted by the shares, is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from graphgauge.core.types import Floats

TargetMeasure = Callable[[Floats, Floats, Floats], tuple[float, Floats]]


def mae(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Mean absolute error; of several tasks the mean of theirs."""
    away = np.abs(pred - true)
    value = float(share @ away)
    return value, away - value


def rmse(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Root of the mean squared error; of several tasks the mean of theirs."""
    squares = (pred - true) ** 2
    value = float(np.sqrt(share @ squares))
    return value, (squares - value**2) / (2 * value) if value > 0 else np.zeros_like(squares)


def r2(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Share of the variance of the targets that is explained; NaN if they are equal up to rounding."""
    squares, around = (pred - true) ** 2, (true - share @ true) ** 2
    error, spread = float(share @ squares), float(share @ around)
    if _flat(true, spread):
        return np.nan, np.zeros_like(true)
    return 1 - error / spread, (error * around / spread - squares) / spread


def pearson(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Linear correlation of targets and predictions; NaN if either is constant.

    With standardised numbers r = Σ w z_y z_ŷ, and the influence is z_y z_ŷ − r (z_y² + z_ŷ²) / 2.
    """
    x, y = true - share @ true, pred - share @ pred
    spread_x, spread_y = float(share @ x**2), float(share @ y**2)
    if _flat(true, spread_x) or _flat(pred, spread_y):
        return np.nan, np.zeros_like(true)
    x, y = x / np.sqrt(spread_x), y / np.sqrt(spread_y)
    value = float(np.clip(share @ (x * y), -1.0, 1.0))
    return value, x * y - value * (x**2 + y**2) / 2


def spearman(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
    """Correlation of the ranks, ties with their mean rank; NaN if either is constant.

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
    moved = _above(true, y - value * x) / scale_u + _above(pred, x - value * y) / scale_v
    return value, own + moved - moved.mean()


def _ranks(values: Floats) -> Floats:
    """Ranks from 1, equal values with their mean."""
    return len(values) + 0.5 - _above(values, np.ones(len(values)))


def _above(values: Floats, carried: Floats) -> Floats:
    """For each item, the sum of what those with larger values carry, and half of what those with equal ones do."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sums = np.add.reduceat(carried[order], first)
    found = np.empty(len(values))
    found[order] = np.repeat(sums.sum() - np.cumsum(sums) + sums / 2, np.diff(np.append(first, len(values))))
    return found


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
    return math.sqrt(variance) <= 1e-12 * largest
