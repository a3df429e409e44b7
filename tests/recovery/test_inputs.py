"""Every form of one graph gives the same answer; what cannot be read says what, where and how to mend it."""

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse
import torch

from graphgauge import recovery
from graphgauge.core.errors import InputError, OptionError, UnknownNameError
from graphgauge.recovery.comparison import compare
from graphgauge.recovery.counts import WEIGHTS

NAMES = ("raf", "mek", "erk", "akt")
TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
SCORES = np.array([[0.9, 0.8, 0.1, 0], [0, 0, 0.3, 0.7], [0, 0.6, 0, 0], [0.55, 0, 0, 0]])
EXPECTED = recovery.evaluate(TRUTH, SCORES).to_flat()


def edges(matrix, names=None):
    ends = [tuple(cell) for cell in np.argwhere(matrix).tolist()]
    return [(*(cell if names is None else (names[cell[0]], names[cell[1]])), float(matrix[cell])) for cell in ends]


def frame(matrix, order=(0, 1, 2, 3)):
    named = pandas.DataFrame(matrix, index=NAMES, columns=NAMES)
    return named.iloc[list(order)]


def digraph(matrix):
    graph = networkx.DiGraph()
    graph.add_nodes_from(NAMES)
    graph.add_weighted_edges_from(edges(matrix, NAMES))
    return graph


FORMS = {
    "lists": lambda matrix: matrix.tolist(),
    "float32": lambda matrix: matrix.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "a strided view": lambda matrix: np.kron(matrix, np.ones((2, 2)))[::2, ::2],
    "read-only": lambda matrix: _read_only(matrix),
    "torch": torch.tensor,
    "csr": scipy.sparse.csr_matrix,
    "csc array": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_matrix,
    "frame": frame,
    "frame with rows in another order": lambda matrix: frame(matrix, (2, 0, 3, 1)),
    "networkx": digraph,
    "a stack of one": lambda matrix: matrix[np.newaxis],
}


def _read_only(matrix):
    copy = matrix.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("true_form", FORMS)
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_give_the_same(form, true_form):
    evaluation = recovery.evaluate(FORMS[true_form](TRUTH), FORMS[form](SCORES))
    if "float32" in (form,):
        assert evaluation["directed_shd"].value == EXPECTED["directed_shd"]
        return
    np.testing.assert_equal(evaluation.to_flat(), EXPECTED)


@pytest.mark.parametrize("listed", [edges(SCORES), recovery.EdgeList(np.array(edges(SCORES)))])
def test_edge_lists(listed):
    np.testing.assert_equal(recovery.evaluate(edges(TRUTH), listed, nodes=4).to_flat(), EXPECTED)
    np.testing.assert_equal(recovery.evaluate(TRUTH, listed).to_flat(), EXPECTED)
    unweighted = [edge[:2] for edge in edges(TRUTH)]
    np.testing.assert_equal(recovery.evaluate(unweighted, listed, nodes=4).to_flat(), EXPECTED)


def test_edge_lists_by_name_and_frames_of_edges():
    listed = edges(SCORES, NAMES)
    np.testing.assert_equal(recovery.evaluate(edges(TRUTH, NAMES), listed, nodes=NAMES).to_flat(), EXPECTED)
    table = pandas.DataFrame(listed, columns=["source", "target", "weight"])
    np.testing.assert_equal(recovery.evaluate(frame(TRUTH), table).to_flat(), EXPECTED)


def test_names_align_frames_in_other_orders():
    shuffled = [2, 0, 3, 1]
    prediction = pandas.DataFrame(SCORES, index=NAMES, columns=NAMES).iloc[shuffled, shuffled]
    np.testing.assert_equal(recovery.evaluate(frame(TRUTH), prediction).to_flat(), EXPECTED)
    np.testing.assert_equal(recovery.evaluate(prediction > 0.75, frame(SCORES), nodes=NAMES)["tp"].value, 1.0)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_named_matrices_are_matched_by_name_in_any_form(form):
    shuffled = [2, 0, 3, 1]
    prediction = recovery.NamedMatrix(form(SCORES[np.ix_(shuffled, shuffled)]), [NAMES[index] for index in shuffled])
    for truth in (recovery.NamedMatrix(form(TRUTH), NAMES), frame(TRUTH)):
        np.testing.assert_equal(recovery.evaluate(truth, prediction).to_flat(), EXPECTED)


