"""Every form of one graph gives the same answer; what cannot be read says what, where and how to mend it."""

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse
import torch
from tests.recovery.forms import evaluate, levels, listed

from graphgauge import recovery
from graphgauge.core.errors import InputError, OptionError, UnknownNameError

NAMES = ("raf", "mek", "erk", "akt")
TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
SCORES = np.array([[0.9, 0.8, 0.1, 0], [0, 0, 0.3, 0.7], [0, 0.6, 0, 0], [0.55, 0, 0, 0]])
EXPECTED = evaluate(TRUTH, SCORES).to_flat()


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
    "a graph": lambda matrix: listed(edges(matrix, NAMES), NAMES),
}
NAMED = ("frame", "frame with rows in another order", "networkx", "a graph")


def _read_only(matrix):
    copy = matrix.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("true_form", FORMS)
@pytest.mark.parametrize("form", FORMS)
def test_all_forms_give_the_same(form, true_form):
    nodes = NAMES if form in NAMED or true_form in NAMED else None
    evaluation = evaluate(FORMS[true_form](TRUTH), FORMS[form](SCORES), nodes=nodes)
    if "float32" in (form,):
        assert evaluation["directed_shd"].value == EXPECTED["directed_shd"]
        return
    np.testing.assert_equal(evaluation.to_flat(), EXPECTED)


def test_edge_lists():
    for given in (edges(SCORES), listed(edges(SCORES))):
        np.testing.assert_equal(evaluate(edges(TRUTH), given, nodes=4).to_flat(), EXPECTED)
        np.testing.assert_equal(evaluate(TRUTH, given).to_flat(), EXPECTED)
        unweighted = [edge[:2] for edge in edges(TRUTH)]
        np.testing.assert_equal(evaluate(unweighted, given, nodes=4).to_flat(), EXPECTED)


def test_edge_lists_by_name_and_frames_of_edges():
    given = edges(SCORES, NAMES)
    np.testing.assert_equal(evaluate(edges(TRUTH, NAMES), given, nodes=NAMES).to_flat(), EXPECTED)
    table = pandas.DataFrame(given, columns=["source", "target", "weight"])
    np.testing.assert_equal(evaluate(frame(TRUTH), table).to_flat(), EXPECTED)


def test_names_align_frames_in_other_orders():
    shuffled = [2, 0, 3, 1]
    prediction = pandas.DataFrame(SCORES, index=NAMES, columns=NAMES).iloc[shuffled, shuffled]
    np.testing.assert_equal(evaluate(frame(TRUTH), prediction).to_flat(), EXPECTED)
    np.testing.assert_equal(evaluate(prediction > 0.75, frame(SCORES), nodes=NAMES)["tp"].value, 1.0)


def test_square_tables_without_an_index_name_their_rows_by_their_columns_or_by_one_in_front():
    truth = pandas.DataFrame(TRUTH, index=NAMES, columns=NAMES)
    plain = pandas.DataFrame(SCORES, columns=NAMES)
    front = plain.copy()
    front.insert(0, "node", NAMES)
    shuffled = front.iloc[::-1].reset_index(drop=True)
    for table in (plain, front, shuffled, {name: front[name].to_numpy() for name in front}):
        np.testing.assert_equal(evaluate(truth, table).to_flat(), EXPECTED)


def test_no_edges_may_be_listed():
    assert evaluate(TRUTH, [])["fn"].value == 3
    assert evaluate([], [], nodes=np.int64(4))["directed_shd"].value == 0


def test_undirected_networkx_edges_run_both_ways():
    graph = networkx.Graph([("raf", "mek")])
    graph.add_nodes_from(NAMES)
    assert evaluate(digraph(TRUTH), graph, metrics=["unoriented"])["unoriented"].value == 1


def test_transposed_writing():
    for prediction in (SCORES.T, np.ascontiguousarray(SCORES.T), scipy.sparse.csr_matrix(SCORES.T)):
        np.testing.assert_equal(evaluate(TRUTH, prediction, orientation="column_to_row").to_flat(), EXPECTED)
    both = ("column_to_row", "column_to_row")
    evaluation = evaluate(TRUTH.T, SCORES.T, orientation=both)
    np.testing.assert_equal(evaluation.to_flat(), EXPECTED)
    assert evaluation.conventions["orientation"] == "column_to_row and column_to_row"


