"""The metrics: of predicted labels, of scores, of probabilities, of numbers.

Every one is a value per part of its sample, with an interval from the influence of its items. Metrics over tasks are
means over the tasks that have a value. Those of labels and of numbers are declared at their definition: a measure of
one task, which returns its value and what the influences follow from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, Exempt, Metric, NoChance, NoInterval
from graphgauge.core.registry import metric
from graphgauge.core.result import Reference
from graphgauge.core.types import Floats
from graphgauge.prediction.sample import Classes, Columns, Sample, Scores, Statistic, Targets, Tasks, estimate, nanmean
from graphgauge.stats import intervals

# ---- intervals by the range of the value


def _student(
    sample: Sample, estimate: Estimate, confidence: float, *, formula: Callable[..., Bounds] = intervals.of_mean
) -> Bounds:
    """Student's t over items or clusters, on the scale of the range: logit of shares, log of errors, Fisher's of r."""
    over = "items" if sample.cluster is None else "clusters"
    return formula(estimate.value, estimate.facts["error"], estimate.facts["df"], confidence, over=over)


def _of_correlation(value: Floats, error: Floats, df: Floats, confidence: float, *, over: str) -> Bounds:
    """On Fisher's scale, artanh r."""
    inside = np.clip(value, -1 + 1e-15, 1 - 1e-15)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = intervals.t_interval(np.arctanh(inside), error / (1 - inside**2), df, confidence)
    return Bounds(np.tanh(low), np.tanh(high), "fisher-t", over)


as_share = partial(_student, formula=intervals.of_area)


def _as_count(sample: Classes | Tasks, estimate: Estimate, confidence: float) -> Bounds:
    """Wilson's of items that count the same and err alone; of others Student's t on the logit scale."""
    if isinstance(sample, Classes) and sample.independent:
        right = [np.trace(part.table) for part in sample.parts]
        return intervals.of_share(right, estimate.n, confidence, over="items")
    return as_share(sample, estimate, confidence)


_LAWS = {
    "permutation": True,
    "merge": Exempt("there are no states"),
    "monotone": Exempt("repairing one prediction may move other terms of the formula"),
    "symmetry": Exempt("truth and prediction have different roles"),
}
_metric = partial(metric, family="prediction", unit="item", laws=_LAWS)
_share = partial(_metric, direction="higher", bounds=(0.0, 1.0), interval=as_share)
_error = partial(
    _metric, direction="lower", bounds=(0.0, np.inf), interval=partial(_student, formula=intervals.of_positive)
)
Measured = tuple[float, Floats]


# ---- predicted labels
#
# A measure of a confusion table takes its shares p_ab of items of true class a and predicted class b, with the sums
# r_a = Σ_b p_ab and s_b = Σ_a p_ab. It returns the value f, NaN if the table has none, and the gradient ∂f/∂p_ab up to
# a constant; the influence of an item in cell (a, b) is that, less its mean.

TableMeasure = Callable[[Floats], Measured]


def _of_cells(table: Floats, measure: TableMeasure) -> Measured:
    """The value, and the influence of an item of each cell; NaN without items."""
    total = table.sum()
    if not total:
        return np.nan, table
    value, gradient = measure(table / total)
    return value, gradient - (table / total * gradient).sum()


def of_labels(part: Classes | Tasks, measure: TableMeasure) -> Statistic:
    """A measure of the labels, the mean over tasks; of independent items its error is that of the cells."""
    if isinstance(part, Classes) and part.independent:
        value, influence = _of_cells(part.table, measure)
        return Statistic(value, part.n, *part.error_of_cells(influence))
    tasks = [(rows, labels, *_of_cells(labels.table, measure)) for rows, labels in part.by_task()]
    return part.over_tasks([(rows, value, moved[each.true, each.pred]) for rows, each, value, moved in tasks])


def _pooled(part: Tasks, measure: TableMeasure) -> Statistic:
    """A measure of the labels of all tasks together."""
    tasks = list(part.by_task())
    total = sum((labels.table for _, labels in tasks), np.zeros((2, 2)))
    value, moved = _of_cells(total, measure)
    shares = [len(tasks) * labels.table.sum() / total.sum() for _, labels in tasks]
    lifted = [share * moved[labels.true, labels.pred] for share, (_, labels) in zip(shares, tasks, strict=True)]
    return part.over_tasks((rows, value, own) for (rows, _), own in zip(tasks, lifted, strict=True))


