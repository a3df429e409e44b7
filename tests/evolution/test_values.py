"""Values against brute force over the definitions, and against what the original document computes."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np
import pytest
from tests.evolution.grown import block_graph, cycles

from graphgauge import evolution

LABELS = block_graph().labels


def distance(u, v) -> mpmath.mpf:
    with mpmath.workdps(50):
        u, v = [mpmath.mpf(float(x)) for x in u], [mpmath.mpf(float(x)) for x in v]
        gap = sum((a - b) ** 2 for a, b in zip(u, v, strict=True))
        room = (1 - sum(a * a for a in u)) * (1 - sum(b * b for b in v))
        return mpmath.acosh(1 + 2 * gap / room)


@pytest.mark.parametrize("norm", [0.0, 0.5, 0.999, 1 - 1e-9, 1 - 1e-15])
def test_distances_hold_up_to_the_boundary(norm):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 3))
    rows *= norm / np.linalg.norm(rows, axis=1)[:, None]
    rows = rows[np.linalg.norm(rows, axis=1) < 1]
    found = evolution.poincare_distance(rows[:-1], rows[1:])
    for got, u, v in zip(found, rows[:-1], rows[1:], strict=True):
        assert float(got) == pytest.approx(float(distance(u, v)), rel=1e-9 if norm > 0.9999 else 1e-13, abs=1e-15)
    scores = evolution.link_score(rows[:-1], rows[1:], temperature=2.0)
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(found / 2)), rtol=1e-13)


def share(q: float, others: list[float]) -> float:
    return float(np.mean([(other > q) + 0.5 * (other == q) for other in others]))


def far(points, pair, score) -> float:
    u, v = points[pair[0]], points[pair[1]]
    if score == "poincare":
        return float(((u - v) ** 2).sum() / ((1 - u @ u) * (1 - v @ v)))
    if score == "euclidean":
        return float(((u - v) ** 2).sum())
    return float(-(u @ v) if score == "dot" else -round(u @ v / np.sqrt((u @ u) * (v @ v)), 12))


@pytest.mark.parametrize("score", ["poincare", "euclidean", "cosine", "dot"])
def test_areas_are_shares_of_farther_non_edges(score):
    (given,) = cycles(count=1, weight=0.3)
    found = evolution.evaluate([given], LABELS, negatives="all", score=score, metrics=["auc_synthetic", "auc_birth"])
    taken = {tuple(edge) for edge in given["all_edges"].tolist()}
    free = [pair for pair in combinations(range(90), 2) if pair not in taken]
    for key, points in (("auc_synthetic", given["embeddings"]), ("auc_birth", given["previous_embeddings"])):
        others = [far(points, pair, score) for pair in free]
        shares = [share(far(points, edge, score), others) for edge in given["new_edges"].tolist()]
        assert found[key].value == pytest.approx(np.mean(shares), abs=1e-12)
        assert found[key].n == 20


def test_matched_targets_are_of_the_same_degree():
    (given,) = cycles(count=1)
    graph, points = {tuple(sorted(edge)) for edge in given["all_edges"].tolist()}, given["previous_embeddings"]
    degree = np.bincount(given["previous_edges"].ravel(), minlength=90)
    pool = np.frexp(degree.astype(float))[1]
    shares = []
    for edge in given["new_edges"].tolist():
        own = far(points, edge, "poincare")
        arms = []
        for kept, replaced in (edge, edge[::-1]):
            others = [
                far(points, (kept, node), "poincare")
                for node in range(90)
                if pool[node] == pool[replaced] and node != kept and tuple(sorted((kept, node))) not in graph
            ]
            arms += [share(own, others)] if others else []
        shares += [np.mean(arms)] if arms else []
    found = evolution.evaluate([given], LABELS, negatives="all", metrics=["auc_matched"])["auc_matched"]
    assert found.value == pytest.approx(np.mean(shares), abs=1e-12)


def test_homophily_against_three_nulls():
    (given,) = cycles(count=1)
    births, found = given["new_edges"], evolution.evaluate([given], LABELS, metrics="all")
    same = np.mean(LABELS[births[:, 0]] == LABELS[births[:, 1]])
    sizes = np.bincount(LABELS)
    degree = np.bincount(given["previous_edges"].ravel(), minlength=90)
    drawn = np.bincount(LABELS, degree) / degree.sum()
    assert found["homophily_new_edges"].value == same
    assert found["homophily_baseline"].value == pytest.approx((sizes * (sizes - 1)).sum() / (90 * 89))
    assert found["delta_homophily"].value == pytest.approx(same - (sizes * (sizes - 1)).sum() / (90 * 89))
    assert found["delta_homophily_squares"].value == pytest.approx(same - ((sizes / 90) ** 2).sum())
    assert found["delta_homophily_degree"].value == pytest.approx(same - (drawn**2).sum())


def test_growth_is_smoothed_and_births_are_followed():
    run = cycles(count=3)
    suite = evolution.EvaluationSuite(range(90), LABELS, ["run"], metrics="all")
    suite.replay(run)
    (own,) = suite.of("run")
    first, second, _ = own.history["tgc"]
    assert second == pytest.approx(0.9 * first + 0.1 * evolution.tgc_step(20, 90, 90))
    assert own.history["retention"][1:] == [1.0, 1.0]
    assert np.isnan(own.history["retention"][0])


def test_newborn_nodes_and_what_they_could_be_linked_to():
    before = np.array([[0.0, 0.0], [0.4, 0.0], [-0.4, 0.0]])
    after = np.array([[0.0, 0.0], [0.4, 0.0], [-0.4, 0.0], [0.5, 0.0]])
    found = evolution.AdaptiveEvaluator(range(3), metrics=["auc_newborn"], n_neg_per_pos="all").evaluate_cycle(
        after, [(1, 3)], [(0, 1), (1, 3)], 0, before
    )["auc_newborn"]
    assert (found.value, found.n) == (1.0, 1)
    none = evolution.evaluate(cycles(count=1), LABELS)
    assert "auc_newborn" not in none


def document_auc(points, births, edges, nodes, rng) -> float:
    """The area of the original document: births against as many random pairs of original nodes without an edge."""
    taken, pairs = {tuple(edge) for edge in edges.tolist()}, []
    while len(pairs) < len(births):
        u, v = rng.integers(0, nodes, 2).tolist()
        if u != v and (u, v) not in taken and (v, u) not in taken:
            pairs.append((u, v))

    def score(rows):
        u, v = points[rows[:, 0]], points[rows[:, 1]]
        room = (1 - (u * u).sum(1)) * (1 - (v * v).sum(1))
        return 1 / (1 + np.exp(np.arccosh(1 + 2 * ((u - v) ** 2).sum(1) / room)))

    one, other = score(births), score(np.array(pairs))
    return float(((one[:, None] > other) + 0.5 * (one[:, None] == other)).mean())


def test_the_document_draws_what_all_non_edges_have_in_the_mean():
    (given,) = cycles(count=1, births=60, weight=0.3)
    arguments = given["embeddings"], given["new_edges"], given["all_edges"]
    drawn = [document_auc(*arguments, 90, np.random.default_rng(seed)) for seed in range(200)]
    every = evolution.auc_synthetic(*arguments)
    assert np.mean(drawn) == pytest.approx(every, abs=4 * np.std(drawn) / np.sqrt(200))


def test_draws_do_not_depend_on_the_order_of_ids():
    """Rows follow the ids, and so do the pairs that are drawn."""
    given = cycles(count=2, weight=0.2)
    names = np.array([f"n{node:03d}" for node in range(90)])
    events = [(edge, 0) for edge in given[0]["previous_edges"]]
    events += [(edge, cycle + 1) for cycle, each in enumerate(given) for edge in each["new_edges"]]
    ends, times = np.array([edge for edge, _ in events]), [time for _, time in events]
    order = np.random.default_rng(3).permutation(90)
    found = [
        evolution.evaluate(
            evolution.from_events(
                names[ends[:, 0]], names[ends[:, 1]], times, embeddings=given[0]["embeddings"][rows], ids=names[rows]
            )
        )
        for rows in (np.arange(90), order)
    ]
    assert {key: each.value for key, each in found[0].items()} == {key: each.value for key, each in found[1].items()}
