"""Distances from calibration."""

from __future__ import annotations

from functools import partial

from graphgauge.core.metric import Estimate, NoInterval
from graphgauge.forecasting import levels as _levels
from graphgauge.forecasting.calibration import Reliability, Spread
from graphgauge.forecasting.metrics.distributions import CALIBRATION
from graphgauge.forecasting.metrics.errors import POOLED, error

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
    """Expected calibration error: root mean square error against root mean predicted variance, in bins of the latter.

    It has the unit of the truth. Bins are weighted by their number of cells.
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
