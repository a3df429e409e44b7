"""`evaluate`: from arrays to results.

evaluate ── inputs.read ──▶ samples ── loop.measure ──▶ results
                              │ ── by class, by task, by the user's groups ──▶ breakdowns
                              └── values of single items, materials of the checks ──▶ Evaluation
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid, column
from graphgauge.core.items import Items
from graphgauge.core.loop import broken_down, measure
from graphgauge.core.metric import Metric
from graphgauge.core.options import confidence_level, nan_policy, whole_number
from graphgauge.core.registry import select
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.prediction.figure import drawings
from graphgauge.prediction.inputs import TASKS, Rules, Task, read
from graphgauge.prediction.metrics import brier_scores, by_class, log_losses
from graphgauge.prediction.sample import OfTasks, Sample
from graphgauge.protocols import under_protocols

# Names of other tables and columns, which groups cannot have.
_AXES = ("", "class", "task", "n")
# (axis, labels, n, samples) -> table
Broken = Callable[[str, Any, Any, Mapping[str, Sample]], Grid]


@under_protocols("prediction")
def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    scores: Any = None,
    task: Task | None = None,
    positive: Any = None,
    classes: Sequence[Any] | None = None,
    probabilities: bool = False,
    groups: Mapping[str, Any] | None = None,
    cluster: Any = None,
    weights: Any = None,
    ids: Any = None,
    train_ids: Any = None,
    bins: int = 15,
    metrics: str | Sequence[str | Metric] | None = None,
    nan: str = "raise",
    confidence: float = 0.95,
    protocol: str | None = None,
) -> Evaluation:
    """Evaluate predicted labels or targets of nodes, edges or graphs.

    Parameters
    ----------
    y_true
        The true labels, (n,) numbers or names; of several tasks (n, tasks) of 0 and 1; targets (n,) or (n, tasks). NaN
        is an unlabelled item, with `nan="omit"`.
    y_pred
        The predicted labels or targets, in the shape of `y_true`.
    scores
        Of two classes (n,), higher for the positive one; of more (n, classes); of tasks (n, tasks). Logits and
        probabilities rank alike. Labels that are not given are those of the largest score.
    task
        `binary`, `multiclass`, `multilabel` or `regression`; needed only where the arrays leave it open.
    positive
        The label of interest, of two; 1 of 0 and 1.
    classes
        The label of each column of `scores`, if not 0, 1, 2, …
    probabilities
        Scores are probabilities of the classes: they can be compared with how often classes are true.
    groups
        Labels per item by the name of an axis, for breakdowns: `{"degree": by_degree(edges, n)}`.
    cluster
        A label per item: those of one cluster err together.
    weights
        What each item counts.
    ids, train_ids
        Names of the items, and of those in training, which must be others.
    bins
        How many bins `ece` and `mce` have.
    metrics
        Keys of metrics, metrics declared with `@metric`, or `"all"`; those that the inputs suggest by default.
    nan
        `"raise"`: NaN is an error; `"omit"`: it is left out and counted.
    confidence
        Level of the intervals.
    protocol
        The name of a benchmark, such as `"ogbg-molhiv"`, which fixes metrics and what is left out.

    Returns
    -------
    Evaluation
        With the breakdowns `class`, `task` (of several), and those of `groups`.

    Examples
    --------
    >>> from graphgauge import prediction
    >>> ev = prediction.evaluate([0, 2, 1, 1, 0, 2], [0, 2, 1, 0, 0, 1])
    >>> round(ev["accuracy"].value, 4), round(ev["f1_macro"].value, 4)
    (0.6667, 0.6556)
    """
    if task is not None:
        one_of("task", task, TASKS)
    level = confidence_level(confidence)
    missing, bins = nan_policy(nan), whole_number("bins", bins, 1)
    rules = Rules(task, positive, classes, probabilities, missing, bins, complete=protocol is not None)
    reading = read(y_true, y_pred, scores, rules)
    n, kept = len(y_true), reading.kept
    units: dict[str, Any] = {"weights": _weights(weights, n, kept), "cluster": _labels("cluster", cluster, n, kept)}
    samples: dict[str, Any] = {name: replace(each, **units) for name, each in reading.samples.items()}
    chosen, named = select("prediction", metrics, samples)
    measured = measure(chosen, samples, named=named, confidence=level, conventions=reading.conventions)

    def broken(axis: str, labels: Any, counts: Any, parts: Mapping[str, Sample]) -> Grid:
        return broken_down(axis, labels, counts, chosen, parts, confidence=level, skipped=measured.skipped)

    tables = {}
    if "classes" in samples:
        tables["class"] = by_class(samples["classes"], level)
    if reading.tasks > 1:
        tables["task"] = _by_task(samples, broken)
    for axis, values in _named(groups, {*_AXES, *(result.key for result in measured.results)}).items():
        tables[axis] = _by_group(axis, _labels(f"groups[{axis!r}]", values, n, kept), samples, broken)
    names = _labels("ids", ids, n, kept)
    _refuse_repeated(names)
    values_of_items = dict(_values(samples))
    seen = None if train_ids is None else as_labels(train_ids, "train_ids")
    return Evaluation(
        "prediction",
        measured.results,
        conventions=reading.conventions,
        options={"confidence": level, "bins": bins},
        breakdowns=tables,
        skipped=measured.skipped,
        per_item=Items(
            "item",
            kept if names is None else names,
            values_of_items,
            {} if units["weights"] is None else dict.fromkeys(values_of_items, units["weights"]),
            cluster=units["cluster"],
            asked=dict(_truths(samples)),
        ),
        materials={**samples, "ids": names, "train_ids": seen},
        drawings=lambda: drawings(samples),
    )


def _named(groups: Any, taken: Collection[str]) -> Mapping[str, Any]:
    """The labels of each axis; no axis has the name of another table or column."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping) or not all(isinstance(axis, str) for axis in groups):
        raise InputError("expected labels under a name", where="groups", fix='For example {"degree": labels}.')
    for axis in groups:
        if axis in taken:
            raise OptionError(f"a group cannot be named {axis!r}", fix="Choose a name that no table or column has.")
    return groups


