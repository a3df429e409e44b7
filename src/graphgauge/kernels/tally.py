"""Distinct rows of integer columns and how often each occurs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]

# A table may have this many places per label.
_TABLE = 4


def tally(
    columns: Sequence[Integers], counts: NDArray[Any] | None = None
) -> tuple[list[NDArray[np.int64]], NDArray[Any]]:
    """The distinct rows of `columns`, sorted by the first column, then the second …, and the count of each.

    If rows have `counts`, these are added up; they may be weights above 0.

    >>> tally([np.array([2, 1, 2]), np.array([0, 5, 0])])
    ([array([1, 2]), array([5, 0])], array([1, 2]))
    """
    if not columns[0].size:
        return [np.empty(0, np.int64) for _ in columns], np.empty(0, np.int64)
    lows = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if prod(spans) > np.iinfo(np.int64).max:
        return _tally_by_lexsort(columns, counts)
    codes = np.zeros(columns[0].size, np.int64)
    for column, low, span in zip(columns, lows, spans, strict=True):
        codes *= span
        codes += column
        codes -= low
    dense = prod(spans) <= 4 * codes.size
    if counts is not None and not dense:
        # Weights are always put in order: their sums depend on the order of equal rows.
        if counts.dtype.kind == "f" or (codes[1:] < codes[:-1]).any():
            order = codes.argsort()
            codes, counts = codes[order], counts[order]
        starts, _ = _runs(codes[1:] != codes[:-1])
        totals = counts.copy() if len(starts) == len(codes) else np.add.reduceat(counts, starts)
        codes = codes[starts]
    elif dense:
        # Floating-point sums of whole counts are exact here: all are far below 2**53.
        frequencies = np.bincount(codes, counts).astype(np.int64 if counts is None else counts.dtype, copy=False)
        codes = np.flatnonzero(frequencies)
        totals = frequencies[codes]
    else:
        codes.sort()
        starts, totals = _runs(codes[1:] != codes[:-1])
        codes = codes[starts]
    distinct: list[NDArray[np.int64]] = []
    for low, span in zip(lows[:0:-1], spans[:0:-1], strict=True):
        distinct.append(codes % span + low)
        codes //= span
    return [codes + lows[0], *distinct[::-1]], totals


def numbered(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
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


def distinct(columns: Sequence[Integers]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A place of each distinct row, in the order of `tally`, and the number of every row among them.

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


def _tally_by_lexsort(
    columns: Sequence[Integers], counts: NDArray[Any] | None
) -> tuple[list[NDArray[np.int64]], NDArray[Any]]:
    order = np.lexsort(tuple(reversed(columns)))
    ordered = [column[order].astype(np.int64) for column in columns]
    starts, totals = _runs(np.logical_or.reduce([column[1:] != column[:-1] for column in ordered]))
    if counts is not None:
        totals = np.add.reduceat(counts[order], starts)
    return [column[starts] for column in ordered], totals


def _runs(changes: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where runs of equal neighbours start, and how long they are; `changes[i]` says that item i + 1 starts one."""
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    return starts, np.diff(starts, append=changes.size + 1)
