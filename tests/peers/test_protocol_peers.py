"""Protocols against the evaluators that they reproduce: OGB and TGB, by the names of their benchmarks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphgauge import prediction, ranking
from graphgauge.protocols import protocols

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")]
NAMES = [name for row in protocols() for name in row.names]
POOLED = ["ogbl-ppa", "ogbl-collab", "ogbl-ddi", "ogbl-vessel"]
SHARED = [name for name in NAMES if name in ("ogbl-citation2", "ogbl-wikikg2", "ogbl-biokg")]
TEMPORAL = [name for name in NAMES if name.startswith(("tgbl", "tkgl", "thgl"))]


def scores(seed, negatives):
    """Rounded float32 scores, many of them equal."""
    draw = np.random.default_rng(seed)
    pos = np.round(draw.normal(0.5, 1, 80), 1).astype(np.float32)
    return pos, np.round(draw.normal(0, 1, negatives), 1).astype(np.float32)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", POOLED)
def test_one_pool_as_ogb(name, seed):
    from ogb.linkproppred import Evaluator

    pos, neg = scores(seed, 400)
    theirs = Evaluator(name).eval({"y_pred_pos": torch.tensor(pos), "y_pred_neg": torch.tensor(neg)})
    (ours,) = ranking.evaluate(pos, neg, protocol=name).values()
    assert ours.value == pytest.approx(next(iter(theirs.values())), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SHARED)
def test_own_negatives_as_ogb(name, seed):
    from ogb.linkproppred import Evaluator

    pos, neg = scores(seed, (80, 30))
    theirs = Evaluator(name).eval({"y_pred_pos": torch.tensor(pos), "y_pred_neg": torch.tensor(neg)})
    ours = ranking.evaluate(pos, neg, protocol=name)
    assert set(ours) == {key.removesuffix("_list") for key in theirs}
    for key, values in theirs.items():  # they compute in float32
        assert ours[key.removesuffix("_list")].value == pytest.approx(float(values.double().mean()), abs=1e-7)


@pytest.mark.parametrize("name", TEMPORAL)
def test_own_negatives_as_tgb(name):
    from tgb.linkproppred.evaluate import Evaluator

    try:
        evaluator = Evaluator(name=name)
    except NotImplementedError:
        pytest.fail(f"TGB does not know {name}")
    pos, neg = scores(5, (80, 30))
    ours = ranking.evaluate(pos, neg, protocol=name)
    for kind, key, slack in (("mrr", "mrr", 1e-7), ("hits@", "hits@10", 1e-12)):
        theirs = [
            evaluator.eval({"y_pred_pos": pos[i : i + 1], "y_pred_neg": neg[i], "eval_metric": [kind]})[key]
            for i in range(80)
        ]
        assert ours[key].value == pytest.approx(np.mean(theirs, dtype=float), abs=slack)


@pytest.mark.parametrize("name", [each for each in NAMES if each.startswith(("ogbn", "ogbg"))])
def test_labels_and_targets_as_ogb(name):
    from ogb.graphproppred import Evaluator as OfGraphs
    from ogb.nodeproppred import Evaluator as OfNodes

    evaluator = (OfNodes if name.startswith("ogbn") else OfGraphs)(name)
    draw = np.random.default_rng(len(name))
    shape = (150, evaluator.num_tasks)
    (kind,) = [row.options["metrics"][0] for row in protocols() if name in row.names]
    if kind == "accuracy":
        true, pred = draw.integers(0, 5, shape), draw.integers(0, 5, shape)
        ours = prediction.evaluate(true[:, 0], pred[:, 0], protocol=name)
    else:
        true = (draw.random(shape) < 0.4).astype(float) if kind != "rmse" else draw.normal(size=shape)
        pred = true + draw.normal(size=shape)
        if name.startswith("ogbg") and shape[1] > 1:
            true[draw.random(shape) < 0.3] = np.nan
        task = {} if kind == "rmse" else {"task": "multilabel"}
        given = {"y_pred": pred} if kind == "rmse" else {"scores": pred}
        ours = prediction.evaluate(true, **given, **task, protocol=name)
    theirs = evaluator.eval({"y_true": true, "y_pred": pred})
    assert ours[kind].value == pytest.approx(next(iter(theirs.values())), abs=1e-12)
