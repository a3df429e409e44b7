"""Where truths lie in their forecast distributions: counts of cells by rank.

A truth among m members has one of m + 1 ranks; in a Gaussian there are a hundred of equal probability. Equal members
make several ranks possible, among which a cell is divided. Its parts are kept in two floats whose sums are exact, so
that counts have the same bits however cells are ordered or split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, reduce

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.measure import Frame
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Table, time_blocks

_GAUSSIAN = 100
# Probabilities at which shares are computed.
GRID = np.arange(1, 100) / 100
# The high part of a share of a cell is a multiple of this, the low part of 2**-52.
_COARSE, _FINE = 2.0**20, 2.0**52


@cache
def gaussian_edges() -> Floats:
    """The probabilities of `GRID` in standard deviations."""
    return np.array([-_core.normal_quantile(float(share)) for share in GRID])


@dataclass(frozen=True)
class Positions:
    """Cells by rank: by time block, by horizon and by node, (2, group, rank) as high and low parts."""

    by_block: Table
    by_horizon: Floats
    by_node: Floats

    def merged(self, other: Positions) -> Positions:
        most = time_blocks(self.by_horizon.shape[1], self.by_node.shape[1])
        by_block = self.by_block.merged(other.by_block, most)
        return Positions(by_block, self.by_horizon + other.by_horizon, self.by_node + other.by_node)


def positions(sample: Sample, design: Design, *, first: int = 0) -> Positions:
    """The ranks of truths in Gaussians or among members."""
    if sample.rows is None and sample.std is not None:
        return _of_gaussians(sample.on_host(), design, first)
    parts = []
    shift = Frame.of(sample, first).shift
    for part in sample.counted():
        assert part.rows is not None
        at, block = np.unique((part.rows.step + first) >> shift, return_inverse=True)
        lowest, highest, size = _ranks(part)
        sides = (block, len(at)), (part.rows.horizon, design.horizons), (part.rows.node, design.nodes)
        by_block, by_horizon, by_node = (_divided(key, groups, lowest, highest, size) for key, groups in sides)
        parts.append(Positions(_table(at, shift, by_block), by_horizon, by_node))
    return reduce(Positions.merged, parts)


def _of_gaussians(sample: Sample, design: Design, first: int) -> Positions:
    frame = Frame.of(sample, first)
    by_horizon, by_node = _core.positions(
        sample.y,
        sample.mean,
        sample.std,
        sample.mask,
        gaussian_edges(),
        first,
        1 << frame.shift,
        threads=threads_for(sample.cells),
    )
    by_block = _table(frame.blocks(), frame.shift, _whole(by_horizon.sum(axis=1)))
    return Positions(by_block, _whole(by_horizon.sum(axis=0)), _whole(by_node))


def _whole(counts: AnyArray) -> Floats:
    """Whole numbers as high and low parts."""
    return np.stack([counts, np.zeros(counts.shape)]).astype(np.float64)


def _table(at: Ints, shift: int, parts: Floats) -> Table:
    high, low = parts[..., np.newaxis]
    return Table(tuple(map(str, range(parts.shape[2]))), at.astype(np.int64), shift, high, low)


def _ranks(part: Sample) -> tuple[Ints, Ints, int]:
    """The first and the last rank that each truth may have, and their number."""
    if part.members is not None:
        less, equal = _core.member_ranks(part.y, part.members, threads=threads_for(part.members.size))
        return less.astype(np.int64), (less + equal).astype(np.int64), part.members.shape[1] + 1
    score = (part.y.astype(np.float64) - part.mean) / part.std
    place = np.searchsorted(gaussian_edges(), score)
    return place, place, _GAUSSIAN


def _divided(key: AnyArray, groups: int, lowest: Ints, highest: Ints, size: int) -> Floats:
    """Cells by group and rank, each divided evenly among its ranks."""
    share = 1.0 / (highest - lowest + 1)
    high = np.rint(share * _COARSE) / _COARSE
    low = np.rint((share - high) * _FINE) / _FINE
    places = key * (size + 1) + lowest, key * (size + 1) + highest + 1
    changes = [
        np.bincount(places[0], part, groups * (size + 1)) - np.bincount(places[1], part, groups * (size + 1))
        for part in (high, low)
    ]
    return np.cumsum(np.stack(changes).reshape(2, groups, size + 1), axis=2)[..., :size]


def cells_below(ranks: Floats) -> Floats:
    """Cells below each probability of `GRID`, (group, p), of cells by rank (group, rank).

    A truth at rank r of `size` lies between r/size and (r + 1)/size, anywhere.
    """
    size = ranks.shape[1]
    reached = np.zeros((len(ranks), size + 1))
    np.cumsum(ranks, axis=1, out=reached[:, 1:])
    whole, rest = np.divmod(np.arange(1, 100) * size, 100)
    return np.asarray(reached[:, whole] + rest / 100 * ranks[:, np.minimum(whole, size - 1)])
