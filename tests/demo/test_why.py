"""The first picture and `graphgauge demo --why`: what is stored, drawn and computed belong together."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphgauge.cli.app import cli
from graphgauge.demo.why import NEGATIVES, answer, cases, compared, stored

DOCS = Path(__file__).parents[2] / "docs"


def test_every_case_has_the_answers_of_the_same_evaluators() -> None:
    for question, count in (("mrr", 6), ("shd", 5)):
        named = [[one.evaluator for one in stored()[case.name]] for case in cases() if case.question == question]
        assert len(named[0]) == count
        assert all(names == named[0] for names in named)


def test_graphgauge_answers_by_its_rules() -> None:
    found = {case.name: answer(case) for case in cases()}
    harmonic = sum(1 / place for place in range(1, NEGATIVES + 2)) / (NEGATIVES + 1)
    assert found["a constant"].low == pytest.approx(1 / (1 + NEGATIVES / 2))
    assert found["a constant"].chance == pytest.approx(harmonic)
    assert found["NaN"].text == "refused"
    assert found["one edge reversed"].low == found["one edge both ways"].low == 1
    sound = found["a sound model"]
    assert sound.low is not None
    assert sound.interval is not None
    assert sound.interval[0] < sound.low < sound.interval[1]


def test_sound_scores_get_the_same_value_from_every_library_that_ranks_all_candidates() -> None:
    case = next(case for case in cases() if case.name == "a sound model")
    ours = answer(case).low
    assert ours is not None
    # torchmetrics takes scores of 0 and below for irrelevant.
    others = [one for one in stored()[case.name] if not one.evaluator.startswith("torchmetrics")]
    assert others
    assert all(one.low is not None and math.isclose(one.low, ours, abs_tol=2e-6) for one in others)


def test_the_picture_is_what_the_answers_draw() -> None:
    spec = importlib.util.spec_from_file_location("why_picture", DOCS / "why_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = module.picture(list(compared()))
    assert drawn == (DOCS / "_static" / "why.svg").read_text(encoding="utf-8"), "run python docs/why_picture.py"


def test_demo_why_shows_all_evaluators_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["demo", "--why"])
    assert done.exit_code == 0
    for _, answers in compared():
        for one in answers:
            assert one.evaluator in done.output
            assert one.text in done.output
    assert not list(tmp_path.iterdir())
