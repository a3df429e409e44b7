"""Agreement with brute force and with other libraries, and the table of the cases in which they differ.

`GRAPHGAUGE_REGENERATE=1` rewrites the table, `docs/agreement/ranking.md`.
"""

from __future__ import annotations

import importlib
import itertools
import math
import statistics
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.peers.agreement import assert_current, versions

from graphgauge import ranking
from graphgauge.core.result import Result
from graphgauge.ranking import Queries

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


class NotExpressible(Exception):
    """The peer's interface has no place for such an input."""


def beside(pos: Any, neg: Any, place: int = 0) -> np.ndarray:
    """Each positive in one row with its negatives, at a given place."""
    pos, neg = np.asarray(pos), np.asarray(neg)
    if len(pos) != len(neg):
        raise NotExpressible
    return np.concatenate([neg[:, :place], pos[:, None], neg[:, place:]], axis=1)


def extremes(answers: Iterable[Any]) -> tuple[float, float]:
    """The lowest and the highest answer, of the same candidates in other orders."""
    found = [float(answer) for answer in answers]
    return min(found), max(found)


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

    return extremes(at_place(place) for place in range(np.asarray(neg).shape[1] + 1))


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

    return extremes(at_place(place) for place in range(np.asarray(neg).shape[1] + 1))


def torchmetrics_pooled(pos: Any, neg: Any, metric: str) -> tuple[float, float]:
    def in_order(step: int) -> float:
        labels, scores = (tensor(values[::step].copy()) for values in _pool(pos, neg))
        found = getattr(peer("torchmetrics.classification"), f"Binary{metric}")()
        found.update(scores, labels)
        return float(found.compute())

    return extremes(in_order(step) for step in (1, -1))


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


@given(ragged, st.sampled_from(RULES), st.integers(1, 12))
def test_ranks_equal_brute_force(queries: list[tuple[int, list[int]]], ties: str, k: int) -> None:
    offsets = np.cumsum([0, *(len(neg) for _, neg in queries)])
    flat = np.array([score for _, neg in queries for score in neg], np.int64)
    found = ranking.evaluate([pos for pos, _ in queries], (flat, offsets), k=k, ties=ties, metrics="all")
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
    assert {key: found[key].value for key in expected} == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@settings(max_examples=60)
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
    found = ranking.evaluate(Queries.from_lists(scores, labels, ids), k=k, ties=ties, metrics="all")
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


@given(scores_1d, scores_1d, st.integers(1, 12))
def test_pooled_equal_brute_force(pos: list[int], neg: list[int], k: int) -> None:
    pairs = [Fraction(1 if p > n else 0) + Fraction(p == n, 2) for p in pos for n in neg]
    assert ranking.roc_auc(pos, neg) == pytest.approx(float(mean(pairs)), rel=1e-12)
    precision = [sum(p >= at for p in pos) / sum(score >= at for score in pos + neg) for at in pos]
    assert ranking.average_precision(pos, neg) == pytest.approx(mean(precision), rel=1e-12)
    # One query contains all negatives, so that the pool of (n, k) scores is the two lists.
    offsets = [0, *[len(neg)] * len(pos)]
    found = ranking.evaluate(pos, (neg, offsets), k=k, metrics=["pooled_hits"])[f"pooled_hits@{k}"]
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
lists = pytest.mark.parametrize(
    ("scores", "labels"), [draw_lists(seed, levels) for seed in SEEDS for levels in (None, 4)]
)
untied_lists = pytest.mark.parametrize(("scores", "labels"), [draw_lists(seed) for seed in SEEDS])


@pytest.mark.parametrize("key", ["mrr", "hits@1", "hits@3", "hits@10"])
@scored
def test_ogb_and_tgb_rank_alike(pos: np.ndarray, neg: np.ndarray, key: str) -> None:
    ours = ranking.evaluate(pos, neg, metrics="all")[key].value
    assert ours == pytest.approx(ogb(pos, neg, key), rel=1e-6)
    assert ours == pytest.approx(tgb(pos, neg, key), rel=1e-6)


