"""Cells by predicted standard deviation: the bins of `ece` and `ence`.

Standard deviations are counted by the leading bits of their floats, in steps of less than .1 %, so that parts add up
and nothing is sorted. Of a sample in memory the few cells that share these bits with the edge of a bin are compared
in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import sorted_unique
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Table, grouped

# Bits of the mantissa that a key leaves out.
_FINE = 42
# More than there are keys.
_EVERY_KEY = 1 << 22
_SMALLEST = 1e-150
# Cells whose keys are looked up at once.
_SLAB = 1 << 18
# A standard deviation's cells: sums of e², σ², σ⁴, and their number.
_TERMS = ("square", "var", "var2", "count")


@dataclass(frozen=True)
class Bins:
    """Cells of each bin, their squared errors, predicted variances and the squares of these.

    `moved` is the share of cells that a finer histogram might move to the next bin.
    """

    n: Ints
    square: Floats
    var: Floats
    var2: Floats
    moved: float


@dataclass(frozen=True, eq=False)
class StdCells:
    """Cells by key, rising: sums (term, key)."""

    key: Ints
    sums: Floats

    @property
    def count(self) -> Ints:
        return np.asarray(self.sums[_TERMS.index("count")], np.int64)


def std_table(sample: Sample) -> Table:
    """The sums of each horizon, by key in place of time."""
    parts = []
    for part in sample.on_host().counted():
        assert part.rows is not None
        std, error = part.std.astype(np.float64), part.mean.astype(np.float64) - part.y
        keys = _bits(std) >> _FINE
        parts.append(grouped(_terms(std, error), keys, part.rows.horizon, sample.shape[1], 0, _EVERY_KEY))
    table = reduce(Table.merged, parts)
    if len(table) and table.at[0] < int(_bits(np.array([_SMALLEST]))[0]) >> _FINE:
        raise InputError(f"values below {_SMALLEST:g}, whose squares vanish", where="std", fix="Rescale the data.")
    return replace(table, high=table.high + table.low, low=np.zeros(table.low.shape))


def all_bins(table: Table, bins: int, whole: Sample | None) -> list[Bins]:
    """The bins of all horizons together and of each; exact if the `whole` sample is in memory."""
    sides = [(table.pooled, 0), *((table, group) for group in range(table.groups))]
    cells = []
    for side, group in sides:
        sums = np.stack([side.series(name)[:, group] for name in _TERMS])
        there = np.flatnonzero(sums[-1])
        cells.append(StdCells(side.at[there], sums[:, there]))
    on_edge = [_straddling(each, bins) for each in cells]
    if whole is None:
        return [
            _binned(each, bins, float(each.count[edge].sum() / max(each.count.sum(), 1)))
            for each, edge in zip(cells, on_edge, strict=True)
        ]
    fine = _told_apart(whole.on_host(), [each.key[edge] for each, edge in zip(cells, on_edge, strict=True)])
    found = []
    for each, edge, more in zip(cells, on_edge, fine, strict=True):
        order = np.argsort(np.concatenate([each.key[~edge] << _FINE, more.key]), kind="stable")
        found.append(_binned(StdCells(order, np.concatenate([each.sums[:, ~edge], more.sums], axis=1)[:, order]), bins))
    return found


def _binned(cells: StdCells, bins: int, moved: float = 0.0) -> Bins:
    """The cells in bins of equal number by standard deviation; equal ones share a bin.

    A bin is floor(bins·(less + (equal − 1)/2)/n).
    """
    total, count = max(int(cells.count.sum()), 1), cells.count
    place = bins * (2 * (np.cumsum(count) - count) + count - 1) // (2 * total)
    high, low = _core.grouped_sums(np.ascontiguousarray(cells.sums), place, bins)
    square, var, var2, n = high + low
    return Bins(n.astype(np.int64), square, var, var2, moved)


def _straddling(cells: StdCells, bins: int) -> Mask:
    """Keys whose first and last cell would be in different bins, unless all their deviations are equal (to 1e-8)."""
    total, count = max(int(cells.count.sum()), 1), cells.count
    less = np.cumsum(count) - count
    _, var, var2, _ = cells.sums
    differ = var2 * count > np.square(var) * (1 + 1e-15)
    return np.asarray((bins * less // total != bins * (less + count - 1) // total) & differ)


def _told_apart(sample: Sample, keys: list[Ints]) -> list[StdCells]:
    """The cells with these keys by all bits of their standard deviations: of all horizons, then of each."""
    wanted = sorted_unique(np.concatenate(keys))
    at = np.zeros(0, np.int64)
    if len(wanted):
        among = np.zeros(int(wanted[-1] - wanted[0]) + 2, np.bool_)
        among[wanted - wanted[0]] = True
        std, places = sample.std.reshape(-1), []
        for first in range(0, std.size, _SLAB):
            key = (_bits(std[first : first + _SLAB]) >> _FINE) - wanted[0]
            # Other keys go to the last place, which no key has.
            chosen = among[np.where((key >= 0) & (key < among.size), key, among.size - 1)]
            if sample.mask is not None:
                chosen &= sample.mask.reshape(-1)[first : first + _SLAB]
            places.append(np.flatnonzero(chosen) + first)
        at = np.concatenate(places)
    y, mean, std = (array.reshape(-1)[at].astype(np.float64) for array in (sample.y, sample.mean, sample.std))
    horizon = at // sample.shape[2] % sample.shape[1] if sample.rows is None else sample.rows.horizon[at]
    found = []
    for group, some in enumerate(keys):
        mine = np.isin(_bits(std) >> _FINE, some) & ((horizon == group - 1) | (group == 0))
        known, place = np.unique(_bits(std[mine]), return_inverse=True)
        terms = np.stack(list(_terms(std[mine], (mean - y)[mine]).values()))
        found.append(StdCells(known, np.add(*_core.grouped_sums(terms, place.astype(np.int64), len(known)))))
    return found


def _terms(std: Floats, error: Floats) -> Mapping[str, Any]:
    var = std * std
    return dict(zip(_TERMS, (error * error, var, var * var, np.ones(len(std))), strict=True))


def _bits(std: AnyArray) -> Ints:
    return np.ascontiguousarray(std, np.float64).view(np.int64)
