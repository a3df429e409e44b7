"""The metrics: of predicted labels, of scores, of probabilities, of targets.

Every one is a value per part of its sample, with an interval from its influence on the items. Metrics over tasks are
means over the tasks that have a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, Exempt, NoChance, NoInterval
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats
from graphgauge.prediction import confusion, targets
from graphgauge.prediction.confusion import Measure
from graphgauge.prediction.curves import Area
from graphgauge.prediction.estimates import (
    NOTHING,
    Statistic,
    as_correlation,
    as_number,
    as_positive,
    as_share,
    estimate,
)
from graphgauge.prediction.sample import MISSING, Classes, Probabilities, Ranked, Scores, Targets, Tasks

TableMeasure = Callable[[Floats], Measure]
_SIDES = Exempt("truth and prediction have different roles")
_LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("there are no states"),
    "monotone": True,
    "symmetry": _SIDES,
}
_NOT_MONOTONE = {**_LAWS, "monotone": Exempt("repairing one prediction may move other terms of the formula")}
_SHARE: dict[str, Any] = {"direction": "higher", "bounds": (0.0, 1.0), "unit": "item", "interval": as_share}
_ERROR: dict[str, Any] = {"direction": "lower", "bounds": (0.0, np.inf), "unit": "item", "interval": as_positive}


# ---- predicted labels


def _positive_f1(p: Floats) -> Measure:
    return confusion.f1(p, 1)


def _of_tables(sample: Classes | Tasks, measure: TableMeasure, pooled: bool = False) -> Estimate:
    """A measure of the confusion table; of several tasks the mean, or that of all their labels together."""
    if isinstance(sample, Classes):
        return estimate(sample, lambda part: _of_table(part, measure), "no class that it is defined for")
    return estimate(sample, lambda part: _of_tasks(part, measure, pooled), "no task that it is defined for")


def _of_table(part: Classes, measure: TableMeasure) -> Statistic:
    total = part.table.sum()
    if part.n == 0:
        return NOTHING
    share = part.table / total
    value, gradient = measure(share)
    centred = gradient - (share * gradient).sum()
    if part.independent:
        return Statistic(value, centred.ravel(), part.n, part.table.ravel())
    return Statistic(value, centred[part.true, part.pred], part.n)


def _of_tasks(part: Tasks, measure: TableMeasure, pooled: bool) -> Statistic:
    tables = [part.tables.sum(axis=0)] * part.tables.shape[0] if pooled else list(part.tables)
    measures = [measure(table / table.sum()) if table.sum() else None for table in tables]
    used = [task for task, each in enumerate(measures) if each is not None and not np.isnan(each.value)]
    influence = np.zeros(part.n)
    values = []
    for task in used:
        value, gradient = measures[task] or Measure(np.nan, np.zeros((2, 2)))
        share = tables[task] / tables[task].sum()
        centred = gradient - (share * gradient).sum()
        known = part.true[:, task] != MISSING
        weight = part.amounts.sum() / tables[task].sum() * (1.0 if pooled else 1 / len(used))
        influence[known] += weight * centred[part.true[known, task], part.pred[known, task]]
        values.append(value)
    known = (part.true[:, used] != MISSING).any(axis=1) if used else np.zeros(0, bool)
    return Statistic(float(np.mean(values)), influence, int(known.sum())) if values else NOTHING


def _guesses(measure: TableMeasure, task_measure: TableMeasure) -> Callable[..., list[Reference]]:
    """What labels drawn with the classes' shares reach in expectation, and the most frequent class everywhere."""

    def chance(sample: Classes | Tasks) -> list[Reference]:
        single = isinstance(sample, Classes)
        tables = [sample.table] if isinstance(sample, Classes) else [each for each in sample.tables if each.sum()]
        drawn: list[float] = []
        constant: list[float] = []
        for table in tables:
            r = table.sum(axis=1) / table.sum()
            most = np.zeros_like(table)
            most[:, int(np.argmax(r))] = r
            for guesses, guess in ((drawn, np.outer(r, r)), (constant, most)):
                guesses.append((measure if single else task_measure)(guess).value)
        levels = [Reference("random labels", _nanmean(drawn)), Reference("most frequent class", _nanmean(constant))]
        return [each for each in levels if not np.isnan(each.value)]

    return chance


