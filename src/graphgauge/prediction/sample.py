"""The samples of this family: what metrics are computed on, one row per item.

A sample has the items of the whole evaluation; in a breakdown its `parts` are samples of the items of each group, or of
each task. Rows without a truth are not in `Classes` and `Columns`; samples of tasks have a column per task, in which
single truths may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.prediction.estimates import error_from_powers, error_of

MISSING = -1
_SIGNS = ("0", "1")
# Sorting a score takes as long as reading so many.
_READS = 16


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Items with their weights, and the clusters that err together."""

    true: AnyArray
    weights: Floats | None = None
    cluster: AnyArray | None = None
    divided: tuple[Self, ...] = ()

    @property
    def n(self) -> int:
        return len(self.true)

    @property
    def parts(self) -> tuple[Self, ...]:
        """What it is divided into, or all of it."""
        return self.divided or (self,)

    def by_group(self, group: Ints, groups: int) -> Self:
        """The same, divided by the number of the group of each item."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        rowwise = {name: values for name, values in content.items() if isinstance(values, np.ndarray)}
        order = np.argsort(group, kind="stable")
        rows = np.split(order, np.searchsorted(group[order], np.arange(1, groups)))
        parts: list[dict[str, Any]] = [{name: values[own] for name, values in rowwise.items()} for own in rows]
        return replace(self, divided=tuple(replace(self, **part) for part in parts))

    @property
    def independent(self) -> bool:
        """Whether every item counts the same and errs alone."""
        return self.weights is None and self.cluster is None

    @property
    def units(self) -> tuple[Floats | None, AnyArray | None]:
        """The weights and clusters that errors are computed with; a weighted item is a unit of its own size."""
        alone = self.weights is not None and self.cluster is None
        return self.weights, np.arange(self.n) if alone else self.cluster

    @property
    def amounts(self) -> Floats:
        """The weight of each item."""
        return np.ones(self.n) if self.weights is None else self.weights


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes(Sample):
    """One label per item, as numbers into `names`; of two, the second is the class of interest."""

    pred: Ints
    names: tuple[str, ...]

    @cached_property
    def table(self) -> Floats:
        """The confusion table: the weight of items by true (row) and predicted class (column)."""
        size = len(self.names)
        cells = np.bincount(self.true * np.int64(size) + self.pred, self.weights, size * size)
        return cells.reshape(size, size).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns(Sample):
    """The class of each item, and a score or the probability of each class, (n, classes).

    `binary` if the second class is the one of interest.
    """

    scores: AnyArray
    binary: bool
    bins: int


@dataclass(frozen=True, eq=False, kw_only=True)
class OfTasks(Sample):
    """Truths (n, tasks), of which some may be missing."""

    @property
    def tasks(self) -> int:
        return int(self.true.shape[1])

    @property
    def known(self) -> Mask:
        return ~np.isnan(self.true) if self.true.dtype.kind == "f" else self.true != MISSING

    def by_task(self) -> Self:
        """The same, divided into its tasks."""
        return replace(self, divided=tuple(map(self.single, range(self.tasks))))

    def single(self, task: int) -> Self:
        """One task of several."""
        own = {name: getattr(self, name)[:, [task]] for name in ("true", "pred", "scores") if hasattr(self, name)}
        return replace(self, **own)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tasks(OfTasks):
    """Several labels per item, each 0 or 1, or MISSING in the truth."""

    pred: AnyArray

    def classes(self) -> Iterator[tuple[Mask, Classes]]:
        """The labels of each task, and which items have one."""
        for task, known in enumerate(self.known.T):
            weights = None if self.weights is None else self.weights[known]
            yield (
                known,
                Classes(true=self.true[known, task], pred=self.pred[known, task], names=_SIGNS, weights=weights),
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores(OfTasks):
    """A score per item and task, higher for the positive class; truths are 0, 1 or MISSING.

    Both are kept by column, as tasks are read one by one.
    """

    scores: AnyArray

    @cached_property
    def curves(self) -> Curves:
        """The areas of each task."""
        return Curves.of(self.true, self.scores, *self.units)

    def single(self, task: int) -> Self:
        """One task of several; its curves are not made again."""
        single = super().single(task)
        vars(single)["curves"] = self.curves.single(task)
        return single


@dataclass(frozen=True, eq=False, kw_only=True)
class Targets(OfTasks):
    """True and predicted numbers, (n, tasks); a truth may be NaN."""

    pred: Floats


# ---- areas under curves


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
