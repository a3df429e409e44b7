"""The explanation figure: fidelity over sparsity for every explainer, the areas of the sweep, and one event drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.core.figures import CHANCE, COLOURS, figure
from graphgauge.core.metric import Estimate, find
from graphgauge.explanation.declared import directed
from graphgauge.explanation.inputs import EDGES, Masks
from graphgauge.explanation.masks import MODES, SWEPT, Level
from graphgauge.explanation.samples import EventSample, Rules, Scored, sample_of
from graphgauge.explanation.table import AnswerTable

# Events with more edges than this are unreadable in a small drawing; if all are, the smallest is drawn.
_READABLE = 60
RANDOM = "random"


@dataclass(frozen=True)
class Band:
    """Means with their bounds, NaN if there are none."""

    value: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Drawn:
    """One event: its candidate edges with ends, times, importance, and which of them are selected and true."""

    event: Any
    explainer: str
    nodes: list[str]
    source: Ints
    target: Ints
    times: Floats | None
    importance: Floats
    held: Masks
    truth: Masks | None
    share: float


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
    drawn: Drawn | None


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
        _drawn(own, chosen),
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


def _drawn(sample: EventSample, explainer: str) -> Drawn | None:
    """The first readable event with a known truth, or else the first readable one; only edges are drawn."""
    events = [event for event in sample.events if event.row.subgraph.masked == EDGES]
    readable = [event for event in events if event.units > 1 and len(event.row.subgraph) <= _READABLE]
    known = [event for event in readable if event.truth is not None and event.truth.any()]
    large = sorted((event for event in events if event.units), key=lambda event: len(event.row.subgraph))
    event = next(iter([*known, *readable, *large]), None)
    return None if event is None else _of_event(event, explainer, sample.grid)


def _of_event(event: Scored, explainer: str, grid: tuple[Level, ...]) -> Drawn:
    subgraph, path = event.row.subgraph, event.by_explanation[0][0]
    level = min(grid, key=lambda level: abs(level.of(event.units) / event.units - 0.2))
    held = path.selected(level.of(event.units))
    ends = np.stack(subgraph.ends)
    used, rows = np.unique(ends, return_inverse=True)
    source, target = rows.reshape(ends.shape)
    times = subgraph.candidate_times
    return Drawn(
        event.row.id,
        explainer,
        [str(subgraph.nodes[node]) for node in used],
        source,
        target,
        None if times is None else (times - times.min()).astype(float),
        event.importances[0][subgraph.unit_of],
        held[subgraph.unit_of],
        None if event.truth is None else event.truth[subgraph.unit_of],
        level.of(event.units) / event.units,
    )


# Names longer than this are cut in the figure.
_NAME = 18
_RIGHT = COLOURS[2]
_HELD = COLOURS[1]
# Legends are below the axis label at any figure height: the distance is in text heights.
_BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 5, "ncols": 3}


def draw_explanation(picture: Picture, path: str | Path) -> None:
    """Dropping and keeping side by side, the areas as bars, the event to the right."""
    with figure(path, 4, width=3.9, height=3.7) as (drop, keep, bars, event):
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
        if picture.drawn is None:
            event.set_axis_off()
        elif picture.drawn.times is None:
            _static(event, picture.drawn)
        else:
            _temporal(event, picture.drawn)


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


def _strengths(drawn: Drawn) -> Any:
    """Importance scaled to [0.15, 1], for widths and shades."""
    finite = np.clip(np.nan_to_num(drawn.importance), -1e300, 1e300)
    span = float(np.ptp(finite)) if finite.size else 0.0
    return 0.15 + 0.85 * ((finite - finite.min()) / span if span else np.zeros(len(finite)))


def _title(axis: Any, drawn: Drawn) -> None:
    axis.set_title(f"event {str(drawn.event)[:_NAME]}: {drawn.explainer[:_NAME]}, top {drawn.share:.0%}", fontsize=9)
    handles = [axis.plot([], [], color=_HELD, lw=2.5, label="held")[0]]
    handles.append(axis.plot([], [], color=CHANCE, lw=1.2, label="not held")[0])
    if drawn.truth is not None:
        handles.append(axis.plot([], [], "D", color=_RIGHT, ms=5, label="right explanation")[0])
    axis.legend(handles=handles, fontsize=7, **_BELOW)


def _temporal(axis: Any, drawn: Drawn) -> None:
    """Nodes as lines, time to the right, every edge where it happened."""
    assert drawn.times is not None
    strengths = _strengths(drawn)
    for edge in np.argsort(drawn.held, kind="stable"):
        ends = [int(drawn.source[edge]), int(drawn.target[edge])]
        colour = _HELD if drawn.held[edge] else CHANCE
        at = [float(drawn.times[edge])] * 2
        axis.plot(at, ends, color=colour, lw=0.6 + 2.2 * strengths[edge], marker="o", ms=3, alpha=0.9)
        if drawn.truth is not None and drawn.truth[edge]:
            axis.plot(at[:1], [sum(ends) / 2], "D", color=_RIGHT, ms=5)
    axis.set_yticks(range(len(drawn.nodes)), [name[:8] for name in drawn.nodes], fontsize=7)
    axis.set(xlabel="time since the first edge", ylabel="node")
    _title(axis, drawn)


def _static(axis: Any, drawn: Drawn) -> None:
    """Nodes on a circle."""
    angle = np.linspace(0, 2 * np.pi, len(drawn.nodes), endpoint=False)
    x, y = np.cos(angle), np.sin(angle)
    strengths = _strengths(drawn)
    for edge in np.argsort(drawn.held, kind="stable"):
        ends = [int(drawn.source[edge]), int(drawn.target[edge])]
        colour = _HELD if drawn.held[edge] else CHANCE
        axis.plot(x[ends], y[ends], color=colour, lw=0.6 + 2.2 * strengths[edge], alpha=0.9)
        if drawn.truth is not None and drawn.truth[edge]:
            axis.plot(x[ends].mean(), y[ends].mean(), "D", color=_RIGHT, ms=4)
    axis.plot(x, y, "o", color="#333333", ms=4)
    for place, name in enumerate(drawn.nodes if len(drawn.nodes) <= 30 else []):
        axis.annotate(name[:8], (1.12 * x[place], 1.12 * y[place]), fontsize=7, ha="center", va="center")
    axis.set(aspect="equal", xlim=(-1.3, 1.3), ylim=(-1.3, 1.3))
    axis.set_axis_off()
    _title(axis, drawn)
