"""Checks of many results together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from math import isfinite
from typing import Any

import numpy as np

from graphgauge.core.evaluation import READINGS, Evaluation
from graphgauge.core.finding import RUNS, Check, Severity, check
from graphgauge.core.number import plural
from graphgauge.core.result import Reference, Result
from graphgauge.stats import seeds_needed
from graphgauge.stats.errors import is_rounding, standard_error
from graphgauge.stats.intervals import t_interval

Evidence = Mapping[str, Any]
Methods = Mapping[str, Sequence[Evaluation]]
# Each place where a check applies, with what it is about there.
Cases = Callable[[Sequence[Evaluation]], Iterator[tuple[str, Evidence]]]
# Caused by the births it judges, so no evidence for or against a method.
_CIRCULAR = ("auc_synthetic",)
# From this number of variants with one run each, the best one is a selection.
_MANY = 5
_ALPHA = 0.05


def _panels(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Methods]]:
    """The results of one family on one dataset, by method."""
    panels: dict[tuple[str, str], dict[str, list[Evaluation]]] = defaultdict(lambda: defaultdict(list))
    for each in evaluations:
        named = each.run.dataset or "unnamed data", each.run.method or "an unnamed method"
        panels[each.family, str(named[0])][str(named[1])].append(each)
    for (family, dataset), methods in panels.items():
        yield f"{family} on {dataset}", methods


def _shared(runs: Sequence[Evaluation]) -> str | None:
    """The first judged metric that all results have."""
    first, *others = runs
    keys = (key for key, result in first.items() if result.direction in ("higher", "lower") and key not in _CIRCULAR)
    return next((key for key in keys if all(key in other for other in others)), None)


def _with_sign(key: str | None, runs: Sequence[Evaluation]) -> str | None:
    """The signed form of an absolute metric if all results have it: a change for the worse is not a success."""
    name, at, level = (key or "").partition("@")
    signed = f"{name}.signed{at}{level}"
    return signed if all(signed in each for each in runs) else key


def _single(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, str, Mapping[str, Result]]]:
    """If every method has one run: the first judged metric that all have, and its results with an interval."""
    for where, methods in _panels(evaluations):
        runs = [each for own in methods.values() for each in own]
        key = _shared(runs)
        if key is not None and len(runs) == len(methods):
            results = {method: own[0][key] for method, own in methods.items()}
            yield where, key, {method: result for method, result in results.items() if _has_error(result)}


def _best_first(results: Mapping[str, Result]) -> list[str]:
    sign = -1 if next(iter(results.values())).direction == "higher" else 1
    return sorted(results, key=lambda method: sign * results[method].value)


def _seeds(methods: Methods) -> dict[str, list[str]]:
    """The seeds of each method that has any: a count, or a forecast by rule, has none."""
    found = {method: {each.run.seed for each in runs} - {None} for method, runs in methods.items()}
    return {method: sorted(map(str, seeds)) for method, seeds in found.items() if seeds}


def _of_runs(name: str, severity: Severity, message: str, remedy: str) -> Callable[[Cases], Check]:
    """Declare a check of many results by its cases; it reports the first one, and where else it applies."""

    def declare(cases: Cases) -> Check:
        @wraps(cases)
        def first_case(evaluations: Sequence[Evaluation]) -> Evidence | None:
            found = list(cases(evaluations))
            if not found:
                return None
            first, *others = [evidence.get("place", where) for where, evidence in found]
            places = list(dict.fromkeys(place for place in others if place != first))
            where, evidence = found[0]
            return {"where": where, **evidence, "also": f"; likewise {_listed(places)}" if places else ""}

        everywhere = f"{{where}}: {message}{{also}}"
        return check(name, family=RUNS, severity=severity, message=everywhere, remedy=remedy)(first_case)

    return declare


@_of_runs(
    "few-seeds",
    "warning",
    "{methods} methods are compared on {on}, and paired tests of "
    "all {comparisons} pairs need at least {needed} to reject (p cannot fall below {smallest:.3f})",
    "Run more seeds, or claim no difference between methods.",
)
def few_seeds(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Evidence]]:
    """Too few seeds for any claim about which method is better."""
    for where, methods in _panels(evaluations):
        seeds = min(map(len, _seeds(methods).values()), default=None)
        if len(methods) < 2 or seeds is None:
            continue
        pairs = len(methods) * (len(methods) - 1) // 2
        needed = seeds_needed(pairs)
        if seeds < needed:
            need = {"comparisons": pairs, "needed": needed, "smallest": 2.0 ** (1 - seeds)}
            yield where, {"methods": len(methods), "seeds": seeds, "on": plural(seeds, "seed"), **need}


@_of_runs(
    "unpaired-seeds",
    "warning",
    "{method} has the seeds {mine}, {other} has {theirs}: differences between seeds count as a "
    "difference between methods",
    "Run every method with the same seeds, so that runs can be paired.",
)
def unpaired_seeds(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Evidence]]:
    """Methods were run with different seeds."""
    for where, methods in _panels(evaluations):
        seeds = list(_seeds(methods).items())
        for method, theirs in seeds[1:]:
            first, mine = seeds[0]
            if theirs != mine:
                yield where, {"method": first, "mine": _listed(mine), "other": method, "theirs": _listed(theirs)}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


@_of_runs(
    "mixed-conventions",
    "error",
    "{key} of {method} was computed with {name} = {mine}, that of {other} with {name} = {theirs}: "
    "these are different numbers under one name",
    "Evaluate all of them with the same options; a study file keeps them in one place.",
)
def mixed_conventions(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Evidence]]:
    """Numbers of one name were computed under different conventions."""
    for where, methods in _panels(evaluations):
        seen: dict[tuple[str, str], tuple[str, str]] = {}
        for method, runs in methods.items():
            for key, name, value in (stated for each in runs for stated in _stated(each)):
                other, theirs = seen.setdefault((key, name), (method, value))
                if theirs != value:
                    sides = {"method": method, "mine": value, "other": other, "theirs": theirs}
                    yield where, {"key": key, "name": name, **sides}


def _stated(evaluation: Evaluation) -> Iterator[tuple[str, str, str]]:
    for key, result in evaluation.items():
        for name, value in {**evaluation.conventions, **result.conventions}.items():
            if name not in READINGS:
                yield key, name, value


@_of_runs(
    "best-of-many",
    "warning",
    "{best} is the best of {count} variants with one run each ({key} {value:.4f}), and variants "
    "that are all equal would differ as much (p = {p:.2f})",
    "Choose on validation data and report the choice on test data, or run the best again with other seeds.",
)
def best_of_many(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Evidence]]:
    """The best of a sweep is no better than the luckiest of as many equal variants."""
    for where, key, results in _single(evaluations):
        if len(results) < _MANY:
            continue
        p = _homogeneity(list(results.values()))
        if p > _ALPHA:
            best = _best_first(results)[0]
            yield where, {"best": best, "count": len(results), "key": key, "value": results[best].value, "p": p}


@_of_runs(
    "difference-within-error",
    "note",
    "{first} is ahead of {second} in {key} by {difference:.4f}, and the error of that difference is {error:.4f}",
    "Say that they do not differ significantly, or compare them item by item on the same data.",
)
def difference_within_error(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Evidence]]:
    """The best is ahead of the second by less than the error of the difference."""
    for where, key, results in _single(evaluations):
        if len(results) < 2:
            continue
        first, second = _best_first(results)[:2]
        difference = abs(results[first].value - results[second].value)
        error = float(np.hypot(_error(results[first]), _error(results[second])))
        if 0 < difference < 1.96 * error:
            yield where, {"first": first, "second": second, "key": key, "difference": difference, "error": error}


@_of_runs(
    "not-above-chance",
    "warning",
    "{key} of {method} is {value:.4f} [{low:.4f}, {high:.4f}], and {baseline} alone scores {chance:.4f}",
    "Report the baseline next to it: this number does not show that anything was learned.",
)
def not_above_chance(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Evidence]]:
    """The first judged metric of a method does not differ significantly from a baseline without knowledge."""
    for where, methods in _panels(evaluations):
        for method, runs in methods.items():
            found = _level_with_chance(runs)
            if found is not None:
                yield where, {"method": method, "place": f"{method} in {where}", **found}


def _level_with_chance(runs: Sequence[Evaluation]) -> dict[str, Any] | None:
    """The mean over several runs and its interval: one run of many that reaches chance shows nothing."""
    key = _with_sign(_shared(runs), runs)
    results = [] if key is None else [each[key] for each in runs]
    judged = [each for each in results if _has_error(each) or _has_no_spread(each)]
    levels = [level for each in judged if (level := _blind(each)) is not None]
    if not levels or len(levels) < len(runs):
        return None
    chance = float(np.mean([level.value for level in levels]))
    low, high = _span(results, [level.value for level in levels])
    beaten = low > chance if results[0].direction == "higher" else high < chance
    beaten = beaten and not (low == high and is_rounding(abs(low - chance), chance))
    if beaten or not isfinite(high - low):
        return None
    return {
        "key": key,
        "value": float(np.mean([each.value for each in results])),
        "low": low,
        "high": high,
        "baseline": levels[0].name,
        "chance": chance,
    }


def _blind(result: Result) -> Reference | None:
    """The score of a baseline without knowledge: the last one listed, which is the hardest."""
    return next((level for level in reversed(result.references) if level.kind != "ideal"), None)


def _span(results: Sequence[Result], chance: Sequence[float]) -> tuple[float, float]:
    """The interval of a single result, or Student's t over several; the value if there is no spread."""
    if len(results) == 1:
        own = results[0].interval
        return (results[0].value, results[0].value) if own is None else (own.low, own.high)
    # Runs differ in what chance scores too: what counts is how far each is above its own.
    ahead = np.array([each.value for each in results]) - chance
    error, df = standard_error(ahead - ahead.mean(), np.ones(len(ahead)))
    mean = float(np.mean([each.value for each in results]))
    lows, highs = t_interval(mean, error, df, 0.95)
    # Runs that all agree have no interval; compare their value.
    return (mean, mean) if np.isnan(lows[0]) else (float(lows[0]), float(highs[0]))


