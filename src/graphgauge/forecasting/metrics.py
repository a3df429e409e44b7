"""The forecasting metrics. Each is a ratio of sums over cells, or a distance from calibration."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.forecasting import declared as _declared
from graphgauge.forecasting.samples import NOTHING, Cells, Reliability, Spread, Vectors
from graphgauge.old.core.metric import Estimate, Exempt, NoChance, metric


class Percent(float):
    """A level as written in keys: 95, or 97.5."""

    def __format__(self, form: str) -> str:
        return format(float(self), form or "g")


# The default level of an interval.
_LEVEL = Percent(95)
_MEDIAN = Percent(50)
_NOT_SCORED = NoChance("a width is chosen by the forecaster, not scored")

_FEW_NODES = "no time step has two observed nodes"
_NO_PAIR = "no edge has two observed nodes"

# ---------------------------------------------------------------- declarations

_ONE_WAY = Exempt("truth and forecast are not interchangeable")
_BOTH_SIGNS = Exempt("errors of both signs cancel")
_MORE_IS_NOT_BETTER = Exempt("a better forecast may cover the truth too often for its spread")
_MOVED = Exempt("it depends on the members or quantiles, which may get worse while y_pred improves")
_LAWS: dict[str, bool | Exempt] = {"permutation": True, "merge": True, "monotone": True, "symmetry": True}
_DIRECTED = _LAWS | {"symmetry": _ONE_WAY}
_CALIBRATION = _DIRECTED | {"monotone": _MORE_IS_NOT_BETTER}
_POOLED = {"pooled": "over cells, not a mean of means", "empty": "nan"}
_ERRORS: dict[str, Any] = {
    "family": "forecasting",
    "needs": ("errors",),
    "direction": "lower",
    "bounds": (0, inf),
    "unit": "cell",
    "conventions": _POOLED,
    "reference": "willmott2005",
    "chance": _declared.zero,
    "interval": _declared.serial,
    "laws": _DIRECTED,
}
_SAID = _ERRORS | {
    "needs": ("gaussian", "samples", "quantiles"),
    "laws": _DIRECTED | {"monotone": _MOVED},
}
_BETWEEN = _SAID | {"conventions": _POOLED | {"interval": "central; of members, at places p·(m + 1) in their order"}}
_SHARES = _ERRORS | {
    "needs": ("reliability",),
    "interval": _declared.BIASED,
    "laws": _CALIBRATION,
    "reference": "kuleshov2018",
    "conventions": _POOLED | {"p": "0.01 to 0.99, or the levels of the quantiles"},
}
_BINS = _ERRORS | {
    "needs": ("spread",),
    "interval": _declared.BIASED,
    "laws": _CALIBRATION,
    "reference": "levi2022",
    "conventions": _POOLED
    | {
        "bins": "of equal number, by standard deviation; equal ones share a bin",
        "compared": "root mean square error and root mean predicted variance",
    },
}

# --------------------------------------------------------------------- errors


@metric(key="mae", **_ERRORS | {"laws": _LAWS})
def mae(cells: Cells) -> Estimate:
    """Mean absolute error."""
    return cells.mean("abs")


@metric(key="rmse", **_ERRORS | {"laws": _LAWS, "chance": _declared.spread_of_truth, "interval": _declared.serial_root})
def rmse(cells: Cells) -> Estimate:
    """Root of the mean squared error over all cells, not a mean of roots."""
    return _root(cells.mean("square"))


def _root(square: Estimate) -> Estimate:
    return replace(square, value=np.sqrt(square.value), facts={"square": square})


@metric(
    key="mape",
    **_ERRORS
    | {
        "chance": _declared.of_zero(1.0),
        "reference": "li2018",
        "conventions": _POOLED | {"zeros": "cells whose truth is 0 are left out and counted"},
    },
)
def mape(cells: Cells) -> Estimate:
    """Mean of absolute error over absolute truth, over cells whose truth is not 0; 0.1 is 10 %."""
    estimate = cells.mean("ape", "nonzero", reason="every truth is 0")
    return _without(cells, estimate, "cells whose truth is 0 are left out of mape")


def _without(cells: Cells, estimate: Estimate, what: str) -> Estimate:
    """The estimate over all cells, with a warning that reports how many were left out."""
    left_out = int(cells.n.sum() - estimate.n.sum())
    return estimate if len(cells.n) > 1 or not left_out else estimate.warned(f"{left_out:,} {what}")


@metric(key="wape", **_ERRORS | {"chance": _declared.of_zero(1.0), "reference": "kolassa2007"})
def wape(cells: Cells) -> Estimate:
    """Sum of absolute errors over sum of absolute truths."""
    size = cells.total("abs_y")
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(size > 0, cells.total("abs") / size, np.nan)
        influence = (cells.series("abs") - value * cells.series("abs_y")) / size
    return Estimate(value, cells.n, influence, reason=cells.reason("every truth is 0"))


@metric(
    key="smape",
    **_ERRORS
    | {
        "laws": _LAWS,
        "bounds": (0, 2),
        "chance": _declared.of_zero(2.0),
        "reference": "makridakis1993",
        "conventions": _POOLED | {"0/0": "counts as 0"},
    },
)
def smape(cells: Cells) -> Estimate:
    """Mean of 2·abs(error) over abs(truth) + abs(forecast)."""
    estimate = cells.mean("sape")
    return replace(estimate, value=np.minimum(estimate.value, 2.0))


@metric(
    key="mase",
    **_ERRORS
    | {
        "needs": ("scaled",),
        "chance": _declared.naive,
        "reference": "hyndman2006",
        "conventions": _POOLED | {"scale": "each node's naive error in its own history; constant ones are left out"},
    },
)
def mase(cells: Cells) -> Estimate:
    """Mean absolute error divided by the node's mean absolute (seasonal) naive error in the history."""
    estimate = cells.mean("scaled", "scaled_n", reason="the history is constant: its naive forecast has no error")
    return _without(cells, estimate, "cells of nodes whose history is constant are left out of mase")


