"""Statistics of confusion tables, and their derivatives by the share of each cell.

With shares p_ab of items of true class a and predicted class b, r_a = Σ_b p_ab and s_b = Σ_a p_ab. A statistic f comes
with its gradient ∂f/∂p_ab, up to a constant; the influence of an item in cell (a, b) is that, less its mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphgauge.core.types import Floats


class Measure(NamedTuple):
    """A statistic of a table and its gradient; NaN if the table does not have one."""

    value: float
    gradient: Floats


def accuracy(p: Floats) -> Measure:
    """Σ p_aa."""
    return Measure(float(np.trace(p)), np.eye(len(p)))


def recall(p: Floats, c: int) -> Measure:
    """p_cc / r_c; NaN without items of the class."""
    return _ratio(p, c, rows=1.0, columns=0.0)


def precision(p: Floats, c: int) -> Measure:
    """p_cc / s_c; NaN if the class is never predicted."""
    return _ratio(p, c, rows=0.0, columns=1.0)


def f1(p: Floats, c: int) -> Measure:
    """2 p_cc / (r_c + s_c); NaN if the class is neither there nor predicted."""
    return _ratio(p, c, rows=0.5, columns=0.5)


def _ratio(p: Floats, c: int, *, rows: float, columns: float) -> Measure:
    """p_cc / (rows · r_c + columns · s_c)."""
    whole = rows * p[c].sum() + columns * p[:, c].sum()
    gradient = np.zeros_like(p)
    if whole <= 0:
        return Measure(np.nan, gradient)
    value = p[c, c] / whole
    gradient[c] -= rows * value / whole
    gradient[:, c] -= columns * value / whole
    gradient[c, c] += 1 / whole
    return Measure(float(value), gradient)


def balanced_accuracy(p: Floats) -> Measure:
    """The mean recall of the classes that have items."""
    return _mean([recall(p, c) for c in range(len(p))])


def f1_macro(p: Floats) -> Measure:
    """The mean F1 of the classes that are there or predicted."""
    return _mean([f1(p, c) for c in range(len(p))])


def f1_weighted(p: Floats) -> Measure:
    """Σ r_c F1_c: every class by its share of the items."""
    parts = [f1(p, c) for c in range(len(p))]
    value, gradient = 0.0, np.zeros_like(p)
    for c, each in enumerate(parts):
        if np.isfinite(each.value):
            share = p[c].sum()
            value += share * each.value
            gradient += share * each.gradient
            gradient[c] += each.value
    return Measure(float(value), gradient)


def matthews(p: Floats) -> Measure:
    """The correlation of true and predicted class: (Σ p_cc − Σ r_c s_c) / √((1 − Σ s²)(1 − Σ r²)).

    NaN if all items are of one class or all predictions are.
    """
    r, s = p.sum(axis=1), p.sum(axis=0)
    spread_true, spread_pred = 1 - r @ r, 1 - s @ s
    if min(spread_true, spread_pred) <= 1e-15:
        return Measure(np.nan, np.zeros_like(p))
    scale = np.sqrt(spread_true * spread_pred)
    joint = np.trace(p) - r @ s
    moved = np.eye(len(p)) - s[:, None] - r[None, :]
    return Measure(
        float(joint / scale), (moved + joint * (r[:, None] / spread_true + s[None, :] / spread_pred)) / scale
    )


def cohen_kappa(p: Floats) -> Measure:
    """(Σ p_cc − e) / (1 − e), with the agreement of chance e = Σ r_c s_c; NaN if e is 1."""
    r, s = p.sum(axis=1), p.sum(axis=0)
    by_chance = r @ s
    if 1 - by_chance <= 1e-15:
        return Measure(np.nan, np.zeros_like(p))
    agreed = np.trace(p)
    gradient = np.eye(len(p)) * (1 - by_chance) - (s[:, None] + r[None, :]) * (1 - agreed)
    return Measure(float((agreed - by_chance) / (1 - by_chance)), gradient / (1 - by_chance) ** 2)


def _mean(parts: list[Measure]) -> Measure:
    """The mean of those that have a value."""
    known = [each for each in parts if not np.isnan(each.value)]
    if not known:
        return Measure(np.nan, np.zeros_like(parts[0].gradient))
    value = float(np.mean([each.value for each in known]))
    return Measure(value, np.add.reduce([each.gradient for each in known]) / len(known))
