"""What a state counts of a batch on a CUDA device: slab by slab, and only sums and counts are copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Floats, Ints
from graphgauge.forecasting.device_slabs import (
    DeviceSlab,
    error_columns,
    joint_columns,
    other_columns,
    seen_cells,
    truths,
)
from graphgauge.forecasting.inputs import Batch
from graphgauge.forecasting.measures import GRID, Layout, gaussian_edges, joined_columns, weight_of
from graphgauge.kernels.device_forecast import Asked, CellSums, cell_sums
from graphgauge.kernels.device_scores import positions
from graphgauge.kernels.device_spread import FineTallies, SpreadTallies
from graphgauge.kernels.device_tables import ColumnSums, Tallies, packed
from graphgauge.kernels.doubled import dd_add, dd_times, two_sum
from graphgauge.kernels.forecast import Sums
from graphgauge.kernels.forecast_calibration import StdCells

# As many blocks a place that there is one.
_ALL = 48
# Truths that vary less than this share of their squares have lost digits of their variation in a float64.
_STEADY = 1e-6
# Larger squares have no room for products in two floats.
_LARGE = 1e290
# The columns of rows of integers, and how often each row occurred, if not once.
Rows = tuple[list[Ints], Ints | None]


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

    def of(self, step: int) -> int:
        """The block of a step of the batch, counted from its first."""
        return ((self.start + step) >> self.shift) - (self.start >> self.shift)


class Found(NamedTuple):
    """Sums by block and horizon, and by place and node; histograms, as far as they are counted; and dropped cells.

    Ranks are distinct rows (group, members below the truth, members equal to it) by horizon and by node, with counts.
    """

    by_horizon: Sums
    by_node: Sums
    dropped: int = 0
    pit: Ints | None = None
    node_pit: Ints | None = None
    spread: list[StdCells] | None = None
    excess: tuple[Floats, Floats] | None = None
    ranks: list[Rows] | None = None
    joint: Sums | None = None


def counted(
    batch: Batch,
    layout: Layout,
    blocks: Blocks,
    *,
    scale: Floats | None,
    weights: Floats | None,
    graph: Ints | None,
    by_node_pit: bool,
) -> Found:
    """Count a batch that has at least one cell; `graph` are pairs of nodes."""
    import torch

    # The kernel sums errors and Gaussian scores in one pass over the arrays as they are.
    by_kernel = layout.form in ("point", "gaussian") and layout.weights is None
    hides = batch.stored_null is not None or batch.nan == "omit"
    tables, seen, dropped = None, None, 0
    if not by_kernel or layout.scaled or layout.thresholds or _counts_spread(layout):
        tables = _Tables(batch, layout, blocks, scale, weights, graph, with_errors=not by_kernel)
    if by_kernel and hides:
        seen = torch.empty(batch.shape, dtype=torch.bool, device=batch.y.device)
    for rows, count in batch.slabs(blocks.start, blocks.shift) if tables is not None or hides else ():
        some, more = seen_cells(batch, rows)
        dropped = dropped + more
        if seen is not None:
            seen[rows] = some
        if tables is not None:
            tables.add(DeviceSlab.of(batch, rows, some), rows.start, count)
    found = None if tables is None else tables.found()
    if by_kernel:
        found = _with_kernel(found, _kernel_sums(batch, layout, blocks, seen, by_node_pit=by_node_pit))
    assert found is not None
    if "y2" in layout.floats:
        found = _with_steady_truths(batch, layout, blocks, weights, found)
    return found._replace(dropped=int(dropped))


def _with_steady_truths(batch: Batch, layout: Layout, blocks: Blocks, weights: Floats | None, found: Found) -> Found:
    """The same with the sums of truths that hardly vary, or not at all, in two floats, as on the host.

    They are the sums of distances from the mean, which are exact, moved back: y = c + d, y² = c² + 2cd + d².
    """
    import torch

    steps, _, nodes = batch.shape
    tables = found.by_horizon, found.by_node
    steady = [_steady(sums, layout) for sums in tables]
    if not any(some.any() for _, _, some in steady):
        return found
    device = batch.y.device
    numbers = torch.as_tensor(np.repeat(np.arange(len(blocks.places(steps))), np.diff(blocks.edges(steps)))).to(device)
    places = torch.as_tensor(blocks.places(steps)).to(device)[numbers]
    own = torch.ones(nodes, dtype=torch.float64) if weights is None else torch.as_tensor(weights)
    own = own.to(device)
    centres = [torch.as_tensor(centre).to(device) for _, centre, _ in steady]
    distances = [torch.zeros(2, *centre.shape, dtype=torch.float64, device=device) for centre in centres]
    for rows, _ in batch.slabs(blocks.start, blocks.shift):
        y, seen = truths(batch, rows), seen_cells(batch, rows)[0]
        for place, (group, centre, total) in enumerate(zip((numbers, places), centres, distances, strict=True)):
            index = group[rows]
            about = centre[index].unsqueeze(1 if place else 2)
            d = torch.where(seen, y - about, 0.0)
            for power, values in enumerate((d, d * d)):
                total[power].index_add_(0, index, values.sum(1) if place else values @ own)
    moved = [
        _moved_back(sums, layout, *known, *total.cpu().numpy())
        for sums, known, total in zip(tables, steady, distances, strict=True)
    ]
    return found._replace(by_horizon=moved[0], by_node=moved[1])


def _steady(sums: Sums, layout: Layout) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The cells of each group, or their weight; the mean of its truths; and whether they hardly vary."""
    n = sums.counts[..., 0].astype(float)
    if layout.weights is not None:
        n = sums.high[..., layout.column(weight_of("n"))]
    y, y2 = (sums.high[..., layout.column(name)] for name in ("y", "y2"))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        centre = np.where(n > 0, y / n, 0.0)
        return n, centre, (n > 0) & (y2 > 0) & (y2 - centre * y <= _STEADY * y2) & (y2 < _LARGE)


