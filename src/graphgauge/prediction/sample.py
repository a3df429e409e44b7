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

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.prediction.curves import Curves

MISSING = -1
_SIGNS = ("0", "1")


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
