"""Forecasts on the nodes of a graph: how accurate they are, and whether their uncertainty is calibrated."""

from graphgauge.forecasting.compare import DieboldMariano, compare, compare_by_horizon
from graphgauge.forecasting.evaluate import evaluate
from graphgauge.forecasting.from_files import evaluate_files
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
from graphgauge.forecasting.long import compare_table, evaluate_table
from graphgauge.forecasting.state import ForecastState

__all__ = [
    "DieboldMariano",
    "ForecastState",
    "bias",
    "calibration_error",
    "compare",
    "compare_by_horizon",
    "compare_table",
    "coverage",
    "crps",
    "ece",
    "ence",
    "evaluate",
    "evaluate_files",
    "evaluate_table",
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
