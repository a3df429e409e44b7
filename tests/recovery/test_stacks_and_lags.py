"""Several graphs are averaged with an interval; the lags of one graph are counted together, apart and summed up."""

import numpy as np
import pytest
from scipy import stats
from tests.recovery.forms import evaluate

from graphgauge import recovery

DRAW = np.random.default_rng(11)
TRUTHS = np.triu(DRAW.random((12, 8, 8)) < 0.3, 1)
STACK = np.where(TRUTHS, 0.4, 0.0) + 0.6 * DRAW.random((12, 8, 8))


def test_a_stack_is_the_mean_over_its_graphs_with_an_interval():
    evaluation = evaluate(TRUTHS, STACK)
    each = [evaluate(truth, scores) for truth, scores in zip(TRUTHS, STACK, strict=True)]
    for key in evaluation:
        values = np.array([single[key].value for single in each])
        np.testing.assert_allclose(evaluation.by("graph")[key], values, rtol=1e-15, equal_nan=True)
        kept = values[~np.isnan(values)]
        if not kept.size:
            assert evaluation[key].reason.startswith("graph 0: A_pred")  # the predictions have cycles
            continue
        assert evaluation[key].value == pytest.approx(kept.mean(), rel=1e-12), key
        if evaluation[key].interval:
            low, high = stats.t.interval(0.95, len(kept) - 1, loc=kept.mean(), scale=stats.sem(kept))
            bounds = evaluation[key].bounds
            assert tuple(evaluation[key].interval) == pytest.approx(
                (max(low, bounds[0]), min(high, bounds[1])), rel=1e-9
            ), key
    assert evaluation["directed_f1"].interval.over == "graphs"


def test_one_graph_has_no_interval_and_says_why():
    result = evaluate(TRUTHS[0], STACK[0])["directed_f1"]
    assert result.interval is None
    assert result.no_interval == "a single graph has no interval"


def test_graphs_without_a_value_are_left_out_and_counted():
    stack = STACK.copy()
    stack[3] = 0
    result = evaluate(TRUTHS, stack)["directed_precision"]
    assert any("1 of 12 graphs have no value (no directed predicted edges)" in warning for warning in result.warnings)


def test_a_stack_has_no_single_distance():
    with pytest.raises(ValueError, match="12 graphs have no single distance"):
        recovery.shd(TRUTHS, STACK)


@pytest.mark.parametrize("scale", [1, 1000])
def test_coverage_of_the_interval_over_graphs(scale):
    # Graphs of 6 nodes whose cells are right with probability 0.8: recall has mean 0.8 in every graph with an edge.
    draw = np.random.default_rng(scale)
    trials, graphs = 400, 20
    truth = draw.random((trials, graphs, 6, 6)) < 0.4
    predicted = np.where(draw.random(truth.shape) < 0.8, truth, ~truth)
    inside = 0
    for one, other in zip(truth, predicted, strict=True):
        low, high = evaluate(one, other, metrics=["directed_recall"])["directed_recall"].interval
        inside += low <= 0.8 <= high
    # Binomial standard error of 400 trials at .95: .011.
    assert abs(inside / trials - 0.95) < 0.035


LAGGED_TRUTH = DRAW.random((5, 5, 3)) < 0.25
LAGGED = DRAW.random((5, 5, 3))


def by_hand(T, P):
    off = ~np.eye(5, dtype=bool)
    counted = (
        np.concatenate([(T[:, :, 0] & off).ravel(), T[:, :, 1:].ravel()]),
        np.concatenate([(P[:, :, 0] & off).ravel(), P[:, :, 1:].ravel()]),
    )
    D = P[:, :, 0] ^ T[:, :, 0]
    np.fill_diagonal(D, False)
    shd = (D | D.T).sum() // 2 + (P[:, :, 1:] ^ T[:, :, 1:]).sum()
    return (counted[0] & counted[1]).sum(), (counted[1] & ~counted[0]).sum(), (counted[0] & ~counted[1]).sum(), shd


def test_lags_are_counted_together():
    evaluation = evaluate(LAGGED_TRUTH, LAGGED, lagged=True)
    tp, fp, fn, shd = by_hand(LAGGED_TRUTH, LAGGED > 0.5)
    assert [evaluation[key].value for key in ("tp", "fp", "fn", "directed_shd")] == [tp, fp, fn, shd]
    assert evaluation["tp"].n == 5 * 4 + 2 * 25
    # Only lag 0 has directions to get wrong.
    contemporary = evaluate(LAGGED_TRUTH[:, :, 0], LAGGED[:, :, 0])
    np.testing.assert_equal(evaluation["orientation_accuracy"].value, contemporary["orientation_accuracy"].value)
    assert "cpdag_shd" not in evaluation


def test_lags_apart_and_summed_up():
    table = evaluate(LAGGED_TRUTH, LAGGED, lagged=True).by("lag")
    assert table["lag"].tolist() == ["0", "1", "2", "summary", "lagged"]
    contemporary = evaluate(LAGGED_TRUTH[:, :, 0], LAGGED[:, :, 0])
    summary = evaluate(LAGGED_TRUTH.any(2), LAGGED.max(2))
    for key in ("directed_f1", "directed_shd", "auprc", "skeleton_shd"):
        assert table[key][0] == pytest.approx(contemporary[key].value)
        assert table[key][3] == pytest.approx(summary[key].value)
    for lag in (1, 2):
        T, P = LAGGED_TRUTH[:, :, lag], LAGGED[:, :, lag] > 0.5
        assert table["tp"][lag] == (T & P).sum()
        assert table["directed_shd"][lag] == (T ^ P).sum()


def test_reversed_lagged_edges_are_two_different_edges():
    truth, predicted = np.zeros((3, 3, 2)), np.zeros((3, 3, 2))
    truth[0, 1, 1] = predicted[1, 0, 1] = 1
    evaluation = evaluate(truth, predicted, lagged=True)
    assert evaluation["directed_shd"].value == 2
    assert evaluation["shd_reversed"].value == 0
    assert evaluation["skeleton_shd"].value == 2


def test_autoregression_counts():
    truth, predicted = np.zeros((3, 3, 2)), np.zeros((3, 3, 2))
    truth[:, :, 1] = predicted[:, :, 1] = np.eye(3)
    predicted[0, 0, 0] = 1
    evaluation = evaluate(truth, predicted, lagged=True)
    assert evaluation["tp"].value == 3
    assert "1 self-loop in A_pred is not counted" in [finding.message for finding in evaluation.findings]
