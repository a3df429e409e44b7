"""How often the intervals hold the truth where neighbours in time err together, and how often others do."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

from graphgauge import forecasting
from graphgauge.forecasting.serial import cosine_error, frequencies
from graphgauge.old.core.result import Evaluation

KEYS = ("mae", "rmse", "bias", "crps", "coverage_95")
NODES = 3
# Runs in one evaluation.
TOGETHER = 250


def errors(rng: np.random.Generator, steps: int, memory: float) -> np.ndarray:
    """Standard normal errors of nodes, each following its own past, half of it shared by all nodes."""
    shocks = math.sqrt(1 - memory**2) * rng.normal(size=(steps + 100, NODES + 1))
    series = lfilter([1.0], [1.0, -memory], shocks, axis=0)
    return ((series[:, :NODES] + series[:, NODES:]) / math.sqrt(2))[100:]


@functools.cache
def truth() -> dict[str, float]:
    """What the metrics tend to: errors are normal with mean 0.3 and variance 1, and claim a deviation of 1.5."""
    e = np.linspace(-11, 11, 200_001)
    weight = norm.pdf(e, 0.3) * (e[1] - e[0])
    means = {key: float((weight * values).sum()) for key, values in cell_values(e).items()}
    return means | {"rmse": math.sqrt(means["rmse"])}


def cell_values(e: np.ndarray) -> dict[str, np.ndarray]:
    """What each cell adds to the mean behind a metric."""
    z = e / 1.5
    crps = 1.5 * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / math.sqrt(math.pi))
    inside = (np.abs(z) <= norm.ppf(0.975)).astype(float)
    return {"mae": np.abs(e), "rmse": e**2, "bias": e, "crps": crps, "coverage_95": inside}


def evaluated(error: np.ndarray, axes: tuple[str, ...] = ("time", "node"), by: str | tuple[()] = ()) -> Evaluation:
    # The forecaster claims half as much again as it errs, and is biased: no value is a special one.
    return forecasting.evaluate(
        np.zeros_like(error),
        0.3 + error,
        std=np.full_like(error, 1.5),
        axes=axes,
        by=by,
        metrics=list(KEYS),
        coverage=0.95,
    )


@dataclass(frozen=True)
class Scenario:
    memory: float
    steps: int
    good: float

    def good_for(self, key: str) -> float:
        # A share near its bound rests on few misses, which come together where there is memory.
        return self.good - 0.05 if key == "coverage_95" and self.memory == 0.9 else self.good

    @property
    def data(self) -> str:
        return f"{self.steps:,} steps × {NODES} nodes, errors with memory {self.memory:g}"

    def coverage(self, seed: int, repeats: int) -> dict[str, tuple[float, float]]:
        """How often each metric's interval contains the true value, and how often one for independent cells does."""
        rng = np.random.default_rng(seed)
        held: dict[str, list[tuple[bool, bool]]] = {key: [] for key in KEYS}
        for first in range(0, repeats, TOGETHER):
            runs = [errors(rng, self.steps, self.memory) for _ in range(min(TOGETHER, repeats - first))]
            # The nodes of a run as horizons, so that one evaluation has an interval for each run.
            found = evaluated(np.stack(runs, axis=-1), ("time", "horizon", "node"), by="node").by("node")
            for run, error in enumerate(runs):
                naive = self.independent(error)
                for key in KEYS:
                    low, high = naive[key]
                    over_time = found[f"{key}.low"][run] <= truth()[key] <= found[f"{key}.high"][run]
                    held[key].append((over_time, low <= truth()[key] <= high))
        return {key: tuple(np.mean(values, axis=0)) for key, values in held.items()}  # type: ignore[misc]

    def independent(self, error: np.ndarray) -> dict[str, tuple[float, float]]:
        """Mean ± 1.96 standard errors over cells, as if each cell were drawn by itself."""
        bounds = {}
        for key, values in cell_values((0.3 + error).ravel()).items():
            margin = 1.96 * values.std(ddof=1) / math.sqrt(values.size)
            low, high = values.mean() - margin, values.mean() + margin
            bounds[key] = (math.sqrt(max(low, 0)), math.sqrt(high)) if key == "rmse" else (low, high)
        return bounds


SCENARIOS = [
    Scenario(0.0, 100, 0.93),
    Scenario(0.0, 1_000, 0.94),
    Scenario(0.5, 100, 0.91),
    Scenario(0.5, 1_000, 0.93),
    Scenario(0.9, 100, 0.88),
    Scenario(0.9, 1_000, 0.92),
    Scenario(0.9, 10_000, 0.93),
]


def test_the_rule() -> None:
    found = evaluated(errors(np.random.default_rng(30), 100, 0.5))
    for key in KEYS:
        interval = found[key].interval
        assert interval is not None, found[key].no_interval
        assert (interval.method, interval.over) == ("cosine-t", "time blocks")


@pytest.mark.parametrize("scenario", [SCENARIOS[0], SCENARIOS[3], SCENARIOS[5]], ids=lambda scenario: scenario.data)
def test_coverage(scenario: Scenario) -> None:
    repeats = 150
    slack = 3 * math.sqrt(0.95 * 0.05 / repeats)
    for key, (share, _) in scenario.coverage(seed=31, repeats=repeats).items():
        assert share >= scenario.good_for(key) - slack, (key, share)


