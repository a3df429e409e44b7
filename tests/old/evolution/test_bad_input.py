"""Whatever comes in, the answer is clear, and the history stays as it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.old.evolution.conftest import Graph, same

from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.old.evolution import AdaptiveEvaluator
from graphgauge.old.evolution.births import Births
from graphgauge.old.evolution.inputs import Points

NEW = np.array([[0, 50], [1, 60]])


def judged(graph: Graph, evaluator: AdaptiveEvaluator, cycle: Any = 0, **changed: Any):
    given = {
        "embeddings": graph.points,
        "new_edges": NEW,
        "all_edges": np.concatenate([graph.edges, NEW]),
        "previous_embeddings": graph.points,
    }
    return evaluator.evaluate_cycle(**given | changed, cycle=cycle)


def spoiled(points: np.ndarray, value: float) -> np.ndarray:
    points = points.copy()
    points[7, 1] = value
    return points


def bad_cycles() -> dict[str, tuple[dict[str, Any], str]]:
    return {
        "norm 1": ({"embeddings": lambda g: spoiled(g.points, 1.0)}, "embeddings: 1 of 120 rows have norm 1 or more"),
        "norm before": ({"previous_embeddings": lambda g: spoiled(g.points, 1.5)}, "previous_embeddings: 1 of 120"),
        "infinite": ({"embeddings": lambda g: spoiled(g.points, math.inf)}, "norm inf"),
        "NaN": ({"embeddings": lambda g: spoiled(g.points, math.nan)}, r"1 of 480 values are NaN, the first at .*7, 1"),
        "too few rows": ({"embeddings": lambda g: g.points[:100]}, "120 rows before the cycle, 100 after it"),
        "flat": ({"embeddings": lambda g: g.points.ravel()}, "embeddings: expected shape"),
        "text": ({"embeddings": lambda g: g.points.astype(str)}, "embeddings: expected numbers"),
        "fewer after": ({"previous_embeddings": lambda g: np.zeros((121, 4))}, "121 rows before the cycle, 120 after"),
        "out of range": ({"new_edges": [[0, 500]]}, r"new_edges: 1 of 1 edges .* first is \(0, 500\) in row 0"),
        "negative": ({"new_edges": [[0, -1]]}, r"new_edges: .*\(0, -1\)"),
        "all out of range": ({"all_edges": [[0, 120]]}, "all_edges: 1 of 1"),
        "columns": ({"new_edges": np.zeros((2, 5), int)}, r"new_edges: found shape \(2, 5\), .* edge_index.T"),
        "edge_index": ({"all_edges": lambda g: g.edges.T}, r"all_edges: .*Transpose it"),
        "quadruples": ({"new_edges": [[0, 1, 2, 3]]}, "new_edges: expected shape"),
        "relations": ({"new_edges": [[0, 1, 2]]}, "new_edges: expected shape .*evaluate every relation by itself"),
        "halves": ({"new_edges": [[0.5, 1]]}, "0.5 is not a node number"),
        "NaN edge": ({"new_edges": [[math.nan, 1]]}, "new_edges: 1 of 2 values are NaN"),
        "booleans": ({"new_edges": np.ones((3, 2), bool)}, "booleans"),
        "whole graph": ({"new_edges": lambda g: np.concatenate([g.edges, NEW])}, "Pass only the edges born in this"),
        "whole graph turned": ({"new_edges": lambda g: np.concatenate([g.edges, NEW])[:, ::-1]}, "contains all"),
        "graph before": (
            {"new_edges": lambda g: np.concatenate([g.edges, NEW]), "previous_edges": lambda g: g.edges},
            "edges_created_at_cycle",
        ),
        "whole graph after an edge went": (
            {
                "new_edges": lambda g: np.concatenate([g.edges[1:], NEW]),
                "all_edges": lambda g: np.concatenate([g.edges[1:], NEW]),
                "previous_edges": lambda g: g.edges,
            },
            "Pass only the edges born in this",
        ),
        "pools": ({"pools": np.zeros(7, int)}, "pools: expected one number for each of the 120 nodes"),
        "negative pools": ({"pools": np.full(120, -1)}, "pools: -1 is negative"),
        "tgc": ({"tgc": math.nan}, "tgc: found nan"),
        "tgc in words": ({"tgc": "much"}, "tgc: expected numbers"),
        "tgc of two": ({"tgc": np.array([0.1, 0.2])}, "tgc: found"),
        "the same cycle": ({"cycle": 0}, "cycle 0 comes after cycle 0"),
        "half a cycle": ({"cycle": 0.5}, "cycle must be a whole number"),
    }


@pytest.mark.parametrize("name", bad_cycles())
def test_bad_cycles_leave_the_history_alone(graph: Graph, name: str):
    evaluator = AdaptiveEvaluator(range(120), graph.labels, folds=2)
    judged(graph, evaluator)
    before = evaluator.history
    changed, said = bad_cycles()[name]
    changed = {key: value(graph) if callable(value) else value for key, value in changed.items()}
    with pytest.raises(InputError, match=said):
        judged(graph, evaluator, **{"cycle": 1} | changed)
    assert evaluator.history == before
    judged(graph, evaluator, 1)
    assert evaluator.history["cycle"] == [0, 1]
    assert {len(values) for values in evaluator.history.values()} == {2}


@pytest.mark.parametrize(
    ("node_ids", "labels", "options", "said"),
    [
        (range(3), [0, 1], {}, "3 node ids and 2 labels"),
        ([0, 1, 2], {0: "a", 2: "b"}, {}, "1 of 3 node ids have no label, the first is 1"),
        ([0, 0], [1, 1], {}, "node 0 occurs 2 times"),
        ([-1, 0], [1, 1], {}, "-1 is negative"),
        (5, [1], {}, "found one number"),
        (["a"], [1], {}, "expected numbers"),
        (range(2), [[0, 1]], {}, "labels"),
        (range(2), [0, 1], {"test_edges": [[0, 1, 2]]}, "test_edges"),
        (range(2), [0, 1], {"negatives": "some"}, "negatives"),
        (range(2), [0, 1], {"negatives_per_positive": 0}, "at least 1"),
        (range(2), [0, 1], {"folds": 1}, "at least 2"),
        (range(2), [0, 1], {"folds": 2.5}, "whole number"),
        (range(2), [0, 1], {"seed": -1}, "at least 0"),
        (range(2), [0, 1], {"temperature": -1}, "positive"),
        (range(2), [0, 1], {"confidence": 95}, "between 0 and 1"),
        (range(2), [0, 1], {"nan": "drop"}, "nan"),
        (range(2), [0, 1], {"homophily_null": "none"}, "homophily_null"),
        (range(2), [0, 1], {"metrics": ["auc_birht"]}, "auc_birth"),
        (range(2), [0, 1], {"metrics": ["static_auc"]}, "needs held_out"),
    ],
)
def test_bad_evaluators(node_ids: Any, labels: Any, options: dict[str, Any], said: str):
    with pytest.raises((InputError, OptionError, UnknownNameError), match=said):
        AdaptiveEvaluator(node_ids, labels, **options)


def test_no_births(graph: Graph):
    for nothing in (None, [], np.empty((0, 2)), np.empty((2, 0), int)):
        evaluator = AdaptiveEvaluator(range(120), graph.labels, folds=2)
        found = judged(graph, evaluator, new_edges=nothing, all_edges=graph.edges)
        for key in ("auc_synthetic", "auc_birth", "auc_matched", "delta_homophily", "homophily_new_edges"):
            assert math.isnan(found[key].value)
            assert found[key].n == 0
            assert found[key].reason == "no births"
        assert found["n_synthetic_positives"] == 0
        assert found["tgc"] == 0
        assert found["nca_mean"].defined
        assert [len(values) for values in evaluator.history.values()] == [1] * len(evaluator.history)


def test_one_class(graph: Graph):
    found = judged(graph, AdaptiveEvaluator(range(120), np.zeros(120, int)))
    assert found["auc_synthetic"].defined
    assert "fewer than two classes" in found["delta_homophily"].reason
    assert "one class" in found["nca_mean"].reason


def test_fewer_nodes_than_folds():
    points = np.linspace(-0.5, 0.5, 4)[:, None]
    evaluator = AdaptiveEvaluator(range(4), [0, 0, 1, 1])
    found = evaluator.evaluate_cycle(points, [[0, 1]], [[0, 1], [2, 3]], 0)
    assert found["nca_mean"].reason == "no class has 5 nodes, one per fold"


def test_no_embeddings_before(graph: Graph):
    found = judged(graph, AdaptiveEvaluator(range(120), graph.labels, folds=2), previous_embeddings=None)
    for key in ("auc_birth", "auc_matched"):
        assert found[key].reason == "the embeddings before the cycle are unknown"


def test_births_of_nodes_that_are_new_are_left_out_of_auc_birth_and_counted(graph: Graph):
    new = np.array([[119, 0], [1, 60]])
    evaluator = AdaptiveEvaluator(range(110), graph.labels[:110], folds=2)
    found = evaluator.evaluate_cycle(graph.points, new, np.concatenate([graph.edges, new]), 0, graph.points[:115])
    assert found["auc_synthetic"].n == 2
    assert found["auc_birth"].n == found["auc_newborn"].n == 1
    assert found["auc_matched"].n == 2  # the new node's edge, with its embedding at insertion
    assert any("a node had no embedding before the cycle: 1" in note for note in found.notes)
    only = AdaptiveEvaluator(range(110), graph.labels[:110], metrics=["auc_birth"])
    found = only.evaluate_cycle(graph.points, new[:1], np.concatenate([graph.edges, new[:1]]), 0, graph.points[:115])
    assert found["auc_birth"].reason == "every birth has a new node"


def test_what_is_no_birth_is_left_out_and_counted(graph: Graph):
    old = graph.edges[:3]
    new = np.concatenate([NEW, NEW[:, ::-1], old, [[5, 5]], [[2, 90]]])
    with pytest.raises(InputError, match=r"1 edges were declared as births and are not in the graph .*\(2, 90\)"):
        judged(graph, AdaptiveEvaluator(range(120), graph.labels), new_edges=new, previous_edges=graph.edges)
    reporting = AdaptiveEvaluator(range(120), graph.labels, folds=2, undeclared="report")
    found = judged(graph, reporting, new_edges=new, previous_edges=graph.edges)
    assert found["n_synthetic_positives"] == 3
    assert [finding.check for finding in found.findings] == ["absent-declared"]
    assert found.notes == (
        "loops among the births, left out: 1",
        "births listed more than once, counted once: 2",
        "births that were in the graph before the cycle, left out: 3",
        "births missing from all_edges: 1",
    )


def test_a_graph_that_began_without_edges(graph: Graph):
    none = np.empty((0, 2), int)
    evaluator = AdaptiveEvaluator(range(120), graph.labels, metrics=["auc_synthetic", "delta_homophily_degree"])
    found = evaluator.evaluate_cycle(graph.points, NEW, NEW, 0, previous_edges=none)
    assert found["auc_synthetic"].n == 2
    assert found["delta_homophily_degree"].reason == "the graph before the cycle has no edges"


def test_nan_is_omitted_where_asked(graph: Graph):
    labels = graph.labels.astype(float)
    labels[3] = math.nan
    evaluator = AdaptiveEvaluator(range(120), labels, nan="omit", negatives="all")
    found = judged(
        graph,
        evaluator,
        embeddings=spoiled(graph.points, math.nan),
        new_edges=[[7, 90], [0, 50], [3, 55]],
        all_edges=np.concatenate([graph.edges, [[7, 90], [0, 50], [3, 55]]]),
    )
    assert found["auc_synthetic"].n == 2
    assert found["nca_mean"].n == 118
    assert found["homophily_baseline"].n == 119
    assert found["delta_homophily"].n == 2
    edges = {frozenset(edge) for edge in graph.edges.tolist() if 7 not in edge} | {
        frozenset((0, 50)),
        frozenset((3, 55)),
    }
    assert found["n_synthetic_negatives"] == 119 * 118 // 2 - len(edges)
    assert "nodes left out because their embedding has NaN: 1" in found.notes


def test_large_node_numbers_do_not_overflow():
    with pytest.raises(InputError, match="too large"):
        AdaptiveEvaluator(np.array([2**64 - 1], np.uint64), [0])


@pytest.mark.parametrize("kind", ["f2", "f4", ">f8", "every other", "read-only", "torch"])
def test_embeddings_of_any_kind(graph: Graph, kind: str):
    points = np.round(graph.points * 64) / 64
    other: Any = points
    if kind in ("f2", "f4", ">f8"):
        other = points.astype(kind)
    elif kind == "every other":
        other = np.repeat(points, 2, axis=0)[::2]
    elif kind == "read-only":
        other = points.copy()
        other.flags.writeable = False
    else:
        other = pytest.importorskip("torch").tensor(points, requires_grad=True)
    found = [
        judged(graph, AdaptiveEvaluator(range(120), graph.labels, folds=2), embeddings=given, previous_embeddings=given)
        for given in (points, other)
    ]
    assert same(found[0].to_flat(), found[1].to_flat())


def test_a_graph_that_was_rewired_whole_has_births(graph: Graph):
    evaluation = judged(
        graph,
        AdaptiveEvaluator(range(120), graph.labels, folds=2),
        previous_edges=graph.edges,
        all_edges=NEW,
    )
    assert evaluation["n_synthetic_positives"] == len(NEW)


def test_pools_of_nodes_before_an_unknown_past(graph: Graph):
    """A first cycle with newborn nodes: nothing is matched, and the system's pools are not refused."""
    grown = np.concatenate([graph.points, graph.points[:2]])
    evaluator = AdaptiveEvaluator(range(120), graph.labels, folds=2)
    found = judged(graph, evaluator, embeddings=grown, previous_embeddings=None, pools=np.zeros(120, int))
    assert found["auc_matched"].reason == "the embeddings before the cycle are unknown"
    with pytest.raises(InputError, match="pools: expected one number for each of the 122 nodes"):
        judged(graph, evaluator, 1, embeddings=grown, previous_embeddings=None, pools=np.zeros(123, int))


