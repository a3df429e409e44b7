"""All positives against all negatives, across queries: areas under curves, hits above a threshold, errors.

Scores that belong to queries err query by query. Without `offsets` the negatives are a pool that belongs to no query:
positives and negatives are then two samples, each with an error of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.metric import Bounds, Estimate
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.ranking.counting import Levels, levels, numbered
from graphgauge.stats.errors import auc_error, standard_error, two_samples
from graphgauge.stats.intervals import of_area, of_mean, t_quantile, wilson_interval

# Negatives that are placed at once, and levels that are summed at once.
_BLOCK, _PART = 1 << 20, 1 << 16


@dataclass(frozen=True, eq=False)
class Pooled:
    """Scores of all positives (m,) and all negatives (n,), none of them NaN.

    Those of positive i are `neg[offsets[i]:offsets[i + 1]]`, if they belong to queries. `cluster` has a label per
    positive.
    """

    pos: AnyArray
    neg: AnyArray
    offsets: Ints | None = None
    cluster: Ints | None = None
    over: str = "queries"
    unit: str = "query"

    @staticmethod
    def join(parts: Sequence[Pooled]) -> Pooled:
        """The scores of several parts together, whose clusters are numbered in each part if they are queries."""
        first = parts[0]
        if len(parts) == 1:
            return first
        pos, neg = (np.concatenate([getattr(part, name) for part in parts]) for name in ("pos", "neg"))
        starts = np.cumsum([0] + [len(part.neg) for part in parts])
        offsets = [part.offsets[1:] + at for part, at in zip(parts, starts, strict=False) if part.offsets is not None]
        cluster = [part.cluster for part in parts if part.cluster is not None]
        if cluster and first.over == "queries":
            sizes = np.cumsum([0, *(int(each.max(initial=-1)) + 1 for each in cluster)])
            cluster = [each + shift for each, shift in zip(cluster, sizes, strict=False)]
        joined: dict[str, Any] = {"offsets": np.concatenate([[0], *offsets])} if offsets else {}
        joined |= {"cluster": np.concatenate(cluster)} if cluster else {}
        return replace(first, pos=pos, neg=neg, **joined)

    def to_arrays(self) -> dict[str, AnyArray]:
        """For an archive; `from_arrays` reads them."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: np.asarray(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Pooled:
        texts = {name: str(arrays[name]) for name in ("over", "unit")}
        return cls(arrays["pos"], arrays["neg"], arrays.get("offsets"), arrays.get("cluster"), **texts)

    @cached_property
    def levels(self) -> Levels:
        """At each distinct positive score: the positives that have it, the negatives above and beside."""
        return levels(self.pos, self.neg)

    @cached_property
    def units(self) -> Ints | None:
        """The clusters, numbered from 0."""
        return None if self.cluster is None else numbered(self.cluster)[1]

    @property
    def roc_auc(self) -> float:
        """P(positive > negative) + P(equal) / 2 over all pairs, as a ratio of whole numbers; NaN if a side is empty."""
        pairs, wins, at = len(self.pos) * len(self.neg), 0, self.levels
        for part in _parts(len(at.values)):
            doubled = 2 * (len(self.neg) - at.greater[part]) - at.equal[part]
            # Two halves of 31 bits: neither sum of products exceeds 64 bits with fewer than 2**32 positives.
            high, low = doubled >> 31, doubled & (2**31 - 1)
            wins += (int(np.dot(at.positives[part], high)) << 31) + int(np.dot(at.positives[part], low))
        return wins / (2 * pairs) if pairs else math.nan

    @property
    def average_precision(self) -> float:
        """The mean over positives of the precision at their score; NaN if a side is empty."""
        if not len(self.pos) or not len(self.neg):
            return math.nan
        at = self.levels
        hits = np.cumsum(at.positives)
        precision = at.positives * (hits / (hits + at.greater + at.equal))
        return math.fsum(float(precision[part].sum()) for part in _parts(len(hits))) / len(self.pos)

    def threshold(self, rank: int) -> Any:
        """The score of the negative with this rank, 1 for the best; infinite beyond either end."""
        if not 1 <= rank <= len(self.neg):
            return np.inf if rank < 1 else -np.inf
        place = len(self.neg) - rank
        return np.partition(self.neg, place)[place]

    def share_above(self, rank: int) -> float:
        """The share of positives strictly above the negative with this rank: none at rank 0, all beyond the last."""
        if not len(self.pos) or not 1 <= rank <= len(self.neg):
            return 0.0 if rank < 1 else 1.0
        return float(np.count_nonzero(self.pos > self.threshold(rank))) / len(self.pos)

    def level_of(self, scores: AnyArray) -> Ints:
        """The first level at or below each score, in descending order; one past the last if there is none."""
        rising = self.levels.values[::-1]
        return len(rising) - np.searchsorted(rising, scores, side="right")

    def estimate(self, value: float, **facts: Any) -> Estimate:
        empty = not len(self.pos) or not len(self.neg)
        reason = "no negatives" if len(self.pos) else "no positives"
        n = np.array([len(self.pos)])
        return Estimate(np.array([np.nan if empty else value]), n, reason=reason, facts=facts | {"unit": self.unit})


