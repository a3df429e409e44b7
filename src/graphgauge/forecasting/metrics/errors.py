"""Metrics of point forecasts, and of losses of the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from graphgauge.core.metric import Estimate, Exempt, Metric, NoChance
from graphgauge.core.registry import metric
from graphgauge.forecasting import levels as _levels
from graphgauge.forecasting.cells import NOTHING, Cells, rooted, serial, serial_root

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
    chance=_levels.naive,
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


@_scaled("rmsse", interval=serial_root)
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
