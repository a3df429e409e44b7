"""Gates against what intervals, margins and powers mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats
from tests.stats.test_many_runs import evaluated

from graphgauge import ranking, stats
from graphgauge.core.errors import InputError, OptionError

OLD = {seed: 0.70 + 0.01 * (seed * 3 % 7) for seed in range(8)}
NEW = {seed: 0.69 + 0.01 * (seed * 5 % 8) for seed in range(8)}


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_runs_without_common_seeds_by_welch(direction):
    old, new = list(OLD.values()), list(NEW.values())[:6]
    found = stats.gate({"m": new}, {"m": old}, metric="s", direction=direction, margin=0.01)
    wanted = scipy_stats.ttest_ind(new, old, equal_var=False)
    loss = np.mean(old) - np.mean(new) if direction == "higher" else np.mean(new) - np.mean(old)
    ends = sorted((-end if direction == "higher" else end) for end in wanted.confidence_interval(0.9))
    assert (found.loss, found.low, found.high) == pytest.approx((loss, *ends))
    assert (found.test, found.paired, found.n, found.unit) == ("Welch's t", False, 6, "run")
    assert found.worse == "undecided"
    runs = [[evaluated("m", [x, x + 0.1], seed=None) for x in side] for side in (new, old)]
    again = stats.gate(*runs, metric="mrr", margin=0.01)
    assert (again.test, again.n) == ("Welch's t", 6)
    apart = stats.Runs([*stats.read_runs({"a": old}), *stats.read_runs({"b": new})])
    assert not stats.compare(apart, metric="s", direction=direction).design.paired
    assert not stats.compare({"a": runs[0], "b": runs[1]}, metric="mrr").design.paired


def test_more_units_that_would_decide():
    old = {seed: 0.71 + 0.02 * (seed * 3 % 7) for seed in range(20)}
    new = {seed: 0.70 + 0.01 * (seed * 5 % 8) for seed in range(20)}
    found = stats.gate({"m": new}, {"m": old}, metric="acc", direction="higher", margin=0.01)
    differences = np.array([new[seed] - old[seed] for seed in range(20)])
    needed = stats.units_needed(0.01, differences.std(ddof=1), confidence=0.9)
    assert (found.paired, found.n, found.needed) == (True, 20, needed)
    more = (
        "So many would usually" if needed <= 20 else f"{needed} seeds ({needed - 20} more) would exclude it with 80 %"
    )
    assert found.advice.startswith(more) or found.worse != "undecided"
    level = scipy_stats.ttest_1samp(-differences, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(level))


def test_a_loss_equal_to_the_margin_is_neither_excluded_nor_shown():
    new, old = ({"m": dict.fromkeys(range(8), x)} for x in (0.5, 0.75))
    found = [stats.gate(new, old, metric="acc", direction="higher", margin=m).worse for m in (0.2, 0.25, 0.3)]
    assert found == ["shown", "undecided", "excluded"]


def test_without_intervals_nothing_is_excluded():
    random = np.random.default_rng(0)
    old, new = evaluated("m", random.random(50)), evaluated("m", random.random(50))
    found = stats.gate(new, old, metric="mrr", margin=0.1, over="intervals")
    assert (math.isnan(found.low), found.worse, found.unit) == (True, "undecided", "interval")
    assert found.advice.startswith("Keep the values of items on both sides")
    assert "no interval, from two intervals" in found.evidence


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"margin": 0}, "margin must be a number above 0"),
        ({"margin": math.inf}, "margin must be a number above 0"),
        ({"confidence": 0.5}, "confidence is 0.5"),
        ({"direction": "up"}, "unknown direction"),
        ({"over": "items"}, "several runs of a side are compared over seeds"),
    ],
)
def test_refusals(options, said):
    with pytest.raises((InputError, OptionError), match=said):
        stats.gate({"m": NEW}, {"m": OLD}, **{"metric": "acc", "margin": 0.1, **options})


def test_sides_are_of_one_method_and_on_the_same_datasets():
    with pytest.raises(InputError, match="the baseline side has 2 methods: a, b"):
        stats.gate({"m": NEW}, {"a": OLD, "b": OLD}, metric="acc", margin=0.1)
    sides = [[evaluated("m", [0.5, 0.6 + 0.01 * s], seed=s, dataset=d) for s in range(6)] for d in ("x", "y", "")]
    with pytest.raises(InputError, match="the new side is on x, the baseline on y"):
        stats.gate(sides[0], sides[1], metric="mrr", margin=0.1)
    for pair in (sides[0], sides[2]), (sides[2], sides[0]):
        assert stats.gate(*pair, metric="mrr", margin=0.1).dataset == "x"


@pytest.mark.parametrize(("metric", "sign"), [("mrr", 1), ("mean_rank", -1)])
def test_losses_are_between_the_extremes_of_two_intervals(metric, sign):
    random = np.random.default_rng(1)
    old, new = (
        ranking.evaluate(random.normal(m, 1, 60), random.normal(0, 1, (60, 9)), metrics=[metric]) for m in (1, 2)
    )
    (low, high), (new_low, new_high) = (tuple(each[metric].interval)[:2] for each in (old, new))
    found = stats.gate(new, old, metric=metric, margin=5, over="intervals")
    ends = (low - new_high, high - new_low) if sign > 0 else (new_low - high, new_high - low)
    assert (found.low, found.high) == pytest.approx(ends)
    assert found.loss == pytest.approx(sign * (old[metric].value - new[metric].value))
