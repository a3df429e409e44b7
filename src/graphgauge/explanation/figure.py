"""The explanation figure: fidelity over sparsity for every explainer, and the areas of the sweep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.explanation.declared import directed
from graphgauge.explanation.masks import MODES, SWEPT
from graphgauge.explanation.samples import EventSample, Rules, sample_of
from graphgauge.explanation.table import AnswerTable
from graphgauge.old.core.figures import CHANCE, COLOURS, figure
from graphgauge.old.core.metric import Estimate, find

RANDOM = "random"


@dataclass(frozen=True)
class Band:
    """Means with their bounds, NaN if there are none."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Picture:
    """Curves over the mean achieved shares for every explainer and the random one, and the sweep's areas."""

    explainers: list[str]
    chosen: str
    shares: Floats
    drop: dict[str, Band]
    keep: dict[str, Band]
    areas: dict[str, Band]
    sweep: str
    confidence: float


def picture(table: AnswerTable, chosen: str, rules: Rules, confidence: float) -> Picture:
    samples = {name: sample_of(table, name, rules) for name in table.explainers or [chosen]}
    own = samples[chosen]
    if not {*MODES} <= {*table.settings.asked}:
        raise InputError("the figure needs all levels dropped and kept", where="table", fix="Collect without metrics=.")
    # Otherwise the masks for the bars are missing.
    swept = rules.acc_auc == table.settings.acc_auc and SWEPT in table.settings.asked
    followed = {**samples, RANDOM: own.at_random}
    # An explainer called random must not be hidden by the random baseline.
    if RANDOM in samples:
        followed = {**samples, f"{RANDOM} order": own.at_random}
    levels = sorted(own.grid, key=own.share)
    return Picture(
        list(samples),
        chosen,
        np.array([own.share(level) for level in levels]),
        {name: _band(sample, "fidelity_drop", levels, confidence) for name, sample in followed.items()},
        {name: _band(sample, "fidelity_keep", levels, confidence) for name, sample in followed.items()},
        {name: _band(sample, "acc_auc", [], confidence) for name, sample in followed.items()} if swept else {},
        str(rules.acc_auc),
        confidence,
    )


def _band(sample: EventSample, name: str, levels: Any, confidence: float) -> Band:
    metric = directed(find(name, "explanation")[0], sample.rules)
    estimates = [metric(sample, level=level) for level in levels] if levels else [metric(sample)]
    columns = np.array([_with_bounds(metric, sample, estimate, confidence) for estimate in estimates])
    return Band(*columns.T)


def _with_bounds(metric: Any, sample: EventSample, estimate: Estimate, confidence: float) -> tuple[float, float, float]:
    value = float(estimate.value[0])
    if np.isnan(value):
        return value, value, value
    _, low, high = metric.interval_of(sample, estimate, confidence)
    return value, float(low[0]), float(high[0])


# Names longer than this are cut in the figure.
_NAME = 18
# Legends are below the axis label at any figure height: the distance is in text heights.
_BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 5, "ncols": 3}


def draw_explanation(picture: Picture, path: str | Path) -> None:
    """Dropping and keeping side by side, the areas as bars."""
    with figure(path, 3, width=3.9, height=3.7) as (drop, keep, bars):
        _curves(drop, picture, picture.drop, "fidelity_drop (higher is better)")
        _curves(keep, picture, picture.keep, "fidelity_keep (lower is better)")
        drop.legend(
            fontsize=7.5,
            title=f"bands: {picture.confidence:.0%} over events",
            title_fontsize=7,
            **_BELOW,
        )
        if picture.areas:
            _bars(bars, picture)
        else:
            bars.set_axis_off()


def _styles(picture: Picture) -> dict[str, tuple[str, str]]:
    """Colour and line of every curve; random baselines are grey and dashed."""
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(picture.explainers)}
    return {name: (colours.get(name, CHANCE), "-" if name in colours else "--") for name in picture.drop}


def _curves(axis: Any, picture: Picture, curves: dict[str, Band], label: str) -> None:
    for name, (colour, line) in _styles(picture).items():
        band = curves[name]
        axis.plot(picture.shares, band.value, line, color=colour, marker=".", label=name[:_NAME])
        axis.fill_between(picture.shares, band.low, band.high, color=colour, alpha=0.15, lw=0)
    axis.set(xlabel="share of the edges, k/E", ylabel=label)


def _bars(axis: Any, picture: Picture) -> None:
    for place, (name, (colour, _)) in enumerate(_styles(picture).items()):
        band = picture.areas[name]
        value, low, high = (float(bound[0]) for bound in (band.value, band.low, band.high))
        error = None if math.isnan(low) else [[max(value - low, 0.0)], [max(high - value, 0.0)]]
        axis.barh(place, value, xerr=error, color=colour, alpha=0.8, ecolor="#333333", capsize=2)
    names = [name[:_NAME] for name in picture.areas]
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.invert_yaxis()
    axis.set(xlabel=f"acc_auc ({picture.sweep})", xlim=(0, 1.02))
