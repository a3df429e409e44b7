"""Dependence: whether columns of generated rows depend on each other as those of real rows do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.metric import Bounds, ChanceFunction, Estimate, IntervalRule, MetricFunction, NoInterval, metric
from graphgauge.core.result import Table
from graphgauge.generation.association import Columns, associations, noise, pairs
from graphgauge.generation.declared import FAMILY, FEWEST_COMPARED, LAWS, MACRO
from graphgauge.generation.inputs import Bits
from graphgauge.generation.levels import MOST, SPLITS, named, simulated
from graphgauge.generation.samples import ConditionSample
from graphgauge.generation.sections.described import UPPER, Described
from graphgauge.generation.sections.two_sided import TwoSided

# The table by pair of columns.
PAIRS = "pair_of_columns"
# Draws of associations at most: enough for the tails of a band.
_DRAWS = 399


@dataclass(frozen=True)
class Associated:
    """The associations of both sides in one condition, of the pairs whose columns vary on either side.

    `away` (draws, pairs) is how far a difference is from the true one by chance, and `drawn` are the mean absolute
    differences of the reference generators.
    """

    compared: Bits
    real: Floats
    generated: Floats
    away: Floats
    perfect_pairs: Floats
    drawn: Mapping[str, Floats]

    @property
    def value(self) -> float:
        return float(_mean_size(self.generated - self.real, self.compared))

    @property
    def margins(self) -> Floats:
        """Mean absolute errors: the value is at most this far from the mean of the true absolute differences."""
        return _mean_size(self.away, self.compared)


def _mean_size(differences: Floats, compared: Bits) -> Floats:
    return np.asarray(np.abs(differences[..., compared]).mean(-1))


class Dependent(Described):
    """Rows of tables, whose columns depend on each other."""

    def associated(self, *, ranks: bool) -> list[Associated | None]:
        """The associations in each condition, computed once."""
        if ranks not in self._known:
            self._known[ranks] = self.each(lambda code: self._associated(code, ranks))
        return self._known[ranks]

    @cached_property
    def _known(self) -> dict[bool, list[Associated | None]]:
        return {}

    def _columns(self, rows: Floats) -> Columns:
        spans = list(self._spans.values())
        return Columns(rows, [span for span, _ in spans], [words is not None for _, words in spans])

    def _associated(self, code: int, ranks: bool) -> Associated | None:
        own, other = self.pair(code)
        real, generated, fresh = map(self._columns, (own, other, self.fresh(code, own)))
        varies = np.array([bool(np.ptp(np.concatenate([own, other])[:, span], axis=0).any()) for span in real.spans])
        first, second = pairs(len(varies))
        compared = varies[first] & varies[second]
        if not compared.any():
            return None
        n, m = len(own), len(other)
        draws, generator = min(self._draws.resamples, _DRAWS), self._draws.generator(26, code)
        common: dict[str, Any] = {"ranks": ranks, "draws": draws, "most": MOST, "generator": generator}
        around_real, around_fresh = noise(real, n, **common), noise(fresh, m, **common)
        found, made = (associations(side, ranks=ranks) for side in (real, generated))
        perfect = around_fresh - around_real + associations(fresh, ranks=ranks) - found

        def against(columns: Columns) -> Floats:
            return _mean_size(associations(columns, ranks=ranks) - found, compared)

        drawn = {
            "perfect": _mean_size(perfect, compared),
            "chance": np.array([against(real.shuffled(min(m, MOST), generator)) for _ in range(SPLITS)]),
        }
        train = self.copies(code, generator, len(other) * SPLITS)
        if train is not None:
            count = min(m, MOST)
            drawn["memoriser"] = np.array(
                [
                    against(self._columns(train[generator.choice(len(train), count, replace=len(train) < count)]))
                    for _ in range(SPLITS)
                ]
            )
        away = noise(generated, m, **common) - around_real
        return Associated(compared, found, made, away, np.abs(perfect), drawn)

    def by_pair(self) -> Table | None:
        """The associations of each pair of columns, the greatest difference first; means over conditions."""
        known = [each for each in self.associated(ranks=False) if each is not None]
        if not known:
            return None
        first, second = pairs(len(self.names))
        shown = np.flatnonzero(np.any([each.compared for each in known], axis=0))

        def mean(values: list[Floats]) -> Floats:
            return np.asarray(np.mean([value[..., shown] for value in values], axis=0))

        real, generated = (mean([getattr(each, side) for each in known]) for side in ("real", "generated"))
        null = np.quantile(mean([each.perfect_pairs for each in known]), UPPER, axis=0)
        names = np.array([f"{self.names[first[place]]} × {self.names[second[place]]}" for place in shown])
        size = np.abs(generated - real)
        columns = {"correlation_difference": size, "real": real, "generated": generated, "null_95": null}
        order = np.argsort(-size, kind="stable")
        n = np.full(len(shown), int(self.counts[self.enough].sum()))
        return Table(PAIRS, {PAIRS: names[order], "n": n, **{name: values[order] for name, values in columns.items()}})


Dependence = TwoSided[Dependent]


def _levels(*, ranks: bool) -> ChanceFunction:
    """Perfect: two samples of the real rows' distribution, with the run's sizes. Memoriser: training rows. Chance: rows
    whose columns are drawn separately."""

    def chance(function: MetricFunction, sample: Dependence, params: Mapping[str, Any]) -> dict[str, float]:
        found = [None if each is None else each.drawn for each in sample.sides.associated(ranks=ranks)]
        drawn = sample.sides.drawn(found)
        return named({name: simulated(name, sample.averaged_draws(draws)) for name, draws in drawn.items()})

    chance.__doc__ = _levels.__doc__
    return chance


def _of_margins(sample: ConditionSample, estimate: Estimate) -> IntervalRule | NoInterval:
    """The mean absolute error of the differences, by halves of either side: at least the stated confidence."""
    return IntervalRule("half-samples", "samples", _around)


def _around(sample: Any, estimate: Estimate, confidence: float) -> Bounds:
    margin = np.quantile(estimate.facts["margins"], confidence, axis=0)
    return np.maximum(estimate.value - margin, 0.0), estimate.value + margin


def _estimate(sample: Dependence, *, ranks: bool) -> Estimate:
    found = sample.sides.associated(ranks=ranks)
    values = np.array([np.nan if each is None else each.value for each in found])
    reason = _FEW if not sample.sides.enough.any() else "no two columns vary"
    margins = sample.sides.drawn([None if each is None else {"margins": each.margins} for each in found])
    draws = margins.get("margins", np.full((1, sample.groups), np.nan))
    averaged = draws if sample.average is None else sample.averaged_draws(draws)[:, np.newaxis]
    return sample.estimate(values, sample.n, reason, margins=averaged)


_FEW = f"no condition has {FEWEST_COMPARED} valid generated samples and {FEWEST_COMPARED} real ones"
_COMMON: dict[str, Any] = {
    "family": FAMILY,
    "section": "statistical",
    "needs": ("columns",),
    "unit": "sample",
    "laws": LAWS,
    "reference": "bergsma2013",
    "direction": "lower",
    "bounds": (0, 2),
    "interval": _of_margins,
}
_PAIRED = MACRO | {
    "pairs": "of columns, each once; those with a column that is constant on both sides are left out",
    "number and categories": "correlation ratio, corrected (Kelley)",
    "categories": "Cramér's V, corrected (Bergsma)",
    "constant on one side": "0 there",
}


@metric(
    key="correlation_difference", chance=_levels(ranks=False), conventions=_PAIRED | {"numbers": "Pearson"}, **_COMMON
)
def correlation_difference(sample: Dependence) -> Estimate:
    """Mean absolute difference, over pairs of columns, between the correlations of generated and of real rows.

    `by("pair_of_columns")` lists the pairs with the correlations of both sides and the 95th percentile of the absolute
    difference between two samples of real rows.
    """
    return _estimate(sample, ranks=False)


@metric(
    key="rank_correlation_difference",
    chance=_levels(ranks=True),
    conventions=_PAIRED | {"numbers": "Spearman"},
    **_COMMON,
)
def rank_correlation_difference(sample: Dependence) -> Estimate:
    """The same of ranks: numbers are replaced by their ranks, so that only the order of values counts."""
    return _estimate(sample, ranks=True)
