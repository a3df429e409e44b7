"""Forecasts that are no forecasts: the last value that was known, or the truth itself."""

from __future__ import annotations

import numpy as np

from graphgauge.forecasting.inputs import Batch, Mask, Slab

# Numbers that are looked at, of the first steps; and cells below which nothing is said.
_LOOKED_AT, _FEWEST = 1 << 18, 100
# What rounding does to a number that went through float32 and back: a hundred of its steps.
_ROUNDED = 1e-5
# A forecast this much nearer to the last value than the truth went is a copy of it.
_COPY = 1e-3


def first_steps(whole: Batch | None) -> Slab | None:
    """Some steps of a batch, where it is whole and has point forecasts of its own."""
    if whole is None or whole.mean is None or whole.shape[0] < 3:
        return None
    _, horizons, nodes = whole.shape
    return whole.slab(slice(0, min(500, max(3, _LOOKED_AT // max(1, horizons * nodes * whole.width)))))


def copied(slab: Slab | None) -> float | None:
    """Share of the forecasts that are the last truth before them; 0 where that cannot be told.

    Windows that move one step at a time show it: what is the second horizon's truth now is the first one's next.
    """
    if slab is None:
        return None
    y, seen = slab.y, slab.counted
    both = seen[1:, :-1] & seen[:-1, 1:]
    if not np.array_equal(y[1:, :-1][both], y[:-1, 1:][both]):
        return 0.0
    last = y[:-1, :1]
    moved = seen[1:] & seen[:-1, :1] & (y[1:] != last)  # where the truth stands still, every good forecast does
    if moved.sum() < _FEWEST:
        return 0.0
    return float((np.abs(slab.mean[1:] - last) <= _COPY * np.abs(y[1:] - last))[moved].mean())


def hit(slab: Slab | None) -> float | None:
    """Share of the forecasts that are the truth, up to the rounding of float32; 0 where that cannot be told.

    Truths that come more than once are left out, zeros among them, and nothing is said where errors stand on a grid:
    a good forecast of counts, or of rounded values, often hits.
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
    # On a grid the smallest error there is comes as often as none at all.
    next_to = np.count_nonzero(missed < 1.5 * missed.min()) if len(missed) else 0
    return 0.0 if 5 * next_to > np.count_nonzero(hits) else float(hits.mean())
