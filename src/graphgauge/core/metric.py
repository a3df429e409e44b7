"""Metrics: a function with its declared properties.

A metric function takes a sample of its family, and the parameters that its key names, and returns an `Estimate`. What
is declared beside it (direction, bounds, chance, interval, laws) is what results, documents and tests are made from.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec.structs import replace

from graphgauge.core.errors import OptionError
from graphgauge.core.references import REFERENCES
from graphgauge.core.result import Direction, Interval, Reference, Result, enclosing
from graphgauge.core.types import Floats, Ints

LAWS = ("permutation", "merge", "monotone", "symmetry")
# The convention of a metric that follows an option of the evaluation.
AS_CHOSEN = "as chosen"


@dataclass(frozen=True)
class Estimate:
    """What a metric function returns: `value` and `n`, one entry per group of items (one group: the whole).

    `influence` has the first-order error that each item contributes, from which intervals follow. `reason` says why a
    value is NaN. `facts` are for the metric's interval, or override its declared `unit`, `goal`, `target` and
    `bounds`. The estimate is `absent` if the input does not have what the metric needs.
    """

    value: Floats
    n: Ints
    influence: Floats | None = None
    reason: str = "no items"
    warnings: tuple[str, ...] = ()
    oracle: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    absent: bool = False


@dataclass(frozen=True)
class Bounds:
    """The ends of an interval per group, and how it was made: by `method`, over units of this kind.

    Ends are NaN if there are too few units, or if all are equal; `fewest` says how many are needed.
    """

    low: Floats
    high: Floats
    method: str
    over: str
    fewest: str = "at least two"


@dataclass(frozen=True)
class NoInterval:
    """There is no valid interval, and why."""

    reason: str


@dataclass(frozen=True)
class NoChance:
    """There is no meaningful level of chance, and why."""

    reason: str


@dataclass(frozen=True)
class Exempt:
    """A law that does not hold, and why."""

    reason: str


MetricFunction = Callable[..., Estimate]
# (sample, estimate, confidence) -> bounds
IntervalFunction = Callable[[Any, Estimate, float], Bounds | NoInterval]
# (sample, **params) -> reference levels
ChanceFunction = Callable[..., Iterable[Reference]]


def _at(module: str, name: str) -> Any:
    """What has this name in a module."""
    return attrgetter(name)(import_module(module))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A declared metric.

    `key` names the parameters that belong to it, `hits@{k}`. `needs` are the samples that it can be computed on, of
    which the first available one is used. `headline` metrics are computed by default. `tolerance` is how far a
    repetition may differ. `fair_to` are the classes of predictions (`Family.classes`) that can be compared by it.
    """

    key: str
    family: str
    needs: tuple[str, ...]
    function: MetricFunction
    direction: Direction
    bounds: tuple[float, float]
    unit: str
    chance: ChanceFunction | NoChance
    interval: IntervalFunction | NoInterval
    laws: Mapping[str, bool | Exempt]
    reference: str | None = None
    conventions: Mapping[str, str] = field(default_factory=dict)
    section: str | None = None
    target: float | None = None
    goal: float | None = None
    default: bool = False
    tolerance: float = 1e-12
    formula: str = ""
    interpretation: Callable[[Result], str] | None = None
    fair_to: tuple[str, ...] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its place, as functions are; its function's name there is that of the metric."""
        return _at, (self.function.__module__, self.function.__qualname__)

    @cached_property
    def name(self) -> str:
        """The metric without its parameters: `hits` for `hits@{k}`."""
        return re.sub(r"[@_.]*\{.*\}.*", "", self.key)

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters in the key, with their defaults."""
        parameters = inspect.signature(self.function).parameters
        return {name: parameters[name].default for name in re.findall(r"\{(\w+)\}", self.key)}

    def key_of(self, **params: Any) -> str:
        """The key with its parameters filled in."""
        return self.key.format(**(self.params | params))

    def parse(self, key: str) -> dict[str, Any] | None:
        """The parameters in `key`, or None if it is not a key of this metric."""
        match = re.fullmatch(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(self.key)), key)
        if match is None:
            return None
        params = {}
        for name, text in match.groupdict().items():
            try:
                params[name] = type(self.params[name])(text)
            except OptionError as error:
                raise OptionError(f"{key!r}: {error.what}", fix=error.fix) from None
            except ValueError:
                raise OptionError(f"{key!r}: {name} must be a number, not {text!r}") from None
        return params

    @property
    def summary(self) -> str:
        """What it measures, in one line."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def definition(self) -> str:
        """What it measures, with formula and conventions."""
        return inspect.getdoc(self.function) or ""

    @property
    def bibtex(self) -> str:
        """The source that it cites."""
        return "" if self.reference is None else REFERENCES[self.reference].bibtex

    def __call__(self, sample: Any, **params: Any) -> Estimate:
        return self.function(sample, **params)

    def bounds_of(self, sample: Any, estimate: Estimate, confidence: float) -> Bounds | NoInterval:
        """The interval of `estimate` on `sample`, per group: it contains the value and is within the metric's bounds.

        `confidence` is its level.
        """
        if isinstance(self.interval, NoInterval):
            return self.interval
        ends = self.interval(sample, estimate, confidence)
        if isinstance(ends, NoInterval):
            return ends
        low, high = enclosing(estimate.value, ends.low, ends.high, estimate.facts.get("bounds", self.bounds))
        return Bounds(low, high, ends.method, ends.over, ends.fewest)

    def result(
        self,
        sample: Any,
        estimate: Estimate,
        params: Mapping[str, Any],
        *,
        confidence: float,
        conventions: Mapping[str, str],
    ) -> Result:
        """The `estimate` of the whole `sample` with these `params` as a Result, with interval and reference levels.

        `confidence` is the interval's level; `conventions` are those of the evaluation.
        """
        value, facts = float(estimate.value[0]), estimate.facts
        interval, no_interval = self._interval(sample, estimate, confidence)
        levels = () if isinstance(self.chance, NoChance) or math.isnan(value) else self.chance(sample, **params)
        own = {name: rule for name, rule in self.conventions.items() if rule != AS_CHOSEN}
        result = Result(
            key=self.key_of(**params),
            metric=self.name,
            value=value,
            n=0 if math.isnan(value) else int(estimate.n[0]),
            unit=facts.get("unit", self.unit),
            direction=self.direction,
            bounds=facts.get("bounds", self.bounds),
            params=dict(params),
            section=self.section,
            target=facts.get("target", self.target),
            goal=facts.get("goal", self.goal),
            interval=interval,
            no_interval=no_interval,
            references=tuple(levels),
            conventions={**self.conventions, **conventions, **own, **facts.get("conventions", {})},
            reason=estimate.reason if math.isnan(value) else None,
            warnings=estimate.warnings,
            oracle=estimate.oracle,
            tolerance=self.tolerance,
        )
        if self.interpretation is None or not result.defined:
            return result
        # Said last: the sentence may use interval, chance and goal.
        return replace(result, interpretation=self.interpretation(result))

    def _interval(self, sample: Any, estimate: Estimate, confidence: float) -> tuple[Interval | None, str | None]:
        if math.isnan(float(estimate.value[0])):
            return None, f"no value: {estimate.reason}"
        ends = self.bounds_of(sample, estimate, confidence)
        if isinstance(ends, NoInterval):
            return None, ends.reason
        low, high = float(ends.low[0]), float(ends.high[0])
        if math.isnan(low) or math.isnan(high):
            return None, f"needs {ends.fewest} {ends.over} that differ"
        return Interval(low, high, confidence, ends.method, ends.over), None


def whole(value: float, n: int, influence: Any = None, **parts: Any) -> Estimate:
    """The estimate of one group: a number, its number of items, and the influence of each item.

    Parameters
    ----------
    value
        The number; NaN if there is none.
    n
        How many items it is of.
    influence
        The first-order error that each item contributes, for an interval.
    **parts
        What else an `Estimate` has, such as `reason` or `warnings`.

    Returns
    -------
    Estimate
        What a metric's function returns.

    Examples
    --------
    >>> from graphgauge.core.metric import whole
    >>> whole(0.25, 40).value.tolist()
    [0.25]
    """
    errors = None if influence is None else np.asarray(influence, dtype=np.float64)
    return Estimate(np.array([value], dtype=np.float64), np.array([n], dtype=np.int64), errors, **parts)
