"""Intervals over time: where there are none by design, what they are over, and values of single blocks."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from graphgauge import forecasting
from graphgauge.stats.intervals import over_time


def walk(steps: int, nodes: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.normal(10, 2, (steps, 2, nodes))
    std = rng.uniform(0.5, 1.5, y.shape)
    return y, y + std * rng.normal(size=y.shape), std


@pytest.mark.parametrize(
    ("key", "steps"), [("mae", 30), ("rmse", 30), ("crps", 30), ("coverage_95", 200), ("interval_score_95", 1000)]
)
def test_there_are_intervals_from_so_many_steps_on(key: str, steps: int) -> None:
    y, mean, std = walk(steps)
    found = forecasting.evaluate(y, mean, std=std, metrics=[key])[key]
    assert found.interval is not None
    assert found.interval.over == "time steps"
    low, high = found.interval
    assert low < found.value < high
    # Long series are in blocks of up to four steps.
    fewer = forecasting.evaluate(y[4:], mean[4:], std=std[4:], metrics=[key])[key]
    assert fewer.interval is None
    assert f"at least {steps} time steps" in (fewer.no_interval or "")


def test_coverage_of_80_needs_50_steps() -> None:
    y, mean, std = walk(50)
    found = forecasting.evaluate(y, mean, std=std, metrics=["coverage_80"])
    assert found["coverage_80"].interval is not None
    assert found.by("horizon")["coverage_80.low"].min() > 0


def test_the_interval_is_that_of_the_mean_of_each_step() -> None:
    y, mean, _ = walk(90)
    found = forecasting.evaluate(y, mean)["mae"]
    steps = np.abs(mean - y).mean(axis=(1, 2))
    bounds = over_time(np.array([steps.mean()]), (steps - steps.mean())[:, None] / 90, 0.95, size=np.array([0.0]))
    assert tuple(found.interval) == pytest.approx((bounds.low[0], bounds.high[0]), rel=1e-12)


def test_scales_of_the_data_move_intervals_with_the_value() -> None:
    y, mean, _ = walk(90)
    plain = forecasting.evaluate(y, mean, metrics=["mae", "rmse"])
    for factor in (1e150, 1e-120):
        scaled = forecasting.evaluate(y * factor, mean * factor, metrics=["mae", "rmse"])
        for key in plain:
            assert tuple(scaled[key].interval) == pytest.approx([factor * end for end in plain[key].interval], rel=1e-9)


def test_a_masked_node_has_its_own_steps() -> None:
    y, mean, _ = walk(80)
    mask = np.ones(y.shape, bool)
    mask[25:, :, 1] = False
    mask[:, :, 2] = False
    grid = forecasting.evaluate(y, mean, mask=mask).by("node")
    assert np.isfinite(grid["mae.low"][[0, 3]]).all()
    assert np.isfinite(grid["mae"][1])
    assert np.isnan(grid["mae.low"][[1, 2]]).all()
    assert grid["n"].tolist() == [160, 50, 0, 160]
    assert np.isnan(grid["mae"][2])


def test_items_are_the_blocks_whose_mean_is_the_value() -> None:
    y, mean, std = walk(300)
    mask = np.random.default_rng(1).random(y.shape) < 0.6
    found = forecasting.evaluate(y, mean, std=std, mask=mask, scores={"own": np.abs(y)})
    items = found.per_item
    assert items is not None
    assert items.unit == "time step"
    assert items.ids.tolist() == list(range(0, 300, 2))
    for key in ("mae", "mape", "crps", "nll", "coverage_95", "own"):
        weights = items.weights[key]
        assert np.nansum(items[key] * weights) / weights.sum() == pytest.approx(found[key].value, rel=1e-12), key
    first = mask[:2]
    assert items["mae"][0] == pytest.approx(np.abs(mean - y)[:2][first].mean(), rel=1e-12)


def test_evaluations_are_pickled_and_copied() -> None:
    y, mean, std = walk(60)
    found = forecasting.evaluate(y, mean, std=std)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert {key: each.value for key, each in other.items()} == {key: each.value for key, each in found.items()}
        assert other.findings == found.findings
        assert set(other.drawings) == {"pit", "reliability", "spread"}


def test_truths_that_are_equal_have_no_interval() -> None:
    found = forecasting.evaluate(np.zeros(60), np.ones(60))["mae"]
    assert found.interval is None
    assert found.no_interval == "needs at least 30 time steps that differ"


def test_many_groups_are_not_followed_over_time() -> None:
    y = np.random.default_rng(0).normal(size=(40, 1, 3000))
    found = forecasting.evaluate(y, y + 1)
    assert found["mae"].n == y.size
    assert "mae.low" not in found.by("node")