@pytest.mark.parametrize("k", [1, 20, 50, 100])
@scored
def test_ogb_pools_alike(pos: np.ndarray, neg: np.ndarray, k: int) -> None:
    ours = ranking.evaluate(pos, neg, k=k, metrics=["pooled_hits", "roc_auc"])
    assert ours[f"pooled_hits@{k}"].value == pytest.approx(ogb_pooled(pos, neg.ravel(), k), rel=1e-12)
    assert ours["roc_auc"].value == pytest.approx(ogb_auc(pos, neg.ravel()), rel=1e-12)
    pool = ranking.evaluate(pos, neg.ravel(), k=k)  # as OGB's own arrays are
    assert pool[f"pooled_hits@{k}"].value == pytest.approx(ogb_pooled(pos, neg.ravel(), k), rel=1e-12)
    assert pool["roc_auc"].value == ours["roc_auc"].value


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic"])
@scored
def test_pykeen_ranks_alike(pos: np.ndarray, neg: np.ndarray, ties: str) -> None:
    ours = ranking.evaluate(pos, neg, ties=ties, metrics="all")
    for key in ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "median_rank", "geometric_mean_rank"):
        assert ours[key].value == pytest.approx(pykeen(pos, neg, key, ties), rel=1e-6), key


@scored
def test_pykeen_mean_rank_index_alike(pos: np.ndarray, neg: np.ndarray) -> None:
    assert ranking.evaluate(pos, neg, metrics="all")["amri"].value == pytest.approx(pykeen(pos, neg, "amri"), rel=1e-5)


@untied
def test_pykeen_adjusts_alike_without_ties(pos: np.ndarray, neg: np.ndarray) -> None:
    ours = ranking.evaluate(pos, neg, metrics="all")
    for key in ("adjusted_mrr", "adjusted_hits@1", "adjusted_hits@10"):
        assert ours[key].value == pytest.approx(pykeen(pos, neg, key), rel=1e-5), key


@untied
def test_pykeen_filters_alike(pos: np.ndarray, neg: np.ndarray) -> None:
    mask = np.random.default_rng(9).random(neg.shape) < 0.7
    ours = ranking.evaluate(pos, neg, mask=mask, metrics="all")
    filtered = np.where(mask, neg, np.float32(np.nan))  # PyKEEN's own mark of a filtered candidate
    for key in ("mrr", "hits@3", "mean_rank", "amri", "adjusted_mrr", "adjusted_hits@3"):
        assert ours[key].value == pytest.approx(pykeen(pos, filtered, key), rel=1e-5), key


@pytest.mark.parametrize("name", ["ComplEx", "RotatE", "TransE"])
def test_pykeen_models_rank_alike_on_both_sides(name: str) -> None:
    """A model as it is, the triples as tensors: PyKEEN's own filtered evaluation."""
    torch = peer("torch")
    data = peer("pykeen.datasets").Nations()
    model = (
        peer("pykeen.models")
        .model_resolver.make(name, triples_factory=data.training, embedding_dim=8, random_seed=0)
        .eval()
    )
    test, known = data.testing.mapped_triples, [data.training.mapped_triples, data.validation.mapped_triples]
    evaluator = peer("pykeen.evaluation").RankBasedEvaluator(filtered=True)
    theirs = evaluator.evaluate(model, test, additional_filter_triples=known, use_tqdm=False, batch_size=64)
    found = ranking.evaluate(Queries.from_triples(model, test, known=known), metrics="all")
    for side, mine in (
        ("both", found["mrr"].value),
        *zip(("head", "tail"), found.by("side")["mrr"][:2], strict=True),
    ):
        # PyKEEN adds reciprocal ranks in float32.
        assert mine == pytest.approx(theirs.get_metric(f"{side}.realistic.inverse_harmonic_mean_rank"), rel=1e-5)
    assert found["hits@10"].value == pytest.approx(theirs.get_metric("both.realistic.hits_at_10"), rel=1e-6)
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("metric", ["Precision", "Recall", "MAP", "NDCG", "MRR", "HitRatio"])
@untied_lists
def test_pyg_agrees_on_lists_of_the_first(scores: np.ndarray, labels: np.ndarray, metric: str) -> None:
    """PyG takes the indices of the first k, as `rank_topk` does."""
    k = min(3, scores.shape[1])
    lists = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    ours = {
        "Precision": "precision",
        "Recall": "recall",
        "MAP": "map",
        "NDCG": "ndcg",
        "MRR": "mrr_first",
        "HitRatio": "hit_ratio",
    }[metric]
    found = ranking.evaluate(Queries.from_topk(lists, labels.astype(bool)), k=k, metrics="all")[f"{ours}@{k}"].value
    has = labels.any(axis=1)  # PyG counts queries without a right answer as 0
    assert found == pytest.approx(pyg_lists(scores[has], labels[has], metric, k), rel=1e-5)