def _has_error(result: Result) -> bool:
    return result.interval is not None and all(isfinite(number) for number in (result.value, *result.interval))


def _has_no_spread(result: Result) -> bool:
    """Whether all items have the same value, as with a constant scorer."""
    return result.interval is None and result.n > 1 and (result.no_interval or "").endswith("that differ")


def _error(result: Result) -> float:
    from scipy.special import ndtri

    assert result.interval is not None
    return (result.interval.high - result.interval.low) / (2 * float(ndtri((1 + result.interval.level) / 2)))


def _homogeneity(results: Sequence[Result]) -> float:
    """Cochran's Q: the probability that equal methods differ this much or more; 0 if one has no error."""
    from scipy.special import chdtrc

    values = np.array([result.value for result in results])
    errors = np.array([_error(result) for result in results])
    if not errors.all():
        return 0.0
    weights = (errors.min() / errors) ** 2
    mean = float((weights * values).sum() / weights.sum())
    with np.errstate(over="ignore"):
        return float(chdtrc(len(values) - 1, (((values - mean) / errors) ** 2).sum()))


@check(
    "unreadable-result",
    family=RUNS,
    severity="error",
    message="{said} cannot be read; {first}: {why}",
    remedy="Evaluate again, or restore the file: whatever is made of this folder lacks it.",
)
def unreadable_result(unread: Mapping[str, str]) -> Evidence | None:
    """Result files are damaged, were edited, or are of another edition."""
    if not unread:
        return None
    first, why = next(iter(unread.items()))
    return {"files": len(unread), "said": plural(len(unread), "result"), "first": first, "why": why.rstrip(".")}
