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
from graphgauge.kernels.pairs import FRACTION, Common
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.kernels.tally import tally

# Pairs in a tile: 32 MB of float64. A tile of rows of bits has so many on either side.
_TILE, _SIDE = 1 << 22, 1 << 11


def closer_pairs(columns: Floats, margin: Floats | None, q: Floats, device: Any) -> TailCounts:
    """As `kernels.poincare.closer_pairs`, of points with these coordinates (D, n); without a margin, of ‖u − v‖²."""
    import torch

    wanted = tail_counts(-q, np.empty(0))
    limits = torch.as_tensor(-wanted.values, device=device)  # ascending, as the scores descend
    coordinates = torch.as_tensor(columns, device=device)
    room = None if margin is None else torch.as_tensor(margin, device=device)
    nodes = columns.shape[1]
    # How many limits are at most, and are less than, a pair's q.
    reached, passed = (torch.zeros(len(limits) + 1, dtype=torch.int64, device=device) for _ in range(2))
    for rows in _row_blocks(nodes):
        first, others = slice(rows.start, rows.stop), slice(rows.start + 1, nodes)
        squares = coordinates.new_zeros(rows.stop - rows.start, nodes - rows.start - 1)
        for coordinate in coordinates:
            difference = coordinate[first, None] - coordinate[others]
            squares += difference.mul_(difference)
        if room is not None:
            squares /= room[first, None] * room[others]
        # Row i of the tile has its pairs from column i on: of each pair once.
        corner = torch.ones(len(squares), min(len(squares), squares.shape[1]), dtype=torch.bool, device=device).triu_()
        for found in (squares[:, : corner.shape[1]][corner], squares[:, corner.shape[1] :].reshape(-1)):
            reached += torch.bincount(torch.searchsorted(limits, found, right=True), minlength=len(reached))
            passed += torch.bincount(torch.searchsorted(limits, found), minlength=len(passed))
    closer, upto = (torch.cumsum(each, 0)[:-1].cpu().numpy() for each in (reached, passed))
    return wanted._replace(greater=closer, equal=upto - closer, negatives=nodes * (nodes - 1) // 2)


def _row_blocks(nodes: int) -> Iterator[slice]:
    start = 0
    while start < nodes - 1:
        stop = min(nodes - 1, start + max(1, _TILE // (nodes - start)))
        yield slice(start, stop)
        start = stop


def hamming_sums(bits: Any) -> tuple[int, int]:
    """As `kernels.pairs.hamming_sums`, of a boolean tensor (n, D)."""
    n, width = bits.shape
    ones = [int(count) for part in _tiles(width) for count in bits[:, part].sum(0).tolist()]
    total = sum(count * (n - count) for count in ones)
    columns = sum((n - 2 * count) ** 2 for count in ones)
    side = bits if n < width else bits.T
    length = side.shape[1]
    squares = 0
    for rows, others in _pairs_of_tiles(len(side)):
        own, other = ((1 - 2 * side[part].to(_exact(length))) for part in (rows, others))
        products = (own @ other.T).long()
        squares += (1 if rows == others else 2) * sum(products.mul_(products).sum(1).tolist())
    return total, ((width * n) ** 2 - 2 * width * columns + squares) // 8


def common_bits(bits: Any) -> Common:
    """As `kernels.pairs.common_bits`, of a boolean tensor (n, D); cells come in another order."""
    import torch

    n, width = bits.shape
    sizes = bits.sum(1)
    similar = torch.zeros(n, dtype=torch.int64, device=bits.device)
    found = []
    for rows, others in _pairs_of_tiles(n):
        own, other = (bits[part].to(_exact(width)) for part in (rows, others))
        intersection = (own @ other.T).long()
        union = sizes[rows, None] + sizes[others] - intersection
        share = torch.where(union > 0, intersection.double() / union.clamp(min=1), 1.0)
        fixed = torch.round(torch.ldexp(share, share.new_tensor(FRACTION))).long()
        cells = intersection * (2 * width + 1) + union
        if rows == others:
            later = torch.ones_like(cells, dtype=torch.bool).triu_(1)
            cells, fixed = cells[later], fixed * later
        similar[rows] += fixed.sum(1)
        similar[others] += fixed.sum(0)
        found.append(torch.stack(cells.reshape(-1).unique(return_counts=True)).cpu().numpy())
    codes, pairs = np.concatenate([np.empty((2, 0), np.int64), *found], axis=1)
    (codes,), pairs = tally([codes], pairs)
    mean = np.full(n, np.nan)
    if n > 1:
        mean = np.ldexp(similar.cpu().numpy().astype(np.float64), -FRACTION) / (n - 1)
    return Common(*np.divmod(codes, 2 * width + 1), pairs, mean)


def _exact(length: int) -> Any:
    """The narrowest type in which sums of so many zeros and ones are exact."""
    import torch

    return torch.float32 if length < 1 << 24 else torch.float64


def _tiles(length: int) -> list[slice]:
    return [slice(start, min(start + _SIDE, length)) for start in range(0, length, _SIDE)]


def _pairs_of_tiles(rows: int) -> Iterator[tuple[slice, slice]]:
    tiles = _tiles(rows)
    return ((one, other) for place, one in enumerate(tiles) for other in tiles[place:])
