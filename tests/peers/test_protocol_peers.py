"""Every protocol against the evaluator that it reproduces, on ten random cases.

`GRAPHGAUGE_REGENERATE=1` writes the evaluators' values of the first cases to `tests/protocols/frozen.json`, with
which the tests without peers compare.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest
from tests.peers.agreement import peer
from tests.peers.test_recovery_peers import causal_learn_graph, causal_learn_shd
from tests.protocols.cases import FIRST, NAMES, TASKS, case, ours
from tests.protocols.test_frozen import FROZEN, SEEDS, SLACK, frozen

from graphgauge.protocols import protocol

pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:castle"),
]


def of_ogb_links(name: str, given: Any) -> dict[str, float]:
    torch = peer("torch")
    arrays = {"y_pred_pos": torch.tensor(given["pos"]), "y_pred_neg": torch.tensor(given["neg"])}
    found = peer("ogb.linkproppred").Evaluator(name).eval(arrays)
    values = {key.removesuffix("_list"): float(np.mean(np.asarray(value, float))) for key, value in found.items()}
    return {{"rocauc": "roc_auc"}.get(key, key if "mrr" in values else f"pooled_{key}"): values[key] for key in values}


def of_tgb_links(name: str, given: Any) -> dict[str, float]:
    evaluator = peer("tgb.linkproppred.evaluate").Evaluator(name=name)
    found = [
        {
            key: evaluator.eval({"y_pred_pos": pos[np.newaxis], "y_pred_neg": neg, "eval_metric": [kind]})[key]
            for kind, key in (("mrr", "mrr"), ("hits@", "hits@10"))
        }
        for pos, neg in zip(given["pos"], given["neg"], strict=True)
    ]
    return {key: float(np.mean([each[key] for each in found], dtype=float)) for key in ("mrr", "hits@10")}


def of_tgb_nodes(name: str, given: Any) -> dict[str, float]:
    evaluator = peer("tgb.nodeproppred.evaluate").Evaluator(name=name)
    return {
        "ndcg@10": evaluator.eval({"y_true": given["true"], "y_pred": given["pred"], "eval_metric": ["ndcg"]})["ndcg"]
    }


def of_pykeen(_: str, given: Any) -> dict[str, float]:
    """Its evaluator on the scores of DistMult, of which it leaves out those that are NaN."""
    torch, ranking = peer("torch"), peer("pykeen.metrics.ranking")
    every = np.concatenate([given["test"], given["known"]])
    kinds = [ranking.InverseHarmonicMeanRank, *[ranking.HitsAtK] * 3]
    evaluator = peer("pykeen.evaluation").RankBasedEvaluator(
        metrics=kinds, metrics_kwargs=[None, *({"k": k} for k in (1, 3, 10))], add_defaults=False
    )
    for side, answer, asked in (("tail", 2, 0), ("head", 0, 2)):
        for triple in given["test"]:
            known = (every[:, asked] == triple[asked]) & (every[:, 1] == triple[1])
            scores = given["entities"] @ (given["entities"][triple[asked]] * given["relations"][triple[1]])
            others = np.setdiff1d(every[known, answer], triple[answer])
            own, scores[others] = scores[triple[answer]], np.nan
            evaluator.process_scores_(None, side, torch.tensor(scores[np.newaxis]), torch.tensor([[own]]))
    data = evaluator.finalize().data
    found = {key[2]: value for key, value in data.items() if key[:2] == ("both", "realistic")}
    names = {"inverse_harmonic_mean_rank": "mrr", **{f"hits_at_{k}": f"hits@{k}" for k in (1, 3, 10)}}
    return {names[key]: float(value) for key, value in found.items()}


def of_castle(_: str, given: Any) -> dict[str, float]:
    cut = (np.abs(given["pred"]) > 0.3).astype(int)
    found = peer("castle.metrics").MetricsDAG(cut, given["true"]).metrics
    return {"fdr": found["fdr"], "tpr": found["tpr"], "directed_shd": found["shd"]}


def of_causal_learn(_: str, given: Any) -> dict[str, float]:
    sides = [causal_learn_graph(given[side]) for side in ("true", "pred")]
    adjacent = peer("causallearn.graph.AdjacencyConfusion").AdjacencyConfusion(*sides)
    arrows = peer("causallearn.graph.ArrowConfusion").ArrowConfusion(*sides)
    return {
        "skeleton_precision": adjacent.get_adj_precision(),
        "skeleton_recall": adjacent.get_adj_recall(),
        "arrowhead_precision": arrows.get_arrows_precision(),
        "arrowhead_recall": arrows.get_arrows_recall(),
        "directed_shd": causal_learn_shd(given["true"], given["pred"]),
    }


def of_beeline(_: str, given: Any) -> dict[str, float]:
    """By its rule: the best |edges| candidates that start at a true regulator, ties of the last included."""
    true, weights = given["true"].astype(bool), np.abs(given["pred"])
    possible = true.any(axis=1)[:, np.newaxis] & ~np.eye(len(true), dtype=bool)
    possible &= (true.any(axis=0) | true.any(axis=1))[np.newaxis]
    least = max(np.sort(weights[possible])[::-1][true.sum() - 1], weights[possible & (weights > 0)].min())
    called = possible & (weights >= least)
    return {"early_precision_ratio": (called & true).sum() / called.sum() / (true.sum() / possible.sum())}


def of_ogb_labels(name: str, given: Any) -> dict[str, float]:
    evaluator = peer(f"ogb.{'node' if name.startswith('ogbn') else 'graph'}proppred").Evaluator(name)
    assert evaluator.num_tasks == TASKS.get(name, 1)
    arrays = {"y_true": given["true"].reshape(150, -1), "y_pred": given["pred"].reshape(150, -1)}
    (key,) = protocol("prediction", name).options["metrics"]
    return {key: float(next(iter(evaluator.eval(arrays).values())))}


def of_dcrnn(_: str, given: Any) -> dict[str, float]:
    """Its masked errors: weights 0 where the truth is 0, of mean 1."""
    y, forecast = given["true"], given["pred"]
    weight = (y != 0) / (y != 0).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.nan_to_num(weight * np.abs((forecast - y) / y), posinf=0.0)
    away = np.abs(forecast - y)
    return {"mae": (away * weight).mean(), "rmse": np.sqrt((away**2 * weight).mean()), "mape": share.mean()}


def of_m4(_: str, given: Any) -> dict[str, float]:
    """The losses of utilsforecast, whose sMAPE is half of the competition's 0 to 2; a series per node."""
    pandas, losses = peer("pandas"), peer("utilsforecast.losses")

    def table(values: Any, **more: Any) -> Any:
        steps, nodes = values.shape
        own = {"unique_id": np.tile(np.arange(nodes), steps), "ds": np.repeat(np.arange(steps), nodes)}
        return pandas.DataFrame({**own, "y": values.ravel(), **more})

    test, train = table(given["true"], model=given["pred"].ravel()), table(given["train"])
    return {
        "smape": 2 * losses.smape(test, models=["model"])["model"].mean(),
        "mase": losses.mase(test, models=["model"], seasonality=4, train_df=train)["model"].mean(),
    }