def _parts(size: int, step: int = _PART) -> list[slice]:
    return [slice(start, start + step) for start in range(0, size, step)]


def auc_bounds(sample: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    """DeLong on the logit scale, with a query or cluster as one unit."""
    if sample.offsets is None:
        error, df = _pool_error(sample, float(estimate.value[0]))
    else:
        _, *both = auc_error(sample.pos, sample.neg, sample.offsets, cluster=sample.units)
        error, df = (np.array([each]) for each in both)
    return of_area(estimate.value, error, df, confidence, over=sample.over)


def _pool_error(sample: Pooled, auc: float) -> tuple[Floats, Floats]:
    """DeLong's error of two samples (1988): of what each positive wins, and of what each negative loses.

    Negatives lose alike at a level and between two, so none has a number of its own.
    """
    (m, n), at = (len(sample.pos), len(sample.neg)), sample.levels
    if min(m, n) < 2:
        return np.array([np.nan]), np.array([0.0])
    above, ends = np.cumsum(at.positives), at.greater + at.equal
    count = np.concatenate([np.append(at.greater, n) - np.append(0, ends), at.equal])
    losses = np.concatenate([np.append(0, above), above - at.positives / 2]) / m
    return two_samples(
        _of_positives(sample, 1 - (at.greater + ends) / (2 * n) - auc), standard_error(losses - auc, count)
    )


def _of_positives(sample: Pooled, influence: Floats) -> tuple[Floats, Floats]:
    """The error of positives that have this influence at each level."""
    if sample.units is None:
        return standard_error(influence, sample.levels.positives)
    return standard_error(influence[sample.level_of(sample.pos)], cluster=sample.units)


def precision_bounds(sample: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    """First-order variance on the logit scale, with a query or cluster as one unit."""
    error, df = _precision_error(sample)
    return of_area(estimate.value, error, df, confidence, over=sample.over)


def _precision_error(sample: Pooled) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of average precision, by linearisation.

    Precision at a score s is T/(T + F), with T positives and F negatives at or above s. A positive at or above s adds
    F/(T + F)² to it, a negative takes T/(T + F)² away; summed over the positives these are each score's influence.
    """
    pos, neg, counts = sample.pos, sample.neg, sample.levels
    if len(pos) < 2 or not len(neg):
        return np.array([np.nan]), np.array([0.0])
    at_or_above, false = np.cumsum(counts.positives), counts.greater + counts.equal
    selected = (at_or_above + false).astype(np.float64)
    # Descending values: the contribution of a score at its level and every lower one is a sum from the end.
    gained = np.cumsum((counts.positives * false / selected**2)[::-1])[::-1]
    lost = np.append(np.cumsum((counts.positives * at_or_above / selected**2)[::-1])[::-1], 0.0)
    added = at_or_above / selected + gained
    if sample.offsets is None:
        count = np.diff(false, prepend=0, append=len(neg))
        of_negatives = lost * (len(neg) / len(pos))
        centred = added - float(counts.positives @ added) / len(pos)
        of_pool = standard_error(of_negatives - float(count @ of_negatives) / len(neg), count)
        return two_samples(_of_positives(sample, centred), of_pool)
    added = added[sample.level_of(pos)]
    influence = added.copy()
    for part in _parts(len(neg), _BLOCK):
        place = np.arange(part.start, min(part.stop, len(neg)))
        query = np.searchsorted(sample.offsets, place, side="right") - 1
        influence -= np.bincount(query, lost[sample.level_of(neg[part])], len(pos))
    # Queries are centred on the value that their number of negatives would give.
    lost_in_all = added.sum() - influence.sum()
    influence += np.diff(sample.offsets) * (lost_in_all / len(neg)) - added.mean()
    units = np.arange(len(pos)) if sample.units is None else sample.units
    return standard_error(influence, cluster=units)


def hits_bounds(sample: Pooled, estimate: Estimate, confidence: float) -> Bounds:
    """Interval of the share of positives above the k-th best negative, including the error of that threshold.

    In another sample the number of negatives above the same threshold would not be k, but near it (within a Poisson
    count's limits, widened if negatives of one query or cluster are close). The shares at the negatives with
    these ranks show the effect on the value. Distances to them and to the bounds of the positives alone add up in
    squares (Zou and Donner 2008).
    """
    k, value = int(estimate.facts["k"]), float(estimate.value[0])
    low, high = _positives_alone(sample, k, value, confidence)
    if k <= len(sample.neg):  # else there is no threshold, and every positive is a hit
        fewest, most = _count_limits(k, _dispersion(sample, k), confidence)
        first, last = (sample.share_above(rank) for rank in (int(np.floor(fewest)), int(np.ceil(most))))
        low, high = value - np.hypot(value - low, value - first), value + np.hypot(high - value, last - value)
    method = "wilson and threshold" if sample.units is None else "cluster-t and threshold"
    return Bounds(np.atleast_1d(low), np.atleast_1d(high), method, sample.over)


def _positives_alone(sample: Pooled, k: int, value: float, confidence: float) -> tuple[Floats, Floats]:
    n = len(sample.pos)
    if sample.units is None:
        return wilson_interval([round(value * n)], [n], confidence)
    error, df = standard_error((sample.pos > sample.threshold(k)) - value, cluster=sample.units)
    found = of_mean([value], error, df, confidence, over="clusters", scale=1.0, possible=(0.0, 1.0))
    return found.low, found.high


def _dispersion(sample: Pooled, k: int) -> float:
    """The variance of the number of negatives above the threshold over that of a Poisson count; at least 1."""
    if sample.offsets is None:
        return 1.0
    above = np.flatnonzero(sample.neg >= sample.threshold(k))
    query = np.searchsorted(sample.offsets, above, side="right") - 1
    expected = np.diff(sample.offsets) * (len(above) / len(sample.neg))
    excess: Floats = np.bincount(query, minlength=len(sample.pos)) - expected
    if sample.units is not None:
        excess = np.bincount(sample.units, excess).astype(np.float64)
    units = len(excess)
    return max(1.0, float(excess @ excess) * units / (units - 1) / len(above)) if units > 1 else 1.0


def _count_limits(count: int, dispersion: float, confidence: float) -> tuple[float, float]:
    """Limits of a count with this dispersion, from those of a Poisson count (Byar's formula: Breslow and Day 1987)."""
    z, events = float(t_quantile(np.inf, confidence)), count / dispersion
    low, high = (
        dispersion * n * max(1 - 1 / (9 * n) + side * z / (3 * math.sqrt(n)), 0.0) ** 3
        for n, side in ((events, -1), (events + 1, 1))
    )
    return low, high
