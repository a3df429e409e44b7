"""Forecasts on nodes: errors, calibration and coverage, with intervals over time."""

from graphgauge.forecasting.evaluate import evaluate
from graphgauge.forecasting.functions import (
    bias,
    calibration_error,
    coverage,
    crps,
    ece,
    ence,
    interval_score,
    mae,
    mape,
    mase,
    miscalibration_area,
    nll,
    pinball,
    r2,
    rmse,
    smape,
    wape,
)
from graphgauge.forecasting.labelled import from_wide
from graphgauge.forecasting.state import ForecastState
from graphgauge.forecasting.tables import evaluate_table

__all__ = [
    "ForecastState",
    "bias",
    "calibration_error",
    "coverage",
    "crps",
    "ece",
    "ence",
    "evaluate",
    "evaluate_table",
    "from_wide",
    "interval_score",
    "mae",
    "mape",
    "mase",
    "miscalibration_area",
    "nll",
    "pinball",
    "r2",
    "rmse",
    "smape",
    "wape",
]
