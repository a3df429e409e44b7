"""Forecasts, clean and with planted faults.

Clean ones are honest forecasts of series that are what real ones are: nodes of different scales that move together,
dependent in time, with calm and stormy periods, and often short.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.finding import checks
from graphgauge.forecasting import evaluate

Materials = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """`strengths` describes three sizes of the fault, the weakest first, and gives each to `planted`."""

    check: str
    clean: Callable[[np.random.Generator], Materials]
    planted: Callable[[np.random.Generator, Any], Materials]
    strengths: Mapping[str, Any]

    def share(self, made: Callable[[np.random.Generator], Materials], draws: int, seed: int) -> float:
        """The share of inputs in which the check finds something."""
        (check,) = (each for each in checks("forecasting") if each.name == self.check)
        found = [check.run(made(np.random.default_rng((seed, draw)))) for draw in range(draws)]
        return sum(each is not None for each in found) / draws


METRICS = ["rmse", "r2", "bias", "sharpness"]


@dataclass
class World:
    """Truth, best forecast and its spread, (steps, horizons, nodes)."""

    y: np.ndarray
    mean: np.ndarray
    std: np.ndarray


def world(rng, steps=None, nodes=None, horizons=2, memory=None, unlike=0.5):
    steps = int(np.exp(rng.uniform(np.log(12), np.log(120)))) if steps is None else steps
    nodes = int(rng.choice([1, 5, 30])) if nodes is None else nodes
    memory = float(rng.choice([0.3, 0.7, 0.9])) if memory is None else memory
    length = 30 + steps + horizons
    scale = np.exp(rng.normal(0, unlike, nodes))
    storm = np.empty(length)
    storm[0], news = 0.0, rng.normal(0, 0.1, length)
    for t in range(1, length):
        storm[t] = 0.95 * storm[t - 1] + news[t]
    storm = np.exp(storm)
    shock = np.sqrt(0.5) * rng.normal(0, 1, (length, 1)) + np.sqrt(0.5) * rng.normal(0, 1, (length, nodes))
    shock *= storm[:, None] * scale
    series = np.empty((length, nodes))
    series[0] = shock[0]
    for t in range(1, length):
        series[t] = memory * series[t - 1] + shock[t]
    origins = 29 + np.arange(steps)
    ahead = np.arange(1, horizons + 1)
    y = series[origins[:, None] + ahead]
    mean = memory ** ahead[:, None] * series[origins][:, None]
    spread = np.sqrt(np.cumsum(memory ** (2.0 * np.arange(horizons))))
    return World(y, mean, spread[:, None] * storm[origins][:, None, None] * scale)


def judged(made, **options):
    return evaluate(made.y, made.mean, std=made.std, metrics=METRICS, **options)._materials


def honest(rng):
    return judged(world(rng))


def nearly(rng):
    """Standard deviations that are a little too small or too large."""
    made = world(rng)
    made.std *= rng.choice([0.85, 1 / 0.85])
    return judged(made)


def narrow(rng, factor):
    made = world(rng, steps=100, nodes=30)
    made.std *= factor
    return judged(made)


def slightly_off(rng):
    """A bias of a third of the forecasts' own error."""
    made = world(rng)
    made.mean = made.mean + made.std / 3
    return judged(made)


def off(rng, by):
    made = world(rng, steps=100, nodes=30)
    made.mean = made.mean + by * made.std
    return judged(made)


def useless(rng, late):
    """Forecasts that are laid beside the truth of other steps, or are noise."""
    made = world(rng, steps=100, nodes=30, memory=0.5)
    made.mean = made.y + made.std * rng.normal(0, 0.3, made.y.shape) if late else rng.permuted(made.y, axis=0)
    if late:
        made.y, made.mean, made.std = made.y[late:], made.mean[:-late], made.std[late:]
    return judged(made)


def persistent(rng):
    """Series with a long memory, some of them rounded, so that good forecasts are often near the last value."""
    made = world(rng, steps=60, nodes=5, memory=0.95)
    if rng.random() < 0.5:
        made.y, made.mean = np.round(made.y, 1), np.round(made.mean, 1)
    return judged(made)


def last(rng, share):
    made = world(rng, steps=60, nodes=5)
    known = np.concatenate([made.y[:1, :1], made.y[:-1, :1]])
    copies = rng.random(made.y.shape) < share
    made.mean = np.where(copies, np.float32(known), made.mean)
    return judged(made)


def counts(rng):
    """Counts, rounded measurements with forecasts rounded alike, and rain with its many zeros; or plain values."""
    made = world(rng, steps=80, nodes=10)
    kind = rng.choice(["counts", "rounded", "rain", "plain"])
    if kind == "counts":
        made.y, made.mean = np.round(20 + 5 * made.y), np.round(20 + 5 * made.mean)
    elif kind == "rounded":
        made.y, made.mean = np.round(20 + made.y, 2), np.round(20 + made.y + 0.05 * (made.mean - made.y), 2)
    elif kind == "rain":
        made.y, made.mean = np.maximum(made.y, 0), np.maximum(made.mean, 0)
    return judged(made)


