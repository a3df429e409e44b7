"""Numbers for labels and for rows of whole numbers, so that what counts alike is counted once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Ints

# A table may have this many places per row, and rows are counted this many at a time, so that they stay in the cache.
_TABLE, _CACHED = 4, 1 << 16


def numbered(labels: AnyArray) -> tuple[AnyArray, Ints]:
    """The sorted distinct labels, and the number of each label among them, as `np.unique` finds them.

    Whole numbers that are close together are numbered by a table instead of a sort.

    >>> numbered(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1]))
    """
    if labels.dtype.kind in "iu" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low < _TABLE * labels.size and high <= np.iinfo(np.int64).max:
            place = labels.astype(np.int64) - low
            known = np.zeros(high - low + 1, bool)
            known[place] = True
            return np.flatnonzero(known) + low, (np.cumsum(known) - 1)[place]
    names, number = np.unique(labels, return_inverse=True)
    return names, number


def distinct(columns: Sequence[AnyArray]) -> tuple[Ints, Ints]:
    """A place of each distinct row, sorted by the first column, then the second …, and the number of every row.

    >>> distinct([np.array([2, 1, 2]), np.array([0, 5, 0])])
    (array([1, 2]), array([1, 0, 1]))
    """
    number = np.zeros(columns[0].size, np.int64)
    kinds = min(1, number.size)
    for column in columns:
        if column.size and column.min() == column.max():
            continue
        own, place = numbered(column)
        number = place if kinds <= 1 else numbered(number * len(own) + place)[1]
        kinds *= len(own)
    first = np.empty(int(number.max(initial=-1)) + 1, np.int64)
    first[number] = np.arange(number.size)
    return first, number


def tally(columns: Sequence[AnyArray], counts: Ints | None = None) -> tuple[list[AnyArray], Ints]:
    """The distinct rows of `columns`, sorted as in `distinct`, and how many have each; rows may have `counts`.

    >>> tally([np.array([2, 1, 2]), np.array([0, 5, 0])])
    ([array([1, 2]), array([5, 0])], array([1, 2]))
    """
    n = columns[0].size
    lows = [int(column.min()) if n else 0 for column in columns]
    spans = [int(column.max()) - low + 1 if n else 1 for column, low in zip(columns, lows, strict=True)]
    size = prod(spans)
    if size > _TABLE * n:
        first, number = distinct(columns)
        return [column[first] for column in columns], np.bincount(number, counts, len(first)).astype(np.int64)
    table = np.zeros(size, np.int64)
    for start in range(0, n, max(_CACHED, size)):
        part = slice(start, start + max(_CACHED, size))
        code: Any = np.zeros(len(columns[0][part]), np.int64)
        for column, low, span in zip(columns, lows, spans, strict=True):
            code = code if span == 1 else code * span + (column[part] - low)
        table += np.bincount(code, None if counts is None else counts[part], size).astype(np.int64)
    code, rows = np.flatnonzero(table), []
    for low, span in zip(lows[::-1], spans[::-1], strict=True):
        rows.append(code % span + low)
        code //= span
    return rows[::-1], table[table > 0]


def stretches_of(labels: AnyArray) -> Ints:
    """The first row of each stretch of equal labels.

    >>> stretches_of(np.array([7, 7, 5, 7]))
    array([0, 2, 3])
    """
    parts = [np.zeros(min(1, len(labels)), np.int64)]
    for start in range(0, len(labels) - 1, _CACHED):
        part = labels[start : start + _CACHED + 1]
        parts.append(start + 1 + np.flatnonzero(part[1:] != part[:-1]))
    return np.concatenate(parts)


def runs_of(row: Ints, score: AnyArray) -> tuple[Ints, Ints, Ints, Ints]:
    """Runs of equal scores, of entries in order of their row and then score.

    The run of each entry; the first entry of each run, its size, and how many entries of its row are before it.
    """
    new = np.ones(len(row), bool)
    new[1:] = (row[1:] != row[:-1]) | (score[1:] != score[:-1])
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(row)))
    return np.cumsum(new) - 1, first, size, first - np.searchsorted(row, row[first])
