"""Samples in one group per condition, and how values of conditions become one: what all sections share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Literal, Self

import numpy as np

from graphgauge import _core
from graphgauge.core.grid import Grid
from graphgauge.core.metric import Bounds, Estimate, Exempt, Metric, NoChance, NoInterval
from graphgauge.core.registry import Chosen, metric
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.stats.errors import is_rounding, standard_error
from graphgauge.stats.intervals import of_mean, of_share, t_interval, tail

FAMILY = "generation"
# Samples of a condition that are needed to compare them with each other, and with those of the other side.
FEWEST_VALID, FEWEST_COMPARED = 2, 10
NO_ORDER = "conditions have no order"

# Each condition has the same weight (macro), or each sample does (micro); values are summed (total), or all samples are
# pooled (whole). None leaves one value per condition.
Average = Literal["macro", "micro", "total", "whole"]
OTHER: dict[str, Average] = {"macro": "micro", "micro": "macro"}

LAWS: dict[str, bool | Exempt] = {
    "permutation": True,
    "merge": Exempt("needs all samples at once"),
    "monotone": Exempt("samples are judged together: no change of a single sample is certain to improve the value"),
    "symmetry": Exempt("real and generated samples are not interchangeable"),
}
COUNT_LAWS = LAWS | {"monotone": Exempt("a count is neither good nor bad")}

# ---- samples by condition


@dataclass(frozen=True)
class ConditionSample:
    """Groups of samples. Metrics see it in their own average, one value per condition, or in the other average."""

    labels: tuple[str, ...]
    view: Literal["own", "condition", "other"] = field(default="own", kw_only=True)
    average: Average | None = field(default=None, kw_only=True)

    def seen(self, average: Average) -> Self:
        """As a metric with this average sees it."""
        chosen = {"own": average, "condition": None, "other": OTHER.get(average, average)}[self.view]
        return replace(self, average=chosen)

    @property
    def groups(self) -> int:
        return len(self.labels)

    def left_out(self) -> Mapping[str, str]:
        """Conditions without a value, and the reasons."""
        return {}

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """Breakdowns other than by condition, for the chosen metrics."""
        return {}

    @property
    def conventions(self) -> dict[str, str]:
        """What options changed the numbers."""
        return {}

    def nothing(self, reason: str) -> Estimate:
        """No condition has a value."""
        return self.estimate(np.full(self.groups, np.nan), np.zeros(self.groups), reason)

    def estimate(
        self,
        values: AnyArray,
        n: AnyArray,
        reason: str,
        *,
        error: AnyArray | None = None,
        df: AnyArray | None = None,
        **facts: Any,
    ) -> Estimate:
        """Values of conditions, combined by `average`; `error` and `df` are those of each condition's value."""
        values = np.asarray(values, dtype=float)
        defined = ~np.isnan(values)
        n = np.where(defined, n, 0).astype(np.int64)
        facts = {"error": error, "df": df, **facts}
        if self.average is None:
            return Estimate(values, n, reason=reason, facts={"n": n, **facts})
        known, sizes = values[defined], n[defined]
        if self.average == "total":
            value, weights = known.sum() if len(known) else np.nan, np.ones(len(known))
        else:
            weights = np.ones(len(known)) if self.average == "macro" else sizes.astype(float)
            weights = weights / weights.sum() if weights.sum() else weights
            # Not by BLAS, whose last digits depend on where arrays happen to be in memory.
            value = float((weights * known).sum()) if len(known) else np.nan
        if error is not None and df is not None:
            facts["error"], facts["df"] = _combined(weights, error[defined], df[defined])
        units = len(known) * sizes.min(initial=np.iinfo(np.int64).max) if len(known) else 0
        facts["n"] = np.array([units])
        estimate = Estimate(np.array([value]), np.array([sizes.sum()]), reason=reason, facts=facts)
        if defined.any() and not defined.all():
            absent = [label for label, has in zip(self.labels, defined, strict=True) if not has]
            named = ", ".join(absent[:8]) + (" …" if len(absent) > 8 else "")
            return warned(
                estimate, f"{len(absent)} of {len(values)} conditions have no value and are left out: {named}"
            )
        return estimate

    def mean(self, items: AnyArray, codes: Ints, reason: str, **facts: Any) -> Estimate:
        """A mean over samples within each condition, then averaged; micro is the mean over all samples."""
        n = np.bincount(codes, minlength=self.groups)
        items = np.asarray(items, dtype=float)
        with np.errstate(invalid="ignore"):
            values = np.bincount(codes, items, minlength=self.groups) / n
        if self.average in ("micro", "whole"):
            whole = items.sum() / len(items) if len(items) else np.nan
            error, df = standard_error(items - whole, np.ones(len(items)))
            size = np.array([len(items)])
            facts |= {"error": error, "df": df, "n": size}
            return Estimate(np.array([whole]), size, reason=reason, facts=facts)
        error, df = standard_error(items - values[codes], np.ones(len(items)), group=codes, groups=self.groups)
        return self.estimate(values, n, reason, error=error, df=df, **facts)

    def share(self, items: AnyArray, codes: Ints, reason: str) -> Estimate:
        """A share of samples, with Wilson's interval if each sample has the same weight."""
        estimate = self.mean(items, codes, reason, range=(0.0, 1.0))
        if self.average == "macro":
            return estimate
        with np.errstate(invalid="ignore"):
            successes = np.rint(estimate.value * estimate.n)
        return replace(estimate, facts={**estimate.facts, "successes": successes})

    def count(self, counts: AnyArray, reason: str) -> Estimate:
        """The number of samples in each condition; without any, there is nothing to measure."""
        return self.estimate(np.where(counts.sum() > 0, counts, np.nan).astype(float), counts, reason)

    def combined(self, values: AnyArray, n: AnyArray) -> float:
        """A reference's values of conditions, averaged like the sample; NaN if no condition has one."""
        own = self if self.average is not None else replace(self, average="macro")
        return float(own.estimate(values, n, "").value[0])


