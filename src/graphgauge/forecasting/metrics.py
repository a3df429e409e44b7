"""The forecasting metrics: of errors, of distributions, intervals and joint members, and distances from calibration.

Each is a ratio of sums over cells, or is computed from the shares and bins of `calibration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.metric import Estimate, Exempt, Metric, NoChance, NoInterval
from graphgauge.core.registry import metric
from graphgauge.core.types import Floats
from graphgauge.forecasting import levels as _levels
from graphgauge.forecasting.calibration import Reliability, Spread
from graphgauge.forecasting.joint import Vectors
from graphgauge.forecasting.sums import NOTHING, Cells, plus, rooted, serial, serial_root, serial_share, serial_tail

LAWS: Mapping[str, bool | Exempt] = {"permutation": True, "merge": True, "monotone": True, "symmetry": True}
DIRECTED = {**LAWS, "symmetry": Exempt("truth and forecast are not interchangeable")}
POOLED = {"pooled": "over cells, not a mean of means"}

# What metrics of errors declare alike.
error = partial(
    metric,
    family="forecasting",
    needs=("errors",),
    direction="lower",
    bounds=(0, inf),
    unit="cell",
    conventions=POOLED,
    reference="willmott2005",
    chance=_levels.zero,
    interval=serial,
    laws=DIRECTED,
)
_scaled = partial(
    error,
    needs=("scaled",),
    chance=_levels.scaled(),
    reference="hyndman2006",
    conventions=POOLED | {"scale": "the node's naive error in its history; constant histories are left out"},
)


# ---- errors


@error("mae", laws=LAWS, default=True)
def mae(cells: Cells) -> Estimate:
    """Mean absolute error."""
    return cells.mean("abs")


@error("rmse", laws=LAWS, chance=_levels.roots, interval=serial_root, default=True)
def rmse(cells: Cells) -> Estimate:
    """Root of the mean squared error over all cells, not a mean of roots."""
    return rooted(cells.mean("square"))


@error("mse", laws=LAWS, chance=_levels.squares)
def mse(cells: Cells) -> Estimate:
    """Mean squared error, by which methods are compared over time as by `rmse`."""
    return cells.mean("square")


@error(
    "mape",
    chance=_levels.zero_scores(1.0),
    reference="li2018",
    conventions=POOLED | {"zeros": "cells whose truth is 0 are left out and counted"},
    default=True,
)
def mape(cells: Cells) -> Estimate:
    """Mean of absolute error over absolute truth, over cells whose truth is not 0; 0.1 is 10 %."""
    found = cells.mean("ape", "nonzero", reason="every truth is 0")
    return without(cells, found, "cells whose truth is 0 are left out of mape")


def without(cells: Cells, estimate: Estimate, what: str) -> Estimate:
    """The estimate over all cells, with a warning that says how many were left out."""
    left_out = int(cells.n.sum() - estimate.n.sum())
    many = len(cells.n) > 1 or not left_out
    return estimate if many else replace(estimate, warnings=(*estimate.warnings, f"{left_out:,} {what}"))


@error("wape", chance=_levels.zero_scores(1.0), reference="kolassa2007")
def wape(cells: Cells) -> Estimate:
    """Sum of absolute errors over sum of absolute truths."""
    return cells.ratio("abs", "abs_y", "every truth is 0")


@error(
    "smape",
    laws=LAWS,
    bounds=(0, 2),
    chance=_levels.zero_scores(2.0),
    reference="makridakis1993",
    conventions=POOLED | {"0/0": "counts as 0"},
)
def smape(cells: Cells) -> Estimate:
    """Mean of 2·abs(error) over abs(truth) + abs(forecast)."""
    found = cells.mean("sape")
    return replace(found, value=np.minimum(found.value, 2.0))


@_scaled("mase", default=True)
def mase(cells: Cells) -> Estimate:
    """Mean absolute error divided by the node's mean absolute (seasonal) naive error in the history."""
    found = cells.mean("scaled", "scaled_n", reason="the history is constant: its naive forecast has no error")
    return without(cells, found, "cells of nodes whose history is constant are left out of mase")


@_scaled("rmsse", interval=serial_root, chance=_levels.scaled(2.0))
def rmsse(cells: Cells) -> Estimate:
    """Root of the mean squared error, each node's divided by its mean squared (seasonal) naive error in the history."""
    found = cells.mean("scaled_square", "scaled_n", reason="the history is constant: its naive forecast has no error")
    return without(cells, rooted(found), "cells of nodes whose history is constant are left out of rmsse")


