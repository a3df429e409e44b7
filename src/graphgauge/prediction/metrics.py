"""The metrics: of predicted labels, of scores, of probabilities, of targets.

Every one is a value per part of its sample, with an interval from its influence on the items. Metrics over tasks are
means over the tasks that have a value. Those of labels and targets are defined where they are measured, in `confusion`
and `targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import Estimate, Exempt, Metric, NoChance, NoInterval
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats, Mask
from graphgauge.prediction import confusion, targets
from graphgauge.prediction.confusion import TableMeasure
from graphgauge.prediction.estimates import (
    NOTHING,
    Statistic,
    as_correlation,
    as_number,
    as_positive,
    as_share,
    error_of,
    estimate,
    mean_of,
    of_items,
    over_tasks,
)
from graphgauge.prediction.sample import Classes, Columns, Scores, Targets, Tasks
from graphgauge.prediction.targets import TargetMeasure

_LAWS: Mapping[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("there are no states"),
    "monotone": True,
    "symmetry": Exempt("truth and prediction have different roles"),
}
_NOT_MONOTONE = {**_LAWS, "monotone": Exempt("repairing one prediction may move other terms of the formula")}
_metric = partial(metric, family="prediction", unit="item", laws=_LAWS)
_share = partial(_metric, direction="higher", bounds=(0.0, 1.0), interval=as_share)
_error = partial(_metric, direction="lower", bounds=(0.0, np.inf), interval=as_positive)


# ---- predicted labels


def of_table(part: Classes, measure: TableMeasure) -> Statistic:
    """A measure of the confusion table, with its influence by cell or by item."""
    if part.n == 0:
        return NOTHING
    value, influence = _of_shares(part, measure)
    if part.independent:
        return Statistic(value, part.n, *error_of(influence.ravel(), part.table.ravel(), None))
    return of_items(part, value, influence[part.true, part.pred])


def _of_shares(part: Classes, measure: TableMeasure) -> tuple[float, Floats]:
    """The value, and the influence (classes, classes) of an item of each cell; NaN without items."""
    total = part.table.sum()
    if not total:
        return np.nan, part.table
    share = part.table / total
    value, gradient = measure(share)
    return value, gradient - (share * gradient).sum()


def _by_task(part: Tasks, measure: TableMeasure) -> Iterator[tuple[Mask, float, Floats]]:
    """Of each task the items that have a label, the measure of these, and their influence."""
    for known, labels in part.classes():
        value, influence = _of_shares(labels, measure)
        yield known, value, influence[labels.true, labels.pred]


def _pooled(part: Tasks, measure: TableMeasure) -> Statistic:
    """A measure of the labels of all tasks together."""
    rows, tasks = np.nonzero(part.known)
    amounts = part.amounts[rows]
    labels = Classes(true=part.true[rows, tasks], pred=part.pred[rows, tasks], names=("0", "1"), weights=amounts)
    value, by_cell = _of_shares(labels, measure)
    influence = np.bincount(rows, by_cell[labels.true, labels.pred], part.n)
    if np.isnan(value):
        return NOTHING
    weight = part.amounts.sum() / amounts.sum()
    return of_items(part, value, weight * influence, int(part.known.any(axis=1).sum()))


def _guesses(measure: TableMeasure, of_task: TableMeasure) -> Callable[[Classes | Tasks], list[Reference]]:
    """What labels drawn with the classes' shares reach in expectation, and the most frequent class everywhere."""

    def chance(sample: Classes | Tasks) -> list[Reference]:
        single = isinstance(sample, Classes)
        tables = [sample.table] if isinstance(sample, Classes) else [labels.table for _, labels in sample.classes()]
        guesses: dict[str, list[float]] = {"random labels": [], "most frequent class": []}
        for table in filter(np.any, tables):
            r = table.sum(axis=1) / table.sum()
            most = np.arange(len(r)) == np.argmax(r)
            for values, columns in zip(guesses.values(), (r, most), strict=True):
                values.append((measure if single else of_task)(np.outer(r, columns)).value)
        levels = [Reference(name, _nanmean(values)) for name, values in guesses.items() if not np.isnan(values).all()]
        return sorted(levels, key=lambda level: level.value)  # tables show the last, which is the strongest

    return chance


