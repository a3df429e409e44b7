"""The Wasserstein-1 distance of many statistics in many conditions at once, and between two draws from one sample.

It is the area between two distribution functions, added up as |F − G| in units of 1/(n·m).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.stats.errors import is_rounding

# Counts per block of draws.
_BLOCK = 1 << 20
# Number of items that can be drawn one by one in the time of one multinomial cell.
_DRAWS_A_CELL = 10


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


def moments(values: Floats, codes: Ints, conditions: int) -> tuple[Floats, Floats, Ints]:
    """Mean and standard deviation (ddof 0) of each column in each condition, and the row counts; NaN without rows."""
    counts = np.bincount(codes, minlength=conditions)
    exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0))[1]
    values = np.ldexp(np.asarray(values, np.float64), -exponent)  # squares stay in range
    sums, squares = (np.zeros((conditions, values.shape[1])) for _ in range(2))
    np.add.at(sums, codes, values)
    with np.errstate(invalid="ignore"):
        mean = sums / counts[:, np.newaxis]
        np.add.at(squares, codes, (values - mean[codes]) ** 2)
        std = np.sqrt(squares / counts[:, np.newaxis])
    return np.ldexp(mean, exponent), np.ldexp(std, exponent), counts


def rounded_off(spreads: Floats, means: Floats) -> Floats:
    """Spreads, with 0 for those that are only rounding errors of numbers with these means."""
    return np.where(is_rounding(spreads, means), 0.0, spreads)


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
