"""Compare two forecasts whose errors are correlated in time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import copysign, inf, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import whole_number
from graphgauge.core.result import Interval
from graphgauge.forecasting.inputs import Batch
from graphgauge.forecasting.options import AXES
from graphgauge.forecasting.serial import FEWEST, cosine_error
from graphgauge.stats.intervals import is_rounding, t_quantile, tail

LOSSES = ("absolute", "squared")


@dataclass(frozen=True)
class DieboldMariano:
    """The outcome of a test that two forecasts have the same expected loss.

    `difference` is the mean loss of a minus that of b, over all cells: below 0 a is better. `df` are the degrees of
    freedom of Student's t, which is the number of cosines in the estimate of the long-run variance.
    """

    difference: float
    statistic: float
    p_value: float
    interval: Interval | None
    steps: int
    horizon: int
    loss: str
    df: int = 0
    reason: str | None = None

    def __str__(self) -> str:
        if self.reason is not None:
            return f"Diebold–Mariano: no test, {self.reason}."
        better = "a" if self.difference < 0 else "b" if self.difference > 0 else "neither"
        assert self.interval is not None
        low, high = self.interval
        return (
            f"Diebold–Mariano, {self.loss} loss, horizon {self.horizon}, {self.steps} steps: {better} has the smaller "
            f"mean loss, difference {self.difference:.4g} [{low:.4g}, {high:.4g}], t = {self.statistic:.3f}, "
            f"p = {self.p_value:.3g}"
        )


def compare(
    y_true: Any,
    a: Any,
    b: Any,
    *,
    loss: str = "absolute",
    horizon: int | None = None,
    mask: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    axes: Iterable[str] = AXES,
    nan: str = "raise",
    confidence: float = 0.95,
) -> DieboldMariano:
    """Diebold and Mariano's test (1995), with the long-run variance of the slowest cosines (Lazarus et al. 2018).

    The difference is that of the pooled means: every cell has the same weight. Losses may be correlated in time.
    Forecasts h steps ahead overlap, so cosines faster than the overlap are left out. `horizon` is h; the default is the
    number of horizons. At most 8 cosines are used, and 4 if there are few steps: more would make the test reject too
    often if errors are strongly autocorrelated.
    """
    one_of("loss", loss, LOSSES)
    tail(confidence)  # checked here, also if there will be no interval
    common = {"mask": mask, "null_value": null_value, "null_tolerance": null_tolerance, "axes": axes, "nan": nan}
    first, second = (_step_losses(name, y_true, given, loss, common) for name, given in (("a", a), ("b", b)))
    (loss_a, cells, horizons), (loss_b, other, _) = first, second
    if not np.array_equal(cells, other):
        raise InputError(
            "the forecasts are missing different cells", where="a and b", fix="Mask the cells that either is missing."
        )
    ahead = horizons if horizon is None else whole_number("horizon", horizon, 1)
    seen = cells > 0
    largest = float((np.maximum(loss_a[seen], loss_b[seen]) / cells[seen]).max(initial=0.0))
    return _tested(loss_a[seen] - loss_b[seen], cells[seen], largest, ahead, loss, confidence)


def _tested(
    gaps: Floats, cells: NDArray[np.int64], largest: float, ahead: int, loss: str, confidence: float
) -> DieboldMariano:
    """Test the summed loss differences of the steps, given their numbers of cells; no loss is above `largest`."""
    steps, total = len(gaps), int(cells.sum())
    mean = float(gaps.sum()) / total if total else nan

    def untested(statistic: float, reason: str) -> DieboldMariano:
        return DieboldMariano(mean, statistic, nan, None, steps, ahead, loss, reason=reason)

    if not steps:
        return untested(nan, "no time step has cells in both")
    if steps < FEWEST or ahead >= steps:
        return untested(nan, f"{steps} time steps for forecasts {ahead} steps ahead")
    influence = (gaps - mean * cells) / total
    if is_rounding(np.abs(gaps / cells - mean).max(), largest):
        if is_rounding(abs(mean), largest):
            return untested(nan, "the losses never differ")
        return untested(copysign(inf, mean), "the losses differ by the same at every step")
    (error,), (df,) = cosine_error(influence[:, np.newaxis], cells[:, np.newaxis].astype(float), _slowest(steps, ahead))
    if not error > 0:
        return untested(nan, "nearly all cells are in a few time steps")
    statistic = mean / float(error)
    margin = float(t_quantile(df, confidence)[0]) * float(error)
    interval = Interval(mean - margin, mean + margin, confidence, "diebold-mariano-t", "time steps")
    return DieboldMariano(mean, statistic, _two_sided(statistic, int(df)), interval, steps, ahead, loss, int(df))


def _slowest(steps: int, ahead: int) -> int:
    """The maximum number of cosines: slower than the overlap, and few enough for strong autocorrelation."""
    return max(4, min(8, steps // 32, steps // (2 * ahead)))


def _two_sided(statistic: float, df: int) -> float:
    from scipy.special import stdtr

    return nan if isnan(statistic) else float(2 * stdtr(df, -abs(statistic)))


def _step_losses(
    name: str, y_true: Any, given: Any, loss: str, common: dict[str, Any]
) -> tuple[Floats, NDArray[np.int64], int]:
    """The summed loss and the number of cells of each time step, and the number of horizons."""
    try:
        batch = Batch.of(y_true, given, **common)
    except InputError as error:
        raise _renamed(error, name) from None
    slab = batch.slab(slice(None))
    with np.errstate(invalid="ignore", over="ignore"):
        error_size = np.abs(slab.mean.astype(np.float64) - slab.y.astype(np.float64))
        losses = np.where(slab.counted, error_size if loss == "absolute" else error_size**2, 0.0).sum(axis=(1, 2))
    if not np.isfinite(losses).all():
        try:
            batch.refuse_bad_values()
        except InputError as error:
            raise _renamed(error, name) from None
    return losses, slab.counted.sum(axis=(1, 2)), batch.shape[1]


def _renamed(error: InputError, name: str) -> InputError:
    return type(error)(error.what, where=name, fix=error.fix) if error.where == "y_pred" else error
