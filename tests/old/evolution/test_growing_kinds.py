"""Births of any kind: newborn nodes, types and sides, directions, other scores, no labels, re-births."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.old.evolution.conftest import Graph, same

from graphgauge.core.errors import InputError, OptionError
from graphgauge.old.evolution import (
    AdaptiveEvaluator,
    EvaluationSuite,
    EvolutionLog,
    NietzscheEvaluationSuite,
    evaluate,
)
from graphgauge.old.stats.dyads import Dyads
from graphgauge.old.stats.page import page_test

AREAS = ["auc_birth", "auc_matched"]


def area(scores_of_births: list[float], scores_of_others: list[list[float]]) -> float:
    """The mean share of others that score lower, ties half."""
    shares = [
        np.mean([(own > other) + 0.5 * (own == other) for other in others])
        for own, others in zip(scores_of_births, scores_of_others, strict=True)
    ]
    return float(np.mean(shares))


# ---- orientation and numbering


@pytest.mark.parametrize("seed", range(3))
def test_no_value_depends_on_how_births_are_listed_or_nodes_are_numbered(graph: Graph, seed: int):
    rng = np.random.default_rng(seed)
    new = rng.choice(graph.free(), 30, replace=False)
    keys = [*AREAS, "delta_homophily", "delta_homophily_ends", "adjusted_homophily"]

    def found(points: np.ndarray, labels: np.ndarray, born: np.ndarray, edges: np.ndarray) -> dict[str, Any]:
        evaluator = AdaptiveEvaluator(range(120), labels, metrics=keys, negatives="all")
        one = evaluator.evaluate_cycle(points, born, np.concatenate([edges, born]), 0, points, previous_edges=edges)
        return {key: (result.value, *(result.interval or ())) for key, result in one.items()}

    expected = found(graph.points, graph.labels, new, graph.edges)
    forms = [new[:, ::-1], np.sort(new), np.sort(new)[:, ::-1], np.concatenate([new, new[:, ::-1]])]
    for form in forms:
        assert found(graph.points, graph.labels, form, graph.edges) == expected
    place = rng.permutation(120)
    turned = np.argsort(place)
    renumbered = found(graph.points[turned], graph.labels[turned], place[new], place[graph.edges])
    for key, values in expected.items():
        assert renumbered[key] == pytest.approx(values, rel=1e-9)


def test_a_directed_birth_keeps_its_source():
    rng = np.random.default_rng(0)
    points, edges = rng.normal(size=(12, 3)), [(0, 1), (1, 0), (2, 3)]
    new = [(4, 5), (5, 4), (6, 0)]
    every = [*edges, *new]
    evaluator = AdaptiveEvaluator(metrics=AREAS, negatives="all", score="dot", directed=True)
    found = evaluator.evaluate_cycle(points, new, every, 0, points, previous_edges=edges, pools=np.zeros(12, int))
    taken = set(every)
    free = [(u, v) for u in range(12) for v in range(12) if u != v and (u, v) not in taken]
    scores = [points[u] @ points[v] for u, v in new]
    assert found["auc_birth"].n == 3
    assert found["auc_birth"].value == pytest.approx(area(scores, [[points[u] @ points[v] for u, v in free]] * 3))
    others = [[points[u] @ points[w] for w in range(12) if w != u and (u, w) not in taken] for u, _ in new]
    assert found["auc_matched"].value == pytest.approx(area(scores, others))


# ---- scores


def by_pairs(points: np.ndarray, score: str) -> Any:
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    return {
        "euclidean": lambda u, v: -np.linalg.norm(points[u] - points[v]),
        "dot": lambda u, v: points[u] @ points[v],
        "cosine": lambda u, v: unit[u] @ unit[v],
    }[score]


@pytest.mark.parametrize("score", ["euclidean", "cosine", "dot"])
def test_scores_by_hand_looked_up_and_by_a_function(graph: Graph, score: str):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(40, 5)) * 7  # far outside the ball
    edges = np.array([edge for edge in graph.edges.tolist() if max(edge) < 40])
    new = np.array([(0, 39), (3, 38), (5, 30), (7, 22)])
    every = np.concatenate([edges, new])
    taken = {frozenset(edge) for edge in every.tolist()}
    free = [pair for pair in combinations(range(40), 2) if frozenset(pair) not in taken]
    own = by_pairs(points, score)
    expected = area([own(u, v) for u, v in new.tolist()], [[own(u, v) for u, v in free]] * len(new))
    matrix = np.array([[own(u, v) for v in range(40)] for u in range(40)])
    rows = np.arange(40.0)[:, None]

    def looked_up(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return matrix[first[:, 0].astype(int), second[:, 0].astype(int)]

    def called(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        if score == "euclidean":
            return -np.linalg.norm(first - second, axis=1)
        scale = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1) if score == "cosine" else 1.0
        return (first * second).sum(axis=1) / scale

    for given, kind in ((points, score), (rows, looked_up), (points, called)):
        evaluator = AdaptiveEvaluator(metrics=["auc_birth"], negatives="all", score=kind)
        found = evaluator.evaluate_cycle(given, new, every, 0, given, previous_edges=edges)
        assert found["auc_birth"].value == pytest.approx(expected, rel=1e-12)


def test_scores_that_cannot_be(graph: Graph):
    for unknown in ("manhattan", "given"):
        with pytest.raises(OptionError, match="score"):
            AdaptiveEvaluator(score=unknown)
    new = graph.free()[:3]
    given = (new, np.concatenate([graph.edges, new]), 0)
    with pytest.raises(InputError, match="score: returned"):
        AdaptiveEvaluator(score=lambda u, v: np.ones(2), metrics=["auc_synthetic"]).evaluate_cycle(graph.points, *given)
    with pytest.raises(InputError, match=r'score="euclidean"'):
        AdaptiveEvaluator().evaluate_cycle(graph.points * 9, *given)


# ---- labels


def test_without_labels_what_needs_them_is_skipped_and_said(graph: Graph):
    new = graph.free()[::50]
    evaluator = AdaptiveEvaluator()
    found = evaluator.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0, graph.points)
    assert found["auc_birth"].defined
    assert found.skipped["delta_homophily"] == found.skipped["nca_mean"] == "no labels given"
    with pytest.raises(OptionError, match="nca_mean needs probe: no labels given"):
        AdaptiveEvaluator(range(120), metrics=["nca_mean"])
    labelled = AdaptiveEvaluator(range(120), graph.labels)
    other = labelled.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0, graph.points)
    for key in found:
        assert same(found[key].value, other[key].value)


def test_labels_of_later_nodes_count_when_they_are_born(graph: Graph):
    """Nodes 110 … 119 come later; their labels are in the mapping from the start."""
    labels = dict(enumerate(graph.labels.tolist()))
    evaluator = AdaptiveEvaluator(range(110), labels, metrics=["homophily_new_edges", "homophily_baseline", "nca_mean"])
    old = graph.edges[(graph.edges < 110).all(axis=1)]
    new = np.array([(0, 1), (5, 70)])
    first = evaluator.evaluate_cycle(graph.points[:110], new, np.concatenate([old, new]), 0, previous_edges=old)
    assert first["homophily_baseline"].n == 110
    late = np.array([(115, 3), (116, 114), (2, 119)])
    graph_now = np.concatenate([old, new, late])
    second = evaluator.evaluate_cycle(graph.points, late, graph_now, 1)
    agree = [graph.labels[u] == graph.labels[v] for u, v in late.tolist()]
    assert second["homophily_new_edges"].value == np.mean(agree)
    assert second["homophily_new_edges"].n == 3
    assert second["homophily_baseline"].n == 120
    assert second["nca_mean"].n == 110


def test_node_ids_of_the_end_are_fine_at_the_start(graph: Graph):
    evaluator = AdaptiveEvaluator(range(120), graph.labels, metrics=["homophily_baseline"])
    old = graph.edges[(graph.edges < 110).all(axis=1)]
    found = evaluator.evaluate_cycle(graph.points[:110], None, old, 0)
    assert found["homophily_baseline"].n == 110
    assert "original nodes that have no embedding yet: 10" in found.notes


# ---- newborn nodes


def test_every_birth_has_a_new_node():
    """As in an agent's memory: each new node links to some that were there; scored when it is inserted."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 4))
    old = np.array([(i, i + 1) for i in range(19)])
    new = np.array([(20 + i, rng.integers(0, 20)) for i in range(10)])
    moved = points + rng.normal(0, 3, points.shape)
    evaluator = AdaptiveEvaluator(metrics=["auc_birth", "auc_newborn", "auc_matched"], negatives="all", score="dot")
    found = evaluator.evaluate_cycle(
        moved, new, np.concatenate([old, new]), 0, points[:20], previous_edges=old, inserted_embeddings=points
    )
    assert not found["auc_birth"].defined
    expected = area(
        [points[u] @ points[v] for u, v in new.tolist()],
        [[points[u] @ points[w] for w in range(20) if w != v] for u, v in new.tolist()],
    )
    assert found["auc_newborn"].value == pytest.approx(expected, rel=1e-12)
    assert found["auc_newborn"].n == 10
    assert found["auc_matched"].defined
    alone = AdaptiveEvaluator(metrics=["auc_newborn"], negatives="all", score="dot")
    told = alone.evaluate_cycle(moved, new, np.concatenate([old, new]), 0, points[:20], previous_edges=old)
    assert told["auc_newborn"].value != found["auc_newborn"].value
    assert any("may have been adapted" in note for note in told.notes)


