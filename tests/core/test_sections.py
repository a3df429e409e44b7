"""Sections: names for several metrics at once, goals, and what a value means in words."""

import math

import numpy as np
import pytest
from tests.contracts import toy

from graphgauge import Evaluation, Grid, Result
from graphgauge.core import registry
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.metric import NoChance, NoInterval, whole
from graphgauge.core.registry import metric, section, sections, select

FACTS = {**toy.DECLARED, "chance": NoChance("none"), "interval": NoInterval("none"), "family": "toy"}


@pytest.fixture
def sectioned(monkeypatch):
    """Two metrics of a section, in a family that has none."""
    monkeypatch.setitem(registry._METRICS, "toy", dict(registry._METRICS["toy"]))
    monkeypatch.setitem(registry._SECTIONS, "toy", {})
    section("speed", family="toy", question="how fast")

    @metric("fast@{k}", section="speed", goal=0.7, interpretation=lambda result: f"{result.value} of 1", **FACTS)
    def fast(ranks, *, k=3):
        """Fast."""
        return whole(k / 10, 1)

    @metric("slow", section="speed", **FACTS)
    def slow(ranks):
        """Slow."""
        return whole(0.0, 1)

    return fast


def keys(names, samples=("ranks",), **swept):
    return [entry.key_of(**params) for entry, params in select("toy", names, samples, swept)[0]]


def test_a_section_stands_for_its_metrics(sectioned):
    assert [item.name for item in sections("toy")] == ["speed"]
    assert keys(["speed", "hits"], k=(1, 5)) == ["fast@1", "fast@5", "slow", "hits@1", "hits@5"]


def test_what_is_named_by_its_key_has_to_be_possible(sectioned):
    with pytest.raises(OptionError, match="slow needs ranks"):
        keys(["slow"], ("scores",))
    assert keys(["speed"], ("scores",)) == []
    assert keys(["fast@4"], k=(1, 5)) == ["fast@4"]


def test_an_unknown_name_may_be_a_section(sectioned):
    with pytest.raises(UnknownNameError, match="Did you mean 'speed'"):
        keys(["spead"])


def test_goal_and_reading(sectioned, tmp_path):
    result = sectioned.result(None, sectioned(None, k=8), {"k": 8}, confidence=0.95, conventions={})
    assert (result.goal, result.section, result.interpretation) == (0.7, "speed", "0.8 of 1")
    assert result.reached
    evaluation = Evaluation("toy", [result])
    again = Evaluation.load(evaluation.save(tmp_path / "a.json"))
    assert (again["fast@8"].goal, again["fast@8"].interpretation) == (0.7, "0.8 of 1")
    assert again.sections == ("speed",)
    assert list(again.section("speed")) == ["fast@8"]
    with pytest.raises(UnknownNameError, match="Did you mean 'speed'"):
        again.section("sped")


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
    facts = {"key": "x", "metric": "x", "n": 1, "unit": "query", "bounds": (0, 1)}
    assert Result(value=value, direction=direction, goal=goal, **facts).reached is expected


def test_breakdowns_drop_the_word_overall():
    grid = Grid({"c": np.array(["a"]), "n": np.array([9]), "mean": np.array([1.0])})
    facts = {"n": 9, "unit": "query", "direction": "none", "bounds": (0, 1)}
    result = Result(key="overall_mean", metric="overall_mean", value=1.0, **facts)
    found = Evaluation("toy", [result], breakdowns={"c": grid})
    assert found.to_flat() == {"overall_mean": 1.0, "mean_per_c": [1.0]}
    assert found.gate("overall_mean[c=a] >= 1")
