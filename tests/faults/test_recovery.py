"""Faults of earlier versions of recovery, by number: none may come back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import networkx
import numpy as np
import pytest

import graphgauge
from graphgauge import recovery
from graphgauge.core.errors import InputError, OptionError

CHAIN = np.eye(3, k=1)
NAMED = networkx.DiGraph([("X2", "X3"), ("X1", "X2")])

_HASHED = """
import networkx, numpy as np
from graphgauge import recovery
names = {"X1", "X2", "X3", "a", "b"}  # a set's order depends on the seed of hashes
graph = networkx.DiGraph()
graph.add_nodes_from(names)
graph.add_edges_from([("X1", "X2"), ("X2", "X3")])
truth = np.zeros((5, 5))
truth[0, 1] = truth[1, 2] = 1
try:
    recovery.evaluate(truth, graph)
except ValueError as error:
    print(error)
print(recovery.evaluate(truth, graph, nodes=["X1", "X2", "X3", "a", "b"])["directed_f1"].value)
print(recovery.evaluate(recovery.Graph(["X1", "X2"], ["X2", "X3"], nodes=names), graph).to_flat())
"""


def test_c31_names_on_one_side_only_are_refused_and_an_order_of_nodes_settles_them():
    for pair in ((CHAIN, NAMED), (NAMED, CHAIN)):
        with pytest.raises(InputError, match=r"names its nodes.*nodes=\['X1', 'X2', 'X3'\]"):
            recovery.evaluate(*pair)
        assert recovery.evaluate(*pair, nodes=["X1", "X2", "X3"])["directed_f1"] == 1
    numbered = networkx.DiGraph([(1, 2), (0, 1)])
    assert recovery.shd(CHAIN, numbered) == 0


def test_c31_nothing_depends_on_the_seed_of_hashes():
    source = str(Path(graphgauge.__file__).parents[1])
    printed = set()
    for seed in range(10):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": source}
        done = subprocess.run(
            [sys.executable, "-c", _HASHED], capture_output=True, text=True, env=environment, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1
    assert "1.0" in printed.pop().splitlines()[1]


@pytest.mark.parametrize(
    ("pair", "options"), [((networkx.DiGraph(), networkx.DiGraph()), {}), (([], []), {"nodes": 0})]
)
def test_c32_graphs_without_nodes_have_no_values_and_say_why(pair, options):
    evaluation = recovery.evaluate(*pair, **options, metrics="all")
    assert evaluation["directed_shd"].reason == "fewer than two nodes"
    assert not any(result.defined for result in evaluation.values())
    assert str(evaluation)


def test_c33_a_perfect_tiny_graph_and_a_right_skeleton_are_better_than_random():
    def names(truth, graph, **options):
        return [each.check for each in recovery.evaluate(truth, graph, **options).findings]

    assert names(CHAIN, CHAIN) == []
    rng = np.random.default_rng(0)
    truth = np.triu(rng.random((10, 10)) < 0.25, 1)
    circles = np.where(truth | truth.T, 1, 0)  # every edge o–o, as FCI may return them
    assert "no-better-than-random" not in names(truth, circles, encoding="pcalg-pag")
    flagged = 0
    for _ in range(200):
        graph = np.triu(rng.random((10, 10)) < 0.25, 1)
        order = rng.permutation(10)
        flagged += "no-better-than-random" in names(truth, graph[np.ix_(order, order)])
    assert flagged > 150


def test_c34_a_lingam_model_has_every_edge_whose_weight_is_not_0():
    weights = np.zeros((4, 4))
    weights[1, 0], weights[2, 1], weights[3, 2] = 0.9, -0.3, 0.2  # row ← column
    model = SimpleNamespace(adjacency_matrix_=weights)
    truth = (weights != 0).T
    evaluation = recovery.evaluate(truth, model)
    assert evaluation["directed_f1"] == 1
    assert evaluation.conventions["threshold"] == "> 0"
    assert evaluation.conventions["sign"] == "absolute"
    confounded = weights.copy()
    confounded[0, 3] = confounded[3, 0] = np.nan  # as RCD writes a common cause
    found = recovery.evaluate(truth, SimpleNamespace(adjacency_matrix_=confounded), metrics=["tp", "skeleton_fp"])
    assert (found["tp"], found["skeleton_fp"]) == (3, 1)


def test_c35_tigramites_results_in_one_call_with_their_curves():
    links, values = np.full((3, 3, 2), "", dtype="<U3"), np.zeros((3, 3, 2))
    links[0, 1, 1], links[1, 2, 0], links[2, 1, 0] = "-->", "o-o", "o-o"
    values[0, 1, 1], values[1, 2, 0], values[2, 1, 0], values[2, 0, 1] = 0.6, 0.5, 0.5, -0.4
    truth = np.zeros((3, 3, 2))
    truth[0, 1, 1] = truth[1, 2, 0] = 1
    evaluation = recovery.evaluate(truth, {"graph": links, "val_matrix": values, "p_matrix": values})
    assert evaluation["directed_recall"] == 0.5
    assert evaluation["skeleton_f1"] == 1
    # By size of the values: the lagged edge, both cells of the undirected one, −0.4, then 0.
    assert evaluation["auprc"].value == pytest.approx((1 + 2 / 3) / 2)
    assert evaluation.by("lag")["lag"].tolist() == ["0", "1", "summary", "lagged"]
    # Arrays of links say themselves what they are, as predictions and as truths.
    assert recovery.shd(truth, links) == recovery.shd(truth, links, encoding="tigramite")
    assert recovery.shd(truth, links) == recovery.shd(truth, {"graph": links}) > 0
    assert recovery.shd(links, {"graph": links, "val_matrix": values}) == 0


def test_c36_sources_of_a_gene_network_and_empty_cells(tmp_path):
    (tmp_path / "true.csv").write_text("source,target\nT1,G1\nT1,G2\nT2,G3\n")
    (tmp_path / "pred.csv").write_text("source,target,weight\nT1,G1,3\nG1,T1,2\nT2,G3,1\nG3,G2,1\n")
    (tmp_path / "factors.txt").write_text("T1\nT2\n")
    files = {"true": str(tmp_path / "true.csv"), "pred": str(tmp_path / "pred.csv"), "nodes": "listed"}
    keys = ("tp", "fp", "early_precision_ratio")
    every = graphgauge.evaluate_files("recovery", **files, metrics=keys)
    sources = graphgauge.evaluate_files("recovery", **files, metrics=keys, sources=str(tmp_path / "factors.txt"))
    assert [every["tp"], every["fp"], every["tp"].n] == [2, 2, 20]
    assert [sources["tp"], sources["fp"], sources["tp"].n] == [2, 0, 8]
    assert every["early_precision_ratio"] > sources["early_precision_ratio"] > 1
    (tmp_path / "matrix.csv").write_text(",a,b\na,0,\nb,0.9,0\n")
    (tmp_path / "graph.csv").write_text(",a,b\na,0,1\nb,1,0\n")
    read = {"true": str(tmp_path / "graph.csv"), "pred": str(tmp_path / "matrix.csv")}
    assert graphgauge.evaluate_files("recovery", **read, nan="omit", metrics=("tp", "fn"))["tp"].n == 1


def test_counts_are_named_in_the_right_number():
    messages = [each.message for each in recovery.evaluate(CHAIN, CHAIN + np.diag([1, 0, 0])).findings]
    assert messages == ["1 self-loop in A_pred is not counted"]


@pytest.mark.parametrize("value", [float("inf"), -1.0, 2.0])
def test_a_ratio_without_denominator_is_a_share(value: float) -> None:
    with pytest.raises(OptionError, match="zero_division must be between 0 and 1"):
        recovery.evaluate(np.zeros((3, 3)), np.zeros((3, 3)), zero_division=value)


@pytest.mark.parametrize("seed", range(10))
def test_weights_of_predicted_cells_whose_score_is_zero(seed: int) -> None:
    """With a threshold below 0 cells without a score are predicted, and their weight is 0."""
    rng = np.random.default_rng(seed)
    truth, scores = (np.where(rng.random((5, 5)) < 0.5, rng.normal(size=(5, 5)), 0.0) for _ in range(2))
    found = recovery.evaluate(truth, scores, sign="keep", threshold=-0.2, metrics=["sign_accuracy", "weight_rmse"])
    common = [(i, j) for i in range(5) for j in range(5) if i != j and truth[i, j] != 0 and scores[i, j] > -0.2]
    assert any(scores[cell] == 0 for cell in common)
    assert found["sign_accuracy"].n == len(common)
    signs = [np.sign(truth[cell]) == np.sign(scores[cell]) for cell in common]
    assert found["sign_accuracy"].value == pytest.approx(sum(signs) / len(common))
    squares = [(truth[cell] - scores[cell]) ** 2 for cell in common]
    assert found["weight_rmse"].value == pytest.approx((sum(squares) / len(common)) ** 0.5)


@pytest.mark.parametrize("zero_division", [None, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("edges", [[], [(0, 1), (1, 2)], [(0, 2), (1, 2)]])
def test_the_level_of_the_empty_graph_is_what_an_empty_prediction_scores(edges, zero_division):
    truth, nothing, collider = np.zeros((3, 3, 3))
    for edge in edges:
        truth[edge] = 1
    collider[0, 2] = collider[1, 2] = 1
    keys = [f"v_structure_{part}" for part in ("precision", "recall", "f1")]
    options = {"metrics": [*keys, "cpdag_shd"], "zero_division": zero_division}
    empty = recovery.evaluate(truth, nothing, **options)
    for key, result in recovery.evaluate(truth, collider, **options).items():
        if result.defined:
            # Beside a prediction that has a value, 0/0 counts as 0 unless it is said what it is.
            expected = empty[key].value if empty[key].defined else 0.0
            assert [(level.name, level.value) for level in result.references] == [("empty graph", expected)], key


class Labelled(np.ndarray):
    """An array that names its columns, as gcastle's `Tensor` does."""

    columns = range(3)


