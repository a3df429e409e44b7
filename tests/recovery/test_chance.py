"""What graphs that know nothing score, against every such graph there is."""

import itertools

import numpy as np
import pytest
from tests.recovery.forms import evaluate

from graphgauge import recovery


def chance(result):
    return {item.name: item.value for item in result.references}


def graph(cells, shape=(3, 3)):
    matrix = np.zeros(shape)
    for cell in cells:
        matrix[cell] = 1
    return matrix


def placements(edges):
    """As many arrows as edges, each on a pair of its own and to either side."""
    pairs = itertools.combinations(itertools.combinations(range(3), 2), edges)
    return [turned for chosen in pairs for turned in itertools.product(*((pair, pair[::-1]) for pair in chosen))]


TRUTHS = [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 0), (1, 2)], [(0, 1), (0, 2), (1, 2), (2, 1)]]
DIRECTED = [
    "directed_precision",
    "directed_recall",
    "directed_f1",
    "directed_shd",
    "tp",
    "fp",
    "fn",
    "shd_missing",
    "shd_extra",
    "shd_reversed",
    "fdr",
    "tpr",
    "fpr",
    "correct_direction",
    "wrong_direction",
    "unoriented",
]


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("edges", [1, 2, 3])
@pytest.mark.parametrize("shd", ["pair", "cell"])
def test_random_graphs_with_as_many_edges_enumerated(truth, edges, shd):
    every = [graph(cells) for cells in placements(edges)]
    evaluations = [evaluate(graph(truth), other, shd=shd, metrics=DIRECTED) for other in every]
    stated = evaluations[0]
    for key in DIRECTED:
        mean = np.mean([evaluation[key].value for evaluation in evaluations])
        assert chance(stated[key])["random graph with as many edges"] == pytest.approx(mean, abs=1e-12), key


@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("edges", [1, 2, 3])
def test_random_skeletons_enumerated(truth, edges):
    keys = ["skeleton_precision", "skeleton_recall", "skeleton_f1", "skeleton_shd", "skeleton_tp", "skeleton_fp"]
    pairs = list(itertools.combinations(range(3), 2))
    evaluations = [
        evaluate(graph(truth), graph(chosen), metrics=keys) for chosen in itertools.combinations(pairs, edges)
    ]
    for key in keys:
        mean = np.mean([evaluation[key].value for evaluation in evaluations])
        assert chance(evaluations[0][key])["random graph with as many edges"] == pytest.approx(mean, abs=1e-12), key


def test_random_directions_enumerated():
    truth = graph([(0, 1), (1, 2), (0, 2), (2, 0)])
    predicted = [(0, 1), (2, 1), (0, 2), (2, 0)]
    ways = itertools.product([(0, 1), (1, 0)], [(1, 2), (2, 1)])
    turned = [recovery.orientation_accuracy(truth, graph([*way, (0, 2), (2, 0)])) for way in ways]
    stated = evaluate(truth, graph(predicted))["orientation_accuracy"]
    assert chance(stated)["random directions"] == pytest.approx(np.mean(turned))


def test_lagged_random_graphs_enumerated():
    shape, cells = (2, 2, 2), [(0, 1, 0), (1, 0, 0), *((i, j, 1) for i in range(2) for j in range(2))]
    truth = graph([(0, 1, 0), (0, 0, 1), (0, 1, 1)], shape)
    keys = ["directed_f1", "directed_precision", "directed_shd", "tp"]
    # One arrow at lag 0, two at lag 1: each lag keeps its number.
    chosen = [(now, *late) for now in cells[:2] for late in itertools.combinations(cells[2:], 2)]
    evaluations = [evaluate(truth, graph(each, shape), lagged=True, metrics=keys) for each in chosen]
    for key in keys:
        mean = np.mean([evaluation[key].value for evaluation in evaluations])
        assert chance(evaluations[0][key])["random graph with as many edges"] == pytest.approx(mean, abs=1e-12), key


def test_the_empty_graph():
    truth = graph([(0, 1), (1, 0), (1, 2)])
    predicted = graph([(0, 1), (2, 1)])
    for shd, empty in (("pair", 2), ("cell", 3)):
        evaluation = evaluate(truth, predicted, shd=shd)
        assert chance(evaluation["directed_shd"])["empty graph"] == empty


def test_a_constant_scorer_scores_what_is_said_of_it():
    draw = np.random.default_rng(0)
    truth, scores = draw.random((9, 9)) < 0.25, draw.random((9, 9))
    same = evaluate(truth, np.full((9, 9), 0.7))
    evaluation = evaluate(truth, scores)
    for key in ("auprc", "roc_auc", "best_f1", "f1_at_0.5e", "f1_at_2.0e"):
        assert chance(evaluation[key])["constant scorer"] == pytest.approx(same[key].value), key


def test_a_prediction_written_the_other_way_round_is_noticed():
    draw = np.random.default_rng(1)
    truth = np.triu(draw.random((12, 12)) < 0.3, 1)
    finding = evaluate(truth, truth.T).findings
    assert [found.check for found in finding] == ["transposed-prediction"]
    assert "column_to_row" in finding[0].remedy
    assert finding[0].evidence == {"given": 0, "transposed": int(truth.sum())}
    assert not evaluate(truth, truth.T, orientation="column_to_row").findings
    assert not evaluate(truth, truth).findings


def test_five_reversed_edges_are_no_evidence():
    # (5 − 0) / √5 is 2.24 standard errors: a coin does that once in 32.
    truth = np.eye(6, k=1)
    assert not evaluate(truth, truth.T).findings


@pytest.mark.parametrize(
    ("threshold", "fires"),
    [
        (0.5, False),
        (np.float64(0.5), False),
        (np.float32(0.3), False),
        (0.1 + 0.2, False),
        (np.linspace(0, 1, 11)[7], False),
        (5e-05, False),
        (0.4637, True),
        (np.float64(0.4637), True),
        (np.float32(0.4637), True),
    ],
)
def test_round_thresholds_of_any_kind(threshold, fires):
    truth = np.triu(np.ones((5, 5), int), 1)
    evaluation = evaluate(truth, 0.9 * truth, threshold=threshold)
    assert ("threshold-from-truth" in [each.check for each in evaluation.findings]) == fires
