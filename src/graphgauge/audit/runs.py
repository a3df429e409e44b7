"""Checks of many results together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphgauge.core.findings import Evidence, check
from graphgauge.core.result import Evaluation, Result
from graphgauge.stats.power import attainable_p, seeds_needed

Methods = Mapping[str, Sequence[Evaluation]]
# From so many variants with one run each on, the best of them is a selection.
_MANY = 5
_ALPHA = 0.05
# Conventions of how a file is read, which may well differ between methods; the others define the number.
_READING = ("nan", "sign", "edges", "encoding", "threshold")


def _panels(evaluations: Sequence[Evaluation]) -> Iterator[tuple[str, Methods]]:
    """The results of one family on one dataset, by method."""
    panels: dict[tuple[str, str], dict[str, list[Evaluation]]] = defaultdict(lambda: defaultdict(list))
    for each in evaluations:
        panels[each.family, str(each.run["dataset"])][str(each.run["method"])].append(each)
    for (family, dataset), methods in panels.items():
        yield f"{family} on {dataset}", methods


def _shared(methods: Methods) -> str | None:
    """The first judged metric that all results have."""
    first, *others = [each for runs in methods.values() for each in runs]
    keys = (key for key, result in first.items() if result.direction in ("higher", "lower"))
    return next((key for key in keys if all(key in other for other in others)), None)


@check(
    "few-seeds",
    family="runs",
    severity="warning",
    message="{where}: {methods} methods are compared on {seeds} seeds, and {needed} is the fewest with which a "
    "paired test of {comparisons} pairs can reject at all (p cannot fall below {smallest:.3f})",
    remedy="Run more seeds, or claim no difference between methods.",
)
def few_seeds(evaluations: Sequence[Evaluation]) -> Evidence | None:
    """Too few seeds for any claim about which method is better."""
    for where, methods in _panels(evaluations):
        if len(methods) < 2:
            continue
        seeds = min(len({each.run["seed"] for each in runs}) for runs in methods.values())
        pairs = len(methods) * (len(methods) - 1) // 2
        needed = seeds_needed(pairs)
        if seeds < needed:
            return {
                "where": where, "methods": len(methods), "seeds": seeds, "needed": needed, "comparisons": pairs,
                "smallest": attainable_p(seeds),
            }  # fmt: skip
    return None


@check(
    "unpaired-seeds",
    family="runs",
    severity="warning",
    message="{where}: {method} has the seeds {mine}, {other} has {theirs}: what differs between seeds is counted as a "
    "difference between methods",
    remedy="Run every method with the same seeds, so that they can be compared pair by pair.",
)
def unpaired_seeds(evaluations: Sequence[Evaluation]) -> Evidence | None:
    """Methods were run with different seeds."""
    for where, methods in _panels(evaluations):
        seeds = {method: sorted({str(each.run["seed"]) for each in runs}) for method, runs in methods.items()}
        (first, mine), *others = seeds.items()
        for method, theirs in others:
            if theirs != mine:
                return {
                    "where": where, "method": first, "mine": _listed(mine), "other": method, "theirs": _listed(theirs)
                }  # fmt: skip
    return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


@check(
    "mixed-conventions",
    family="runs",
    severity="error",
    message="{where}: {key} of {method} was computed with {name} = {mine}, that of {other} with {name} = {theirs}: "
    "these are different numbers under one name",
    remedy="Evaluate all of them with the same options; a study file holds them in one place.",
)
def mixed_conventions(evaluations: Sequence[Evaluation]) -> Evidence | None:
    """One table holds numbers of one name that were computed by different conventions."""
    for where, methods in _panels(evaluations):
        seen: dict[tuple[str, str], tuple[str, str]] = {}
        for method, runs in methods.items():
            for key, name, value in (stated for each in runs for stated in _stated(each)):
                other, theirs = seen.setdefault((key, name), (method, value))
                if theirs != value:
                    return {
                        "where": where, "key": key, "method": method, "name": name, "mine": value, "other": other,
                        "theirs": theirs,
                    }  # fmt: skip
    return None


def _stated(evaluation: Evaluation) -> Iterator[tuple[str, str, str]]:
    for key, result in evaluation.items():
        for name, value in {**evaluation.conventions, **result.conventions}.items():
            if name not in _READING:
                yield key, name, value


@check(
    "best-of-many",
    family="runs",
    severity="warning",
    message="{where}: {best} is the best of {count} variants with one run each ({key} {value:.4f}), and variants "
    "that are all equal would differ as much (p = {p:.2f})",
    remedy="Choose on validation data and report the choice on test data, or run the best again with other seeds.",
)
def best_of_many(evaluations: Sequence[Evaluation]) -> Evidence | None:
    """The best of a sweep stands out no more than the luckiest of as many equals."""
    for where, methods in _panels(evaluations):
        single = {method: runs[0] for method, runs in methods.items() if len(runs) == 1}
        key = _shared(methods)
        if key is None or len(single) < _MANY or len(single) < len(methods):
            continue
        results = {method: each[key] for method, each in single.items() if each[key].interval is not None}
        if len(results) < _MANY:
            continue
        p = _homogeneity(list(results.values()))
        if p > _ALPHA:
            sign = 1 if next(iter(results.values())).direction == "higher" else -1
            best = max(results, key=lambda method: sign * results[method].value)
            return {
                "where": where, "best": best, "count": len(results), "key": key, "value": results[best].value, "p": p
            }  # fmt: skip
    return None


@check(
    "difference-within-error",
    family="runs",
    severity="note",
    message="{where}: {first} is ahead of {second} in {key} by {difference:.4f}, and the error of that difference is "
    "{error:.4f}",
    remedy="Say that they are not told apart, or compare them item by item on the same data.",
)
def difference_within_error(evaluations: Sequence[Evaluation]) -> Evidence | None:
    """The best is ahead of the second by less than the uncertainty of the two."""
    for where, methods in _panels(evaluations):
        key = _shared(methods)
        if key is None or len(methods) < 2 or any(len(runs) > 1 for runs in methods.values()):
            continue
        results = {method: runs[0][key] for method, runs in methods.items() if runs[0][key].interval is not None}
        if len(results) < 2:
            continue
        sign = 1 if next(iter(results.values())).direction == "higher" else -1
        first, second = sorted(results, key=lambda method: -sign * results[method].value)[:2]
        difference = abs(results[first].value - results[second].value)
        error = float(np.hypot(_error(results[first]), _error(results[second])))
        if difference < 1.96 * error:
            return {
                "where": where, "first": first, "second": second, "key": key, "difference": difference, "error": error
            }  # fmt: skip
    return None


@check(
    "not-above-chance",
    family="runs",
    severity="warning",
    message="{where}: {key} of {method} is {value:.4f} [{low:.4f}, {high:.4f}], and {baseline} alone scores "
    "{chance:.4f}",
    remedy="Report the baseline beside it: this number does not show that anything was learned.",
)
def not_above_chance(evaluations: Sequence[Evaluation]) -> Evidence | None:
    """The first judged metric of a method is not distinguishable from what a baseline without knowledge scores."""
    for where, methods in _panels(evaluations):
        for method, runs in methods.items():
            for each in runs:
                found = _level_with_chance(each)
                if found is not None:
                    return {"where": where, "method": method, **found}
    return None


def _level_with_chance(evaluation: Evaluation) -> dict[str, Any] | None:
    judged = (item for item in evaluation.items() if item[1].direction in ("higher", "lower"))
    key, result = next(judged, (None, None))
    if result is None or result.interval is None or not result.chance:
        return None
    level = result.chance[-1]
    low, high = result.interval
    beaten = low > level.value if result.direction == "higher" else high < level.value
    if beaten:
        return None
    return {
        "key": key, "value": result.value, "low": low, "high": high, "baseline": level.name, "chance": level.value
    }  # fmt: skip


def _error(result: Result) -> float:
    from scipy.stats import norm

    assert result.interval is not None
    return (result.interval.high - result.interval.low) / (2 * float(norm.ppf((1 + result.interval.level) / 2)))


def _homogeneity(results: Sequence[Result]) -> float:
    """Cochran's Q: the probability that equal methods differ this much or more."""
    from scipy.stats import chi2

    values = np.array([result.value for result in results])
    weights = 1 / np.maximum(np.array([_error(result) for result in results]), 1e-300) ** 2
    mean = float((weights * values).sum() / weights.sum())
    return float(chi2.sf((weights * (values - mean) ** 2).sum(), len(values) - 1))
