"""Signs in single cells: forecasts that repeat the last value or equal the truth, truths that are no observations."""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import Floats, Mask
from graphgauge.forecasting.sample import Sample

# How many numbers of the first steps, and of the whole period, are looked at; and the fewest cells for a verdict.
_BEGIN, _SAMPLED, _FEWEST = 1 << 18, 1 << 16, 100
# Rounding of a number that went through float32 and back: a hundred times its epsilon.
_ROUNDED = 1e-5
# A forecast is a copy if it is so much nearer to the last value than the truth is.
_COPY = 1e-3
# The fewest truths that are evidence of a missing value; truths next to it, relative to their forecasts; and the median
# distance of forecasts from it that shows that the forecaster knows of it, relative to that of others.
_FEWEST_NULLS, _NEAR, _KNOWN = 20, 0.1, 0.5
# Relative to the median distance from the null value: truths that were scaled in float32 and back.
_ALMOST = 1e-4


def first_steps(sample: Sample) -> Sample:
    """A copy of the first time steps."""
    return _copy(sample, slice(0, min(500, max(3, _BEGIN // max(1, sample.shape[1] * sample.shape[2])))))


def every_so_often(sample: Sample) -> Sample:
    """A copy of some time steps from the whole period."""
    room = max(1, _SAMPLED // max(1, sample.shape[1] * sample.shape[2]))
    return _copy(sample, slice(0, None, max(1, -(-sample.shape[0] // room))))


def _copy(sample: Sample, chosen: slice) -> Sample:
    part = sample.steps(chosen).on_host()
    arrays = {name: np.array(part.arrays[name]) for name in ("y_true", "y_pred")}
    return Sample(part.shape, arrays, None if part.mask is None else np.array(part.mask))


def _seen(part: Sample) -> Mask:
    return np.ones(part.y.shape, bool) if part.mask is None else part.mask


def copied(begin: Sample) -> float:
    """Share of forecasts that equal the last truth before them; 0 if this cannot be determined.

    It can for windows that move one step at a time, where the second horizon's truth is the first one's of the next.
    """
    y, seen = begin.y, _seen(begin)
    both = seen[1:, :-1] & seen[:-1, 1:]
    if not np.array_equal(y[1:, :-1][both], y[:-1, 1:][both]):
        return 0.0
    last = y[:-1, :1]
    moved = seen[1:] & seen[:-1, :1] & (y[1:] != last)  # if the truth is constant, every good forecast is too
    if moved.sum() < _FEWEST:
        return 0.0
    return float((np.abs(begin.mean[1:] - last) <= _COPY * np.abs(y[1:] - last))[moved].mean())


def hit(begin: Sample) -> float:
    """Share of forecasts that equal the truth, up to rounding; 0 if this cannot be determined.

    Repeated truths, such as zeros, are left out. Errors on a grid give no verdict, because a good forecast of counts or
    of rounded values is often exact.
    """
    y, seen = begin.y, _seen(begin)
    values, counts = np.unique(y[:, :1][seen[:, :1]], return_counts=True)
    single = seen & ~np.isin(y, values[counts > 1])
    if single.sum() < _FEWEST:
        return 0.0
    truth, error = y[single], np.abs(begin.mean[single] - y[single])
    hits = error <= _ROUNDED * np.abs(truth)
    missed = error[~hits]
    # On a grid the smallest error that is not 0 is as frequent as an error of 0.
    next_to = np.count_nonzero(missed < 1.5 * missed.min()) if len(missed) else 0
    return 0.0 if 5 * next_to > np.count_nonzero(hits) else float(hits.mean())


def spike(sampled: Sample) -> tuple[float, float]:
    """Share of truths that are one value which forecasts never approach, and that value; 0 if it may be an observation.

    The value is 0, or the least or the greatest truth, such as −9999. It may be an observation if truths next to it are
    not rare, as for counts and for rain, or if the forecasts of these truths approach it.
    """
    seen = _seen(sampled)
    y, forecast = sampled.y[seen].astype(np.float64), sampled.mean[seen].astype(np.float64)
    if len(y) < _FEWEST:
        return 0.0, 0.0
    shares = [(_share_of_spike(y, forecast, value), value) for value in dict.fromkeys((0.0, y.min(), y.max()))]
    share, value = max(shares)
    return share, float(value)


def _share_of_spike(y: Floats, forecast: Floats, value: float) -> float:
    there = y == value
    away, expected = np.abs(y - value), np.abs(forecast - value)
    if np.count_nonzero(there) < _FEWEST_NULLS or there.all():
        return 0.0
    reach = np.maximum(expected[~there] * _NEAR, float(away[~there].min()) * (1 + _ROUNDED))
    near = np.count_nonzero(away[~there] <= reach)
    known = np.median(expected[there]) < _KNOWN * np.median(expected[~there])
    return 0.0 if 4 * near >= np.count_nonzero(there) or known else float(there.mean())


def almost(sampled: Sample, null_value: float) -> tuple[float, float]:
    """Share of counted truths that nearly equal the null value, far more than by chance, and their largest distance."""
    y = sampled.y[_seen(sampled)].astype(np.float64)
    if len(y) < _FEWEST or not np.isfinite(null_value):
        return 0.0, 0.0
    distance = np.abs(y - null_value)
    far = distance[distance > 0]
    reach = _ALMOST * float(np.median(far)) if len(far) else 0.0
    # Up to ten times the distance there are hardly more: the values are a spike at the null value.
    nearest, wider = np.count_nonzero(distance <= reach), np.count_nonzero(distance <= 10 * reach)
    if not len(far) or nearest < _FEWEST_NULLS or wider > 1.5 * nearest:
        return 0.0, 0.0
    return nearest / len(y), float(distance[distance <= reach].max())
