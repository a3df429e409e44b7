"""Estimates of this family: a value per part of the sample, with the error that its influence has.

A statistic is a function of one part that returns its value and its influence: what each item adds to the error, so
that the error is the mean of the influence over items. From it follow standard error and degrees of freedom, over items
or clusters, and from these the interval of the table in `stats.intervals`, by the range of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphgauge.core.metric import Bounds, Estimate, IntervalFunction
from graphgauge.core.types import AnyArray, Floats, Mask
from graphgauge.stats import errors, intervals

if TYPE_CHECKING:
    from graphgauge.prediction.sample import Sample


class Statistic(NamedTuple):
    """A value, the number of items that it is of, its standard error and the degrees of freedom of that."""

    value: float
    n: int
    error: float
    df: float


NOTHING = Statistic(np.nan, 0, np.nan, 0.0)


def estimate(sample: Any, statistic: Callable[[Any], Statistic], reason: str = "no items", **facts: Any) -> Estimate:
    """The statistic of each part."""
    value, n, error, df = np.array([statistic(part) for part in sample.parts], np.float64).T
    error, df = np.where(n < 2, np.nan, error), np.where(n < 2, 0.0, df)
    return Estimate(value, n.astype(np.int64), reason=reason, facts={"error": error, "df": df, **facts})


def of_items(part: Sample, value: float, influence: Floats, n: int | None = None) -> Statistic:
    """A value with what each item adds to its error, of all items or of `n` of them."""
    if np.isnan(value):
        return NOTHING
    return Statistic(value, part.n if n is None else n, *error_of(influence, *part.units))


def mean_of(part: Sample, values: Floats) -> Statistic:
    """The weighted mean of a number per item."""
    if not part.amounts.any():
        return NOTHING
    value = float(values.sum() / part.n if part.weights is None else part.weights @ values / part.weights.sum())
    with np.errstate(invalid="ignore"):  # of infinite values
        return of_items(part, value, values - value)


def over_tasks(part: Sample, measured: Iterable[tuple[Mask, float, Floats]]) -> Statistic:
    """The mean over the tasks that have a value, of the items that have a truth, the value and their influence."""
    tasks = [each for each in measured if not np.isnan(each[1])]
    influence, rows, amounts = np.zeros(part.n), np.zeros(part.n, bool), part.amounts
    for known, _, own in tasks:
        influence[known] += own * (amounts.sum() / amounts[known].sum() / len(tasks))
        rows |= known
    value = float(np.mean([value for _, value, _ in tasks])) if tasks else np.nan
    return of_items(part, value, influence, int(rows.sum()))


def error_of(influence: Floats, count: Floats | None, cluster: AnyArray | None) -> tuple[float, float]:
    """Standard error and degrees of freedom of a mean of influences: of cells with counts, or of items with weights.

    Only items come in clusters.
    """
    error, df = errors.standard_error(influence, count, cluster=cluster)
    amount = np.ones(len(influence)) if count is None else count
    if cluster is not None:
        # Weights, whose unit means nothing: each item is one, of its own size.
        influence, amount = influence * amount, (amount > 0).astype(np.float64)
    # Degrees of freedom depend on the kurtosis alone; powers of large or small numbers leave the range of floats.
    squares = np.square(influence / (np.abs(influence).max(initial=0.0) or 1.0))
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
    if second == 0 or units < 4:
        return units - 1
    kurtosis = units * (fourth / second) / second
    return min(units - 1, max(1.0, 2 * units / max(kurtosis - (units - 3) / (units - 1), 2 * units / (units - 1))))


# ---- intervals by the range of the value


def _by(formula: Callable[..., Bounds]) -> IntervalFunction:
    def interval(sample: Sample, estimate: Estimate, confidence: float) -> Bounds:
        over = "items" if sample.cluster is None else "clusters"
        facts = estimate.facts
        if sample.independent and "successes" in facts:
            return intervals.of_share(facts["successes"], estimate.n, confidence, over=over)
        return formula(estimate.value, facts["error"], facts["df"], confidence, over=over)

    return interval


def _of_correlation(value: Floats, error: Floats, df: Floats, confidence: float, *, over: str) -> Bounds:
    """Student's t on Fisher's scale, artanh r."""
    inside = np.clip(value, -1 + 1e-15, 1 - 1e-15)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = intervals.t_interval(np.arctanh(inside), error / (1 - inside**2), df, confidence)
    return Bounds(np.tanh(low), np.tanh(high), "fisher-t", over)


# Of a share or an area, Wilson's for a plain share; of what is not negative; of any number; of a correlation.
as_share, as_positive, as_number = _by(intervals.of_area), _by(intervals.of_positive), _by(intervals.of_mean)
as_correlation = _by(_of_correlation)
