"""Simulate evaluations of many designs, and write agreement/coverage_forecasting.md and the table of forecasting.md.

python docs/coverage_forecasting.py [TEXT]

With a text, only the designs whose names contain it are simulated, and the other rows of the page are kept.

What the intervals over time cover, how wide they are, and what is expected of them. Each run is a node with three
horizons, so that one evaluation contains many runs, broken down by node.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from graphgauge import forecasting

KEYS = ("mae", "rmse", "bias", "crps", "nll", "coverage_95", "interval_score_95")
ROOM, TOGETHER, BURN_IN = 256, 3, 300
BIAS, STD = 0.3, 1.1
RUNS = 512
# Evaluations of each design whose expectation is simulated.
CHECKED = 32
GOAL = 0.93
# Of the tutorial.
SHOWN = ("mae", "coverage_95")


@dataclass(frozen=True)
class Design:
    """`tails` are the degrees of freedom of the shocks, None for normal ones; `seen` which steps are observed;
    `volatility` how the variance of the errors changes."""

    memory: float
    steps: int
    tails: int | None = None
    seen: str = "all"
    start: int = 0
    volatility: str = ""

    @property
    def name(self) -> str:
        tails = "normal" if self.tails is None else f"t{self.tails}"
        seen = "" if self.seen == "all" else f", {self.seen}"
        late = f", from step {self.start:,}" if self.start else ""
        kind = self.volatility or f"memory {self.memory:g}, {tails}"
        return f"{self.steps:,} steps, {kind}{seen}{late}"

    def errors(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        """(time, horizon, run) with mean `BIAS` and variance 1, half of which is common to the horizons."""
        shape = (self.steps + BURN_IN, TOGETHER + 1, runs)
        shocks = rng.standard_normal(shape) if self.tails is None else rng.standard_t(self.tails, shape)
        scale = 1.0 if self.tails is None else math.sqrt((self.tails - 2) / self.tails)
        series = lfilter([scale * math.sqrt(1 - self.memory**2)], [1.0, -self.memory], shocks, axis=0)[BURN_IN:]
        standard = (series[:, :-1] + series[:, -1:]) / math.sqrt(2)
        if self.volatility == "level shifts":  # a bias that lasts a hundred steps on average
            return BIAS + (_levels(rng, (self.steps + BURN_IN, runs))[BURN_IN:, np.newaxis] + standard) / math.sqrt(2)
        return BIAS + standard * self._deviations(rng, runs)[:, np.newaxis] if self.volatility else BIAS + standard

    def _deviations(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        """Standard deviations (time, run) that change slowly; the mean variance is 1."""
        size = (self.steps + BURN_IN, runs)
        if self.volatility == "regimes":  # of small and large errors, a hundred steps long on average
            large = (np.cumsum(rng.random(size) < 0.01, axis=0) + rng.integers(0, 2, runs)) % 2 == 1
            return np.where(large, 3.0, 1.0)[BURN_IN:] / math.sqrt(5)
        if self.volatility == "stochastic volatility":
            log = lfilter([0.25], [1.0, -0.97], rng.standard_normal(size), axis=0)[BURN_IN:]
            return np.exp((log - 0.25**2 / (1 - 0.97**2) / 2) / 2)
        if self.volatility == "persistent volatility":
            log = lfilter([0.1], [1.0, -0.99], rng.standard_normal((size[0] + 700, runs)), axis=0)[BURN_IN + 700 :]
            return np.exp((log - 0.1**2 / (1 - 0.99**2) / 2) / 2)
        if self.volatility == "multiplicative noise":
            log = lfilter([math.sqrt(1 - 0.9**2)], [1.0, -0.9], rng.standard_normal(size), axis=0)[BURN_IN:]
            return np.exp(0.6 * log - 0.36)
        if self.volatility == "rare bursts":  # a fifth of the time, of 50 steps on average
            return np.where(_bursts(rng, size, 0.02, 0.005), 4.0, 1.0)[BURN_IN:] / 2
        if self.volatility == "short bursts":  # a tenth of the time, of 20 steps on average
            return np.where(_bursts(rng, size, 0.05, 0.05 / 9), 3.0, 1.0)[BURN_IN:] / math.sqrt(1.8)
        if self.volatility in ("daily cycle", "weekly cycle"):
            period = 24 if self.volatility == "daily cycle" else 168
            hour = np.arange(self.steps)[:, np.newaxis] / period + rng.random(runs)
            return (1 + 0.8 * np.sin(2 * np.pi * hour)) / math.sqrt(1.32)
        variance = np.ones(size)  # GARCH(1, 1)
        for step in range(1, len(variance)):
            square = variance[step - 1] * np.square(rng.standard_normal(runs))
            variance[step] = 0.02 + 0.1 * square + 0.88 * variance[step - 1]
        return np.sqrt(variance[BURN_IN:])

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


def _bursts(rng: np.random.Generator, size: tuple[int, int], end: float, start: float) -> np.ndarray:
    """Whether each step (time, run) is in a burst, which ends and starts with these chances."""
    burst, found = rng.random(size[1]) < start / (start + end), np.empty(size, bool)
    for step in range(len(found)):
        chance = rng.random(size[1])
        burst = np.where(burst, chance > end, chance < start)
        found[step] = burst
    return found


def _levels(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Standard normal levels (time, run), which are drawn again with a chance of one in a hundred."""
    fresh = rng.random(size) < 0.01
    fresh[0] = True
    last = np.maximum.accumulate(np.where(fresh, np.arange(size[0])[:, np.newaxis], 0), axis=0)
    return np.take_along_axis(rng.standard_normal(size), last, axis=0)