def warned(estimate: Estimate, *warnings: str) -> Estimate:
    """The same estimate with further warnings."""
    return replace(estimate, warnings=(*estimate.warnings, *warnings))


def whole_of(value: float, n: int, reason: str, **facts: Any) -> Estimate:
    """The estimate of all conditions together."""
    return Estimate(np.array([value]), np.array([n]), reason=reason, facts=facts)


def _combined(weights: Floats, error: AnyArray, df: AnyArray) -> tuple[Floats, Floats]:
    """Standard error of a weighted mean of independent values, and its degrees of freedom (Welch–Satterthwaite)."""
    spread = weights * error
    largest = spread.max(initial=0.0)
    if not len(spread) or np.isnan(largest):
        return np.array([np.nan]), np.array([0.0])
    if largest == 0:
        return np.array([0.0]), np.array([float(df.sum())])
    parts = (spread / largest) ** 2  # relative errors, whose squares stay in range
    total = parts.sum()
    return np.array([largest * np.sqrt(total)]), np.array([total**2 / (parts**2 / np.maximum(df, 1)).sum()])


# ---- rows


def rows_by_code(codes: Ints, groups: int) -> list[Ints]:
    """The rows of each condition."""
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=groups))[:-1]) if groups else []


def values_of(measured: Iterable[Any], name: str) -> Floats:
    """One attribute of each condition's measurement; NaN where there is none."""
    return floats(np.nan if each is None else getattr(each, name) for each in measured)


def floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=float)


def few(count: int, fewest: int, noun: str, of: int | None = None) -> str:
    among = "" if of is None else f" among {of}"
    return f"{count} {noun}{'' if count == 1 else 's'}{among}; at least {fewest} are needed"


def flat(bits: Any) -> Any:
    """Samples of bits as rows."""
    return np.ascontiguousarray(bits.reshape(len(bits), int(np.prod(bits.shape[1:]))))


def without_rounding(spread: Any, values: AnyArray) -> float:
    """The spread of these values, or 0 if it is only rounding error."""
    return 0.0 if is_rounding(spread, np.max(np.abs(values), initial=0.0)) else float(spread)


