"""The samples of this family, what metrics are computed on, one row per item; and statistics of them, with errors.

A sample has the items of the whole evaluation; in a breakdown its `parts` are samples of the items of each group, or of
each task. Rows without a truth are not in `Classes` and `Columns`; samples of tasks have a column per task, in which
single truths may be missing.

A statistic of a part comes from its value and its influence, what each item adds to the error: the error is that of the
mean of the influence over items or clusters, and the interval follows from `stats.intervals` by the range of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from graphgauge import _core
from graphgauge.core.metric import Estimate
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.stats import errors

MISSING = -1
# Sorting a score takes as long as reading so many.
_READS = 16


class Statistic(NamedTuple):
    """A value, the number of items that it is of, its standard error and the degrees of freedom of that."""

    value: float = np.nan
    n: int = 0
    error: float = np.nan
    df: float = 0.0


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

    def rows(self, rows: Any) -> Self:
        """Some of the items, by number."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(self, **{name: each[rows] for name, each in content.items() if isinstance(each, np.ndarray)})

    def by_group(self, group: Ints, groups: int) -> Self:
        """The same, divided by the number of the group of each item."""
        order = np.argsort(group, kind="stable")
        rows = np.split(order, np.searchsorted(group[order], np.arange(1, groups)))
        return replace(self, divided=tuple(map(self.rows, rows)))

    @property
    def independent(self) -> bool:
        """Whether every item counts the same and errs alone."""
        return self.weights is None and self.cluster is None

    @property
    def amounts(self) -> Floats:
        """The weight of each item."""
        return np.ones(self.n) if self.weights is None else self.weights

    def error_of(self, influence: Floats) -> tuple[float, float]:
        """Standard error and degrees of freedom of a mean of influences; a weighted item is a cluster of its own."""
        if self.independent:
            return _error_of_cells(influence, np.ones(self.n))
        cluster = np.arange(self.n) if self.cluster is None else self.cluster
        error, df = errors.standard_error(influence, self.weights, cluster=cluster)
        # Weights, whose unit means nothing: each item is one, of its own size.
        _, freedom = _error_of_cells(influence * self.amounts, self.amounts > 0)
        return float(error[0]), min(float(df[0]), freedom)

    def mean_of(self, values: Floats) -> Statistic:
        """The weighted mean of a number per item."""
        if not self.amounts.any():
            return Statistic()
        value = float(values.sum() / self.n if self.weights is None else self.weights @ values / self.weights.sum())
        with np.errstate(invalid="ignore"):  # of infinite values
            return Statistic(value, self.n, *self.error_of(values - value))

    def over_tasks(self, measured: Iterable[tuple[Any, float, Floats]]) -> Statistic:
        """The mean over the tasks that have a value, of the items that have a truth, the value and their influence."""
        tasks = [each for each in measured if not np.isnan(each[1])]
        if not tasks:
            return Statistic()
        influence, used, amounts = np.zeros(self.n), np.zeros(self.n, bool), self.amounts
        for rows, _, own in tasks:
            influence[rows] += own * (amounts.sum() / amounts[rows].sum() / len(tasks))
            used[rows] = True
        return Statistic(float(np.mean([value for _, value, _ in tasks])), int(used.sum()), *self.error_of(influence))


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes(Sample):
    """One label per item, as numbers into `names`; of two, the second is the class of interest."""

    pred: Ints
    names: tuple[str, ...] = ("0", "1")

    @cached_property
    def table(self) -> Floats:
        """The confusion table: the weight of items by true (row) and predicted class (column)."""
        size = len(self.names)
        cells = np.bincount(self.true * np.int64(size) + self.pred, self.weights, size * size)
        return cells.reshape(size, size).astype(np.float64, copy=False)

    def error_of_cells(self, influence: Floats) -> tuple[float, float]:
        """`error_of` independent items, of which those of one cell have the same influence."""
        return _error_of_cells(influence.ravel(), self.table.ravel())

    def by_task(self) -> Iterator[tuple[Any, Classes]]:
        """The one task, of all items."""
        yield slice(None), self


