"""Statistics of confusion tables, and their derivatives by the share of each cell.

With shares p_ab of items of true class a and predicted class b, r_a = Σ_b p_ab and s_b = Σ_a p_ab. A statistic f comes
with its gradient ∂f/∂p_ab, up to a constant; the influence of an item in cell (a, b) is that, less its mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphgauge.core.types import Floats


class Measure(NamedTuple):
    """A statistic of a table and its gradient; NaN if the table does not have one."""

    value: float
    gradient: Floats


TableMeasure = Callable[[Floats], Measure]


def accuracy(p: Floats) -> Measure:
    """Share of the labels that are right; of several tasks the mean of their accuracies."""
    return Measure(float(np.trace(p)), np.eye(len(p)))


def recall(p: Floats, c: int | None = 1) -> Measure:
    """Share of the positives that are called so; NaN without positives."""
    return _ratio(p, 1.0, 0.0, c)


def precision(p: Floats, c: int | None = 1) -> Measure:
    """Share of the items called positive that are; NaN if none is."""
    return _ratio(p, 0.0, 1.0, c)


def f1(p: Floats, c: int | None = 1) -> Measure:
    """Harmonic mean of precision and recall of the positive class; NaN if it is neither there nor predicted."""
    return _ratio(p, 0.5, 0.5, c)


def balanced_accuracy(p: Floats) -> Measure:
    """Mean over the classes that have items of the share of these that are found."""
    return recall(p, None)


def f1_macro(p: Floats) -> Measure:
    """Mean F1 of the classes that are there or predicted; of tasks, of their positive classes."""
    return f1(p, None)


def f1_micro(p: Floats) -> Measure:
    """F1 of all labels together: the accuracy of one label per item; of tasks, of all their positives."""
    return accuracy(p)


def f1_weighted(p: Floats) -> Measure:
    """Mean F1 of the classes, each by its share of the items."""
    values, moved = _ratios(p, 0.5, 0.5, p.sum(axis=1))
    return Measure(float(p.sum(axis=1) @ values), moved + values[:, np.newaxis])


def _ratio(p: Floats, rows: float, columns: float, c: int | None) -> Measure:
    """p_cc / (rows · r_c + columns · s_c) of a class, or its mean over the classes that have a value."""
    known = rows * p.sum(axis=1) + columns * p.sum(axis=0) > 0
    used = known if c is None else known & (np.arange(len(p)) == c)
    if not used.any():
        return Measure(np.nan, np.zeros_like(p))
    values, moved = _ratios(p, rows, columns, used / used.sum())
    return Measure(float(values[used].mean()), moved)


def _ratios(p: Floats, rows: float, columns: float, weights: Floats) -> tuple[Floats, Floats]:
    """The ratio of each class, 0 without a denominator; and the gradient of their sum with these weights."""
    whole = rows * p.sum(axis=1) + columns * p.sum(axis=0)
    part = np.divide(weights, whole, out=np.zeros(len(p)), where=whole > 0)
    values = np.divide(np.diag(p), whole, out=np.zeros(len(p)), where=whole > 0)
    return values, np.diag(part) - rows * (part * values)[:, np.newaxis] - columns * part * values


def matthews(p: Floats) -> Measure:
    """Correlation of true and predicted classes (Matthews 1975; Gorodkin 2004 for more than two).

    NaN if all items are of one class or all predictions are.
    """
    r, s = p.sum(axis=1), p.sum(axis=0)
    spread_true, spread_pred = 1 - r @ r, 1 - s @ s
    if min(spread_true, spread_pred) <= 1e-15:
        return Measure(np.nan, np.zeros_like(p))
    scale = np.sqrt(spread_true * spread_pred)
    joint = np.trace(p) - r @ s
    moved = np.eye(len(p)) - s[:, None] - r[None, :]
    gradient = (moved + joint * (r[:, None] / spread_true + s[None, :] / spread_pred)) / scale
    return Measure(float(joint / scale), gradient)


def cohen_kappa(p: Floats) -> Measure:
    """Agreement beyond that of independent labels with the same shares (Cohen 1960); NaN if these agree, too."""
    r, s = p.sum(axis=1), p.sum(axis=0)
    by_chance = r @ s
    if 1 - by_chance <= 1e-15:
        return Measure(np.nan, np.zeros_like(p))
    agreed = np.trace(p)
    gradient = np.eye(len(p)) * (1 - by_chance) - (s[:, None] + r[None, :]) * (1 - agreed)
    return Measure(float((agreed - by_chance) / (1 - by_chance)), gradient / (1 - by_chance) ** 2)