@error(
    "bias",
    direction="target",
    target=0.0,
    bounds=(-inf, inf),
    chance=_levels.minus_mean,
    laws=DIRECTED | {"monotone": Exempt("errors of both signs cancel")},
    conventions=POOLED | {"sign": "forecast minus truth"},
)
def bias(cells: Cells) -> Estimate:
    """Mean of forecast minus truth: above 0 the forecasts are too high."""
    return cells.mean("error")


@error(
    "r2",
    direction="higher",
    bounds=(-inf, 1),
    chance=_levels.mean_of_truth,
    reference="wright1921",
    conventions=POOLED | {"mean": "one for all cells of the group"},
)
def r2(cells: Cells) -> Estimate:
    """Share of the truth's variation about its mean that the forecast explains: 1 − squared errors over variation."""
    blocks, whole = cells.variation
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.where(whole > 0, cells.total("square") / whole, np.nan)
        influence = -(cells.series("square") - left * blocks) / whole
    reason = "the truth does not vary" if cells.n.any() else NOTHING
    return Estimate(1 - left, cells.n, influence, reason=reason, facts={"over": cells.series("n")})


# ---- losses of the user


def loss(name: str) -> Metric:
    """The metric of a loss that the user computed for each cell."""

    def mean(cells: Cells) -> Estimate:
        """Mean over cells of a loss that was computed for each."""
        return cells.mean(f"score_{name}")

    own = {"needs": ("scores",), "bounds": (-inf, inf), "reference": None}
    chance = NoChance("the loss is the user's own")
    return Metric(key=name, function=mean, **{**error.keywords, **own, "chance": chance})


class Percent(float):
    """A level as keys have it: 95, or 97.5."""

    def __format__(self, form: str) -> str:
        return format(float(self), form or "g")


_LEVEL, _MEDIAN = Percent(95), Percent(50)
# Levels that carry a CRPS: their number, and where the lowest and the highest have to be.
_FEWEST_LEVELS, _TAIL = 9, 0.1
_FEW_NODES = "no time step has two observed nodes"
_NOT_SCORED = NoChance("a width is chosen by the forecaster, not scored")
# Metrics of every form of distribution, of quantiles, of intervals, and of joint members.
_MOVED = Exempt("it depends on the members or quantiles, which may get worse while y_pred improves")
_said = partial(error, needs=("gaussian", "samples", "quantiles"), laws=DIRECTED | {"monotone": _MOVED})
_quantiles = partial(_said, needs=("quantiles",), reference="koenker1978")
_between = partial(
    _said,
    conventions=POOLED | {"interval": "central; of members, at places p·(m + 1) in their order"},
    interval=serial_tail,
)
CALIBRATION = DIRECTED | {"monotone": Exempt("a better forecast may cover the truth too often for its spread")}


# ---- distributions


@_said(
    "nll",
    needs=("gaussian",),
    bounds=(-inf, inf),
    chance=_levels.climate,
    reference="good1952",
    laws=DIRECTED,
    conventions=POOLED | {"density": "Gaussian; natural logarithm"},
    default=True,
)
def nll(cells: Cells) -> Estimate:
    """Mean negative log-likelihood of the truth under the predicted distributions."""
    return cells.mean("nll")


@_said(
    "crps",
    reference="gneiting2007",
    conventions=POOLED
    | {"from": "a Gaussian in closed form; members as they are; quantiles, each for the levels nearest to it"},
    default=True,
)
def crps(cells: Cells) -> Estimate:
    """Mean continuous ranked probability score: the absolute error generalised to distributions.

    For members, the score of their empirical distribution. For quantiles, twice the pinball loss integrated over at
    least nine levels from .1 to .9, where each represents the probabilities nearest to it: of a Gaussian, the deciles
    give 4.7 % more than its score, 19 even levels 1.4 % and 99 0.1 %.
    """
    levels = np.array(cells.design.levels)
    if cells.design.form != "quantiles":
        return cells.mean("crps")
    if len(levels) < _FEWEST_LEVELS or levels[0] > _TAIL + 1e-9 or levels[-1] < 1 - _TAIL - 1e-9:
        what = f"{len(levels)} levels are too few for a CRPS: pinball and wql are of these levels"
        raise InputError(what, fix=f"It takes {_FEWEST_LEVELS}, from {_TAIL:g} or below to {1 - _TAIL:g} or above.")
    return _weighted(cells, 2 * _levels.nearest(levels))


@_said(
    "crps_fair",
    needs=("samples",),
    bounds=(-inf, inf),
    reference="ferro2014",
    conventions=POOLED | {"from": "members as draws: what infinitely many of them would score, on average"},
)
def crps_fair(cells: Cells) -> Estimate:
    """CRPS whose expected value does not depend on the number of members; single values may be below 0."""
    return cells.mean("crps_fair")


