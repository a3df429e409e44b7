"""The numbers that trackers get, and what they are told when they are not installed."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

from graphgauge import ranking
from graphgauge.core.errors import MissingExtraError
from graphgauge.integrations import mlflow, wandb
from graphgauge.integrations.numbers import result_text, tracked


def test_values_go_with_their_bounds_and_nan_stays_behind():
    pos = np.tile([2.0, 0.0], 20)
    found = tracked(ranking.evaluate(pos, np.ones((40, 1)), metrics=["mrr", "hits@1"]), "valid/")
    assert found["valid/mrr"] == 0.75
    assert found.keys() == {f"valid/{key}{bound}" for key in ("mrr", "hits@1") for bound in ("", ".low", ".high")}
    assert tracked(ranking.evaluate(np.empty(0), np.empty((0, 3)))) == {}


@pytest.mark.parametrize(("integration", "package"), [(mlflow, "mlflow"), (wandb, "wandb")])
def test_a_missing_tracker_names_its_pip_command(integration, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"graphgauge\[{package}\]"):
        integration.log(ranking.evaluate([1.0], [[0.0]]))


def test_every_step_keeps_its_result_in_mlflow(monkeypatch):
    logged = {}
    fake = types.SimpleNamespace(
        log_metrics=lambda numbers, step: None,
        set_tags=lambda tags: None,
        log_text=lambda text, path: logged.setdefault(path, text),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    evaluations = [ranking.evaluate([float(step)], [[0.5]]) for step in range(3)]
    for step, evaluation in enumerate(evaluations):
        mlflow.log(evaluation, prefix="valid/", step=step)
    mlflow.log(evaluations[0])
    assert logged.pop("graphgauge/ranking.json") == result_text(evaluations[0])
    assert logged == {f"graphgauge/valid/ranking-{step}.json": result_text(evaluations[step]) for step in range(3)}