@scored
def test_scikit_learn_agrees(pos: np.ndarray, neg: np.ndarray) -> None:
    pessimistic, expected = (
        ranking.evaluate(pos, neg, ties=ties, metrics="all") for ties in ("pessimistic", "expected")
    )
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
        ours = ranking.evaluate(Queries.from_lists(**_flat(scores, labels)), metrics="all", k=k, ties="expected")[
            f"ndcg@{k}"
        ].value
        assert ours == pytest.approx(float(peer("sklearn.metrics").ndcg_score(labels, scores, k=k)), rel=1e-12)


@untied
def test_pyg_agrees_without_ties(pos: np.ndarray, neg: np.ndarray) -> None:
    ours = ranking.evaluate(pos, neg, metrics="all")
    for key, metric, k in (("mrr", "MRR", None), ("hits@3", "HitRatio", 3), ("hits@10", "HitRatio", 10)):
        assert pyg(pos, neg, metric, k) == pytest.approx([ours[key].value] * 2, rel=1e-5), key


@pytest.mark.parametrize("k", [1, 5, 10])
@untied_lists
def test_pyg_agrees_on_lists_without_ties(scores: np.ndarray, labels: np.ndarray, k: int) -> None:
    ours = ranking.evaluate(Queries.from_lists(**_flat(scores, labels)), metrics="all", k=k)
    for key, metric in {"recall": "Recall", "precision": "Precision", "map": "MAP", "ndcg": "NDCG"}.items():
        assert ours[f"{key}@{k}"].value == pytest.approx(pyg_lists(scores, labels, metric, k), rel=1e-5), key


@untied
def test_torchmetrics_agrees_on_positive_scores_without_ties(pos: np.ndarray, neg: np.ndarray) -> None:
    pos, neg = pos + 10, neg + 10
    ours = ranking.evaluate(pos, neg, metrics="all")
    for key, metric, k in (("mrr", "MRR", None), ("hits@3", "HitRate", 3), ("hits@10", "HitRate", 10)):
        assert torchmetrics(pos, neg, metric, k) == pytest.approx([ours[key].value] * 2, rel=1e-5), key


@lists
def test_torchmetrics_ndcg_agrees_on_lists(scores: np.ndarray, labels: np.ndarray) -> None:
    flat = _flat(scores, labels)
    for k in (1, 5, 15):
        ours = ranking.evaluate(Queries.from_lists(**flat), metrics="all", k=k, ties="expected")[f"ndcg@{k}"].value
        assert ours == pytest.approx(torchmetrics_flat(*flat.values(), "NormalizedDCG", k), rel=1e-5)


