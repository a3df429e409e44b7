"""The loop that every family runs: the chosen metrics on their samples, as results, with their breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, MissingExtraError, OptionError
from graphgauge.old.core.evaluation import Deferred
from graphgauge.old.core.later import read
from graphgauge.old.core.metric import Estimate, Floats, IntervalRule, Metric, NoInterval
from graphgauge.old.core.result import Result, Table

Chosen = tuple[Metric, dict[str, Any]]
# The sample of each metric: the first that it needs of those at hand, or what a function gives for it.
Samples = Mapping[str, Any] | Callable[[Metric], Any]


@dataclass(frozen=True)
class Measured:
    """The results in order, or what computes them, their estimates by key, and skipped metrics with the reasons."""

    results: list[Result] = field(default_factory=list)
    deferred: list[Deferred] = field(default_factory=list)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


class Axis:
    """A breakdown while it is filled: one row per group, and for each metric its value and its interval.

    The samples have one group per row; `rows` are those that are shown.
    """

    def __init__(
        self, name: str, labels: Any, n: Any, samples: Samples, rows: Sequence[int] | slice = slice(None)
    ) -> None:
        self.name, self._samples = name, samples
        self._rows = rows if isinstance(rows, slice) else np.asarray(rows, dtype=np.int64)
        self.columns: dict[str, Any] = {name: np.array(labels), "n": n[self._rows]}

    def add(self, metric: Metric, params: Mapping[str, Any], whole: Result, confidence: float) -> None:
        """The columns of a metric, whose result over all groups is `whole`; none without a sample along this axis."""
        sample = self.sample(metric)
        if sample is not None:
            self.add_estimate(metric, sample, metric(sample, **params), whole, confidence)

    def add_estimate(self, metric: Metric, sample: Any, estimate: Estimate, whole: Result, confidence: float) -> None:
        self.columns[whole.key] = estimate.value[self._rows]
        self.add_bounds(whole.key, metric.interval_of(sample, estimate, confidence))

    def sample(self, metric: Metric) -> Any:
        return sample_for(metric, self._samples)

    def add_bounds(self, name: str, found: tuple[IntervalRule, Floats, Floats] | NoInterval) -> None:
        if not isinstance(found, NoInterval):
            _, low, high = found
            self.columns |= {f"{name}.low": low[self._rows], f"{name}.high": high[self._rows]}

    @property
    def is_filled(self) -> bool:
        """Whether a metric has a column."""
        return len(self.columns) > 2

    @property
    def table(self) -> Table:
        return Table(self.name, self.columns)


def sample_for(metric: Metric, samples: Samples) -> Any:
    """The sample that a metric is computed on; None if there is none."""
    if callable(samples):
        return samples(metric)
    return read(next((samples[need] for need in metric.needs if need in samples), None))


def measured(
    chosen: Iterable[Chosen],
    samples: Samples,
    *,
    confidence: float,
    conventions: Mapping[str, str] | Callable[[Any], Mapping[str, str]],
    warning: Callable[[Metric, Any], str | None] = lambda metric, sample: None,
    skip: bool = False,
    by: Iterable[Axis] = (),
    lazily: bool = False,
) -> Measured:
    """Compute metrics, as `core.metric.select` lists them, and fill the breakdowns.

    `conventions` are those of all results, or a function of the sample. With `skip`, metrics that the input does not
    allow are left out with their reason, as for metrics that nobody asked for by name; otherwise they are an error.
    With `lazily` and without breakdowns, each result is computed when it is read, for metrics that any input allows and
    samples that nobody changes.
    """
    axes, found = list(by), Measured()

    def result(metric: Metric, params: Mapping[str, Any], sample: Any, estimate: Estimate) -> Result:
        if (warned := warning(metric, sample)) is not None:
            estimate = estimate.warned(warned)
        shown = conventions(sample) if callable(conventions) else conventions
        return metric.result(sample, estimate, params, confidence=confidence, conventions=shown)

    for metric, params in chosen:
        key = metric.key_of(**params)
        if lazily and not axes:
            sample = sample_for(metric, samples)
            found.deferred.append(Deferred(key, partial(_computed, result, metric, params, sample)))
            continue
        try:
            sample = sample_for(metric, samples)
            estimate = metric(sample, **params)
        except (InputError, MissingExtraError) as error:
            if not skip:
                raise
            found.skipped[key] = str(error).rstrip(".")
            continue
        if estimate.absent:
            if not skip:
                raise OptionError(f"{key} {estimate.reason}")
            found.skipped[key] = estimate.reason
            continue
        whole = result(metric, params, sample, estimate)
        found.results.append(whole)
        found.estimates[key] = estimate
        for axis in axes:
            axis.add(metric, params, whole, confidence)
    return found


def _computed(result: Callable[..., Result], metric: Metric, params: Mapping[str, Any], sample: Any) -> Result:
    return result(metric, params, sample, metric(sample, **params))