# ---- types and sides


def bipartite(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Users far from items: pairs within a side are all closer than those between."""
    rng = np.random.default_rng(seed)
    points = rng.normal(0, 0.1, (60, 2)) + np.where(np.arange(60)[:, None] < 20, -3.0, 3.0)
    pairs = rng.permutation([(u, i) for u in range(20) for i in range(20, 60)])
    return points, pairs[:200], pairs[200:260], np.where(np.arange(60) < 20, "user", "item")


def test_negatives_are_of_the_same_types():
    points, old, new, types = bipartite()
    every = np.concatenate([old, new])
    taken = {tuple(edge) for edge in every.tolist()}
    free = [(u, i) for u in range(20) for i in range(20, 60) if (u, i) not in taken]
    gap = lambda u, v: -np.linalg.norm(points[u] - points[v])  # noqa: E731
    expected = area([gap(u, v) for u, v in new.tolist()], [[gap(u, v) for u, v in free]] * len(new))
    options = {"metrics": ["auc_birth", "n_synthetic_negatives"], "score": "euclidean"}
    whole = AdaptiveEvaluator(**options, negatives="all", node_types=types)
    found = whole.evaluate_cycle(points, new, every, 0, points, previous_edges=old)
    assert found["auc_birth"].value == pytest.approx(expected, rel=1e-12)
    assert found["n_synthetic_negatives"] == len(free)
    assert not found.findings
    drawn = AdaptiveEvaluator(**options, negatives_per_positive=8, node_types=types)
    found = drawn.evaluate_cycle(points, new, every, 0, points, previous_edges=old)
    assert found["auc_birth"].value == pytest.approx(expected, abs=0.08)
    blind = AdaptiveEvaluator(**options)
    found = blind.evaluate_cycle(points, new, every, 0, points, previous_edges=old)
    assert found["auc_birth"].value < 0.35  # random growth, against pairs that cannot happen
    assert [finding.check for finding in found.findings] == ["bipartite-growth"]


# ---- re-births


def test_random_edges_that_come_again_do_not_score():
    """Embeddings learn every edge; edges that were removed and come again are not births of skill."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, 4))
    old = np.array([(i, (i + 1) % 150) for i in range(150)])
    new = np.array([(i, (i + 40) % 150) for i in range(0, 150, 3)])
    learned = points.copy()
    learned[new[:, 0]] = learned[new[:, 1]] = (points[new[:, 0]] + points[new[:, 1]]) / 2
    suite = EvaluationSuite(conditions=["run"], metrics=["auc_birth", "retention"], score="euclidean", negatives="all")
    suite.begin("run", points, old)
    both = np.concatenate([old, new])
    first = suite.step("run", learned, new, both, 0)
    assert abs(first["auc_birth"].value - 0.5) < 0.15
    gone = suite.step("run", learned, None, old, 1)
    assert gone["retention"] == 0
    again = suite.step("run", learned, new, both, 2)
    assert not again["auc_birth"].defined
    assert "every birth is of an edge that existed before" in again["auc_birth"].reason
    findings = {finding.check: finding for finding in suite.evaluation().findings}
    assert findings["reborn-edges"].evidence["reborn"] == 50


# ---- nulls that keep the ends


def test_ends_in_one_class_are_no_homophily():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], 100)
    first, second = (
        np.where(rng.random(300) < 0.85, rng.integers(0, 100, 300), rng.integers(100, 400, 300)) for _ in range(2)
    )
    new = np.unique(np.sort(np.stack([first, second], axis=1)[first != second]), axis=0)
    evaluator = AdaptiveEvaluator(range(400), labels)
    found = evaluator.evaluate_cycle(np.zeros((400, 1)), new, new, 0, previous_edges=new[:0])
    assert found["delta_homophily"].value > 0.4
    for key in ("delta_homophily_ends", "adjusted_homophily"):
        assert abs(found[key].value) < 0.1
        assert found[key].interval.low < 0 < found[key].interval.high


