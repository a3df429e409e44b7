"""Content of the figure: curves of all explainers, their sweeps, and one event with its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.metric import Estimate, find
from graphgauge.explanation.declared import directed
from graphgauge.explanation.inputs import Masks
from graphgauge.explanation.masks import Level
from graphgauge.explanation.samples import Rules, Sample, Scored, sample_of
from graphgauge.explanation.table import Table

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


def picture(table: Table, chosen: str, rules: Rules, confidence: float) -> Picture:
    samples = {name: sample_of(table, name, rules) for name in table.explainers or [chosen]}
    own = samples[chosen]
    swept = rules.acc_auc == table.settings.acc_auc  # otherwise the masks for the bars are missing
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


def _band(sample: Sample, name: str, levels: Any, confidence: float) -> Band:
    metric = directed(find(name, "explanation")[0], sample.rules)
    estimates = [metric(sample, level=level) for level in levels] if levels else [metric(sample)]
    columns = np.array([_with_bounds(metric, sample, estimate, confidence) for estimate in estimates])
    return Band(*columns.T)


def _with_bounds(metric: Any, sample: Sample, estimate: Estimate, confidence: float) -> tuple[float, float, float]:
    value = float(estimate.value[0])
    if np.isnan(value):
        return value, value, value
    _, low, high = metric.interval_of(sample, estimate, confidence)
    return value, float(low[0]), float(high[0])


def _drawn(sample: Sample, explainer: str) -> Drawn | None:
    """The first readable event with a known truth, or else the first readable one."""
    readable = [event for event in sample.events if event.units > 1 and len(event.row.subgraph) <= _READABLE]
    known = [event for event in readable if event.truth is not None and event.truth.any()]
    large = sorted((event for event in sample.events if event.units), key=lambda event: len(event.row.subgraph))
    event = next(iter([*known, *readable, *large]), None)
    return None if event is None else _of_event(event, explainer, sample.grid)


def _of_event(event: Scored, explainer: str, grid: tuple[Level, ...]) -> Drawn:
    subgraph, path = event.row.subgraph, event.own[0]
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
