"""Values against scikit-learn and SciPy, on random and on degenerate inputs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from graphgauge import prediction
from graphgauge.prediction import metrics

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
        sk.roc_auc_score(true[~np.isnan(true[:, 0]), 0], scores[~np.isnan(true[:, 0]), 0]),
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


def test_weights_are_worth_so_many_equal_items():
    rng = np.random.default_rng(3)
    true, weights = np.round(rng.normal(size=30), 1), rng.integers(1, 4, 30)
    pred = np.round(true + rng.normal(size=30), 1)
    keys = ["mae", "rmse", "r2", "pearson", "spearman"]
    weighted = prediction.evaluate(true, pred, weights=weights, metrics=keys)
    repeated = prediction.evaluate(np.repeat(true, weights), np.repeat(pred, weights), metrics=keys)
    for key in keys:
        np.testing.assert_allclose(weighted[key].value, repeated[key].value, **CLOSE, err_msg=key)


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


TABLES = [
    "accuracy",
    "balanced_accuracy",
    "f1",
    "f1_macro",
    "f1_weighted",
    "matthews",
    "cohen_kappa",
    "precision",
    "recall",
]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "table", [[[9, 2, 1], [3, 7, 4], [2, 5, 8]], [[5, 1, 0], [2, 4, 0], [1, 3, 0]], [[6, 3], [2, 9]]]
)
def test_gradients_of_tables_are_differences(name, table):
    """What one more of a cell moves, less what it moves by changing all shares."""
    measure, p = getattr(metrics, name).function.__wrapped__, np.array(table) / np.sum(table)
    value, gradient = measure(p)
    for cell in zip(*np.nonzero(p), strict=True):
        one = np.zeros(p.shape)
        one[cell] = 1
        more, less = (measure((1 - step) * p + step * one)[0] for step in (1e-6, -1e-6))
        assert gradient[cell] - (p * gradient).sum() == pytest.approx((more - less) / 2e-6, abs=1e-7), cell
    assert np.isfinite(value)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_interval_of_a_mean_error_by_its_formula(clustered, weighted):
    """log-t with the textbook error, of clusters CR2, and the degrees of freedom of the kurtosis."""
    random = np.random.default_rng(7)
    true, pred, labels = random.normal(size=20), random.normal(size=20), np.arange(20) // 4
    weights = random.random(20) if weighted else np.ones(20)
    loss = np.abs(true - pred)
    mean = weights @ loss / weights.sum()
    influence, cluster = (loss - mean) * weights / weights.mean(), labels if clustered else np.arange(20)
    sums, shares = np.bincount(cluster, influence), np.bincount(cluster, weights) / weights.sum()
    ours = np.sqrt((sums**2 / (1 - shares)).sum()) / 20
    options = {"weights": weights} if weighted else {}
    found = prediction.evaluate(true, pred, metrics=["mae"], **options, **({"cluster": labels} if clustered else {}))[
        "mae"
    ]
    assert found.value == pytest.approx(mean)
    kurtosis = 20 * (influence**4).sum() / (influence**2).sum() ** 2
    most = [4.0 if clustered else 19.0]
    if weighted:
        rows = np.diag(shares / np.sqrt(1 - shares)) @ (np.eye(len(shares)) - shares)
        form = rows @ rows.T
        most = [np.trace(form) ** 2 / (form**2).sum()]
    df = min(*most, max(1.0, 2 * 20 / (kurtosis - 17 / 19)), 19.0)
    reach = stats.t.isf(0.025, df) * ours / mean
    assert tuple(found.interval)[:2] == pytest.approx((mean * np.exp(-reach), mean * np.exp(reach)), rel=1e-9)


def test_the_interval_of_a_correlation_is_fishers():
    random = np.random.default_rng(8)
    true = random.normal(size=50)
    found = prediction.evaluate(true, true + random.normal(size=50), metrics=["pearson"])["pearson"]
    low, high = np.arctanh(found.interval.low), np.arctanh(found.interval.high)
    assert (low + high) / 2 == pytest.approx(np.arctanh(found.value), rel=1e-9)


def test_references_are_what_is_reached_without_a_model():
    true = np.array([0, 0, 0, 1, 2, 2])
    p = np.tile([0.5, 0.25, 0.25], (6, 1))
    names = ["log_loss", "brier", "top_k_accuracy@2", "top_k_accuracy@5", "average_precision"]
    ev = prediction.evaluate(true, scores=p, probabilities=True, metrics=names)
    shares = np.array([3, 1, 2]) / 6
    assert ev["log_loss"].chance.value == pytest.approx(-(shares * np.log(shares)).sum())
    assert ev["brier"].chance.value == pytest.approx(1 - (shares**2).sum())
    assert (ev["top_k_accuracy@2"].chance.value, ev["top_k_accuracy@5"].chance.value) == (pytest.approx(2 / 3), 1)
    assert ev["average_precision"].chance.value == pytest.approx(shares.mean())
    rmse = prediction.evaluate([1.5, 2.0, 9.0], [1.0, 2.0, 3.0], metrics=["rmse"])["rmse"]
    assert rmse.chance.value == pytest.approx(np.std([1.5, 2.0, 9.0]))


def test_calibration_of_several_classes_and_of_weights():
    """The largest probability against how often its class is true; bins contain their upper ends."""
    p = [[0.5, 0.3, 0.2], [0.5, 0.25, 0.25], [0.2, 0.2, 0.6], [0.0, 1.0, 0.0]]
    options = {"scores": p, "probabilities": True, "bins": 2, "metrics": ["ece", "mce"]}
    ev = prediction.evaluate([0, 1, 2, 0], **options)
    # Up to .5: confidence .5, one of two right. Above: confidence .8, one of two.
    assert (ev["ece"].value, ev["mce"].value) == (pytest.approx(0.15), pytest.approx(0.3))
    weighted = prediction.evaluate([0, 1, 2, 0], weights=[3, 1, 1, 3], **options)
    assert weighted["ece"].value == pytest.approx(0.5 * 0.25 + 0.5 * 0.65)  # .5 against 3/4, .9 against 1/4


@pytest.mark.parametrize("offset", [-5, 0, 10**9])
def test_classes_may_be_any_whole_numbers(offset):
    true, pred = np.array([2, 0, 1, 2, 0]), np.array([2, 1, 1, 0, 0])
    for kind in (np.int64, np.int32, float):
        moved = [(each + offset).astype(kind) for each in (true, pred)]
        ev = prediction.evaluate(*moved, task="multiclass")
        assert ev["accuracy"].value == pytest.approx(0.6)
        assert [int(name) for name in ev.by("class")["class"]] == [offset, offset + 1, offset + 2]
        assert ev.by("class")["n"].tolist() == [2, 1, 2]


def test_by_class_is_one_class_against_the_others():
    _, true, pred = labelled(3)
    by = prediction.evaluate(true, pred, metrics=["accuracy"]).by("class")
    for c in range(5):
        alone = prediction.evaluate((true == c).astype(int), (pred == c).astype(int), metrics=["precision", "f1"])
        for key in ("precision", "f1"):
            assert by[key][c] == pytest.approx(alone[key].value)
            assert (by[f"{key}.low"][c], by[f"{key}.high"][c]) == pytest.approx(tuple(alone[key].interval)[:2])


def test_values_of_items_are_what_each_adds_to_a_mean():
    numbers = prediction.evaluate([1.5, 2.0, 9.0], [1.0, 2.0, 3.0]).per_item
    assert numbers["mae"].tolist() == [0.5, 0.0, 6.0]
    p = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]])
    items = prediction.evaluate(
        [0, 2], scores=p, probabilities=True, metrics=["accuracy", "log_loss", "brier"]
    ).per_item
    assert items["accuracy"].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(items["log_loss"], np.log([2, 2]))
    np.testing.assert_allclose(items["brier"], ((p - np.eye(3)[[0, 2]]) ** 2).sum(axis=1))
