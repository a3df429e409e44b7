"""What every family runs: the chosen metrics on their samples, as results, and along axes as breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError, MissingExtraError, OptionError
from graphgauge.core.grid import Grid, column
from graphgauge.core.metric import Estimate, Metric, NoInterval
from graphgauge.core.registry import Chosen
from graphgauge.core.result import Result


@dataclass(frozen=True)
class Measured:
    """The results in order, their estimates by key, and the skipped metrics with their reasons."""

    results: list[Result] = field(default_factory=list)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def measure(
    chosen: Iterable[Chosen],
    samples: Mapping[str, Any],
    *,
    named: Collection[str],
    confidence: float,
    conventions: Mapping[str, str] | Callable[[Any], Mapping[str, str]],
) -> Measured:
    """Compute metrics as `registry.select` lists them.

    `conventions` are those of all results, or a function of the sample. Metrics that the input does not allow are left
    out with their reason; of those whose keys the user has `named`, that is an error.
    """
    measured = Measured()
    for metric, params in chosen:
        key = metric.key_of(**params)
        try:
            sample = sample_of(metric, samples)
            estimate = metric(sample, **params)
        except (InputError, MissingExtraError) as error:
            if key in named:
                raise
            measured.skipped[key] = str(error).rstrip(".")
            continue
        if estimate.absent:
            if key in named:
                raise OptionError(f"{key} {estimate.reason}")
            measured.skipped[key] = estimate.reason
            continue
        ruled = conventions(sample) if callable(conventions) else conventions
        measured.estimates[key] = estimate
        measured.results.append(metric.result(sample, estimate, params, confidence=confidence, conventions=ruled))
    return measured


def broken_down(
    axis: str,
    labels: Any,
    n: Any,
    chosen: Iterable[Chosen],
    samples: Mapping[str, Any],
    *,
    confidence: float,
    skipped: Iterable[str] = (),
) -> Grid:
    """A row per label: its number of items, and for each metric its value and the ends of its interval.

    The samples have one group per row. Metrics without a sample along this axis have no column.
    """
    columns: dict[str, Any] = {"n": np.asarray(n)}
    left_out = set(skipped)
    for metric, params in chosen:
        key = metric.key_of(**params)
        sample = sample_of(metric, samples)
        if sample is None or key in left_out:
            continue
        estimate = metric(sample, **params)
        columns[key] = estimate.value
        ends = metric.bounds_of(sample, estimate, confidence)
        if not isinstance(ends, NoInterval):
            columns |= {f"{key}.low": ends.low, f"{key}.high": ends.high}
    if axis in columns:
        raise OptionError(f"a group cannot be named {axis!r}", fix="That column contains the metric.")
    return Grid({axis: column(labels), **columns})


def sample_of(metric: Metric, samples: Mapping[str, Any]) -> Any:
    """The sample that a metric is computed on: the first that it needs of those there are. None without one."""
    return next((samples[need] for need in metric.needs if need in samples), None)
