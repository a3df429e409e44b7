"""Pooled scores that were counted in cells instead of being kept: values with guaranteed bounds, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints
from graphgauge.core.metric import Bounds, Estimate, IntervalRule, NoInterval
from graphgauge.kernels.score_cells import (
    Blocks,
    Cells,
    ScoreCells,
    average_precision_bounds,
    hits_bounds,
    roc_auc_bounds,
)
from graphgauge.ranking.pooled import count_limits
from graphgauge.ranking.samples import Sample
from graphgauge.stats.intervals import logit_t_interval, standard_error, two_samples, wilson_interval

Floats = NDArray[np.floating[Any]]

_OF_QUERIES = (
    "the scores were counted without their queries, whose negatives err together; raise max_memory to keep them"
)


@dataclass(frozen=True)
class CountedPool(Sample):
    """All positives against all negatives, in cells of close scores.

    If negatives `belong` to queries they err together, and the cells do not say how much.
    """

    counted: ScoreCells
    belong: bool
    refined: Cells | None = None

    @classmethod
    def of(cls, counted: ScoreCells, *, belong: bool, over: str, unit: str) -> CountedPool:
        positives = int(counted.columns()[1].sum())
        return cls(np.array([positives]), None, 1, None, over, counted, belong, unit=unit)

    def read_again(self, positives: Blocks, negatives: Blocks) -> CountedPool:
        """The exact counts, from the same scores."""
        return replace(self, refined=self.counted.refined(positives, negatives))

    @cached_property
    def cells(self) -> Cells:
        return self.counted.cells() if self.refined is None else self.refined

    @cached_property
    def positives(self) -> int:
        return int(self.cells.positives.sum())

    @cached_property
    def negatives(self) -> int:
        return int(self.cells.negatives.sum())

    def roc_auc(self) -> Estimate:
        return self._between(*roc_auc_bounds(self.cells), self._auc_error)

    def average_precision(self) -> Estimate:
        return self._between(*average_precision_bounds(self.cells), self._precision_error)

    def hits(self, k: int) -> Estimate:
        estimate = self._between(*hits_bounds(self.cells, k), None)
        estimate = replace(estimate, facts={**estimate.facts, "k": k})
        if self.positives and 0 < self.negatives < k:
            return estimate.warned(f"only {self.negatives} negatives: every positive is a hit at k = {k}")
        return estimate

    def _between(self, low: float, high: float, error: Callable[[], tuple[float, float]] | None) -> Estimate:
        """The middle of the bounds, from which the truth differs by at most half their distance."""
        facts: dict[str, object] = {"unit": self.unit, "error": error, "ends": (low, high)}
        if high > low:
            facts["guaranteed"] = (low, high)
        reason = "no positives" if not self.positives else "no negatives"
        return Estimate(np.array([low + (high - low) / 2]), self.n, reason=reason, facts=facts)

    # ------------------------------------------------------------- interval

    def logit_rule(self, method: str, estimate: Estimate) -> IntervalRule | NoInterval:
        """The interval on the logit scale, from both ends of the guaranteed bounds."""
        if self.belong:
            return NoInterval(_OF_QUERIES)
        error, df = estimate.facts["error"]()
        low, high = estimate.facts["ends"]

        def bounds(sample: Any, of: Estimate, confidence: float) -> Bounds:
            ends = [logit_t_interval(np.array([end]), error, df, confidence) for end in (low, high)]
            return ends[0][0], ends[1][1]

        return IntervalRule(method, self.over, bounds)

    def threshold_rule(self, estimate: Estimate) -> IntervalRule | NoInterval:
        """As that of kept scores: Wilson's interval of the positives, and the error of the threshold."""
        if self.belong:
            return NoInterval(_OF_QUERIES)
        k, (low, high) = estimate.facts["k"], estimate.facts["ends"]

        def bounds(sample: Any, of: Estimate, confidence: float) -> Bounds:
            least, most = (
                wilson_interval([round(end * self.positives)], [self.positives], confidence) for end in (low, high)
            )
            if k > self.negatives:
                return least[0], most[1]
            fewest, many = count_limits(k, 1.0, confidence)
            first, last = (
                hits_bounds(self.cells, int(np.floor(fewest)))[0],
                hits_bounds(self.cells, int(np.ceil(many)))[1],
            )
            return low - np.hypot(low - least[0], low - first), high + np.hypot(most[1] - high, last - high)

        return IntervalRule("wilson and threshold", self.over, bounds)

    def _auc_error(self) -> tuple[float, float]:
        """DeLong's error of two samples, with the scores of a cell as ties."""
        positives, negatives, _ = self.cells
        won = _shares_below(negatives)
        lost = _shares_below(positives)
        return self._two_samples(won, lost)

    def _precision_error(self) -> tuple[float, float]:
        """As `pooled.average_precision_error`, with the scores of a cell as ties."""
        positives, negatives, _ = self.cells
        found, false = np.cumsum(positives), np.cumsum(negatives)
        selected = np.maximum(found + false, 1).astype(float)
        gained = np.cumsum((positives * false / selected**2)[::-1])[::-1]
        lost = np.cumsum((positives * found / selected**2)[::-1])[::-1]
        return self._two_samples(found / selected + gained, self.negatives / self.positives * lost)

    def _two_samples(self, of_positives: Floats, of_negatives: Floats) -> tuple[float, float]:
        if min(self.positives, self.negatives) < 2:
            return np.nan, 0.0
        parts = []
        for values, counts in ((of_positives, self.cells.positives), (of_negatives, self.cells.negatives)):
            mean = float((values * counts).sum()) / int(counts.sum())
            parts.append(standard_error(values - mean, counts))
        return two_samples(*parts)


def _shares_below(counts: Ints) -> Floats:
    """For a score in each cell, the share of these others below it, ties half; the best cell is first."""
    shares: Floats = (counts.sum() - np.cumsum(counts) + counts / 2) / max(int(counts.sum()), 1)
    return shares
