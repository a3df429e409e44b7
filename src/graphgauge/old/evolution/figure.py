"""The evolution dashboard: metrics over cycles, growth against areas, and means side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.core.errors import InputError
from graphgauge.old.core.figures import CHANCE, COLOURS, SHAPES, canvas
from graphgauge.old.core.metric import find
from graphgauge.old.core.result import Interval
from graphgauge.old.evolution.evaluator import AdaptiveEvaluator
from graphgauge.old.evolution.summary import by_cycle, means
from graphgauge.old.stats.intervals import t_interval
from graphgauge.old.stats.text import fixed

if TYPE_CHECKING:
    from graphgauge.old.evolution.suite import EvaluationSuite

# The metrics that are drawn over cycles and in the summary, if they were computed.
TITLES = {
    "auc_synthetic": "AUC of births, after the cycle",
    "auc_birth": "AUC of births, before the cycle",
    "auc_matched": "AUC against matched targets, before",
    "auc_newborn": "AUC of new nodes' edges, at insertion",
    "delta_homophily": "Homophily of births less chance",
    "homophily_new_edges": "Homophily of births",
    "nca_mean": "Accuracy of the probe",
}
# They share an axis, so that values before and after a cycle can be compared.
AREAS = ("auc_synthetic", "auc_birth", "auc_matched", "auc_newborn")
SUMMARY = (
    "auc_synthetic",
    "auc_birth",
    "auc_matched",
    "auc_newborn",
    "nca_mean",
    "homophily_new_edges",
    "delta_homophily",
)


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
    """Pearson's correlations of growth and area: within each condition, and between the means of conditions.

    The pooled correlation of all cycles mixes both, and may have the opposite sign (Simpson's paradox). `lines` has the
    slope and the intercept within each condition. Cycles depend on each other, so there are no p-values.
    """

    within: dict[str, float]
    between: float
    lines: dict[str, tuple[float, float]]

    @property
    def words(self) -> str:
        """What the figure says about it."""
        known = {name: fixed(r, 2) for name, r in self.within.items() if r == r}
        if len(self.within) > 1:
            said = f"r within: {', '.join(f'{name} {r}' for name, r in known.items())}"
        else:
            said = f"r = {next(iter(known.values()))}"
        return said if self.between != self.between else f"{said}; between means: {fixed(self.between, 2)}"


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
    # A metric without any value, such as that of new nodes where none is born, has no panel.
    known = {
        key
        for group in groups.values()
        for own in group
        for key, values in own.history.items()
        if not np.isnan(values).all()
    }
    keys = [key for key in TITLES if key in first and key in known] or [key for key in TITLES if key in first][:1]
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
            if key in first and key in known
        },
        chance,
        growth,
        relation_of(growth),
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


def relation_of(growth: dict[str, tuple[Floats, Floats]]) -> Relation | None:
    within, lines = {}, {}
    for name, (tgc, auc) in growth.items():
        within[name] = _pearson(tgc, auc)
        if within[name] == within[name]:
            x = tgc - tgc.mean()
            slope = float(x @ auc / (x @ x))
            lines[name] = slope, float(auc.mean() - slope * tgc.mean())
    if not lines:
        return None
    known = [(tgc.mean(), auc.mean()) for tgc, auc in growth.values() if len(tgc)]
    between = _pearson(*(np.array(part) for part in zip(*known, strict=True))) if len(known) > 2 else math.nan
    return Relation(within, between, lines)


def _pearson(x: Floats, y: Floats) -> float:
    """NaN with fewer than three pairs, or without spread."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / math.sqrt((x @ x) * (y @ y)), -1, 1))


# Lines differ in colour, dashes and marks: any one of the three is enough.
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo")
# The most scatter marks drawn as vectors; more are drawn as an image.
_VECTOR = 3000


def draw_evolution(picture: Picture, path: str | Path) -> None:
    """Draw the dashboard into a .svg, .png or .pdf file."""
    rows = -(-len(picture.curves) // 3)
    with canvas(path, width=13.2, height=3.4 * (rows + 1)) as whole:
        grid = whole.add_gridspec(rows + 1, 3)
        for place, key in enumerate(picture.curves):
            _curves(whole.add_subplot(grid[place // 3, place % 3]), picture, key)
        handles, labels = whole.axes[0].get_legend_handles_labels()
        if picture.growth:
            _draw_growth(whole.add_subplot(grid[rows, 0]), picture)
        _means(whole.add_subplot(grid[rows, 1 if picture.growth else 0 :]), picture)
        whole.legend(
            handles,
            labels,
            loc="outside upper center",
            ncols=min(len(labels), 6),
            fontsize=10,
            title=f"Shaded: {picture.band}; dotted: chance",
            title_fontsize=9,
        )


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def _of(choices: tuple[Any, ...], index: int) -> Any:
    """Shifted by one after each round of colours, so that two conditions of one colour differ otherwise."""
    return choices[(index + index // len(COLOURS)) % len(choices)]


def _curves(axis: Any, picture: Picture, key: str) -> None:
    if key in picture.chance:
        axis.axhline(picture.chance[key], ls=(0, (1, 2)), lw=1.2, color=CHANCE)
    for index, (name, curve) in enumerate(picture.curves[key].items()):
        colour = _colour(index)
        axis.fill_between(curve.cycles, curve.low, curve.high, color=colour, alpha=0.16, lw=0)
        axis.plot(
            curve.cycles,
            curve.values,
            ls=_of(_DASHES, index),
            marker=_of(SHAPES, index),
            color=colour,
            lw=1.6,
            ms=4,
            markevery=max(1, len(curve.cycles) // 8),
            label=name,
        )
    if key in AREAS:
        axis.set_ylim(*picture.area_limits)
    axis.set(title=TITLES[key], xlabel="cycle", ylabel=key)
    axis.title.set_fontsize(10)


def _draw_growth(axis: Any, picture: Picture) -> None:
    axis.set(xlabel="tgc", ylabel="auc_synthetic")
    for index, (_, (tgc, auc)) in enumerate(picture.growth.items()):
        axis.scatter(
            tgc,
            auc,
            s=14,
            alpha=0.5,
            color=_colour(index),
            marker=_of(SHAPES, index),
            lw=0,
            rasterized=len(tgc) > _VECTOR,
        )
    relation = picture.relation
    if relation is None:
        axis.set_title("Growth against AUC: nothing to correlate", fontsize=10)
        return
    for index, name in enumerate(picture.growth):
        if name in relation.lines:
            slope, intercept = relation.lines[name]
            own = picture.growth[name][0]
            ends = np.array([own.min(), own.max()])
            axis.plot(ends, intercept + slope * ends, color=_colour(index), ls=_of(_DASHES, index), lw=1.2)
    axis.set_title("\n".join(["Growth against AUC, by condition", *wrap(relation.words, 46)]), fontsize=10)


def _means(axis: Any, picture: Picture) -> None:
    width = 0.8 / len(picture.conditions)
    axis.axhline(0, color="#000000", lw=0.8)
    for index, name in enumerate(picture.conditions):
        offset = (index - (len(picture.conditions) - 1) / 2) * width
        for place, by_condition in enumerate(picture.means.values()):
            mean = by_condition[name]
            if mean.value != mean.value:
                axis.text(place + offset, 0.01, "–", ha="center", va="bottom", fontsize=8)
                continue
            axis.bar(
                place + offset,
                mean.value,
                width * 0.94,
                color=_colour(index),
                alpha=0.75,
                hatch=_of(_HATCHES, index),
                edgecolor="white",
                lw=0.5,
            )
            if mean.low == mean.low:
                axis.plot([place + offset] * 2, [mean.low, mean.high], color="#000000", lw=1.2)
            above = max(mean.value, mean.high) if mean.high == mean.high else mean.value
            if len(picture.conditions) <= 5:
                axis.annotate(
                    f"{mean.value:.3f}",
                    (place + offset, max(above, 0)),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=7,
                )
    for place, key in enumerate(picture.means):
        if key in picture.chance:
            axis.plot([place - 0.44, place + 0.44], [picture.chance[key]] * 2, ls=(0, (1, 1)), color="#000000", lw=1.2)
    axis.set_xticks(range(len(picture.means)), list(picture.means), fontsize=8)
    axis.set(title="Means over cycles and seeds")
    axis.title.set_fontsize(10)
    axis.grid(visible=False, axis="x")
