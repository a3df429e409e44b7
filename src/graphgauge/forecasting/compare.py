"""Which of two forecasts is better, where errors that are near in time go together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import copysign, inf, isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError, one_of
from graphgauge.core.options import whole_number
from graphgauge.core.result import Interval
from graphgauge.forecasting.inputs import Batch
from graphgauge.forecasting.options import AXES
from graphgauge.stats.intervals import is_rounding, t_quantile, tail

LOSSES = ("absolute", "squared")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DieboldMariano:
    """The outcome of a test that two forecasts have the same expected loss.

    `difference` is the mean loss of a minus that of b: below 0 a is better. `variance` says how the long-run variance
    was found: `truncated` sums the autocovariances of the overlap, `bartlett` weights them, where the sum came out at
    or below 0.
    """

    difference: float
    statistic: float
    p_value: float
    interval: Interval | None
    steps: int
    horizon: int
    loss: str
    variance: str
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
    axes: Iterable[str] = AXES,
    nan: str = "raise",
    confidence: float = 0.95,
) -> DieboldMariano:
    """Diebold and Mariano's test (1995) with the correction of Harvey, Leybourne and Newbold (1997).

    At each time step the losses of all cells are averaged; forecasts h steps ahead overlap, so the differences of h
    neighbouring steps go together. `horizon` is that h: the number of horizons where it is not said.
    """
    one_of("loss", loss, LOSSES)
    tail(confidence)  # refused here, also where no interval comes of it
    common = {"mask": mask, "null_value": null_value, "axes": axes, "nan": nan}
    first, second = (_step_losses(name, y_true, given, loss, common) for name, given in (("a", a), ("b", b)))
    (loss_a, cells, horizons), (loss_b, other, _) = first, second
    if not np.array_equal(cells, other):
        raise InputError(
            "the forecasts lack different cells", where="a and b", fix="Mask what either lacks: only pairs compare."
        )
    ahead = horizons if horizon is None else whole_number("horizon", horizon, 1)
    seen = cells > 0
    gaps = (loss_a[seen] - loss_b[seen]) / cells[seen]
    largest = float((np.maximum(loss_a[seen], loss_b[seen]) / cells[seen]).max(initial=0.0))
    return _tested(gaps, largest, ahead, loss, confidence)


def _tested(gaps: Floats, largest: float, ahead: int, loss: str, confidence: float) -> DieboldMariano:
    steps = len(gaps)
    mean = float(gaps.mean()) if steps else nan
    if steps < 2 or ahead >= steps:
        reason = (
            "no time step has cells in both" if not steps else f"{steps} time steps for forecasts {ahead} steps ahead"
        )
        return DieboldMariano(mean, nan, nan, None, steps, ahead, loss, "none", reason)
    centred = gaps - mean
    covariances = np.array([centred[lag:] @ centred[: steps - lag] for lag in range(ahead)]) / steps
    variance, how = float(covariances[0] + 2 * covariances[1:].sum()), "truncated"
    if variance <= 1e-12 * float(covariances[0]):
        weights = 1 - np.arange(1, ahead) / ahead
        variance, how = float(covariances[0] + 2 * (weights * covariances[1:]).sum()), "bartlett"
    if variance <= 0 or is_rounding(np.abs(centred).max(), largest):
        if is_rounding(mean, largest) or mean == 0:
            return DieboldMariano(mean, nan, nan, None, steps, ahead, loss, how, "the losses never differ")
        return DieboldMariano(
            mean, copysign(inf, mean), nan, None, steps, ahead, loss, how, "the losses differ by the same at every step"
        )
    correction = (steps + 1 - 2 * ahead + ahead * (ahead - 1) / steps) / steps
    error = sqrt(variance / steps / correction)
    statistic = mean / error
    margin = float(t_quantile(steps - 1, confidence)[0]) * error
    interval = Interval(mean - margin, mean + margin, confidence, "diebold-mariano-t", "time steps")
    return DieboldMariano(mean, statistic, _two_sided(statistic, steps - 1), interval, steps, ahead, loss, how)


def _two_sided(statistic: float, df: int) -> float:
    from scipy.special import stdtr

    return nan if isnan(statistic) else float(2 * stdtr(df, -abs(statistic)))


def _step_losses(
    name: str, y_true: Any, given: Any, loss: str, common: dict[str, Any]
) -> tuple[Floats, NDArray[np.int64], int]:
    """For each time step the summed loss and the cells in it."""
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
