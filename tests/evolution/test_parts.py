"""Pairs, drawn errors and checks against enumeration, and their limits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.evolution.grown import block_graph, cycles

from graphgauge import Evaluation, audit, evolution
from graphgauge.core.errors import InputError
from graphgauge.evolution.areas import _drawn_variance, _farther
from graphgauge.evolution.edges import FreePairs, codes_of, ends_of, orders_by_graph

LABELS = block_graph().labels


def _free(sources, targets, taken, directed):
    pairs = {(u, v) for u in sources for v in targets if u != v}
    if directed:
        return pairs - taken
    return {tuple(sorted(pair)) for pair in pairs} - {tuple(sorted(pair)) for pair in taken}


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sides", ["all", "some", "apart", "crossed"])
def test_free_pairs_are_listed_and_drawn_once_each(sides, directed):
    random = np.random.default_rng(0)
    nodes = np.arange(12)
    taken = {(int(u), int(v)) for u, v in random.integers(0, 12, (30, 2)) if u != v}
    one, other = {
        "all": (nodes, nodes),
        "some": (nodes[:7], nodes[:7]),
        "apart": (nodes[:5], nodes[6:]),
        "crossed": (nodes[6:], nodes[:5]),
    }[sides]
    first, second = np.array(sorted(taken)).T
    codes = np.unique(codes_of(first, second, directed))
    pairs = FreePairs(one, other, codes, 12, directed)
    wanted = _free(one.tolist(), other.tolist(), taken, directed)

    def listed(ends):
        found = [
            (u, v) if directed else tuple(sorted((u, v))) for u, v in zip(*(e.tolist() for e in ends), strict=True)
        ]
        assert len(set(found)) == len(found)
        return set(found)

    assert listed(np.concatenate(parts) for parts in zip(*pairs.all(), strict=True)) == wanted
    assert pairs.free == len(wanted)
    for count in (1, len(wanted) // 2, len(wanted) - 1):
        drawn = listed(pairs.drawn(count, random))
        assert (len(drawn), drawn <= wanted) == (count, True)


def test_draws_are_uniform():
    """Each of 21 free pairs is drawn in a third of all draws of seven."""
    pairs = FreePairs(np.arange(7), np.arange(7), np.empty(0, np.int64), 7)
    seen = np.zeros((7, 7))
    for seed in range(600):
        seen[pairs.drawn(7, np.random.default_rng(seed))] += 1
    shares = seen[np.triu_indices(7, 1)] / 600
    assert np.abs(shares - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 600)


def test_shares_of_farther_pairs_and_their_error_by_comparing_all():
    random = np.random.default_rng(1)
    q, others = np.round(random.random(9), 1), np.round(random.random(40), 1)
    wins = (others > q[:, None]) + 0.5 * (others == q[:, None])
    np.testing.assert_allclose(_farther(q, [others[:15], others[15:]]), wins.mean(axis=1))
    assert _drawn_variance(q, others) == pytest.approx(wins.mean(axis=0).var(ddof=1) / 40)
    assert _drawn_variance(q, others[:2]) == pytest.approx(wins[:, :2].mean(axis=0).var(ddof=1) / 2)
    assert np.isnan(_drawn_variance(q, others[:1]))


def test_scores_of_links_by_sets_of_neighbours():
    edges = block_graph().edges
    codes = np.unique(codes_of(edges[:, 0], edges[:, 1], False))
    assert sorted(zip(*(each.tolist() for each in ends_of(codes)), strict=True)) == sorted(map(tuple, edges.tolist()))
    around = {node: set() for node in range(90)}
    for u, v in edges.tolist():
        around[u].add(v)
        around[v].add(u)
    first, second = np.array(list(combinations(range(90), 2))).T
    orders = orders_by_graph(codes, 90)
    shared = [around[u] & around[v] for u, v in zip(first, second, strict=True)]
    wanted = [sum(1 / np.log(len(around[w])) for w in each) for each in shared]
    np.testing.assert_allclose(-orders["Adamic–Adar"](first, second), wanted, atol=1e-12)
    degrees = np.array([len(around[node]) for node in range(90)])
    np.testing.assert_array_equal(-orders["preferential attachment"](first, second), degrees[first] * degrees[second])


@pytest.mark.parametrize(("size", "found"), [(19, False), (20, True), (21, True)])
def test_a_code_of_the_label_needs_twenty_nodes_of_each_class(size, found):
    labels = np.repeat([0, 1, 2], [size, size, 40])
    rows = np.random.default_rng(2).normal(size=(len(labels), 3))
    rows[:, 1] = np.array([0.5, 0.25, 0.5])[labels]
    given = audit.run(Evaluation("evolution", []), only=["label-in-embeddings"], embeddings=rows, labels=labels)
    if not found:
        assert not given
        return
    evidence = given[0].evidence
    assert evidence == {"column": 1, "nodes": len(labels), "classes": 3, "values": 2}
    rows[0, 1] += 1e-9  # one node with another value
    assert not audit.run(Evaluation("evolution", []), only=["label-in-embeddings"], embeddings=rows, labels=labels)


def test_labels_of_nodes_without_a_row_are_refused():
    rows = np.zeros((4, 2))
    with pytest.raises(InputError, match="node 4 has a label, and there are 4 rows"):
        audit.run(Evaluation("evolution", []), only=["label-in-embeddings"], embeddings=rows, labels=[0, 0, 1, 1, 0])
    audit.run(Evaluation("evolution", []), only=["label-in-embeddings"], embeddings=rows, labels=[0, 0, 1, 1])


@pytest.mark.parametrize(("u", "v"), [([0.1], [0.1, 0.2]), ([[[0.1]]], [[[0.1]]]), (0.1, 0.2)])
def test_points_of_unequal_shapes_have_no_distance(u, v):
    with pytest.raises(InputError, match="found shapes"):
        evolution.poincare_distance(u, v)


def test_functions_of_rows_score_pairs_in_both_directions():
    (given,) = cycles(count=1)

    def score(one, other):
        return one[:, 0] - 2 * other[:, 1]

    points = given["embeddings"]
    taken = {tuple(edge) for edge in given["all_edges"].tolist()}

    def of(u, v, directed):
        forward = points[u, 0] - 2 * points[v, 1]
        return forward if directed else (forward + points[v, 0] - 2 * points[u, 1]) / 2

    for directed in (False, True):
        pairs = [(u, v) for u in range(90) for v in range(90) if u != v and (directed or u < v) and (u, v) not in taken]
        others = np.array([of(u, v, directed) for u, v in pairs])
        own = np.array([of(u, v, directed) for u, v in given["new_edges"].tolist()])
        wanted = np.mean((own[:, None] > others) + 0.5 * (own[:, None] == others))
        options = {"negatives": "all", "score": score, "directed": directed, "metrics": ["auc_synthetic"]}
        assert evolution.evaluate([given], LABELS, **options)["auc_synthetic"].value == pytest.approx(wanted, abs=1e-9)
