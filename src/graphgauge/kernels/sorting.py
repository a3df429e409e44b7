"""Scores in ascending order, NaN last: a radix sort, and NumPy's as its twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.dtypes import Scores
from graphgauge.kernels.jit import kernel

Bits = np.unsignedinteger[Any]

# The cost of NumPy's sort, in units of work.
_OPERATIONS_PER_SCORE = 2


def ascending(scores: Scores, *, work: int | None = None) -> Scores:
    """A sorted copy of contiguous `scores` in a working dtype, NaN last; a second copy exists while it runs.

    `work` is the total number of scores to be sorted, if these are a part.

    >>> ascending(np.array([0.5, np.nan, -np.inf, 0.25]))
    array([-inf, 0.25, 0.5 ,  nan])
    """
    unsigned: type[Bits] = np.uint32 if scores.dtype.itemsize == 4 else np.uint64
    ones = int(np.iinfo(unsigned).max)
    magnitude, sign = ones // 2, ones // 2 + 1
    match scores.dtype.kind:
        case "f":
            below, above, largest = ones, sign, int(np.array(np.inf, scores.dtype).view(unsigned))
        case "i":
            below, above, largest = sign, sign, ones
        case _:
            below, above, largest = 0, 0, ones
    sort = _radix_sort.implementation(_OPERATIONS_PER_SCORE * (work or scores.size))
    return sort(scores, scores.view(unsigned), unsigned(magnitude), unsigned(below), unsigned(above), unsigned(largest))


def _numpy_sort(
    scores: Scores, bits: NDArray[Bits], magnitude: Bits, below: Bits, above: Bits, largest: Bits
) -> Scores:
    return np.sort(scores)


@kernel(twin=_numpy_sort)
def _radix_sort(
    scores: Scores, bits: NDArray[Bits], magnitude: Bits, below: Bits, above: Bits, largest: Bits
) -> Scores:
    """Flip the bits `below` zero and `above` so that unsigned keys have the order of the scores, then sort by bytes.

    `magnitude` is every bit but the sign; a magnitude beyond the `largest` is NaN.
    """
    keys, spare = np.empty_like(bits), np.empty_like(bits)
    byte = np.uint64(255)
    tables = np.zeros((keys.itemsize, 256), np.int64)
    for index in range(bits.size):
        word = bits[index]
        if word & magnitude > largest:
            word = magnitude
        key = word ^ below if word > magnitude else word ^ above
        keys[index] = key
        for digit in range(keys.itemsize):
            tables[digit, (np.uint64(key) >> np.uint64(8 * digit)) & byte] += 1
    for digit in range(keys.itemsize):
        table = tables[digit]
        if table.max() == keys.size:
            continue
        start = 0
        for value in range(256):
            table[value], start = start, start + table[value]
        shift = np.uint64(8 * digit)
        for index in range(keys.size):
            key = keys[index]
            place = (np.uint64(key) >> shift) & byte
            spare[table[place]] = key
            table[place] += 1
        keys, spare = spare, keys
    for index in range(keys.size):
        key = keys[index]
        keys[index] = key ^ above if key > magnitude else key ^ below
    return keys.view(scores.dtype)
