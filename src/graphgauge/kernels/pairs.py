"""All pairs of rows of a bit matrix: moments of their Hamming distance, and a histogram of common bits.

Hamming distances need no loop over pairs of rows. With S = 1 − 2x, c the column counts and G = SᵀS, over ordered pairs
ΣH = 2Σc(n − c) and ΣH² = (D²n² − 2D‖Sᵀ1‖² + ‖G‖²)/4, all integers; and ‖SᵀS‖ = ‖SSᵀ‖, so pairs of the shorter side of
the matrix are compared, as 64-bit words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.types import Ints
from graphgauge.kernels.threads import even_blocks, threads_of

Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]

# Bits that a NumPy pass converts to floats at a time.
_CACHED_BITS = 1 << 18
# Similarities are summed as integers with this many fractional bits, so sums do not depend on the order.
FRACTION = 40


class Common(NamedTuple):
    """The pairs of rows by common bits, and each row's mean Jaccard similarity to the others.

    `pairs` unordered pairs have `intersection` bits in both rows and `union` bits in either; a pair of empty rows has
    0 in both and counts as alike.
    """

    intersection: Ints
    union: Ints
    pairs: Ints
    row_similarity: NDArray[np.float64]


def packed(bits: Bits) -> Words:
    """Rows of bits as rows of 64-bit words, the last one padded with zeros."""
    rows, width = bits.shape
    packed_bytes = np.zeros((rows, -(-width // 64) * 8), np.uint8)
    packed_bytes[:, : -(-width // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return packed_bytes.view(np.uint64)


def hamming_sums(bits: Bits, *, threads: int | None = None) -> tuple[int, int]:
    """Sum of the Hamming distance and of its square over unordered pairs of rows, exactly.

    >>> hamming_sums(np.array([[0, 0], [0, 1], [1, 1]], bool))
    (4, 6)
    """
    n, width = bits.shape
    ones = np.count_nonzero(bits, axis=0)
    total = sum((ones * (n - ones)).tolist())
    columns = sum(((n - 2 * ones) ** 2).tolist())  # ‖Sᵀ1‖²
    if n < width:
        side, length = packed(bits), width
    else:
        side, length = _packed_columns(bits), n
    gram = len(side) * length**2 + 2 * _product_squares(side, length, threads)
    return total, ((width * n) ** 2 - 2 * width * columns + gram) // 8


def row_hamming(bits: Bits) -> Ints:
    """For each row the sum of its Hamming distances to all rows, in one pass over the bits."""
    n = len(bits)
    ones = np.count_nonzero(bits, axis=0)
    weights = (n - 2 * ones).astype(np.float64)  # integers, and so are their sums
    sums = np.empty(n, np.int64)
    for block in even_blocks(n, -(-bits.size // _CACHED_BITS)):
        sums[block] = bits[block].astype(np.float64) @ weights
    return sums + int(ones.sum())


def common_bits(bits: Bits, *, threads: int | None = None) -> Common:
    """Intersection and union of all pairs of rows; memory grows with the rows, not with the pairs."""
    n = len(bits)
    intersection, union, pairs, similar = _core.common_bits(packed(bits), threads=threads_of(threads))
    mean = np.ldexp(similar.astype(np.float64), -FRACTION) / (n - 1) if n > 1 else np.full(n, np.nan)
    return Common(intersection, union, pairs, mean)


def _packed_columns(bits: Bits) -> Words:
    """The columns of a bit matrix as rows of words."""
    rows, width = bits.shape
    columns = np.zeros((-(-width // 8), 8, -(-rows // 64) * 8), np.uint8)
    # Eight columns are a byte of a packed row: transposing bytes and unpacking them moves eight times less data.
    turned = np.require(np.packbits(bits, axis=1, bitorder="little").T, None, ("C", "A"))
    for bit in range(8):
        columns[:, bit, : -(-rows // 8)] = np.packbits(turned & np.uint8(1 << bit), axis=1, bitorder="little")
    return columns.reshape(8 * len(columns), columns.shape[2])[:width].view(np.uint64)


def _product_squares(words: Words, length: int, threads: int | None) -> int:
    """Σ over unordered pairs of rows of (their ±1 vectors' product)², rows of `length` bits each."""
    require_countable(len(words), length)
    return sum(_core.squared_products(words, length, threads=threads_of(threads)).tolist())


def require_countable(rows: int, length: int) -> None:
    """Refuse rows of so many bits that the sum of their squared products may exceed 64 bits."""
    if length**2 * rows > np.iinfo(np.int64).max:
        raise ValueError(f"{rows} vectors of {length} bits are too many to be compared in 64-bit integers")