def test_no_edges_may_be_listed():
    assert recovery.evaluate(TRUTH, [])["fn"].value == 3
    assert recovery.evaluate([], [], nodes=np.int64(4))["directed_shd"].value == 0


def test_an_unnamed_prediction_is_taken_in_order_and_that_is_said():
    assert any("only A_true names its nodes" in note for note in recovery.evaluate(frame(TRUTH), SCORES).notes)


def test_undirected_networkx_edges_run_both_ways():
    graph = networkx.Graph([("raf", "mek")])
    graph.add_nodes_from(NAMES)
    assert recovery.evaluate(digraph(TRUTH), graph, metrics=["unoriented"])["unoriented"].value == 1


def test_transposed_writing():
    for prediction in (SCORES.T, np.ascontiguousarray(SCORES.T), scipy.sparse.csr_matrix(SCORES.T)):
        np.testing.assert_equal(recovery.evaluate(TRUTH, prediction, edges="column_to_row").to_flat(), EXPECTED)
    both = ("column_to_row", "column_to_row")
    evaluation = recovery.evaluate(TRUTH.T, SCORES.T, edges=both)
    np.testing.assert_equal(evaluation.to_flat(), EXPECTED)
    assert evaluation.conventions["edges"] == "column_to_row and column_to_row"


def test_signs():
    weights = SCORES * np.where(np.arange(4) % 2, -1, 1)
    with pytest.raises(InputError, match=r"A_pred: 3 scores are negative, the first at \(0, 1\).*sign="):
        recovery.evaluate(TRUTH, weights)
    np.testing.assert_equal(recovery.evaluate(TRUTH, weights, sign="absolute").to_flat(), EXPECTED)
    np.testing.assert_equal(
        recovery.evaluate(TRUTH, scipy.sparse.csr_matrix(weights), sign="absolute").to_flat(), EXPECTED
    )
    kept = recovery.evaluate(TRUTH, weights, sign="keep")
    assert kept["tp"].value == 1
    assert kept.conventions["sign"] == "keep"
    diagonal = SCORES - 5 * np.eye(4)
    assert recovery.evaluate(TRUTH, diagonal)["tp"].value == EXPECTED["tp"]


def test_int8_has_no_positive_counterpart_of_its_lowest_number():
    weights = np.array([[0, -128], [0, 0]], np.int8)
    truth = np.array([[0, 1], [0, 0]], np.int8)
    evaluation = recovery.evaluate(truth, weights, sign="absolute")
    assert evaluation["tp"].value == 1
    assert evaluation["auprc"].value == 1


NAN = SCORES.copy()
NAN[1, 2] = np.nan


def test_nan_is_an_error_or_left_out_of_both_graphs():
    with pytest.raises(InputError, match=r"A_pred: 1 of 12 values are NaN, the first at index \(1, 2\)"):
        recovery.evaluate(TRUTH, NAN)
    without = TRUTH.copy()
    without[1, 2] = 0
    low = SCORES.copy()
    low[1, 2] = 0
    expected = recovery.evaluate(without, low, metrics=["tp", "fp", "fn", "directed_f1", "directed_shd", "auprc"])
    for prediction in (NAN, np.asfortranarray(NAN), scipy.sparse.csr_matrix(NAN)):
        found = recovery.evaluate(TRUTH, prediction, nan="omit", metrics=list(expected))
        assert any("1 cells left out" in note for note in found.notes)
        for key in ("tp", "fp", "fn", "directed_f1", "directed_shd"):
            assert found[key].value == expected[key].value
        # One cell fewer to rank, and it ranked below both remaining true edges.
        assert found["auprc"].n == 11
        assert found["auprc"].value == expected["auprc"].value


def test_cells_that_are_left_out_are_none_that_could_have_been_right():
    draw = np.random.default_rng(0)
    truth, scores = (draw.random((3, 6, 6)) < 0.3) * 1.0, draw.random((3, 6, 6))
    scores[0, 1, 2] = scores[1, 3, 4] = scores[1, 4, 5] = np.nan
    table = recovery.evaluate(truth, scores, nan="omit").by("graph")
    for row, (T, P) in enumerate(zip(truth != 0, scores, strict=True)):
        scored = ~np.isnan(P) & ~np.eye(6, dtype=bool)
        assert table["fpr"][row] == ((P > 0.5) & ~T & scored).sum() / (~T & scored).sum()
        assert table["n"][row] == scored.sum()
    whole = recovery.evaluate(truth[0], scores[0], nan="omit")
    assert whole["tp"].n == whole["auprc"].n == 29


