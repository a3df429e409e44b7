"""`graphgauge explanation` as a user meets it, and its figure."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.command import graphgauge
from tests.explanation.brute import Weighted, random_event, random_explanations

from graphgauge import explanation as ex
from graphgauge.old.cli.family import family_command

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
    ex.collect(Weighted(3), random_explanations(3, 8)).save(tmp_path / "table.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "weighted_model", raising=False)
    return tmp_path


command = family_command("explanation")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


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
    found = values(run(*options, "--levels", "0.1,0.5", "--topk", "2", "--save-table", "answers.jsonl"))
    expected = ex.evaluate(
        Weighted(3),
        random_explanations(3, 8, "two") + random_explanations(3, 8),
        explainer="two",
        levels=(0.1, 0.5),
        topk=2,
    )
    np.testing.assert_equal(found, expected.to_flat())
    again = values(run("--table", "answers.jsonl", "--explainer", "two", "--format", "json"))
    np.testing.assert_equal(again, found)


def test_options_reach_the_library(folder: Path) -> None:
    table = ex.read_table("table.jsonl")
    found = run(
        "--table",
        "table.jsonl",
        "--format",
        "json",
        "--signed",
        "--score",
        "max",
        "--best-mode",
        "keep",
        "--kl",
        "reverse",
        "--metrics",
        "fidelity_best,fidelity_drop@0.2,unfaithfulness@0.2",
    )
    expected = ex.evaluate(
        table,
        absolute=False,
        score="max",
        metrics=["fidelity_best", "fidelity_drop@0.2", "unfaithfulness@0.2"],
        options={"fidelity_best": {"mode": "keep"}, "unfaithfulness": {"kl": "reverse"}},
    )
    np.testing.assert_equal(values(found), expected.to_flat())
    theirs = values(run("--table", "table.jsonl", "--format", "json", "--convention", "pyg"))
    np.testing.assert_equal(theirs, ex.evaluate(table, convention="pyg").to_flat())
    asked = ("--explanations", "run.jsonl", "--model", "weighted_model:load", "--explainer", "one", "--format", "json")
    swept = values(run(*asked, "--acc-mode", "drop", "--acc-cap", "0.6", "--acc-points", "5", "--metrics", "acc_auc"))
    sweep = {"acc_auc": {"mode": "drop", "cap": 0.6, "points": 5}}
    direct = ex.evaluate(Weighted(3), random_explanations(3, 8), metrics=["acc_auc"], options=sweep)
    assert swept["acc_auc"] == direct["acc_auc"].value


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            (),
            2,
            "Give one form: --table; or --explanations and --model; or --explanations and --metrics; "
            "or --explanations and --convention.",
        ),
        (("--table", "table.jsonl", "--explanations", "run.jsonl"), 2, "does not take --explanations"),
        (("--explanations", "run.jsonl"), 2, "--model not given"),
        (("--table", "table.jsonl", "--levels", "0.1"), 2, "already has the answers, does not take --levels"),
        (("--table", "table.jsonl", "--levels", "some"), 2, "'some' is not a number"),
        (("--table", "absent.jsonl"), 3, "absent.jsonl: no such file"),
        (("--table", "run.jsonl"), 3, "not a table"),
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
        "--keep",
        "items",
        "--gate",
        "acc_auc >= 2",
    ]
    done = graphgauge(*arguments)
    assert done.returncode == 1, done.stderr
    assert "gate failed" in done.stderr
    content = json.loads((folder / "result.json").read_text())
    assert [entry["name"] for entry in content["receipt"]["inputs"]] == ["table"]
    assert content["side_files"][0]["rows"] == 8
    picture = (folder / "figure.svg").read_text()
    for text in (
        "fidelity_drop (higher is better)",
        "fidelity_keep (lower is better)",
        "acc_auc (keep the top 0 to 0.3)",
        "random",
    ):
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


@pytest.mark.parametrize("factory", ["leaving", "leaving_early", "exiting"])
def test_a_model_that_exits_has_not_been_evaluated(folder: Path, factory: str) -> None:
    found = graphgauge(
        "explanation",
        "--explanations",
        "run.jsonl",
        "--explainer",
        "one",
        "--model",
        f"weighted_model:{factory}",
        "-o",
        "result.json",
    )
    assert (found.returncode, found.stdout) == (3, "")
    assert "raised SystemExit: 0" in found.stderr
    assert not Path("result.json").exists()


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
    assert "<script>" not in (tmp_path / "infinite.svg").read_text()
    assert "random order" in (tmp_path / "static.svg").read_text()


def test_the_picture_has_its_levels_in_order_and_no_bars_that_were_not_asked(tmp_path: Path) -> None:
    from graphgauge.explanation.figure import picture
    from graphgauge.explanation.samples import Rules

    table = ex.collect(Weighted(3), random_explanations(3, 8), topk=(1, 4))
    drawn = picture(table, "one", Rules(), 0.95)
    assert (np.diff(drawn.shares) >= 0).all()
    found = ex.evaluate(table)
    assert sorted(drawn.drop["one"].value) == sorted(
        found[f"fidelity_drop@{level}"].value for level in table.settings.grid
    )
    assert drawn.drop["one"].value[0] == found["fidelity_drop@k=1"].value
    signed = picture(table, "one", Rules(absolute=False), 0.95)
    for name, band in signed.drop.items():
        assert (band.low <= band.value).all(), name
        assert (band.value <= band.high).all(), name
    assert signed.drop["one"].low.min() < 0
    other = ex.evaluate(table, options={"acc_auc": {"keep": "complement"}})
    assert "acc_auc" in other.skipped
    other.plot(tmp_path / "other.svg")
    assert "acc_auc" not in (tmp_path / "other.svg").read_text()


def test_the_legend_stands_below_the_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from graphgauge.explanation import figure as explanation_figure
    from graphgauge.old.core import figures

    boxes = []

    @contextmanager
    def measured(path: Any, columns: int, **size: Any) -> Any:
        with figures.figure(path, columns, **size) as axes:
            yield axes
            canvas = axes[0].figure.canvas
            canvas.draw()
            axis = axes[0]
            boxes.append((axis.get_legend().get_window_extent().y1, axis.xaxis.label.get_window_extent().y0))

    monkeypatch.setattr(explanation_figure, "figure", measured)
    rng = np.random.default_rng(3)
    context = random_event(rng, "e", edges=12, temporal=True)
    names = [f"explainer {letter}" for letter in "abcdefg"]
    said = [ex.Explanation(context, rng.random(len(context.subgraph)), name) for name in names]
    ex.evaluate(Weighted(3), said, explainer=names[0]).plot(tmp_path / "figure.png")
    ((legend, label),) = boxes
    assert legend < label
