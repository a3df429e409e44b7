"""From a sample to all sums that an evaluation is computed from, of one sample or of many parts of it: they add up.

Point and Gaussian forecasts are summed in one compiled pass, everything else from columns of numbers per cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats
from graphgauge.forecasting import calibration
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.joint import Vectors, joint_table
from graphgauge.forecasting.labelled import names_of
from graphgauge.forecasting.reading import Extras
from graphgauge.forecasting.sample import Sample, loss_of
from graphgauge.forecasting.sums import Cells, Span, Table, beside, grouped, times

_COUNTS = ("n", "nonzero", "bad_std")
# Cells whose terms are computed one by one, at once.
_CELLS = 1 << 16
# Members that are sorted at once, which stay in the cache.
_TOGETHER = 1 << 16


@dataclass(frozen=True)
class Totals:
    """Tables of sums by name: by horizon and by node, of ranks of truths, of joint scores, by standard deviation.

    `cells` counts all cells, `dropped` those with NaN. The order in time may be unknown. `whole` is the sample, if
    there is one only.
    """

    design: Design
    tables: dict[str, Table]
    cells: int
    dropped: int
    ordered: bool = True
    labels: Mapping[str, AnyArray] = field(default_factory=dict)
    whole: Sample | None = None

    @classmethod
    def of(cls, sample: Sample, design: Design, extras: Extras, *, first: int = 0) -> Totals:
        """The totals of a sample whose first time step is number `first`."""
        by_horizon, by_node = sums_of(sample, design, first=first, weights=extras.weights, naive=extras.naive)
        tables = {"horizon": by_horizon, "node": by_node}
        if not design.weighted and design.form in ("gaussian", "samples") and "ranks" in design.parts:
            tables |= calibration.rank_tables(sample, design, first=first)
        if not design.weighted and design.form == "gaussian" and "bins" in design.parts:
            tables["spread"] = calibration.std_table(sample)
        if design.form == "samples" and "joint" in design.parts and sample.rows is None:
            tables["joint"] = joint_table(sample, first=first, edges=extras.edges)
        return cls(design, tables, sample.cells, sample.dropped, True, sample.labels, sample)

    def cells_by(self, axis: str | None) -> Cells:
        """The sums of all cells, or by horizon or node."""
        return Cells(self.design, self.tables[axis] if axis else self.tables["horizon"].pooled, self.ordered)

    def names(self, axis: str) -> AnyArray:
        """The labels of horizons, or of nodes: their own, or horizons from 1 and nodes from 0."""
        return names_of(self.labels.get(axis), axis, self.tables[axis].groups)

    def unordered(self) -> Totals:
        """The same without order in time."""
        tables = {name: each if name == "spread" else each.unordered() for name, each in self.tables.items()}
        return replace(self, tables=tables, ordered=False)

    def merged(self, other: Totals) -> Totals:
        """The totals of both parts."""
        one, two = (self, other) if self.ordered == other.ordered else (self.unordered(), other.unordered())
        return replace(
            one,
            tables={name: table.merged(two.tables[name]) for name, table in one.tables.items()},
            cells=one.cells + two.cells,
            dropped=one.dropped + two.dropped,
            labels=one.labels or two.labels,
            whole=None,
        )

    def samples(self, axis: str | None, bins: Sequence[calibration.Bins] | None) -> dict[str, Any]:
        """What metrics are computed on, by the names of their needs: over all cells, by horizon or by node.

        `bins` are those of `bins_of`.
        """
        design, cells = self.design, self.cells_by(axis)
        found: dict[str, Any] = dict.fromkeys(design.cell_samples, cells)
        if design.form == "quantiles" and not design.weighted:
            found["reliability"] = calibration.Reliability.from_quantiles(cells, axis)
        elif "ranks" in self.tables:
            found["reliability"] = calibration.Reliability.from_ranks(self.tables, cells, axis)
        if bins is not None and axis != "node":
            over_time = None
            if axis is None and self.whole is not None and bins[0].n.any():
                over_time = calibration.bins_over_time(
                    self.tables["spread"], len(bins[0].n), self.whole, cells.table.shift
                )
            found["spread"] = calibration.Spread.of(tuple(bins[1:] if axis else bins[:1]), cells, over_time)
        if "joint" in self.tables and axis != "node":
            joint = self.tables["joint"]
            vectors = Vectors(design, joint if axis else joint.pooled, self.ordered)
            found |= {"joint": vectors} | ({} if design.edges is None else {"pairs": vectors})
        return found

    def bins_of(self, number: int) -> list[calibration.Bins] | None:
        """Cells in bins of predicted standard deviation: of all, then of each horizon. None if they are not known."""
        return calibration.all_bins(self.tables["spread"], number, self.whole) if "spread" in self.tables else None


# ---- the sums by horizon and by node


def sums_of(
    sample: Sample, design: Design, *, first: int = 0, weights: Floats | None = None, naive: Floats | None = None
) -> tuple[Table, Table]:
    """The sums by horizon and by node of a sample whose first step is number `first`."""
    span = Span.of(sample.shape, first)
    fused = sample.rows is None and weights is None
    tables = [_error_tables(sample, design, span)] if fused else []
    if not fused or design.form in ("quantiles", "samples") or design.scores or design.scaled:
        parts = sample.each_part(lambda part: _column_tables(part, design, span, weights, naive, fused))
        tables.append(reduce(lambda one, two: (one[0].merged(two[0]), one[1].merged(two[1])), parts))
    by_horizon, by_node = (beside(*side) for side in zip(*tables, strict=True))
    _refuse_bad(by_horizon, sample)
    return by_horizon, by_node


# ---- point and Gaussian forecasts


def _error_tables(sample: Sample, design: Design, span: Span) -> tuple[Table, Table]:
    names, tables = quantities(design), []
    shifts, mosts = (span.shift, span.node_shift), (span.most, span.most_by_node)
    for sums, shift, most in zip(error_sums(sample, design, span), shifts, mosts, strict=True):
        high, low, counts = sums
        both = np.zeros((2, len(high), len(names), high.shape[2]))
        both[0, :, : high.shape[1]], both[1, :, : high.shape[1]], both[0, :, high.shape[1] :] = high, low, counts
        tables.append(Table(names, span.blocks(shift), shift, most, *both))
    return tables[0], tables[1]


def quantities(design: Design) -> tuple[str, ...]:
    """The names of the compiled sums and counts, in their order."""
    levels = [f"{level:g}" for level in design.half_widths]
    sums = [term for term in design.terms if term != "over"]
    over = [f"over_{level}" for level in levels] if "over" in design.terms else []
    return (*sums, *over, *_COUNTS, *(f"inside_{level}" for level in levels))


def error_sums(sample: Sample, design: Design, span: Span) -> Any:
    """The compiled sums by block and horizon, and by block and node: high parts, low parts and counts."""
    if sample.on_device:
        from graphgauge.forecasting.device import error_sums

        return error_sums(sample, design, span)
    mean = sample.y if sample.mean is None else sample.mean
    dtype = np.result_type(sample.y, mean)  # a mean of members is of float64

    def of(array: Any) -> Any:
        return None if array is None else array.astype(dtype, copy=False)

    return _core.error_sums(
        of(sample.y),
        of(mean),
        of(sample.std),
        sample.mask,
        design.asked,
        np.array(list(design.half_widths.values()), np.float64),
        span.first,
        1 << span.shift,
        1 << span.node_shift,
        threads=threads_for(sample.cells),
    )


# ---- everything else, from numbers of each cell


def _column_tables(
    part: Sample, design: Design, span: Span, weights: Floats | None, naive: Floats | None, fused: bool
) -> tuple[Table, Table]:
    """Tables of cells that count, given as rows."""
    rows = part.rows
    assert rows is not None
    columns = {} if fused else _errors_of_cells(part, design)
    columns |= _columns(part, design, naive)
    step = rows.step + span.first
    node = step >> span.node_shift, rows.node, design.nodes, span.node_shift, span.most_by_node
    horizon = step >> span.shift, rows.horizon, design.horizons, span.shift, span.most
    by_node = grouped(columns, *node, {} if fused else _lost(part))
    if weights is None:
        return grouped(columns, *horizon, {} if fused else _lost(part)), by_node
    of_cell = weights[rows.node]
    # The weighted counts divide; the cells are counted, too.
    counts = {f"{name}#": columns[name] for name in ("n", "nonzero", "scaled_n") if name in columns}
    weighted = {name: values * of_cell for name, values in columns.items()} | counts
    return grouped(weighted, *horizon, _lost(part, of_cell)), by_node


def _lost(part: Sample, weight: Floats | float = 1.0) -> dict[str, Floats]:
    """What rounding takes from truths and their squares: where their mean is far from 0 their variation is small.

    None is known of those near the largest float.
    """
    y = part.y.astype(np.float64)
    truth = y, np.zeros(len(y))
    pairs = {"y": times(*truth, weight), "y2": times(*times(*truth, y), weight)}
    return {name: np.where(np.isfinite(low), low, 0.0) for name, (_, low) in pairs.items()}


def _errors_of_cells(part: Sample, design: Design) -> dict[str, Floats]:
    """What each cell adds to the compiled sums: each is a block of its own."""
    names, n = quantities(design), part.cells
    values = np.empty((len(names), n))
    for first in range(0, n, _CELLS):
        some = slice(first, first + _CELLS)
        size = min(n - first, _CELLS)
        arrays = {
            name: part.arrays[name][some].reshape(size, 1, 1)
            for name in ("y_true", "y_pred", "std")
            if name in part.arrays
        }
        few = Sample((size, 1, 1), arrays)
        (high, low, counts), _ = error_sums(few, design, Span(0, size, 0, 0, size, size))
        values[:, some] = np.concatenate([high + low, counts], axis=1)[..., 0].T
    return dict(zip(names, values, strict=True))


def _columns(part: Sample, design: Design, naive: Floats | None) -> dict[str, AnyArray]:
    """What each cell adds to sums that no compiled loop makes."""
    columns: dict[str, Any] = {f"score_{name}": part.arrays[loss_of(name)] for name in part.scores}
    ends: Mapping[float, tuple[Floats, Floats]] = {}
    y = part.y.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        if design.form == "quantiles":
            quantiles = part.arrays["quantiles"].astype(np.float64)
            away = y[:, np.newaxis] - quantiles
            share = np.array(part.levels)
            loss = np.maximum(share * away, (share - 1) * away)
            for place, level in enumerate(part.levels):
                columns[f"pinball_{level:g}"] = loss[:, place]
                columns[f"below_{level:g}"] = away[:, place] <= 0
            columns["crossing"] = (np.diff(quantiles, axis=1) < 0).any(axis=1)
            ends = {level: (quantiles[:, at[0]], quantiles[:, at[1]]) for level, at in design.bounded.items() if at}
        elif design.form == "samples":
            columns["crps"], columns["crps_fair"], ends = ensemble_scores(part, design.bounded)
        elif part.std is not None and "msis" in design.parts and naive is not None:
            mean, std = part.mean.astype(np.float64), part.std.astype(np.float64)
            ends = {level: (mean - z * std, mean + z * std) for level, z in design.half_widths.items()}
        scores = {}
        for level, (low, high) in ends.items():
            outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
            scores[level] = (high - low) + 2 / (1 - level) * outside
            if design.form != "gaussian":
                columns[f"inside_{level:g}"] = (low <= y) & (y <= high)
                columns[f"width_{level:g}"], columns[f"over_{level:g}"] = high - low, outside
        if naive is not None:
            assert part.rows is not None
            columns |= _scaled(part, naive[:, part.rows.node], scores if "msis" in design.parts else {})
    return columns


def _scaled(part: Sample, naive: Floats, scores: Mapping[float, Floats]) -> dict[str, AnyArray]:
    """Errors and interval scores over the naive error of the node's history; nodes without one are left out."""
    known = (naive[0] > 0) & np.isfinite(naive[0])
    by, by_square = np.where(known, naive[0], 1.0), np.where(known & (naive[1] > 0), naive[1], 1.0)

    def over(values: Floats, by: Floats) -> Floats:
        return np.where(known, values / by, 0.0)

    size = np.abs(part.y.astype(np.float64))
    columns: dict[str, Any] = {"scaled_n": known, "zero_abs": over(size, by), "zero_square": over(size**2, by_square)}
    if part.mean is not None:
        error = part.mean.astype(np.float64) - part.y
        columns |= {"scaled": over(np.abs(error), by), "scaled_square": over(error * error, by_square)}
    return columns | {f"msis_{level:g}": over(score, by) for level, score in scores.items()}


