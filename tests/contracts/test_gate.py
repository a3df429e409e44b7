"""Requirements in words: what holds, what fails, what cannot be read or found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contracts import toy

from graphgauge.core.errors import InputError, OptionError
from graphgauge.core.evaluation import Evaluation

RANKS = np.array([1, 2, 2, 5, 9, 1, 4, 3])


@pytest.fixture
def evaluation():
    return toy.evaluate(RANKS, groups={"side": np.array(["a", "b"] * 4)})


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("hits@3 >= 0.6", "passed"),
        ("hits@3 > 0.625", "failed"),
        ("hits@3 == 0.625", "passed"),
        ("hits@3 != 0.625", "failed"),
        ("hits@3.low > chance", "failed"),
        ("hits@3 > chance", "passed"),
        ("hits@3.high <= 1", "passed"),
        ("hits@3[side=b] >= 0.75", "passed"),
        ("hits@3[side] >= 0.75", "failed"),
        ("hits@3[side=a].high < 0", "failed"),
    ],
)
def test_what_holds(evaluation, text, verdict):
    outcome = evaluation.gate(text)
    assert outcome.verdict == verdict
    assert bool(outcome) == outcome.passed == (verdict == "passed")
    assert text in str(outcome)


def test_the_group_that_decides_is_named(evaluation):
    assert evaluation.gate("hits@3[side] >= 0.6").group == "side=a"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hits@3", "cannot be read"),
        ("hits@3 >= x", "cannot be read"),
        ("hits@3 >= nan", "cannot be read"),
        ("hits@3[side] > chance", "groups have no level of chance"),
        ("hit@3 > 0", "unknown metric 'hit@3'"),
        ("hits@7 > 0", "It was not computed"),
        ("hits@3[sides] > 0", "unknown axis 'sides'"),
        ("hits@3[side=c] > 0", "unknown side 'c'"),
        ("hits@3 > ideal", "has no level of ideal"),
    ],
)
def test_what_is_refused(evaluation, text, words):
    with pytest.raises((OptionError, InputError), match=words):
        evaluation.gate(text)


def test_nan_passes_no_gate():
    evaluation = toy.evaluate(np.array([np.nan]))
    for sign in (">", ">=", "<", "<=", "==", "!="):
        nan = evaluation["hits@3"].value != evaluation["hits@3"].value
        assert not evaluation.gate(f"hits@3 {sign} {0.0 if nan else 2.0}") or sign in ("<", "<=", "!=")


def test_a_number_that_rounding_would_hide_is_told_apart(evaluation):
    assert "0.62500000001" in str(evaluation.gate("hits@3 >= 0.62500000001"))


@pytest.mark.parametrize(("limit", "verdict"), [(0.1, "passed"), (0.5, "undecided"), (0.99, "failed")])
def test_a_mean_of_which_not_all_was_read_is_decided_by_its_whole_interval(evaluation, limit, verdict):
    adaptive = {"until": {"complete": False, "read": 8, "of": 100}}
    partial = Evaluation("toy", evaluation.values(), options=adaptive)
    outcome = partial.gate(f"hits@3 > {limit}")
    assert outcome.verdict == verdict
    assert ("after 8 of 100 items" in str(outcome)) == (verdict == "undecided")
