"""ROC-AUC and average precision of tasks, with their errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from graphgauge.core.threads import in_threads, threads_for
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.prediction.estimates import error_from_powers, error_of

# Sorting a score takes as long as reading so many.
_READS = 16
# Parts of the tasks, each of which adds up influences of its own, so that sums do not depend on the threads.
_CHUNKS = 4


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
        """The areas of labels (1, 0, or below 0 for none) and scores, both (items, tasks)."""
        labels, points = np.ascontiguousarray(true.T), np.ascontiguousarray(scores.T)
        tasks, items = labels.shape
        areas, errors, prevalence = np.full((2, tasks), np.nan), np.full((2, tasks, 2), np.nan), np.full(tasks, np.nan)
        whole = items if weights is None else float(weights.sum())

        def influences_of(numbers: Iterable[int]) -> Floats:
            added = np.zeros((2, items))
            for task in numbers:
                one = _areas(labels[task], points[task], weights)
                if one is None:
                    continue
                areas[:, task], prevalence[task] = one.areas, one.prevalence
                scaled = one.influence * (whole / one.total)
                added[:, one.items] += scaled
                if weights is None and cluster is None:
                    errors[:, task] = [error_from_powers(one.total, *each) for each in one.powers.T]
                    continue
                alone = np.zeros((2, items))
                alone[:, one.items] = scaled
                errors[:, task] = [error_of(each, weights, cluster) for each in alone]
            return added

        parts = in_threads(influences_of, np.array_split(np.arange(tasks), _CHUNKS), threads_for(_READS * labels.size))
        known, usable = labels >= 0, ~np.isnan(prevalence)
        return cls(
            areas,
            errors,
            np.sum(parts, axis=0) / max(np.count_nonzero(usable), 1),
            prevalence,
            np.count_nonzero(known, axis=1),
            int(np.count_nonzero(known[usable].any(axis=0))),
        )

    def single(self, task: int) -> Self:
        """Those of one task of several, whose errors are known."""
        one = {name: getattr(self, name)[..., [task]] for name in ("areas", "prevalence", "n")}
        return replace(self, errors=self.errors[:, [task]], **one)


class _Areas(NamedTuple):
    """Both areas of a task, the share of its positives, the weight of its items, and their influence (2, item).

    `powers` (2, area) are the sums of the second and fourth powers of the influences, times the weights.
    """

    areas: tuple[float, float]
    prevalence: float
    total: float
    powers: Floats
    items: Ints
    influence: Floats


def _areas(labels: Ints, scores: AnyArray, weights: Floats | None) -> _Areas | None:
    """The areas of one task; None unless it has both classes.

    With P and N the weights of positives and negatives, and at each distinct score P_v and N_v:
    AUC = Σ P_v (N below v + N_v / 2) / (P N), ties counting half. AP = Σ P_v precision(v) / P, where precision(v)
    is that of all items that score at least v: step-wise, ties as one step. The influences are the derivatives of
    both by the weight of an item; those of the AUC are DeLong's (1988).
    """
    known = np.flatnonzero(labels >= 0)
    order = np.argsort(scores[known])
    items = known[order]
    rising, is_positive = scores[items], labels[items] == 1
    last = np.flatnonzero(np.append(rising[1:] != rising[:-1], True)[: len(items)])  # of each distinct score
    amounts = np.ones(len(items)) if weights is None else weights[items]
    up_to = np.stack([np.cumsum(amounts * is_positive)[last], np.cumsum(amounts * ~is_positive)[last]])
    if not len(items) or not (up_to[:, -1] > 0).all():
        return None
    (p, n), total = up_to[:, -1], float(up_to[:, -1].sum())
    p_here, n_here = np.diff(up_to, prepend=0)
    hits, false = p - up_to[0] + p_here, n - up_to[1] + n_here  # at least this score
    called = hits + false
    precision, lower = hits / called, up_to[1] - n_here / 2
    auc, average = float(p_here @ lower / p / n), float(p_here @ precision / p)
    gain, loss = np.cumsum(p_here * false / (called * called)), np.cumsum(p_here * precision / called)
    of_positive = np.stack([lower / n - auc, precision - average + gain]) * (total / p)
    of_negative = np.stack([((p - up_to[0] + p_here / 2) / p - auc) * (total / n), -loss * (total / p)])
    squares = of_positive**2, of_negative**2
    powers = [squares[0] ** k @ p_here + squares[1] ** k @ n_here for k in (1, 2)]
    sizes = np.diff(last, prepend=-1)
    influence = np.where(is_positive, *(np.repeat(each, sizes, axis=1) for each in (of_positive, of_negative)))
    return _Areas((auc, average), float(p / total), total, np.stack(powers), items, influence)
