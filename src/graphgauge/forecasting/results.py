"""From what is asked of a sample, and its sums, to an evaluation: results, breakdowns; channels side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from msgspec.structs import replace as changed

from graphgauge.core.errors import OptionError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.grid import Grid, column
from graphgauge.core.items import Items
from graphgauge.core.loop import Measured, broken_down, measure
from graphgauge.core.metric import Metric
from graphgauge.core.registry import Chosen, select
from graphgauge.core.result import Result
from graphgauge.forecasting.design import Design, levels_of, parts_of
from graphgauge.forecasting.metrics import Percent, loss
from graphgauge.forecasting.nodes import Extras
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.totals import Totals

COVERAGE = (0.95,)
# How many numbers of the first steps, and of the whole period, checks look at.
_BEGIN, _SAMPLED = 1 << 18, 1 << 16
_APART = "channels are not pooled, their units differ: read by('channel')"


# ---- what is asked


@dataclass(frozen=True)
class Request:
    """The metrics to compute, whether they were named, what is summed for them, and how the arrays were read."""

    design: Design
    chosen: list[Chosen]
    named: frozenset[str]
    axes: tuple[str, ...]
    conventions: Mapping[str, str]


def request(sample: Sample, extras: Extras, coverage: Any, metrics: Any, *, every: bool = False) -> Request:
    """What a sample is evaluated by; `every` sums what any metric of this form needs but joint ones."""
    wanted_levels = levels_of(coverage)
    design = Design(
        form=sample.form,
        point=sample.point,
        horizons=sample.shape[1],
        nodes=sample.shape[2],
        parts=(),
        coverage=wanted_levels if sample.form in ("gaussian", "samples") else (),
        levels=sample.levels,
        members=0 if sample.members is None else sample.members.shape[-1],
        scores=sample.scores,
        scaled=extras.naive is not None,
        weighted=extras.weights is not None,
        edges=None if extras.edges is None else len(extras.edges),
        null_value=None if sample.null is None else sample.null[0],
    )
    lacking = [level for level in wanted_levels if design.level(level) is None]
    if design.form == "quantiles" and wanted_levels != COVERAGE and lacking:
        has = ", ".join(f"{level:g}" for level in design.bounded) or "none"
        raise OptionError(f"coverage has {lacking[0]:g}; the quantiles bound {has}", fix="Leave it out, or name these.")
    chosen, named = choose(design, metrics, dense=sample.rows is None)
    wanted = choose(design, "all", dense=sample.rows is None)[0] if every else chosen
    own = levels_of(params["level"] / 100 for _, params in chosen if "level" in params)
    if sample.form in ("gaussian", "samples"):
        design = replace(design, coverage=tuple(sorted({*design.coverage, *own})))
    parts = parts_of(each.name for each, _ in wanted if not every or each.unit == "cell")
    parts += () if metrics is not None or "ranks" in parts else ("ranks",)  # for the figure
    conventions = {**sample.conventions, **({"node weights": "given"} if design.weighted else {})}
    return Request(replace(design, parts=parts), chosen, named, sample.axes, conventions)


def choose(design: Design, metrics: Any, *, dense: bool = True) -> tuple[list[Chosen], frozenset[str]]:
    """The metrics of the family and the user's losses, in the order in which they are shown."""
    names = [metrics] if isinstance(metrics, str | Metric) and metrics != "all" else metrics
    losses = list(design.scores)
    if isinstance(names, Iterable) and not isinstance(names, str):
        listed = list(names)
        losses = [name for name in listed if isinstance(name, str) and name in design.scores]
        names = [name for name in listed if name not in losses]
    levels = list(design.bounded) if design.form == "quantiles" else list(design.coverage)
    swept = {
        "level": [Percent(round(100 * level, 8)) for level in levels],
        "quantile": [Percent(round(100 * level, 8)) for level in design.levels],
    }
    found: list[Chosen] = []
    named: frozenset[str] = frozenset()
    if names != [] or not losses:
        found, named = select("forecasting", names, design.known_samples(dense=dense), swept)
    keys = {each.key_of(**params) for each, params in found}
    twice = next((name for name in losses if name in keys), None)
    if twice is not None:
        raise OptionError(f"scores has {twice!r}, which is computed, too", fix="Give it another name.")
    return [*found, *((loss(name), {}) for name in losses)], named


# ---- what comes out


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
    cells = totals.cells_by(None)
    asked = {"cells": cells.series("n")[:, 0], "sums of truths": cells.series("y")[:, 0]}
    return Items("time step", table.at << table.shift, values, weights, asked=asked)


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
        low, high = np.array([tuple(part[key].interval or (np.nan, np.nan)) for part in several]).T
        columns |= {f"{key}.low": low, f"{key}.high": high}
    none = {"value": np.nan, "n": 0, "interval": None, "no_interval": None, "references": (), "reason": _APART}
    return Evaluation(
        "forecasting",
        [changed(first[key], **none) for key in keys],
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
