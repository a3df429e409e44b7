"""The prediction figure, and the small tables that it is drawn from: confusion, calibration, values by group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, SHAPES
from graphgauge.core.grid import Grid, column

SIZE = (12.6, 3.9)
# Classes in the drawing of a confusion table, and those that have their shares written in it.
_MOST_CLASSES, _WRITTEN = 30, 8


def drawings(samples: Mapping[str, Any]) -> dict[str, Grid]:
    """The confusion table of up to thirty classes, and the calibration of probabilities."""
    tables = {}
    classes, probabilities = samples.get("classes"), samples.get("probabilities")
    if classes is not None and len(classes.names) <= _MOST_CLASSES:
        cells = {f"as {name}": classes.table[:, c] for c, name in enumerate(classes.names)}
        tables["confusion"] = Grid({"class": column(classes.names), **cells})
    if probabilities is not None and probabilities.n:
        confidence, accuracy, share = probabilities.calibration()
        tables["calibration"] = Grid.of(confidence=confidence, accuracy=accuracy, share=share)
    return tables


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """The panels that the predictions have, on an empty figure; of several methods the confusion of the first."""
    first = next(iter(evaluations.values()))
    panels = [partial(_confusion, first.drawings["confusion"])] if "confusion" in first.drawings else []
    panels += [partial(_calibration, evaluations)] if "calibration" in first.drawings else []
    panels.append(partial(_groups, evaluations) if first.breakdowns else partial(_values, first))
    for place, panel in enumerate(panels):
        panel(figure.add_subplot(1, len(panels), place + 1))


def _confusion(grid: Grid, axis: Any) -> None:
    """The share of the items of each true class that is called each class."""
    names = [str(name) for name in grid["class"].tolist()]
    table = np.stack([grid[f"as {name}"] for name in names], axis=1)
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    axis.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1)  # shapes: the page of the report shows no images
    for (row, place), share in np.ndenumerate(shares) if len(names) <= _WRITTEN else ():
        colour = "white" if share > 0.6 else "black"
        axis.text(place + 0.5, row + 0.5, f"{share:.2f}", ha="center", va="center", color=colour)
    axis.set(title="confusion", xlabel="predicted", ylabel="true", ylim=(len(names), 0), aspect="equal")
    axis.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90 if max(map(len, names)) > 4 else 0)
    axis.set_yticks(np.arange(len(names)) + 0.5, names)
    axis.grid(visible=False)


def _calibration(evaluations: Mapping[str, Evaluation], axis: Any) -> None:
    axis.plot((0, 1), (0, 1), color=CHANCE, ls="--", lw=1)
    for (name, each), shape in zip(evaluations.items(), SHAPES * len(evaluations), strict=False):
        grid = each.drawings.get("calibration")
        if grid is not None:
            axis.plot(grid["confidence"], grid["accuracy"], f"{shape}-", ms=4, label=name)
    axis.set(title="calibration", xlabel="confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    axis.legend(fontsize=8)


def _groups(evaluations: Mapping[str, Evaluation], axis: Any) -> None:
    """The first metric by the first axis of the user, or by class."""
    first = next(iter(evaluations.values())).breakdowns
    name = next((each for each in first if each != "class"), "class")
    key = list(first[name].columns)[2]
    for (method, each), shape in zip(evaluations.items(), SHAPES * len(evaluations), strict=False):
        grid = each.breakdowns.get(name)
        if grid is not None and key in grid:
            labels = [str(label) for label in grid[name].tolist()]
            away = [np.abs(grid[key] - grid[f"{key}.{side}"]) for side in ("low", "high")]
            axis.errorbar(labels, grid[key], away, fmt=shape, ms=5, label=method)
    axis.set(title=f"{key} by {name}", xlabel=name, ylabel=key)
    axis.legend(fontsize=8)


def _values(first: Evaluation, axis: Any) -> None:
    """If there is nothing to break down, the values."""
    known = {key: each.value for key, each in first.items() if np.isfinite(each.value)}
    axis.barh(list(known), list(known.values()))
    axis.set(title="values")
