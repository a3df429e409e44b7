"""Plain functions for arrays of any shape. They return a number; `evaluate` adds an interval and a chance level."""

from __future__ import annotations

from math import prod
from numbers import Real
from typing import Any, TypedDict, Unpack

import numpy as np

from graphgauge.core.arrays import as_numeric, is_cuda
from graphgauge.core.errors import OptionError
from graphgauge.forecasting import metrics as _metrics
from graphgauge.forecasting.evaluate import evaluate, plain_value
from graphgauge.forecasting.inputs import Batch, in_order, stored_null
from graphgauge.forecasting.labels import matched
from graphgauge.forecasting.options import checked_levels, probabilities
from graphgauge.old.core.metric import Metric

Percent = _metrics.Percent


class Reading(TypedDict, total=False):
    """How the arrays are read; the options are documented in `evaluate`."""

    mask: Any
    null_value: float | None
    null_tolerance: float
    nan: str


def mae(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean absolute error.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0, in the unit of the truth.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> forecasting.mae([1, 2, 4], [1, 3, 2])
    1.0
    """
    return _value(_metrics.mae, y_true, y_pred, **reading)


def rmse(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Root of the mean squared error.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least the mean absolute error, in the unit of the truth.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.rmse([1, 2, 4], [1, 3, 2]), 4)
    1.291
    """
    return _value(_metrics.rmse, y_true, y_pred, **reading)


def mape(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean of absolute error over absolute truth, over cells whose truth is not 0.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0, as a share: 0.25 is 25 %. NaN if all truths are 0.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> forecasting.mape([2, 0, 4], [1, 5, 4])
    0.25
    """
    return _value(_metrics.mape, y_true, y_pred, **reading)


def wape(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Sum of absolute errors over sum of absolute truths.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0; 1 for the forecast that is always 0.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.wape([2, 0, 4], [1, 1, 4]), 4)
    0.3333
    """
    return _value(_metrics.wape, y_true, y_pred, **reading)


def smape(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean of 2·abs(error) over abs(truth) + abs(forecast).

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        In [0, 2].

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.smape([2, 4], [1, 4]), 4)
    0.3333
    """
    return _value(_metrics.smape, y_true, y_pred, **reading)


def bias(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Mean of forecast minus truth.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        Above 0 if forecasts are too high; 0 is best.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> forecasting.bias([1, 2, 4], [1, 3, 5])
    0.6666666666666666
    """
    return _value(_metrics.bias, y_true, y_pred, **reading)


def r2(y_true: Any, y_pred: Any, **reading: Unpack[Reading]) -> float:
    """Share of the truth's variation that the forecast explains.

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At most 1; 0 for the mean of the truth, below 0 for worse forecasts.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.r2([1, 2, 4], [1, 3, 4]), 4)
    0.7857
    """
    return _value(_metrics.r2, y_true, y_pred, **reading)


def mase(
    y_true: Any,
    y_pred: Any,
    naive: Any,
    *,
    season: int | None = None,
    axes: Any = ("time", "node"),
    **reading: Unpack[Reading],
) -> float:
    """Mean absolute error over that of the (seasonal) naive forecast in the history `naive` (time, node).

    Parameters
    ----------
    y_true, y_pred
        Truth and forecast, of one shape.
    naive
        The history (time, node) before the forecasts.
    season
        The lag of the seasonal naive forecast; 1 by default.
    axes
        Names of the dimensions of `y_true`.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0; below 1 if better than the naive forecast was on the history.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> forecasting.mase([[3.0], [4.0]], [[3.0], [5.0]], naive=[[0.0], [1.0], [2.0]])
    0.5
    """
    found = evaluate(y_true, y_pred, naive=naive, season=season, axes=axes, by=(), metrics=["mase"], **reading)
    return found["mase"].value


def nll(y_true: Any, mean: Any, std: Any, **reading: Unpack[Reading]) -> float:
    """Mean negative log-likelihood under Gaussian forecasts.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        Any number, in nats; lower is better.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.nll([0.0], [0.0], [1.0]), 4)
    0.9189
    """
    return _value(_metrics.nll, y_true, mean, std=std, **reading)


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
    """Mean CRPS of Gaussians, quantiles or samples (member axis last; `fair` estimates the score of infinitely many).

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    samples
        Members of an ensemble, along a last axis.
    quantiles, levels
        Quantiles along a last axis, and their probabilities.
    fair
        Whether to estimate the score of an ensemble of infinitely many members.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0 (unless `fair`), in the unit of the truth; the absolute error for a point forecast.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.crps([0.0], [0.0], [1.0]), 4), forecasting.crps([0.0], samples=[[-1.0, 1.0]])
    (0.2337, 0.5)
    """
    metric = _metrics.crps_fair if fair else _metrics.crps
    return _value(metric, y_true, mean, std=std, samples=samples, quantiles=quantiles, levels=levels, **reading)


def pinball(y_true: Any, quantiles: Any, levels: Any, **reading: Unpack[Reading]) -> float:
    """Mean pinball loss over cells and levels, the quantiles along the last axis.

    Parameters
    ----------
    y_true
        The truth.
    quantiles, levels
        Quantiles along a last axis, and their probabilities.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0, in the unit of the truth.

    Raises
    ------
    InputError
        If shapes differ, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.pinball([2.0], [[1.0, 4.0]], [0.1, 0.5]), 4)
    0.55
    """
    found = matched({"y_true": y_true, "quantiles": quantiles})
    y_true, given = found.arrays["y_true"], _array(found.arrays["quantiles"], "quantiles")
    given = in_order(given, found.levels, () if levels is None else checked_levels(levels))
    # Arrays of another shape are rejected later, by the batch.
    middle = given[..., 0] if given.shape[:-1] == np.shape(y_true) and given.shape[-1:] > (0,) else None
    return _value(_metrics.pinball, y_true, middle, quantiles=given, levels=levels, **reading)


def ece(y_true: Any, mean: Any, std: Any, *, bins: int = 10, **reading: Unpack[Reading]) -> float:
    """Expected calibration error over bins of predicted standard deviation; it is above 0 at any finite n.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    bins
        Number of equal-sized bins of predicted standard deviation.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0, in the unit of the truth; 0 if the error in every bin is as large as predicted.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.ece([1.0, -1.0, 2.0, -2.0], [0.0] * 4, [1.0, 1.0, 1.0, 1.0], bins=1), 4)
    0.5811
    """
    return _value(_metrics.ece, y_true, mean, std=std, bins=bins, **reading)


def ence(y_true: Any, mean: Any, std: Any, *, bins: int = 10, **reading: Unpack[Reading]) -> float:
    """Expected normalised calibration error over bins of predicted standard deviation.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    bins
        Number of equal-sized bins of predicted standard deviation.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0; 0.5 if errors in every bin are half as large, or half as large again, as predicted.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.ence([1.0, -1.0, 1.0, -1.0], [0.0] * 4, [2.0, 2.0, 2.0, 2.0], bins=1), 4)
    0.5
    """
    return _value(_metrics.ence, y_true, mean, std=std, bins=bins, **reading)


def calibration_error(y_true: Any, mean: Any, std: Any, **reading: Unpack[Reading]) -> float:
    """Mean distance between probabilities and the shares of truths at or below their quantiles.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        In [0, 0.5]; 0 if every quantile is exceeded as often as it should.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.calibration_error([5.0, -5.0], [0.0, 0.0], [1.0, 1.0]), 2)
    0.25
    """
    return _value(_metrics.calibration_error, y_true, mean, std=std, **reading)


def miscalibration_area(y_true: Any, mean: Any, std: Any, **reading: Unpack[Reading]) -> float:
    """Area between the reliability curve and the diagonal.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        In [0, 0.5].

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.miscalibration_area([0.0, 0.0], [0.0, 0.0], [1.0, 1.0]), 2)
    0.25
    """
    return _value(_metrics.miscalibration_area, y_true, mean, std=std, **reading)


def interval_score(y_true: Any, mean: Any, std: Any, *, level: float = 0.95, **reading: Unpack[Reading]) -> float:
    """Winkler's score of the central Gaussian interval.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    level
        Level of the interval.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    float
        At least 0: the width of the interval, plus 2/α times the distance of truths outside.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> round(forecasting.interval_score([0.0], [0.0], [1.0], level=0.95), 3)
    3.92
    """
    key = _metrics.interval_score.key_of(level=_percent(level))
    return plain_value(key, _flat(y_true, mean, std=std, **reading), coverage=level)


def coverage(y_true: Any, mean: Any, std: Any, level: float = 0.95, **reading: Unpack[Reading]) -> dict[str, float]:
    """Share of truths in the central Gaussian interval, its level, their difference, and the mean width.

    Parameters
    ----------
    y_true, mean, std
        Truth, and mean and standard deviation of Gaussian forecasts, of one shape.
    level
        Level of the interval.
    reading
        `mask`, `null_value`, `null_tolerance` and `nan`, as in `evaluate`.

    Returns
    -------
    dict
        `coverage` in [0, 1], `nominal_level`, `difference` and `width`.

    Raises
    ------
    InputError
        If shapes differ, a standard deviation is not above 0, or a value is NaN and `nan` is not `omit`.

    Examples
    --------
    >>> from graphgauge import forecasting
    >>> found = forecasting.coverage([0.0, 3.0], [0.0, 0.0], [1.0, 1.0])
    >>> found["coverage"], found["nominal_level"], round(found["width"], 2)
    (0.5, 0.95, 3.92)
    """
    percent, batch = _percent(level), _flat(y_true, mean, std=std, **reading)
    share, width = (
        plain_value(metric.key_of(level=percent), batch, coverage=level)
        for metric in (_metrics.coverage, _metrics.width)
    )
    return {"coverage": share, "nominal_level": level, "difference": share - level, "width": width}


def _array(value: Any, name: str) -> Any:
    """A host array, or a tensor on a CUDA device as it is."""
    return value if is_cuda(value) else as_numeric(value, name)


def _percent(level: float) -> Percent:
    if not isinstance(level, Real) or isinstance(level, bool):
        raise OptionError(f"level must be one probability, such as 0.95, not {level!r:.60}")
    return Percent(round(100 * probabilities(level, "level")[0], 8))


def _value(metric: Metric, y_true: Any, y_pred: Any, *, bins: int = 10, **options: Any) -> float:
    return plain_value(metric.key, _flat(y_true, y_pred, **options), bins=bins)


def _flat(
    y_true: Any,
    y_pred: Any,
    *,
    levels: Any = None,
    null_value: float | None = None,
    null_tolerance: float = 0.0,
    nan: str = "raise",
    **arrays: Any,
) -> Batch:
    """All cells as one series: without groups the shape does not matter."""
    found = matched({"y_true": y_true, "y_pred": y_pred, **arrays})
    truth = found.arrays.pop("y_true")
    y = _array(truth, "y_true")
    flat: dict[str, Any] = {}
    for name, value in found.arrays.items():
        if value is None:
            continue
        array = _array(value, name)
        last = array.shape[y.ndim :] if name in ("samples", "quantiles") and array.ndim == y.ndim + 1 else ()
        # Arrays of another shape are rejected later, by the batch.
        flat[name] = array.reshape(prod(y.shape), *last) if array.shape == y.shape + last else array
    null_value = stored_null(null_value, truth)
    quantiles = in_order(flat.pop("quantiles", None), found.levels, () if levels is None else checked_levels(levels))
    return Batch.of(
        y.reshape(-1),
        **flat,
        quantiles=quantiles,
        levels=levels,
        null_value=null_value,
        null_tolerance=null_tolerance,
        axes=("time",),
        nan=nan,
    )
