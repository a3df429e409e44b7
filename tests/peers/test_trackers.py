"""Real experiment trackers that store in a folder."""

from __future__ import annotations

import json

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.core.errors import InputError
from graphgauge.integrations.numbers import result_text

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def evaluation():
    rng = np.random.default_rng(0)
    return ranking.evaluate(rng.normal(1, 1, 80), rng.normal(0, 1, (80, 9)))


@pytest.fixture
def undefined():
    return ranking.evaluate(np.empty(0), np.empty((0, 9)))


def test_mlflow_has_the_numbers_the_conventions_and_the_file(evaluation, undefined, tmp_path):
    import mlflow

    from graphgauge.integrations.mlflow import log

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    experiment = mlflow.create_experiment("test", artifact_location=str(tmp_path / "artifacts"))
    with mlflow.start_run(experiment_id=experiment) as active:
        log(evaluation, prefix="valid/", step=3)
        log(undefined, prefix="empty/")
    found = mlflow.MlflowClient().get_run(active.info.run_id)
    assert found.data.metrics["valid/hits_at_10"] == evaluation["hits@10"].value
    assert found.data.metrics["valid/mrr.low"] == evaluation["mrr"].interval.low
    assert found.data.tags["graphgauge.valid/ties"] == "realistic"
    assert not any(name.startswith("empty/") for name in found.data.metrics)
    text = mlflow.artifacts.load_text(f"{found.info.artifact_uri}/graphgauge/valid/ranking-3.json")
    assert json.loads(text)["root"] == json.loads(result_text(evaluation))["root"]


def test_wandb_has_the_numbers_the_conventions_and_the_file(evaluation, tmp_path, monkeypatch):
    import wandb

    from graphgauge.integrations.wandb import log

    monkeypatch.setenv("WANDB_SILENT", "true")
    with pytest.raises(InputError, match=r"wandb\.init"):
        log(evaluation)
    run = wandb.init(mode="offline", dir=str(tmp_path), project="test")
    log(evaluation, prefix="valid/")
    summary, config = dict(run.summary), dict(run.config)
    run.finish()
    assert summary["valid/hits@10"] == evaluation["hits@10"].value
    assert summary["valid/mrr.high"] == evaluation["mrr"].interval.high
    assert config["graphgauge.valid/ties"] == "realistic"


def test_torchmetrics_counts_batches_as_its_own_metrics_do(tmp_path):
    import pickle

    import torch
    from torchmetrics import MetricCollection

    from graphgauge.integrations.torchmetrics import GraphgaugeMetric

    generator = torch.Generator().manual_seed(0)
    pos, neg = torch.randn(90, generator=generator) + 1, torch.randn(90, 7, generator=generator)
    expected = ranking.evaluate(pos, neg, k=5, ties="expected")
    metric = GraphgaugeMetric(k=5, ties="expected")
    for batch in torch.arange(90).split(40):
        alone = metric(pos[batch], neg[batch])
        assert alone["mrr"] == ranking.evaluate(pos[batch], neg[batch], k=5, ties="expected")["mrr"].value
    assert metric.compute() == {key: result.value for key, result in expected.items()}
    assert metric.evaluation()["hits@5"].interval == expected["hits@5"].interval
    again = pickle.loads(pickle.dumps(metric)).clone()
    again.update(pos[:1], neg[:1])
    assert again.evaluation()["mrr"].n == 91  # and what was computed is not what it remembers
    metric.reset()
    metric.update(pos[:10], neg[:10])
    assert metric.evaluation()["mrr"].n == 10

    several = MetricCollection(
        {"mrr": GraphgaugeMetric(metrics="mrr"), "auc": GraphgaugeMetric(metrics="roc_auc", pooled=True)}
    )
    several.update(pos, neg)
    assert several.compute()["mrr"] == ranking.mrr(pos, neg)
    assert several.compute()["auc"] == ranking.evaluate(pos, neg, metrics=["roc_auc"])["roc_auc"].value


def test_torchmetrics_adds_batches_to_one_pool():
    import torch

    from graphgauge.integrations.torchmetrics import GraphgaugeMetric

    generator = torch.Generator().manual_seed(0)
    pos, neg = torch.randn(50, generator=generator) + 1, torch.randn(80, generator=generator)
    metric = GraphgaugeMetric("ranking", k=[20])
    metric.update(pos[:10], neg[:40])
    assert set(metric(pos[10:], neg[40:])) == {"pooled_hits@20", "roc_auc", "average_precision", "mrr"}
    assert metric.compute()["pooled_hits@20"] == float((pos > neg.sort().values[-20]).double().mean())


def test_options_that_nothing_takes_are_refused():
    from graphgauge.integrations.torchmetrics import GraphgaugeMetric

    with pytest.raises(InputError, match="unknown input or option 'tie'"):
        GraphgaugeMetric("ranking", tie="expected")
    with pytest.raises(InputError, match=r"mask belongs to update\(\)"):
        GraphgaugeMetric("ranking", mask=[[True]])


@pytest.mark.parametrize(("shift", "worse"), [(0.3, "excluded"), (0.0, "excluded"), (-0.5, "shown")])
def test_torchmetrics_gates_against_a_baseline(tmp_path, shift, worse):
    import torch

    from graphgauge.integrations.torchmetrics import GraphgaugeMetric
    from graphgauge.stats import gate

    rng = np.random.default_rng(0)
    pos, neg = rng.normal(1, 1, 400), rng.normal(0, 1, (400, 9))
    ranking.evaluate(pos, neg).save(tmp_path / "main.json", method="main", dataset="toy")
    metric = GraphgaugeMetric("ranking")
    for rows in np.array_split(np.arange(400), 4):
        metric.update(torch.from_numpy(pos[rows] + shift), torch.from_numpy(neg[rows]))
    tested = gate(metric.evaluation(), tmp_path / "main.json", metric="mrr", margin=0.02)
    assert tested.worse == worse
    assert bool(tested) == (worse == "excluded")


def test_a_metric_of_torchmetrics_draws_what_it_counted() -> None:
    from matplotlib import pyplot

    from graphgauge.integrations.torchmetrics import GraphgaugeMetric

    rng = np.random.default_rng(0)
    metric = GraphgaugeMetric(metrics="mrr")
    steps = [metric(rng.normal(1, 1, 40), rng.normal(0, 1, (40, 9))) for _ in range(3)]
    figure, axes = metric.plot()
    assert axes in figure.axes
    whole, (left, _) = pyplot.subplots(1, 2)
    assert metric.plot(ax=left)[0] is whole
    drawn, _ = metric.plot(steps)
    assert drawn is not figure
    pyplot.close("all")
