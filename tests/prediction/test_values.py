"""Values against scikit-learn and SciPy, on random and on degenerate inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from graphgauge import prediction

CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def labelled(seed, n=80, classes=5):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, classes, n)
    pred = np.where(rng.random(n) < 0.6, true, rng.integers(0, classes, n))
    return rng, true, pred


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("names", [None, "texts", "gaps"])
def test_labels(seed, names):
    rng, true, pred = labelled(seed, n=int(10 + 40 * seed), classes=2 + seed)
    if names is not None:
        words = (
            np.array([f"c{i:02}" for i in range(12)])
            if names == "texts"
            else np.array([7, -3, 900_000, *range(20, 40)])
        )
        true, pred = words[true], words[pred]
    weights = rng.random(len(true)) if seed % 2 else None
    ev = prediction.evaluate(true, pred, task="multiclass", weights=weights, metrics="all")
    expected = {
        "accuracy": sk.accuracy_score(true, pred, sample_weight=weights),
        "f1_macro": sk.f1_score(true, pred, average="macro", sample_weight=weights),
        "f1_micro": sk.f1_score(true, pred, average="micro", sample_weight=weights),
        "f1_weighted": sk.f1_score(true, pred, average="weighted", sample_weight=weights),
        "balanced_accuracy": sk.recall_score(
            true, pred, labels=np.unique(true), average="macro", sample_weight=weights
        ),
        "matthews": sk.matthews_corrcoef(true, pred, sample_weight=weights),
        "cohen_kappa": sk.cohen_kappa_score(true, pred, sample_weight=weights),
    }
    for key, value in expected.items():
        np.testing.assert_allclose(ev[key].value, value, **CLOSE, err_msg=key)
    by = ev.by("class")
    columns = sk.precision_recall_fscore_support(true, pred, sample_weight=weights, zero_division=np.nan)
    for key, values in zip(("precision", "recall", "f1"), columns, strict=False):
        np.testing.assert_allclose(by[key], values, **CLOSE)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [np.float64, np.float32, "ties"])
def test_binary_scores(seed, kind):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 2, 90)
    scores = true + rng.normal(size=90)
    scores = np.round(scores, 1) if kind == "ties" else scores.astype(kind)
    weights = rng.random(90) if seed % 2 else None
    pred = (scores > 0.5).astype(int)
    ev = prediction.evaluate(true, pred, scores=scores, weights=weights, metrics="all")
    expected = {
        "roc_auc": sk.roc_auc_score(true, scores, sample_weight=weights),
        "average_precision": sk.average_precision_score(true, scores, sample_weight=weights),
        "f1": sk.f1_score(true, pred, sample_weight=weights),
        "precision": sk.precision_score(true, pred, sample_weight=weights),
        "recall": sk.recall_score(true, pred, sample_weight=weights),
    }
    for key, value in expected.items():
        np.testing.assert_allclose(ev[key].value, value, **CLOSE, err_msg=key)


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_classes(seed):
    rng, true, _ = labelled(seed, n=120)
    scores = rng.normal(size=(120, 5))
    scores[np.arange(120), true] += 1
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    ev = prediction.evaluate(true, scores=p, probabilities=True, metrics=[*ALL_OF_SCORES, "top_k_accuracy@2"])
    expected = {
        "accuracy": sk.accuracy_score(true, p.argmax(axis=1)),
        "roc_auc": sk.roc_auc_score(true, p, multi_class="ovr"),
        "average_precision": sk.average_precision_score(np.eye(5)[true], p, average="macro"),
        "log_loss": sk.log_loss(true, p),
        "brier": np.mean(((p - np.eye(5)[true]) ** 2).sum(axis=1)),
        "top_k_accuracy@2": sk.top_k_accuracy_score(true, p, k=2),
    }
    for key, value in expected.items():
        np.testing.assert_allclose(ev[key].value, value, **CLOSE, err_msg=key)


ALL_OF_SCORES = ["accuracy", "roc_auc", "average_precision", "log_loss", "brier"]


def test_equal_scores_count_by_chance_among_the_first_k():
    ev = prediction.evaluate(
        [0, 1], scores=[[1.0, 1.0, 0.0], [1.0, 0.5, 0.5]], metrics=["top_k_accuracy@1", "top_k_accuracy@2"]
    )
    assert ev["top_k_accuracy@1"].value == pytest.approx((1 / 2 + 0) / 2)
    assert ev["top_k_accuracy@2"].value == pytest.approx((1 + 1 / 2) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_tasks_with_missing_labels(seed):
    rng = np.random.default_rng(seed)
    true = (rng.random((150, 7)) < 0.3).astype(float)
    scores = true + rng.normal(size=true.shape)
    true[rng.random(true.shape) < 0.5] = np.nan
    true[:, 2] = np.where(np.isnan(true[:, 2]), np.nan, 0.0)  # one class only
    true[:, 5] = np.nan
    pred = (scores > 0.5).astype(int)
    ev = prediction.evaluate(true, pred, scores=scores, nan="omit", metrics="all")

    def mean(score, keep=lambda y: len(set(y)) == 2):
        found = []
        for task in range(7):
            known = ~np.isnan(true[:, task])
            if known.any() and keep(true[known, task]):
                found.append(score(task, known))
        return np.mean(found)

    expected = {
        "roc_auc": mean(lambda t, known: sk.roc_auc_score(true[known, t], scores[known, t])),
        "average_precision": mean(lambda t, known: sk.average_precision_score(true[known, t], scores[known, t])),
        "accuracy": mean(lambda t, known: np.mean(true[known, t] == pred[known, t]), lambda y: True),
        "f1_macro": mean(lambda t, known: sk.f1_score(true[known, t], pred[known, t]), lambda y: True),
    }
    for key, value in expected.items():
        np.testing.assert_allclose(ev[key].value, value, **CLOSE, err_msg=key)
    assert ev.by("task")["n"].tolist() == (~np.isnan(true)).sum(axis=0).tolist()
    np.testing.assert_allclose(
        ev.by("task")["roc_auc"][0],
        mean(lambda t, known: sk.roc_auc_score(true[known, t], scores[known, t]) if t == 0 else np.nan)
        if False
        else sk.roc_auc_score(true[~np.isnan(true[:, 0]), 0], scores[~np.isnan(true[:, 0]), 0]),
        **CLOSE,
    )


@pytest.mark.parametrize("seed", range(5))
def test_targets(seed):
    rng = np.random.default_rng(seed)
    true, noise = rng.normal(100, 5, 70), rng.standard_t(3, 70)
    pred = np.round(true + noise, 1)
    weights = rng.random(70) if seed % 2 else None
    ev = prediction.evaluate(true, pred, weights=weights, metrics=["mae", "rmse", "r2", "pearson"])
    expected = {
        "mae": sk.mean_absolute_error(true, pred, sample_weight=weights),
        "rmse": math.sqrt(sk.mean_squared_error(true, pred, sample_weight=weights)),
        "r2": sk.r2_score(true, pred, sample_weight=weights),
    }
    if weights is None:
        expected["pearson"] = stats.pearsonr(true, pred)[0]
        whole = prediction.evaluate(true, pred, metrics="all")
        np.testing.assert_allclose(whole["spearman"].value, stats.spearmanr(true, pred)[0], **CLOSE)
    for key, value in expected.items():
        np.testing.assert_allclose(ev[key].value, value, **CLOSE, err_msg=key)


def test_targets_of_several_tasks_are_averaged_over_the_known():
    true = np.array([[1.5, np.nan], [2.0, 4.0], [np.nan, 7.0]])
    pred = np.array([[1.0, 9.0], [2.5, 4.0], [3.0, 5.0]])
    ev = prediction.evaluate(true, pred, task="regression", nan="omit")
    assert ev["mae"].value == pytest.approx((0.5 + 1.0) / 2)
    assert ev["rmse"].value == pytest.approx((0.5 + math.sqrt(2)) / 2)


@pytest.mark.parametrize(
    ("true", "pred", "undefined"),
    [
        ([1, 1, 1], [1, 1, 1], {"matthews", "cohen_kappa"}),
        ([0, 1, 1], [0, 0, 0], {"matthews", "precision"}),
        ([0, 0, 0], [1, 0, 1], {"matthews", "recall"}),
    ],
)
def test_what_is_not_defined_is_nan_with_its_reason(true, pred, undefined):
    ev = prediction.evaluate(true, pred, task="binary", metrics="all")
    assert {key for key, each in ev.items() if math.isnan(each.value)} == undefined
    assert all(ev[key].reason and ev[key].n == 0 for key in undefined)


def test_one_class_has_no_curve():
    ev = prediction.evaluate([1, 1, 1], scores=[0.1, 0.2, 0.3])
    assert math.isnan(ev["roc_auc"].value)
    assert ev["roc_auc"].reason == "no task has both classes"


def test_perfect_predictions():
    ev = prediction.evaluate([0, 1, 2, 1] * 10, [0, 1, 2, 1] * 10, metrics="all")
    assert {ev[key].value for key in ev} == {1.0}
    assert 0.8 < ev["accuracy"].interval.low < 1
    assert ev["accuracy"].interval.high == 1


def test_calibration_by_hand():
    # Two bins: .2 (one of four true) and .9 (both true); gaps .05 and .1 with shares 4/6 and 2/6.
    p = [0.2, 0.2, 0.2, 0.2, 0.9, 0.9]
    ev = prediction.evaluate([1, 0, 0, 0, 1, 1], scores=p, probabilities=True, bins=2, metrics=["ece", "mce"])
    assert ev["ece"].value == pytest.approx(0.05 * 4 / 6 + 0.1 * 2 / 6)
    assert ev["mce"].value == pytest.approx(0.1)
