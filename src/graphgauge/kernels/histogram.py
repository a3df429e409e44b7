"""A sparse histogram of integer rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.tally import tally

Ints = NDArray[np.int64]


class Histogram:
    """Counts of integer rows. Rows are kept sorted, so equal contents have equal bits in any order of arrival."""

    # Rows are collected up to this number before they are folded in: sorting rarely is cheaper.
    FOLD_AT = 1 << 18

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._rows: list[Sequence[Ints]] = []
        self._counts: list[Ints] = []
        self._pending = 0
        self._folded = 0

    def add(self, rows: Sequence[Ints], counts: Ints | None = None, *, folded: bool = False) -> None:
        """Add rows, one column each; `folded` ones are distinct and sorted already."""
        length = len(rows[0])
        if length == 0:
            return
        self._rows.append(rows)
        self._counts.append(np.ones(length, np.int64) if counts is None else counts)
        self._pending += length
        if folded and self._pending == length:
            self._folded = length
        elif self._pending - self._folded > max(self.FOLD_AT, self._folded):
            self._fold()

    def cells(self) -> tuple[list[Ints], Ints]:
        """The distinct rows, column by column, sorted, and how often each occurred."""
        if not self._rows:
            return [np.empty(0, np.int64) for _ in range(self._columns)], np.empty(0, np.int64)
        self._fold()
        return list(self._rows[0]), self._counts[0]

    def copy(self) -> Histogram:
        """The same rows, which later additions to either do not change."""
        other = copy(self)
        other._rows, other._counts = list(self._rows), list(self._counts)
        return other

    @property
    def total(self) -> int:
        """All counts together; nothing is sorted for it."""
        return sum(int(part.sum()) for part in self._counts)

    def _fold(self) -> None:
        if len(self._rows) > 1 or self._pending != self._folded:
            columns = [np.concatenate([rows[column] for rows in self._rows]) for column in range(self._columns)]
            distinct, counts = tally(columns, np.concatenate(self._counts))
            self._rows, self._counts = [distinct], [counts]
            self._pending = self._folded = len(counts)
