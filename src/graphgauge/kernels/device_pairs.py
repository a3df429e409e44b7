"""All pairs of points on a CUDA device, tile by tile: n² numbers are never in memory together.

Distances are added up coordinate by coordinate in float64, without fused multiplication, as in `kernels.poincare`: they
have the bits of the host, and so the counts are its counts. Common bits are counted by products of zeros and ones,
which are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphgauge.core.types import Floats
from graphgauge.kernels.pairs import FRACTION, Common, require_countable
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.kernels.tally import tally

# Pairs in a tile: 32 MB of float64. A tile of rows of bits has so many on either side.
_TILE, _SIDE = 1 << 22, 1 << 11
# Cells that have a table of all; more are sorted in each tile.
_TABLE = 1 << 24
# Copies of a table: most pairs are in a few of its cells, whose additions would wait for each other.
_COPIES = 64


def closer_pairs(columns: Floats, margin: Floats | None, q: Floats, device: Any) -> TailCounts:
    """As `kernels.poincare.closer_pairs`, of points with these coordinates (D, n); without a margin, of ‖u − v‖²."""
    import torch

    wanted = tail_counts(-q, np.empty(0))
    limits = torch.as_tensor(-wanted.values, device=device)  # ascending, as the scores descend
    coordinates = torch.as_tensor(columns, device=device)
    room = None if margin is None else torch.as_tensor(margin, device=device)
    nodes = columns.shape[1]
    # How many limits are at most, and are less than, a pair's q; the last cell is of what is no pair.
    nothing = len(limits) + 1
    reached, passed = (_Table(nothing + 1, device) for _ in range(2))
    for rows in _row_blocks(nodes):
        first, others = slice(rows.start, rows.stop), slice(rows.start + 1, nodes)
        squares = coordinates.new_zeros(rows.stop - rows.start, nodes - rows.start - 1)
        for coordinate in coordinates:
            difference = coordinate[first, None] - coordinate[others]
            squares += difference.mul_(difference)
        if room is not None:
            squares /= room[first, None] * room[others]
        # Row i of the tile has its pairs from column i on: of each pair once.
        width = min(len(squares), squares.shape[1])
        twice = torch.ones(len(squares), width, dtype=torch.bool, device=device).tril_(-1)
        for table, right in ((reached, True), (passed, False)):
            place = torch.searchsorted(limits, squares, right=right)
            place[:, :width].masked_fill_(twice, nothing)
            table.add(place)
    closer, upto = torch.stack([torch.cumsum(each.counts()[:-2], 0) for each in (reached, passed)]).cpu().numpy()
    return wanted._replace(greater=closer, equal=upto - closer, negatives=nodes * (nodes - 1) // 2)


class _Table:
    """How many items each cell has, counted on a device without waiting for it."""

    def __init__(self, cells: int, device: Any) -> None:
        import torch

        self._cells, self._copies = cells, max(1, min(_COPIES, _TABLE // cells))
        self._table = torch.zeros(self._copies * cells, dtype=torch.int64, device=device)

    def add(self, cells: Any) -> None:
        import torch

        cells = cells.reshape(-1)
        copy = torch.arange(len(cells), device=cells.device).remainder_(self._copies)
        one = self._table.new_ones(1).expand(len(cells))
        self._table.scatter_add_(0, copy.mul_(self._cells).add_(cells), one)

    def counts(self) -> Any:
        return self._table.reshape(self._copies, self._cells).sum(0)


def _row_blocks(nodes: int) -> Iterator[slice]:
    start = 0
    while start < nodes - 1:
        stop = min(nodes - 1, start + max(1, _TILE // (nodes - start)))
        yield slice(start, stop)
        start = stop


def hamming_sums(bits: Any) -> tuple[int, int]:
    """As `kernels.pairs.hamming_sums`, of a boolean tensor (n, D)."""
    import torch

    n, width = bits.shape
    side = bits if n < width else bits.T
    length = side.shape[1]
    require_countable(len(side), length)
    squares = torch.zeros(len(side), dtype=torch.int64, device=bits.device)
    for rows, others in _pairs_of_tiles(len(side)):
        own, other = ((1 - 2 * side[part].to(_exact(length))) for part in (rows, others))
        products = _products(own, other)
        squares[rows] += products.mul_(products).sum(1) * (1 if rows == others else 2)
    counts = torch.cat([bits.sum(0), squares]).tolist()
    ones, gram = counts[:width], sum(counts[width:])
    total = sum(count * (n - count) for count in ones)
    columns = sum((n - 2 * count) ** 2 for count in ones)
    return total, ((width * n) ** 2 - 2 * width * columns + gram) // 8


def common_bits(bits: Any) -> Common:
    """As `kernels.pairs.common_bits`, of a boolean tensor (n, D); cells come in another order."""
    import torch

    n, width = bits.shape
    sizes = bits.sum(1)
    similar = torch.zeros(n, dtype=torch.int64, device=bits.device)
    # A pair with i common bits of u in either row has the cell i(D + 1) + u; the last one is of what is no pair.
    nothing = (width + 1) ** 2
    table = _Table(nothing + 1, bits.device) if nothing < _TABLE else None
    found = []
    for rows, others in _pairs_of_tiles(n):
        own, other = (bits[part].to(_exact(width)) for part in (rows, others))
        intersection = _products(own, other)
        union = sizes[rows, None] + sizes[others] - intersection
        share = torch.where(union > 0, intersection.double() / union.clamp(min=1), 1.0)
        fixed = torch.round(torch.ldexp(share, share.new_tensor(FRACTION))).long()
        cells = intersection * (width + 1) + union
        if rows == others:
            twice = torch.ones_like(cells, dtype=torch.bool).tril_()
            cells, fixed = cells.masked_fill_(twice, nothing), fixed.masked_fill_(twice, 0)
        similar[rows] += fixed.sum(1)
        similar[others] += fixed.sum(0)
        if table is not None:
            table.add(cells)
        else:
            found.append(torch.stack(cells.reshape(-1).unique(return_counts=True)).cpu().numpy())
    if table is not None:
        counts = table.counts()
        cells = counts.nonzero()[:, 0]
        found.append(torch.stack([cells, counts[cells]]).cpu().numpy())
    codes, pairs = np.concatenate([np.empty((2, 0), np.int64), *found], axis=1)
    kept = codes < nothing
    (codes,), pairs = tally([codes[kept]], pairs[kept])
    mean = np.full(n, np.nan)
    if n > 1:
        mean = np.ldexp(similar.cpu().numpy().astype(np.float64), -FRACTION) / (n - 1)
    return Common(*np.divmod(codes, width + 1), pairs, mean)


def _products(own: Any, other: Any) -> Any:
    """All products of rows as whole numbers, also where a caller computes in a narrower type automatically."""
    import torch

    with torch.autocast(own.device.type, enabled=False):
        return (own @ other.T).long()


def _exact(length: int) -> Any:
    """The narrowest type in which sums of so many zeros and ones are exact."""
    import torch

    return torch.float32 if length < 1 << 24 else torch.float64


def _tiles(length: int) -> list[slice]:
    return [slice(start, min(start + _SIDE, length)) for start in range(0, length, _SIDE)]


def _pairs_of_tiles(rows: int) -> Iterator[tuple[slice, slice]]:
    tiles = _tiles(rows)
    return ((one, other) for place, one in enumerate(tiles) for other in tiles[place:])
