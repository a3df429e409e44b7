"""Endpoint marks of MAGs and PAGs, by definition, and the classes that graphs are found to be."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import recovery
from graphgauge.core.errors import InputError
from graphgauge.recovery.classes import class_of
from graphgauge.recovery.counts import Counts
from graphgauge.recovery.inputs import CLASSES, read_pair
from graphgauge.recovery.marks import kind_table
from graphgauge.recovery.structure import Model

D = 5
PAIRS = list(itertools.combinations(range(D), 2))
# The marks at both ends of a pair, in causal-learn's numbers: tail −1, arrowhead 1, circle 2.
EDGES = [None, *itertools.product((-1, 1, 2), repeat=2)]
NAMES = {-1: "tail", 1: "head", 2: "circle"}


def encoded(edges):
    marks = np.zeros((D, D), int)
    for (i, j), edge in zip(PAIRS, edges, strict=True):
        if edge is not None:
            marks[i, j], marks[j, i] = edge
    return marks


graphs = st.lists(st.sampled_from(EDGES), min_size=len(PAIRS), max_size=len(PAIRS))


def shares(tp, predicted, true):
    return [
        tp / predicted if predicted else np.nan,
        tp / true if true else np.nan,
        2 * tp / (predicted + true) if predicted + true else np.nan,
    ]


@given(graphs, graphs)
def test_every_mark_by_definition(truth, prediction):
    evaluation = recovery.evaluate(
        encoded(truth),
        encoded(prediction),
        encoding=("causal-learn", "causal-learn"),
        metrics=[
            "arrowhead_precision",
            "arrowhead_recall",
            "arrowhead_f1",
            "tail_precision",
            "tail_recall",
            "tail_f1",
            "claimed_shd",
            "directed_shd",
            "skeleton_shd",
            "tp",
            "fp",
            "fn",
            "unoriented",
            "shd_undirected",
            "shd_missing",
            "shd_extra",
            "shd_reversed",
        ],
    )
    for name, mark in (("arrowhead", 1), ("tail", -1)):
        true = predicted = common = 0
        for one, other in zip(truth, prediction, strict=True):
            for end in (0, 1):
                has, says = one is not None and one[end] == mark, other is not None and other[end] == mark
                true += has
                predicted += says and not (one is not None and one[end] == 2)
                common += has and says
        found = [evaluation[f"{name}_{share}"].value for share in ("precision", "recall", "f1")]
        np.testing.assert_equal(found, shares(common, predicted, true))

    def stated(edge):
        return (None, None) if edge in (None, (-1, -1)) else tuple(None if end == 2 else end for end in edge)

    distance = contradictions = undirected = 0
    directed = ((-1, 1), (1, -1))
    for one, other in zip(truth, prediction, strict=True):
        distance += one != other
        clash = any(a is not None and b is not None and a != b for a, b in zip(stated(one), stated(other), strict=True))
        contradictions += (one is None) != (other is None) or (one is not None and clash)
        undirected += None not in (one, other) and one != other and not (one in directed and other in directed)
    assert evaluation["directed_shd"].value == distance
    assert evaluation["claimed_shd"].value == contradictions
    assert evaluation["shd_undirected"].value == undirected
    parts = sum(evaluation[f"shd_{part}"].value for part in ("missing", "extra", "reversed", "undirected"))
    assert parts == distance
    assert evaluation["tp"].value == sum(
        one == other and one in directed for one, other in zip(truth, prediction, strict=True)
    )


@given(graphs, graphs)
def test_the_transposed_prediction(truth, prediction):
    both = ("causal-learn", "causal-learn")
    turned = [None if edge is None else edge[::-1] for edge in prediction]
    keys = ["arrowhead_f1", "tail_f1", "directed_shd", "skeleton_f1"]
    found = recovery.evaluate(encoded(truth), encoded(prediction), encoding=both, metrics=keys)
    expected = recovery.evaluate(encoded(truth), encoded(turned), encoding=both, metrics=keys)
    for key in keys:
        levels = {level.name: level.value for level in found[key].chance}
        if "transposed prediction" in levels:
            assert levels["transposed prediction"] == expected[key].value


def test_the_random_graph_has_the_predicted_kinds():
    """The exact mean over all placements of the predicted edges, on three nodes."""
    pairs = list(itertools.combinations(range(3), 2))
    truth, prediction = [(-1, 1), None, (2, 1)], [(1, 1), None, (2, 1)]

    def counts(predicted):
        def listed(edges):
            kinds = {(-1, 1): 1, (1, -1): 2, (1, 1): 5, (2, 1): 6, (1, 2): 7}
            held = [(i * 3 + j, kinds[edge]) for (i, j), edge in zip(pairs, edges, strict=True) if edge is not None]
            return tuple(np.array(part, np.int64) for part in zip(*held, strict=True))

        return Counts.of(kind_table(listed(truth), listed(predicted), 3), np.zeros((1, 4), np.int64))

    placements = [
        counts([edge if edge is None or not turn else edge[::-1] for edge, turn in zip(order, turns, strict=True)])
        for order in itertools.permutations(prediction)
        for turns in itertools.product([False, True], repeat=3)
    ]
    expected = counts(prediction).at_random()
    for name in ("arrowheads_tp", "differing_pairs", "common_pairs", "correct", "contradicting"):
        assert expected[name][0] == pytest.approx(np.mean([one[name][0] for one in placements])), name


ENCODED = {
    "dag": ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], "gcastle"),
    "cpdag": ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], "gcastle"),
    "mpdag": ([[0, 1, 1], [0, 0, 1], [0, 1, 0]], "gcastle"),
    "mixed": ([[0, 1, 0], [0, 0, 1], [0, 1, 0]], "gcastle"),
    "undirected": ([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], "gcastle"),
    "mag": ([[0, 2, 0], [2, 0, 3], [0, 2, 0]], "pcalg-pag"),
    "pag": ([[0, 2, 0], [1, 0, 2], [0, 1, 0]], "pcalg-pag"),
    "directed": ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], "gcastle"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_the_class_is_found(name):
    marks, encoding = ENCODED[name]
    empty = np.zeros_like(marks)
    found = recovery.evaluate(empty, np.array(marks), encoding=encoding, metrics=["directed_shd"])
    assert found.conventions["classes"] == f"dag and {name}"
    assert not any("no valid" in note for note in found.notes)


def named(matrix):
    return recovery.NamedMatrix(np.array(matrix), tuple("abcdefgh"[: len(matrix)]))


# What is declared, the graph, how it is written, and what the note says.
INVALID = {
    "a cycle": ("dag", [[0, 1, 0], [0, 0, 1], [1, 0, 0]], None, "the directed cycle a → b → c → a"),
    "both ways": ("dag", [[0, 1, 0], [1, 0, 0], [0, 0, 0]], None, "a and b have edges both ways"),
    "a line": ("dag", [[0, 1, 0], [1, 0, 0], [0, 0, 0]], "gcastle", "a – b is undirected"),
    "no extension": ("cpdag", ENCODED["undirected"][0], None, "undirected edges among a, b, c, d"),
    "open": ("cpdag", [[0, 1, 0], [0, 0, 0], [0, 0, 0]], None, "directs a → b, which its class leaves open"),
    "not directed": ("cpdag", [[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]], None, "does not direct b → d"),
    "not closed": ("mpdag", [[0, 1, 0], [0, 0, 1], [0, 1, 0]], None, "does not direct b → c"),
    "an arrow": ("undirected", [[0, 1, 0], [0, 0, 0], [0, 0, 0]], "gcastle", "has the arrow a → b"),
    "almost a cycle": ("mag", [[0, 1, 1], [0, 0, 1], [1, 0, 0]], None, "almost directed cycle a → … → c ↔ a"),
    "an arrowhead at a line": ("mag", [[0, 3, 0], [3, 0, 3], [0, 2, 0]], "pcalg-pag", "an arrowhead at b, and b – a"),
    "a chordless cycle": ("pag", ENCODED["undirected"][0], "pcalg-pag", "o–o edges among a, b, c, d"),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_graph_is_named_and_the_rest_computed(case):
    declared, matrix, encoding, words = INVALID[case]
    truth = np.zeros((len(matrix), len(matrix)))
    truth[0, 1] = 1
    evaluation = recovery.evaluate(truth, named(matrix), encoding=encoding, classes=declared)
    assert any(words in note and f"no valid {declared}" in note for note in evaluation.notes), evaluation.notes
    for key in ("directed_shd", "skeleton_f1", "arrowhead_recall"):
        assert evaluation[key].defined


def test_a_mag_that_is_not_maximal():
    # a ↔ b ↔ c ↔ d with b → d and c → a: nothing separates a and d.
    ends = np.zeros((4, 4), int)
    for i, j, near, far in ((0, 1, 2, 2), (1, 2, 2, 2), (2, 3, 2, 2), (1, 3, 3, 2), (2, 0, 3, 2)):
        ends[i, j], ends[j, i] = far, near
    evaluation = recovery.evaluate(np.zeros((4, 4)), named(ends), encoding="pcalg-pag", classes="mag")
    assert any("nothing separates a and d" in note for note in evaluation.notes)


def meek(graph):
    """The graph closed under 'in all extensions', by listing them."""
    from tests.recovery.test_classes import extensions

    union = np.zeros_like(graph)
    for dag in extensions(graph):
        union |= dag
    return union


@pytest.mark.parametrize("seed", range(60))
def test_an_mpdag_is_what_its_members_leave_open(seed):
    from tests.recovery.test_classes import random_graph

    draw = np.random.default_rng(seed)
    graph = random_graph(draw, int(draw.integers(3, 6)), 0.8)
    model = Model(np.flatnonzero(graph), len(graph), True, "A_pred", declared="mpdag")
    if model.flaw is not None:
        assert class_of(model).problem == model.flaw
        return
    assert class_of(model).is_valid == np.array_equal(meek(graph), graph)


@pytest.mark.parametrize("kind", ["dag", "cpdag", "mpdag", "mag", "pag"])
def test_a_thousand_nodes_are_validated_in_a_second(kind):
    draw = np.random.default_rng(0)
    d = 1000
    dag = np.triu(draw.random((d, d)) < 3 / d, 1)
    cells = np.flatnonzero(dag)
    special = (np.empty(0, np.int64), np.empty(0, np.int64))
    if kind in ("cpdag", "mpdag"):
        cells = Model(cells, d, False, "").cpdag
    if kind in ("mag", "pag"):
        special = cells[:50], np.full(50, 5 if kind == "mag" else 8)
        source, target = np.divmod(cells[:50], d)
        cells = np.sort(np.append(cells, target * d + source))
    model = Model(cells, d, kind != "dag", "A_pred", None, special, kind)
    class_of(model)  # compiles
    fresh = Model(cells, d, kind != "dag", "A_pred", None, special, kind)
    start = time.perf_counter()
    found = class_of(fresh)
    taken = time.perf_counter() - start
    if kind in ("dag", "cpdag", "mpdag"):
        assert found.is_valid
        assert taken < 1
    assert taken < 10


def test_declared_classes_say_what_two_cells_are():
    both = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    truth = np.eye(3, k=1)
    found = {
        name: recovery.evaluate(truth, both, classes=name)["directed_precision"].value
        for name in ("dag", "cpdag", "mpdag", "undirected", "mixed", "mag")
    }
    assert found.pop("dag") == 0.5
    assert np.isnan(list(found.values())).all()
    heads = recovery.evaluate(truth, both, classes="mag", metrics=["arrowhead_recall", "tail_precision"])
    assert heads["arrowhead_recall"].value == 0.5
    assert set(CLASSES) == {"dag", "cpdag", "mpdag", "mag", "pag", "undirected", "mixed"}


def test_named_marks_are_matched_by_name():
    ends = np.array([[0, 2, 0], [1, 0, 2], [0, 2, 0]])  # a o→ b ↔ c
    order = [2, 0, 1]
    shuffled = recovery.NamedMatrix(ends[np.ix_(order, order)], tuple("cab"))
    truth = recovery.NamedMatrix(np.eye(3, k=1), tuple("abc"))
    keys = ["arrowhead_precision", "claimed_shd", "directed_shd"]
    one = recovery.evaluate(truth, named(ends), encoding="pcalg-pag", metrics=keys)
    other = recovery.evaluate(truth, shuffled, encoding="pcalg-pag", metrics=keys)
    assert one.to_flat() == other.to_flat()
    _, graph = read_pair(truth, shuffled, encoding="pcalg-pag")
    np.testing.assert_array_equal(graph.ends, ends)


def test_a_declared_class_holds_for_lists_of_edges():
    truth, listed = [(0, 1), (1, 2)], [(0, 1), (1, 0), (1, 2)]
    found = recovery.evaluate(truth, listed, nodes=3, classes="cpdag")
    assert found.conventions["classes"] == "dag and cpdag"
    assert any("A_pred is no valid cpdag" in note for note in found.notes)
    keys = ["arrowhead_precision", "tail_precision", "tp"]
    heads = recovery.evaluate(truth, listed, nodes=3, classes="mag", metrics=keys)
    assert heads.to_flat() == {"arrowhead_precision": 2 / 3, "tail_precision": 1, "tp": 1}
    cyclic = recovery.evaluate(truth, [(0, 1), (1, 2), (2, 0)], nodes=3, classes="dag")
    assert any("no valid dag" in note for note in cyclic.notes)
    with pytest.raises(InputError, match="cannot be a pag"):
        recovery.evaluate(truth, listed, nodes=3, classes="pag")
