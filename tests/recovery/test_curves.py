"""Metrics over all thresholds, against scikit-learn and against every order of tied scores."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score
from tests.recovery.forms import evaluate

from graphgauge import recovery
from graphgauge.core.errors import InputError

OFF = ~np.eye(5, dtype=bool)


def drawn(levels):
    """A true graph and scores of few values, so that ties are common."""
    cells = st.lists(st.sampled_from(levels), min_size=25, max_size=25)
    return st.tuples(
        st.lists(st.booleans(), min_size=25, max_size=25).map(lambda bits: np.array(bits).reshape(5, 5)),
        cells.map(lambda scores: np.array(scores).reshape(5, 5)),
    )


LEVELS = (0.0, 0.25, 0.5, 1.0, np.inf)


@given(drawn(LEVELS), st.booleans())
def test_areas_equal_scikit_learn(data, sparse):
    truth, scores = data
    scores = np.where(np.isinf(scores), 2.0, scores)
    y = truth[OFF]
    assume(0 < y.sum() < len(y))
    pair = (csr_matrix(truth), csr_matrix(scores)) if sparse else (truth, scores)
    assert recovery.auprc(*pair) == pytest.approx(average_precision_score(y, scores[OFF]), abs=1e-12)
    assert recovery.roc_auc(*pair) == pytest.approx(roc_auc_score(y, scores[OFF]), abs=1e-12)
    precision, recall, _ = precision_recall_curve(y, scores[OFF])
    assert recovery.auprc(*pair, area="trapezoid") == pytest.approx(auc(recall, precision), abs=1e-12)


def test_a_constant_scorer_gets_its_prevalence_by_steps_and_more_by_trapezoids():
    truth = np.zeros((5, 5))
    truth[0, 1] = truth[2, 3] = 1
    same = np.full((5, 5), 0.3)
    assert recovery.auprc(truth, same) == pytest.approx(0.1)
    assert recovery.auprc(truth, same, area="trapezoid") == pytest.approx(0.55)


@given(drawn((0.0, 0.5, 1.0)), st.sampled_from([0.5, 0.75, 1.0, 1.5, 2.0]))
def test_f1_at_k_is_the_mean_over_tied_orders(data, fraction):
    truth, scores = data
    y, s = truth[OFF], scores[OFF]
    edges = int(y.sum())
    found = recovery.f1_at_k(truth, scores, fractions=fraction)[f"f1_at_{fraction}e"]
    if not edges:
        assert np.isnan(found)
        return
    k = min(max(1, int(np.floor(fraction * edges + 1e-9))), len(y))
    # Of the cells tied at the cut every subset of the right size is equally likely: a hypergeometric mean, summed up.
    cut = np.sort(s)[::-1][k - 1]
    sure, tied = s > cut, s == cut
    places, hits_tied = k - sure.sum(), int((y & tied).sum())
    from math import comb

    total = comb(int(tied.sum()), places)
    mean = sum(
        hits * comb(hits_tied, hits) * comb(int(tied.sum()) - hits_tied, places - hits) / total
        for hits in range(max(0, places - (int(tied.sum()) - hits_tied)), min(places, hits_tied) + 1)
    )
    assert found == pytest.approx(2 * (int((y & sure).sum()) + mean) / (k + edges), abs=1e-12)


def test_k_tolerates_representation():
    truth = np.zeros((11, 11))
    truth.flat[1:101] = 1
    np.fill_diagonal(truth, 0)
    edges = int(truth.sum())
    scores = np.arange(121.0).reshape(11, 11)
    fraction = 0.29 * 100 / edges  # 29 edges, whatever rounding says
    y = truth[~np.eye(11, dtype=bool)]
    s = scores[~np.eye(11, dtype=bool)]
    hits = y[np.argsort(-s)[:29]].sum()
    assert recovery.f1_at_k(truth, scores, fractions=fraction)[f"f1_at_{fraction}e"] == 2 * hits / (29 + edges)


@given(drawn(LEVELS), st.booleans())
def test_best_f1_is_the_best_of_all_thresholds(data, sparse):
    truth, scores = data
    y, s = truth[OFF], scores[OFF]
    assume(y.any())
    pair = (csr_matrix(truth), csr_matrix(scores)) if sparse else (truth, scores)
    evaluation = evaluate(*pair, metrics=["best_f1", "best_threshold"])
    options = {}
    for threshold in [-np.inf, *np.unique(s)]:
        selected = s > threshold if threshold > -np.inf else np.ones(len(s), bool)
        options[threshold] = 2 * (selected & y).sum() / (selected.sum() + y.sum())
    best = max(options.values())
    assert evaluation["best_f1"].value == best
    assert evaluation["best_threshold"].value == max(t for t, value in options.items() if value == best)
    assert evaluation["best_f1"].oracle
    assert evaluation["best_threshold"].oracle


def test_sweep_meets_the_evaluation_at_every_threshold():
    draw = np.random.default_rng(4)
    truth, scores = draw.random((8, 8)) < 0.2, draw.integers(0, 5, (8, 8)) / 4
    sweep = recovery.threshold_sweep(truth, scores)
    assert sweep["threshold"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    for row, threshold in enumerate(sweep["threshold"]):
        evaluation = evaluate(truth, scores, threshold=float(threshold))
        for key in ("tp", "fp", "directed_f1", "directed_shd", "skeleton_shd"):
            np.testing.assert_equal(sweep[key][row], evaluation[key].value)
    assert len(recovery.threshold_sweep(truth, scores, thresholds=[0.1, 0.9])) == 2


@pytest.mark.parametrize("thresholds", ["x", [None], [[1], [1, 2]]])
def test_thresholds_are_numbers(thresholds):
    with pytest.raises(InputError, match="threshold"):
        recovery.threshold_sweep(np.eye(3, k=1), np.eye(3, k=1), thresholds=thresholds)


def test_a_sweep_over_a_sparse_graph_begins_at_0(tmp_path):
    truth = np.eye(4, k=1)
    scores = csr_matrix(np.array([[0, 0.5, -0.25, 0], [0, 0, -1, 2], [0, 0, 0, 0], [0, 0, 0, 0]]))
    assert recovery.threshold_sweep(truth, scores, sign="keep")["threshold"].tolist() == [0, 0.5, 2]
    evaluate(truth, scores, sign="keep").plot(tmp_path / "kept.svg")
    assert (tmp_path / "kept.svg").exists()


def test_a_sweep_over_many_scores_takes_two_hundred_of_them():
    draw = np.random.default_rng(6)
    truth, scores = np.eye(20, k=1), draw.random((20, 20))
    thresholds = recovery.threshold_sweep(truth, scores)["threshold"]
    off = scores[~np.eye(20, dtype=bool)]
    assert len(thresholds) == 200
    assert (thresholds[0], thresholds[-1]) == (off.min(), off.max())
    assert np.isin(thresholds, off).all()


def test_a_sweep_over_nothing_is_empty():
    assert len(recovery.threshold_sweep(np.zeros((0, 0)), np.zeros((0, 0)))) == 0
    with pytest.raises(InputError, match="0 true graphs with 0 predicted"):
        recovery.threshold_sweep(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))


def test_order_of_nodes_does_not_matter():
    draw = np.random.default_rng(5)
    truth, scores = draw.random((7, 7)) < 0.3, draw.integers(0, 4, (7, 7)) / 3
    flat = evaluate(truth, scores).to_flat()
    for order in itertools.islice(itertools.permutations(range(7)), 0, 5040, 997):
        again = evaluate(truth[np.ix_(order, order)], scores[np.ix_(order, order)]).to_flat()
        np.testing.assert_equal(again, flat)
