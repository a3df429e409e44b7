"""Detect forecasts that repeat the last known value, or that equal the truth."""

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


def first_steps(whole: Batch | None) -> Slab | None:
    """Some steps of a batch, if it is complete and has point forecasts."""
    if whole is None or whole.mean is None or whole.shape[0] < 3:
        return None
    _, horizons, nodes = whole.shape
    return whole.slab(slice(0, min(500, max(3, _LOOKED_AT // max(1, horizons * nodes * whole.width)))))


def copied(slab: Slab | None) -> float | None:
    """Share of forecasts that equal the last truth before them; 0 if this cannot be determined.

    It can be determined for windows that move one step at a time, where the second horizon's truth is the first
    horizon's truth of the next window.
    """
    if slab is None:
        return None
    y, seen = slab.y, slab.counted
    both = seen[1:, :-1] & seen[:-1, 1:]
    if not np.array_equal(y[1:, :-1][both], y[:-1, 1:][both]):
        return 0.0
    last = y[:-1, :1]
    moved = seen[1:] & seen[:-1, :1] & (y[1:] != last)  # if the truth is constant, every good forecast is too
    if moved.sum() < _FEWEST:
        return 0.0
    return float((np.abs(slab.mean[1:] - last) <= _COPY * np.abs(y[1:] - last))[moved].mean())


def hit(slab: Slab | None) -> float | None:
    """Share of forecasts that equal the truth, up to float32 rounding; 0 if this cannot be determined.

    Repeated truths, such as zeros, are left out. Errors on a grid give no verdict, because a good forecast of counts or
    of rounded values is often exact.
    """
    if slab is None:
        return None
    values, counts = np.unique(slab.y[:, 0][slab.counted[:, 0]], return_counts=True)
    single: Mask = slab.counted & ~np.isin(slab.y, values[counts > 1])
    if single.sum() < _FEWEST:
        return 0.0
    truth, error = slab.y[single], np.abs(slab.mean[single] - slab.y[single])
    hits = error <= _ROUNDED * np.abs(truth)
    missed = error[~hits]
    # On a grid the smallest nonzero error is as frequent as an error of 0.
    next_to = np.count_nonzero(missed < 1.5 * missed.min()) if len(missed) else 0
    return 0.0 if 5 * next_to > np.count_nonzero(hits) else float(hits.mean())
