"""A trial of a declared metric: on its family's example it has to do what it declares.

The module `example` of a family has `SAMPLES`, an example of each kind of sample by name, and `LAWS`, for each law that
can be tried a function from a sample to another on which the value has to be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphgauge.core.errors import OptionError
from graphgauge.core.family import family, family_names
from graphgauge.core.metric import Estimate, Metric, NoChance, NoInterval
from graphgauge.core.result import Reference

_CLOSE = 1e-9


def tried(metric: Metric) -> None:
    """Refuse a metric that does not do what it declares."""
    problem = next(problems(metric), None)
    if problem is not None:
        raise OptionError(f"metric {metric.key!r} {problem}", fix="Correct the function, or what it declares.")


def problems(metric: Metric) -> Iterator[str]:
    """What is wrong with a metric, as ends of a sentence."""
    example = family(metric.family).module("example") if metric.family in family_names() else None
    if example is None:
        return
    names = [name for name in metric.needs if name in example.SAMPLES]
    if not names:
        yield f"needs {' or '.join(metric.needs)}; samples of {metric.family} are {', '.join(example.SAMPLES)}"
    for name in names:
        yield from _wrong_on(metric, example.SAMPLES[name], getattr(example, "LAWS", {}))


def _wrong_on(metric: Metric, sample: Any, laws: Any) -> Iterator[str]:
    params = dict(metric.params)
    try:
        estimate = metric(sample, **params)
    except Exception as error:
        yield f"fails on the example of its family with {type(error).__name__}: {error}"
        return
    if not isinstance(estimate, Estimate):
        yield f"returns {type(estimate).__name__}, not an Estimate; whole(value, n) makes one of a number"
        return
    value = np.atleast_1d(estimate.value)
    if value.shape != np.atleast_1d(estimate.n).shape:
        yield f"returns {value.shape} values and {np.shape(estimate.n)} counts"
        return
    low, high = metric.bounds
    if np.any((value < low) | (value > high)):
        yield f"has the value {value[0]:.6g} on the example of its family, outside its bounds ({low:g}, {high:g})"
    yield from _wrong_interval(metric, sample, estimate)
    yield from _wrong_chance(metric, sample, params)
    for law, turned in laws.items():
        if metric.laws.get(law) is True:
            other = metric(turned(sample), **params).value
            if not np.allclose(value, other, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
                change = f"{value[0]:.6g} to {np.atleast_1d(other)[0]:.6g}"
                yield f"declares the law {law}, and changes from {change} under it"


def _wrong_interval(metric: Metric, sample: Any, estimate: Estimate) -> Iterator[str]:
    try:
        ends = metric.bounds_of(sample, estimate, 0.95)
    except Exception as error:
        yield f"has an interval that fails on the example of its family with {type(error).__name__}: {error}"
        return
    if not isinstance(ends, NoInterval) and np.shape(ends.low) != np.shape(estimate.value):
        yield f"has {np.shape(ends.low)} ends of intervals for {np.shape(estimate.value)} values"


def _wrong_chance(metric: Metric, sample: Any, params: dict[str, Any]) -> Iterator[str]:
    if isinstance(metric.chance, NoChance):
        return
    try:
        levels = list(metric.chance(sample, **params))
    except Exception as error:
        yield f"has a chance that fails on the example of its family with {type(error).__name__}: {error}"
        return
    wrong = next((each for each in levels if not isinstance(each, Reference)), None)
    if wrong is not None:
        yield f"has a level of chance that is {type(wrong).__name__}, not a Reference(name, value)"
