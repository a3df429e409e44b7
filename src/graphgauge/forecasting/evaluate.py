"""Evaluate forecasts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels
from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.options import confidence_level, metric_names
from graphgauge.forecasting import metrics as _metrics
from graphgauge.forecasting.copies import every_so_often, first_steps
from graphgauge.forecasting.curves import curves
from graphgauge.forecasting.family import ARRAYS
from graphgauge.forecasting.inputs import Batch, weights_of
from graphgauge.forecasting.measures import CHANCE, Layout, counted_for
from graphgauge.forecasting.options import AXES, CHANNEL, COVERAGE, checked_bins, listed
from graphgauge.forecasting.samples import Cells, Spread, Vectors, by_block, reliability_of
from graphgauge.forecasting.spread import binned, joined, nothing, refined, require_squares, straddling
from graphgauge.forecasting.state import ForecastState
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.forms import chosen_form, given_names
from graphgauge.old.core.loop import Axis, measured, sample_for
from graphgauge.old.core.metric import are_default, asked, find, select

Percent = _metrics.Percent
Samples = dict[str, Any]

# The arguments that provide the sample a metric needs.
_GIVEN = {
    "gaussian": "std=",
    "samples": "samples=",
    "quantiles": "quantiles= and levels=",
    "scaled": "naive=",
    "root_scaled": "naive= as a history",
    "scaled_scores": "naive=, and std=, samples=, or quantiles= and levels=",
    "joint": "samples= of at least two nodes",
    "pairs": "samples= and graph=",
    "spread": "std=",
    "reliability": "std=, samples=, or quantiles= and levels=",
}


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    std: Any = None,
    quantiles: Any = None,
    levels: Any = None,
    samples: Any = None,
    mask: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    axes: Iterable[str] = AXES,
    horizons: Sequence[int] | int | None = None,
    nodes: Sequence[Any] | None = None,
    ahead: Sequence[int] | None = None,
    by: Sequence[str] | str | None = None,
    coverage: Sequence[float] | float = COVERAGE,
    bins: int = 10,
    season: int | None = None,
    naive: Any = None,
    graph: Any = None,
    weights: Any = None,
    metrics: Sequence[str] | None = None,
    nan: str = "raise",
    confidence: float = 0.95,
    threads: int | None = None,
) -> Evaluation:
    """Measure how accurate forecasts on the nodes of a graph are, and whether their uncertainty is calibrated.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast of one shape, whose dimensions `axes` names: NumPy, torch, lists, data frames or xarray. An
        axis `channel` is read as part of the nodes and adds a breakdown by channel. Dimensions of xarray that have
        other names, such as latitude and longitude, become nodes, and a truth by valid time is looked up for forecasts
        by issue time (time) and lead time (horizon). Labels of rows, columns, dimensions and coordinates are matched if
        two arguments have them; labels that differ are an error. Metrics are pooled over cells, and broken down by
        horizon and by node. `y_pred` may be left out if `samples` are given (their mean is used), or `quantiles` with a
        level 0.5.
    std
        Standard deviations, for a Gaussian forecast.
    quantiles, levels
        Quantiles along a last axis, and their probabilities.
    samples
        Members of an ensemble, or draws, along a last axis.
    mask
        True where a cell was observed; other cells may contain any value.
    null_value
        The value of the truth that marks unobserved cells: 0 in traffic data, or NaN. It is compared in the dtype of
        the truth, and also masked in the history `naive`.
    null_tolerance
        Truths that are at most this far from `null_value` are masked too. Zeros that went through a scaler and back
        need about 1e-4.
    horizons
        The steps ahead, counted from 1, to report by horizon; other values are still over all horizons.
    nodes, ahead
        Names of the nodes, and the steps ahead of the horizons if they are not 1, 2, 3 ….
    by
        The axes to break down by; all by default.
    coverage
        Levels of the central prediction intervals.
    bins
        Number of equal-sized bins of predicted standard deviation in `ece` and `ence`.
    naive, season
        The history (time, node) for `mase`, and the lag of its seasonal naive forecast.
    graph
        For samples: which nodes are neighbours, as an adjacency matrix or as edges, rows (source, target) of positions
        or names. `variogram_score` is over its edges.
    weights
        One weight per node, such as the cosine of its latitude. Errors and scores over several nodes
        are then weighted means; calibration and joint scores are not computed.
    metrics
        Keys to compute instead of all.
    nan
        `raise`, or `omit`: a cell with a NaN is left out and counted.
    axes
        Names of the dimensions of the arrays, in order.
    confidence
        Level of the intervals.
    threads
        At most this many threads; by default all cores.

    Returns
    -------
    Evaluation
        One `Result` per metric, pooled over cells, with breakdowns by horizon and node.

    Raises
    ------
    InputError
        If shapes or labels differ, a standard deviation is not above 0, or a value is NaN and `nan` is `raise`.
    OptionError
        If an argument has no such value.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import forecasting
    >>> y = np.arange(24.0).reshape(4, 2, 3)
    >>> ev = forecasting.evaluate(y, y + [[[1.0], [3.0]]])
    >>> ev["mae"].value, ev["bias"].value
    (2.0, 2.0)
    >>> ev.by("horizon")["mae"].tolist()
    [1.0, 3.0]
    """
    metrics = metric_names(metrics)
    batch = Batch.of(
        y_true,
        y_pred,
        std=std,
        quantiles=quantiles,
        levels=levels,
        samples=samples,
        mask=mask,
        null_value=null_value,
        null_tolerance=null_tolerance,
        axes=axes,
        nan=nan,
        nodes=None if nodes is None else as_labels(nodes, "nodes").tolist(),
        ahead=ahead,
    )
    if weights is not None and batch.channels is not None:
        weights = weights_of(weights, batch)
    state = empty_state(
        axes=batch.axes,
        coverage=coverage,
        nodes=nodes if batch.nodes is None else batch.nodes,
        ahead=ahead if batch.ahead is None else batch.ahead,
        season=season,
        naive=naive,
        null_value=null_value,
        null_tolerance=null_tolerance,
        graph=graph,
        weights=weights,
        metrics=metrics,
    )
    _refuse_unused(
        {
            "true": y_true,
            "pred": batch.mean,
            "std": std,
            "quantiles": quantiles,
            "samples": samples,
        },
        {
            "levels": levels,
            "graph": graph,
            "coverage": None if np.array_equal(np.atleast_1d(coverage), COVERAGE) else coverage,
            "bins": None if bins == 10 else bins,
        },
    )
    if season is not None and naive is None:
        raise OptionError("season needs naive", fix="Pass both, or leave it out.")
    state.update_batch(batch, threads=threads)
    return evaluate_state(
        state,
        horizons=horizons,
        by=by,
        bins=bins,
        metrics=metrics,
        nan=nan,
        confidence=confidence,
        whole=batch,
        threads=threads,
    )


def _refuse_unused(forecast: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise an error for an option that the form of the forecast would not use."""
    extra = given_names(options)
    if extra:
        names = {"true": "y_true", "pred": "y_pred"}
        chosen_form(ARRAYS, [*given_names(forecast), *extra], shown=lambda name: names.get(name, name))


