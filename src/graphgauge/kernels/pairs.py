"""All pairs of rows of a bit matrix: moments of their Hamming distance, and a histogram of common bits.

Hamming distances need no loop over pairs of rows. With S = 1 − 2x, c the column counts and G = SᵀS, over ordered pairs
ΣH = 2Σc(n − c) and ΣH² = (D²n² − 2D‖Sᵀ1‖² + ‖G‖²)/4, all integers; and ‖SᵀS‖ = ‖SSᵀ‖, so pairs of the shorter side of
the matrix are compared, as 64-bit words.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints
from graphgauge.kernels.jit import expect, kernel
from graphgauge.kernels.threads import even_blocks, map_blocks, sum_blocks

Bits = NDArray[np.bool_]
Words = NDArray[np.uint64]

_WORD = np.uint64
# The cost of a pair of words for a twin, in units of work.
_WORD_WORK = 8
# Words in a block of pairs: enough to make passing it to a thread cheap.
_BLOCK_WORDS = 1 << 24
# Bits that a NumPy pass converts to floats at a time.
_CACHED_BITS = 1 << 18
# Similarities are summed as integers with this many fractional bits, so sums do not depend on the order.
_FRACTION = 40
# Rows that one row is compared with at a time.
_LINE = 256
# Cells of the histogram of one pair of bands of rows.
_MOST_CELLS = 1 << 22


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
    sizes = np.count_nonzero(bits, axis=1)
    order = np.argsort(sizes, kind="stable")
    words, sizes = packed(bits)[order], sizes[order]
    expect(_WORD_WORK * n * n * words.shape[1] // 2)
    parts, similar = [], np.zeros(n, np.int64)
    bands = _bands(sizes)
    for place, upper in enumerate(bands):
        for lower in bands[place:]:
            cells, sums = _band_pairs(words, sizes, upper, lower, threads)
            parts.append(cells)
            similar += sums
    mean = np.full(n, np.nan)
    if n > 1:
        mean[order] = np.ldexp(similar.astype(np.float64), -_FRACTION) / (n - 1)
    intersection, union, pairs = np.concatenate([np.empty((3, 0), np.int64), *parts], axis=1)
    return Common(intersection, union, pairs, mean)


def _packed_columns(bits: Bits) -> Words:
    """The columns of a bit matrix as rows of words."""
    rows, width = bits.shape
    columns = np.zeros((-(-width // 8), 8, -(-rows // 64) * 8), np.uint8)
    # Eight columns are a byte of a packed row: transposing bytes and unpacking them moves eight times less data.
    turned = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little").T)
    for bit in range(8):
        columns[:, bit, : -(-rows // 8)] = np.packbits(turned & np.uint8(1 << bit), axis=1, bitorder="little")
    return columns.reshape(8 * len(columns), columns.shape[2])[:width].view(np.uint64)


def _product_squares(words: Words, length: int, threads: int | None) -> int:
    """Σ over unordered pairs of rows of (their ±1 vectors' product)², rows of `length` bits each."""
    rows = len(words)
    if length**2 * rows > np.iinfo(np.int64).max:
        raise ValueError(f"{rows} vectors of {length} bits are too many to be compared in 64-bit integers")
    work = rows * words.size // 2
    count = _squares.implementation(_WORD_WORK * work)

    def squares(block: slice) -> int:
        sums = np.zeros(block.stop - block.start, np.int64)
        count(words, length, block.start, sums)
        return sum(sums.tolist())

    return sum(map_blocks(squares, _row_blocks(rows, work), threads=threads))


def _row_blocks(rows: int, work: int) -> list[slice]:
    """The first rows have more partners than the last ones; more blocks than threads balance that."""
    return even_blocks(rows, 8 * -(-work // _BLOCK_WORDS) if work > _BLOCK_WORDS else 1)


def _squares_twin(words: Words, length: int, first: int, sums: Ints) -> None:
    rows = np.arange(first, first + sums.size)
    # Below 2**24 products of ±1 vectors are exact in single precision.
    dtype = np.float32 if length < 1 << 24 else np.float64
    own = _signs(words[first : first + sums.size], length, dtype)
    step = max(1, _CACHED_BITS // max(length, 1))
    for start in range(first, len(words), step):
        products = (own @ _signs(words[start : start + step], length, dtype).T).astype(np.int64)
        later = np.arange(start, start + products.shape[1]) > rows[:, np.newaxis]
        sums += (products**2 * later).sum(axis=1)


@kernel(twin=_squares_twin)
def _squares(words: Words, length: int, first: int, sums: Ints) -> None:
    """Add (length − 2·differing bits)² over the pairs of each row from `first` on with all later rows."""
    for place in range(sums.size):
        row = first + place
        total = np.int64(0)
        for other in range(row + 1, words.shape[0]):
            differing = np.int64(0)
            for index in range(words.shape[1]):
                word = words[row, index] ^ words[other, index]
                # The bits of a word, counted in parallel: the compiler knows the pattern.
                word -= word >> _WORD(1) & _WORD(0x5555555555555555)
                word = (word & _WORD(0x3333333333333333)) + (word >> _WORD(2) & _WORD(0x3333333333333333))
                word = word + (word >> _WORD(4)) & _WORD(0x0F0F0F0F0F0F0F0F)
                differing += np.int64(word * _WORD(0x0101010101010101) >> _WORD(56))
            total += (length - 2 * differing) ** 2
        sums[place] = total


def _bands(sizes: Ints) -> list[slice]:
    """Rows in order of their size, cut so that the histogram of any two bands stays small."""
    if not sizes.size:
        return []
    span = max(1, _MOST_CELLS // (2 * (int(sizes[-1]) + 1)))
    band = (sizes - sizes[0]) // span
    edges = [0, *(np.flatnonzero(np.diff(band)) + 1).tolist(), sizes.size]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _band_pairs(words: Words, sizes: Ints, upper: slice, lower: slice, threads: int | None) -> tuple[Ints, Ints]:
    """The histogram (intersection, union, pairs) of two bands of rows or of one, and the similarities row by row."""
    least = int(sizes[upper.start] + sizes[lower.start])
    most = int(sizes[upper.stop - 1] + sizes[lower.stop - 1])
    columns = int(sizes[upper.stop - 1]) + 1  # the upper band has the smaller rows
    both, intersection = np.divmod(np.arange((most - least + 1) * columns), columns)
    union = both + least - intersection
    known = union > 0
    fixed = np.where(known, 0, 1 << _FRACTION)
    possible = known & (intersection <= union)
    fixed[possible] = np.rint(np.ldexp(intersection[possible] / union[possible], _FRACTION)).astype(np.int64)
    within = upper == lower
    work = (upper.stop - upper.start) * (lower.stop - lower.start) * words.shape[1] // (2 if within else 1)
    count = _intersections.implementation(_WORD_WORK * work)

    def add(block: slice, table: Any) -> None:
        first, last = upper.start + block.start, upper.start + block.stop
        count(words, sizes, first, last, lower.start, lower.stop, least, columns, fixed, table)

    table, _ = sum_blocks(add, _row_blocks(upper.stop - upper.start, work), fixed.size + len(words), threads=threads)
    met = np.flatnonzero(table[: fixed.size])
    return np.array([intersection[met], union[met], table[met]]), table[fixed.size :]


def _intersections_twin(
    words: Words,
    sizes: Ints,
    first: int,
    last: int,
    start: int,
    stop: int,
    least: int,
    columns: int,
    fixed: Ints,
    table: Ints,
) -> None:
    width = 64 * words.shape[1]
    step = max(1, _CACHED_BITS // max(width, 1))
    similar = table[fixed.size :]
    for top in range(first, last, step):
        rows = slice(top, min(top + step, last))
        own = _floats(words[rows], width)
        for left in range(start, stop, step):
            others = slice(left, min(left + step, stop))
            intersection = (own @ _floats(words[others], width).T).astype(np.int64)
            cells = (sizes[rows, np.newaxis] + sizes[others] - least) * columns + intersection
            pairs = np.arange(others.start, others.stop) > np.arange(rows.start, rows.stop)[:, np.newaxis]
            table[: fixed.size] += np.bincount(cells[pairs], minlength=fixed.size)
            values = fixed[np.where(pairs, cells, 0)] * pairs
            similar[rows] += values.sum(axis=1)
            similar[others] += values.sum(axis=0)


@kernel(twin=_intersections_twin)
def _intersections(
    words: Words,
    sizes: Ints,
    first: int,
    last: int,
    start: int,
    stop: int,
    least: int,
    columns: int,
    fixed: Ints,
    table: Ints,
) -> None:
    """Count the pairs of rows `first` … `last` with later ones of `start` … `stop`: cell (size − least, intersection).

    After the cells come the sums of the similarities, `fixed` by cell, one per row.
    """
    cells = fixed.size
    found = np.empty(_LINE, np.int64)
    for row in range(first, last):
        similar = 0
        offset = sizes[row] - least
        for left in range(max(start, row + 1), stop, _LINE):
            length = min(_LINE, stop - left)
            # Two loops, because the scattered additions would prevent overlapped bit counting.
            for place in range(length):
                intersection = np.int64(0)
                for index in range(words.shape[1]):
                    word = words[row, index] & words[left + place, index]
                    word -= word >> _WORD(1) & _WORD(0x5555555555555555)
                    word = (word & _WORD(0x3333333333333333)) + (word >> _WORD(2) & _WORD(0x3333333333333333))
                    word = word + (word >> _WORD(4)) & _WORD(0x0F0F0F0F0F0F0F0F)
                    intersection += np.int64(word * _WORD(0x0101010101010101) >> _WORD(56))
                found[place] = (offset + sizes[left + place]) * columns + intersection
            for place in range(length):
                table[found[place]] += 1
            for place in range(length):
                value = fixed[found[place]]
                similar += value
                table[cells + left + place] += value
        table[cells + row] += similar


def _floats(words: Words, width: int, dtype: Any = np.float32) -> NDArray[Any]:
    return np.unpackbits(words.view(np.uint8), axis=1, count=width, bitorder="little").astype(dtype)


def _signs(words: Words, width: int, dtype: Any) -> NDArray[Any]:
    return 1 - 2 * _floats(words, width, dtype)
