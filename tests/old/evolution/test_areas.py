"""Areas against scikit-learn and against lists of all pairs; their intervals against DeLong's and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score
from tests.old.evolution.conftest import Graph, block_graph

from graphgauge.core.errors import InputError
from graphgauge.old.evolution import AdaptiveEvaluator, auc_birth, auc_matched, auc_synthetic, link_score, static_auc
from graphgauge.old.evolution.areas import Candidates, _cancelled, area_against_matched, area_against_non_edges
from graphgauge.old.evolution.inputs import Codes, Points, distinct
from graphgauge.old.stats.intervals import delong

AREAS = ["auc_synthetic", "auc_birth", "auc_matched"]


def scikit_learn(points: np.ndarray, positives: np.ndarray, negatives: np.ndarray) -> float:
    pairs = np.concatenate([positives, negatives])
    scores = link_score(points[pairs[:, 0]], points[pairs[:, 1]])
    return roc_auc_score(np.repeat([1, 0], [len(positives), len(negatives)]), scores)


def grown(seed: int, nodes: int = 40, births: int = 30, *, tied: bool = False) -> tuple[Graph, np.ndarray, np.ndarray]:
    graph = block_graph(nodes, seed=seed)
    rng = np.random.default_rng(seed)
    new = rng.permuted(rng.choice(graph.free(), births, replace=False), axis=1)
    points = np.round(graph.points * 4) / 8 if tied else graph.points
    return graph._replace(points=points), new, np.concatenate([graph.edges, new])


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_all_non_edges_against_scikit_learn(seed: int, tied: bool):
    graph, new, edges = grown(seed, tied=tied)
    negatives = graph._replace(edges=edges).free()
    expected = scikit_learn(graph.points, new, negatives)
    assert auc_synthetic(graph.points, new, edges) == pytest.approx(expected, rel=1e-13)
    assert auc_birth(graph.points, new, edges) == pytest.approx(expected, rel=1e-13)


def test_negatives_are_among_original_nodes_only():
    graph, new, edges = grown(0)
    original = np.arange(0, 40, 2)
    negatives = graph._replace(edges=edges).free()
    inside = negatives[np.isin(negatives, original).all(axis=1)]
    expected = scikit_learn(graph.points, new, inside)
    assert auc_synthetic(graph.points, new, edges, node_ids=original) == pytest.approx(expected, rel=1e-13)


def test_temperature_changes_nothing():
    graph, new, edges = grown(1)
    values = []
    for temperature in (0.01, 1.0, 50.0):
        evaluator = AdaptiveEvaluator(range(40), graph.labels, temperature=temperature, metrics=["auc_synthetic"])
        values.append(evaluator.evaluate_cycle(graph.points, new, edges, 0)["auc_synthetic"].value)
    assert len(set(values)) == 1


def test_test_edges_against_all_current_nodes():
    graph, _, edges = grown(2)
    held_out, rest = edges[:20], edges[20:]
    expected = scikit_learn(graph.points, held_out, graph._replace(edges=edges).free())
    assert static_auc(graph.points, held_out, rest) == pytest.approx(expected, rel=1e-13)


def matched_by_hand(points: np.ndarray, new: np.ndarray, edges: np.ndarray, pools: np.ndarray) -> float:
    """Either end of a birth is replaced in turn, because the graph has no directions."""
    neighbours = {frozenset(edge) for edge in edges.tolist()}
    each = []
    for first, second in new.tolist():
        arms = [_share(points, *ends, neighbours, pools) for ends in ((first, second), (second, first))]
        if not np.isnan(arms).all():
            each.append(np.nanmean(arms))
    return float(np.mean(each))


def _share(points: np.ndarray, source: int, target: int, neighbours: set[frozenset[int]], pools: np.ndarray) -> float:
    others = [
        node
        for node in range(len(points))
        if pools[node] == pools[target] and node != source and frozenset((source, node)) not in neighbours
    ]
    own = link_score(points[source], points[target])
    beaten = [link_score(points[source], points[node]) for node in others]
    return float(np.mean([(own > score) + 0.5 * (own == score) for score in beaten])) if others else np.nan


def test_matched_targets_by_hand():
    graph, new, edges = grown(3)
    pools = np.arange(40) % 3
    found = auc_matched(graph.points, new, edges, pools=pools)
    assert found == pytest.approx(matched_by_hand(graph.points, new, edges, pools), rel=1e-12)


def test_a_node_without_an_embedding_before_is_no_target():
    graph, new, edges = grown(3)
    new = new[(new != 7).all(axis=1)]
    earlier, pools = graph.points.copy(), np.zeros(40, int)
    earlier[7] = np.nan
    evaluator = AdaptiveEvaluator(range(40), graph.labels, metrics=["auc_matched"], negatives="all", nan="omit")
    found = evaluator.evaluate_cycle(graph.points, new, edges, 0, earlier, pools=pools)["auc_matched"].value
    pools[7] = 1
    assert found == pytest.approx(matched_by_hand(graph.points, new, edges, pools), rel=1e-12)


def test_without_pools_degree_and_age_make_them():
    graph, new, edges = grown(4)
    degrees = np.bincount(graph.edges.ravel(), minlength=40)
    original = np.arange(30)
    bins = np.array([int(degree).bit_length() for degree in degrees]) * 2 + (np.arange(40) >= 30)
    found = auc_matched(graph.points, new, edges, node_ids=original)
    assert found == pytest.approx(matched_by_hand(graph.points, new, edges, bins), rel=1e-12)


def test_drawn_targets_approach_all_of_them():
    graph, new, edges = grown(5)
    exact = auc_matched(graph.points, new, edges)
    drawn = auc_matched(graph.points, new, edges, negatives="sample", negatives_per_positive=2000)
    assert drawn == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_the_one_other_target_is_found_among_many_neighbours(seed: int):
    """Node 0 is tied to all of a pool but 1, its new target, and 2: chance alone would look for long."""
    points = np.random.default_rng(0).uniform(-0.4, 0.4, (400, 2))
    neighbours = np.stack([np.zeros(397, int), np.arange(3, 400)], axis=1)
    edges = np.concatenate([neighbours, [[0, 1]]])
    drawn = auc_matched(points, [[0, 1]], edges, pools=np.zeros(400, int), negatives="sample", seed=seed)
    assert drawn == float(link_score(points[0], points[1]) > link_score(points[0], points[2]))


def test_a_birth_without_another_target_is_left_out_and_counted():
    graph, new, edges = grown(6)
    pools = np.arange(40)
    pools[new[:5, 1]] = 100
    evaluator = AdaptiveEvaluator(range(40), graph.labels, metrics=["auc_matched"])
    result = evaluator.evaluate_cycle(graph.points, new, edges, 0, graph.points, pools=pools)["auc_matched"]
    assert 0 < result.n < len(new)
    assert "their pool has no other target" in result.warnings[0]
    alone = AdaptiveEvaluator(range(40), graph.labels, metrics=["auc_matched"])
    result = alone.evaluate_cycle(graph.points, new, edges, 0, graph.points, pools=np.arange(40))["auc_matched"]
    assert not result.defined
    assert "another target" in result.reason


@pytest.mark.parametrize("node_ids", [5, (number for number in range(3)), ["a"]])
def test_nodes_that_are_none(node_ids):
    graph, new, edges = grown(0)
    with pytest.raises(InputError, match="node_ids: "):
        auc_synthetic(graph.points, new, edges, node_ids=node_ids)
    with pytest.raises(InputError, match="previous_embeddings: expected numbers"):
        auc_birth(None, new, edges)


def test_negatives_run_out():
    graph = block_graph(12)
    new, edges = graph.free()[:3], graph.edges
    options = {"negatives_per_positive": 1000, "metrics": ["auc_synthetic", "n_synthetic_negatives"]}
    evaluator = AdaptiveEvaluator(range(12), graph.labels, **options)
    found = evaluator.evaluate_cycle(graph.points, new, np.concatenate([edges, new]), 0)
    assert found["n_synthetic_negatives"] == 12 * 11 // 2 - len(edges) - 3
    assert "all are used" in found["auc_synthetic"].warnings[0]
    assert found["auc_synthetic"].value == pytest.approx(auc_synthetic(graph.points, new, np.concatenate([edges, new])))


def test_a_complete_graph_has_no_negatives():
    graph = block_graph(6)
    pairs = np.argwhere(np.triu(np.ones((6, 6), bool), 1))
    evaluator = AdaptiveEvaluator(range(6), graph.labels, metrics=AREAS, negatives="all")
    found = evaluator.evaluate_cycle(graph.points, pairs[:2], pairs, 0, graph.points)
    assert found["auc_synthetic"].reason == "every pair of original nodes has an edge"


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_error_is_delongs_where_births_are_independent(seed: int, tied: bool):
    rng = np.random.default_rng(seed)
    columns = rng.choice([-0.5, 0.0, 0.25, 0.5], (2, 30)) if tied else rng.uniform(-0.6, 0.6, (2, 30))
    points = Points.of(columns.T, "embeddings")
    births = np.stack([np.arange(10), np.arange(10, 20)], axis=1)
    graph = distinct(Codes(30).of(births))
    nodes = np.arange(30)
    area = area_against_non_edges(
        points,
        births,
        np.zeros(10, int),
        [Candidates(nodes, nodes, graph, 30)],
        per_positive=4,
        rng=np.random.default_rng(seed),
        reason="no births",
    )
    from graphgauge.kernels.negatives import non_edges

    codes = non_edges(graph, 30, 40, np.random.default_rng(seed))
    value, error, df = delong(-points.order(births[:, 0], births[:, 1]), -points.order(codes // 30, codes % 30))
    assert area.value == pytest.approx(value, rel=1e-12)
    assert area.error() == pytest.approx((error, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("key", AREAS)
def test_intervals_cover(key: str):
    """Births drawn at random: every area is ½, whatever the embeddings, also where each node gets two edges."""
    covered = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        graph = block_graph(70, seed=seed % 7)
        sources = rng.choice(70, 25, replace=False)
        new = np.stack([np.repeat(sources, 2), rng.integers(0, 70, 50)], axis=1)
        evaluator = AdaptiveEvaluator(range(70), graph.labels, metrics=[key], seed=seed)
        pools = np.zeros(70, int)
        edges = np.concatenate([graph.edges, new])
        result = evaluator.evaluate_cycle(
            graph.points, new, edges, 0, graph.points, previous_edges=graph.edges, pools=pools
        )[key]
        covered.append(0.5 in result.interval)
    # Births avoid standing edges, which are closer than chance. The error also allows for other nodes than these.
    assert 0.88 < np.mean(covered) < 0.995


# ---- candidates that are chosen themselves


class Scores:
    """Points with a given score of every pair."""

    def __init__(self, scores):
        self.scores = scores

    def __len__(self):
        return len(self.scores)

    def order(self, first, second):
        return -self.scores[first, second]


def newborn_area(seed, new=60, old=30, noise=1.0, even=True, per_positive=None):
    """New nodes with two births each, to old nodes that all have an effect on the score; any old node may be chosen."""
    rng = np.random.default_rng(seed)
    births = []
    turn = np.tile(np.arange(old), 2 * new // old)
    for node in range(new):
        targets = turn[[2 * node, 2 * node + 1]] if even else rng.choice(old, 2, replace=False)
        births += [(old + node, int(target)) for target in targets]
    births = np.array(births)
    scores = np.zeros((old + new, old + new))
    scores[old:, :old] = rng.normal(size=old) + noise * rng.normal(size=(new, old))
    arms = np.column_stack([np.arange(len(births)), np.zeros(len(births), int), np.ones(len(births), int)])
    pools = np.where(np.arange(old + new) < old, 0, -1)
    size = old + new
    graph = np.unique(np.sort(births, axis=1) @ [size, 1])
    return area_against_matched(
        Scores(scores),
        births,
        arms,
        graph,
        pools,
        directed=False,
        per_positive=per_positive,
        rng=rng,
        reason="none",
    )


@pytest.mark.parametrize("even", [True, False])
def test_effects_of_nodes_that_are_chosen_and_candidates_cancel(even):
    """Every old node is chosen about as often as it is a candidate: its effect says nothing about the area."""
    areas = [newborn_area(seed, even=even) for seed in range(150)]
    values = np.array([area.value for area in areas])
    errors, df = np.array([area.error() for area in areas]).T
    half = stats.t.ppf(0.975, df) * errors
    assert np.mean(np.abs(values - 0.5) <= half) >= 0.9
    assert np.median(half) <= 1.5 * 1.96 * values.std()
    # Errors that share nodes alone would be much wider.
    alone = np.array([area.dyads.error(area.shares)[0] for area in areas])
    assert np.median(alone / errors) > 1.5


@pytest.mark.parametrize("per_positive", [None, 2])
def test_the_variance_with_candidates_by_brute_force(per_positive):
    rng = np.random.default_rng(0)
    births = np.array([(6, 0), (6, 1), (7, 0), (8, 3), (8, 4)])
    kept, replaced = births.T
    owner = np.repeat(np.arange(5), 3 if per_positive is None else per_positive)
    node = rng.integers(0, 6, len(owner))
    wins = rng.integers(0, 3, len(owner)) / 2
    counts = np.bincount(owner)
    shares = np.bincount(owner, wins) / counts
    errors = shares - shares.mean()
    own = [(wins[c] - shares.mean()) / counts[owner[c]] for c in range(len(owner))]
    total = other = 0.0
    for x in range(9):
        at_targets = sum(errors[b] for b in range(5) if replaced[b] == x) + sum(
            own[c] for c in range(len(owner)) if node[c] == x
        )
        total += (at_targets + sum(errors[b] for b in range(5) if kept[b] == x)) ** 2
        other += at_targets**2
    total -= sum(errors**2)
    for pair in {(int(kept[owner[c]]), int(node[c])) for c in range(len(owner))}:
        total -= sum(own[c] for c in range(len(owner)) if (kept[owner[c]], node[c]) == pair) ** 2
    found = _cancelled(shares, kept, replaced, owner, node, wins, counts, 9)
    assert found == pytest.approx(max(total, other) / 25)
