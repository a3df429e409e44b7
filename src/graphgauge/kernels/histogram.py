"""A sparse histogram of integer rows, in memory as far as it may be, and beyond that in a temporary file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.spill import stored
from graphgauge.kernels.tally import tally

Ints = NDArray[np.int64]

# Rows that are merged at once.
_MERGED = 1 << 20


class Histogram:
    """Counts of integer rows. Rows are kept sorted, so equal contents have equal bits in any order of arrival.

    Sorted rows above `max_bytes` are written to a temporary file, which disappears with the histogram.
    """

    # Rows are collected up to this number before they are folded in: sorting rarely is cheaper.
    FOLD_AT = 1 << 18

    def __init__(self, columns: int, max_bytes: int) -> None:
        self._columns = columns
        self.max_bytes = max_bytes
        self._rows: list[Sequence[Ints]] = []
        self._counts: list[Ints] = []
        self._pending = 0
        self._folded = 0
        # Sorted rows on disk, with their counts as the last column.
        self._runs: list[Ints] = []

    def add(self, rows: Sequence[Ints], counts: Ints | None = None, *, folded: bool = False) -> None:
        """Add rows, one column each; `folded` ones are distinct and sorted already."""
        length = len(rows[0])
        if length == 0:
            return
        self.make_room()
        self._rows.append(rows)
        self._counts.append(np.ones(length, np.int64) if counts is None else counts)
        self._pending += length
        if folded and self._pending == length:
            self._folded = length
        elif self._pending - self._folded > max(self.FOLD_AT, self._folded):
            self._fold()

    def make_room(self) -> None:
        """Write sorted rows to disk if they take more than they may.

        Only this can fail, and before anything is added: a failed update can be repeated.
        """
        if (self._columns + 1) * 8 * self._folded > self.max_bytes:
            self._fold()
            self._spill()

    def cells(self) -> tuple[list[Ints], Ints]:
        """The distinct rows, column by column, sorted, and how often each occurred."""
        if self._rows:
            self._fold()
        if self._runs:
            if self._folded:
                self._spill()
            if len(self._runs) > 1:
                self._runs = [_stored(self._columns + 1, _merged(self._runs))]
            run = self._runs[0]
            return list(run[:-1]), run[-1]
        if not self._rows:
            return [np.empty(0, np.int64) for _ in range(self._columns)], np.empty(0, np.int64)
        return list(self._rows[0]), self._counts[0]

    def copy(self) -> Histogram:
        """The same rows, which later additions to either do not change."""
        other = copy(self)
        other._rows, other._counts, other._runs = list(self._rows), list(self._counts), list(self._runs)
        return other

    @property
    def total(self) -> int:
        """All counts together; nothing is sorted for it."""
        return sum(int(part.sum()) for part in (*self._counts, *(run[-1] for run in self._runs)))

    def _fold(self) -> None:
        """Sort what is in memory."""
        if len(self._rows) > 1 or self._pending != self._folded:
            columns = [np.concatenate([rows[column] for rows in self._rows]) for column in range(self._columns)]
            distinct, counts = tally(columns, np.concatenate(self._counts))
            self._rows, self._counts = [distinct], [counts]
            self._pending = self._folded = len(counts)

    def _spill(self) -> None:
        block = np.stack([*self._rows[0], self._counts[0]])
        self._runs.append(_stored(self._columns + 1, iter([block])))
        # Only what is on disk is forgotten.
        self._rows, self._counts = [], []
        self._pending = self._folded = 0


def _stored(columns: int, blocks: Iterator[Ints]) -> Ints:
    """Blocks (columns, rows) joined on disk."""
    return stored((block.T for block in blocks), (columns,), np.dtype(np.int64)).T


def _merged(runs: Sequence[Ints]) -> Iterator[Ints]:
    """Sorted runs as sorted blocks of distinct rows, without reading all of them at once."""
    longest = max(runs, key=lambda run: run.shape[1])
    total = sum(run.shape[1] for run in runs)
    # Rows of the longest run at which all runs are cut; rows between two cuts fit into memory if runs are alike.
    step = max(1, int(_MERGED * longest.shape[1] / total))
    cuts = [longest[:-1, place].tolist() for place in range(step, longest.shape[1], step)]
    places = [[0, *(_place(run, cut) for cut in cuts), run.shape[1]] for run in runs]
    for bounds in zip(*(pairwise(place) for place in places), strict=True):
        parts = [np.asarray(run[:, start:stop]) for run, (start, stop) in zip(runs, bounds, strict=True)]
        block = np.concatenate(parts, axis=1)
        if block.shape[1]:
            columns, counts = tally(list(block[:-1]), block[-1])
            yield np.stack([*columns, counts])


def _place(run: Ints, row: Sequence[int]) -> int:
    """Where a row stands among the sorted rows of a run."""
    start, stop = 0, run.shape[1]
    for column, value in zip(run, row, strict=False):
        part = column[start:stop]
        start, stop = start + int(np.searchsorted(part, value)), start + int(np.searchsorted(part, value, "right"))
    return start
