"""The contribution of a slab of forecasts to the sums, column by column, for each form of forecast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.arrays import Floats, Ints, Mask
from graphgauge.forecasting.inputs import Slab
from graphgauge.kernels.doubled import dd_times, sum_along
from graphgauge.kernels.forecast import COUNTS, FLOATS, PARTS, POINT_FLOATS, SUMS, Sums, error_sums
from graphgauge.kernels.forecast_columns import column_sums, quantile_sums
from graphgauge.kernels.forecast_ensemble import ensemble_scores
from graphgauge.old.core.metric import Metric

Columns = dict[str, NDArray[Any]]
# Sums of nodes that are weighted at once.
_AT_ONCE = 1 << 21

# Probabilities at which the reliability of Gaussians is evaluated.
GRID = tuple(k / 100 for k in range(1, 100))


def gaussian_edges() -> Floats:
    """The same in standard deviations."""
    return np.array([-_core.normal_quantile(share) for share in GRID])


# Parts that are skipped if no metric needs them: parts of the kernel's sums, and the two histograms. `_NEEDED` lists
# the parts of each metric beyond the sums of `errors`.
ALL = (
    "bias",
    "size",
    "relative",
    "symmetric",
    "spread",
    "over",
    "scores",
    "scaled_scores",
    "pit",
    "bins",
    "joint",
)
_NEEDED = {
    "bias": ("bias",),
    "mape": ("relative",),
    "smape": ("symmetric",),
    "wape": ("size",),
    "r2": ("size",),
    "nll": ("scores",),
    "crps": ("scores",),
    "sharpness": ("spread",),
    "width": ("spread",),
    "interval_score": ("spread", "over"),
    "wql": ("size",),
    "msis": ("scaled_scores",),
}
# The sums of `size` without their order in time, which chance levels need.
CHANCE = "chance"
# Parts of sums that the kernel does not compute.
_PART_OF = {"over": "over", "width": "spread", "quantile": "spread"}
_HISTOGRAMS = {"reliability": "pit", "spread": "bins", "joint": "joint", "pairs": "joint"}


# Parts that have no node weights.
UNWEIGHTED = ("pit", "bins", "joint")


def counted_for(metrics: Iterable[Metric] | None) -> tuple[str, ...]:
    """The parts that these metrics need."""
    if metrics is None:
        return ALL
    needed: set[str] = set()
    for metric in metrics:
        needed |= {*_NEEDED.get(metric.name, ()), *(_HISTOGRAMS[name] for name in metric.needs if name in _HISTOGRAMS)}
    return tuple(part for part in ALL if part in needed)


@dataclass(frozen=True)
class Layout:
    """The columns of the sums, which depend on the form of the forecast and the requested metrics."""

    form: str
    horizons: int
    nodes: int
    coverage: tuple[float, ...]
    levels: tuple[float, ...] = ()
    members: int = 0
    scaled: bool = False
    counted: tuple[str, ...] = ALL
    # As text: a NaN would differ from itself.
    null_value: str | None = None
    null_tolerance: float = 0.0
    masked: bool = False
    graph: str | None = None
    # Node weights as text; the sums by horizon are then weighted, and so are the counts, as further sums.
    weights: str | None = None
    # Whether squared naive errors are known, too.
    root_scaled: bool = False

    @cached_property
    def samples(self) -> frozenset[str]:
        """The samples that metrics can be computed on, if they were counted."""
        point = self.form == "point"
        found = ["errors", *([] if point else [self.form]), *(["scaled"] if self.scaled else [])]
        found += ["root_scaled"] * self.root_scaled + ["scaled_scores"] * (self.scaled and not point)
        if self.weights is None and not point:
            found += ["reliability", *(["spread"] if self.form == "gaussian" else [])]
        if self.form == "samples" and self.weights is None:
            several = self.nodes > 1
            found += ["joint"] * several + ["pairs"] * (several and self.graph is not None)
        return frozenset(found)

    @cached_property
    def kernel_parts(self) -> tuple[str, ...]:
        return ("errors", *(part for part in self.counted if part in PARTS), *["size"] * (CHANCE in self.counted))

    @cached_property
    def floats(self) -> tuple[str, ...]:
        """The sums that are kept: those of the kernel, then those of the form."""
        kernel = FLOATS if self.form == "gaussian" else POINT_FLOATS
        names = tuple(name for name in kernel if SUMS[name] in self.kernel_parts)
        wide, over = "spread" in self.counted, "over" in self.counted
        if self.form == "gaussian":
            names += self._at("over", self.coverage) * over
        elif self.form == "quantiles":
            names += self._at("pinball", self.levels) + self._at("quantile", self.levels) * wide
        elif self.form == "samples":
            names += ("crps", "crps_fair")
            names += self._at("over", self.reachable) * over + self._at("width", self.reachable) * wide
        names += ("scaled",) * self.scaled + ("scaled_square",) * self.root_scaled
        if self.scaled and "scaled_scores" in self.counted:
            names += self._at("msis", self.bounded)
        return names if self.weights is None else (*names, *map(weight_of, self.counts))

    @staticmethod
    def _at(kind: str, levels: Iterable[float]) -> tuple[str, ...]:
        return tuple(f"{kind}_{level:g}" for level in levels)

    def column(self, name: str) -> int:
        """The place of a sum, which must have been counted."""
        if name not in self.floats:
            part = SUMS.get(name) or _PART_OF.get(name.partition("_")[0])
            raise LookupError(f"{name!r} was not counted: declare in _NEEDED that the metric needs {part!r}")
        return self.floats.index(name)

    @cached_property
    def counts(self) -> tuple[str, ...]:
        names: tuple[str, ...] = COUNTS[:2]
        if self.form == "gaussian":
            names = (*COUNTS, *self._at("inside", self.coverage))
        elif self.form == "quantiles":
            pairs = (self.levels[high] - self.levels[low] for low, high in self.pairs)
            names += (*self._at("below", self.levels), *self._at("inside", pairs), "crossing")
        elif self.form == "samples":
            names += self._at("inside", self.reachable)
        return (*names, "scaled_n") if self.scaled else names

    @cached_property
    def bounded(self) -> tuple[float, ...]:
        """The levels of the central intervals that the forecast has."""
        if self.form == "quantiles":
            return tuple(self.levels[high] - self.levels[low] for low, high in self.pairs)
        return {"gaussian": self.coverage, "samples": self.reachable}.get(self.form, ())

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The places of quantile levels that bound a central interval, the widest first."""
        ends = zip(range(len(self.levels)), range(len(self.levels))[::-1], strict=True)
        both = ((low, self._place(1 - self.levels[low])) for low, _ in ends if self.levels[low] < 0.5)
        return tuple((low, high) for low, high in both if high is not None)

    def _place(self, level: float) -> int | None:
        return next((place for place, q in enumerate(self.levels) if abs(q - level) < 1e-9), None)

    @cached_property
    def half_widths(self) -> tuple[float, ...]:
        """The half-widths of the central Gaussian intervals, in standard deviations."""
        return tuple(-_core.normal_quantile((1 + level) / 2) for level in self.coverage)

    @cached_property
    def reachable(self) -> tuple[float, ...]:
        """The levels whose interval is within the sorted members."""
        return tuple(level for level in self.coverage if (1 - level) / 2 * (self.members + 1) >= 1 - 1e-9)

    def pair(self, level: float) -> tuple[float, float] | None:
        """The quantile levels that bound the central interval, if both are given."""
        ends = [
            next((q for q in self.levels if abs(q - end) < 1e-9), None) for end in ((1 - level) / 2, (1 + level) / 2)
        ]
        return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def weight_of(count: str) -> str:
    """The sum of the weights of the cells that a count counts."""
    return f"{count}_weight"


