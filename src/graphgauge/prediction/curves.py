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
class Curves:
    """ROC-AUC and average precision (2, task), NaN unless a task has both classes, with their errors.

    `errors` are standard errors and degrees of freedom; `influences` (2, item) are what each item adds to the error of
    the mean over tasks: to first order, that error is the mean of the influence over the items. `prevalence` and `n`
    are the share of positives and the number of labels of each task; `items` have a label in a task with both classes.
    """

    areas: Floats
    errors: Floats
    influences: Floats
    prevalence: Floats
    n: Ints
    items: int

    @classmethod
    def of(cls, true: AnyArray, scores: AnyArray, weights: Floats | None, cluster: AnyArray | None) -> Self:
        """The areas of labels (1, 0, or below 0 for none) and scores, both (items, tasks).

        With P and N the weights of positives and negatives, and at each distinct score P_v and N_v:
        AUC = Σ P_v (N below v + N_v / 2) / (P N), ties counting half. AP = Σ P_v precision(v) / P, where precision(v)
        is that of all items that score at least v: step-wise, ties as one step. The influences are the derivatives of
        both by the weight of an item; those of the AUC are DeLong's (1988).
        """
        labels, points = np.ascontiguousarray(true.T), _comparable(np.ascontiguousarray(scores.T))
        threads = threads_for(_READS * labels.size)
        auc, precision, positive, total, *powers, auc_moved, precision_moved = _core.curve_areas(
            labels, points, weights, threads
        )
        known, usable = labels >= 0, ~np.isnan(auc)
        errors = np.full((2, len(auc), 2), np.nan)
        for task in np.flatnonzero(usable):
            if weights is None and cluster is None:
                errors[:, task] = [error_from_powers(total[task], *each[task]) for each in powers]
            else:
                row = slice(task, task + 1)
                moved = _core.curve_areas(labels[row], points[row], weights)[-2:]
                errors[:, task] = [error_of(each, weights, cluster) for each in moved]
        return cls(
            np.stack([auc, precision]),
            errors,
            np.stack([auc_moved, precision_moved]) / max(np.count_nonzero(usable), 1),
            np.divide(positive, total, out=np.full(len(total), np.nan), where=usable),
            np.count_nonzero(known, axis=1),
            int(np.count_nonzero(known[usable].any(axis=0))),
        )

    def single(self, task: int) -> Self:
        """Those of one task of several, whose errors are known."""
        one = {name: getattr(self, name)[..., [task]] for name in ("areas", "prevalence", "n")}
        return replace(self, errors=self.errors[:, [task]], **one)


def _comparable(scores: AnyArray) -> AnyArray:
    """Scores of a type that the compiled pass takes, in the same order."""
    if scores.dtype.kind == "f":
        return scores.astype(np.float32) if scores.dtype.itemsize == 2 else scores
    if scores.dtype == np.uint64:
        return (scores ^ np.uint64(1 << 63)).view(np.int64)
    return scores.astype(np.int64, copy=False)
