"""Checks of forecasts.

Errors that are close in time, or at one time, are not independent. Statements about their size are tested over time,
with the standard errors of the intervals. If there are too few steps for one, nothing is reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.forecasting.copies import almost, copied, hit, zeros
from graphgauge.forecasting.inputs import Slab
from graphgauge.forecasting.metrics import r2
from graphgauge.forecasting.samples import Cells
from graphgauge.forecasting.serial import FEWEST, interval_error
from graphgauge.old.core.findings import Evidence, check

# The fewest cells to test, and the significance level.
_CELLS, _ALPHA = 100, 0.01
# A twentieth of the nodes, at least one; the share of the error that is too much for it; and the fewest nodes for
# which one node counts as few.
_FEW, _MOST, _NODES = 0.05, 0.5, 10
# With fewer steps the t of an interval over time has at most 5 degrees of freedom, and the interval is a third wider.
_STEPS = 50
# Shares of truths that are (almost) a null value, and of cells with crossing quantiles, that matter.
_ZEROS, _CROSSING = 0.002, 0.001


def _unlikely(value: float, influence: Any) -> bool:
    """Whether a number that should be 0 differs significantly from 0, by its sums over blocks of time."""
    (error,), (freedom,) = interval_error(influence, np.ones(influence.shape))
    return bool(error > 0 and 2 * _core.student_tail(abs(value) / error, freedom) < _ALPHA)


@check(
    "mis-scaled-spread",
    family="forecasting",
    severity="warning",
    message="errors are {ratio:.2f} times as large as the predicted standard deviations say (root mean squares)",
    remedy="Rescale on held-out data and report both, or find out why the spread is wrong.",
)
def mis_scaled_spread(cells: Cells) -> Evidence | None:
    """Predicted standard deviations are too small or too large by half or more."""
    if cells.layout.form != "gaussian" or "spread" not in cells.layout.counted or cells.n[0] < _CELLS:
        return None
    square, var = float(cells.total("square")[0]), float(cells.total("var")[0])
    if square <= 0 or 2 / 3 < np.sqrt(square / var) < 3 / 2:
        return None
    influence = cells.series("square") / square - cells.series("var") / var
    return {"ratio": float(np.sqrt(square / var))} if _unlikely(float(np.log(square / var)), influence) else None


@check(
    "biased",
    family="forecasting",
    severity="warning",
    message="bias makes up {share:.0%} of the mean squared error: forecasts are off by {bias:+.4g} on average",
    remedy="Check units, scaling back from normalised targets, and shifted horizons.",
)
def biased(cells: Cells) -> Evidence | None:
    """Most of the squared error is bias."""
    n, square = float(cells.size()[0]), float(cells.total("square")[0])
    if cells.n[0] < _CELLS or square <= 0 or "bias" not in cells.layout.counted:
        return None
    bias = float(cells.total("error")[0]) / n
    share = bias**2 * n / square
    if share <= 0.5 or not _unlikely(bias, (cells.series("error") - bias * cells.series("n")) / n):
        return None
    return {"share": share, "bias": bias}


@check(
    "no-better-than-the-mean",
    family="forecasting",
    severity="warning",
    message="the truth's own mean would have a smaller squared error (R² {r2:.3f})",
    remedy="Compare with naive forecasts, and check that forecasts and truths are aligned in time.",
)
def no_better_than_the_mean(cells: Cells) -> Evidence | None:
    """The mean of the truth would have a smaller squared error."""
    if "y" not in cells.layout.floats:  # a state that was made for other metrics
        return None
    estimate = r2(cells)
    value = float(estimate.value[0])
    if cells.n[0] < _CELLS or not value < 0 or not _unlikely(value, estimate.influence):
        return None
    return {"r2": value}


@check(
    "last-value",
    family="forecasting",
    severity="warning",
    message="{share:.0%} of the forecasts equal the last known truth: this is the naive forecast",
    remedy="If this is not an intended baseline, the model may have learnt to copy its input.",
)
def last_value(begin: Slab) -> Evidence | None:
    """Forecasts equal the last known value."""
    share = copied(begin)
    return {"share": share} if share > 0.9 else None


@check(
    "leaked-target",
    family="forecasting",
    severity="error",
    message="{share:.0%} of the forecasts equal the truth to the last digit: the truth was among the inputs",
    remedy="Look for the target among the features, for gaps filled with later values, and for a shift by one step.",
)
def leaked_target(begin: Slab) -> Evidence | None:
    """Forecasts equal the truth to the last digit."""
    share = hit(begin)
    return {"share": share} if share > 0.02 else None


@check(
    "unmasked-zeros",
    family="forecasting",
    severity="warning",
    message="{share:.1%} of the truths are exactly 0 although they were forecast like the others, and hardly any are "
    "near 0: they look like missing observations, and are counted as errors",
    remedy="Pass null_value=0, or a mask, if 0 means that nothing was observed.",
)
def unmasked_zeros(sampled: Slab, cells: Cells) -> Evidence | None:
    """Zeros in the truth that look like missing observations are counted."""
    if cells.layout.null_value is not None and float(cells.layout.null_value) == 0:
        return None
    share = zeros(sampled)
    return {"share": share} if share > _ZEROS else None


@check(
    "almost-null",
    family="forecasting",
    severity="warning",
    message="{share:.1%} of the counted truths are within {distance:.1g} of the null value {null:g} without being "
    "equal to it: they were probably scaled and scaled back, and are counted as observations",
    remedy="Pass null_tolerance= above that distance, or mask the truth before scaling it.",
)
def almost_null(sampled: Slab, cells: Cells) -> Evidence | None:
    """Truths that nearly equal the null value are counted."""
    if cells.layout.null_value is None:
        return None
    null = float(cells.layout.null_value)
    share, distance = almost(sampled, null)
    return {"share": share, "distance": distance, "null": null} if share > _ZEROS else None


@check(
    "unused-null-value",
    family="forecasting",
    severity="note",
    message="the null value {null:g} does not occur in the truth: no cell is masked",
    remedy="Check how missing observations are stored: as 0, NaN, −999, or scaled; or leave null_value out.",
)
def unused_null_value(cells: Cells, unmasked: bool) -> Evidence | None:
    """A null value was given that masks nothing."""
    if cells.layout.null_value is None or not unmasked:
        return None
    return {"null": float(cells.layout.null_value)}


@check(
    "crossing-quantiles",
    family="forecasting",
    severity="warning",
    message="in {share:.1%} of the cells a quantile is below that of a lower level: these are not quantiles of one "
    "distribution, and each level is scored as it is",
    remedy="Sort the quantiles of each cell along the last axis, which never makes the pinball loss larger, or train "
    "without crossing.",
)
def crossing_quantiles(cells: Cells) -> Evidence | None:
    """Quantiles are below those of lower levels."""
    if cells.layout.form != "quantiles" or not cells.n[0]:
        return None
    share = int(cells.count("crossing")[0]) / int(cells.n[0])
    return {"share": share} if share > _CROSSING else None


@check(
    "errors-in-few-nodes",
    family="forecasting",
    severity="warning",
    message="{worst} of {nodes} nodes, found in one half of the test period, account for {share:.0%} of the squared "
    "error in the other: the pooled number is mostly about them",
    remedy="Report by node, or the median over nodes, or scale each node by its naive error (mase).",
)
def errors_in_few_nodes(by_node: Cells) -> Evidence | None:
    """A twentieth of the nodes, or a single node, accounts for more than half of the squared error."""
    there = by_node.n > 0
    nodes, blocks = int(there.sum()), by_node.blocks
    if nodes < _NODES or blocks < 2:
        return None
    square = by_node.series("square")[:, there]
    halves = np.stack([square[: blocks // 2].sum(axis=0), square[blocks // 2 :].sum(axis=0)])
    if not (halves.sum(axis=1) > 0).all():
        return None
    worst = max(1, round(_FEW * nodes))
    # Nodes are selected in one half and tested in the other: nodes that were worst by chance are average there.
    chosen = np.argsort(-halves, axis=1, kind="stable")[::-1, :worst]
    share = float((np.take_along_axis(halves, chosen, axis=1).sum(axis=1) / halves.sum(axis=1)).mean())
    return {"worst": worst, "nodes": nodes, "share": share} if share > _MOST else None


@check(
    "few-time-steps",
    family="forecasting",
    severity="note",
    message="{steps} time steps: too few for reliable intervals over time",
    remedy="Evaluate on a longer test period, or over several of them.",
)
def few_time_steps(cells: Cells) -> Evidence | None:
    """Intervals over time are based on few time steps."""
    steps = cells.blocks << cells.sums.shift
    return {"steps": steps} if cells.ordered and FEWEST <= steps < _STEPS else None