@metric(
    key="rmsse",
    **_ERRORS
    | {
        "needs": ("root_scaled",),
        "chance": _declared.naive,
        "reference": "hyndman2006",
        "interval": _declared.serial_root,
        "conventions": _POOLED | {"scale": "each node's mean squared naive error; constant histories are left out"},
    },
)
def rmsse(cells: Cells) -> Estimate:
    """Root of the mean squared error, each node's divided by its mean squared (seasonal) naive error in the history."""
    estimate = cells.mean(
        "scaled_square", "scaled_n", reason="the history is constant: its naive forecast has no error"
    )
    return _without(cells, _root(estimate), "cells of nodes whose history is constant are left out of rmsse")


@metric(
    key="bias",
    **_ERRORS
    | {
        "direction": "target",
        "target": 0.0,
        "bounds": (-inf, inf),
        "chance": _declared.minus_mean,
        "laws": _DIRECTED | {"monotone": _BOTH_SIGNS},
        "conventions": _POOLED | {"sign": "forecast minus truth"},
    },
)
def bias(cells: Cells) -> Estimate:
    """Mean of forecast minus truth: above 0 the forecasts are too high."""
    found = cells.mean("error")
    # Large errors that follow each other do not make the mean of errors of both signs less certain.
    return replace(found, facts={**found.facts, "signed": True})


@metric(
    key="r2",
    **_ERRORS
    | {
        "direction": "higher",
        "bounds": (-inf, 1),
        "chance": _declared.mean_of_truth,
        "reference": "wright1921",
        "conventions": _POOLED | {"mean": "one for all cells of the group"},
    },
)
def r2(cells: Cells) -> Estimate:
    """Share of the truth's variation about its mean that the forecast explains: 1 − squared errors over variation."""
    blocks, whole = cells.variation
    with np.errstate(invalid="ignore", divide="ignore"):
        left = np.where(whole > 0, cells.total("square") / whole, np.nan)
        influence = -(cells.series("square") - left * blocks) / whole
    return Estimate(1 - left, cells.n, influence, reason=cells.reason("the truth does not vary"))


# ------------------------------------------------------------- distributions


@metric(
    key="nll",
    **_SAID
    | {
        "needs": ("gaussian",),
        "bounds": (-inf, inf),
        "chance": _declared.climate,
        "reference": "good1952",
        "laws": _DIRECTED,
        "conventions": _POOLED | {"density": "Gaussian; natural logarithm"},
    },
)
def nll(cells: Cells) -> Estimate:
    """Mean negative log-likelihood of the truth under the predicted distributions."""
    return cells.mean("nll")


@metric(
    key="crps",
    **_SAID
    | {
        "reference": "gneiting2007",
        "conventions": _POOLED
        | {
            "from": "a Gaussian in closed form; members as they are; quantiles, each for the levels nearest to it",
        },
    },
)
def crps(cells: Cells) -> Estimate:
    """Mean continuous ranked probability score: the absolute error generalised to distributions.

    For members, the score of their empirical distribution. For quantiles, twice the pinball loss integrated over the
    levels, where each given level represents the probabilities nearest to it.
    """
    if cells.layout.form != "quantiles":
        return cells.mean("crps")
    levels = np.array(cells.layout.levels)
    return _weighted(cells, 2 * _declared.nearest(levels))