def test_the_null_of_ends_is_the_mean_over_pairings():
    rng = np.random.default_rng(0)
    classes = np.array([0, 0, 0, 1, 1, 2, 0, 1])
    ends = np.arange(8).reshape(-1, 2)
    evaluator = AdaptiveEvaluator(range(8), classes, metrics=["homophily_new_edges"])
    found = evaluator.evaluate_cycle(np.zeros((8, 1)), ends, ends, 0, previous_edges=ends[:0])["homophily_new_edges"]
    drawn = [np.mean(np.equal(*rng.permutation(classes).reshape(-1, 2).T)) for _ in range(20_000)]
    level = next(level.value for level in found.chance if level.name == "ends paired at random")
    assert level == pytest.approx(np.mean(drawn), abs=0.005)


# ---- dyads


def test_the_dyadic_error_is_the_double_sum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        ends = np.unique(np.sort(rng.integers(0, 9, (12, 2))), axis=0)
        ends = ends[ends[:, 0] != ends[:, 1]]
        values = rng.random(len(ends))
        error = (values - values.mean()) / len(ends)
        shared = np.array([[bool({*one} & {*other}) for other in ends.tolist()] for one in ends.tolist()])
        raw = error @ shared @ error
        nodes = np.unique(ends)
        incidence = (ends[:, :, None] == nodes).any(axis=1).astype(float)
        centring = np.eye(len(ends)) - 1 / len(ends)
        form = incidence.T @ centring @ shared @ centring @ incidence
        degrees = incidence.sum(axis=0)
        found, df = Dyads(ends).error(values)
        if raw > 0:
            assert found**2 == pytest.approx(raw * (degrees @ degrees) / np.trace(form), rel=1e-9)
        assert df == pytest.approx(min(np.trace(form) ** 2 / np.trace(form @ form), len(ends) - 1), rel=1e-9)


