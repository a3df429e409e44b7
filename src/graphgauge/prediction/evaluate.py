"""`evaluate`: from arrays to results.

evaluate ── inputs.read ──▶ samples ── loop.measure ──▶ results
                              │ ── by class, by task, by the user's groups ──▶ breakdowns
                              └── values of single items, materials of the checks ──▶ Evaluation
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, require_shape
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
from graphgauge.prediction.metrics import OF_CLASSES, as_share, brier_scores, log_losses, of_labels, ratio
from graphgauge.prediction.sample import Classes, Sample, estimate_of
from graphgauge.protocols import under_protocols

# Names of other tables and columns, which groups cannot have.
_AXES = ("", "class", "task", "n")
# Labels of the rows of a breakdown, their numbers of items, and the samples divided into them.
Division = tuple[list[Any], Ints, dict[str, Sample]]


@under_protocols("prediction")
def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    scores: Any = None,
    task: Task | None = None,
    positive: Any = None,
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
    level, missing, bins = confidence_level(confidence), nan_policy(nan), whole_number("bins", bins, 1)
    rules = Rules(task, positive, probabilities, bins, missing, complete=protocol is not None)
    plain, kept, conventions = read(y_true, y_pred, scores, rules)
    n = len(y_true)
    names, amounts = _ids(ids, n, kept), _weights(weights, n, kept)
    clusters, trained = _labels("cluster", cluster, n, kept), _labels("train_ids", train_ids)
    samples: dict[str, Any] = {name: replace(each, weights=amounts, cluster=clusters) for name, each in plain.items()}
    chosen, named = select("prediction", metrics, samples)
    measured = measure(chosen, samples, named=named, confidence=level, conventions=conventions)
    divisions = _by_task(samples) if conventions["task"] in ("multilabel", "regression") else {}
    if not isinstance(groups or {}, Mapping):
        raise InputError("expected labels under a name", where="groups", fix='For example {"degree": labels}.')
    for axis, values in (groups or {}).items():
        if axis in (*_AXES, *measured.estimates):
            raise OptionError(f"a group cannot be named {axis!r}", fix="Choose a name that no table or column has.")
        divisions[axis] = _by_group(_labels(f"groups[{axis!r}]", values, n, kept), samples)
    tables = {"class": _by_class(samples["classes"], level)} if "classes" in samples else {}
    for axis, (labels, counts, parts) in divisions.items():
        tables[axis] = broken_down(axis, labels, counts, chosen, parts, confidence=level, skipped=measured.skipped)
    return Evaluation(
        "prediction",
        measured.results,
        conventions=conventions,
        options={"confidence": level, "bins": bins},
        breakdowns=tables,
        skipped=measured.skipped,
        per_item=_items(samples, kept if names is None else names, amounts, clusters),
        materials={**samples, "ids": names, "train_ids": trained},
        drawings=lambda: drawings(samples),
    )


# ---- what belongs to items


def _labels(name: str, values: Any, n: int | None = None, kept: Any = ...) -> Any:
    """Labels, one for each of `n` items: those of the items that are kept."""
    labels = None if values is None else as_labels(values, name)
    if labels is not None and n not in (None, len(labels)):
        raise InputError(f"has {len(labels)} labels for {n} items", where=name, fix="One label per item.")
    return None if labels is None else labels[kept]


def _weights(weights: Any, n: int, kept: Ints) -> Floats | None:
    """What each item counts, of the items that are kept."""
    if weights is None:
        return None
    amounts = as_numeric(weights, "weights").astype(np.float64)
    if amounts.shape != (n,) or (n and not (amounts.min() >= 0 < amounts.max() < np.inf)):
        what = f"expected {n} numbers that are not negative, and not all 0"
        raise InputError(what, where="weights", fix="One weight per item.")
    return amounts[kept]


def _ids(values: Any, n: int, kept: Ints) -> Any:
    """The names of the items; one that comes again would count twice."""
    ids = _labels("ids", values, n, kept)
    if ids is not None and len(np.unique(ids)) < len(ids):
        raise InputError("a name occurs twice", where="ids", fix="Give every item its own id.")
    return ids


def _items(samples: Mapping[str, Any], ids: Any, weights: Floats | None, cluster: Any) -> Items:
    """What each item adds to the metrics that are means over items, and what it was asked.

    That is its true target, or a checksum of its true label. Where some are missing it may be the truth or the
    prediction, so nothing is said; items of several tasks have no values.
    """
    values: dict[str, Floats] = {}
    truths: dict[str, AnyArray] = {}
    if "classes" in samples:
        classes = samples["classes"]
        values["accuracy"] = (classes.true == classes.pred).astype(np.float64)
        sums = [int.from_bytes(blake2b(label.encode(), digest_size=8).digest()) for label in classes.names]
        truths["truths"] = np.array(sums, np.uint64)[classes.true]
    if "probabilities" in samples:
        values["log_loss"], values["brier"] = (each(samples["probabilities"]) for each in (log_losses, brier_scores))
    targets = samples.get("targets")
    if targets is not None and targets.true.shape[1] == 1:
        values["mae"] = np.abs(targets.pred - targets.true)[:, 0]
        truths |= {"truths": targets.true[:, 0]} if targets.known.all() else {}
    each_weight = {} if weights is None else dict.fromkeys(values, weights)
    return Items("item", ids, values, each_weight, cluster=cluster, asked=truths)


# ---- breakdowns


def _by_class(sample: Classes, level: float) -> Grid:
    """Of each class the items, and precision, recall and F1 with their intervals, one class against the others."""
    names = sample.names
    columns: dict[str, Any] = {"class": column(names), "n": np.bincount(sample.true, minlength=len(names))}
    for key, whole in OF_CLASSES.items():
        measures = [partial(ratio, whole=whole, c=c) for c in range(len(names))]
        found = estimate_of(of_labels(sample, measure) for measure in measures)
        ends: Any = as_share(sample, found, level)
        columns |= {key: found.value, f"{key}.low": ends.low, f"{key}.high": ends.high}
    return Grid(columns)


def _start(label: str) -> float:
    """The number that a label begins with, such as the lower end of a bin: names without one are last."""
    number = re.match(r"\d+(\.\d+)?", label)
    return float(number[0]) if number else math.inf


def _by_group(labels: AnyArray, samples: Mapping[str, Sample]) -> Division:
    """The items of each label; bins are in their order."""
    names, place = np.unique(labels, return_inverse=True)
    if names.dtype.kind == "U":
        order = np.argsort([_start(str(name)) for name in names], kind="stable")
        names, place = names[order], np.argsort(order)[place]
    parts = {name: each.by_group(place, len(names)) for name, each in samples.items() if len(names)}
    return names.tolist(), np.bincount(place, minlength=len(names)), parts


def _by_task(samples: Mapping[str, Any]) -> dict[str, Division]:
    """The labelled items of each task, if there are several."""
    n = np.count_nonzero(next(iter(samples.values())).known, axis=0)
    if len(n) < 2:
        return {}
    return {"task": (list(range(len(n))), n, {name: each.divided_by_task() for name, each in samples.items()})}


# ---- labels of nodes for breakdowns


def by_degree(edges: Any, n: int) -> AnyArray:
    """The degree of each of `n` nodes as a label of powers of two: 0, 1, 2–3, 4–7, …

    `edges` (m, 2) or (2, m), as in PyG, has each undirected edge once or in both directions.

    >>> from graphgauge.prediction import by_degree
    >>> by_degree([[0, 1], [0, 2], [0, 3]], 5).tolist()
    ['2–3', '1', '1', '1', '0']
    """
    ends, _ = _neighbours(edges, n)
    level = np.frexp(np.bincount(ends, minlength=n))[1]  # how many binary digits the degree has
    names = ["0", "1", *(f"{1 << i}–{(2 << i) - 1}" for i in range(1, int(level.max(initial=0))))]
    return np.array(names)[level]


def by_homophily(edges: Any, labels: Any) -> AnyArray:
    """The share of each node's neighbours that have its label, as a label of quarters; `isolated` without neighbours.

    `edges` are as in `by_degree`; `labels` has the class of each node.

    >>> from graphgauge.prediction import by_homophily
    >>> by_homophily([[0, 1], [0, 2]], ["a", "a", "b"]).tolist()
    ['0.25–0.5', '0.75–1', '0–0.25']
    """
    classes = as_labels(labels, "labels")
    ends, others = _neighbours(edges, len(classes))
    degree = np.bincount(ends, minlength=len(classes))
    agreed = np.bincount(ends, classes[ends] == classes[others], len(classes))
    quarter = np.clip(np.ceil(4 * agreed / np.maximum(degree, 1)).astype(np.int64) - 1, 0, 3)
    names = np.array(["0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1", "isolated"])
    return names[np.where(degree > 0, quarter, 4)]


def _neighbours(edges: Any, n: int) -> tuple[Ints, Ints]:
    """Nodes and their neighbours, other nodes: each undirected edge once in both directions."""
    whole_number("n", n, 0)
    array = as_numeric(edges, "edges")
    array = array.T if array.ndim == 2 and array.shape[0] == 2 != array.shape[1] else array
    require_shape(array, (None, 2), "edges", "A row per edge, or the two rows of edge_index.")
    outside = array[(array < 0) | (array >= n) | (array != np.floor(array))]
    if outside.size:
        raise InputError(f"has a node {outside[0]} of {n}", where="edges", fix="Number the nodes from 0.")
    source, target = np.concatenate([array, array[:, ::-1]]).astype(np.int64).T
    code = np.unique((source * n + target)[source != target])
    return code // n, code % n
