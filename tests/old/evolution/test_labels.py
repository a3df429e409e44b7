"""Homophily against a direct count, labels by node and not by place, the probe against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.old.evolution.conftest import Graph

from graphgauge.core.errors import InputError
from graphgauge.old.core.result import Evaluation
from graphgauge.old.evolution import AdaptiveEvaluator, delta_homophily, node_classification_accuracy
from graphgauge.old.stats.intervals import logit_t_interval, wilson_interval

KEYS = ["delta_homophily", "homophily_new_edges", "homophily_baseline", "delta_homophily_degree"]


def judged(graph: Graph, new: np.ndarray, node_ids=None, labels=None, **options) -> Evaluation:
    ids = range(graph.nodes) if node_ids is None else node_ids
    evaluator = AdaptiveEvaluator(ids, graph.labels if labels is None else labels, metrics=KEYS, **options)
    return evaluator.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0)


@pytest.mark.parametrize("seed", range(5))
def test_against_a_direct_count(graph: Graph, seed: int):
    new = np.random.default_rng(seed).choice(graph.free(), 60, replace=False)
    labels = graph.labels.tolist()
    agreeing = sum(labels[u] == labels[v] for u, v in new.tolist())
    pairs = [(u, v) for u in range(graph.nodes) for v in range(u)]
    random = sum(labels[u] == labels[v] for u, v in pairs) / len(pairs)
    ends = [labels[node] for edge in graph.edges.tolist() for node in edge]
    by_degree = sum((ends.count(name) / len(ends)) ** 2 for name in set(labels))
    found = judged(graph, new)
    assert found["homophily_new_edges"] == agreeing / 60
    assert found["homophily_baseline"].value == pytest.approx(random, rel=1e-14)
    assert found["delta_homophily"].value == pytest.approx(agreeing / 60 - random, rel=1e-12)
    assert found["delta_homophily_degree"].value == pytest.approx(agreeing / 60 - by_degree, rel=1e-12)
    assert delta_homophily(new, graph.labels) == pytest.approx(agreeing / 60 - random, rel=1e-12)
    shares = np.bincount(labels) / graph.nodes
    squares = judged(graph, new, homophily_null="squares")["homophily_baseline"]
    assert squares.value == pytest.approx(float(np.sum(shares**2)), rel=1e-14)


def dyadic(error: np.ndarray, ends: np.ndarray) -> tuple[float, float]:
    """The dyadic-robust variance pair by pair, with the moments of its quadratic form in normal effects of nodes."""
    n, nodes = len(error), np.unique(ends)
    incidence = (ends[:, :, None] == nodes).any(axis=1).astype(float)
    shared = np.array([[bool(set(one) & set(other)) for other in ends.tolist()] for one in ends.tolist()])
    centring = np.eye(n) - 1 / n
    form = incidence.T @ centring @ shared @ centring @ incidence
    degrees = incidence.sum(axis=0)
    variance = error @ shared @ error * (degrees @ degrees) / np.trace(form)
    return float(np.sqrt(variance)) / n, float(np.trace(form) ** 2 / np.trace(form @ form))


def test_intervals_over_births_and_over_nodes(graph: Graph):
    free = graph.free()
    apart = np.array([(i, i + 60) for i in range(60) if [i, i + 60] in free.tolist()])
    same = graph.labels[apart[:, 0]] == graph.labels[apart[:, 1]]
    result = judged(graph, apart)["homophily_new_edges"]
    assert result.interval.method == "wilson"
    low, high = wilson_interval(same.sum(), len(same), 0.95)
    assert tuple(result.interval) == pytest.approx((low[0], high[0]))
    clustered = free[free[:, 0] < 6][::5]
    same = graph.labels[clustered[:, 0]] == graph.labels[clustered[:, 1]]
    low, high = logit_t_interval(same.mean(), *dyadic(same - same.mean(), clustered), 0.95)
    result = judged(graph, clustered)
    assert tuple(result["homophily_new_edges"].interval) == pytest.approx((low[0], high[0]))
    shift = result["delta_homophily"].value - same.mean()
    assert tuple(result["delta_homophily"].interval) == pytest.approx((low[0] + shift, high[0] + shift))


def test_labels_are_looked_up_by_node(graph: Graph):
    new = graph.free()[::40]
    expected = judged(graph, new).to_flat()
    rng = np.random.default_rng(0)
    order = rng.permutation(graph.nodes)
    mapping = dict(zip(order.tolist(), graph.labels[order].tolist(), strict=True))
    assert judged(graph, new, order, graph.labels[order]).to_flat() == expected
    assert judged(graph, new, order, mapping).to_flat() == expected
    assert judged(graph, new, set(order.tolist()), graph.labels).to_flat() == expected
    assert judged(graph, new, labels=[f"class {label}" for label in graph.labels]).to_flat() == expected
    torch = pytest.importorskip("torch")
    assert judged(graph, new, torch.arange(graph.nodes), torch.tensor(graph.labels)).to_flat() == expected


def test_newborn_nodes_have_no_label_and_are_counted(graph: Graph):
    old = graph.nodes - 20
    new = np.array([[0, 1], [0, old], [old + 1, old + 2], [2, 3]])
    evaluator = AdaptiveEvaluator(range(old), graph.labels[:old], metrics=KEYS)
    found = evaluator.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0)
    assert found["delta_homophily"].n == 2
    assert "births with both labels known: 2 of 4" in found.notes


def test_the_probe_is_scikit_learns(graph: Graph):
    rng = np.random.default_rng(0)
    points = graph.points + rng.normal(0, 0.02, graph.points.shape)
    points *= 0.9 / np.linalg.norm(points, axis=1).max()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    accuracies = cross_val_score(model, points, graph.labels, cv=folds)
    mean, std = node_classification_accuracy(points, graph.labels, seed=3)
    assert mean == pytest.approx(accuracies.mean(), rel=1e-12)
    assert std == pytest.approx(accuracies.std(ddof=1), rel=1e-12)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (np.zeros(120, int), "one class"),
        (np.arange(120), "no class has 5 nodes"),
    ],
)
def test_no_probe(graph: Graph, labels: np.ndarray, reason: str):
    evaluator = AdaptiveEvaluator(range(120), labels, metrics=["nca_mean", "nca_std"])
    found = evaluator.evaluate_cycle(graph.points, None, graph.edges, 0)
    for result in found.values():
        assert not result.defined
        assert reason in result.reason


def test_small_classes_are_said(graph: Graph):
    labels = graph.labels.copy()
    labels[:2] = 9
    evaluator = AdaptiveEvaluator(range(120), labels, metrics=["nca_mean"])
    result = evaluator.evaluate_cycle(graph.points, None, graph.edges, 0)["nca_mean"]
    assert result.defined
    assert "classes with fewer nodes than folds: 1" in result.warnings[0]


@pytest.mark.parametrize(
    ("points", "labels", "reason"),
    [
        (np.full((6, 2), 0.1), [0, 0, 0, 0, 0, 1], "one node is outside the largest class"),
        (np.empty((20, 0)), [0, 1] * 10, "the embeddings have no dimensions"),
    ],
)
def test_nothing_to_fit_a_probe_on(points: np.ndarray, labels: list[int], reason: str):
    found = AdaptiveEvaluator(range(len(labels)), labels).evaluate_cycle(points, None, None, 0)
    assert np.isnan(found["nca_mean"].value)
    assert reason in found["nca_mean"].reason
    assert np.isnan(node_classification_accuracy(points, labels)).all()


@pytest.mark.parametrize("labels", [5, [[0, 1], [0]], "abc"])
def test_labels_that_are_none(labels: object):
    points = np.zeros((3, 2))
    for ask in (
        lambda: delta_homophily([(0, 1)], labels),
        lambda: node_classification_accuracy(points, labels),
        lambda: AdaptiveEvaluator(range(3), labels),
    ):
        with pytest.raises(InputError, match="labels: "):
            ask()


def test_labels_by_node_name_the_nodes():
    assert delta_homophily([(3, 9)], {3: "a", 9: "a", 7: "b"}) == pytest.approx(1 - 1 / 3)


def test_node_numbers_may_be_large():
    labels = {0: "a", 5: "b", 10**12: "a"}
    assert delta_homophily([(0, 10**12)], labels, node_ids=[10**12, 5, 0]) == pytest.approx(1 - 1 / 3)


NOTHING = {
    "−1": lambda labels, hidden: np.where(hidden, -1, labels),
    "−1 as a float": lambda labels, hidden: np.where(hidden, -1.0, labels),
    "NaN": lambda labels, hidden: np.where(hidden, np.nan, labels),
    "None": lambda labels, hidden: [None if gone else int(label) for label, gone in zip(labels, hidden, strict=True)],
    "None among text": lambda labels, hidden: [
        None if gone else f"c{label}" for label, gone in zip(labels, hidden, strict=True)
    ],
    "NaN among text": lambda labels, hidden: [
        np.nan if gone else f"c{label}" for label, gone in zip(labels, hidden, strict=True)
    ],
    "−1 among text": lambda labels, hidden: np.where(hidden, "-1", np.char.add("c", labels.astype(str))),
    "objects": lambda labels, hidden: np.where(hidden, None, labels.astype(object)),
    "a mapping": lambda labels, hidden: {
        node: None if gone else label
        for node, (label, gone) in enumerate(zip(labels.tolist(), hidden.tolist(), strict=True))
    },
    "a mask": lambda labels, hidden: np.ma.array(labels, mask=hidden),
    "pandas' NA": lambda labels, hidden: pytest.importorskip("pandas").array(
        [None if gone else int(label) for label, gone in zip(labels, hidden, strict=True)], dtype="Int64"
    ),
    "a tensor": lambda labels, hidden: pytest.importorskip("torch").tensor(np.where(hidden, -1, labels)),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_what_is_no_class_is_left_out_and_counted(graph: Graph, kind: str):
    """The same values as where the nodes without a class are not among the original ones."""
    hidden = np.random.default_rng(0).random(graph.nodes) < 0.3
    labels = NOTHING[kind](graph.labels, hidden)
    known = np.flatnonzero(~hidden)
    new = graph.free()[::40]
    expected = judged(graph, new, known, graph.labels[known])
    found = judged(graph, new, labels=labels)
    for key in KEYS:
        assert found[key].value == pytest.approx(expected[key].value, rel=1e-12)
        assert found[key].n == expected[key].n
    both = np.count_nonzero(~hidden[new].any(axis=1))
    assert f"births with both labels known: {both} of {len(new)}" in found.notes
    counted = f"{np.count_nonzero(hidden)} of {graph.nodes}"
    assert any("without a class" in note and note.endswith(counted) for note in found.notes)
    assert delta_homophily(new, labels) == pytest.approx(expected["delta_homophily"].value, rel=1e-12)
    probe = node_classification_accuracy(graph.points, labels)
    assert probe == node_classification_accuracy(graph.points, graph.labels[known], node_ids=known)


def test_no_label_at_all(graph: Graph):
    evaluator = AdaptiveEvaluator(range(120), np.full(120, -1))
    new = graph.free()[:3]
    found = evaluator.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0)
    assert "fewer than two classes" in found["delta_homophily"].reason
    assert found["nca_mean"].reason == "no labelled nodes"
