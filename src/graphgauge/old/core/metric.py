"""Metrics: a function with its declared properties, and the registry of all of them."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.references import REFERENCES
from graphgauge.old.core.family import family as declared
from graphgauge.old.core.family import family_names, left_out_if_broken
from graphgauge.old.core.result import Chance, Direction, Interval, Kind, Result, enclosing

LAWS = ("permutation", "merge", "monotone", "symmetry")
# The convention of a metric that follows an option.
AS_CHOSEN = "as chosen"
# End of the reason why there is no interval: the units are too few, or all equal.
NO_SPREAD = "that differ"

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Exempt:
    """A law that does not hold, and why."""

    reason: str


Laws = Mapping[str, bool | Exempt]


@dataclass(frozen=True)
class Estimate:
    """What a metric function returns: one value per group of items (one group: the whole).

    `influence` is the contribution of one item of each cell to the first-order error; it gives the variance. `facts`
    are for the metric's interval rule, or override its declared `goal` and `target`. `reason` says why a value is NaN.
    It is `absent` if the input does not have what this metric needs: it is then skipped, or an error if asked for.
    """

    value: Floats
    n: NDArray[np.int64]
    influence: Floats | None = None
    reason: str = "no items"
    warnings: tuple[str, ...] = ()
    oracle: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)
    absent: bool = False

    def warned(self, *warnings: str) -> Estimate:
        return replace(self, warnings=(*self.warnings, *warnings)) if warnings else self


class Level(float):
    """A level of a system without knowledge, or of another kind: see the subclasses.

    A simulated level has a band, `low` to `high`, in which 95 % of the values of its system are. If it was simulated
    with fewer samples than the run has, `own` is the run's value with as many, and `note` says how many.
    """

    kind: Kind = "chance"
    low: float | None
    high: float | None
    own: float | None
    note: str | None

    def __new__(
        cls,
        value: float,
        low: float | None = None,
        high: float | None = None,
        own: float | None = None,
        note: str | None = None,
    ) -> Level:
        level = super().__new__(cls, value)
        level.low, level.high, level.own, level.note = low, high, own, note
        return level


class Baseline(Level):
    """A level of a simple system that knows something, such as the last value of a series."""

    kind: Kind = "baseline"


class Ideal(Level):
    """A level that is the best possible on this data, such as that of real samples."""

    kind: Kind = "ideal"


def _named_level(name: str, level: float) -> Chance:
    if not isinstance(level, Level):
        return Chance(name, float(level))
    return Chance(name, float(level), level.kind, level.low, level.high, level.own, level.note)


Bounds = tuple[Floats, Floats]
MetricFunction = Callable[..., Estimate]
ChanceFunction = Callable[[MetricFunction, Any, Mapping[str, Any]], Mapping[str, float]]


@dataclass(frozen=True)
class IntervalRule:
    """How a metric's intervals are computed; `function(sample, estimate, confidence)` gives bounds per group.

    Bounds are NaN if there are too few units, or if all are equal up to rounding; `fewest` says how many are needed.
    """

    method: str
    over: str
    function: Callable[[Any, Estimate, float], Bounds]
    fewest: str = "at least two"


@dataclass(frozen=True)
class NoInterval:
    """There is no valid interval, and why."""

    reason: str


@dataclass(frozen=True)
class NoChance:
    """There is no meaningful baseline, and why."""

    reason: str


IntervalChoice = Callable[[Any, Estimate], IntervalRule | NoInterval]
# A sentence that interprets a value.
Interpretation = Callable[[Result], str]


@dataclass(frozen=True)
class Section:
    """Metrics of a family that answer one question; `metrics=` takes the section's name for all of them."""

    name: str
    family: str
    question: str
    priority: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metric:
    """A registered metric: its function and its declared properties.

    `needs` names the samples that it can be computed on; the first available one is used. `fair_to` are the classes of
    predictions (see `Family.classes`) that can be compared by it; None: all.
    """

    key: str
    family: str
    needs: tuple[str, ...]
    function: MetricFunction
    direction: Direction
    bounds: tuple[float, float]
    unit: str
    conventions: Mapping[str, str]
    reference: str
    chance: ChanceFunction | NoChance
    interval: IntervalChoice | NoInterval
    laws: Laws
    section: str | None = None
    target: float | None = None
    default: bool = True
    goal: float | None = None
    interpretation: Interpretation | None = None
    fair_to: tuple[str, ...] | None = None

    def __reduce__(self) -> Any:
        # The decorated function has the name of the metric that replaced it.
        registered = _REGISTRY.get(self.family, {}).get(self.key) is self
        return (_of_registry, (self.family, self.key)) if registered else super().__reduce__()

    @cached_property
    def name(self) -> str:
        """The metric without its parameters: `hits` for `hits@{k}`."""
        return re.sub(r"[@_.]*\{.*\}.*", "", self.key)

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters in the key, with their defaults."""
        signature = inspect.signature(self.function)
        return {name: signature.parameters[name].default for name in re.findall(r"\{(\w+)\}", self.key)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(self.key)))

    def key_of(self, **params: Any) -> str:
        return self.key.format(**params)

    def parse(self, key: str) -> dict[str, Any] | None:
        """The parameters in `key`, or None if it is not a key of this metric."""
        match = self._pattern.fullmatch(key)
        if match is None:
            return None
        params = {}
        for name, text in match.groupdict().items():
            try:
                params[name] = type(self.params[name])(text)
            except ValueError:
                raise OptionError(f"{key!r}: {name} must be a number, not {text!r}") from None
        return params

    @cached_property
    def fixed_conventions(self) -> dict[str, str]:
        """The conventions that no option changes."""
        return {name: rule for name, rule in self.conventions.items() if rule != AS_CHOSEN}

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def definition(self) -> str:
        return inspect.getdoc(self.function) or ""

    @property
    def bibtex(self) -> str:
        return REFERENCES[self.reference].bibtex

    def __call__(self, sample: Any, **params: Any) -> Estimate:
        return self.function(sample, **params)

    def interval_of(
        self, sample: Any, estimate: Estimate, confidence: float
    ) -> tuple[IntervalRule, Floats, Floats] | NoInterval:
        """The rule that applies and its bounds per group. They contain the value and are within the metric's bounds."""
        rule = self._rule(sample, estimate)
        if isinstance(rule, NoInterval):
            return rule
        low, high = rule.function(sample, estimate, confidence)
        return rule, *enclosing(estimate.value, low, high, self.bounds)

    def _rule(self, sample: Any, estimate: Estimate) -> IntervalRule | NoInterval:
        return self.interval if isinstance(self.interval, NoInterval) else self.interval(sample, estimate)

    def result(
        self,
        sample: Any,
        estimate: Estimate,
        params: Mapping[str, Any],
        *,
        confidence: float,
        conventions: Mapping[str, str],
    ) -> Result:
        """The whole-sample estimate as a Result, with its interval and its chance levels."""
        value = float(estimate.value[0])
        n = 0 if math.isnan(value) else int(estimate.n[0])  # a value that is NaN was measured on nothing
        interval, no_interval = self._whole_interval(sample, estimate, confidence)
        chance: tuple[Chance, ...] = ()
        if not isinstance(self.chance, NoChance) and n > 0:
            levels = self.chance(self.function, sample, params)
            chance = tuple(_named_level(name, level) for name, level in levels.items())
        found = Result(
            key=self.key_of(**params),
            metric=self.name,
            params=dict(params),
            value=value,
            n=n,
            unit=estimate.facts.get("unit", self.unit),
            direction=self.direction,
            target=estimate.facts.get("target", self.target),
            bounds=self.bounds,
            section=self.section,
            interval=interval,
            no_interval=no_interval,
            chance=chance,
            # Conventions that the metric fixes override the chosen ones.
            conventions={**self.conventions, **conventions, **self.fixed_conventions},
            reason=estimate.reason if math.isnan(value) else None,
            oracle=estimate.oracle,
            warnings=estimate.warnings,
            goal=estimate.facts.get("goal", self.goal),
            priority=_priority(self),
        )
        # The interpretation comes last: it may use the interval, the chance level and the goal.
        if self.interpretation is None or not found.defined:
            return found
        return replace(found, interpretation=self.interpretation(found))

    def _whole_interval(self, sample: Any, estimate: Estimate, confidence: float) -> tuple[Interval | None, str | None]:
        if math.isnan(float(estimate.value[0])):
            return None, f"no value: {estimate.reason}"
        rule = self._rule(sample, estimate)
        if isinstance(rule, NoInterval):
            return None, rule.reason
        ends = rule.function(sample, estimate, confidence)
        value, low, high = float(estimate.value[0]), float(ends[0][0]), float(ends[1][0])
        if math.isnan(low) or math.isnan(high):
            return None, f"needs {rule.fewest} {rule.over} {NO_SPREAD}"
        # As `enclosing`, in Python's numbers.
        low, high = min(max(low, self.bounds[0]), value), max(min(high, self.bounds[1]), value)
        return Interval(low, high, confidence, rule.method, rule.over), None


