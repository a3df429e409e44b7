"""`graphgauge gate`: exit codes, JUnit, annotations, Markdown, SVG, and gates in the JSON of other commands."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from tests.command import graphgauge

from graphgauge import Evaluation


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    draw = np.random.default_rng(0)
    pos = draw.normal(1, 1, 300)
    np.save(place / "neg.npy", draw.normal(0, 1, (300, 20)))
    for name, shift in {"main": 0.0, "better": 0.3, "equal": 0.0, "worse": -0.4}.items():
        np.save(place / f"{name}.npy", pos + shift)
        done = graphgauge(
            "ranking",
            "--pos-scores",
            f"{name}.npy",
            "--neg-scores",
            "neg.npy",
            "--keep-items",
            "-o",
            f"{name}.json",
            "--quiet",
            cwd=place,
        )
        assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize(("name", "code"), [("better", 0), ("equal", 0), ("worse", 1)])
def test_a_checkpoint_in_ci(folder: Path, tmp_path: Path, name: str, code: int) -> None:
    files = [tmp_path / each for each in ("gate.json", "junit.xml", "summary.md", "change.svg")]
    flags = [word for pair in zip(("-o", "--junit", "--summary", "--figure"), files, strict=True) for word in pair]
    done = graphgauge(
        "gate",
        f"{name}.json",
        "--against",
        "main.json",
        "--metric",
        "mrr",
        "--metric",
        "hits@10",
        "--margin",
        0.02,
        "--gate",
        "mrr.low > chance",
        *flags,
        cwd=folder,
        GITHUB_ACTIONS="true",
    )
    assert done.returncode == code, done.stderr
    content = json.loads(files[0].read_text())
    tested = ["passed", "failed"][code]
    assert [gate["verdict"] for gate in content["gates"]] == [tested, tested, "passed"]
    assert [test["worse"] for test in content["receipt"]["tests"]] == [["excluded", "shown"][code]] * 2
    suite = ET.parse(files[1]).getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("3", str(2 * code))
    assert next(case.get("name") for case in suite) == "mrr not worse by more than 0.02"
    notes = [line for line in done.stderr.splitlines() if line.startswith("::")]
    assert [note.partition(" ")[0] for note in notes] == ["::error"] * (2 * code) + ["::notice"]
    assert not code or "90 %25 interval" in notes[0]
    assert ("2 of 3 gates did not pass" if code else "All 3 gates hold") in files[2].read_text()
    assert files[3].read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["main.json"], 2, "there is no gate"),
        (["main.json", "--metric", "mrr"], 2, "need --against"),
        (["main.json", "--against", "main.json", "--metric", "mrr"], 2, "needs --metric and --margin"),
        (["main.json", "--against", "no.json", "--metric", "mrr", "--margin", 1], 3, "no such file"),
        (
            ["main.json", "--against", "main.json", "--metric", "mrr", "--margin", 1, "-o", "main.json"],
            2,
            "also an input",
        ),
        (["main.json", "--gate", "mrr"], 2, "cannot be read"),
        (["main.json", "--gate", "mrr >= 0.9"], 1, ""),
        (["main.npy", "--against", "main.json", "--metric", "mrr", "--margin", 1], 3, "neither a result file"),
        (["main.json", "--against", "main.json", "--metric", "mrr", "--margin", 1, "--margin", 1], 2, "2 margins"),
    ],
)
def test_exit_codes(folder: Path, words: list[object], code: int, said: str) -> None:
    done = graphgauge("gate", *words, cwd=folder)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def test_undecided_fails_unless_asked(folder: Path) -> None:
    words = [
        "gate",
        "equal.json",
        "--against",
        "main.json",
        "--metric",
        "mrr",
        "--margin",
        0.001,
        "--over",
        "intervals",
    ]
    done = graphgauge(*words, cwd=folder)
    assert (done.returncode, "it is undecided whether mrr is worse" in done.stdout) == (1, True)
    done = graphgauge(*words, "--undecided", "pass", cwd=folder, GITHUB_ACTIONS="true")
    assert (done.returncode, "::notice " in done.stderr) == (0, True)


def test_names_from_files_give_no_commands_to_github(folder: Path, tmp_path: Path) -> None:
    name = "a,b::c%0A%25\n::error::x.json"
    (tmp_path / name).write_bytes((folder / "main.json").read_bytes())
    (tmp_path / "main.items.npz").write_bytes((folder / "main.items.npz").read_bytes())
    files = ("--summary", "s.md", "--junit", "j.xml")
    done = graphgauge("gate", name, "--gate", "mrr > 0.9", *files, cwd=tmp_path, GITHUB_ACTIONS="true")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if line.startswith("::")] == [
        line for line in done.stderr.splitlines() if line.startswith("::error title=")
    ]
    assert "\n::error" not in (tmp_path / "s.md").read_text()
    ET.parse(tmp_path / "j.xml")


def test_gates_are_in_the_result_and_compute_their_metrics(folder: Path, tmp_path: Path) -> None:
    result = tmp_path / "x.json"
    scores = ("--pos-scores", "main.npy", "--neg-scores", "neg.npy", "--quiet")
    gates = ("--gate", "roc_auc > chance", "--gate", "hits@5 >= 0.99", "--gate", "mrr.low > chance")
    done = graphgauge("ranking", *scores, *gates, "-o", result, cwd=folder)
    assert done.returncode == 1
    evaluation = Evaluation.load(result)
    assert [outcome.passed for outcome in evaluation.gates] == [True, False, True]
    assert {"roc_auc", "hits@5", "mrr", "hits@10"} <= set(evaluation)
    printed = json.loads(graphgauge("ranking", *scores, *gates, "--format", "json", cwd=folder).stdout)
    assert printed["gates"] == json.loads(result.read_text())["gates"]