def test_the_error_is_that_of_a_mean() -> None:
    """Of independent influences it is the root of their squares, on average; constant ones have none."""
    rng = np.random.default_rng(33)
    influence = rng.normal(size=(200, 5_000)) / 200
    error, df = cosine_error(influence)
    assert np.sqrt((error**2).mean()) == pytest.approx(1 / math.sqrt(200), rel=0.01)
    assert (df == frequencies(200)).all()
    assert [frequencies(blocks) for blocks in (8, 50, 256, 1_000)] == [2, 6, 17, 41]  # .41·blocks^(2/3)
    assert np.isnan(cosine_error(np.ones((7, 1)))[0]).all()
    assert cosine_error(np.full((50, 1), 0.02))[0] == pytest.approx(0, abs=1e-14)


def test_intervals_contain_the_value_and_widen_with_confidence() -> None:
    error = errors(np.random.default_rng(34), 300, 0.7)
    narrow, wide = (
        forecasting.evaluate(np.zeros_like(error), error, axes=("time", "node"), confidence=level)
        for level in (0.5, 0.99)
    )
    for key in ("mae", "rmse", "bias"):
        assert narrow[key].value in narrow[key].ci
        assert wide[key].ci.low < narrow[key].ci.low < narrow[key].ci.high < wide[key].ci.high


def test_errors_that_never_differ_have_no_interval() -> None:
    found = forecasting.evaluate(np.zeros(50), np.full(50, 0.1))
    assert found["mae"].value == 0.1
    assert found["mae"].interval is None
    assert found["mae"].no_interval == "needs at least two time blocks that differ"


def test_a_mean_square_has_no_root_below_zero() -> None:
    """One error that outweighs all others: a t-interval of the mean square would reach below 0."""
    found = forecasting.evaluate(np.zeros(40), np.eye(40)[7])["rmse"]
    assert 0 <= found.ci.low < found.value < found.ci.high


def by_node(error: np.ndarray, mask: np.ndarray, node: int) -> tuple[float, float]:
    found = forecasting.evaluate(
        np.zeros_like(error), error, axes=("time", "node"), mask=mask, metrics=["mae"], by="node"
    ).by("node")
    return float(found["mae.low"][node]), float(found["mae.high"][node])


@pytest.mark.parametrize("memory", [0.0, 0.5])
@pytest.mark.parametrize("observed", ["late", "early", "now and then"])
def test_a_sensor_that_is_masked_for_long(memory: float, observed: str) -> None:
    """Its interval rests on the steps that it has, and covers as often as that of a short series does."""
    rng, steps, repeats, held = np.random.default_rng(35), 4_000, 150, 0
    mask = np.ones((steps, NODES), bool)
    seen = {"late": np.arange(steps) >= 3_600, "early": np.arange(steps) < 400}.get(
        observed, (np.arange(steps) // 100) % 10 == 0
    )
    mask[:, 1] = seen
    for _ in range(repeats):
        low, high = by_node(errors(rng, steps, memory), mask, 1)
        held += low <= math.sqrt(2 / math.pi) <= high
    assert held / repeats >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / repeats)


def test_metrics_over_some_cells_count_the_blocks_of_those() -> None:
    """Where the truth is 0 for long, `mape` has no cells there: its interval is that of the rest alone."""
    rng = np.random.default_rng(36)
    y, error = np.r_[np.zeros(180), rng.uniform(1, 2, 60)], rng.normal(size=240)
    found = forecasting.evaluate(y, y + error, metrics=["mape"])["mape"]
    alone = forecasting.evaluate(y[180:], y[180:] + error[180:], metrics=["mape"])["mape"]
    assert tuple(found.ci) == pytest.approx(tuple(alone.ci), rel=1e-12)


def test_masked_blocks_are_as_if_they_had_not_been() -> None:
    """Steps that no cell counts in, at either end and between, by node and over all nodes."""
    error = errors(np.random.default_rng(37), 90, 0.5)
    seen = np.r_[np.zeros(40, bool), np.ones(50, bool), np.zeros(30, bool), np.ones(40, bool), np.zeros(96, bool)]
    spread = np.zeros((256, NODES))
    spread[seen] = error
    mask = np.repeat(seen[:, None], NODES, axis=1)
    short = forecasting.evaluate(np.zeros_like(error), error, axes=("time", "node"))
    long = forecasting.evaluate(np.zeros_like(spread), spread, axes=("time", "node"), mask=mask)
    for key in ("mae", "rmse", "bias"):
        assert tuple(long[key].ci) == pytest.approx(tuple(short[key].ci), rel=1e-9)
        np.testing.assert_allclose(long.by("node")[f"{key}.low"], short.by("node")[f"{key}.low"], rtol=1e-9)
    # One node that is seen throughout does not change what the others rest on.
    mask[:, 2] = True
    long = forecasting.evaluate(np.zeros_like(spread), spread, axes=("time", "node"), mask=mask)
    np.testing.assert_allclose(long.by("node")["mae.high"][[0, 1]], short.by("node")["mae.high"][[0, 1]], rtol=1e-9)


def test_a_burst_is_no_period_of_time() -> None:
    """Nearly all cells in one stretch: what the other blocks hold says nothing of how it moves."""
    error = errors(np.random.default_rng(38), 4_096, 0.5)
    mask = np.ones(error.shape, bool)
    mask[:, 1] = (np.arange(4_096) % 256 == 0) | (np.arange(4_096) // 64 == 20)
    assert np.isnan(by_node(error, mask, 1)).all()
    whole = forecasting.evaluate(np.zeros(4_096), error[:, 1], mask=mask[:, 1])["mae"]
    assert whole.interval is None
    assert whole.no_interval.startswith("the cells are in fewer than 8 time blocks, or nearly all in a few of them")
