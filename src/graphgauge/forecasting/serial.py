"""Standard errors of estimates over time, with errors that are correlated in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats

# Fewer blocks are too few to estimate the autocorrelation.
FEWEST = 8
# The fewest cosines of errors with memory, and how much of the variance those of an interval should see: more cosines
# reach frequencies at which slow errors hardly move.
_FEWEST_COSINES, _SEEN = 4, 0.9
# Slow errors may be hidden in noise, so that neighbours hardly resemble each other and their means over many steps do.
# Means of 2, 4, 8 … blocks are searched while there are so many; they must resemble each other by so many standard
# errors, and the cosines must then be at most half as many.
_FEWEST_MEANS, RESEMBLE, _FEWER = 16, 2.0, 0.5
# The longest memory that is estimated from neighbours.
_LONGEST = 0.98
# Uneven blocks are equivalent to (Σ cells)²/Σ cells² even ones; with fewer than this the intervals are too narrow.
_FEWEST_EVEN = 7


def frequencies(blocks: int) -> int:
    """The number of lowest-frequency cosines: .41·blocks^(2/3), the choice of Lazarus et al. (2018)."""
    return max(2, round(0.41 * math.pow(blocks, 2 / 3)))


def slowest(steps: int, ahead: int) -> int:
    """The maximum number of cosines of a test of forecasts so many steps ahead.

    They are slower than the overlap, and few enough to reject rarely if the autocorrelation is strong.
    """
    return max(4, min(8, steps // 32, steps // (2 * ahead)))


def enough(cells: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether blocks (rows) with these numbers of cells are enough to estimate the autocorrelation."""
    total, squares = cells.sum(axis=0), np.square(cells).sum(axis=0)
    return np.asarray(((cells > 0).sum(axis=0) >= FEWEST) & (total**2 >= _FEWEST_EVEN * squares))


def transforms(influence: NDArray[np.floating], cells: NDArray[np.floating]) -> Floats | None:
    """The lowest-frequency cosine transforms (rows) of the influences of time blocks, scaled.

    Sums of the rows with independent standard normal weights are distributed as the estimates, in the limit. None if
    the blocks are not enough; blocks without cells are left out.
    """
    if not enough(cells):
        return None
    known = influence[cells > 0]
    count = min(frequencies(len(known)), slowest(len(known), 1))
    return np.asarray(np.sqrt(2 / count) * (_cosines(count, len(known)) @ known))


@lru_cache(maxsize=16)
def _cosines(count: int, blocks: int) -> Floats:
    """The cosines of the lowest frequencies (rows) over so many blocks; metrics of one evaluation share them."""
    return np.asarray(np.cos(np.pi * np.outer(np.arange(1, count + 1), np.arange(blocks) + 0.5) / max(blocks, 1)))


