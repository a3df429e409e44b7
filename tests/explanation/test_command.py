"""`graphgauge explanation` as a user meets it, and its figure."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.command import graphgauge
from tests.explanation.brute import Weighted, random_explanations

from graphgauge import explanation as ex
from graphgauge.cli.app import cli
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import family_figure, svg_text

MODEL = """
import sys
sys.path.insert(0, {root!r})
from tests.explanation.brute import Weighted

def load():
    return Weighted(3)

class Failing(Weighted):
    def predict(self, subgraph, target, masks):
        return {{}}["weights"]

def failing():
    return Failing(3)

class Leaving(Weighted):
    def predict(self, subgraph, target, masks):
        sys.exit(0)

class LeavingEarly:
    predict = Weighted.predict

    @property
    def model_output(self):
        sys.exit(0)

def leaving():
    return Leaving(3)

def leaving_early():
    return LeavingEarly()

def exiting():
    sys.exit(0)

not_callable = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "weighted_model.py").write_text(MODEL.format(root=str(Path(__file__).parents[2])))
    ex.write_explanations(random_explanations(3, 8) + random_explanations(3, 8, "two"), tmp_path / "run.jsonl")
    ex.collect(Weighted(3), random_explanations(3, 8), metrics="all").save(tmp_path / "table.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "weighted_model", raising=False)
    return tmp_path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(cli, ["explanation", *map(str, arguments)])


def values(outcome: Any) -> dict[str, float]:
    assert outcome.exit_code == 0, outcome.output
    entries = json.loads(outcome.stdout)["results"]
    return {entry["key"]: np.nan if entry["value"] is None else entry["value"] for entry in entries}


def test_a_table_says_what_the_library_says(folder: Path) -> None:
    found = values(run("--table", "table.jsonl", "--format", "json"))
    np.testing.assert_equal(found, ex.evaluate(ex.read_table("table.jsonl")).to_flat())


def test_a_model_is_imported_asked_and_its_answers_are_kept(folder: Path) -> None:
    options = (
        "--explanations",
        "run.jsonl",
        "--model",
        "weighted_model:load",
        "--explainer",
        "two",
        "--format",
        "json",
    )
    found = values(run(*options, "--sparsity-levels", "0.1,0.5", "--topk", "2", "--save-answers", "answers.jsonl"))
    expected = ex.evaluate(
        Weighted(3),
        random_explanations(3, 8, "two") + random_explanations(3, 8),
        explainer="two",
        sparsity_levels=(0.1, 0.5),
        topk=2,
    )
    np.testing.assert_equal(found, expected.to_flat())
    again = values(run("--table", "answers.jsonl", "--explainer", "two", "--format", "json"))
    np.testing.assert_equal(again, found)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--explainer", "one"), 2, "either a table or explanations are evaluated. Give --table, or --explanations"),
        (("--table", "table.jsonl", "--explanations", "run.jsonl"), 2, "either a table or explanations"),
        (("--explanations", "run.jsonl", "--explainer", "one"), 3, "model: is missing"),
        (("--table", "table.jsonl", "--model", "weighted_model:load"), 2, "a table has its answers"),
        (("--table", "table.jsonl", "--sparsity-levels", "0.1"), 2, "the table was collected already"),
        (("--table", "table.jsonl", "--sparsity-levels", "some"), 2, "--sparsity-levels"),
        (("--table", "absent.jsonl"), 3, "absent.jsonl: no such file"),
        (("--table", "run.jsonl"), 3, "not a table: it has no header"),
        (("--explanations", "run.jsonl", "--model", "weighted_model:load"), 2, "2 explainers: one, two"),
        (("--explanations", "run.jsonl", "--model", "no_such_module:load"), 2, "no module 'no_such_module'"),
        (("--explanations", "run.jsonl", "--model", "weighted_model:other"), 2, "has no function 'other'"),
        (("--explanations", "run.jsonl", "--model", "weighted_model:not_callable"), 2, "has no function"),
        (("--explanations", "run.jsonl", "--model", "weighted_model"), 2, "MODULE:FACTORY"),
    ],
)
def test_errors_are_one_paragraph_and_a_code(
    folder: Path, arguments: tuple[str, ...], status: int, message: str
) -> None:
    outcome = run(*arguments)
    said = f"{outcome.output}{outcome.exception}"
    assert message in said
    assert getattr(outcome.exception, "exit_code", outcome.exit_code) == status


