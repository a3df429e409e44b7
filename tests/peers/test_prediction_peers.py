"""Labels and targets against the evaluators of OGB and torchmetrics."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphgauge import prediction

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")]
SEEDS = range(10)


def tasks(seed, absent=True):
    """Labels of six tasks, 40 % missing; of one only negatives, of one nothing."""
    rng = np.random.default_rng(seed)
    true = (rng.random((120, 6)) < 0.3).astype(float)
    scores = np.round(true + rng.normal(size=true.shape), 2).astype(np.float32 if seed % 2 else np.float64)
    true[rng.random(true.shape) < 0.4] = np.nan
    if absent:
        true[~np.isnan(true[:, 1]), 1] = 0
        true[:, 4] = np.nan
    return true, scores


def ogb_graph(metric, true, pred):
    from ogb.graphproppred import Evaluator

    names = {"rocauc": "ogbg-moltox21", "ap": "ogbg-molpcba", "rmse": "ogbg-molesol", "acc": "ogbg-ppa"}
    evaluator = Evaluator(names[metric])
    evaluator.num_tasks = true.shape[1]
    return evaluator.eval({"y_true": true, "y_pred": pred})[metric]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("metric", "key"), [("rocauc", "roc_auc"), ("ap", "average_precision")])
def test_ogb_tasks_with_missing_labels(seed, metric, key):
    true, scores = tasks(seed)
    ours = prediction.evaluate(true, scores=scores, nan="omit", metrics=[key])[key].value
    assert ours == pytest.approx(ogb_graph(metric, true, scores), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_ogb_errors_of_targets_with_missing_labels(seed):
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(50, 3))
    pred = true + rng.normal(size=true.shape)
    true[rng.random(true.shape) < 0.3] = np.nan
    ours = prediction.evaluate(true, pred, nan="omit", task="regression", metrics=["rmse"])["rmse"].value
    assert ours == pytest.approx(ogb_graph("rmse", true, pred), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_ogb_accuracy(seed):
    from ogb.nodeproppred import Evaluator

    rng = np.random.default_rng(seed)
    true = rng.integers(0, 40, (300, 1))
    pred = np.where(rng.random((300, 1)) < 0.5, true, rng.integers(0, 40, (300, 1)))
    theirs = Evaluator("ogbn-arxiv").eval({"y_true": true, "y_pred": pred})["acc"]
    assert prediction.evaluate(true, pred)["accuracy"].value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_ogb_nodes_with_several_tasks(seed):
    from ogb.nodeproppred import Evaluator

    true, scores = tasks(seed, absent=False)
    true = np.pad(np.nan_to_num(true), ((0, 0), (0, 106)), mode="wrap").astype(int)
    scores = np.pad(scores, ((0, 0), (0, 106)), mode="wrap")
    theirs = Evaluator("ogbn-proteins").eval({"y_true": true, "y_pred": scores})["rocauc"]
    assert prediction.evaluate(true, scores=scores)["roc_auc"].value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics_labels(seed):
    from torchmetrics.functional import classification as tm

    rng = np.random.default_rng(seed)
    true = rng.integers(0, 5, 200)
    pred = np.where(rng.random(200) < 0.5, true, rng.integers(0, 5, 200))
    ev = prediction.evaluate(true, pred, metrics="all")
    y, p = torch.as_tensor(true), torch.as_tensor(pred)
    theirs = {
        "accuracy": tm.multiclass_accuracy(p, y, 5, average="micro"),
        "balanced_accuracy": tm.multiclass_recall(p, y, 5, average="macro"),
        "f1_macro": tm.multiclass_f1_score(p, y, 5, average="macro"),
        "matthews": tm.multiclass_matthews_corrcoef(p, y, 5),
        "cohen_kappa": tm.multiclass_cohen_kappa(p, y, 5),
    }
    for key, value in theirs.items():
        assert ev[key].value == pytest.approx(float(value), abs=1e-6), key  # they compute in float32


@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics_probabilities(seed):
    from torchmetrics.functional import classification as tm

    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(400, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = rng.integers(0, 4, 400)
    ev = prediction.evaluate(true, scores=p, probabilities=True, metrics="all")
    probabilities, labels = torch.as_tensor(p), torch.as_tensor(true)
    theirs = {
        "ece": tm.multiclass_calibration_error(probabilities, labels, 4, n_bins=15),
        "mce": tm.multiclass_calibration_error(probabilities, labels, 4, n_bins=15, norm="max"),
        "roc_auc": tm.multiclass_auroc(probabilities, labels, 4, average="macro"),
        "average_precision": tm.multiclass_average_precision(probabilities, labels, 4, average="macro"),
        "top_k_accuracy@5": tm.multiclass_accuracy(probabilities, labels, 4, top_k=4, average="micro"),
    }
    for key, value in theirs.items():
        assert ev[key].value == pytest.approx(float(value), abs=2e-6), key


@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics_targets(seed):
    from torchmetrics.functional import regression as tr

    rng = np.random.default_rng(seed)
    true = rng.normal(size=300)
    pred = true + rng.normal(size=300)
    ev = prediction.evaluate(true, pred, metrics="all")
    y, p = torch.as_tensor(true), torch.as_tensor(pred)
    theirs = {
        "mae": tr.mean_absolute_error(p, y),
        "rmse": tr.mean_squared_error(p, y, squared=False),
        "r2": tr.r2_score(p, y),
        "pearson": tr.pearson_corrcoef(p, y),
        "spearman": tr.spearman_corrcoef(p, y),
    }
    for key, value in theirs.items():
        # It adds 1e-6 to the denominator of a correlation.
        assert ev[key].value == pytest.approx(float(value), abs=1e-7), key
