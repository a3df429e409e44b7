"""Names that are numbers, lists of results of other libraries, and results that state what an option would change."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from tests.recovery.forms import evaluate, evaluate_files

from graphgauge.core.errors import InputError, OptionError

TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])  # 0 → 1 → 2 ← 3
ARROWS = [(0, 1), (1, 2), (3, 2)]


def shd(truth, prediction, **options):
    return evaluate(truth, prediction, metrics=["directed_shd"], **options)["directed_shd"].value


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_numbered_nodes_are_in_the_order_of_a_matrix(order):
    """However a graph came to list its nodes, node 2 is row 2 of a matrix without names."""
    graph = nx.DiGraph()
    graph.add_nodes_from(order)
    graph.add_edges_from(ARROWS)
    frame = pd.DataFrame(TRUTH).loc[list(order), list(order)]
    text = frame.rename(index=str, columns=str)
    for named in (graph, frame, text):
        assert shd(TRUTH, named) == shd(named, TRUTH) == 0


def test_other_names_need_the_order_of_the_rows():
    frame = pd.DataFrame(TRUTH, index=[2, 1, 4, 3], columns=[2, 1, 4, 3])
    with pytest.raises(InputError, match=r"A_pred names its nodes, and A_true does not.*nodes=\[1, 2, 3, 4\]"):
        evaluate(TRUTH, frame, metrics=["directed_shd"])
    assert shd(TRUTH, frame, nodes=[2, 1, 4, 3]) == 0
    assert shd(TRUTH, frame, nodes=[1, 2, 3, 4]) > 0


MATRIX = ",10,7,30\n10,0,1,0\n7,0,0,1\n30,0,0,0\n"
LISTED = "source,target,weight\n7,30,0.9\n10,7,0.8\n"
FILES = {
    "matrix.csv": MATRIX,
    "list.csv": LISTED,
    "quoted.csv": LISTED.replace("10,7", '"10","7"'),
    "names.graphml": None,
}


@pytest.mark.parametrize(("true", "pred"), [*itertools.permutations(FILES, 2)])
@pytest.mark.parametrize("nodes", [None, "30,10,7"])
def test_names_that_are_numbers_agree_in_all_files(tmp_path, true, pred, nodes):
    for name in (true, pred):
        if FILES[name] is None:
            nx.write_graphml(nx.DiGraph([("10", "7"), ("7", "30")]), tmp_path / name)
        else:
            (tmp_path / name).write_text(FILES[name])
    if nodes is None and {true, pred} == {"list.csv", "quoted.csv"}:
        nodes = "listed"
    weighted = true in ("list.csv", "quoted.csv") and pred not in ("list.csv", "quoted.csv")
    if weighted:
        (tmp_path / true).write_text(FILES[true].replace("0.9", "1").replace("0.8", "1"))
    evaluation = evaluate_files(true=tmp_path / true, pred=tmp_path / pred, nodes=nodes)
    assert (evaluation["tp"], evaluation["directed_shd"]) == (2, 0)


def test_names_with_leading_zeros_are_names(tmp_path):
    (tmp_path / "list.csv").write_text("source,target\n007,7\n7,08\n")
    for nodes in ("listed", "08,7,007"):
        evaluation = evaluate_files(true=tmp_path / "list.csv", pred=tmp_path / "list.csv", nodes=nodes)
        assert evaluation["tp"] == 2
        assert evaluation["tp"].n == 6


@pytest.mark.parametrize("cell", ["NA", "x"])
def test_a_matrix_with_a_bad_cell_in_its_first_row_is_refused(tmp_path, cell):
    path = tmp_path / "matrix.csv"
    path.write_text(f"0,{cell},0\n0,0,1\n0,0,0\n")
    with pytest.raises(InputError, match=r"matrix\.csv: has the column '0' twice"):
        evaluate_files(true=path, pred=path)


class GeneralGraph:
    """As causal-learn's: the mark in row i is at i."""

    def __init__(self, marks):
        self.graph = np.array(marks)

    def get_node_names(self):
        return [f"X{number}" for number in range(1, len(self.graph) + 1)]


def marks_of(arrows, d=4):
    marks = np.zeros((d, d), int)
    for source, target in arrows:
        marks[source, target], marks[target, source] = -1, 1
    return marks


def results():
    """One graph, without the edge 3 → 2, as the result of many tools."""
    found = ARROWS[:2]
    cells = TRUTH.copy()
    cells[3, 2] = 0
    graph = nx.DiGraph(found)
    graph.add_nodes_from(range(4))
    general = GeneralGraph(marks_of(found))
    return {
        "array": cells,
        "frame": pd.DataFrame(cells),
        "networkx": graph,
        "GES": {"G": general, "score": 1.0},
        "PC": type("CausalGraph", (), {"G": general})(),
        "FCI": (general, []),
        "edges": [*found],
    }