def _moved_back(
    sums: Sums, layout: Layout, n: Floats, centre: Floats, steady: NDArray[np.bool_], first: Floats, second: Floats
) -> Sums:
    n, centre, first, second = (each[steady] for each in (n, centre, first, second))
    moved, nothing = dd_times(n, 0.0, centre), np.zeros_like(n)
    y = dd_add(*moved, first, nothing)
    y2 = dd_add(*dd_add(*dd_times(*moved, centre), *dd_times(first, 0.0, 2 * centre)), second, nothing)
    high, low = sums.high.copy(), sums.low.copy()
    for name, pair in (("y", y), ("y2", y2)):
        column = layout.column(name)
        high[steady, column], low[steady, column] = two_sum(*pair)
    return Sums(high, low, sums.counts)


def _with_kernel(found: Found | None, kernel: CellSums) -> Found:
    """What was found slab by slab, behind the sums of the kernel."""
    if found is None:
        return Found(kernel.by_horizon, kernel.by_node, pit=kernel.pit, node_pit=kernel.node_pit)
    by_horizon, by_node = (
        joined_columns(pair) for pair in ((kernel.by_horizon, found.by_horizon), (kernel.by_node, found.by_node))
    )
    return found._replace(by_horizon=by_horizon, by_node=by_node, pit=kernel.pit, node_pit=kernel.node_pit)


def _counts_spread(layout: Layout) -> bool:
    return layout.form == "gaussian" and "bins" in layout.counted


def step_sums(batch: Batch, layout: Layout, weights: Floats | None) -> tuple[Found, NDArray[np.uint8]]:
    """What the layout counts, by time step, in float64; and which cells of each step count, as bits."""
    tables = _Tables(batch, layout, Blocks(0, 0, _ALL), None, weights, None, with_errors=True)
    seen = []
    for rows, count in batch.slabs(0, 0):
        some, _ = seen_cells(batch, rows)
        tables.add(DeviceSlab.of(batch, rows, some), rows.start, count)
        seen.append(packed(some.reshape(count, -1)).cpu().numpy())
    return tables.found(), np.concatenate(seen)