def _nanmean(values: Any) -> float:
    """The mean of the values that are not NaN; NaN without one, and no warning."""
    return float(np.nanmean(values)) if not np.isnan(values).all() else np.nan


def _labels(
    measure: TableMeasure, formula: str, of_task: TableMeasure | None = None, *, pooled: bool = False, **declared: Any
) -> Metric:
    """The metric of a measure of confusion tables; of several tasks of the mean of `of_task`, or of all `pooled`."""
    by_task = of_task or measure

    def value(sample: Classes | Tasks) -> Estimate:
        if isinstance(sample, Classes):
            right = {"successes": np.array([np.trace(part.table) for part in sample.parts])}
            facts = right if measure is confusion.accuracy else {}
            return estimate(sample, lambda part: of_table(part, measure), "no class that it is defined for", **facts)
        of_part = _pooled if pooled else lambda part, by: over_tasks(part, _by_task(part, by))
        return estimate(sample, lambda part: of_part(part, by_task), "no task that it is defined for")

    value.__doc__ = measure.__doc__
    shape = {"needs": ("classes", "tasks"), "laws": _NOT_MONOTONE, "chance": _guesses(measure, by_task), **declared}
    return _share(measure.__name__, formula=formula, **shape)(value)


_classes = partial(_labels, needs=("classes",))
_binary = partial(_labels, needs=("binary",), default=True)
_agreement = partial(
    _classes, bounds=(-1.0, 1.0), interval=as_number, chance=lambda _: [Reference("labels without relation", 0.0)]
)

accuracy = _labels(confusion.accuracy, "mean(pred = true)", default=True, laws=_LAWS)
balanced_accuracy = _classes(confusion.balanced_accuracy, "mean over classes of recall")
f1_macro = _labels(confusion.f1_macro, "mean over classes of 2 p_cc / (r_c + s_c)", confusion.f1, default=True)
f1_micro = _labels(confusion.f1_micro, "2 Σ p_cc / Σ (r_c + s_c)", confusion.f1, pooled=True)
f1_weighted = _classes(confusion.f1_weighted, "Σ r_c F1_c")
matthews = _agreement(confusion.matthews, "(Σ p_cc − Σ r_c s_c) / √((1 − Σ s²)(1 − Σ r²))")
cohen_kappa = _agreement(confusion.cohen_kappa, "(Σ p_cc − e) / (1 − e), e = Σ r_c s_c")
precision = _binary(confusion.precision, "p_11 / s_1")
recall = _binary(confusion.recall, "p_11 / r_1")
f1 = _binary(confusion.f1, "2 p_11 / (r_1 + s_1)")


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


# ---- scores


def _mean_area(part: Scores, which: int) -> Statistic:
    """The mean over the tasks with both classes; the labels of one item in several tasks err together."""
    curves, values = part.curves, part.curves.areas[which]
    if len(values) == 1:
        return Statistic(float(values[0]), int(curves.n[0]), *curves.errors[which, 0].tolist())
    return of_items(part, _nanmean(values), curves.influences[which], curves.items)


_area = partial(_share, needs=("scores",), default=True)


@_area("roc_auc", chance=lambda _: [Reference("random scores", 0.5)], formula="P(s+ > s−) + P(s+ = s−) / 2")
def roc_auc(sample: Scores) -> Estimate:
    """Probability that a positive scores above a negative, ties half; of tasks and classes the mean."""
    return estimate(sample, lambda part: _mean_area(part, 0), "no task has both classes")


def _prevalence(sample: Scores) -> list[Reference]:
    return [Reference("random scores", _nanmean(sample.curves.prevalence))]


