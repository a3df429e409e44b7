"""The forecasting figure: PIT and reliability, spread against error, errors by horizon and node."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.extras import need
from graphgauge.forecasting.curves import pit_table, reliability_table
from graphgauge.forecasting.samples import Reliability, Spread
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.figures import CHANCE, COLOURS, canvas
from graphgauge.old.core.result import Table


@dataclass(frozen=True)
class Picture:
    """Tables for the panels; None if the forecast has no such panel."""

    pit: Table | None
    reliability: Table | None
    spread: Table | None
    horizon: Table | None
    node: Table | None


def picture(evaluation: Evaluation, reliability: Reliability | None, spread: Spread | None) -> Picture:
    curve = reliability if reliability is not None and reliability.n[0] > 0 else None
    return Picture(
        None if curve is None else pit_table(curve),
        None if curve is None else reliability_table(curve),
        _bins(spread) if spread is not None and spread.n[0] > 0 else None,
        evaluation.breakdowns.get("horizon"),
        evaluation.breakdowns.get("node"),
    )


def _bins(spread: Spread) -> Table:
    bins = spread.bins[0]
    there = np.flatnonzero(bins.n)
    n = bins.n[there]
    columns = {"rmv": np.sqrt(bins.var[there] / n), "rmse": np.sqrt(bins.square[there] / n)}
    return Table("bin", {"bin": there + 1, "n": n, **columns})


# The most nodes shown by name; with more, the errors are shown in order.
_NAMED = 30
# Panels in a row.
_ACROSS = 3
_BAND = "95 % if calibrated"
_ERRORS = {"rmse": "RMSE", "mae": "MAE"}

Panel = Callable[[Any], None]


def draw_forecasting(evaluation: Evaluation, picture: Picture, path: str | Path) -> None:
    """Draw the panels that the forecast has: PIT, reliability, RMV against RMSE, error by horizon, error by node."""
    panels: list[Panel] = []
    if picture.pit is not None:
        panels.append(partial(_draw_pit, picture.pit))
    if picture.reliability is not None:
        panels.append(partial(_draw_reliability, picture.reliability))
    if picture.spread is not None:
        panels.append(partial(_spread, picture.spread))
    for table, draw in ((picture.horizon, _horizons), (picture.node, _nodes)):
        shown = _shown(table)
        if table is not None and shown and len(table[table.axis]) > 1:
            panels.append(partial(draw, table, shown))
    if not panels:
        panels.append(partial(_overall, evaluation))
    rows = [panels[start : start + _ACROSS] for start in range(0, len(panels), _ACROSS)]
    with canvas(path, width=4.2 * len(rows[0]), height=3.5 * len(rows)) as whole:
        # Each row is as wide as the figure, with any number of panels.
        grid = whole.add_gridspec(len(rows), math.lcm(*map(len, rows)))
        for number, row in enumerate(rows):
            span = grid.ncols // len(row)
            for place, panel in enumerate(row):
                panel(whole.add_subplot(grid[number, place * span : (place + 1) * span]))


def _draw_pit(table: Table, axis: Any) -> None:
    edges = np.append(0.0, table["pit"])
    width = np.diff(edges)
    # Densities, so that bars of different width compare: 1 is a calibrated forecast.
    axis.bar(
        edges[:-1], table["share"] / width, width, align="edge", color=COLOURS[0], alpha=0.7, edgecolor="white", lw=0.5
    )
    axis.fill_between(
        edges,
        *(np.append(table[side] / width, table[side][-1] / width[-1]) for side in ("low", "high")),
        step="post",
        color=CHANCE,
        alpha=0.35,
        lw=0,
        label=_BAND,
    )
    axis.axhline(1, color=CHANCE, ls="--", lw=1)
    axis.set(title="PIT histogram", xlabel="forecast probability of less", ylabel="density of truths", xlim=(0, 1))
    axis.set_ylim(0, 1.2 * max(1.0, float(np.max(table["share"] / width)), float(np.max(table["high"] / width))))
    axis.legend(loc="upper center", fontsize=8)


def _draw_reliability(table: Table, axis: Any) -> None:
    axis.fill_between(table["reliability"], table["low"], table["high"], color=CHANCE, alpha=0.35, lw=0, label=_BAND)
    axis.plot((0, 1), (0, 1), color=CHANCE, ls="--", lw=1)
    marks = "o" if len(table["reliability"]) <= 20 else ""
    axis.plot(table["reliability"], table["share"], marker=marks, ms=4, label="forecast")
    axis.set(
        title="reliability", xlabel="forecast probability", ylabel="share of truths below", xlim=(0, 1), ylim=(0, 1)
    )
    axis.set_aspect("equal")
    axis.legend(loc="upper left", fontsize=8)


def _spread(table: Table, axis: Any) -> None:
    rmv, rmse = table["rmv"], table["rmse"]
    positive = np.concatenate([rmv, rmse])
    positive = positive[positive > 0]
    low, high = (positive.min(), positive.max()) if positive.size else (1.0, 1.0)
    # Standard deviations over more than a decade are compared by their ratio.
    scale = "log" if low * 10 < high and (rmse > 0).all() else "linear"
    ends = (
        (low / 1.25, high * 1.25)
        if scale == "log"
        else (max(low - 0.15 * (high - low), 0.0), high + 0.15 * (high - low))
    )
    if ends[0] == ends[1]:
        ends = (0.9 * low, 1.1 * high)
    axis.plot(ends, ends, color=CHANCE, ls="--", lw=1, label="as predicted")
    # The standard error of a bin's RMSE if its errors are Gaussian and independent.
    error = rmse / np.sqrt(2 * table["n"])
    axis.errorbar(rmv, rmse, yerr=1.96 * error, fmt="o-", ms=4, lw=1, color=COLOURS[0], ecolor=CHANCE, label="bins")
    axis.set(title="spread and error", xlabel="RMV (predicted)", ylabel="RMSE (observed)", xscale=scale, yscale=scale)
    axis.set(xlim=ends, ylim=ends)
    if scale == "log":
        ticker = need("matplotlib.ticker", "drawing a figure")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_locator(ticker.LogLocator(subs=(1.0, 3.0)))
            side.set_major_formatter(ticker.FormatStrFormatter("%g"))
            side.set_minor_formatter(ticker.NullFormatter())
    axis.set_aspect("equal")
    axis.legend(loc="upper left", fontsize=8)


def _text(label: object) -> str:
    """The label with dollars escaped, because matplotlib reads text between them as mathematics."""
    return str(label)[:14].replace("$", r"\$")


def _shown(table: Table | None) -> list[str]:
    return [key for key in _ERRORS if table is not None and key in table.columns and np.isfinite(table[key]).any()]


def _interval(table: Table, key: str) -> Any:
    """How far the interval reaches below and above the value; 0 if there is none."""
    if f"{key}.low" not in table.columns:
        return None
    reach = np.stack([table[key] - table[f"{key}.low"], table[f"{key}.high"] - table[key]])
    return np.maximum(np.where(np.isfinite(reach), reach, 0.0), 0.0)


def _horizons(table: Table, shown: list[str], axis: Any) -> None:
    labels = table[table.axis]
    numeric = np.issubdtype(labels.dtype, np.number)
    places = labels if numeric else np.arange(len(labels))
    for key in shown:
        reach = _interval(table, key)
        (line,) = axis.plot(places, table[key], "o-", ms=4, label=_ERRORS[key])
        if reach is not None:
            low, high = table[key] - reach[0], table[key] + reach[1]
            axis.fill_between(places, low, high, color=line.get_color(), alpha=0.2, lw=0)
    if not numeric:
        axis.set_xticks(places, [_text(label) for label in labels])
    elif len(labels) <= 12:
        axis.set_xticks(places)
    axis.set(title="error by horizon", xlabel="horizon", ylim=(0, None))
    axis.legend(loc="upper left", fontsize=8)


def _nodes(table: Table, shown: list[str], axis: Any) -> None:
    key = shown[0]
    known = np.flatnonzero(np.isfinite(table[key]))
    order = known[np.argsort(table[key][known], kind="stable")]
    value, reach = table[key][order], _interval(table, key)
    if len(order) <= _NAMED:
        places = np.arange(len(order))
        reach = None if reach is None else reach[:, order]
        axis.errorbar(value, places, xerr=reach, fmt="o", ms=4, capsize=2, color=COLOURS[0])
        axis.set_yticks(places, [_text(label) for label in table[table.axis][order]], fontsize=7)
        axis.set(title="error by node", xlabel=_ERRORS[key])
        return
    axis.plot(np.arange(1, len(order) + 1), value, color=COLOURS[0])
    if reach is not None:
        axis.fill_between(
            np.arange(1, len(order) + 1), value - reach[0, order], value + reach[1, order], alpha=0.25, lw=0
        )
    worst = ", ".join(_text(label) for label in table[table.axis][order[:-4:-1]])
    axis.text(0.98, 0.05, f"highest: {worst}", transform=axis.transAxes, ha="right", fontsize=8)
    axis.set(title="error by node", xlabel=f"nodes in order of {_ERRORS[key]}", ylabel=_ERRORS[key], ylim=(0, None))


def _overall(evaluation: Evaluation, axis: Any) -> None:
    """If there is nothing to compare, the errors next to their chance level."""
    keys = [key for key in _ERRORS if key in evaluation and np.isfinite(evaluation[key].value)]
    axis.barh([_ERRORS[key] for key in keys], [evaluation[key].value for key in keys], color=COLOURS[0], height=0.5)
    axis.set(title="error", xlim=(0, None))
