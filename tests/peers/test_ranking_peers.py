"""Agreement with brute force and with the libraries people use today, and the table of where these answer otherwise.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/ranking.md`.
"""

from __future__ import annotations

import importlib
import itertools
import math
import os
import statistics
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgauge import ranking
from graphgauge.core.errors import InputError
from graphgauge.core.result import Result

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("default")]

RULES = ("realistic", "optimistic", "pessimistic", "expected")
TABLE = Path(__file__).parents[2] / "docs" / "agreement" / "ranking.md"
SHOWN = ("ogb", "py-tgb", "pykeen", "torch_geometric", "torchmetrics", "scikit-learn", "torch", "numpy")


# --------------------------------------------------------------------------------------------- the peers, as called


@cache
def peer(module: str) -> Any:
    """Imported on first use, so that the other tests of this folder can be collected without the peers."""
    if module.startswith("ogb"):
        sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]  # else OGB looks for updates on the network
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(module)


def tensor(values: Any) -> Any:
    return peer("torch").as_tensor(np.asarray(values))


def beside(pos: Any, neg: Any, place: int = 0) -> np.ndarray:
    """Each positive in one row with its negatives, at a given place."""
    pos, neg = np.asarray(pos), np.asarray(neg)
    return np.concatenate([neg[:, :place], pos[:, None], neg[:, place:]], axis=1)


def over_places(at_place: Callable[[int], float], places: int) -> tuple[float, float]:
    """The lowest and the highest answer, as the positive stands first, second, … among its candidates."""
    answers = [float(at_place(place)) for place in range(max(places, 1))]
    return min(answers), max(answers)


def ogb(pos: Any, neg: Any, key: str = "mrr") -> float:
    evaluator = peer("ogb.linkproppred").Evaluator("ogbl-wikikg2")
    return float(evaluator.eval({"y_pred_pos": tensor(pos), "y_pred_neg": tensor(neg)})[f"{key}_list"].mean())


def ogb_numpy(pos: Any, neg: Any) -> float:
    evaluator = peer("ogb.linkproppred").Evaluator("ogbl-wikikg2")
    return float(np.mean(evaluator.eval({"y_pred_pos": np.asarray(pos), "y_pred_neg": np.asarray(neg)})["mrr_list"]))


def ogb_pooled(pos: Any, neg: Any, k: int) -> float:
    evaluator = peer("ogb.linkproppred").Evaluator("ogbl-ppa")
    evaluator.K = k
    return evaluator.eval({"y_pred_pos": tensor(pos), "y_pred_neg": tensor(neg)})[f"hits@{k}"]


def ogb_auc(pos: Any, neg: Any) -> float:
    evaluator = peer("ogb.linkproppred").Evaluator("ogbl-vessel")
    return float(evaluator.eval({"y_pred_pos": tensor(pos), "y_pred_neg": tensor(neg)})["rocauc"])


def tgb(pos: Any, neg: Any, key: str = "mrr") -> float:
    k = int(key.partition("@")[2] or 10)
    evaluator = peer("tgb.linkproppred.evaluate").Evaluator("tgbl-wiki", k_value=k)
    # TGB's own loops ask for one metric at a time, and get both.
    found = evaluator.eval({"y_pred_pos": np.asarray(pos), "y_pred_neg": np.asarray(neg), "eval_metric": ["mrr"]})
    return float(found[key])


def pykeen(pos: Any, neg: Any, key: str = "mrr", rank_type: str = "realistic") -> float:
    name, _, k = key.partition("@")
    metric = getattr(peer("pykeen.metrics.ranking"), _PYKEEN[name])
    evaluator = peer("pykeen.evaluation").RankBasedEvaluator(
        metrics=[metric], metrics_kwargs=[{"k": int(k)} if k else None], add_defaults=False
    )
    scores = tensor(beside(pos, neg))
    evaluator.process_scores_(None, "tail", scores, true_scores=scores[:, :1])
    found = {key[:2]: value for key, value in evaluator.finalize().data.items()}
    return float(found["both", rank_type])


_PYKEEN = {
    "mrr": "InverseHarmonicMeanRank",
    "hits": "HitsAtK",
    "mean_rank": "ArithmeticMeanRank",
    "median_rank": "MedianRank",
    "geometric_mean_rank": "GeometricMeanRank",
    "amri": "AdjustedArithmeticMeanRankIndex",
    "adjusted_mrr": "AdjustedInverseHarmonicMeanRank",
    "adjusted_hits": "AdjustedHitsAtK",
}


