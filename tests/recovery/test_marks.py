"""Endpoint marks of MAGs and PAGs, by definition, and the classes that graphs are found to be."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recovery.forms import evaluate, levels, named

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
    evaluation = evaluate(
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

    distance = undirected = 0
    directed = ((-1, 1), (1, -1))
    for one, other in zip(truth, prediction, strict=True):
        distance += one != other
        undirected += None not in (one, other) and one != other and not (one in directed and other in directed)
    assert evaluation["directed_shd"].value == distance
    assert evaluation["shd_undirected"].value == undirected
    parts = sum(evaluation[f"shd_{part}"].value for part in ("missing", "extra", "reversed", "undirected"))
    assert parts == distance
    assert evaluation["tp"].value == sum(
        one == other and one in directed for one, other in zip(truth, prediction, strict=True)
    )


def test_the_random_graph_has_the_predicted_kinds():
    """The exact mean over all placements of the predicted edges, on three nodes."""
    pairs = list(itertools.combinations(range(3), 2))
    truth, prediction = [(-1, 1), None, (2, 1)], [(1, 1), None, (2, 1)]

    def marked(edges):
        marks = np.zeros((3, 3), int)
        for (i, j), edge in zip(pairs, edges, strict=True):
            if edge is not None:
                marks[i, j], marks[j, i] = edge
        return marks

    def counted(predicted):
        codes = ("causal-learn", "causal-learn")
        return evaluate(marked(truth), marked(predicted), encoding=codes, metrics=keys)

    keys = ["arrowhead_precision", "directed_shd", "skeleton_tp", "correct_direction"]
    placements = [
        counted([edge if edge is None or not turn else edge[::-1] for edge, turn in zip(order, turns, strict=True)])
        for order in itertools.permutations(prediction)
        for turns in itertools.product([False, True], repeat=3)
    ]
    stated = counted(prediction)
    for key in ("directed_shd", "skeleton_tp", "correct_direction"):
        level = levels(stated[key])["random graph with as many edges"]
        assert level == pytest.approx(np.mean([one[key].value for one in placements])), key


ENCODED = {
    "DAG": ([[0, 2, 0], [3, 0, 2], [0, 3, 0]], "pcalg-pag"),
    "CPDAG": ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], "gcastle"),
    "MAG": ([[0, 2, 0], [2, 0, 3], [0, 2, 0]], "pcalg-pag"),
    "PAG": ([[0, 2, 0], [1, 0, 2], [0, 1, 0]], "pcalg-pag"),
}


@pytest.mark.parametrize("name", ENCODED)
def test_the_class_is_found(name):
    marks, encoding = ENCODED[name]
    empty = np.zeros_like(marks)
    found = evaluate(empty, np.array(marks), encoding=encoding, metrics=["directed_shd"])
    # Nothing is said of two graphs that have arrows alone.
    assert found.conventions.get("classes") == (None if name == "DAG" else f"DAG and {name}")


def test_named_marks_are_matched_by_name():
    ends = np.array([[0, 2, 0], [1, 0, 2], [0, 2, 0]])  # a o→ b ↔ c
    order = [2, 0, 1]
    shuffled = named(ends[np.ix_(order, order)], tuple("cab"))
    truth = named(np.eye(3, k=1), tuple("abc"))
    keys = ["arrowhead_precision", "unoriented", "directed_shd"]
    one = evaluate(truth, named(ends, "abc"), encoding="pcalg-pag", metrics=keys)
    other = evaluate(truth, shuffled, encoding="pcalg-pag", metrics=keys)
    assert one.to_flat() == other.to_flat()
