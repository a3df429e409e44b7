"""Sums over forecasts and truths, by horizon and by node, in one pass over the cells.

Every sum is kept in two floats (Knuth's two-sum), the second of which collects rounding errors. So the
sums are accurate to twice the precision of a float, and do not depend on how the cells are split into parts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import dd_add, folded, two_sum
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.forecast_cells import (
    INSIDE,
    NLL,
    OVER,
    SUMS,
    Y2,
    Y2_LOST,
    N,
    add_cells,
)
from graphgauge.kernels.jit import kernel

_Cells = tuple[AnyArray, AnyArray, AnyArray | None, Mask | None]

PARTS = (*dict.fromkeys(SUMS.values()), "over")
_OF_SPREAD = ("spread", "scores", "over")
FLOATS = tuple(SUMS)
# Those of a forecast without standard deviations.
POINT_FLOATS = tuple(name for name, part in SUMS.items() if part not in _OF_SPREAD)
COUNTS = ("n", "nonzero", "bad_std")

_ASKED: dict[str, Any] = {part: [row for row, name in enumerate(FLOATS) if SUMS[name] == part] for part in PARTS}
_ASKED["size"].append(Y2_LOST)
_ASKED["over"] = slice(OVER, None)
# Steps with fewer cells are taken together.
_NARROW = 256
# Time blocks with at least this many cells are processed separately.
_LONG_BLOCK = 1 << 14
# Cells that are copied at a time if there is a mask.
_COPIED = 1 << 16


@dataclass(frozen=True)
class Sums:
    """For each of G groups: sums as `high + low`, in the order of `FLOATS`, then how far truths are beyond each
    half-width; and counts in the order of `COUNTS`, then the cells within each half-width."""

    high: Floats
    low: Floats
    counts: Ints

    def of_block(self, block: int) -> Sums:
        """One time block, if the first axis is time blocks."""
        return Sums(self.high[block], self.low[block], self.counts[block])


def error_sums(
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray | None = None,
    mask: Mask | None = None,
    *,
    z: Sequence[float] = (),
    parts: Collection[str] = PARTS,
) -> tuple[Sums, Sums]:
    """The sums over steps of (steps, horizons, nodes), by horizon and by node.

    With a leading axis of time blocks, (blocks, steps, horizons, nodes), the sums of each block. `z` are half-widths in
    standard deviations: abs(y - mean) <= z·std is counted, the excess is summed (part `over`). Sums of parts that
    were not requested, or that need a missing `std`, are 0. Values are not checked: a NaN or an infinity in a
    counted cell makes the sums NaN or infinite.

    >>> by_horizon, by_node = error_sums(np.array([[[1.0, 2.0]]]), np.array([[[1.5, 0.0]]]))
    >>> by_horizon.high[0, :3], by_node.high[:, 0]
    (array([ 2.5 ,  4.25, -1.5 ]), array([0.5, 2. ]))
    """
    cells = (y, mean, std, mask) if y.ndim == 4 else _moved((y, mean, std, mask), lambda array: array[np.newaxis])
    blocks, _, horizons, nodes = cells[0].shape
    dtype = np.result_type(y.dtype, mean.dtype, np.float32, *(() if std is None else (std.dtype,)))
    asked = np.zeros(OVER + len(z) * (std is not None), np.bool_)
    for name in parts:
        asked[_ASKED[name]] = std is not None or name not in _OF_SPREAD
    # Squares of float32 are exact in float64.
    asked[Y2_LOST] &= dtype != np.float32
    by_horizon, by_node = (_Totals.empty(blocks, groups, asked) for groups in (horizons, nodes))
    with np.errstate(all="ignore"):
        if y.size < blocks * _LONG_BLOCK:
            # Short blocks are processed side by side, as separate lanes.
            _add(_moved(cells, lambda array: array.swapaxes(0, 1)), dtype, z, asked, by_horizon, by_node)
        else:
            for block in range(blocks):
                alone = _moved(cells, partial(_alone, block))
                _add(alone, dtype, z, asked, by_horizon.of_block(block), by_node.of_block(block))
        sums = by_horizon.sums(), by_node.sums()
    return sums if y.ndim == 4 else (sums[0].of_block(0), sums[1].of_block(0))


def _moved(cells: _Cells, view: Callable[[AnyArray], AnyArray]) -> _Cells:
    y, mean, std, mask = cells
    return view(y), view(mean), None if std is None else view(std), None if mask is None else view(mask)


def _alone(block: int, array: AnyArray) -> AnyArray:
    return array[block, :, np.newaxis]


def _add(
    cells: _Cells, dtype: np.dtype[Any], z: Sequence[float], asked: Mask, by_horizon: _Totals, by_node: _Totals
) -> None:
    """Add cells (steps, blocks, horizons, nodes) to the sums of their blocks."""
    y, mean, std, mask = cells
    truth, forecast = exact(y, dtype).reshape(-1), exact(mean, dtype).reshape(-1)
    deviation = truth[:0] if std is None else exact(std, dtype).reshape(-1)
    seen = np.zeros(0, np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_).reshape(-1)
    steps, period = len(y), truth.size // max(len(y), 1)
    together = min(max(_NARROW // max(period, 1), 1), max(steps, 1))
    whole = steps // together * together
    for rows, group in ((slice(0, whole), together), (slice(whole, steps), steps - whole)):
        part = slice(rows.start * period, rows.stop * period)
        if part.start < part.stop:
            flat = truth[part], forecast[part], deviation[part], seen[part]
            lanes = _lane_sums(*flat, group * period, z, asked)
            _fold.implementation(lanes[0].size)(*lanes, asked, group, *by_horizon, *by_node)


class _Totals(NamedTuple):
    """Running sums by block, group and quantity."""

    high: Floats
    low: Floats
    counts: Ints

    @classmethod
    def empty(cls, blocks: int, groups: int, asked: Mask) -> _Totals:
        high, low = np.zeros((2, blocks, groups, asked.size))
        return cls(high, low, np.zeros((blocks, groups, INSIDE + asked.size - OVER), np.int64))

    def of_block(self, block: int) -> _Totals:
        """A view of one block."""
        at = slice(block, block + 1)
        return _Totals(self.high[at], self.low[at], self.counts[at])

    def sums(self) -> Sums:
        # The rounding error of the squared truth belongs to its square.
        self.high[..., Y2], lost = two_sum(self.high[..., Y2], self.high[..., Y2_LOST])
        self.low[..., Y2] += self.low[..., Y2_LOST] + lost
        high, low = two_sum(self.high, self.low)
        return Sums(np.delete(high, Y2_LOST, -1), np.delete(low, Y2_LOST, -1), self.counts)


def _lane_sums(
    y: AnyArray, mean: AnyArray, std: AnyArray, mask: Mask, lanes: int, z: Sequence[float], asked: Mask
) -> tuple[Floats, Floats, Ints]:
    """Sums of flat cells in rows of `lanes`, by lane: high, low and counts, each (quantity, lane)."""
    # Half-widths are taken one, and then two at a time; nothing is within NaN.
    levels = asked.size - OVER
    widths = np.full(levels // 2 * 2 + 1, np.nan)
    widths[:levels] = z[:levels]
    add = add_cells.implementation(y.size * (8 if asked[NLL] else 2))
    rows = y.size // lanes
    # Masked cells are first neutralised, in a copy, one part at a time.
    step = max(_COPIED // lanes, 1) if mask.size else rows
    totals: tuple[Floats, Floats, Ints] | None = None
    for start in range(0, rows, step):
        part = slice(start * lanes, (start + step) * lanes)
        truth, forecast, deviation, seen = y[part], mean[part], std[part], mask[part]
        counted: Any = truth.size // lanes
        if mask.size:
            truth, forecast = _harmless(truth, seen, 0.0), _harmless(forecast, seen, 0.0)
            deviation = _harmless(deviation, seen, 1.0)
            counted = seen.reshape(-1, lanes).sum(0)
        high, low = np.empty((2, asked.size, lanes))
        tally = np.zeros((INSIDE + widths.size, lanes), np.int32)
        bits = deviation.view(np.uint32 if deviation.itemsize == 4 else np.uint64)
        add(truth, forecast, deviation, bits, seen, widths, asked, high, low, tally)
        counts = tally[: INSIDE + levels].astype(np.int64)
        counts[N] = counted
        # With error 0 and standard deviation 1 a masked cell was counted as inside.
        counts[INSIDE:] -= truth.size // lanes - counted
        if totals is not None:
            high[asked], low[asked] = dd_add(totals[0][asked], totals[1][asked], high[asked], low[asked])
            counts += totals[2]
        totals = high, low, counts
    assert totals is not None
    return totals


def _harmless(cells: AnyArray, seen: Mask, stand_in: float) -> AnyArray:
    if not cells.size:
        return cells
    copied = np.where(seen, cells, cells.dtype.type(stand_in))
    copied.flags.writeable = False
    return copied


def _fold_twin(
    high: Floats, low: Floats, counts: Ints, asked: Mask, group: int, horizon_high: Floats, horizon_low: Floats,
    horizon_counts: Ints, node_high: Floats, node_low: Floats, node_counts: Ints,
) -> None:  # fmt: skip
    shape = (group, *horizon_high.shape[:2], node_high.shape[1])
    for over, total_high, total_low, total_counts in (
        (3, horizon_high, horizon_low, horizon_counts),
        (2, node_high, node_low, node_counts),
    ):
        order = (1, 1 + over, 2, 6 - over, 0)

        def by_lane(table: AnyArray, order: tuple[int, ...] = order, like: AnyArray = total_high) -> AnyArray:
            return table.reshape(len(table), *shape).transpose(order).reshape(-1, *like.shape[:2], len(table))

        total_high[..., asked], total_low[..., asked] = dd_add(
            total_high[..., asked], total_low[..., asked], *folded(by_lane(high[asked]), by_lane(low[asked]))
        )
        total_counts += by_lane(counts).sum(0)


@kernel(twin=_fold_twin)
def _fold(
    high: Floats, low: Floats, counts: Ints, asked: Mask, group: int, horizon_high: Floats, horizon_low: Floats,
    horizon_counts: Ints, node_high: Floats, node_low: Floats, node_counts: Ints,
) -> None:  # fmt: skip
    """Add lanes (steps, blocks, horizons, nodes) to the sums of their horizon and of their node."""
    blocks, horizons, nodes = horizon_high.shape[0], horizon_high.shape[1], node_high.shape[1]
    for k in range(asked.size):
        if asked[k]:
            lane = 0
            for _ in range(group):
                for block in range(blocks):
                    for horizon in range(horizons):
                        of_horizon, lost = horizon_high[block, horizon, k], horizon_low[block, horizon, k]
                        for node in range(nodes):
                            more, more_low = high[k, lane], low[k, lane]
                            of_horizon, lost = dd_add(of_horizon, lost, more, more_low)
                            node_high[block, node, k], node_low[block, node, k] = dd_add(
                                node_high[block, node, k], node_low[block, node, k], more, more_low
                            )
                            lane += 1
                        horizon_high[block, horizon, k], horizon_low[block, horizon, k] = of_horizon, lost
    for k in range(counts.shape[0]):
        lane = 0
        for _ in range(group):
            for block in range(blocks):
                for horizon in range(horizons):
                    for node in range(nodes):
                        horizon_counts[block, horizon, k] += counts[k, lane]
                        node_counts[block, node, k] += counts[k, lane]
                        lane += 1
