"""Recovery from files, as commands and studies reach it, and its figure."""

import json

import numpy as np
import pytest
from tests.recovery.forms import evaluate, evaluate_files

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation

TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
SCORES = np.array([[0, 0.8, 0.1, 0], [0, 0, 0.3, 0.7], [0, 0.6, 0, 0], [0.55, 0, 0, 0]])


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "true.npy", TRUTH)
    np.save(tmp_path / "pred.npy", SCORES)
    np.save(tmp_path / "weights.npy", SCORES * np.array([1, -1, 1, -1]))
    return tmp_path


def run(folder, pred="pred.npy", **options):
    return evaluate_files(true=folder / "true.npy", pred=folder / pred, **options)


def test_what_the_library_says(files):
    np.testing.assert_equal(run(files).to_flat(), evaluate(TRUTH, SCORES).to_flat())
    assert list(run(files, metrics=None)) == list(evaluate(TRUTH, SCORES, metrics=None))


def test_own_options(files):
    keys = ("directed_shd", "f1_at_3.0e")
    found = run(files, shd="cell", threshold=0.2, metrics=keys)
    assert found.to_flat() == evaluate(TRUTH, SCORES, shd="cell", threshold=0.2, metrics=keys).to_flat()
    turned = run(files, orientation="column_to_row")
    assert turned["tp"] == evaluate(TRUTH, SCORES.T)["tp"].value
    both = run(files, orientation="column_to_row,column_to_row")
    assert both["tp"] == evaluate(TRUTH, SCORES)["tp"].value
    signed = run(files, pred="weights.npy", sign="absolute", threshold=0.5)
    assert signed["tp"] == evaluate(TRUTH, SCORES)["tp"].value
    np.save(files / "marks.npy", TRUTH.T)
    for encoding in ("pcalg", "none,pcalg"):
        assert run(files, pred="marks.npy", encoding=encoding)["tp"] == 3


def test_errors_are_in_the_words_of_the_door(files):
    with pytest.raises(InputError, match=r"^pred: 3 of 12 scores are negative, the first at index \(0, 1\)"):
        run(files, pred="weights.npy")
    for wrong in ({"shd": "double"}, {"orientation": "sideways"}, {"threshold": "high"}, {"encoding": "pag"}):
        with pytest.raises(OptionError):
            run(files, **wrong)


def test_result_file_and_figure(files):
    path = run(files).save(files / "result.json", method="notears")
    loaded = Evaluation.load(path)
    content = json.loads(path.read_text())
    assert loaded.run.method == "notears"
    assert [entry["name"] for entry in content["receipt"]["inputs"]] == ["true", "pred"]
    loaded.plot(files / "graphs.svg")
    picture = (files / "graphs.svg").read_text()
    for text in ("correct 2", "reversed 1", "extra 1", "recall", "threshold", "K / true edges", "notears"):
        assert text in picture, text


@pytest.mark.parametrize("options", [{}, {"lagged": True}])
def test_figures_of_stacks_and_lags(tmp_path, options):
    draw = np.random.default_rng(0)
    truth, scores = draw.random((5, 5, 5)) < 0.3, draw.random((5, 5, 5))
    evaluate(truth, scores, metrics=None, **options).plot(tmp_path / "figure.png")
    evaluate(np.zeros((3, 3)), np.zeros((3, 3)), metrics=None).plot(tmp_path / "empty.pdf")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_drawings_are_of_one_graph_throughout():
    draw = np.random.default_rng(0)
    truth, scores = draw.random((3, 5, 5)) < 0.3, draw.random((3, 5, 5))
    first = evaluate(truth, scores, metrics=None).drawings
    alone = evaluate(truth[0], scores[0], metrics=None).drawings
    lagged = evaluate(np.moveaxis(truth, 0, 2), np.moveaxis(scores, 0, 2), lagged=True, metrics=None).drawings
    summary = evaluate(truth.any(0), scores.max(0), metrics=None).drawings
    assert first == alone
    assert lagged == summary
    assert set(alone) == {"precision", "f1_at_k", "edges", "nodes", "thresholds"}