class Row(NamedTuple):
    """Shares of runs with an interval, of intervals that cover, are too low and too high; the median width relative to
    that of an oracle, the mean expectation, and the share of intervals that cover if cells are taken as independent."""

    given: float
    coverage: float
    below: float
    above: float
    width: float
    expected: float
    independent: float


@functools.cache
def truths(memory: float, tails: int | None, volatility: str = "") -> dict[str, float]:
    """What the metrics tend to: from the moments, or from eight million cells."""
    rng = np.random.default_rng(90)
    sums = dict.fromkeys(KEYS, 0.0)
    parts = 20
    for _ in range(parts):
        error = Design(memory, 500, tails, volatility=volatility).errors(rng, 260)
        for key, values in cell_values(error).items():
            sums[key] += float(values.mean()) / parts
    second = 1 + BIAS**2
    return sums | {
        "rmse": math.sqrt(second),
        "bias": BIAS,
        "nll": math.log(STD) + 0.5 * math.log(2 * math.pi) + 0.5 * second / STD**2,
    }


def cell_values(error: np.ndarray) -> dict[str, np.ndarray]:
    z = np.abs(error) / STD
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    crps = STD * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    half = 1.959963984540054
    return {
        "mae": np.abs(error),
        "crps": crps,
        "coverage_95": z <= half,
        "interval_score_95": STD * (2 * half + 40 * np.maximum(z - half, 0)),
    }


def simulate(design: Design, runs: int, checked: int, seed: int = 0) -> dict[str, Row]:
    """A row for each metric, from many runs; the expectations of `checked` of them are simulated."""
    rng = np.random.default_rng(seed)
    truth = truths(design.memory, design.tails, design.volatility)
    alone: dict[str, list[np.ndarray]] = {key: [] for key in KEYS}
    found: dict[str, list[np.ndarray]] = {key: [] for key in KEYS}
    expected: dict[str, list[float]] = {key: [] for key in KEYS}
    for size in _sizes(runs):
        error = design.errors(rng, size)
        mask = design.mask(rng, size)
        table = _evaluated(design, error, mask, by="node").by("node")
        for key, covers in independent(error, mask, truth).items():
            alone[key].append(covers)
        for key in KEYS:
            found[key].append(np.stack([table[key], table[f"{key}.low"], table[f"{key}.high"]]))
        for run in range(min(size, checked - len(expected["mae"]))):
            one = _evaluated(design, error[..., [run]], None if mask is None else mask[..., [run]], by=())
            for key in KEYS:
                interval = one[key].interval
                if interval is not None:
                    known = interval.expected_coverage
                    expected[key].append(0.95 if known is None else known)
    return {
        key: _row(np.concatenate(found[key], axis=1), truth[key], expected[key], np.concatenate(alone[key]))
        for key in KEYS
    }


