"""What a state counts of point and Gaussian forecasts on a CUDA device: only sums and counts are copied."""

from __future__ import annotations

from math import isfinite, isinf, isnan
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.types import Ints
from graphgauge.forecasting.inputs import Batch
from graphgauge.forecasting.measures import Layout, gaussian_edges
from graphgauge.forecasting.options import AXES
from graphgauge.kernels.device_forecast import Asked, CellSums, cell_sums
from graphgauge.kernels.forecast import Sums

# Truths that vary less than this share of their squares have lost digits of their variation in a float64.
_STEADY = 1e-6


class Blocks(NamedTuple):
    """The time blocks of a batch: the step at which it begins, 2**shift steps a block, 2**coarser blocks a place."""

    start: int
    shift: int
    coarser: int

    def numbers(self, steps: int) -> Ints:
        return np.arange(self.start >> self.shift, ((self.start + steps - 1) >> self.shift) + 1)

    def edges(self, steps: int) -> Ints:
        """The first step of each block in the batch, and its end."""
        return np.append(np.maximum((self.numbers(steps) << self.shift) - self.start, 0), steps)

    def places(self, steps: int) -> Ints:
        """The place of each block, from 0."""
        numbers = self.numbers(steps) >> self.coarser
        return np.asarray(numbers - numbers[0])


def counted(batch: Batch, layout: Layout, blocks: Blocks) -> tuple[CellSums, int] | None:
    """The sums of a batch that has at least one cell, and how many cells were dropped.

    None if the truths hardly vary: the host sums them in two floats.
    """
    arrays = batch.y, batch.mean, batch.std, batch.mask
    y, mean, std, mask = (None if each is None else _in_order(batch, each) for each in arrays)
    seen, dropped = _seen(batch, y, [each for each in (y, mean, std) if each is not None], mask)
    edges = gaussian_edges() if std is not None and "pit" in layout.counted else None
    asked = Asked(layout.kernel_parts, layout.half_widths if std is not None else (), edges)
    steps = batch.shape[0]
    found = cell_sums(y, mean, std, seen, blocks.edges(steps), blocks.places(steps), asked)
    if std is None:
        found = found._replace(by_horizon=found.by_horizon.some_counts(2), by_node=found.by_node.some_counts(2))
    tables = found.by_horizon, found.by_node
    return None if "y2" in layout.floats and any(_steady(sums, layout) for sums in tables) else (found, dropped)


def _in_order(batch: Batch, array: Any) -> Any:
    """A tensor as (time, horizon, node)."""
    return array.permute(*(batch.axes.index(name) for name in AXES if name in batch.axes)).reshape(batch.shape)


def _seen(batch: Batch, y: Any, numbers: list[Any], mask: Any) -> tuple[Any, int]:
    """The cells that count, None for all; and how many would, if they had no NaN."""
    import torch

    if batch.stored_null is not None:
        there = observed(y, float(batch.stored_null), batch.null_tolerance)
        mask = there if mask is None else mask & there
    if batch.nan == "raise":
        return mask, 0
    missing = torch.zeros_like(y, dtype=torch.bool)
    for each in numbers:
        missing |= each.isnan()
    mask = torch.ones_like(missing) if mask is None else mask
    return mask & ~missing, int((mask & missing).sum())


def observed(y: Any, null_value: float, tolerance: float) -> Any:
    """As `inputs.observed`, in the dtype in which NumPy has the truth."""
    import torch

    if isnan(null_value):
        return ~y.isnan()
    y = y.float() if y.dtype == torch.bfloat16 else y
    # Tensors of the dtype of the truth, because devices compare halves with numbers in float32; of the host, because
    # to read one of the device would wait for it.
    stored = torch.tensor(null_value, dtype=y.dtype)
    if tolerance:
        return ~((y - stored).abs() <= torch.tensor(tolerance, dtype=y.dtype))
    # A number that the dtype cannot represent matches no value.
    return y != stored if isfinite(float(stored)) or isinf(null_value) else torch.ones_like(y, dtype=torch.bool)


def _steady(sums: Sums, layout: Layout) -> bool:
    """Whether the truths of a horizon or node hardly vary."""
    n = sums.counts[..., 0].sum(axis=0)
    y, y2 = (sums.high[..., layout.column(name)].sum(axis=0) for name in ("y", "y2"))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return bool(((n > 0) & (y2 > 0) & (y2 - y / n * y <= _STEADY * y2)).any())
