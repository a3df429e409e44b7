"""The error of average precision over a pool of queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import AnyArray
from graphgauge.kernels.tails import TailCounts
from graphgauge.stats.intervals import standard_error

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]

_BLOCK = 1 << 20


def average_precision_error(
    pos: AnyArray, neg: AnyArray, offsets: Ints, tails: TailCounts, cluster: Ints | None
) -> tuple[float, float]:
    """Standard error and degrees of freedom, a query being one unit, by linearisation.

    Precision at a score s is T/(T + F), with T positives and F negatives at or above s. A positive at or above s adds
    F/(T + F)² to it, a negative takes T/(T + F)² away; summed over the positives these are each score's influence.
    """
    if len(pos) < 2:
        return np.nan, 0.0
    at_or_above = np.cumsum(tails.positives)
    false = tails.greater + tails.equal
    selected = (at_or_above + false).astype(float)
    precision = at_or_above / selected
    # Descending values: what a score adds at its own level and at every lower one is a sum from the end.
    gained = np.cumsum((tails.positives * false / selected**2)[::-1])[::-1]
    lost = np.append(np.cumsum((tails.positives * at_or_above / selected**2)[::-1])[::-1], 0.0)
    ascending = tails.values[::-1]

    def level_of(scores: AnyArray) -> Ints:
        """The first level at or below each score, in descending order; one past the last where there is none."""
        return len(ascending) - np.searchsorted(ascending, scores, side="right")

    added = (precision + gained)[level_of(pos)] / len(pos)
    influence = added.copy()
    for start in range(0, len(neg), _BLOCK):
        block = neg[start : start + _BLOCK]
        query = np.searchsorted(offsets, np.arange(start, start + len(block)), side="right") - 1
        influence -= np.bincount(query, lost[level_of(block)] / len(pos), len(pos))
    # Queries with other numbers of negatives than the mean are centred on what their size would give.
    lost_in_all = added.sum() - influence.sum()
    influence -= added.mean()
    influence += np.diff(offsets) * (lost_in_all / len(neg))
    units = np.arange(len(pos)) if cluster is None else cluster
    error, df = standard_error(len(pos) * influence, np.ones(len(pos)), cluster=units)
    return float(error[0]), float(df[0])
