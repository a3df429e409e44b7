"""Exact counting: numbers for labels and rows, so that what counts alike is counted once, and scores against scores.

The loops see int32, int64, uint64, float32 and float64; those that count ranks see float16, too. Other types (bool,
small integers, strides) are converted, block by block. Nothing is narrowed unless every value survives.
64-bit integers against floats, and signed against unsigned ones, compare as float64, and an integer beyond ±2**53 is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import is_cuda, on_device
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints

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
    seen = [column if any(column.strides) else column[:1] for column in columns]  # one number for all is read once
    lows = [int(column.min()) if n else 0 for column in seen]
    spans = [int(column.max()) - low + 1 if n else 1 for column, low in zip(seen, lows, strict=True)]
    size = prod(spans)
    if size > _TABLE * n:
        first, number = distinct(columns)
        return [column[first] for column in columns], np.bincount(number, counts, len(first)).astype(np.int64)
    table, code_type = np.zeros(size, np.int64), np.int32 if size < 1 << 31 else np.int64
    for start in range(0, n, max(_CACHED, size)):
        part = slice(start, start + max(_CACHED, size))
        code: Any = np.zeros(len(columns[0][part]), code_type)
        for column, low, span in zip(columns, lows, spans, strict=True):
            if span > 1:
                code *= code_type(span)
                code += (column[part] - low).astype(code_type, copy=False)
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


def exact_sum(values: Floats, group: Ints | None = None, groups: int = 1) -> Floats:
    """The sums of some numbers by group, with the same bits in any order.

    Numbers are split into multiples of two powers of two, whose sums are exact: to more digits than a plain sum has.

    >>> exact_sum(np.array([0.1, 0.7, 0.2])) == exact_sum(np.array([0.7, 0.2, 0.1]))
    array([ True])
    """
    largest = float(np.max(np.abs(values), initial=0.0))
    if not 0.0 < largest * len(values) < np.inf:
        return _plain_sum(values, group, groups)
    unit = 2.0 ** (int(np.frexp(largest * len(values))[1]) - 52)
    if not 1e-290 < unit < 1e290:
        return _plain_sum(np.sort(values), None, 1) if group is None else _plain_sum(values, group, groups)
    scaled = values / unit
    coarse = np.rint(scaled)
    finer = 2.0 ** (51 - len(values).bit_length())
    rest = np.rint((scaled - coarse) * finer)
    return (_plain_sum(coarse, group, groups) + _plain_sum(rest, group, groups) / finer) * unit


def parts_of(size: int, step: int) -> list[slice]:
    """Slices of so many elements each."""
    return [slice(start, start + step) for start in range(0, size, step)]


def _plain_sum(values: Floats, group: Ints | None, groups: int) -> Floats:
    if group is None:
        return np.add.reduce(values, keepdims=True)
    return np.bincount(group, values, groups).astype(np.float64)


_EXACT_IN_FLOAT64 = 2**53
# Negatives that are placed at a time.
_PLACED = 1 << 22
# Negatives per positive from which placing every negative is faster than sorting.
_FEW_POSITIVES = 128


def working_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The smallest type of the loops that can represent all of `dtypes`."""
    common = np.result_type(*dtypes)
    if common.kind == "f":
        return np.dtype(np.float64 if common.itemsize == 8 else np.float32)
    if np.can_cast(common, np.int32):
        return np.dtype(np.int32)
    return np.dtype(np.int64 if np.can_cast(common, np.int64) else np.uint64)