class _Tables:
    """The tables of a batch that are filled slab by slab."""

    def __init__(
        self,
        batch: Batch,
        layout: Layout,
        blocks: Blocks,
        scale: Floats | None,
        weights: Floats | None,
        graph: Ints | None,
        *,
        with_errors: bool,
    ) -> None:
        import torch

        steps, horizons, nodes = batch.shape
        device, places = batch.y.device, blocks.places(steps)
        self._layout, self._blocks, self._graph, self._with_errors = layout, blocks, graph, with_errors
        self._scale, own = (None if each is None else torch.as_tensor(each, device=device) for each in (scale, weights))
        self._places = torch.as_tensor(places, device=device)
        self._sums = ColumnSums(device, len(places), int(places[-1]) + 1, horizons, nodes, own)
        self._joint = ColumnSums(device, len(places), 1, horizons, 1)
        self._spread = SpreadTallies(len(places), horizons)
        self._ranks = Tallies(), Tallies()
        self._pit = torch.zeros(len(places), horizons, len(GRID) + 1, dtype=torch.int64, device=device)

    @property
    def _counts_ranks(self) -> bool:
        return self._layout.form == "samples" and "pit" in self._layout.counted

    @property
    def _counts_joint(self) -> bool:
        return self._layout.form == "samples" and not {"joint", "paths"}.isdisjoint(self._layout.counted)

    def add(self, slab: DeviceSlab, step: int, blocks: int) -> None:
        """Add the steps from `step` on, which are so many blocks, or a part of one."""
        import torch

        first = self._blocks.of(step)
        places = self._places[first : first + blocks]
        floats, counts = other_columns(slab, self._layout, self._scale)
        if self._with_errors:
            errors = error_columns(slab, self._layout)
            floats, counts = errors[0] + floats, errors[1] + counts
        self._sums.add(first, places, floats, counts)
        block = first + torch.arange(len(slab.y), device=slab.y.device) * blocks // len(slab.y)
        if _counts_spread(self._layout):
            self._spread.add(slab.y, slab.mean, slab.std, slab.seen, block)
        if self._counts_ranks:
            self._add_ranks(slab, block)
        if self._counts_joint:
            of_step = joint_columns(slab, self._layout, self._blocks.start + step, self._graph)
            self._joint.add(first, torch.zeros_like(places), *of_step)

    def _add_ranks(self, slab: DeviceSlab, block: Any) -> None:
        import torch

        less, equal = positions(slab.y, slab.members)
        _, horizons, nodes = slab.y.shape
        horizon, node = (
            torch.arange(size, device=slab.y.device).reshape(shape)
            for size, shape in ((horizons, (1, -1, 1)), (nodes, (1, 1, -1)))
        )
        side, size = self._layout.members + 1, len(GRID) + 1
        for tallies, group in zip(self._ranks, (horizon, node), strict=True):
            tallies.add((((group * side) + less) * side + equal)[slab.seen])
        bins = (2 * less + equal) * size // (2 * side)
        codes = (block.reshape(-1, 1, 1) * horizons + horizon) * size + bins
        self._pit += torch.bincount(codes[slab.seen], minlength=self._pit.numel()).reshape(self._pit.shape)

    def found(self) -> Found:
        spread, excess = self._spread.copied() if _counts_spread(self._layout) else (None, None)
        return Found(
            *self._sums.copied(),
            pit=self._pit.cpu().numpy() if self._counts_ranks else None,
            spread=spread,
            excess=excess,
            ranks=[self._rows(tallies) for tallies in self._ranks] if self._counts_ranks else None,
            joint=self._joint.copied()[0] if self._counts_joint else None,
        )

    def _rows(self, tallies: Tallies) -> Rows:
        found, side = tallies.copied(), self._layout.members + 1
        rest, equal = np.divmod(found.codes, side)
        return [*np.divmod(rest, side), equal], found.counts


def _kernel_sums(batch: Batch, layout: Layout, blocks: Blocks, seen: Any, *, by_node_pit: bool) -> CellSums:
    """The sums of point or Gaussian forecasts; those of channels one after the other, as they are stored."""
    gaussian = batch.std is not None
    steps, _, nodes = batch.shape
    arrays = [None if each is None else batch.views(each) for each in (batch.y, batch.mean, batch.std, batch.mask)]
    channels = len(batch.views(batch.y))
    if seen is not None:
        arrays[3] = list(seen.split(max(1, nodes // channels), 2))
    edges = gaussian_edges() if gaussian and "pit" in layout.counted else None
    asked = Asked(layout.kernel_parts, layout.half_widths if gaussian else (), edges, by_node_pit)
    parts = []
    for channel in range(channels):
        y, mean, std, mask = (None if each is None else each[channel] for each in arrays)
        given = y, mean, std, mask, blocks.edges(steps), blocks.places(steps), asked
        found = cell_sums(*given)
        if not np.isfinite(found.by_horizon.high).all():
            # A score may be beyond the range of float32.
            found = cell_sums(*given, wide=True)
        parts.append(found)
    found = parts[0] if channels == 1 else _of_channels(parts)
    if gaussian:
        return found
    return found._replace(by_horizon=found.by_horizon.some_counts(2), by_node=found.by_node.some_counts(2))


def _of_channels(parts: Sequence[CellSums]) -> CellSums:
    """The sums of channels, whose nodes follow each other."""
    by_horizon, by_node = ([getattr(part, name) for part in parts] for name in ("by_horizon", "by_node"))
    pit, node_pit = ([getattr(part, name) for part in parts] for name in ("pit", "node_pit"))
    return CellSums(
        Sums(*(np.sum([getattr(sums, name) for sums in by_horizon], axis=0) for name in ("high", "low", "counts"))),
        Sums(
            *(np.concatenate([getattr(sums, name) for sums in by_node], axis=1) for name in ("high", "low", "counts"))
        ),
        None if pit[0] is None else np.sum(pit, axis=0),
        None if node_pit[0] is None else np.concatenate(node_pit),
    )


def fine_cells(batch: Batch, slabs: Sequence[slice], keys: Sequence[Ints]) -> list[StdCells]:
    """As `spread.refined`: only distinct standard deviations next to the edges of bins are copied."""
    tallies = FineTallies(list(keys), batch.y.device)
    for rows in slabs:
        slab = DeviceSlab.of(batch, rows, seen_cells(batch, rows)[0])
        tallies.add(slab.y, slab.mean, slab.std, slab.seen)
    return tallies.copied()