@untied_lists
def test_torchmetrics_agrees_on_lists_without_ties(scores: np.ndarray, labels: np.ndarray) -> None:
    flat = _flat(scores, labels)
    ours = ranking.evaluate(Queries.from_lists(**flat), metrics="all", k=(5, 15))
    # With a cut its MAP divides by the positives that made it, not by those that could have.
    for key, metric in {"recall@5": "Recall", "precision@5": "Precision", "map@15": "MAP"}.items():
        theirs = torchmetrics_flat(*flat.values(), metric, int(key.partition("@")[2]))
        assert ours[key].value == pytest.approx(theirs, rel=1e-5), key


@scored
def test_torchmetrics_pools_alike_between_0_and_1(pos: np.ndarray, neg: np.ndarray) -> None:
    pos, neg = (np.float32(0.5) + values / 16 for values in (pos, neg))
    neg = neg.ravel()
    for ours, metric in ((ranking.roc_auc, "AUROC"), (ranking.average_precision, "AveragePrecision")):
        assert torchmetrics_pooled(pos, neg, metric) == pytest.approx([ours(pos, neg)] * 2, rel=1e-5)


def draw_run(seed: int) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """A run and its judgements, as TREC has them: graded, some right documents not found, some found not judged."""
    draw = np.random.default_rng(seed)
    run, judged = {}, {}
    for query in range(30):
        documents = draw.permutation(60)
        found = documents[: draw.integers(12, 40)]
        run[f"q{query}"] = {
            f"d{each}": float(score) for each, score in zip(found, draw.random(len(found)), strict=True)
        }
        right = draw.choice(documents, draw.integers(1, 15), replace=False)
        judged[f"q{query}"] = {f"d{each}": int(draw.integers(1, 4)) for each in right}
    return run, judged


@pytest.mark.parametrize("seed", SEEDS)
def test_ranx_and_ir_measures_agree_on_runs(seed: int) -> None:
    run, judged = draw_run(seed)
    ours = ranking.evaluate(Queries.from_topk(run, judged), k=[5, 10, 60], metrics="all")
    ranx = peer("ranx")
    names = {
        "mrr_first@60": "mrr",
        "map@60": "map",
        **{f"{ours}@{k}": f"{theirs}@{k}" for k in (5, 10) for ours, theirs in _RANX.items()},
    }
    found = ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), list(names.values()))
    for key, name in names.items():
        assert ours[key].value == pytest.approx(found[name], rel=1e-12, abs=1e-12), key
    measures = peer("ir_measures")
    asked = {
        key.replace("{k}", str(k)): name.replace("{k}", str(k)) for k in (5, 10) for key, name in _MEASURES.items()
    }
    parsed = {key: measures.parse_measure(name) for key, name in asked.items()}
    found = measures.calc_aggregate(list(parsed.values()), judged, run)
    for key, measure in parsed.items():
        assert ours[key].value == pytest.approx(found[measure], rel=1e-12, abs=1e-12), key


_RANX = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "hit_ratio": "hit_rate",
    "ndcg": "ndcg",
    "ndcg_exp": "ndcg_burges",
}
_MEASURES = {
    "precision@{k}": "P@{k}",
    "recall@{k}": "R@{k}",
    "ndcg@{k}": "nDCG@{k}",
    "hit_ratio@{k}": "Success@{k}",
    "mrr_first@{k}": "RR@{k}",
    "mrr_first@60": "RR",
    "map@60": "AP",
}


# ------------------------------------------------------------------------------------- the table of where they do not

Names = Mapping[str, Any]
RANKED = ("OGB", "TGB", "PyKEEN", "PyG", "torchmetrics", "scikit-learn")


@dataclass(frozen=True)
class Case:
    """One input, as Python source; graphgauge's rule for it, and its call."""

    title: str
    inputs: str
    rule: str
    call: str

    def names(self) -> dict[str, Any]:
        found: dict[str, Any] = {"np": np, "inf": np.inf, "nan": np.nan}
        exec(self.inputs, found)
        return found


@dataclass(frozen=True)
class Section:
    """Cases of one metric that the same calls of the peers answer; `peers` take the names of a case's inputs."""

    title: str
    peers: Mapping[str, Callable[[Names], Any]]
    cases: tuple[Case, ...]


