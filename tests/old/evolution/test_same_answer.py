"""One run has one answer: in any scale, order and form, and however often it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphgauge.core.errors import InputError
from graphgauge.old import evolution
from graphgauge.old.evolution import evaluate


def growing(seed: int = 0, *, nodes: int = 12, cycles: int = 4) -> list[dict[str, Any]]:
    """A ring whose nodes are linked, cycle by cycle."""
    rng = np.random.default_rng(seed)
    edges = np.array([(i, (i + 1) % nodes) for i in range(nodes)])
    points = rng.normal(size=(nodes, 3))
    listed = []
    for cycle in range(cycles):
        births = np.array([(i, (i + 2 + cycle) % nodes) for i in rng.choice(nodes, 4, replace=False).tolist()])
        listed.append(
            {
                "embeddings": points,
                "previous_embeddings": points,
                "new_edges": births,
                "previous_edges": edges,
                "all_edges": np.concatenate([edges, births]),
            }
        )
        edges = listed[-1]["all_edges"]
    return listed


RING = np.array([(i, (i + 1) % 30) for i in range(30)])
BORN = np.array([(0, 5), (1, 7), (2, 9), (3, 11)])


def test_copies_of_a_run_count_once():
    runs = [
        {**cycle, "seed": seed, "cycle": number} for seed in range(6) for number, cycle in enumerate(growing(seed % 2))
    ]
    two = evaluate([cycle for cycle in runs if cycle["seed"] < 2], score="cosine", negatives="all")
    six = evaluate(runs, score="cosine", negatives="all")
    assert six["auc_birth"].interval == two["auc_birth"].interval
    assert any("counted once: 4" in note for note in six.notes)
    assert not any("counted once" in note for note in two.notes)


# ---- scores


def area(points: np.ndarray, score: Any) -> float:
    cycle = {
        "embeddings": points,
        "previous_embeddings": points,
        "new_edges": BORN,
        "previous_edges": RING,
        "all_edges": np.concatenate([RING, BORN]),
    }
    return evaluate([cycle], score=score, negatives="all", metrics=["auc_birth"])["auc_birth"].value


@pytest.mark.parametrize("score", ["cosine", "euclidean", "dot"])
@pytest.mark.parametrize("factor", [1e160, 1e200, 1e-170])
def test_no_scale_of_the_embeddings_changes_an_area(score: str, factor: float):
    points = np.random.default_rng(0).normal(size=(30, 3))
    assert area(points * factor, score) == area(points, score)


@pytest.mark.parametrize("seed", range(4))
def test_parallel_vectors_have_equal_cosines(seed: int):
    rng = np.random.default_rng(seed)
    assert area(np.exp(rng.normal(size=30))[:, None] * rng.normal(size=7), "cosine") == 0.5


def test_infinite_scores_are_refused():
    with pytest.raises(InputError, match="infinite"):
        area(np.eye(30), lambda a, b: np.full(len(a), np.inf))


# ---- what is given by id is read by id


def test_pandas_objects_are_read_by_their_index():
    pandas = pytest.importorskip("pandas")
    rows = np.random.default_rng(0).normal(size=(4, 2))
    keys = ["homophily_new_edges", "auc_birth"]
    cycle = {
        "embeddings": rows,
        "previous_embeddings": rows,
        "new_edges": [(0, 2), (1, 3)],
        "previous_edges": [(0, 1), (2, 3)],
        "all_edges": [(0, 1), (2, 3), (0, 2), (1, 3)],
    }
    by_number = pandas.Series({3: 1, 1: 1, 2: 0, 0: 0})
    expected = evaluate([cycle], by_number.to_dict(), score="cosine", metrics=keys, negatives="all")
    assert expected["homophily_new_edges"].value == 1
    shuffled = pandas.DataFrame(rows).loc[[2, 0, 3, 1]]
    cycle = {**cycle, "embeddings": shuffled, "previous_embeddings": shuffled}
    found = evaluate([cycle], by_number, score="cosine", metrics=keys, negatives="all")
    assert [found[key].value for key in keys] == [expected[key].value for key in keys]
    wrong = pandas.DataFrame(rows, index=list("abcd"))
    with pytest.raises(InputError, match="an index other than the numbers"):
        evaluate([{**cycle, "embeddings": wrong, "previous_embeddings": wrong}], score="cosine")


def test_types_by_node_are_looked_up():
    cycles = growing()
    types = {node: "even" if node % 2 == 0 else "odd" for node in range(12)}
    keys = ["n_synthetic_negatives", "auc_birth"]
    options: dict[str, Any] = {"score": "cosine", "negatives": "all", "metrics": keys}
    expected = evaluate(cycles, node_types=list(types.values()), **options)
    found = evaluate(cycles, node_types=types, **options)
    assert [found[key].value for key in keys] == [expected[key].value for key in keys]
    with pytest.raises(InputError, match="1 of 12 nodes have no type"):
        evaluate(cycles, node_types={node: own for node, own in types.items() if node}, **options)


def test_new_and_old_nodes_are_in_one_space():
    ring = np.array([(i, (i + 1) % 10) for i in range(10)])
    points = np.random.default_rng(0).normal(size=(11, 2))
    for before, inserted in ((points[:10, :1], None), (points[:10], np.ones((11, 3)))):
        with pytest.raises(InputError, match="coordinates"):
            evolution.AdaptiveEvaluator(score="euclidean").evaluate_cycle(
                points, [(10, 5)], np.concatenate([ring, [(10, 5)]]), 0, before, inserted_embeddings=inserted
            )
    with pytest.raises(InputError, match="too many to draw"):
        evolution.AdaptiveEvaluator(score="euclidean", negatives_per_positive=10**9).evaluate_cycle(
            points, [(10, 5)], np.concatenate([ring, [(10, 5)]]), 0, points[:10]
        )


@pytest.mark.parametrize("first", [[], [(15, 16)]], ids=["from nothing", "later"])
def test_the_chance_level_does_not_depend_on_the_first_cycle(first: list[tuple[int, int]]):
    points = np.stack([np.ones(17), np.arange(17.0)], axis=1)
    edges, cycles = np.array(first, int).reshape(-1, 2), []
    for cycle in range(3):
        births = np.array([(5 * cycle + i, 5 * max(cycle - 1, 0) + (i + 1) % 5) for i in range(5)])
        before, edges = edges, np.concatenate([edges, births])
        cycles.append({"embeddings": points, "new_edges": births, "previous_edges": before, "all_edges": edges})
    found = evaluate(cycles, np.arange(17) % 5 % 2, score="cosine", metrics=["delta_homophily"])
    assert [level.name for level in found["delta_homophily"].chance][-1] == "random pairs"


# ---- ends paired at random


def simple_graphs(degrees: list[int]) -> list[list[tuple[int, int]]]:
    from itertools import combinations

    pairs = list(combinations(range(len(degrees)), 2))
    return [
        list(chosen)
        for chosen in combinations(pairs, sum(degrees) // 2)
        if [sum(node in edge for edge in chosen) for node in range(len(degrees))] == degrees
    ]


def ends_of(edges: list[tuple[int, int]], classes: np.ndarray) -> Any:
    from graphgauge.old.evolution.samples import LabelPairs

    ends = np.array(edges)
    return LabelPairs(classes[ends], ends, len(ends), 2, len(classes), 0.5, 0.5)


@pytest.mark.parametrize("degrees", [[5, 1, 1, 1, 1, 1], [1] * 6, [3, 2, 2, 1, 1, 1], [3, 3, 2, 2, 2]])
def test_ends_paired_at_random_agree_as_in_all_graphs_with_these_degrees(degrees: list[int]):
    """Exactly for a star and for births without common nodes, nearly for others; two ends of a node are no pair."""
    every = simple_graphs(degrees)
    exact = max(degrees) == 1 or max(degrees) == sum(degrees) / 2
    for seed in range(6):
        classes = np.random.default_rng(seed).integers(0, 2, len(degrees))
        found = ends_of(every[0], classes).by_ends
        shares = [np.mean([classes[u] == classes[v] for u, v in graph]) for graph in every]
        assert found == pytest.approx(np.mean(shares), abs=1e-9 if exact else 0.06)


@pytest.mark.parametrize("hubs", [1, 2, 5])
def test_random_births_to_hubs_do_not_look_heterophilic(hubs: int):
    rng = np.random.default_rng(hubs)
    values = []
    for _ in range(300):
        births = np.unique(np.stack([rng.integers(hubs, 200, 40), rng.integers(0, hubs, 40)], axis=1), axis=0)
        pairs = ends_of(births.tolist(), rng.integers(0, 2, 200))
        values.append(pairs.share - pairs.by_ends)
    assert abs(np.mean(values)) <= 4 * np.std(values) / np.sqrt(300) + 1e-12


def test_births_that_all_agree_are_as_uncertain_as_their_share():
    classes = np.repeat([0, 1, 2], 20)
    edges = [(2 * i, 2 * i + 1) for i in range(30)]
    found = evaluate(
        [
            {
                "embeddings": np.eye(60),
                "previous_embeddings": np.eye(60),
                "new_edges": edges[:20],
                "previous_edges": edges[20:],
                "all_edges": edges,
            }
        ],
        classes,
        score="cosine",
    )
    share = found["homophily_new_edges"]
    for key in ("delta_homophily_ends", "adjusted_homophily"):
        own = found[key]
        assert own.value - own.interval.low >= share.value - share.interval.low - 1e-12
