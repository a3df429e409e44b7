"""Plain functions for arrays of any shape. They return a number; `evaluate` adds an interval and a level of chance.

Truths y, forecasts ŷ, means μ, standard deviations σ and ends of intervals have one shape; quantiles and members have
one more axis, the last, for levels or members. Means are over the cells that are counted: `mask` and `null_value` leave
cells out, and so does NaN with `nan="omit"`. Without any cell left, every function returns NaN; where else one does, it
says so. Papers are cited with the metrics of the same name, in `metrics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.forecasting.evaluate import evaluate
from graphgauge.forecasting.labelled import is_frame, matched, read, refuse_other_rows
from graphgauge.forecasting.metrics import Percent


class Reading(TypedDict, total=False):
    """How arrays are read; as in `evaluate`."""

    mask: Any
    null_value: float | None
    null_tolerance: float
    nan: str


def mae(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean absolute error, mean |ŷ − y|.

    >>> from graphgauge.forecasting import mae
    >>> mae([1, 2, 4], [1, 3, 2])
    1.0
    """
    return _value("mae", y_true, y_pred, **reading)


def rmse(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Root of the mean squared error, √(mean (ŷ − y)²).

    >>> from graphgauge.forecasting import rmse
    >>> round(rmse([1, 2, 4], [1, 3, 2]), 4)
    1.291
    """
    return _value("rmse", y_true, y_pred, **reading)


def mape(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean absolute error relative to the truth, mean |ŷ − y| / |y|, over cells whose truth is not 0; 0.25 is 25 %.

    NaN if every truth is 0.

    >>> from graphgauge.forecasting import mape
    >>> mape([2, 0, 4], [1, 5, 4])
    0.25
    """
    return _value("mape", y_true, y_pred, **reading)


def wape(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Sum of absolute errors over sum of absolute truths, Σ |ŷ − y| / Σ |y|; NaN if every truth is 0.

    >>> from graphgauge.forecasting import wape
    >>> wape([2, 0, 4], [1, 0, 6])
    0.5
    """
    return _value("wape", y_true, y_pred, **reading)


def smape(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Symmetric relative error, mean 2·|ŷ − y| / (|y| + |ŷ|), from 0 to 2; a cell where both are 0 counts as 0.

    >>> from graphgauge.forecasting import smape
    >>> smape([1, 0], [3, 0])
    0.5
    """
    return _value("smape", y_true, y_pred, **reading)


def bias(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean of forecast minus truth, mean (ŷ − y).

    >>> from graphgauge.forecasting import bias
    >>> bias([1, 2], [2, 5])
    2.0
    """
    return _value("bias", y_true, y_pred, **reading)


def r2(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """1 − Σ (ŷ − y)² / Σ (y − ȳ)², with the mean truth ȳ; NaN if all truths are equal.

    >>> from graphgauge.forecasting import r2
    >>> r2([1, 2, 3], [1, 2, 4])
    0.5
    """
    return _value("r2", y_true, y_pred, **reading)


def mase(y_true: Any, y_pred: Any, *, history: Any, season: int = 1, **reading: Unpack[Reading]) -> float:
    """Mean absolute error of a series (time,), or of (time, node), over the naive error in its history.

    The mean over cells of |ŷ − y| / s, where s is the mean of |h_t − h_(t − season)| over the history h of the cell's
    node; `history` has the axes of `y_true`. Nodes whose history is constant are left out; NaN if all are.

    >>> from graphgauge.forecasting import mase
    >>> mase([5, 6], [7, 6], history=[1, 3, 5])
    0.5
    """
    truth = as_numeric(y_true, "y_true") if is_frame(y_true) else y_true
    axes = ("time",) if len(getattr(truth, "dims", np.shape(truth))) == 1 else ("time", "node")
    evaluation = evaluate(truth, y_pred, history=history, season=season, axes=axes, metrics=["mase"], **reading)
    return float(evaluation["mase"].value)


def nll(y_true: Any, mean: Any, std: Any, **reading: Unpack[Reading]) -> float:
    """Mean negative log-likelihood of Gaussian forecasts, mean (ln(2πσ²) + ((y − μ)/σ)²) / 2, of `mean` μ and `std` σ.

    >>> from graphgauge.forecasting import nll
    >>> round(nll([0.0], [0.0], [1.0]), 4)
    0.9189
    """
    return _value("nll", y_true, mean, std=std, **reading)


def crps(
    y_true: Any,
    mean: Any = None,
    std: Any = None,
    *,
    samples: Any = None,
    quantiles: Any = None,
    levels: Any = None,
    fair: bool = False,
    **reading: Unpack[Reading],
) -> float:
    """Mean continuous ranked probability score of Gaussians (`mean`, `std`), members (`samples`) or quantiles.

    Of a Gaussian σ·(z·(2Φ(z) − 1) + 2φ(z) − 1/√π), with z = (y − μ)/σ and the standard normal φ and Φ. Of m members x
    mean |x − y| − Σ |x − x'| / (2m²) over all pairs (x, x'); `fair` takes them as draws and divides by 2m(m − 1). Of
    quantiles twice their pinball loss, each weighted by the probabilities that are nearest to its level.

    >>> from graphgauge.forecasting import crps
    >>> round(crps([0.0], [0.0], [1.0]), 4), round(crps([2], samples=[[5, 0, 1]]), 4)
    (0.2337, 0.8889)
    """
    key = "crps_fair" if fair else "crps"
    return _value(key, y_true, mean, std=std, samples=samples, quantiles=quantiles, levels=levels, **reading)


def pinball(y_true: Any, quantiles: Any, *, levels: Any, **reading: Unpack[Reading]) -> float:
    """Mean pinball (quantile) loss over cells and levels, (1{y < q} − p)·(q − y) of the quantile q of level p.

    >>> from graphgauge.forecasting import pinball
    >>> pinball([2], [[1, 3]], levels=[0.25, 0.75])
    0.25
    """
    return _value("pinball", y_true, quantiles=quantiles, levels=levels, **reading)


def ece(y_true: Any, mean: Any, std: Any, *, bins: int = 10, **reading: Unpack[Reading]) -> float:
    """Distance of spread and error, Σ_b share_b · |RMSE_b − RMV_b|, over bins of equal number by standard deviation.

    In each bin RMSE is √(mean (μ − y)²) of `mean` μ, and RMV is √(mean σ²) of `std` σ. It has the unit of the truth.

    >>> from graphgauge.forecasting import ece
    >>> ece([0, 0, 0, 0], [1, -1, 2, 14], [1, 1, 2, 2], bins=2)
    4.0
    """
    return _value("ece", y_true, mean, std=std, bins=bins, **reading)


def ence(y_true: Any, mean: Any, std: Any, *, bins: int = 10, **reading: Unpack[Reading]) -> float:
    """The distance of `mean` and truth relative to `std`: the mean over bins of |RMSE_b − RMV_b| / RMV_b, see `ece`.

    >>> from graphgauge.forecasting import ence
    >>> ence([0, 0, 0, 0], [1, -1, 2, 14], [1, 1, 2, 2], bins=2)
    2.0
    """
    return _value("ence", y_true, mean, std=std, bins=bins, **reading)


def calibration_error(y_true: Any, mean: Any, std: Any, **reading: Unpack[Reading]) -> float:
    """Mean over p = 0.01 … 0.99 of |p − share of truths at or below the quantile p| of Gaussians `mean`, `std`.

    >>> from graphgauge.forecasting import calibration_error
    >>> round(calibration_error([0], [0], [1]), 4)
    0.2525
    """
    return _value("calibration_error", y_true, mean, std=std, **reading)


def miscalibration_area(y_true: Any, mean: Any, std: Any, **reading: Unpack[Reading]) -> float:
    """Area between the diagonal and the reliability curve: for each p the share of truths up to the quantile p.

    Quantiles are those of Gaussians with this `mean` and `std`; p is 0.01 … 0.99.

    >>> from graphgauge.forecasting import miscalibration_area
    >>> round(miscalibration_area([0], [0], [1]), 4)
    0.2475
    """
    return _value("miscalibration_area", y_true, mean, std=std, **reading)


def interval_score(y_true: Any, low: Any, high: Any, *, level: float, **reading: Unpack[Reading]) -> float:
    """Winkler's score of central intervals from `low` to `high` of this `level`, mean over cells.

    (high − low) + 2/(1 − level) · max(low − y, y − high, 0).

    >>> from graphgauge.forecasting import interval_score
    >>> interval_score([5, 0], [1, -1], [3, 1], level=0.5)
    6.0
    """
    return _between("interval_score", y_true, low, high, level, reading)


def coverage(y_true: Any, low: Any, high: Any, *, level: float, **reading: Unpack[Reading]) -> dict[str, float]:
    """The share of truths with `low` ≤ y ≤ `high`, the nominal `level`, and by how much the share exceeds it.

    >>> from graphgauge.forecasting import coverage
    >>> coverage([5, 0], [1, -1], [3, 1], level=0.5)
    {'coverage': 0.5, 'nominal_level': 0.5, 'difference': 0.0}
    """
    share = _between("coverage", y_true, low, high, level, reading)
    return {"coverage": share, "nominal_level": level, "difference": share - level}


def _between(name: str, y_true: Any, low: Any, high: Any, level: float, reading: Reading) -> float:
    """A metric of intervals, as that of the two quantiles that bound them."""
    arrays = _plain({"y_true": y_true, "low": low, "high": high, "mask": reading.pop("mask", None)})
    low, high, shape = arrays.pop("low"), arrays.pop("high"), arrays["y_true"].shape
    if not low.shape == high.shape == shape:
        what = f"has shape {low.shape}, high {high.shape}, and y_true {shape}"
        raise InputError(what, where="low", fix="Give both the shape of y_true.")
    key, levels = f"{name}_{Percent(round(100 * level, 8))}", [(1 - level) / 2, (1 + level) / 2]
    return _value(key, **arrays, quantiles=np.stack([low, high], axis=-1), levels=levels, **reading)


def _value(key: str, y_true: Any, y_pred: Any = None, **options: Any) -> float:
    """One metric of arrays of any shape, as a single series."""
    given = {name: options.pop(name, None) for name in ("std", "quantiles", "samples", "mask")}
    arrays = _plain({"y_true": y_true, "y_pred": y_pred, **given}, options.get("levels"))
    shape, size = arrays["y_true"].shape, arrays["y_true"].size
    for name, values in arrays.items():
        if values.shape[: len(shape)] == shape:  # or it is refused with its shape
            arrays[name] = values.reshape(size, *values.shape[len(shape) :])
    return float(evaluate(**arrays, **options, metrics=[key])[key].value)


def _plain(given: Mapping[str, Any], levels: Any = None) -> dict[str, Any]:
    """The arrays that are given in the order of the truth's labels, without them; of frames, the numbers."""
    refuse_other_rows(given)
    there = {name: value for name, value in given.items() if value is not None or name == "y_true"}
    arrays = {name: as_numeric(value, name) if is_frame(value) else value for name, value in there.items()}
    truth = read(arrays["y_true"], "y_true")
    axes = {"node": () if truth is None else truth.dims}
    match = matched(arrays, axes, [] if levels is None else np.ravel(levels).tolist(), named=False)
    return {name: as_numeric(value, name) for name, value in (match.arrays if match else arrays).items()}
