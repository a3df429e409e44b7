"""Everything that an evaluation is computed from, of one sample or of many parts of it: it adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphgauge.core.types import AnyArray
from graphgauge.forecasting.calibration import Bins, Reliability, Spread, all_bins, bins_over_time, std_table
from graphgauge.forecasting.cells import Cells
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.joint import Vectors, joint_table
from graphgauge.forecasting.measure import measure
from graphgauge.forecasting.nodes import Extras
from graphgauge.forecasting.ranks import rank_tables
from graphgauge.forecasting.reading import names_of
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Table


@dataclass(frozen=True)
class Totals:
    """Tables of sums by name: by horizon and by node, of ranks of truths, of joint scores; and by standard deviation.

    `cells` counts all cells, `dropped` those with NaN. The order in time may be unknown. `whole` is the sample, if
    there is one only.
    """

    design: Design
    tables: dict[str, Table]
    spread: Table | None
    cells: int
    dropped: int
    ordered: bool = True
    labels: Mapping[str, AnyArray] = field(default_factory=dict)
    whole: Sample | None = None

    @classmethod
    def of(cls, sample: Sample, design: Design, extras: Extras, *, first: int = 0) -> Totals:
        """The totals of a sample whose first time step is number `first`."""
        by_horizon, by_node = measure(sample, design, first=first, weights=extras.weights, naive=extras.naive)
        tables, spread = {"horizon": by_horizon, "node": by_node}, None
        if not design.weighted and design.form in ("gaussian", "samples") and "ranks" in design.parts:
            tables |= rank_tables(sample, design, first=first)
        if not design.weighted and design.form == "gaussian" and "bins" in design.parts:
            spread = std_table(sample)
        if design.form == "samples" and "joint" in design.parts and sample.rows is None:
            tables["joint"] = joint_table(sample, first=first, edges=extras.edges)
        return cls(design, tables, spread, sample.cells, sample.dropped, True, sample.labels, sample)

    def cells_by(self, axis: str | None) -> Cells:
        """The sums of all cells, or by horizon or node."""
        return Cells(self.design, self.tables[axis] if axis else self.tables["horizon"].pooled, self.ordered)

    def names(self, axis: str) -> AnyArray:
        """The labels of horizons, or of nodes: their own, or horizons from 1 and nodes from 0."""
        return names_of(self.labels.get(axis), axis, self.tables[axis].groups)

    def unordered(self) -> Totals:
        """The same without order in time."""
        tables = {name: table.unordered() for name, table in self.tables.items()}
        return replace(self, tables=tables, ordered=False)

    def merged(self, other: Totals) -> Totals:
        """The totals of both parts."""
        one, two = (self, other) if self.ordered == other.ordered else (self.unordered(), other.unordered())
        return replace(
            one,
            tables={name: table.merged(two.tables[name]) for name, table in one.tables.items()},
            spread=None if one.spread is None or two.spread is None else one.spread.merged(two.spread),
            cells=one.cells + two.cells,
            dropped=one.dropped + two.dropped,
            labels=one.labels or two.labels,
            whole=None,
        )

    def samples(self, axis: str | None, bins: Sequence[Bins] | None) -> dict[str, Any]:
        """What metrics are computed on, by the names of their needs: over all cells, by horizon or by node.

        `bins` are those of `bins_of`.
        """
        design, cells = self.design, self.cells_by(axis)
        found: dict[str, Any] = dict.fromkeys(design.cell_samples, cells)
        if design.form == "quantiles" and not design.weighted:
            found["reliability"] = Reliability.from_quantiles(cells, axis)
        elif "ranks" in self.tables:
            found["reliability"] = Reliability.from_ranks(self.tables, cells, axis)
        if bins is not None and axis != "node":
            assert self.spread is not None
            over_time = None
            if axis is None and self.whole is not None and bins[0].n.any():
                over_time = bins_over_time(self.spread, len(bins[0].n), self.whole, cells.table.shift)
            found["spread"] = Spread.of(tuple(bins[1:] if axis else bins[:1]), cells, over_time)
        if "joint" in self.tables and axis != "node":
            joint = self.tables["joint"]
            vectors = Vectors(design, joint if axis else joint.pooled, self.ordered)
            found |= {"joint": vectors} | ({} if design.edges is None else {"pairs": vectors})
        return found

    def bins_of(self, number: int) -> list[Bins] | None:
        """Cells in bins of predicted standard deviation: of all, then of each horizon. None if they are not known."""
        return None if self.spread is None else all_bins(self.spread, number, self.whole)
