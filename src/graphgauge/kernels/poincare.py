"""Distances in the Poincaré ball, and their order.

d(u, v) = 2·asinh(√q) with q = ‖u − v‖² / ((1 − ‖u‖²)(1 − ‖v‖²)) rises with q, so ranking needs no logarithm.
Sums over many pairs run dimension by dimension, on transposed coordinates. Those of single pairs run in the
same order, so a pair has the same bits in both.
"""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.kernels.threads import map_blocks

# Pairs in a block: their differences stay in the cache while the dimensions are summed.
_BLOCK_PAIRS = 1 << 16
# Splits a double into two halves of 26 bits, whose products are exact (Dekker 1971).
_SPLIT = 134217729.0


def margins(columns: Floats) -> Floats:
    """1 − ‖x‖² of each point, accurate even near the boundary, where plain subtraction loses all digits.

    Squares are split into two exact parts and their sum is compensated. NaN if a coordinate is 1 or beyond.
    """
    high, low = np.ones(columns.shape[1]), np.zeros(columns.shape[1])
    for coordinate in columns:
        x = np.where(np.abs(coordinate) < 1, coordinate, np.nan)
        square = x * x
        head = _SPLIT * x
        head -= head - x
        tail = x - head
        error = ((head * head - square) + 2.0 * head * tail) + tail * tail
        total = high - square
        back = total - high
        low += ((high - (total - back)) + (-square - back)) - error
        high = total
    return high + low


def squared_gaps(rows: Floats, first: Ints, second: Ints) -> Floats:
    """‖u − v‖² of each pair of rows."""
    squares = np.zeros(len(first))
    for coordinate in rows.T:
        difference = coordinate[first] - coordinate[second]
        squares += difference * difference
    return squares


def distances(q: Floats) -> Floats:
    return 2 * np.arcsinh(np.sqrt(q))


def closer_pairs(columns: Floats, margin: Floats, q: Floats, *, threads: int | None = None) -> TailCounts:
    """The numbers of pairs of points that are closer than each of `q`, and as close; in blocks of rows.

    Scores are −q, because closer is better.
    """
    nodes = len(margin)
    pairs = nodes * (nodes - 1) // 2
    blocks = _row_blocks(nodes)

    def count(block: tuple[int, int]) -> TailCounts:
        start, stop = block
        scores = np.empty(_pairs_before(stop, nodes) - _pairs_before(start, nodes))
        _spread(columns, margin, start, stop, scores)
        return tail_counts(-q, scores, threads=1)

    found = map_blocks(count, blocks, threads=threads)
    total = tail_counts(-q, np.empty(0))
    return total._replace(
        greater=sum((part.greater for part in found), total.greater),
        equal=sum((part.equal for part in found), total.equal),
        negatives=pairs,
    )


def _pairs_before(row: int, nodes: int) -> int:
    """Pairs (i, j), i < j, with i below `row`."""
    return row * (2 * nodes - row - 1) // 2


def _row_blocks(nodes: int) -> list[tuple[int, int]]:
    blocks, start = [], 0
    while start < nodes - 1:
        stop = min(nodes - 1, start + max(1, _BLOCK_PAIRS // (nodes - start)))
        blocks.append((start, stop))
        start = stop
    return blocks


def _spread(columns: Floats, margin: Floats, start: int, stop: int, scores: Floats) -> None:
    """−q of each pair (i, j), start ≤ i < stop, i < j, row by row."""
    place = 0
    for row in range(start, stop):
        squares = np.zeros(len(margin) - row - 1)
        for coordinate in columns:
            difference = coordinate[row] - coordinate[row + 1 :]
            squares += difference * difference
        scores[place : place + len(squares)] = -(squares / (margin[row] * margin[row + 1 :]))
        place += len(squares)
