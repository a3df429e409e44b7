"""Checks of forecasts."""

from __future__ import annotations

import numpy as np

from graphgauge.core.findings import Evidence, check
from graphgauge.forecasting.metrics import r2
from graphgauge.forecasting.samples import Cells
from graphgauge.forecasting.serial import FEWEST


@check(
    "mis-scaled-spread",
    family="forecasting",
    severity="warning",
    message="errors are {ratio:.2f} times as large as the predicted standard deviations say (root mean squares)",
    remedy="Rescale on held-out data and report both, or find out where the spread is lost.",
)
def mis_scaled_spread(cells: Cells) -> Evidence | None:
    """Predicted standard deviations are too small or too large by half or more."""
    if cells.layout.form != "gaussian" or "spread" not in cells.layout.counted or not cells.n[0]:
        return None
    ratio = float(np.sqrt(cells.total("square")[0] / cells.total("var")[0]))
    return None if 2 / 3 < ratio < 3 / 2 else {"ratio": ratio}


@check(
    "biased",
    family="forecasting",
    severity="warning",
    message="bias makes up {share:.0%} of the mean squared error: forecasts are off by {bias:+.4g} on average",
    remedy="Check units, scaling back from normalised targets, and shifted horizons.",
)
def biased(cells: Cells) -> Evidence | None:
    """Most of the squared error is bias."""
    n, square = int(cells.n[0]), float(cells.total("square")[0])
    if n < 100 or square <= 0:  # where the bias is not counted it is 0, and says nothing
        return None
    bias = float(cells.total("error")[0]) / n
    share = bias**2 * n / square
    return {"share": share, "bias": bias} if share > 0.5 else None


@check(
    "no-better-than-the-mean",
    family="forecasting",
    severity="warning",
    message="the truth's own mean would have a smaller squared error (R² {r2:.3f})",
    remedy="Compare with naive forecasts, and check that forecasts and truths are aligned in time.",
)
def no_better_than_the_mean(cells: Cells) -> Evidence | None:
    """The mean of the truth would have a smaller squared error."""
    value = float(r2(cells).value[0])  # NaN where the truth was not summed
    return {"r2": value} if int(cells.n[0]) >= 100 and value <= 0 else None


@check(
    "last-value",
    family="forecasting",
    severity="warning",
    message="{share:.0%} of the forecasts equal the last truth that was known: this is the naive forecast",
    remedy="If that is not the baseline that was meant, look for a model that has learnt to copy its input.",
)
def last_value(copied: float) -> Evidence | None:
    """Forecasts are the last value that was known."""
    return {"share": copied} if copied > 0.9 else None


@check(
    "few-time-steps",
    family="forecasting",
    severity="note",
    message="{steps} time steps: intervals over time rest on very little",
    remedy="Evaluate on a longer test period, or over several of them.",
)
def few_time_steps(cells: Cells) -> Evidence | None:
    """Intervals over time rest on few time steps."""
    return {"steps": cells.blocks} if cells.ordered and FEWEST <= cells.blocks < 50 else None