@_area("average_precision", chance=_prevalence, formula="mean over positives of the precision at their score")
def average_precision(sample: Scores) -> Estimate:
    """Mean over the positives of the precision at their score, step-wise; of tasks and classes the mean."""
    return estimate(sample, lambda part: _mean_area(part, 1), "no task has both classes")


def _top(sample: Columns, *, k: int = 5) -> list[Reference]:
    return [Reference("random scores", min(k / sample.scores.shape[1], 1.0))]


@_share("top_k_accuracy@{k}", needs=("ranked",), chance=_top, formula="mean(rank <= k)")
def top_k_accuracy(sample: Columns, *, k: int = 5) -> Estimate:
    """Share of the items whose class is among the k highest scores, equal scores in any order alike."""

    def share(part: Columns) -> Statistic:
        true = _of_truth(part)[:, np.newaxis]
        higher, equal = (part.scores > true).sum(axis=1), (part.scores == true).sum(axis=1)
        return mean_of(part, np.clip((k - higher) / equal, 0.0, 1.0))

    return estimate(sample, share)


def _of_truth(sample: Columns) -> Any:
    """(n,) the score of each item's class."""
    return sample.scores[np.arange(sample.n), sample.true]


# ---- probabilities


def log_losses(sample: Columns) -> Floats:
    """(n,) −ln of the probability of the true class; infinite if it is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(_of_truth(sample)))


def brier_scores(sample: Columns) -> Floats:
    """(n,) squared distance to the truth: (p − y)² of two classes, Σ_c (p_c − y_c)² of more."""
    true = _of_truth(sample)
    if sample.binary:
        return np.asarray((1 - true) ** 2)
    return np.asarray((sample.scores**2).sum(axis=1) - true**2 + (1 - true) ** 2)


def _prior(score: Callable[[Columns], Floats]) -> Callable[[Columns], list[Reference]]:
    """The score of the classes' shares, said of every item."""

    def chance(sample: Columns) -> list[Reference]:
        shares = np.bincount(sample.true, sample.weights, sample.scores.shape[1])
        same = replace(sample, scores=np.broadcast_to(shares / shares.sum(), sample.scores.shape))
        return [Reference("shares of the classes", mean_of(same, score(same)).value)]

    return chance


@_error("log_loss", needs=("probabilities",), chance=_prior(log_losses), formula="mean(−ln p_true)")
def log_loss(sample: Columns) -> Estimate:
    """Mean of −ln of the probability of the true class; nothing is clipped, so a probability of 0 makes it infinite."""
    return estimate(sample, lambda part: mean_of(part, log_losses(part)))


@_error(
    "brier", needs=("probabilities",), chance=_prior(brier_scores), formula="mean(Σ (p_c − y_c)²)", bounds=(0.0, 2.0)
)
def brier(sample: Columns) -> Estimate:
    """Mean squared distance of the probabilities to the truth; of a binary task that of the positive class."""
    return estimate(sample, lambda part: mean_of(part, brier_scores(part)))


_gap = partial(
    _error,
    needs=("probabilities",),
    bounds=(0.0, 1.0),
    chance=NoChance("a perfect forecaster has 0, and more the fewer the items"),
    interval=NoInterval("binned errors are biased upwards by the number of items"),
    laws=_NOT_MONOTONE,
)


@_gap("ece", formula="Σ_b share_b |accuracy_b − confidence_b|")
def ece(sample: Columns) -> Estimate:
    """Mean gap between confidence and accuracy over bins of equal width (Guo et al. 2017)."""
    return estimate(sample, lambda part: _binned(part, lambda gaps, shares: gaps @ shares))


@_gap("mce", formula="max_b |accuracy_b − confidence_b|")
def mce(sample: Columns) -> Estimate:
    """Largest gap between confidence and accuracy over bins of equal width."""
    return estimate(sample, lambda part: _binned(part, lambda gaps, shares: gaps.max()))