@pytest.mark.parametrize(
    "names", [*itertools.combinations_with_replacement(results(), 2), tuple(results())], ids="+".join
)
def test_a_list_of_any_results_may_have_one_truth(names):
    predictions = [results()[name] for name in names]
    several = evaluate(TRUTH, predictions, metrics=["directed_shd"], nodes=4)
    assert several["directed_shd"] == 1
    assert len(several.by("graph")["directed_shd"]) == len(names)
    each = evaluate([TRUTH] * len(names), predictions, metrics=["directed_shd"], nodes=4)
    assert each["directed_shd"] == 1


def test_rows_as_arrays_are_one_matrix():
    assert shd(TRUTH, list(TRUTH * 0.9)) == 0
    assert shd([list(row) for row in TRUTH], [TRUTH, TRUTH * 0]) == 1.5


def test_a_model_with_lags_is_not_a_stack():
    model = type("VAR", (), {"adjacency_matrices_": np.zeros((3, 3, 3))})()
    assert evaluate(np.zeros((3, 3, 3)), model)["directed_shd"] == 0
    with pytest.raises(InputError, match=r"A_pred: has lags\. Pass lagged=True"):
        evaluate(np.zeros((3, 3)), model, lagged=False)


@pytest.mark.parametrize("name", ["GES", "PC", "FCI"])
def test_a_result_that_states_its_directions_is_not_turned(name):
    with pytest.raises(OptionError, match="states its directions"):
        evaluate(TRUTH, results()[name], orientation="column_to_row")


class MAG(nx.Graph):
    """As pgmpy's: a graph without directions, whose edges have the marks of both ends."""

    valid_marks = frozenset("->o")


class ADMG(nx.MultiDiGraph):
    """As pgmpy's: edges ↔ are listed both ways, with a type."""

    def add_bidirected_edges(self, edges):
        for source, target in edges:
            self.add_edge(source, target, type="bidirected")
            self.add_edge(target, source, type="bidirected")


def test_ancestral_graphs_of_pgmpy():
    mag, admg = MAG(), ADMG()
    mag.add_edge("b", "a", marks={"a": "-", "b": ">"})  # a → b
    mag.add_edge("b", "c", marks={"b": ">", "c": ">"})
    mag.add_edge("d", "c", marks={"d": "o", "c": ">"})
    admg.add_edge("a", "b", type="directed")
    admg.add_bidirected_edges([("b", "c")])
    admg.add_edge("d", "c", type="directed")
    truth = pd.DataFrame(TRUTH, index=list("abcd"), columns=list("abcd"))
    counted = ["tp", "fp", "directed_shd", "arrowhead_precision", "arrowhead_recall"]
    for graph, expected, kind in ((mag, [1, 0, 2, 3 / 4, 1], "PAG"), (admg, [2, 0, 1, 3 / 4, 1], "MAG")):
        evaluation = evaluate(truth, graph, metrics=counted)
        assert [evaluation[key].value for key in counted] == expected
        assert evaluation.conventions["classes"] == f"DAG and {kind}"


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("gcastle", "gcastle"),
        ((None, "gcastle"), "gcastle"),
        (("gcastle", None), "gcastle and none"),
        (("gcastle", "pcalg"), "gcastle and pcalg"),
        ((None, None), None),
        (None, None),
    ],
)
def test_one_reading_has_one_description(encoding, shown):
    evaluation = evaluate(TRUTH, TRUTH, encoding=encoding, metrics=["tp"])
    assert evaluation.conventions.get("encoding") == shown
    turned = evaluate(TRUTH, TRUTH, orientation=("row_to_column", "column_to_row"), metrics=["tp"])
    assert turned.conventions["orientation"] == "column_to_row"


def test_links_of_tigramite_have_their_lags_last():
    links = np.full((3, 3, 3), "", dtype="<U3")
    links[0, 1, 2] = links[1, 2, 1] = "-->"
    truth = np.zeros((3, 3, 3))
    truth[0, 1, 2] = truth[1, 2, 1] = 1
    assert shd(truth, {"graph": links}, lagged=True) == 0
    assert shd(truth, [{"graph": links}] * 2, lagged=True) == 0


@pytest.mark.parametrize("empty", ["truth", "prediction", "one of several"])
@pytest.mark.parametrize("size", [-0.7, 0.7, 3.0])
def test_weights_of_an_empty_graph_are_undefined_not_refused(empty, size):
    weights, nothing = size * TRUTH, np.zeros((4, 4))
    truth = nothing if empty == "truth" else weights
    prediction = {"truth": weights, "prediction": nothing, "one of several": [weights, nothing]}[empty]
    evaluation = evaluate(truth, prediction, sign="absolute", metrics=["sign_accuracy", "weight_rmse"])
    for key, value in (("sign_accuracy", 1), ("weight_rmse", 0)):
        if empty == "one of several":
            assert evaluation[key].value == value
        else:
            assert evaluation[key].reason == "no arrow is in both graphs"
    with pytest.raises(OptionError, match="needs weights"):
        evaluate(TRUTH, weights, sign="absolute", metrics=["sign_accuracy"])