def test_signs():
    weights = SCORES * np.where(np.arange(4) % 2, -1, 1)
    with pytest.raises(InputError, match=r"A_pred: 3 of 12 scores are negative, the first at index \(0, 1\).*sign="):
        evaluate(TRUTH, weights)
    for given in (weights, scipy.sparse.csr_matrix(weights)):
        found = evaluate(TRUTH, given, sign="absolute", threshold=0.5)
        np.testing.assert_equal(found.to_flat(), EXPECTED)
    kept = evaluate(TRUTH, weights, sign="keep")
    assert kept["tp"].value == 1
    assert kept.conventions["sign"] == "keep"
    diagonal = SCORES - 5 * np.eye(4)
    assert evaluate(TRUTH, diagonal)["tp"].value == EXPECTED["tp"]


def test_int8_has_no_positive_counterpart_of_its_lowest_number():
    weights = np.array([[0, -128], [0, 0]], np.int8)
    truth = np.array([[0, 1], [0, 0]], np.int8)
    evaluation = evaluate(truth, weights, sign="absolute")
    assert evaluation["tp"].value == 1
    assert evaluation["auprc"].value == 1


NAN = SCORES.copy()
NAN[1, 2] = np.nan


def test_nan_is_an_error_or_left_out_of_both_graphs():
    with pytest.raises(InputError, match=r"A_pred: 1 of 12 values are NaN, the first at index \(1, 2\)"):
        evaluate(TRUTH, NAN)
    without = TRUTH.copy()
    without[1, 2] = 0
    low = SCORES.copy()
    low[1, 2] = 0
    expected = evaluate(without, low, metrics=["tp", "fp", "fn", "directed_f1", "directed_shd", "auprc"])
    for prediction in (NAN, np.asfortranarray(NAN), scipy.sparse.csr_matrix(NAN)):
        found = evaluate(TRUTH, prediction, nan="omit", metrics=list(expected))
        assert "1 cell without a score is in neither graph" in [each.message for each in found.findings]
        for key in ("tp", "fp", "fn", "directed_f1", "directed_shd"):
            assert found[key].value == expected[key].value
        # One cell fewer to rank, and it ranked below both remaining true edges.
        assert found["auprc"].n == 11
        assert found["auprc"].value == expected["auprc"].value


def test_cells_that_are_left_out_are_none_that_could_have_been_right():
    draw = np.random.default_rng(0)
    truth, scores = (draw.random((3, 6, 6)) < 0.3) * 1.0, draw.random((3, 6, 6))
    scores[0, 1, 2] = scores[1, 3, 4] = scores[1, 4, 5] = np.nan
    table = evaluate(truth, scores, nan="omit").by("graph")
    for row, (T, P) in enumerate(zip(truth != 0, scores, strict=True)):
        scored = ~np.isnan(P) & ~np.eye(6, dtype=bool)
        assert table["fpr"][row] == ((P > 0.5) & ~T & scored).sum() / (~T & scored).sum()
        assert table["n"][row] == scored.sum()
    whole = evaluate(truth[0], scores[0], nan="omit")
    assert whole["tp"].n == whole["auprc"].n == 29


def test_lags_that_are_left_out_are_in_no_summary():
    draw = np.random.default_rng(1)
    truth, scores = (draw.random((5, 5, 3)) < 0.3) * 1.0, draw.random((5, 5, 3))
    truth[0, 1] = [0, 1, 0]
    scores[0, 1, 1] = scores[2, 3, 0] = np.nan
    evaluation = evaluate(truth, scores, nan="omit", lagged=True)
    scored = ~np.isnan(scores)
    kept = (truth != 0) & scored
    table = evaluation.by("lag")
    for lag in (1, 2):
        T, P, known = kept[..., lag], scores[..., lag] > 0.5, scored[..., lag]
        assert table["fpr"][lag] == (P & ~T & known).sum() / (~T & known).sum()
    summary = evaluate(kept.any(2), np.nanmax(scores, 2))
    for key in ("fpr", "fn", "auprc", "directed_f1"):
        assert table[key][3] == summary[key].value, key
    assert evaluation["tp"].n == 5 * 4 + 2 * 25 - 2


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_baselines_where_scores_are_missing(form):
    draw = np.random.default_rng(2)
    truth, scores = np.triu(draw.random((9, 9)) < 0.4, 1) * 1.0, draw.random((9, 9))
    scores[draw.random((9, 9)) < 0.3] = np.nan
    evaluation = evaluate(truth, form(scores), nan="omit")
    # Of 36 pairs some have both scores, some one: as many edges are spread over each of the two.
    known = ~np.isnan(scores)
    both, one = np.triu(known & known.T, 1), known & ~known.T
    found = known & (scores > 0.5)
    expected = (truth != 0)[both].sum() * (found & (both | both.T)).sum() / both.sum() / 2
    expected += ((truth != 0) & one).sum() * (found & one).sum() / one.sum()
    single = [int((found & found.T & both).sum())]
    if not single[0]:
        assert levels(evaluation["tp"])["random graph with as many edges"] == pytest.approx(expected)
    assert evaluation["tp"].n == known.sum() - known.diagonal().sum()


