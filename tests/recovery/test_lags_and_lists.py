"""Lags with marks, lists of graphs of any kind, and weights."""

import numpy as np
import pytest
from tests.recovery.forms import evaluate

from graphgauge import recovery
from graphgauge.core.errors import InputError

DRAW = np.random.default_rng(7)


def lagged(d=8, lags=2, auto=True, edges=12, draw=DRAW):
    graph = np.zeros((d, d, lags + 1))
    if auto:
        graph[np.arange(d), np.arange(d), 1] = 1
    cells = [(i, j, lag) for i in range(d) for j in range(d) for lag in range(1, lags + 1) if i != j]
    for index in draw.permutation(len(cells))[:edges]:
        graph[cells[index]] = 1
    return graph


@pytest.mark.parametrize("edges", [9, 12, 30])
@pytest.mark.parametrize("auto", [True, False])
def test_a_transposed_prediction_with_lags_is_found(edges, auto):
    truth = lagged(10, auto=auto, edges=edges)
    truth *= ~(truth.astype(bool) & truth.transpose(1, 0, 2).astype(bool) & ~np.eye(10, dtype=bool)[:, :, None])
    turned = evaluate(truth, truth.transpose(1, 0, 2), lagged=True)
    assert "transposed-prediction" in {finding.check for finding in turned.findings}
    right = evaluate(truth, truth, lagged=True)
    assert "transposed-prediction" not in {finding.check for finding in right.findings}


def test_lags_are_last():
    truth, scores = lagged(5), DRAW.random((5, 5, 3))
    with pytest.raises(InputError, match=r"expected shape \(d, d, lags \+ 1\).*np\.moveaxis\(A, 0, -1\)"):
        evaluate(np.moveaxis(truth, 2, 0), np.moveaxis(scores, 2, 0), lagged=True)


def test_the_lagged_view_is_all_lags_above_zero():
    truth, scores = lagged(5), DRAW.random((5, 5, 3))
    table = evaluate(truth, scores, lagged=True).by("lag")
    alone = evaluate(truth * [0, 1, 1], scores * [0, 1, 1], lagged=True)
    place = table["lag"].tolist().index("lagged")
    for key in ("tp", "fp", "fn", "directed_f1"):
        assert table[key][place] == alone[key].value


def test_marks_at_lags():
    links = np.full((3, 3, 2), "", dtype="<U3")
    links[0, 1, 1], links[1, 2, 1], links[0, 2, 1] = "-->", "o->", "<->"
    links[0, 1, 0], links[1, 0, 0] = "o->", "<-o"
    truth = np.zeros((3, 3, 2))
    truth[0, 1, 1] = truth[1, 2, 1] = truth[0, 2, 1] = truth[0, 1, 0] = 1
    evaluation = evaluate(
        truth,
        links,
        encoding="tigramite",
        lagged=True,
        metrics=[
            "tp",
            "fp",
            "fn",
            "skeleton_f1",
            "arrowhead_precision",
            "arrowhead_recall",
            "tail_precision",
            "tail_recall",
            "directed_shd",
            "directed_precision",
        ],
    )
    values = evaluation.to_flat()
    assert (values["tp"], values["fp"], values["fn"]) == (1, 0, 3)
    assert values["skeleton_f1"] == 1
    # Heads: four at the later ends, all right, and one at the earlier end of ↔.
    assert (values["arrowhead_precision"], values["arrowhead_recall"]) == (4 / 5, 1)
    assert (values["tail_precision"], values["tail_recall"]) == (1, 1 / 4)
    assert values["directed_shd"] == 3
    links[2, 0, 1] = "<--"
    with pytest.raises(InputError, match="tigramite encoding"):
        evaluate(truth, links, encoding="tigramite", lagged=True)


