"""From sums to an evaluation: results, breakdowns, what checks and figures look at; channels side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace as changed

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid, column
from graphgauge.core.items import Items
from graphgauge.core.loop import Measured, broken_down, measure
from graphgauge.core.result import Result
from graphgauge.forecasting.request import Request
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.totals import Totals

# How many numbers of the first steps, and of the whole period, checks look at.
_BEGIN, _SAMPLED = 1 << 18, 1 << 16
_APART = "channels are not pooled, their units differ: read by('channel')"


def report(totals: Totals, asked: Request, *, bins: int, confidence: float) -> Evaluation:
    """The evaluation of totals."""
    binned = totals.bins_of(bins)
    samples = totals.samples(None, binned)
    measured = measure(asked.chosen, samples, named=asked.named, confidence=confidence, conventions=asked.conventions)
    breakdowns: dict[str, Grid] = {
        axis: broken_down(
            axis,
            totals.names(axis),
            totals.cells_by(axis).n,
            asked.chosen,
            totals.samples(axis, binned),
            confidence=confidence,
            skipped=measured.skipped,
        )
        for axis in ("horizon", "node")
        if axis in asked.axes
    }
    return Evaluation(
        "forecasting",
        _with_dropped(measured.results, totals.dropped),
        conventions=asked.conventions,
        options={"coverage": list(asked.design.coverage), "bins": bins, "confidence": confidence},
        breakdowns=breakdowns,
        skipped=measured.skipped,
        per_item=_items(measured, totals),
        materials=_materials(totals),
        drawings=lambda: _drawings(samples),
    )


def _with_dropped(results: list[Result], dropped: int) -> list[Result]:
    """The number of cells that were left out, with the first result."""
    if not dropped or not results:
        return results
    first = changed(results[0], warnings=(*results[0].warnings, f"{dropped:,} cells with NaN are left out"))
    return [first, *results[1:]]


def _items(measured: Measured, totals: Totals) -> Items | None:
    """The value of each mean in every time block, whose weighted mean it is."""
    if not totals.ordered:
        return None
    table = totals.tables["horizon"]
    values, weights = {}, {}
    for key, estimate in measured.estimates.items():
        over = estimate.facts.get("over")
        if over is None or estimate.influence is None or "square" in estimate.facts or len(over) != len(table):
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = estimate.influence[:, 0] * over.sum() / over[:, 0]
            values[key] = np.where(over[:, 0] > 0, estimate.value[0] + moved, np.nan)
        weights[key] = over[:, 0]
    return Items("time step", table.at << table.shift, values, weights)


def _materials(totals: Totals) -> dict[str, Any]:
    """What checks look at: sums, and some time steps of the sample."""
    cells = totals.cells_by(None)
    found: dict[str, Any] = {
        "cells": cells,
        "by_node": totals.cells_by("node"),
        "unmasked": totals.cells > 0 and totals.cells == int(cells.n.sum()) + totals.dropped,
    }
    whole = totals.whole
    if whole is not None and whole.rows is None and whole.mean is not None and cells.n[0]:
        found |= {"begin": _first_steps(whole), "sampled": _every_so_often(whole)}
    return found


def _first_steps(sample: Sample) -> Sample:
    """A copy of the first time steps."""
    return _copy(sample, slice(0, min(500, max(3, _BEGIN // max(1, sample.shape[1] * sample.shape[2])))))


def _every_so_often(sample: Sample) -> Sample:
    """A copy of some time steps from the whole period."""
    room = max(1, _SAMPLED // max(1, sample.shape[1] * sample.shape[2]))
    return _copy(sample, slice(0, None, max(1, -(-sample.shape[0] // room))))


def _copy(sample: Sample, chosen: slice) -> Sample:
    part = sample.steps(chosen).on_host()
    arrays = {name: np.array(part.arrays[name]) for name in ("y_true", "y_pred")}
    return Sample(part.shape, arrays, None if part.mask is None else np.array(part.mask))


def _drawings(samples: Mapping[str, Any]) -> dict[str, Grid]:
    """Tables for the figure."""
    grids = samples["reliability"].grids() if "reliability" in samples else {}
    return grids | (samples["spread"].grid() if "spread" in samples else {})


# ---- channels


def apart(parts: Mapping[str, Evaluation]) -> Evaluation:
    """The evaluations of channels as one: values by channel, and no value over all of them."""
    first, several = next(iter(parts.values())), list(parts.values())
    keys = [key for key in first if all(key in each for each in several)]
    columns: dict[str, Any] = {
        "channel": column(list(parts)),
        "n": np.array([max((each.n for each in part.values()), default=0) for part in several]),
    }
    for key in keys:
        columns[key] = np.array([part[key].value for part in several])
        ends = [part[key].interval or (np.nan, np.nan) for part in several]
        columns |= {
            f"{key}.low": np.array([low for low, _ in ends]),
            f"{key}.high": np.array([high for _, high in ends]),
        }
    return Evaluation(
        "forecasting",
        [
            changed(first[key], value=np.nan, n=0, interval=None, no_interval=None, references=(), reason=_APART)
            for key in keys
        ],
        conventions=first.conventions,
        options=first.options,
        breakdowns={"channel": Grid(columns)} | {axis: _stacked(axis, parts) for axis in first.breakdowns},
        skipped=first.skipped,
        findings=[changed(each, where=name) for name, part in parts.items() for each in part.findings],
    )


def _stacked(axis: str, parts: Mapping[str, Evaluation]) -> Grid:
    """The breakdowns of all channels below each other."""
    grids = {name: part.by(axis) for name, part in parts.items()}
    names = [name for name in next(iter(grids.values())).columns if all(name in grid for grid in grids.values())]
    labels = [f"{name}, {label}" for name, grid in grids.items() for label in grid[axis].tolist()]
    rest = {name: np.concatenate([grid[name] for grid in grids.values()]) for name in names if name != axis}
    return Grid({axis: column(labels), **rest})