@metric(
    key="crps_fair",
    **_SAID
    | {
        "needs": ("samples",),
        "bounds": (-inf, inf),
        "reference": "ferro2014",
        "conventions": _POOLED | {"from": "members as draws: what infinitely many of them would score, on average"},
    },
)
def crps_fair(cells: Cells) -> Estimate:
    """CRPS whose expected value does not depend on the number of members; single values may be below 0."""
    return cells.mean("crps_fair")


@metric(
    key="pinball",
    **_SAID
    | {
        "needs": ("quantiles",),
        "chance": _declared.zero_quantiles,
        "reference": "koenker1978",
        "conventions": _POOLED | {"levels": "all count the same"},
    },
)
def pinball(cells: Cells) -> Estimate:
    """Mean pinball (quantile) loss over cells and levels."""
    levels = len(cells.layout.levels)
    return _weighted(cells, np.full(levels, 1 / levels))


@metric(
    key="pinball_{quantile}",
    **_SAID
    | {
        "needs": ("quantiles",),
        "chance": _declared.zero_quantile,
        "reference": "koenker1978",
        "conventions": _POOLED,
    },
)
def pinball_at(cells: Cells, *, quantile: Percent = _MEDIAN) -> Estimate:
    """Mean pinball (quantile) loss of one level, in percent in the name."""
    level = next((level for level in cells.layout.levels if abs(level - quantile / 100) < 1e-9), None)
    if level is None:
        return Estimate(np.full(len(cells.n), np.nan), cells.n, reason="is not a level of the quantiles", absent=True)
    return cells.mean(f"pinball_{level:g}")


@metric(
    key="wql",
    **_SAID
    | {
        "needs": ("quantiles",),
        "chance": NoChance("the forecast that is 0 everywhere scores 1 at every level"),
        "reference": "koenker1978",
        "conventions": _POOLED | {"levels": "all count the same"},
    },
)
def wql(cells: Cells) -> Estimate:
    """Weighted quantile loss: twice the summed pinball loss over the sum of absolute truths, mean over levels."""
    size = cells.total("abs_y")
    loss = pinball(cells)
    assert loss.influence is not None
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(size > 0, 2 * cells.size() / size, np.nan)
        value = loss.value * scale
        drift = (cells.series("abs_y") - size / cells.size() * cells.series("n")) / size
        influence = scale * loss.influence - value * drift
    return Estimate(value, cells.n, influence, reason=cells.reason("every truth is 0"))


def _weighted(cells: Cells, weights: Floats) -> Estimate:
    parts = [cells.mean(f"pinball_{level:g}") for level in cells.layout.levels]
    value = sum(weight * part.value for weight, part in zip(weights, parts, strict=True))
    influence = sum(weight * part.influence for weight, part in zip(weights, parts, strict=True))
    return Estimate(np.asarray(value), cells.n, np.asarray(influence), reason=NOTHING)


# ------------------------------------------------------------ joint forecasts

_SUMMED = Exempt("distances are summed over nodes in their order, so the last bit may differ")
_SHUFFLED = Exempt("members are shuffled by offsets that depend on the position of the node")
_VECTORS: dict[str, Any] = _ERRORS | {
    "unit": "vector",
    "reference": "gneiting2007",
    "laws": _DIRECTED | {"monotone": _MOVED, "permutation": _SUMMED},
}
_JOINT = _VECTORS | {
    "needs": ("joint",),
    "chance": _declared.shuffled("energy"),
    "conventions": {"vector": "all observed nodes of a time step and horizon, at least two; not divided by size"},
}
_PAIRS = _VECTORS | {
    "needs": ("pairs",),
    "chance": _declared.shuffled("variogram", "variogram_n"),
    "reference": "scheuerer2015",
    "conventions": {"order": "0.5", "pairs": "joined by an edge, both observed; mean over pairs, then over steps"},
}


@metric(key="energy_score", **_JOINT)
def energy_score(joint: Vectors) -> Estimate:
    """Mean distance of the members to the truth of all nodes, less half their mean distance to each other."""
    return joint.mean("energy", reason=_FEW_NODES)


@metric(
    key="energy_gain",
    **_JOINT
    | {
        "direction": "higher",
        "bounds": (-inf, 1),
        "chance": _declared.no_gain,
        "laws": _DIRECTED | {"monotone": _MOVED, "permutation": _SHUFFLED},
    },
)
def energy_gain(joint: Vectors) -> Estimate:
    """Share of the energy score that the members' dependence between nodes saves, compared with shuffled members."""
    return joint.gain("energy", reason=_FEW_NODES)


