"""Batches on a CUDA device, read in slabs of time steps as on the host, and what each cell adds to the sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isinf, isnan
from typing import Any

from graphgauge.forecasting.inputs import Batch
from graphgauge.forecasting.joint import POWER
from graphgauge.forecasting.measures import Layout, central
from graphgauge.kernels.device_forecast import Asked, contributions
from graphgauge.kernels.device_joint import energy_scores, variogram_scores
from graphgauge.kernels.device_scores import (
    Columns,
    ensemble_above,
    ensemble_scores,
    gaussian_above,
    interval_columns,
    quantile_columns,
)
from graphgauge.kernels.forecast import POINT_FLOATS
from graphgauge.kernels.forecast_cells import SUMS

_OF_POINTS = {SUMS[name] for name in POINT_FLOATS}


def _arrays(batch: Batch, rows: slice) -> dict[str, Any]:
    """Some time steps of the numbers that are given, as (time, horizon, node)."""
    given = {"y": batch.y, "mean": batch.mean, "std": batch.std, "quantiles": batch.quantiles, "members": batch.members}
    return {name: _some(batch, array, rows) for name, array in given.items() if array is not None}


def _some(batch: Batch, array: Any, rows: slice) -> Any:
    import torch

    views = batch.views(array)
    return views[0][rows] if len(views) == 1 else torch.cat([view[rows] for view in views], 2)


def truths(batch: Batch, rows: slice) -> Any:
    """The truth in some time steps (time, horizon, node), in float64."""
    return _some(batch, batch.y, rows).double()


def seen_cells(batch: Batch, rows: slice) -> tuple[Any, Any]:
    """The cells that count in some time steps; and how many would, if they had no NaN."""
    import torch

    y = _some(batch, batch.y, rows)
    seen = torch.ones_like(y, dtype=torch.bool) if batch.mask is None else _some(batch, batch.mask, rows)
    if batch.stored_null is not None:
        seen = seen & observed(y, float(batch.stored_null), batch.null_tolerance)
    if batch.nan == "raise":
        return seen, 0
    missing = torch.zeros_like(seen)
    for part in _arrays(batch, rows).values():
        missing |= part.isnan().any(-1) if part.ndim > seen.ndim else part.isnan()
    return seen & ~missing, (seen & missing).sum()


@dataclass(frozen=True)
class DeviceSlab:
    """Some time steps as tensors (time, horizon, node) of one float type.

    Cells that are not `seen` do not count: they are 0, and their standard deviations 1.
    """

    seen: Any
    y: Any
    mean: Any = None
    std: Any = None
    quantiles: Any = None
    members: Any = None

    @classmethod
    def of(cls, batch: Batch, rows: slice, seen: Any) -> DeviceSlab:
        import torch

        parts = _arrays(batch, rows)
        dtype = torch.float64 if any(part.dtype == torch.float64 for part in parts.values()) else torch.float32
        for name, part in parts.items():
            there = seen.unsqueeze(-1) if part.ndim > seen.ndim else seen
            parts[name] = torch.where(there, part.to(dtype), 1.0 if name == "std" else 0.0)
        if "mean" not in parts and "quantiles" in parts:
            parts["mean"] = parts["quantiles"][..., batch.levels.index(0.5)]
        return cls(seen, **parts)

    @property
    def point(self) -> Any:
        return self.ordered.double().mean(-1) if self.mean is None else self.mean

    @cached_property
    def ordered(self) -> Any:
        """The members of each cell, sorted."""
        return self.members.sort(dim=-1).values

    def ends(self, layout: Layout, place: int) -> tuple[Any, Any]:
        """The central interval at a level, given by its place."""
        if self.std is not None:
            margin = layout.half_widths[place] * self.std.double()
            return self.mean.double() - margin, self.mean.double() + margin
        if self.members is not None:
            return central(self.ordered, layout.bounded[place], lambda column: column.double())
        low, high = layout.pairs[place]
        return self.quantiles[..., low].double(), self.quantiles[..., high].double()


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


def error_columns(slab: DeviceSlab, layout: Layout) -> Columns:
    """What each cell adds to the sums of the kernel."""
    gaussian = slab.std is not None
    parts = layout.kernel_parts if gaussian else [part for part in layout.kernel_parts if part in _OF_POINTS]
    asked = Asked(parts, layout.half_widths if gaussian else ())
    floats, counts, _ = contributions(slab.y, slab.point, slab.std, slab.seen, asked)
    return floats, counts if gaussian else counts[:2]


def other_columns(slab: DeviceSlab, layout: Layout, scale: Any) -> Columns:
    """What each cell adds to the sums that follow, in the order of the layout."""
    floats: list[Any] = []
    counts: list[Any] = []
    truth, seen = slab.y.double(), slab.seen
    wide, over = "spread" in layout.counted, "over" in layout.counted
    if slab.quantiles is not None:
        floats, counts = quantile_columns(
            slab.y, slab.quantiles, layout.levels, layout.pairs, seen, with_quantiles=wide
        )
    if slab.members is not None:
        floats += ensemble_scores(slab.y, slab.ordered)
        found = [interval_columns(truth, *slab.ends(layout, place)) for place in range(len(layout.bounded))]
        floats += [beyond for beyond, _, _ in found] * over + [width for _, width, _ in found] * wide
        counts += [inside & seen for _, _, inside in found]
    if slab.std is not None or slab.members is not None:
        above = [_above(slab, threshold) for threshold in layout.thresholds]
        floats += [brier for brier, _ in above] + [score for _, score in above]
        counts += [(slab.y > threshold) & seen for threshold in layout.thresholds]
    if scale is not None:
        scaled = _scaled_columns(slab, layout, scale)
        floats, counts = floats + scaled[0], counts + scaled[1]
    return floats, counts


def _above(slab: DeviceSlab, threshold: float) -> tuple[Any, Any]:
    import torch

    if slab.members is not None:
        scores = ensemble_above(slab.y, slab.members, slab.ordered, threshold)
    else:
        scores = gaussian_above(slab.y, slab.mean, slab.std, threshold)
    brier, score = (torch.where(slab.seen, each, 0.0) for each in scores)
    return brier, score


def _scaled_columns(slab: DeviceSlab, layout: Layout, scale: Any) -> Columns:
    """Errors and interval scores over the naive errors of the nodes."""
    import torch

    absolute, square = scale if scale.ndim == 2 else (scale, scale)
    known = slab.seen & (absolute > 0)
    truth, error = slab.y.double(), (slab.point.double() - slab.y.double()).abs()
    values = [(error, absolute)] + [(error * error, square)] * layout.root_scaled
    if "scaled_scores" in layout.counted:
        for place, level in enumerate(layout.bounded):
            beyond, width, _ = interval_columns(truth, *slab.ends(layout, place))
            values.append((width + 2 / (1 - level) * beyond, absolute))
    return [torch.where(known, value / by, 0.0) for value, by in values], [known]


def joint_columns(slab: DeviceSlab, layout: Layout, first: int, graph: Any) -> Columns:
    """The joint scores of each step and horizon, as columns of a single node; those of paths in the first horizon.

    `first` is the index of the first step, `graph` are pairs of nodes.
    """
    import torch

    steps, horizons, nodes = slab.y.shape
    found: list[Any] = [None, None, None]
    if "joint" in layout.counted and nodes > 1:
        y, members, seen = (each.reshape(-1, *each.shape[2:]) for each in (slab.y, slab.members, slab.seen))
        found[0] = energy_scores(y, members, seen, first * horizons)
        if graph is not None:
            found[1] = variogram_scores(y, members, graph, seen, first * horizons, power=POWER)
    if "paths" in layout.counted and horizons > 1:
        turned = (each.transpose(1, 2) for each in (slab.y, slab.members, slab.seen))
        y, members, seen = (each.reshape(-1, *each.shape[2:]) for each in turned)
        found[2] = energy_scores(y, members, seen, first * nodes)
    floats, counts = [], []
    for place, pair in enumerate(found):
        scores = (slab.y.new_full((steps * horizons,), torch.nan, dtype=torch.float64),) * 2 if pair is None else pair
        for score in scores:
            floats.append(_by_horizon(score.nan_to_num(0.0, torch.inf, -torch.inf), steps, horizons, path=place == 2))
        counts.append(_by_horizon(~scores[0].isnan(), steps, horizons, path=place == 2))
    return floats, counts


def _by_horizon(values: Any, steps: int, horizons: int, *, path: bool) -> Any:
    """Values of vectors by step and horizon; those of all paths of a step together in the first."""
    import torch

    rows = values.reshape(steps, -1)
    if path:
        rows = torch.nn.functional.pad(rows.sum(1, keepdim=True), (0, horizons - 1))
    return rows.unsqueeze(-1)
