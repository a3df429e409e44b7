"""Sums over forecasts and truths on a CUDA device: as `kernels.forecast`, and only sums are copied.

Counts are those of the host, bit for bit: they are compared in float64. Sums are computed in float64, and the relative
error is below 1e-12.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.forecast import OVER, SUMS, Sums

# Cells that are processed at once.
_CELLS = 1 << 22
_SQRT_HALF, _INVERSE_SQRT_2PI = 0.7071067811865476, 0.3989422804014327
_HALF_LOG_2PI, _INVERSE_SQRT_PI = 0.9189385332046728, 0.5641895835477563


class CellSums(NamedTuple):
    """Sums by block and horizon, and by place and node; how many truths are in each percentile, likewise."""

    by_horizon: Sums
    by_node: Sums
    pit: Ints | None
    node_pit: Ints | None


class Asked(NamedTuple):
    """What is summed: the parts of `kernels.forecast`, half-widths in standard deviations, edges of percentiles."""

    parts: Collection[str]
    widths: Sequence[float] = ()
    edges: Floats | None = None

    @property
    def rows(self) -> list[int]:
        """The places of the sums that are asked for, among all of them."""
        named = [row for row, part in enumerate(SUMS.values()) if part in self.parts]
        return named + [OVER + level for level in range(len(self.widths)) if "over" in self.parts]


def cell_sums(y: Any, mean: Any, std: Any, mask: Any, edges: Ints, place: Ints, asked: Asked) -> CellSums:
    """Sum cells (steps, horizons, nodes) by time blocks between the `edges`; blocks of one `place` share nodes' sums.

    Nothing is checked: a NaN or an infinity in a cell makes its sums so.
    """
    import torch

    if std is None:
        asked = Asked([part for part in asked.parts if part not in ("spread", "scores", "over")])
    _, horizons, nodes = y.shape
    blocks, places = len(edges) - 1, int(place[-1]) + 1 if len(place) else 0
    rows, counts = len(asked.rows), 3 + len(asked.widths)
    zeros = {"dtype": torch.float64, "device": y.device}
    by_horizon, by_node = torch.zeros(blocks, horizons, rows, **zeros), torch.zeros(places, nodes, rows, **zeros)
    horizon_counts, node_counts = (
        torch.zeros(*table.shape[:2], counts, dtype=torch.int64, device=y.device) for table in (by_horizon, by_node)
    )
    limits = None if asked.edges is None else torch.as_tensor(asked.edges, device=y.device)
    size = 0 if limits is None else len(limits) + 1
    pit = torch.zeros(blocks, horizons * size, dtype=torch.int64, device=y.device)
    node_pit = torch.zeros(nodes * size, dtype=torch.int64, device=y.device)
    step = max(1, _CELLS // max(1, horizons * nodes))
    for block in range(blocks):
        for start in range(int(edges[block]), int(edges[block + 1]), step):
            part = slice(start, min(start + step, int(edges[block + 1])))
            cells = [None if each is None else each[part] for each in (y, mean, std, mask)]
            truth, forecast, spread, seen = cells
            floats, whole, z = contributions(truth, forecast, spread, seen, asked)
            for table, node_table, columns in ((by_horizon, by_node, floats), (horizon_counts, node_counts, whole)):
                for column, values in enumerate(columns):
                    lanes = values.sum(0)
                    table[block, :, column] += lanes.sum(1)
                    node_table[int(place[block]), :, column] += lanes.sum(0)
            if limits is not None:
                bins = torch.where(z == z, torch.searchsorted(limits, z.contiguous()), size - 1)
                seen = torch.ones_like(bins, dtype=torch.bool) if seen is None else seen
                ahead = torch.arange(horizons, device=y.device)[:, None] * size + bins
                pit[block] += torch.bincount(ahead[seen], minlength=horizons * size)
                of_node = torch.arange(nodes, device=y.device) * size + bins
                node_pit += torch.bincount(of_node[seen], minlength=nodes * size)
    return CellSums(
        _sums(by_horizon, horizon_counts),
        _sums(by_node, node_counts),
        None if limits is None else pit.reshape(blocks, horizons, size).cpu().numpy(),
        None if limits is None else node_pit.reshape(nodes, size).cpu().numpy(),
    )


def contributions(y: Any, mean: Any, std: Any, mask: Any, asked: Asked) -> tuple[list[Any], list[Any], Any]:
    """What each cell adds to the sums and counts that are asked for, and its distance in standard deviations."""
    import torch

    seen = torch.ones(y.shape, dtype=torch.bool, device=y.device) if mask is None else mask
    truth, forecast = (torch.where(seen, each.double(), 0.0) for each in (y, mean))
    error = forecast - truth
    size = error.abs()
    scale, scales = truth.abs(), truth.abs() + forecast.abs()
    relative = size / torch.where(scale > 0, scale, torch.inf), 2 * size / torch.where(scales > 0, scales, 1.0)
    floats = [size, error * error, error, truth, truth * truth, scale, *relative]
    counts = [seen, (scale > 0) & seen if "relative" in asked.parts else torch.zeros_like(seen)]
    z = None
    if std is None:
        return [floats[row] for row in asked.rows], [*counts, torch.zeros_like(seen)], z
    deviation = torch.where(seen, std.double(), 1.0)
    counts.append(~((deviation > 0) & (deviation < torch.inf)))
    z = -error / deviation
    far = z.abs()
    falling = _INVERSE_SQRT_2PI * torch.exp(-0.5 * (z * z))
    crps = deviation * (far * torch.erf(_SQRT_HALF * far) + 2 * falling - _INVERSE_SQRT_PI)
    floats += [
        deviation * seen,
        (deviation * seen) ** 2,
        torch.where(seen, torch.log(deviation) + 0.5 * (z * z) + _HALF_LOG_2PI, 0.0),
        torch.where(seen, crps, 0.0),
    ]
    for width in asked.widths:
        counts.append((size <= width * deviation) & seen)
        over = size - width * deviation
        floats.append(torch.where(over <= 0, 0.0, over))
    return [floats[row] for row in asked.rows], counts, z


def _sums(floats: Any, counts: Any) -> Sums:
    high = floats.cpu().numpy()
    return Sums(high, np.zeros_like(high), counts.cpu().numpy())