def test_lags_that_are_left_out_are_in_no_summary():
    draw = np.random.default_rng(1)
    truth, scores = (draw.random((5, 5, 3)) < 0.3) * 1.0, draw.random((5, 5, 3))
    truth[0, 1] = [0, 1, 0]
    scores[0, 1, 1] = scores[2, 3, 0] = np.nan
    evaluation = recovery.evaluate(truth, scores, nan="omit", lagged=True)
    scored = ~np.isnan(scores)
    kept = (truth != 0) & scored
    table = evaluation.by("lag")
    for lag in (1, 2):
        T, P, known = kept[..., lag], scores[..., lag] > 0.5, scored[..., lag]
        assert table["fpr"][lag] == (P & ~T & known).sum() / (~T & known).sum()
    summary = recovery.evaluate(kept.any(2), np.nanmax(scores, 2))
    for key in ("fpr", "fn", "auprc", "directed_f1"):
        assert table[key][3] == summary[key].value, key
    assert evaluation["tp"].n == 5 * 4 + 2 * 25 - 2


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_baselines_where_scores_are_missing(form):
    draw = np.random.default_rng(2)
    truth, scores = np.triu(draw.random((9, 9)) < 0.4, 1) * 1.0, draw.random((9, 9))
    scores[draw.random((9, 9)) < 0.3] = np.nan
    evaluation = recovery.evaluate(truth, form(scores), nan="omit")
    for key, result in evaluation.items():
        # Cells without a score cannot be drawn: no closed form knows which.
        levels = {level.name for level in result.chance}
        assert not {"random graph with as many edges", "random directions"} & levels, key
    found = compare(truth, form(scores), nan="omit").samples()["edges"].transposed
    turned = compare(truth, form(scores.T.copy()), nan="omit").counts
    for name in WEIGHTS:
        assert found[name] == turned[name], name


def test_nan_on_the_diagonal_is_of_no_account():
    scores = SCORES.copy()
    np.fill_diagonal(scores, np.nan)
    assert recovery.evaluate(TRUTH, scores)["tp"].value == EXPECTED["tp"]
    assert recovery.evaluate(TRUTH, scores)["roc_auc"].value == EXPECTED["roc_auc"]


def test_a_truth_with_weights_is_noted():
    evaluation = recovery.evaluate(TRUTH * 0.7, SCORES)
    np.testing.assert_equal(evaluation.to_flat(), EXPECTED)
    assert any("every cell other than 0 is an edge" in note for note in evaluation.notes)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_swapped_arguments_are_caught(form):
    with pytest.raises(InputError, match="the arguments look swapped"):
        recovery.evaluate(form(SCORES), form(TRUTH))


def test_loops_are_reported_apart():
    truth = TRUTH + np.diag([1, 0, 1, 0])
    for pair in ((truth, SCORES), (scipy.sparse.csr_matrix(truth), scipy.sparse.csr_matrix(SCORES))):
        evaluation = recovery.evaluate(*pair)
        assert "2 self-loops in A_true are not counted" in evaluation.notes
        assert "1 self-loops in A_pred are not counted" in evaluation.notes
        np.testing.assert_equal(evaluation.to_flat(), EXPECTED)


def test_inputs_stay_as_they_are():
    truth, scores = TRUTH.astype(float) + np.eye(4), SCORES.copy()
    sparse = scipy.sparse.coo_matrix((np.r_[1.0, 1.0], ([0, 0], [1, 1])), shape=(4, 4))
    before = truth.copy(), scores.copy(), sparse.nnz
    recovery.evaluate(truth, scores, sign="absolute")
    recovery.evaluate(sparse, sparse)
    np.testing.assert_array_equal(truth, before[0])
    np.testing.assert_array_equal(scores, before[1])
    assert sparse.nnz == before[2]