def test_births_do_not_depend_on_their_order_or_on_how_often_they_are_listed(graph: Graph):
    free = np.random.default_rng(0).permutation(graph.free())[:30]
    listed = np.concatenate([free, free[:7, ::-1], free[3:5]])
    both = [Births.of(edges, np.concatenate([graph.edges, free]), None, 120) for edges in (listed, listed[::-1])]
    for births in both:
        assert births.edges.tolist() == sorted(map(sorted, free.tolist()))
        assert births.notes == ("births listed more than once, counted once: 9",)
    turned = Births.of(free[:, ::-1], np.concatenate([graph.edges, free]), None, 120)
    assert turned.edges.tolist() == both[0].edges.tolist()
    arrows = Births.of(listed, np.concatenate([graph.edges, listed]), graph.edges, 120, directed=True)
    assert arrows.edges.tolist() == sorted(free.tolist() + free[:7, ::-1].tolist())
    assert arrows.notes == ("births listed more than once, counted once: 2",)


def test_numbers_of_the_threads_are_checked():
    with pytest.raises(OptionError, match="threads must be a whole number of at least 1"):
        AdaptiveEvaluator(range(3), [0, 1, 1], threads=0)


def test_a_norm_that_plain_sums_cannot_tell_from_one():
    near = np.array([[0.6, 0.8], [np.nextafter(0.6, 0), 0.8]])  # 4e-17 beyond 1, and inside
    assert len(Points.of(near[1:], "embeddings")) == 1
    with pytest.raises(InputError, match="1 of 2 rows have norm 1 or more, the first is row 0"):
        Points.of(near, "embeddings")
