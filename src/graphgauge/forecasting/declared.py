"""Intervals of forecasting metrics, and the scores of forecasters without knowledge and of perfect forecasters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.forecasting.samples import Blocks, Cells, Reliability, Spread, Vectors
from graphgauge.forecasting.serial import FEWEST, enough, interval_error
from graphgauge.old.core.metric import Baseline, Bounds, Estimate, Ideal, IntervalRule, MetricFunction, NoInterval
from graphgauge.old.stats.intervals import log_t_interval, logit_t_interval, t_interval

# ------------------------------------------------------------------- intervals

_UNORDERED = NoInterval(
    "the order of the batches in time is not known, and errors are correlated in time: pass start= to update()"
)


def _size(estimate: Estimate) -> Floats:
    """The size of the blocks' contributions, which may be far larger than their sum."""
    assert estimate.influence is not None
    return np.asarray(np.abs(estimate.influence).sum(axis=0))


def _error(cells: Blocks[Any], estimate: Estimate) -> tuple[Floats, Floats]:
    assert estimate.influence is not None
    # The influences of the absolute errors, if they were counted and the estimate depends on them.
    absolute = None if estimate.facts.get("signed") else cells.absolute
    return interval_error(estimate.influence, cells.weights(estimate), absolute)


def _t_bounds(cells: Blocks[Any], estimate: Estimate, confidence: float) -> Bounds:
    assert estimate.influence is not None
    return t_interval(estimate.value, *_error(cells, estimate), confidence, scale=_size(estimate))


def _root_bounds(cells: Blocks[Any], estimate: Estimate, confidence: float) -> Bounds:
    square = estimate.facts["square"]
    low, high = log_t_interval(square.value, *_error(cells, square), confidence, scale=_size(square))
    return np.sqrt(low), np.sqrt(high)


def _logit_bounds(cells: Blocks[Any], estimate: Estimate, confidence: float) -> Bounds:
    return logit_t_interval(estimate.value, *_error(cells, estimate), confidence, scale=_size(estimate))


_Rule = Callable[[Blocks[Any], Estimate, float], Bounds]


def _over_time(bounds: _Rule, cells: Blocks[Any], estimate: Estimate) -> IntervalRule | NoInterval:
    if not cells.ordered:
        return _UNORDERED
    if cells.blocks < FEWEST:
        return NoInterval(f"fewer than {FEWEST} time steps: too few to estimate how errors are correlated in time")
    if not enough(cells.weights(estimate)).any():
        return NoInterval(
            f"the cells are in fewer than {FEWEST} time blocks, or nearly all in a few of them: too few to estimate "
            "how errors are correlated in time"
        )
    return IntervalRule("cosine-t", "time blocks", bounds)


