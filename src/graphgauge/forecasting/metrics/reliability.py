"""Distances from calibration."""

from __future__ import annotations

from graphgauge.core.metric import Estimate, NoInterval
from graphgauge.core.registry import metric
from graphgauge.forecasting import levels as _levels
from graphgauge.forecasting.calibration import Reliability, Spread
from graphgauge.forecasting.metrics.declared import CALIBRATION, ERRORS, POOLED

_BIASED = NoInterval("a distance from calibration is biased upwards; compare it with a perfect forecaster's")
_SHARES = ERRORS | {
    "needs": ("reliability",),
    "interval": _BIASED,
    "bounds": (0, 1),
    "laws": CALIBRATION,
    "reference": "kuleshov2018",
    "conventions": POOLED | {"p": "0.01 to 0.99, or the levels of the quantiles"},
}
_BINS = ERRORS | {
    "needs": ("spread",),
    "interval": _BIASED,
    "laws": CALIBRATION,
    "reference": "levi2022",
    "conventions": POOLED
    | {
        "bins": "of equal number, by standard deviation; equal ones share a bin",
        "compared": "root mean square error and root mean predicted variance",
    },
}


# ---- calibration


@metric("ece", **_BINS | {"chance": _levels.perfect_spread(0), "default": True})
def ece(spread: Spread) -> Estimate:
    """Expected calibration error: root mean square error against root mean predicted variance, in bins of the latter.

    It has the unit of the truth. Bins are weighted by their number of cells.
    """
    return spread.estimate(0)


@metric("ence", **_BINS | {"chance": _levels.perfect_spread(1)})
def ence(spread: Spread) -> Estimate:
    """Expected normalised calibration error: the same distance relative to the predicted spread, mean over bins."""
    return spread.estimate(1)


@metric(
    "calibration_error",
    **_SHARES | {"chance": _levels.perfect_shares(Reliability.mean_distance, _levels.equal)},
)
def calibration_error(reliability: Reliability) -> Estimate:
    """Mean over p of the distance between p and the share of truths at or below the predicted quantile p."""
    return reliability.estimate(reliability.mean_distance())


@metric(
    "central_calibration_error",
    **_SHARES
    | {
        "chance": _levels.perfect_shares(Reliability.mean_distance, _levels.equal, central=True),
        "conventions": POOLED | {"p": "levels of central intervals: 0.02 to 0.98, or those that the quantiles bound"},
    },
)
def central_calibration_error(reliability: Reliability) -> Estimate:
    """Mean over levels of the distance between a central interval's level and the share of truths in it.

    It misses a bias that a wide spread hides; `calibration_error` does not.
    """
    return reliability.estimate(reliability.centred.mean_distance(), "no two of the quantiles bound a central interval")


@metric(
    "miscalibration_area",
    **_SHARES
    | {
        "bounds": (0, 0.5),
        "chance": _levels.perfect_shares(Reliability.area, _levels.nearest),
        "conventions": POOLED | {"curve": "joined by straight lines from (0, 0) to (1, 1)"},
    },
)
def miscalibration_area(reliability: Reliability) -> Estimate:
    """Area between the reliability curve and the diagonal."""
    return reliability.estimate(reliability.area())