def test_nan_on_the_diagonal_is_of_no_account():
    scores = SCORES.copy()
    np.fill_diagonal(scores, np.nan)
    assert evaluate(TRUTH, scores)["tp"].value == EXPECTED["tp"]
    assert evaluate(TRUTH, scores)["roc_auc"].value == EXPECTED["roc_auc"]


def test_every_cell_of_the_truth_other_than_0_is_an_edge():
    evaluation = evaluate(TRUTH * 0.7, SCORES, metrics=list(EXPECTED))
    np.testing.assert_equal(evaluation.to_flat(), EXPECTED)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
def test_swapped_arguments_are_caught(form):
    with pytest.raises(InputError, match="the arguments look swapped"):
        evaluate(form(SCORES), form(TRUTH))


def test_loops_are_reported_apart():
    truth = TRUTH + np.diag([1, 0, 1, 0])
    for pair in ((truth, SCORES), (scipy.sparse.csr_matrix(truth), scipy.sparse.csr_matrix(SCORES))):
        evaluation = evaluate(*pair)
        assert "3 self-loops in A_true and A_pred are not counted" in [each.message for each in evaluation.findings]
        np.testing.assert_equal(evaluation.to_flat(), EXPECTED)


def test_inputs_stay_as_they_are():
    truth, scores = TRUTH.astype(float) + np.eye(4), SCORES.copy()
    sparse = scipy.sparse.coo_matrix((np.r_[1.0, 1.0], ([0, 0], [1, 1])), shape=(4, 4))
    before = truth.copy(), scores.copy(), sparse.nnz
    evaluate(truth, scores, sign="absolute")
    evaluate(sparse, sparse)
    np.testing.assert_array_equal(truth, before[0])
    np.testing.assert_array_equal(scores, before[1])
    assert sparse.nnz == before[2]


