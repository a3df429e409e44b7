"""The forecasting family."""

from __future__ import annotations

from graphgauge.core.family import BUILT_IN, Family

FAMILY = Family(
    name="forecasting",
    line=BUILT_IN["forecasting"],
    question="How far are forecasts from the truth, and is their uncertainty right?",
    package="graphgauge.forecasting",
    headlines=("mae", "rmse", "crps"),
    truths=("true", "mask", "table"),
    references=("zero forecast over the naive error",),
    state="graphgauge.forecasting.state:ForecastState",
)