def empty_state(
    *,
    axes: Iterable[str] = AXES,
    coverage: Sequence[float] | float = COVERAGE,
    nodes: Sequence[Any] | None = None,
    ahead: Sequence[int] | None = None,
    season: int | None = None,
    naive: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    graph: Any = None,
    weights: Any = None,
    metrics: Sequence[str] | str | None = None,
    shard: str | None = None,
) -> ForecastState:
    """A state that counts what the metrics and their chance levels need."""
    state = ForecastState(
        axes=axes,
        coverage=coverage,
        nodes=nodes,
        ahead=ahead,
        season=season,
        naive=naive,
        null_value=null_value,
        null_tolerance=null_tolerance,
        graph=graph,
        weights=weights,
        metrics=metrics,
        shard=shard,
    )
    if "size" not in state.counted:
        state.counted = (*state.counted, CHANCE)
    return state


def evaluate_state(
    state: ForecastState,
    *,
    horizons: Sequence[int] | int | None = None,
    by: Sequence[str] | str | None = None,
    bins: int = 10,
    metrics: Sequence[str] | None = None,
    nan: str = "raise",
    confidence: float = 0.95,
    whole: Batch | None = None,
    threads: int | None = None,
) -> Evaluation:
    """Compute the metrics of a state; `whole` is the batch if there was only one."""
    bins, confidence = checked_bins(bins), confidence_level(confidence)
    if state.layout is None:
        raise OptionError("the state is empty", fix="Call update() first, also with an empty batch.")
    metrics = metric_names(metrics)
    layout = state.layout
    _require_counted(metrics, layout)
    spread = _spreads(state, layout, bins, whole, threads)
    samples = _samples(state, layout, None, spread)
    chosen = select("forecasting", metrics, samples, _swept(state, layout))
    conventions = _conventions(state, layout, nan)
    axes = _broken_down(state, layout, by, horizons, spread)
    found = measured(
        chosen, samples, confidence=confidence, conventions=conventions, skip=are_default(metrics), by=axes
    )
    begin = first_steps(whole)

    def draw(evaluation: Evaluation, path: str | Path) -> None:
        from graphgauge.forecasting.figure import draw_forecasting, picture

        draw_forecasting(evaluation, picture(evaluation, samples.get("reliability"), samples.get("spread")), path)

    return Evaluation(
        "forecasting",
        found.results,
        conventions=conventions,
        options={
            "coverage": list(state.coverage),
            "bins": bins,
            "confidence": confidence,
        },
        breakdowns={axis.name: axis.table for axis in axes}
        | (curves(samples["reliability"]) if "reliability" in samples else {}),
        skipped=found.skipped,
        materials={
            "cells": samples["errors"],
            "by_node": Cells(layout, state.by_node.seen(), state.ordered),
            "begin": begin,
            "sampled": every_so_often(whole),
            "unmasked": state.cells > 0 and state.cells == state.n + state.dropped,
        },
        notes=_notes(state, layout, horizons),
        figure=draw,
    )


