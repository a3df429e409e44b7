"""`graphgauge recovery` as a user meets it, and its figure."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.command import graphgauge

from graphgauge import recovery
from graphgauge.core.errors import InputError
from graphgauge.old.cli.family import family_command
from graphgauge.recovery.comparison import Comparison
from graphgauge.recovery.figure import picture

command = family_command("recovery")

TRUTH = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
SCORES = np.array([[0, 0.8, 0.1, 0], [0, 0, 0.3, 0.7], [0, 0.6, 0, 0], [0.55, 0, 0, 0]])


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "true.npy", TRUTH)
    np.save(tmp_path / "pred.npy", SCORES)
    np.save(tmp_path / "weights.npy", SCORES * np.array([1, -1, 1, -1]))
    return tmp_path


def run(folder, *arguments, pred="pred.npy"):
    given = ["--true", str(folder / "true.npy"), "--pred", str(folder / pred), *map(str, arguments)]
    return CliRunner().invoke(command, given)


def values(outcome):
    return {entry["key"]: entry["value"] for entry in json.loads(outcome.stdout)["results"]}


def test_what_the_library_says(files):
    found = values(run(files, "--format", "json"))
    expected = recovery.evaluate(TRUTH, SCORES)
    assert list(found) == list(expected)
    np.testing.assert_equal(
        {key: np.nan if value is None else value for key, value in found.items()}, expected.to_flat()
    )


def test_own_options(files):
    found = values(run(files, "--format", "json", "--shd", "cell", "--threshold", "0.2", "--fractions", "1,3"))
    expected = recovery.evaluate(TRUTH, SCORES, shd="cell", threshold=0.2, fractions=(1, 3))
    assert found["directed_shd"] == expected["directed_shd"].value
    assert found["f1_at_3.0e"] == expected["f1_at_3.0e"].value
    turned = values(run(files, "--format", "json", "--edges", "column_to_row"))
    assert turned["tp"] == recovery.evaluate(TRUTH, SCORES.T)["tp"].value
    signed = values(run(files, "--format", "json", "--sign", "absolute", pred="weights.npy"))
    assert signed["tp"] == recovery.evaluate(TRUTH, SCORES)["tp"].value


def test_errors_and_gates(files):
    assert isinstance(run(files, pred="weights.npy").exception, InputError)
    assert run(files, "--shd", "double").exit_code == 2
    assert run(files, "--edges", "sideways").exit_code == 2
    assert run(files, "--fractions", "one").exit_code == 2
    assert run(files, "--gate", "directed_shd <= 5").exit_code == 0
    assert run(files, "--gate", "directed_shd <= 1").exit_code == 1


def test_result_file_and_figure(files):
    outcome = run(files, "-o", files / "result.json", "--figure", files / "graphs.svg", "--method", "notears")
    assert outcome.exit_code == 0, outcome.output
    content = json.loads((files / "result.json").read_text())
    assert content["run"]["method"] == "notears"
    assert [entry["name"] for entry in content["receipt"]["inputs"]] == ["true", "pred"]
    picture = (files / "graphs.svg").read_text()
    for text in ("truth", "prediction", "reversed 1", "extra 1", "missing 0", "recall", "threshold", "K / true edges"):
        assert text in picture, text


@pytest.mark.parametrize("options", [{}, {"lagged": True}])
def test_figures_of_stacks_and_lags(tmp_path, options):
    draw = np.random.default_rng(0)
    truth, scores = draw.random((5, 5, 5)) < 0.3, draw.random((5, 5, 5))
    recovery.evaluate(truth, scores, **options).plot(tmp_path / "figure.png")
    recovery.evaluate(np.zeros((3, 3)), np.zeros((3, 3))).plot(tmp_path / "empty.pdf")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_a_figure_shows_one_graph_throughout():
    draw = np.random.default_rng(0)
    truth, scores = draw.random((3, 5, 5)) < 0.3, draw.random((3, 5, 5))
    shown = picture(Comparison.of(truth, scores))
    alone = recovery.threshold_sweep(truth[0], scores[0])
    np.testing.assert_equal(shown.thresholds.to_dict(), alone.to_dict())
    lagged = picture(Comparison.of(np.moveaxis(truth, 0, 2), np.moveaxis(scores, 0, 2), lagged=True))
    summary = recovery.threshold_sweep(truth.any(0), scores.max(0))
    np.testing.assert_equal(lagged.thresholds.to_dict(), summary.to_dict())


def test_the_command_is_registered_and_errors_are_one_paragraph(files):
    arguments = ["recovery", "--true", str(files / "true.npy"), "--pred", str(files / "weights.npy")]
    done = graphgauge(*arguments)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("Error: A_pred: 3 scores are negative, the first at (0, 1).")
    assert "Traceback" not in done.stderr
