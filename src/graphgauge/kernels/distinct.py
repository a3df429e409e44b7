"""Distinct places in ranges, without excluded ones, drawn uniformly for many rows at once.

Row i draws `take[i]` of the places `start[i]` … `stop[i] - 1` that are not among its excluded ones, which are sorted.
The ranks of its places among the free ones are drawn by Floyd's method: one random number per place, no rejection,
whether free places are many or few (Bentley and Floyd 1987).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.jit import kernel

# Rows that the twin handles together, so that its comparisons stay in the cache.
_ROWS = 1 << 10


def draw_distinct(
    start: Ints, stop: Ints, taken: Ints, first: Ints, last: Ints, take: Ints, uniform: Floats, out: Ints
) -> None:
    """Write the places drawn for row i to `out[i, : take[i]]`.

    Its excluded places are `taken[first[i] : last[i]]`, sorted and within its range. `uniform` (rows, at least the
    largest of `take`) contains random numbers in [0, 1).
    """
    steps = int(take.sum())
    draw = _draw.implementation(steps * (16 + int(take.max(initial=0)) // 4))
    draw(start, stop, taken, first, last, take, uniform, out)


def _draw_twin(
    start: Ints, stop: Ints, taken: Ints, first: Ints, last: Ints, take: Ints, uniform: Floats, out: Ints
) -> None:
    for low in range(0, len(start), _ROWS):
        rows = slice(low, low + _ROWS)
        free = (stop[rows] - start[rows]) - (last[rows] - first[rows])
        ranks = _ranks(free, take[rows], uniform[rows])
        kept = np.arange(ranks.shape[1]) < take[rows, None]
        before = _passed(ranks, kept, start[rows], taken, first[rows], last[rows])
        places = start[rows, None] + ranks + before
        out[rows, : ranks.shape[1]][kept] = places[kept]


def _ranks(free: Ints, take: Ints, uniform: Floats) -> Ints:
    steps = int(take.max(initial=0))
    ranks = np.full((len(free), steps), -1, np.int64)
    for step in range(steps):
        end = free - take + step
        drawn = (uniform[:, step] * (end + 1)).astype(np.int64)
        again = (ranks[:, :step] == drawn[:, None]).any(axis=1)
        ranks[:, step] = np.where(step < take, np.where(again, end, drawn), -1)
    return ranks


def _passed(ranks: Ints, kept: Any, start: Ints, taken: Ints, first: Ints, last: Ints) -> Ints:
    """How many excluded places lie before the free place of each rank, by bisection."""
    low = np.zeros_like(ranks)
    if not len(taken):
        return low
    high = np.where(kept, (last - first)[:, None], 0)
    while (low < high).any():
        middle = (low + high) // 2
        open_ = low < high
        place = np.where(open_, first[:, None] + middle, 0)
        ahead = open_ & (taken[place] - start[:, None] - middle <= ranks)
        low, high = np.where(ahead, middle + 1, low), np.where(open_ & ~ahead, middle, high)
    return low


@kernel(twin=_draw_twin)
def _draw(
    start: Ints, stop: Ints, taken: Ints, first: Ints, last: Ints, take: Ints, uniform: Floats, out: Ints
) -> None:
    most = 0
    for row in range(take.size):
        most = max(most, take[row])
    size = 16
    while size < 2 * most:
        size *= 2
    mask = np.uint64(size - 1)
    table = np.empty(size, np.int64)
    # An entry of the table counts only if it was made for this row.
    owner = np.full(size, -1, np.int64)
    for row in range(take.size):
        free = (stop[row] - start[row]) - (last[row] - first[row])
        for step in range(take[row]):
            end = free - take[row] + step
            rank = np.int64(uniform[row, step] * (end + 1))
            place = (np.uint64(rank) * np.uint64(11400714819323198485)) >> np.uint64(20) & mask
            while owner[place] == row and table[place] != rank:
                place = (place + np.uint64(1)) & mask
            if owner[place] == row:  # drawn before: its turn goes to the newest rank, which nobody can have
                rank = end
                place = (np.uint64(rank) * np.uint64(11400714819323198485)) >> np.uint64(20) & mask
                while owner[place] == row:
                    place = (place + np.uint64(1)) & mask
            owner[place] = row
            table[place] = rank
            low, high = first[row], last[row]
            while low < high:
                middle = (low + high) // 2
                if taken[middle] - start[row] - (middle - first[row]) <= rank:
                    low = middle + 1
                else:
                    high = middle
            out[row, step] = start[row] + rank + (low - first[row])
