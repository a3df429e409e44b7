"""Errors by predicted standard deviation on a CUDA device, as `forecast_calibration`: only distinct keys are copied.

Counts are those of the host, sums within 1e-12 of its.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.device_tables import Counted, Tallies
from graphgauge.kernels.forecast_calibration import COARSE, FIRST_KEY, SHIFT, SPREAD_KEYS, StdCells

# Bits of a key: those of a positive float64 without the ones that it omits.
_KEY = 63 - SHIFT


class SpreadTallies:
    """Cells by horizon and key of their standard deviation, and by time block and range of standard deviations."""

    def __init__(self, blocks: int, horizons: int) -> None:
        self._shape = blocks, horizons
        self._by_key, self._by_range = Tallies(), Tallies()

    def add(self, y: Any, mean: Any, std: Any, seen: Any, block: Any) -> None:
        """Add cells (steps, horizons, nodes), given the time block of each step; an invalid `std` is left out."""
        import torch

        error, deviation, bits, kept = _cells(y, mean, std, seen)
        horizon = torch.arange(self._shape[1], device=y.device).reshape(1, -1, 1).expand(y.shape)[kept]
        self._by_key.add(horizon << _KEY | bits >> SHIFT, *_powers(error, deviation))
        coarse = ((bits >> (52 - COARSE)) - FIRST_KEY).clamp_(0, SPREAD_KEYS - 1)
        block = block.reshape(-1, 1, 1).expand(y.shape)[kept]
        self._by_range.add(block * SPREAD_KEYS + coarse, error * error - deviation * deviation)

    def copied(self) -> tuple[list[StdCells], tuple[Floats, Floats]]:
        """What `std_cells` and `spread_by_block` return."""
        blocks, horizons = self._shape
        found, excess = self._by_key.copied(), self._by_range.copied()
        cells = [_std_cells(found.between(horizon << _KEY, (horizon + 1) << _KEY)) for horizon in range(horizons)]
        table = np.zeros(blocks * SPREAD_KEYS)
        table[excess.codes] = excess.sums.sum(axis=1)
        by_block = table.reshape(blocks, SPREAD_KEYS)
        return cells, (by_block, np.zeros_like(by_block))


class FineTallies:
    """Cells of some keys by their whole standard deviation: those of all horizons, then those of each."""

    def __init__(self, keys: list[Ints], device: Any) -> None:
        import torch

        self._keys = [torch.as_tensor(some, device=device) for some in keys]
        self._tallies = [Tallies() for _ in keys]

    def add(self, y: Any, mean: Any, std: Any, seen: Any) -> None:
        import torch

        error, deviation, bits, kept = _cells(y, mean, std, seen)
        horizon = torch.arange(y.shape[1], device=y.device).reshape(1, -1, 1).expand(y.shape)[kept]
        for group, (keys, tallies) in enumerate(zip(self._keys, self._tallies, strict=True)):
            if not len(keys):
                continue
            chosen = torch.isin(bits >> SHIFT, keys)
            if group:
                chosen &= horizon == group - 1
            tallies.add(bits[chosen], *_powers(error[chosen], deviation[chosen]))

    def copied(self) -> list[StdCells]:
        return [_std_cells(tallies.copied()) for tallies in self._tallies]


def _cells(y: Any, mean: Any, std: Any, seen: Any) -> tuple[Any, Any, Any, Any]:
    """Errors, valid standard deviations and their bits, and which cells these are."""
    import torch

    deviation = std.double()
    kept = seen & (deviation > 0) & (deviation < torch.inf)
    deviation = deviation[kept]
    return (mean.double() - y.double())[kept], deviation, deviation.view(torch.int64), kept


def _powers(error: Any, deviation: Any) -> tuple[Any, Any, Any]:
    variance = deviation * deviation
    return error * error, variance, variance * variance


def _std_cells(found: Counted) -> StdCells:
    sums = found.sums if len(found.codes) else np.zeros((0, 3))
    return StdCells(found.codes, found.counts, *(np.stack([column, np.zeros_like(column)], 1) for column in sums.T))
