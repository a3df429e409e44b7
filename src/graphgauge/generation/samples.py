"""The samples that generation metrics are computed on, in one group per condition, averaged or separate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Floats
from graphgauge.generation.inputs import Codes
from graphgauge.old.core.metric import Estimate
from graphgauge.old.stats.intervals import standard_error

Numbers = NDArray[Any]
Own = TypeVar("Own", bound="ConditionSample")


@dataclass(frozen=True)
class ConditionSample:
    """Groups of samples; `average` is how their values are combined, or None for one value per condition.

    Each condition has the same weight (`macro`), or each sample does (`micro`); values are summed (`total`), or all
    samples are pooled (`whole`).
    """

    labels: tuple[str, ...]
    average: str | None = None
    seed: int = 0
    threads: int | None = None

    def averaged(self: Own, average: str | None) -> Own:
        return replace(self, average=average)

    @property
    def groups(self) -> int:
        return len(self.labels)

    def left_out(self) -> Mapping[str, str]:
        """Conditions without a value, and the reasons."""
        return {}

    def nothing(self, reason: str) -> Estimate:
        """No condition has a value."""
        return self.estimate(np.full(self.groups, np.nan), np.zeros(self.groups), reason)

    def estimate(
        self,
        values: Numbers,
        n: Numbers,
        reason: str,
        *,
        error: Numbers | None = None,
        df: Numbers | None = None,
        **facts: Any,
    ) -> Estimate:
        """Values of conditions, combined by `average`; `error` and `df` are those of each condition's value."""
        values = np.asarray(values, dtype=float)
        defined = ~np.isnan(values)
        n = np.where(defined, n, 0).astype(np.int64)
        facts = {"error": error, "df": df, **facts}
        if self.average is None:
            return Estimate(values, n, reason=reason, facts={"n": n, **facts})
        found, sizes = values[defined], n[defined]
        if self.average == "total":
            value, weights = found.sum() if len(found) else np.nan, np.ones(len(found))
        else:
            weights = np.ones(len(found)) if self.average == "macro" else sizes.astype(float)
            weights = weights / weights.sum() if weights.sum() else weights
            # Not by BLAS, whose last digits depend on where arrays happen to be in memory.
            value = float((weights * found).sum()) if len(found) else np.nan
        if error is not None and df is not None:
            facts["error"], facts["df"] = _combined(weights, error[defined], df[defined])
        units = len(found) * sizes.min(initial=np.iinfo(np.int64).max) if len(found) else 0
        facts["n"] = np.array([units])
        estimate = Estimate(np.array([value]), np.array([sizes.sum()]), reason=reason, facts=facts)
        if defined.any() and not defined.all():
            absent = [label for label, known in zip(self.labels, defined, strict=True) if not known]
            named = ", ".join(absent[:8]) + (" …" if len(absent) > 8 else "")
            return estimate.warned(f"{len(absent)} of {len(values)} conditions have no value and are left out: {named}")
        return estimate

    def mean(self, items: Numbers, codes: Codes, reason: str, **facts: Any) -> Estimate:
        """A mean over samples within each condition, then averaged; micro is the mean over all samples."""
        n = np.bincount(codes, minlength=self.groups)
        items = np.asarray(items, dtype=float)
        with np.errstate(invalid="ignore"):
            values = np.bincount(codes, items, minlength=self.groups) / n
        if self.average in ("micro", "whole"):
            whole = items.sum() / len(items) if len(items) else np.nan
            error, df = standard_error(items - whole, np.ones(len(items)))
            size = np.array([len(items)])
            return Estimate(
                np.array([whole]), size, reason=reason, facts={"error": error, "df": df, "n": size, **facts}
            )
        error, df = standard_error(items - values[codes], np.ones(len(items)), group=codes, groups=self.groups)
        return self.estimate(values, n, reason, error=error, df=df, **facts)

    def share(self, items: Numbers, codes: Codes, reason: str) -> Estimate:
        """A share of samples, with Wilson intervals if each sample has the same weight."""
        estimate = self.mean(items, codes, reason, range=(0.0, 1.0))
        if self.average == "macro":
            return estimate
        with np.errstate(invalid="ignore"):
            successes = np.rint(estimate.value * estimate.n)
        return replace(estimate, facts={**estimate.facts, "successes": successes})


@dataclass(frozen=True)
class RealSample(ConditionSample):
    """Real samples with their conditions."""

    codes: Codes = field(kw_only=True)

    @property
    def counts(self) -> Codes:
        return np.bincount(self.codes, minlength=self.groups)

    def left_out(self) -> Mapping[str, str]:
        pairs = zip(self.labels, self.counts.tolist(), strict=True)
        return {label: "no real samples" for label, count in pairs if count == 0}


def _combined(weights: Floats, error: Numbers, df: Numbers) -> tuple[Floats, Floats]:
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


def canonical_order(*columns: Numbers | None) -> Codes:
    """An order of rows by content, so that sums and draws do not depend on the input order."""
    parts = [_row_bytes(column) for column in columns if column is not None]
    rows = len(parts[0])
    width = sum(part.shape[1] for part in parts)
    if rows == 0 or width == 0:
        return np.arange(rows)
    joined = np.ascontiguousarray(np.concatenate(parts, axis=1)).view(np.dtype((np.void, width))).ravel()
    return np.argsort(joined, kind="stable").astype(np.int64)


def _row_bytes(column: Numbers) -> NDArray[np.uint8]:
    """Rows as bytes that sort by code first, and in a fixed order within a code."""
    rows = column.reshape(len(column), int(np.prod(column.shape[1:])))
    if rows.dtype == bool:
        return np.packbits(rows, axis=1)
    big = np.ascontiguousarray(rows.astype(rows.dtype.newbyteorder(">")))
    return big.view(np.uint8).reshape(len(rows), rows.shape[1] * rows.itemsize)
