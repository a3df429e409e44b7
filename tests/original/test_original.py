"""The functions under their first names, against plain transcriptions of what they say; inputs stay as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm, t, wilcoxon
from sklearn.metrics import auc, precision_recall_curve, roc_auc_score

from graphgauge import original


def graphs(seed, d=7):
    """A true graph and scores, with something on the diagonals, which does not count."""
    rng = np.random.default_rng(seed)
    return rng.random((d, d)).round(3), (rng.random((d, d)) < 0.25).astype(int)


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


def parts(pred, true):
    tp, fp, fn = int((pred & true).sum()), int((pred & ~true).sum()), int((~pred & true).sum())
    precision, recall = tp / (tp + fp) if tp + fp else 0.0, tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "tp": tp, "fp": fp, "fn": fn}


def pairs(pred, true, threshold):
    """Of each pair of nodes the two cells in both graphs."""
    for i, j in zip(*np.triu_indices(len(true), 1), strict=True):
        yield (pred[i, j] > threshold, pred[j, i] > threshold), (true[i, j] > 0, true[j, i] > 0)


FORMS = pytest.mark.parametrize(
    "form", [lambda a: a, torch.tensor, lambda a: a.tolist()], ids=["numpy", "torch", "lists"]
)
SEEDS = pytest.mark.parametrize("seed", range(6))


@FORMS
@SEEDS
@pytest.mark.parametrize("threshold", [0.5, 0.8, 1.0])
def test_graphs_at_a_threshold(seed, threshold, form):
    pred, true = graphs(seed)
    given = form(pred), form(true)
    cells = list(pairs(pred, true, threshold))
    directed = parts(off_diagonal(pred) > threshold, off_diagonal(true) > 0)
    assert original.compute_directed_metrics(*given, threshold) == pytest.approx(directed)
    skeleton = parts(*np.array([(any(p), any(q)) for p, q in cells]).T)
    assert original.compute_skeleton_metrics(*given, threshold=threshold) == pytest.approx(skeleton)
    assert original.compute_shd_directed(*given, threshold) == sum(p != q for p, q in cells)
    assert original.compute_shd_skeleton(*given, threshold) == sum(any(p) != any(q) for p, q in cells)
    common = [p == q for p, q in cells if any(p) and any(q)]
    assert original.compute_orientation_accuracy(*given, threshold) == {
        "orientation_accuracy": pytest.approx(np.mean(common) if common else 0.0),
        "correct_direction": sum(common),
        "wrong_direction": len(common) - sum(common),
    }


@FORMS
@SEEDS
def test_graphs_by_score(seed, form):
    pred, true = graphs(seed)
    given = form(pred), form(true)
    scores, edges = off_diagonal(pred), off_diagonal(true)
    precision, recall, _ = precision_recall_curve(edges, scores)
    assert original.compute_auprc(*given) == pytest.approx(auc(recall, precision))
    assert original.compute_roc_auc(*given) == pytest.approx(roc_auc_score(edges, scores))
    expected = {}
    for fraction in (0.5, 0.75, 1.0, 1.5, 2.0):
        count = max(1, int(fraction * edges.sum()))
        last = np.sort(scores)[-count]
        # Scores that tie for the last places share them.
        hits = edges[scores > last].sum() + (count - (scores > last).sum()) * edges[scores == last].mean()
        expected[f"F1@{fraction:.2f}E"] = 2 * hits / (count + edges.sum())
    assert original.compute_f1_vs_k(*given) == pytest.approx(expected)


def test_what_is_given_stays_as_it_is():
    pred, true = graphs(0)
    before = pred.copy(), true.copy()
    for name in original.__all__:
        if name.startswith("compute_") and name not in FORECASTS:
            getattr(original, name)(pred, true)
    assert (pred == before[0]).all()
    assert (true == before[1]).all()


FORECASTS = {"compute_mae_rmse", "compute_nll", "compute_ece", "compute_coverage"}


@pytest.mark.parametrize("form", [lambda a: a, torch.tensor], ids=["numpy", "torch"])
@SEEDS
def test_forecasts(seed, form):
    rng = np.random.default_rng(seed)
    y, mean, std = rng.normal(size=(3, 40, 3, 5))
    std = np.abs(std)
    std[0, 0, 0] = 0
    off = y - mean
    errors = original.compute_mae_rmse(form(y), form(mean))
    assert list(errors) == ["mae", "rmse", "mae_per_node", "rmse_per_node"]
    assert (errors["mae"], errors["rmse"]) == pytest.approx((np.abs(off).mean(), np.sqrt((off**2).mean())))
    assert errors["mae_per_node"] == pytest.approx(np.abs(off).mean((0, 1)))
    assert errors["rmse_per_node"] == pytest.approx(np.sqrt((off**2).mean((0, 1))))
    given = form(y), form(mean), form(std)
    assert original.compute_nll(*given) == pytest.approx(-norm.logpdf(y, mean, np.maximum(std, 1e-8)).mean())
    inside = np.abs(off) <= norm.ppf(0.9) * std
    coverage = original.compute_coverage(*given, alpha=0.8)
    assert coverage == pytest.approx(
        {"coverage": inside.mean(), "nominal_level": 0.8, "difference": inside.mean() - 0.8}
    )


def test_errors_that_match_their_deviations_are_calibrated():
    y, std = np.array([[-1.0, 1.0, -2.0, 2.0]]), np.array([[1.0, 1.0, 2.0, 2.0]])
    assert original.compute_ece(y[..., None], np.zeros((1, 4, 1)), std[..., None], n_bins=2) == pytest.approx(0)
    assert original.compute_ece(y[..., None], np.zeros((1, 4, 1)), std[..., None] + 1, n_bins=2) == pytest.approx(1)


def test_runs():
    runs = [{"f1": value, "shd": 10 * value} for value in (0.9, 0.7, 0.8, 0.85)]
    frame, summary = pd.DataFrame(runs), original.aggregate_metrics(runs)
    for key in ("mean", "std", "min", "max"):
        assert summary[key] == pytest.approx(getattr(frame, key)().to_dict())
    away = t.ppf(0.975, 3) * frame["shd"].std() / 2
    assert summary["ci_upper"]["shd"] == pytest.approx(frame["shd"].mean() + away)
    assert summary["ci_lower"]["shd"] == pytest.approx(frame["shd"].mean() - away)


def test_pairs():
    a, b = [0.9, 0.8, 0.7, 0.95, 0.6, 0.77], [0.6, 0.85, 0.6, 0.7, 0.5, 0.71]
    found, expected = original.paired_test(a, b), wilcoxon(a, b)
    assert found["test_statistic"] == expected.statistic
    assert found["p_value"] == pytest.approx(expected.pvalue)
    assert found["effect_size_r"] == pytest.approx(1 - 2 * expected.statistic / (6 * 7 / 2))
    assert found["significant"] == (expected.pvalue < 0.05)


@pytest.mark.parametrize("form", [lambda a: a, torch.tensor], ids=["numpy", "torch"])
def test_rankings(form):
    rng = np.random.default_rng(0)
    pos, neg = rng.integers(0, 20, 30).astype(float), rng.integers(0, 20, (30, 12)).astype(float)
    ranks = (neg > pos[:, None]).sum(1) + 1
    expected = {"mrr": (1 / ranks).mean(), **{f"hits@{k}": (ranks <= k).mean() for k in (1, 3, 10)}}
    assert original.evaluate(form(pos), form(neg)) == pytest.approx(expected)
    assert original.calculate_mrr_hits(form(pos), form(neg), [2])["hits@2"] == pytest.approx((ranks <= 2).mean())
