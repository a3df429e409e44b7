"""Undirected edges claim no direction: counted pair by pair, in every encoding and on either side."""

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recovery.forms import evaluate, levels, listed

from graphgauge import recovery
from graphgauge.core.errors import InputError

D = 5
PAIRS = list(itertools.combinations(range(D), 2))
# What a pair i < j holds: arrows as (from, to) in units of the pair's ends, or an undirected edge.
NOTHING, THERE, BACK, BOTH, LINE = (
    frozenset(),
    frozenset({(0, 1)}),
    frozenset({(1, 0)}),
    frozenset({(0, 1), (1, 0)}),
    "–",
)


def encoded(kinds, encoding):
    """The matrix that a tool writes for these pairs."""
    marks = np.zeros((D, D), int)
    for (i, j), kind in zip(PAIRS, kinds, strict=True):
        for ends in [] if kind == LINE else kind:
            source, target = (i, j)[ends[0]], (i, j)[ends[1]]
            if encoding == "pcalg":
                marks[target, source] = 1
            elif encoding == "causal-learn":
                marks[source, target], marks[target, source] = -1, 1
            else:
                marks[source, target] = 1
        if kind == LINE:
            marks[i, j] = marks[j, i] = {"pcalg": 1, "causal-learn": -1, "gadjid": 2}[encoding]
            if encoding == "gadjid" and i % 2:
                marks[j, i] = 0  # one of the two cells is enough
    return marks


def kinds(encoding):
    allowed = [NOTHING, THERE, BACK, BOTH] if encoding is None else [NOTHING, THERE, BACK, LINE]
    return st.lists(st.sampled_from(allowed), min_size=len(PAIRS), max_size=len(PAIRS))


def arrows(kind):
    return frozenset() if kind == LINE else kind


def cells(kind):
    return BOTH if kind == LINE else kind


def by_definition(truth, prediction):
    found = dict.fromkeys(
        (
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
            "shd_undirected",
            "directed_shd",
        ),
        0,
    )
    for true, predicted in zip(truth, prediction, strict=True):
        found["tp"] += len(arrows(true) & arrows(predicted))
        found["fp"] += len(arrows(predicted) - arrows(true))
        found["fn"] += len(arrows(true) - arrows(predicted))
        found["skeleton_tp"] += bool(true) and bool(predicted)
        found["skeleton_fp"] += not true and bool(predicted)
        found["skeleton_fn"] += bool(true) and not predicted
        found["directed_shd"] += true != predicted
        if true and predicted:
            same, direction = true == predicted, len(arrows(predicted)) == 1
            found["correct_direction"] += same
            found["wrong_direction"] += not same and (direction or true == LINE)
            found["unoriented"] += not same and not direction and true != LINE
        if true == predicted:
            continue
        if true and predicted and LINE in (true, predicted):
            found["shd_undirected"] += 1
        elif cells(predicted) < cells(true):
            found["shd_missing"] += 1
        elif cells(true) < cells(predicted):
            found["shd_extra"] += 1
        else:
            found["shd_reversed"] += 1
    return found


ENCODINGS = [None, "pcalg", "causal-learn", "gadjid"]


def read(codes, truth, prediction):
    return evaluate(encoded(truth, codes[0]), encoded(prediction, codes[1]), encoding=codes)