def _guesses(sample: Classes | Tasks, *, measure: TableMeasure, of_task: TableMeasure) -> list[Reference]:
    """The most frequent class for all items, or labels drawn with the classes' shares: what is better."""
    by_task = measure if isinstance(sample, Classes) else of_task
    shares = [labels.table.sum(axis=1) / labels.table.sum() for _, labels in sample.by_task()]
    drawn = nanmean([by_task(np.outer(r, r))[0] for r in shares])
    same = nanmean([by_task(np.outer(r, np.arange(len(r)) == np.argmax(r)))[0] for r in shares])
    levels = (Reference("random labels", drawn), Reference("most frequent class", same))
    # Tables show the last, which is the strongest.
    return sorted((each for each in levels if not np.isnan(each.value)), key=lambda level: level.value)


def _labels(
    formula: str, of_task: TableMeasure | None = None, *, pooled: bool = False, **declared: Any
) -> Callable[[TableMeasure], Metric]:
    """Declare the metric of a measure; of several tasks of the mean of `of_task`, or of all `pooled`."""

    def declare(measure: TableMeasure) -> Metric:
        by_task = of_task or measure

        @wraps(measure)
        def value(sample: Classes | Tasks) -> Estimate:
            of_tasks = partial(_pooled if pooled else of_labels, measure=by_task)
            of_part = partial(of_labels, measure=measure) if isinstance(sample, Classes) else of_tasks
            return estimate(sample, of_part, "no class or task that it is defined for")

        needs, chance = ("classes", "tasks"), partial(_guesses, measure=measure, of_task=by_task)
        return _share(measure.__name__, formula=formula, **({"needs": needs, "chance": chance} | declared))(value)

    return declare


def _ratios(p: Floats, whole: tuple[float, float], weights: Floats) -> tuple[Floats, Floats]:
    """p_cc / (whole · (r_c, s_c)) of each class, 0 without a denominator; and the gradient of their weighted sum."""
    rows, columns = whole
    under = rows * p.sum(axis=1) + columns * p.sum(axis=0)
    part = np.divide(weights, under, out=np.zeros(len(p)), where=under > 0)
    values = np.divide(np.diag(p), under, out=np.zeros(len(p)), where=under > 0)
    return values, np.diag(part) - rows * (part * values)[:, np.newaxis] - columns * part * values


def ratio(p: Floats, whole: tuple[float, float], c: int | None = None) -> Measured:
    """The ratio of one class, or its mean over the classes that have a denominator."""
    used = whole[0] * p.sum(axis=1) + whole[1] * p.sum(axis=0) > 0
    used &= c is None or np.arange(len(p)) == c
    if not used.any():
        return np.nan, np.zeros_like(p)
    values, moved = _ratios(p, whole, used / used.sum())
    return float(values[used].mean()), moved


_RECALL, _PRECISION, _F1 = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)
# What each class has, one against the others.
OF_CLASSES = {"precision": _PRECISION, "recall": _RECALL, "f1": _F1}
_classes = partial(_labels, needs=("classes",))
_binary = partial(_labels, needs=("binary",), default=True)


def _unrelated(_: Any) -> list[Reference]:
    """0, of labels without relation."""
    return [Reference("labels without relation", 0.0)]


_agreement = partial(_classes, bounds=(-1.0, 1.0), interval=_student, chance=_unrelated)


@_labels("mean(pred = true)", interval=_as_count, default=True)
def accuracy(p: Floats) -> Measured:
    """Share of the labels that are right; of several tasks the mean of their accuracies."""
    return float(np.trace(p)), np.eye(len(p))


@_classes("mean over classes of recall")
def balanced_accuracy(p: Floats) -> Measured:
    """Mean over the classes that have items of the share of these that are found."""
    return ratio(p, _RECALL)


@_labels("mean over classes of 2 p_cc / (r_c + s_c)", partial(ratio, whole=_F1, c=1), default=True)
def f1_macro(p: Floats) -> Measured:
    """Mean F1 of the classes that are there or predicted; of tasks, of their positive classes."""
    return ratio(p, _F1)


