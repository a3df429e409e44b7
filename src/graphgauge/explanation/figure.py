"""The explanation figure: the score's decrease over the share of edges dropped and kept, and `acc_auc` as bars.

Each evaluation is a curve with its interval, next to the random explainer of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.evaluation import Evaluation
from graphgauge.core.figure import CHANCE, COLOURS, SHAPES
from graphgauge.core.grid import Grid
from graphgauge.core.registry import find
from graphgauge.explanation.inputs import RANDOM
from graphgauge.explanation.sample import Sample

SIZE = (10.4, 3.8)
_SIDES = {"drop": "decrease without the top edges (higher)", "keep": "decrease with them alone (lower)"}
# Names longer than this are cut.
_NAME = 24


def curves(sample: Sample, confidence: float) -> Grid:
    """The mean signed change at the mean achieved share k/E of each level, with its interval, and of random orders."""
    known = sample.units > 0
    achieved = [sample.count(level)[known] / sample.units[known] for level in sample.grid]
    shares = [float(np.mean(each)) if known.any() else np.nan for each in achieved]
    columns: dict[str, Any] = {"share": shares}
    for kind in _SIDES:
        metric, _ = find(f"fidelity_{kind}.signed@0.1", "explanation")
        estimates = [metric(sample, level=level) for level in sample.grid]
        bounds: Any = [metric.bounds_of(sample, each, confidence) for each in estimates]
        blind = [metric(sample.random, level=level) for level in sample.grid if len(sample.random.owner)]
        columns |= {
            kind: [each.value[0] for each in estimates],
            f"{kind}.low": [each.low[0] for each in bounds],
            f"{kind}.high": [each.high[0] for each in bounds],
            f"{kind}.random": [each.value[0] for each in blind] or [np.nan] * len(estimates),
        }
    order = np.argsort(shares, kind="stable")
    return Grid.of(**{name: np.array(values, np.float64)[order] for name, values in columns.items()})


def draw(figure: Any, evaluations: Mapping[str, Evaluation]) -> None:
    """Dropping and keeping side by side, `acc_auc` as bars."""
    bars = {name: each["acc_auc"] for name, each in evaluations.items() if "acc_auc" in each}
    drawn = {name: each.drawings["curves"] for name, each in evaluations.items() if "curves" in each.drawings}
    panels = figure.subplots(1, 2 * bool(drawn) + bool(bars) or 1, squeeze=False)[0].tolist()
    if drawn:
        for kind, label in _SIDES.items():
            _curves(panels.pop(0), drawn, kind, label)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5))
    if bars:
        _bars(panels[0], bars)


def _curves(axis: Any, drawn: Mapping[str, Grid], kind: str, label: str) -> None:
    for place, (name, grid) in enumerate(drawn.items()):
        colour, shape = COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]
        axis.plot(grid["share"], grid[kind], color=colour, marker=shape, label=name[:_NAME])
        axis.fill_between(grid["share"], grid[f"{kind}.low"], grid[f"{kind}.high"], color=colour, alpha=0.15, lw=0)
    first = next(iter(drawn.values()))
    axis.plot(first["share"], first[f"{kind}.random"], "--", color=CHANCE, label=RANDOM)
    axis.set(xlabel="share of the edges, k/E", ylabel=label)


def _bars(axis: Any, bars: Mapping[str, Any]) -> None:
    chance = next((each.chance for each in bars.values() if each.chance is not None), None)
    for place, result in enumerate(bars.values()):
        if not result.defined:
            continue
        low, high = result.interval or (result.value, result.value)
        error = [[max(result.value - low, 0.0)], [max(high - result.value, 0.0)]]
        axis.barh(place, result.value, xerr=error, color=COLOURS[place % len(COLOURS)], alpha=0.8, capsize=2)
    if chance is not None:
        axis.axvline(chance.value, ls="--", color=CHANCE)
    axis.set_yticks(range(len(bars)), [name[:_NAME] for name in bars], fontsize=8)
    axis.invert_yaxis()
    axis.set(xlabel="acc_auc (higher is better)", xlim=(0, 1.02))