def _unrelated(sample: Classes) -> list[Reference]:
    return [Reference("labels without relation", 0.0)]


_AGREEMENT: dict[str, Any] = {"needs": ("classes",), "bounds": (-1.0, 1.0), "interval": as_number, "chance": _unrelated}


def _labels(
    key: str, measure: TableMeasure, formula: str, task_measure: TableMeasure | None = None, **properties: Any
) -> Callable[[Any], Any]:
    """Declare a metric of predicted labels, with the guesses that its measure is compared with."""
    guesses = _guesses(measure, task_measure or measure)
    shape = {"needs": ("classes", "tasks"), "laws": _NOT_MONOTONE, "chance": guesses, **_SHARE, **properties}
    return metric(key, family="prediction", formula=formula, **shape)


def _nanmean(values: list[float]) -> float:
    known = [each for each in values if not np.isnan(each)]
    return float(np.mean(known)) if known else np.nan


@_labels("accuracy", confusion.accuracy, "mean(pred = true)", default=True, laws=_LAWS)
def accuracy(sample: Classes | Tasks) -> Estimate:
    """Share of the labels that are right; of several tasks the mean of their accuracies."""
    measured = _of_tables(sample, confusion.accuracy)
    if not isinstance(sample, Classes):
        return measured
    successes = np.array([float(np.trace(part.table)) for part in sample.parts()])
    return replace(measured, facts={**measured.facts, "successes": successes})


@_labels("balanced_accuracy", confusion.balanced_accuracy, "mean over classes of recall", needs=("classes",))
def balanced_accuracy(sample: Classes) -> Estimate:
    """Mean over the classes of the share of their items that are found."""
    return _of_tables(sample, confusion.balanced_accuracy)


@_labels("f1_macro", confusion.f1_macro, "mean over classes of 2 p_cc / (r_c + s_c)", _positive_f1, default=True)
def f1_macro(sample: Classes | Tasks) -> Estimate:
    """Mean F1 of the classes that are there or predicted; of tasks, of their positive classes."""
    return _of_tables(sample, confusion.f1_macro if isinstance(sample, Classes) else _positive_f1)


@_labels("f1_micro", confusion.accuracy, "2 Σ p_cc / Σ (r_c + s_c)", _positive_f1)
def f1_micro(sample: Classes | Tasks) -> Estimate:
    """F1 of all labels together: the accuracy of one label per item; of tasks, of all their positives."""
    return _of_tables(sample, confusion.accuracy if isinstance(sample, Classes) else _positive_f1, pooled=True)


@_labels("f1_weighted", confusion.f1_weighted, "Σ r_c F1_c", needs=("classes",))
def f1_weighted(sample: Classes) -> Estimate:
    """Mean F1 of the classes, each by its share of the items."""
    return _of_tables(sample, confusion.f1_weighted)


@_labels("matthews", confusion.matthews, "(Σ p_cc − Σ r_c s_c) / √((1 − Σ s²)(1 − Σ r²))", **_AGREEMENT)
def matthews(sample: Classes) -> Estimate:
    """Correlation of true and predicted classes (Matthews 1975; Gorodkin 2004 for more than two)."""
    return _of_tables(sample, confusion.matthews)


@_labels("cohen_kappa", confusion.cohen_kappa, "(Σ p_cc − e) / (1 − e), e = Σ r_c s_c", **_AGREEMENT)
def cohen_kappa(sample: Classes) -> Estimate:
    """Agreement beyond that of independent labels with the same shares (Cohen 1960)."""
    return _of_tables(sample, confusion.cohen_kappa)


def _of_positive(measure: Callable[[Floats, int], Measure]) -> TableMeasure:
    """The measure of the class of interest, which every reading puts last of two."""
    return lambda p: measure(p, 1)


