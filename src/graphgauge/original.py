"""The functions of the documents that graphgauge began with, under their names and with their order of arguments.

Each is a few lines over the families, and never changes its inputs. Where a document's own lines compute something else
than they say, the value is ours, and the docstring says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge import forecasting, ranking, recovery, stats
from graphgauge.core.arrays import as_array, on_host
from graphgauge.core.errors import InputError
from graphgauge.evolution import (
    AdaptiveEvaluator,
    NietzscheEvaluationSuite,
    build_evaluation_suite_from_cora,
    link_score_from_distance,
    poincare_distance_batch,
)

__all__ = (
    "AdaptiveEvaluator",
    "NietzscheEvaluationSuite",
    "aggregate_metrics",
    "build_evaluation_suite_from_cora",
    "calculate_mrr_hits",
    "compute_auprc",
    "compute_coverage",
    "compute_directed_metrics",
    "compute_ece",
    "compute_f1_vs_k",
    "compute_mae_rmse",
    "compute_nll",
    "compute_orientation_accuracy",
    "compute_roc_auc",
    "compute_shd_directed",
    "compute_shd_skeleton",
    "compute_skeleton_metrics",
    "evaluate",
    "link_score_from_distance",
    "paired_test",
    "poincare_distance_batch",
)

_PARTS = ("precision", "recall", "f1", "tp", "fp", "fn")
_LEAST_STD = 1e-8


# ---- learned graphs


def compute_directed_metrics(A_pred: Any, A_true: Any, threshold: float = 0.5) -> dict[str, float]:
    """Precision, recall and F1 of directed edges, 0 where they have no denominator, with tp, fp and fn."""
    keys = ("directed_precision", "directed_recall", "directed_f1", "tp", "fp", "fn")
    return dict(zip(_PARTS, _recovered(A_pred, A_true, threshold, keys), strict=True))


def compute_shd_directed(A_pred: Any, A_true: Any, threshold: float = 0.5) -> int:
    """Pairs of nodes that are joined differently; a reversed edge counts once, where the document counts it thrice."""
    return recovery.shd(A_true, A_pred, threshold=threshold)


def compute_orientation_accuracy(A_pred: Any, A_true: Any, threshold: float = 0.5) -> dict[str, float]:
    """Share of the pairs joined in both graphs that have the true direction; both directions are not one of them.

    0 where no pair is joined in both; the document takes a pair with both directions for right.
    """
    keys = ("orientation_accuracy", "correct_direction", "wrong_direction", "unoriented")
    accuracy, correct, wrong, unoriented = _recovered(A_pred, A_true, threshold, keys)
    return {"orientation_accuracy": accuracy, "correct_direction": correct, "wrong_direction": wrong + unoriented}


def compute_skeleton_metrics(A_pred: Any, A_true: Any, threshold: float = 0.5) -> dict[str, float]:
    """The same six numbers of edges without their direction."""
    return dict(
        zip(_PARTS, _recovered(A_pred, A_true, threshold, [f"skeleton_{part}" for part in _PARTS]), strict=True)
    )


def compute_shd_skeleton(A_pred: Any, A_true: Any, threshold: float = 0.5) -> int:
    """Pairs of nodes joined in one graph only, each once, where the document counts them twice."""
    return recovery.skeleton_shd(A_true, A_pred, threshold=threshold)


def compute_auprc(A_pred: Any, A_true: Any) -> float:
    """Area under the precision-recall curve with straight lines between its points."""
    return recovery.auprc(A_true, A_pred, area="trapezoid")


def compute_roc_auc(A_pred: Any, A_true: Any) -> float:
    """Probability that an edge scores above a pair without one."""
    return recovery.roc_auc(A_true, A_pred)


def compute_f1_vs_k(A_pred: Any, A_true: Any) -> dict[str, float]:
    """F1 of the K highest scores, K from .5 to 2 times the number of true edges; equal scores share the last places."""
    fractions = (0.5, 0.75, 1.0, 1.5, 2.0)
    values = recovery.f1_at_k(A_true, A_pred, fractions=fractions).values()
    return {f"F1@{fraction:.2f}E": value for fraction, value in zip(fractions, values, strict=True)}


def _recovered(A_pred: Any, A_true: Any, threshold: float, keys: Sequence[str]) -> list[float]:
    """The values of these keys: counts as integers, and 0 for what has no denominator."""
    ev = recovery.evaluate(A_true, A_pred, threshold=threshold, metrics=list(keys), zero_division=0.0)
    values = [0.0 if np.isnan(ev[key].value) else ev[key].value for key in keys]
    return [value if ev[key].bounds == (0, 1) else int(value) for key, value in zip(keys, values, strict=True)]


# ---- forecasts


def compute_mae_rmse(y_true: Any, y_pred: Any) -> dict[str, Any]:
    """Both errors of arrays (windows, horizons, nodes), or (windows, nodes), over everything and by node."""
    dimensions = as_array(y_true, "y_true").ndim
    if dimensions not in (2, 3):
        fix = "Arrays are (windows, horizons, nodes) or (windows, nodes)."
        raise InputError(f"has {dimensions} dimension{'s' * (dimensions != 1)}", where="y_true", fix=fix)
    axes = ("time", "node") if dimensions == 2 else None
    ev = forecasting.evaluate(y_true, y_pred, metrics=["mae", "rmse"], axes=axes)
    by_node = ev.by("node")
    return {
        "mae": ev["mae"].value,
        "rmse": ev["rmse"].value,
        "mae_per_node": np.asarray(by_node["mae"]),
        "rmse_per_node": np.asarray(by_node["rmse"]),
    }


def compute_nll(y_true: Any, y_pred_mean: Any, y_pred_std: Any) -> float:
    """Mean negative log density of Gaussian forecasts; deviations below 1e-8 count as 1e-8."""
    return forecasting.nll(y_true, y_pred_mean, _floored(y_pred_std))


def compute_ece(y_true: Any, y_pred_mean: Any, y_pred_std: Any, n_bins: int = 10) -> float:
    """Distance of errors and predicted deviations over bins of the latter.

    Ours compares root mean squares, and has 0 for perfect forecasts; the document takes the deviation of absolute
    errors, which is .6 times that of the errors.
    """
    return forecasting.ece(y_true, y_pred_mean, _floored(y_pred_std), bins=n_bins)


def compute_coverage(y_true: Any, y_pred_mean: Any, y_pred_std: Any, alpha: float = 0.95) -> Mapping[str, object]:
    """Share of the truths in the central interval of this level, the level, and the difference of both."""
    from scipy.special import ndtri

    mean, std = (np.asarray(on_host(each, "y_pred")) for each in (y_pred_mean, y_pred_std))
    away = ndtri((1 + alpha) / 2) * std
    return forecasting.coverage(y_true, mean - away, mean + away, level=alpha)


def _floored(std: Any) -> Any:
    return np.maximum(np.asarray(on_host(std, "y_pred_std")), _LEAST_STD)


# ---- runs


def aggregate_metrics(metrics_list: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Mean, std, min and max of each metric, and a 95 % interval by Student's t, where the document has 1.96."""
    rows = stats.aggregate(list(metrics_list)).rows
    keys = ("mean", "std", "min", "max", "ci_lower", "ci_upper")
    return {key: {row.metric: getattr(row, key) for row in rows} for key in keys}


def paired_test(method_a_scores: Any, method_b_scores: Any) -> dict[str, Any]:
    """Wilcoxon's signed-rank test, with the rank-biserial correlation: positive where the first method is better."""
    test = stats.paired_test(method_a_scores, method_b_scores)
    return {key: getattr(test, key) for key in ("test_statistic", "p_value", "effect_size_r", "significant")}


# ---- rankings


def calculate_mrr_hits(pos_scores: Any, neg_scores: Any, k_values: Sequence[int] = (1, 3, 10)) -> dict[str, float]:
    """Mean reciprocal rank and shares of ranks up to k; only negatives that score higher count, not equal ones."""
    metrics = ["mrr", *(f"hits@{k}" for k in k_values)]
    ev = ranking.evaluate(pos_scores, neg_scores, ties="optimistic", metrics=metrics)
    return {key: ev[key].value for key in metrics}


def evaluate(pos_scores: Any, neg_scores: Any) -> dict[str, float]:
    """`calculate_mrr_hits` at 1, 3 and 10."""
    return calculate_mrr_hits(pos_scores, neg_scores)
