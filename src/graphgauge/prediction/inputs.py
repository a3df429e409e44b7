"""From the user's arrays to samples: what kind of task it is, which labels are known, who the classes are.

read ── columns, task, what is known ──▶ _of_classes │ _of_tasks │ _of_targets ──▶ Reading(samples, kept, tasks, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgauge.core.arrays import as_array, as_labels, as_numeric, refuse_nan
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.prediction.sample import Classes, Columns, Sample, Scores, Targets, Tasks

Task = Literal["binary", "multiclass", "multilabel", "regression"]
TASKS = ("binary", "multiclass", "multilabel", "regression")
Arrays = Mapping[str, AnyArray]
# Rows of probabilities may miss one by this much: numbers of half precision do.
_NEAR_ONE = 5e-3
# Whole numbers in a range of this many times the items are classes by themselves; others are sorted.
_WIDE = 4
# Rows that are copied at once.
_ROWS = 512


@dataclass(frozen=True)
class Rules:
    """How the user says that the arrays are to be read."""

    task: Task | None = None
    positive: Any = None
    classes: Any = None
    probabilities: bool = False
    nan: str = "raise"
    bins: int = 15
    complete: bool = False  # every item that has a label must have a prediction, as under protocols


@dataclass(frozen=True, eq=False)
class Reading:
    """The samples by name, the rows of the input that they have, how many tasks, and how they were read."""

    samples: dict[str, Sample]
    kept: Ints
    tasks: int
    conventions: dict[str, str]


def read(y_true: Any, y_pred: Any, scores: Any, rules: Rules) -> Reading:
    """The samples of these arrays, without weights and clusters."""
    if y_true is None:
        raise OptionError("y_true not given", fix="Pass the true labels, or targets.").about("y_true")
    passed = {"y_true": y_true, "y_pred": y_pred, "scores": scores}
    arrays: Arrays = {name: _column(name, values) for name, values in passed.items() if values is not None}
    if len(arrays) == 1:
        raise OptionError("there is neither y_pred nor scores", fix="Pass labels as y_pred=, or scores=.")
    if rules.probabilities and scores is None:
        raise OptionError("probabilities=True says what scores are, and there are none", fix="Pass scores=.")
    n = len(arrays["y_true"])
    for name, values in arrays.items():
        if len(values) != n:
            raise InputError(f"has {len(values)} rows, y_true {n}", where=name, fix="One row per item.")
    task = rules.task or _task_of(arrays, rules.positive)
    several = task in ("multilabel", "regression")
    arrays = (_matrices if several else _single)(arrays)
    labelled, usable = _present(arrays, rules)
    conventions: dict[str, str] = {"task": task}
    if not usable.all():
        labels, left = int(labelled.sum()), int(usable.sum())
        conventions["nan"] = f"omitted {usable.size - labels:,} unlabelled, {labels - left:,} unpredicted"
    if several:
        samples = (_of_tasks if task == "multilabel" else _of_targets)(arrays, usable)
        return Reading(samples, np.arange(n), usable.shape[1], conventions)
    kept = np.flatnonzero(usable)
    rows = arrays if len(kept) == n else {name: values[kept] for name, values in arrays.items()}
    samples, ruled = _of_classes(task == "binary", rows, rules)
    return Reading(samples, kept, 1, conventions | ruled)


def _column(name: str, values: Any) -> AnyArray:
    """Labels or numbers, (n,) or (n, columns)."""
    if name != "scores" and as_array(values, name).dtype.kind in "OUS":
        return as_labels(values, name)
    array = as_numeric(values, name)
    if array.ndim not in (1, 2):
        raise InputError(f"has shape {array.shape}", where=name, fix="One row per item, one column per class or task.")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _task_of(arrays: Arrays, positive: Any) -> Task:
    """The task that the arrays can only be of; an error says what to write where there are two."""
    true, points = arrays["y_true"], arrays.get("scores")
    named = true.dtype.kind == "U"
    zero_one = not named and _are_signs(true, true == true)
    fractions = not (named or zero_one) and bool(((true != np.floor(true)) & (true == true)).any())
    if true.ndim == 2:
        if not (zero_one or fractions):
            raise _asked("y_true has several columns of numbers other than 0 and 1", "regression")
        return "multilabel" if zero_one else "regression"
    if positive is not None:
        return "binary"
    if named or (points is not None and points.ndim == 2):
        return "multiclass"
    if zero_one:
        return "binary"
    if points is not None:
        what = "scores has one column, and y_true other labels than 0 and 1"
        raise OptionError(what, fix="Pass positive=, or a column per class.")
    if true.dtype.kind in "iu" and arrays["y_pred"].dtype.kind in "iu":
        return "multiclass"
    if fractions:
        return "regression"
    raise _asked("y_true and y_pred may be classes or numbers", "multiclass")


def _asked(what: str, example: str) -> Exception:
    return OptionError(what, fix=f'Say which: task="{example}", one of {", ".join(TASKS)}.').about("task")


def _are_signs(values: AnyArray, usable: Mask) -> bool:
    """Whether all that are used are 0 or 1."""
    wrong = values != 0
    wrong &= values != 1
    wrong &= usable
    return not wrong.any()


def _present(arrays: Arrays, rules: Rules) -> tuple[Mask, Mask]:
    """Which cells, or rows, have a truth, and which of these a prediction; NaN is refused unless it is omitted."""
    labelled = usable = np.asarray(arrays["y_true"] == arrays["y_true"])
    for name, values in arrays.items():
        if rules.nan == "raise":
            refuse_nan(values, name, fix='Pass nan="omit" to leave them out.')
        elif values.dtype.kind == "f" and name != "y_true":
            wide = values.ndim > labelled.ndim
            if rules.complete:
                fix = "Repair the model: protocols leave out unlabelled items only."
                refuse_nan(np.where(labelled[:, None] if wide else labelled, values, 0), name, fix=fix)
            number = values == values
            usable = usable & (number.all(axis=1) if wide else number)
    return labelled, usable


# ---- one label per item


def _single(arrays: Arrays) -> Arrays:
    """Labels (n,), and scores of any shape."""
    for name, values in arrays.items():
        if values.ndim != 1 and name != "scores":
            fix = 'Is it task="multilabel"?'
            raise InputError(f"has shape {values.shape}, not one label per item", where=name, fix=fix)
    return arrays


def _of_classes(binary: bool, arrays: Arrays, rules: Rules) -> tuple[dict[str, Sample], dict[str, str]]:
    """The samples of labels and of scores; and which class is positive, and where labels are from."""
    labels, points = {name: _whole(values) for name, values in arrays.items() if name != "scores"}, arrays.get("scores")
    if points is not None and points.ndim == 1 and not binary:
        raise InputError("has one number per item", where="scores", fix="One column per class.")
    names = _names(labels, points, rules)
    names = _of_two(names, rules.positive) if binary else names
    true, *pred = (_codes(name, values, names) for name, values in labels.items())
    samples: dict[str, Sample] = {}
    conventions = {"positive": str(names[1])} if binary else {}
    if points is not None:
        if binary:
            column = points[:, 1] if points.ndim == 2 else points
            samples["scores"] = Scores(true=true.astype(np.int8)[:, None], scores=column[:, None])
            points = np.stack([1 - column, column], axis=1) if rules.probabilities else points
        else:
            samples["ranked"] = Columns(true=true, scores=points, binary=False, bins=rules.bins)
            one_hot = (true[:, None] == np.arange(len(names))).astype(np.int8)
            samples["scores"] = Scores(true=one_hot, scores=_by_column(points))
        if rules.probabilities:
            p = _probabilities(points)
            samples["probabilities"] = Columns(true=true, scores=p, binary=binary, bins=rules.bins)
        if not pred and points.ndim == 2:
            pred = [points.argmax(axis=1)]
            conventions["labels"] = "probability above 0.5" if binary and rules.probabilities else "largest score"
    if pred:
        samples["classes"] = Classes(true=true, pred=pred[0], names=tuple(map(str, names.tolist())))
        samples |= {"binary": samples["classes"]} if binary else {}
    return samples, conventions


def _whole(labels: AnyArray) -> AnyArray:
    """Classes as texts or integers of eight bytes; fractions, and what no integer holds, are no classes."""
    if labels.dtype.kind == "f":
        beyond = np.abs(labels) >= 2.0**63
        for wrong, what in ((beyond, "are beyond integers"), (labels != np.floor(labels), "have fractions")):
            if wrong.any():
                fix = 'Pass probabilities or scores as scores=, targets with task="regression".'
                raise InputError(f"labels {what}, such as {labels[wrong][0]:.4g}", fix=fix)
    is_wide = labels.dtype == np.uint64 and labels.max(initial=0) >= 1 << 63
    return labels if labels.dtype.kind == "U" or is_wide else labels.astype(np.int64, copy=False)


def _names(labels: Arrays, points: AnyArray | None, rules: Rules) -> AnyArray:
    """The classes in the order of their numbers."""
    columns = points.shape[1] if points is not None and points.ndim == 2 else None
    kinds = {values.dtype.kind == "U" for values in labels.values()}
    named = labels["y_true"].dtype.kind == "U"
    if rules.classes is not None:
        names = as_labels(rules.classes, "classes")
        if not named and names.dtype.kind == "U":
            names = np.array(list(map(_number, names.tolist())))
        if len({*names.tolist()}) < len(names):
            raise InputError("a class occurs twice", where="classes", fix="Name each column once.")
    elif columns is not None and named:
        raise OptionError("y_true has names, and scores only columns", fix="Pass classes=[…], the name of each column.")
    elif columns is not None:
        names = np.arange(columns)
    elif len(kinds) > 1:
        raise InputError("y_true and y_pred have names on one side, numbers on the other", fix="Write both alike.")
    else:
        names = np.unique(np.concatenate([_distinct(values) for values in labels.values()]))
    if columns not in (None, len(names)):
        raise InputError(f"has {columns} columns for {len(names)} classes", where="scores", fix="One column per class.")
    return names


def _of_two(names: AnyArray, positive: Any) -> AnyArray:
    """The other class and the positive one; a class that is in no label has a name, too."""
    if positive is None and not set(names.tolist()) <= {0, 1}:
        what = f"two classes, {' and '.join(map(str, names[:2]))}"
        raise OptionError(what, fix="Pass positive=, the one of interest.")
    positive = 1 if positive is None else positive if names.dtype.kind == "U" else _number(positive)
    others = [each for each in names.tolist() if each != positive]
    if len(others) > 1:
        fix = 'Leave positive= out, for task="multiclass".'
        raise InputError(f"has {len(others) + 1} classes", where="y_true", fix=fix)
    other = f"not {positive}" if isinstance(positive, str) else 1 - int(positive)
    return np.asarray([*(others or [other]), positive])


def _number(label: Any) -> Any:
    """A label as a command line gives it, as a whole number if it is one."""
    return int(label) if isinstance(label, str) and label.removeprefix("-").isdecimal() else label


def _distinct(labels: AnyArray) -> AnyArray:
    """The distinct labels, sorted."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < _WIDE * max(labels.size, 1024):
            present = np.zeros(high - low + 1, bool)
            present[labels - low] = True
            return np.flatnonzero(present).astype(labels.dtype) + low
    return np.unique(labels)


