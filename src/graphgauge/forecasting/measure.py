"""From a sample to sums: of point and Gaussian forecasts in one compiled pass, of everything else from its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import FEW_BLOCKS, Table, beside, grouped, most_blocks, shift_for, time_blocks

_COUNTS = ("n", "nonzero", "bad_std")
# Cells whose terms are computed one by one, at once.
_CELLS = 1 << 16


@dataclass(frozen=True)
class Sums:
    """All that metrics are computed from: sums by horizon and by node. They add up."""

    design: Design
    by_horizon: Table
    by_node: Table

    def merged(self, other: Sums) -> Sums:
        """The sums of both parts, in their order in time."""
        horizons, nodes = self.design.horizons, self.design.nodes
        most = time_blocks(horizons, nodes), most_blocks(nodes, FEW_BLOCKS)
        by_horizon, by_node = (
            self.by_horizon.merged(other.by_horizon, most[0]),
            self.by_node.merged(other.by_node, most[1]),
        )
        return replace(self, by_horizon=by_horizon, by_node=by_node)


@dataclass(frozen=True)
class Frame:
    """Where in time a sample is: the first step, and the length of blocks by horizon and by node, as powers of 2."""

    first: int
    shift: int
    node_shift: int

    @classmethod
    def of(cls, sample: Sample, first: int) -> Frame:
        steps, horizons, nodes = sample.shape
        shift = shift_for(first, steps, time_blocks(horizons, nodes))
        return cls(first, shift, max(shift, shift_for(first, steps, most_blocks(nodes, FEW_BLOCKS))))

    def pieces(self, steps: int) -> Iterator[tuple[slice, Ints]]:
        """Steps in whole blocks, or in part of one, with the numbers of these blocks."""
        length, step = 1 << self.shift, 0
        while step < steps:
            block = (self.first + step) >> self.shift
            to_edge = length - (self.first + step) % length
            whole = (steps - step) // length if to_edge == length else 0
            size = whole * length or min(to_edge, steps - step)
            yield slice(step, step + size), np.arange(block, block + max(whole, 1))
            step += size


def measure(
    sample: Sample, design: Design, *, first: int = 0, weights: Floats | None = None, naive: Floats | None = None
) -> Sums:
    """The sums of a sample whose first step is number `first`."""
    frame = Frame.of(sample, first)
    fused = sample.rows is None and weights is None
    tables = []
    if fused:
        tables.append(_error_tables(sample, design, frame))
    if not fused or design.form in ("quantiles", "samples") or design.scores or design.scaled:
        parts = [_column_tables(part, design, frame, weights, naive, fused) for part in sample.counted()]
        tables.append(
            tuple(
                reduce(lambda one, two: one.merged(two, len(one) + len(two)), side) for side in zip(*parts, strict=True)
            )
        )
    by_horizon, by_node = (_joined(side) for side in zip(*tables, strict=True))
    sums = Sums(design, by_horizon, by_node)
    _refuse_bad(sums, sample)
    return sums


def _joined(tables: tuple[Table, ...]) -> Table:
    """Tables of one sample with all their quantities; blocks that have no cells are in none of them."""
    first, *others = tables
    spread = [each if np.array_equal(each.at, first.at) else _at(each, first) for each in others]
    return beside(first, *spread)


def _at(table: Table, other: Table) -> Table:
    place = np.searchsorted(other.at, table.at)
    high, low = np.zeros((2, len(other), len(table.names), table.groups))
    high[place], low[place] = table.high, table.low
    return replace(table, at=other.at, high=high, low=low)


# ---- point and Gaussian forecasts


def _error_tables(sample: Sample, design: Design, frame: Frame) -> tuple[Table, Table]:
    if sample.on_device:
        from graphgauge.forecasting.device import kernel
    else:
        kernel = _kernel
    steps, horizons, nodes = sample.shape
    names = quantities(design)
    sides: list[list[Table]] = [[Table.empty(names, horizons)], [Table.empty(names, nodes)]]
    for piece, blocks in frame.pieces(steps):
        part = sample if piece == slice(0, steps) else sample.steps(piece)
        node_blocks = blocks >> (frame.node_shift - frame.shift)
        place, node_blocks = node_blocks - node_blocks[0], np.arange(node_blocks[0], node_blocks[-1] + 1)
        shape = (len(blocks), part.shape[0] // len(blocks), horizons, nodes)
        totals = kernel(part, design, shape, place)
        for side, at, shift, (high, low, counts) in zip(
            sides, (blocks, node_blocks), (frame.shift, frame.node_shift), totals, strict=True
        ):
            whole = counts.astype(np.float64)
            parts = np.concatenate([high, whole], axis=1), np.concatenate([low, np.zeros(whole.shape)], axis=1)
            side.append(Table(names, at, shift, *parts))
    by_horizon, by_node = (
        parts[1] if len(parts) == 2 else reduce(lambda one, two: one.merged(two, 1 << 62), parts) for parts in sides
    )
    return by_horizon, by_node


def quantities(design: Design) -> tuple[str, ...]:
    """The names of the compiled sums and counts, in their order."""
    levels = [f"{level:g}" for level in design.half_widths]
    sums = [term for term in design.terms if term != "over"]
    over = [f"over_{level}" for level in levels] if "over" in design.terms else []
    return (*sums, *over, *_COUNTS, *(f"inside_{level}" for level in levels))


def _kernel(sample: Sample, design: Design, shape: tuple[int, ...], place: Ints, threads: int | None = None) -> Any:
    mean = sample.y if sample.mean is None else sample.mean
    dtype = np.result_type(sample.y, mean)  # a mean of members is of float64

    def part(array: Any) -> Any:
        return None if array is None else array.astype(dtype, copy=False).reshape(shape)

    return _core.error_sums(
        part(sample.y),
        part(mean),
        part(sample.std),
        None if sample.mask is None else sample.mask.reshape(shape),
        design.asked,
        np.array(list(design.half_widths.values()), np.float64),
        place.astype(np.int64),
        threads=threads or threads_for(sample.cells),
    )


# ---- everything else, from numbers of each cell


def _column_tables(
    part: Sample, design: Design, frame: Frame, weights: Floats | None, naive: Floats | None, fused: bool
) -> tuple[Table, Table]:
    """Tables of cells that count, given as rows."""
    rows = part.rows
    assert rows is not None
    columns = {} if fused else _errors_of_cells(part, design)
    columns |= _columns(part, design, naive)
    step = rows.step + frame.first
    by_node = grouped(columns, step >> frame.node_shift, rows.node, design.nodes, frame.node_shift)
    if weights is not None:
        of_cell = weights[rows.node]
        # The weighted counts divide; the cells are counted, too.
        counts = {f"{name}#": columns[name] for name in ("n", "nonzero", "scaled_n") if name in columns}
        columns = {name: values * of_cell for name, values in columns.items()} | counts
    return grouped(columns, step >> frame.shift, rows.horizon, design.horizons, frame.shift), by_node


def _errors_of_cells(part: Sample, design: Design) -> dict[str, Floats]:
    """What each cell adds to the compiled sums: each is a block of its own."""
    names, n = quantities(design), part.cells
    values = np.empty((len(names), n))
    for first in range(0, n, _CELLS):
        some = slice(first, first + _CELLS)
        size = min(n - first, _CELLS)
        y, mean, std = (None if each is None else each[some] for each in (part.y, part.mean, part.std))
        few, place = Sample((size, 1, 1), y, mean, std), np.zeros(size, np.int64)
        (high, low, counts), _ = _kernel(few, design, (size, 1, 1, 1), place, threads=1)
        values[:, some] = np.concatenate([high + low, counts], axis=1)[..., 0].T
    return dict(zip(names, values, strict=True))


def _columns(part: Sample, design: Design, naive: Floats | None) -> dict[str, AnyArray]:
    """What each cell adds to sums that no compiled loop makes."""
    columns: dict[str, Any] = {f"score_{name}": values for name, values in part.scores.items()}
    ends: Mapping[float, tuple[Floats, Floats]] = {}
    y = part.y.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        if part.quantiles is not None:
            quantiles = part.quantiles.astype(np.float64)
            away = y[:, np.newaxis] - quantiles
            share = np.array(part.levels)
            loss = np.maximum(share * away, (share - 1) * away)
            for place, level in enumerate(part.levels):
                columns[f"pinball_{level:g}"] = loss[:, place]
                columns[f"below_{level:g}"] = away[:, place] <= 0
            columns["crossing"] = (np.diff(quantiles, axis=1) < 0).any(axis=1)
            ends = {
                level: (quantiles[:, at[0]], quantiles[:, at[1]])
                for level, at in design.bounded.items()
                if at is not None
            }
        elif part.members is not None:
            ordered = np.sort(part.members, axis=1)
            if "crps" in design.parts:
                columns["crps"], columns["crps_fair"] = ensemble_scores(y, ordered)
            ends = {level: central(ordered, level) for level in design.bounded}
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

    columns: dict[str, Any] = {"scaled_n": known}
    if part.mean is not None:
        error = part.mean.astype(np.float64) - part.y
        columns |= {"scaled": over(np.abs(error), by), "scaled_square": over(error * error, by_square)}
    return columns | {f"msis_{level:g}": over(score, by) for level, score in scores.items()}


def ensemble_scores(y: Floats, ordered: AnyArray) -> tuple[Floats, Floats]:
    """The CRPS of sorted members (n, m) for truths (n): of their distribution, and fair, for members that are draws.

    The mean distance of a member to the truth less half the mean distance of two members: of any two, or of two
    different ones (Ferro 2014). In the sum over pairs a member counts by how many are below it less how many above.
    """
    members = ordered.shape[1]
    distance = ordered.astype(np.float64) - y[:, np.newaxis]
    # Products by BLAS would depend on the place of a row.
    apart = np.einsum("nm,m->n", distance, 2.0 * np.arange(members) - (members - 1))
    away = np.abs(distance, out=distance).sum(axis=1) / members
    return away - apart / (members * members), away - apart / (members * (members - 1))


def central(ordered: AnyArray, level: float) -> tuple[Floats, Floats]:
    """The ends of the central interval of sorted members (n, m), at places p·(m + 1).

    A truth that is exchangeable with the members is between them with that probability, for any number of members.
    """
    ends = []
    for share in ((1 - level) / 2, (1 + level) / 2):
        place = min(max(share * (ordered.shape[1] + 1) - 1, 0.0), ordered.shape[1] - 1.0)
        before = min(int(place + 1e-9), ordered.shape[1] - 2)
        low, high = (ordered[:, at].astype(np.float64) for at in (before, before + 1))
        ends.append(low + (place - before) * (high - low))
    return ends[0], ends[1]


# ---- refusals


def _refuse_bad(sums: Sums, sample: Sample) -> None:
    """Refuse sums that are NaN or infinite, and squares that vanish; the cell is named."""
    table = sums.by_horizon
    fine = bool(np.isfinite(table.high).all())
    if not fine or ("bad_std" in table.names and table.series("bad_std").any()):
        sample.refuse_bad_values()
    n, away = float(table.total("n").sum()), float(table.total("abs").sum())
    if sample.mean is not None and 0 < away < 1e-153 * n:
        raise InputError("errors so small that their squares vanish", where="y_pred", fix="Rescale the data.")
