"""Content of the dashboard: curves with bands, growth against areas, and means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.core.metric import find
from graphgauge.core.result import Interval
from graphgauge.evolution.evaluator import AdaptiveEvaluator
from graphgauge.evolution.summary import by_cycle, means
from graphgauge.stats.intervals import t_interval

if TYPE_CHECKING:
    from graphgauge.evolution.suite import EvaluationSuite

# The metrics that are drawn over cycles and in the summary, if they were computed.
TITLES = {
    "auc_synthetic": "AUC of births, after the cycle",
    "auc_birth": "AUC of births, before the cycle",
    "auc_matched": "AUC against matched targets, before",
    "delta_homophily": "Homophily of births less chance",
    "homophily_new_edges": "Homophily of births",
    "nca_mean": "Accuracy of the probe",
}
# They share an axis, so that values before and after a cycle can be compared.
AREAS = ("auc_synthetic", "auc_birth", "auc_matched")
SUMMARY = ("auc_synthetic", "auc_birth", "auc_matched", "nca_mean", "homophily_new_edges", "delta_homophily")


@dataclass(frozen=True)
class Curve:
    """Means over seeds per cycle, with bounds; for one run, its values with their intervals."""

    cycles: Ints
    values: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Mean:
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Relation:
    """Pearson's correlation over all cycles of all runs; p assumes that cycles are independent."""

    r: float
    p: float
    slope: float
    intercept: float


@dataclass(frozen=True)
class Picture:
    conditions: tuple[str, ...]
    curves: dict[str, dict[str, Curve]]
    means: dict[str, dict[str, Mean]]
    chance: dict[str, float]
    growth: dict[str, tuple[Floats, Floats]]
    relation: Relation | None
    band: str

    @property
    def area_limits(self) -> tuple[float, float]:
        """The limits of the shared axis of all areas, with a margin, including the chance level."""
        curves = [curve for key in AREAS for curve in self.curves.get(key, {}).values()]
        known = [values for curve in curves for values in (curve.values, curve.low, curve.high)]
        every = np.concatenate([*known, [0.45, 0.55]])
        return max(float(np.nanmin(every)) - 0.02, 0.0), min(float(np.nanmax(every)) + 0.02, 1.02)


def picture(suite: EvaluationSuite) -> Picture:
    groups = {name: suite.of(name) for name in suite.conditions if suite.of(name)}
    if not groups:
        raise InputError("no cycle was evaluated", fix="Call step() first.")
    first = next(iter(groups.values()))[0].evaluations[0]
    keys = [key for key in TITLES if key in first]
    if not keys:
        raise InputError("no metric of the dashboard was computed", fix=f"It draws {', '.join(TITLES)}.")
    results = {name: means(group) for name, group in groups.items()}
    chance = {}
    for key in keys:
        levels = [own[key].chance[-1].value for own in results.values() if own[key].chance]
        if levels:
            chance[key] = float(np.mean(levels))
    growth = {name: _growth(group) for name, group in groups.items()} if {"tgc", "auc_synthetic"} <= set(first) else {}
    seeds = sorted({len(group) for group in groups.values()})
    over = f"over {seeds[0] if len(seeds) == 1 else f'{seeds[0]} to {seeds[-1]}'} seeds"
    level = f"{100 * next(iter(groups.values()))[0].confidence:g} % interval"
    return Picture(
        tuple(groups),
        {key: {name: _curve(group, key) for name, group in groups.items()} for key in keys},
        {
            key: {name: _mean(own[key].value, own[key].interval) for name, own in results.items()}
            for key in SUMMARY
            if key in first
        },
        chance,
        growth,
        _relation(growth),
        f"{level} {over if seeds[-1] > 1 else 'of each cycle'}",
    )


def _mean(value: float, interval: Interval | None) -> Mean:
    return Mean(value, *(interval or (math.nan, math.nan)))


def _curve(group: list[AdaptiveEvaluator], key: str) -> Curve:
    cycles, values = by_cycle(group, key)
    if len(group) == 1:
        own = [evaluation[key].interval or (math.nan, math.nan) for evaluation in group[0].evaluations]
        limits = np.array([tuple(bounds) for bounds in own])
        return Curve(cycles, values[0], limits[:, 0], limits[:, 1])
    count = np.count_nonzero(~np.isnan(values), axis=0)
    middle = np.nansum(values, axis=0) / np.where(count, count, np.nan)
    squares = np.nansum((values - middle) ** 2, axis=0)
    error = np.sqrt(squares / np.where(count > 1, count * (count - 1), np.nan))
    low, high = t_interval(middle, error, count - 1, group[0].confidence)
    floor, ceiling = find(key, "evolution")[0].bounds
    return Curve(cycles, middle, np.maximum(low, floor), np.minimum(high, ceiling))


def _growth(group: list[AdaptiveEvaluator]) -> tuple[Floats, Floats]:
    """Pairs of values of the same cycle, if both are defined."""
    tgc = np.concatenate([own.history["tgc"] for own in group])
    auc = np.concatenate([own.history["auc_synthetic"] for own in group])
    known = ~np.isnan(tgc) & ~np.isnan(auc)
    return tgc[known], auc[known]


def _relation(growth: dict[str, tuple[Floats, Floats]]) -> Relation | None:
    from scipy.special import stdtr

    if not growth:
        return None
    tgc, auc = (np.concatenate(part) for part in zip(*growth.values(), strict=True))
    if len(tgc) < 3 or np.ptp(tgc) == 0 or np.ptp(auc) == 0:
        return None
    x, y = tgc - tgc.mean(), auc - auc.mean()
    r = float(np.clip(x @ y / math.sqrt((x @ x) * (y @ y)), -1, 1))
    df = len(tgc) - 2
    p = 0.0 if abs(r) == 1 else 2 * float(stdtr(df, -abs(r) * math.sqrt(df / (1 - r * r))))
    slope = float(x @ y / (x @ x))
    return Relation(r, p, slope, float(auc.mean() - slope * tgc.mean()))
