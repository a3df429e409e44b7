"""What must come out: nothing for births without a reason, much for births with one, and circles called by name."""

from __future__ import annotations

import numpy as np
import pytest
from tests.old.evolution.conftest import Graph, block_graph

from graphgauge.old.core.result import Evaluation
from graphgauge.old.evolution import AdaptiveEvaluator
from graphgauge.old.evolution.inputs import Points


@pytest.fixture(params=["blocks", "cora"])
def system(request: pytest.FixtureRequest) -> Graph:
    if request.param == "cora":
        return request.getfixturevalue("cora")
    dense = block_graph(300, seed=2)
    return dense._replace(edges=dense.edges[::5])  # some three edges a node, as in citation graphs


def judged(graph: Graph, new: np.ndarray, after: np.ndarray | None = None, seed: int = 0, **options) -> Evaluation:
    evaluator = AdaptiveEvaluator(range(graph.nodes), graph.labels, seed=seed, **options)
    return evaluator.evaluate_cycle(
        graph.points if after is None else after,
        new,
        np.concatenate([graph.edges, new]),
        seed,
        graph.points,
        previous_edges=graph.edges,
    )


def smoothed(graph: Graph, new: np.ndarray, weight: float = 0.5) -> np.ndarray:
    """Every node moves towards the mean of its neighbours in the graph with the births."""
    edges = np.concatenate([graph.edges, new])
    ends = np.concatenate([edges, edges[:, ::-1]])
    sums = np.zeros_like(graph.points)
    np.add.at(sums, ends[:, 0], graph.points[ends[:, 1]])
    degrees = np.bincount(ends[:, 0], minlength=graph.nodes)[:, None]
    means = np.divide(sums, degrees, out=graph.points.copy(), where=degrees > 0)
    return (1 - weight) * graph.points + weight * means


def random_births(graph: Graph, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, graph.nodes, (3 * count, 2))
    taken = {frozenset(edge) for edge in graph.edges.tolist()}
    kept = [pair for pair in pairs.tolist() if pair[0] != pair[1] and frozenset(pair) not in taken]
    return np.array(kept[:count])


def nearest_of_the_class(graph: Graph, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = Points.of(graph.points, "embeddings")
    births = []
    neighbours = {frozenset(edge) for edge in graph.edges.tolist()}
    for source in rng.choice(graph.nodes, count, replace=False):
        others = np.flatnonzero((graph.labels == graph.labels[source]) & (np.arange(graph.nodes) != source))
        far = points.order(np.full(len(others), source), others)
        free = [node for node in others[np.argsort(far)] if frozenset((source, node)) not in neighbours]
        births.append((source, free[0]))
    return np.array(births)


def test_random_births_are_worth_nothing(system: Graph):
    """Over many draws the intervals hold chance as often as they say, and the means are there."""
    found = [
        judged(
            system, random_births(system, 150, seed), seed=seed, metrics=["auc_birth", "auc_matched", "delta_homophily"]
        )
        for seed in range(40)
    ]
    for key, chance in (("auc_birth", 0.5), ("auc_matched", 0.5), ("delta_homophily", 0.0)):
        assert sum(chance in own[key].interval for own in found) >= 34, key
        values = np.array([own[key].value for own in found])
        assert abs(values.mean() - chance) < 4 * values.std(ddof=1) / np.sqrt(len(values)), key


def test_births_of_nearest_neighbours_in_a_class_score_high(system: Graph):
    found = judged(system, nearest_of_the_class(system, 100, 0))
    assert found["auc_birth"].interval.low > 0.8
    assert found["auc_matched"].interval.low > 0.8
    assert found["delta_homophily"] == 1 - found["homophily_baseline"].value
    assert found["delta_homophily"].interval.low > 0.5


def test_shuffled_labels_leave_no_homophily_and_the_majority(system: Graph):
    shuffled = system._replace(labels=np.random.default_rng(5).permutation(system.labels))
    found = judged(shuffled, nearest_of_the_class(system, 150, 1))
    assert 0.0 in found["delta_homophily"].interval
    majority = np.bincount(system.labels).max() / system.nodes
    assert found["nca_mean"].chance[-1].value == pytest.approx(majority)
    assert found["nca_mean"].value == pytest.approx(majority, abs=0.06)
    real = judged(system, random_births(system, 20, 0), metrics=["nca_mean"])
    assert real["nca_mean"].interval.low > majority


def test_smoothing_over_random_births_is_found_to_be_circular(system: Graph):
    new = random_births(system, 150, 3)
    found = judged(system, new, smoothed(system, new, 0.8))
    assert 0.5 in found["auc_birth"].interval
    assert found["auc_synthetic"].interval.low > found["auc_birth"].interval.high
    assert [finding.check for finding in found.findings] == ["circular-auc"]
    assert "auc_birth" in found.findings[0].remedy
    still = judged(system, new)
    assert still.findings == ()
    assert still["auc_synthetic"].value == still["auc_birth"].value


def test_on_cora_random_births_look_excellent_afterwards(cora: Graph):
    new = random_births(cora, 200, 0)
    found = judged(cora, new, smoothed(cora, new), negatives="all", metrics=["auc_synthetic", "auc_birth"])
    assert found["auc_synthetic"].interval.low > 0.8
    assert 0.5 in found["auc_birth"].interval
