"""Distances between samples, equality of samples, and distances between their statistics and the real ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.kernels.pairs import common_bits, hamming_sums, packed, row_hamming
from graphgauge.old.stats.intervals import is_rounding

Bits = NDArray[np.bool_]

# Counts per block of resamples.
_BLOCK = 1 << 20
# Number of items that can be drawn one by one in the time of one multinomial cell.
_DRAWS_A_CELL = 10


@dataclass(frozen=True)
class Pairs:
    """A distance over all unordered pairs of samples: its mean, its standard deviation, and each sample's mean.

    NaN without pairs. `row_means` is the mean distance of a sample to all others; twice its deviation from the mean is
    the sample's first-order influence on the mean.
    """

    mean: float
    std: float
    row_means: Floats


def pair_distances(bits: Bits, kind: str) -> Floats:
    """All `hamming` distances in bits, or all `jaccard` distances, of few samples."""
    rows = bits.astype(np.float64)
    sizes, common = rows.sum(1), rows @ rows.T
    either = sizes[:, np.newaxis] + sizes - common
    if kind == "hamming":
        return np.asarray(either - common)
    return np.where(either > 0, 1 - common / np.maximum(either, 1), 0.0)


def hamming_pairs(bits: Bits, *, threads: int | None = None) -> Pairs:
    """Hamming distance in bits, from column counts and one Gram matrix; mean and standard deviation are exact.

    >>> hamming_pairs(np.array([[0, 0], [0, 1], [1, 1]], bool)).mean
    1.3333333333333333
    """
    n = len(_matrix(bits))
    if n < 2:
        return Pairs(math.nan, math.nan, np.full(n, np.nan))
    total, squares = hamming_sums(bits, threads=threads)
    pairs = n * (n - 1) // 2
    # In integers up to the last division, so nothing cancels.
    std = math.sqrt((pairs * squares - total**2) / pairs**2)
    return Pairs(total / pairs, std, row_hamming(bits) / (n - 1))


def jaccard_pairs(bits: Bits, *, threads: int | None = None) -> Pairs:
    """Jaccard distance 1 − |a ∩ b| / |a ∪ b|, from a histogram of both sizes; two empty samples are at distance 0.

    >>> jaccard_pairs(np.array([[0, 0], [0, 1], [1, 1]], bool)).mean
    0.8333333333333334
    """
    common = common_bits(_matrix(bits), threads=threads)
    pairs = int(common.pairs.sum())
    if not pairs:
        return Pairs(math.nan, math.nan, np.full(len(common.row_similarity), np.nan))
    distance = np.where(common.union > 0, 1 - common.intersection / np.maximum(common.union, 1), 0.0)
    mean = math.fsum(common.pairs * distance) / pairs
    variance = math.fsum(common.pairs * (distance - mean) ** 2) / pairs
    return Pairs(mean, math.sqrt(variance), 1 - common.row_similarity)


def row_ids(*arrays: Bits) -> tuple[Ints, ...]:
    """Ids that are equal if and only if rows are, over all arrays together.

    >>> row_ids(np.array([[1, 0], [0, 1]], bool), np.array([[0, 1]], bool))
    (array([0, 1]), array([1]))
    """
    widths = {_matrix(bits).shape[1] for bits in arrays}
    if len(widths) > 1:
        raise InputError(f"samples of {' and '.join(map(str, sorted(widths)))} bits cannot be equal", where="samples")
    words = np.concatenate([packed(bits) for bits in arrays])
    if not words.size:
        ids = np.zeros(len(words), np.int64)  # rows without bits are all equal
    else:
        rows = words.view(np.dtype((np.void, words.shape[1] * words.itemsize))).ravel()
        ids = np.unique(rows, return_inverse=True)[1]
    return tuple(np.split(ids, np.cumsum([len(bits) for bits in arrays])[:-1]))


def unique_at(ids: NDArray[Any], k: int) -> float:
    """Expected share of distinct ids among k drawn without replacement; NaN if there are fewer than k.

    An id that occurs m times among n is missed with probability ∏ (n − k − i)/(n − i) over i < m.

    >>> unique_at(np.array([7, 7, 8]), 2)
    0.8333333333333334
    """
    n = len(ids)
    if not 1 <= k <= n:
        return math.nan
    multiplicity = np.unique(ids, return_counts=True)[1]
    drawn = np.arange(multiplicity.max())
    missed = np.cumprod(np.maximum(n - k - drawn, 0) / (n - drawn))
    return min(math.fsum(1 - missed[multiplicity - 1]) / k, 1.0)  # never above 1 by rounding


class NullDraws(NamedTuple):
    """The Wasserstein distances between two draws from one sample, and their scales.

    The scale is the standard deviation of the second draw, or of both together if the second is constant. Both are
    (draws, conditions, statistics).
    """

    distances: Floats
    scales: Floats


def rounded_off(spreads: Floats, means: Floats) -> Floats:
    """Spreads, with 0 for those that are only rounding errors of numbers with these means."""
    return np.where(is_rounding(spreads, means), 0.0, spreads)


def null_distances(
    sample: Floats,
    codes: Ints,
    first: Ints,
    second: Ints,
    *,
    draws: int,
    generator: np.random.Generator,
    further: tuple[Floats, Ints] | None = None,
) -> NullDraws:
    """The distances between two draws from one sample.

    The draws have `first` and `second` rows in each condition: the numbers of generated and of real samples. A row is
    drawn with all its statistics, so that means over statistics and conditions have the right null distribution.
    `further` rows with their conditions are drawn for the first only.
    """
    nulls = NullDraws(*np.full((2, draws, len(first), sample.shape[1]), np.nan))
    for code, (n, m) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        rows = sample[codes == code]
        more = rows[:0] if further is None else further[0][further[1] == code]
        if len(rows) and n and m:
            nulls.distances[:, code], nulls.scales[:, code] = _drawn(rows, more, n, m, draws, generator)
    return nulls


def _drawn(
    rows: Floats, more: Floats, n: int, m: int, draws: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Distances (draws, statistics) between n of all rows and m of the first, with replacement, and their scales."""
    distinct, place = np.unique(np.concatenate([rows, more]), axis=0, return_inverse=True)
    place = place.ravel()
    order = np.argsort(distinct, axis=0)
    gaps = np.diff(np.take_along_axis(distinct, order, axis=0), axis=0)
    distances, scales = np.empty((2, draws, rows.shape[1]))
    step = max(1, _BLOCK // max(len(distinct), n, m))
    for start in range(0, draws, step):
        block = slice(start, min(start + step, draws))
        first, second = (
            _resampled(cells, size, len(distinct), block.stop - start, generator).astype(np.float64)
            for cells, size in ((place, n), (place[: len(rows)], m))
        )
        mass = first * m - second * n  # integers, in units of 1/(n·m)
        pooled = (first + second) / (n + m)
        second /= m
        for column, values in enumerate(distinct.T):
            excess = np.cumsum(mass[:, order[:-1, column]], axis=1)
            distances[block, column] = np.abs(excess, out=excess) @ gaps[:, column] / (n * m)
            spreads = _weighted_spreads(values, second)
            flat = spreads == 0
            spreads[flat] = _weighted_spreads(values, pooled[flat])
            scales[block, column] = spreads
    return distances, scales


def _weighted_spreads(values: Floats, weights: Floats) -> Floats:
    """Standard deviation of the values with each row of weights."""
    means = weights @ values
    away = values - means[:, np.newaxis]
    return rounded_off(np.sqrt(np.einsum("ij,ij,ij->i", weights, away, away)), means)


def _resampled(cells: Ints, size: int, count: int, draws: int, generator: np.random.Generator) -> Ints:
    """Counts (draws, count) of `size` items drawn with replacement from the items in `cells`."""
    if size > _DRAWS_A_CELL * count:
        return generator.multinomial(size, np.bincount(cells, minlength=count) / len(cells), draws)
    picked = cells[generator.integers(0, len(cells), (draws, size))]
    picked += np.arange(draws)[:, np.newaxis] * count
    return np.bincount(picked.ravel(), minlength=draws * count).reshape(draws, count)


def _matrix(bits: Bits) -> Bits:
    if bits.ndim != 2 or bits.dtype != np.bool_:
        raise InputError(f"expected rows of bits, found shape {bits.shape} of type {bits.dtype}", where="samples")
    return bits
