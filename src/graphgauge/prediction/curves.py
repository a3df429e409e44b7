"""ROC-AUC and average precision of one task, and what each item adds to their error, from one sort of the scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints


class Curve(NamedTuple):
    """Both areas of one task, and their influences on the items at `rows`.

    The error of an area is the mean of its influence over the items of the task, to first order.
    """

    rows: Ints
    auc: float
    precision: float
    auc_influence: Floats
    precision_influence: Floats
    prevalence: float


def curve(true: AnyArray, scores: AnyArray, weights: Floats | None = None) -> Curve | None:
    """The areas of items with these labels (1, 0, or below 0 for none) and scores, all (n,); None without both classes.

    With P and N the weights of positives and negatives, and at each distinct score P_v and N_v:
    AUC = Σ P_v (N below v + N_v / 2) / (P N), ties counting half. AP = Σ P_v precision(v) / P, where precision(v) is
    that of all items that score at least v: step-wise, ties as one step. The influences are the derivatives of both by
    the weight of an item; those of the AUC are DeLong's (1988).
    """
    rows = np.flatnonzero(true >= 0)
    order = rows[np.argsort(scores[rows])]
    value, label = scores[order], true[order]
    amount = np.ones(len(order)) if weights is None else weights[order]
    positive = np.where(label == 1, amount, 0.0)
    total, hits = float(amount.sum()), float(positive.sum())
    rest = total - hits
    if hits <= 0 or rest <= 0:
        return None
    first = np.flatnonzero(np.concatenate([[True], value[1:] != value[:-1]]))
    place = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(value))))
    p = np.add.reduceat(positive, first)
    n = np.add.reduceat(amount, first) - p
    p_below, n_below = np.cumsum(p) - p, np.cumsum(n) - n

    wins, losses = (n_below + n / 2) / rest, (hits - p_below - p / 2) / hits
    auc = float(p @ wins) / hits
    own = np.where(label == 1, (wins[place] - auc) * (total / hits), (losses[place] - auc) * (total / rest))

    above, wrong = hits - p_below, rest - n_below
    called = above + wrong
    precision = above / called
    area = float(p @ precision) / hits
    gain, loss = np.cumsum(p * wrong / called**2), np.cumsum(p * above / called**2)
    moved = np.where(label == 1, (precision - area + gain)[place], -loss[place]) * (total / hits)
    return Curve(order, auc, area, own, moved, hits / total)