@_labels("2 Σ p_cc / Σ (r_c + s_c)", partial(ratio, whole=_F1, c=1), pooled=True)
def f1_micro(p: Floats) -> Measured:
    """F1 of all labels together: the accuracy of one label per item; of tasks, of all their positives."""
    return float(np.trace(p)), np.eye(len(p))


@_classes("Σ r_c F1_c")
def f1_weighted(p: Floats) -> Measured:
    """Mean F1 of the classes, each by its share of the items."""
    r = p.sum(axis=1)
    values, moved = _ratios(p, _F1, r)
    return float(r @ values), moved + values[:, np.newaxis]


@_agreement("(Σ p_cc − Σ r_c s_c) / √((1 − Σ s²)(1 − Σ r²))")
def matthews(p: Floats) -> Measured:
    """Correlation of true and predicted classes (Matthews 1975; Gorodkin 2004 for more than two).

    NaN if all items are of one class or all predictions are.
    """
    r, s = p.sum(axis=1), p.sum(axis=0)
    spread_true, spread_pred = 1 - r @ r, 1 - s @ s
    if min(spread_true, spread_pred) <= 1e-15:
        return np.nan, np.zeros_like(p)
    scale, joint = np.sqrt(spread_true * spread_pred), np.trace(p) - r @ s
    moved = np.eye(len(p)) - s[:, None] - r[None, :]
    return float(joint / scale), (moved + joint * (r[:, None] / spread_true + s[None, :] / spread_pred)) / scale


@_agreement("(Σ p_cc − e) / (1 − e), e = Σ r_c s_c")
def cohen_kappa(p: Floats) -> Measured:
    """Agreement beyond that of independent labels with the same shares (Cohen 1960); NaN if these agree, too."""
    r, s = p.sum(axis=1), p.sum(axis=0)
    agreed, free = np.trace(p), 1 - r @ s
    if free <= 1e-15:
        return np.nan, np.zeros_like(p)
    gradient = np.eye(len(p)) * free - (s[:, None] + r[None, :]) * (1 - agreed)
    return float((agreed - r @ s) / free), gradient / free**2


@_binary("p_11 / s_1")
def precision(p: Floats) -> Measured:
    """Share of the items called positive that are; NaN if none is."""
    return ratio(p, _PRECISION, 1)


@_binary("p_11 / r_1")
def recall(p: Floats) -> Measured:
    """Share of the positives that are called so; NaN without positives."""
    return ratio(p, _RECALL, 1)


@_binary("2 p_11 / (r_1 + s_1)")
def f1(p: Floats) -> Measured:
    """Harmonic mean of precision and recall of the positive class; NaN if it is neither there nor predicted."""
    return ratio(p, _F1, 1)


# ---- scores

_area = partial(_share, needs=("scores",), default=True)


def _even(_: Any) -> list[Reference]:
    """1/2, of random scores."""
    return [Reference("random scores", 0.5)]


@_area("roc_auc", chance=_even, formula="P(s+ > s−) + P(s+ = s−) / 2")
def roc_auc(sample: Scores) -> Estimate:
    """Probability that a positive scores above a negative, ties half; of tasks and classes the mean."""
    return estimate(sample, lambda part: part.mean_area(0), "no task has both classes")


def _prevalence(sample: Scores) -> list[Reference]:
    """The share of positives, the mean over tasks: that of random scores."""
    return [Reference("random scores", nanmean(sample.curves.positive))]


@_area("average_precision", chance=_prevalence, formula="mean over positives of the precision at their score")
def average_precision(sample: Scores) -> Estimate:
    """Mean over the positives of the precision at their score, step-wise; of tasks and classes the mean."""
    return estimate(sample, lambda part: part.mean_area(1), "no task has both classes")


def _top(sample: Columns, *, k: int = 5) -> list[Reference]:
    """k / classes, of random scores."""
    return [Reference("random scores", min(k / sample.scores.shape[1], 1.0))]


@_share("top_k_accuracy@{k}", needs=("ranked",), chance=_top, formula="mean(rank <= k)")
def top_k_accuracy(sample: Columns, *, k: int = 5) -> Estimate:
    """Share of the items whose class is among the k highest scores, equal scores in any order alike."""

    def share(part: Columns) -> Statistic:
        true = part.of_truth[:, np.newaxis]
        higher, equal = (part.scores > true).sum(axis=1), (part.scores == true).sum(axis=1)
        return part.mean_of(np.clip((k - higher) / equal, 0.0, 1.0))

    return estimate(sample, share)


