"""Lags with marks, lists of graphs of any kind, and weights."""

import numpy as np
import pytest

from graphgauge import recovery
from graphgauge.core.errors import InputError
from graphgauge.recovery import counts
from graphgauge.recovery.comparison import compare

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
    turned = recovery.evaluate(truth, truth.transpose(1, 0, 2), lagged=True)
    assert "transposed-prediction" in {finding.check for finding in turned.findings}
    right = recovery.evaluate(truth, truth, lagged=True)
    assert "transposed-prediction" not in {finding.check for finding in right.findings}


def test_lags_are_last():
    truth, scores = lagged(5), DRAW.random((5, 5, 3))
    with pytest.raises(InputError, match=r"expected shape \(d, d, lags \+ 1\).*np\.moveaxis\(A, 0, -1\)"):
        recovery.evaluate(np.moveaxis(truth, 2, 0), np.moveaxis(scores, 2, 0), lagged=True)


def test_the_lagged_view_is_all_lags_above_zero():
    truth, scores = lagged(5), DRAW.random((5, 5, 3))
    table = recovery.evaluate(truth, scores, lagged=True).by("lag")
    alone = recovery.evaluate(truth * [0, 1, 1], scores * [0, 1, 1], lagged=True)
    place = table["lag"].tolist().index("lagged")
    for key in ("tp", "fp", "fn", "directed_f1"):
        assert table[key][place] == alone[key].value


def test_marks_at_lags():
    links = np.full((3, 3, 2), "", dtype="<U3")
    links[0, 1, 1], links[1, 2, 1], links[0, 2, 1] = "-->", "o->", "<->"
    links[0, 1, 0], links[1, 0, 0] = "o->", "<-o"
    truth = np.zeros((3, 3, 2))
    truth[0, 1, 1] = truth[1, 2, 1] = truth[0, 2, 1] = truth[0, 1, 0] = 1
    evaluation = recovery.evaluate(
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
        recovery.evaluate(truth, links, encoding="tigramite", lagged=True)


def test_graphs_of_different_sizes():
    sizes = (4, 7, 5)
    truths = [np.triu(DRAW.random((d, d)) < 0.4, 1) for d in sizes]
    scores = [DRAW.random((d, d)) for d in sizes]
    evaluation = recovery.evaluate(truths, scores)
    alone = [recovery.evaluate(*pair) for pair in zip(truths, scores, strict=True)]
    for key in ("directed_f1", "directed_shd", "auprc", "cpdag_shd", "v_structure_f1"):
        values = np.array([one[key].value for one in alone])
        np.testing.assert_allclose(evaluation[key].value, np.nanmean(values) if not np.isnan(values).all() else np.nan)
        np.testing.assert_equal(evaluation.by("graph")[key], values)
    assert evaluation["directed_f1"].ci is not None
    assert recovery.directed_f1(truths, scores) == evaluation["directed_f1"].value
    with pytest.raises(InputError, match="3 true graphs with 2 predicted ones"):
        recovery.evaluate(truths, scores[:2])
    with pytest.raises(InputError, match="3 graphs have no single distance"):
        recovery.shd(truths, scores)


def test_stacks_of_lagged_graphs(tmp_path):
    truths = np.stack([lagged(5) for _ in range(4)])
    scores = DRAW.random(truths.shape)
    evaluation = recovery.evaluate(truths, scores, lagged=True)
    alone = [recovery.evaluate(*pair, lagged=True) for pair in zip(truths, scores, strict=True)]
    for key in ("directed_f1", "auprc", "directed_shd"):
        np.testing.assert_allclose(evaluation[key].value, np.mean([one[key].value for one in alone]))
    evaluation.plot(tmp_path / "figure.svg")


def test_stacks_of_classes_and_one_truth_for_several():
    truth = np.eye(4, k=1)
    line = (truth + truth.T).astype(int)
    stacked = np.stack([line, np.zeros((4, 4), int)])
    one_truth = recovery.evaluate(truth, list(stacked), encoding="gcastle")
    assert one_truth.by("graph")["skeleton_f1"].tolist() == [1, 0]
    assert one_truth.conventions["classes"] == "dag and cpdag or dag"
    array = recovery.evaluate([truth, truth], stacked, encoding="gcastle")
    np.testing.assert_equal(array.to_flat(), one_truth.to_flat())


def test_a_list_with_missing_scores_knows_its_transposed_prediction():
    truths = [np.triu(DRAW.random((d, d)) < 0.5, 1) * 1.0 for d in (4, 6)]
    scores = [DRAW.random((d, d)) for d in (4, 6)]
    scores[0][0, 1] = np.nan
    found = compare(truths, scores, nan="omit").samples()["edges"].transposed
    turned = compare(truths, [one.T.copy() for one in scores], nan="omit").counts
    for name in counts.WEIGHTS:
        np.testing.assert_array_equal(found[name], turned[name])


WEIGHTS = np.array([[0, 2.0, 0], [0, 0, -1.5], [0, 0, 0]])


def test_weights_and_signs():
    found = np.array([[0, 1.0, 0.9], [0, 0, -0.5], [0, 0, 0]])
    keys = ["sign_accuracy", "weight_rmse"]
    evaluation = recovery.evaluate(WEIGHTS, found, sign="absolute", threshold=0.3, metrics=keys)
    assert evaluation["sign_accuracy"].value == 1
    assert evaluation["weight_rmse"].value == 1
    turned = recovery.evaluate(WEIGHTS, -found, sign="absolute", threshold=0.3, metrics=keys)
    assert turned["sign_accuracy"].value == 0
    assert turned["weight_rmse"].value == pytest.approx(np.sqrt((3**2 + 2**2) / 2))
    with pytest.raises(InputError, match="sign_accuracy needs weights"):
        recovery.evaluate(WEIGHTS != 0, found, sign="absolute", metrics=keys)
    none = recovery.evaluate(WEIGHTS, -found.T, sign="absolute", threshold=0.3, metrics=keys)["sign_accuracy"]
    assert none.reason == "no arrow is in both graphs"


def test_a_weighted_truth_goes_with_a_binary_prediction():
    evaluation = recovery.evaluate(WEIGHTS, (WEIGHTS != 0).astype(int))
    assert evaluation["directed_f1"].value == 1
    for scores in (np.abs(WEIGHTS) / 4, np.sign(WEIGHTS)):  # scores, and what may be marks
        with pytest.raises(InputError, match="look swapped"):
            recovery.evaluate(scores, (WEIGHTS != 0).astype(int))


def test_a_cycle_at_lag_zero_is_named():
    graph = lagged(4)
    graph[0, 1, 0] = graph[1, 2, 0] = graph[2, 0, 0] = 1
    evaluation = recovery.evaluate(lagged(4), graph, lagged=True)
    assert evaluation.conventions["classes"] == "lagged and lagged"
    assert "at lag 0, A_pred has the directed cycle 0 → 1 → 2 → 0" in evaluation.notes
    assert evaluation["directed_f1"].defined
