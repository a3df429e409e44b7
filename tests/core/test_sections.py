"""Sections: names for several metrics at once, goals, and what a value means in words."""

import math

import numpy as np
import pytest

from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.old.core import metric as registry
from graphgauge.old.core.metric import Estimate, Exempt, NoChance, NoInterval, asked, metric, section, sections, select
from graphgauge.old.core.result import Evaluation, Result, Table
from graphgauge.old.core.schema import evaluation_from_dict

NO = Exempt("not tried here")
DECLARED = {
    "family": "ranking",
    "needs": ("ranks",),
    "direction": "higher",
    "bounds": (0, 1),
    "unit": "query",
    "conventions": {"empty": "nan"},
    "reference": "bordes2013",
    "chance": NoChance("none"),
    "interval": NoInterval("none"),
    "laws": dict.fromkeys(registry.LAWS, NO),
}


@pytest.fixture
def sectioned(monkeypatch):
    """Two metrics of a section with another name, in a family that has none."""
    registry.metrics("ranking")
    monkeypatch.setitem(registry._REGISTRY, "ranking", dict(registry._REGISTRY["ranking"]))
    monkeypatch.setitem(registry._SECTIONS, "ranking", {})
    section("speed", family="ranking", question="how fast", priority="low", aliases=("pace",))

    @metric(key="fast@{k}", section="speed", goal=0.7, interpretation=lambda result: f"{result.value} of 1", **DECLARED)
    def fast(sample, *, k=3):
        """Fast."""
        return Estimate(np.array([k / 10]), np.array([1]))

    @metric(key="slow", section="speed", **DECLARED | {"needs": ("nothing",)})
    def slow(sample):
        """Slow."""
        return Estimate(np.array([0.0]), np.array([1]))

    return fast


def keys(chosen):
    return [entry.key_of(**params) for entry, params in chosen]


def test_a_section_stands_for_its_metrics(sectioned):
    assert [item.name for item in sections("ranking")] == ["speed"]
    for name in ("speed", "pace"):
        assert [item.metric.key for item in asked("ranking", [name])] == ["fast@{k}", "slow"]
        assert keys(select("ranking", [name, "mrr"], ["ranks"], {"k": (1, 5)})) == ["fast@1", "fast@5", "mrr"]


def test_what_is_named_by_its_key_has_to_be_possible(sectioned):
    with pytest.raises(OptionError, match="slow needs nothing"):
        select("ranking", ["slow"], ["ranks"], {})
    assert keys(select("ranking", ["fast@4"], ["ranks"], {"k": (1, 5)})) == ["fast@4"]


def test_an_unknown_name_lists_all_that_are_known(sectioned):
    with pytest.raises(UnknownNameError, match=r"Did you mean 'speed'\? Known: speed, pace, mrr"):
        select("ranking", ["spead"], ["ranks"], {})


def test_families_without_sections_are_as_they_were():
    assert sections("explanation") == ()
    with pytest.raises(UnknownNameError) as caught:
        select("explanation", ["fidelity_dro"], ["table"], {})
    assert "Known" not in str(caught.value)


def test_goal_and_reading(sectioned):
    estimate = sectioned(None, k=8)
    result = sectioned.result(None, estimate, {"k": 8}, confidence=0.95, conventions={})
    assert (result.goal, result.priority, result.interpretation) == (0.7, "low", "0.8 of 1")
    assert result.reached
    again = evaluation_from_dict(Evaluation("ranking", [result]).to_dict())["fast@8"]
    assert (again.goal, again.priority, again.interpretation) == (0.7, "low", "0.8 of 1")
    assert "speed (low priority): fast@8 0.8000, target > 0.7000, reached: 0.8 of 1." in str(
        Evaluation("ranking", [result])
    )


@pytest.mark.parametrize(
    ("value", "direction", "goal", "expected"),
    [
        (0.7, "higher", 0.7, False),
        (0.8, "higher", 0.7, True),
        (0.7, "lower", 0.7, True),
        (0.8, "lower", 0.7, False),
        (0.8, "higher", None, None),
        (math.nan, "higher", 0.7, None),
        (0.8, "higher", math.nan, None),
    ],
)
def test_reached(value, direction, goal, expected):
    assert Result("x", "x", value, 1, "query", direction, (0, 1), goal=goal).reached is expected


def test_breakdowns_drop_the_word_overall():
    table = Table("c", {"c": np.array(["a"]), "n": np.array([9]), "mean": np.array([1.0]), "mean.n": np.array([4])})
    result = Result("overall_mean", "overall_mean", 1.0, 9, "query", "none", (0, 1))
    found = Evaluation("ranking", [result], breakdowns={"c": table})
    assert found["overall_mean"].by("c").to_dict() == {"c": ["a"], "n": [4], "value": [1.0]}
    assert found.to_flat()["mean_per_c"] == [1.0]
