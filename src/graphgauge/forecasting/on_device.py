"""Forecasts on a CUDA device: their sums are computed there, and only sums are copied."""

from __future__ import annotations

from math import isfinite, isinf, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import is_cuda
from graphgauge.core.types import Floats, Ints
from graphgauge.forecasting.options import AXES
from graphgauge.kernels.device_ensemble import energy_sum, ensemble_sums, pinball_sum
from graphgauge.kernels.device_forecast import Asked, CellSums, cell_sums

if TYPE_CHECKING:
    from graphgauge.forecasting.inputs import Batch
    from graphgauge.forecasting.measures import Layout

_FLOATS = ("torch.float16", "torch.bfloat16", "torch.float32", "torch.float64")


def on_one_device(y: Any, mean: Any, std: Any, mask: Any) -> bool:
    """Whether truths and point forecasts, and the others if there are any, are dense floats on one CUDA device."""
    arrays = [y, mean, *(each for each in (std, mask) if each is not None)]
    if not all(map(is_cuda, arrays)) or len({(each.device, each.layout) for each in arrays}) > 1:
        return False
    floats = [each for each in arrays if each is not mask]
    dense = str(y.layout) == "torch.strided" and (mask is None or str(mask.dtype) == "torch.bool")
    return dense and all(str(each.dtype) in _FLOATS for each in floats)


def plain_crps(y: Any, samples: Any, *, fair: bool) -> float | None:
    """The mean CRPS of ensembles on a device; None if the host has to look: at other types and shapes, and at NaN."""
    if not _dense(y, samples) or samples.shape[:-1] != y.shape or not samples.numel() or samples.shape[-1] < 2:
        return None
    sums = ensemble_sums(*_rows(y, samples))
    return _mean_of(sums.fair if fair else sums.crps, y.numel())


def plain_pinball(y: Any, quantiles: Any, levels: tuple[float, ...]) -> float | None:
    """The mean pinball loss of quantiles on a device, likewise."""
    if not _dense(y, quantiles) or quantiles.shape != (*y.shape, len(levels)) or not quantiles.numel():
        return None
    return _mean_of(pinball_sum(*_rows(y, quantiles), levels), quantiles.numel())


def plain_energy(y: Any, members: Any) -> float | None:
    """The mean energy score of ensembles (vectors, components, members) on a device, likewise."""
    if not _dense(y, members) or y.ndim != 2 or members.shape[:-1] != y.shape or not members.numel():
        return None
    return _mean_of(energy_sum(y.detach(), members.detach()), len(y))


def _dense(*arrays: Any) -> bool:
    """Whether all are dense floats on one CUDA device."""
    return (
        all(map(is_cuda, arrays))
        and len({each.device for each in arrays}) == 1
        and all(str(each.dtype) in _FLOATS and str(each.layout) == "torch.strided" for each in arrays)
    )


def _rows(y: Any, forecasts: Any) -> tuple[Any, Any]:
    return y.detach().reshape(-1), forecasts.detach().reshape(-1, forecasts.shape[-1])


def _mean_of(total: float, count: int) -> float | None:
    return total / count if isfinite(total) else None


def device_sums(
    batch: Batch, layout: Layout, edges: Ints, place: Ints, percentiles: Floats, *, by_node: bool
) -> tuple[CellSums, int]:
    """The sums of a batch by time blocks between the `edges`, and the number of cells that were dropped."""
    arrays = {name: None if array is None else _in_order(array, batch.axes)
              for name, array in (("y", batch.y), ("mean", batch.mean), ("std", batch.std))}  # fmt: skip
    mask, dropped = _counted(batch, arrays, None if batch.mask is None else _in_order(batch.mask, batch.axes))
    gaussian = batch.std is not None
    pit = percentiles if gaussian and "pit" in layout.counted else None
    asked = Asked(layout.kernel_parts, layout.half_widths if gaussian else (), pit, by_node)
    given = (*arrays.values(), mask, edges, place, asked)
    found = cell_sums(*given)
    if not np.isfinite(found.by_horizon.high).all():
        # A score may be beyond the range of float32.
        found = cell_sums(*given, wide=True)
    return found, dropped


def _in_order(array: Any, axes: tuple[str, ...]) -> Any:
    """An array with the axes time, horizon and node."""
    kept = [name for name in AXES if name in axes]
    ordered = array.detach().permute(*(axes.index(name) for name in kept))
    for place, name in enumerate(AXES):
        ordered = ordered if name in axes else ordered.unsqueeze(place)
    return ordered


def _counted(batch: Batch, arrays: dict[str, Any], mask: Any) -> tuple[Any, int]:
    """The cells that count, None if all do, and how many of the others have a NaN."""
    if batch.stored_null is not None:
        there = _observed(arrays["y"], float(batch.stored_null), batch.null_tolerance)
        mask = there if mask is None else mask & there
    if batch.nan == "raise":
        return mask, 0
    missing = None
    for array in arrays.values():
        if array is not None:
            missing = array.isnan() if missing is None else missing.logical_or_(array.isnan())
    assert missing is not None
    dropped = int((missing if mask is None else missing & mask).sum())
    if not dropped:
        return mask, 0
    return ~missing if mask is None else mask & ~missing, dropped


def _observed(y: Any, null_value: float, tolerance: float) -> Any:
    """As `inputs.observed`, in the dtype of the truth."""
    if isnan(null_value):
        return ~y.isnan()
    stored = y.new_tensor(null_value)
    if tolerance:
        return ~((y - stored).abs() <= tolerance)
    # A number that the dtype cannot represent matches no value.
    return y != stored if isfinite(float(stored)) or isinf(null_value) else y.new_ones(y.shape, dtype=y.isnan().dtype)
