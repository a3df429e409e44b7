"""The figure of replayed growth: each run as it was, without its births, and under chance growth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.figures import CHANCE, COLOURS, SHAPES, canvas
from graphgauge.evolution.growth_metrics import CHANCES
from graphgauge.evolution.growth_outcomes import OUTCOMES

if TYPE_CHECKING:
    from graphgauge.evolution.growth import ReplayedRun

_TITLES = {"probe": "Probe of labels", "future": "Future edges", "retention": "Old edges"}


def draw(runs: Sequence[ReplayedRun], path: str | Path) -> None:
    """One panel per outcome and one row per condition: effects against the same run without births."""
    outcomes = [name for name in OUTCOMES if any(name in run.grown for run in runs)]
    if not outcomes:
        raise InputError("no outcome was measured", fix="Pass labels or future edges, or ask for other metrics.")
    names = list(dict.fromkeys(run.condition for run in runs))
    rows = [(name, kind) for name in names for kind in ("grown", *CHANCES)]
    with canvas(path, width=1.4 + 3.2 * len(outcomes), height=1.3 + 0.32 * len(rows)) as whole:
        panels = whole.subplots(1, len(outcomes), squeeze=False, sharey=True)[0]
        for panel, outcome in zip(panels, outcomes, strict=True):
            panel.axvline(0, color=CHANCE, linewidth=1)
            for place, (name, kind) in enumerate(rows):
                _draw_row(panel, len(rows) - 1 - place, [run for run in runs if run.condition == name], outcome, kind)
            panel.set_title(_TITLES[outcome])
            panel.set_xlabel("difference to no growth")
        texts = {"grown": "as grown", **CHANCES}
        panels[0].set_yticks(range(len(rows))[::-1])
        panels[0].set_yticklabels([f"{name}, {texts[kind]}" if len(names) > 1 else texts[kind] for name, kind in rows])


def _draw_row(panel: Any, height: int, runs: Sequence[ReplayedRun], outcome: str, kind: str) -> None:
    """Every run, or the replays of all runs with the middle 95 %."""
    own = [run for run in runs if outcome in run.grown]
    if kind == "grown":
        effects = [run.grown[outcome].mean() - run.withheld[outcome].mean() for run in own]
        panel.plot(effects, [height] * len(effects), SHAPES[3], color=COLOURS[1], zorder=3)
        return
    drawn = [run.chance[kind][outcome] - run.withheld[outcome].mean() for run in own]
    values = np.concatenate(drawn) if drawn else np.empty(0)
    jitter = 0.12 * np.sin(np.arange(len(values)) * 2.4)  # fixed, so that equal data give equal files
    panel.plot(values, height + jitter, ".", color=COLOURS[0], alpha=0.35, markersize=4)
    if len(values):
        low, high = np.quantile(values, [0.025, 0.975])
        panel.hlines(height, low, high, color=COLOURS[0], linewidth=2)