@pytest.mark.parametrize("codes", list(itertools.product(ENCODINGS, repeat=2)), ids=str)
@given(st.data())
def test_every_count_by_definition(codes, data):
    truth, prediction = (data.draw(kinds(code)) for code in codes)
    expected = by_definition(truth, prediction)
    evaluation = read(codes, truth, prediction)
    assert {key: evaluation[key].value for key in expected} == expected
    tp, fp, fn = (expected[key] for key in ("tp", "fp", "fn"))
    shares = {
        "directed_precision": (tp, tp + fp),
        "directed_recall": (tp, tp + fn),
        "directed_f1": (2 * tp, 2 * tp + fp + fn),
        "fdr": (fp, tp + fp),
        "tpr": (tp, tp + fn),
        "fpr": (fp, D * (D - 1) - tp - fn),
        "orientation_accuracy": (expected["correct_direction"], expected["skeleton_tp"]),
    }
    for key, (part, whole) in shares.items():
        np.testing.assert_equal(evaluation[key].value, part / whole if whole else np.nan, err_msg=key)
    parts = sum(evaluation[f"shd_{part}"].value for part in ("missing", "extra", "reversed", "undirected"))
    assert evaluation["directed_shd"].value == parts
    cellwise = evaluate(encoded(truth, codes[0]), encoded(prediction, codes[1]), encoding=codes, shd="cell")
    differing = sum(
        1 if true and predicted and (true == LINE) != (predicted == LINE) else len(cells(true) ^ cells(predicted))
        for true, predicted in zip(truth, prediction, strict=True)
    )
    assert cellwise["directed_shd"].value == differing
    parts = [cellwise[f"shd_{part}"].value for part in ("missing", "extra", "reversed", "reversed", "undirected")]
    assert sum(parts) == differing


@given(st.data())
def test_curves_are_those_of_the_arrows_alone(data):
    codes = data.draw(st.sampled_from(ENCODINGS)), data.draw(st.sampled_from(ENCODINGS[1:]))
    truth, prediction = (data.draw(kinds(code)) for code in codes)
    evaluation = read(codes, truth, prediction)
    alone = evaluate(*(encoded([arrows(kind) for kind in side], None) for side in (truth, prediction)))
    for key in ("auprc", "roc_auc", "best_f1", "best_threshold", *(key for key in alone if key.startswith("f1_at"))):
        np.testing.assert_equal(evaluation[key].value, alone[key].value, err_msg=key)
    if evaluation["directed_f1"].defined and evaluation["best_f1"].defined:
        assert evaluation["best_f1"].value >= evaluation["directed_f1"].value


def chain(encoding, d=6):
    line = np.zeros((d, d), int)
    mark = {"pcalg": 1, "causal-learn": -1, "gadjid": 2}[encoding]
    for node in range(d - 1):
        line[node, node + 1] = line[node + 1, node] = mark
    return line


@pytest.mark.parametrize("encoding", ENCODINGS[1:])
def test_the_right_class_of_a_chain(encoding):
    truth = np.eye(6, k=1)
    evaluation = evaluate(truth, chain(encoding), encoding=encoding)
    assert evaluation["directed_recall"].value == 0
    assert np.isnan(evaluation["directed_precision"].value)
    assert evaluation["directed_precision"].reason == "no directed predicted edges"
    assert evaluation["skeleton_f1"].value == 1
    assert evaluation["cpdag_shd"].value == 0
    assert [evaluation[f"shd_{part}"].value for part in ("missing", "extra", "reversed", "undirected")] == [0, 0, 0, 5]
    assert evaluation.conventions["classes"] == "DAG and CPDAG"
    same = evaluate(chain(encoding), chain(encoding), encoding=(encoding, encoding))
    assert same["directed_shd"].value == same["cpdag_shd"].value == 0
    assert same["orientation_accuracy"].value == 1
    assert same["directed_f1"].reason == "neither graph has a directed edge"
    assert same["auprc"].reason == "no directed true edges, or nothing else"


def test_a_true_class_against_a_dag():
    evaluation = evaluate(chain("pcalg"), np.eye(6, k=1), encoding=("pcalg", None))
    assert [evaluation[key].value for key in ("tp", "fp", "fn", "shd_undirected", "skeleton_tp")] == [0, 5, 0, 5, 5]
    assert evaluation["directed_recall"].reason == "no directed true edges"
    assert evaluation["wrong_direction"].value == 5


def test_without_an_encoding_both_ways_are_two_arrows():
    both = np.eye(4, k=1) + np.eye(4, k=-1)
    evaluation = evaluate(np.eye(4, k=1), both)
    assert [evaluation[key].value for key in ("tp", "fp", "shd_extra", "unoriented")] == [3, 3, 3, 3]
    mixed = evaluate(both, chain("pcalg", 4), encoding="pcalg")
    assert mixed["directed_shd"].value == mixed["fn"].value / 2 == 3


