"""Compare many methods on the same seeds or datasets: which ones differ significantly."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Literal, overload

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError, OptionError, one_of
from graphgauge.core.options import whole_number
from graphgauge.stats.compare_items import ItemsComparison, compare_items
from graphgauge.stats.comparison import Comparison, Improvement, Standing
from graphgauge.stats.intervals import Bounds, agreement_interval, sample_interval, sample_std
from graphgauge.stats.load import load
from graphgauge.stats.many import critical_difference, friedman, holm, mean_ranks
from graphgauge.stats.paired import PairedTest, paired_test
from graphgauge.stats.resample import Strata, interquartile_mean, probability_of_improvement, stratified_interval
from graphgauge.stats.runs import MISSING, Better, Missing, Panel, Seed, on_dataset, panel, seed_order
from graphgauge.stats.text import listing, several
from graphgauge.stats.truths import Truths
from graphgauge.stats.wilcoxon import as_on_paper, require_alpha

# The fewest seeds per dataset, and over all datasets, for an interval of P(first better).
_FEWEST_SEEDS = 3
_FEWEST_RUNS = 15


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
    truths: Truths = ...,
) -> Comparison: ...
@overload
def compare(
    runs: Any, *, metric: str, baseline: str | None = ..., over: Literal["items"], missing: Missing = ...,
    alpha: float = ..., direction: Better | None = ..., seed: int = ..., resamples: int = ..., truths: Truths = ...,
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
    truths: Truths = "same",
) -> Comparison | ItemsComparison:
    """Compare methods on one metric: all pairs, or each against a baseline, with Holm's correction.

    Within one dataset the seed is the unit; over several, seeds are averaged within each and the dataset is the unit,
    because runs on one dataset are no independent evidence about others. All methods must have the same runs: missing
    ones are an error, or left out for all (`missing="omit"`), or scored at the metric's worst bound
    (`missing="worst"`). `over="items"` compares the per-item values of one dataset by sign flips instead.

    Result files record the hashes of their inputs: methods measured against different truths on the same
    dataset and seed are refused, or compared with a warning (`truths="any"`).
    """
    one_of("over", over, ("seeds", "items"))
    one_of("missing", missing, MISSING)
    require_alpha(alpha)
    whole_number("resamples", resamples, 1)
    known = load(runs)
    view = panel(known, metric, direction=direction, truths=truths)
    if baseline is not None:
        one_of("method", baseline, view.methods)
    better = _better(view)
    if over == "items":
        return compare_items(
            known, view, better, baseline=baseline, missing=missing, alpha=alpha, seed=seed, truths=truths
        )
    units, strata, notes = _complete(view, missing)
    return _compared(view, better, units, strata, notes, baseline, alpha, seed, resamples)


def _better(view: Panel) -> Better:
    if len(view.methods) < 2:
        raise InputError(f"only {view.methods[0]!r} has {view.metric}", fix="A comparison needs at least two methods.")
    if view.direction == "none":
        raise OptionError(f"{view.metric} has no better direction", fix="Compare another metric.")
    if view.better is None:
        raise OptionError(f"the better direction of {view.metric} is not known", fix="Pass --higher or --lower.")
    return view.better


def _complete(view: Panel, missing: Missing) -> tuple[list[str], list[Floats], list[str]]:
    """The units, the scores of each dataset (methods × seeds, for seeds that all methods have), and notes."""
    methods = sorted(view.methods)
    if missing == "raise":
        view.refuse_missing([str(gap) for gap in view.gaps] or _unmatched(view))
    if missing == "worst":
        view = view.filled()
    units: dict[str, list[str]] = {}
    strata, notes, infinite = [], [], []
    for dataset, by_method in sorted(view.values.items()):
        every: dict[Seed, None] = dict.fromkeys(seed for seeds in by_method.values() for seed in seeds)
        common = sorted(
            (seed for seed in every if all(not math.isnan(by_method[m].get(seed, math.nan)) for m in methods)),
            key=seed_order,
        )
        if len(common) < len(every):
            notes.append(
                f"{dataset or view.metric}: {len(common)} of {several(len(every), 'seed')} used, those of every method."
            )
        infinite += [
            f"{on_dataset(method, dataset)} seed {seed}"
            for method in methods for seed in common if math.isinf(by_method[method][seed])
        ]  # fmt: skip
        if common:
            units[dataset] = [str(seed) for seed in common]
            strata.append(np.array([[by_method[method][seed] for seed in common] for method in methods]))
    if infinite:
        raise InputError(f"{view.metric} is infinite: {listing(infinite)}", fix="Repeat those runs, or leave them out.")
    if not strata:
        raise InputError(f"there is no dataset and seed with {view.metric} for all of {listing(methods)}")
    if view.gaps and missing == "worst":
        filled = listing([str(gap) for gap in view.gaps])
        notes.append(f"Scored at the bound {view.worst:g}: {filled}.")
    named = next(iter(units.values())) if len(units) == 1 else list(units)
    return named, strata, [*notes, *(f"{note}." for note in view.notes)]


def _unmatched(view: Panel) -> list[str]:
    return [
        f"{on_dataset(method, dataset)} seed {seed} (other methods have it)"
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
    largest = max(float(np.abs(values).max()) for values in strata)
    # Tests round differences; ranks and wins must see the same ties.
    judged = [as_on_paper(np.vectorize(view.badness)(values), largest) for values in strata]
    one = len(strata) == 1
    scores = strata[0].T if one else np.array([values.mean(axis=1) for values in strata])
    bad = judged[0].T if one else as_on_paper(np.array([values.mean(axis=1) for values in judged]), largest)
    ranks = mean_ranks(-bad)
    order = np.lexsort((bad.mean(axis=0), ranks))
    names = sorted(view.methods)
    methods = [names[index] for index in order]
    scores, bad, ranks = scores[:, order], bad[:, order], ranks[order]
    both = [
        np.concatenate((values[order], low[order], np.arange(values.shape[1], dtype=float)[None]))
        for values, low in zip(strata, judged, strict=True)
    ]
    unit = "seed" if one else "dataset"
    pairs = _pairs(methods, baseline)
    bounds = stratified_interval(
        lambda drawn: np.concatenate([_iqms(drawn), _chances(drawn, pairs)], axis=1),
        both,
        confidence=1 - alpha,
        seed=seed,
        resamples=resamples,
    )
    (iqm_low, chance_low), (iqm_high, chance_high) = (np.split(column, [len(methods)]) for column in bounds)
    whole = [block[None] for block in both]
    enough = len(methods) > 2 and len(scores) > 1
    return Comparison(
        metric=view.metric,
        better=better,
        target=view.target if view.direction == "target" else None,
        conventions=view.conventions,
        unit=unit,
        units=tuple(units),
        standings=_standings(
            methods, scores, ranks, _iqms(whole)[0], (iqm_low, iqm_high), 1 - alpha, unit, view.bounds,
        ),
        tests=_tests(view, bad if view.direction == "target" else scores, methods, pairs, better, alpha, unit),
        improvements=_improvements(
            [(methods[a], methods[b]) for a, b in pairs], _chances(whole, pairs)[0], (chance_low, chance_high),
            [values.shape[1] for values in strata], 1 - alpha,
        ),
        friedman=friedman(-bad) if enough else None,
        critical_difference=critical_difference(len(methods), len(scores), alpha),
        alpha=alpha,
        baseline=baseline,
        best=methods[int(np.argmin(bad.mean(axis=0)))],
        scores=scores,
        notes=(*notes, *_one_seed([values.shape[1] for values in strata])),
    )  # fmt: skip


def _standings(
    methods: list[str],
    scores: Floats,
    ranks: Floats,
    iqms: Floats,
    drawn: Bounds,
    confidence: float,
    unit: str,
    bounds: tuple[float, float],
) -> tuple[Standing, ...]:
    rows = zip(methods, scores.T, ranks.tolist(), iqms.tolist(), np.transpose(drawn).tolist(), strict=True)
    return tuple(
        Standing(
            method, float(own.mean()), sample_std(own), sample_interval(own, confidence, f"{unit}s", bounds), rank, iqm,
            (low, high),
        )
        for method, own, rank, iqm, (low, high) in rows
    )  # fmt: skip


def _improvements(
    names: list[tuple[str, str]], chances: Floats, bounds: Bounds, seeds: list[int], confidence: float
) -> tuple[Improvement, ...]:
    reason = _too_few_seeds(seeds)
    if reason is not None:
        return tuple(
            Improvement(*pair, chance, (math.nan, math.nan), reason)
            for pair, chance in zip(names, chances.tolist(), strict=True)
        )
    units = len(seeds) * min(seeds)
    # A method that always wins, or always loses, has no spread to resample.
    always = (chances == 0) | (chances == 1)
    agreement = agreement_interval(chances, np.full(len(names), units), (0.0, 1.0), confidence)
    low, high = (np.where(always, sure, drawn).tolist() for sure, drawn in zip(agreement, bounds, strict=True))
    rows = zip(names, chances.tolist(), zip(low, high, strict=True), strict=True)
    return tuple(
        Improvement(*pair, chance, interval, "all resamples give the same value" if math.isnan(interval[0]) else None)
        for pair, chance, interval in rows
    )


def _one_seed(seeds: list[int]) -> list[str]:
    alone = seeds.count(1)
    if not alone:
        return []
    which = "there is one seed" if len(seeds) == 1 else f"{alone} of {len(seeds)} datasets have one seed"
    return [f"P(first better) compares runs on different seeds of a dataset, but {which}."]


def _too_few_seeds(seeds: list[int]) -> str | None:
    """Why runs on this many seeds per dataset give no interval of P(first better).

    If methods share much of the effect of a seed, few seeds rarely disagree, and a bootstrap sees no spread: in
    simulations a nominal .95 covered .33 to .66 at 1 × 5 seeds, .80 at 1 × 10 and 10 × 2, .91 at 2 × 5, and .91 or more
    from three seeds per dataset and 15 in all.
    """
    fewest, total = min(seeds), sum(seeds)
    if fewest >= _FEWEST_SEEDS and total >= _FEWEST_RUNS:
        return None
    have = several(total, "seed") if len(seeds) == 1 else f"{total} in all, {fewest} in the smallest dataset"
    return (
        f"its coverage needs at least {_FEWEST_SEEDS} seeds in every dataset and {_FEWEST_RUNS} in all, "
        f"and there are {have}"
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
    """Of each method over all its runs; the first half of the rows contains the scores as measured."""
    half = drawn[0].shape[1] // 2
    return interquartile_mean(np.concatenate([block[:, :half] for block in drawn], axis=2))


def _chances(drawn: Strata, pairs: list[tuple[int, int]]) -> Floats:
    """Of each pair, the mean over datasets with runs on two seeds; runs of the same seed are not compared.

    The second half of the rows contains the scores with lower being better, the last row the seeds.
    """
    half = drawn[0].shape[1] // 2
    columns = []
    for a, b in pairs:
        each = np.array(
            [
                probability_of_improvement(-block[:, half + a], -block[:, half + b], seeds=block[:, -1])
                for block in drawn
            ]
        )
        known = ~np.isnan(each)
        count = known.sum(axis=0)
        total = np.where(known, each, 0.0).sum(axis=0)
        columns.append(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))
    return np.stack(columns, axis=1)
