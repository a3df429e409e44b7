"""The first picture: what is stored, drawn and computed belong together."""

from __future__ import annotations

import math
import sys

import pytest
from tests.docs.pages import DOCS

sys.path.insert(0, str(DOCS))
from why import NEGATIVES, answer, cases, compared, picture, stored


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
    drawn = picture(list(compared()))
    assert drawn == (DOCS / "_static" / "why.svg").read_text(encoding="utf-8"), "run python docs/why.py"