@dataclass(frozen=True, eq=False, kw_only=True)
class Columns(Sample):
    """The class of each item, and a score or the probability of each class, (n, classes).

    `binary` if the second class is the one of interest.
    """

    scores: AnyArray
    binary: bool
    bins: int

    @property
    def of_truth(self) -> Floats:
        """(n,) the score of each item's class."""
        return np.asarray(self.scores[np.arange(self.n), self.true])

    def calibration(self) -> tuple[Floats, Floats, Floats]:
        """Mean confidence, accuracy and share of the items of each bin that has any.

        Of two classes the probability of the positive one against how often it is true; of more the largest probability
        against how often its class is true. Bins contain their upper ends.
        """
        label = np.ones(self.n, np.int64) if self.binary else self.scores.argmax(axis=1)
        confidence, hit = self.scores[np.arange(self.n), label], (label == self.true).astype(float)
        place = np.clip(np.ceil(confidence * self.bins).astype(np.int64) - 1, 0, self.bins - 1)
        size, sums, hits = (np.bincount(place, self.amounts * each, self.bins) for each in (1.0, confidence, hit))
        kept = size > 0
        return sums[kept] / size[kept], hits[kept] / size[kept], size[kept] / size.sum()


@dataclass(frozen=True, eq=False, kw_only=True)
class OfTasks(Sample):
    """Truths (n, tasks), of which some may be missing."""

    @cached_property
    def known(self) -> Mask:
        return ~np.isnan(self.true) if self.true.dtype.kind == "f" else self.true != MISSING

    def counted(self) -> list[tuple[int, Mask]]:
        """The tasks in which some items have a truth and count, with these items."""
        return [(task, known) for task, known in enumerate(self.known.T) if self.amounts[known].any()]

    def single(self, task: int) -> Self:
        """One task of several."""
        content = {name: getattr(self, name) for name in ("true", "pred", "scores") if hasattr(self, name)}
        return replace(self, **{name: each[:, task : task + 1] for name, each in content.items()})

    def divided_by_task(self) -> Self:
        """The same, divided into its tasks."""
        return replace(self, divided=tuple(map(self.single, range(self.true.shape[1]))))