def _codes(name: str, labels: AnyArray, names: AnyArray) -> Ints:
    """Labels as numbers of their classes."""
    if not labels.size:
        return np.zeros(0, np.int64)
    is_run = names.dtype.kind == labels.dtype.kind == "i" and bool((names - names[0] == np.arange(len(names))).all())
    if is_run and names[0] <= labels.min() and labels.max() <= names[-1]:  # most often, and it needs no search
        return labels - names[0] if names[0] else labels
    order = np.argsort(names, kind="stable")
    codes = order[np.minimum(np.searchsorted(names[order], labels), len(names) - 1)]
    unknown = names[codes] != labels
    if unknown.any():
        what = f"has the label {labels[unknown][0]}, which is no class"
        raise InputError(what, where=name, fix="Name all in classes=.")
    return codes


def _probabilities(columns: AnyArray) -> Floats:
    """Rows that add up to one, in double precision."""
    p = columns.astype(np.float64)
    totals = p.sum(axis=1)
    wrong = (p < 0).any(axis=1) | (np.abs(totals - 1) > _NEAR_ONE)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"row {row} is not a probability of each class (sum {totals[row]:.4g}, least {p[row].min():.4g})"
        raise InputError(what, where="scores", fix="Pass softmax(logits), or leave probabilities= out.")
    return np.asarray(p / totals[:, None])