@_quantiles("pinball", chance=_levels.zero_quantiles, conventions=POOLED | {"levels": "all count the same"})
def pinball(cells: Cells) -> Estimate:
    """Mean pinball (quantile) loss over cells and levels."""
    levels = len(cells.design.levels)
    return _weighted(cells, np.full(levels, 1 / levels))


@_quantiles("pinball_{quantile}", chance=_levels.zero_quantiles)
def pinball_at(cells: Cells, *, quantile: Percent = _MEDIAN) -> Estimate:
    """Mean pinball (quantile) loss of one level, in percent in the name."""
    level = cells.design.quantile(quantile / 100)
    return cells.absent("is not a level of the quantiles") if level is None else cells.mean(f"pinball_{level:g}")


@_quantiles(
    "wql",
    chance=NoChance("the forecast that is 0 everywhere scores 1 at every level"),
    conventions=POOLED | {"levels": "all count the same"},
)
def wql(cells: Cells) -> Estimate:
    """Weighted quantile loss: twice the summed pinball loss over the sum of absolute truths, mean over levels."""
    loss, size = pinball(cells), cells.total("abs_y")
    assert loss.influence is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(size > 0, 2 * cells.size / size, np.nan)
        drift = (cells.series("abs_y") - size / cells.size * cells.series("n")) / size
    value = loss.value * scale
    influence = scale * loss.influence - value * drift
    return replace(loss, value=value, influence=influence, reason="every truth is 0" if cells.n.any() else NOTHING)


def _weighted(cells: Cells, weights: Floats) -> Estimate:
    """The pinball losses of all levels with these weights."""
    parts = [
        cells.mean(f"pinball_{level:g}", factor=weight)
        for level, weight in zip(cells.design.levels, weights.tolist(), strict=True)
    ]
    total, *rest = parts
    for part in rest:
        total = plus(total, part)
    stated = {"quantile levels": ", ".join(f"{level:g}" for level in cells.design.levels)}
    return replace(total, facts={**total.facts, "conventions": stated})


# ---- intervals


