"""Wasserstein-1 distance of many statistics in many conditions at once.

The area between two distribution functions. Statistics that are whole numbers in a small range are counted into one
table; others are sorted. Both add up the same integers: |F − G| in units of 1/(n·m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Floats, Ints

# Cells of a table of counts for each value that goes into it, up to which counting is faster than sorting.
_CELLS_A_VALUE = 4


def wasserstein(real: Floats, generated: Floats, real_codes: Ints, codes: Ints, conditions: int) -> Floats:
    """Distances (conditions, statistics) between the columns of `real` (n, S) and `generated` (m, S).

    Codes from 0 up are the condition of each row. NaN if either side of a condition has no row.

    >>> wasserstein(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]), np.zeros(2, int), np.zeros(2, int), 1)
    array([[1.5]])
    """
    sides = [np.require(values, np.float64, ("C", "A")) for values in (real, generated)]
    owners = [np.require(owner, np.int64, ("C", "A")) for owner in (real_codes, codes)]
    n, m = (np.bincount(owner, minlength=conditions) for owner in owners)
    areas = np.zeros((conditions, real.shape[1]))
    if areas.size and len(real) and len(generated):
        low, span, whole = _ranges(sides)
        counted = whole & (span * conditions <= _CELLS_A_VALUE * (len(real) + len(generated)))
        if counted.any():
            areas[:, counted] = _counted(sides, owners, n, m, low, np.where(counted, span, 0))[:, counted]
        for column in np.flatnonzero(~counted):
            areas[:, column] = _sorted([values[:, column] for values in sides], owners, n, m)
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


def _ranges(sides: list[Floats]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The lowest value of each column, the number of integers up to the highest, and whether all values are whole."""
    low, high = (np.stack([end(values, axis=0) for values in sides]) for end in (np.min, np.max))
    lowest = low.min(axis=0)
    whole = np.logical_and.reduce([(values == np.floor(values)).all(axis=0) for values in sides])
    return lowest, high.max(axis=0) - lowest + 1, whole


def _counted(sides: list[Floats], owners: list[Ints], n: Ints, m: Ints, low: Floats, span: Floats) -> Floats:
    """Areas (conditions, statistics) of whole numbers from `low` up to `span` values on, times n·m."""
    tables = []
    for values, owner in zip(sides, owners, strict=True):
        table = np.zeros((len(n), len(low), int(span.max())), np.int64)
        for column in np.flatnonzero(span):
            cells = owner * table.shape[2] + (values[:, column] - low[column]).astype(np.int64)
            counts = np.bincount(cells, minlength=len(n) * table.shape[2])
            table[:, column] = counts.reshape(len(n), table.shape[2])
        tables.append(table)
    excess = tables[1] * n[:, np.newaxis, np.newaxis] - tables[0] * m[:, np.newaxis, np.newaxis]
    return np.asarray(np.abs(np.cumsum(excess, axis=2)).sum(axis=2), np.float64)


def _sorted(sides: list[Floats], owners: list[Ints], n: Ints, m: Ints) -> Floats:
    """Areas (conditions,) of one statistic of any numbers, times n·m."""
    values, owner = np.concatenate(sides), np.concatenate(owners)
    order = np.lexsort((values, owner))
    values, owner = values[order], owner[order]
    # After its last row the excess of a condition is 0 again, and the next one begins.
    excess = np.cumsum(np.where(order < len(sides[0]), -m[owner], n[owner]))
    return np.asarray(np.bincount(owner[:-1], np.abs(excess[:-1]) * np.diff(values), len(n)), np.float64)
