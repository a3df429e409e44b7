"""Sums over forecasts and truths, by horizon and by node, in one pass over the cells.

Every sum is kept in two floats (Knuth's two-sum), the second of which collects rounding errors. So the
sums are accurate to twice the precision of a float, and do not depend on how the cells are split into parts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.doubled import two_sum
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.forecast_cells import INSIDE, NLL, OVER, STRIDE, SUMS, Y2, Y2_LOST, Totals, add_cells

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

    def some_counts(self, count: int) -> Sums:
        """The same with the first counts only."""
        return Sums(self.high, self.low, self.counts[..., :count])


def error_sums(
    y: AnyArray,
    mean: AnyArray,
    std: AnyArray | None = None,
    mask: Mask | None = None,
    *,
    z: Sequence[float] = (),
    parts: Collection[str] = PARTS,
    late: Collection[str] = (),
    place: Ints | None = None,
    only_asked: bool = False,
) -> tuple[Sums, Sums]:
    """The sums over steps of (steps, horizons, nodes), by horizon and by node.

    With a leading axis of time blocks, (blocks, steps, horizons, nodes), the sums of each block. Blocks of the same
    `place` (0, 1, 2 …, not decreasing) share the sums by node. `z` are half-widths in standard deviations:
    abs(y - mean) <= z·std is counted, the excess is summed (part `over`). Sums of parts that were not requested, or
    that need a missing `std`, are 0, or left out with `only_asked`. Those of `late` parts are not divided into blocks,
    which is faster: one block has all of them. Values are not checked: a NaN or an infinity in a
    counted cell makes the sums NaN or infinite.

    >>> by_horizon, by_node = error_sums(np.array([[[1.0, 2.0]]]), np.array([[[1.5, 0.0]]]))
    >>> by_horizon.high[0, :3], by_node.high[:, 0]
    (array([ 2.5 ,  4.25, -1.5 ]), array([0.5, 2. ]))
    """
    shape = y.shape if y.ndim == 4 else (1, *y.shape)
    blocks, steps, horizons, nodes = shape
    dtype = np.result_type(y.dtype, mean.dtype, np.float32, *(() if std is None else (std.dtype,)))
    asked = np.zeros(OVER + len(z) * (std is not None), np.bool_)
    for name in parts:
        asked[_ASKED[name]] = std is not None or name not in _OF_SPREAD
    # Squares of float32 are exact in float64.
    asked[Y2_LOST] &= dtype != np.float32
    afterwards = np.zeros(asked.size, np.bool_)
    for name in late:
        afterwards[_ASKED[name]] = asked[_ASKED[name]]
    place = np.arange(blocks) if place is None else place
    levels = asked.size - OVER
    sizes = (blocks, horizons), (int(place[-1]) + 1 if blocks else 0, nodes)
    # Where the tables have each sum: only those that are asked for have room, or all of them.
    room = asked if only_asked else np.ones(asked.size, np.bool_)
    rows_of = np.cumsum(room) - 1
    by_horizon, by_node = (empty_totals(size, int(room.sum()), INSIDE + levels) for size in sizes)
    if y.size:
        truth, forecast = exact(y, dtype).reshape(-1), exact(mean, dtype).reshape(-1)
        deviation = truth[:0] if std is None else exact(std, dtype).reshape(-1)
        seen = np.zeros(0, np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_).reshape(-1)
        seen.flags.writeable = False  # one mutability, one compilation
        widths = np.array(z[:levels], np.float64)
        add = add_cells.implementation(y.size * (8 if asked[NLL] else 2))
        with np.errstate(all="ignore"):
            add(
                truth,
                forecast,
                deviation,
                seen,
                widths,
                asked,
                afterwards,
                steps_together(steps, horizons * nodes),
                place.astype(np.int64),
                by_horizon,
                by_node,
                rows_of,
                *empty_tile(asked.size, INSIDE + levels),
            )
    lost = int(rows_of[Y2_LOST]) if asked[Y2_LOST] else None
    kept = np.ones(int(room.sum()), np.bool_)
    if room[Y2_LOST]:
        kept[rows_of[Y2_LOST]] = False
    of_horizon, of_node = (
        rounded(_with_lost(totals, int(rows_of[Y2]), lost), kept) for totals in (by_horizon, by_node)
    )
    return (of_horizon, of_node) if y.ndim == 4 else (of_horizon.of_block(0), of_node.of_block(0))


def steps_together(steps: int, period: int) -> int:
    """How many steps of so many cells are summed side by side."""
    return min(max(_NARROW // period, 1), steps)


def empty_totals(size: tuple[int, int], sums: int, counts: int) -> Totals:
    """Zeros for so many blocks and groups."""
    blocks, groups = size
    high, low = np.zeros((2, blocks, sums, groups))
    return high, low, np.zeros((blocks, counts, groups), np.int64)


def empty_tile(sums: int, counts: int) -> tuple[Floats, Ints]:
    """Room for the sums and counts of the lanes of a tile."""
    return np.empty(2 * sums * STRIDE), np.empty(counts * STRIDE, np.int64)


def _with_lost(totals: Totals, square: int, lost: int | None) -> Totals:
    """The totals, with the rounding error of the squared truth added to its square."""
    high, low, _ = totals
    if lost is not None:
        with np.errstate(all="ignore"):
            high[:, square], more = two_sum(high[:, square], high[:, lost])
            low[:, square] += low[:, lost] + more
            high[:, square], low[:, square] = two_sum(high[:, square], low[:, square])
    return totals


def rounded(totals: Totals, kept: Mask) -> Sums:
    """The totals of some quantities as (block, group, quantity)."""
    high, low, counts = totals
    if not kept.all():
        high, low = high[:, kept], low[:, kept]
    return Sums(high.swapaxes(1, 2), low.swapaxes(1, 2), counts.swapaxes(1, 2))