_REGISTRY: dict[str, dict[str, Metric]] = {}
# Families whose metrics have been imported.
_READ: set[str | None] = set()
_SECTIONS: dict[str, dict[str, Section]] = {}


def section(name: str, *, family: str, question: str, priority: str, aliases: tuple[str, ...] = ()) -> Section:
    """Declare a section, before its metrics."""
    entry = Section(name, family, question, priority, aliases)
    _SECTIONS.setdefault(family, {})[name] = entry
    return entry


def sections(family: str) -> tuple[Section, ...]:
    """The sections of a family, declared or named by a metric; most families have none."""
    named = [entry.section for entry in metrics(family) if entry.section is not None]
    declared = _SECTIONS.get(family, {})
    return tuple(declared.get(name) or Section(name, family, "", "") for name in dict.fromkeys([*declared, *named]))


def _priority(entry: Metric) -> str | None:
    """The priority of a metric's section, for metrics that have an interpretation."""
    known = _SECTIONS.get(entry.family, {}).get(entry.section or "")
    return None if known is None or entry.interpretation is None else known.priority


def metric(
    *,
    key: str,
    family: str,
    needs: tuple[str, ...],
    direction: Direction,
    bounds: tuple[float, float],
    unit: str,
    conventions: Mapping[str, str],
    reference: str,
    chance: ChanceFunction | NoChance,
    interval: IntervalChoice | NoInterval,
    laws: Laws,
    section: str | None = None,
    target: float | None = None,
    default: bool = True,
    goal: float | None = None,
    interpretation: Interpretation | None = None,
    fair_to: tuple[str, ...] | None = None,
) -> Callable[[MetricFunction], Metric]:
    """Declare a metric. The function computes it; the registry has its properties."""
    undeclared = [law for law in LAWS if law not in laws]
    if undeclared:
        raise TypeError(f"metric {key!r} does not declare the laws {', '.join(undeclared)}")
    if reference not in REFERENCES:
        raise TypeError(f"metric {key!r} cites {reference!r}, which is not in the references")

    def register(function: MetricFunction) -> Metric:
        entry = Metric(
            key,
            family,
            needs,
            function,
            direction,
            bounds,
            unit,
            conventions,
            reference,
            chance,
            interval,
            laws,
            section,
            target,
            default,
            goal,
            interpretation,
            fair_to,
        )
        known = _REGISTRY.setdefault(family, {})
        if key in known:
            raise TypeError(f"metric {key!r} is registered twice in {family}")
        known[key] = entry
        return entry

    return register


