"""Evaluating forecasts: from arrays or a sample to results, with a breakdown by horizon and by node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from graphgauge.core.options import confidence_level, whole_number
from graphgauge.core.registry import Chosen, select
from graphgauge.core.result import Result
from graphgauge.forecasting.design import Design, levels_of, parts_of
from graphgauge.forecasting.metrics import Percent, loss
from graphgauge.forecasting.reading import Extras, Reading, extras_of, read_arrays
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.totals import Totals
from graphgauge.protocols import under_protocols

COVERAGE = (0.95,)
# How many numbers of the first steps, and of the whole period, checks look at.
_BEGIN, _SAMPLED = 1 << 18, 1 << 16
_APART = "channels are not pooled, their units differ: read by('channel')"


@under_protocols("forecasting")
def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    std: Any = None,
    quantiles: Any = None,
    levels: Sequence[float] | None = None,
    samples: Any = None,
    scores: Mapping[str, Any] | None = None,
    mask: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    nan: str = "raise",
    axes: Sequence[str] | Mapping[str, Any] | None = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    weights: Any = None,
    history: Any = None,
    season: int = 1,
    graph: Any = None,
    coverage: Sequence[float] | float = COVERAGE,
    bins: int = 10,
    metrics: Any = None,
    confidence: float = 0.95,
    protocol: str | None = None,
) -> Evaluation:
    """Evaluate forecasts (time, horizon, node): points, Gaussians, quantiles, samples, or losses of your own.

    Parameters
    ----------
    y_true
        Truth: an array, a tensor, an array of xarray, or what `from_wide` makes of a frame.
    y_pred
        Point forecast of the same shape; the mean, with `std`.
    std
        Standard deviations: the forecasts are Gaussian.
    quantiles, levels
        Quantiles, with a last axis, and their probabilities.
    samples
        Members of an ensemble, with a last axis.
    scores
        Losses of your own by name, one number per cell; the lower the better.
    mask
        True where a cell counts.
    null_value, null_tolerance
        Truths that equal this number, up to the tolerance, are not observed.
    nan
        `raise`, or `omit`: cells with NaN are left out and counted.
    axes
        The axis of each dimension, of time, horizon, node and channel; for labelled arrays a mapping of axes to names
        of dimensions, such as `{"time": "init", "horizon": "lead", "node": ("lat", "lon")}`.
    labels
        Names along axes, such as `{"node": sensors}`.
    weights
        One per node: errors over several nodes are weighted means.
    history, season
        Earlier values (time, node), by whose seasonal naive errors `mase`, `rmsse` and `msis` are scaled.
    graph
        Adjacency matrix or edges, for `variogram_score`.
    coverage
        Levels of central intervals.
    bins
        Bins of predicted standard deviation, for `ece` and `ence`.
    metrics
        Keys, or "all"; by default the headlines.
    confidence
        Level of the intervals.
    protocol
        Evaluate as this benchmark does, such as "metr-la".

    Returns
    -------
    Evaluation
        A result per metric over all cells, and `by("horizon")`, `by("node")`; with channels `by("channel")`.

    Raises
    ------
    InputError
        If shapes or labels differ, a value is NaN, or a standard deviation is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> y = np.arange(24.0).reshape(4, 2, 3)
    >>> ev = forecasting.evaluate(y, y + [[[1.0], [3.0]]])
    >>> ev["mae"].value
    2.0
    >>> ev.by("horizon")["mae"].tolist()
    [1.0, 3.0]
    """
    arrays = {"y_true": y_true, "y_pred": y_pred, "std": std, "quantiles": quantiles, "samples": samples, "mask": mask}
    sample = read_arrays(arrays, scores, levels, Reading(axes, labels, null_value, null_tolerance, nan))
    extras = extras_of(sample, weights=weights, history=history, season=season, graph=graph)
    return evaluate_sample(sample, extras, coverage=coverage, bins=bins, metrics=metrics, confidence=confidence)


def evaluate_sample(
    sample: Sample,
    extras: Extras,
    *,
    coverage: Sequence[float] | float = COVERAGE,
    bins: int = 10,
    metrics: Any = None,
    confidence: float = 0.95,
) -> Evaluation:
    """`evaluate` for a sample."""
    confidence, bins = confidence_level(confidence), whole_number("bins", bins, 1)
    channels = sample.channels()
    if channels:
        options = {"coverage": coverage, "bins": bins, "metrics": metrics, "confidence": confidence}
        return apart({name: evaluate_sample(part, extras, **options) for name, part in channels.items()})
    asked = request(sample, extras, coverage, metrics)
    return report(Totals.of(sample, asked.design, extras), asked, bins=bins, confidence=confidence)


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
    if not {"mase", "rmsse", "msis"}.isdisjoint(key.partition("_")[0] for key in values):
        asked["truths over naive errors"] = cells.series("zero_abs")[:, 0]
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
        found |= _copies(whole)
    return found


def _copies(sample: Sample) -> dict[str, Sample]:
    """Copies of the first time steps, and of some time steps from the whole period."""
    steps, cells = sample.shape[0], max(1, sample.shape[1] * sample.shape[2])
    begin = slice(0, min(500, max(3, _BEGIN // cells)))
    sampled = slice(0, None, max(1, -(-steps // max(1, _SAMPLED // cells))))
    copies = {}
    for name, chosen in (("begin", begin), ("sampled", sampled)):
        part = sample.steps(chosen).on_host()
        arrays = {each: np.array(part.arrays[each]) for each in ("y_true", "y_pred")}
        copies[name] = Sample(part.shape, arrays, None if part.mask is None else np.array(part.mask))
    return copies


def _drawings(samples: Mapping[str, Any]) -> dict[str, Grid]:
    from graphgauge.forecasting.figure import drawings

    return drawings(samples.get("reliability"), samples.get("spread"))


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