def test_undirected_edges_of_lists_and_networkx():
    networkx = pytest.importorskip("networkx")
    truth = [(0, 1), (1, 2)]
    line = networkx.path_graph(3)
    mixed = recovery.Graph([0, 2], [1, 1], marks=["---", "-->"])
    evaluation = evaluate(truth, line, nodes=[0, 1, 2])
    assert [evaluation[key].value for key in ("tp", "fp", "fn", "shd_undirected")] == [0, 0, 2, 2]
    evaluation = evaluate(truth, mixed, nodes=3)
    assert [evaluation[key].value for key in ("tp", "fp", "fn", "shd_undirected", "shd_reversed")] == [0, 1, 2, 1, 1]
    assert evaluation["roc_auc"].value == recovery.roc_auc(truth, [(2, 1)], nodes=3)
    heavy = recovery.Graph([0, 1], [1, 0], [0.9, 0.2], directed=False)
    with pytest.raises(InputError, match=r"A_pred: the edge \(0, 1\) is listed twice"):
        evaluate(truth, heavy, nodes=3)


@pytest.mark.parametrize("given", [[(0, 1), (1, 2)], [(1, 0), (1, 2)], [(0, 1), (1, 0), (2, 1)]])
@pytest.mark.parametrize("weight", [(), (0.7,)])
def test_in_an_undirected_list_no_edge_has_a_direction_however_it_is_listed(given, weight):
    edges = [(*edge, *weight) for edge in given]
    truth = np.eye(3, k=1)
    expected = None if weight else evaluate(truth, truth + truth.T, encoding="pcalg")
    for form in (edges,):
        found = evaluate(truth, listed(form, directed=False), nodes=3)
        assert [found[key].value for key in ("tp", "fp", "fn", "skeleton_tp", "shd_undirected")] == [0, 0, 2, 2, 2]
        if expected is not None:
            assert {key: float(result) for key, result in found.items()} == pytest.approx(
                {key: float(result) for key, result in expected.items()}, nan_ok=True
            )


def test_an_undirected_true_edge_keeps_no_direction_where_one_cell_has_no_score():
    scores = np.zeros((3, 3))
    scores[1, 0] = np.nan
    scores[0, 1] = 0.9
    for scored in (scores, listed([(0, 1, 0.9), (1, 0, np.nan)])):
        evaluation = evaluate(chain("pcalg", 3), scored, encoding=("pcalg", None), nan="omit", nodes=3)
        found = [evaluation[key].value for key in ("tp", "fp", "fn", "skeleton_tp", "skeleton_fn", "shd_undirected")]
        assert found == [0, 1, 0, 1, 1, 1]


def random_member(draw, prediction):
    """The predicted edges on random pairs, each to a random side."""
    drawn = [prediction[pair] for pair in draw.permutation(len(PAIRS))]
    turns = draw.random(len(PAIRS)) < 0.5
    return [
        frozenset((b, a) for a, b in kind) if turn and kind != LINE else kind
        for kind, turn in zip(drawn, turns, strict=True)
    ]


def test_chance_levels():
    draw = np.random.default_rng(3)
    truth = [(NOTHING, THERE, BACK, LINE)[k] for k in draw.integers(0, 4, len(PAIRS))]
    prediction = [(NOTHING, THERE, BACK, LINE)[k] for k in draw.integers(0, 4, len(PAIRS))]
    evaluation = read(("pcalg", "gadjid"), truth, prediction)
    samples = [by_definition(truth, random_member(draw, prediction)) for _ in range(20_000)]
    for key in ("tp", "fp", "directed_shd", "shd_undirected", "shd_missing", "shd_extra", "skeleton_tp"):
        level = levels(evaluation[key])["random graph with as many edges"]
        assert level == pytest.approx(np.mean([sample[key] for sample in samples]), abs=0.05), key