def _ahead(state: ForecastState, layout: Layout) -> list[Any]:
    return state.ahead if state.ahead is not None else list(range(1, layout.horizons + 1))


def _swept(state: ForecastState, layout: Layout) -> dict[str, list[Any]]:
    """The values of parameters that the name of a metric leaves open."""
    return {
        "level": [Percent(round(100 * q, 8)) for q in state.coverage],
        "quantile": [Percent(round(100 * q, 8)) for q in layout.levels],
    }


def plain_value(key: str, batch: Batch, *, coverage: Sequence[float] | float = COVERAGE, bins: int = 10) -> float:
    """The value of one metric on one batch, without interval or chance level."""
    metric, params = find(key, "forecasting")
    state = ForecastState(axes=batch.axes, coverage=coverage, metrics=[key])
    state.update_batch(batch)
    assert state.layout is not None
    _require_counted([key], state.layout)
    samples = _samples(state, state.layout, None, _spreads(state, state.layout, checked_bins(bins), batch))
    return float(metric(sample_for(metric, samples), **params).value[0])


def _broken_down(
    state: ForecastState,
    layout: Layout,
    by: Sequence[str] | str | None,
    horizons: Any,
    spread: Mapping[str | None, Spread],
) -> list[Axis]:
    there: list[str] = [
        axis for axis in ("horizon", "node") if axis in state.axes or (axis == "node" and state.channels)
    ]
    there += ["channel"] * (state.channels is not None)
    axes = there if by is None else listed(by)
    for name in axes:
        if name not in there:
            if name in ("horizon", "node", CHANNEL):
                raise OptionError(f"by={name!r} needs an axis {name}", fix="Name it in axes=.")
            raise UnknownNameError("axis", str(name), ("horizon", "node", CHANNEL))
    if horizons is not None and "horizon" not in state.axes:
        raise OptionError("horizons= needs an axis horizon", fix="Name it in axes=.")
    ahead = _ahead(state, layout)
    channels = state.channels or []
    rows = {"horizon": _rows(horizons, ahead), "node": range(layout.nodes), CHANNEL: range(len(channels))}
    labels = {
        CHANNEL: channels,
        "horizon": [ahead[row] for row in rows["horizon"]],
        "node": state.nodes if state.nodes is not None else rows["node"],
    }
    parts = {name: _samples(state, layout, name, spread) for name in axes}
    return [Axis(name, list(labels[name]), part["errors"].n, part, list(rows[name])) for name, part in parts.items()]


def _rows(horizons: Any, ahead: list[Any]) -> list[int]:
    if horizons is None:
        return list(range(len(ahead)))
    values = listed(horizons)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, Real | str) or value not in ahead:
            known = f"1 to {len(ahead)}" if ahead == list(range(1, len(ahead) + 1)) else ", ".join(map(str, ahead))
            raise OptionError(f"horizons are steps ahead, {known}, not {value!r}")
    if len(set(values)) != len(values):
        raise OptionError("a horizon is named twice")
    return [ahead.index(value) for value in values]


