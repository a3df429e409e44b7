"""Colliders, equivalence classes and adjustment distances, against enumeration and published values."""

import itertools
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.recovery.forms import evaluate, model

from graphgauge import recovery
from graphgauge._core import compelled_edges
from graphgauge.core.errors import InputError

ADJUSTMENT = ("sid", "parent_aid", "ancestor_aid", "oset_aid")


def random_dag(draw, d, density):
    upper = np.triu(draw.random((d, d)) < density, 1)
    order = draw.permutation(d)
    return upper[np.ix_(order, order)]


def colliders(graph):
    d = len(graph)
    adjacent = graph | graph.T
    return {
        (a, c, b)
        for c in range(d)
        for a, b in itertools.combinations(range(d), 2)
        if graph[a, c] and graph[b, c] and not graph[c, a] and not graph[c, b] and not adjacent[a, b]
    }


def is_acyclic(graph):
    remaining = set(range(len(graph)))
    while remaining:
        free = {node for node in remaining if not any(graph[other, node] for other in remaining)}
        if not free:
            return False
        remaining -= free
    return True


def equivalence_class(graph):
    """The union of all DAGs with the same skeleton and colliders (Verma and Pearl 1990), by trying all orientations."""
    pairs = [pair for pair in itertools.combinations(range(len(graph)), 2) if graph[pair] or graph[pair[::-1]]]
    union = np.zeros_like(graph)
    for turns in itertools.product([False, True], repeat=len(pairs)):
        other = np.zeros_like(graph)
        for (i, j), turn in zip(pairs, turns, strict=True):
            other[(j, i) if turn else (i, j)] = True
        if is_acyclic(other) and colliders(other) == colliders(graph):
            union |= other
    return union


@pytest.mark.parametrize("seed", range(60))
def test_equivalence_classes_by_enumeration(seed):
    draw = np.random.default_rng(seed)
    d = int(draw.integers(2, 7))
    dag = random_dag(draw, d, 2.2 / d)
    compelled = np.zeros((d, d), bool)
    compelled.flat[np.flatnonzero(dag)[compelled_edges(np.flatnonzero(dag), d)]] = True
    union = equivalence_class(dag)
    np.testing.assert_array_equal(compelled, union & ~union.T)


def test_a_cycle_has_no_class():
    assert compelled_edges(np.array([1, 5, 6]), 3) is None


@pytest.mark.parametrize("seed", range(20))
def test_cpdag_distance_and_colliders(seed):
    draw = np.random.default_rng(100 + seed)
    d = int(draw.integers(3, 6))
    truth, predicted = random_dag(draw, d, 0.5), random_dag(draw, d, 0.5)
    evaluation = evaluate(truth, predicted)
    one, other = equivalence_class(truth), equivalence_class(predicted)
    differing = sum(
        (one[i, j], one[j, i]) != (other[i, j], other[j, i]) for i, j in itertools.combinations(range(d), 2)
    )
    assert evaluation["cpdag_shd"].value == differing
    true, found = colliders(truth), colliders(predicted)
    common = len(true & found)
    np.testing.assert_equal(evaluation["v_structure_precision"].value, common / len(found) if found else np.nan)
    np.testing.assert_equal(evaluation["v_structure_recall"].value, common / len(true) if true else np.nan)


def test_colliders_of_a_larger_graph_are_numbered_once():
    dag = random_dag(np.random.default_rng(8), 30, 0.3)
    found = model(dag).colliders()
    assert len(found) == len(set(found.tolist()))
    assert {(a, c, b) for c, a, b in zip(*np.unravel_index(found, (30, 30, 30)), strict=True)} == colliders(dag)


def test_two_way_pairs_point_at_no_collider():
    graph = np.zeros((3, 3))
    graph[0, 2] = graph[1, 2] = graph[2, 1] = 1
    assert evaluate(graph, graph)["v_structure_precision"].reason == "the prediction has no v-structure"