REFERENCES = {
    **dict.fromkeys(("ogbl-ppa", "ogbl-collab", "ogbl-ddi", "ogbl-vessel", "ogbl-citation2"), of_ogb_links),
    **dict.fromkeys(("ogbn-arxiv", "ogbn-proteins", "ogbg-molpcba", "ogbg-molesol"), of_ogb_labels),
    "tgbl-wiki": of_tgb_links,
    "tgbn-trade": of_tgb_nodes,
    "fb15k-237": of_pykeen,
    "notears": of_castle,
    "causal-learn": of_causal_learn,
    "beeline": of_beeline,
    "metr-la": of_dcrnn,
    "m4": of_m4,
}


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_reference(name: str) -> None:
    slack = SLACK.get(FIRST[name], 1e-12)
    for seed in range(10):
        given = case(name, seed)
        theirs, found = REFERENCES[FIRST[name]](name, given), ours(name, given)
        assert found.keys() == theirs.keys()
        for key, value in theirs.items():
            assert found[key] == pytest.approx(value, abs=slack), (key, seed)


def test_frozen_values_are_those_of_the_references() -> None:
    now = {name: [REFERENCES[FIRST[name]](name, case(name, seed)) for seed in SEEDS] for name in NAMES}
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        FROZEN.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    kept = frozen()
    assert kept.keys() == now.keys(), "run with GRAPHGAUGE_REGENERATE=1"
    for name, cases in now.items():
        for one, other in zip(kept[name], cases, strict=True):
            assert one == pytest.approx(other, abs=1e-12), name
