"""Which graphs with undirected edges stand for DAGs, by trying every DAG, and what becomes of the others."""

import itertools

import numpy as np
import pytest
from tests.recovery.forms import evaluate, model, named

from graphgauge import stats
from graphgauge._core import sinks_first
from graphgauge.recovery.structure import _cycle

ADJUSTMENT = ("sid", "parent_aid", "ancestor_aid", "oset_aid")
NEEDING_A_CLASS = ("cpdag_shd", *ADJUSTMENT)


def colliders(graph):
    adjacent, one_way = graph | graph.T, graph & ~graph.T
    return {
        (a, c, b)
        for c in range(len(graph))
        for a, b in itertools.combinations(np.flatnonzero(one_way[:, c]).tolist(), 2)
        if not adjacent[a, b]
    }


def is_acyclic(graph):
    reached = graph.copy()
    for _ in range(len(graph)):
        reached = reached | (reached.astype(int) @ graph.astype(int) > 0)
    return not np.diagonal(reached).any()


def extensions(graph):
    """Every DAG with the adjacencies, arrows and v-structures of a graph with undirected edges in both cells."""
    lines = [(i, j) for i, j in itertools.combinations(range(len(graph)), 2) if graph[i, j] and graph[j, i]]
    for turns in itertools.product([False, True], repeat=len(lines)):
        dag = graph.copy()
        for (i, j), turn in zip(lines, turns, strict=True):
            dag[(i, j) if turn else (j, i)] = False
        if is_acyclic(dag) and colliders(dag) == colliders(graph):
            yield dag


def every_graph(d):
    pairs = list(itertools.combinations(range(d), 2))
    for kinds in itertools.product(range(4), repeat=len(pairs)):
        graph = np.zeros((d, d), bool)
        for (i, j), kind in zip(pairs, kinds, strict=True):
            graph[i, j], graph[j, i] = kind & 1, kind & 2
        yield graph


def random_graph(draw, d, density=0.5):
    graph = np.zeros((d, d), bool)
    for i, j in itertools.combinations(range(d), 2):
        if draw.random() < density:
            kind = draw.integers(1, 4)
            graph[i, j], graph[j, i] = kind & 1, kind & 2
    return graph


def check(graph):
    found, expected = model(graph, undirected=True), next(extensions(graph), None)
    assert (found.flaw is None) == (expected is not None), graph.astype(int)
    one_way = graph & ~graph.T
    cycle = _cycle(np.flatnonzero(one_way), len(graph))
    assert bool(cycle) == (not is_acyclic(one_way))
    for node, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        assert one_way[node, following]
    if expected is None:
        return
    union = np.zeros_like(graph)
    for dag in extensions(graph):
        assert model(dag).flaw is None
    skeleton = graph | graph.T
    undirected = extensions_of_class(skeleton, colliders(graph))
    for dag in undirected:
        union |= dag
    same = np.zeros_like(graph)
    same.flat[np.append(found.members_class.arrows, found.members_class.both_ways)] = True
    np.testing.assert_array_equal(same, union)


def extensions_of_class(skeleton, wanted):
    return (dag for dag in extensions_without_colliders(skeleton) if is_acyclic(dag) and colliders(dag) == wanted)


def extensions_without_colliders(skeleton):
    lines = [(i, j) for i, j in itertools.combinations(range(len(skeleton)), 2) if skeleton[i, j]]
    for turns in itertools.product([False, True], repeat=len(lines)):
        dag = skeleton.copy()
        for (i, j), turn in zip(lines, turns, strict=True):
            dag[(i, j) if turn else (j, i)] = False
        yield dag


@pytest.mark.parametrize("d", [1, 2, 3])
def test_every_small_graph(d):
    for graph in every_graph(d):
        check(graph)


@pytest.mark.parametrize("seed", range(40))
def test_larger_graphs(seed):
    draw = np.random.default_rng(seed)
    check(random_graph(draw, int(draw.integers(4, 6)), draw.choice([0.4, 0.7])))


@pytest.mark.parametrize("seed", range(30))
def test_an_extension_is_found_wherever_there_is_one(seed):
    """A DAG whose edges lose their direction where that keeps a DAG possible: it is one itself."""
    draw = np.random.default_rng(seed)
    d = 30
    dag = np.triu(draw.random((d, d)) < 0.15, 1)
    order = draw.permutation(d)
    dag = dag[np.ix_(order, order)]
    compelled = {edge for a, c, b in colliders(dag) for edge in ((a, c), (b, c))}
    graph = dag.copy()
    for source, target in np.argwhere(dag).tolist():
        if (source, target) not in compelled and draw.random() < 0.8:
            graph[target, source] = True
    assert colliders(graph) == colliders(dag)
    one_way = np.flatnonzero(graph & ~graph.T)
    sinks = sinks_first(one_way, np.flatnonzero(graph & graph.T), d)
    assert len(sinks) == d
    place = np.empty(d, int)
    place[sinks] = np.arange(d)
    extension = graph & ~(graph.T & (place[:, None] < place[None, :]))
    assert is_acyclic(extension)
    assert colliders(extension) == colliders(dag)
    assert not (extension & extension.T).any()


