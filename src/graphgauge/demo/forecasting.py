"""Forecasting: a seasonal process on a graph, and three forecasters with an estimate of their errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.demo import Demo

_SEEDS = tuple(range(8))
_NODES, _SEASON, _HORIZONS = 12, 24, 6
_TRAIN, _TEST = 480, 240


def process(seed: int) -> tuple[Floats, Floats]:
    """Anomalies of all nodes (time, node), which depend on their own and their neighbours' past; and the graph."""
    draw = np.random.default_rng(seed)
    graph = np.triu(draw.random((_NODES, _NODES)) < 0.25, 1)
    graph = (graph | graph.T).astype(float)
    share = graph / np.maximum(graph.sum(axis=1, keepdims=True), 1)
    steps = _TRAIN + _TEST + _HORIZONS
    day = 0.7 * np.sin(2 * np.pi * np.arange(steps)[:, None] / _SEASON + draw.uniform(0, 2, _NODES))
    moved = np.zeros((steps, _NODES))
    for step in range(1, steps):
        moved[step] = 0.5 * moved[step - 1] + 0.4 * share @ moved[step - 1] + draw.normal(0, 0.3, _NODES)
    return day + moved, share


# A forecaster uses the data known at each of `steps` and returns the next values (step, horizon, node).


def last_value(series: Floats, share: Floats, steps: Ints) -> Floats:
    """The current value for all next hours."""
    return np.repeat(series[steps][:, None], _HORIZONS, axis=1)


def same_hour(series: Floats, share: Floats, steps: Ints) -> Floats:
    """The values one season before."""
    return _windows(series, steps - _SEASON)


def neighbours(series: Floats, share: Floats, steps: Ints) -> Floats:
    """A regression on the season, the node's past and its neighbours' past, fitted on the training period."""
    known = np.arange(_TRAIN - _HORIZONS)
    features, targets, ahead = _features(series, share, known), _windows(series, known), _features(series, share, steps)
    found = np.empty((len(steps), _HORIZONS, _NODES))
    for node in range(_NODES):
        weights, *_ = np.linalg.lstsq(features[..., node], targets[..., node], rcond=None)
        found[..., node] = ahead[..., node] @ weights
    return found


def _windows(series: Floats, steps: Ints) -> Floats:
    """The values after each step, (step, horizon, node)."""
    return np.asarray(series[steps[:, None] + np.arange(1, _HORIZONS + 1)])


def _features(series: Floats, share: Floats, steps: Ints) -> Floats:
    """(step, feature, node): a constant, the season, the last value, the neighbours' last values."""
    hour = 2 * np.pi * steps / _SEASON
    common = np.stack([np.ones(len(steps)), np.sin(hour), np.cos(hour)], axis=1)
    own = np.stack([series[steps], series[steps] @ share.T], axis=1)
    return np.concatenate([np.repeat(common[..., None], _NODES, axis=2), own], axis=1)


_FORECASTERS = {"last value": last_value, "same hour": same_hour, "neighbours": neighbours}


def _write(folder: Path) -> None:
    for seed in _SEEDS:
        series, share = process(seed)
        tried, tested = np.arange(_SEASON, _TRAIN - _HORIZONS), np.arange(_TRAIN, _TRAIN + _TEST)
        truth = _windows(series, tested)
        arrays = {("data", "true"): truth, ("data", "history"): series[:_TRAIN]}
        for name, forecaster in _FORECASTERS.items():
            # A forecaster's spread is that of its errors in the training period, by horizon and node.
            errors = forecaster(series, share, tried) - _windows(series, tried)
            arrays[name, "mean"] = forecaster(series, share, tested)
            arrays[name, "std"] = np.broadcast_to(errors.std(axis=0), truth.shape)
        for (name, kind), content in arrays.items():
            place = folder / "forecasting" / name / str(seed)
            place.mkdir(parents=True, exist_ok=True)
            np.save(place / f"{kind}.npy", content.astype(np.float32))


DEMO = Demo(
    family="forecasting",
    dataset="seasons on a graph",
    methods=tuple(_FORECASTERS),
    seeds=_SEEDS,
    inputs={
        "true": "forecasting/data/{seed}/true.npy",
        "pred": "forecasting/{method}/{seed}/mean.npy",
        "std": "forecasting/{method}/{seed}/std.npy",
        "naive": "forecasting/data/{seed}/history.npy",
        "season": _SEASON,
        "by": ["horizon", "node"],
    },
    metric="crps",
    write=_write,
)
