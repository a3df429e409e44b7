"""One 64-bit hash of each row of a matrix of scores, from the bits that they have as float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.jit import kernel
from graphgauge.kernels.threads import map_blocks, row_blocks

Hashes = NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF, _MIXING = np.uint64(32), np.uint64(29)
# Rows whose bits the twin has in memory at once.
_ROWS = 1 << 12


def mixed(words: Hashes) -> Hashes:
    """Words whose bits all depend on each other: those of short floats are spread over the whole word."""
    words = words ^ (words >> _HALF)
    words = words * _ODD
    result: Hashes = words ^ (words >> _MIXING)
    return result


def bits_of(values: NDArray[Any]) -> Hashes:
    """The mixed bits of scores as float64."""
    return mixed(np.ascontiguousarray(values, np.float64).view(np.uint64))


def place_weights(places: NDArray[np.int64]) -> Hashes:
    """An odd factor for each place in a row, counted from 1: the same scores in another order have another hash."""
    return mixed(places.astype(np.uint64) * _ODD) | np.uint64(1)


def row_sums(matrix: NDArray[Any], *, threads: int | None = None) -> Hashes:
    """The mixed bits of each row's scores, times the factors of their places, added up.

    >>> one, other = row_sums(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> bool(one == other)
    False
    """
    rows, columns = matrix.shape
    found = np.zeros(rows, np.uint64)
    weights = place_weights(np.arange(1, columns + 1))
    # numba knows neither half precision nor numbers of other machines.
    known = matrix.dtype.isnative and matrix.dtype.char not in "eg"
    add = _add.implementation(matrix.size) if known else _add.twin

    def of(block: slice) -> None:
        add(matrix[block], weights, found[block])

    map_blocks(of, row_blocks(rows, matrix.size), threads=threads)
    return found


def _add_twin(matrix: NDArray[Any], weights: Hashes, found: Hashes) -> None:
    for start in range(0, len(matrix), _ROWS):
        rows = slice(start, start + _ROWS)
        found[rows] = (bits_of(matrix[rows]) * weights).sum(axis=1, dtype=np.uint64)


@kernel(twin=_add_twin)
def _add(matrix: NDArray[Any], weights: Hashes, found: Hashes) -> None:
    columns = matrix.shape[1]
    row = np.empty(columns, np.float64)
    bits = row.view(np.uint64)
    for place in range(matrix.shape[0]):
        for column in range(columns):
            row[column] = matrix[place, column]
        total = np.uint64(0)
        for column in range(columns):
            # As `mixed`.
            word = bits[column] ^ (bits[column] >> np.uint64(32))
            word = word * np.uint64(0x9E3779B97F4A7C15)
            total += (word ^ (word >> np.uint64(29))) * weights[column]
        found[place] = total
