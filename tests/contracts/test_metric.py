"""Metrics and checks of a user's script: declared in a few lines, tried at once, refused in words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contracts import toy

from graphgauge import check, metric
from graphgauge.core import finding
from graphgauge.core.errors import OptionError
from graphgauge.core.finding import findings_of
from graphgauge.core.metric import Estimate, NoChance, NoInterval, whole
from graphgauge.core.registry import metrics, select

RANKS = np.array([1, 2, 2, 5, 9])


def test_a_metric_of_ten_lines_has_interval_chance_and_a_place_in_results():
    @metric(
        "median_rank",
        family="toy",
        needs=("ranks",),
        direction="lower",
        bounds=(1.0, np.inf),
        unit="query",
        chance=lambda ranks: [toy.Reference("random ranks", 5.5)],
        interval=toy.over_queries,
        laws=toy.DECLARED["laws"],
    )
    def median_rank(ranks):
        """The rank that half of the queries reach."""
        return whole(np.median(ranks), len(ranks), (ranks - np.median(ranks)) / len(ranks))

    evaluation = toy.evaluate(RANKS, metrics=["median_rank", "hits@3"])
    result = evaluation["median_rank"]
    assert result == 2
    assert result.interval.low < 2 < result.interval.high
    assert result.chance.value == 5.5
    assert list(toy.evaluate(RANKS, metrics=[median_rank])) == ["median_rank"]
    assert "median_rank" in toy.evaluate(RANKS, metrics="all")
    assert "median_rank" not in toy.evaluate(RANKS)


def constant(value):
    def function(ranks):
        """Always the same."""
        return value

    return function


def without_words(ranks):
    return whole(0.5, 1)


def changing(ranks):
    """The first rank, which depends on the order."""
    return whole(ranks[0] / 10, len(ranks))


def failing(ranks):
    """Never."""
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("function", "changes", "words"),
    [
        (constant(whole(0.5, 1)), {"needs": None}, "does not declare needs"),
        (constant(whole(0.5, 1)), {"colour": "red"}, "unknown property of metric 'own' 'colour'"),
        (constant(whole(0.5, 1)), {"direction": "up"}, "has the direction 'up', not higher, lower, target, none"),
        (constant(whole(0.5, 1)), {"direction": "target"}, "has the direction target, and no target"),
        (constant(whole(0.5, 1)), {"bounds": (1, 0)}, r"has bounds \(1, 0\) that are not \(low, high\)"),
        (constant(whole(0.5, 1)), {"chance": 0.1}, r"has a chance that is neither a function nor NoChance\(why\)"),
        (constant(whole(0.5, 1)), {"interval": None}, "does not declare interval"),
        (
            constant(whole(0.5, 1)),
            {"laws": {"merge": True}},
            "does not declare the laws permutation, monotone, symmetry",
        ),
        (constant(whole(0.5, 1)), {"reference": "nobody1900"}, "cites 'nobody1900', which is not in the references"),
        (
            constant(whole(0.5, 1)),
            {"key": "own@{k}"},
            "has the parameter k in its key, which its function does not have",
        ),
        (without_words, {}, "has no docstring"),
        (failing, {}, "fails on the example of its family with ZeroDivisionError: division by zero"),
        (constant(0.5), {}, "returns float, not an Estimate"),
        (constant(whole(1.5, 1)), {}, r"has the value 1.5 on the example of its family, outside its bounds \(0, 1\)"),
        (constant(Estimate(np.zeros(2), np.ones(3))), {}, r"returns \(2,\) values and \(3,\) counts"),
        (changing, {}, "declares the law permutation, and changes from 0.1 to 0.9 under it"),
        (constant(whole(0.5, 1)), {"chance": lambda ranks: [0.5]}, "has a level of chance that is float"),
        (constant(whole(0.5, 1)), {"needs": ("scores",)}, "needs scores; samples of toy are ranks"),
    ],
)
def test_a_wrong_declaration_is_refused_in_words(function, changes, words):
    declared = {**toy.DECLARED, "interval": NoInterval("a test"), "chance": NoChance("a test"), **changes}
    key = declared.pop("key", "own")
    with pytest.raises(OptionError, match=words):
        metric(key, family="toy", **{name: value for name, value in declared.items() if value is not None})(function)
    assert key not in [each.key for each in metrics("toy")]


def test_a_named_metric_needs_its_sample():
    with pytest.raises(OptionError, match="needs ranks"):
        select("toy", ["hits@3"], ["scores"])
    assert select("toy", None, ["scores"])[0] == []


def test_two_different_metrics_cannot_have_one_key():
    with pytest.raises(OptionError, match="declared twice"):
        metric("hits@{k}", family="toy", **toy.DECLARED)(lambda_with_words)


def lambda_with_words(ranks, *, k=3):
    """Share of ranks of at most k."""
    return whole((ranks <= k).mean(), len(ranks))


def test_a_check_runs_where_it_has_what_it_needs(monkeypatch):
    monkeypatch.setattr(finding, "_CHECKS", dict(finding._CHECKS))

    @check("few-toys", family="toy", message="{n} ranks are few", remedy="Evaluate more.")
    def few(ranks, names=None):
        """Intervals over few ranks are wide."""
        return {"n": len(ranks)} if len(ranks) < 10 else None

    assert [each.message for each in findings_of("toy", {"ranks": RANKS})] == ["5 ranks are few"]
    assert [each.message for each in findings_of("toy", {"ranks": lambda: RANKS})] == ["5 ranks are few"]
    assert findings_of("toy", {"ranks": np.arange(20)}) == ()
    assert findings_of("toy", {}) == ()
    with pytest.raises(OptionError, match="severity is 'bad'"):
        check("x", family="toy", message="m", remedy="r", severity="bad")