def _binned(part: Columns, summary: Callable[[Floats, Floats], Any]) -> Statistic:
    """A summary of the gaps of the bins, |accuracy − confidence|, and of their shares of the items."""
    if not part.n:
        return NOTHING
    confidence, accuracy, share = calibration(part)
    return Statistic(float(summary(np.abs(accuracy - confidence), share)), part.n, np.nan, 0.0)


def calibration(part: Columns) -> tuple[Floats, Floats, Floats]:
    """Mean confidence, accuracy and share of the items of each bin that has any.

    Of two classes the probability of the positive one against how often it is true; of more the largest probability
    against how often its class is true. Bins contain their upper ends.
    """
    label = np.ones(part.n, np.int64) if part.binary else part.scores.argmax(axis=1)
    confidence, hit = part.scores[np.arange(part.n), label], (label == part.true).astype(float)
    place = np.clip(np.ceil(confidence * part.bins).astype(np.int64) - 1, 0, part.bins - 1)
    size, confidences, hits = (np.bincount(place, part.amounts * each, part.bins) for each in (1.0, confidence, hit))
    kept = size > 0
    return confidences[kept] / size[kept], hits[kept] / size[kept], size[kept] / size.sum()


# ---- targets


def _by_target(part: Targets, measure: TargetMeasure) -> Iterator[tuple[Mask, float, Floats]]:
    """Of each task the items that have a target, the measure of these, and their influence."""
    for task, known in enumerate(part.known.T):
        weights = part.amounts[known]
        if weights.any():
            yield known, *measure(part.true[known, task], part.pred[known, task], weights / weights.sum())


def _target(measure: TargetMeasure, formula: str, **declared: Any) -> Metric:
    """The metric of a measure of targets, the mean over tasks."""

    def value(sample: Targets) -> Estimate:
        if measure is targets.spearman and sample.weights is not None:
            return Estimate(np.full(1, np.nan), np.zeros(1, np.int64), reason="ranks have no weights", absent=True)
        return estimate(
            sample, lambda part: over_tasks(part, _by_target(part, measure)), "no task that it is defined for"
        )

    value.__doc__ = measure.__doc__
    return _error(measure.__name__, needs=("targets",), formula=formula, **declared)(value)


def _constant(name: str, centre: Callable[[Floats, Floats], float], measure: TargetMeasure) -> Any:
    """What one number for all items reaches: the best one for this metric."""

    def chance(sample: Targets) -> list[Reference]:
        def best(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
            return measure(true, np.full_like(true, centre(true, share)), share)

        return [Reference(name, over_tasks(sample, _by_target(sample, best)).value)] if sample.n else []

    return chance


def _centre(true: Floats, share: Floats) -> float:
    """The mean, which of equal targets is theirs without rounding."""
    return float(np.clip(share @ true, true.min(), true.max()))


_mean = partial(_constant, "mean of the targets", _centre)
_correlation = partial(
    _target,
    direction="higher",
    bounds=(-1.0, 1.0),
    interval=as_correlation,
    laws=_NOT_MONOTONE | {"symmetry": True},
    chance=NoChance("0 without any relation; one number for all items has no correlation"),
)

mae = _target(
    targets.mae,
    "mean |ŷ − y|",
    default=True,
    chance=_constant("median of the targets", targets.median, targets.mae),
)
rmse = _target(targets.rmse, "√(mean (ŷ − y)²)", default=True, chance=_mean(targets.rmse))
r2 = _target(
    targets.r2,
    "1 − Σ(ŷ − y)² / Σ(y − ȳ)²",
    default=True,
    chance=_mean(targets.r2),
    direction="higher",
    bounds=(-np.inf, 1.0),
    interval=as_number,
)
pearson = _correlation(targets.pearson, "cov(y, ŷ) / (σ_y σ_ŷ)")
spearman = _correlation(targets.spearman, "correlation of the ranks")
