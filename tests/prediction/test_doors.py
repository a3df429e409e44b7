"""What is taken, what is refused and in which words; breakdowns; findings."""

from __future__ import annotations

import numpy as np
import pytest

from graphgauge import prediction
from graphgauge.core.errors import InputError
from graphgauge.core.figure import family_figure, svg_text


def test_kinds_of_tasks():
    def task(*args, **options):
        return prediction.evaluate(*args, **options).conventions["task"]

    assert task([0, 1, 1], [0, 1, 0]) == "binary"
    assert task([0, 1, 1], scores=[0.2, 0.7, 0.1]) == "binary"
    assert task([True, False, True], [True, True, True]) == "binary"
    assert task(["a", "b"], ["a", "b"]) == "multiclass"
    assert task(["a", "b"], ["a", "b"], positive="b") == "binary"
    assert task([0, 2, 1], [0, 1, 1]) == "multiclass"
    assert task([0, 1, 1], scores=np.eye(3)) == "multiclass"
    assert task([[0, 1], [1, 1]], scores=[[0.2, 0.4], [0.5, 0.1]]) == "multilabel"
    assert task([0.5, 1.25], [0.5, 1.0]) == "regression"
    assert task([[0], [1], [2]], [[0], [1], [1]]) == "multiclass"


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        (([0, 1], None), {}, "there is neither y_pred nor scores. Pass labels as y_pred=, or scores=."),
        (([0, 1, 1], [0, 1]), {}, "y_pred: has 2 rows, y_true 3. One row per item."),
        (([0, 3, 5], [0.0, 3.0, 5.0]), {}, 'y_true may be classes or numbers. Say which: task="multiclass"'),
        (([0, 1, 2], [0.1, 0.9, 0.4]), {"task": "multiclass"}, "labels are not whole, such as 0.1. Pass"),
        (([0, np.nan], [0, 1]), {}, 'y_true: 1 of 2 values are NaN, the first at index 1. Pass nan="omit"'),
        (([0, 1], None), {"scores": [0.5, np.nan]}, "scores: 1 of 2 values are NaN, the first at index 1."),
        ((["a", "b"], None), {"scores": np.eye(2)}, "y_true has names, and scores only columns. Number the"),
        (([0, 5], None), {"scores": np.eye(3)[:2]}, "y_true: has the label 5, which is no class."),
        (([0, 1], None), {"scores": [[0.9, 0.3], [0.5, 0.5]], "probabilities": True}, "scores: row 0 has negative"),
        (([0, 1], [0, 1]), {"task": "classes"}, "unknown task 'classes'."),
        (([0, 1], [0, 1]), {"weights": [1, -1]}, "weights: expected 2 numbers that are not negative, and not all 0."),
        (([0, 1], [0, 1]), {"cluster": [1]}, "cluster: has 1 labels for 2 items."),
        (([[0, 2], [1, 1]], [[0, 1], [1, 1]]), {"task": "multilabel"}, "y_true: has labels other than 0 and 1."),
        (([0.5, np.inf], [0.5, 1.0]), {}, "y_true: has infinite values."),
        (([1, 2], [1, 2]), {"task": "binary"}, "two classes, 1 and 2. Pass positive=, the one of interest."),
    ],
)
def test_refusals(args, options, words):
    with pytest.raises(InputError) as refusal:
        prediction.evaluate(*args, **options)
    assert str(refusal.value).startswith(words)


@pytest.mark.parametrize("positive", [0, 1])
def test_two_classes_have_one_score(positive):
    """Of two columns nobody knows which one is positive."""
    scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.8, 0.2]])
    options = {"positive": positive, "probabilities": True}
    found = prediction.evaluate([0, 1, 1, 0], scores=scores[:, positive], **options)
    assert (found["roc_auc"].value, found["precision"].value) == (1, 1)
    with pytest.raises(InputError, match="Pass those of the positive class"):
        prediction.evaluate([0, 1, 1, 0], scores=scores, **options)


