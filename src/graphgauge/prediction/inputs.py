"""From the user's arrays to samples: what kind of task it is, which labels are known, who the classes are.

read ── columns, task ──▶ _of_classes │ _of_tasks │ _of_targets ──▶ Reading(samples, kept, conventions, …)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, on_host
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.prediction.sample import MISSING, Classes, Columns, Sample, Scores, Targets, Tasks

Task = Literal["binary", "multiclass", "multilabel", "regression"]
TASKS = ("binary", "multiclass", "multilabel", "regression")
# Rows of probabilities may miss one by this much: numbers of half precision do.
_NEAR_ONE = 5e-3
# Whole numbers in a range of this many times the items are classes by themselves; others are sorted.
_WIDE = 4


@dataclass(frozen=True)
class Rules:
    """How the user says that the arrays are to be read."""

    task: Task | None = None
    positive: Any = None
    classes: Any = None
    probabilities: bool = False
    nan: str = "raise"
    bins: int = 15


@dataclass(frozen=True, eq=False)
class Reading:
    """The samples by name, the rows of the input that they have, how many tasks, and how they were read."""

    samples: dict[str, Sample]
    kept: Ints
    tasks: int
    conventions: dict[str, str]


def read(y_true: Any, y_pred: Any, scores: Any, rules: Rules) -> Reading:
    """The samples of these arrays, without weights and clusters."""
    arrays = {"y_true": _column("y_true", y_true)}
    if y_pred is not None:
        arrays["y_pred"] = _column("y_pred", y_pred)
    if scores is not None:
        arrays["scores"] = _squeezed(as_numeric(scores, "scores"))
    elif rules.probabilities:
        raise OptionError("probabilities=True says what scores are, and there are none", fix="Pass scores=.")
    if len(arrays) == 1:
        raise OptionError("there is neither y_pred nor scores", fix="Pass labels as y_pred=, or scores=.")
    n = len(arrays["y_true"])
    for name, values in arrays.items():
        if len(values) != n:
            raise InputError(f"has {len(values)} rows, y_true {n}", where=name, fix="One row per item.")
    task = rules.task or _task_of(arrays, rules.positive)
    several = task in ("multilabel", "regression")
    arrays = {name: (_matrix if several else _single)(name, values) for name, values in arrays.items()}
    known = usable = _present("y_true", arrays["y_true"], np.ones(arrays["y_true"].shape, bool), rules.nan)
    for name in arrays.keys() - {"y_true"}:
        if several and arrays[name].shape != known.shape:
            what = f"has shape {arrays[name].shape}, y_true {known.shape}"
            raise InputError(what, where=name, fix="One column per task.")
        usable = _present(name, arrays[name], usable, rules.nan)
    kept = np.arange(n)
    conventions: dict[str, str] = {"task": task}
    if task == "regression":
        samples = _of_targets(arrays, usable)
    elif task == "multilabel":
        samples = _of_tasks(arrays, usable)
    else:
        kept = np.flatnonzero(usable)
        rows = arrays if len(kept) == n else {name: values[kept] for name, values in arrays.items()}
        samples, read = _of_classes(task, rows, rules)
        conventions |= read
    if not usable.all():
        labels, there = int(known.sum()), int(usable.sum())
        conventions["nan"] = f"omitted {known.size - labels:,} unlabelled, {labels - there:,} unpredicted"
    return Reading(samples, kept, arrays["y_true"].shape[1] if several else 1, conventions)


def _column(name: str, values: Any) -> AnyArray:
    """Labels or numbers, (n,) or (n, tasks)."""
    array = np.asarray(on_host(values, name))
    return as_labels(values, name) if array.dtype.kind in "OUS" else _squeezed(as_numeric(values, name))


def _squeezed(array: AnyArray) -> AnyArray:
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _task_of(arrays: Mapping[str, AnyArray], positive: Any) -> Task:
    """The task that the arrays can only be of; an error says what to write where there are two."""
    true, pred, points = (arrays.get(name) for name in ("y_true", "y_pred", "scores"))
    assert true is not None
    wide = points is not None and points.ndim == 2
    known = true[~np.isnan(true)] if true.dtype.kind == "f" else true
    zero_one = true.dtype.kind != "U" and bool(((known == 0) | (known == 1)).all())
    if true.ndim == 2:
        if zero_one:
            return "multilabel"
        raise _asked("y_true has several columns of numbers other than 0 and 1", "regression")
    if positive is not None:
        return "binary"
    if wide or true.dtype.kind == "U":
        return "multiclass"
    if zero_one:
        return "binary"
    if points is not None:
        raise OptionError(
            "scores has one column, and y_true other labels than 0 and 1", fix="Pass positive=, or a column per class."
        )
    if true.dtype.kind in "iu" and pred is not None and pred.dtype.kind in "iu":
        return "multiclass"
    if (known != np.floor(known)).any():
        return "regression"
    raise _asked("y_true and y_pred may be classes or numbers", "multiclass")


def _asked(what: str, example: str) -> Exception:
    return OptionError(what, fix=f'Say which: task="{example}", one of {", ".join(TASKS)}.').about("task")


def _present(name: str, values: AnyArray, among: Mask, nan: str) -> Mask:
    """Which `among` these cells have a number; NaN is refused unless it is to be left out."""
    if values.dtype.kind != "f":
        return among
    missing = np.isnan(values)
    wrong = among & (missing.any(axis=1) if missing.ndim > among.ndim else missing)
    if nan == "raise" and wrong.any():
        first = tuple(np.argwhere(wrong)[0].tolist())
        what, fix = ("labels", "if they are unlabelled") if name == "y_true" else ("predictions", "to leave them out")
        raise InputError(
            f"{int(wrong.sum())} of {wrong.size} {what} are NaN, the first at {first[0] if len(first) == 1 else first}",
            where=name,
            fix=f'Pass nan="omit" {fix}.',
        )
    return among & ~wrong


# ---- one label per item


def _single(name: str, values: AnyArray) -> AnyArray:
    if values.ndim != 1 and name != "scores":
        fix = 'Is it task="multilabel"?'
        raise InputError(f"has shape {values.shape}, not one label per item", where=name, fix=fix)
    return values


def _of_classes(task: Task, arrays: Mapping[str, AnyArray], rules: Rules) -> tuple[dict[str, Sample], dict[str, str]]:
    """The samples of labels and of scores; and which class is positive, and where labels are from."""
    labels = {name: _whole(values) for name, values in arrays.items() if name != "scores"}
    points, binary = arrays.get("scores"), task == "binary"
    names = _names(labels, points, rules)
    names = _pair(names.tolist(), rules.positive) if binary else names
    codes = {name: _codes(name, values, names) for name, values in labels.items()}
    true, texts = codes["y_true"], tuple(str(each) for each in names.tolist())
    samples: dict[str, Sample] = {}
    conventions: dict[str, str] = {}
    if points is not None:
        if not binary:
            samples["ranked"] = Columns(true=true, scores=points, binary=False, bins=rules.bins)
            one_hot = (true[:, None] == np.arange(len(names))).astype(np.int8)
            samples["scores"] = Scores(true=one_hot, scores=np.asfortranarray(points))
        else:
            column = points[:, 1] if points.ndim == 2 else points
            samples["scores"] = Scores(true=true.astype(np.int8)[:, None], scores=column[:, None])
            points = np.stack([1 - column, column], axis=1) if rules.probabilities else points
        if rules.probabilities:
            p = _probabilities(points)
            samples["probabilities"] = Columns(true=true, scores=p, binary=binary, bins=rules.bins)
        if "y_pred" not in codes and points.ndim == 2:
            codes["y_pred"] = points.argmax(axis=1)
            conventions["labels"] = "probability above 0.5" if binary and rules.probabilities else "largest score"
    if "y_pred" in codes:
        samples["classes"] = Classes(true=true, pred=codes["y_pred"], names=texts)
        samples |= {"binary": samples["classes"]} if binary else {}
    return samples, conventions | ({"positive": texts[1]} if binary else {})


def _whole(labels: AnyArray) -> AnyArray:
    """Classes as whole numbers or texts; fractions are no classes."""
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        worst = float(labels[labels != np.floor(labels)][0])
        raise InputError(
            f"labels have fractions, such as {worst:.4g}",
            fix='Pass probabilities or scores as scores=, targets with task="regression".',
        )
    return labels.astype(np.int64) if labels.dtype.kind in "bf" else labels


def _names(labels: Mapping[str, AnyArray], points: AnyArray | None, rules: Rules) -> AnyArray:
    """The classes in the order of their numbers."""
    columns = points.shape[1] if points is not None and points.ndim == 2 else None
    if rules.classes is not None:
        names = as_labels(list(rules.classes), "classes")
    elif columns is not None and labels["y_true"].dtype.kind == "U":
        raise OptionError("y_true has names, and scores only columns", fix="Pass classes=[…], the name of each column.")
    elif columns is not None:
        names = np.arange(columns)
    elif len({values.dtype.kind == "U" for values in labels.values()}) > 1:
        raise InputError("y_true and y_pred have names on one side, numbers on the other", fix="Write both alike.")
    else:
        names = np.unique(np.concatenate([_distinct(values) for values in labels.values()]))
    if columns not in (None, len(names)):
        raise InputError(f"has {columns} columns for {len(names)} classes", where="scores", fix="One column per class.")
    return names


def _pair(names: list[Any], positive: Any) -> AnyArray:
    """Two classes, the positive one last."""
    if positive is None and not set(names) <= {0, 1}:
        what = f"two classes, {' and '.join(map(str, names[:2]))}"
        raise OptionError(what, fix="Pass positive=, the one of interest.")
    positive = 1 if positive is None else positive
    others = [each for each in names if each != positive]
    if len(others) > 1:
        fix = 'Leave positive= out, for task="multiclass".'
        raise InputError(f"has {len(others) + 1} classes", where="y_true", fix=fix)
    other = f"not {positive}" if isinstance(positive, str) else 1 - int(positive)
    return np.asarray([*(others or [other]), positive])


def _distinct(labels: AnyArray) -> AnyArray:
    """The distinct labels, sorted."""
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < _WIDE * max(labels.size, 1024):
            present = np.zeros(high - low + 1, bool)
            present[labels - low] = True
            return np.flatnonzero(present) + low
    return np.unique(labels)


def _codes(name: str, labels: AnyArray, names: AnyArray) -> Ints:
    """Labels as numbers of their classes."""
    order = np.argsort(names, kind="stable")
    ordered = names[order]
    if not labels.size:
        return np.zeros(0, np.int64)
    if names.dtype.kind in "iu" and labels.dtype.kind in "iu":
        low, high = int(ordered[0]), int(ordered[-1])
        if (names == np.arange(low, low + len(names))).all() and low <= labels.min() and labels.max() <= high:
            return labels.astype(np.int64, copy=False) - low if low else labels.astype(np.int64, copy=False)
    codes = order[np.minimum(np.searchsorted(ordered, labels), len(names) - 1)]
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
        raise InputError(
            f"row {row} is not a probability of each class (sum {totals[row]:.4g}, least {p[row].min():.4g})",
            where="scores",
            fix="Pass softmax(logits), or leave probabilities= out.",
        )
    return np.asarray(p / totals[:, None])


# ---- several labels per item, and numbers


def _matrix(name: str, values: AnyArray) -> AnyArray:
    """Numbers (n, tasks)."""
    if values.dtype.kind == "U" or values.ndim > 2:
        what = f"expected numbers (n,) or (n, tasks), found shape {values.shape} of {values.dtype}"
        raise InputError(what, where=name)
    return values[:, None] if values.ndim == 1 else values


def _of_tasks(arrays: Mapping[str, AnyArray], usable: Mask) -> dict[str, Sample]:
    for name, fix in (("y_true", "One column of 0 and 1 per task."), ("y_pred", "Pass probabilities as scores=.")):
        values = arrays.get(name, usable)
        if not ((values == 0) | (values == 1) | ~usable).all():
            raise InputError("has labels other than 0 and 1", where=name, fix=fix)
    true = np.where(usable, arrays["y_true"] == 1, np.int8(MISSING)).astype(np.int8)
    samples: dict[str, Sample] = {}
    if "y_pred" in arrays:
        samples["tasks"] = Tasks(true=true, pred=np.where(usable, arrays["y_pred"], 0).astype(np.int8))
    if "scores" in arrays:
        samples["scores"] = Scores(true=np.asfortranarray(true), scores=np.asfortranarray(arrays["scores"]))
    return samples


def _of_targets(arrays: Mapping[str, AnyArray], usable: Mask) -> dict[str, Sample]:
    if arrays.keys() != {"y_true", "y_pred"}:
        raise OptionError("targets are predicted by numbers", fix="Pass them as y_pred=, and no scores=.")
    for name, values in arrays.items():
        if np.isinf(values).any():
            raise InputError("has infinite values", where=name, fix="Repair the model, or leave the items out.")
    true, pred = (arrays[name].astype(np.float64) for name in ("y_true", "y_pred"))
    return {"targets": Targets(true=np.where(usable, true, np.nan), pred=pred)}
