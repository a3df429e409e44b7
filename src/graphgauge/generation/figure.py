"""The generation figure: the main metric of each section by condition, with chance level and goal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.old.core.evaluation import Evaluation
from graphgauge.old.core.figures import CHANCE, COLOURS, canvas
from graphgauge.old.core.result import Result

# The main metric of each section, and its axis label.
_PANELS = {
    "mean_iou": "reconstruction: IoU",
    "validity_rate": "share of attempts that are valid",
    "overall_uniqueness_ratio": "share of distinct samples",
    "overall_mean_distance": "scaled distance from real samples",
    "silhouette_score": "latent space: silhouette",
    "overall_exact_accuracy": "classified as requested",
}
_AXIS = "condition"
# The most conditions shown by name.
_NAMED = 40


def draw_generation(evaluation: Evaluation, path: str | Path) -> None:
    """Draw a panel per section: its conditions with their intervals, its value, chance level and goal."""
    shown = [evaluation[key] for key in _PANELS if key in evaluation and evaluation[key].defined]
    if not shown:
        raise InputError("nothing to draw: no section has a value")
    rows, columns = -(-len(shown) // 3), min(len(shown), 3)
    with canvas(path, width=4.6 * columns, height=3.4 * rows) as whole:
        grid = whole.subplots(rows, columns, squeeze=False).ravel()
        for axis, result in zip(grid, shown, strict=False):
            _panel(axis, result)
        for axis in grid[len(shown) :]:
            axis.remove()


def _panel(axis: Any, result: Result) -> None:
    if _AXIS in result.breakdowns:
        _conditions(axis, result)
    axis.axhline(result.value, color=COLOURS[0], lw=1.2, label=f"all: {result.value:.3g}")
    if result.chance:
        level = result.chance[-1]
        axis.axhline(level.value, ls="--", color=CHANCE, lw=1, label=level.name)
    if result.goal is not None:
        axis.axhline(result.goal, ls=":", color="#000000", lw=1, label=f"goal: {result.goal:.3g}")
    axis.set_title(_PANELS[result.key], pad=20)
    low, high = result.bounds
    axis.set(ylim=(-0.02, 1.02) if (low, high) == (0, 1) else (0 if low == 0 else None, None))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 0.99), ncols=3, fontsize=7, columnspacing=1)


def _conditions(axis: Any, result: Result) -> None:
    table = result.by(_AXIS)
    values = table["value"]
    places = np.arange(len(values))
    if "low" in table.columns:
        known = ~(np.isnan(table["low"]) | np.isnan(values))
        axis.vlines(places[known], table["low"][known], table["high"][known], color=COLOURS[0], alpha=0.5)
    axis.plot(places, values, "o", ms=4, color=COLOURS[0])
    axis.set(xlim=(-0.6, len(values) - 0.4))
    if len(values) <= _NAMED:
        axis.set_xticks(places, [str(name)[:12] for name in table[_AXIS]], rotation=90, fontsize=7)
