"""What metrics are computed on: sums of cells over time, by group, and the ratios of them with their influences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, NoInterval
from graphgauge.core.types import Floats, Ints
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.sums import Table, added, folded, times
from graphgauge.stats.errors import FEWEST_STEPS
from graphgauge.stats.intervals import Scale, over_time

NOTHING = "no cell counts"
UNORDERED = NoInterval("the order of the batches in time is not known: pass start= to update()")


@dataclass(frozen=True)
class Cells:
    """The sums of cells, one group per row of a breakdown, or one of all; `ordered` if their order in time is known."""

    design: Design
    table: Table
    ordered: bool = True

    @cached_property
    def n(self) -> Ints:
        """Cells of each group."""
        return self.count("n")

    @cached_property
    def size(self) -> Floats:
        """Cells of each group, or the sum of their weights."""
        return self.total("n")

    @cached_property
    def steps(self) -> Ints:
        """Time steps of each group with cells, up to the length of a block."""
        return np.asarray((self.table.series("n") > 0).sum(axis=0) << self.table.shift)

    def count(self, name: str) -> Ints:
        """How many cells a count counts; with node weights the sums are weighted, and the number is kept beside."""
        counted = f"{name}#"
        return self.total(counted if counted in self.table.names else name).astype(np.int64)

    def total(self, name: str) -> Floats:
        return self.table.total(name)

    def series(self, name: str) -> Floats:
        return self.table.series(name)

    def mean(self, name: str, over: str = "n", *, factor: float = 1.0, reason: str = NOTHING) -> Estimate:
        """A sum over a count; NaN where nothing is counted."""
        size = self.total(over)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(size > 0, self.total(name) / size, np.nan)
            influence = (self.series(name) - value * self.series(over)) / size
        why = reason if self.n.any() else NOTHING
        facts = {"over": self.series(over)}
        return Estimate(factor * value, self.count(over), factor * influence, reason=why, facts=facts)

    def ratio(self, name: str, over: str, reason: str) -> Estimate:
        """One sum over another."""
        found = self.mean(name, over, reason=reason)
        return replace(found, n=self.n, facts={"over": self.series(over)})

    def absent(self, reason: str) -> Estimate:
        """There is no such thing in this forecast, and why."""
        return Estimate(np.full(len(self.n), np.nan), self.n, reason=reason, absent=True)

    @cached_property
    def variation(self) -> tuple[Floats, Floats]:
        """Sums of squares of the truth about its mean, by block and in total; 0 if it is constant.

        In two floats throughout, because the mean may be far from 0.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = np.where(self.size > 0, self.total("y") / self.size, 0.0)
        square, truth, size = (self.table.pair(name) for name in ("y2", "y", "n"))
        about = added(*square, *times(*truth, -2 * centre))
        high, low = added(*about, *times(*times(*size, centre), centre))
        whole = np.sum(folded(high, low), axis=0)
        return high + low, np.where(whole > 1e-28 * self.total("y2"), whole, 0.0)


def plus(one: Estimate, other: Estimate) -> Estimate:
    """The sum of two means over the same cells."""
    assert one.influence is not None
    assert other.influence is not None
    return replace(one, value=one.value + other.value, influence=one.influence + other.influence)


def rooted(square: Estimate) -> Estimate:
    """The root of a mean of squares."""
    return replace(square, value=np.sqrt(square.value), facts={**square.facts, "square": square})


# ---- intervals over time


def interval(
    cells: Cells, estimate: Estimate, confidence: float, *, scale: Scale = "linear", fewest: float = FEWEST_STEPS
) -> Bounds | NoInterval:
    """The interval of a mean or ratio over time: errors that follow each other resemble each other.

    None below 30 time steps, or below what the metric needs: rare events are seen in long series only.
    """
    if not cells.ordered:
        return UNORDERED
    needed = max(int(np.ceil(fewest - 1e-9)), FEWEST_STEPS)
    enough = cells.steps >= needed
    if not enough.any() or len(cells.table) < FEWEST_STEPS:
        what = f"needs at least {needed} time steps"
        return NoInterval(what if not enough.any() else f"{cells.table.groups:,} groups are not followed over time")
    assert estimate.influence is not None
    size = np.abs(estimate.influence).sum(axis=0)
    largest = float(np.nanmax(size, initial=0.0))
    # Squares of very large or small numbers are beyond the range of floats.
    unit = 1.0 if 1e-100 < largest < 1e100 or largest == 0 else largest
    value, influence = estimate.value / unit, estimate.influence / unit
    bounds = over_time(value, influence, confidence, cells=estimate.facts["over"], scale=scale, size=size / unit)
    low, high = (np.where(enough, unit * end, np.nan) for end in (bounds.low, bounds.high))
    return replace(bounds, low=low, high=high, fewest=f"at least {needed}")


def serial(cells: Cells, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Student's t with the long-run variance over time."""
    return interval(cells, estimate, confidence)


def serial_root(cells: Cells, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """The root of the interval of a mean of squares, on the log scale."""
    bounds = interval(cells, estimate.facts["square"], confidence, scale="log")
    if isinstance(bounds, NoInterval):
        return bounds
    return replace(bounds, low=np.sqrt(bounds.low), high=np.sqrt(bounds.high))


def serial_share(cells: Cells, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """The interval of coverage, on the logit scale; ten truths outside are needed on average."""
    return interval(cells, estimate, confidence, scale="logit", fewest=10 / (1 - estimate.facts["level"]))


def serial_tail(cells: Cells, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """The interval of a score that the few truths outside of an interval decide; fifty are needed on average."""
    return interval(cells, estimate, confidence, fewest=50 / (1 - estimate.facts["level"]))