BAD = {
    "not square": (np.ones((3, 4)), SCORES, {}, "A_true: expected shape"),
    "one dimension": (np.ones(3), SCORES, {}, "A_true: expected shape"),
    "different d": (np.eye(3), SCORES, {}, "nodes"),
    "sparse, not square": (scipy.sparse.csr_matrix((3, 4)), SCORES, {}, "square"),
    "ragged": ([[0, 1], [0]], SCORES, {}, "A_true"),
    "text": (TRUTH.astype(str), SCORES, {}, "marks that the tigramite encoding does not have"),
    "NaN in the truth": (np.where(TRUTH, np.nan, 0), SCORES, {}, "A_true: 3 of 12 values are NaN"),
    "stack against one": (np.stack([TRUTH] * 3), SCORES, {}, "3 true graphs with one prediction"),
    "edges without nodes": ([(0, 1)], [(1, 0)], {}, "Pass nodes="),
    "edge to nowhere": ([(0, 7)], SCORES, {}, r"unknown nodes: 7\. The nodes are 0, 1, 2, 3"),
    "edge twice": ([(0, 1), (0, 1)], SCORES, {}, r"\(0, 1\) is listed twice"),
    "edges of many lengths": ([(0, 1), (0, 1, 2)], SCORES, {}, r"A_true: \(0, 1, 2\) is not an edge"),
    "edges that are none": ([(1, 2), (1,)], SCORES, {}, r"A_true: \(1,\) is not an edge"),
    "edges of NaN": (listed([(0, np.nan)]), SCORES, {}, r"unknown nodes: nan\. The nodes are 0"),
    "a name twice": (frame(TRUTH).rename(columns={"mek": "raf"}), SCORES, {}, "A_true: the node 'raf' occurs twice"),
    "a node twice": ([("a", "b")], [("a", "b")], {"nodes": ["a", "a", "b"]}, "nodes: the node 'a' occurs twice"),
    "other lags": (np.zeros((3, 3, 2)), np.zeros((3, 3, 3)), {"lagged": True}, "2 true lags with 3 predicted ones"),
    "no lags": (np.zeros((3, 3, 0)), np.zeros((3, 3, 0)), {"lagged": True}, r"expected shape \(d, d, lags \+ 1\)"),
    "ragged marks": (TRUTH, [[0, 1], [0]], {"encoding": "pcalg"}, "A_pred"),
    "ragged links": (TRUTH, [["-->"], []], {"encoding": "tigramite"}, "Pass an array of tigramite's links"),
    "no marks": (TRUTH, None, {"encoding": "gadjid"}, "A_pred: expected numbers"),
    "unknown names": (edges(TRUTH, "abcd"), SCORES, {"nodes": NAMES}, "unknown nodes: 'a', 'b', 'd'"),
    "one side has names": (frame(TRUTH), SCORES, {}, r"A_true names its nodes, and A_pred does not.*nodes=\['akt'"),
    "names that differ": (
        frame(TRUTH),
        frame(SCORES).rename(index={"akt": "pka"}, columns={"akt": "pka"}),
        {},
        "A_pred: node names differ: lacks 'akt' and adds 'pka'",
    ),
    "rows unlike columns": (frame(TRUTH).rename(index={"akt": "pka"}), SCORES, {}, "rows against its columns"),
    "nodes= of another length": (TRUTH, SCORES, {"nodes": 5}, "has 4 nodes, not 5"),
    "negative threshold for sparse": (TRUTH, scipy.sparse.csr_matrix(SCORES), {"threshold": -1}, "below 0"),
    "lagged but flat": (TRUTH, SCORES, {"lagged": True}, "lags"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case):
    truth, prediction, options, message = BAD[case]
    with pytest.raises(InputError, match=message):
        evaluate(truth, prediction, **options)


OPTIONS = {
    OptionError: [
        {"threshold": np.nan},
        {"threshold": "high"},
        {"nan": "zero"},
        {"orientation": ("row_to_column",) * 3},
        {"encoding": "pcalg", "orientation": "column_to_row"},
        {"orientation": 5},
        {"encoding": 5},
        {"zero_division": "a"},
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
        {"orientation": "sideways"},
        {"encoding": "pag"},
        {"metrics": ["directed_f2"]},
    ],
}


@pytest.mark.parametrize(("option", "error"), [(option, error) for error in OPTIONS for option in OPTIONS[error]])
def test_bad_options(option, error):
    with pytest.raises(error):
        evaluate(TRUTH, SCORES, **option)


# a → b – c in each tool's writing, rows and columns in the order a, b, c.
ENCODED = {
    "causal-learn": [[0, -1, 0], [1, 0, -1], [0, -1, 0]],
    "pcalg": [[0, 0, 0], [1, 0, 1], [0, 1, 0]],
    "gadjid": [[0, 1, 0], [0, 0, 2], [0, 0, 0]],
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_encodings_of_graphs_with_undirected_edges(encoding):
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    evaluation = evaluate(truth, np.array(ENCODED[encoding]), encoding=encoding)
    assert evaluation["correct_direction"].value == 1
    assert evaluation["unoriented"].value == 1
    assert evaluation["directed_shd"].value == 1
    # a → b → c has no compelled edge: both differ from a → b – c in the first pair alone.
    assert evaluation["cpdag_shd"].value == 1
    assert evaluation.conventions["encoding"] == encoding
    assert (
        evaluate(np.array(ENCODED[encoding]), np.array(ENCODED[encoding]), encoding=(encoding, encoding))[
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
    evaluation = evaluate(truth, links, encoding="tigramite", lagged=True)
    assert [evaluation[key].value for key in ("tp", "fp", "fn")] == [2, 0, 1]
    assert evaluation["unoriented"].value == evaluation["shd_undirected"].value == evaluation["directed_shd"].value == 1
    assert evaluation["skeleton_tp"].value == 3
    one_sided = links.copy()
    one_sided[0, 1, 0] = one_sided[2, 1, 0] = ""
    again = evaluate(truth, one_sided, encoding="tigramite", lagged=True)
    assert {key: result.value for key, result in again.items()} == pytest.approx(
        {key: result.value for key, result in evaluation.items()}, nan_ok=True
    )
    for contradiction in ("-->", "o-o", "x-x"):
        wrong = links.copy()
        wrong[1, 0, 0] = contradiction
        with pytest.raises(InputError, match="2 cells have marks"):
            evaluate(truth, wrong, encoding="tigramite", lagged=True)
    with pytest.raises(InputError, match=r"A_true: expected shape \(d, d, lags \+ 1\)"):
        evaluate(np.zeros((3, 3)), links, encoding="tigramite")


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
        evaluate(np.zeros((2, 2)), np.array(marks), encoding=encoding)


@pytest.mark.parametrize("d", [0, 1])
def test_graphs_without_a_pair_of_nodes(d):
    nothing = np.zeros((d, d))
    evaluation = evaluate(nothing, nothing)
    assert np.isnan(evaluation["directed_f1"].value)
    assert evaluation["directed_f1"].reason
    assert evaluation["directed_f1"].n == 0
    with pytest.raises(InputError, match="without a pair"):
        recovery.shd(nothing, nothing)
