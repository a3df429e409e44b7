"""Sums over forecasts and truths, by horizon and by node, in one pass over the cells.

Every sum is kept in two floats (Knuth's two-sum), the second of which collects rounding errors. So the
sums are accurate to twice the precision of a float, and do not depend on how the cells are split into parts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge import _core
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.dtypes import exact

# The sums in their order, each with the part that counts it; those that need a standard deviation come last.
SUMS = {
    "abs": "errors",
    "square": "errors",
    "error": "bias",
    "y": "size",
    "y2": "size",
    "abs_y": "size",
    "ape": "relative",
    "sape": "symmetric",
    "std": "spread",
    "var": "spread",
    "nll": "scores",
    "crps": "scores",
}
PARTS = (*dict.fromkeys(SUMS.values()), "over")
_OF_SPREAD = ("spread", "scores", "over")
FLOATS = tuple(SUMS)
OVER = len(FLOATS)
# Those of a forecast without standard deviations.
POINT_FLOATS = tuple(name for name, part in SUMS.items() if part not in _OF_SPREAD)
COUNTS = ("n", "nonzero", "bad_std")


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
    place: Ints | None = None,
    only_asked: bool = False,
    threads: int = 1,
) -> tuple[Sums, Sums]:
    """The sums over steps of (steps, horizons, nodes), by horizon and by node.

    With a leading axis of time blocks, (blocks, steps, horizons, nodes), the sums of each block. Blocks of the same
    `place` (0, 1, 2 …, not decreasing) share the sums by node. `z` are half-widths in standard deviations:
    abs(y - mean) <= z·std is counted, the excess is summed (part `over`). Sums of parts that were not requested, or
    that need a missing `std`, are 0, or left out with `only_asked`. Values are not checked: a NaN or an infinity in a
    counted cell makes the sums NaN or infinite.

    >>> by_horizon, by_node = error_sums(np.array([[[1.0, 2.0]]]), np.array([[[1.5, 0.0]]]))
    >>> by_horizon.high[0, :3], by_node.high[:, 0]
    (array([ 2.5 ,  4.25, -1.5 ]), array([0.5, 2. ]))
    """
    shape = y.shape if y.ndim == 4 else (1, *y.shape)
    dtype = np.result_type(y.dtype, mean.dtype, np.float32, *(() if std is None else (std.dtype,)))
    asked = np.array([SUMS[name] in parts and (std is not None or SUMS[name] not in _OF_SPREAD) for name in FLOATS])
    over = std is not None and "over" in parts
    levels = np.array(z if std is not None else (), np.float64)
    by_horizon, by_node = (
        sums_of(*totals)
        for totals in _core.error_sums(
            exact(y, dtype).reshape(shape),
            exact(mean, dtype).reshape(shape),
            None if std is None else exact(std, dtype).reshape(shape),
            None if mask is None else np.require(mask, np.bool_, ("C", "A")).reshape(shape),
            int(np.append(asked, over) @ (1 << np.arange(OVER + 1))),
            levels,
            places(shape[0], place),
            threads=threads,
        )
    )
    if not only_asked:
        room = np.append(asked, np.full(len(levels), over))
        by_horizon, by_node = _spread_out(by_horizon, room), _spread_out(by_node, room)
    return (by_horizon, by_node) if y.ndim == 4 else (by_horizon.of_block(0), by_node.of_block(0))


def places(blocks: int, place: Ints | None) -> Ints:
    """The place of each block: its own, unless given."""
    return np.arange(blocks) if place is None else np.require(place, np.int64, ("C", "A"))


def sums_of(high: Floats, low: Floats, counts: Ints) -> Sums:
    """The sums of (block, quantity, group)."""
    return Sums(high.swapaxes(1, 2), low.swapaxes(1, 2), counts.swapaxes(1, 2))


def _spread_out(sums: Sums, room: Mask) -> Sums:
    """The sums at their places among all that could be asked for, and 0 elsewhere."""
    high, low = np.zeros((2, *sums.high.shape[:2], room.size))
    high[..., room], low[..., room] = sums.high, sums.low
    return Sums(high, low, sums.counts)
