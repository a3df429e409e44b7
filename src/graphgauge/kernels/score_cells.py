"""Positives and negatives counted by the bits of their scores: ROC-AUC and average precision in bounded memory.

Every float64 has an integer key with the same order. Cells are ranges of keys with the same leading bits. If there are
more cells than allowed, every cell is doubled in width until there are not. The width therefore depends on the scores
alone: counts have the same bits in any order of arrival and merging, and they are exact as long as the different scores
fit.

Within a cell the order of the scores is unknown, which bounds the metrics. Reading the scores again settles the order
in the cells that matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.kernels.dtypes import Scores, refuse_inexact
from graphgauge.kernels.tails import TailCounts
from graphgauge.kernels.tails import average_precision as exact_average_precision
from graphgauge.kernels.tails import roc_auc as exact_roc_auc

Keys = NDArray[np.uint64]
Counts = NDArray[np.int64]
Blocks = Callable[[], Iterable[Scores]]
Bounds = tuple[float, float]

# Scores that are converted and sorted at once.
_BLOCK = 1 << 20
_SIGN = np.uint64(1 << 63)
# More than the relative rounding error of a sum of 2**40 quotients in blocks.
_ROUNDING = 2.0**-44
# A cell has a key and two counts; folding needs room for four of each.
_BYTES_PER_CELL = 96
_FEWEST_CELLS = 1 << 10


def ordered_keys(scores: Scores) -> Keys:
    """Integers in the order of the scores; -0.0 and 0.0 have the same.

    >>> keys = ordered_keys(np.array([-np.inf, -1.0, -0.0, 0.0, 5e-324, np.inf]))
    >>> bool((keys[:-1] <= keys[1:]).all()), bool(keys[2] == keys[3])
    (True, True)
    """
    bits = (scores.astype(np.float64) + 0.0).view(np.uint64)
    return np.where(bits >= _SIGN, ~bits, bits | _SIGN)


def require_countable(scores: Scores) -> None:
    """Refuse integers that have no float64 of their own."""
    if scores.dtype.kind in "iu" and scores.dtype.itemsize == 8 and scores.size:
        try:
            refuse_inexact(int(scores.min()), int(scores.max()))
        except InputError as error:
            raise InputError(error.what, where=error.where, fix="Give floats, or leave out max_memory.") from None


class Cells(NamedTuple):
    """Positives and negatives of each cell, best scores first; all scores of an `exact` cell are equal."""

    positives: Counts
    negatives: Counts
    exact: NDArray[np.bool_]


class ScoreCells:
    """Counts of positives and negatives in at most as many cells as fit into `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self.most = max(max_bytes // _BYTES_PER_CELL, _FEWEST_CELLS)
        self._shift = 0
        self._cells: tuple[Keys, Counts, Counts] = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)
        self._pending: list[tuple[Keys, Counts, Counts]] = []
        self._waiting = 0

    def add(self, positives: Scores, negatives: Scores) -> None:
        """Count scores without NaN."""
        for block in _blocks(positives):
            keys, counts = self._counted(block)
            self._append(keys, counts, np.zeros_like(counts))
        for block in _blocks(negatives):
            keys, counts = self._counted(block)
            self._append(keys, np.zeros_like(counts), counts)

    def merge(self, other: ScoreCells) -> None:
        """Count everything that another has counted."""
        keys, positives, negatives = other.columns()
        if other.shift > self._shift:
            self._fold()
            self._widen(other.shift)
        self._append(keys >> np.uint64(self._shift - other.shift), positives, negatives)

    @property
    def shift(self) -> int:
        """The trailing bits that keys of one cell may differ in; 0 if all counts are exact."""
        self._fold()
        return self._shift

    def columns(self) -> tuple[Keys, Counts, Counts]:
        """The leading bits of each cell's keys, ascending, and its positives and negatives."""
        self._fold()
        return self._cells

    @classmethod
    def restored(cls, max_bytes: int, shift: int, columns: tuple[Any, Any, Any]) -> ScoreCells:
        """From `columns` that were saved; raises ValueError if they cannot be such."""
        keys, positives, negatives = columns
        kinds = [array.dtype for array in columns]
        if kinds != [np.uint64, np.int64, np.int64] or len({array.shape for array in columns}) != 1 or keys.ndim != 1:
            raise ValueError("not cells")
        if (
            not 0 <= shift < 64
            or (keys[1:] <= keys[:-1]).any()
            or min(positives.min(initial=0), negatives.min(initial=0)) < 0
        ):
            raise ValueError("not cells")
        found = cls(max_bytes)
        found._shift = shift
        found._append(keys, positives, negatives)
        return found

    def cells(self) -> Cells:
        """All cells, best first."""
        _, positives, negatives = self.columns()
        return Cells(positives[::-1], negatives[::-1], self._settled()[::-1])

    def refined(self, positives: Blocks, negatives: Blocks) -> Cells:
        """The same scores, read again: every cell with a positive is exact.

        Memory grows with the positives in unsettled cells, of which as many are read at once as there may be cells.
        """
        keys, p, n = self.columns()
        settled = self._settled()
        owners, parts = [np.flatnonzero(settled)], [(p[settled], n[settled])]
        for group in self._groups(np.flatnonzero(~settled)):
            wide = len(group) == 1 and int(p[group[0]]) > self.most
            owner, *counts = (
                self._split(keys, group, positives, negatives)
                if wide
                else self._placed(keys, group, positives, negatives)
            )
            if (np.bincount(owner, counts[0], len(keys))[group] != p[group]).any() or (
                np.bincount(owner, counts[1], len(keys))[group] != n[group]
            ).any():
                raise InputError("the scores changed between two readings", fix="Run it again when they are complete.")
            owners.append(owner)
            parts.append((counts[0], counts[1]))
        order = np.argsort(np.concatenate(owners), kind="stable")[::-1]
        joined = [np.concatenate([part[column] for part in parts])[order] for column in range(2)]
        return Cells(joined[0], joined[1], np.ones(len(order), bool))

    # ------------------------------------------------------------- details

    def _counted(self, scores: Scores) -> tuple[Keys, Counts]:
        keys, counts = np.unique(ordered_keys(scores) >> np.uint64(self._shift), return_counts=True)
        return keys, counts.astype(np.int64)

    def _append(self, keys: Keys, positives: Counts, negatives: Counts) -> None:
        self._pending.append((keys, positives, negatives))
        self._waiting += len(keys)
        if self._waiting > max(_BLOCK, len(self._cells[0])):
            self._fold()

    def _fold(self) -> None:
        if self._pending:
            parts, self._pending, self._waiting = [self._cells, *self._pending], [], 0
            self._cells = _summed(*(np.concatenate([part[column] for part in parts]) for column in range(3)))
        shift = self._shift
        if len(self._cells[0]) > self.most:
            apart = self._cells[0][1:] ^ self._cells[0][:-1]
            wider = np.uint64(0)
            while np.count_nonzero(apart >> wider) >= self.most:
                wider += np.uint64(1)
            shift += int(wider)
        self._widen(shift)

    def _widen(self, shift: int) -> None:
        """Drop trailing bits of the keys of all folded cells."""
        if shift > self._shift:
            keys, *counts = self._cells
            self._cells = _summed(keys >> np.uint64(shift - self._shift), *counts)
            self._shift = shift

    def _settled(self) -> NDArray[np.bool_]:
        _, positives, negatives = self._cells
        if self._shift == 0:
            return np.ones(len(positives), bool)
        settled: NDArray[np.bool_] = (positives == 0) | ((positives == 1) & (negatives == 0))
        return settled

    def _groups(self, unsettled: Counts) -> Iterator[Counts]:
        """Unsettled cells to be read at once."""
        held, group = 0, list[int]()
        for cell, positives in zip(unsettled.tolist(), self._cells[1][unsettled].tolist(), strict=True):
            if group and held + positives > self.most:
                yield np.array(group)
                held, group = 0, []
            held += positives
            group.append(cell)
        if group:
            yield np.array(group)

    def _within(self, cells: Keys, blocks: Blocks) -> Iterator[tuple[Keys, Counts]]:
        """The keys of all scores in some cells, sorted, and the place of each one's cell among these."""
        for scores in blocks():
            for block in _blocks(scores.reshape(-1)):
                keys = np.sort(ordered_keys(block))
                leading = keys >> np.uint64(self._shift)
                place = np.minimum(np.searchsorted(cells, leading), len(cells) - 1)
                here = cells[place] == leading
                yield keys[here], place[here]

    def _placed(self, keys: Keys, group: Counts, positives: Blocks, negatives: Blocks) -> tuple[Counts, Counts, Counts]:
        """The cell, positives and negatives of each positive score in these cells, and of the gaps between them."""
        cells = keys[group]
        levels, held = np.empty(0, np.uint64), np.empty(0, np.int64)
        for found, _ in self._within(cells, positives):
            new, counts = np.unique(found, return_counts=True)
            levels, held, _ = _summed(np.concatenate([levels, new]), np.concatenate([held, counts]), None)
        # Each cell has a slot for every level, one below each, and one on top.
        owner = np.searchsorted(cells, levels >> np.uint64(self._shift))
        level_slots = 2 * np.arange(len(levels)) + 1 + owner
        slots = 2 * len(levels) + len(cells)
        below = np.zeros(slots, np.int64)
        for found, place in self._within(cells, negatives):
            index = np.searchsorted(levels, found)
            tied = levels[np.minimum(index, len(levels) - 1)] == found
            below += np.bincount(2 * index + (tied & (index < len(levels))) + place, minlength=slots)
        at = np.zeros(slots, np.int64)
        at[level_slots] = held
        sizes = 2 * np.bincount(owner, minlength=len(cells)) + 1
        owners, there = np.repeat(group, sizes), (at > 0) | (below > 0)
        return owners[there], at[there], below[there]

    def _split(self, keys: Keys, group: Counts, positives: Blocks, negatives: Blocks) -> tuple[Counts, Counts, Counts]:
        """One cell with more positives than may be kept: divided into narrower ones, which are then refined."""
        cell = keys[group]

        def inside(blocks: Blocks) -> Blocks:
            return lambda: (_scores(found) for found, _ in self._within(cell, blocks))

        part = ScoreCells(0)
        part.most = self.most
        for found in inside(positives)():
            part.add(found, found[:0])
        for found in inside(negatives)():
            part.add(found[:0], found)
        refined = part.refined(inside(positives), inside(negatives))
        return np.repeat(group, len(refined.exact)), refined.positives[::-1], refined.negatives[::-1]


def roc_auc_bounds(cells: Cells) -> Bounds:
    """The least and greatest probability that a positive scores above a negative, ties half, of scores in these cells.

    Equal if all cells are exact; NaN if either side is empty.
    """
    if cells.exact.all():
        value = exact_roc_auc(_tails(cells))
        return value, value
    pairs = 2 * int(cells.positives.sum()) * int(cells.negatives.sum())
    if not pairs:
        return math.nan, math.nan
    below = int(cells.negatives.sum()) - np.cumsum(cells.negatives)
    certain = 2 * _dot(cells.positives, below) + _dot(cells.positives, cells.negatives * cells.exact)
    possible = certain + 2 * _dot(cells.positives, cells.negatives * ~cells.exact)
    low, high = math.nextafter(certain / pairs, 0.0), math.nextafter(possible / pairs, 2.0)
    return low, min(high, 1.0)


def average_precision_bounds(cells: Cells) -> Bounds:
    """The least and greatest step-wise average precision of scores in these cells.

    It is least if the negatives of a cell come first and its positives have different scores; greatest if its
    positives come first with one score, because positives with equal scores raise each other's precision.
    """
    if cells.exact.all():
        value = exact_average_precision(_tails(cells))
        return value, value
    total, negatives = int(cells.positives.sum()), int(cells.negatives.sum())
    if not total or not negatives:
        return math.nan, math.nan
    there = cells.positives > 0
    found, false = np.cumsum(cells.positives), np.cumsum(cells.negatives)
    clean = false - np.where(cells.exact, 0, cells.negatives)
    most = float((cells.positives[there] * (found[there] / (found[there] + clean[there]))).sum())
    known = there & cells.exact
    least = float((cells.positives[known] * (found[known] / (found[known] + false[known]))).sum())
    loose = np.flatnonzero(there & ~cells.exact)
    sums = [least, *_worst_precisions(found[loose] - cells.positives[loose], cells.positives[loose], false[loose])]
    low, high = math.fsum(sums) / total, most / total
    return low * (1 - _ROUNDING), min(high * (1 + _ROUNDING), 1.0)


def hits_bounds(cells: Cells, k: int) -> Bounds:
    """The least and greatest share of positives strictly above the k-th best negative of scores in these cells."""
    total, false = int(cells.positives.sum()), np.cumsum(cells.negatives)
    if not total or not len(false) or not false[-1]:
        return math.nan, math.nan
    surely = false < k
    possibly = surely | (~cells.exact & (false - cells.negatives < k))
    # Below all negatives there are no more of them than there are: beyond the last one every positive is a hit.
    return tuple(int(cells.positives[which].sum()) / total for which in (surely, possibly))  # type: ignore[return-value]


def _worst_precisions(before: Counts, positives: Counts, false: Counts) -> Iterator[float]:
    """Sums of t / (t + f) over the positives of each cell, the t-th of all, with f negatives above it."""
    ends = np.cumsum(positives)
    for start in range(0, int(ends[-1]) if len(ends) else 0, _BLOCK):
        number = np.arange(start, min(start + _BLOCK, int(ends[-1])))
        cell = np.searchsorted(ends, number, side="right")
        place = before[cell] + number - (ends[cell] - positives[cell]) + 1
        yield float((place / (place + false[cell])).sum())


def _tails(cells: Cells) -> TailCounts:
    there = cells.positives > 0
    equal = cells.negatives[there]
    greater = np.cumsum(cells.negatives)[there] - equal
    positives = cells.positives[there]
    return TailCounts(np.empty(len(positives)), positives, greater, equal, int(cells.negatives.sum()), 0, 0)


def _dot(one: Counts, other: Counts) -> int:
    """An exact sum of products, in two halves of 31 bits."""
    high, low = other >> 31, other & (2**31 - 1)
    return (int(np.dot(one, high)) << 31) + int(np.dot(one, low))


def _summed(keys: Keys, positives: Counts, negatives: Counts | None) -> tuple[Keys, Counts, Any]:
    """The different keys, sorted, with the sums of their counts."""
    if not len(keys):
        return keys, positives, negatives
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")
        keys, positives = keys[order], positives[order]
        negatives = None if negatives is None else negatives[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    sums = (None if counts is None else np.add.reduceat(counts, first) for counts in (positives, negatives))
    return keys[first], *sums  # type: ignore[return-value]


def _scores(keys: Keys) -> Scores:
    """The scores of keys."""
    return np.where(keys >= _SIGN, keys ^ _SIGN, ~keys).view(np.float64)


def _blocks(scores: Scores) -> Iterator[Scores]:
    return (scores[start : start + _BLOCK] for start in range(0, len(scores), _BLOCK))