def test_a_learned_class_is_compared_with_the_class_of_the_truth():
    # 0 → 1 → 2: its class is 0 – 1 – 2, which is what a search over classes should return.
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    undirected = np.array([[0, -1, 0], [-1, 0, -1], [0, -1, 0]])
    evaluation = evaluate(truth, undirected, encoding="causal-learn")
    assert evaluation["cpdag_shd"].value == 0
    assert evaluation["directed_shd"].value == 2
    assert np.isnan(evaluation["sid"].value)
    assert evaluation["sid"].reason == "A_pred has undirected edges, and this distance compares DAGs"


# Peters and Bühlmann 2015, section 2: nodes X1, X2, Y1, Y2, Y3; H1 adds Y1 → Y2, H2 turns X1 → X2 round.
PETERS = np.zeros((5, 5), int)
PETERS[0, 1:] = PETERS[1, 2:] = 1


def test_published_intervention_distances():
    h1, h2 = PETERS.copy(), PETERS.copy()
    h1[2, 3] = 1
    h2[0, 1], h2[1, 0] = 0, 1
    for graph, sid in ((h1, 0), (h2, 8)):
        evaluation = evaluate(PETERS, graph)
        assert evaluation["directed_shd"].value == 1
        assert evaluation["sid"].value == sid
        assert evaluation["sid"].n == 20


def test_adjustment_distances_of_a_graph_to_itself_are_zero():
    draw = np.random.default_rng(2)
    dag = random_dag(draw, 9, 0.4)
    evaluation = evaluate(dag, dag)
    for key in ("sid", "parent_aid", "ancestor_aid", "oset_aid", "cpdag_shd"):
        assert evaluation[key].value == 0


@pytest.mark.parametrize("metrics", ["all", ["directed_shd", "v_structure_f1", "cpdag_shd", *ADJUSTMENT]])
def test_what_needs_a_dag_has_no_value_where_there_is_none(metrics):
    cycle = np.roll(np.eye(4), 1, axis=1)
    evaluation = evaluate(cycle, cycle, metrics=metrics)
    for key in ("cpdag_shd", *ADJUSTMENT):
        assert np.isnan(evaluation[key].value)
        assert evaluation[key].reason == "A_true has the directed cycle 0 → 1 → 2 → 3 → 0"
    assert evaluation["v_structure_f1"].reason == "neither graph has a v-structure"
    assert evaluation["directed_shd"].value == 0
    both_ways = evaluate(np.eye(4, k=1), np.eye(4, k=1) + np.eye(4, k=-1), metrics=metrics)
    assert both_ways["sid"].reason.startswith("A_pred is not a DAG: 0 and 1 have edges both ways")
    assert both_ways["directed_shd"].value == 3


def test_long_work_has_to_be_asked_for():
    draw = np.random.default_rng(3)
    dag = random_dag(draw, 1001, 0.001)
    assert "name it in metrics=" in evaluate(dag, dag).skipped["sid"]
    assert evaluate(dag, dag, metrics=["ancestor_aid"])["ancestor_aid"].value == 0


def test_adjustment_distances_from_many_threads():
    draw = np.random.default_rng(4)
    pairs = [(random_dag(draw, 40, 0.1), random_dag(draw, 40, 0.1)) for _ in range(8)]
    keys = ["sid", "parent_aid", "ancestor_aid", "oset_aid"]

    def distances(pair):
        return [result.value for result in evaluate(*pair, metrics=keys).values()]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(distances, pairs)) == [distances(pair) for pair in pairs]


def _sid_after_fork(answers):
    try:
        answers.put(evaluate(PETERS, PETERS, metrics=["sid"])["sid"].value)
    except InputError as error:
        answers.put(str(error))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_adjustment_distances_are_refused_where_a_fork_has_left_their_threads_behind():
    evaluate(PETERS, PETERS, metrics=["sid"])
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_sid_after_fork, args=(answers,))
    child.start()
    assert "forked" in answers.get(timeout=60)
    child.join(60)


def test_the_class_of_a_graph_without_edges_is_compared():
    empty = np.zeros((3, 3))
    assert recovery.cpdag(empty).marks == ()
    assert recovery.evaluate(recovery.cpdag(empty), recovery.cpdag(empty), metrics=["cpdag_shd"])["cpdag_shd"] == 0