_BINARY: dict[str, Any] = {"needs": ("binary",), "default": True}


@_labels("precision", _of_positive(confusion.precision), "p_11 / s_1", **_BINARY)
def precision(sample: Classes) -> Estimate:
    """Share of the items called positive that are; NaN if none is."""
    return _of_tables(sample, _of_positive(confusion.precision))


@_labels("recall", _of_positive(confusion.recall), "p_11 / r_1", **_BINARY)
def recall(sample: Classes) -> Estimate:
    """Share of the positives that are called so; NaN without positives."""
    return _of_tables(sample, _of_positive(confusion.recall))


@_labels("f1", _of_positive(confusion.f1), "2 p_11 / (r_1 + s_1)", **_BINARY)
def f1(sample: Classes) -> Estimate:
    """Harmonic mean of precision and recall of the positive class."""
    return _of_tables(sample, _of_positive(confusion.f1))


# ---- scores


def _mean_area(part: Scores, area: Area) -> Statistic:
    """The mean over the tasks with both classes; the labels of one item in several tasks err together."""
    if np.isnan(area.values).all():
        return NOTHING
    if len(area.values) == 1:
        error, df = area.errors[0].tolist()
        return Statistic(float(area.values[0]), np.empty(0), int(part.curves.n[0]), error=(error, df))
    return Statistic(float(np.nanmean(area.values)), area.influence, part.curves.items)


def _half(sample: Scores) -> list[Reference]:
    return [Reference("random scores", 0.5)]


def _prevalence(sample: Scores) -> list[Reference]:
    return [Reference("random scores", _nanmean(sample.curves.prevalence.tolist()))]


@metric(
    "roc_auc",
    family="prediction",
    needs=("scores",),
    default=True,
    chance=_half,
    laws=_LAWS,
    formula="P(s+ > s−) + P(s+ = s−) / 2",
    **_SHARE,
)
def roc_auc(sample: Scores) -> Estimate:
    """Probability that a positive scores above a negative, ties half; of tasks and classes the mean."""
    return estimate(sample, lambda part: _mean_area(part, part.curves.auc), "no task has both classes")


@metric(
    "average_precision",
    family="prediction",
    needs=("scores",),
    default=True,
    chance=_prevalence,
    laws=_LAWS,
    formula="mean over positives of the precision at their score",
    **_SHARE,
)
def average_precision(sample: Scores) -> Estimate:
    """Mean over the positives of the precision at their score, step-wise; of tasks and classes the mean."""
    return estimate(sample, lambda part: _mean_area(part, part.curves.precision), "no task has both classes")


def _top(sample: Ranked, *, k: int = 5) -> list[Reference]:
    return [Reference("random scores", min(k / sample.size, 1.0))]


@metric(
    "top_k_accuracy@{k}",
    family="prediction",
    needs=("ranked",),
    chance=_top,
    laws=_LAWS,
    formula="mean(rank <= k)",
    **_SHARE,
)
def top_k_accuracy(sample: Ranked, *, k: int = 5) -> Estimate:
    """Share of the items whose class is among the k highest scores, equal scores in any order alike."""

    def share(part: Ranked) -> Statistic:
        chances = np.clip((k - part.higher) / (part.equal + 1), 0.0, 1.0)
        return _mean_of(part, chances)

    return estimate(sample, share)


# ---- probabilities


def _mean_of(part: Any, values: Floats) -> Statistic:
    """The weighted mean of a number per item."""
    if not part.n:
        return NOTHING
    value = float(values.sum() / part.n if part.weights is None else part.weights @ values / part.weights.sum())
    return Statistic(value, values - value, part.n)


def _prior(score: Callable[[Probabilities], Floats]) -> Callable[[Probabilities], list[Reference]]:
    """The score of the classes' shares, said of every item."""

    def chance(sample: Probabilities) -> list[Reference]:
        shares = np.bincount(sample.true, sample.weights, sample.p.shape[1])
        same = replace(sample, p=np.broadcast_to(shares / shares.sum(), sample.p.shape))
        return [Reference("shares of the classes", _mean_of(same, score(same)).value)]

    return chance