def leaked(rng, share):
    made = world(rng, steps=80, nodes=10)
    made.mean = np.where(rng.random(made.y.shape) < share, np.float32(made.y), made.mean)
    return judged(made)


def uneven(rng):
    """Nodes whose variances differ by a factor of three and more, errors with heavy tails, and an outage of one."""
    made = world(rng, nodes=int(rng.choice([10, 20, 40, 100])), unlike=0.3)
    made.mean = made.y + made.std * rng.standard_t(3, made.y.shape)
    hit = int(rng.integers(0, max(1, len(made.y) - 5)))
    made.mean[hit : hit + 5, :, 0] += 10 * made.std[hit : hit + 5, :, 0]
    return judged(made)


def broken_nodes(rng, factor):
    made = world(rng, steps=60, nodes=40)
    made.mean = made.y + made.std * rng.normal(0, 1, made.y.shape)
    worst = rng.choice(40, 2, replace=False)
    made.mean[:, :, worst] += factor * made.std[:, :, worst] * rng.normal(0, 1, (60, made.y.shape[1], 2))
    return judged(made)


def steps(low, high):
    return lambda rng, count=None: judged(world(rng, steps=int(rng.integers(low, high)) if count is None else count))


def speeds(rng, zeros=0.0, scaled=0.0, **options):
    """Traffic speeds with an honest forecast; some truths are 0, or were 0 before they were scaled and back."""
    made = world(rng, steps=80, nodes=10)
    level = 20 * np.abs(made.y).max()
    y, mean = made.y + level, made.mean + level
    y = np.where(rng.random(y.shape) < zeros, 0.0, y)
    y = np.where(rng.random(y.shape) < scaled, rng.uniform(-1e-5, 1e-5, y.shape), y)
    return evaluate(y, mean, metrics=METRICS[:3], **options)._materials


def events(rng):
    """Counts, or rain: zeros that were observed."""
    if rng.random() < 0.5:
        rate = rng.gamma(2.0, 2.0, (60, 2, 10))
        return evaluate(rng.poisson(rate), rate, metrics=METRICS[:3])._materials
    wet = rng.random((60, 2, 10)) < 0.6
    rain = np.where(wet, rng.gamma(0.5, 4.0, wet.shape), 0.0)
    chance = np.where(wet, rng.uniform(0.3, 1.0, wet.shape), rng.uniform(0.0, 0.6, wet.shape))
    return evaluate(rain, 2 * chance, metrics=METRICS[:3])._materials


def quantiles(rng, share=0.0):
    made = world(rng, steps=60, nodes=10)
    table = made.mean[..., None] + made.std[..., None] * np.array([-1.28, 0.0, 1.28])
    crossed = rng.random(made.y.shape) < share
    table[crossed] = table[crossed][:, [1, 0, 2]]
    levels = (0.1, 0.5, 0.9)
    return evaluate(made.y, quantiles=table, levels=levels, metrics=["pinball"])._materials


CASES = [
    Case("mis-scaled-spread", nearly, narrow, {"half as wide as the errors": 0.5, "a third": 1 / 3, "a tenth": 0.1}),
    Case("biased", slightly_off, off, {"off by 1.5 standard deviations": 1.5, "by 2": 2.0, "by 4": 4.0}),
    Case("no-better-than-the-mean", honest, useless, {"late by two steps": 2, "late by four": 4, "in random order": 0}),
    Case("last-value", persistent, last, {"93 % of the forecasts": 0.93, "97 %": 0.97, "all": 1.0}),
    Case("leaked-target", counts, leaked, {"3 % of the forecasts": 0.03, "10 %": 0.1, "all": 1.0}),
    Case(
        "errors-in-few-nodes",
        uneven,
        broken_nodes,
        {"2 of 40 nodes 6 times as wrong": 6.0, "10 times": 10.0, "30 times": 30.0},
    ),
    Case("unmasked-zeros", events, speeds, {"3 % of the truths": 0.03, "10 %": 0.1, "30 %": 0.3}),
    Case(
        "almost-null",
        lambda rng: speeds(rng, zeros=0.1, null_value=0),
        lambda rng, share: speeds(rng, scaled=share, null_value=0),
        {"3 % of the truths": 0.03, "10 %": 0.1, "30 %": 0.3},
    ),
    Case(
        "unused-null-value",
        lambda rng: speeds(rng, zeros=0.02, null_value=0),
        lambda rng, null: speeds(rng, zeros=0.1, null_value=null),
        {"−1 instead of 0": -1.0, "−999": -999.0, "NaN": np.nan},
    ),
    Case("crossing-quantiles", quantiles, quantiles, {"1 % of the cells": 0.01, "10 %": 0.1, "all": 1.0}),
    Case("few-time-steps", steps(30, 60), steps(8, 30), {"29 steps": 29, "20": 20, "8": 8}),
]