@metric(key="variogram_score", **_PAIRS)
def variogram_score(pairs: Vectors) -> Estimate:
    """Squared error of the expected root distance between neighbouring nodes, mean over the edges of the graph."""
    return pairs.mean("variogram", "variogram_n", reason=_NO_PAIR)


# ---------------------------------------------------------------- calibration


@metric(key="ece", **_BINS | {"chance": _declared.null(0)})
def ece(spread: Spread) -> Estimate:
    """Expected calibration error: root mean square error against root mean predicted variance, in bins of the latter.

    It has the unit of the truth. Bins are weighted by their number of cells.
    """
    return spread.estimate(0)


@metric(key="ence", **_BINS | {"chance": _declared.null(1)})
def ence(spread: Spread) -> Estimate:
    """Expected normalised calibration error: the same distance relative to the predicted spread, mean over bins."""
    return spread.estimate(1)


@metric(
    key="calibration_error",
    **_SHARES
    | {
        "bounds": (0, 1),
        "chance": _declared.perfect_shares(_declared.equal, Reliability.mean_distance),
    },
)
def calibration_error(reliability: Reliability) -> Estimate:
    """Mean over p of the distance between p and the share of truths at or below the predicted quantile p."""
    return reliability.estimate(reliability.mean_distance())


@metric(
    key="central_calibration_error",
    **_SHARES
    | {
        "bounds": (0, 1),
        "chance": _declared.perfect_intervals,
        "conventions": _POOLED | {"p": "levels of central intervals: 0.02 to 0.98, or those that the quantiles bound"},
    },
)
def central_calibration_error(reliability: Reliability) -> Estimate:
    """Mean over levels of the distance between a central interval's level and the share of truths in it.

    It misses a bias that a wide spread hides; `calibration_error` does not.
    """
    return reliability.estimate(reliability.centred.mean_distance(), "no two of the quantiles bound a central interval")


@metric(
    key="miscalibration_area",
    **_SHARES
    | {
        "bounds": (0, 0.5),
        "chance": _declared.perfect_shares(_declared.nearest, Reliability.area),
        "conventions": _POOLED | {"curve": "joined by straight lines from (0, 0) to (1, 1)"},
    },
)
def miscalibration_area(reliability: Reliability) -> Estimate:
    """Area between the reliability curve and the diagonal."""
    return reliability.estimate(reliability.area())


# ------------------------------------------------------------------ intervals


@metric(
    key="coverage_{level}",
    **_BETWEEN
    | {
        "direction": "target",
        "target": 0.95,
        "bounds": (0, 1),
        "chance": _declared.perfect_level,
        "interval": _declared.serial_share,
        "reference": "christoffersen1998",
        "laws": _CALIBRATION,
    },
)
def coverage(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Share of truths in the central prediction interval of that level; best is the level itself."""
    found = cells.covered(level / 100)
    return replace(found, facts={**found.facts, "target": level / 100})


@metric(key="interval_score_{level}", **_BETWEEN | {"chance": _declared.zero_interval, "reference": "winkler1972"})
def interval_score(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Winkler's score: the interval's width plus 2/(1 − level) times how far the truth is outside, mean over cells."""
    return cells.interval_score(level / 100)


@metric(
    key="msis_{level}",
    **_BETWEEN
    | {
        "needs": ("scaled_scores",),
        "chance": NoChance("depends on the width of the naive forecast's intervals"),
        "reference": "makridakis2020",
    },
)
def msis(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Mean scaled interval score: Winkler's score divided by the node's naive error in the history."""
    found = cells.scaled_score(level / 100)
    return _without(cells, found, "cells of nodes whose history is constant are left out of msis")


@metric(
    key="width_{level}",
    **_BETWEEN | {"direction": "none", "chance": _NOT_SCORED, "reference": "gneiting2007sharpness"},
)
def width(cells: Cells, *, level: Percent = _LEVEL) -> Estimate:
    """Mean width of the central prediction interval of that level."""
    return cells.width(level / 100)


@metric(
    key="sharpness",
    **_SAID
    | {
        "needs": ("gaussian",),
        "direction": "none",
        "chance": _NOT_SCORED,
        "interval": _declared.serial_root,
        "reference": "gneiting2007sharpness",
    },
)
def sharpness(cells: Cells) -> Estimate:
    """Root mean predicted variance: how much spread the forecasts claim, whether it is right or not."""
    return _root(cells.mean("var"))