def log_losses(sample: Probabilities) -> Floats:
    """−ln of the probability of the true class; infinite if it is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(sample.p[np.arange(sample.n), sample.true]))


def brier_scores(sample: Probabilities) -> Floats:
    """Squared distance to the truth: (p − y)² of two classes, Σ_c (p_c − y_c)² of more."""
    rows = np.arange(sample.n)
    if sample.binary:
        return np.asarray((1 - sample.p[rows, sample.true]) ** 2)
    own = sample.p[rows, sample.true]
    return np.asarray((sample.p**2).sum(axis=1) - own**2 + (1 - own) ** 2)


@metric(
    "log_loss",
    family="prediction",
    needs=("probabilities",),
    chance=_prior(log_losses),
    laws=_LAWS,
    formula="mean(−ln p_true)",
    **_ERROR,
)
def log_loss(sample: Probabilities) -> Estimate:
    """Mean of −ln of the probability of the true class; nothing is clipped."""
    return estimate(sample, lambda part: _mean_of(part, log_losses(part)))


@metric(
    "brier",
    family="prediction",
    needs=("probabilities",),
    chance=_prior(brier_scores),
    laws=_LAWS,
    formula="mean(Σ (p_c − y_c)²)",
    **{**_ERROR, "bounds": (0.0, 2.0)},
)
def brier(sample: Probabilities) -> Estimate:
    """Mean squared distance of the probabilities to the truth; of two classes that of the positive one."""
    return estimate(sample, lambda part: _mean_of(part, brier_scores(part)))


_CALIBRATION: dict[str, Any] = {
    "direction": "lower",
    "bounds": (0.0, 1.0),
    "unit": "item",
    "needs": ("probabilities",),
    "chance": NoChance("a perfect forecaster has 0, and more the fewer the items"),
    "interval": NoInterval("binned errors are biased upwards by the number of items"),
    "laws": _NOT_MONOTONE,
}


@metric("ece", family="prediction", formula="Σ_b share_b |accuracy_b − confidence_b|", **_CALIBRATION)
def ece(sample: Probabilities) -> Estimate:
    """Mean gap between confidence and accuracy over bins of equal width (Guo et al. 2017)."""
    return estimate(sample, lambda part: _gap(part, lambda gaps, shares: float(gaps @ shares)))


@metric("mce", family="prediction", formula="max_b |accuracy_b − confidence_b|", **_CALIBRATION)
def mce(sample: Probabilities) -> Estimate:
    """Largest gap between confidence and accuracy over bins of equal width."""
    return estimate(sample, lambda part: _gap(part, lambda gaps, shares: float(gaps.max())))


def _gap(part: Probabilities, summary: Callable[[Floats, Floats], float]) -> Statistic:
    if not part.n:
        return NOTHING
    gaps, shares = calibration(part)[1:]
    return Statistic(summary(gaps, shares), np.zeros(part.n), part.n)


def calibration(part: Probabilities) -> tuple[Floats, Floats, Floats]:
    """Confidence, |accuracy − confidence| and share of the items of each bin that has any.

    Of two classes the probability of the positive one against how often it is true; of more the largest probability
    against how often its class is true. Bins contain their upper ends.
    """
    if part.binary:
        confidence, right = part.p[:, 1], (part.true == 1).astype(float)
    else:
        called = part.p.argmax(axis=1)
        confidence, right = part.p[np.arange(part.n), called], (called == part.true).astype(float)
    place = np.clip(np.ceil(confidence * part.bins).astype(np.int64) - 1, 0, part.bins - 1)
    size, sure, true = (np.bincount(place, part.amounts * each, part.bins) for each in (1.0, confidence, right))
    kept = size > 0
    return sure[kept] / size[kept], np.abs(true[kept] - sure[kept]) / size[kept], size[kept] / size.sum()


# ---- targets


def _of_targets(sample: Targets, measure: targets.TargetMeasure) -> Estimate:
    return estimate(sample, lambda part: _mean_target(part, measure), "no task that it is defined for")


def _mean_target(part: Targets, measure: targets.TargetMeasure) -> Statistic:
    """The mean over the tasks that have a value; a task is measured on the items whose target is known."""
    influence, rows = np.zeros(part.n), np.zeros(part.n, bool)
    values, moved = [], []
    for known, value, own in _measured(part, measure):
        if not np.isnan(value):
            values.append(value)
            moved.append((known, own))
    for known, own in moved:
        influence[known] += own * (part.amounts.sum() / part.amounts[known].sum() / len(values))
        rows |= known
    return Statistic(float(np.mean(values)), influence, int(rows.sum())) if values else NOTHING


def _measured(part: Targets, measure: targets.TargetMeasure) -> Iterator[tuple[Any, float, Floats]]:
    for task in range(part.true.shape[1]):
        known = ~np.isnan(part.true[:, task])
        if known.any():
            weights = part.amounts[known]
            yield known, *measure(part.true[known, task], part.pred[known, task], weights / weights.sum())


def _constant(name: str, centre: Callable[[Floats, Floats], float], measure: targets.TargetMeasure) -> Any:
    """What one number for all items reaches: the best one for this metric."""

    def chance(sample: Targets) -> list[Reference]:
        def best(true: Floats, pred: Floats, share: Floats) -> tuple[float, Floats]:
            return measure(true, np.full_like(true, centre(true, share)), share)

        return [Reference(name, _mean_target(sample, best).value)] if len(sample.true) else []

    return chance


def _errors(key: str, measure: targets.TargetMeasure, formula: str, **properties: Any) -> Callable[[Any], Any]:
    shape = {"laws": _LAWS, **_ERROR, **properties}
    return metric(key, family="prediction", needs=("targets",), formula=formula, **shape)


@_errors(
    "mae",
    targets.mae,
    "mean |ŷ − y|",
    default=True,
    chance=_constant("median of the targets", targets.median, targets.mae),
)
def mae(sample: Targets) -> Estimate:
    """Mean absolute error; of several tasks the mean of theirs."""
    return _of_targets(sample, targets.mae)


@_errors(
    "rmse",
    targets.rmse,
    "√(mean (ŷ − y)²)",
    default=True,
    chance=_constant("mean of the targets", targets.mean, targets.rmse),
)
def rmse(sample: Targets) -> Estimate:
    """Root of the mean squared error; of several tasks the mean of theirs."""
    return _of_targets(sample, targets.rmse)


_EXPLAINED = {"direction": "higher", "bounds": (-np.inf, 1.0), "interval": as_number}


@_errors(
    "r2",
    targets.r2,
    "1 − Σ(ŷ − y)² / Σ(y − ȳ)²",
    default=True,
    chance=_constant("mean of the targets", targets.mean, targets.r2),
    **_EXPLAINED,
)
def r2(sample: Targets) -> Estimate:
    """Share of the variance of the targets that is explained; NaN if they are all equal."""
    return _of_targets(sample, targets.r2)


_CORRELATION = {
    "direction": "higher",
    "bounds": (-1.0, 1.0),
    "interval": as_correlation,
    "laws": _NOT_MONOTONE | {"symmetry": True},
    "chance": NoChance("0 without any relation; one number for all items has no correlation"),
}


@_errors("pearson", targets.pearson, "cov(y, ŷ) / (σ_y σ_ŷ)", **_CORRELATION)
def pearson(sample: Targets) -> Estimate:
    """Linear correlation of targets and predictions; NaN if either is constant."""
    return _of_targets(sample, targets.pearson)


@_errors("spearman", targets.spearman, "correlation of the ranks", **_CORRELATION)
def spearman(sample: Targets) -> Estimate:
    """Correlation of the ranks, ties with their mean rank; NaN if either is constant."""
    if sample.weights is not None:
        return Estimate(np.full(1, np.nan), np.zeros(1, np.int64), reason="ranks have no weights", absent=True)
    return _of_targets(sample, targets.spearman)
