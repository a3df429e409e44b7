"""From the user's arrays to samples: what kind of task it is, which labels are known, who the classes are.

read ── columns, task, what is known ──▶ _of_two │ _of_classes │ _of_tasks │ _of_targets ──▶ samples
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.prediction.sample import Classes, Columns, Sample, Scores, Targets, Tasks

Task = Literal["binary", "multiclass", "multilabel", "regression"]
TASKS = ("binary", "multiclass", "multilabel", "regression")
Arrays = Mapping[str, AnyArray]
Samples = dict[str, Sample]
# Rows of probabilities may miss one by this much: numbers of half precision do.
_NEAR_ONE = 5e-3
# Whole numbers in a range of this many times the items are counted; others are sorted.
_WIDE = 4
# Rows that are copied at once.
_ROWS = 512


@dataclass(frozen=True)
class Rules:
    """How the user says that the arrays are to be read."""

    task: Task | None
    positive: Any
    probabilities: bool
    bins: int
    nan: str
    complete: bool  # every item that has a label must have a prediction, as under protocols


def read(y_true: Any, y_pred: Any, scores: Any, rules: Rules) -> tuple[Samples, Ints, dict[str, str]]:
    """The samples of these arrays by name, the rows that these have, and how they were read.

    They are without weights and clusters. Those of several tasks have all rows, the others those that are known.
    """
    passed = {"y_true": y_true, "y_pred": y_pred, "scores": scores}
    arrays = {name: _column(name, each) for name, each in passed.items() if name == "y_true" or each is not None}
    if len(arrays) == 1:
        raise OptionError("there is neither y_pred nor scores", fix="Pass labels as y_pred=, or scores=.")
    n = len(arrays["y_true"])
    for name, values in arrays.items():
        if len(values) != n:
            raise InputError(f"has {len(values)} rows, y_true {n}", where=name, fix="One row per item.")
    task = rules.task or _task_of(arrays, rules.positive)
    several = task in ("multilabel", "regression")
    for name, values in arrays.items():
        if several:
            numbers = as_numeric(values, name)
            arrays[name] = numbers[:, None] if numbers.ndim == 1 else numbers
            require_shape(arrays[name], arrays["y_true"].shape, name, "One column per task.")
        elif name != "scores":
            require_shape(values, (None,), name, 'One label per item. Is it task="multilabel"?')
    labelled, usable = _present(arrays, rules)
    conventions: dict[str, str] = {"task": task}
    if not usable.all():
        labels, left = int(labelled.sum()), int(usable.sum())
        conventions["nan"] = f"omitted {usable.size - labels:,} unlabelled, {labels - left:,} unpredicted"
    if several:
        return (_of_tasks if task == "multilabel" else _of_targets)(arrays, usable), np.arange(n), conventions
    kept = np.flatnonzero(usable)
    rows = arrays if len(kept) == n else {name: values[kept] for name, values in arrays.items()}
    samples, ruled = (_of_two if task == "binary" else _of_classes)(rows, rules)
    return samples, kept, conventions | ruled


def _column(name: str, values: Any) -> AnyArray:
    """Labels or numbers, (n,) or (n, columns)."""
    if name != "scores" and as_array(values, name).dtype.kind in "OUS":
        return as_labels(values, name)
    array = as_numeric(values, name)
    if array.ndim not in (1, 2):
        raise InputError(f"has shape {array.shape}", where=name, fix="One row per item, one column per class or task.")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _task_of(arrays: Arrays, positive: Any) -> Task:
    """The task that the arrays can only be of."""
    true, points = arrays["y_true"], arrays.get("scores")
    named = true.dtype.kind == "U"
    zero_one = not named and _are_signs(true, true == true)
    fractions = not (named or zero_one) and bool(((true != np.floor(true)) & (true == true)).any())
    by_class = points is not None and points.ndim == 2
    if true.ndim == 2 and zero_one:
        return "multilabel"
    if true.ndim == 1 and (positive is not None or (zero_one and not by_class)):
        return "binary"
    if true.ndim == 1 and (named or by_class or all(values.dtype.kind in "iu" for values in arrays.values())):
        return "multiclass"
    if fractions and points is None:
        return "regression"
    fix = f'Say which: task="multiclass", one of {", ".join(TASKS)}; or positive=, the one of interest of two classes.'
    raise OptionError("y_true may be classes or numbers", fix=fix).about("task")


def _are_signs(values: AnyArray, usable: Mask) -> bool:
    """Whether all that are used are 0 or 1."""
    return bool(((values == 0) | (values == 1) | ~usable).all())


def _present(arrays: Arrays, rules: Rules) -> tuple[Mask, Mask]:
    """Which cells, or rows, have a truth, and which of these a prediction; NaN is refused unless it is omitted."""
    labelled = usable = np.asarray(arrays["y_true"] == arrays["y_true"])
    for name, values in arrays.items():
        if rules.nan == "raise":
            refuse_nan(values, name, fix='Pass nan="omit" to leave them out.')
        elif values.dtype.kind == "f" and name != "y_true":
            if rules.complete:
                predicted = values.copy()
                predicted[~labelled] = 0
                refuse_nan(predicted, name, fix="Repair the model: protocols leave out unlabelled items only.")
            number = values == values
            usable = usable & (number if number.ndim == usable.ndim else number.all(axis=1))
    return labelled, usable


# ---- one label per item


def _of_two(arrays: Arrays, rules: Rules) -> tuple[Samples, dict[str, str]]:
    """The samples of labels and of scores of two classes; and which one is positive, and where labels are from."""
    labels = {name: _whole(values) for name, values in arrays.items() if name != "scores"}
    found, positive = _names(labels).tolist(), rules.positive
    if positive is None and not set(found) <= {0, 1}:
        what = f"two classes, {' and '.join(map(str, found[:2]))}"
        raise OptionError(what, fix="Pass positive=, the one of interest.")
    if labels["y_true"].dtype.kind != "U":  # a command line gives numbers as texts
        positive = {str(each): each for each in (0, 1, *found)}.get(str(1 if positive is None else positive), positive)
    others = [each for each in found if each != positive]
    if len(others) > 1:
        raise InputError(
            f"has {len(found)} classes", where="y_true", fix='Leave positive= out, or pass task="multiclass".'
        )
    other = others[0] if others else f"not {positive}" if isinstance(positive, str) else 1 - positive
    codes = {name: (values == positive).astype(np.int64) for name, values in labels.items()}
    samples: Samples = {}
    conventions = {"positive": str(positive)}
    if "scores" in arrays:
        column, true = arrays["scores"], codes["y_true"]
        require_shape(column, (None,), "scores", "Pass those of the positive class, one per item.")
        samples["scores"] = Scores(true=true.astype(np.int8)[:, None], scores=column[:, None])
        if rules.probabilities:
            p = _probabilities(np.stack([1 - column, column], axis=1))
            samples["probabilities"] = Columns(true=true, scores=p, binary=True, bins=rules.bins)
            if "y_pred" not in codes:
                codes["y_pred"], conventions["labels"] = p.argmax(axis=1), "probability above 0.5"
    if "y_pred" in codes:
        names = (str(other), str(positive))
        samples["classes"] = samples["binary"] = Classes(true=codes["y_true"], pred=codes["y_pred"], names=names)
    return samples, conventions


def _of_classes(arrays: Arrays, rules: Rules) -> tuple[Samples, dict[str, str]]:
    """The samples of labels and of scores; and where labels are from, if they are not given."""
    labels = {name: _whole(values) for name, values in arrays.items() if name != "scores"}
    points = arrays.get("scores")
    if points is None:
        names = _names(labels)
    elif points.ndim == 1:
        raise InputError("has one number per item", where="scores", fix="One column per class.")
    elif labels["y_true"].dtype.kind == "U":
        fix = "Number the classes as the columns, from 0."
        raise OptionError("y_true has names, and scores only columns", fix=fix)
    else:
        names = np.arange(points.shape[1])
    codes = {name: _codes(name, values, names) for name, values in labels.items()}
    true, samples, conventions = codes["y_true"], Samples(), {}
    if points is not None:
        samples["ranked"] = Columns(true=true, scores=points, binary=False, bins=rules.bins)
        samples["scores"] = Scores(true=(true[:, None] == names).astype(np.int8), scores=_by_column(points))
        if rules.probabilities:
            points = _probabilities(points)
            samples["probabilities"] = Columns(true=true, scores=points, binary=False, bins=rules.bins)
        if "y_pred" not in codes:
            codes["y_pred"], conventions = points.argmax(axis=1), {"labels": "largest score"}
    samples["classes"] = Classes(true=true, pred=codes["y_pred"], names=tuple(map(str, names.tolist())))
    return samples, conventions


def _whole(labels: AnyArray) -> AnyArray:
    """Classes as texts or integers of eight bytes; other numbers are no classes."""
    if labels.dtype.kind == "U":
        return labels
    with np.errstate(invalid="ignore"):
        whole = labels.astype(np.int64, copy=False)
    if (whole != labels).any():
        fix = 'Pass probabilities or scores as scores=, targets with task="regression".'
        raise InputError(f"labels are not whole, such as {labels[whole != labels][0]:.4g}", fix=fix)
    return whole


def _names(labels: Arrays) -> AnyArray:
    """The distinct labels, sorted."""
    if len({values.dtype.kind for values in labels.values()}) > 1:
        raise InputError("y_true and y_pred have names on one side, numbers on the other", fix="Write both alike.")
    return np.unique(np.concatenate([_distinct(values) for values in labels.values()]))


def _distinct(labels: AnyArray) -> AnyArray:
    """The distinct labels of one side."""
    if labels.dtype.kind == "i" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < _WIDE * max(labels.size, 1024):
            return np.flatnonzero(np.bincount(labels - low)) + low
    return np.unique(labels)


def _codes(name: str, labels: AnyArray, names: AnyArray) -> Ints:
    """Labels as their places among the names, which are sorted."""
    if not labels.size:
        return np.zeros(0, np.int64)
    is_run = names.dtype.kind == "i" and names[-1] - names[0] == len(names) - 1
    codes = labels - names[0] if is_run else np.searchsorted(names, labels)  # most often it needs no search
    unknown = (codes < 0) | (codes >= len(names))
    if unknown.any():
        what = f"has the label {labels[unknown][0]}, which is no class"
        raise InputError(what, where=name, fix="Number the classes as the columns of scores, from 0.")
    return codes


def _probabilities(columns: AnyArray) -> Floats:
    """Rows that add up to one, in double precision."""
    p = columns.astype(np.float64)
    totals = p.sum(axis=1)
    wrong = (p < 0).any(axis=1) | (np.abs(totals - 1) > _NEAR_ONE)
    if wrong.any():
        what = f"row {np.argmax(wrong)} has negative numbers, or does not add up to 1"
        raise InputError(what, where="scores", fix="Pass softmax(logits), or leave probabilities= out.")
    return np.asarray(p / totals[:, None])


# ---- several labels per item, and numbers


def _of_tasks(arrays: Arrays, usable: Mask) -> Samples:
    for name, fix in (("y_true", "One column of 0 and 1 per task."), ("y_pred", "Pass probabilities as scores=.")):
        if name in arrays and not _are_signs(arrays[name], usable):
            raise InputError("has labels other than 0 and 1", where=name, fix=fix)
    # All bits of MISSING are set.
    true = (arrays["y_true"] == 1).view(np.int8) | -(~usable).view(np.int8)
    samples: Samples = {}
    if "y_pred" in arrays:
        samples["tasks"] = Tasks(true=true, pred=np.where(usable, arrays["y_pred"], 0).astype(np.int8))
    if "scores" in arrays:
        samples["scores"] = Scores(true=_by_column(true), scores=_by_column(arrays["scores"]))
    return samples


def _by_column(values: AnyArray) -> AnyArray:
    """The same in memory by column, copied in blocks of rows that the cache holds."""
    columns = np.empty(values.shape[::-1], values.dtype)
    for start in range(0, len(values), _ROWS):
        columns[:, start : start + _ROWS] = values[start : start + _ROWS].T
    return columns.T


def _of_targets(arrays: Arrays, usable: Mask) -> Samples:
    if "scores" in arrays:
        raise OptionError("targets are predicted by numbers", fix="Pass them as y_pred=, and no scores=.")
    for name, values in arrays.items():
        if np.isinf(values).any():
            raise InputError("has infinite values", where=name, fix="Repair the model, or leave the items out.")
    true, pred = (arrays[name].astype(np.float64) for name in ("y_true", "y_pred"))
    return {"targets": Targets(true=np.where(usable, true, np.nan), pred=pred)}