# ---- several labels per item, and numbers


def _matrices(arrays: Arrays) -> Arrays:
    """Numbers (n, tasks), all of one shape."""
    for name, values in arrays.items():
        if values.dtype.kind == "U":
            what = f"expected numbers (n,) or (n, tasks), found shape {values.shape} of {values.dtype}"
            raise InputError(what, where=name)
    wide = {name: values[:, None] if values.ndim == 1 else values for name, values in arrays.items()}
    for name, values in wide.items():
        if values.shape != wide["y_true"].shape:
            what = f"has shape {values.shape}, y_true {wide['y_true'].shape}"
            raise InputError(what, where=name, fix="One column per task.")
    return wide


def _of_tasks(arrays: Arrays, usable: Mask) -> dict[str, Sample]:
    for name, fix in (("y_true", "One column of 0 and 1 per task."), ("y_pred", "Pass probabilities as scores=.")):
        if name in arrays and not _are_signs(arrays[name], usable):
            raise InputError("has labels other than 0 and 1", where=name, fix=fix)
    # All bits of MISSING are set.
    true = (arrays["y_true"] == 1).view(np.int8) | -(~usable).view(np.int8)
    samples: dict[str, Sample] = {}
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


def _of_targets(arrays: Arrays, usable: Mask) -> dict[str, Sample]:
    if "scores" in arrays:
        raise OptionError("targets are predicted by numbers", fix="Pass them as y_pred=, and no scores=.")
    for name, values in arrays.items():
        if np.isinf(values).any():
            raise InputError("has infinite values", where=name, fix="Repair the model, or leave the items out.")
    true, pred = (arrays[name].astype(np.float64) for name in ("y_true", "y_pred"))
    return {"targets": Targets(true=np.where(usable, true, np.nan), pred=pred)}
