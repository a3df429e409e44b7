"""Compare methods on one metric: which differ, by how much, and how sure that is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import number, whole_number
from graphgauge.core.result import Interval
from graphgauge.stats import shift
from graphgauge.stats.design import (
    DATASETS,
    DESIGNS,
    NO_ITEMS,
    DatasetsDesign,
    Layout,
    RunsDesign,
    has_items,
    largest_of,
    layout_of_items,
    layout_of_runs,
)
from graphgauge.stats.effects import seeds_needed
from graphgauge.stats.errors import cosine_error, is_rounding, standard_error
from graphgauge.stats.intervals import of_value
from graphgauge.stats.many import critical_difference, friedman, holm, mean_ranks
from graphgauge.stats.outcome import Comparison, Pair, Standing, verdict_of
from graphgauge.stats.panel import MISSING, Better, Missing, Panel, panel_of
from graphgauge.stats.ranks import alpha_of, on_paper, rank_biserial, rank_sum
from graphgauge.stats.reading import read_runs
from graphgauge.stats.shift import Sample, Shift

OVER, TESTS = ("seeds", "items"), ("mean", "ranks")
# Tests in one comparison: those of 100 methods take seconds.
_MOST_PAIRS = 5_000


def compare(
    runs: Any,
    *,
    metric: str | None = None,
    baseline: str | None = None,
    over: Literal["seeds", "items"] = "seeds",
    design: RunsDesign = "auto",
    datasets: DatasetsDesign = "drawn",
    test: Literal["mean", "ranks"] = "mean",
    margin: float | None = None,
    metrics_compared: int = 1,
    missing: Missing = "raise",
    confidence: float = 0.95,
    direction: Better | None = None,
    truths: Literal["same", "any"] = "same",
    columns: Mapping[str, str] | str | None = None,
) -> Comparison:
    """Compare methods on one metric: all pairs, or each with a baseline, with Holm's correction.

    The design is named first, from the ids of the runs. Methods with the same seeds are paired by seed, methods
    without a common seed are independent, which `design` overrules. Several datasets are `drawn` from others like them:
    seeds are averaged within each and the dataset is the unit, because runs on one dataset are no evidence about
    others. With `datasets="these"` the claim is about these only, and runs are tested within each. `over="items"`
    compares queries, events or time steps of one dataset; errors of time steps resemble their neighbours', and the test
    is Diebold and Mariano's. Printed means with `std` and `n` are tested by Welch's t. `shift` has the table of tests.

    Parameters
    ----------
    runs, columns
        Anything that `read_runs` takes, such as evaluations by name, and the columns of tables by role.
    metric
        The metric to compare on; it may be left out if there is only one.
    baseline
        The method to compare all others with; by default all pairs.
    over
        `seeds`, or `items`.
    design
        `auto`, `paired` or `unpaired`.
    datasets
        `drawn` or `these`.
    test
        `mean`, or `ranks` for Wilcoxon's tests.
    margin
        A difference that does not matter: equivalence and non-inferiority are reported.
    metrics_compared
        Number of metrics that are compared, for the correction.
    missing
        Runs without a value are an error (`raise`), left out with their partners (`omit`), or have the `worst` bound.
    confidence
        Level of the intervals, and 1 − the level of the family of tests.
    direction
        `higher` or `lower`, for a metric that neither graphgauge nor its name says it of.
    truths
        Whether methods must be measured against the `same` truths, as their receipts record, or `any`.

    Returns
    -------
    Comparison
        Standings, pairs with difference, interval, p and effect size, and a conclusion in one sentence.

    Raises
    ------
    InputError
        If runs are missing, or were measured under different conventions or against different truths.
    OptionError
        If the metric or its direction is unknown.

    Examples
    --------
    >>> from graphgauge import stats
    >>> scores = {"ours": [.91, .93, .95, .90, .91, .94], "theirs": [.64, .70, .66, .58, .67, .71]}
    >>> print(stats.compare(scores, metric="accuracy").conclusion)
    ours is better than theirs by accuracy, 0.923 ± 0.020 against 0.660 ± 0.047 over 6 runs: a difference of 0.263 \
