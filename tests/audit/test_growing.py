"""Checks of growing graphs beyond their rates: conditions one by one, and what the probe reads."""

import numpy as np
import pytest
from tests.audit.evolution_cases import NODES, born, smoothed, start

from graphgauge import Evaluation, audit, evolution
from graphgauge.core.errors import InputError


def test_a_circular_condition_is_found_among_others():
    """Births are judged one by one, so half of them are enough."""
    rng = np.random.default_rng(0)
    points, edges, labels = start(rng)
    weights = {"still": 0.0, "smoothed": 0.6}
    suite = evolution.EvaluationSuite(range(NODES), labels, list(weights), metrics=["auc_synthetic", "auc_birth"])
    for name, weight in weights.items():
        for seed in range(4):
            births = born(rng, points, 100, 1)
            suite.begin(name, points, edges, seed)
            after = np.concatenate([edges, births])
            suite.step(name, smoothed(points, after, weight), births, after, 0, seed=seed)
    (finding,) = suite.evaluation().findings
    assert finding.check == "circular-auc"
    assert finding.message.startswith("against the same pairs, births gain ")


def given_away(embeddings, labels, **materials):
    found = audit.run(
        Evaluation("evolution", []), only=["label-in-embeddings"], embeddings=embeddings, labels=labels, **materials
    )
    return found[0].evidence if found else None


@pytest.fixture
def told():
    """Points with a flag of the last class in their last column."""
    points, edges, labels = start(np.random.default_rng(0))
    return np.column_stack([points, 0.01 * (labels == 3)]), edges, labels


def test_the_column_is_named(told):
    points, _, labels = told
    assert given_away(points, labels) == {"column": 8, "nodes": NODES, "classes": 4, "values": 2}
    assert given_away(points[:, :8], labels) is None


def test_classes_that_are_one_point_each(told):
    _, _, labels = told
    corners = np.random.default_rng(0).normal(0, 0.2, (4, 8))
    found = given_away(corners[labels], labels)
    assert (found["column"], found["values"]) == (0, 4)


@pytest.mark.parametrize(
    "spoiled", ["one node", "few of a class", "one class", "no labels", "no columns", "a class without rows"]
)
def test_what_is_not_exact_or_may_be_luck_is_no_finding(told, spoiled):
    points, _, labels = told
    points, labels = points.copy(), labels.astype(float)
    if spoiled == "one node":
        points[labels == 0, 8] = np.where(np.arange(NODES)[labels == 0] == 4, 0.001, 0)
    elif spoiled == "few of a class":
        labels[np.flatnonzero(labels == 3)[19:]] = np.nan
    elif spoiled == "no columns":
        points = points[:, :0]
    elif spoiled == "a class without rows":
        points[labels == 3] = np.nan
    else:
        labels[:] = 1 if spoiled == "one class" else np.nan
    assert given_away(points, labels) is None


def test_nodes_are_found_by_their_numbers(told):
    points, _, labels = told
    kept = np.random.default_rng(0).permutation(NODES)[:120]
    assert given_away(points, labels[kept], node_ids=kept)["nodes"] == 120
    assert given_away(points, dict(zip(kept.tolist(), labels[kept].tolist(), strict=True)))["nodes"] == 120
    assert given_away(points, labels[kept]) is None  # the labels of other nodes
    points[:5] = np.nan
    assert given_away(points, labels)["nodes"] == NODES - 5


@pytest.mark.parametrize(
    ("embeddings", "words"),
    [
        (np.zeros((10, 2)), "node 149 has a label, and there are 10 rows"),
        (np.zeros(NODES), "shape"),
        (np.array(["a"] * NODES), "numbers"),
    ],
)
def test_embeddings_that_are_none(embeddings, words):
    with pytest.raises(InputError, match=words):
        given_away(embeddings, np.arange(NODES) % 4)


def test_a_log_is_looked_through(told, tmp_path):
    points, edges, labels = told
    log = evolution.Log(tmp_path / "run")
    log.begin("Off", 3, edges=edges, embeddings=points)
    for cycle in range(2):
        births = born(np.random.default_rng(cycle), points, 20, 1)
        log.append("Off", 3, cycle, embeddings=smoothed(points, edges, 0.5), new_edges=births)
    evaluation = evolution.evaluate(tmp_path / "run", labels, metrics=["auc_birth"])
    first = next(evolution.Log(tmp_path / "run").cycles("Off", 3)).previous_embeddings
    (finding,) = audit.run(evaluation, labels=labels, embeddings=first)
    assert (finding.severity, finding.check) == ("error", "label-in-embeddings")
    assert finding.message.startswith("in column 8 of the embeddings all 150 nodes of 4 classes have one of 2 values")
    assert not audit.run(evaluation, labels=labels, embeddings=points[:, :8])
