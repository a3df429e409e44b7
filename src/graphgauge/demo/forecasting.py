"""Forecasts of a seasonal process on nodes that follow each other, by three forecasters with an estimate of errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphgauge.demo import Demo, save

_NODES, _SEASON, _TRAIN, _TEST = 8, 24, 480, 120
_AHEAD = np.arange(1, 5)


def _write(folder: Path, seed: int) -> None:
    draw, steps = np.random.default_rng(seed), np.arange(_TRAIN + _TEST + len(_AHEAD))
    series = draw.normal(0, 0.3, (len(steps), _NODES))
    for step in steps[1:]:
        series[step] += 0.5 * series[step - 1] + 0.4 * series[step - 1].mean()
    angle = 2 * np.pi * steps[:, None] / _SEASON
    series += 0.7 * np.sin(angle + draw.uniform(0, 2, _NODES))

    now = steps[_SEASON : -len(_AHEAD)]
    after = now[:, None] + _AHEAD
    truth, known = series[after], now < _TRAIN - len(_AHEAD)
    features = np.hstack([np.ones_like(angle), np.sin(angle), np.cos(angle), series])[now]
    weights = np.linalg.lstsq(features[known], truth[known].reshape(known.sum(), -1), rcond=None)[0]
    forecasts = {
        "last value": np.repeat(series[now][:, None], len(_AHEAD), axis=1),
        "same hour": series[after - _SEASON],
        "regression": (features @ weights).reshape(truth.shape),
    }
    tested = now >= _TRAIN
    save(folder / "data" / str(seed), true=truth[tested].astype("f4"), history=series[:_TRAIN].astype("f4"))
    for name, values in forecasts.items():
        # A forecaster's spread is that of its errors in the training period, by horizon and node.
        std = np.broadcast_to((values - truth)[known].std(axis=0), truth[tested].shape)
        save(folder / name / str(seed), mean=values[tested].astype("f4"), std=std.astype("f4"))


DEMO = Demo(
    dataset="seasons on a graph",
    methods=("last value", "same hour", "regression"),
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
