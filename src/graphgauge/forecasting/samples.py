"""The samples that forecasting metrics are computed on: sums over time blocks, reliability, bins of spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.forecasting.joint import JointLayout
from graphgauge.forecasting.measures import GRID, Layout, weight_of
from graphgauge.forecasting.serial import Slow, transforms
from graphgauge.forecasting.spread import Bins
from graphgauge.forecasting.sums import BlockSums
from graphgauge.kernels.doubled import dd_add, dd_times, sum_along
from graphgauge.kernels.tally import tally
from graphgauge.old.core.metric import Estimate

if TYPE_CHECKING:
    from graphgauge.forecasting.state import ForecastState


NOTHING = "there are no observed cells: all are masked, or the arrays are empty"


class Columns(Protocol):
    """The names of the sums and counts, in their order."""

    @property
    def floats(self) -> tuple[str, ...]: ...

    @property
    def counts(self) -> tuple[str, ...]: ...

    def column(self, name: str) -> int: ...


L = TypeVar("L", bound=Columns)


@dataclass(frozen=True)
class Blocks(Generic[L]):
    """Sums of each group by time block; `ordered` is whether the order of the blocks in time is known.

    Blocks without cells in any group are left out; a single group may still lack some.
    """

    layout: L
    sums: BlockSums
    ordered: bool

    @property
    def blocks(self) -> int:
        return len(self.sums)

    def count(self, name: str) -> Ints:
        return np.asarray(self._counts[..., self.layout.counts.index(name)])

    def size(self, name: str = "n") -> Floats:
        """A count, or the weight of the counted cells if nodes have weights."""
        return self.total(weight_of(name)) if self._weighted else self.count(name).astype(float)

    @property
    def _weighted(self) -> bool:
        return getattr(self.layout, "weights", None) is not None

    def total(self, name: str) -> Floats:
        high, low = self._totals
        column = self.layout.column(name)
        return np.asarray(high[..., column] + low[..., column])

    def series(self, name: str) -> Floats:
        """Block by block."""
        if name in self.layout.counts and self._weighted:
            name = weight_of(name)
        if name in self.layout.counts:
            return self.sums.counts[..., self.layout.counts.index(name)].astype(float)
        column = self.layout.column(name)
        return np.asarray(self.sums.high[..., column] + self.sums.low[..., column])

    @cached_property
    def _totals(self) -> tuple[Floats, Floats]:
        return sum_along(self.sums.high, self.sums.low, 0)

    @cached_property
    def _counts(self) -> Ints:
        return np.asarray(self.sums.counts.sum(axis=0))

    @property
    def n(self) -> Ints:
        return self.count("n")

    def mean(self, name: str, over: str = "n", *, factor: float = 1.0, reason: str = NOTHING) -> Estimate:
        """A sum divided by a count of cells."""
        count, size = self.count(over), self.size(over)
        with np.errstate(invalid="ignore", divide="ignore"):
            value = factor * np.where(size > 0, self.total(name) / size, np.nan)
            influence = (factor * self.series(name) - value * self.series(over)) / size
        return Estimate(value, count, influence, reason=self.reason(reason), facts={"over": over})

    @cached_property
    def absolute(self) -> Slow | None:
        """The influences of the absolute errors, if they were counted: all intervals look at their memory."""
        return Slow(np.asarray(self.mean("abs").influence, np.float64)) if "abs" in self.layout.floats else None

    def weights(self, estimate: Estimate) -> Floats:
        """The number of cells behind an estimate, by block."""
        return self.series(estimate.facts.get("over", "n"))

    def reason(self, text: str) -> str:
        """Why there is no value: no cells, or the given reason."""
        return text if self.n.any() else NOTHING


class Vectors(Blocks[JointLayout]):
    """Scores of the joint forecast; the cells are vectors."""

    def gain(self, name: str, *, reason: str) -> Estimate:
        """1 − a sum over the same with shuffled members."""
        count, base = self.n, self.total(f"{name}_shuffled")
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(base > 0, self.total(name) / base, np.nan)
            influence = -(self.series(name) - ratio * self.series(f"{name}_shuffled")) / base
        why = reason if not count.any() else "the members are all equal to the truth"
        return Estimate(1 - ratio, count, influence, reason=why)


class Cells(Blocks[Layout]):
    """Errors, scores and counts of cells."""

    def share(self, name: str) -> Estimate:
        """A count divided by the count of all cells."""
        with np.errstate(invalid="ignore", divide="ignore"):
            value = np.where(self.size() > 0, self.size(name) / self.size(), np.nan)
            influence = (self.series(name) - value * self.series("n")) / self.size()
        return Estimate(value, self.n, influence, reason=NOTHING)

    # --------------------------------------------------------- central intervals

    def absent(self, level: float) -> str | None:
        """The reason why there is no central interval at a level, if there is none."""
        layout = self.layout
        if layout.form == "quantiles":
            lacking = f"needs the quantiles {(1 - level) / 2:g} and {(1 + level) / 2:g}"
            return None if layout.pair(level) else lacking
        if not any(abs(level - known) < 1e-9 for known in layout.coverage):
            return "was not counted: name the level in coverage="
        if layout.form == "samples" and self._known(level) not in layout.reachable:
            return f"needs at least {int(np.ceil(2 / (1 - level) - 1e-9)) - 1} members"
        return None

    def _between(self, level: float, found: Callable[[], Estimate]) -> Estimate:
        reason = self.absent(level)
        if reason is None:
            return found()
        nothing = np.full(len(self.n), np.nan)
        return Estimate(nothing, self.n, reason=reason, absent=True)

    def _known(self, level: float) -> float:
        """The counted level that this one equals up to rounding: 0.95 may come as 95/100."""
        return next((known for known in self.layout.coverage if abs(level - known) < 1e-9), level)

    def covered(self, level: float) -> Estimate:
        level = self._known(level)

        return self._between(level, lambda: self.share(f"inside_{level:g}"))

    def width(self, level: float) -> Estimate:
        level = self._known(level)

        def widths() -> Estimate:
            if self.layout.form == "gaussian":
                half = self.layout.half_widths[self.layout.coverage.index(level)]
                return self.mean("std", factor=2 * half)
            ends = self.layout.pair(level)
            if ends is None:
                return self.mean(f"width_{level:g}")
            return _less(self.mean(f"quantile_{ends[1]:g}"), self.mean(f"quantile_{ends[0]:g}"))

        return self._between(level, widths)

    def interval_score(self, level: float) -> Estimate:
        level = self._known(level)

        def scores() -> Estimate:
            beyond = 2 / (1 - level)
            ends = self.layout.pair(level)
            if ends is not None:
                low, high = (self.mean(f"pinball_{end:g}", factor=beyond) for end in ends)
                return _plus(low, high)
            return _plus(self.width(level), self.mean(f"over_{level:g}", factor=beyond))

        return self._between(level, scores)

    def scaled_score(self, level: float) -> Estimate:
        level = self._known(level)
        name = next((f"msis_{known:g}" for known in self.layout.bounded if abs(known - level) < 1e-9), "")
        why = "the history is constant: its naive forecast has no error"
        return self._between(level, lambda: self.mean(name, "scaled_n", reason=why))

    @cached_property
    def variation(self) -> tuple[Floats, Floats]:
        """Sums of squares of the truth about its mean, by block and in total; 0 if it is constant."""
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = np.where(self.size() > 0, self.total("y") / self.size(), 0.0)
        names = [self.layout.column(name) for name in ("y2", "y", *([weight_of("n")] if self._weighted else []))]
        square, truth, *weight = ((self.sums.high[..., column], self.sums.low[..., column]) for column in names)
        (size,) = weight or [(self.series("n"), np.zeros(1))]
        high, low = dd_add(*square, *dd_times(*truth, -2 * centre))
        high, low = dd_add(high, low, *dd_times(*dd_times(*size, centre), centre))
        whole = np.sum(sum_along(high, low, 0), axis=0)
        return high + low, np.where(whole > 1e-28 * self.total("y2"), whole, 0.0)


def _plus(one: Estimate, other: Estimate) -> Estimate:
    assert one.influence is not None
    assert other.influence is not None
    return replace(one, value=one.value + other.value, influence=one.influence + other.influence)


def _less(one: Estimate, other: Estimate) -> Estimate:
    assert other.influence is not None
    return _plus(one, replace(other, value=-other.value, influence=-other.influence))


@dataclass(frozen=True)
class Reliability:
    """How many truths are at or below the predicted quantile p, by group.

    `over_time` are the same of all groups together by time block, and the numbers of cells, if the order is known.
    """

    p: Floats
    below: Floats
    n: Ints
    over_time: tuple[Floats, Floats] | None = None

    @property
    def share(self) -> Floats:
        return self.below / np.where(self.n > 0, self.n, np.nan)[:, np.newaxis]

    @cached_property
    def centred(self) -> Reliability:
        """The same for central intervals: their levels, and how many truths they contain."""
        pairs = [
            (low, high)
            for low, high in zip(range(len(self.p)), range(len(self.p))[::-1], strict=True)
            if low < high and abs(self.p[low] + self.p[high] - 1) < 1e-9
        ]
        low, high = (np.array([pair[side] for pair in pairs], int) for side in (0, 1))
        inside = None
        if self.over_time is not None:
            inside = self.over_time[0][:, high] - self.over_time[0][:, low], self.over_time[1]
        return Reliability(self.p[high] - self.p[low], self.below[:, high] - self.below[:, low], self.n, inside)

    @cached_property
    def perfect(self) -> Reliability | None:
        """Draws from the scores of a perfect forecaster whose truths depend on each other as these do.

        The shares deviate from p like a normal vector with the long-run covariance of the shares over time. Division
        by the root of a chi-square accounts for the error of that covariance. None if the order in time is not known or
        there are too few time blocks.
        """
        if self.over_time is None or len(self.n) > 1 or not len(self.p):
            return None
        below, cells = self.over_time
        waves = transforms((below - self.share[0] * cells[:, np.newaxis]) / max(int(self.n[0]), 1), cells)
        if waves is None:
            return None
        draws = drawn(waves)
        n = np.ones(_DRAWS, np.int64)
        return Reliability(self.p, np.clip(self.p + draws, 0.0, 1.0), n)

    def estimate(self, values: Floats, reason: str = NOTHING) -> Estimate:
        return Estimate(np.where(self.n > 0, values, np.nan), self.n, reason=reason if self.n.any() else NOTHING)

    def mean_distance(self) -> Floats:
        if not len(self.p):
            return np.full(len(self.n), np.nan)
        gap = self.share
        gap -= self.p
        return np.asarray(np.abs(gap, out=gap).mean(axis=1))

    def area(self) -> Floats:
        """The area between the diagonal and the curve, with points joined by straight lines from (0, 0) to (1, 1)."""
        groups = len(self.n)
        p = np.concatenate(([0.0], self.p, [1.0]))
        gap = np.hstack([np.zeros((groups, 1)), self.share - self.p, np.zeros((groups, 1))])
        left, right, width = np.abs(gap[:, :-1]), np.abs(gap[:, 1:]), np.diff(p)
        crossing = gap[:, :-1] * gap[:, 1:] < 0
        both = np.where(left + right > 0, left + right, 1.0)
        return np.asarray((width * np.where(crossing, (left**2 + right**2) / both, left + right)).sum(axis=1) / 2)


@dataclass(frozen=True)
class Spread:
    """Bins of predicted standard deviation for each group."""

    bins: tuple[Bins, ...]
    exact: bool
    # Σ(e² − σ²) by time block and range of standard deviations, and cells by time block, if the order is known.
    over_time: tuple[Floats, Floats] | None = None

    @property
    def n(self) -> Ints:
        return np.array([int(bins.n.sum()) for bins in self.bins], np.int64)

    def distances(self, square: Floats | None = None, group: int = 0) -> tuple[Floats, Floats]:
        """`ece` and `ence` of one group; `square` replaces its squared errors (draws, bins)."""
        bins = self.bins[group]
        there = bins.n > 0
        n, total = bins.n[there], max(int(bins.n.sum()), 1)
        found = bins.square if square is None else square
        rmse, rmv = np.sqrt(found[..., there] / n), np.sqrt(bins.var[there] / n)
        gap = np.abs(rmse - rmv)
        return (gap * n / total).sum(axis=-1), (gap / rmv).sum(axis=-1) / max(int(there.sum()), 1)

    def estimate(self, which: int) -> Estimate:
        values = [float(self.distances(group=group)[which]) for group in range(len(self.bins))]
        n = self.n
        estimate = Estimate(np.where(n > 0, values, np.nan), n, reason=NOTHING)
        if len(self.bins) != 1 or not n[0]:
            return estimate
        return estimate.warned(*self._remarks(min(int(count) for count in self.bins[0].n if count)))

    def _remarks(self, smallest: int) -> list[str]:
        remarks = []
        if smallest < 100:
            remarks.append(
                f"the smallest bin of spread has {smallest} cells: below 100, ece and ence mostly measure noise"
            )
        if not self.exact and self.bins[0].moved:
            remarks.append(
                f"streamed: standard deviations within 0.1 % of each other may share a bin of ece and ence, so up to "
                f"{self.bins[0].moved:.2%} of the cells may be in a neighbouring bin"
            )
        return remarks

    @cached_property
    def floor(self) -> tuple[float, float]:
        """The mean score of a perfect Gaussian forecaster, in closed form."""
        bins = self.bins[0]
        there = bins.n > 0
        n, var, var2 = bins.n[there], bins.var[there], bins.var2[there]
        rmv = np.sqrt(var / n)
        error = np.sqrt(2 * var2) / (2 * n * rmv) * np.sqrt(2 / np.pi)
        return float((error * n).sum() / n.sum()), float((error / rmv).mean())

    @cached_property
    def null(self) -> tuple[Floats, Floats]:
        """The scores of simulated perfect forecasters with the same standard deviations.

        If the order in time is known, the squared errors of the bins deviate like a normal vector with the long-run
        covariance of the observed deviations over time. Otherwise cells are independent.
        """
        waves = self._waves
        return self._null_of_independent() if waves is None else self._null_over_time(waves)

    @cached_property
    def _waves(self) -> Floats | None:
        """The slowest movements of Σ(e² − σ²) in each bin."""
        if self.over_time is None:
            return None
        excess, cells = self.over_time
        by_bin = excess @ self.bins[0].of_range
        share = cells[:, np.newaxis] / max(float(cells.sum()), 1.0)
        return transforms(by_bin - share * by_bin.sum(axis=0), cells)

    @property
    def dependent(self) -> bool:
        """Whether `null` takes into account how cells depend on each other."""
        return self._waves is not None

    def _null_over_time(self, waves: Floats) -> tuple[Floats, Floats]:
        bins = self.bins[0]
        # Cells of one range that are in different bins deviate on their own, too.
        apart = np.random.default_rng(1).standard_normal((_DRAWS, len(bins.n))) * np.sqrt(bins.within)
        return self.distances(np.maximum(bins.var + drawn(waves) + apart, 0.0))

    def _null_of_independent(self) -> tuple[Floats, Floats]:
        """The squared errors of a bin are drawn from the gamma distribution with the same mean and variance.

        This is exact if the bin's standard deviations are equal.
        """
        bins = self.bins[0]
        draw = np.random.default_rng(0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shape = np.where(bins.n > 0, bins.var**2 / (2 * bins.var2), 1.0)
            scale = np.where(bins.n > 0, 2 * bins.var2 / bins.var, 1.0)
        return self.distances(draw.gamma(shape, scale, (_DRAWS, len(bins.n))))


def drawn(waves: Floats) -> Floats:
    """Draws of a multivariate Student's t with the covariance of the transforms, and as many degrees of freedom."""
    draw = np.random.default_rng(0)
    count = len(waves)
    scale = np.sqrt(count / draw.chisquare(count, (_DRAWS, 1)))
    return np.asarray(draw.standard_normal((_DRAWS, count)) @ waves * scale)


