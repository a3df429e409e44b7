"""The forecasting metrics: ratios of sums over cells, and distances from calibration."""

from graphgauge.forecasting.metrics import distributions, errors, reliability
from graphgauge.forecasting.metrics.distributions import Percent
from graphgauge.forecasting.metrics.errors import loss, r2

__all__ = ["Percent", "distributions", "errors", "loss", "r2", "reliability"]
