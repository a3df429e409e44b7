"""Agreement with scikit-learn where the conventions are the same."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    ndcg_score,
    roc_auc_score,
    top_k_accuracy_score,
)

from graphgauge import ranking


def drawn(seed: int, levels: int, shape: tuple[int, int] = (60, 8)) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties (few levels) or hardly any (many), of about four positives in eight."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(shape) < 0.5).astype(int)
    labels[:, 0] = 1  # scikit-learn gives queries without positives a value, graphgauge leaves them out
    return labels, rng.integers(0, levels, shape) / 8 + labels * rng.integers(0, 2, shape) / 8


def flat(labels: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    queries = np.repeat(np.arange(len(labels)), labels.shape[1])
    return {"scores": scores.ravel(), "labels": labels.ravel(), "queries": queries}


@pytest.mark.parametrize("levels", [2, 5, 10**6])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pooled_areas(seed: int, levels: int, dtype: type) -> None:
    labels, scores = (array.ravel() for array in drawn(seed, levels))
    scores = scores.astype(dtype)
    pos, neg = scores[labels == 1], scores[labels == 0]
    assert ranking.roc_auc(pos, neg) == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)
    assert ranking.average_precision(pos, neg) == pytest.approx(average_precision_score(labels, scores), rel=1e-12)


@pytest.mark.parametrize("levels", [1, 2, 5, 10**6])
@pytest.mark.parametrize("k", [1, 3, 8, 20])
def test_ndcg_with_ties(levels: int, k: int) -> None:
    labels, scores = drawn(3, levels)
    for rule in ("expected", "realistic"):
        found = ranking.evaluate(**flat(labels, scores), k=k, ties=rule, metrics=["ndcg"])
        assert found[f"ndcg@{k}"].value == pytest.approx(ndcg_score(labels, scores, k=k), rel=1e-12)
    pos, neg = scores[:, 0], scores[:, 1:]
    single = np.zeros_like(labels)
    single[:, 0] = 1
    found = ranking.evaluate(pos, neg, k=k, ties="expected", metrics=["ndcg"])
    assert found[f"ndcg@{k}"].value == pytest.approx(ndcg_score(single, scores, k=k), rel=1e-12)


def test_average_precision_of_untied_lists() -> None:
    labels, scores = drawn(4, 10**6)
    found = ranking.evaluate(**flat(labels, scores), k=8, metrics=["map"])["map@8"].value
    expected = np.mean([average_precision_score(y, s) for y, s in zip(labels, scores, strict=True)])
    assert found == pytest.approx(expected, rel=1e-12)
    assert found == pytest.approx(label_ranking_average_precision_score(labels, scores), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_hits_are_top_k_accuracy(k: int) -> None:
    rng = np.random.default_rng(5)
    scores, target = rng.normal(size=(200, 6)), rng.integers(0, 6, 200)
    pos = scores[np.arange(200), target]
    mask = np.arange(6) != target[:, None]
    found = ranking.hits_at_k(pos, scores, mask=mask, k=k)
    assert found == pytest.approx(top_k_accuracy_score(target, scores, k=k, labels=range(6)), rel=1e-14)