def test_the_whole_command_writes_result_items_and_figure(folder: Path) -> None:
    arguments = [
        "explanation",
        "--table",
        "table.jsonl",
        "-o",
        "result.json",
        "--figure",
        "figure.svg",
        "--keep-items",
        "--gate",
        "acc_auc >= 2",
    ]
    done = graphgauge(*arguments)
    assert done.returncode == 1, done.stderr
    assert "acc_auc" in done.stderr + done.stdout
    content = json.loads((folder / "result.json").read_text())
    assert [entry["name"] for entry in content["receipt"]["inputs"]] == ["table"]
    assert content["side_files"][0]["rows"] == 8
    picture = (folder / "figure.svg").read_text()
    for text in ("decrease without the top edges", "decrease with them alone", "acc_auc", "random explainer"):
        assert text in picture, text


def test_a_model_that_fails_is_one_paragraph_and_with_debug_the_place(folder: Path) -> None:
    words = ["explanation", "--explanations", "run.jsonl", "--explainer", "one", "--model", "weighted_model:failing"]
    done = graphgauge(*words)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "Error: event 'e0', model Failing.predict: raised KeyError: 'weights'. Run it alone; "
        "--debug shows the traceback.\n"
    )
    shown = graphgauge(*words, "--debug").stderr
    assert 'return {}["weights"]' in shown


def test_figures_of_every_kind_of_event(tmp_path: Path) -> None:
    static = ex.Context(ex.Subgraph([[0, 1, 1, 2], [1, 0, 2, 2]]), truth=[1, 1, 0, 0])
    bare = ex.Context(ex.Subgraph([[0], [1]], candidates=[]))
    infinite = ex.Context(ex.Subgraph([[0, 1], [1, 2]], times=[0, 0]), event="<script>" * 20)
    cases = {
        "static.svg": [ex.Explanation(static, [1, 2, 3, 4], "random")],
        "bare.png": [ex.Explanation(bare, [])],
        "infinite.svg": [ex.Explanation(infinite, [np.inf, -np.inf], "<b>&")],
        "none.pdf": [],
    }
    for name, explanations in cases.items():
        ex.evaluate(Weighted(0), explanations).plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    ex.evaluate(None, cases["static.svg"], metrics=["truth_auc"]).plot(tmp_path / "bars.svg")
    assert "<script>" not in (tmp_path / "infinite.svg").read_text()


def test_curves_are_in_rising_order_and_those_of_stored_results_are_drawn(tmp_path: Path) -> None:
    table = ex.collect(Weighted(3), random_explanations(3, 8) + random_explanations(3, 8, "two"), topk=(1, 4))
    found = {name: ex.evaluate(table, explainer=name) for name in table.explainers}
    grid = found["one"].drawings["curves"]
    assert (np.diff(grid["share"]) >= 0).all()
    signed = ex.evaluate(table, explainer="one", metrics=["fidelity_drop.signed"])
    assert sorted(grid["drop"]) == pytest.approx(sorted(each.value for each in signed.values()))
    assert (grid["drop.low"] <= grid["drop"]).all()
    assert (grid["keep"] <= grid["keep.high"]).all()
    for name, each in found.items():
        each.save(tmp_path / f"{name}.json")
    stored = {name: Evaluation.load(tmp_path / f"{name}.json") for name in found}
    drawn = [svg_text(family_figure("explanation", each)) for each in (found, stored)]
    assert "one" in drawn[0]
    assert drawn[0] == drawn[1]