def pyg_lists(scores: Any, labels: Any, metric: str, k: int) -> float:
    """Scores and labels (queries, candidates); PyG takes the indices of the top k, which the caller sorts out."""
    scores, labels = tensor(scores), tensor(labels)
    found = getattr(peer("torch_geometric.metrics"), f"LinkPred{metric}")(k)
    found.update(scores.topk(min(k, scores.shape[1]), dim=1).indices, labels.nonzero().T)
    return float(found.compute())


def pyg(pos: Any, neg: Any, metric: str = "MRR", k: int | None = None) -> tuple[float, float]:
    def at_place(place: int) -> float:
        scores = beside(pos, neg, place)
        labels = np.zeros(scores.shape, int)
        labels[:, place] = 1
        return pyg_lists(scores, labels, metric, k or scores.shape[1])

    return over_places(at_place, np.asarray(neg).shape[1] + 1)


def torchmetrics_flat(scores: Any, labels: Any, queries: Any, metric: str, k: int | None) -> float:
    found = getattr(peer("torchmetrics.retrieval"), f"Retrieval{metric}")(top_k=k)
    found.update(tensor(scores), tensor(labels), indexes=tensor(queries))
    return float(found.compute())


def torchmetrics(pos: Any, neg: Any, metric: str = "MRR", k: int | None = None) -> tuple[float, float]:
    def at_place(place: int) -> float:
        scores = beside(pos, neg, place)
        labels = np.zeros(scores.shape, int)
        labels[:, place] = 1
        queries = np.repeat(np.arange(len(scores)), scores.shape[1])
        return torchmetrics_flat(scores.ravel(), labels.ravel(), queries, metric, k)

    return over_places(at_place, np.asarray(neg).shape[1] + 1)


def torchmetrics_pooled(pos: Any, neg: Any, metric: str) -> float:
    found = getattr(peer("torchmetrics.classification"), f"Binary{metric}")()
    found.update(*(tensor(values) for values in _pool(pos, neg)[::-1]))
    return float(found.compute())


def sklearn(pos: Any, neg: Any, metric: str = "label_ranking_average_precision_score", **options: Any) -> float:
    scores = beside(pos, neg)
    truth = np.zeros(scores.shape, int)
    truth[:, 0] = 1
    return float(getattr(peer("sklearn.metrics"), metric)(truth, scores, **options))


def sklearn_pooled(pos: Any, neg: Any, metric: str) -> float:
    return float(getattr(peer("sklearn.metrics"), metric)(*_pool(pos, neg)))


def _pool(pos: Any, neg: Any) -> tuple[np.ndarray, np.ndarray]:
    pos, neg = np.asarray(pos), np.asarray(neg)
    return np.r_[np.ones(len(pos), int), np.zeros(len(neg), int)], np.concatenate([pos, neg])


# ------------------------------------------------------------------------------------------------ brute force agrees


def places(pos: Any, neg: list[Any], ties: str) -> list[Fraction]:
    """The places a positive may take among its candidates, each as likely."""
    greater, equal = sum(score > pos for score in neg), sum(score == pos for score in neg)
    if ties == "expected":
        return [Fraction(greater + 1 + shift) for shift in range(equal + 1)]
    return [1 + greater + {"optimistic": 0, "realistic": Fraction(equal, 2), "pessimistic": equal}[ties]]


def mean(values: Any) -> Any:
    values = list(values)
    return sum(values) / len(values)


def at_places(queries: list[list[Fraction]], value: Callable[[Fraction], Any]) -> float:
    return float(mean(mean(value(place) for place in query) for query in queries))


ragged = st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 4), max_size=9)), min_size=1, max_size=7)


