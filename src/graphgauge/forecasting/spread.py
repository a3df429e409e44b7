"""Cells by predicted standard deviation: the bins of `ece` and `ence`.

Standard deviations are counted by the leading bits of their floats, in steps of less than .1 %, so that parts add up
and nothing is sorted. Of a sample in memory the few cells that share these bits with the edge of a bin are compared
in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge import _core
from graphgauge.core.errors import InputError
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import added

# Bits of the mantissa that a key leaves out.
_FINE = 42
# Up to this many keys are counted in a table; more span many orders of magnitude.
_MOST_KEYS = 1 << 18
_SMALLEST = 1e-150
# Cells whose keys are looked up at once.
_SLAB = 1 << 18
SQUARE, VAR, VAR2, COUNT = range(4)


@dataclass(frozen=True, eq=False)
class StdCells:
    """Cells by key, rising: sums of e², σ², σ⁴ and 1 (quantity, key) in two floats."""

    key: Ints
    high: Floats
    low: Floats

    @property
    def count(self) -> Ints:
        return np.asarray(self.high[COUNT], np.int64)


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


def std_cells(sample: Sample) -> tuple[StdCells, ...]:
    """The cells of each horizon."""
    sample = sample.on_host()
    horizons, (lowest, keys) = sample.shape[1], _key_range(sample)
    if keys * horizons <= _MOST_KEYS:
        sums = np.zeros((4, horizons * keys)), np.zeros((4, horizons * keys))
        for part in sample.counted():
            std, error, horizon = _errors(part)
            place = (_bits(std) >> _FINE) - lowest + horizon * keys
            sums = added(*sums, *_core.grouped_sums(_terms(std, error), place, horizons * keys))
        high, low = (side.reshape(4, horizons, keys) for side in sums)
        kept = [np.flatnonzero(high[COUNT, horizon]) for horizon in range(horizons)]
        return tuple(StdCells(some + lowest, high[:, at, some], low[:, at, some]) for at, some in enumerate(kept))
    found = [[_nothing()] for _ in range(horizons)]
    for part in sample.counted():
        std, error, horizon = _errors(part)
        for each in range(horizons):
            chosen = horizon == each
            found[each].append(_by_key(_bits(std[chosen]) >> _FINE, std[chosen], error[chosen]))
    return tuple(map(joined, found))


def _terms(std: Floats, error: Floats) -> Floats:
    var = std * std
    return np.stack([error * error, var, var * var, np.ones(len(std))])


def _key_range(sample: Sample) -> tuple[int, int]:
    """The lowest key, and how many there are up to the highest."""
    std = sample.std
    if sample.mask is not None:
        std = np.where(sample.mask, std, np.nan)
    if not std.size or np.isnan(std).all():
        return 0, 0
    low, high = _bits(np.array([np.nanmin(std), np.nanmax(std)])) >> _FINE
    return int(low), int(high - low + 1)


def _by_key(key: Ints, std: Floats, error: Floats) -> StdCells:
    known, place = np.unique(key, return_inverse=True)
    return StdCells(known, *_core.grouped_sums(_terms(std, error), place.astype(np.int64), len(known)))


def joined(parts: Sequence[StdCells]) -> StdCells:
    """The cells of all parts."""
    key, place = np.unique(np.concatenate([part.key for part in parts]), return_inverse=True)
    place = place.astype(np.int64)
    one, other = (
        _core.grouped_sums(
            np.ascontiguousarray(np.concatenate([getattr(part, side) for part in parts], axis=1)), place, len(key)
        )
        for side in ("high", "low")
    )
    return StdCells(key.astype(np.int64), *added(*one, *other))


def binned(cells: StdCells, bins: int, fine: StdCells | None = None) -> Bins:
    """The cells in bins of equal number by standard deviation; equal ones share a bin.

    A bin is floor(bins·(less + (equal − 1)/2)/n). `fine` has the cells of keys on the edge of a bin, by all their bits.
    """
    if len(cells.key) and cells.key[0] < int(_bits(np.array([_SMALLEST]))[0]) >> _FINE:
        raise InputError(f"values below {_SMALLEST:g}, whose squares vanish", where="std", fix="Rescale the data.")
    total, moved = int(cells.count.sum()), 0.0
    on_edge = straddling(cells, bins)
    if fine is not None:
        order = np.argsort(np.concatenate([cells.key[~on_edge] << _FINE, fine.key]), kind="stable")
        high, low = (
            np.concatenate([getattr(cells, side)[:, ~on_edge], getattr(fine, side)], axis=1)[:, order]
            for side in ("high", "low")
        )
        cells = StdCells(order, high, low)
    elif total:
        moved = float(cells.count[on_edge].sum() / total)
    less = np.cumsum(cells.count) - cells.count
    place = bins * (2 * less + cells.count - 1) // (2 * total) if total else less
    values = np.ascontiguousarray(cells.high + cells.low)
    high, low = _core.grouped_sums(values, place.astype(np.int64), bins)
    sums = high + low
    return Bins(sums[COUNT].astype(np.int64), sums[SQUARE], sums[VAR], sums[VAR2], moved)


def straddling(cells: StdCells, bins: int) -> Mask:
    """Keys whose first and last cell would be in different bins, unless all their deviations are equal (to 1e-8)."""
    total, count = max(int(cells.count.sum()), 1), cells.count
    less = np.cumsum(count) - count
    differ = cells.high[VAR2] * count > np.square(cells.high[VAR]) * (1 + 1e-15)
    return np.asarray((bins * less // total != bins * (less + count - 1) // total) & differ)


def all_bins(cells: Sequence[StdCells], bins: int, whole: Sample | None) -> list[Bins]:
    """The bins of all horizons together and of each; exact if the `whole` sample is in memory."""
    groups = [joined(cells), *cells]
    if whole is None:
        return [binned(each, bins) for each in groups]
    keys = [each.key[straddling(each, bins)] for each in groups]
    fine = _told_apart(whole.on_host(), keys)
    return [binned(each, bins, more) for each, more in zip(groups, fine, strict=True)]


def _told_apart(sample: Sample, keys: Sequence[Ints]) -> list[StdCells]:
    """The cells with these keys by all bits of their standard deviations: of all horizons, then of each."""
    wanted = np.unique(np.concatenate(keys))
    among = np.zeros(int(wanted[-1] - wanted[0]) + 2 if len(wanted) else 1, np.bool_)
    among[wanted - wanted[0] if len(wanted) else wanted] = True
    y, mean, std = (array.reshape(-1) for array in (sample.y, sample.mean, sample.std))
    places = []
    for first in range(0, std.size if len(wanted) else 0, _SLAB):
        key = (_bits(std[first : first + _SLAB]) >> _FINE) - wanted[0]
        # Other keys go to the last place, which no key has.
        chosen = among[np.where((key >= 0) & (key < among.size), key, among.size - 1)]
        if sample.mask is not None:
            chosen &= sample.mask.reshape(-1)[first : first + _SLAB]
        places.append(np.flatnonzero(chosen) + first)
    at = np.concatenate([np.zeros(0, np.int64), *places])
    horizon = at // sample.shape[2] % sample.shape[1] if sample.rows is None else sample.rows.horizon[at]
    deviation, error = std[at].astype(np.float64), mean[at].astype(np.float64) - y[at]
    key, found = _bits(deviation) >> _FINE, []
    for group, some in enumerate(keys):
        mine = np.isin(key, some)
        if group:
            mine &= horizon == group - 1
        found.append(_by_key(_bits(deviation[mine]), deviation[mine], error[mine]))
    return found


def _errors(part: Sample) -> tuple[Floats, Floats, Ints]:
    assert part.rows is not None
    std, mean, y = (array.astype(np.float64) for array in (part.std, part.mean, part.y))
    return std, mean - y, part.rows.horizon


def _bits(std: Floats) -> Ints:
    return np.ascontiguousarray(std, np.float64).view(np.int64)


def _nothing() -> StdCells:
    return StdCells(np.zeros(0, np.int64), np.zeros((4, 0)), np.zeros((4, 0)))