# ---- probabilities


def log_losses(sample: Columns) -> Floats:
    """(n,) −ln of the probability of the true class; infinite if it is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(sample.of_truth))


def brier_scores(sample: Columns) -> Floats:
    """(n,) squared distance to the truth: (p − y)² of two classes, Σ_c (p_c − y_c)² of more."""
    true = sample.of_truth
    if sample.binary:
        return np.asarray((1 - true) ** 2)
    return np.asarray((sample.scores**2).sum(axis=1) - true**2 + (1 - true) ** 2)


def _prior(sample: Columns, *, score: Callable[[Columns], Floats]) -> list[Reference]:
    """What the classes' shares score as the probabilities of every item."""
    shares = np.bincount(sample.true, sample.weights, sample.scores.shape[1])
    same = replace(sample, scores=np.broadcast_to(shares / shares.sum(), sample.scores.shape))
    return [Reference("shares of the classes", same.mean_of(score(same)).value)]


_probability = partial(_error, needs=("probabilities",))


@_probability("log_loss", chance=partial(_prior, score=log_losses), formula="mean(−ln p_true)")
def log_loss(sample: Columns) -> Estimate:
    """Mean of −ln of the probability of the true class; nothing is clipped, so a probability of 0 makes it infinite."""
    return estimate(sample, lambda part: part.mean_of(log_losses(part)))


@_probability("brier", chance=partial(_prior, score=brier_scores), formula="mean(Σ (p_c − y_c)²)", bounds=(0.0, 2.0))
def brier(sample: Columns) -> Estimate:
    """Mean squared distance of the probabilities to the truth; of a binary task that of the positive class."""
    return estimate(sample, lambda part: part.mean_of(brier_scores(part)))