BAD = {
    "not square": (np.ones((3, 4)), SCORES, {}, "A_true: expected shape"),
    "one dimension": (np.ones(3), SCORES, {}, "A_true: expected shape"),
    "different d": (np.eye(3), SCORES, {}, "nodes"),
    "sparse, not square": (scipy.sparse.csr_matrix((3, 4)), SCORES, {}, "square"),
    "ragged": ([[0, 1], [0]], SCORES, {}, "A_true"),
    "text": (TRUTH.astype(str), SCORES, {}, "expected numbers"),
    "NaN in the truth": (np.where(TRUTH, np.nan, 0), SCORES, {}, "A_true: 3 of 12 values are NaN"),
    "stack against one": (np.stack([TRUTH] * 3), SCORES, {}, "3 true graphs with 1 predicted"),
    "edges without nodes": ([(0, 1)], [(1, 0)], {}, "Pass nodes="),
    "edge to nowhere": ([(0, 7)], SCORES, {}, r"\(0, 7\) is not between nodes 0 … 3"),
    "edge twice": ([(0, 1), (0, 1)], SCORES, {}, r"\(0, 1\) is listed twice"),
    "edges of many lengths": ([(0, 1), (0, 1, 2)], SCORES, {}, "different lengths"),
    "edges that are none": (recovery.EdgeList([1, 2]), SCORES, {}, "A_true: 1 is not an edge"),
    "no edges at all": (recovery.EdgeList(None), SCORES, {}, "None is not an edge"),
    "edges of NaN": (recovery.EdgeList(np.array([[0, np.nan]])), SCORES, {}, r"\(0.0, nan\) is not between nodes"),
    "too few names": (recovery.NamedMatrix(TRUTH, NAMES[:3]), SCORES, {}, "A_true: 3 names for 4 nodes"),
    "no names": (recovery.NamedMatrix(TRUTH, None), SCORES, {}, "A_true: None cannot name nodes"),
    "a name twice": (recovery.NamedMatrix(TRUTH, "abca"), SCORES, {}, "A_true: the node 'a' occurs twice"),
    "a node twice": ([("a", "b")], [("a", "b")], {"nodes": "aab"}, "nodes: the node 'a' occurs twice"),
    "lists for names": (TRUTH, SCORES, {"nodes": [[1], [2], [3], [4]]}, "cannot name nodes"),
    "other lags": (np.zeros((3, 3, 2)), np.zeros((3, 3, 3)), {"lagged": True}, "2 true lags with 3 predicted ones"),
    "no lags": (np.zeros((3, 3, 0)), np.zeros((3, 3, 0)), {"lagged": True}, r"expected shape \(d, d, lags \+ 1\)"),
    "ragged marks": (TRUTH, [[0, 1], [0]], {"encoding": "pcalg"}, "A_pred"),
    "ragged links": (TRUTH, [["-->"], []], {"encoding": "tigramite"}, "not an array of tigramite links"),
    "no marks": (TRUTH, None, {"encoding": "gadjid"}, "A_pred: expected numbers"),
    "unknown names": (edges(TRUTH, "abcd"), SCORES, {"nodes": NAMES}, "unknown nodes: 'a', 'b', 'c', 'd'"),
    "names that differ": (
        frame(TRUTH),
        frame(SCORES).rename(index={"akt": "pka"}, columns={"akt": "pka"}),
        {},
        "A_pred: node names differ: lacks 'akt' and adds 'pka'",
    ),
    "rows unlike columns": (frame(TRUTH).rename(index={"akt": "pka"}), SCORES, {}, "rows against its columns"),
    "nodes= of another length": (TRUTH, SCORES, {"nodes": 5}, "nodes= says 5"),
    "negative threshold for sparse": (TRUTH, scipy.sparse.csr_matrix(SCORES), {"threshold": -1}, "below 0"),
    "lagged but flat": (TRUTH, SCORES, {"lagged": True}, "lags"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    truth, prediction, options, message = BAD[case]
    with pytest.raises(InputError, match=message):
        recovery.evaluate(truth, prediction, **options)


OPTIONS = {
    OptionError: [
        {"threshold": np.nan},
        {"threshold": "high"},
        {"nan": "zero"},
        {"fractions": [0]},
        {"edges": ("row_to_column",) * 3},
        {"encoding": "pcalg", "edges": "column_to_row"},
        {"edges": 5},
        {"encoding": 5},
        {"fractions": None},
        {"fractions": "a"},
        {"zero_division": "a"},
        {"zero_division": None},
        {"threshold": np.complex128(1)},
        {"nodes": 4.5},
        {"nodes": -1},
        {"nodes": set(NAMES)},
        {"metrics": ["f1_at_0e"]},
        {"metrics": ["f1_at_nane"]},
        {"metrics": ["f1_at_infe"]},
    ],
    UnknownNameError: [
        {"shd": "double"},
        {"sign": "positive"},
        {"edges": "sideways"},
        {"encoding": "pag"},
        {"area": "round"},
        {"metrics": ["directed_f2"]},
    ],
}


@pytest.mark.parametrize(("option", "error"), [(option, error) for error in OPTIONS for option in OPTIONS[error]])
def test_bad_options(option, error):
    with pytest.raises(error):
        recovery.evaluate(TRUTH, SCORES, **option)


# a → b – c in each tool's writing, rows and columns in the order a, b, c.
ENCODED = {
    "causal-learn": [[0, -1, 0], [1, 0, -1], [0, -1, 0]],
    "pcalg": [[0, 0, 0], [1, 0, 1], [0, 1, 0]],
    "gadjid": [[0, 1, 0], [0, 0, 2], [0, 0, 0]],
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_encodings_of_graphs_with_undirected_edges(encoding):
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    evaluation = recovery.evaluate(truth, np.array(ENCODED[encoding]), encoding=encoding)
    assert evaluation["correct_direction"].value == 1
    assert evaluation["unoriented"].value == 1
    assert evaluation["directed_shd"].value == 1
    # a → b → c has no compelled edge: both differ from a → b – c in the first pair alone.
    assert evaluation["cpdag_shd"].value == 1
    assert evaluation.conventions["encoding"] == encoding
    assert (
        recovery.evaluate(np.array(ENCODED[encoding]), np.array(ENCODED[encoding]), encoding=(encoding, encoding))[
            "directed_shd"
        ].value
        == 0
    )


def test_tigramite_links_are_lagged():
    links = np.full((3, 3, 2), "", dtype="<U3")
    links[0, 1, 0], links[1, 0, 0] = "-->", "<--"
    links[1, 2, 0] = links[2, 1, 0] = "o-o"
    links[0, 0, 1] = "-->"
    truth = np.zeros((3, 3, 2))
    truth[0, 1, 0] = truth[1, 2, 0] = truth[0, 0, 1] = 1
    evaluation = recovery.evaluate(truth, links, encoding="tigramite", lagged=True)
    assert [evaluation[key].value for key in ("tp", "fp", "fn")] == [2, 0, 1]
    assert evaluation["unoriented"].value == evaluation["shd_undirected"].value == evaluation["directed_shd"].value == 1
    assert evaluation["skeleton_tp"].value == 3
    one_sided = links.copy()
    one_sided[0, 1, 0] = one_sided[2, 1, 0] = ""
    again = recovery.evaluate(truth, one_sided, encoding="tigramite", lagged=True)
    assert {key: result.value for key, result in again.items()} == pytest.approx(
        {key: result.value for key, result in evaluation.items()}, nan_ok=True
    )
    for contradiction in ("-->", "o-o", "x-x"):
        wrong = links.copy()
        wrong[1, 0, 0] = contradiction
        with pytest.raises(InputError, match="2 cells have marks"):
            recovery.evaluate(truth, wrong, encoding="tigramite", lagged=True)
    with pytest.raises(InputError, match="lagged=True"):
        recovery.evaluate(np.zeros((3, 3)), links, encoding="tigramite")


@pytest.mark.parametrize(
    ("encoding", "marks"),
    [
        ("causal-learn", [[0, 1], [0, 0]]),
        ("causal-learn", [[0, 3], [1, 0]]),
        ("pcalg", [[0, 2], [1, 0]]),
        ("gadjid", [[0, 1], [1, 0]]),
        ("gadjid", [[0, 1], [2, 0]]),
    ],
)
def test_marks_that_the_encoding_does_not_have(encoding, marks):
    with pytest.raises(InputError, match="cells have marks"):
        recovery.evaluate(np.zeros((2, 2)), np.array(marks), encoding=encoding)


@pytest.mark.parametrize("d", [0, 1])
def test_graphs_without_a_pair_of_nodes(d):
    nothing = np.zeros((d, d))
    evaluation = recovery.evaluate(nothing, nothing)
    assert np.isnan(evaluation["directed_f1"].value)
    assert evaluation["directed_f1"].reason
    assert evaluation["directed_f1"].n == 0
    with pytest.raises(InputError, match="without a pair"):
        recovery.shd(nothing, nothing)


@pytest.mark.parametrize("count", [1, 2, 6])
def test_a_number_of_nodes_that_is_not_that_of_the_named_ones(count):
    named = recovery.EdgeList([("a", "b"), ("c", "b")], ("a", "b", "c"))
    for pair in ((named, named), (named, np.zeros((3, 3))), (np.eye(3, k=1), named)):
        with pytest.raises(InputError, match=rf"^nodes: the graphs name 3 nodes. nodes= says {count}"):
            recovery.evaluate(*pair, nodes=count)