@dataclass(frozen=True, eq=False, kw_only=True)
class Tasks(OfTasks):
    """Several labels per item, each 0 or 1, or MISSING in the truth."""

    pred: AnyArray

    def by_task(self) -> Iterator[tuple[Any, Classes]]:
        """The labels of each task, of the items that have a truth."""
        for task, known in self.counted():
            weights = None if self.weights is None else self.weights[known]
            yield known, Classes(true=self.true[known, task], pred=self.pred[known, task], weights=weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class Targets(OfTasks):
    """True and predicted numbers, (n, tasks); a truth may be NaN."""

    pred: AnyArray

    def by_task(self) -> Iterator[tuple[Any, Floats, Floats, Floats]]:
        """The truths and predictions of each task, of the items that have a truth, and what share each of these has."""
        for task, known in self.counted():
            amounts = self.amounts[known]
            yield known, self.true[known, task], self.pred[known, task], amounts / amounts.sum()


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores(OfTasks):
    """A score per item and task, higher for the positive class; truths are 0, 1 or MISSING.

    Both are kept by column, as tasks are read one by one.
    """

    scores: AnyArray

    @cached_property
    def curves(self) -> Curves:
        """The areas of each task."""
        return Curves.of(self)

    def single(self, task: int) -> Self:
        """One task of several; of independent items it has the areas of the whole."""
        single, rows = super().single(task), slice(task, task + 1)
        if self.independent:
            areas, powers, n = self.curves.areas[:, rows], self.curves.powers[:, rows], self.curves.n[rows]
            vars(single)["curves"] = replace(self.curves, areas=areas, powers=powers, n=n)
        return single

    def mean_area(self, which: int) -> Statistic:
        """The mean over the tasks with both classes; the labels of one item in several tasks err together."""
        curves = self.curves
        value = nanmean(curves.areas[which])
        if np.isnan(value):
            return Statistic()
        if self.independent and len(curves.n) == 1:
            n = float(curves.n[0])
            return Statistic(value, int(n), *_error_from_powers(n, *curves.powers[which, 0].tolist()))
        return Statistic(value, curves.items, *self.error_of(curves.influences[which]))


# ---- statistics


def estimate_of(statistics: Iterable[Statistic], reason: str = "no items") -> Estimate:
    """An estimate of a statistic for each part; a single item has no error."""
    value, n, error, df = np.array(list(statistics), np.float64).reshape(-1, 4).T
    error, df = np.where(n < 2, np.nan, error), np.where(n < 2, 0.0, df)
    return Estimate(value, n.astype(np.int64), reason=reason, facts={"error": error, "df": df})


def estimate(sample: Any, statistic: Callable[[Any], Statistic], reason: str = "no items") -> Estimate:
    """The statistic of each part."""
    return estimate_of(map(statistic, sample.parts), reason)


def nanmean(values: Any) -> float:
    """The mean of the values that are not NaN; NaN without one, and no warning."""
    return float(np.nanmean(values)) if not np.isnan(values).all() else np.nan


def _error_of_cells(influence: Floats, count: AnyArray) -> tuple[float, float]:
    """The error of a mean over independent items, of which so many have each influence."""
    # Powers of large or small numbers leave the range of floats.
    size = float(np.abs(influence).max(initial=0.0)) or 1.0
    squares = np.square(influence / size)
    error, df = _error_from_powers(float(count.sum()), float(count @ squares), float(count @ squares**2))
    return size * error, df


def _error_from_powers(units: float, second: float, fourth: float) -> tuple[float, float]:
    """The same from the number of items, and the sums of the second and fourth powers of their influences.

    The degrees of freedom are those of a variance estimated from units of this kurtosis: their number less one if
    normal. A few items that carry most of the error have few of them.
    """
    if units < 2:
        return np.nan, 0.0
    error = float(np.sqrt(second / (units * (units - 1))))
    if second == 0 or units < 4:
        return error, units - 1
    kurtosis = units * (fourth / second) / second
    df = 2 * units / max(kurtosis - (units - 3) / (units - 1), 2 * units / (units - 1))
    return error, min(units - 1, max(1.0, df))


# ---- areas under curves


@dataclass(frozen=True, eq=False)
class Curves:
    """ROC-AUC and average precision of each task, (2, task), NaN unless it has both classes; and their influences.

    `influences` (2, item) are those on the means over tasks, and `items` have a label in a task with both classes.
    `powers` (2, task, 2) are the sums of the second and fourth powers of the influences on each task. `n` (task) are
    the items that have a label, and `positive` is their share of positives, both by weight.
    """

    areas: Floats
    powers: Floats
    influences: Floats
    items: int
    n: Floats
    positive: Floats

    @classmethod
    def of(cls, sample: Scores) -> Self:
        """The areas of each task, from the weights P and N of positives and negatives, at a distinct score P_v and N_v.

        AUC = Σ P_v (N below v + N_v / 2) / (P N), ties counting half. AP = Σ P_v precision(v) / P, where precision(v)
        is that of all items that score at least v: step-wise, ties as one step. The influences are the derivatives of
        both by the weight of an item; those of the AUC are DeLong's (1988).
        """
        kind = np.promote_types(sample.scores.dtype, np.float32) if sample.scores.dtype.kind == "f" else np.int64
        labels, points = np.ascontiguousarray(sample.true.T), np.ascontiguousarray(sample.scores.T, kind)
        auc, precision, positive, n, *powers, auc_moved, precision_moved = _core.curve_areas(
            labels, points, sample.weights, threads_for(_READS * labels.size)
        )
        usable = ~np.isnan(auc)
        labelled = labels[usable].max(axis=0, initial=MISSING) != MISSING
        return cls(
            np.stack([auc, precision]),
            np.stack(powers),
            np.stack([auc_moved, precision_moved]) / max(np.count_nonzero(usable), 1),
            int(np.count_nonzero(labelled)),
            n,
            np.divide(positive, n, out=np.full(len(n), np.nan), where=usable),
        )