def exact(scores: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    """A C-contiguous view of scores in `dtype`, or a copy if needed."""
    if dtype.kind == "f" and scores.dtype.kind in "iu" and scores.dtype.itemsize == 8 and scores.size:
        low, high = int(scores.min()), int(scores.max())
        if max(high, -low) > _EXACT_IN_FLOAT64:
            what = f"the integer {high if high > -low else low} beyond ±2**53 does not compare exactly with floats"
            raise InputError(what, fix="Give all scores in the same dtype.")
    return np.require(scores, dtype, ("C", "A"))


def comparable(pos: AnyArray, neg: AnyArray) -> AnyArray:
    """`pos` in the type in which it compares exactly with `neg`, narrowed to that of `neg` if nothing is lost."""
    dtype = working_dtype(pos.dtype, neg.dtype)
    narrow = neg.dtype if neg.dtype == np.float16 else working_dtype(neg.dtype)
    if pos.dtype.kind == narrow.kind == "f" and narrow.itemsize < dtype.itemsize:
        with np.errstate(over="ignore", under="ignore"):
            candidate = pos.astype(narrow)
        if np.array_equal(candidate, pos, equal_nan=True):
            return candidate
    return exact(pos, dtype)


class RowCounts(NamedTuple):
    """For each query: the negatives above the positive, beside it, NaN, at −inf, and all; NaN is only in the last."""

    greater: AnyArray
    equal: AnyArray
    missing: AnyArray
    lowest: AnyArray
    negatives: AnyArray


def row_counts(pos: Any, neg: Any, offsets: Ints | None = None, mask: Any = None) -> RowCounts:
    """Of positives (n,), each against its row of negatives (n, k), perhaps masked, or flat ones with `offsets`.

    A matrix on a CUDA device is counted there.
    """
    if is_cuda(neg):
        return device_counts(pos, neg.detach(), mask)
    # Slices of a memory map are slow to make; the plain array over it shares the memory.
    neg = np.asarray(neg)
    pos = comparable(pos, neg)
    neg, threads = exact(neg, pos.dtype), threads_for(neg.size)
    if offsets is not None:
        return RowCounts(*_core.ragged_rank_counts(pos, neg, offsets, threads=threads))
    use = None if mask is None else np.require(mask, None, ("C", "A"))
    return RowCounts(*_core.rank_counts(pos, neg, use, threads=threads))


def is_read_directly(scores: AnyArray) -> bool:
    """Whether the loops that count ranks read scores where they are, without a copy."""
    known = scores.dtype == np.float16 or scores.dtype == working_dtype(scores.dtype)
    return known and scores.flags.c_contiguous and scores.flags.aligned


class Levels(NamedTuple):
    """At each distinct positive score, highest first: positives equal to it, negatives greater and equal."""

    values: AnyArray
    positives: Ints
    greater: Ints
    equal: Ints


def levels(pos: AnyArray, neg: AnyArray) -> Levels:
    """The exact counts of negatives (n,) above and beside each distinct value of positives (m,), none of them NaN.

    With few positives no negative is sorted: each is placed among the positives.

    >>> levels(np.array([0.9, 0.5, 0.5]), np.array([0.7, 0.5, 0.1, 0.0]))[1:]
    (array([1, 2]), array([0, 1]), array([0, 1]))
    """
    dtype = working_dtype(pos.dtype, neg.dtype)
    rising, repeats = np.unique(exact(pos, dtype), return_counts=True)
    values, positives = np.ascontiguousarray(rising[::-1]), repeats[::-1]
    threads = threads_for(neg.size)
    if pos.size * _FEW_POSITIVES > neg.size:
        greater, equal = _core.merged_counts(values, np.sort(exact(neg, dtype)), threads)
    else:
        counts = np.zeros((2, len(values)), np.int64)
        for start in range(0, neg.size, _PLACED):  # what has to be converted is converted block by block
            counts += _core.placed_counts(rising, exact(neg[start : start + _PLACED], dtype), threads)[:2]
        greater, equal = counts[:, ::-1]
    return Levels(values + 0, positives, greater, equal)  # −0.0 and 0.0 are one value, and read as the latter


# ---- on a CUDA device, by plain operations of torch; only counts are copied to the host

# Elements compared at once.
_BLOCK = 1 << 23


def device_counts(pos: Any, neg: Any, mask: Any = None) -> RowCounts:
    """As `row_counts`, of tensors: `neg` is on the device, `pos` and `mask` there or on the host."""
    import torch

    pos, use = on_device(pos, neg.device), None if mask is None else on_device(mask, neg.device)
    dtype = _compared_as(pos, neg)
    counts = torch.zeros((5, len(pos)), dtype=torch.int64, device=neg.device)
    for part, columns in _tiles(len(pos), neg.shape[1]):
        reference, block = pos[part, None].to(dtype), neg[part, columns].to(dtype)
        marks = [block > reference, block == reference, block != block, torch.isneginf(block), block == block]
        marks[4] = marks[4] | marks[2]
        for column, mark in zip(counts, marks, strict=True):
            column[part] += (mark if use is None else mark & use[part, columns]).sum(1)
    return RowCounts(*counts.cpu().numpy())


def _tiles(rows: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Parts of a matrix with at most `_BLOCK` elements."""
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, rows, step):
        for first in range(0, width, _BLOCK):
            yield slice(start, start + step), slice(first, first + _BLOCK)


def _compared_as(pos: Any, neg: Any) -> Any:
    """The type in which two tensors compare exactly; integers that do not compare exactly with floats are refused."""
    import torch

    if pos.is_floating_point() == neg.is_floating_point():
        return torch.promote_types(pos.dtype, neg.dtype)
    for scores in (pos, neg):
        if scores.dtype == torch.int64 and scores.numel() and int(scores.abs().max()) > _EXACT_IN_FLOAT64:
            what = f"integers beyond ±2**53, such as {int(scores.abs().max())}, do not compare exactly with floats"
            raise InputError(what, fix="Give all scores in the same type.")
    return torch.float64