def test_pairs_without_a_common_node_have_the_usual_error():
    values = np.random.default_rng(0).random(15)
    found, df = Dyads(np.arange(30).reshape(-1, 2)).error(values)
    assert (found, df) == pytest.approx((values.std(ddof=1) / np.sqrt(15), 14))
    star = np.stack([np.zeros(15, int), np.arange(1, 16)], axis=1)
    assert Dyads(star).error(values)[1] == 0  # one node in all of them: nothing is known


@pytest.mark.parametrize("count", [1, 2, 3, 5, 20])
def test_equal_shares_have_no_interval_made_of_rounding(count: int):
    from graphgauge.old.core.metric import find
    from graphgauge.old.evolution.areas import Area

    metric = find("auc_birth", "evolution")[0]
    for value in (0.1, 1 / 3, 0.7):
        for ends in (np.arange(2 * count).reshape(-1, 2), np.stack([np.arange(count) % 6, np.arange(count) + 9], 1)):
            sample = Area(np.full(count, value), 10, ends, nodes=99)
            result = metric.result(sample, metric(sample), {}, confidence=0.95, conventions={})
            assert result.interval is None


def test_large_and_small_designs_have_the_same_degrees_of_freedom():
    rng = np.random.default_rng(0)
    ends = np.stack([rng.integers(6, 400, 900), rng.integers(0, 6, 900)], axis=1)
    exact = Dyads(ends)
    exact.__dict__["_moments"] = (
        lambda form: (
            float(exact._at_nodes(exact._weights) @ exact._at_nodes(exact._weights)),
            float(np.trace(form)),
            float((form * form.T).sum()),
        )
    )(exact._form(np.eye(exact.nodes)))
    assert Dyads(ends).df == pytest.approx(exact.df, rel=0.02)


# ---- conditions


def two_conditions(graph: Graph, shared: bool = False, **options: Any) -> EvaluationSuite:
    suite = EvaluationSuite(range(120), graph.labels, ["one", "two"], metrics=["auc_birth", "tgc"], **options)
    edges = graph.edges
    for number, name in enumerate(suite.conditions):
        edges = edges if shared else graph.edges
        for seed in range(1 if shared else 3):
            for cycle in range(2):
                new = np.random.default_rng((seed, cycle, number)).choice(graph.free(), 9, replace=False)
                known = {frozenset(edge) for edge in edges.tolist()}
                new = np.array([edge for edge in new.tolist() if frozenset(edge) not in known])
                if cycle == 0 and not shared:
                    suite.begin(name, graph.points, graph.edges, seed)
                    edges = graph.edges
                edges = np.concatenate([edges, new])
                suite.step(name, graph.points, new, edges, cycle, seed=seed)
    return suite