@settings(deadline=None)
@given(ragged, st.sampled_from(RULES), st.integers(1, 12))
def test_ranks_equal_brute_force(queries: list[tuple[int, list[int]]], ties: str, k: int) -> None:
    offsets = np.cumsum([0, *(len(neg) for _, neg in queries)])
    flat = np.array([score for _, neg in queries for score in neg], np.int64)
    found = ranking.evaluate([pos for pos, _ in queries], flat, offsets=offsets, k=k, ties=ties)
    taken = [places(pos, neg, ties) for pos, neg in queries]
    expected = {
        "mrr": at_places(taken, lambda place: 1 / place),
        f"hits@{k}": at_places(taken, lambda place: Fraction(place <= k)),
        "mean_rank": at_places(taken, lambda place: place),
        "geometric_mean_rank": math.exp(at_places(taken, lambda place: math.log(place))),
        f"ndcg@{k}": at_places(taken, lambda place: 1 / math.log2(1 + place) if place <= k else 0.0),
    }
    mass = math.lcm(*(len(query) for query in taken))
    spread = [place for query in taken for place in query for _ in range(mass // len(query))]
    expected["median_rank"] = float(statistics.median(spread))

    anyhow = [places(pos, neg, "expected") for pos, neg in queries]
    blind = [places(0, [0] * len(neg), "expected") for _, neg in queries]
    adjusted = {
        "amri": (lambda place: place, 1),
        "adjusted_mrr": (lambda place: 1 / place, 1),
        f"adjusted_hits@{k}": (lambda place: Fraction(place <= k), 1),
    }
    for key, (value, best) in adjusted.items():
        observed, chance = at_places(anyhow, value), at_places(blind, value)
        expected[key] = math.nan if chance == best else (observed - chance) / (best - chance)
    assert found.to_flat() == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=5).filter(
            lambda candidates: any(label for _, label in candidates)
        ),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(RULES),
    st.integers(1, 7),
)
def test_lists_equal_brute_force(queries: list[list[tuple[int, int]]], ties: str, k: int) -> None:
    flat = [(score, label, query) for query, candidates in enumerate(queries) for score, label in candidates]
    scores, labels, ids = zip(*flat, strict=True)
    found = ranking.evaluate(scores=scores, labels=labels, queries=ids, k=k, ties=ties)
    orders = [_orders(candidates, ties) for candidates in queries]
    for key, value in {"recall": _recall, "precision": _precision, "map": _average_precision, "ndcg": _ndcg}.items():
        expected = mean(mean(value(order, k) for order in these) for these in orders)
        assert found[f"{key}@{k}"].value == pytest.approx(expected, rel=1e-12, abs=1e-12)


def _orders(candidates: list[tuple[int, int]], ties: str) -> list[list[int]]:
    """The labels in every order that the scores allow; under a one-sided rule in the one order it picks."""
    if ties in ("optimistic", "pessimistic"):
        side = -1 if ties == "optimistic" else 1
        return [[label for _, label in sorted(candidates, key=lambda pair: (-pair[0], side * pair[1]))]]
    orders = itertools.permutations(candidates)
    return [
        [label for _, label in order]
        for order in orders
        if all(first[0] >= second[0] for first, second in itertools.pairwise(order))
    ]


def _recall(labels: list[int], k: int) -> float:
    return sum(labels[:k]) / sum(labels)


def _precision(labels: list[int], k: int) -> float:
    return sum(labels[:k]) / k


def _average_precision(labels: list[int], k: int) -> float:
    hits = [sum(labels[: place + 1]) / (place + 1) for place, label in enumerate(labels[:k]) if label]
    return sum(hits) / min(sum(labels), k)


def _ndcg(labels: list[int], k: int) -> float:
    def gain(order: list[int]) -> float:
        return sum(label / math.log2(place + 2) for place, label in enumerate(order[:k]))

    return gain(labels) / gain(sorted(labels, reverse=True))


scores_1d = st.lists(st.integers(0, 6), min_size=1, max_size=12)


@settings(deadline=None)
@given(scores_1d, scores_1d, st.integers(1, 12))
def test_pooled_equal_brute_force(pos: list[int], neg: list[int], k: int) -> None:
    pairs = [Fraction(1 if p > n else 0) + Fraction(p == n, 2) for p in pos for n in neg]
    assert ranking.roc_auc(pos, neg) == pytest.approx(float(mean(pairs)), rel=1e-12)
    precision = [sum(p >= at for p in pos) / sum(score >= at for score in pos + neg) for at in pos]
    assert ranking.average_precision(pos, neg) == pytest.approx(mean(precision), rel=1e-12)
    # One query holds all negatives, so that the pool of (n, k) scores is the two lists.
    offsets = [0, *[len(neg)] * len(pos)]
    found = ranking.evaluate(pos, neg, offsets=offsets, k=k, metrics=["pooled_hits"])[f"pooled_hits@{k}"]
    threshold = sorted(neg)[-k] if len(neg) >= k else -1
    assert found.value == pytest.approx(mean(score > threshold for score in pos), rel=1e-12)


# --------------------------------------------------------------------------------------------------- the peers agree