def ensemble_scores(part: Sample, levels: Iterable[float]) -> tuple[Floats, Floats, dict[float, tuple[Floats, Floats]]]:
    """The CRPS of each cell's members as they are, and as draws (fair); the ends of the central intervals.

    The mean distance of a member to the truth less half the mean distance of two members: of any two, or of two
    different ones (Ferro 2014). The ends of an interval are at places p·(m + 1) among the m sorted members: a truth
    that is exchangeable with them is between with that probability, for any m.
    """
    assert part.members is not None
    y, drawn, known = part.y, part.members, list(levels)
    cells, members = drawn.shape
    shares = [(1 + side * level) / 2 for level in known for side in (-1, 1)]
    places = np.array([min(max(share * (members + 1) - 1, 0.0), members - 1.0) for share in shares])
    before = np.minimum((places + 1e-9).astype(np.int64), members - 2)
    away, apart, ends = np.empty(cells), np.empty(cells), np.empty((len(places), cells))
    factors = 2.0 * np.arange(members) - (members - 1)  # how many are below a member less how many are above

    step = max(1, _TOGETHER // members)
    for start in range(0, cells, step):
        block = slice(start, start + step)
        rising = np.sort(drawn[block], axis=1).astype(np.float64, copy=False)
        for number, (place, at) in enumerate(zip(places, before, strict=True)):
            ends[number, block] = rising[:, at] + (place - at) * (rising[:, at + 1] - rising[:, at])
        rising -= y[block, None]
        np.einsum("ij,j->i", rising, factors, out=apart[block])
        np.einsum("ij->i", np.abs(rising, out=rising), out=away[block])

    away /= members
    fair = away - apart / (members * (members - 1))
    return away - apart / members**2, fair, {level: (ends[2 * at], ends[2 * at + 1]) for at, level in enumerate(known)}


# ---- refusals


def _refuse_bad(table: Table, sample: Sample) -> None:
    """Refuse sums that are NaN or infinite, and squares that vanish; the cell is named."""
    fine = bool(np.isfinite(table.high).all())
    if not fine or ("bad_std" in table.names and table.series("bad_std").any()):
        sample.refuse_bad_values()
    n, away = float(table.total("n").sum()), float(table.total("abs").sum())
    if sample.mean is not None and 0 < away < 1e-153 * n:
        raise InputError("errors so small that their squares vanish", where="y_pred", fix="Rescale the data.")
