"""Detect forecasts that repeat the last known value or equal the truth, and truths that are missing observations."""

from __future__ import annotations

import numpy as np

from graphgauge.core.arrays import Mask
from graphgauge.forecasting.inputs import Batch, Slab

# How many numbers of the first steps are examined, and the fewest cells for a verdict.
_LOOKED_AT, _FEWEST = 1 << 18, 100
# Rounding error of a number that went through float32 and back: a hundred times its epsilon.
_ROUNDED = 1e-5
# A forecast counts as a copy if it is this much nearer to the last value than the truth is.
_COPY = 1e-3

# How many numbers of the whole period are examined, and the fewest truths that are evidence of a null value.
_SAMPLED = 1 << 16
_FEWEST_NULLS = 20
# Truths next to 0, relative to their forecast; and the median forecast of zeros that shows that the forecaster knows of
# them, relative to that of other truths.
_NEAR_ZERO, _SMALL = 0.1, 0.5
# Relative to the median distance from the null value: truths that were scaled in float32 and back.
_ALMOST = 1e-4


def first_steps(whole: Batch | None) -> Slab | None:
    """Some steps of a batch, if it is complete and has point forecasts."""
    if whole is None or whole.mean is None or whole.shape[0] < 3:
        return None
    _, horizons, nodes = whole.shape
    return whole.slab(slice(0, min(500, max(3, _LOOKED_AT // max(1, horizons * nodes * whole.width))))).copy()


def every_so_often(whole: Batch | None) -> Slab | None:
    """Steps from the whole period, if the batch is complete."""
    if whole is None:
        return None
    steps, horizons, nodes = whole.shape
    room = max(1, _SAMPLED // max(1, horizons * nodes * whole.width))
    return whole.slab(slice(0, steps, max(1, -(-steps // room)))).copy()


def copied(slab: Slab) -> float:
    """Share of forecasts that equal the last truth before them; 0 if this cannot be determined.

    It can be determined for windows that move one step at a time, where the second horizon's truth is the first
    horizon's truth of the next window.
    """
    y, seen = slab.y, slab.counted
    both = seen[1:, :-1] & seen[:-1, 1:]
    if not np.array_equal(y[1:, :-1][both], y[:-1, 1:][both]):
        return 0.0
    last = y[:-1, :1]
    moved = seen[1:] & seen[:-1, :1] & (y[1:] != last)  # if the truth is constant, every good forecast is too
    if moved.sum() < _FEWEST:
        return 0.0
    return float((np.abs(slab.mean[1:] - last) <= _COPY * np.abs(y[1:] - last))[moved].mean())


def hit(slab: Slab) -> float:
    """Share of forecasts that equal the truth, up to float32 rounding; 0 if this cannot be determined.

    Repeated truths, such as zeros, are left out. Errors on a grid give no verdict, because a good forecast of counts or
    of rounded values is often exact.
    """
    values, counts = np.unique(slab.y[:, :1][slab.counted[:, :1]], return_counts=True)
    single: Mask = slab.counted & ~np.isin(slab.y, values[counts > 1])
    if single.sum() < _FEWEST:
        return 0.0
    truth, error = slab.y[single], np.abs(slab.mean[single] - slab.y[single])
    hits = error <= _ROUNDED * np.abs(truth)
    missed = error[~hits]
    # On a grid the smallest nonzero error is as frequent as an error of 0.
    next_to = np.count_nonzero(missed < 1.5 * missed.min()) if len(missed) else 0
    return 0.0 if 5 * next_to > np.count_nonzero(hits) else float(hits.mean())


def zeros(slab: Slab) -> float:
    """Share of truths that are exactly 0 although they were forecast like others; 0 if zeros may be observations.

    They may be if truths next to 0 are not rare, as for counts and for rain, or if forecasts of them are small.
    """
    y, forecast = slab.y[slab.counted].astype(np.float64), slab.mean[slab.counted].astype(np.float64)
    empty = y == 0
    size = np.abs(y[~empty])
    if len(y) < _FEWEST or not len(size) or np.count_nonzero(empty) < _FEWEST_NULLS:
        return 0.0
    there, elsewhere = np.abs(forecast[empty]), np.abs(forecast[~empty])
    near = np.count_nonzero(size <= np.maximum(elsewhere * _NEAR_ZERO, float(size.min()) * (1 + _ROUNDED)))
    known = np.median(there) < _SMALL * np.median(elsewhere)
    return 0.0 if 4 * near >= np.count_nonzero(empty) or known else float(empty.mean())


def almost(slab: Slab, null_value: float) -> tuple[float, float]:
    """Share of counted truths that nearly equal the null value, far more than by chance, and their largest distance."""
    y = slab.y[slab.counted].astype(np.float64)
    if len(y) < _FEWEST or not np.isfinite(null_value):
        return 0.0, 0.0
    distance = np.abs(y - null_value)
    far = distance[distance > 0]
    if not len(far):
        return 0.0, 0.0
    reach = _ALMOST * float(np.median(far))
    # Up to ten times the distance there are hardly more: the values are a spike at the null value.
    nearest, wider = np.count_nonzero(distance <= reach), np.count_nonzero(distance <= 10 * reach)
    if nearest < _FEWEST_NULLS or wider > 1.5 * nearest:
        return 0.0, 0.0
    return nearest / len(y), float(distance[distance <= reach].max())
