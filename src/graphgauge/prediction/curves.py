"""ROC-AUC and average precision of tasks, with their errors, from one compiled pass over the scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.prediction.estimates import error_from_powers, error_of

# Sorting a score takes as long as reading so many.
_READS = 16


@dataclass(frozen=True, eq=False)
class Area:
    """One area: its values by task, NaN unless it has both classes, with standard errors and degrees of freedom.

    `influence` is what each item adds to the error of the mean over tasks: to first order, that error is the mean of
    the influence over the items.
    """

    values: Floats
    errors: Floats
    influence: Floats

    def single(self, task: int) -> Self:
        """That of one task of several; its error is known."""
        return replace(self, values=self.values[[task]], errors=self.errors[[task]], influence=np.empty(0))


@dataclass(frozen=True, eq=False)
class Curves:
    """Both areas of every task, the share of its positives and the number of its labelled items.

    `items` is the number of those with a label in a task that has both classes.
    """

    auc: Area
    precision: Area
    prevalence: Floats
    n: Ints
    items: int

    def single(self, task: int) -> Self:
        """Those of one task of several."""
        auc, precision = self.auc.single(task), self.precision.single(task)
        return replace(self, auc=auc, precision=precision, prevalence=self.prevalence[[task]], n=self.n[[task]])


def curves(true: AnyArray, scores: AnyArray, weights: Floats | None, cluster: AnyArray | None) -> Curves:
    """The areas of labels (1, 0, or below 0 for none) and scores, both (items, tasks).

    With P and N the weights of positives and negatives, and at each distinct score P_v and N_v:
    AUC = Σ P_v (N below v + N_v / 2) / (P N), ties counting half. AP = Σ P_v precision(v) / P, where precision(v) is
    that of all items that score at least v: step-wise, ties as one step. The influences are the derivatives of both by
    the weight of an item; those of the AUC are DeLong's (1988).
    """
    labels, points = np.ascontiguousarray(true.T), _comparable(np.ascontiguousarray(scores.T))
    threads = threads_for(_READS * labels.size)
    auc, precision, positive, total, *powers, auc_moved, precision_moved = _core.curve_areas(
        labels, points, weights, threads
    )
    usable = ~np.isnan(auc)
    errors = np.full((2, len(auc), 2), np.nan)
    for task in np.flatnonzero(usable):
        if weights is None and cluster is None:
            errors[:, task] = [error_from_powers(total[task], *each[task]) for each in powers]
        else:
            row = slice(task, task + 1)
            moved = _core.curve_areas(labels[row], points[row], weights)[-2:]
            errors[:, task] = [error_of(each, weights, cluster) for each in moved]
    tasks = max(np.count_nonzero(usable), 1)
    known = labels >= 0
    return Curves(
        auc=Area(auc, errors[0], auc_moved / tasks),
        precision=Area(precision, errors[1], precision_moved / tasks),
        prevalence=np.divide(positive, total, out=np.full(len(total), np.nan), where=usable),
        n=np.count_nonzero(known, axis=1),
        items=int(np.count_nonzero(known[usable].any(axis=0))),
    )


def _comparable(scores: AnyArray) -> AnyArray:
    """Scores of a type that the compiled pass takes, in the same order."""
    if scores.dtype.kind == "f":
        return scores.astype(np.float32) if scores.dtype.itemsize == 2 else scores
    if scores.dtype == np.uint64:
        return (scores ^ np.uint64(1 << 63)).view(np.int64)
    return scores.astype(np.int64, copy=False)