def _samples(state: ForecastState, layout: Layout, axis: str | None, spread: Mapping[str | None, Spread]) -> Samples:
    """The samples for the metrics: over all cells, by horizon or by node."""
    sums = state.by_node if axis in ("node", CHANNEL) else state.by_horizon
    if axis == CHANNEL:
        sums = sums.grouped(len(state.channels or ()), state.weights)
    cells = Cells(layout, (sums.pooled() if axis is None else sums).seen(), state.ordered)
    samples: Samples = {"errors": cells}
    if layout.form != "point":
        samples[layout.form] = cells
    if "reliability" in layout.samples and "pit" in layout.counted and axis != CHANNEL:
        samples["reliability"] = reliability_of(cells, state, axis)
    samples |= {name: cells for name in ("scaled", "root_scaled", "scaled_scores") if name in layout.samples}
    if axis in spread:
        samples["spread"] = spread[axis]
    joint = [name for name in ("joint", "pairs") if name in layout.samples]
    if joint and "joint" in layout.counted and axis not in ("node", CHANNEL):
        sums = by_block(state.joint, cells)
        found = Vectors(state.joint_layout, sums.pooled() if axis is None else sums, state.ordered)
        samples |= dict.fromkeys(joint, found)
    return samples


def _spreads(
    state: ForecastState, layout: Layout, bins: int, whole: Batch | None, threads: int | None = None
) -> dict[str | None, Spread]:
    """The bins of all cells and of each horizon: exact for a complete array, otherwise from the histogram."""
    if layout.form != "gaussian" or "bins" not in layout.counted:
        return {}
    groups = [joined([nothing(), *state.spread]), *state.spread]
    require_squares(groups[0])
    if whole is None:
        found = [binned(cells, bins) for cells in groups]
    else:
        slabs = [rows for rows, _ in whole.slabs(0, state.by_horizon.shift)]
        fine = refined(whole, slabs, [cells.key[straddling(cells, bins)] for cells in groups], threads)
        found = [binned(cells, bins, more) for cells, more in zip(groups, fine, strict=True)]
    exact, over_time = whole is not None, None
    if state.ordered:
        cells = Cells(layout, state.by_horizon.pooled().seen(), True)
        excess = by_block(state.excess, cells)
        over_time = (excess.high + excess.low)[:, 0], cells.series("n")[:, 0]
    return {None: Spread((found[0],), exact, over_time), "horizon": Spread(tuple(found[1:]), exact)}


def _require_counted(names: Sequence[str] | None, layout: Layout) -> None:
    """Reject metrics that need more than was given or counted."""
    for item in asked("forecasting", names):
        metric, name = item.metric, item.metric.key_of(**item.params)
        if layout.samples.isdisjoint(metric.needs):
            if not item.by_name:
                continue
            if layout.weights is not None and not replace(layout, weights=None).samples.isdisjoint(metric.needs):
                raise OptionError(f"{name} has no node weights", fix="Leave weights= or the metric out.")
            given = " or ".join(_GIVEN[need] for need in metric.needs)
            raise OptionError(f"{name} needs {given}", fix="Pass it, or leave the metric out.")
        if not set(counted_for([metric])) <= set(layout.counted):
            raise OptionError(f"{name} was not counted", fix="Name it in metrics= of the state, or leave it out.")


def _conventions(state: ForecastState, layout: Layout, nan: str) -> dict[str, str]:
    shown = {"axes": ", ".join(state.axes), "forecast": layout.form, "nan": "omit" if state.omits else nan}
    if state.point != "y_pred":
        shown["errors of"] = state.point
    if layout.null_value is not None:
        near = f" ± {layout.null_tolerance:g}" if layout.null_tolerance else ""
        shown["null_value"] = f"{float(layout.null_value):g}{near}"
    if layout.masked:
        shown["mask"] = "given"
    if layout.weights is not None:
        shown["node weights"] = "given"
    return shown


def _notes(state: ForecastState, layout: Layout, horizons: Any) -> tuple[str, ...]:
    notes = []
    if state.dropped:
        notes.append(f"{state.dropped:,} cells with NaN were left out")
    masked = state.cells - state.dropped - state.n
    if masked:
        notes.append(f"{masked:,} of {state.cells:,} cells are masked")
    empty = int((state.by_node.counts[..., 0].sum(axis=0) == 0).sum())
    if empty and layout.nodes > 1:
        notes.append(f"{empty} of {layout.nodes} nodes have no observed cells, and so no value")
    if state.labelled and state.unlabelled:
        notes.append("some batches have no node names, and were matched with the others by position")
    if state.channels is not None:
        notes.append(f"values over all cells pool {len(state.channels)} channels, whose units may differ")
    if layout.weights is not None:
        notes.append("values over several nodes are weighted; calibration and joint scores have no node weights")
    if horizons is not None:
        notes.append(f"values over all cells are over all {layout.horizons} horizons")
    return tuple(notes)