def draw_scores(seed: int, levels: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Positives that tend to win, and their negatives; tied where they are rounded to levels."""
    draw = np.random.default_rng(seed)
    pos, neg = draw.normal(1, 1, 80), draw.normal(0, 1, (80, 17))
    if levels is not None:
        pos, neg = (np.round(values * levels / 6) for values in (pos, neg))
    return pos.astype(np.float32), neg.astype(np.float32)


def draw_lists(seed: int, levels: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Scores above 0 and labels (queries, candidates), one to six positives a query."""
    draw = np.random.default_rng(seed)
    labels = np.zeros((40, 15), int)
    for row in labels:
        row[: draw.integers(1, 7)] = 1
        draw.shuffle(row)
    scores = draw.uniform(0.01, 0.99, labels.shape) + 0.3 * labels
    if levels is not None:
        scores = (1 + np.floor(scores * levels)) / 8
    return scores.astype(np.float32), labels


SEEDS = range(3)
scored = pytest.mark.parametrize(
    ("pos", "neg"), [draw_scores(seed, levels) for seed in SEEDS for levels in (None, 12, 3)]
)
untied = pytest.mark.parametrize(("pos", "neg"), [draw_scores(seed) for seed in SEEDS])
lists = pytest.mark.parametrize(("scores", "labels"), [draw_lists(seed, levels) for seed in SEEDS for levels in (None, 4)])
untied_lists = pytest.mark.parametrize(("scores", "labels"), [draw_lists(seed) for seed in SEEDS])


@pytest.mark.parametrize("key", ["mrr", "hits@1", "hits@3", "hits@10"])
@scored
def test_ogb_and_tgb_rank_alike(pos: np.ndarray, neg: np.ndarray, key: str) -> None:
    ours = ranking.evaluate(pos, neg)[key].value
    assert ours == pytest.approx(ogb(pos, neg, key), rel=1e-6)
    assert ours == pytest.approx(tgb(pos, neg, key), rel=1e-6)


@pytest.mark.parametrize("k", [1, 20, 50, 100])
@scored
def test_ogb_pools_alike(pos: np.ndarray, neg: np.ndarray, k: int) -> None:
    ours = ranking.evaluate(pos, neg, k=k, metrics=["pooled_hits", "roc_auc"])
    assert ours[f"pooled_hits@{k}"].value == pytest.approx(ogb_pooled(pos, neg.ravel(), k), rel=1e-12)
    assert ours["roc_auc"].value == pytest.approx(ogb_auc(pos, neg.ravel()), rel=1e-12)


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic"])
@scored
def test_pykeen_ranks_alike(pos: np.ndarray, neg: np.ndarray, ties: str) -> None:
    ours = ranking.evaluate(pos, neg, ties=ties)
    for key in ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "median_rank", "geometric_mean_rank"):
        assert ours[key].value == pytest.approx(pykeen(pos, neg, key, ties), rel=1e-6), key


@scored
def test_pykeen_mean_rank_index_alike(pos: np.ndarray, neg: np.ndarray) -> None:
    assert ranking.evaluate(pos, neg)["amri"].value == pytest.approx(pykeen(pos, neg, "amri"), rel=1e-5)


@untied
def test_pykeen_adjusts_alike_without_ties(pos: np.ndarray, neg: np.ndarray) -> None:
    ours = ranking.evaluate(pos, neg)
    for key in ("adjusted_mrr", "adjusted_hits@1", "adjusted_hits@10"):
        assert ours[key].value == pytest.approx(pykeen(pos, neg, key), rel=1e-5), key


@untied
def test_pykeen_filters_alike(pos: np.ndarray, neg: np.ndarray) -> None:
    mask = np.random.default_rng(9).random(neg.shape) < 0.7
    ours = ranking.evaluate(pos, neg, mask=mask)
    filtered = np.where(mask, neg, np.float32(np.nan))  # PyKEEN's own mark of a filtered candidate
    for key in ("mrr", "hits@3", "mean_rank", "amri", "adjusted_mrr", "adjusted_hits@3"):
        assert ours[key].value == pytest.approx(pykeen(pos, filtered, key), rel=1e-5), key


