"""Levels to compare with: forecasters without knowledge, and perfect ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, log, pi, sqrt
from typing import Any

import numpy as np

from graphgauge.core.result import Kind, Reference
from graphgauge.core.types import Floats
from graphgauge.forecasting.calibration import Reliability, Spread, mean_deviation, perfect
from graphgauge.forecasting.joint import Vectors
from graphgauge.forecasting.sums import Cells

Levels = Iterable[Reference]
_ZERO = "zero forecast"
# It tells one history from another.
_ZERO_SCALED = "zero forecast over the naive error"
_SHUFFLED = "members shuffled"


def _per_cell(cells: Cells, total: Floats | float) -> float:
    """A sum over all cells, per cell."""
    size = float(cells.size[0])
    return float(np.ravel(total)[0]) / size if size else float("nan")


def zero(cells: Cells) -> Levels:
    """The forecast that is always 0: the mean absolute truth."""
    return [Reference(_ZERO, _per_cell(cells, cells.total("abs_y")))]


def always(score: float, name: str, of: str, kind: Kind = "baseline") -> Callable[[Any], Levels]:
    """A forecaster with the same score for any truth."""

    def chance(sample: Any) -> Levels:
        return [Reference(name, score, kind)]

    chance.__doc__ = f"{score:g}, the score of {of}."
    return chance


def zero_scores(score: float) -> Callable[[Any], Levels]:
    return always(score, _ZERO, "the forecast that is always 0", "chance")


mean_of_truth = always(0.0, "mean of the truth", "the mean of the truth")
_naive = always(1.0, "naive forecast in the history", "the naive forecast in the history")
no_gain = always(0.0, _SHUFFLED, "members without dependence between nodes")


def squares(cells: Cells) -> Levels:
    """The forecast that is always 0, and the one that is always the truth's mean, which is known only afterwards."""
    mean, zero = (_per_cell(cells, each) for each in (cells.variation[1], cells.total("y2")))
    return [Reference("mean of the truth", mean, "baseline"), Reference(_ZERO, zero)]


def roots(cells: Cells) -> Levels:
    """The forecast that is always 0, and the one that is always the truth's mean, which is known only afterwards."""
    return [Reference(each.name, sqrt(each.value), each.kind) for each in squares(cells)]


def minus_mean(cells: Cells) -> Levels:
    """The forecast that is always 0: minus the mean of the truth."""
    return [Reference(_ZERO, -_per_cell(cells, cells.total("y")))]


def climate(cells: Cells) -> Levels:
    """One Gaussian for all cells, with the mean and variance of the truth, which are known only afterwards."""
    variance = _per_cell(cells, cells.variation[1])
    score = 0.5 * log(2 * pi * variance) + 0.5 if variance > 0 else -inf
    return [Reference("one Gaussian with the truth's moments", score, "baseline")]


def zero_interval(cells: Cells, *, level: float) -> Levels:
    """The interval from 0 to 0."""
    return [Reference(_ZERO, 200 / (100 - level) * _per_cell(cells, cells.total("abs_y")))]


def zero_quantiles(cells: Cells, *, quantile: float | None = None) -> Levels:
    """The forecast whose quantiles are all 0."""
    share = float(np.mean(cells.design.levels)) if quantile is None else quantile / 100
    size, total = float(cells.total("abs_y")[0]), float(cells.total("y")[0])
    loss = share * (size + total) / 2 + (1 - share) * (size - total) / 2
    return [Reference(_ZERO, _per_cell(cells, max(loss, 0.0)))]


def scaled(power: float = 1.0) -> Callable[[Cells], Levels]:
    def chance(cells: Cells) -> Levels:
        zero = _per_scaled(cells, "zero_abs" if power == 1 else "zero_square")
        return [*_naive(cells), Reference(_ZERO_SCALED, zero ** (1 / power))]

    chance.__doc__ = "The naive forecast in the history, and the forecast that is always 0."
    return chance


def zero_scaled_interval(cells: Cells, *, level: float) -> Levels:
    """The interval from 0 to 0, over the naive errors of the history."""
    return [Reference(_ZERO_SCALED, 200 / (100 - level) * _per_scaled(cells, "zero_abs"))]


def _per_scaled(cells: Cells, name: str) -> float:
    return float(cells.mean(name, "scaled_n").value[0])


def shuffled(name: str) -> Callable[[Vectors], Levels]:
    def chance(vectors: Vectors) -> Levels:
        count = int(vectors.count(f"{name}_n")[0])
        score = float(vectors.total(f"{name}_shuffled")[0]) / count if count else float("nan")
        return [Reference(_SHUFFLED, score, "baseline")]

    chance.__doc__ = "The same members without dependence between nodes: those of each are rotated by an own offset."
    return chance


def own_level(cells: Any, *, level: float) -> Levels:
    """The level itself, which a perfect forecaster covers."""
    return [Reference("perfect forecaster", level / 100, "ideal")]


_PERFECT = (
    "Perfect forecasters whose truths depend on each other in time as the observed ones do: the mean of 2,000, and the "
    "band that contains 95 % of them. Without an order in time, the mean with independent cells in closed form."
)


def perfect_shares(
    score: Callable[[Reliability], Floats], weights: Callable[[Floats], Floats], *, central: bool = False
) -> Callable[[Reliability], Levels]:
    def chance(reliability: Reliability) -> Levels:
        shares = reliability.centred if central else reliability
        if shares.drawn is not None:
            return [perfect(score(shares.drawn))]
        mean = (weights(shares.p) * mean_deviation(int(shares.n[0]), shares.p)).sum()
        return [Reference("perfect forecaster, independent cells", float(mean), "ideal")]

    chance.__doc__ = _PERFECT
    return chance


def equal(p: Floats) -> Floats:
    """The same weight for each probability."""
    return np.full(len(p), 1 / len(p))


def nearest(p: Floats) -> Floats:
    """The share of the unit interval that is nearest to each probability."""
    return np.diff(np.concatenate(([0.0], (p[1:] + p[:-1]) / 2, [1.0])))


def perfect_spread(which: int) -> Callable[[Spread], Levels]:
    def chance(spread: Spread) -> Levels:
        return [perfect(spread.drawn[which], independent=spread.together is None)]

    chance.__doc__ = (
        "Perfect Gaussian forecasters of this spread, whose errors depend on each other alike: mean and 95 % band of "
        "2,000."
    )
    return chance
