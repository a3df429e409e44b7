"""Endpoint marks of MAGs and PAGs, by definition, and the classes that graphs are found to be."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge import recovery
from graphgauge.recovery.comparison import compare
from graphgauge.recovery.counts import WEIGHTS, Counts
from graphgauge.recovery.inputs import read_pair
from graphgauge.recovery.marks import kind_table

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


@given(graphs, graphs)
def test_the_transposed_prediction(truth, prediction):
    both = ("causal-learn", "causal-learn")
    turned = [None if edge is None else edge[::-1] for edge in prediction]
    found = compare(encoded(truth), encoded(prediction), encoding=both).samples()["edges"].transposed
    expected = compare(encoded(truth), encoded(turned), encoding=both).counts
    for name in WEIGHTS:
        assert found[name] == expected[name], name


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
    for name in ("arrowheads_tp", "differing_pairs", "common_pairs", "correct"):
        assert expected[name][0] == pytest.approx(np.mean([one[name][0] for one in placements])), name


ENCODED = {
    "dag": ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], "gcastle"),
    "cpdag": ([[0, 1, 0], [1, 0, 1], [0, 1, 0]], "gcastle"),
    "mixed": ([[0, 1, 0], [0, 0, 1], [0, 1, 0]], "gcastle"),
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


def named(matrix):
    return recovery.NamedMatrix(np.array(matrix), tuple("abcdefgh"[: len(matrix)]))


def test_named_marks_are_matched_by_name():
    ends = np.array([[0, 2, 0], [1, 0, 2], [0, 2, 0]])  # a o→ b ↔ c
    order = [2, 0, 1]
    shuffled = recovery.NamedMatrix(ends[np.ix_(order, order)], tuple("cab"))
    truth = recovery.NamedMatrix(np.eye(3, k=1), tuple("abc"))
    keys = ["arrowhead_precision", "unoriented", "directed_shd"]
    one = recovery.evaluate(truth, named(ends), encoding="pcalg-pag", metrics=keys)
    other = recovery.evaluate(truth, shuffled, encoding="pcalg-pag", metrics=keys)
    assert one.to_flat() == other.to_flat()
    _, graph = read_pair(truth, shuffled, encoding="pcalg-pag")
    np.testing.assert_array_equal(graph.ends, ends)