_gap = partial(
    _probability,
    bounds=(0.0, 1.0),
    chance=NoChance("a perfect forecaster has 0, and more the fewer the items"),
    interval=NoInterval("binned errors are biased upwards by the number of items"),
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
        return Statistic()
    confidence, accuracy, share = part.calibration()
    return Statistic(float(summary(np.abs(accuracy - confidence), share)), part.n)


# ---- numbers
#
# A measure takes truths and predictions of one task, both (n,), and the share of each item, which add up to 1. It
# returns the value and the influences, of which the mean weighted by the shares is 0.

NumberMeasure = Callable[[Floats, Floats, Floats], Measured]


def _of_numbers(part: Targets, measure: NumberMeasure) -> Statistic:
    """A measure of the numbers, the mean over tasks."""
    return part.over_tasks([(rows, *measure(*numbers)) for rows, *numbers in part.by_task()])


def _level(
    sample: Targets, *, measure: NumberMeasure, name: str, centre: Callable[[Floats, Floats], float]
) -> list[Reference]:
    """The mean, or for `mae` the median, of the targets as the prediction of every item."""
    level = _of_numbers(sample, lambda true, _, share: measure(true, np.full_like(true, centre(true, share)), share))
    return [Reference(name, level.value)]


def _numbers(formula: str, level: Any = None, **declared: Any) -> Callable[[NumberMeasure], Metric]:
    """Declare the metric of a measure, and the level of chance that one number reaches."""

    def declare(measure: NumberMeasure) -> Metric:
        @wraps(measure)
        def value(sample: Targets) -> Estimate:
            return estimate(sample, partial(_of_numbers, measure=measure), "no task that it is defined for")

        chance = {} if level is None else {"chance": partial(level, measure=measure)}
        return _error(measure.__name__, needs=("targets",), formula=formula, **(chance | declared))(value)

    return declare


def _median(true: Floats, share: Floats) -> float:
    """The number with half of the weight on either side."""
    order = np.argsort(true)
    reached = np.cumsum(share[order])
    ends = [np.searchsorted(reached, half) for half in (0.5 - 1e-12, 0.5 + 1e-12)]
    return float(true[order][np.minimum(ends, len(true) - 1)].mean())


def _mean(true: Floats, share: Floats) -> float:
    """The mean, which of equal targets is theirs without rounding."""
    return float(np.clip(share @ true, true.min(), true.max()))


_MEAN = partial(_level, name="mean of the targets", centre=_mean)


@_numbers("mean |ŷ − y|", partial(_level, name="median of the targets", centre=_median), default=True)
def mae(true: Floats, pred: Floats, share: Floats) -> Measured:
    """Mean absolute error; of several tasks the mean of theirs."""
    away = np.abs(pred - true)
    value = float(share @ away)
    return value, away - value


@_numbers("√(mean (ŷ − y)²)", _MEAN, default=True)
def rmse(true: Floats, pred: Floats, share: Floats) -> Measured:
    """Root of the mean squared error; of several tasks the mean of theirs."""
    squares = (pred - true) ** 2
    value = float(np.sqrt(share @ squares))
    return value, (squares - value**2) / (2 * value) if value > 0 else np.zeros_like(squares)


@_numbers(
    "1 − Σ(ŷ − y)² / Σ(y − ȳ)²", _MEAN, default=True, direction="higher", bounds=(-np.inf, 1.0), interval=_student
)
def r2(true: Floats, pred: Floats, share: Floats) -> Measured:
    """Share of the variance of the targets that is explained; NaN if they are equal up to rounding."""
    squares, around = (pred - true) ** 2, (true - share @ true) ** 2
    error, spread = float(share @ squares), float(share @ around)
    if _flat(true, spread):
        return np.nan, np.zeros_like(true)
    return 1 - error / spread, (error * around / spread - squares) / spread


_correlation = partial(
    _numbers,
    direction="higher",
    bounds=(-1.0, 1.0),
    interval=partial(_student, formula=_of_correlation),
    laws=_LAWS | {"symmetry": True},
    chance=NoChance("0 without any relation; one number for all items has no correlation"),
)


def _standard(values: Floats, share: Floats) -> tuple[Floats, float]:
    """Numbers less their mean, in units of their standard deviation, and that: 0 if it is only rounding."""
    away = values - share @ values
    spread = float(share @ away**2)
    return (away, 0.0) if _flat(values, spread) else (away / np.sqrt(spread), math.sqrt(spread))


def _linear(x: Floats, y: Floats, share: Floats) -> Measured:
    """Of standardised numbers r = Σ w x y, and the influence is x y − r (x² + y²) / 2."""
    value = float(np.clip(share @ (x * y), -1.0, 1.0))
    return value, x * y - value * (x**2 + y**2) / 2


@_correlation("cov(y, ŷ) / (σ_y σ_ŷ)")
def pearson(true: Floats, pred: Floats, share: Floats) -> Measured:
    """Linear correlation of targets and predictions; NaN if either is constant."""
    (x, scale_x), (y, scale_y) = _standard(true, share), _standard(pred, share)
    return _linear(x, y, share) if scale_x and scale_y else (np.nan, x)


@_correlation("correlation of the ranks")
def spearman(true: Floats, pred: Floats, share: Floats) -> Measured:
    """Correlation of the ranks, ties with their mean rank; NaN if either is constant.

    The influence is that of Pearson's plus what an item adds by moving the ranks of all others (Borkowf 2002): with
    standardised ranks x and y, the means over the others of y where their truth is larger, and of x where their
    prediction is. The rank of a weighted item is the weight below it, and half of that which is equal.
    """
    ranks = [-_above(each, share) for each in (true, pred)]
    (x, scale_x), (y, scale_y) = (_standard(each, share) for each in ranks)
    if not (scale_x and scale_y):
        return np.nan, x
    value, own = _linear(x, y, share)
    # A rank is half the share of smaller or equal plus half that of smaller ones, so an item lifts what is above it.
    moved = _above(true, share * (y - value * x)) / scale_x + _above(pred, share * (x - value * y)) / scale_y
    return value, own + moved - share @ moved


def _above(values: Floats, carried: Floats) -> Floats:
    """For each item, the sum of what those with larger values carry, and half of what those with equal ones do."""
    distinct, place = np.unique(values, return_inverse=True)
    sums = np.bincount(place, carried, len(distinct))
    return np.asarray((sums.sum() - np.cumsum(sums) + sums / 2)[place])


def _flat(values: Floats, variance: float) -> bool:
    """Whether a variance is only rounding of these numbers."""
    return math.sqrt(variance) <= 1e-12 * float(np.abs(values).max())
