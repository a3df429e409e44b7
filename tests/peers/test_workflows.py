"""The workflows of the pages: from a library's own output to a comparison, with the numbers of its evaluator."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from graphgauge import ranking

pytestmark = pytest.mark.filterwarnings("default")

ROOT = Path(__file__).parents[2]
NAMES = ("pykeen", "pyg", "recommender", "retrieval")
LONGEST = 14


def example(name: str) -> ModuleType:
    place = f"workflow_{name}"
    spec = importlib.util.spec_from_file_location(place, ROOT / "examples" / f"{place}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[place] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def own_lines(name: str) -> list[str]:
    """What the user writes."""
    text = (ROOT / "examples" / f"workflow_{name}.py").read_text(encoding="utf-8")
    return [line for line in text.partition("# begin\n")[2].partition("    # end")[0].splitlines() if line.strip()]


@pytest.mark.parametrize("name", NAMES)
def test_the_users_part_is_short_and_on_the_page(name: str) -> None:
    assert 0 < len(own_lines(name)) <= LONGEST
    page = (ROOT / "docs" / "workflows" / f"{name}.md").read_text(encoding="utf-8")
    assert f"workflow_{name}.py" in page


@pytest.mark.peers
@pytest.mark.parametrize("name", NAMES)
def test_examples_run_to_the_comparison(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    example(name).main()
    assert re.search(r"\bp (?:=|<|is) \d", capsys.readouterr().out)


@pytest.mark.peers
def test_pykeen_ranks_are_those_of_its_evaluator() -> None:
    from pykeen.evaluation import RankBasedEvaluator

    dataset, models = example("pykeen").trained(epochs=5)
    test, known = dataset.testing.mapped_triples, [dataset.training.mapped_triples, dataset.validation.mapped_triples]
    for model in models.values():
        peer = RankBasedEvaluator().evaluate(model, test, additional_filter_triples=known, use_tqdm=False)
        pairs = {
            "mrr": "inverse_harmonic_mean_rank",
            "mean_rank": "arithmetic_mean_rank",
            **{f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 10)},
        }
        own = ranking.evaluate(ranking.Queries.from_triples(model, test, known=known), metrics=[*pairs])
        for key, name in pairs.items():
            assert own[key].value == pytest.approx(peer.get_metric(f"both.realistic.{name}"), rel=1e-5)
        sides = own.by("side")
        values = dict(zip(sides["side"], sides["mrr"], strict=True))
        for side in ("head", "tail"):
            expected = peer.get_metric(f"{side}.realistic.inverse_harmonic_mean_rank")
            assert values[side] == pytest.approx(expected, rel=1e-5)


@pytest.mark.peers
def test_pyg_scores_are_those_of_ogb_and_of_pyg() -> None:
    from ogb.linkproppred import Evaluator

    train, test, models = example("pyg").trained(epochs=20)
    for model in models.values():
        z = model.encode(train.x, train.edge_index).detach()
        pos, neg = (model.decode(z, edges) for edges in (test.pos_edge_label_index, test.neg_edge_label_index))
        own = ranking.evaluate(pos, neg, k=[10, 20, 50])
        for k in (10, 20, 50):
            evaluator = Evaluator(name="ogbl-ddi")
            evaluator.K = k
            peer = evaluator.eval({"y_pred_pos": pos, "y_pred_neg": neg})[f"hits@{k}"]
            assert own[f"pooled_hits@{k}"].value == pytest.approx(peer, abs=1e-12)
        auc, precision = model.test(z, test.pos_edge_label_index, test.neg_edge_label_index)
        assert own["roc_auc"].value == pytest.approx(auc, abs=1e-12)
        assert own["average_precision"].value == pytest.approx(precision, abs=1e-12)


@pytest.mark.peers
def test_recommendations_are_scored_as_pyg_and_torchmetrics_do() -> None:
    import torch
    from torch_geometric.metrics import LinkPredHitRatio, LinkPredNDCG, LinkPredPrecision, LinkPredRecall
    from torchmetrics.retrieval import RetrievalNormalizedDCG, RetrievalRecall

    module = example("recommender")
    train, test = module.ratings()
    scores = module.trained(train)["SVD"]
    own = ranking.recommend(scores, known=train, test=test, k=[10, 20], metrics="all")
    masked = torch.from_numpy(np.where(train.toarray() > 0, -np.inf, scores))
    users, items = test.nonzero()
    for k in (10, 20):
        for key, peer in (
            ("recall", LinkPredRecall),
            ("precision", LinkPredPrecision),
            ("ndcg", LinkPredNDCG),
            ("hit_ratio", LinkPredHitRatio),
        ):
            metric = peer(k)
            metric.update(masked.topk(k, dim=1).indices, torch.from_numpy(np.stack([users, items])).long())
            assert own[f"{key}@{k}"].value == pytest.approx(float(metric.compute()), abs=1e-6), (key, k)
        free = train.toarray() == 0
        query = torch.from_numpy(np.nonzero(free)[0])
        shifted = torch.from_numpy(scores[free] - scores.min() + 1)  # torchmetrics takes scores above 0 only
        target = torch.from_numpy(test.toarray()[free] > 0)
        for key, other in (("recall", RetrievalRecall), ("ndcg", RetrievalNormalizedDCG)):
            value = other(top_k=k)(shifted, target, indexes=query)
            assert own[f"{key}@{k}"].value == pytest.approx(float(value), abs=1e-5), (key, k)


def graded(**options: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    module = example("retrieval")
    queries, texts, grades = module.documentation()
    scores = module.scored(queries, texts)["words"]
    query = np.repeat(np.arange(len(queries)), len(texts))
    lists = ranking.Queries.from_lists(scores.ravel(), grades.ravel(), query)
    return scores, grades, ranking.evaluate(lists, k=[10], **options)


def test_graded_relevance_is_scored_as_scikit_learn_does() -> None:
    from sklearn.metrics import ndcg_score

    scores, grades, found = graded(ties="expected")
    assert set(np.unique(grades)) == {0, 1, 2}
    assert found["ndcg@10"].value == pytest.approx(ndcg_score(grades, scores, k=10), abs=1e-12)
    assert found["ndcg@10"].n == len(grades)
