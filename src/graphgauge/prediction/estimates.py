"""Estimates of this family: a value per part of the sample, with the error that its influence has.

A statistic is a function of one part that returns its value and its influence: what each item adds to the error, so
that the error is the mean of the influence over items. From it follow standard error and degrees of freedom, over items
or clusters, and from these the interval of the table in `stats.intervals`, by the range of the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphgauge.core.metric import Bounds, Estimate
from graphgauge.core.types import AnyArray, Floats
from graphgauge.stats import errors, intervals

if TYPE_CHECKING:
    from graphgauge.prediction.sample import Sample


class Statistic(NamedTuple):
    """A value, what each item adds to its error, and how many of the equal items each row stands for.

    Rows are items, with their weights, unless `cells` says that they are cells of a table of independent items. `n` is
    the number of items that the value is of. `error` is the standard error with its degrees of freedom, if it is known.
    """

    value: float
    influence: Floats
    n: int
    cells: Floats | None = None
    error: tuple[float, float] | None = None


NOTHING = Statistic(np.nan, np.empty(0), 0)


def estimate(sample: Any, statistic: Callable[[Any], Statistic], reason: str = "no items", **facts: Any) -> Estimate:
    """The statistic of each part, with error and degrees of freedom."""
    rows = []
    for part in sample.parts():
        each = statistic(part)
        rows.append((each.value, each.n, *_error(part, each)))
    value, n, error, df = (np.array(column) for column in zip(*rows, strict=True))
    spread = {"error": error.astype(np.float64), "df": df.astype(np.float64), **facts}
    return Estimate(value.astype(np.float64), n.astype(np.int64), reason=reason, facts=spread)


def _error(part: Sample, each: Statistic) -> tuple[float, float]:
    if each.n < 2 or np.isnan(each.value):
        return np.nan, 0.0
    if each.error is not None:
        return each.error
    if each.cells is not None:
        return error_of(each.influence, each.cells, part.cluster)
    return error_of(each.influence, *part.units)


def error_of(influence: Floats, count: Floats | None, cluster: AnyArray | None) -> tuple[float, float]:
    """Standard error and degrees of freedom of a mean of influences."""
    error, df = errors.standard_error(influence, count, cluster=cluster)
    amount = np.ones(len(influence)) if count is None else count
    squares = influence * influence
    second, fourth = float(amount @ squares), float(amount @ np.square(squares, out=squares))
    return float(error[0]), min(float(df[0]), _effective(float(amount.sum()), second, fourth))


def error_from_powers(units: float, second: float, fourth: float) -> tuple[float, float]:
    """The same for so many independent items, from the sums of the second and fourth powers of their influences."""
    if units < 2:
        return np.nan, 0.0
    return float(np.sqrt(second / (units * (units - 1)))), _effective(units, second, fourth)


def _effective(units: float, second: float, fourth: float) -> float:
    """Degrees of freedom of a variance estimated from units of this kurtosis: their number less one if normal.

    A few items that carry most of the error have few of them.
    """
    square = second / units
    if square == 0 or units < 4:
        return units - 1
    kurtosis = fourth / units / square**2
    return min(units - 1, max(1.0, 2 * units / max(kurtosis - (units - 3) / (units - 1), 2 * units / (units - 1))))


def as_share(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """Of a share or an area: on the logit scale; Wilson's for a plain share of independent items."""
    if sample.independent and "successes" in estimate.facts:
        return intervals.of_share(estimate.facts["successes"], estimate.n, confidence, over=_units(sample))
    facts = estimate.facts
    return intervals.of_area(estimate.value, facts["error"], facts["df"], confidence, over=_units(sample))


def as_positive(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """Of a number that is not negative: on the log scale."""
    facts = estimate.facts
    return intervals.of_positive(estimate.value, facts["error"], facts["df"], confidence, over=_units(sample))


def as_number(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """Of any number: Student's t."""
    facts = estimate.facts
    return intervals.of_mean(estimate.value, facts["error"], facts["df"], confidence, over=_units(sample))


def as_correlation(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
    """Of a correlation: Student's t on Fisher's scale, artanh r."""
    facts = estimate.facts
    inside = np.clip(estimate.value, -1 + 1e-15, 1 - 1e-15)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = facts["error"] / (1 - inside**2)
    low, high = intervals.t_interval(np.arctanh(inside), error, facts["df"], confidence)
    return Bounds(np.tanh(low), np.tanh(high), "fisher-t", _units(sample))


def _units(sample: Sample) -> str:
    return "items" if sample.cluster is None else "clusters"