class Learner:
    causal_matrix = CHAIN.astype(int)
    weight_causal_matrix = CHAIN * [0, -0.9, 0.5] + 0.2 * CHAIN.T

    def learn(self):
        """Its method is how a learner of gcastle is recognised."""


def lagged_results(values):
    return {"graph": np.where(np.eye(3, k=1)[:, :, None] * [0, 1], "-->", ""), "val_matrix": values}


def test_an_array_that_names_its_columns_is_an_array():
    assert recovery.shd(CHAIN, CHAIN.view(Labelled)) == 0
    assert recovery.shd(CHAIN.view(Labelled), 0.9 * CHAIN) == 0


def test_sources_are_numbers_of_nodes_also_as_text():
    scores = np.arange(9).reshape(3, 3) / 9
    assert recovery.auprc(CHAIN, scores, sources=[1, 2]) == recovery.auprc(CHAIN, scores, sources=["1", "2"])
    for wrong in (["G1"], [False, True, True]):
        with pytest.raises(InputError, match=r"unknown nodes: .* The nodes are 0, 1, 2; pass nodes= to name them"):
            recovery.auprc(CHAIN, scores, sources=wrong)


def test_no_threshold_acts_on_a_graph_that_other_values_rank():
    truth = CHAIN[:, :, None] * [0, 1]
    found = lagged_results(np.ones((3, 3, 2)))
    for call in (recovery.threshold_sweep, lambda *pair: recovery.evaluate(*pair, threshold=0.01)):
        with pytest.raises(OptionError, match="A_pred has a graph of its own"):
            call(truth, found)
        with pytest.raises(OptionError, match="A_pred has a graph of its own"):
            call(CHAIN, Learner())
    assert recovery.directed_f1(truth, found) == recovery.directed_f1(CHAIN, Learner()) == 1


