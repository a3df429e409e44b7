"""The sums and histograms of a forecasting state, counted slab by slab."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.threads import default_threads
from graphgauge.forecasting.device_counts import Blocks, counted
from graphgauge.forecasting.inputs import Batch, Slab
from graphgauge.forecasting.joint import JointLayout, joint_sums
from graphgauge.forecasting.measures import GRID, Layout, gaussian_edges, measured
from graphgauge.forecasting.spread import joined, nothing
from graphgauge.forecasting.sums import BlockSums
from graphgauge.kernels.forecast import Sums
from graphgauge.kernels.forecast_calibration import SPREAD_KEYS, StdCells, pit_counts, spread_by_block, std_cells
from graphgauge.kernels.histogram import Histogram
from graphgauge.kernels.jit import expect
from graphgauge.kernels.threads import map_blocks


class _Histograms(NamedTuple):
    """The histograms of a slab: positions of truths and errors by spread, both by time block too, and ranks."""

    pit: Ints | None = None
    spread: list[StdCells] | None = None
    excess: tuple[Floats, Floats] | None = None
    ranks: list[list[Ints]] | None = None
    joint: Sums | None = None


class SlabSums:
    """What a `ForecastState` has counted: allocated for a layout, filled from batches and rows, and added up.

    The state checks what it is given; here, batches fit to the layout.
    """

    layout: Layout | None
    scale: Floats | None
    weights: Floats | None
    graph: Any
    spread: list[StdCells]
    cells: int
    dropped: int
    ordered: bool
    placed: bool
    omits: bool
    point: str

    def _allocate(self, layout: Layout) -> None:
        self.layout = layout
        columns = len(layout.floats), len(layout.counts)
        self.by_horizon = BlockSums(layout.horizons, *columns)
        # A slab is within one block of the horizons, and so within one of the nodes.
        self.by_node = BlockSums(layout.nodes, *columns, self.by_horizon.most)
        most, gaussian = self.by_horizon.most, layout.form == "gaussian"
        places = len(GRID) + 1 if "pit" in layout.counted else 0
        # Over time, so that calibration can be judged although truths depend on each other.
        self.pit = BlockSums(layout.horizons, 0, places * (gaussian or layout.form == "samples"), most)
        self.excess = BlockSums(1, SPREAD_KEYS * (gaussian and "bins" in layout.counted), 0, most)
        self.node_pit: Ints = np.zeros((layout.nodes, places * gaussian), np.int64)
        self.joint_layout = JointLayout(layout.members)
        joint = len(self.joint_layout.floats), len(self.joint_layout.counts)
        self.joint = BlockSums(layout.horizons, *(joint if self._counts_joint else (0, 0)), most)
        self.spread = [nothing() for _ in range(layout.horizons)]
        self.ranks = [Histogram(3) for _ in range(2)]

    @property
    def _tables(self) -> tuple[BlockSums, ...]:
        return self.by_horizon, self.by_node, self.pit, self.excess, self.joint

    @property
    def _only_sums(self) -> bool:
        """Whether all that is counted are sums of the kernel, which need no memory per cell."""
        assert self.layout is not None
        plain = self.layout.form in ("point", "gaussian", "quantiles")
        return plain and self.scale is None and self.weights is None and not self._has_histograms

    @property
    def _has_histograms(self) -> bool:
        assert self.layout is not None
        return self.layout.form == "gaussian" and not {"pit", "bins"}.isdisjoint(self.layout.counted)

    @property
    def _counts_joint(self) -> bool:
        layout = self.layout
        return layout is not None and layout.form == "samples" and "joint" in layout.counted

    def _count(self, batch: Batch, start: int, threads: int | None) -> None:
        assert self.layout is not None
        steps = batch.shape[0]
        for sums in self._tables:
            sums.reserve(start, steps)
        if batch.on_device:
            if self._counted_on_device(batch, start):
                return
            batch = batch.on_host()
        slabs = list(batch.slabs(start, self.by_horizon.shift, batch.in_place and self._only_sums))
        expect(batch.y.size * (8 if batch.form == "gaussian" else 2))
        together = 2 * (threads or default_threads())
        # Counts by node take much room if there are many: each thread adds to one table, not each slab.
        tables: list[NDArray[np.int32]] = []
        for some in range(0, len(slabs), together):
            part = slabs[some : some + together]
            answers = map_blocks(lambda piece: self._measured(batch, start, *piece, tables), part, threads=threads)
            for (rows, _), (horizon, node, histograms, dropped) in zip(part, answers, strict=True):
                self._add(start + rows.start, rows.stop - rows.start, horizon, node, histograms)
                self.dropped += dropped
            # Once for several slabs, because joining sorts.
            spread = [histograms.spread for _, _, histograms, _ in answers if histograms.spread is not None]
            if spread:
                self.spread = [joined(cells) for cells in zip(self.spread, *spread, strict=True)]
        for table in tables:
            self.node_pit += table

    def _measured(
        self, batch: Batch, start: int, rows: slice, blocks: int, tables: list[NDArray[np.int32]]
    ) -> tuple[Sums, Sums, _Histograms, int]:
        assert self.layout is not None
        slab = batch.slab(rows)
        numbers = ((start + rows.start) >> self.by_horizon.shift) + np.arange(blocks)
        place = numbers >> (self.by_node.shift - self.by_horizon.shift)
        sums = measured(slab, self.layout, blocks, self.scale, place - place[0], self.weights)
        self._require_sound(batch, sums[0])
        more = self._histograms(slab, blocks, tables)
        if self._counts_joint:
            pairs = None if self.graph is None else self.graph.pairs
            more = more._replace(joint=joint_sums(slab, blocks, start + rows.start, pairs))
        return *sums, more, slab.dropped

    def _require_sound(self, batch: Batch, sums: Sums) -> None:
        """Search for invalid values only if the sums show that there are some."""
        assert self.layout is not None
        if not np.isfinite(sums.high).all() or (self.layout.form == "gaussian" and sums.counts[..., 2].any()):
            batch.refuse_bad_values()

    def _histograms(self, slab: Slab, blocks: int, tables: list[NDArray[np.int32]]) -> _Histograms:
        assert self.layout is not None
        pit = spread = excess = None
        ranks: list[list[Ints]] | None = None
        if slab.std is not None and "pit" in self.layout.counted:
            try:
                by_node = tables.pop()
            except IndexError:
                by_node = np.zeros((slab.y.shape[2], len(GRID) + 1), np.int32)
            pit, _ = pit_counts(
                slab.y, slab.mean, slab.std, slab.mask, edges=gaussian_edges(), blocks=blocks, by_node=by_node
            )
            tables.append(by_node)
        if slab.std is not None and "bins" in self.layout.counted:
            spread = std_cells(slab.y, slab.mean, slab.std, slab.mask)
            excess = spread_by_block(slab.y, slab.mean, slab.std, slab.mask, blocks=blocks)
        if slab.members is not None and "pit" in self.layout.counted:
            step, horizon, node = np.nonzero(slab.counted)
            members, truth = slab.members[slab.counted], slab.y[slab.counted][:, np.newaxis]
            less, equal = ((members < truth).sum(axis=1), (members == truth).sum(axis=1))
            ranks = [[group, less.astype(np.int64), equal.astype(np.int64)] for group in (horizon, node)]
            shape = blocks, self.layout.horizons, len(GRID) + 1
            bins = (2 * less + equal) * shape[2] // (2 * (self.layout.members + 1))
            place = (step * blocks // len(slab.y) * shape[1] + horizon) * shape[2] + bins
            pit = np.bincount(place, minlength=prod(shape)).reshape(shape)
        return _Histograms(pit, spread, excess, ranks)

    def _add(self, step: int, steps: int, horizon: Sums, node: Sums, more: _Histograms) -> None:
        assert self.layout is not None
        block = step >> self.by_horizon.shift
        self.by_horizon.add_blocks(block, horizon)
        self.by_node.add_blocks(step >> self.by_node.shift, node)
        self._add_histograms(block, more)
        self.cells += steps * self.layout.horizons * self.layout.nodes

    def _add_histograms(self, block: int, more: _Histograms) -> None:
        if more.pit is not None:
            self.pit.add_blocks(block, _only_counts(more.pit))
        if more.excess is not None:
            self.excess.add_blocks(block, _only_sums(more.excess))
        if more.joint is not None:
            self.joint.add_blocks(block, more.joint)
        if more.ranks is not None:
            for known, rows in zip(self.ranks, more.ranks, strict=True):
                known.add(rows)

    def _counted_on_device(self, batch: Batch, start: int) -> bool:
        """Count tensors on their device, if all that is counted are sums and percentiles that it computes."""
        layout = self.layout
        assert layout is not None
        counts_spread = layout.form == "gaussian" and "bins" in layout.counted
        if counts_spread or self.scale is not None or self.weights is not None or not prod(batch.shape):
            return False
        found = counted(batch, layout, Blocks(start, self.by_horizon.shift, self.by_node.shift - self.by_horizon.shift))
        if found is None:
            return False
        sums, dropped = found
        self._require_sound(batch, sums.by_horizon)
        self._add(start, batch.shape[0], sums.by_horizon, sums.by_node, _Histograms(sums.pit))
        if sums.node_pit is not None:
            self.node_pit += sums.node_pit
        self.dropped += dropped
        return True

    def _adopt(self, other: SlabSums) -> None:
        """Take the sums of another state, which may go on counting."""
        self.layout, self.joint_layout = other.layout, other.joint_layout
        self.by_horizon, self.by_node, self.pit, self.excess, self.joint = (table.copy() for table in other._tables)
        for table in self._tables if not other.ordered else ():
            table.collapse()
        self.node_pit, self.spread = other.node_pit.copy(), list(other.spread)
        self.ranks = [Histogram(3) for _ in other.ranks]
        for known, more in zip(self.ranks, other.ranks, strict=True):
            known.add(*more.cells())
        self.ordered, self.placed, self.point, self.omits = other.ordered, other.placed, other.point, other.omits

    def _add_sums(self, other: SlabSums) -> None:
        for mine, theirs in zip(self._tables, other._tables, strict=True):
            if not self.ordered:
                mine.collapse()
                theirs = theirs.copy()
                theirs.collapse()
            mine.merge(theirs)
        if self.node_pit.size:
            self.node_pit = self.node_pit + other.node_pit
        if any(len(cells.key) for cells in other.spread):
            self.spread = [joined(pair) for pair in zip(self.spread, other.spread, strict=True)]
        for known, more in zip(self.ranks, other.ranks, strict=True):
            known.add(*more.cells())


def _only_counts(counts: Ints) -> Sums:
    nothing = np.zeros((*counts.shape[:2], 0))
    return Sums(nothing, nothing, counts)


def _only_sums(pair: tuple[Floats, Floats]) -> Sums:
    high, low = (table[:, np.newaxis] for table in pair)
    return Sums(high, low, np.zeros((len(high), 1, 0), np.int64))