@pytest.mark.parametrize("d", [3, 4, 12])
def test_no_graph_stops_an_evaluation(d):
    """Graphs as PC returns them, with cycles, new v-structures and lines that fit nowhere."""
    draw = np.random.default_rng(d)
    truth = np.triu(draw.random((d, d)) < 0.4, 1)
    names = tuple(f"gene {node}" for node in range(d))
    without = 0
    for _ in range(60):
        graph = random_graph(draw, d, 0.3 if d > 4 else 0.7)
        marks = named(graph.T.astype(int), names)
        evaluation = evaluate(truth, marks, encoding="pcalg", nodes=names)
        assert not evaluation.skipped
        assert evaluation["directed_shd"].defined
        assert evaluation["skeleton_shd"].defined
        flaw = model(graph, undirected=True).flaw
        for key in NEEDING_A_CLASS:
            result = evaluation[key]
            if flaw is not None:
                without += 1
                assert np.isnan(result.value)
                assert "gene " in result.reason
                assert "A_pred" in result.reason
            elif key == "sid" and (graph & graph.T).any():
                assert "undirected edges" in result.reason
            else:
                assert result.defined
        # The same as truth, and by name.
        reversed_roles = evaluate(
            marks, truth, encoding=("pcalg", None), nodes=names, metrics=["cpdag_shd", "parent_aid"]
        )
        assert reversed_roles["parent_aid"].defined == (flaw is None)
    assert without


def test_a_cycle_with_an_undirected_edge_names_its_nodes():
    marks = np.zeros((4, 4), int)
    for source, target in ((0, 1), (1, 2), (2, 0)):
        marks[target, source] = 1
    marks[2, 3] = marks[3, 2] = 1
    given = named(marks, ("a", "b", "c", "d"))
    evaluation = evaluate(np.eye(4, k=1), given, encoding="pcalg", nodes=("a", "b", "c", "d"))
    for key in NEEDING_A_CLASS:
        assert evaluation[key].reason == "A_pred has the directed cycle a → b → c → a"
    assert evaluation["directed_recall"].value == 2 / 3
    assert evaluation["v_structure_precision"].reason == "the prediction has no v-structure"


def test_lines_that_no_dag_has_name_their_nodes():
    square = np.zeros((5, 5), int)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        square[i, j] = square[j, i] = 1
    square[0, 4] = 1  # 4 → 0
    evaluation = evaluate(np.eye(5, k=1), square, encoding="pcalg")
    assert evaluation["parent_aid"].reason == (
        "A_pred has no DAG extension: its undirected edges among 0, 1, 2, 3, 4 cannot be directed without a cycle or a "
        "new v-structure"
    )


def test_a_graph_that_is_no_class_of_its_own_is_compared_as_it_is():
    # 0 → 1 – 2: the arrow is one of background knowledge, its class is 0 – 1 – 2.
    marks = np.zeros((3, 3), int)
    marks[1, 0] = marks[1, 2] = marks[2, 1] = 1
    assert evaluate(np.eye(3, k=1), marks, encoding="pcalg")["cpdag_shd"].value == 1


@pytest.mark.parametrize("baseline", [None, "searches", "directs"])
def test_methods_are_ranked_only_by_metrics_that_are_fair_to_all_of_them(baseline):
    draw = np.random.default_rng(0)
    truths = [np.triu(draw.random((8, 8)) < 0.3, 1) for _ in range(12)]
    runs = {
        "directs": evaluate(truths, [np.where(draw.random((8, 8)) < 0.1, ~truth, truth) for truth in truths]),
        "guesses": evaluate(truths, [draw.random((8, 8)) < 0.3 for _ in truths]),
        "searches": evaluate(truths, [truth | truth.T for truth in truths], encoding="mixed"),
    }
    unfair = stats.compare(runs, metric="directed_f1", over="items", baseline=baseline)
    assert unfair["directs", "searches"].winner == "not comparable"
    assert unfair.best == "directs"
    if baseline == "searches":
        assert unfair.conclusion == "No method can be compared: searches (directed_f1 is not fair to it)."
    else:
        assert unfair.conclusion.startswith("directs is better than guesses")
        assert "searches" not in unfair.conclusion
    fair = stats.compare(runs, metric="skeleton_f1", over="items", baseline=baseline)
    assert fair.best == "searches"
    assert fair["directs", "searches"].winner == "searches"


def test_one_bad_graph_of_a_stack():
    draw = np.random.default_rng(1)
    truths = np.triu(draw.random((4, 6, 6)) < 0.5, 1)
    stack = np.triu(draw.random((4, 6, 6)) < 0.5, 1)
    stack[2, 3, 0] = stack[2, 0, 3] = stack[2, 0, 1] = stack[2, 1, 3] = True
    stack[2, 0, 3] = False
    evaluation = evaluate(truths, stack)
    each = [evaluate(truth, graph) for truth, graph in zip(truths, stack, strict=True)]
    for key in NEEDING_A_CLASS:
        values = np.array([single[key].value for single in each])
        assert np.isnan(values).tolist() == [False, False, True, False]
        np.testing.assert_array_equal(evaluation.by("graph")[key], values)
        assert evaluation[key].value == pytest.approx(np.nanmean(values))
        assert any(
            "1 of 4 graphs have no value (graph 2: A_pred has the directed cycle 0 → 1 → 3 → 0)" in text
            for text in evaluation[key].warnings
        )
