"""The registry of metrics: declaring one, trying it, finding one by its key, choosing those to compute.

A metric of a user's script is tried on its family's example: the module `example` of a family has `SAMPLES`, an example
of each kind of sample by name, and `LAWS`, for each law that can be tried a function from a sample to another on which
the value has to be the same.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from graphgauge.core.errors import OptionError, UnknownNameError, one_of
from graphgauge.core.family import family as family_of
from graphgauge.core.family import family_names, is_family, load_module, usable_names
from graphgauge.core.metric import LAWS, Estimate, Exempt, Metric, MetricFunction, NoChance, NoInterval
from graphgauge.core.references import REFERENCES
from graphgauge.core.result import Direction, Reference

_METRICS: dict[str, dict[str, Metric]] = {}
_SECTIONS: dict[str, dict[str, Section]] = {}
Chosen = tuple[Metric, dict[str, Any]]
# How far a value may be from another that a law makes equal.
_CLOSE = 1e-9
# What `metrics=` may list for the metrics of the default, beside others.
DEFAULT = "default"


@dataclass(frozen=True)
class Section:
    """Metrics of a family that answer one question; `metrics=` takes the section's name for all of them."""

    name: str
    family: str
    question: str


def section(name: str, *, family: str, question: str) -> Section:
    """Declare a section, before its metrics."""
    return _SECTIONS.setdefault(family, {}).setdefault(name, Section(name, family, question))


def sections(family: str) -> tuple[Section, ...]:
    """The sections of a family; most have none."""
    load_module(family, "metrics")
    return tuple(_SECTIONS.get(family, {}).values())


def metric(key: str, *, family: str, **properties: Any) -> Callable[[MetricFunction], Metric]:
    """Declare a metric, as a decorator of its function; the properties are those of `Metric`.

    A metric of a user's script is tried at once: its value, interval, levels and laws have to be what it declares.

    Parameters
    ----------
    key
        The name that results and options have, with parameters in braces: `hits@{k}`.
    family
        The family whose samples the function takes.
    **properties
        needs, direction, bounds, unit, chance, interval and laws; what else `Metric` has is optional.

    Raises
    ------
    OptionError
        If a property is missing, unknown, or not what the function does.

    Returns
    -------
    callable
        A decorator that makes a `Metric` of its function.

    Examples
    --------
    >>> import numpy as np
    >>> from graphgauge import metric
    >>> from graphgauge.core.family import Family, declare
    >>> from graphgauge.core.metric import Exempt, NoChance, NoInterval, whole
    >>> words = {"line": "Ranks.", "question": "How good are ranks?"}
    >>> ranks = declare(Family(name="ranks", headlines=("median_rank",), **words))
    >>> @metric(
    ...     "median_rank",
    ...     family="ranks",
    ...     needs=("ranks",),
    ...     direction="lower",
    ...     bounds=(1.0, np.inf),
    ...     unit="query",
    ...     chance=NoChance("the number of candidates is not known"),
    ...     interval=NoInterval("medians are not means"),
    ...     laws={"permutation": True, "merge": True, "monotone": True, "symmetry": Exempt("one side is the truth")},
    ... )
    ... def median_rank(ranks):
    ...     "The middle one of all ranks."
    ...     return whole(np.median(ranks), len(ranks))
    >>> median_rank(np.array([1, 2, 9])).value.tolist()
    [2.0]
    """

    def declare(function: MetricFunction) -> Metric:
        entry = _declared(key, family, function, properties)
        is_ours = function.__module__.startswith("graphgauge.")
        fault = next(itertools.chain(_faults(entry), () if is_ours else _faults_on_example(entry)), None)
        if fault is not None:
            raise OptionError(f"metric {key!r} {fault}", fix="Correct the function, or what it declares.")
        known = _METRICS.setdefault(family, {})
        if key in known and _place(known[key]) != _place(entry):
            raise OptionError(f"metric {key!r} is declared twice in {family}", fix="Give it another key.")
        known[key] = entry
        return entry

    return declare


