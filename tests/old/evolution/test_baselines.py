"""Simple scores of births: equal to networkx, on the same births and non-edges, and shown next to `auc_birth`."""

import networkx as nx
import numpy as np
import pytest

from graphgauge.old.evolution import AdaptiveEvaluator
from graphgauge.old.evolution.baselines import LinkScores


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_networkx(seed):
    graph = nx.gnm_random_graph(30, 70, seed=seed)
    links = LinkScores(np.array(sorted(tuple(sorted(edge)) for edge in graph.edges)), 30)
    pairs = np.array(list(nx.non_edges(graph)))
    expected = {(u, v): score for u, v, score in nx.adamic_adar_index(graph, pairs.tolist())}
    np.testing.assert_allclose(links.adamic_adar(*pairs.T), [expected[tuple(pair)] for pair in pairs.tolist()])
    attached = [score for _, _, score in nx.preferential_attachment(graph, pairs.tolist())]
    np.testing.assert_array_equal(links.preferential_attachment(*pairs.T), attached)
    assert set(links.scores) == {"Adamic–Adar", "preferential attachment"}


def levels(evaluation):
    return {level.name: level for level in evaluation["auc_birth"].levels}


def test_births_that_follow_a_rule_are_predicted_by_it():
    """Births close triangles, then go to hubs."""
    rng = np.random.default_rng(0)
    graph = nx.barabasi_albert_graph(150, 2, seed=1)
    points = rng.normal(0, 0.1, (150, 3))
    evaluator = AdaptiveEvaluator(range(150), None, metrics=["auc_birth"], negatives_per_positive=5)
    edges = np.array(graph.edges)

    def step(births, cycle):
        nonlocal edges
        new = np.array([pair for pair in births if not graph.has_edge(*pair) and pair[0] != pair[1]])
        graph.add_edges_from(new.tolist())
        before, edges = edges, np.concatenate([edges, new])
        return evaluator.evaluate_cycle(points, new, edges, cycle, points, previous_edges=before)

    triangles = [(u, w) for u in range(0, 150, 5) for v in list(graph[u])[:1] for w in list(graph[v])[-1:] if u < w]
    found = levels(step(triangles, 0))
    assert found["Adamic–Adar"].value > 0.8
    assert found["Adamic–Adar"].kind == "baseline"
    assert found["constant scorer"].kind == "chance"
    hubs = sorted(graph, key=graph.degree)[-4:]
    quiet = [u for u in range(1, 150) if graph.degree[u] == 2][:30]
    assert levels(step([(u, hubs[u % 4]) for u in quiet], 1))["preferential attachment"].value > 0.8
    assert not levels(
        AdaptiveEvaluator(range(4), None, metrics=["auc_birth"], negatives="all").evaluate_cycle(
            points[:4], [[0, 1]], [[0, 1], [1, 2]], 0, points[:4]
        )
    ).keys() - {"constant scorer"}
