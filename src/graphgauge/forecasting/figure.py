"""The forecasting figure: calibration, spread against error, errors by horizon and node; of one method or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, COLOURS, SHAPES
from graphgauge.core.grid import Grid
from graphgauge.core.types import Floats
from graphgauge.forecasting.calibration import Reliability, Spread

SIZE = (9.2, 6.4)
# Panels in a row, and the most nodes that are shown by name.
_ACROSS, _NAMED = 3, 30
# Bars of the histogram of positions.
_BARS = 20
_WORDS = {"mae": "MAE", "rmse": "RMSE", "crps": "CRPS"}
Panel = Callable[[Any], None]
Grids = dict[str, Grid]


def drawings(reliability: Reliability | None, spread: Spread | None) -> Grids:
    """What is drawn of calibration: positions and the share below each p, with the 95 % of independent cells; bins."""
    grids: Grids = {}
    if reliability is not None and len(reliability.p) and reliability.n[0]:
        p = np.concatenate(([0.0], reliability.p, [1.0]))
        reached = np.concatenate(([0.0], reliability.share[0], [1.0]))
        edges = np.unique(np.r_[np.arange(0, len(p) - 1, max(1, (len(p) - 1) // _BARS)), len(p) - 1])
        bars, n = np.diff(p[edges]), int(reliability.n[0])
        grids["pit"] = _shares("pit", p[edges][1:], np.diff(reached[edges]), bars, n)
        grids["reliability"] = _shares(
            "reliability", np.round(reliability.p, 10), reliability.share[0], reliability.p, n
        )
    if spread is not None and spread.n[0]:
        bins, there = spread.bins[0], np.flatnonzero(spread.bins[0].n)
        n_of_bin = bins.n[there]
        roots = {"rmv": np.sqrt(bins.var[there] / n_of_bin), "rmse": np.sqrt(bins.square[there] / n_of_bin)}
        grids["spread"] = Grid({"bin": there + 1, "n": n_of_bin, **roots})
    return grids


def _shares(axis: str, labels: Floats, share: Floats, p: Floats, n: int) -> Grid:
    reach = 1.96 * np.sqrt(p * (1 - p) / n)
    return Grid({axis: labels, "share": share, "low": np.maximum(p - reach, 0), "high": np.minimum(p + reach, 1)})


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """The panels that the forecasts have, on an empty figure."""
    panels = list(_panels(evaluations)) or [partial(_overall, evaluations)]
    rows = [panels[start : start + _ACROSS] for start in range(0, len(panels), _ACROSS)]
    # Each row is as wide as the figure, with any number of panels.
    grid = figure.add_gridspec(len(rows), math.lcm(*map(len, rows)))
    for number, row in enumerate(rows):
        span = grid.ncols // len(row)
        for place, panel in enumerate(row):
            panel(figure.add_subplot(grid[number, place * span : (place + 1) * span]))


def _panels(evaluations: Mapping[str, Evaluation]) -> Iterator[Panel]:
    for name, panel in (("pit", _positions), ("reliability", _reliability), ("spread", _spread)):
        grids = {method: each.drawings[name] for method, each in evaluations.items() if name in each.drawings}
        if grids:
            yield partial(panel, grids)
    key = next((key for key in _WORDS if all(key in each for each in evaluations.values())), None)
    if key is None:
        return
    for axis, draw_axis in (("horizon", _horizons), ("node", _nodes)):
        tables = {method: each.breakdowns.get(axis, Grid({})) for method, each in evaluations.items()}
        long = {method: table for method, table in tables.items() if key in table and len(table) > 1}
        grids = {method: table for method, table in long.items() if np.isfinite(table[key]).any()}
        if grids:
            yield partial(draw_axis, grids, key)


def _legend(axis: Any, grids: Grids) -> None:
    if len(grids) > 1:
        axis.legend(fontsize=8)


def _positions(grids: Grids, axis: Any) -> None:
    for (method, grid), colour in zip(grids.items(), COLOURS * len(grids), strict=False):
        edges = np.append(0.0, grid["pit"])
        width = np.diff(edges)
        # Densities, so that bars of different width compare: 1 is a calibrated forecast.
        axis.stairs(grid["share"] / width, edges, color=colour, fill=len(grids) == 1, alpha=0.7, label=_text(method))
    ends = [np.append(grid[side] / width, grid[side][-1] / width[-1]) for side in ("low", "high")]
    axis.fill_between(edges, *ends, step="post", color=CHANCE, alpha=0.35, lw=0)
    axis.axhline(1, color=CHANCE, ls="--", lw=1)
    axis.set(
        title="PIT histogram", xlabel="forecast probability of less", ylabel="density", xlim=(0, 1), ylim=(0, None)
    )
    _legend(axis, grids)


def _reliability(grids: Grids, axis: Any) -> None:
    axis.plot((0, 1), (0, 1), color=CHANCE, ls="--", lw=1)
    for method, grid in grids.items():
        marks = "o" if len(grid) <= 20 else ""
        axis.plot(grid["reliability"], grid["share"], marker=marks, ms=4, label=_text(method))
    axis.set(
        title="reliability", xlabel="forecast probability", ylabel="share of truths below", xlim=(0, 1), ylim=(0, 1)
    )
    axis.set_aspect("equal")
    _legend(axis, grids)


def _spread(grids: Grids, axis: Any) -> None:
    both = np.concatenate([grid[name] for grid in grids.values() for name in ("rmv", "rmse")])
    low, high = float(both.min()), float(both.max())
    # Standard deviations over more than a decade are compared by their ratio.
    wide = 0 < low * 10 < high
    room = 0.1 * (high - low) or 0.1 * high
    ends = (low / 1.25, high * 1.25) if wide else (max(low - room, 0.0), high + room)
    axis.plot(ends, ends, color=CHANCE, ls="--", lw=1)
    for (method, grid), shape in zip(grids.items(), SHAPES * len(grids), strict=False):
        # The standard error of a bin's RMSE if its errors are Gaussian and independent.
        error = 1.96 * grid["rmse"] / np.sqrt(2 * grid["n"])
        axis.errorbar(grid["rmv"], grid["rmse"], yerr=error, fmt=f"{shape}-", ms=4, lw=1, label=_text(method))
    scale = "log" if wide else "linear"
    axis.set(title="spread and error", xlabel="predicted (RMV)", ylabel="observed (RMSE)", xscale=scale, yscale=scale)
    axis.set(xlim=ends, ylim=ends)
    axis.set_aspect("equal")
    _legend(axis, grids)


def _horizons(grids: Grids, key: str, axis: Any) -> None:
    for method, grid in grids.items():
        labels = grid[grid.axis]
        numeric = labels.dtype.kind in "iuf"
        places = labels if numeric else np.arange(len(labels))
        (line,) = axis.plot(places, grid[key], "o-", ms=4, label=_text(method))
        if f"{key}.low" in grid:
            axis.fill_between(places, grid[f"{key}.low"], grid[f"{key}.high"], color=line.get_color(), alpha=0.2, lw=0)
        if not numeric:
            axis.set_xticks(places, [_text(label) for label in labels])
        elif len(labels) <= 12:
            axis.set_xticks(places)
    axis.set(title=f"{_WORDS[key]} by horizon", xlabel="horizon", ylim=(0, None))
    _legend(axis, grids)


def _nodes(grids: Grids, key: str, axis: Any) -> None:
    """Nodes in the order of the first method's errors."""
    first = next(iter(grids.values()))
    order = np.argsort(first[key], kind="stable")
    for (method, grid), shape in zip(grids.items(), SHAPES * len(grids), strict=False):
        if len(grid) != len(order):
            continue
        axis.plot(
            grid[key][order], np.arange(len(order)), shape if len(order) <= _NAMED else "-", ms=4, label=_text(method)
        )
    if len(order) <= _NAMED:
        axis.set_yticks(np.arange(len(order)), [_text(label) for label in first[first.axis][order]], fontsize=7)
    axis.set(title=f"{_WORDS[key]} by node", xlabel=_WORDS[key])
    _legend(axis, grids)


def _overall(evaluations: Mapping[str, Evaluation], axis: Any) -> None:
    """If there is nothing to break down, the errors."""
    first = next(iter(evaluations.values()))
    keys = [key for key in first if np.isfinite(first[key].value)][:3]
    width = 0.8 / len(evaluations)
    for place, (method, each) in enumerate(evaluations.items()):
        values = [each[key].value if key in each else np.nan for key in keys]
        axis.barh(np.arange(len(keys)) + place * width, values, height=width, label=_text(method))
    axis.set_yticks(np.arange(len(keys)), keys)
    axis.set(title="errors")


def _text(label: object) -> str:
    """A label with dollars escaped, because matplotlib reads text between them as mathematics."""
    return str(label)[:20].replace("$", r"\$")
