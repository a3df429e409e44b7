"""Checks of forecasts.

Errors that are close in time, or at one time, are not independent. Statements about their size are tested over time,
with the standard errors of the intervals. If there are too few steps for one, nothing is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.finding import check
from graphgauge.core.types import Floats, Mask
from graphgauge.forecasting.metrics import r2
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Cells
from graphgauge.stats.errors import FEWEST_STEPS, cosine_error

Evidence = Mapping[str, Any]
_check = partial(check, family="forecasting")
# The fewest cells to test, and the level of significance.
_CELLS, _ALPHA = 100, 0.01
# A twentieth of the nodes, at least one; the share of the error that is too much for it; and the fewest nodes.
_FEW, _MOST, _NODES = 0.05, 0.5, 10
# Shares of truths that look like a null value, and of cells with crossing quantiles, that matter.
_SPIKE, _CROSSING = 0.002, 0.001


def _unlikely(cells: Cells, value: float, influence: Any) -> bool:
    """Whether a number that should be 0 differs significantly from it, by its sums over blocks of time."""
    if not cells.ordered or len(influence) < FEWEST_STEPS:
        return False
    (error,), (freedom,) = cosine_error(influence, cells.series("n"))
    return bool(error > 0 and 2 * _core.student_tail(abs(value) / error, freedom) < _ALPHA)


@_check(
    "mis-scaled-spread",
    message="errors are {ratio:.2f} times as large as the predicted standard deviations say (root mean squares)",
    remedy="Rescale on held-out data and report both, or find out why the spread is wrong.",
)
def mis_scaled_spread(cells: Cells) -> Evidence | None:
    """Predicted standard deviations are too small or too large by half or more."""
    if cells.design.form != "gaussian" or cells.n[0] < _CELLS:
        return None
    square, var = float(cells.total("square")[0]), float(cells.total("var")[0])
    if square <= 0 or 2 / 3 < np.sqrt(square / var) < 3 / 2:
        return None
    influence = cells.series("square") / square - cells.series("var") / var
    distance = float(np.log(square / var))
    return {"ratio": float(np.sqrt(square / var))} if _unlikely(cells, distance, influence) else None


@_check(
    "biased",
    message="bias makes up {share:.0%} of the mean squared error: forecasts are off by {bias:+.4g} on average",
    remedy="Check units, scaling back from normalised targets, and shifted horizons.",
)
def biased(cells: Cells) -> Evidence | None:
    """Most of the squared error is bias."""
    n, square = float(cells.size[0]), float(cells.total("square")[0])
    if cells.design.point == "none" or cells.n[0] < _CELLS or square <= 0:
        return None
    bias = float(cells.total("error")[0]) / n
    share = bias**2 * n / square
    if share <= 0.5 or not _unlikely(cells, bias, (cells.series("error") - bias * cells.series("n")) / n):
        return None
    return {"share": share, "bias": bias}


@_check(
    "no-better-than-the-mean",
    message="the truth's own mean would have a smaller squared error (R² {r2:.3f})",
    remedy="Compare with naive forecasts, and check that forecasts and truths are aligned in time.",
)
def no_better_than_the_mean(cells: Cells) -> Evidence | None:
    """The mean of the truth would have a smaller squared error."""
    if cells.design.point == "none" or cells.n[0] < _CELLS:
        return None
    estimate = r2(cells)
    value = float(estimate.value[0])
    return {"r2": value} if value < 0 and _unlikely(cells, value, estimate.influence) else None


@_check(
    "last-value",
    message="{share:.0%} of the forecasts equal the last known truth: this is the naive forecast",
    remedy="If this is not an intended baseline, the model may have learnt to copy its input.",
)
def last_value(begin: Sample) -> Evidence | None:
    """Forecasts equal the last known value."""
    share = copied(begin)
    return {"share": share} if share > 0.9 else None


@_check(
    "leaked-target",
    severity="error",
    message="{share:.0%} of the forecasts equal the truth to the last digit: the truth was among the inputs",
    remedy="Look for the target among the features, for gaps filled with later values, and for a shift by one step.",
)
def leaked_target(begin: Sample) -> Evidence | None:
    """Forecasts equal the truth to the last digit."""
    share = hit(begin)
    return {"share": share} if share > 0.02 else None


@_check(
    "unmasked-zeros",
    message="{share:.1%} of the truths are exactly {value:g} although they were forecast like the others, and hardly "
    "any are near it: they look like missing observations, and are counted as errors",
    remedy="Pass that number as null_value=, or a mask, if it means that nothing was observed.",
)
def unmasked_zeros(sampled: Sample, cells: Cells) -> Evidence | None:
    """Truths that look like missing observations (zeros, or −9999) are counted."""
    share, value = spike(sampled)
    return {"share": share, "value": value} if share > _SPIKE and value != cells.design.null_value else None


@_check(
    "almost-null",
    message="{share:.1%} of the counted truths are within {distance:.1g} of the null value {null:g} without being "
    "equal to it: they were probably scaled and scaled back, and are counted as observations",
    remedy="Pass null_tolerance= above that distance, or mask the truth before scaling it.",
)
def almost_null(sampled: Sample, cells: Cells) -> Evidence | None:
    """Truths that nearly equal the null value are counted."""
    null = cells.design.null_value
    if null is None:
        return None
    share, distance = almost(sampled, null)
    return {"share": share, "distance": distance, "null": null} if share > _SPIKE else None


@_check(
    "unused-null-value",
    severity="note",
    message="the null value {null:g} does not occur in the truth: no cell is masked",
    remedy="Check how missing observations are stored: as 0, NaN, −999, or scaled; or leave null_value out.",
)
def unused_null_value(cells: Cells, unmasked: bool) -> Evidence | None:
    """A null value was given that masks nothing."""
    null = cells.design.null_value
    return {"null": null} if null is not None and unmasked else None


@_check(
    "crossing-quantiles",
    message="in {share:.1%} of the cells a quantile is below that of a lower level: these are not quantiles of one "
    "distribution, and each level is scored as it is",
    remedy="Sort the quantiles of each cell along the last axis, which never makes the pinball loss larger.",
)
def crossing_quantiles(cells: Cells) -> Evidence | None:
    """Quantiles are below those of lower levels."""
    if cells.design.form != "quantiles" or not cells.n[0]:
        return None
    share = float(cells.total("crossing")[0] / cells.size[0])
    return {"share": share} if share > _CROSSING else None


@_check(
    "errors-in-few-nodes",
    message="{worst} of {nodes} nodes, found in one half of the test period, account for {share:.0%} of the squared "
    "error in the other: the pooled number is mostly about them",
    remedy="Report by node, or the median over nodes, or scale each node by its naive error (mase).",
)
def errors_in_few_nodes(by_node: Cells) -> Evidence | None:
    """A twentieth of the nodes, or a single node, accounts for more than half of the squared error."""
    there = by_node.n > 0
    nodes, blocks = int(there.sum()), len(by_node.table)
    if nodes < _NODES or blocks < 2:
        return None
    square = by_node.series("square")[:, there]
    halves = np.stack([square[: blocks // 2].sum(axis=0), square[blocks // 2 :].sum(axis=0)])
    if not (halves.sum(axis=1) > 0).all():
        return None
    worst = max(1, round(_FEW * nodes))
    # Nodes are chosen in one half and tested in the other: nodes that were worst by chance are average there.
    chosen = np.argsort(-halves, axis=1, kind="stable")[::-1, :worst]
    share = float((np.take_along_axis(halves, chosen, axis=1).sum(axis=1) / halves.sum(axis=1)).mean())
    return {"worst": worst, "nodes": nodes, "share": share} if share > _MOST else None


@_check(
    "few-time-steps",
    severity="note",
    message="{steps} time steps: too few for intervals over time",
    remedy="Evaluate on a longer test period, or over several of them.",
)
def few_time_steps(cells: Cells) -> Evidence | None:
    """There are no intervals, because the time steps are few."""
    steps = int(cells.steps[0])
    return {"steps": steps} if cells.ordered and 0 < steps < FEWEST_STEPS else None


# ---- signs in single cells

# The fewest cells for a verdict.
_FEWEST = 100
# Rounding of a number that went through float32 and back: a hundred times its epsilon.
_ROUNDED = 1e-5
# A forecast is a copy if it is so much nearer to the last value than the truth is.
_COPY = 1e-3
# The fewest truths that are evidence of a missing value; truths next to it, relative to their forecasts; and the median
# distance of forecasts from it that shows that the forecaster knows of it, relative to that of others.
_FEWEST_NULLS, _NEAR, _KNOWN = 20, 0.1, 0.5
# Relative to the median distance from the null value: truths that were scaled in float32 and back.
_ALMOST = 1e-4


def _seen(part: Sample) -> Mask:
    return np.ones(part.y.shape, bool) if part.mask is None else part.mask


def copied(begin: Sample) -> float:
    """Share of forecasts that equal the last truth before them; 0 if this cannot be determined.

    It can for windows that move one step at a time, where the second horizon's truth is the first one's of the next.
    """
    y, seen = begin.y, _seen(begin)
    both = seen[1:, :-1] & seen[:-1, 1:]
    if not np.array_equal(y[1:, :-1][both], y[:-1, 1:][both]):
        return 0.0
    last = y[:-1, :1]
    moved = seen[1:] & seen[:-1, :1] & (y[1:] != last)  # if the truth is constant, every good forecast is too
    if moved.sum() < _FEWEST:
        return 0.0
    return float((np.abs(begin.mean[1:] - last) <= _COPY * np.abs(y[1:] - last))[moved].mean())


def hit(begin: Sample) -> float:
    """Share of forecasts that equal the truth, as the forecasts store it; 0 if this cannot be determined.

    Repeated truths, such as zeros, are left out. Errors on a grid give no verdict, because a good forecast of counts or
    of rounded values is often exact.
    """
    y, forecast, seen = begin.y, begin.mean, _seen(begin)
    with np.errstate(over="ignore"):
        narrow = forecast.astype(np.float32)
    if np.array_equal(narrow, forecast, equal_nan=True):
        y, forecast = y.astype(np.float32), narrow
    values, counts = np.unique(y[:, :1][seen[:, :1]], return_counts=True)
    single = seen & ~np.isin(y, values[counts > 1])
    if single.sum() < _FEWEST:
        return 0.0
    error = np.abs(forecast[single] - y[single])
    hits = error == 0
    missed = error[~hits]
    # On a grid the smallest error that is not 0 is as frequent as an error of 0.
    next_to = np.count_nonzero(missed < 1.5 * missed.min()) if len(missed) else 0
    return 0.0 if 5 * next_to > np.count_nonzero(hits) else float(hits.mean())


def spike(sampled: Sample) -> tuple[float, float]:
    """Share of truths that are one value which forecasts never approach, and that value; 0 if it may be an observation.

    The value is 0, or the least or the greatest truth, such as −9999. It may be an observation if truths next to it are
    not rare, as for counts and for rain, or if the forecasts of these truths approach it.
    """
    seen = _seen(sampled)
    y, forecast = sampled.y[seen].astype(np.float64), sampled.mean[seen].astype(np.float64)
    if len(y) < _FEWEST:
        return 0.0, 0.0
    shares = [(_share_of_spike(y, forecast, value), value) for value in dict.fromkeys((0.0, y.min(), y.max()))]
    share, value = max(shares)
    return share, float(value)


def _share_of_spike(y: Floats, forecast: Floats, value: float) -> float:
    there = y == value
    away, expected = np.abs(y - value), np.abs(forecast - value)
    if np.count_nonzero(there) < _FEWEST_NULLS or there.all():
        return 0.0
    reach = np.maximum(expected[~there] * _NEAR, float(away[~there].min()) * (1 + _ROUNDED))
    near = np.count_nonzero(away[~there] <= reach)
    known = np.median(expected[there]) < _KNOWN * np.median(expected[~there])
    return 0.0 if 4 * near >= np.count_nonzero(there) or known else float(there.mean())


def almost(sampled: Sample, null_value: float) -> tuple[float, float]:
    """Share of counted truths that nearly equal the null value, far more than by chance, and their largest distance."""
    y = sampled.y[_seen(sampled)].astype(np.float64)
    if len(y) < _FEWEST or not np.isfinite(null_value):
        return 0.0, 0.0
    distance = np.abs(y - null_value)
    far = distance[distance > 0]
    reach = _ALMOST * float(np.median(far)) if len(far) else 0.0
    # Up to ten times the distance there are hardly more: the values are a spike at the null value.
    nearest, wider = np.count_nonzero(distance <= reach), np.count_nonzero(distance <= 10 * reach)
    if not len(far) or nearest < _FEWEST_NULLS or wider > 1.5 * nearest:
        return 0.0, 0.0
    return nearest / len(y), float(distance[distance <= reach].max())