@_between(
    "coverage_{level}",
    direction="target",
    target=0.95,
    bounds=(0, 1),
    chance=_levels.own_level,
    interval=serial_share,
    reference="christoffersen1998",
    laws=CALIBRATION,
    default=True,
)
def coverage(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Share of truths in the central prediction interval of that level; best is the level itself."""
    known = cells.design.level(level / 100)
    if known is None:
        return _no_interval(cells, level)
    found = cells.mean(f"inside_{known:g}")
    return replace(found, facts={**found.facts, "level": known, "target": level / 100})


def _no_interval(cells: Cells, level: float) -> Estimate:
    design, tail = cells.design, (1 - level / 100) / 2
    if design.form == "quantiles":
        return cells.absent(f"needs the quantiles {tail:g} and {1 - tail:g}")
    if design.form == "samples" and tail * (design.members + 1) < 1 - 1e-9:
        return cells.absent(f"needs at least {int(np.ceil(1 / tail - 1e-9)) - 1} members")
    return cells.absent("was not summed: name the level in coverage=")


def _width(cells: Cells, known: float) -> Estimate:
    if cells.design.form == "gaussian":
        return cells.mean("std", factor=2 * cells.design.half_widths[known])
    return cells.mean(f"width_{known:g}")


@_between("interval_score_{level}", chance=_levels.zero_interval, reference="winkler1972")
def interval_score(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Winkler's score: the interval's width plus 2/(1 − level) times how far the truth is outside, mean over cells."""
    known = cells.design.level(level / 100)
    if known is None:
        return _no_interval(cells, level)
    found = plus(_width(cells, known), cells.mean(f"over_{known:g}", factor=2 / (1 - known)))
    return replace(found, facts={**found.facts, "level": known})


@_between(
    "msis_{level}",
    needs=("scaled_intervals",),
    chance=_levels.zero_scaled_interval,
    reference="makridakis2020",
)
def msis(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Mean scaled interval score: Winkler's score divided by the node's naive error in the history."""
    known = cells.design.level(level / 100)
    if known is None:
        return _no_interval(cells, level)
    why = "the history is constant: its naive forecast has no error"
    found = cells.mean(f"msis_{known:g}", "scaled_n", reason=why)
    found = replace(found, facts={**found.facts, "level": known})
    return without(cells, found, "cells of nodes whose history is constant are left out of msis")


@_between("width_{level}", direction="none", chance=_NOT_SCORED, reference="gneiting2007sharpness", interval=serial)
def width(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Mean width of the central prediction interval of that level."""
    known = cells.design.level(level / 100)
    return _no_interval(cells, level) if known is None else _width(cells, known)


@_said(
    "sharpness",
    needs=("gaussian",),
    direction="none",
    chance=_NOT_SCORED,
    interval=serial_root,
    reference="gneiting2007sharpness",
)
def sharpness(cells: Cells) -> Estimate:
    """Root mean predicted variance: how much spread the forecasts claim, whether it is right or not."""
    return rooted(cells.mean("var"))


# ---- joint forecasts

_vectors = partial(
    error,
    needs=("joint",),
    unit="vector",
    reference="gneiting2007",
    laws=DIRECTED | {"monotone": _MOVED, "permutation": Exempt("distances are summed over nodes in their order")},
    conventions={"vector": "all observed nodes of a time step and horizon, at least two; not divided by size"},
)


@_vectors("energy_score", chance=_levels.shuffled("energy"))
def energy_score(joint: Vectors) -> Estimate:
    """Mean distance of the members to the truth of all nodes, less half their mean distance to each other."""
    return joint.mean("energy", "energy_n", reason=_FEW_NODES)


@_vectors(
    "energy_gain",
    direction="higher",
    bounds=(-inf, 1),
    chance=_levels.no_gain,
    laws=DIRECTED | {"monotone": _MOVED, "permutation": Exempt("members are shuffled by the position of the node")},
)
def energy_gain(joint: Vectors) -> Estimate:
    """Share of the energy score that the members' dependence between nodes saves, compared with shuffled members."""
    return joint.gain("energy", _FEW_NODES)


@_vectors(
    "variogram_score",
    needs=("pairs",),
    chance=_levels.shuffled("variogram"),
    reference="scheuerer2015",
    conventions={"order": "0.5", "pairs": "joined by an edge, both observed; mean over pairs, then over steps"},
)
def variogram_score(pairs: Vectors) -> Estimate:
    """Squared error of the expected root distance between neighbouring nodes, mean over the edges of the graph."""
    return pairs.mean("variogram", "variogram_n", reason="no edge has two observed nodes")


_distance = partial(
    error,
    interval=NoInterval("a distance from calibration is biased upwards; compare it with a perfect forecaster's"),
    laws=CALIBRATION,
)
_shares = partial(
    _distance,
    needs=("reliability",),
    bounds=(0, 1),
    reference="kuleshov2018",
    conventions=POOLED | {"p": "0.01 to 0.99, or the levels of the quantiles"},
)
_bins = partial(
    _distance,
    needs=("spread",),
    reference="levi2022",
    conventions=POOLED
    | {
        "bins": "of equal number, by standard deviation; equal ones share a bin",
        "compared": "root mean square error and root mean predicted variance",
    },
)


# ---- calibration


@_bins("ece", chance=_levels.perfect_spread(0), default=True)
def ece(spread: Spread) -> Estimate:
    """Expected calibration error: root mean square error against predicted spread, in bins that weigh by cells.

    It has the unit of the truth.
    """
    return spread.estimate(0)


@_bins("ence", chance=_levels.perfect_spread(1))
def ence(spread: Spread) -> Estimate:
    """Expected normalised calibration error: the same distance relative to the predicted spread, mean over bins."""
    return spread.estimate(1)


@_shares("calibration_error", chance=_levels.perfect_shares(Reliability.mean_distance, _levels.equal))
def calibration_error(reliability: Reliability) -> Estimate:
    """Mean over p of the distance between p and the share of truths at or below the predicted quantile p."""
    return reliability.estimate(reliability.mean_distance())


@_shares(
    "central_calibration_error",
    chance=_levels.perfect_shares(Reliability.mean_distance, _levels.equal, central=True),
    conventions=POOLED | {"p": "levels of central intervals: 0.02 to 0.98, or those that the quantiles bound"},
)
def central_calibration_error(reliability: Reliability) -> Estimate:
    """Mean over levels of the distance between a central interval's level and the share of truths in it.

    It misses a bias that a wide spread hides; `calibration_error` does not.
    """
    return reliability.estimate(reliability.centred.mean_distance(), "no two of the quantiles bound a central interval")


@_shares(
    "miscalibration_area",
    bounds=(0, 0.5),
    chance=_levels.perfect_shares(Reliability.area, _levels.nearest),
    conventions=POOLED | {"curve": "joined by straight lines from (0, 0) to (1, 1)"},
)
def miscalibration_area(reliability: Reliability) -> Estimate:
    """Area between the reliability curve and the diagonal."""
    return reliability.estimate(reliability.area())
