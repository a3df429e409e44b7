"""Declared classes of matrices of scores: a pair has two cells only if both exceed the threshold."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from graphgauge import recovery
from graphgauge.core.errors import InputError, OptionError
from graphgauge.recovery import classes
from graphgauge.recovery.comparison import Comparison

CHAIN = np.eye(3, k=1)  # 0 → 1 → 2
SCORES = np.array([[0, 0.9, 0], [0.2, 0, 0.8], [0, 0.7, 0]])
COMPARED = [
    "tp",
    "fp",
    "directed_shd",
    "skeleton_f1",
    "claimed_shd",
    "arrowhead_f1",
    "tail_f1",
    "unoriented",
    "cpdag_shd",
    "shd_undirected",
    "class_arrowhead_f1",
    "member_shd_max",
    "parent_aid",
]
WITH_SCORES = ("dag", "cpdag", "mpdag", "mag", "mixed", "undirected")


def values(evaluation):
    return {key: evaluation[key].value for key in COMPARED}


@pytest.mark.parametrize(
    ("declared", "threshold", "kinds"),
    [
        ("cpdag", 0.5, "→–"),
        ("cpdag", 0.1, "––"),
        ("cpdag", 0.75, "→→"),
        ("mag", 0.5, "→↔"),
        ("mag", 0.75, "→→"),
        ("mag", 0.85, "→ "),
    ],
)
def test_by_hand(declared, threshold, kinds):
    """The two pairs of the chain are found as stated."""
    evaluation = recovery.evaluate(
        CHAIN,
        SCORES,
        classes=declared,
        threshold=threshold,
        metrics=["tp", "directed_shd", "skeleton_shd", "unoriented"],
    )
    assert evaluation["tp"] == kinds.count("→")
    assert evaluation["directed_shd"] == 2 - kinds.count("→")
    assert evaluation["skeleton_shd"] == kinds.count(" ")
    assert evaluation["unoriented"] == kinds.count("–")


@pytest.mark.parametrize("form", ["array", "sparse", "frame", "column_to_row"])
@pytest.mark.parametrize("declared", WITH_SCORES)
@pytest.mark.parametrize("seed", range(6))
def test_scores_are_the_graph_of_those_above_the_threshold(declared, seed, form):
    draw = np.random.default_rng(seed)
    d = int(draw.integers(2, 7))
    truth = np.triu(draw.random((d, d)) < 0.5, 1)
    scores = draw.normal(size=(d, d)) * (draw.random((d, d)) < 0.7)
    sign = ("absolute", "keep")[seed % 2]
    threshold = float(draw.choice([0.0, 0.3, 1.0]))
    found = (np.abs(scores) if sign == "absolute" else scores) > threshold
    options = {"classes": declared, "metrics": COMPARED}
    expected = recovery.evaluate(truth, found, **options)
    given = {
        "array": scores,
        "sparse": sparse.csr_array(scores),
        "frame": pd.DataFrame(scores),
        "column_to_row": scores.T,
    }
    options |= {"edges": "column_to_row"} if form == "column_to_row" else {}
    evaluation = recovery.evaluate(truth, given[form], sign=sign, threshold=threshold, **options)
    assert values(evaluation) == pytest.approx(values(expected), nan_ok=True)
    assert evaluation.conventions["classes"] == expected.conventions["classes"]


@pytest.mark.parametrize("seed", range(4))
def test_an_undirected_graph_of_weights_is_its_skeleton(seed):
    """Weights may be in one cell of a pair, or in both, and negative, in the truth and in the prediction."""
    draw = np.random.default_rng(seed)
    weights = [draw.choice([-2.0, -1.5, 0, 0, 1.5], (5, 5)) for _ in range(2)]
    adjacent = [(part != 0) | (part != 0).T for part in weights]
    pairs = list(itertools.combinations(range(5), 2))
    evaluation = recovery.evaluate(*weights, classes=("undirected", "undirected"), sign="absolute")
    assert evaluation["directed_shd"] == sum(adjacent[0][pair] != adjacent[1][pair] for pair in pairs)
    with pytest.raises(InputError, match="are negative"):
        recovery.evaluate(*weights, classes=("undirected", "undirected"))


def test_a_missing_score_leaves_the_other_of_an_undirected_pair():
    scores = np.array([[0, np.nan, 0.9], [0.8, 0, np.nan], [np.nan, np.nan, 0]])
    evaluation = recovery.evaluate(np.ones((3, 3)), scores, classes=("undirected", "undirected"), nan="omit")
    assert (evaluation["skeleton_tp"], evaluation["skeleton_fn"]) == (2, 0)


PAG = np.array([[0, 2, 0], [1, 0, 2], [0, 2, 0]])  # 0 o→ 1 ↔ 2


@pytest.mark.parametrize("threshold", [-1, 1, 2.5, np.inf])
def test_marks_have_no_other_threshold(threshold):
    with pytest.raises(OptionError, match="edges score 1 and other cells 0"):
        recovery.evaluate(CHAIN, PAG, encoding="pcalg-pag", threshold=threshold)
    swept = recovery.threshold_sweep(CHAIN, PAG, encoding="pcalg-pag", thresholds=[0.5, 2])
    assert swept["directed_shd"].tolist() == [2, 2]
    assert swept["skeleton_shd"].tolist() == [0, 2]


@pytest.mark.parametrize("missing", [[(0, 1)], [(0, 1), (1, 0)], [(0, 1), (1, 0), (1, 2), (2, 1)]])
def test_cells_without_a_score_and_true_marks(missing):
    """An edge of the truth is left out only with both of its cells; all metrics are computed."""
    scores = np.full((3, 3), 0.9)
    scores[tuple(np.transpose(missing))] = np.nan
    evaluation = recovery.evaluate(PAG, scores, encoding=("pcalg-pag", None), nan="omit")
    pairs = {frozenset(cell) for cell in missing if cell[::-1] in missing}
    assert evaluation["skeleton_tp"] == 2 - len(pairs)


def test_a_mag_has_no_circles():
    evaluation = recovery.evaluate(CHAIN, PAG, encoding="pcalg-pag", classes="mag", metrics=["tp"])
    assert any("no valid mag: A_pred has a circle mark between 0 and 1" in note for note in evaluation.notes)


def test_few_pairs_of_nodes_are_searched_for_a_path(monkeypatch):
    """Only pairs whose ends have ancestors of each other next to them are searched for a path."""
    both = np.triu(np.random.default_rng(0).random((300, 300)) < 4 / 300, 1)
    comparison = Comparison.of(both, (both | both.T) * 2, encoding="pcalg-pag")
    ((_, prediction),) = comparison.models()
    searched = []
    find = np.argwhere
    monkeypatch.setattr(classes.np, "argwhere", lambda cells: searched.append(find(cells)) or searched[-1])
    found = classes.class_of(prediction)
    assert (found.name, found.problem) == ("mag", None)
    assert [len(pairs) for pairs in searched] == [0]  # without a directed edge nothing has an ancestor
