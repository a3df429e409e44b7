"""Forecasting: a seasonal process on a graph, and three forecasters with an estimate of their errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.demo import SEEDS, Demo, save

_NODES, _SEASON, _HORIZONS = 8, 24, 4
_TRAIN, _TEST = 480, 120


def _process(seed: int) -> tuple[Floats, Floats]:
    """Values of all nodes (time, node), which depend on their own and their neighbours' past; and the graph."""
    draw = np.random.default_rng(seed)
    graph = np.triu(draw.random((_NODES, _NODES)) < 0.35, 1)
    graph = (graph | graph.T).astype(float)
    share = graph / np.maximum(graph.sum(axis=1, keepdims=True), 1)
    steps = _TRAIN + _TEST + _HORIZONS
    moved = np.zeros((steps, _NODES))
    for step in range(1, steps):
        moved[step] = 0.5 * moved[step - 1] + 0.4 * share @ moved[step - 1] + draw.normal(0, 0.3, _NODES)
    phase = draw.uniform(0, 2, _NODES)
    return moved + 0.7 * np.sin(2 * np.pi * np.arange(steps)[:, None] / _SEASON + phase), share


def _after(series: Floats, steps: Ints) -> Floats:
    """The values after each step, (step, horizon, node)."""
    return np.asarray(series[steps[:, None] + np.arange(1, _HORIZONS + 1)])


# A forecaster uses the values known at each of `steps` and returns the next ones, (step, horizon, node).


def _last_value(series: Floats, share: Floats, steps: Ints) -> Floats:
    return np.repeat(series[steps][:, None], _HORIZONS, axis=1)


def _same_hour(series: Floats, share: Floats, steps: Ints) -> Floats:
    return _after(series, steps - _SEASON)


def _neighbours(series: Floats, share: Floats, steps: Ints) -> Floats:
    """A regression on the season, the node's value and its neighbours' values, fitted on the training period."""
    hour = 2 * np.pi * np.arange(len(series)) / _SEASON
    known, found = np.arange(_TRAIN - _HORIZONS), np.empty((len(steps), _HORIZONS, _NODES))
    around = series @ share.T
    for node in range(_NODES):
        features = np.stack([np.ones_like(hour), np.sin(hour), np.cos(hour), series[:, node], around[:, node]], axis=1)
        weights, *_ = np.linalg.lstsq(features[known], _after(series, known)[..., node], rcond=None)
        found[..., node] = features[steps] @ weights
    return found


_FORECASTERS = {"last value": _last_value, "same hour": _same_hour, "neighbours": _neighbours}


def _write(folder: Path) -> None:
    tried, tested = np.arange(_SEASON, _TRAIN - _HORIZONS), np.arange(_TRAIN, _TRAIN + _TEST)
    for seed in SEEDS:
        series, share = _process(seed)
        truth = _after(series, tested).astype(np.float32)
        save(folder / "forecasting" / "data" / str(seed), true=truth, history=series[:_TRAIN].astype(np.float32))
        for name, forecast in _FORECASTERS.items():
            # A forecaster's spread is that of its errors in the training period, by horizon and node.
            std = (forecast(series, share, tried) - _after(series, tried)).std(axis=0).astype(np.float32)
            mean = forecast(series, share, tested).astype(np.float32)
            save(folder / "forecasting" / name / str(seed), mean=mean, std=np.broadcast_to(std, truth.shape))


DEMO = Demo(
    family="forecasting",
    dataset="seasons on a graph",
    methods=tuple(_FORECASTERS),
    inputs={
        "true": "forecasting/data/{seed}/true.npy",
        "pred": "forecasting/{method}/{seed}/mean.npy",
        "std": "forecasting/{method}/{seed}/std.npy",
        "history": "forecasting/data/{seed}/history.npy",
        "season": _SEASON,
    },
    metric="crps",
    write=_write,
)
