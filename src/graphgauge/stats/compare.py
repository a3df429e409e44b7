"""Many methods on the same seeds or datasets: who is told apart from whom."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.result import Interval
from graphgauge.stats.compare_items import ItemsComparison, compare_items
from graphgauge.stats.comparison import Comparison, Improvement, Standing
from graphgauge.stats.intervals import agreement_interval, t_interval
from graphgauge.stats.many import critical_difference, friedman, holm, mean_ranks
from graphgauge.stats.paired import PairedTest, paired_test
from graphgauge.stats.power import require_alpha
from graphgauge.stats.resample import Strata, interquartile_mean, probability_of_improvement, stratified_interval
from graphgauge.stats.runs import MISSING, Better, Missing, Panel, Seed, as_runs, panel
from graphgauge.stats.text import listing, several

Floats = NDArray[np.float64]


@overload
def compare(
    runs: Any,
    *,
    metric: str,
    baseline: str | None = ...,
    over: Literal["seeds"] = ...,
    missing: Missing = ...,
    alpha: float = ...,
    direction: Better | None = ...,
    seed: int = ...,
    resamples: int = ...,
) -> Comparison: ...
@overload
def compare(
    runs: Any, *, metric: str, baseline: str | None = ..., over: Literal["items"], missing: Missing = ...,
    alpha: float = ..., direction: Better | None = ..., seed: int = ..., resamples: int = ...,
) -> ItemsComparison: ...  # fmt: skip
def compare(
    runs: Any,
    *,
    metric: str,
    baseline: str | None = None,
    over: Literal["seeds", "items"] = "seeds",
    missing: Missing = "raise",
    alpha: float = 0.05,
    direction: Better | None = None,
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison | ItemsComparison:
    """Compare methods on one metric: all pairs, or each against a baseline, with Holm's correction.

    Within one dataset the seed is the unit; over several, seeds are averaged within each and the dataset is the unit,
    because runs on one dataset are no independent evidence about others. All methods must have the same runs: what is
    missing is refused with the list, or left out for all (`missing="omit"`), or scored at the metric's bad bound
    (`missing="worst"`). `over="items"` compares the per-item values of one dataset by sign flips instead.
    """
    one_of("over", over, ("seeds", "items"))
    one_of("missing", missing, MISSING)
    require_alpha(alpha)
    known = as_runs(runs)
    view = panel(known, metric, direction=direction)
    if baseline is not None:
        one_of("method", baseline, view.methods)
    better = _better(view)
    if over == "items":
        return compare_items(known, view, better, baseline=baseline, alpha=alpha, seed=seed)
    units, strata, notes = _complete(view, missing)
    return _compared(view, better, units, strata, notes, baseline, alpha, seed, resamples)


def _better(view: Panel) -> Better:
    if len(view.methods) < 2:
        raise InputError(f"only {view.methods[0]!r} has {view.metric}", fix="A comparison needs at least two methods.")
    if view.direction == "none":
        raise OptionError(f"{view.metric} is neither good high nor good low", fix="Compare another metric.")
    if view.better is None:
        raise OptionError(f"whether {view.metric} is better high or low is not known", fix="Say --higher or --lower.")
    return view.better


def _complete(view: Panel, missing: Missing) -> tuple[list[str], list[Floats], list[str]]:
    """The units, for each dataset the scores, methods × seeds, of the seeds that all methods have, and notes."""
    methods = view.methods
    if missing == "raise":
        lacking = [str(gap) for gap in view.gaps] or _unmatched(view)
        if lacking:
            raise InputError(
                f"{len(lacking)} runs of {view.metric} are missing: {listing(lacking)}",
                fix='Repeat them; or leave those seeds out for all methods (missing="omit"), or score failures at the '
                'bound (missing="worst").',
            )
    if missing == "worst":
        view = view.filled()
    units: dict[str, list[str]] = {}
    strata, notes = [], []
    for dataset, by_method in view.values.items():
        every: dict[Seed, None] = dict.fromkeys(seed for seeds in by_method.values() for seed in seeds)
        common = [seed for seed in every if all(not math.isnan(by_method[m].get(seed, math.nan)) for m in methods)]
        if len(common) < len(every):
            notes.append(
                f"{dataset or view.metric}: {len(common)} of {several(len(every), 'seed')} used, those of all methods."
            )
        if common:
            units[dataset] = [str(seed) for seed in common]
            strata.append(np.array([[by_method[method][seed] for seed in common] for method in methods]))
    if not strata:
        raise InputError(f"no dataset and seed has {view.metric} for all of {listing(methods)}")
    if view.gaps and missing == "worst":
        filled = listing([str(gap) for gap in view.gaps])
        notes.append(f"Scored at the bound {view.worst:g}: {filled}.")
    named = next(iter(units.values())) if len(units) == 1 else list(units)
    return named, strata, [*notes, *(f"{note}." for note in view.notes)]


def _unmatched(view: Panel) -> list[str]:
    return [
        f"{method} on {dataset} seed {seed} (other methods have it)"
        for dataset, by_method in view.values.items()
        for seed in dict.fromkeys(seed for seeds in by_method.values() for seed in seeds)
        for method in view.methods
        if seed not in by_method[method]
    ]


def _compared(
    view: Panel,
    better: Better,
    units: list[str],
    strata: list[Floats],
    notes: list[str],
    baseline: str | None,
    alpha: float,
    seed: int,
    resamples: int,
) -> Comparison:
    judged = [np.vectorize(view.badness)(values) for values in strata]
    one = len(strata) == 1
    scores = strata[0].T if one else np.array([values.mean(axis=1) for values in strata])
    bad = judged[0].T if one else np.array([values.mean(axis=1) for values in judged])
    ranks = mean_ranks(-bad)
    order = np.lexsort((bad.mean(axis=0), ranks))
    methods = [view.methods[index] for index in order]
    scores, bad, ranks = scores[:, order], bad[:, order], ranks[order]
    both = [np.concatenate((values[order], low[order])) for values, low in zip(strata, judged, strict=True)]
    unit = "seed" if one else "dataset"
    pairs = _pairs(methods, baseline)
    tests = _tests(view, bad if view.direction == "target" else scores, methods, pairs, better, alpha, unit)
    confidence = 1 - alpha
    low, high = stratified_interval(
        lambda drawn: np.concatenate([_iqms(drawn), _chances(drawn, pairs)], axis=1),
        both,
        confidence=confidence,
        seed=seed,
        resamples=resamples,
    )
    whole = [block[None] for block in both]
    iqms, chances = _iqms(whole)[0], _chances(whole, pairs)[0]
    standings = tuple(
        Standing(
            method,
            float(scores[:, i].mean()),
            float(scores[:, i].std(ddof=1)) if len(scores) > 1 else math.nan,
            _interval(scores[:, i], confidence, unit),
            float(ranks[i]),
            float(iqms[i]),
            (float(low[i]), float(high[i])),
        )
        for i, method in enumerate(methods)
    )
    # A method that wins, or loses, every time has no spread to draw from.
    units_agreeing = np.full(len(pairs), len(strata) * min(values.shape[1] for values in strata))
    floor, ceiling = agreement_interval(chances, units_agreeing, (0.0, 1.0), confidence)
    always = (chances == 0) | (chances == 1)
    low[len(methods) :] = np.where(always, floor, low[len(methods) :])
    high[len(methods) :] = np.where(always, ceiling, high[len(methods) :])
    improvements = tuple(
        Improvement(
            methods[a], methods[b], float(chances[i]), (float(low[len(methods) + i]), float(high[len(methods) + i]))
        )
        for i, (a, b) in enumerate(pairs)
    )
    enough = len(methods) > 2 and len(scores) > 1
    return Comparison(
        metric=view.metric,
        better=better,
        target=view.target if view.direction == "target" else None,
        conventions=view.conventions,
        unit=unit,
        units=tuple(units),
        standings=standings,
        tests=tests,
        improvements=improvements,
        friedman=friedman(-bad) if enough else None,
        critical_difference=critical_difference(len(methods), len(scores), alpha),
        alpha=alpha,
        baseline=baseline,
        best=methods[int(np.argmin(bad.mean(axis=0)))],
        scores=scores,
        notes=tuple(notes),
    )


def _pairs(methods: list[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(methods)), 2))
    reference = methods.index(baseline)
    return [(index, reference) for index in range(len(methods)) if index != reference]


def _tests(
    view: Panel,
    scores: Floats,
    methods: list[str],
    pairs: list[tuple[int, int]],
    better: Better,
    alpha: float,
    unit: str,
) -> tuple[PairedTest, ...]:
    label = f"{view.metric}, distance from {view.target:g}" if view.direction == "target" else view.metric
    tests = [
        paired_test(
            scores[:, a],
            scores[:, b],
            names=(methods[a], methods[b]),
            alpha=alpha,
            better=better,
            metric=label,
            unit=unit,
        )
        for a, b in pairs
    ]
    adjusted = holm([test.p_value for test in tests])
    return tuple(test.among(len(tests), float(p)) for test, p in zip(tests, adjusted, strict=True))


def _iqms(drawn: Strata) -> Floats:
    """Of each method over all its runs; the first half of the rows holds the scores as measured."""
    half = drawn[0].shape[1] // 2
    return interquartile_mean(np.concatenate([block[:, :half] for block in drawn], axis=2))


def _chances(drawn: Strata, pairs: list[tuple[int, int]]) -> Floats:
    """Of each pair, the mean over datasets; the second half of the rows holds the scores with low being good."""
    half = drawn[0].shape[1] // 2
    columns = [
        np.mean([probability_of_improvement(-block[:, half + a], -block[:, half + b]) for block in drawn], axis=0)
        for a, b in pairs
    ]
    return np.stack(columns, axis=1)


def _interval(scores: Floats, confidence: float, unit: str) -> Interval | None:
    n = len(scores)
    if n < 2:
        return None
    low, high = t_interval(scores.mean(), scores.std(ddof=1) / math.sqrt(n), n - 1, confidence)
    return Interval(float(low[0]), float(high[0]), confidence, "t", f"{unit}s")
