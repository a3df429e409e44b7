"""Tables by class and by task, and the small tables that the figure is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.loop import broken_down
from graphgauge.core.registry import Chosen
from graphgauge.prediction import confusion
from graphgauge.prediction.estimates import Statistic, as_share, estimate
from graphgauge.prediction.metrics import calibration
from graphgauge.prediction.sample import MISSING, Classes, Probabilities, Sample, Scores, Targets, Tasks

# Classes in the drawing of a confusion table.
_MOST_CLASSES = 30


def by_class(sample: Classes, level: float) -> Grid:
    """Of each class the items, and precision, recall and F1 with their intervals, one class against the others."""
    rows = sample.table.sum(axis=1)
    columns: dict[str, Any] = {"class": np.array(sample.names, dtype=object), "n": np.rint(rows).astype(np.int64)}
    share = sample.table / max(sample.table.sum(), 1.0)
    for key, measure in (("precision", confusion.precision), ("recall", confusion.recall), ("f1", confusion.f1)):
        ends = []
        for c in range(len(sample.names)):
            value, gradient = measure(share, c)
            centred = gradient - (share * gradient).sum()

            def own(part: Classes, value: float = value, centred: Any = centred) -> Statistic:
                cells = part.table.ravel() if part.independent else None
                return Statistic(
                    value, centred.ravel() if part.independent else centred[part.true, part.pred], part.n, cells
                )

            estimated = estimate(sample, own)
            bounds = as_share(sample, estimated, level)
            ends.append((value, float(bounds.low[0]), float(bounds.high[0])))
        values = np.array(ends, dtype=np.float64).reshape(-1, 3).T
        columns |= {key: values[0], f"{key}.low": values[1], f"{key}.high": values[2]}
    return Grid(columns)


def by_task(samples: Mapping[str, Sample], chosen: list[Chosen], skipped: Mapping[str, str], level: float) -> Grid:
    """Of each task the labelled items and every metric."""
    count = max(each.true.shape[1] for each in samples.values() if isinstance(each, Tasks | Scores | Targets))
    rows = []
    for task in range(count):
        one = {name: _single(each, task) for name, each in samples.items()}
        n = [_labelled(next(iter(one.values())))]
        rows.append(broken_down("task", [task], n, chosen, one, confidence=level, skipped=skipped))
    return Grid({name: np.concatenate([row[name] for row in rows]) for name in rows[0].columns})


def _single(sample: Any, task: int) -> Any:
    """One task of several; its curves are not made again."""
    own = {name: getattr(sample, name)[:, [task]] for name in ("true", "pred", "scores") if hasattr(sample, name)}
    single = replace(sample, **own)
    if isinstance(sample, Scores):
        single.__dict__["curves"] = sample.curves.single(task)
    return single


def _labelled(sample: Any) -> int:
    missing = np.isnan(sample.true) if sample.true.dtype.kind == "f" else sample.true == MISSING
    return int((~missing).sum())


def drawings(samples: Mapping[str, Sample]) -> dict[str, Grid]:
    """The confusion table of up to thirty classes, and the calibration of probabilities."""
    tables = {}
    classes, probabilities = samples.get("classes"), samples.get("probabilities")
    if isinstance(classes, Classes) and len(classes.names) <= _MOST_CLASSES:
        cells = {f"as {name}": classes.table[:, c] for c, name in enumerate(classes.names)}
        tables["confusion"] = Grid({"class": np.array(classes.names, dtype=object), **cells})
    if isinstance(probabilities, Probabilities) and probabilities.n:
        confidence, gap, share = calibration(probabilities)
        tables["calibration"] = Grid({"confidence": confidence, "gap": gap, "share": share})
    return tables