def test_inputs_stay_as_they_are():
    true, pred = np.array([0.0, np.nan, 1.0]), np.array([0, 1, 1])
    before = true.copy(), pred.copy()
    prediction.evaluate(true, pred, nan="omit")
    np.testing.assert_array_equal(true, before[0])
    np.testing.assert_array_equal(pred, before[1])


def test_unlabelled_items_are_left_out_and_counted():
    ev = prediction.evaluate([0, np.nan, 1, np.nan], [0, 1, 1, 0], nan="omit", ids=list("abcd"))
    assert ev["accuracy"].n == 2
    assert ev.conventions["nan"] == "omitted 2 unlabelled, 0 unpredicted"
    assert ev.per_item.ids.tolist() == ["a", "c"]


def test_breakdowns_are_evaluations_of_the_parts():
    rng = np.random.default_rng(0)
    true, part = rng.integers(0, 3, 90), rng.integers(0, 4, 90)
    pred = np.where(rng.random(90) < 0.7, true, rng.integers(0, 3, 90))
    ev = prediction.evaluate(true, pred, groups={"part": part}, metrics=["accuracy", "matthews"])
    grid = ev.by("part")
    for row, label in enumerate(grid["part"]):
        rows = part == label
        alone = prediction.evaluate(true[rows], pred[rows], metrics=["accuracy", "matthews"])
        assert grid["n"][row] == rows.sum()
        for key in ("accuracy", "matthews"):
            assert grid[key][row] == pytest.approx(alone[key].value, abs=1e-14)
            assert (grid[f"{key}.low"][row], grid[f"{key}.high"][row]) == pytest.approx(
                tuple(alone[key].interval), abs=1e-12
            )


def test_degree_and_homophily():
    edges = np.array([[0, 1], [1, 0], [1, 2], [3, 3]])
    assert prediction.by_degree(edges, 5).tolist() == ["1", "2–3", "1", "0", "0"]
    assert prediction.by_degree(edges.T, 5).tolist() == ["1", "2–3", "1", "0", "0"]
    labels = ["a", "a", "b", "b", "b"]
    assert prediction.by_homophily(edges, labels).tolist() == ["0.75–1", "0.25–0.5", "0–0.25", "isolated", "isolated"]
    with pytest.raises(InputError, match="has a node 7 of 5"):
        prediction.by_degree([[0, 7]], 5)


def test_findings():
    def names(*args, **options):
        return {each.check for each in prediction.evaluate(*args, **options).findings}

    assert names([0] * 30 + [1] * 10, [1] * 30 + [0] * 10) == {"below-most-frequent-class"}
    assert names([0] * 30 + [1] * 30 + [2] * 12, [0] * 30 + [1] * 42) == {"class-never-predicted"}
    assert names([0, 1, 1, 0], scores=[0.5] * 4) == {"constant-scores"}
    assert names([0, 1, 1, 0], [0, 1, 1, 0], ids=[1, 2, 3, 4], train_ids=[9, 4]) == {"trained-on-test-items"}
    assert names([0, 1, 1, 0], [0, 1, 1, 0], ids=[1, 2, 3, 4], train_ids=[9, 5]) == set()


def test_levels_of_chance():
    ev = prediction.evaluate([0, 0, 0, 1], [0, 0, 1, 1], metrics="all")
    levels = {each.name: each.value for each in ev["accuracy"].references}
    assert levels == {"random labels": pytest.approx(0.75**2 + 0.25**2), "most frequent class": 0.75}
    targets = prediction.evaluate([1.5, 2.0, 9.0], [1.0, 2.0, 3.0])
    assert targets["mae"].chance.value == pytest.approx((0.5 + 0 + 7) / 3)
    assert targets["r2"].chance.value == pytest.approx(0)


def test_figures_have_no_images():
    """The page of a report shows none."""
    rng = np.random.default_rng(0)
    true, scores = rng.integers(0, 3, 60), rng.random((60, 3))
    p = scores / scores.sum(axis=1, keepdims=True)
    found = prediction.evaluate(true, scores=p, probabilities=True, groups={"part": true})
    assert "<image" not in svg_text(family_figure("prediction", {"a": found}))