def _refuse_repeated(ids: Any) -> None:
    """An item that comes again would count twice."""
    names, times = np.unique([] if ids is None else ids, return_counts=True)
    if (times > 1).any():
        raise InputError(f"{names[times > 1][0]} occurs twice", where="ids", fix="Give every item its own id.")


def _weights(weights: Any, n: int, kept: Ints) -> Floats | None:
    """What each item counts, of the items that are kept."""
    if weights is None:
        return None
    amounts = as_numeric(weights, "weights").astype(np.float64)
    if amounts.shape != (n,) or not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise InputError(f"expected {n} numbers that are not negative", where="weights", fix="One weight per item.")
    if n and not amounts.any():
        raise InputError("all are 0", where="weights", fix="Give the items that count a weight above 0.")
    return amounts[kept]


def _labels(name: str, values: Any, n: int, kept: Ints) -> Any:
    """A label per item, of the items that are kept."""
    if values is None:
        return None
    labels = as_labels(values, name)
    if len(labels) != n:
        raise InputError(f"has {len(labels)} labels for {n} items", where=name, fix="One label per item.")
    return np.asarray(labels)[kept]


def _values(samples: Mapping[str, Any]) -> Iterator[tuple[str, Floats]]:
    """What each item adds to the metrics that are means over items."""
    for name, each in samples.items():
        if name == "classes":
            yield "accuracy", (each.true == each.pred).astype(np.float64)
        elif name == "probabilities":
            yield "log_loss", log_losses(each)
            yield "brier", brier_scores(each)
        elif name == "targets" and each.true.shape[1] == 1:
            yield "mae", np.abs(each.pred - each.true)[:, 0]


def _truths(samples: Mapping[str, Any]) -> Iterator[tuple[str, AnyArray]]:
    """The true target of each item, or a checksum of its true label; those of several tasks have no values by item.

    Where some are missing, nothing: it may be the truth or the prediction.
    """
    for name, each in samples.items():
        if name == "classes":
            sums = [int.from_bytes(blake2b(label.encode(), digest_size=8).digest()) for label in each.names]
            yield "truths", np.array(sums, np.uint64)[each.true]
        elif name == "targets" and each.true.shape[1] == 1 and each.known.all():
            yield "truths", each.true[:, 0]


# ---- breakdowns


def _by_task(samples: Mapping[str, Sample], broken: Broken) -> Grid:
    """Of each task the labelled items and every metric."""
    tasks = {name: each.by_task() for name, each in samples.items() if isinstance(each, OfTasks)}
    known = next(iter(tasks.values())).known
    return broken("task", list(range(known.shape[1])), known.sum(axis=0), tasks)


def _start(label: str) -> float:
    """The number that a label begins with, such as the lower end of a bin: names without one are last."""
    number = re.match(r"\d+(\.\d+)?", label)
    return float(number[0]) if number else math.inf


def _by_group(axis: str, labels: AnyArray, samples: Mapping[str, Sample], broken: Broken) -> Grid:
    """Of each label of the items, every metric."""
    names, place = np.unique(labels, return_inverse=True)
    if not len(names):
        return Grid({axis: column([]), "n": column([])})
    if names.dtype.kind == "U":
        order = np.array(sorted(range(len(names)), key=lambda i: _start(str(names[i]))))
        names, place = names[order], np.argsort(order)[place]
    parts = {name: each.by_group(place, len(names)) for name, each in samples.items()}
    return broken(axis, column(names.tolist()), np.bincount(place, minlength=len(names)), parts)
