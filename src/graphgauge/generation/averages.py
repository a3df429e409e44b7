"""Samples in one group per condition, and how values of conditions become one: what all sections share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from graphgauge.core.grid import Grid
from graphgauge.core.metric import Estimate, whole
from graphgauge.core.registry import Chosen
from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.stats.errors import is_rounding, standard_error

FAMILY = "generation"
# Samples of a condition that are needed to compare them with each other, and with those of the other side.
FEWEST_VALID, FEWEST_COMPARED = 2, 10
NO_ORDER = "conditions have no order"

# Each condition has the same weight (macro), or each sample does (micro); values are summed (total), or all samples are
# pooled (whole). None leaves one value per condition.
Average = Literal["macro", "micro", "total", "whole"]
Value = TypeVar("Value")

# ---- samples by condition


class Grouped:
    """Samples in one group per condition: what several metrics are computed on, made once."""

    # What options changed the numbers.
    conventions: Mapping[str, str] = {}

    def __init__(self, labels: tuple[str, ...]) -> None:
        self.labels, self.groups = labels, len(labels)

    def lack(self, code: int) -> str | None:
        """Why a condition has no value; None if it has one."""
        return None

    def tables(self, chosen: Sequence[Chosen]) -> dict[str, Grid]:
        """Breakdowns other than by condition, for the chosen metrics."""
        return {}


def once(method: Callable[..., Value]) -> Callable[..., Value]:
    """A method whose value is kept on its object, for each choice of arguments."""

    @wraps(method)
    def kept(self: Any, *args: Any) -> Value:
        values: dict[Any, Value] = vars(self).setdefault("_once", {})
        if (method, *args) not in values:
            values[method, *args] = method(self, *args)
        return values[method, *args]

    return kept


Data = TypeVar("Data", bound=Grouped, covariant=True)


@dataclass(frozen=True)
class View(Generic[Data]):
    """Samples as a metric sees them: in its average over conditions, or with one value for each."""

    data: Data
    by_condition: bool = False
    average: Average | None = None

    def seen(self, average: Average) -> View[Data]:
        """As a metric with this average sees it."""
        return replace(self, average=None if self.by_condition else average)

    def nothing(self, reason: str) -> Estimate:
        """No condition has a value."""
        return self.estimate(np.full(self.data.groups, np.nan), np.zeros(self.data.groups), reason)

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
        weights = sizes.astype(float) if self.average in ("micro", "whole") else np.ones(len(known))
        if self.average != "total" and weights.sum():
            weights = weights / weights.sum()
        # Not by BLAS, whose last digits depend on where arrays happen to be in memory.
        value = float((weights * known).sum()) if len(known) else np.nan
        if error is not None and df is not None:
            facts["error"], facts["df"] = _combined(weights, error[defined], df[defined])
        units = len(known) * sizes.min(initial=np.iinfo(np.int64).max) if len(known) else 0
        facts["n"] = np.array([units])
        estimate = Estimate(np.array([value]), np.array([sizes.sum()]), reason=reason, facts=facts)
        if not defined.any() or defined.all():
            return estimate
        absent = [label for label, has in zip(self.data.labels, defined, strict=True) if not has]
        named = ", ".join(absent[:8]) + (" …" if len(absent) > 8 else "")
        return warned(estimate, f"{len(absent)} of {len(values)} conditions have no value and are left out: {named}")

    def mean(self, items: AnyArray, codes: Ints, reason: str, **facts: Any) -> Estimate:
        """A mean over samples within each condition, then averaged; micro is the mean over all samples."""
        n = np.bincount(codes, minlength=self.data.groups)
        items = np.asarray(items, dtype=float)
        with np.errstate(invalid="ignore"):
            values = np.bincount(codes, items, minlength=self.data.groups) / n
        if self.average in ("micro", "whole"):
            overall = items.sum() / len(items) if len(items) else np.nan
            error, df = standard_error(items - overall, np.ones(len(items)))
            size = np.array([len(items)])
            facts |= {"error": error, "df": df, "n": size}
            return Estimate(np.array([overall]), size, reason=reason, facts=facts)
        error, df = standard_error(items - values[codes], np.ones(len(items)), group=codes, groups=self.data.groups)
        return self.estimate(values, n, reason, error=error, df=df, **facts)

    def share(self, items: AnyArray, codes: Ints, reason: str) -> Estimate:
        """A share of samples, with Wilson's interval if each sample has the same weight."""
        estimate = self.mean(items, codes, reason, range=(0.0, 1.0))
        if self.average == "macro":
            return estimate
        with np.errstate(invalid="ignore"):
            successes = np.rint(estimate.value * estimate.n)
        return replace(estimate, facts={**estimate.facts, "successes": successes})

    def spread(self, items: AnyArray, codes: Ints, reason: str) -> Estimate:
        """The standard deviation (ddof 0) of all samples together, or of those of each condition."""

        def of(part: AnyArray) -> float:
            return 0.0 if is_rounding(part.std(), np.max(np.abs(part), initial=0.0)) else float(part.std())

        if self.average is not None:
            return whole(of(items) if items.size else np.nan, len(items), reason=reason)
        parts = [items[rows] for rows in rows_by_code(codes, self.data.groups)]
        values = floats(of(part) if part.size else np.nan for part in parts)
        return self.estimate(values, np.array([len(part) for part in parts]), reason)

    def combined(self, values: AnyArray, n: AnyArray) -> float:
        """A reference's values of conditions, averaged like the sample; NaN if no condition has one."""
        own = self if self.average is not None else replace(self, average="macro")
        return float(own.estimate(values, n, "").value[0])

    def averaged(self, draws: AnyArray, n: AnyArray) -> Floats:
        """Draws (…, conditions) averaged over the conditions that have a value; NaN if none has."""
        weights = np.where(np.isnan(draws), 0, n if self.average == "micro" else 1)
        with np.errstate(invalid="ignore"):
            return np.asarray((np.nan_to_num(draws) * weights).sum(-1) / weights.sum(-1))


def warned(estimate: Estimate, *warnings: str) -> Estimate:
    """The same estimate with further warnings."""
    return replace(estimate, warnings=(*estimate.warnings, *warnings))


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
