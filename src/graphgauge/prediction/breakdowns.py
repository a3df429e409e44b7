"""Tables by class, by task and by the user's groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid, column
from graphgauge.core.types import AnyArray
from graphgauge.prediction import confusion
from graphgauge.prediction.estimates import as_share, estimate
from graphgauge.prediction.metrics import of_table
from graphgauge.prediction.sample import Classes, OfTasks, Sample

# (axis, labels, n, samples) -> table
Broken = Callable[[str, Any, Any, Mapping[str, Sample]], Grid]


def by_class(sample: Classes, level: float) -> Grid:
    """Of each class the items, and precision, recall and F1 with their intervals, one class against the others."""
    n = np.bincount(sample.true, minlength=len(sample.names))
    columns: dict[str, Any] = {"class": np.array(sample.names, dtype=object), "n": n}
    for key, measure in (("precision", confusion.precision), ("recall", confusion.recall), ("f1", confusion.f1)):
        rows = []
        for c in range(len(sample.names)):
            found = estimate(sample, partial(of_table, measure=partial(measure, c=c)))
            bounds: Any = as_share(sample, found, level)
            rows.append((found.value[0], bounds.low[0], bounds.high[0]))
        values = np.array(rows, dtype=np.float64).reshape(-1, 3).T
        columns |= {key: values[0], f"{key}.low": values[1], f"{key}.high": values[2]}
    return Grid(columns)


def by_task(samples: Mapping[str, Sample], broken: Broken) -> Grid:
    """Of each task the labelled items and every metric."""
    tasks = {name: each.by_task() for name, each in samples.items() if isinstance(each, OfTasks)}
    known = next(iter(tasks.values())).known
    return broken("task", list(range(known.shape[1])), known.sum(axis=0), tasks)


def by_group(axis: str, labels: AnyArray, samples: Mapping[str, Sample], broken: Broken) -> Grid:
    """Of each label of the items, every metric."""
    names, place = np.unique(labels, return_inverse=True)
    if not len(names):
        return Grid({axis: column([]), "n": column([])})
    parts = {name: each.by_group(place, len(names)) for name, each in samples.items()}
    return broken(axis, column(names.tolist()), np.bincount(place, minlength=len(names)), parts)