def _declared(key: str, family: str, function: MetricFunction, properties: Mapping[str, Any]) -> Metric:
    """The metric, if its declaration is complete."""
    where = f"metric {key!r}"
    required = ("needs", "direction", "bounds", "unit", "chance", "interval", "laws")
    missing = [name for name in required if name not in properties]
    if missing:
        raise OptionError(
            f"{where} does not declare {', '.join(missing)}", fix=f"A metric declares {', '.join(required)}."
        )
    known = [name for name in Metric.__dataclass_fields__ if name not in ("key", "family", "function")]
    for name in properties:
        one_of(f"property of {where}", name, known)
    return Metric(key=key, family=family, function=function, **properties)


def _faults(entry: Metric) -> Iterator[str]:
    """What is wrong with a declaration, as ends of a sentence."""
    parameters = inspect.signature(entry.function).parameters
    for name in re.findall(r"\{(\w+)\}", entry.key):
        if name not in parameters or parameters[name].default is inspect.Parameter.empty:
            yield f"has the parameter {name} in its key, which its function does not have with a default"
    if not is_family(entry.family):
        yield f"is of the family {entry.family!r}, which does not exist"
    if not inspect.getdoc(entry.function):
        yield "has no docstring: say in one line what it measures"
    if entry.direction not in get_args(Direction):
        yield f"has the direction {entry.direction!r}, not {', '.join(get_args(Direction))}"
    if entry.direction == "target" and entry.target is None:
        yield "has the direction target, and no target"
    if not isinstance(entry.bounds, tuple) or len(entry.bounds) != 2 or not entry.bounds[0] < entry.bounds[1]:
        yield f"has bounds {entry.bounds!r:.40} that are not (low, high)"
    if not callable(entry.chance) and not isinstance(entry.chance, NoChance):
        yield "has a chance that is neither a function nor NoChance(why)"
    if not callable(entry.interval) and not isinstance(entry.interval, NoInterval):
        yield "has an interval that is neither a function nor NoInterval(why)"
    if entry.reference is not None and entry.reference not in REFERENCES:
        yield f"cites {entry.reference!r}, which is not in the references: core.references.cite() adds it"
    undeclared = [law for law in LAWS if not isinstance(entry.laws.get(law), bool | Exempt)]
    if undeclared:
        yield f"does not declare the laws {', '.join(undeclared)}: each is true, or Exempt(why)"


def _place(entry: Metric) -> tuple[str, str]:
    """Where its function is written: a cell of a notebook may be run again."""
    return entry.function.__module__, entry.function.__qualname__


def _faults_on_example(entry: Metric) -> Iterator[str]:
    """What a metric does on its family's example that it does not declare, as ends of a sentence."""
    example = family_of(entry.family).module("example") if entry.family in family_names() else None
    if example is None:
        return
    names = [name for name in entry.needs if name in example.SAMPLES]
    if not names:
        yield f"needs {' or '.join(entry.needs)}; samples of {entry.family} are {', '.join(example.SAMPLES)}"
    for name in names:
        yield from _wrong_on(entry, example.SAMPLES[name], getattr(example, "LAWS", {}))


def _wrong_on(entry: Metric, sample: Any, laws: Any) -> Iterator[str]:
    params = dict(entry.params)
    try:
        estimate = entry(sample, **params)
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
    low, high = entry.bounds
    if np.any((value < low) | (value > high)):
        yield f"has the value {value[0]:.6g} on the example of its family, outside its bounds ({low:g}, {high:g})"
    yield from _wrong_interval(entry, sample, estimate)
    yield from _wrong_chance(entry, sample, params)
    for law, turned in laws.items():
        if entry.laws.get(law) is True:
            other = entry(turned(sample), **params).value
            if not np.allclose(value, other, rtol=_CLOSE, atol=_CLOSE, equal_nan=True):
                change = f"{value[0]:.6g} to {np.atleast_1d(other)[0]:.6g}"
                yield f"declares the law {law}, and changes from {change} under it"


def _wrong_interval(entry: Metric, sample: Any, estimate: Estimate) -> Iterator[str]:
    try:
        ends = entry.bounds_of(sample, estimate, 0.95)
    except Exception as error:
        yield f"has an interval that fails on the example of its family with {type(error).__name__}: {error}"
        return
    if not isinstance(ends, NoInterval) and np.shape(ends.low) != np.shape(estimate.value):
        yield f"has {np.shape(ends.low)} ends of intervals for {np.shape(estimate.value)} values"