def independent(error: np.ndarray, mask: np.ndarray | None, truth: dict[str, float]) -> dict[str, np.ndarray]:
    """Whether the mean ± 1.96 standard errors over cells contains the truth, as if each cell were drawn by itself."""
    seen = np.ones(error.shape, bool) if mask is None else mask
    count = seen.sum((0, 1))
    square = np.square(error)
    values = cell_values(error) | {"bias": error, "rmse": square, "nll": square}
    of_square = {"rmse": 1 + BIAS**2, "nll": 1 + BIAS**2}
    covers = {}
    for key, cells in values.items():
        mean = np.where(seen, cells, 0).sum((0, 1)) / count
        spread = np.sqrt(np.where(seen, np.square(cells - mean), 0).sum((0, 1)) / (count - 1) / count)
        covers[key] = np.abs(mean - of_square.get(key, truth[key])) <= 1.959963984540054 * spread
    return covers


def _sizes(runs: int) -> Iterator[int]:
    for first in range(0, runs, ROOM):
        yield min(ROOM, runs - first)


def _evaluated(design: Design, error: np.ndarray, mask: Any, by: Any) -> Any:
    state = forecasting.ForecastState(metrics=KEYS, coverage=0.95)
    state.update(np.zeros_like(error), error, std=np.full_like(error, STD), mask=mask, start=design.start)
    return state.evaluate(metrics=KEYS, by=by)


def _row(values: np.ndarray, truth: float, expected: list[float], alone: np.ndarray) -> Row:
    value, low, high = values
    there = ~np.isnan(low)
    if not there.any():
        return Row(0.0, *[math.nan] * 6)
    low, high = low[there], high[there]
    below, above = float(np.mean(high < truth)), float(np.mean(low > truth))
    oracle = 2 * 1.959963984540054 * float(np.nanstd(value))
    width = float(np.median(high - low)) / oracle
    mean = float(np.mean(expected)) if expected else math.nan
    return Row(float(there.mean()), 1 - below - above, below, above, width, mean, float(alone.mean()))


def designs() -> list[Design]:
    normal = [Design(memory, steps) for steps in (100, 300, 1_000, 10_000) for memory in (0.0, 0.5, 0.9, 0.95)]
    tails = [Design(memory, steps, 3) for steps in (100, 1_000) for memory in (0.0, 0.9)]
    tails += [Design(memory, 300, 5) for memory in (0.0, 0.9)]
    late = [Design(0.5, 1_000, start=100_000), Design(0.9, 300, start=27_418)]
    sensors = [Design(memory, 4_000, seen="the last tenth") for memory in (0.0, 0.9)]
    masked = [Design(memory, 1_000, seen="outages") for memory in (0.5, 0.9)]
    slow = [
        Design(0.0, steps, volatility=kind)
        for kind in ("GARCH", "stochastic volatility", "regimes")
        for steps in (300, 1_000)
    ]
    slow += [
        Design(0.0, steps, volatility=kind)
        for kind in ("persistent volatility", "rare bursts", "daily cycle")
        for steps in (400, 2_000)
    ]
    others = [Design(0.5, 60), Design(0.98, 300), Design(0.98, 1_000), Design(0.7, 500, 4, seen="outages")]
    others += [
        Design(0.0, 500, volatility=kind)
        for kind in ("multiplicative noise", "level shifts", "short bursts", "weekly cycle")
    ]
    return [*normal, *tails, *late, *sensors, *masked, *slow, *others]


HEAD = """# Coverage of the intervals of a forecasting evaluation

<!-- Written by docs/coverage_forecasting.py. -->

How often 95 % intervals contained the true value, in {runs} simulated evaluations per row (± .010). Each evaluation has
three horizons whose errors share half of their variance. *Memory* is the autocorrelation of the errors of neighbouring
steps, *t3*, *t4* and *t5* are the distributions of their shocks. In designs without them, errors have no memory, but their
variance changes, or their mean (*level shifts*). What the expectation allows for was chosen with normal errors of memory 0 to
.95, GARCH, stochastic volatility, regimes, rare bursts and level shifts, of 100 to 1,000 steps, and not with the others. Forecasts are biased by .3 standard deviations and claim 1.1 times the true
spread. In *the last tenth*, a sensor is observed only there; with *outages*, half of all stretches of 50 steps are masked; a
stream *from step* 100,000 has no earlier steps.

*Covers* is the share of intervals that contain the true value, *too low* and *too high* the shares that are below and above
it, and *width* the median width relative to that of an oracle who knows the variance of the value. *Expected* is the mean of
`expected_coverage` over {checked} evaluations, which is printed with the interval; a dash means that it is at least .93.
*Independent* is the share of intervals that contain the true value if every cell is treated as independent.

{good} of the {all} rows reach .93 with a width of at most 1.5. In {said} of the {short} rows below .93, the expectation is below
what is covered, or at most .03 above it. {others} No rule reaches .93 for scores that depend on a few rare and large errors
(`interval_score_95`; `rmse` and `nll` with t3 shocks, which have no fourth moment), in short series with strong memory, or if
a series is too short to show that the variance changes: the interval is marked `≈`. A cycle of which a series shows only
three periods is taken for slow changes, and the interval is far too wide. {wide}

"""  # noqa: E501
_TABLE = ["| design | metric | covers | too low | too high | width | expected | independent |", "|" + "---|" * 8]


