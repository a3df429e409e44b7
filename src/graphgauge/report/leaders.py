"""Who leads in every family on every dataset, by how much, and whether that is significant."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphgauge.core.errors import InputError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.family import family
from graphgauge.core.number import Number, shown
from graphgauge.core.result import Result
from graphgauge.stats.comparison import compare


class Leader(Struct, frozen=True, kw_only=True):
    """Who leads by a metric on a dataset, and by how much: the difference to the next method, and its interval."""

    family: str
    dataset: str
    metric: str
    runs: int
    best: str = "–"
    value: Number = math.nan
    second: str | None = None
    difference: Number = math.nan
    low: Number = math.nan
    high: Number = math.nan
    verdict: str = "no values"

    @property
    def is_ahead(self) -> bool:
        """Whether the leader differs significantly from the next method."""
        return self.verdict == "significant"

    def __str__(self) -> str:
        who = f"{self.family} on {self.dataset}: {self.best} leads with {self.metric} {shown(self.value)}"
        if self.second is None:
            return f"{who} ({self.verdict})"
        ends = "" if math.isnan(self.low) else f" [{shown(self.low)}, {shown(self.high)}]"
        second = self.value - self.difference
        return f"{who}, {self.second} has {shown(second)}; difference {shown(self.difference)}{ends}, {self.verdict}"


def leaders(runs: Sequence[tuple[Path, Evaluation]], first: Iterable[str] = ()) -> list[Leader]:
    """Who leads in every family on every dataset, by a metric of `first` or else the family's first headline."""
    found = []
    for (name, dataset), own in _by(runs, lambda each: (each.family, str(each.run.dataset))).items():
        metric = headline(name, [each for _, each in own], first)
        if metric is not None:
            found.append(_leader(name, dataset, metric, [(path, each) for path, each in own if metric in each]))
    return found


def headline(name: str, evaluations: Sequence[Evaluation], first: Iterable[str] = ()) -> str | None:
    """The metric that methods are ordered by: one of `first`, or the first headline that has a better direction."""
    counts = Counter(key for each in evaluations for key, result in each.items() if _judged(result))
    wanted = [*first, *getattr(family(name), "headlines", ()), *counts]
    most = max(counts.values(), default=0)
    return next((key for key in wanted if counts[key] == most > 0), None)


def _judged(result: Result) -> bool:
    return result.direction != "none" and result.defined


def _leader(name: str, dataset: str, metric: str, runs: Sequence[tuple[Path, Evaluation]]) -> Leader:
    results = {
        method: [each[metric] for _, each in own if each[metric].defined]
        for method, own in _by(runs, lambda each: str(each.run.method)).items()
    }
    means = {method: sum(each.value for each in own) / len(own) for method, own in results.items() if own}
    one = next(iter(results.values()))[0] if means else runs[0][1][metric]
    # A method whose numbers are wrong does not lead.
    wrong = {
        str(each.run.method) for _, each in runs if any(found.severity == "error" for found in each.findings.worst())
    }
    ranked = sorted(means, key=lambda method: (method in wrong, _cost(one, means[method])))
    led = Leader(family=name, dataset=dataset, metric=metric, runs=len(runs))
    if not ranked:
        return led
    best = ranked[0]
    led = replace(led, best=best, value=means[best], verdict="the only method")
    if len(ranked) == 1:
        return led
    led = replace(led, second=ranked[1], difference=means[best] - means[ranked[1]])
    try:
        pair = compare([path for path, _ in runs], metric=metric, missing="omit")[best, ranked[1]]
    except (InputError, LookupError) as error:
        return replace(led, verdict=f"not tested: {error.what if isinstance(error, InputError) else 'no pairs'}")
    low, high = (math.nan, math.nan) if pair.interval is None else pair.interval
    ends = (low, high) if pair.names[0] == best else (-high, -low)
    words = {"none": "not significant", "cannot": "too few runs to tell", "invalid": "not comparable"}
    return replace(led, low=ends[0], high=ends[1], verdict=words.get(pair.verdict, "significant"))


def _cost(result: Result, value: float) -> float:
    """What is to be small."""
    if result.target is not None:
        return abs(value - result.target)
    return value if result.direction == "lower" else -value


def _by(runs: Sequence[tuple[Path, Evaluation]], key: Callable[[Evaluation], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = {}
    for path, each in runs:
        groups.setdefault(key(each), []).append((path, each))
    return groups