def memory_of(series: NDArray[np.floating], there: NDArray[np.bool_] | None = None) -> Floats:
    """The autocorrelation of neighbouring rows, for each column; 0 if it is within its error.

    Estimates are too small by about (1 + 3·memory)/rows (Kendall 1954), which is added. Rows that are not `there` are
    left out, as if the rows around them were neighbours.
    """
    values = np.asarray(series, dtype=np.float64)
    rows: Any = max(len(values), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        if there is None or there.all():
            centred = values - values.sum(axis=0) / rows
        else:
            order = np.argsort(~there, axis=0, kind="stable")
            values, there = np.take_along_axis(values, order, axis=0), np.take_along_axis(there, order, axis=0)
            rows = np.maximum(there.sum(axis=0), 1)
            centred = np.where(there, values - np.where(there, values, 0.0).sum(axis=0) / rows, 0.0)
        raw = (centred[1:] * centred[:-1]).sum(axis=0) / np.square(centred).sum(axis=0)
        found = np.minimum(raw + (1 + 3 * raw) / rows, _LONGEST)
    return np.where(found * np.sqrt(rows) >= 1, found, 0.0)


class Slow:
    """A series of time blocks (rows) in which slow changes are looked for, once for all estimates that share it."""

    def __init__(self, series: NDArray[np.floating]) -> None:
        self.series = series
        self._memory: dict[int, Floats] = {}

    def memory(self, length: int) -> Floats:
        """The memory of means of so many successive blocks, none of which is missing."""
        if length not in self._memory:
            self._memory[length] = memory_of(
                _in_groups(self.series, length).mean(axis=1) if length > 1 else self.series
            )
        return self._memory[length]


def cosine_error(
    influence: NDArray[np.floating],
    cells: NDArray[np.floating] | None = None,
    slowest: int | None = None,
    memory: NDArray[np.floating] | None = None,
    slow: Sequence[Slow] = (),
    resemble: float = RESEMBLE,
) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of an estimate, from the influence of each block (row).

    The long-run variance is the mean square of the lowest-frequency cosine transforms of the influences. The transforms
    are nearly independent and normal, so the error has as many degrees of freedom, and Student's t is exact in the
    limit. `cells` are the numbers of cells in each block. Blocks without cells are left out, separately for each
    column, as if the blocks around them were neighbours. `slowest` is the maximum number of cosines. If the `memory` of
    each column is given, so few are used that autoregressions with it have most of their long-run variance there, and
    the variance is divided by that share. `slow` are series like the influences in which slower changes are searched,
    that are significant by `resemble` standard errors.
    """
    if cells is None:
        cells = np.ones(influence.shape)
    there = cells > 0
    kept = np.asarray(there.any(axis=tuple(range(1, there.ndim))))
    influence, there = influence[kept], there[kept]
    blocks = there.sum(axis=0)
    counts = np.array([min(frequencies(int(n)), slowest or int(n)) for n in blocks.ravel()]).reshape(blocks.shape)
    share = np.ones(counts.shape)
    if memory is not None:
        counts, share = _fewer(counts, blocks, memory)
    if slow:
        known = np.zeros(counts.shape) if memory is None else memory
        counts, share = _slower(counts, share, slow, kept, there, known, resemble)
    if there.all():
        wave = _cosines(int(counts.max(initial=1)), len(there))
        sums = np.cumsum(np.square(np.tensordot(wave, influence, axes=1)), axis=0)
        squares = np.take_along_axis(sums, counts[np.newaxis] - 1, axis=0)[0]
    else:
        squares = _squares(influence, there, counts)
    good = enough(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(good, np.sqrt(2 * squares / (counts * share)), np.nan)
    return error, np.where(good, counts, 0).astype(float)


def _fewer(
    counts: NDArray[np.int64], blocks: NDArray[np.int64], memory: NDArray[np.floating]
) -> tuple[NDArray[np.int64], Floats]:
    """Numbers of cosines for this memory, at most `counts`, and the share of the long-run variance that they see.

    The spectrum of an autoregression at the frequency of each cosine, relative to that at 0.
    """
    k = np.arange(1, int(counts.max(initial=1)) + 1).reshape(-1, *(1,) * counts.ndim)
    forgotten = np.square(1 - memory)
    seen = forgotten / (forgotten + 2 * memory * (1 - np.cos(np.pi * k / np.maximum(blocks, 1))))
    mean = np.cumsum(seen, axis=0) / k
    few = ((mean >= _SEEN) & (k <= counts)).sum(axis=0)
    chosen = np.maximum(few, np.minimum(_FEWEST_COSINES, counts))
    share = np.take_along_axis(mean, np.maximum(chosen - 1, 0)[np.newaxis], axis=0)[0]
    return chosen, share


def _slower(
    counts: NDArray[np.int64],
    share: Floats,
    slow: Sequence[Slow],
    kept: NDArray[np.bool_],
    there: NDArray[np.bool_],
    known: NDArray[np.floating],
    resemble: float,
) -> tuple[NDArray[np.int64], Floats]:
    """Fewer cosines, if means of several blocks resemble those of the next more than the `known` memory explains."""
    complete = bool(kept.all() and there.all())
    if not complete:
        order = np.argsort(~there, axis=0, kind="stable")
        there = np.take_along_axis(there, order, axis=0)
        gathered = [np.take_along_axis(each.series[kept], order, axis=0) for each in slow]
    length = 2
    while len(there) // length >= _FEWEST_MEANS:
        rows: Any = len(there) // length
        if complete:
            memory = np.max([each.memory(length) for each in slow], axis=0)
        else:
            whole: NDArray[np.bool_] = np.asarray(_in_groups(there, length).all(axis=1))
            rows = whole.sum(axis=0)
            memory = np.max([memory_of(_in_groups(each, length).mean(axis=1), whole) for each in gathered], axis=0)
        found = ((memory - _memory_of_means(known, length)) * np.sqrt(rows) >= resemble) & (rows >= _FEWEST_MEANS)
        length *= 2
        if not found.any():
            continue
        few, seen = _fewer(np.minimum(counts, np.maximum(rows - 1, 1)), rows, np.where(found, memory, 0.0))
        found &= few <= _FEWER * counts
        counts, share = np.where(found, few, counts), np.where(found, seen, share)
    return counts, share


def _memory_of_means(memory: NDArray[np.floating], length: int) -> Floats:
    """The autocorrelation of means of so many successive values of an autoregression."""
    forgotten = 1 - memory**length
    return np.asarray(memory * forgotten**2 / (length * (1 - memory**2) - 2 * memory * forgotten))


def _in_groups(series: NDArray[Any], length: int) -> NDArray[Any]:
    """Successive rows in groups of this length."""
    groups = len(series) // length
    return series[: groups * length].reshape(groups, length, *series.shape[1:])


def interval_error(
    influence: NDArray[np.floating], cells: NDArray[np.floating], errors: Slow | None = None
) -> tuple[Floats, Floats]:
    """`cosine_error` for the memory of the influences, or of those of the absolute errors if that is longer.

    A score that few errors enter shows less memory than the errors have.
    """
    known = [Slow(influence)]
    if errors is not None and not np.array_equal(errors.series, influence):
        known.append(errors)
    there = cells > 0
    complete = bool(there.all())
    memory = np.max([each.memory(1) if complete else memory_of(each.series, there) for each in known], axis=0)
    return cosine_error(influence, cells, memory=memory, slow=known)


def _squares(influence: NDArray[np.floating], there: NDArray[np.bool_], counts: NDArray[np.int64]) -> Floats:
    """Summed squares of the transforms if columns lack different blocks."""
    place = (np.cumsum(there, axis=0) - 0.5) / np.maximum(there.sum(axis=0), 1)
    known = np.where(there, influence, 0.0)
    squares = np.zeros(counts.shape)
    for k in range(1, int(counts.max(initial=0)) + 1):
        transform = (np.cos(np.pi * k * place) * known).sum(axis=0)
        squares += np.where(k <= counts, np.square(transform), 0.0)
    return squares