def both(function: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[Names], Any]:
    """A peer that takes positives and negatives; `matrix` contains the negatives if graphgauge gets them ragged."""
    return lambda names: function(names["pos"], names.get("matrix", names["neg"]), *arguments, **options)


def at_k(function: Callable[..., Any], metric: str = "hits@{k}") -> Callable[[Names], Any]:
    """The same for a metric at the case's k, as part of its name or apart from it."""
    if "{k}" in metric:
        return lambda names: both(function, metric.format(k=names["k"]))(names)
    return lambda names: both(function, metric, names["k"])(names)


def in_any_order(function: Callable[..., Any]) -> Callable[[Names], Any]:
    """A peer that takes flat scores, labels and queries, called with the candidates in every order."""

    def call(names: Names) -> tuple[float, float]:
        columns = [np.asarray(names[name]) for name in ("scores", "labels", "queries")]
        orders = itertools.permutations(range(len(columns[0])))
        by_query = (sorted(order, key=lambda index: columns[2][index]) for order in orders)
        return extremes(function(*(column[order] for column in columns)) for order in by_query)

    return call


def of_lists(metric: str, pyg_k: int, k: int | None) -> dict[str, Callable[[Names], Any]]:
    """PyG's and torchmetrics' metric of lists, on one list of candidates or on rows of them."""
    pyg_name, name = metric.split("/") if "/" in metric else (metric, metric)
    return {
        "PyG": in_any_order(lambda *columns: pyg_lists(*as_rows(*columns), pyg_name, pyg_k)),
        "torchmetrics": in_any_order(lambda *columns: torchmetrics_flat(*columns, name, k)),
    }


def sklearn_rows(metric: str, **options: Any) -> Callable[[Names], Any]:
    def call(*columns: np.ndarray) -> float:
        scores, labels = as_rows(*columns)
        return getattr(peer("sklearn.metrics"), metric)(labels, scores, **options)

    return in_any_order(call)