def test_graphs_of_different_sizes():
    sizes = (4, 7, 5)
    truths = [np.triu(DRAW.random((d, d)) < 0.4, 1) for d in sizes]
    scores = [DRAW.random((d, d)) for d in sizes]
    evaluation = evaluate(truths, scores)
    alone = [evaluate(*pair) for pair in zip(truths, scores, strict=True)]
    for key in ("directed_f1", "directed_shd", "auprc", "cpdag_shd", "v_structure_f1"):
        values = np.array([one[key].value for one in alone])
        np.testing.assert_allclose(evaluation[key].value, np.nanmean(values) if not np.isnan(values).all() else np.nan)
        np.testing.assert_equal(evaluation.by("graph")[key], values)
    assert evaluation["directed_f1"].interval is not None
    assert recovery.directed_f1(truths, scores) == evaluation["directed_f1"].value
    with pytest.raises(InputError, match="3 true graphs with 2 predicted ones"):
        evaluate(truths, scores[:2])
    with pytest.raises(InputError, match="3 graphs have no single distance"):
        recovery.shd(truths, scores)


def test_stacks_of_lagged_graphs(tmp_path):
    truths = np.stack([lagged(5) for _ in range(4)])
    scores = DRAW.random(truths.shape)
    evaluation = evaluate(truths, scores, lagged=True)
    alone = [evaluate(*pair, lagged=True) for pair in zip(truths, scores, strict=True)]
    for key in ("directed_f1", "auprc", "directed_shd"):
        np.testing.assert_allclose(evaluation[key].value, np.mean([one[key].value for one in alone]))
    evaluation.plot(tmp_path / "figure.svg")


def test_stacks_of_classes_and_one_truth_for_several():
    truth = np.eye(4, k=1)
    line = (truth + truth.T).astype(int)
    stacked = np.stack([line, np.zeros((4, 4), int)])
    one_truth = evaluate(truth, list(stacked), encoding="gcastle")
    assert one_truth.by("graph")["skeleton_f1"].tolist() == [1, 0]
    assert one_truth.conventions["classes"] == "DAG and CPDAG or DAG"
    array = evaluate([truth, truth], stacked, encoding="gcastle")
    np.testing.assert_equal(array.to_flat(), one_truth.to_flat())


WEIGHTS = np.array([[0, 2.0, 0], [0, 0, -1.5], [0, 0, 0]])


def test_weights_and_signs():
    found = np.array([[0, 1.0, 0.9], [0, 0, -0.5], [0, 0, 0]])
    keys = ["sign_accuracy", "weight_rmse"]
    evaluation = evaluate(WEIGHTS, found, sign="absolute", threshold=0.3, metrics=keys)
    assert evaluation["sign_accuracy"].value == 1
    assert evaluation["weight_rmse"].value == 1
    turned = evaluate(WEIGHTS, -found, sign="absolute", threshold=0.3, metrics=keys)
    assert turned["sign_accuracy"].value == 0
    assert turned["weight_rmse"].value == pytest.approx(np.sqrt((3**2 + 2**2) / 2))
    with pytest.raises(InputError, match="sign_accuracy needs weights"):
        evaluate(WEIGHTS != 0, found, sign="absolute", metrics=keys)
    none = evaluate(WEIGHTS, -found.T, sign="absolute", threshold=0.3, metrics=keys)["sign_accuracy"]
    assert none.reason == "no arrow is in both graphs"


def test_a_weighted_truth_goes_with_a_binary_prediction():
    evaluation = evaluate(WEIGHTS, (WEIGHTS != 0).astype(int))
    assert evaluation["directed_f1"].value == 1
    for scores in (np.abs(WEIGHTS) / 4, np.sign(WEIGHTS)):  # scores, and what may be marks
        with pytest.raises(InputError, match="look swapped"):
            evaluate(scores, (WEIGHTS != 0).astype(int))


def test_a_cycle_at_lag_zero_is_counted_as_any_other_graph():
    graph = lagged(4)
    graph[0, 1, 0] = graph[1, 2, 0] = graph[2, 0, 0] = 1
    evaluation = evaluate(lagged(4), graph, lagged=True)
    assert evaluation.conventions["classes"] == "lagged"
    assert evaluation["directed_f1"].defined
