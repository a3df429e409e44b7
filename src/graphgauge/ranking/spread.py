"""How far a value is from chance in standard deviations, and how far ranks are spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate, Exempt, MetricFunction, NoChance, NoInterval, metric
from graphgauge.ranking.metrics import _EXPECTED, _LAWS, _RULES, AT_ENDS, _log_mean, _mean, _zero, fewest_ranks
from graphgauge.ranking.samples import Floats, Ranks

# What the metrics of this page have in common.
_BY_NAME: dict[str, Any] = {
    "family": "ranking",
    "needs": ("ranks",),
    "unit": "query",
    "reference": "hoyt2022",
    "default": False,
}
_Z_SCORE = _BY_NAME | {
    "direction": "higher",
    "bounds": (-np.inf, np.inf),
    "chance": _zero,
    "interval": _mean,
    "laws": _LAWS,
    "conventions": _EXPECTED | {"scale": "standard deviations of a random order"},
}
_SPREAD = _BY_NAME | {
    "direction": "none",
    "bounds": (0, np.inf),
    "laws": {**_LAWS, "monotone": Exempt("a spread is neither better nor worse")},
}
_SPREAD_RULES = _RULES | {"ties": "as chosen; expected counts the mean rank", "divided by": "n"}
# The median absolute deviation times this estimates the standard deviation of a normal distribution.
_NORMAL = 1.482602218505602


def _z_score(
    ranks: Ranks,
    values: Floats,
    expected: Floats,
    variance: Floats,
    ends: tuple[Any, Any],
    at_ends: float = 0.0,
) -> Estimate:
    """(value − its mean under a random order) / its standard deviation, higher is better.

    `ends` are the worst and the best value of each cell's queries.
    """
    if ranks.unit != "query":
        reason = "positives of one query share its negatives and are not independent"
        return Estimate(np.full(ranks.groups, np.nan), ranks.n, reason=reason, facts={"unit": ranks.unit})
    above = ranks.estimate(values - expected)
    items = ranks.count if ranks.items is None else ranks.items
    # A cell's items have the weight count / items each.
    squares = ranks.total(variance * (ranks.count / np.maximum(items, 1)) ** 2 * items)
    scale = np.sqrt(squares) / np.where(ranks.mass > 0, ranks.mass, np.nan)
    scale = np.where(scale > 0, scale, np.nan)
    own = ranks.to_cells(scale)
    assert above.influence is not None
    return Estimate(
        above.value / scale,
        ranks.n,
        above.influence / own,
        reason="no query has a negative" if ranks.n.any() else "no queries",
        facts={
            "ends": lambda: tuple(ranks.mean(end - expected) / scale for end in ends),
            "at_ends": at_ends,
            "unit": ranks.unit,
        },
    )


def _of_ranks(estimate: Estimate, ranks: Ranks) -> Estimate:
    """An estimate whose interval needs as many queries as that of the mean rank."""
    return replace(estimate, facts={**estimate.facts, "fewest": lambda: fewest_ranks(ranks)})


@metric(key="z_mean_rank", **_Z_SCORE)
def z_mean_rank(ranks: Ranks) -> Estimate:
    """How many standard deviations the mean rank is better than that of a random order."""
    ranks = ranks.under("expected")
    last = ranks.candidates.astype(float)
    return _of_ranks(_z_score(ranks, -ranks.rank(), -(last + 1) / 2, (last**2 - 1) / 12, (-last, -1.0)), ranks)


@metric(key="z_mrr", **_Z_SCORE)
def z_mrr(ranks: Ranks) -> Estimate:
    """How many standard deviations the mean reciprocal rank is better than that of a random order."""
    ranks = ranks.under("expected")
    lengths, place = ranks.lengths
    expected, variance = np.array([_reciprocal_moments(int(length)) for length in lengths]).reshape(-1, 2).T
    ends = 1 / ranks.candidates, 1.0
    return _z_score(ranks, ranks.reciprocal(), expected[place], variance[place], ends, AT_ENDS)


@lru_cache(maxsize=4096)
def _reciprocal_moments(candidates: int) -> tuple[float, float]:
    """Mean and variance of 1 / rank, if every rank is as likely."""
    values = 1 / np.arange(1.0, candidates + 1)
    return float(values.mean()), float(values.var())


@metric(key="z_hits@{k}", **_Z_SCORE)
def z_hits_at_k(ranks: Ranks, *, k: int = 10) -> Estimate:
    """How many standard deviations Hits@k is better than that of a random order."""
    ranks = ranks.under("expected")
    share = np.minimum(k / ranks.candidates, 1.0)
    estimate = _z_score(ranks, ranks.within(k), share, share * (1 - share), (share >= 1, 1.0), AT_ENDS)
    return estimate if ranks.unit != "query" else _named(estimate, f"every query has at most k = {k} candidates", ranks)


def _named(estimate: Estimate, reason: str, ranks: Ranks) -> Estimate:
    return Estimate(
        estimate.value,
        estimate.n,
        estimate.influence,
        reason=reason if ranks.n.any() else "no queries",
        facts=estimate.facts,
    )


def _random_spread(function: MetricFunction, ranks: Ranks, params: Mapping[str, Any]) -> dict[str, float]:
    """The spread of ranks that are as likely as each other, over all queries."""
    candidates = ranks.candidates.astype(float)
    mean = ranks.mean((candidates + 1) / 2)[0]
    square = ranks.mean((candidates + 1) * (2 * candidates + 1) / 6)[0]
    variance = float(max(square - mean**2, 0.0))
    return {"random scorer": variance if function is rank_var.function else float(np.sqrt(variance))}


@metric(key="rank_var", **_SPREAD, conventions=_SPREAD_RULES, chance=_random_spread, interval=_log_mean)
def rank_var(ranks: Ranks) -> Estimate:
    """Variance of the ranks of the positives."""
    rank = ranks.rank()
    squares = (rank - ranks.to_cells(ranks.mean(rank))) ** 2
    value = ranks.mean(squares)
    influence = squares - ranks.to_cells(value)
    return _of_ranks(Estimate(value, ranks.n, influence, reason="no queries", facts={"unit": ranks.unit}), ranks)


@metric(key="rank_std", **_SPREAD, conventions=_SPREAD_RULES, chance=_random_spread, interval=_log_mean)
def rank_std(ranks: Ranks) -> Estimate:
    """Standard deviation of the ranks of the positives."""
    variance = rank_var(ranks)
    assert variance.influence is not None
    value = np.sqrt(variance.value)
    scale = 2 * ranks.to_cells(np.where(value > 0, value, np.nan))
    return replace(variance, value=value, influence=np.nan_to_num(variance.influence / scale))


@metric(
    key="rank_mad",
    **_SPREAD,
    conventions=_SPREAD_RULES | {"scale": "that of the standard deviation of a normal distribution"},
    chance=NoChance("it has no closed form for a random order"),
    interval=NoInterval("a median of deviations has no first-order error"),
)
def rank_mad(ranks: Ranks) -> Estimate:
    """Median absolute deviation of the ranks from their median, times 1.4826."""
    rank = ranks.rank()
    around = ranks.to_cells(_weighted_median(ranks, rank))
    value = _NORMAL * _weighted_median(ranks, np.abs(rank - around))
    return Estimate(value, ranks.n, reason="no queries", facts={"unit": ranks.unit})


def _weighted_median(ranks: Ranks, values: Floats) -> Floats:
    """The median of each group's items; the midpoint, if half of them are below one value and half above another."""
    found = np.full(ranks.groups, np.nan)
    for group in range(ranks.groups):
        own = slice(None) if ranks.group is None else ranks.group == group
        order = np.argsort(values[own], kind="stable")
        ordered, mass = values[own][order], np.cumsum(ranks.count[own][order])
        if len(ordered) and mass[-1] > 0:
            half, slack = mass[-1] / 2, 1e-9 * mass[-1]
            low = ordered[np.searchsorted(mass, half - slack)]
            high = ordered[min(int(np.searchsorted(mass, half + slack)), len(ordered) - 1)]
            found[group] = (low + high) / 2
    return found