def measured(
    slab: Slab,
    layout: Layout,
    blocks: int,
    scale: Floats | None,
    place: Ints | None = None,
    weights: Floats | None = None,
) -> tuple[Sums, Sums]:
    """Sums and counts of a slab, divided into this many blocks of equal length, by horizon and by node.

    Blocks with the same `place` share the sums by node. With `weights` of the nodes, the sums by horizon are weighted.
    """
    by_horizon, by_node = _plain_sums(slab, layout, blocks, scale, place)
    if weights is None:
        return by_horizon, by_node
    counted = by_node.counts.astype(np.float64)
    high, low = (
        np.concatenate(pair, axis=-1) for pair in ((by_node.high, counted), (by_node.low, np.zeros(counted.shape)))
    )
    by_node = Sums(high, low, by_node.counts)
    return _weighted_sums(slab, layout, blocks, scale, weights, by_horizon.counts), by_node


def _weighted_sums(
    slab: Slab, layout: Layout, blocks: int, scale: Floats | None, weights: Floats, counts: Ints
) -> Sums:
    """Weighted sums by time block and horizon: the sums of each node in a block and horizon, times its weight."""
    steps, horizons, nodes = slab.y.shape
    length, columns = steps // blocks, len(layout.floats)
    high, low = np.zeros((2, blocks * horizons, columns))
    together = max(1, _AT_ONCE // max(1, nodes * columns))
    for first in range(0, blocks * horizons, together):
        some = range(first, min(first + together, blocks * horizons))
        part = slab.rearranged(
            [(slice(row // horizons * length, (row // horizons + 1) * length), row % horizons) for row in some]
        )
        _, found = _plain_sums(part, layout, len(some), scale, np.arange(len(some)))
        counted = found.counts.astype(np.float64)
        terms = dd_times(
            np.concatenate([found.high, counted], axis=-1),
            np.concatenate([found.low, 0 * counted], axis=-1),
            weights[:, np.newaxis],
        )
        rows = slice(some.start, some.stop)
        high[rows], low[rows] = sum_along(*terms, 1)
    shape = (blocks, horizons, columns)
    return Sums(high.reshape(shape), low.reshape(shape), counts)


def _plain_sums(slab: Slab, layout: Layout, blocks: int, scale: Floats | None, place: Ints | None) -> tuple[Sums, Sums]:
    shape = (blocks, len(slab.y) // blocks, *slab.y.shape[1:])
    y, mean = slab.y.reshape(shape), slab.mean.reshape(shape)
    std, mask = (None if array is None else array.reshape(shape) for array in (slab.std, slab.mask))
    z = layout.half_widths if slab.std is not None else ()
    sums = error_sums(y, mean, std, mask, z=z, parts=layout.kernel_parts, place=place, only_asked=True)
    if slab.std is None:
        sums = sums[0].some_counts(2), sums[1].some_counts(2)
    parts = [sums]
    if slab.quantiles is not None:
        levels, wide = layout.levels, "spread" in layout.counted
        quantiles = slab.quantiles.reshape(*shape, len(levels))
        parts.append(quantile_sums(y, quantiles, levels, mask, pairs=layout.pairs, place=place, with_quantiles=wide))
    if scale is not None or slab.members is not None:
        floats, counts = _columns(slab, layout, scale)
        parts.append(column_sums(list(floats.values()), list(counts.values()), shape, place=place))
    by_horizon, by_node = (part[0] if len(part) == 1 else _joined(part) for part in zip(*parts, strict=True))
    return by_horizon, by_node


def _joined(parts: Sequence[Sums]) -> Sums:
    tables = zip(*((part.high, part.low, part.counts) for part in parts), strict=True)
    return Sums(*(np.concatenate(table, axis=-1) for table in tables))


def _columns(slab: Slab, layout: Layout, scale: Floats | None) -> tuple[Columns, Columns]:
    """The numbers and counts of each cell that no kernel sums, in layout order; 0 for cells that do not count."""
    floats: Columns = {}
    counts: Columns = {}
    counted = slab.counted
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if slab.members is not None:
            chosen = counted if slab.mask is not None else slice(None)
            y = slab.y[chosen].reshape(-1).astype(np.float64)
            members = slab.members[chosen].reshape(-1, layout.members)
            floats |= zip(("crps", "crps_fair"), ensemble_scores(y, members), strict=True)
            members = np.sort(members, axis=-1) if layout.reachable else members
            ends = {level: central(members, level) for level in layout.reachable}
            if "over" in layout.counted:
                floats |= {
                    f"over_{level:g}": np.maximum(low - y, 0) + np.maximum(y - high, 0)
                    for level, (low, high) in ends.items()
                }
            if "spread" in layout.counted:
                floats |= {f"width_{level:g}": high - low for level, (low, high) in ends.items()}
            counts |= {f"inside_{level:g}": (low <= y) & (y <= high) for level, (low, high) in ends.items()}
            floats = {name: _spread_out(values, counted) for name, values in floats.items()}
            counts = {name: _spread_out(values, counted) for name, values in counts.items()}
        if scale is not None:
            by_node, by_node_squared = scale if scale.ndim == 2 else (scale, scale)
            known = counted & (by_node > 0)
            error = np.abs(slab.mean.astype(np.float64, copy=False) - slab.y)

            def scaled(values: Floats, by: Floats) -> Floats:
                return np.divide(values, by, out=np.zeros(values.shape), where=known)

            floats["scaled"] = scaled(error, by_node)
            if layout.root_scaled:
                floats["scaled_square"] = scaled(error * error, by_node_squared)
            if "scaled_scores" in layout.counted:
                floats |= {f"msis_{level:g}": scaled(score, by_node) for level, score in _interval_scores(slab, layout)}
            counts["scaled_n"] = known
    return floats, counts


def _interval_scores(slab: Slab, layout: Layout) -> Iterator[tuple[float, Floats]]:
    """Winkler's score of each cell, for each level."""
    y = slab.y.astype(np.float64)
    members = None if slab.members is None else np.sort(slab.members, axis=-1)
    for place, level in enumerate(layout.bounded):
        if slab.std is not None:
            margin = layout.half_widths[place] * slab.std.astype(np.float64)
            low, high = slab.mean - margin, slab.mean + margin
        elif members is not None:
            low, high = central(members, level)
        else:
            assert slab.quantiles is not None
            low, high = (slab.quantiles[..., end].astype(np.float64) for end in layout.pairs[place])
        outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        yield level, (high - low) + 2 / (1 - level) * outside


def _spread_out(values: NDArray[Any], counted: Mask) -> NDArray[Any]:
    """Values of the counted cells at their places, and 0 elsewhere."""
    table = np.zeros(counted.shape, values.dtype)
    table[counted] = values
    return table


def central(members: NDArray[np.floating], level: float) -> tuple[Floats, Floats]:
    """The ends of the central interval, at ranks p·(m + 1) among the sorted members.

    A truth that is exchangeable with the members is between them with that probability, for any number of members.
    """
    ends = []
    for p in ((1 - level) / 2, (1 + level) / 2):
        place = min(max(p * (members.shape[-1] + 1) - 1, 0.0), members.shape[-1] - 1.0)
        before = min(int(place + 1e-9), members.shape[-1] - 2)
        below, above = (members[..., at].astype(np.float64, copy=False) for at in (before, before + 1))
        ends.append(below + (place - before) * (above - below))
    return ends[0], ends[1]
