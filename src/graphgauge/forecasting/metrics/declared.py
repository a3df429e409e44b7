"""What metrics of forecasts declare alike."""

from __future__ import annotations

from math import inf
from typing import Any

from graphgauge.core.metric import Exempt
from graphgauge.forecasting import levels
from graphgauge.forecasting.cells import serial

LAWS: dict[str, bool | Exempt] = {"permutation": True, "merge": True, "monotone": True, "symmetry": True}
DIRECTED = LAWS | {"symmetry": Exempt("truth and forecast are not interchangeable")}
CALIBRATION = DIRECTED | {"monotone": Exempt("a better forecast may cover the truth too often for its spread")}
MOVED = Exempt("it depends on the members or quantiles, which may get worse while y_pred improves")
POOLED = {"pooled": "over cells, not a mean of means"}
ERRORS: dict[str, Any] = {
    "family": "forecasting",
    "needs": ("errors",),
    "direction": "lower",
    "bounds": (0, inf),
    "unit": "cell",
    "conventions": POOLED,
    "reference": "willmott2005",
    "chance": levels.zero,
    "interval": serial,
    "laws": DIRECTED,
}
SAID = ERRORS | {"needs": ("gaussian", "samples", "quantiles"), "laws": DIRECTED | {"monotone": MOVED}}
