"""Simulated evaluations of many designs: what the intervals over time cover, how wide they are, what is expected.

Each run is a node with three horizons, so that one evaluation contains many runs, broken down by node.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from graphgauge import forecasting

KEYS = ("mae", "rmse", "bias", "crps", "nll", "coverage_95", "interval_score_95")
ROOM, TOGETHER, BURN_IN = 256, 3, 150
BIAS, STD = 0.3, 1.1


@dataclass(frozen=True)
class Design:
    """`tails` are the degrees of freedom of the shocks, None for normal ones; `seen` which steps are observed."""

    memory: float
    steps: int
    tails: int | None = None
    seen: str = "all"
    start: int = 0

    @property
    def name(self) -> str:
        tails = "normal" if self.tails is None else f"t{self.tails}"
        seen = "" if self.seen == "all" else f", {self.seen}"
        late = f", from step {self.start:,}" if self.start else ""
        return f"{self.steps:,} steps, memory {self.memory:g}, {tails}{seen}{late}"

    def errors(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        """(time, horizon, run) with mean `BIAS` and variance 1, half of which is common to the horizons."""
        shape = (self.steps + BURN_IN, TOGETHER + 1, runs)
        shocks = rng.standard_normal(shape) if self.tails is None else rng.standard_t(self.tails, shape)
        scale = 1.0 if self.tails is None else math.sqrt((self.tails - 2) / self.tails)
        series = lfilter([scale * math.sqrt(1 - self.memory**2)], [1.0, -self.memory], shocks, axis=0)[BURN_IN:]
        return BIAS + (series[:, :-1] + series[:, -1:]) / math.sqrt(2)

    def mask(self, rng: np.random.Generator, runs: int) -> np.ndarray | None:
        if self.seen == "all":
            return None
        step = np.arange(self.steps)[:, np.newaxis]
        if self.seen == "the last tenth":
            seen = np.broadcast_to(step >= 0.9 * self.steps, (self.steps, runs))
        else:  # outages of 50 steps, half of the time
            blocks = rng.random((-(-self.steps // 50), runs)) < 0.5
            blocks[0] = True
            seen = np.repeat(blocks, 50, axis=0)[: self.steps]
        return np.repeat(seen[:, np.newaxis], TOGETHER, axis=1)


class Row(NamedTuple):
    """Shares of runs with an interval, of intervals that cover, are too low and too high; the median width relative to
    that of an oracle, and the mean expectation."""

    given: float
    coverage: float
    below: float
    above: float
    width: float
    expected: float


@functools.cache
def truths(memory: float, tails: int | None) -> dict[str, float]:
    """What the metrics tend to: from the moments, or from eight million cells."""
    rng = np.random.default_rng(90)
    sums = dict.fromkeys(KEYS, 0.0)
    parts = 20
    for _ in range(parts):
        error = Design(memory, 500, tails).errors(rng, 260)
        for key, values in cell_values(error).items():
            sums[key] += float(values.mean()) / parts
    second = 1 + BIAS**2
    return sums | {
        "rmse": math.sqrt(second), "bias": BIAS,
        "nll": math.log(STD) + 0.5 * math.log(2 * math.pi) + 0.5 * second / STD**2,
    }  # fmt: skip


def cell_values(error: np.ndarray) -> dict[str, np.ndarray]:
    z = np.abs(error) / STD
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    crps = STD * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    half = 1.959963984540054
    return {
        "mae": np.abs(error), "crps": crps, "coverage_95": z <= half,
        "interval_score_95": STD * (2 * half + 40 * np.maximum(z - half, 0)),
    }  # fmt: skip


def simulate(design: Design, runs: int, checked: int, seed: int = 0) -> dict[str, Row]:
    """A row for each metric, from many runs; the expectations of `checked` of them are simulated."""
    rng = np.random.default_rng(seed)
    truth = truths(design.memory, design.tails)
    found: dict[str, list[np.ndarray]] = {key: [] for key in KEYS}
    expected: dict[str, list[float]] = {key: [] for key in KEYS}
    for size in _sizes(runs):
        error = design.errors(rng, size)
        mask = design.mask(rng, size)
        table = _evaluated(design, error, mask, by="node").by("node")
        for key in KEYS:
            found[key].append(np.stack([table[key], table[f"{key}.low"], table[f"{key}.high"]]))
        for run in range(min(size, checked - len(expected["mae"]))):
            one = _evaluated(design, error[..., [run]], None if mask is None else mask[..., [run]], by=())
            for key in KEYS:
                interval = one[key].interval
                if interval is not None:
                    known = interval.expected_coverage
                    expected[key].append(0.95 if known is None else known)
    return {key: _row(np.concatenate(found[key], axis=1), truth[key], expected[key]) for key in KEYS}


def _sizes(runs: int) -> Iterator[int]:
    for first in range(0, runs, ROOM):
        yield min(ROOM, runs - first)


def _evaluated(design: Design, error: np.ndarray, mask: Any, by: Any) -> Any:
    state = forecasting.ForecastState(metrics=KEYS, coverage=0.95)
    state.update(np.zeros_like(error), error, std=np.full_like(error, STD), mask=mask, start=design.start)
    return state.evaluate(metrics=KEYS, by=by)


def _row(values: np.ndarray, truth: float, expected: list[float]) -> Row:
    value, low, high = values
    there = ~np.isnan(low)
    if not there.any():
        return Row(0.0, *[math.nan] * 5)
    low, high = low[there], high[there]
    below, above = float(np.mean(high < truth)), float(np.mean(low > truth))
    oracle = 2 * 1.959963984540054 * float(np.nanstd(value))
    width = float(np.median(high - low)) / oracle
    mean = float(np.mean(expected)) if expected else math.nan
    return Row(float(there.mean()), 1 - below - above, below, above, width, mean)


def designs() -> list[Design]:
    """Those of the page in the documentation."""
    normal = [Design(memory, steps) for steps in (100, 300, 1_000) for memory in (0.0, 0.5, 0.9, 0.95)]
    long = [Design(memory, 10_000) for memory in (0.0, 0.9)]
    tails = [Design(memory, steps, 3) for steps in (100, 1_000) for memory in (0.0, 0.9)]
    tails += [Design(memory, 300, 5) for memory in (0.0, 0.9)]
    late = [Design(0.5, 1_000, start=100_000), Design(0.9, 300, start=27_418)]
    sensors = [Design(memory, 4_000, seen="the last tenth") for memory in (0.0, 0.9)]
    masked = [Design(memory, 1_000, seen="outages") for memory in (0.5, 0.9)]
    return [*normal, *long, *tails, *late, *sensors, *masked]