def metrics(family: str | None = None) -> tuple[Metric, ...]:
    """All registered metrics, of one family or of all."""
    if family in _READ:
        return tuple(_REGISTRY.get(str(family), {}).values())
    for name in family_names() if family is None else (family,):
        with left_out_if_broken(name) if family is None else nullcontext():
            declared(name).module("metrics")
            _READ.add(name)
    return tuple(entry for name, known in _REGISTRY.items() if family in (None, name) for entry in known.values())


def _of_registry(family: str, key: str) -> Metric:
    """The metric of another process."""
    metrics(family)
    return _REGISTRY[family][key]


def find(key: str, family: str | None = None) -> tuple[Metric, dict[str, Any]]:
    """The metric and the parameters of a key: `hits@10` is `hits` with k = 10."""
    candidates = metrics(family)
    for entry in candidates:
        if key == entry.key:
            return entry, dict(entry.params)
        params = entry.parse(key)
        if params is not None:
            return entry, params
    for entry in candidates:
        if key == entry.name:
            return entry, dict(entry.params)
    raise UnknownNameError("metric", key, [entry.key_of(**entry.params) for entry in candidates])


class AskedMetric(NamedTuple):
    """A requested metric: by its key or name, or as part of its section or family."""

    metric: Metric
    params: dict[str, Any]
    is_open: bool
    by_name: bool