def test_test_statistics_that_are_missing_are_an_error_or_left_out():
    truth, values = CHAIN[:, :, None] * [0, 1], np.zeros((3, 3, 2))
    values[0, 1, 1] = 1
    values[0, 0, 0] = np.nan  # a self-edge at lag 0 does not count
    assert recovery.auprc(truth, lagged_results(values)) > 0.5
    values[1, 2, 1] = np.nan
    with pytest.raises(InputError, match=r"1 of 15 values are NaN, the first at index \(1, 2, 1\)"):
        recovery.auprc(truth, lagged_results(values))
    assert recovery.auprc(truth, lagged_results(values), nan="omit") == 1


@pytest.mark.parametrize(
    ("name", "matrices", "said"),
    [
        ("MultiGroupDirectLiNGAM", np.zeros((2, 3, 3)), "several graphs, not one for each lag. Pass one"),
        ("VARBootstrapResult", np.zeros((2, 3, 3)), "several graphs"),
        ("VARLiNGAM", None, "VARLiNGAM is not fitted"),
    ],
)
def test_matrices_of_groups_are_no_lags(name, matrices, said):
    model = type(name, (), {"adjacency_matrices_": matrices})()
    for truth in (CHAIN, np.stack([CHAIN, CHAIN], 2)):
        with pytest.raises(InputError, match=said):
            recovery.evaluate(truth, model)


def test_a_model_whose_property_fails_before_it_is_fitted_is_refused():
    class VARLiNGAM:
        @property
        def adjacency_matrices_(self):
            return self._adjacency_matrices

    with pytest.raises(InputError, match="VARLiNGAM is not fitted"):
        recovery.evaluate(CHAIN[:, :, None] * [0, 1], VARLiNGAM())


def test_results_without_a_graph_and_links_by_node_are_refused_with_what_to_pass():
    with pytest.raises(InputError, match="A_pred: has no graph"):
        recovery.evaluate(np.zeros((3, 3, 2)), {"val_matrix": np.zeros((3, 3, 2))})
    with pytest.raises(InputError, match="links_to_graph"):
        recovery.evaluate({0: [((0, -1), 0.7)], 1: [((1, -1), 0.7), ((0, -1), 0.2)]}, lagged_results(np.zeros(1)))