def amiss(row: Row) -> bool:
    """Whether an interval falls short and the expectation is more than .03 above."""
    return round(row.coverage, 3) < GOAL and round(row.expected, 2) > round(row.coverage, 3) + 0.03


def page(rows: dict[tuple[Design, str], Row]) -> str:
    short = [row for row in rows.values() if round(row.coverage, 3) < GOAL]
    wrong = [
        f"{design.name}, `{key}` (.{round(100 * row.expected)} for .{round(100 * row.coverage)})"
        for (design, key), row in rows.items()
        if amiss(row)
    ]
    wide = [f"{design.name}, `{key}` ({row.width:.2f})" for (design, key), row in rows.items() if row.width > 1.5]
    head = HEAD.format(
        runs=RUNS,
        checked=CHECKED,
        all=len(rows),
        short=len(short),
        said=len(short) - len(wrong),
        good=sum(round(row.coverage, 3) >= GOAL and row.width <= 1.5 for row in rows.values()),
        others=f"The others: {'; '.join(wrong)}." if wrong else "",
        wide=f"Wider than 1.5: {'; '.join(wide)}." if wide else "No interval is wider than 1.5.",
    )
    lines = []
    for (design, key), row in rows.items():
        shares = " | ".join(f"{share:.3f}" for share in (row.coverage, row.below, row.above))
        expected = "–" if round(row.expected, 2) >= GOAL else f"{row.expected:.2f}"
        lines.append(
            f"| {design.name} | `{key}` | {shares} | {row.width:.2f} | {expected} | **{row.independent:.3f}** |"
        )
    return head + "\n".join([*_TABLE, *lines, ""])


def shown(rows: dict[tuple[Design, str], Row], text: str) -> str:
    """The text of forecasting.md with its table."""
    mark, end = "<!-- coverage: written by docs/coverage_forecasting.py -->\n", "<!-- /coverage -->"
    before, _, rest = text.partition(mark)
    table = ["", "| steps | memory | metric | over time blocks | cells as independent |", "|---|---|---|---|---|"]
    for (design, key), row in rows.items():
        plain = design == Design(design.memory, design.steps) and design.memory != 0.95 and design.steps != 300
        if plain and key in SHOWN:
            cells = f"{row.coverage:.3f} | **{row.independent:.3f}**"
            table.append(f"| {design.steps:,} | {design.memory:g} | `{key}` | {cells} |")
    return before + mark + "\n".join([*table, "", ""]) + rest[rest.index(end) :]


def written(text: str) -> dict[tuple[Design, str], Row]:
    """The rows of a page."""
    known = {design.name: design for design in designs()}
    rows = {}
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        name, key, *cells = (cell.strip(" *`") for cell in line.strip("|").split("|"))
        if name in known:
            covers, below, above, width, expected, alone = (0.95 if cell == "–" else float(cell) for cell in cells)
            rows[known[name], key] = Row(1.0, covers, below, above, width, expected, alone)
    return rows


def main() -> int:
    docs = Path(__file__).parent
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    old = written((docs / "agreement" / "coverage_forecasting.md").read_text(encoding="utf-8")) if only else {}
    rows: dict[tuple[Design, str], Row] = {}
    for design in designs():
        if only in design.name:
            rows |= {(design, key): row for key, row in simulate(design, RUNS, CHECKED).items()}
            print(design.name, flush=True)
        else:
            rows |= {(design, key): old[design, key] for key in KEYS}
    (docs / "agreement" / "coverage_forecasting.md").write_text(page(rows), encoding="utf-8")
    tutorial = docs / "forecasting.md"
    tutorial.write_text(shown(rows, tutorial.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
