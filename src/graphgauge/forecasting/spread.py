"""Cells by predicted standard deviation: the bins of `ece` and `ence`, exact or from a fine histogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.forecasting.inputs import Batch
from graphgauge.kernels.doubled import Pair, dd_add, exact_bincount
from graphgauge.kernels.forecast_calibration import SPREAD_KEYS, STD_BITS, StdCells, places_of, spread_key
from graphgauge.kernels.threads import map_blocks

_SMALLEST = 1e-150


@dataclass(frozen=True)
class Bins:
    """Sums of each bin of one group: cells, squared errors, predicted variances and their squares.

    `moved` is the share of cells that would change to a neighbouring bin with a finer histogram, at most. `of_range`
    is the share of each bin in the predicted variance of each range of `spread_by_block`; `within` is the variance of a
    perfect forecaster's squared errors that such shares do not show.
    """

    n: Ints
    square: Floats
    var: Floats
    var2: Floats
    moved: float
    of_range: Floats
    within: Floats


def joined(parts: Sequence[StdCells]) -> StdCells:
    """Add up histograms."""
    key, place = np.unique(np.concatenate([part.key for part in parts]), return_inverse=True)
    count = np.zeros(len(key), np.int64)
    np.add.at(count, place, np.concatenate([part.count for part in parts]))

    def total(name: str) -> Floats:
        pairs = np.concatenate([getattr(part, name) for part in parts])
        return np.stack(_summed(place, pairs, len(key)), axis=1)

    return StdCells(key.astype(np.int64), count, total("square"), total("var"), total("var2"))


def _summed(place: Ints, pairs: Floats, size: int) -> tuple[Floats, Floats]:
    """Add up doubled sums by position."""
    high, low = (exact_bincount(place, np.ascontiguousarray(pairs[:, side]), size) for side in (0, 1))
    return dd_add(*high, *low)


def nothing() -> StdCells:
    empty, pairs = np.empty(0, np.int64), np.empty((0, 2))
    return StdCells(empty, empty, pairs, pairs, pairs)


def binned(cells: StdCells, bins: int, fine: StdCells | None = None) -> Bins:
    """Sort cells by standard deviation into bins of equal size; equal values share a bin.

    A bin is floor(bins·(less + (equal − 1)/2)/n), in integers. `fine` contains the cells of keys that span the edge of
    a bin, separately for every distinct standard deviation; without it the cells of such a key stay in one bin.
    """
    total = int(cells.count.sum())
    open_keys = straddling(cells, bins)
    ranges = spread_key(cells.key)
    if fine is not None:
        whole = [column[~open_keys] for column in _columns(cells)]
        ranges = np.concatenate([ranges[~open_keys], spread_key(fine.key, 52)])
        # Refined cells replace their key, in order of the standard deviations.
        order = np.argsort(np.concatenate([whole[0] << _FINE, fine.key]), kind="stable")
        ranges = ranges[order]
        parts = zip(whole, _columns(fine), strict=True)
        cells = StdCells(*(np.concatenate([one, other])[order] for one, other in parts))
    less = np.cumsum(cells.count) - cells.count
    place = bins * (2 * less + cells.count - 1) // (2 * total) if total else less
    n = np.zeros(bins, np.int64)
    np.add.at(n, place, cells.count)
    square, var, var2 = (np.add(*_summed(place, column, bins)) for column in (cells.square, cells.var, cells.var2))
    moved = 0.0 if fine is not None or not total else float(cells.count[open_keys].sum() / total)
    return Bins(n, square, var, var2, moved, *_ranges(cells, ranges, place, bins))


def _ranges(cells: StdCells, ranges: Ints, place: Ints, bins: int) -> tuple[Floats, Floats]:
    """The bins' shares of each range of standard deviations, and what varies within the ranges."""
    var, var2 = np.zeros((2, SPREAD_KEYS, bins))
    np.add.at(var, (ranges, place), cells.var.sum(axis=1))
    np.add.at(var2, (ranges, place), cells.var2.sum(axis=1))
    total = var.sum(axis=1, keepdims=True)
    share = np.divide(var, total, out=np.zeros(var.shape), where=total > 0)
    return share, (2 * var2 * (1 - share)).sum(axis=0)


def require_squares(cells: StdCells) -> None:
    """Reject standard deviations whose squares underflow."""
    if len(cells.key) and int(cells.key[0]) < int(_bits(np.array([_SMALLEST]))[0]) >> _FINE:
        raise InputError(f"values below {_SMALLEST:g}, whose squares underflow", where="std", fix="Rescale the data.")


def straddling(cells: StdCells, bins: int) -> NDArray[np.bool_]:
    """Keys whose first and last cell would be in different bins."""
    total = max(int(cells.count.sum()), 1)
    less = np.cumsum(cells.count) - cells.count
    return np.asarray(bins * less // total != bins * (less + cells.count - 1) // total)


# Bits of a standard deviation that its histogram key omits.
_FINE = 52 - STD_BITS
# A slab has few cells of some keys if they are less than one in this many.
_FEW = 8


def refined(batch: Batch, slabs: Sequence[slice], keys: Sequence[Ints], threads: int | None = None) -> list[StdCells]:
    """The cells of some keys at full resolution, for all horizons together and then for each; `keys` in that order."""
    any_group = np.unique(np.concatenate(keys))

    def of_slab(rows: slice) -> list[Pair | StdCells]:
        slab = batch.slab(rows)
        assert slab.std is not None
        places = places_of(slab.std, slab.mask, keys=any_group)
        y, mean, std = (array.reshape(-1)[places].astype(np.float64) for array in (slab.y, slab.mean, slab.std))
        error, horizon = mean - y, places // slab.y.shape[2] % slab.y.shape[1]
        place = np.searchsorted(any_group, _bits(std) >> _FINE)
        # Few remaining cells are resolved once for all slabs; many are resolved at once, because they may be equal.
        few = len(places) * _FEW < slab.y.size
        found: list[Pair | StdCells] = []
        for group, some in enumerate(keys):
            chosen = np.isin(any_group, some)[place]
            if group:
                chosen &= horizon == group - 1
            pair = std[chosen], error[chosen]
            found.append(pair if few else _distinct(*pair))
        return found

    parts = map_blocks(of_slab, slabs, threads=threads)
    return [_gathered([part[group] for part in parts]) for group in range(len(keys))]


def _gathered(parts: Sequence[Pair | StdCells]) -> StdCells:
    pairs = [(np.zeros(0), np.zeros(0)), *(part for part in parts if not isinstance(part, StdCells))]
    std, error = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    return joined([_distinct(std, error), *(part for part in parts if isinstance(part, StdCells))])


def _distinct(std: Floats, error: Floats) -> StdCells:
    """One cell per distinct standard deviation, keyed by its bits."""
    key, place = np.unique(_bits(std), return_inverse=True)
    sums = [np.stack(exact_bincount(place, column, len(key)), axis=1) for column in (error**2, std**2, (std**2) ** 2)]
    return StdCells(key, np.bincount(place, minlength=len(key)).astype(np.int64), *sums)


def _bits(std: NDArray[np.floating]) -> Ints:
    return np.ascontiguousarray(std, np.float64).view(np.int64)


def _columns(cells: StdCells) -> tuple[NDArray[Any], ...]:
    return cells.key, cells.count, cells.square, cells.var, cells.var2
