"""The contribution of a slab of forecasts to the sums, column by column, for each form of forecast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Mask
from graphgauge.core.metric import Metric
from graphgauge.forecasting.inputs import Slab
from graphgauge.kernels.doubled import exact_sum
from graphgauge.kernels.forecast import COUNTS, FLOATS, PARTS, POINT_FLOATS, Sums, error_sums
from graphgauge.kernels.forecast_cells import SUMS
from graphgauge.kernels.forecast_ensemble import ensemble_crps

Columns = dict[str, NDArray[Any]]

# Probabilities at which the reliability of Gaussians is evaluated.
GRID = tuple(k / 100 for k in range(1, 100))


def gaussian_edges() -> Floats:
    """The same in standard deviations."""
    from scipy.special import ndtri

    return np.asarray(ndtri(np.array(GRID)), np.float64)


# Parts that are skipped if no metric needs them: parts of the kernel's sums, and the two histograms. `_NEEDED` lists
# the parts of each metric beyond the sums of `errors`.
ALL = ("bias", "size", "relative", "spread", "over", "scores", "pit", "bins")
_NEEDED = {
    "bias": ("bias",), "mape": ("relative",), "smape": ("relative",), "wape": ("size",), "r2": ("size",),
    "nll": ("scores",), "crps": ("scores",), "sharpness": ("spread",), "width": ("spread",),
    "interval_score": ("spread", "over"),
}  # fmt: skip
_HISTOGRAMS = {"reliability": "pit", "spread": "bins"}


def counted_for(metrics: Iterable[Metric] | None) -> tuple[str, ...]:
    """The parts that these metrics need."""
    if metrics is None:
        return ALL
    needed: set[str] = set()
    for metric in metrics:
        needed |= {*_NEEDED.get(metric.name, ()), *(_HISTOGRAMS[name] for name in metric.needs if name in _HISTOGRAMS)}
    return tuple(part for part in ALL if part in needed)


@dataclass(frozen=True)
class Layout:
    """The columns of the sums, which depend on the form of the forecast and the requested metrics."""

    form: str
    horizons: int
    nodes: int
    coverage: tuple[float, ...]
    levels: tuple[float, ...] = ()
    members: int = 0
    scaled: bool = False
    counted: tuple[str, ...] = ALL
    # As text: a NaN would differ from itself.
    null_value: str | None = None
    masked: bool = False

    @cached_property
    def samples(self) -> frozenset[str]:
        """The samples that metrics can be computed on, if they were counted."""
        said = () if self.form == "point" else (self.form, "reliability")
        spread, scaled = ("spread",) * (self.form == "gaussian"), ("scaled",) * self.scaled
        return frozenset(("errors", *said, *spread, *scaled))

    @cached_property
    def kernel_parts(self) -> tuple[str, ...]:
        return ("errors", *(part for part in self.counted if part in PARTS))

    @cached_property
    def floats(self) -> tuple[str, ...]:
        names: tuple[str, ...] = POINT_FLOATS
        if self.form == "gaussian":
            names = (*FLOATS, *(f"over_{level:g}" for level in self.coverage))
        elif self.form == "quantiles":
            names += tuple(f"{kind}_{level:g}" for kind in ("pinball", "quantile") for level in self.levels)
        elif self.form == "samples":
            names += ("crps", "crps_fair")
            names += tuple(f"{kind}_{level:g}" for kind in ("over", "width") for level in self.reachable)
        return (*names, "scaled") if self.scaled else names

    def column(self, name: str) -> int:
        """The place of a sum, which must have been counted: otherwise it would be read as 0."""
        part = SUMS.get(name, "errors")
        if part != "errors" and part not in self.counted:
            raise LookupError(f"{name!r} was not counted: declare in _NEEDED that the metric needs {part!r}")
        return self.floats.index(name)

    @cached_property
    def counts(self) -> tuple[str, ...]:
        names: tuple[str, ...] = COUNTS[:2]
        if self.form == "gaussian":
            names = (*COUNTS, *(f"inside_{level:g}" for level in self.coverage))
        elif self.form == "quantiles":
            names += tuple(f"{kind}_{level:g}" for kind in ("below", "under") for level in self.levels)
        elif self.form == "samples":
            names += tuple(f"inside_{level:g}" for level in self.reachable)
        return (*names, "scaled_n") if self.scaled else names

    @cached_property
    def half_widths(self) -> tuple[float, ...]:
        """The half-widths of the central Gaussian intervals, in standard deviations."""
        from scipy.special import ndtri

        return tuple(float(ndtri((1 + level) / 2)) for level in self.coverage)

    @cached_property
    def reachable(self) -> tuple[float, ...]:
        """The levels whose interval is within the sorted members."""
        return tuple(level for level in self.coverage if (1 - level) / 2 * (self.members + 1) >= 1 - 1e-9)

    def pair(self, level: float) -> tuple[float, float] | None:
        """The quantile levels that bound the central interval, if both are given."""
        ends = [
            next((q for q in self.levels if abs(q - end) < 1e-9), None) for end in ((1 - level) / 2, (1 + level) / 2)
        ]
        return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def measured(slab: Slab, layout: Layout, blocks: int, scale: Floats | None) -> tuple[Sums, Sums]:
    """Sums and counts of a slab, divided into this many blocks of equal length, by horizon and by node."""
    shape = (blocks, len(slab.y) // blocks, *slab.y.shape[1:])
    std, mask = (None if array is None else array.reshape(shape) for array in (slab.std, slab.mask))
    z = layout.half_widths if slab.std is not None else ()
    sums = error_sums(slab.y.reshape(shape), slab.mean.reshape(shape), std, mask, z=z, parts=layout.kernel_parts)
    floats, counts = _extra(slab, layout, scale)
    kept = (slice(None), slice(None)) if slab.std is not None else (slice(len(POINT_FLOATS)), slice(2))
    by_horizon, by_node = (
        _with_extra(part, kept, floats, counts, shape, axes) for part, axes in zip(sums, ((1, 3), (1, 2)), strict=True)
    )
    return by_horizon, by_node


def _with_extra(
    sums: Sums,
    kept: tuple[slice, slice],
    floats: Columns,
    counts: Columns,
    shape: tuple[int, ...],
    axes: tuple[int, int],
) -> Sums:
    added = [exact_sum(values.reshape(shape), axes) for values in floats.values()]
    tallied = [values.reshape(shape).sum(axis=axes, dtype=np.int64) for values in counts.values()]
    return Sums(
        np.concatenate([sums.high[..., kept[0]], *(high[..., np.newaxis] for high, _ in added)], axis=-1),
        np.concatenate([sums.low[..., kept[0]], *(low[..., np.newaxis] for _, low in added)], axis=-1),
        np.concatenate([sums.counts[..., kept[1]], *(tally[..., np.newaxis] for tally in tallied)], axis=-1),
    )


def _extra(slab: Slab, layout: Layout, scale: Floats | None) -> tuple[Columns, Columns]:
    """The columns that the kernel does not compute, cell by cell in layout order; 0 for cells that do not count."""
    floats: Columns = {}
    counts: Columns = {}
    if slab.quantiles is None and slab.members is None and scale is None:
        return floats, counts
    counted = slab.counted
    y = slab.y.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        if slab.quantiles is not None:
            quantiles = slab.quantiles.astype(np.float64, copy=False)
            above = y[..., np.newaxis] - quantiles
            tilted = np.maximum(np.array(layout.levels) * above, (np.array(layout.levels) - 1) * above)
            floats |= dict(_columns("pinball", layout.levels, tilted, counted))
            floats |= dict(_columns("quantile", layout.levels, quantiles, counted))
            counts |= dict(_columns("below", layout.levels, above <= 0, counted))
            counts |= dict(_columns("under", layout.levels, above < 0, counted))
        elif slab.members is not None:
            members = np.sort(slab.members.astype(np.float64, copy=False), axis=-1)
            for name, fair in (("crps", False), ("crps_fair", True)):
                floats[name] = np.zeros(y.shape)
                floats[name][counted] = ensemble_crps(y[counted], members[counted], fair=fair)
            ends = [central(members, level) for level in layout.reachable]
            over = [np.maximum(low - y, 0) + np.maximum(y - high, 0) for low, high in ends]
            floats |= {
                f"over_{level:g}": np.where(counted, v, 0.0) for level, v in zip(layout.reachable, over, strict=True)
            }
            floats |= {
                f"width_{level:g}": np.where(counted, high - low, 0.0)
                for level, (low, high) in zip(layout.reachable, ends, strict=True)
            }
            counts |= {
                f"inside_{level:g}": (low <= y) & (y <= high) & counted
                for level, (low, high) in zip(layout.reachable, ends, strict=True)
            }
        if scale is not None:
            known = counted & (scale > 0)
            error = np.abs(slab.mean.astype(np.float64, copy=False) - y)
            floats["scaled"] = np.divide(error, scale, out=np.zeros(error.shape), where=known)
            counts["scaled_n"] = known
    return floats, counts


def _columns(kind: str, levels: tuple[float, ...], values: NDArray[Any], counted: Mask) -> Iterator[tuple[str, Any]]:
    for place, level in enumerate(levels):
        yield f"{kind}_{level:g}", np.where(counted, values[..., place], 0)


def central(members: Floats, level: float) -> tuple[Floats, Floats]:
    """The ends of the central interval, at ranks p·(m + 1) among the sorted members.

    A truth that is exchangeable with the members is between them with that probability, for any number of members.
    """
    ends = []
    for p in ((1 - level) / 2, (1 + level) / 2):
        place = min(max(p * (members.shape[-1] + 1) - 1, 0.0), members.shape[-1] - 1.0)
        before = min(int(place + 1e-9), members.shape[-1] - 2)
        ends.append(members[..., before] + (place - before) * (members[..., before + 1] - members[..., before]))
    return ends[0], ends[1]
