"""Everything that depends on a threshold, against definitions written out pair by pair."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from tests.recovery.forms import evaluate

from graphgauge import recovery

CHAIN = np.zeros((4, 4), int)
CHAIN[0, 1] = CHAIN[1, 2] = 1


def changed(*cells):
    graph = CHAIN.copy()
    for i, j, value in cells:
        graph[i, j] = value
    return graph


# One change to 0 → 1 → 2 among four nodes; distances by the definition, worked out by hand.
CHANGES = {
    "reversed": (changed((0, 1, 0), (1, 0, 1)), 1, 2),
    "missing": (changed((0, 1, 0)), 1, 1),
    "extra": (changed((0, 3, 1)), 1, 1),
    "both ways for one": (changed((1, 0, 1)), 1, 1),
    "self-loop": (changed((3, 3, 1)), 0, 0),
    "3-cycle closed": (changed((2, 0, 1)), 1, 1),
    "itself": (CHAIN, 0, 0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_distance_of_one_change(change):
    graph, pair, cell = CHANGES[change]
    assert recovery.shd(CHAIN, graph) == pair
    assert recovery.shd(CHAIN, graph, kind="cell") == cell


def graphs(d=5):
    return st.lists(st.booleans(), min_size=d * d, max_size=d * d).map(lambda bits: np.array(bits).reshape(d, d))


@given(graphs())
def test_a_graph_is_at_no_distance_from_itself(graph):
    assert (
        recovery.shd(graph, graph)
        == recovery.shd(graph, graph, kind="cell")
        == recovery.skeleton_shd(graph, graph)
        == 0
    )


COUNTED = (
    "tp",
    "fp",
    "fn",
    "skeleton_tp",
    "skeleton_fp",
    "skeleton_fn",
    "correct_direction",
    "wrong_direction",
    "unoriented",
    "shd_missing",
    "shd_extra",
    "shd_reversed",
    "pair",
    "cell",
    "cells_missing",
    "cells_extra",
)


def by_definition(T, P):
    """Every count, one pair of nodes after the other."""
    d = len(T)
    found = dict.fromkeys(COUNTED, 0)
    for i, j in itertools.combinations(range(d), 2):
        true, predicted = {e for e in ((i, j), (j, i)) if T[e]}, {e for e in ((i, j), (j, i)) if P[e]}
        found["tp"] += len(true & predicted)
        found["fp"] += len(predicted - true)
        found["fn"] += len(true - predicted)
        found["skeleton_tp"] += bool(true) and bool(predicted)
        found["skeleton_fp"] += not true and bool(predicted)
        found["skeleton_fn"] += bool(true) and not predicted
        found["pair"] += true != predicted
        found["cell"] += len(true ^ predicted)
        if true and predicted:
            if true == predicted:
                found["correct_direction"] += 1
            elif len(predicted) == 2:
                found["unoriented"] += 1
            else:
                found["wrong_direction"] += 1
        if len(true) == len(predicted) == 1 and true != predicted:
            found["shd_reversed"] += 1
        elif predicted < true:
            found["shd_missing"] += 1
            found["cells_missing"] += len(true - predicted)
        elif true < predicted:
            found["shd_extra"] += 1
            found["cells_extra"] += len(predicted - true)
    return found


def share(part, whole):
    return float(Fraction(part, whole)) if whole else np.nan


@given(graphs(), graphs(), st.sampled_from([None, "sparse"]))
def test_all_counts_and_shares(T, P, form):
    from scipy.sparse import csr_matrix

    given = (T, P) if form is None else (csr_matrix(T), csr_matrix(P))
    expected = by_definition(T, P)
    pairs, cells = evaluate(*given), evaluate(*given, shd="cell")
    for key in (key for key in expected if key in pairs):
        assert pairs[key].value == expected[key], key
    assert pairs["directed_shd"].value == expected["pair"]
    assert cells["directed_shd"].value == expected["cell"]
    assert cells["shd_missing"].value == expected["cells_missing"]
    assert cells["shd_extra"].value == expected["cells_extra"]
    assert expected["cell"] == expected["cells_missing"] + expected["cells_extra"] + 2 * expected["shd_reversed"]
    tp, fp, fn = (expected[key] for key in ("tp", "fp", "fn"))
    absent = 20 - tp - fn
    shares = {
        "directed_precision": share(tp, tp + fp),
        "directed_recall": share(tp, tp + fn),
        "directed_f1": share(2 * tp, 2 * tp + fp + fn),
        "fdr": share(fp, tp + fp),
        "tpr": share(tp, tp + fn),
        "fpr": share(fp, absent),
    }
    tp, fp, fn = (expected[f"skeleton_{key}"] for key in ("tp", "fp", "fn"))
    shares |= {
        "skeleton_precision": share(tp, tp + fp),
        "skeleton_recall": share(tp, tp + fn),
        "skeleton_f1": share(2 * tp, 2 * tp + fp + fn),
        "orientation_accuracy": share(expected["correct_direction"], tp),
    }
    for key, value in shares.items():
        np.testing.assert_equal(pairs[key].value, value, err_msg=key)
    assert pairs["skeleton_shd"].value == fp + fn


@given(graphs(), graphs())
def test_exchanging_truth_and_prediction(T, P):
    one, other = evaluate(T, P), evaluate(P, T)
    exchanged = [
        ("directed_precision", "directed_recall"),
        ("skeleton_precision", "skeleton_recall"),
        ("fp", "fn"),
        ("shd_missing", "shd_extra"),
        ("v_structure_precision", "v_structure_recall"),
    ]
    for key, partner in exchanged:
        np.testing.assert_equal(one[key].value, other[partner].value)
    for key in ("directed_f1", "directed_shd", "skeleton_f1", "skeleton_shd", "shd_reversed", "v_structure_f1"):
        np.testing.assert_equal(one[key].value, other[key].value)


def test_an_all_ones_prediction_orients_nothing():
    evaluation = evaluate(CHAIN, np.ones((4, 4)))
    assert evaluation["orientation_accuracy"].value == 0
    assert evaluation["unoriented"].value == 2


def test_nothing_to_measure_is_nan_with_a_reason_and_zero_only_where_asked():
    empty = np.zeros((3, 3))
    evaluation = evaluate(empty, empty)
    for key in (
        "directed_precision",
        "directed_recall",
        "directed_f1",
        "skeleton_f1",
        "orientation_accuracy",
        "auprc",
        "roc_auc",
        "f1_at_1.0e",
        "best_f1",
    ):
        assert np.isnan(evaluation[key].value), key
        assert evaluation[key].n == 0
        assert evaluation[key].reason
    assert evaluation["directed_shd"].value == 0
    assert evaluate(empty, empty, zero_division=0)["directed_f1"].value == 0
    # Either graph alone is enough for an F1.
    assert evaluate(CHAIN, np.zeros((4, 4)))["directed_f1"].value == 0


@pytest.mark.parametrize("size", [2, 63, 64, 65, 130])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64, np.int8])
def test_tables_of_a_matrix_are_those_of_its_stored_cells(size, dtype):
    draw = np.random.default_rng(size)
    truth, scores = draw.random((size, size)) < 0.2, (draw.random((size, size)) * 4).astype(dtype)
    keys = ["tp", "fp", "fn", "directed_shd", "skeleton_shd", "orientation_accuracy", "shd_reversed", "auprc"]
    T, P = truth & ~np.eye(size, dtype=bool), (scores > 2) & ~np.eye(size, dtype=bool)
    for form in (np.asarray, np.asfortranarray, scipy.sparse.csr_matrix):
        if form is scipy.sparse.csr_matrix and dtype is np.float16:
            continue  # scipy has no such matrix
        found = evaluate(truth.astype(dtype), form(scores), threshold=2, metrics=keys)
        assert found["tp"] == (T & P).sum()
        assert found["directed_shd"] == ((T ^ P) | (T ^ P).T).sum() / 2
        assert found["skeleton_shd"] == ((T | T.T) ^ (P | P.T)).sum() / 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_weight_equal_to_the_threshold_in_its_own_precision_is_no_edge(dtype):
    truth, pred = np.eye(3, k=1), np.zeros((3, 3), dtype)
    pred[0, 1], pred[1, 2] = 0.3, 0.9
    for options in ({}, {"sources": [0, 1, 2]}):  # counted by bits, and by lists of edges
        assert evaluate(truth, pred, threshold=0.3, **options)["directed_recall"] == 0.5