# Stands for the default metrics among others that are named.
DEFAULT = "default"


def are_default(names: Sequence[str] | None) -> bool:
    """Whether the default metrics are among those asked for; of these, what cannot be computed is left out."""
    return names is None or DEFAULT in names


def asked(family: str, names: Sequence[str] | None) -> list[AskedMetric]:
    """The request in `metrics=`: sections, keys and `default`, or None for the default metrics."""
    entries = metrics(family)
    if names is None:
        return [AskedMetric(entry, dict(entry.params), True, False) for entry in entries if entry.default]
    known = {name: item.name for item in sections(family) for name in (item.name, *item.aliases)}
    found: list[AskedMetric] = []
    for name in names:
        if name == DEFAULT:
            found += asked(family, None)
        elif name in known:
            chosen = [entry for entry in entries if entry.section == known[name] and entry.default]
            found += [AskedMetric(entry, dict(entry.params), True, False) for entry in chosen]
        else:
            entry, params = _named(name, family, list(known))
            found.append(AskedMetric(entry, params, name in (entry.key, entry.name), True))
    return found


def _named(name: str, family: str, sections: list[str]) -> tuple[Metric, dict[str, Any]]:
    try:
        return find(name, family)
    except UnknownNameError:
        if not sections:
            raise
        keys = [entry.key_of(**entry.params) for entry in metrics(family)]
        raise UnknownNameError("metric", name, [*sections, *keys], always=True) from None


def select(
    family: str,
    names: Sequence[str] | None,
    available: Iterable[str],
    swept: Mapping[str, Sequence[Any]] | None = None,
) -> list[tuple[Metric, dict[str, Any]]]:
    """The metrics to compute, in the registry's order or as named, with their parameters.

    `available` are the samples. A parameter in `swept` takes each of its values if a name leaves it open.
    A metric named by its key must have its samples; one that comes with its section is skipped without them.
    """
    at_hand, swept = dict.fromkeys(available).keys(), swept or {}
    chosen: dict[str, tuple[Metric, dict[str, Any]]] = {}
    for item in asked(family, names):
        entry, params = item.metric, item.params
        if at_hand.isdisjoint(entry.needs):
            if not item.by_name:
                continue
            raise OptionError(f"{entry.key} needs {' or '.join(entry.needs)}", fix=f"Available: {', '.join(at_hand)}.")
        grid = [name for name in params if item.is_open and name in swept]
        for values in itertools.product(*(swept[name] for name in grid)):
            filled = params | dict(zip(grid, values, strict=True))
            chosen[entry.key_of(**filled)] = entry, filled
    return list(chosen.values())