@scored
def test_scikit_learn_agrees(pos: np.ndarray, neg: np.ndarray) -> None:
    pessimistic, expected = (ranking.evaluate(pos, neg, ties=ties) for ties in ("pessimistic", "expected"))
    assert pessimistic["mrr"].value == pytest.approx(sklearn(pos, neg), rel=1e-12)
    assert pessimistic["mean_rank"].value == pytest.approx(sklearn(pos, neg, "coverage_error"), rel=1e-12)
    assert expected["ndcg@10"].value == pytest.approx(sklearn(pos, neg, "ndcg_score", k=10), rel=1e-12)
    pooled = ranking.evaluate(pos, neg, metrics=["roc_auc", "average_precision"])
    assert pooled["roc_auc"].value == pytest.approx(sklearn_pooled(pos, neg.ravel(), "roc_auc_score"), rel=1e-12)
    theirs = sklearn_pooled(pos, neg.ravel(), "average_precision_score")
    assert pooled["average_precision"].value == pytest.approx(theirs, rel=1e-12)


def _flat(scores: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    queries = np.repeat(np.arange(len(scores)), scores.shape[1])
    return {"scores": scores.ravel(), "labels": labels.ravel(), "queries": queries}


@lists
def test_scikit_learn_ndcg_agrees_on_lists(scores: np.ndarray, labels: np.ndarray) -> None:
    for k in (1, 5, 10):
        ours = ranking.evaluate(**_flat(scores, labels), k=k, ties="expected")[f"ndcg@{k}"].value
        assert ours == pytest.approx(float(peer("sklearn.metrics").ndcg_score(labels, scores, k=k)), rel=1e-12)


@untied
def test_pyg_agrees_without_ties(pos: np.ndarray, neg: np.ndarray) -> None:
    ours = ranking.evaluate(pos, neg)
    for key, metric, k in (("mrr", "MRR", None), ("hits@3", "HitRatio", 3), ("hits@10", "HitRatio", 10)):
        assert pyg(pos, neg, metric, k) == pytest.approx([ours[key].value] * 2, rel=1e-5), key


@pytest.mark.parametrize("k", [1, 5, 10])
@untied_lists
def test_pyg_agrees_on_lists_without_ties(scores: np.ndarray, labels: np.ndarray, k: int) -> None:
    ours = ranking.evaluate(**_flat(scores, labels), k=k)
    for key, metric in {"recall": "Recall", "precision": "Precision", "map": "MAP", "ndcg": "NDCG"}.items():
        assert ours[f"{key}@{k}"].value == pytest.approx(pyg_lists(scores, labels, metric, k), rel=1e-5), key


@untied
def test_torchmetrics_agrees_on_positive_scores_without_ties(pos: np.ndarray, neg: np.ndarray) -> None:
    pos, neg = pos + 10, neg + 10
    ours = ranking.evaluate(pos, neg)
    for key, metric, k in (("mrr", "MRR", None), ("hits@3", "HitRate", 3), ("hits@10", "HitRate", 10)):
        assert torchmetrics(pos, neg, metric, k) == pytest.approx([ours[key].value] * 2, rel=1e-5), key


@lists
def test_torchmetrics_ndcg_agrees_on_lists(scores: np.ndarray, labels: np.ndarray) -> None:
    flat = _flat(scores, labels)
    for k in (1, 5, 15):
        ours = ranking.evaluate(**flat, k=k, ties="expected")[f"ndcg@{k}"].value
        assert ours == pytest.approx(torchmetrics_flat(*flat.values(), "NormalizedDCG", k), rel=1e-5)


@untied_lists
def test_torchmetrics_agrees_on_lists_without_ties(scores: np.ndarray, labels: np.ndarray) -> None:
    flat = _flat(scores, labels)
    ours = ranking.evaluate(**flat, k=(5, 15))
    # With a cut its MAP divides by the positives that made it, not by those that could have.
    for key, metric in {"recall@5": "Recall", "precision@5": "Precision", "map@15": "MAP"}.items():
        theirs = torchmetrics_flat(*flat.values(), metric, int(key.partition("@")[2]))
        assert ours[key].value == pytest.approx(theirs, rel=1e-5), key


@scored
def test_torchmetrics_pools_alike_between_0_and_1(pos: np.ndarray, neg: np.ndarray) -> None:
    pos, neg = (np.float32(0.5) + values / 16 for values in (pos, neg))
    assert ranking.roc_auc(pos, neg.ravel()) == pytest.approx(torchmetrics_pooled(pos, neg.ravel(), "AUROC"), rel=1e-5)
    theirs = torchmetrics_pooled(pos, neg.ravel(), "AveragePrecision")
    assert ranking.average_precision(pos, neg.ravel()) == pytest.approx(theirs, rel=1e-5)
