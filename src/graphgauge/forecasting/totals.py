"""Everything that an evaluation is computed from, of one sample or of many parts of it: it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphgauge.core.types import AnyArray
from graphgauge.forecasting.calibration import Reliability, Spread
from graphgauge.forecasting.cells import Cells
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.joint import Vectors, joint_table
from graphgauge.forecasting.measure import Sums, measure
from graphgauge.forecasting.nodes import Extras
from graphgauge.forecasting.positions import Positions, positions
from graphgauge.forecasting.reading import names_of
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.spread import Bins, StdCells, all_bins, joined, std_cells
from graphgauge.forecasting.sums import MOST_BLOCKS, Table


@dataclass(frozen=True)
class Totals:
    """Sums, positions of truths, standard deviations and joint scores; `ordered` if the order in time is known.

    `cells` counts all cells, `dropped` those with NaN. `whole` is the sample, if there is one only.
    """

    sums: Sums
    cells: int
    dropped: int
    ordered: bool = True
    positions: Positions | None = None
    spread: tuple[StdCells, ...] | None = None
    joint: Table | None = None
    labels: dict[str, AnyArray] = field(default_factory=dict)
    whole: Sample | None = None

    @classmethod
    def of(cls, sample: Sample, design: Design, extras: Extras, *, first: int = 0) -> Totals:
        """The totals of a sample whose first time step is number `first`."""
        sums = measure(sample, design, first=first, weights=extras.weights, naive=extras.naive)
        calibrated = not design.weighted and design.form != "point"
        counted = calibrated and design.form != "quantiles"
        joint = design.form == "samples" and "joint" in design.parts and sample.rows is None
        return cls(
            sums,
            sample.cells,
            sample.dropped,
            True,
            positions(sample, design, first=first) if counted else None,
            std_cells(sample) if calibrated and design.form == "gaussian" and "bins" in design.parts else None,
            joint_table(sample, first=first, edges=extras.edges) if joint else None,
            dict(sample.labels),
            sample,
        )

    @property
    def design(self) -> Design:
        return self.sums.design

    def names(self, axis: str) -> AnyArray:
        """The labels of horizons, or of nodes: their own, or horizons from 1 and nodes from 0."""
        return names_of(self.labels.get(axis), axis, getattr(self.design, f"{axis}s"))

    def unordered(self) -> Totals:
        """The same without order in time."""
        sums = replace(self.sums, by_horizon=self.sums.by_horizon.unordered(), by_node=self.sums.by_node.unordered())
        counted = None
        if self.positions is not None:
            counted = replace(self.positions, by_block=self.positions.by_block.unordered())
        joint = None if self.joint is None else self.joint.unordered()
        return replace(self, sums=sums, positions=counted, joint=joint, ordered=False)

    def merged(self, other: Totals) -> Totals:
        """The totals of both parts."""
        one, two = (self, other) if self.ordered == other.ordered else (self.unordered(), other.unordered())
        found: dict[str, Any] = {}
        if one.positions is not None and two.positions is not None:
            found["positions"] = one.positions.merged(two.positions)
        if one.spread is not None and two.spread is not None:
            found["spread"] = tuple(map(joined, zip(one.spread, two.spread, strict=True)))
        if one.joint is not None and two.joint is not None:
            found["joint"] = one.joint.merged(two.joint, MOST_BLOCKS)
        return replace(
            one,
            sums=one.sums.merged(two.sums),
            cells=one.cells + two.cells,
            dropped=one.dropped + two.dropped,
            labels=one.labels or two.labels,
            whole=None,
            **found,
        )

    def samples(self, axis: str | None, bins: Sequence[Bins] | None) -> dict[str, Any]:
        """What metrics are computed on, by the names of their needs: over all cells, by horizon or by node.

        `bins` are those of `bins_of`.
        """
        design = self.design
        table = self.sums.by_node if axis == "node" else self.sums.by_horizon
        cells = Cells(design, table.pooled() if axis is None else table, self.ordered)
        found: dict[str, Any] = dict.fromkeys(design.cell_samples, cells)
        if design.form == "quantiles" and not design.weighted:
            found["reliability"] = Reliability.from_quantiles(cells, axis)
        elif self.positions is not None:
            found["reliability"] = Reliability.from_positions(self.positions, cells, axis)
        if bins is not None and axis != "node":
            found["spread"] = Spread.of(tuple(bins[1:] if axis else bins[:1]), self.whole is not None, cells)
        if self.joint is not None and axis != "node":
            vectors = Vectors(design, self.joint if axis else self.joint.pooled(), self.ordered)
            found |= {"joint": vectors} | ({} if design.edges is None else {"pairs": vectors})
        return found

    def bins_of(self, number: int) -> list[Bins] | None:
        """Cells in bins of predicted standard deviation: of all, then of each horizon. None if they are not known."""
        return None if self.spread is None else all_bins(self.spread, number, self.whole)