def ranks(values: AnyArray) -> Floats:
    """Ranks from 1, with mean ranks for ties."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[place])


def canonical_order(*columns: AnyArray) -> Ints:
    """An order of rows by content, so that sums and draws do not depend on the input order."""
    parts = [_row_bytes(column) for column in columns]
    rows, width = len(parts[0]), sum(part.shape[1] for part in parts)
    if rows == 0 or width == 0:
        return np.arange(rows)
    joined = np.ascontiguousarray(np.concatenate(parts, axis=1)).view(np.dtype((np.void, width))).ravel()
    return np.argsort(joined, kind="stable").astype(np.int64)


def _row_bytes(column: AnyArray) -> AnyArray:
    """Rows as bytes that sort by code first, and in a fixed order within a code."""
    rows = column.reshape(len(column), int(np.prod(column.shape[1:])))
    if rows.dtype == bool:
        return np.packbits(rows, axis=1)
    big = np.ascontiguousarray(rows.astype(rows.dtype.newbyteorder(">")))
    return big.view(np.uint8).reshape(len(rows), rows.shape[1] * rows.itemsize)


# ---- declarations


def declared(key: str, *, average: Average, **properties: Any) -> Callable[[Callable[..., Estimate]], Metric]:
    """Declare a metric with its average over conditions: function, levels and interval see the sample in it."""

    def seen(call: Any) -> Any:
        if isinstance(call, NoChance | NoInterval):
            return call

        @wraps(call)
        def inner(sample: Any, *args: Any, **params: Any) -> Any:
            return call(sample.seen(average), *args, **params)

        return inner

    conventions = {"average": average, **properties.pop("conventions", {})}
    properties |= {name: seen(properties[name]) for name in ("chance", "interval")}
    return lambda function: metric(key, family=FAMILY, conventions=conventions, **properties)(seen(function))


# ---- intervals


def over_samples(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over samples, with Satterthwaite's degrees of freedom for a mean over conditions."""
    return _student(estimate, confidence, "satterthwaite-t" if sample.average == "macro" else "t")


def over_pairs(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t over samples, from each sample's mean distance to all others (the jackknife of a U-statistic)."""
    return _student(estimate, confidence, "jackknife-t")


def of_shares(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Wilson's interval over samples; for a mean over conditions Student's t."""
    if "successes" in estimate.facts:
        return of_share(estimate.facts["successes"], estimate.n, confidence, over="samples")
    return over_samples(sample, estimate, confidence)


def of_discrepancy(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t with the standard error of an MMD² in large samples; of a biased one, of its expectation."""
    bounds = _student(estimate, confidence, "asymptotic-t")
    return replace(bounds, low=np.maximum(bounds.low, estimate.facts.get("least", -np.inf)))


def of_recognition(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Student's t with DeLong's standard error of an area under the ROC curve."""
    return _student(estimate, confidence, "delong-t")


def of_draws(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds:
    """Percentiles of a bootstrap of the classifier's confusions and of its answers to generated samples."""
    outside = tail(confidence)
    with np.errstate(invalid="ignore"):
        low, high = np.quantile(estimate.facts["draws"], [outside, 1 - outside], axis=0)
    same = is_rounding(high - low, 1.0)
    return Bounds(np.where(same, np.nan, low), np.where(same, np.nan, high), "percentile bootstrap", "samples")


def of_correlation(sample: ConditionSample, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
    """Fisher's z over samples, with Fieller's variance for ranks; no interval if the order is perfect."""
    perfect = is_rounding(1 - np.abs(estimate.value), 1.0)
    if perfect.all():
        return NoInterval("the order is perfect, so the samples show no spread")
    n = np.asarray(estimate.n, dtype=float)
    inside = np.clip(estimate.value, -1 + 1e-15, 1 - 1e-15)
    with np.errstate(invalid="ignore", divide="ignore"):
        margin = _core.normal_quantile(tail(confidence)) * np.sqrt(1.06 / np.where(n > 3, n - 3, np.nan))
        margin = np.where(perfect, np.nan, margin)
    low, high = np.tanh(np.arctanh(inside) - margin), np.tanh(np.arctanh(inside) + margin)
    return Bounds(low, high, "fisher-z", "samples", "at least four")


def _student(estimate: Estimate, confidence: float, method: str) -> Bounds:
    facts = estimate.facts
    error, df = (np.asarray(facts[name], dtype=float) for name in ("error", "df"))
    possible = facts.get("range")
    if possible is None:
        return Bounds(*t_interval(estimate.value, error, df, confidence), method, "samples")
    bounds = of_mean(estimate.value, error, df, confidence, over="samples", possible=possible, units=facts["n"])
    return replace(bounds, method=method)
