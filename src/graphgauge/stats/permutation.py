"""Paired comparison over items: flip the signs of the differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphgauge.core.arrays import Floats, as_labels, as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.options import generator_of, whole_number
from graphgauge.core.result import Interval
from graphgauge.stats.intervals import standard_error, t_interval

# Up to this many differences all sign patterns are counted.
_ENUMERATE = 16
# A binomial draw costs as much as flipping about this many differences in bytes.
_HEAVY = 128
_ROWS = 1024


@dataclass(frozen=True)
class PairedItems:
    """Outcome of a sign-flip test over items; a positive difference favours the first ranker.

    `p_error` is the Monte-Carlo standard error of p, 0 where every sign pattern was counted.
    """

    n: int
    units: int
    unit: str
    positive: int
    zero: int
    negative: int
    mean_difference: float
    ci: Interval | None
    p_value: float
    p_error: float
    resamples: int

    def __str__(self) -> str:
        interval = "(no interval: all differ equally)" if self.ci is None else "[{:.4g}, {:.4g}]".format(*self.ci)
        certainty = f"± {self.p_error:.1g} by {self.resamples:,} sign flips" if self.p_error else "by all sign flips"
        return (
            f"mean difference {self.mean_difference:.4g} {interval} over {self.n:,} items"
            + (f" in {self.units:,} clusters" if self.units != self.n else "")
            + f" ({self.positive:,} higher, {self.zero:,} equal, {self.negative:,} lower); "
            f"p = {self.p_value:.4g} {certainty}"
        )


def paired_items(
    differences: ArrayLike,
    *,
    cluster: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
    resamples: int = 9_999,
    confidence: float = 0.95,
) -> PairedItems:
    """Is the mean of paired per-item differences zero? Two-sided sign-flip permutation test and t-interval.

    `differences` is one number per item (first ranker minus second, items in the same order); `cluster`, a label per
    item, marks items that are not independent, which are summed and flipped together. Memory does not grow
    with the number of resamples times items: equal sizes are flipped by one binomial draw, others eight at a time.
    """
    differences = as_numeric(differences, "items").astype(float)
    if differences.ndim != 1 or len(differences) < 2:
        raise InputError(f"expected at least two differences in a row, found shape {differences.shape}", where="items")
    if not np.isfinite(differences).all():
        bad = int(np.argmin(np.isfinite(differences)))
        raise InputError(f"differences must be finite, the first that is not is at index {bad}", where="items")
    whole_number("resamples", resamples, 1)
    if cluster is not None:
        cluster = np.unique(as_labels(cluster, "cluster"), return_inverse=True)[1]
        if cluster.shape != differences.shape:
            raise InputError(f"{len(cluster)} labels for {len(differences)} differences", where="cluster")
    n, mean = len(differences), float(differences.mean())
    error, df = standard_error(differences - mean, np.broadcast_to(1.0, n), cluster=cluster)
    low, high = t_interval(mean, error, df, confidence, scale=np.abs(differences).max())
    sums = differences
    if cluster is not None:
        sums = np.bincount(cluster, differences).astype(float, copy=False)
    p, p_error, drawn = _sign_flip(sums, resamples, generator_of(seed))
    unit = "items" if cluster is None else "clusters"
    return PairedItems(
        n=n,
        units=len(sums),
        unit=unit,
        positive=int(np.count_nonzero(differences > 0)),
        zero=int(np.count_nonzero(differences == 0)),
        negative=int(np.count_nonzero(differences < 0)),
        mean_difference=mean,
        ci=None if np.isnan(low[0]) else Interval(float(low[0]), float(high[0]), confidence, "t", unit),
        p_value=p,
        p_error=p_error,
        resamples=drawn,
    )


def _sign_flip(sums: Floats, resamples: int, generator: np.random.Generator) -> tuple[float, float, int]:
    """P(|sum under random signs| ≥ |sum|), its Monte-Carlo error, and the number of patterns."""
    sizes = np.abs(sums[sums != 0])
    # Equal sums may differ in their last bits.
    observed = abs(float(sums.sum())) - 1e-12 * float(sizes.sum())
    if len(sizes) <= _ENUMERATE:
        patterns = _all_sums(sizes)
        return float(np.mean(np.abs(patterns) >= observed)), 0.0, len(patterns)
    flipped = _flipped_sums(sizes, resamples, generator)
    p = (1 + int(np.count_nonzero(np.abs(flipped) >= observed))) / (resamples + 1)
    return p, math.sqrt(p * (1 - p) / resamples), resamples


def _flipped_sums(sizes: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    values, count = np.unique(sizes, return_counts=True)
    total = np.zeros(resamples)
    heavy = count >= _HEAVY
    for value, times in zip(values[heavy], count[heavy], strict=True):
        total += value * (2.0 * generator.binomial(times, 0.5, resamples) - times)
    light = np.repeat(values[~heavy], count[~heavy])
    eights = np.pad(light, (0, -len(light) % 8)).reshape(-1, 8)
    signs = _all_sums(np.eye(8))
    for first in range(0, len(eights), _ROWS):
        for sums in eights[first : first + _ROWS] @ signs.T:
            total += np.take(sums, np.frombuffer(generator.bytes(resamples), np.uint8))
    return total


def _all_sums(sizes: Floats) -> Floats:
    """The sum of the rows under each of the 2^n sign patterns."""
    sums = np.zeros((1, *sizes.shape[1:]))
    for size in sizes:
        sums = np.concatenate((sums - size, sums + size))
    return sums
