"""Where truths lie in their forecast distributions: cells by rank.

A truth among m members has one of m + 1 ranks; in a Gaussian there are a hundred of equal probability. Equal members
make several ranks possible, among which a cell is divided. Its parts are kept in two floats whose sums are exact, so
that counts have the same bits however cells are ordered or split.
"""

from __future__ import annotations

from functools import cache, reduce

import numpy as np

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Span, Table

_GAUSSIAN = 100
# Probabilities at which shares are computed.
GRID = np.arange(1, 100) / 100
# The high part of a share of a cell is a multiple of this, the low part of 2**-52.
_COARSE, _FINE = 2.0**20, 2.0**52


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
    parts = []
    for part in sample.counted():
        rows = part.rows
        assert rows is not None
        at, block = np.unique((rows.step + first) >> span.shift, return_inverse=True)
        ranks = _ranks(part)
        sides = (block, len(at)), (rows.horizon, design.horizons), (rows.node, design.nodes)
        parts.append(_tables(at, span, *(_divided(key, groups, *ranks) for key, groups in sides)))
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
        greater, equal, *_ = _core.rank_counts(part.y, part.members, threads=threads_for(part.members.size))
        highest = count - greater.astype(np.int64)
        return highest - equal, highest, count + 1
    score = (part.y.astype(np.float64) - part.mean) / part.std
    place = np.searchsorted(gaussian_edges(), score)
    return place, place, _GAUSSIAN


def _divided(key: AnyArray, groups: int, lowest: Ints, highest: Ints, size: int) -> Floats:
    """Cells by group and rank, each divided evenly among its ranks: (2, group, rank) as high and low parts."""
    share = 1.0 / (highest - lowest + 1)
    high = np.rint(share * _COARSE) / _COARSE
    low = np.rint((share - high) * _FINE) / _FINE
    start, end = key * (size + 1) + lowest, key * (size + 1) + highest + 1
    room = groups * (size + 1)
    changes = [np.bincount(start, part, room) - np.bincount(end, part, room) for part in (high, low)]
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