def as_rows(scores: np.ndarray, labels: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The flat form as (queries, candidates) matrices, for libraries that take these."""
    shape = (len(np.unique(queries)), -1)
    return scores.reshape(shape), labels.reshape(shape)


def of_scores(call: str, *cases: tuple[str, str, str]) -> tuple[Case, ...]:
    return tuple(Case(title, inputs, rule, call) for title, inputs, rule in cases)


def lists_at_2(key: str, *cases: tuple[str, str, str]) -> tuple[Case, ...]:
    return of_scores(f'evaluate(Queries.from_lists(scores, labels, queries), k=2, metrics=["{key}"])["{key}"]', *cases)


FIRST_AND_LAST = "scores, labels, queries = [0.9, 0.8, 0.7, 0.6], [1, 0, 0, 1], [0, 0, 0, 0]"
NONE = "scores, labels, queries = [0.9, 0.8, 0.7, 0.6], [1, 0, 0, 0], [0, 0, 1, 1]"
TIED = "scores, labels, queries = [0.5, 0.5, 0.5, 0.5], [1, 0, 0, 0], [0, 0, 0, 0]"
CUT = "scores, labels, queries = [0.9, 0.8, 0.7, 0.6], [1, 0, 1, 1], [0, 0, 0, 0]"
SHORT = "scores, labels, queries = [0.9], [1], [0]"
BELOW = "scores, labels, queries = [-1.0, -2.0, -3.0, -4.0], [1, 0, 1, 0], [0, 0, 0, 0]"
UNANSWERED = ("a query without positives", NONE, "left out and counted")
CONSTANT = ("constant scorer", TIED, "the mean over random orders")
NEGATIVE = ("scores below 0", BELOW, "only the order counts")
ALL_NAN = ("all scores NaN", "pos, neg = [nan, nan], [nan, nan]", "NaN is refused")
NO_POSITIVES = ("no positives", "pos, neg = np.empty(0), [0.1, 0.2]", "with the reason")
LOGITS = ("logits near 40", "pos, neg = np.float32([40, 41]), np.float32([30, 31])", "only the order counts")
OMITTED = 'evaluate(pos, neg, nan="omit")["mrr"]'
NO_QUERIES = "pos, neg, k = np.empty(0), np.empty((0, 5)), 1"
SECTIONS = (
    Section(
        "MRR",
        dict(zip(RANKED, map(both, (ogb, tgb, pykeen, pyg, torchmetrics, sklearn)), strict=True)),
        (
            *of_scores(
                "mrr(pos, neg)",
                ("nine candidates tied with the positive", "pos, neg = [0.5], [[0.5] * 9]", "the mean place"),
                ("one of three tied", "pos, neg = [0.9], [[0.9, 0.1, 0.1]]", "the mean place"),
                ("all scores NaN", "pos, neg = [nan], [[nan] * 9]", "NaN is refused"),
                ("scores below 0", "pos, neg = [-1.0], [[-2.0, -3.0]]", "only the order counts"),
                ("+inf tied with +inf", "pos, neg = [inf], [[inf, 0.0]]", "an ordinary value"),
                ("positive at −inf", "pos, neg = [-inf], [[-inf, 0.0]]", "an ordinary value"),
                (
                    "float16, different in float64",
                    "pos, neg = np.float16([0.50001]), np.float16([[0.5, 0.4]])",
                    "compared as given",
                ),
                ("float64, tied in float32", "pos, neg = [0.5], [[0.5 + 1e-9, 0.4]]", "compared as given"),
                ("integers beyond 2**53", "pos, neg = np.array([2**53]), np.array([[2**53 + 1, 0]])", "as integers"),
                (
                    "shapes (4,) and (1, 3)",
                    "pos, neg = [0.1, 0.4, 0.6, 0.9], [[0.3, 0.5, 0.7]]",
                    "nothing is broadcast",
                ),
                (
                    "2 and 4 negatives, padded for the others with −inf",
                    "pos, neg = [2.0, 2.0], ([1.0, 3.0, 3.0, 1.0, 2.5, 1.5], [0, 2, 6]); "
                    "matrix = [[1.0, 3.0, -inf, -inf], [3.0, 1.0, 2.5, 1.5]]",
                    "padding is no candidate",
                ),
            ),
            *of_scores(
                OMITTED,
                (
                    "one of two positives NaN",
                    "pos, neg = [nan, 0.5], [[0.1, 0.2], [0.9, 0.1]]",
                    'under `nan="omit"`; else refused',
                ),
                (
                    "two of three negatives NaN",
                    "pos, neg = [0.5], [[nan, nan, 0.9]]",
                    "likewise",
                ),
                ("no queries", NO_QUERIES, "with the reason"),
                ("no negatives", "pos, neg = [0.5], np.empty((1, 0))", "rank 1 of 1; adjusted metrics are NaN"),
            ),
        ),
    ),
    Section(
        "MRR of arrays",
        {"OGB": both(ogb_numpy)},
        of_scores("mrr(pos, neg)", ("not tensors", "pos, neg = [0.5], [[0.1, 0.2]]", "arrays, tensors, lists")),
    ),
    Section(
        "Hits@k",
        {
            "OGB": at_k(ogb),
            "TGB": at_k(tgb),
            "PyKEEN": at_k(pykeen),
            "PyG": at_k(pyg, "HitRatio"),
            "torchmetrics": at_k(torchmetrics, "HitRate"),
        },
        of_scores(
            'evaluate(pos, neg, k=k)[f"hits@{k}"]',
            ("nine candidates tied, k = 3", "pos, neg, k = [0.5], [[0.5] * 9], 3", "rank 5.5; `expected` counts 0.3"),
            (
                "one of three tied, k = 1",
                "pos, neg, k = [0.9], [[0.9, 0.1, 0.1]], 1",
                "rank 1.5; `expected` counts 0.5",
            ),
            ("three candidates, k = 10", "pos, neg, k = [0.1], [[0.5, 0.6]], 10", "with a warning"),
            ("all scores NaN", "pos, neg, k = [nan], [[nan] * 9], 1", "NaN is refused"),
            ("no queries", NO_QUERIES, "with the reason"),
        ),
    ),
    Section(
        "AMRI, adjusted MRR and Hits@1",
        {"PyKEEN": lambda names: [both(pykeen, key)(names) for key in ("amri", "adjusted_mrr", "adjusted_hits@1")]},
        of_scores(
            '[evaluate(pos, neg, metrics="all")[key].value for key in ("amri", "adjusted_mrr", "adjusted_hits@1")]',
            ("nine candidates tied", "pos, neg = [0.5], [[0.5] * 9]", "by `expected` ranks"),
            ("one of three tied", "pos, neg = [0.9], [[0.9, 0.1, 0.1]]", "by `expected` ranks"),
            ("negatives at −inf", "pos, neg = [0.5], [[0.9, -inf, -inf, -inf]]", "ordinary candidates"),
            ("no negatives", "pos, neg = [0.5], np.empty((1, 0))", "with the reason"),
        ),
    ),
    Section(
        "ROC-AUC of a pool",
        {
            "OGB": both(ogb_auc),
            "scikit-learn": both(sklearn_pooled, "roc_auc_score"),
            "torchmetrics": both(torchmetrics_pooled, "AUROC"),
        },
        of_scores(
            "roc_auc(pos, neg)",
            ("all scores equal", "pos, neg = [0.5], [0.5] * 9", "ties count one half"),
            ALL_NAN,
            NO_POSITIVES,
            ("±inf", "pos, neg = [inf, 0.5], [-inf, 0.6]", "ordinary values"),
            LOGITS,
            ("float64, tied in float32", "pos, neg = [0.5], [0.5 + 1e-9, 0.4]", "compared as given"),
        ),
    ),
    Section(
        "Average precision of a pool",
        {
            "scikit-learn": both(sklearn_pooled, "average_precision_score"),
            "torchmetrics": both(torchmetrics_pooled, "AveragePrecision"),
        },
        of_scores(
            "average_precision(pos, neg)",
            ("all scores equal", "pos, neg = [0.5], [0.5] * 9", "ties enter together"),
            ALL_NAN,
            NO_POSITIVES,
            ("no negatives", "pos, neg = [0.1, 0.2], np.empty(0)", "with the reason"),
            LOGITS,
        ),
    ),
    Section(
        "Hits@k of a pool",
        {"OGB": lambda names: ogb_pooled(names["pos"], np.ravel(names["neg"]), names["k"])},
        of_scores(
            'evaluate(pos, neg, k=k, metrics=["pooled_hits"])[f"pooled_hits@{k}"]',
            ("tied with the k-th negative", "pos, neg, k = [0.5, 0.9], [[0.5, 0.7], [0.1, 0.2]], 2", "no hit"),
            ("fewer than k negatives", "pos, neg, k = [0.1], [[0.5, 0.6]], 10", "with a warning"),
            ("negatives NaN", "pos, neg, k = [0.5], [[nan, nan, 0.1]], 2", "NaN is refused"),
            ("nothing to rank", "pos, neg, k = np.empty(0), np.empty((0, 5)), 10", "with the reason"),
        ),
    ),
    Section(
        "MRR of lists",
        of_lists("MRR", 4, None) | {"scikit-learn": sklearn_rows("label_ranking_average_precision_score")},
        (
            *lists_at_2("mrr", ("right answers first and last", FIRST_AND_LAST, "each among the wrong answers")),
            *lists_at_2("mrr_first", ("the same, by the first", FIRST_AND_LAST, "of each query"), UNANSWERED),
        ),
    ),
    Section(
        "Hits@2 of lists",
        of_lists("HitRatio/HitRate", 2, 2),
        (
            *lists_at_2("hits@2", ("right answers first and last", FIRST_AND_LAST, "each among the wrong answers")),
            *lists_at_2("hit_ratio@2", ("the same, by the first", FIRST_AND_LAST, "of each query"), UNANSWERED),
        ),
    ),
    Section(
        "MAP@2",
        of_lists("MAP", 2, 2),
        lists_at_2(
            "map@2", ("three right answers", CUT, "divided by min(positives, k)"), CONSTANT, NEGATIVE, UNANSWERED
        ),
    ),
    Section(
        "Precision@2",
        of_lists("Precision", 2, 2),
        lists_at_2("precision@2", ("one candidate", SHORT, "divided by k"), CONSTANT, NEGATIVE),
    ),
    Section("Recall@2", of_lists("Recall", 2, 2), lists_at_2("recall@2", CONSTANT, NEGATIVE, UNANSWERED)),
    Section(
        "nDCG@2",
        of_lists("NDCG/NormalizedDCG", 2, 2) | {"scikit-learn": sklearn_rows("ndcg_score", k=2)},
        lists_at_2("ndcg@2", CONSTANT, UNANSWERED, ("one candidate", SHORT, "the best order scores 1")),
    ),
)


def shown(call: Callable[[], Any]) -> str | None:
    """A result as the table prints it: a number, a range if it depends on the order of the input, or an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = call()
    except NotExpressible:
        return None
    except Exception as error:  # the exception is shown in the table
        return type(error).__name__
    if isinstance(answer, Result):
        return number(answer.value)
    if isinstance(answer, tuple):
        low, high = (number(value) for value in answer)
        return low if low == high else f"{low}–{high}"
    return ", ".join(number(value) for value in answer) if isinstance(answer, list) else number(answer)


def number(value: float) -> str:
    return f"{round(float(value), 4) + 0.0:.4g}"


def rows_of(section: Section) -> Iterable[str]:
    """The cases in which a peer differs, with the peers by what they return."""
    for case in section.cases:
        names = case.names()
        ours = shown(lambda names=names, call=case.call: eval(call, vars(ranking) | names))
        found: dict[str, list[str]] = {}
        for name, ask in section.peers.items():
            answer = shown(lambda names=names, ask=ask: ask(names))
            if answer is not None:
                found.setdefault(answer, []).append(name)
        if {*found} != {ours}:
            others = "; ".join(f"{', '.join(names)}: {answer}" for answer, names in found.items() if answer != ours)
            yield f"- {case.title}: **{ours}** ({case.rule}). {others}."


def table_text() -> str:
    text = [
        "# Where ranking metrics differ between libraries",
        "",
        "<!-- Written by tests/peers/test_ranking_peers.py; GRAPHGAUGE_REGENERATE=1 make peers rewrites it. -->",
        "",
        "On random scores, also tied ones, the libraries below and graphgauge agree to rounding. These are the",
        "cases in which one differs: first graphgauge's value and rule, then what libraries return or raise. A",
        "range is what one returns for the same candidates in other orders. A library that is not listed agrees,",
        "or has no such input.",
        "",
        "Called are OGB's evaluators of ogbl-wikikg2, ppa and vessel, TGB's of tgbl-wiki, PyKEEN's",
        "`RankBasedEvaluator`, PyG's `LinkPred…` after `topk`, torchmetrics' `Retrieval…`, `BinaryAUROC` and",
        "`BinaryAveragePrecision`, and scikit-learn's `label_ranking_average_precision_score` as MRR, `roc_auc_score`,",
        "`average_precision_score` and `ndcg_score`.",
        "",
        f"Observed with {versions(SHOWN)}.",
        *(line for section in SECTIONS for line in ("", f"## {section.title}", "", *rows_of(section))),
    ]
    return "\n".join(text) + "\n"


def test_the_table_of_differences_is_current() -> None:
    assert_current(TABLE, table_text())
