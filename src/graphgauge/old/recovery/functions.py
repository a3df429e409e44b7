"""Functions that return a plain number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.old.core.metric import Metric
from graphgauge.old.core.result import Table
from graphgauge.old.recovery import metrics as _metrics
from graphgauge.old.recovery.comparison import Comparison, Reading, Rules, Stack, compare
from graphgauge.old.recovery.evaluate import FRACTIONS, checked_fractions
from graphgauge.old.recovery.pairs import DensePair

# Points of a threshold sweep, and the number of scores that they are chosen from.
_POINTS = 200
_LOOKED_AT = 1 << 20
_SWEPT = (
    _metrics.tp,
    _metrics.fp,
    _metrics.fn,
    _metrics.directed_precision,
    _metrics.directed_recall,
    _metrics.directed_f1,
    _metrics.directed_shd,
    _metrics.skeleton_f1,
    _metrics.skeleton_shd,
)


def shd(A_true: Any, A_pred: Any, *, kind: str = "pair", **reading: Unpack[Reading]) -> int:
    """Structural Hamming distance of two graphs: `pair`, a reversal costs 1, or `cell`, a reversal costs 2.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    kind
        `pair` or `cell`.
    reading
        `threshold` and the other options of `evaluate` that say how graphs are read.

    Returns
    -------
    int
        0 for equal graphs; at most one per pair of nodes (`pair`), or per cell (`cell`).

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> true, reversed = [[0, 1], [0, 0]], [[0, 0], [1, 0]]
    >>> recovery.shd(true, reversed), recovery.shd(true, reversed, kind="cell")
    (1, 2)
    """
    return _distance(_metrics.directed_shd, compare(A_true, A_pred, Rules(shd=kind), **reading))


def skeleton_shd(A_true: Any, A_pred: Any, **reading: Unpack[Reading]) -> int:
    """Pairs of nodes that are adjacent in only one of the two graphs.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    reading
        `threshold` and the other options of `evaluate` that say how graphs are read.

    Returns
    -------
    int
        From 0 to the number of pairs; a reversed edge costs nothing.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.skeleton_shd([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1], [0, 0, 0]])
    1
    """
    return _distance(_metrics.skeleton_shd, compare(A_true, A_pred, **reading))


def directed_f1(A_true: Any, A_pred: Any, *, zero_division: float = np.nan, **reading: Unpack[Reading]) -> float:
    """F1 of the predicted edges, direction included; the mean over the graphs of a stack.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    zero_division
        The value if neither graph has an edge.
    reading
        `threshold` and the other options of `evaluate` that say how graphs are read.

    Returns
    -------
    float
        In [0, 1]; 1 for equal graphs.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> round(recovery.directed_f1([[0, 1], [0, 0]], [[0, 0.9], [0.8, 0]]), 4)
    0.6667
    """
    return _value(_metrics.directed_f1, compare(A_true, A_pred, Rules(zero_division=zero_division), **reading))


def orientation_accuracy(A_true: Any, A_pred: Any, **reading: Unpack[Reading]) -> float:
    """Share of pairs adjacent in both graphs that have the true direction; the mean over the graphs of a stack.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    reading
        `threshold` and the other options of `evaluate` that say how graphs are read.

    Returns
    -------
    float
        In [0, 1]; NaN if no pair is adjacent in both.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.orientation_accuracy([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    0.5
    """
    return _value(_metrics.orientation_accuracy, compare(A_true, A_pred, **reading))


def auprc(A_true: Any, A_pred: Any, *, area: str = "steps", **reading: Unpack[Reading]) -> float:
    """Average precision of the scores; `area="trapezoid"` joins the curve's points by straight lines.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    area
        `steps` or `trapezoid`.
    reading
        The options of `evaluate` that say how graphs are read.

    Returns
    -------
    float
        In [0, 1]; its chance level is the share of cells that are true edges.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.auprc([[0, 1], [0, 0]], [[0, 0.4], [0.7, 0]])
    0.5
    """
    return _value(_metrics.auprc, compare(A_true, A_pred, Rules(area=area), **reading))


def roc_auc(A_true: Any, A_pred: Any, **reading: Unpack[Reading]) -> float:
    """Probability that a true edge scores above a cell without one; ties count half.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    reading
        The options of `evaluate` that say how graphs are read.

    Returns
    -------
    float
        In [0, 1]; 0.5 is chance.

    Raises
    ------
    InputError
        If the graphs have different nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.roc_auc([[0, 1, 0], [0, 0, 0], [0, 0, 0]], [[0, 0.4, 0.1], [0.4, 0, 0], [0, 0, 0]])
    0.9
    """
    return _value(_metrics.roc_auc, compare(A_true, A_pred, **reading))


def f1_at_k(
    A_true: Any, A_pred: Any, *, fractions: Sequence[float] | float = FRACTIONS, **reading: Unpack[Reading]
) -> dict[str, float]:
    """F1 of the K best cells, with K as fractions of the number of true edges.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    fractions
        Numbers of selected edges, as multiples of the true edges.
    reading
        The options of `evaluate` that say how graphs are read.

    Returns
    -------
    dict
        F1 in [0, 1] by key.

    Raises
    ------
    OptionError
        If a fraction is not above 0.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> recovery.f1_at_k([[0, 1], [0, 0]], [[0, 0.9], [0.3, 0]], fractions=(1, 2))
    {'f1_at_1.0e': 1.0, 'f1_at_2.0e': 0.6666666666666666}
    """
    metric, curves = _metrics.f1_at_k, compare(A_true, A_pred, **reading).samples()["curves"]
    return {
        metric.key_of(fraction=fraction): float(metric(curves, fraction=fraction).value[0])
        for fraction in checked_fractions(fractions)
    }


def threshold_sweep(
    A_true: Any, A_pred: Any, *, thresholds: Sequence[float] | None = None, **reading: Unpack[Reading]
) -> Table:
    """Counts, precision, recall, F1 and distances as the threshold rises.

    Without `thresholds`, at the scores, or at 200 of them if there are more.

    Parameters
    ----------
    A_true, A_pred
        The true graph and the scores of the predicted one, in any form that `evaluate` takes.
    thresholds
        An edge is predicted if its score is greater than this.
    reading
        The options of `evaluate` that say how graphs are read, except `threshold`.

    Returns
    -------
    Table
        One row per threshold, in rising order.

    Raises
    ------
    InputError
        If `thresholds` is not a list of numbers.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> sweep = recovery.threshold_sweep([[0, 1], [0, 0]], [[0, 0.9], [0.3, 0]], thresholds=[0.1, 0.5])
    >>> sweep["threshold"].tolist(), sweep["directed_precision"].tolist()
    ([0.1, 0.5], [0.5, 1.0])
    """
    comparison = Comparison.of(A_true, A_pred, **reading)
    if thresholds is None:
        return swept(comparison)
    given = as_numeric(thresholds, "thresholds")
    require_shape(given, (None,), "thresholds", "Pass a list of numbers.")
    return swept(comparison, np.unique(given.astype(float)))


def swept(comparison: Comparison, thresholds: NDArray[np.float64] | None = None) -> Table:
    chosen = _from_scores(comparison) if thresholds is None else thresholds
    samples = [comparison.at(float(threshold)).samples()["edges"] for threshold in chosen]
    columns = {metric.key: np.array([metric(sample).value[0] for sample in samples]) for metric in _SWEPT}
    return Table("threshold", {"threshold": chosen, **columns})


def _from_scores(comparison: Comparison) -> NDArray[np.float64]:
    pair, rows = comparison.pair, len(comparison.counts)
    scores = [pair.layer(row).some_scores(_LOOKED_AT // rows) for row in range(rows)]
    found: NDArray[np.float64] = np.unique(np.concatenate([np.empty(0), *scores]))
    # Below 0, cells that are not stored would be edges.
    found = found[np.isfinite(found) & (isinstance(pair, DensePair) | (found >= 0))]
    return found[np.linspace(0, len(found) - 1, _POINTS).astype(int)] if len(found) > _POINTS else found


def _value(metric: Metric, comparison: Comparison | Stack) -> float:
    return float(metric(comparison.samples()[metric.needs[0]]).value[0])


def _distance(metric: Metric, comparison: Comparison | Stack) -> int:
    if len(comparison.counts) > 1 and (isinstance(comparison, Stack) or not comparison.options.lagged):
        raise InputError(f"{len(comparison.counts)} graphs have no single distance", fix="Use evaluate().")
    value = _value(metric, comparison)
    if np.isnan(value):
        raise InputError("graphs without a pair of nodes have no distance", where="A_true and A_pred")
    return int(value)
