"""Influences are the derivatives of the values by the weights of the items, and intervals follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import prediction

RNG = np.random.default_rng(5)
N = 60
TRUE = RNG.integers(0, 3, N)
PRED = np.where(RNG.random(N) < 0.6, TRUE, RNG.integers(0, 3, N))
TASKS = (RNG.random((N, 4)) < 0.4).astype(float)
TASKS[RNG.random((N, 4)) < 0.3] = np.nan
SCORES = np.round(np.nan_to_num(TASKS) + RNG.normal(size=(N, 4)), 1)
NUMBERS = RNG.normal(size=N)
GUESSES = NUMBERS + RNG.normal(size=N)
LABEL_KEYS = ["accuracy", "balanced_accuracy", "f1_macro", "f1_weighted", "matthews", "cohen_kappa"]


def jackknife(evaluate):
    """The error of a value from leaving out one item at a time."""
    left = np.array([evaluate(np.delete(np.arange(N), i)) for i in range(N)])
    return np.sqrt((N - 1) / N * ((left - left.mean()) ** 2).sum())


@pytest.mark.parametrize("key", LABEL_KEYS)
def test_errors_of_labels_are_those_of_the_jackknife(key):
    ev = prediction.evaluate(TRUE, PRED, cluster=np.arange(N), metrics=[key])
    expected = jackknife(lambda rows: prediction.evaluate(TRUE[rows], PRED[rows], metrics=[key])[key].value)
    assert error_of(ev[key]) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("key", ["roc_auc", "average_precision", "f1_macro", "f1_micro", "accuracy"])
def test_errors_of_tasks_are_those_of_the_jackknife(key):
    def evaluate(rows):
        pred = (SCORES[rows] > 0.5).astype(int)
        return prediction.evaluate(TASKS[rows], pred, scores=SCORES[rows], nan="omit", metrics=[key])[key]

    expected = jackknife(lambda rows: evaluate(rows).value)
    assert error_of(evaluate(np.arange(N))) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("key", ["mae", "rmse", "r2", "pearson", "spearman"])
def test_errors_of_targets_are_those_of_the_jackknife(key):
    ev = prediction.evaluate(NUMBERS, GUESSES, metrics=[key])
    expected = jackknife(lambda rows: prediction.evaluate(NUMBERS[rows], GUESSES[rows], metrics=[key])[key].value)
    assert error_of(ev[key]) == pytest.approx(expected, rel=0.1)


def error_of(result):
    """The standard error that an interval was made from, on the scale that it was made on."""
    from graphgauge.stats.intervals import t_quantile

    low, high = result.interval
    value, method = result.value, result.interval.method
    to, slope = {
        "logit-t": (lambda p: np.log(p / (1 - p)), 1 / (value * (1 - value))),
        "log-t": (np.log, 1 / value),
        "fisher-t": (np.arctanh, 1 / (1 - value**2)),
        "t": (lambda x: x, 1.0),
    }[method]
    # Degrees of freedom are between a fifth of the items and all of them, where the quantile hardly moves.
    return (to(high) - to(low)) / 2 / slope / t_quantile(N / 2, 0.95)


def test_repeated_items_in_one_cluster_tell_nothing_new():
    single = prediction.evaluate(TRUE, PRED, cluster=np.arange(N), metrics=["f1_macro"])
    twice = np.repeat(np.arange(N), 2)
    clustered = prediction.evaluate(TRUE[twice], PRED[twice], cluster=twice, metrics=["f1_macro"])
    naive = prediction.evaluate(TRUE[twice], PRED[twice], metrics=["f1_macro"])
    width = {
        name: ev["f1_macro"].interval.high - ev["f1_macro"].interval.low
        for name, ev in {"single": single, "clustered": clustered, "naive": naive}.items()
    }
    assert width["clustered"] == pytest.approx(width["single"], rel=0.05)
    assert width["naive"] < 0.8 * width["single"]


def test_wilson_for_plain_accuracy():
    assert prediction.evaluate(TRUE, PRED)["accuracy"].interval.method == "wilson"
    assert prediction.evaluate(TRUE, PRED, weights=np.ones(N))["accuracy"].interval.method == "logit-t"


@pytest.mark.parametrize("key", ["roc_auc", "average_precision", "accuracy", "f1_macro", "mae", "pearson"])
def test_clusters_of_one_item_and_weights_of_one_change_no_interval_beyond_its_kind(key):
    labels = (TASKS[:, 0] == 1).astype(int)
    given = (NUMBERS, GUESSES) if key in ("mae", "pearson") else (labels, (SCORES[:, 0] > 0.5).astype(int))
    options = {"scores": SCORES[:, 0]} if key in ("roc_auc", "average_precision") else {}
    plain, apart, equal = (
        prediction.evaluate(*given, **options, **more, metrics=[key])[key]
        for more in ({}, {"cluster": np.arange(N)}, {"weights": np.full(N, 3.0)})
    )
    assert tuple(apart.interval)[:2] == pytest.approx(tuple(equal.interval)[:2], rel=1e-9)
    if plain.interval.method != "wilson":
        assert tuple(plain.interval)[:2] == pytest.approx(tuple(apart.interval)[:2], rel=1e-9)