(95 % interval [0.214, 0.313]), p = 0.0022 (Welch's t), effect size 1.00 (large).
    """
    for name, value, known in (
        ("over", over, OVER),
        ("design", design, DESIGNS),
        ("datasets", datasets, DATASETS),
        ("test", test, TESTS),
        ("missing", missing, MISSING),
    ):
        one_of(name, value, known)
    if margin is not None:
        number("margin", margin, 0, inside=True)
    alpha, times = alpha_of(confidence), whole_number("metrics_compared", metrics_compared, 1)
    read = read_runs(runs, columns=columns)
    panel = panel_of(read, metric, direction=direction, truths=truths, levels=over == "seeds")
    better = panel.better
    if len(panel.methods) < 2:
        notes = [f"{note}." for note in panel.notes]
        fix = " ".join(["A comparison needs at least two methods.", *notes])
        raise InputError(f"only {panel.methods[0]!r} has {panel.metric}", fix=fix)
    if baseline is not None:
        one_of("method", baseline, panel.methods)
    if over == "items":
        if design != "auto" or datasets != "drawn":
            raise OptionError('design and datasets have no meaning over="items"', fix="Leave them out.")
        layout = layout_of_items(panel, missing)
    else:
        layout = layout_of_runs(panel, design, datasets, missing)
    tested = _Tested(panel, layout, test, alpha)
    standings = tested.standings()
    names = [each.method for each in standings]
    pairs = _pairs(tested, _names_of_pairs(names, baseline), margin, times)
    blocks = np.array(layout.strata[0]).T if len(layout.strata) == 1 and layout.design.paired else np.empty((0, 0))
    has_ranks = over == "seeds" and len(names) > 2 and len(blocks) > 1 and not panel.unfair
    advice = _advice(panel, layout)
    return Comparison(
        metric=panel.metric,
        better=better,
        confidence=confidence,
        design=layout.design,
        standings=standings,
        pairs=pairs,
        baseline=baseline,
        target=panel.target if panel.direction == "target" else None,
        margin=margin,
        metrics_compared=times,
        friedman=friedman(panel.badness(blocks)) if has_ranks else None,
        critical_difference=critical_difference(len(names), len(blocks), confidence) if has_ranks else math.nan,
        conventions=dict(panel.conventions),
        invalid={name: why for name, why in layout.invalid.items() if name in names},
        notes=(*layout.notes, *([advice] if advice else [])),
        advice=advice,
    )


def _advice(panel: Panel, layout: Layout) -> str:
    """What else could compare methods with a single run each, or on few datasets."""
    if layout.design.datasets == "drawn" and layout.design.units[0] < seeds_needed(1):
        return 'Runs on these datasets alone are compared by datasets="these".'
    if layout.design.units != (1, 1) or layout.design.printed:
        return ""
    if all(has_items(run, panel.metric) for run in panel.runs):
        return 'Single runs are compared over their items: over="items".'
    return "" if all(run.items is not None for run in panel.runs) else NO_ITEMS.get(panel.runs[0].family, "")


class _Tested:
    """The layout of a comparison with what tests need: the scores as they are tested, and α."""

    def __init__(self, panel: Panel, layout: Layout, test: str, alpha: float) -> None:
        self.panel, self.layout, self.test, self.alpha = panel, layout, test, alpha
        if test == "ranks" and (
            len(layout.strata) > 1 or layout.design.printed or layout.in_time or layout.cluster is not None
        ):
            fix = 'Use test="mean", or datasets="drawn".'
            raise OptionError("ranks are of single scores of one dataset, or of drawn datasets", fix=fix)
        self.largest = max(largest_of(cell) for cells in layout.strata for cell in cells)
        self.strata: Sequence[tuple[Any, ...]] = layout.strata
        self.bounds = panel.bounds
        if panel.target is not None and panel.direction == "target" and not layout.design.printed:
            # Distances from the target are tested.
            self.strata = [tuple(map(panel.badness, cells)) for cells in layout.strata]
            self.bounds = 0.0, max(abs(end - panel.target) for end in panel.bounds)

    def standings(self) -> tuple[Standing, ...]:
        """The methods, the best mean first, by name if they are equal."""
        layout, design = self.layout, self.layout.design
        ranks = [math.nan] * len(layout.methods)
        if len(layout.strata) == 1 and design.paired:
            ranks = mean_ranks(-self.panel.badness(np.array(layout.strata[0])).T).tolist()
        standings = []
        for i, method in enumerate(layout.methods):
            cells = [cells[i] for cells in layout.strata]
            samples = [Sample.from_scores(cell) for cell in cells]
            error, df = shift.satterthwaite(samples)
            mean, n = math.fsum(each.mean for each in samples) / len(samples), sum(each.n for each in samples)
            if layout.cluster is not None or layout.in_time:
                error, df = self._error_of_items(cells[0])
            std = math.sqrt(sum(each.variance for each in samples) / len(samples))
            error /= len(samples)
            interval = of_value(mean, error, df, 1 - self.alpha, "t", design.plural, self.panel.bounds)
            known = layout.intervals.get(method)
            interval = known if known is not None and math.isclose(known.level, 1 - self.alpha) else interval
            std = 0.0 if is_rounding(std, self.largest) else std
            standings.append(Standing(method=method, mean=mean, std=std, n=n, interval=interval, mean_rank=ranks[i]))
        order = self.panel.badness([each.mean for each in standings]).tolist()
        ranked = sorted(zip(order, layout.methods, standings, strict=True), key=lambda each: each[:2])
        return tuple(each for _, _, each in ranked)

    def _error_of_items(self, values: Any) -> tuple[float, float]:
        if self.layout.in_time:
            error, df = cosine_error((values - values.mean()) / len(values))
            return float(error), float(df)
        errors, dfs = standard_error(values - values.mean(), cluster=self.layout.cluster)
        return float(errors[0]), float(dfs[0])

    def pair(self, first: str, second: str, alpha: float) -> tuple[Shift, float]:
        """The test of a pair, and its effect size, positive if the first is higher."""
        tested, effect = self._pair(first, second, alpha)
        return tested.within(self.bounds), effect

    def _pair(self, first: str, second: str, alpha: float) -> tuple[Shift, float]:
        i, j = self.layout.methods.index(first), self.layout.methods.index(second)
        cells = [(cells[i], cells[j]) for cells in self.strata]
        if not self.layout.design.paired:
            return self._independent(cells, alpha)
        differences = [on_paper(np.subtract(a, b), self.largest) for a, b in cells]
        effect = rank_biserial(np.concatenate(differences))
        if self.test == "ranks":
            return shift.of_ranks(differences[0], 0 * differences[0], alpha, paired=True), effect
        if self.layout.in_time:
            return shift.of_steps(differences[0], alpha), effect
        if self.layout.cluster is not None:
            return shift.of_clusters(differences[0], self.layout.cluster, alpha), effect
        if len(differences) > 1:
            return shift.of_strata(differences, alpha), effect
        return shift.of_pairs(differences[0], alpha), effect

    def _independent(self, cells: list[tuple[Any, Any]], alpha: float) -> tuple[Shift, float]:
        if self.test == "ranks":
            ((a, b),) = cells
            return shift.of_ranks(a, b, alpha, paired=False), rank_sum(a, b).rank_biserial
        samples = [(Sample.from_scores(a), Sample.from_scores(b)) for a, b in cells]
        tested = shift.of_independent(samples, alpha)
        if self.layout.design.printed:
            spread = math.sqrt(np.mean([(a.variance + b.variance) / 2 for a, b in samples]))
            return tested, tested.difference / spread if spread > 0 else math.nan
        return tested, float(np.mean([rank_sum(a, b).rank_biserial for a, b in cells]))


def _names_of_pairs(names: list[str], baseline: str | None) -> list[tuple[str, str]]:
    """All pairs of methods, or each with the baseline."""
    if baseline is not None:
        return [(name, baseline) for name in names if name != baseline]
    if math.comb(len(names), 2) > _MOST_PAIRS:
        what = f"{len(names):,} methods have {math.comb(len(names), 2):,} pairs, more than {_MOST_PAIRS:,}"
        raise InputError(what, fix="Name a baseline, or compare fewer methods.")
    return list(itertools.combinations(names, 2))


def _pairs(tested: _Tested, names: list[tuple[str, str]], margin: float | None, times: int) -> tuple[Pair, ...]:
    """The pairs with their tests, corrected by Holm for all of them and for `times` metrics."""
    alpha, unit = tested.alpha, tested.layout.design.plural
    shifts = [tested.pair(*each, alpha) for each in names]
    adjusted = np.minimum(holm([each.p_value for each, _ in shifts]) * times, 1.0).tolist()
    lowest = min(each.lowest_p for each, _ in shifts) * len(names) * times
    better = tested.panel.better
    pairs = []
    for (first, second), (each, effect), p in zip(names, shifts, adjusted, strict=True):
        verdict = verdict_of(each.difference, p, lowest, better, alpha)
        wide = None
        if margin is not None:
            wider, _ = tested.pair(first, second, min(2 * alpha, 0.999))
            # If the interval is Student's t, so is the wider one, which has to be inside of it.
            wide = _as_interval(wider, 1 - 2 * alpha, unit)
            if each.interval != wider.interval and each.interval != "Hodges–Lehmann":
                most = tested.bounds[1] - tested.bounds[0]
                wide = of_value(each.difference, each.error, each.df, 1 - 2 * alpha, each.interval, unit, (-most, most))
        pairs.append(
            Pair(
                names=(first, second),
                difference=each.difference,
                interval=_as_interval(each, 1 - alpha, unit),
                p_value=each.p_value,
                p_holm=p,
                effect=-effect if better == "lower" else effect,
                test=each.method,
                lowest_p=each.lowest_p,
                error=each.error,
                df=each.df,
                verdict="invalid" if {first, second} & set(tested.layout.invalid) else verdict,
                wide=wide,
            )
        )
    return tuple(pairs)


def _as_interval(each: Shift, level: float, over: str) -> Interval | None:
    return None if math.isnan(each.low) else Interval(each.low, each.high, level, each.interval, over)
