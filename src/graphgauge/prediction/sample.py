"""The samples of this family: what metrics are computed on, one row per item.

A sample has the items of the whole evaluation, or with `group` those of each label of a breakdown; `parts` gives the
items of one group after the other. Rows without a truth are not in `Classes` and `Probabilities`; `Tasks`, `Scores` and
`Targets` have a column per task, in which single truths may be missing.

    evaluate ── inputs.read ──▶ samples by name ── metrics ──▶ results, breakdowns
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.prediction.curves import Curves, curves

MISSING = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Items with their weights, and the clusters that err together; `group` is the part that each belongs to."""

    n: int
    weights: Floats | None = None
    cluster: AnyArray | None = None
    group: Ints | None = None
    groups: int = 1

    def take(self, rows: AnyArray) -> Self:
        """Some of the items."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        rowwise = {name: values[rows] for name, values in own.items() if _has_rows(values, self.n)}
        return replace(self, **{**rowwise, "n": int(np.arange(self.n)[rows].size)})

    def grouped(self, group: Ints, groups: int) -> Self:
        """The same items, with the part that each belongs to."""
        return replace(self, group=group, groups=groups)

    def parts(self) -> Iterator[Self]:
        """The items of each group in turn."""
        whole = replace(self, group=None, groups=1) if self.group is not None else self
        if self.group is None:
            yield whole
            return
        order = np.argsort(self.group, kind="stable")
        ends = np.searchsorted(self.group[order], np.arange(self.groups + 1))
        for first, last in pairwise(ends.tolist()):
            yield whole.take(order[first:last])

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
    """One label per item, as numbers into `names`; `positive` is the number of the class of interest, of two."""

    true: Ints
    pred: Ints
    names: tuple[str, ...]
    positive: int | None = None

    @cached_property
    def table(self) -> Floats:
        """The confusion table: the weight of items by true (row) and predicted class (column)."""
        size = len(self.names)
        cells = np.bincount(self.true * size + self.pred, self.weights, size * size)
        return cells.reshape(size, size).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tasks(Sample):
    """Several labels per item, each 0 or 1, or MISSING in the truth."""

    true: AnyArray
    pred: AnyArray

    @cached_property
    def tables(self) -> Floats:
        """A confusion table per task."""
        counted = [self._table(task) for task in range(self.true.shape[1])]
        return np.array(counted).reshape(-1, 2, 2)

    def _table(self, task: int) -> Floats:
        known = self.true[:, task] != MISSING
        cells = 2 * self.true[known, task].astype(np.int64) + self.pred[known, task]
        return np.bincount(cells, self.amounts[known], 4).astype(np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores(Sample):
    """A score per item and task, higher for the positive class; truths are 0, 1 or MISSING.

    Scores (n, tasks) are kept by column, as tasks are read one by one.
    """

    true: AnyArray
    scores: AnyArray

    @cached_property
    def curves(self) -> Curves:
        """The areas of each task."""
        return curves(self.true, self.scores, *self.units)


@dataclass(frozen=True, eq=False, kw_only=True)
class Probabilities(Sample):
    """The probability of each class, (n, classes); `binary` if the second class is the one of interest."""

    true: Ints
    p: Floats
    binary: bool
    bins: int = 15


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranked(Sample):
    """The place of the true class among the scores of all: how many are higher, and how many others are equal."""

    higher: Ints
    equal: Ints
    size: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Targets(Sample):
    """True and predicted numbers, (n, tasks); a truth may be NaN."""

    true: Floats
    pred: Floats


def _has_rows(values: object, n: int) -> bool:
    return isinstance(values, np.ndarray) and values.ndim > 0 and len(values) == n