def serial(cells: Blocks[Any], estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t with the long-run variance of the slowest cosines of the time blocks (Lazarus et al. 2018)."""
    return _over_time(_t_bounds, cells, estimate)


def serial_root(cells: Blocks[Any], estimate: Estimate) -> IntervalRule | NoInterval:
    """The root of the interval of the mean square: Student's t on the log scale, with the long-run variance of the
    slowest cosines of the time blocks."""
    return _over_time(_root_bounds, cells, estimate)


def serial_share(cells: Blocks[Any], estimate: Estimate) -> IntervalRule | NoInterval:
    """Student's t on the logit scale, with the long-run variance of the slowest cosines of the time blocks."""
    return _over_time(_logit_bounds, cells, estimate)


BIASED = NoInterval(
    "a distance from calibration is biased upwards at any number of cells; compare it with a perfect forecaster's"
)

# ---------------------------------------------------------------------- chance


def _known(cells: Cells, levels: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Computed from the sums of the truth, if they were counted."""
    return levels() if "size" in cells.layout.kernel_parts else {}


def zero(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The forecast that is always 0."""
    return _known(cells, lambda: {"zero forecast": float(cells.total("abs_y")[0]) / float(cells.size()[0])})


def of_zero(level: float) -> Any:
    def chance(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
        return {"zero forecast": level}

    chance.__doc__ = f"The forecast that is always 0, which scores {level:g} for any truth."
    return chance


def spread_of_truth(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The forecast that is always 0, and the forecast that is always the mean of the truth (known only afterwards)."""

    def levels() -> dict[str, float]:
        zero, mean = (
            sqrt(float(square[0]) / float(cells.size()[0])) for square in (cells.total("y2"), cells.variation[1])
        )
        return {"zero forecast": zero, "mean of the truth": Baseline(mean)}

    return _known(cells, levels)


def minus_mean(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The forecast that is always 0: minus the mean of the truth."""
    return _known(cells, lambda: {"zero forecast": -float(cells.total("y")[0]) / float(cells.size()[0])})


def mean_of_truth(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """0, the score of the mean of the truth."""
    return {"mean of the truth": Baseline(0.0)}


def naive(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """1, the score of the naive forecast in the history."""
    return {"naive forecast in the history": Baseline(1.0)}


def climate(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """One Gaussian for all cells, with the mean and variance of the truth (known only afterwards)."""

    def level() -> dict[str, float]:
        variance = float(cells.variation[1][0]) / float(cells.size()[0])
        score = 0.5 * log(2 * pi * variance) + 0.5 if variance > 0 else -inf
        return {"one Gaussian with the truth's moments": Baseline(score)}

    return _known(cells, level)


def perfect_level(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The level, which is the score of a perfect forecaster."""
    return {"perfect forecaster": Ideal(params["level"] / 100)}


def zero_interval(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The interval from 0 to 0."""
    beyond = 200 / (100 - params["level"])
    return _known(cells, lambda: {"zero forecast": beyond * float(cells.total("abs_y")[0]) / float(cells.size()[0])})


def zero_quantiles(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The forecast whose quantiles are all 0."""

    def level() -> dict[str, float]:
        size, total = float(cells.total("abs_y")[0]), float(cells.total("y")[0])
        share = float(np.mean(cells.layout.levels))
        loss = share * (size + total) / 2 + (1 - share) * (size - total) / 2
        return {"zero forecast": max(loss, 0.0) / float(cells.size()[0])}

    return _known(cells, level)


def zero_quantile(function: MetricFunction, cells: Cells, params: Mapping[str, Any]) -> dict[str, float]:
    """The forecast whose quantile is always 0."""

    def level() -> dict[str, float]:
        size, total, share = float(cells.total("abs_y")[0]), float(cells.total("y")[0]), params["quantile"] / 100
        loss = share * (size + total) / 2 + (1 - share) * (size - total) / 2
        return {"zero forecast": max(loss, 0.0) / float(cells.size()[0])}

    return _known(cells, level)


def shuffled(name: str, over: str = "n") -> Any:
    def chance(function: MetricFunction, cells: Vectors, params: Mapping[str, Any]) -> dict[str, float]:
        count = int(cells.count(over)[0])
        return {"members shuffled": Baseline(float(cells.total(f"{name}_shuffled")[0]) / count)} if count else {}

    chance.__doc__ = (
        "The same forecast after the members of each component were rotated by a pseudo-random offset: as good cell by "
        "cell, without dependence between the components."
    )
    return chance


def no_gain(function: MetricFunction, cells: Vectors, params: Mapping[str, Any]) -> dict[str, float]:
    """0, the score of a forecast without dependence. An interval above 0 is evidence that dependence was learnt."""
    return {"members shuffled": Baseline(0.0)}


_OVER_TIME = (
    "A perfect forecaster whose truths depend on each other, in time and between nodes, as the observed ones do: mean "
    "and 95th percentile of 2,000 draws. Without an order in time, or with too few time blocks: the mean of a perfect "
    "forecaster with independent cells, in closed form (binomial)."
)


def _percentile(drawn: Floats) -> dict[str, float]:
    return {
        "perfect forecaster, 95th percentile": Ideal(np.quantile(drawn, 0.95)),
        "perfect forecaster": Ideal(drawn.mean()),
    }


def perfect_shares(weights: Callable[[Floats], Floats], score: Callable[[Reliability], Floats]) -> Any:
    def chance(function: MetricFunction, reliability: Reliability, params: Mapping[str, Any]) -> dict[str, float]:
        if reliability.perfect is not None:
            return _percentile(score(reliability.perfect))
        mean = mean_deviation(int(reliability.n[0]), reliability.p)
        return {"perfect forecaster, independent cells": Ideal((weights(reliability.p) * mean).sum())}

    chance.__doc__ = _OVER_TIME
    return chance


def equal(p: Floats) -> Floats:
    """The same weight for each probability."""
    return np.full(len(p), 1 / len(p))


def nearest(p: Floats) -> Floats:
    """The share of the unit interval that is nearest to each probability."""
    return np.diff(np.concatenate(([0.0], (p[1:] + p[:-1]) / 2, [1.0])))


def mean_deviation(n: int, p: Floats) -> Floats:
    """The mean absolute deviation of a share of n independent items from its probability (De Moivre)."""
    from scipy.special import gammaln, xlog1py, xlogy

    k = np.floor(n * p) + 1
    terms = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k + 1, -p)
    return np.asarray(2 / n * k * np.exp(terms))


def null(which: int) -> Any:
    def chance(function: MetricFunction, spread: Spread, params: Mapping[str, Any]) -> dict[str, float]:
        found = _percentile(spread.null[which])
        if not spread.dependent:
            found = {f"{name}, independent cells": level for name, level in found.items()}
        return found | {"perfect forecaster, independent cells": Ideal(spread.floor[which])}

    chance.__doc__ = (
        "A perfect Gaussian forecaster with the same standard deviations, whose errors depend on each other, in time "
        "and between nodes, as the observed ones do: mean and 95th percentile of 2,000 draws; and the mean with "
        "independent cells in closed form. Without an order in time, or with too few time blocks, the percentile is "
        "that of independent cells."
    )
    return chance


def perfect_intervals(
    function: MetricFunction, reliability: Reliability, params: Mapping[str, Any]
) -> dict[str, float]:
    found = reliability.centred
    if found.perfect is not None:
        return _percentile(found.perfect.mean_distance())
    return {"perfect forecaster, independent cells": Ideal(mean_deviation(int(found.n[0]), found.p).mean())}


perfect_intervals.__doc__ = _OVER_TIME
