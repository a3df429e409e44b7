"""Calibration: ranks of truths in their distributions, spread against error, and what is perfect.

A truth among m members has one of m + 1 ranks; in a Gaussian there are a hundred of equal probability. Equal members
make several ranks possible, among which a cell is divided. Its parts are kept in two floats whose sums are exact, so
that counts have the same bits however cells are ordered or split.

Standard deviations are counted by the leading bits of their floats, in steps of less than .1 %, so that parts add up
and nothing is sorted. Of a sample in memory the few cells that share these bits with the edge of a bin are compared
in full.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, reduce
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.errors import InputError
from graphgauge.core.metric import Estimate
from graphgauge.core.random import Random
from graphgauge.core.result import Reference
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import NOTHING, Cells, Span, Table, grouped
from graphgauge.stats.errors import FEWEST_STEPS, cosine_error

# ---- cells by rank

_GAUSSIAN = 100
# Probabilities at which shares are computed.
GRID = np.arange(1, 100) / 100
# The high part of a share of a cell is a multiple of this, the low part of 2**-52.
_HIGH, _LOW = 2.0**20, 2.0**52


@cache
def gaussian_edges() -> Floats:
    """The probabilities of `GRID` in standard deviations."""
    return np.array([-_core.normal_quantile(float(share)) for share in GRID])


def rank_tables(sample: Sample, design: Design, *, first: int = 0) -> dict[str, Table]:
    """Cells by rank in Gaussians or among members: by time block, by horizon and by node."""
    span = Span.of(sample.shape, first)
    if sample.rows is None and sample.std is not None:
        host = sample.on_host()
        by_horizon, by_node = _core.positions(
            *(host.y, host.mean, host.std, host.mask, gaussian_edges(), first, 1 << span.shift),
            threads=threads_for(sample.cells),
        )
        counts = by_horizon.sum(axis=1), by_horizon.sum(axis=0), by_node
        return _tables(span.blocks(span.shift), span, *(np.stack([each, np.zeros(each.shape)]) for each in counts))

    def of(part: Sample) -> dict[str, Table]:
        rows, ranks = part.rows, _ranks(part)
        assert rows is not None
        at, block = np.unique((rows.step + first) >> span.shift, return_inverse=True)
        sides = (block, len(at)), (rows.horizon, design.horizons), (rows.node, design.nodes)
        return _tables(at, span, *(_divided(key, groups, *ranks) for key, groups in sides))

    parts = sample.each_part(of)
    return reduce(lambda one, two: {name: each.merged(two[name]) for name, each in one.items()}, parts)


def _tables(at: Ints, span: Span, by_block: Floats, by_horizon: Floats, by_node: Floats) -> dict[str, Table]:
    """Tables of high and low parts (2, group, rank)."""
    names, whole = tuple(map(str, range(by_block.shape[2]))), np.zeros(1, np.int64)
    found = {"ranks": Table(names, at.astype(np.int64), span.shift, span.most, *by_block[..., np.newaxis])}
    for name, parts in (("ranks_by_horizon", by_horizon), ("ranks_by_node", by_node)):
        found[name] = Table(names, whole, 0, 1, *parts.swapaxes(1, 2)[:, np.newaxis])
    return found


def _ranks(part: Sample) -> tuple[Ints, Ints, int]:
    """The first and the last rank that each truth may have, and their number."""
    if part.members is not None:
        count = part.members.shape[1]
        greater, equal, *_ = _core.rank_counts(part.y, part.members)
        highest = count - greater.astype(np.int64)
        return highest - equal, highest, count + 1
    score = (part.y.astype(np.float64) - part.mean) / part.std
    place = np.searchsorted(gaussian_edges(), score)
    return place, place, _GAUSSIAN


def _divided(key: AnyArray, groups: int, lowest: Ints, highest: Ints, size: int) -> Floats:
    """Cells by group and rank, each divided evenly among its ranks: (2, group, rank) as high and low parts."""
    tied = np.flatnonzero(lowest != highest)
    single = slice(None) if not len(tied) else np.flatnonzero(lowest == highest)
    parts = np.zeros((2, groups, size))
    parts[0] = np.bincount(key[single] * size + lowest[single], minlength=groups * size).reshape(groups, size)
    if len(tied):
        first, past = (key[tied] * (size + 1) + end for end in (lowest[tied], highest[tied] + 1))
        share, room = 1.0 / (past - first), groups * (size + 1)
        high = np.rint(share * _HIGH) / _HIGH
        low = np.rint((share - high) * _LOW) / _LOW
        changes = [np.bincount(first, part, room) - np.bincount(past, part, room) for part in (high, low)]
        parts += np.cumsum(np.stack(changes).reshape(2, groups, size + 1), axis=2)[..., :size]
    return parts


def cells_below(ranks: Floats) -> Floats:
    """Cells below each probability of `GRID`, (group, p), of cells by rank (group, rank).

    A truth at rank r of `size` lies between r/size and (r + 1)/size, anywhere.
    """
    size = ranks.shape[1]
    reached = np.zeros((len(ranks), size + 1))
    np.cumsum(ranks, axis=1, out=reached[:, 1:])
    whole, rest = np.divmod(np.arange(1, 100) * size, 100)
    return np.asarray(reached[:, whole] + rest / 100 * ranks[:, np.minimum(whole, size - 1)])


# ---- cells by predicted standard deviation

# Bits of the mantissa that a key leaves out.
_FINE = 42
# More than there are keys.
_EVERY_KEY = 1 << 22
_SMALLEST = 1e-150
# A standard deviation's cells: sums of e², σ², σ⁴, and their number.
_TERMS = ("square", "var", "var2", "count")


@dataclass(frozen=True)
class Bins:
    """Cells of each bin, their squared errors, predicted variances and the squares of these.

    `moved` is the share of cells that a finer histogram might move to the next bin.
    """

    n: Ints
    square: Floats
    var: Floats
    var2: Floats
    moved: float


@dataclass(frozen=True, eq=False)
class StdCells:
    """Cells by key, rising: sums (term, key)."""

    key: Ints
    sums: Floats

    @property
    def count(self) -> Ints:
        return np.asarray(self.sums[_TERMS.index("count")], np.int64)


def std_table(sample: Sample) -> Table:
    """The sums of each horizon, by key in place of time."""

    def of(part: Sample) -> Table:
        assert part.rows is not None
        std = part.std.astype(np.float64)
        return grouped(
            _terms(std, _error(part)), _bits(std) >> _FINE, part.rows.horizon, sample.shape[1], 0, _EVERY_KEY
        )

    table = reduce(Table.merged, sample.each_part(of))
    if len(table) and table.at[0] < int(_bits(np.array([_SMALLEST]))[0]) >> _FINE:
        raise InputError(f"values below {_SMALLEST:g}, whose squares vanish", where="std", fix="Rescale the data.")
    return replace(table, high=table.high + table.low, low=np.zeros(table.low.shape))


def all_bins(table: Table, bins: int, whole: Sample | None) -> list[Bins]:
    """The bins of all horizons together and of each; exact if the `whole` sample is in memory."""
    sides = [(table.pooled, 0), *((table, group) for group in range(table.groups))]
    cells = []
    for side, group in sides:
        sums = np.stack([side.series(name)[:, group] for name in _TERMS])
        places = np.flatnonzero(sums[-1])
        cells.append(StdCells(side.at[places], sums[:, places]))
    on_edge = [_straddling(each, bins) for each in cells]
    if whole is None:
        return [
            _binned(each, bins, float(each.count[edge].sum() / max(each.count.sum(), 1)))
            for each, edge in zip(cells, on_edge, strict=True)
        ]
    fine = _told_apart(whole.on_host(), [each.key[edge] for each, edge in zip(cells, on_edge, strict=True)])
    found = []
    for each, edge, more in zip(cells, on_edge, fine, strict=True):
        order = np.argsort(np.concatenate([each.key[~edge] << _FINE, more.key]), kind="stable")
        found.append(_binned(StdCells(order, np.concatenate([each.sums[:, ~edge], more.sums], axis=1)[:, order]), bins))
    return found


def _binned(cells: StdCells, bins: int, moved: float = 0.0) -> Bins:
    """The cells in bins by standard deviation."""
    high, low = _core.grouped_sums(np.ascontiguousarray(cells.sums), _place(cells.count, bins), bins)
    square, var, var2, n = high + low
    return Bins(n.astype(np.int64), square, var, var2, moved)


def bins_over_time(table: Table, bins: int, sample: Sample, shift: int) -> Floats:
    """Σe² and Σσ² (term, block, bin) of blocks of 2**shift steps; all cells with one key are in one bin."""
    side = table.pooled
    lowest = side.at[0]
    place = np.zeros(side.at[-1] - lowest + 1, np.int64)
    place[side.at - lowest] = _place(side.series("count")[:, 0].astype(np.int64), bins)

    def of(part: Sample) -> Table:
        assert part.rows is not None
        std, of_cell = part.std.astype(np.float64), place[(_bits(part.std) >> _FINE) - lowest]
        terms = {"square": np.square(_error(part)), "var": std * std}
        return grouped(terms, part.rows.step >> shift, of_cell, bins, shift, _EVERY_KEY)

    over_time = reduce(Table.merged, sample.each_part(of))
    return np.stack([over_time.series(name) for name in ("square", "var")])


def _place(count: Ints, bins: int) -> Ints:
    """The bin of each key, floor(bins·(less + (equal − 1)/2)/n): of equal number, and equal deviations share one."""
    return np.asarray(bins * (2 * (np.cumsum(count) - count) + count - 1) // (2 * max(int(count.sum()), 1)))


def _straddling(cells: StdCells, bins: int) -> Mask:
    """Keys whose first and last cell would be in different bins, unless all their deviations are equal (to 1e-8)."""
    total, count = max(int(cells.count.sum()), 1), cells.count
    less = np.cumsum(count) - count
    _, var, var2, _ = cells.sums
    # Fourth powers of very large or small deviations are beyond the range of floats, and tell nothing.
    equal = (var2 * count <= np.square(var) * (1 + 1e-15)) & (var2 > 0) & (var2 < math.inf)
    return np.asarray((bins * less // total != bins * (less + count - 1) // total) & ~equal)


def _told_apart(sample: Sample, keys: list[Ints]) -> list[StdCells]:
    """The cells with these keys by all bits of their standard deviations: of all horizons, then of each."""
    wanted = sorted_unique(np.concatenate(keys))
    if not len(wanted):
        return [StdCells(wanted, np.zeros((len(_TERMS), 0)))] * len(keys)
    among = np.zeros(int(wanted[-1] - wanted[0]) + 2, np.bool_)  # its last place is that of all other keys
    among[wanted - wanted[0]] = True

    def of(part: Sample) -> tuple[Floats, Floats, Ints]:
        assert part.rows is not None
        some = np.flatnonzero(among[np.clip((_bits(part.std) >> _FINE) - wanted[0], -1, len(among) - 1)])
        return part.std[some].astype(np.float64), _error(part)[some], part.rows.horizon[some]

    std, error, horizon = (np.concatenate(each) for each in zip(*sample.each_part(of), strict=True))
    found = []
    for group, some in enumerate(keys):
        mine = np.isin(_bits(std) >> _FINE, some) & ((horizon == group - 1) | (group == 0))
        known, place = np.unique(_bits(std[mine]), return_inverse=True)
        terms = np.stack(list(_terms(std[mine], error[mine]).values()))
        found.append(StdCells(known, np.add(*_core.grouped_sums(terms, place.astype(np.int64), len(known)))))
    return found


def _terms(std: Floats, error: Floats) -> Mapping[str, Any]:
    var = std * std
    return dict(zip(_TERMS, (error * error, var, var * var, np.ones(len(std))), strict=True))


def _error(part: Sample) -> Floats:
    return np.asarray(part.mean.astype(np.float64) - part.y)


def _bits(std: AnyArray) -> Ints:
    return np.ascontiguousarray(std, np.float64).view(np.int64)


# ---- distances from calibration

_DRAWS = 2000


@dataclass(frozen=True)
class Reliability:
    """How many truths are at or below the predicted quantile p, (group, p), of n cells.

    `over_time` are the same of all groups by time block, and the cells of each, if the order is known.
    """

    p: Floats
    below: Floats
    n: Ints
    over_time: tuple[Floats, Floats] | None = None

    @classmethod
    def from_ranks(cls, tables: Mapping[str, Table], cells: Cells, axis: str | None) -> Reliability:
        ranks, over_time = tables[f"ranks_by_{axis or 'horizon'}"], None
        by_group = (ranks if axis else ranks.pooled).totals.T
        by_block = tables["ranks"]
        if axis is None and cells.ordered and np.array_equal(by_block.at, cells.table.at):
            over_time = cells_below((by_block.high + by_block.low)[..., 0]), cells.series("n")[:, 0]
        return cls(GRID, cells_below(by_group), cells.n, over_time)

    @classmethod
    def from_quantiles(cls, cells: Cells, axis: str | None) -> Reliability:
        names = [f"below_{level:g}" for level in cells.design.levels]
        below = np.stack([cells.total(name) for name in names], axis=1)
        over_time = None
        if axis is None and cells.ordered:
            over_time = np.hstack([cells.series(name) for name in names]), cells.series("n")[:, 0]
        return cls(np.array(cells.design.levels), below, cells.n, over_time)

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
    def drawn(self) -> Reliability | None:
        """Draws of a perfect forecaster whose truths depend on each other in time as these do; None without an order.

        The shares deviate from p like a normal vector with the long-run covariance of the shares: weighted sums of
        their lowest cosines, divided by the root of a chi-square for the error of that covariance.
        """
        if self.over_time is None or len(self.p) == 0 or len(self.over_time[1]) < FEWEST_STEPS:
            return None
        below, cells = self.over_time
        influence = (below - self.share[0] * cells[:, np.newaxis]) / max(int(self.n[0]), 1)
        _, count = cosine_error(influence, np.broadcast_to(cells[:, np.newaxis], influence.shape))
        waves = int(count.min())
        if waves < 1:
            return None
        blocks = len(influence)
        cosines = np.cos(np.pi * np.outer(np.arange(1, waves + 1), np.arange(blocks) + 0.5) / blocks)
        normals = normal_draws(_DRAWS, 2 * waves)
        scale = np.sqrt(waves / np.square(normals[:, waves:]).sum(axis=1, keepdims=True))
        moved = normals[:, :waves] @ (np.sqrt(2 / waves) * (cosines @ influence)) * scale
        return Reliability(self.p, np.clip(self.p + moved, 0.0, 1.0), np.ones(_DRAWS, np.int64))

    def estimate(self, values: Floats, reason: str = NOTHING) -> Estimate:
        return Estimate(np.where(self.n > 0, values, np.nan), self.n, reason=reason if self.n.any() else NOTHING)

    def mean_distance(self) -> Floats:
        """The mean over p of the distance between p and the share."""
        if not len(self.p):
            return np.full(len(self.n), np.nan)
        return np.asarray(np.abs(self.share - self.p).mean(axis=1))

    def area(self) -> Floats:
        """The area between the diagonal and the curve, with points joined by straight lines from (0, 0) to (1, 1)."""
        nothing = np.zeros((len(self.n), 1))
        p = np.concatenate(([0.0], self.p, [1.0]))
        gap = np.hstack([nothing, self.share - self.p, nothing])
        left, right, width = np.abs(gap[:, :-1]), np.abs(gap[:, 1:]), np.diff(p)
        both = np.where(left + right > 0, left + right, 1.0)
        crossed = np.where(gap[:, :-1] * gap[:, 1:] < 0, (left**2 + right**2) / both, left + right)
        return np.asarray((width * crossed).sum(axis=1) / 2)


def mean_deviation(n: int, p: Floats) -> Floats:
    """The mean absolute deviation of a share of n independent items from its probability (De Moivre)."""

    def of(share: float) -> float:
        k = math.floor(n * share) + 1
        terms = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return 2 / n * k * math.exp(terms + k * math.log(share) + (n - k + 1) * math.log1p(-share))

    return np.array([of(share) for share in p.tolist()])


def _together(over_time: Floats, var2: Floats, cells: Floats) -> float | None:
    """How many times the variance of Σe² exceeds that of independent cells, 2Σσ⁴, from (term, block, group).

    Blocks have so many `cells` (block, 1). Errors may be larger than stated, by a ratio of each group. Fourth powers
    beyond the range of floats tell nothing.
    """
    total = over_time[1].sum(axis=0)
    with np.errstate(all="ignore"):
        square, var = over_time / total
        even = var2 / total**2
        ratio = square.sum(axis=0)
        error, _ = cosine_error(square - ratio * var, np.broadcast_to(cells, square.shape))
        # The square of an estimated ratio is too large by its variance, and errors about it are too small.
        independent = 2 * even * ratio**2 / (1 + (error / ratio) ** 2) * (1 - even)
        there = np.isfinite(error) & (independent > 0) & (independent < math.inf)
        return max(1.0, float(np.square(error[there]).sum() / independent[there].sum())) if there.any() else None


@dataclass(frozen=True)
class Spread:
    """Bins of predicted standard deviation of each group.

    `together` is how many times the variance of a bin's Σe² exceeds that of independent cells, and `whole` the same of
    all bins as one: errors that follow each other, or are at one time, depend on each other. None if the order in time
    is not known.
    """

    bins: tuple[Bins, ...]
    together: float | None = None
    whole: float | None = None

    @classmethod
    def of(cls, bins: tuple[Bins, ...], cells: Cells, over_time: Floats | None = None) -> Spread:
        """`over_time` has Σe² and Σσ² (term, block with cells, bin), which are not known of a state."""
        if not cells.ordered or len(bins) != 1 or len(cells.table) < FEWEST_STEPS or not bins[0].n.any():
            return cls(bins)
        there = cells.series("n")[:, 0] > 0
        square, var, n = (cells.series(name)[there] for name in ("square", "var", "n"))
        whole = _together(np.stack([square, var]), bins[0].var2.sum(keepdims=True), n)
        return cls(bins, whole if over_time is None else _together(over_time, bins[0].var2, n), whole)

    @property
    def n(self) -> Ints:
        return np.array([int(bins.n.sum()) for bins in self.bins], np.int64)

    def distances(self, square: Floats | None = None, group: int = 0) -> tuple[Floats, Floats]:
        """`ece` and `ence` of one group; `square` replaces its squared errors (draw, bin)."""
        bins = self.bins[group]
        there = bins.n > 0
        n, total = bins.n[there], max(int(bins.n.sum()), 1)
        seen = bins.square if square is None else square
        rmse, rmv = np.sqrt(seen[..., there] / n), np.sqrt(bins.var[there] / n)
        gap = np.abs(rmse - rmv)
        return (gap * n / total).sum(axis=-1), (gap / rmv).sum(axis=-1) / max(int(there.sum()), 1)

    @property
    def correlation(self) -> float:
        """Of the squared errors of two bins, with which their sum varies as it does."""
        if self.together is None or self.whole is None:
            return 0.0
        var2 = self.bins[0].var2
        pairs = float(np.sqrt(var2).sum() ** 2 - var2.sum())
        more = (self.whole / self.together - 1) * float(var2.sum())
        return min(max(more / pairs, 0.0), 1.0) if pairs > 0 else 0.0

    def estimate(self, which: int) -> Estimate:
        values = [float(self.distances(group=group)[which]) for group in range(len(self.bins))]
        warnings: tuple[str, ...] = ()
        moved = self.bins[0].moved
        if len(self.bins) == 1 and moved:
            warnings = (
                f"from a histogram: up to {moved:.2%} of the cells may be in a neighbouring bin of ece and ence",
            )
        return Estimate(np.where(self.n > 0, values, np.nan), self.n, reason=NOTHING, warnings=warnings)

    @cached_property
    def drawn(self) -> tuple[Floats, Floats]:
        """The scores of 2,000 perfect forecasters with the same standard deviations.

        The squared errors of a bin are a multiple of a chi-square with the same mean and variance (Wilson and
        Hilferty), with fewer degrees of freedom if errors depend on each other, and correlated as their sum shows.
        """
        bins = self.bins[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            freedom = np.where(bins.n > 0, bins.var**2 / bins.var2, 1.0) / (self.together or 1.0)
        part = 2 / (9 * np.maximum(freedom, 0.5))
        normals, common = normal_draws(_DRAWS, len(bins.n) + 1), self.correlation
        normals = np.sqrt(1 - common) * normals[:, 1:] + np.sqrt(common) * normals[:, :1]
        root = 1 - part + normals * np.sqrt(part)
        return self.distances(bins.var * np.maximum(root, 0.0) ** 3)


def normal_draws(rows: int, columns: int) -> Floats:
    """Standard normal numbers, the same in every call (Box and Muller)."""
    one, other = Random(0).uniform(2, rows, columns)
    return np.asarray(np.sqrt(-2 * np.log1p(-one)) * np.cos(2 * np.pi * other))


def perfect(drawn: AnyArray, *, independent: bool = False) -> Reference:
    """The level of simulated perfect forecasters, with the band that contains 95 % of them."""
    name = "perfect forecaster" + (", independent cells" if independent else "")
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Reference(name, float(drawn.mean()), "ideal", low=float(low), high=float(high))