def test_conditions_are_told_one_by_one(graph: Graph):
    found = two_conditions(graph).evaluation()
    assert not found["auc_birth"].defined
    table = found["auc_birth"].by("condition")
    assert not np.isnan(table["value"]).any()
    assert not np.isnan(table["low"]).any()
    with pytest.raises(InputError, match=r"auc_birth\[condition\]"):
        found.gate("auc_birth >= 0.4")
    assert found.gate("auc_birth[condition] >= 0").passed
    assert not found.gate("auc_birth[condition=one] >= 0.99").passed
    text = str(found)
    assert f"{table['value'][0]:.4f} [{table['low'][0]:.4f}" in text
    from graphgauge.old.cli.common import as_csv

    rows = [row.split(",") for row in as_csv(found).splitlines()]
    told = {row[0]: row[1] for row in rows}
    assert float(told["auc_birth[condition=one]"]) == table["value"][0]
    assert told["auc_birth"] == ""


def test_conditions_that_share_a_system_are_found(graph: Graph):
    assert "shared-state" in [finding.check for finding in two_conditions(graph, shared=True).evaluation().findings]
    assert "shared-state" not in [finding.check for finding in two_conditions(graph).evaluation().findings]


def test_an_order_is_tested(graph: Graph):
    suite = two_conditions(graph)
    found = suite.trend("auc_birth", ["two", "one"])
    assert found.order == ("two", "one")
    assert found.blocks == 3
    assert 0 < found.p <= 1
    assert "two < one: Page's L" in str(found)


@pytest.mark.parametrize("seed", range(4))
def test_pages_test_is_scipys(seed: int):
    from scipy.stats import page_trend_test

    rng = np.random.default_rng(seed)
    table = rng.normal(size=(4 + seed, 3 + seed % 2)) + 0.4 * np.arange(3 + seed % 2)
    ours, theirs = page_test(table), page_trend_test(table, method="exact")
    assert ours.statistic == theirs.statistic
    assert ours.p == pytest.approx(theirs.pvalue, rel=1e-12)


def test_test_edges_in_the_graph_are_found(graph: Graph):
    new = graph.free()[:5]
    evaluator = AdaptiveEvaluator(range(120), graph.labels, test_edges=graph.edges[:7], metrics=["static_auc"])
    found = evaluator.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0)
    assert found.findings[0].check == "test-edges-in-graph"
    assert found.findings[0].evidence["inside"] == 7


# ---- names and errors


def test_names_of_the_original_protocol(graph: Graph):
    suite = NietzscheEvaluationSuite(cora_node_ids=range(120), cora_labels=graph.labels)
    new = graph.free()[:6]
    result = suite.step("Normal", graph.points, new, np.concatenate([graph.edges, new]), 0, tgc=0.5)
    assert result["condition"] == "Normal"
    assert result["cycle"] == 0
    assert suite.evaluators["Normal"].tgc_history == [0.5]
    assert list(suite.cora_node_ids) == list(range(120))
    with pytest.raises(KeyError):
        suite.evaluators["Absent"]


def test_errors_in_a_log_name_run_and_cycle(graph: Graph, tmp_path: Path):
    log = EvolutionLog(tmp_path)
    log.begin("Off", 3, edges=graph.edges, embeddings=graph.points)
    new = graph.free()[:4]
    log.append_cycle("Off", 3, 0, embeddings=graph.points, new_edges=new)
    log.append_cycle("Off", 3, 1, embeddings=graph.points * 20, new_edges=graph.free()[4:6])
    with pytest.raises(InputError, match=r"Off, seed 3, cycle 1: embeddings: "):
        evaluate(log, graph.labels, metrics=["auc_birth"])


def test_labels_stored_with_a_log_need_not_be_given(graph: Graph, tmp_path: Path):
    log = EvolutionLog(tmp_path)
    log.begin("Off", 0, edges=graph.edges, embeddings=graph.points)
    log.append_cycle("Off", 0, 0, embeddings=graph.points, new_edges=graph.free()[:9])
    assert "no labels given" in evaluate(log, metrics=None).skipped["delta_homophily"]
    np.save(tmp_path / "labels.npy", graph.labels)
    for place in (tmp_path, tmp_path / "Off" / "seed-0"):
        found = evaluate(place, metrics=["delta_homophily"])
        assert found["delta_homophily"] == evaluate(log, graph.labels, metrics=["delta_homophily"])["delta_homophily"]
