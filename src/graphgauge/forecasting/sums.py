"""Sums of named quantities by time block and group, and what metrics make of them: ratios, with their influences.

Metrics are ratios of these sums, and intervals follow from how the sums change over time. A sum is kept in two floats,
the second of which collects the rounding errors of the first (Knuth's two-sum), so that it does not depend on how the
cells were split into parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.metric import Bounds, Estimate, NoInterval
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.forecasting.design import Design
from graphgauge.stats.errors import FEWEST_STEPS
from graphgauge.stats.intervals import Scale, over_time

# Blocks of one group: intervals need the slow movements of errors, not every step. Of many groups fewer are kept; with
# less than 64 blocks a group is not followed over time.
MOST_BLOCKS, FEW_BLOCKS, _ROOM = 256, 64, 1 << 16
# Cells of a time step that are many.
_WIDE = 1 << 11
# Blocks between the first and the last of a part that are counted in a table.
_DENSE = 1 << 20
# Of a sum, half a unit in its last place.
_ROUNDING = 2.0**-53
Pair = tuple[Floats, Floats]


def most_blocks(groups: int, most: int = MOST_BLOCKS) -> int:
    """The number of time blocks that are kept for so many groups; 1 if they are not followed over time."""
    return next((blocks for blocks in (most, FEW_BLOCKS) if blocks * groups <= _ROOM), 1)


def shift_for(first: int, steps: int, most: int) -> int:
    """Blocks of 2**shift steps, of which at most so many contain the steps from `first` on."""
    shift = 0
    while ((first + max(steps, 1) - 1) >> shift) - (first >> shift) >= most:
        shift += 1
    return shift


@dataclass(frozen=True)
class Span:
    """The steps of a part in time, from `first` on, and its blocks of 2**shift steps: by horizon, and by node."""

    first: int
    steps: int
    shift: int
    node_shift: int
    most: int
    most_by_node: int

    @classmethod
    def of(cls, shape: tuple[int, int, int], first: int) -> Span:
        """The span of a sample of this shape."""
        steps, horizons, nodes = shape
        # Steps of many cells are summed several at once, which is faster.
        most = most_blocks(horizons, MOST_BLOCKS if horizons * nodes < _WIDE else FEW_BLOCKS)
        most_by_node = most_blocks(nodes, FEW_BLOCKS)
        shift = shift_for(first, steps, most)
        return cls(first, steps, shift, max(shift, shift_for(first, steps, most_by_node)), most, most_by_node)

    def blocks(self, shift: int) -> Ints:
        """The numbers of the blocks that have its steps."""
        return np.arange(self.first >> shift, ((self.first + self.steps - 1) >> shift) + 1 if self.steps else 0)


@dataclass(frozen=True, eq=False)
class Table:
    """Sums (block, quantity, group) in two floats; block `at` contains the steps from at·2**shift up to the next.

    `at` rises. At most `most` blocks are kept. A table without order in time has one block, number 0.
    """

    names: tuple[str, ...]
    at: Ints
    shift: int
    most: int
    high: Floats
    low: Floats

    def __len__(self) -> int:
        return len(self.at)

    @property
    def groups(self) -> int:
        return int(self.high.shape[2])

    def pair(self, name: str) -> Pair:
        """A quantity (block, group) in two floats."""
        place = self.names.index(name)
        return self.high[:, place], self.low[:, place]

    def series(self, name: str) -> Floats:
        """A quantity (block, group)."""
        high, low = self.pair(name)
        return high + low

    def total(self, name: str) -> Floats:
        """The sum of a quantity over time, per group."""
        return np.asarray(self.totals[self.names.index(name)])

    @cached_property
    def totals(self) -> Floats:
        """The sums over time (quantity, group)."""
        return np.add(*folded(self.high, self.low))

    @cached_property
    def pooled(self) -> Table:
        """All groups as one."""
        high, low = folded(np.moveaxis(self.high, 2, 0), np.moveaxis(self.low, 2, 0))
        return replace(self, high=high[..., np.newaxis], low=low[..., np.newaxis])

    def unordered(self) -> Table:
        """The same without order in time, as one block."""
        high, low = folded(self.high, self.low)
        return replace(self, at=np.zeros(1, np.int64), shift=0, high=high[np.newaxis], low=low[np.newaxis])

    def merged(self, other: Table) -> Table:
        """The sums of both, each block with that of the same steps."""
        shift = max(self.shift, other.shift)
        one, two = self._coarser(shift - self.shift), other._coarser(shift - other.shift)
        at = np.concatenate([one.at, two.at])
        order = np.argsort(at, kind="stable")
        high, low = (np.concatenate(parts)[order] for parts in ((one.high, two.high), (one.low, two.low)))
        table = one._of_blocks(at[order], high, low)
        while len(table) > table.most:
            table = table._coarser(1)
        return table

    def _coarser(self, times: int) -> Table:
        """Blocks of `times` twice the length."""
        table = self
        for _ in range(times):
            table = replace(table._of_blocks(table.at >> 1, table.high, table.low), shift=table.shift + 1)
        return table

    def _of_blocks(self, at: Ints, high: Floats, low: Floats) -> Table:
        """Rows of blocks with numbers that do not fall; a number may be there twice."""
        first = np.append(True, at[1:] != at[:-1])[: len(at)]
        total, lost = high[first], low[first]
        again = np.flatnonzero(~first)
        place = np.cumsum(first)[again] - 1
        total[place], lost[place] = added(total[place], lost[place], high[again], low[again])
        return replace(self, at=at[first], high=total, low=lost)

    # ---- files

    def packed(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Facts and arrays for a file: whole numbers in few bytes, rounding errors in four where these are enough."""
        whole = ~self.low.any(axis=(0, 2)) & (self.high == np.floor(self.high)).all(axis=(0, 2))
        counts, high, low = self.high[:, whole], self.high[:, ~whole], self.low[:, ~whole]
        kinds = [kind for kind in (np.int16, np.int32) if np.abs(counts).max(initial=0) <= np.iinfo(kind).max]
        arrays: dict[str, AnyArray] = {
            "at": self.at,
            "counts": counts.astype(kinds[0] if kinds else np.float64),
            "high": high,
        }
        if low.any():
            few = low.astype(np.float32)
            arrays["low"] = few if (np.abs(low - few) <= np.abs(high) * _ROUNDING).all() else low
        return {"names": self.names, "whole": whole.tolist(), "shift": self.shift, "most": self.most}, arrays

    @classmethod
    def unpacked(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Table:
        """The table of which `packed` made this."""
        at, names, whole = arrays["at"].astype(np.int64), tuple(facts["names"]), np.array(facts["whole"], np.bool_)
        high, low = np.zeros((2, len(at), len(names), arrays["high"].shape[2]))
        high[:, whole], high[:, ~whole], low[:, ~whole] = arrays["counts"], arrays["high"], arrays.get("low", 0.0)
        return cls(names, at, int(facts["shift"]), int(facts["most"]), high, low)


def beside(*tables: Table) -> Table:
    """Tables of the same groups as one with all quantities; a block that one of them lacks adds nothing there."""
    first = tables[0]
    if len(tables) == 1:
        return first
    at = sorted_unique(np.concatenate([each.at for each in tables]))
    high, low = np.zeros((2, len(at), sum(len(each.names) for each in tables), first.groups))
    done = 0
    for each in tables:
        place = np.searchsorted(at, each.at), slice(done, done := done + len(each.names))
        high[place], low[place] = each.high, each.low
    return replace(first, names=tuple(name for each in tables for name in each.names), at=at, high=high, low=low)


def grouped(
    columns: Mapping[str, AnyArray],
    block: Ints,
    group: Ints,
    groups: int,
    shift: int,
    most: int,
    lost: Mapping[str, Floats] | None = None,
) -> Table:
    """The table of numbers of cells, given the block and the group of each cell; `lost` are rounding errors of some."""
    lowest = int(block.min()) if len(block) else 0
    place = block - lowest
    at = np.flatnonzero(np.bincount(place)) if len(place) and int(place.max()) < _DENSE else sorted_unique(place)
    if len(at) and int(at[-1]) >= len(at):
        place = np.searchsorted(at, place)
    names, lost = tuple(columns), lost or {}
    given = [np.asarray(each, np.float64) for each in (*columns.values(), *lost.values())]
    values = np.array(given).reshape(len(given), len(block))
    sums = _core.grouped_sums(values, place * groups + group, len(at) * groups)
    high, low = (side.reshape(len(given), len(at), groups).swapaxes(0, 1) for side in sums)
    for number, name in enumerate(lost, len(names)):
        low[:, names.index(name)] += high[:, number] + low[:, number]
    return Table(names, at + lowest, shift, most, high[:, : len(names)], low[:, : len(names)])


# ---- numbers in two floats


def two_sum(a: Floats, b: Floats) -> Pair:
    """a + b as a float and its exact rounding error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def added(high: Floats, low: Floats, more_high: Floats, more_low: Floats) -> Pair:
    """The sum of two numbers of two floats each."""
    total, lost = two_sum(high, more_high)
    return total, low + (more_low + lost)


def times(high: Floats, low: Floats, factor: Floats | float) -> Pair:
    """A number of two floats times a plain one (Dekker's product)."""
    product = high * factor
    (a, b), (c, d) = _halves(high), _halves(np.asarray(factor, np.float64))
    return product, ((a * c - product) + (a * d + b * c)) + b * d + low * factor


def _halves(values: Floats) -> Pair:
    lifted = values * (2.0**27 + 1)
    large = lifted - (lifted - values)
    return large, values - large


def folded(high: Floats, low: Floats) -> Pair:
    """Sums over the first axis."""
    if not len(high):
        return np.zeros(high.shape[1:]), np.zeros(high.shape[1:])
    while len(high) > 1:
        half, last = len(high) // 2, (high[-1:], low[-1:])
        odd = len(high) % 2
        high, low = added(high[:half], low[:half], high[half : 2 * half], low[half : 2 * half])
        if odd:
            high, low = np.concatenate([high, last[0]]), np.concatenate([low, last[1]])
    return high[0], low[0]


# ---- what metrics are computed on

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