_DRAWS = 2000


def reliability_of(cells: Cells, state: ForecastState, axis: str | None) -> Reliability:
    """By horizon, by node, or over all cells, as in `cells`."""
    layout = cells.layout
    known = axis is None and cells.ordered
    if layout.form == "quantiles":
        names = [f"below_{level:g}" for level in layout.levels]
        below = np.stack([cells.count(name) for name in names], axis=1)
        over_time = np.hstack([cells.series(name) for name in names]) if known else None
        return Reliability(np.array(layout.levels), below.astype(float), cells.n, _timed(over_time, cells))
    p, place = np.array(GRID), 1 if axis == "node" else 0
    over_time = np.cumsum(by_block(state.pit, cells).counts.sum(axis=1), axis=1)[:, :-1] if known else None
    timed = _timed(over_time, cells)
    if layout.form == "gaussian":
        counts = state.node_pit if axis == "node" else state.pit.counts.sum(axis=0)
        counts = counts.sum(axis=0, keepdims=True) if axis is None else counts
        return Reliability(p, np.cumsum(counts, axis=1)[:, :-1].astype(float), cells.n, timed)
    (group, less, equal), count = state.ranks[place].cells()
    if axis is None:
        (less, equal), count = tally([less, equal], count)
        group = np.zeros(len(count), np.int64)
    # A truth has one of m + 1 ranks among m members. Ties make several ranks possible; its mass is spread over them.
    reached = np.clip((p[:, np.newaxis] * (layout.members + 1) - less) / (equal + 1), 0, 1) * count
    below = np.stack([np.bincount(group, row, len(cells.n)) for row in reached], axis=1)
    return Reliability(p, below.astype(float), cells.n, timed)


def _timed(values: NDArray[Any] | None, cells: Cells) -> tuple[Floats, Floats] | None:
    return None if values is None else (values.astype(float), cells.series("n")[:, 0])


def by_block(table: BlockSums, cells: Cells) -> BlockSums:
    """The time blocks of another table in which there are counted cells."""
    return table.rows(np.isin(table.at, cells.sums.at))