def _wrong_chance(entry: Metric, sample: Any, params: dict[str, Any]) -> Iterator[str]:
    if isinstance(entry.chance, NoChance):
        return
    try:
        levels = list(entry.chance(sample, **params))
    except Exception as error:
        yield f"has a chance that fails on the example of its family with {type(error).__name__}: {error}"
        return
    wrong = next((each for each in levels if not isinstance(each, Reference)), None)
    if wrong is not None:
        yield f"has a level of chance that is {type(wrong).__name__}, not a Reference(name, value)"


def metrics(family: str | None = None) -> tuple[Metric, ...]:
    """The declared metrics of one family, or of all."""
    if family is not None and not is_family(family):
        raise UnknownNameError("family", family, family_names())
    for name in usable_names() if family is None else (family,):
        load_module(name, "metrics")
    return tuple(each for name, known in _METRICS.items() if family in (None, name) for each in known.values())


def find(key: str, family: str | None = None) -> Chosen:
    """The metric of a key with its parameters: `hits@10` is `hits@{k}` with k = 10, and so is `hits`.

    The key itself comes before the name of one with parameters: `f1` is `f1`, not `f1@{k}`.
    """
    entries = metrics(family)
    for entry in sorted(entries, key=lambda each: each.key != key):
        if key in (entry.key, entry.name):
            return entry, dict(entry.params)
        params = entry.parse(key)
        if params is not None:
            return entry, params
    raise UnknownNameError("metric", key, [*(_SECTIONS.get(family or "", {})), *(each.key_of() for each in entries)])


def select(
    family: str,
    metrics_asked: str | Sequence[str | Metric] | None,
    samples: Iterable[str],
    swept: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[list[Chosen], frozenset[str]]:
    """The metrics to compute with their parameters, and the keys of those that were asked for by name.

    `metrics_asked` is None for those of the default, `"all"`, or keys, sections and declared metrics, among which
    `"default"` stands for those of the default. A parameter in `swept` takes each of its values if a name leaves it
    open. A metric that is named must have one of its samples; others are left out without.
    """
    at_hand, swept = dict.fromkeys(samples).keys(), swept or {}
    chosen: dict[str, Chosen] = {}
    named: set[str] = set()
    for entry, params, is_open, by in _asked(family, metrics_asked):
        if at_hand.isdisjoint(entry.needs):
            if by == "name":
                fix = f"The input has {' and '.join(at_hand)}."
                raise OptionError(f"{entry.key} needs {' or '.join(entry.needs)}", fix=fix)
            continue
        open_params = [name for name in params if is_open and name in swept]
        for values in itertools.product(*(swept[name] for name in open_params)):
            filled = params | dict(zip(open_params, values, strict=True))
            chosen[entry.key_of(**filled)] = entry, filled
            named |= {entry.key_of(**filled)} if by else set()
    return list(chosen.values()), frozenset(named)


def _asked(family: str, names: Any) -> Iterable[tuple[Metric, dict[str, Any], bool, str]]:
    """Each metric that is asked for: its parameters, whether the name leaves them open, and by what it is asked for.

    That is its "name", its "section", or nothing where it is one of the default or of all.
    """
    if names is None or (isinstance(names, str) and names == "all"):
        yield from ((each, dict(each.params), True, "") for each in metrics(family) if names or each.default)
        return
    known = {each.name for each in sections(family)}
    listed = [names] if isinstance(names, str | Metric) else list(names) if isinstance(names, Iterable) else []
    if not listed:
        fix = 'For example metrics=["mrr"]; leave it out to get the default ones.'
        raise OptionError(f"metrics must be names of metrics, not {names!r:.60}", fix=fix)
    for name in listed:
        if isinstance(name, Metric):
            yield name, dict(name.params), True, "name"
        elif not isinstance(name, str):
            raise OptionError(f"metrics has {name!r:.60}, which is no name", fix='For example metrics=["mrr"].')
        elif name == DEFAULT:
            yield from ((each, dict(each.params), True, "") for each in metrics(family) if each.default)
        elif name in known:
            yield from ((each, dict(each.params), True, "section") for each in metrics(family) if each.section == name)
        else:
            entry, params = find(name, family)
            yield entry, params, name in (entry.key, entry.name), "name"


def not_computed(key: str, family: str) -> str | None:
    """How to compute a metric that a family has and nobody asked for; None for an unknown one."""
    try:
        find(key, family)
    except (ValueError, LookupError):
        return None
    return f'It was not computed: name it when evaluating, metrics=["{key}", …], or ask for "all".'
