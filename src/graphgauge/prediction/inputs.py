"""From the user's arrays to samples: what kind of task it is, which labels are known, who the classes are.

read ── columns, task ──▶ _classes │ _tasks │ _targets ──▶ Reading(samples, ids, conventions, …)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, on_host
from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.prediction.sample import MISSING, Classes, Probabilities, Ranked, Sample, Scores, Targets, Tasks

Task = Literal["binary", "multiclass", "multilabel", "regression"]
TASKS = ("binary", "multiclass", "multilabel", "regression")
# Rows of probabilities may miss one by this much: numbers of half precision do.
_NEAR_ONE = 5e-3
# Whole numbers in a range of this many times the items are classes by themselves; others are sorted.
_WIDE = 4


@dataclass(frozen=True, eq=False)
class Reading:
    """The samples by name, the items that they have, and how they were read.

    `kept` are the rows with a known label, in a family of tasks all. `tasks` names the columns of several.
    """

    task: Task
    samples: dict[str, Sample]
    kept: AnyArray
    conventions: dict[str, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    tasks: int = 1
    unlabelled: int = 0
    omitted: int = 0


@dataclass(frozen=True)
class Rules:
    """How the user says that the arrays are to be read."""

    task: Task | None = None
    positive: Any = None
    classes: Any = None
    probabilities: bool = False
    nan: str = "raise"
    bins: int = 15


def read(y_true: Any, y_pred: Any, scores: Any, rules: Rules) -> Reading:
    """The samples of these arrays, without weights and clusters."""
    true = _column("y_true", y_true)
    pred = None if y_pred is None else _column("y_pred", y_pred)
    points = None if scores is None else _squeezed(as_numeric(scores, "scores"))
    if pred is None and points is None:
        raise OptionError("there is neither y_pred nor scores", fix="Pass labels as y_pred=, or scores=.")
    for name, values in (("y_pred", pred), ("scores", points)):
        if values is not None and len(values) != len(true):
            raise InputError(f"has {len(values)} rows, y_true {len(true)}", where=name, fix="One row per item.")
    task = rules.task or _task_of(true, pred, points, rules.positive)
    if rules.probabilities and points is None:
        raise OptionError("probabilities=True says what scores are, and there are none", fix="Pass scores=.")
    if task == "regression":
        return _targets(true, pred, points, rules.nan)
    if task == "multilabel":
        return _tasks(true, pred, points, rules.nan)
    return _labels(task, true, pred, points, rules)


def _column(name: str, values: Any) -> AnyArray:
    """Labels or numbers, (n,) or (n, tasks)."""
    array = np.asarray(on_host(values, name))
    if array.dtype.kind in "OUS":
        return as_labels(values, name)
    return _squeezed(as_numeric(values, name))


def _squeezed(array: AnyArray) -> AnyArray:
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _task_of(true: AnyArray, pred: AnyArray | None, points: AnyArray | None, positive: Any) -> Task:
    """The task that the arrays can only be of; an error says what to write where there are two."""
    if true.ndim == 2:
        values = true[~np.isnan(true)] if true.dtype.kind == "f" else true
        if _zero_one(values):
            return "multilabel"
        return _asked("y_true has several columns of numbers other than 0 and 1", "regression")
    wide = points is not None and points.ndim == 2
    if true.dtype.kind in "Ub" or positive is not None:
        return "binary" if positive is not None or (not wide and _two(true)) else "multiclass"
    if wide:
        return "multiclass"
    known = true[~np.isnan(true)] if true.dtype.kind == "f" else true
    zero_one = _zero_one(known)
    if points is not None or zero_one:
        if zero_one:
            return "binary"
        raise OptionError(
            "scores has one column, and y_true other labels than 0 and 1", fix="Pass positive=, or a column per class."
        )
    if true.dtype.kind in "iu" and pred is not None and pred.dtype.kind in "iu":
        return "multiclass"
    if (known != np.floor(known)).any():
        return "regression"
    return _asked("y_true and y_pred may be classes or numbers", "multiclass")


def _asked(what: str, example: str) -> Task:
    raise OptionError(what, fix=f'Say which: task="{example}", one of {", ".join(TASKS)}.').about("task")


def _zero_one(values: AnyArray) -> bool:
    """Whether all numbers are 0 or 1."""
    if not values.size or values.min() < 0 or values.max() > 1:
        return not values.size
    return values.dtype.kind in "iub" or bool(((values == 0) | (values == 1)).all())


def _two(labels: AnyArray) -> bool:
    return labels.dtype.kind == "b" or set(np.unique(labels).tolist()) <= {0, 1}


# ---- one label per item


def _labels(task: Task, true: AnyArray, pred: AnyArray | None, points: AnyArray | None, rules: Rules) -> Reading:
    for name, values in (("y_true", true), ("y_pred", pred)):
        if values is not None and values.ndim != 1:
            fix = 'Is it task="multilabel"?'
            raise InputError(f"has shape {values.shape}, not one label per item", where=name, fix=fix)
    known, unlabelled = _known(true, rules.nan)
    usable, omitted = _usable(known, [("y_pred", pred), ("scores", points)], rules.nan)
    rows = np.arange(true.size) if usable.all() else np.flatnonzero(usable)
    if rows.size < true.size:
        true = true[rows]
        pred, points = (None if each is None else each[rows] for each in (pred, points))
    names = _names(task, true, pred, points, rules)
    texts = tuple(str(each) for each in names.tolist())
    codes = _codes("y_true", true, names)
    conventions: dict[str, str] = {"task": task}
    samples: dict[str, Sample] = {}
    called = None if pred is None else _codes("y_pred", pred, names)
    if points is not None:
        samples |= _scored(task, codes, points, len(names), rules)
        if called is None and points.ndim == 2:
            called, conventions["labels"] = points.argmax(axis=1), "largest score"
        elif called is None and rules.probabilities:
            called, conventions["labels"] = (points > 0.5).astype(np.int64), "probability above 0.5"
    if called is not None:
        classes = Classes(n=len(codes), true=codes, pred=called, names=texts)
        samples["classes"] = classes
        if task == "binary":
            samples["binary"] = replace(classes, positive=1)
    if task == "binary":
        conventions["positive"] = texts[1]
    return Reading(task, samples, rows, conventions, texts, 1, unlabelled, omitted)


def _names(task: Task, true: AnyArray, pred: AnyArray | None, points: AnyArray | None, rules: Rules) -> AnyArray:
    """The classes in the order of their numbers; of two, the positive one last."""
    if rules.classes is not None:
        names = as_labels(list(rules.classes), "classes")
    elif points is not None and points.ndim == 2:
        names = np.arange(points.shape[1])
        if true.dtype.kind == "U":
            raise OptionError(
                "y_true has names, and scores only columns", fix="Pass classes=[…], the name of each column."
            )
    else:
        names = _distinct([true] if pred is None else [true, pred])
    if points is not None and points.ndim == 2 and len(names) != points.shape[1]:
        raise InputError(
            f"has {points.shape[1]} columns for {len(names)} classes", where="scores", fix="One column per class."
        )
    if task != "binary":
        return names
    if rules.positive is None:
        pair = set(names.tolist())
        if not pair <= {0, 1} and not pair <= {False, True}:
            raise OptionError(
                f"two classes, {' and '.join(map(str, names.tolist()[:2]))}", fix="Pass positive=, the one of interest."
            )
        return np.array([0, 1], dtype=np.int64)
    others = [each for each in names.tolist() if each != rules.positive]
    if len(others) > 1:
        raise InputError(
            f"has {len(others) + 1} classes", where="y_true", fix='Leave positive= out, for task="multiclass".'
        )
    return np.asarray([*(others or [_other(rules.positive)]), rules.positive])


def _other(positive: Any) -> Any:
    return f"not {positive}" if isinstance(positive, str) else 1 - int(positive)


def _distinct(columns: list[AnyArray]) -> AnyArray:
    """The distinct labels of all columns, sorted."""
    if len({each.dtype.kind == "U" for each in columns}) > 1:
        raise InputError("y_true and y_pred have names on one side, numbers on the other", fix="Write both alike.")
    columns = [_whole(each) for each in columns]
    filled = [each for each in columns if each.size]
    if filled and filled[0].dtype.kind in "iu":
        low, high = min(int(each.min()) for each in filled), max(int(each.max()) for each in filled)
        if high - low < _WIDE * max(filled[0].size, 1024):
            present = np.zeros(high - low + 1, bool)
            for each in filled:
                present[each - low] = True
            return np.flatnonzero(present) + low
    return np.unique(np.concatenate([np.unique(each) for each in columns]))


def _whole(labels: AnyArray) -> AnyArray:
    """Classes as whole numbers or texts; fractions are no classes."""
    if labels.dtype.kind == "b":
        return labels.astype(np.int64)
    if labels.dtype.kind != "f":
        return labels
    if (labels != np.floor(labels)).any():
        worst = float(labels[labels != np.floor(labels)][0])
        raise InputError(
            f"labels have fractions, such as {worst:.4g}",
            fix='Pass probabilities or scores as scores=, targets with task="regression".',
        )
    return labels.astype(np.int64)


def _codes(name: str, labels: AnyArray, names: AnyArray) -> Ints:
    """Labels as numbers of their classes."""
    labels = _whole(labels)
    if not labels.size:
        return np.zeros(0, np.int64)
    if names.dtype.kind in "iu" and labels.dtype.kind in "iu":
        low, high = int(names.min()), int(names.max())
        inside = low <= int(labels.min()) and int(labels.max()) <= high
        if inside and len(names) == high - low + 1 and int(names[0]) == low and (np.diff(names) == 1).all():
            return labels.astype(np.int64, copy=False) - low if low else labels.astype(np.int64, copy=False)
        if inside and high - low < _WIDE * max(labels.size, 1024):
            place = np.full(high - low + 1, -1, dtype=np.int64)
            place[names - low] = np.arange(len(names))
            return _refuse_unknown(name, labels, place[labels - low])
    order = np.argsort(names)
    codes = order[np.clip(np.searchsorted(names[order], labels), 0, len(names) - 1)]
    return _refuse_unknown(name, labels, np.where(names[codes] == labels, codes, -1))


def _refuse_unknown(name: str, labels: AnyArray, codes: Ints) -> Ints:
    if codes.size and codes.min() < 0:
        raise InputError(
            f"has the label {labels[codes < 0][0]}, which is no class", where=name, fix="Name all in classes=."
        )
    return codes


def _scored(task: Task, codes: Ints, points: AnyArray, size: int, rules: Rules) -> dict[str, Sample]:
    """The samples of scores: curves, places of the true class, and probabilities if they are."""
    n = len(codes)
    samples: dict[str, Sample] = {}
    if task == "binary":
        column = points[:, 1] if points.ndim == 2 else points
        samples["scores"] = Scores(n=n, true=codes.astype(np.int8)[:, None], scores=column[:, None])
        columns = np.stack([1 - column, column], axis=1) if rules.probabilities else None
    else:
        own = points[np.arange(n), codes][:, None]
        higher, equal = (points > own).sum(axis=1), (points == own).sum(axis=1) - 1
        samples["ranked"] = Ranked(n=n, higher=higher, equal=equal, size=size)
        one_hot = (codes[:, None] == np.arange(size)).astype(np.int8)
        samples["scores"] = Scores(n=n, true=one_hot, scores=np.asfortranarray(points))
        columns = points if rules.probabilities else None
    if columns is not None:
        samples["probabilities"] = Probabilities(
            n=n, true=codes, p=_probabilities(columns), binary=task == "binary", bins=rules.bins
        )
    return samples


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


def _tasks(true: AnyArray, pred: AnyArray | None, points: AnyArray | None, nan: str) -> Reading:
    true = _matrix("y_true", true)
    known, unlabelled = _known(true, nan)
    positive = true == 1
    if not (positive | (true == 0) | ~known).all():
        raise InputError("has labels other than 0 and 1", where="y_true", fix="One column of 0 and 1 per task.")
    samples: dict[str, Sample] = {}
    omitted = 0
    for name, values in (("y_pred", pred), ("scores", points)):
        if values is None:
            continue
        values = _like(name, _matrix(name, values), true)
        usable, gone = _usable(known, [(name, values)], nan)
        omitted += gone
        masked = np.where(usable, positive.view(np.int8), np.int8(MISSING))
        if name == "scores":
            samples["scores"] = Scores(n=len(true), true=np.asfortranarray(masked), scores=np.asfortranarray(values))
        else:
            called = np.where(usable, values, 0)
            if not np.isin(called, (0, 1)).all():
                raise InputError("has labels other than 0 and 1", where="y_pred", fix="Pass probabilities as scores=.")
            samples["tasks"] = Tasks(n=len(true), true=masked, pred=called.astype(np.int8))
    every = np.arange(len(true))
    return Reading("multilabel", samples, every, {"task": "multilabel"}, (), true.shape[1], unlabelled, omitted)


def _targets(true: AnyArray, pred: AnyArray | None, points: AnyArray | None, nan: str) -> Reading:
    if pred is None or points is not None:
        raise OptionError("targets are predicted by numbers", fix="Pass them as y_pred=, and no scores=.")
    columns = [_matrix(name, values).astype(np.float64) for name, values in (("y_true", true), ("y_pred", pred))]
    truth, numbers = columns[0], _like("y_pred", columns[1], columns[0])
    for name, values in (("y_true", truth), ("y_pred", numbers)):
        if np.isinf(values).any():
            raise InputError("has infinite values", where=name, fix="Repair the model, or leave the items out.")
    known, unlabelled = _known(truth, nan)
    usable, omitted = _usable(known, [("y_pred", numbers)], nan)
    masked = np.where(usable, truth, np.nan)
    sample = Targets(n=len(truth), true=masked, pred=numbers)
    every = np.arange(len(truth))
    return Reading(
        "regression", {"targets": sample}, every, {"task": "regression"}, (), truth.shape[1], unlabelled, omitted
    )


def _matrix(name: str, values: AnyArray) -> AnyArray:
    if values.dtype.kind == "U" or values.ndim > 2:
        raise InputError(
            f"expected numbers (n,) or (n, tasks), found shape {values.shape} of {values.dtype}", where=name
        )
    return values[:, None] if values.ndim == 1 else values


def _like(name: str, values: AnyArray, true: AnyArray) -> AnyArray:
    if values.shape != true.shape:
        raise InputError(f"has shape {values.shape}, y_true {true.shape}", where=name, fix="One column per task.")
    return values


# ---- what is missing


def _known(true: AnyArray, nan: str) -> tuple[Mask, int]:
    """Which truths there are, and how many are not; NaN is refused unless it is to be left out."""
    missing = np.isnan(true) if true.dtype.kind == "f" else np.zeros(true.shape, bool)
    count = int(np.count_nonzero(missing))
    if nan == "raise" and count:
        first = tuple(int(i) for i in np.argwhere(missing)[0])
        raise InputError(
            f"{count} of {true.size} labels are NaN, the first at {_place(first)}",
            where="y_true",
            fix='Pass nan="omit" if they are unlabelled.',
        )
    return ~missing, count


def _usable(known: Mask, predictions: list[tuple[str, AnyArray | None]], nan: str) -> tuple[Mask, int]:
    """The labels that are known and predicted, and how many predictions of known ones are NaN."""
    usable = known
    for name, values in predictions:
        if values is None or values.dtype.kind != "f":
            continue
        missing = np.isnan(values)
        wrong = known & (missing.any(axis=1) if missing.ndim > known.ndim else missing)
        if nan == "raise" and wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise InputError(
                f"{int(wrong.sum())} predictions are NaN, the first at {_place(first)}",
                where=name,
                fix='Repair the model, or pass nan="omit" to leave these items out.',
            )
        usable = usable & ~wrong
    return usable, int(np.count_nonzero(known) - np.count_nonzero(usable))


def _place(index: tuple[int, ...]) -> str:
    return str(index[0] if len(index) == 1 else index)
