"""All distances: Euclidean ones of points and silhouettes, Hamming and Jaccard of bits, Wasserstein of statistics.

Euclidean distances are from the differences of coordinates: ‖x‖² + ‖y‖² − 2x·y loses all digits if points are close to
each other. That product is exact, and many times as fast, for small integers such as bits, and is used for those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.stats.errors import is_rounding

Words = NDArray[np.uint64]

# Points per side of a tile of distances that stays in the cache.
_TILE = 128
# Integers up to this are exact in single precision.
_EXACT = 2.0**24
# Sums of distances that are in memory at the same time, and bits that are converted to floats at a time.
_MOST_SUMS, _MOST_FLOATS = 1 << 23, 1 << 18
# The core adds up similarities as integers with this many fractional bits, so that sums do not depend on the order.
_FRACTION = 40
# Counts per block of draws.
_BLOCK = 1 << 20
# Items that can be drawn one by one in the time of one multinomial cell.
_DRAWS_A_CELL = 10


def tiles(start: int, stop: int, size: int = _TILE) -> list[slice]:
    """A range of points in parts of at most `size`."""
    return [slice(first, min(first + size, stop)) for first in range(start, stop, size)]


# ---------------------------------------------------------------------------------------------------- points


class Points(NamedTuple):
    """Points (n, D), in a unit that is a power of 2 and keeps squares in range.

    `integers` are the points as they are, and `lengths` their squared lengths, if both and all products are exact in
    single precision.
    """

    rows: Floats
    unit: float
    integers: NDArray[np.float32] | None = None
    lengths: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, points: AnyArray) -> Points:
        """Finite points of any type; the original is not changed."""
        points = np.asarray(points, np.float64)
        largest = float(np.abs(points).max(initial=0.0))
        if points.ndim != 2 or not math.isfinite(largest):
            raise InputError(f"expected rows of finite numbers, found shape {points.shape} up to {largest}")
        integers = lengths = None
        small = largest < _EXACT and 0 < points.shape[1] * (2 * largest) ** 2 < _EXACT
        if small and bool((points == np.rint(points)).all()):
            integers = points.astype(np.float32)
            lengths = np.einsum("ij,ij->i", integers, integers)
        exponent = int(np.frexp(largest)[1])
        rows = np.require(np.ldexp(points, -exponent), None, ("C", "A"))
        return cls(rows, float(np.ldexp(1.0, exponent)), integers, lengths)

    def squared(self, rows: slice, columns: slice) -> Floats:
        """Squared distances between two ranges of points, in squared units."""
        if self.integers is not None and self.lengths is not None:
            tile = self.integers[rows] @ self.integers[columns].T
            tile *= -2
            tile += self.lengths[rows, np.newaxis]
            tile += self.lengths[columns]
            return tile.astype(np.float64) / self.unit**2
        return np.asarray(_core.squared_distances(self.rows[rows], self.rows[columns]))


def squared_distances(first: AnyArray, second: AnyArray) -> Floats:
    """All squared Euclidean distances (n, m) between few points."""
    cloud, n = Points.of(np.concatenate([first, second])), len(first)
    parts = [cloud.squared(rows, slice(n, n + len(second))) for rows in tiles(0, n)]
    return np.concatenate(parts) * cloud.unit**2 if parts else np.empty((0, len(second)))


def silhouettes(points: AnyArray, labels: AnyArray) -> Floats:
    """(b − a) / max(a, b) of each of n points (n, D), Rousseeuw 1987.

    a is the mean Euclidean distance to the other points of its cluster, b that to the points of the nearest other
    cluster. 0 for the only point of a cluster and where a = b = 0, NaN with one cluster.

    >>> silhouettes(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]))
    array([0.8 , 0.75, 0.  ])
    """
    _, cluster, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.full(len(cluster), np.nan)
    order = np.argsort(cluster, kind="stable")  # it is quicker if points of one cluster are adjacent
    rows, cluster = Points.of(np.asarray(points)[order]).rows, cluster[order]
    threads, found = threads_for(rows.size * len(rows)), np.empty(len(order))
    for part in tiles(0, len(rows), max(1, _MOST_SUMS // len(counts))):
        sums = _core.group_distances(rows[part], rows, cluster, len(counts), threads=threads)
        found[order[part]] = _silhouettes(sums, cluster[part], counts)
    return found


def _silhouettes(sums: Floats, cluster: Ints, counts: Ints) -> Floats:
    """From each point's sum of distances to each cluster."""
    own = (np.arange(len(cluster)), cluster)
    inside = sums[own] / np.maximum(counts[cluster] - 1, 1)
    means = sums / counts
    means[own] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    value = np.divide(outside - inside, larger, out=np.zeros(len(cluster)), where=larger > 0)
    return np.where(counts[cluster] > 1, value, 0.0)


# ------------------------------------------------------------------------------------------------------ bits


@dataclass(frozen=True)
class Pairs:
    """A distance over all unordered pairs of samples: its mean, its standard deviation, and each sample's mean.

    NaN without pairs. `row_means` is the mean distance of a sample to all others; twice its deviation from the mean is
    the sample's first-order influence on the mean.
    """

    mean: float
    std: float
    row_means: Floats


