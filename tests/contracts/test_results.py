"""Results and evaluations: numbers that compare, copies, words, notebooks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.contracts import toy

from graphgauge import Reference, Result
from graphgauge.core.errors import InputError, UnknownNameError
from graphgauge.core.finding import Finding, Findings

RANKS = np.array([1, 2, 2, 5, 9, 1, 4, 3])


@pytest.fixture
def evaluation():
    labels = np.array(["a", "b"] * 4)
    return toy.evaluate(RANKS, groups={"side": labels}, method="ours", dataset="toy", seed=0)


def test_a_result_says_everything_in_a_line(evaluation):
    assert str(evaluation["hits@3"]) == (
        "hits@3 ↑ 0.6250, interval 0.2827 to 0.9673 (95 %, normal over queries), random ranks 0.3000, n = 8 (query), "
        "higher is better"
    )


@pytest.mark.parametrize(("value", "inside"), [(0.4, True), (0.61, False), (0.6 + 1e-12, True)])
def test_a_band_contains_up_to_rounding(value, inside):
    assert Reference("random", 0.5, low=0.4, high=0.6).contains(value) is inside
    assert Reference("random", 0.5).contains(value) is None


def test_an_evaluation_prints_its_table_and_what_to_conclude(evaluation):
    lines = str(evaluation).splitlines()
    assert lines[0] == "toy · ours on toy  (ties: realistic)"
    assert lines[-1] == ("hits@3 is 0.6250, between 0.2827 and 0.9673 with 95 % confidence; random ranks has 0.3000.")
    assert sum("side" in line for line in lines) == 1


def test_breakdowns_are_read_by_axis(evaluation):
    grid = evaluation.by("side")
    assert grid["side"].tolist() == ["a", "b"]
    assert grid["hits@3"].tolist() == [0.5, 0.75]
    with pytest.raises(UnknownNameError, match="side"):
        evaluation.by("sides")
    with pytest.raises(InputError, match="nothing was broken down"):
        toy.evaluate(RANKS).by("side")


def test_a_metric_that_was_not_computed_says_how_to_get_it(evaluation):
    with pytest.raises(UnknownNameError, match=r'metrics=\["hits@7"'):
        evaluation["hits@7"]
    with pytest.raises(UnknownNameError, match="Did you mean 'hits@3' or 'hits@1'"):
        evaluation["hit@3"]


def test_the_same_results_under_another_name_leave_the_first_as_it_was(evaluation):
    assert evaluation.named(method="theirs").run.method == "theirs"
    assert evaluation.run.method == "ours"


def test_flat_numbers_have_breakdowns_as_lists(evaluation):
    flat = evaluation.to_flat()
    assert flat["hits@1"] == 0.25
    assert flat["hits@3_per_side"] == [0.5, 0.75]


def test_notebooks_show_tables_and_no_dumps(evaluation):
    findings = Findings([Finding(check="x", severity="note", message="<b>", remedy="r")])
    for shown in (
        evaluation,
        evaluation["hits@1"],
        evaluation.by("side"),
        findings,
        findings[0],
        evaluation.per_item.to_grid(),
    ):
        page = shown._repr_html_()
        assert page.startswith("<table><caption>")
    assert "<b>" not in findings._repr_html_()


def test_every_error_is_printed_and_three_of_the_others():
    def finding(severity, number):
        return Finding(check=f"{severity}-{number}", severity=severity, message="m", remedy="r")

    many = Findings([finding("note", 0), *(finding("warning", i) for i in range(4)), finding("error", 0)])
    assert [each.check for each in many.worst()] == ["error-0", "warning-0", "warning-1"]
    assert len(Findings(finding("error", i) for i in range(5)).worst()) == 5


def test_no_value_has_a_reason():
    names = {"key": "x", "metric": "x", "unit": "u", "direction": "higher", "bounds": (0, 1)}
    undefined = Result(value=math.nan, n=0, reason="no items", **names)
    assert not undefined.defined
    assert "no value, no items" in str(undefined)