def test_undirected_edges_alone_do_not_look_transposed():
    truth = np.eye(40, k=1)
    line = truth + truth.T
    assert not [f for f in evaluate(truth, line, encoding="pcalg").findings if f.check == "transposed-prediction"]
    # Arrows that are right in pcalg's own reading, and one line.
    marks = truth.T.copy()
    marks[0, 1] = 1
    evaluation = evaluate(truth, marks, encoding="pcalg")
    assert evaluation["tp"].value == 38
    assert not [f for f in evaluation.findings if f.check == "transposed-prediction"]


def test_the_summary_over_lags_tells_feedback_from_undirected_edges():
    links = np.full((4, 4, 3), "", dtype="<U3")
    links[0, 1, 0] = links[1, 0, 0] = "o-o"  # and a lagged arrow 0 → 1: the summary has that
    links[0, 1, 1] = "-->"
    links[1, 2, 0] = links[2, 1, 0] = "o-o"  # nothing else: undirected
    links[2, 3, 1] = links[3, 2, 2] = "-->"  # feedback: two arrows
    truth = np.zeros((4, 4, 3))
    truth[0, 1, 1] = truth[1, 2, 0] = truth[2, 3, 1] = truth[3, 2, 1] = 1
    table = evaluate(truth, links, encoding="tigramite", lagged=True).by("lag")
    assert list(table["lag"]) == ["0", "1", "2", "summary", "lagged"]
    assert table["tp"].tolist() == [0, 2, 0, 3, 2]
    assert table["fp"].tolist() == [0, 0, 1, 0, 1]
    assert table["fn"].tolist() == [1, 1, 0, 1, 1]
    assert table["shd_undirected"].tolist() == [1, 0, 0, 1, 0]
    assert table["directed_shd"].tolist() == [2, 1, 1, 1, 2]
    np.testing.assert_equal(table["best_f1"][3], 2 * 3 / (4 + 3))


def test_a_sweep_and_a_figure(tmp_path):
    truth, marks = np.eye(6, k=1), chain("pcalg")
    table = recovery.threshold_sweep(truth, marks, thresholds=[0.5], encoding="pcalg")
    assert table["tp"].tolist() == [0]
    assert table["directed_shd"].tolist() == [5]
    evaluation = evaluate(truth, marks, encoding="pcalg")
    evaluation.plot(tmp_path / "undirected.svg")
    assert "extra 5" in (tmp_path / "undirected.svg").read_text(encoding="utf-8")


class FakePDAG(nx.DiGraph):
    """As pgmpy's PDAG: a directed graph that has its undirected edges both ways, with weights that are None."""

    undirected_edges: tuple[tuple[int, int], ...] = ((1, 2),)


class FakeGeneralGraph:
    """As causal-learn's GeneralGraph: marks in `graph`."""

    def __init__(self, marks: Any) -> None:
        self.graph = np.array(marks)

    def get_node_names(self) -> list[str]:
        return ["X1", "X2", "X3"]


class FakeCausalGraph:
    def __init__(self, graph: FakeGeneralGraph) -> None:
        self.G = graph


def test_graphs_of_other_libraries_keep_their_undirected_edges() -> None:
    """0 → 1 — 2, as each library writes it, against the chain 0 → 1 → 2."""
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    pdag = FakePDAG()
    pdag.add_nodes_from(range(3))
    pdag.add_edges_from([(0, 1), (1, 2), (2, 1)], weight=None)
    marks = FakeGeneralGraph([[0, -1, 0], [1, 0, -1], [0, -1, 0]])
    both = np.array([[0, 1, 0], [0, 0, 1], [0, 1, 0]])
    inputs: list[tuple[Any, dict[str, Any]]] = [
        (pdag, {}),
        (marks, {}),
        (FakeCausalGraph(marks), {}),
        ({"G": marks}, {}),
        (both, {"encoding": "gcastle"}),
    ]
    for graph, options in inputs:
        found = evaluate(truth, graph, metrics=["tp", "fp", "fn", "directed_shd", "skeleton_shd"], **options)
        assert {key: result.value for key, result in found.items()} == {
            "tp": 1,
            "fp": 0,
            "fn": 1,
            "directed_shd": 1,
            "skeleton_shd": 0,
        }