def packed(bits: Mask) -> Words:
    """Rows of bits (n, D) as rows of 64-bit words, the last one padded with zeros."""
    rows, width = bits.shape
    packed_bytes = np.zeros((rows, -(-width // 64) * 8), np.uint8)
    packed_bytes[:, : -(-width // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return packed_bytes.view(np.uint64)


def hamming_pairs(bits: Mask) -> Pairs:
    """Hamming distance in bits over all pairs of rows (n, D); mean and standard deviation are exact.

    No loop over pairs of rows is needed. With S = 1 − 2x, c the column counts and G = SᵀS, over ordered pairs
    ΣH = 2Σc(n − c) and ΣH² = (D²n² − 2D‖Sᵀ1‖² + ‖G‖²)/4, all integers; and ‖SᵀS‖ = ‖SSᵀ‖, so that products of the
    shorter side of the matrix are enough.

    >>> hamming_pairs(np.array([[0, 0], [0, 1], [1, 1]], bool)).mean
    1.3333333333333333
    """
    n, width = bits.shape
    if n < 2:
        return Pairs(math.nan, math.nan, np.full(n, np.nan))
    ones = np.count_nonzero(bits, axis=0)
    away = n - 2 * ones
    words, length = (packed(bits), width) if n < width else (packed(np.ascontiguousarray(bits.T)), n)
    both, either, times, _ = _core.common_bits(words, threads=threads_for(len(words) * words.size))
    products = zip(times.tolist(), (length - 2 * (either - both)).tolist(), strict=True)
    gram = len(words) * length**2 + 2 * sum(count * product**2 for count, product in products)
    total, pairs = sum((ones * (n - ones)).tolist()), n * (n - 1) // 2
    squares = ((width * n) ** 2 - 2 * width * sum((away**2).tolist()) + gram) // 8
    # In integers up to the last division, so that nothing cancels.
    std = math.sqrt((pairs * squares - total**2) / pairs**2)
    parts = tiles(0, n, max(1, _MOST_FLOATS // max(width, 1)))
    sums = np.concatenate([bits[part] @ away.astype(np.float64) for part in parts])  # of integers, and exact
    return Pairs(total / pairs, std, (sums + int(ones.sum())) / (n - 1))


def jaccard_pairs(bits: Mask) -> Pairs:
    """Jaccard distance 1 − |a ∩ b| / |a ∪ b| over all pairs of rows (n, D); two empty samples are at distance 0.

    >>> jaccard_pairs(np.array([[0, 0], [0, 1], [1, 1]], bool)).mean
    0.8333333333333334
    """
    n, words = len(bits), packed(bits)
    if n < 2:
        return Pairs(math.nan, math.nan, np.full(n, np.nan))
    both, either, pairs, similar = _core.common_bits(words, threads=threads_for(n * words.size))
    distance = np.where(either > 0, 1 - both / np.maximum(either, 1), 0.0)
    count = n * (n - 1) // 2
    mean = math.fsum(pairs * distance) / count
    variance = math.fsum(pairs * (distance - mean) ** 2) / count
    return Pairs(mean, math.sqrt(variance), 1 - np.ldexp(similar.astype(np.float64), -_FRACTION) / (n - 1))


def jaccard_distances(first: Any, second: Any) -> Floats:
    """All Jaccard distances (n, m) between the rows of two small matrices of bits."""
    rows, others = (np.asarray(side, np.float32) for side in (first, second))
    common = (rows @ others.T).astype(np.float64)
    either = rows.sum(1, dtype=np.float64)[:, np.newaxis] + others.sum(1, dtype=np.float64) - common
    return np.asarray(1 - np.divide(common, either, out=np.ones_like(common), where=either > 0))


# ------------------------------------------------------------------------------------------------- Wasserstein


def wasserstein(real: Floats, generated: Floats, real_codes: Ints, codes: Ints, conditions: int) -> Floats:
    """Distances (conditions, statistics) between the columns of `real` (n, S) and `generated` (m, S).

    Codes from 0 up are the condition of each row. NaN if either side of a condition has no row.

    >>> wasserstein(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]), np.zeros(2, int), np.zeros(2, int), 1)
    array([[1.5]])
    """
    owner = np.concatenate([real_codes, codes]).astype(np.int64)
    n, m = (np.bincount(each, minlength=conditions) for each in (real_codes, codes))
    areas = np.zeros((conditions, real.shape[1]))
    for column, values in enumerate(np.concatenate([real, generated]).astype(np.float64).T):
        order = np.lexsort((values, owner))
        own, ordered = owner[order], values[order]
        # After its last row the excess of a condition is 0 again, and the next one begins.
        excess = np.cumsum(np.where(order < len(real), -m[own], n[own]))
        areas[:, column] = np.bincount(own[:-1], np.abs(excess[:-1]) * np.diff(ordered), conditions)
    with np.errstate(invalid="ignore"):
        return np.asarray(areas / np.where(n * m > 0, n * m, np.nan)[:, np.newaxis])


def spreads(values: Floats, codes: Ints, conditions: int) -> Floats:
    """Standard deviation (ddof 0) of each column in each condition; 0 if it is only rounding, NaN without rows."""
    exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0))[1]
    values = np.ldexp(np.asarray(values, np.float64), -exponent)  # squares stay in range
    found = np.full((conditions, values.shape[1]), np.nan)
    for code in np.unique(codes):
        own = values[codes == code]
        found[code] = rounded_off(own.std(axis=0), own.mean(axis=0))
    return np.asarray(np.ldexp(found, exponent))


def rounded_off(spread: Floats, means: Floats) -> Floats:
    """Spreads, with 0 for those that are only rounding errors of numbers with these means."""
    return np.where(is_rounding(spread, means), 0.0, spread)


class NullDraws(NamedTuple):
    """The distances between two draws from one sample, and their scales, both (draws, conditions, statistics).

    The scale is the standard deviation of the second draw, or of both together if the second is constant.
    """

    distances: Floats
    scales: Floats


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
