"""Distances in the Poincaré ball, and their order.

d(u, v) = 2·asinh(√q) with q = ‖u − v‖² / ((1 − ‖u‖²)(1 − ‖v‖²)) rises with q, so ranking needs no logarithm.
Sums over many pairs run dimension by dimension, on transposed coordinates. Those of single pairs run in the
same order, so a pair has the same bits in both.
"""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.jit import expect, kernel
from graphgauge.kernels.tails import TailCounts, tail_counts
from graphgauge.kernels.threads import map_blocks

# Pairs in a block: their differences stay in the cache while the dimensions are summed.
_BLOCK_PAIRS = 1 << 16
# Splits a double into two halves of 26 bits, whose products are exact (Dekker 1971).
_SPLIT = 134217729.0
# The cost of an exact square, in units of work.
_SQUARING = 16


def margins(columns: Floats) -> Floats:
    """1 − ‖x‖² of each point, accurate even near the boundary, where plain subtraction loses all digits.

    Squares are split into two exact parts and their sum is compensated. NaN if a coordinate is 1 or beyond.
    """
    high, low = np.ones(columns.shape[1]), np.zeros(columns.shape[1])
    _subtract_squares.implementation(_SQUARING * columns.size)(columns, high, low)
    return high + low


def squared_gaps(rows: Floats, first: Ints, second: Ints) -> Floats:
    """‖u − v‖² of each pair of rows."""
    squares = np.zeros(len(first))
    gather = _squared_gaps.implementation(len(first) * rows.shape[1])
    gather(rows, np.ascontiguousarray(first), np.ascontiguousarray(second), squares)
    return squares


def distances(q: Floats) -> Floats:
    return 2 * np.arcsinh(np.sqrt(q))


def closer_pairs(columns: Floats, margin: Floats, q: Floats, *, threads: int | None = None) -> TailCounts:
    """The numbers of pairs of points that are closer than each of `q`, and as close; in blocks of rows.

    Scores are −q, because closer is better.
    """
    nodes = len(margin)
    pairs = nodes * (nodes - 1) // 2
    expect(pairs * (len(columns) + 1))
    blocks = _row_blocks(nodes)
    place = _spread.implementation(pairs * len(columns))

    def count(block: tuple[int, int]) -> TailCounts:
        start, stop = block
        scores = np.empty(_pairs_before(stop, nodes) - _pairs_before(start, nodes))
        place(columns, margin, start, stop, scores)
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


def _subtract_squares_twin(columns: Floats, high: Floats, low: Floats) -> None:
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
        high[:] = total


@kernel(twin=_subtract_squares_twin)
def _subtract_squares(columns: Floats, high: Floats, low: Floats) -> None:
    """Subtract every square from `high`, exactly: `low` gets the rounding error."""
    for dimension in range(columns.shape[0]):
        coordinate = columns[dimension]
        for index in range(high.size):
            x = coordinate[index] if abs(coordinate[index]) < 1 else np.nan
            square = x * x
            head = _SPLIT * x
            head -= head - x
            tail = x - head
            error = ((head * head - square) + 2.0 * head * tail) + tail * tail
            total = high[index] - square
            back = total - high[index]
            low[index] += ((high[index] - (total - back)) + (-square - back)) - error
            high[index] = total


def _squared_gaps_twin(rows: Floats, first: Ints, second: Ints, squares: Floats) -> None:
    for coordinate in rows.T:
        difference = coordinate[first] - coordinate[second]
        squares += difference * difference


@kernel(twin=_squared_gaps_twin)
def _squared_gaps(rows: Floats, first: Ints, second: Ints, squares: Floats) -> None:
    for index in range(first.size):
        one, other = rows[first[index]], rows[second[index]]
        for dimension in range(rows.shape[1]):
            difference = one[dimension] - other[dimension]
            squares[index] += difference * difference


def _spread_twin(columns: Floats, margin: Floats, start: int, stop: int, scores: Floats) -> None:
    place = 0
    for row in range(start, stop):
        squares = np.zeros(len(margin) - row - 1)
        for coordinate in columns:
            difference = coordinate[row] - coordinate[row + 1 :]
            squares += difference * difference
        scores[place : place + len(squares)] = -(squares / (margin[row] * margin[row + 1 :]))
        place += len(squares)


@kernel(twin=_spread_twin)
def _spread(columns: Floats, margin: Floats, start: int, stop: int, scores: Floats) -> None:
    """−q of each pair (i, j), start ≤ i < stop, i < j, row by row."""
    nodes = margin.size
    place = 0
    for row in range(start, stop):
        length = nodes - row - 1
        squares = scores[place : place + length]
        squares[:] = 0.0
        for dimension in range(columns.shape[0]):
            here = columns[dimension, row]
            others = columns[dimension, row + 1 :]
            for index in range(length):
                difference = here - others[index]
                squares[index] += difference * difference
        own = margin[row]
        for index in range(length):
            squares[index] = -(squares[index] / (own * margin[row + 1 + index]))
        place += length
