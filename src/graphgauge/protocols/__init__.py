"""Benchmarks by name: how each is evaluated, as rows of `protocols.toml`.

A row fixes options of a family's function, such as its metrics, cut-offs and tie rule, as the benchmark's own evaluator
has them; tests compare the values with that evaluator's. Whatever else is passed stays free.
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from textwrap import shorten
from typing import Any, ParamSpec

from msgspec import Struct, convert

from graphgauge.core.errors import OptionError, UnknownNameError
from graphgauge.core.evaluation import Evaluation

P = ParamSpec("P")


class Protocol(Struct, frozen=True):
    """How some benchmarks are evaluated.

    `options` are fixed arguments, `doors` the doors of the family that take the data of these benchmarks, and `source`
    the evaluator whose values are reproduced. `form` says what it takes; `dimensions` are those of arguments, 0
    of those that are not given.
    """

    names: tuple[str, ...]
    family: str
    line: str
    source: str
    options: dict[str, Any]
    doors: tuple[str, ...] = ("",)
    form: str = ""
    dimensions: dict[str, int] = {}


@cache
def protocols() -> tuple[Protocol, ...]:
    """All rows of the table."""
    content = tomllib.loads(Path(__file__).with_name("protocols.toml").read_text(encoding="utf-8"))
    return convert(content["protocol"], tuple[Protocol, ...])


def protocol(family: str, name: str) -> Protocol:
    """The protocol of this name, if it is one of the family's."""
    rows = {each: row for row in protocols() for each in row.names}
    if name in rows and rows[name].family != family:
        own = rows[name].family
        raise OptionError(f"{name!r} is a protocol of {own}, not of {family}", fix=f"Evaluate it with {own}.")
    if name not in rows:
        raise UnknownNameError("protocol", str(name), [each for each, row in rows.items() if row.family == family])
    return rows[name]


def under_protocols(family: str) -> Callable[[Callable[P, Evaluation]], Callable[P, Evaluation]]:
    """A decorator of functions with `protocol=None`, whose options a protocol then fixes.

    An option that is passed with another value than the protocol's is refused, its default too.
    """

    def decorate(function: Callable[P, Evaluation]) -> Callable[P, Evaluation]:
        parameters = inspect.signature(function).parameters
        usual = parameters["k"].default if "k" in parameters else None

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> Evaluation:
            name = kwargs.get("protocol")
            if name is None:
                return function(*args, **kwargs)
            row = protocol(family, str(name))
            passed = {**dict(zip(parameters, args, strict=False)), **kwargs}
            _require_free(row, str(name), passed)
            _require_cutoffs(row, str(name), passed.get("k", usual), usual)
            _require_form(row, str(name), passed)
            try:
                evaluation = function(*args, **{**kwargs, **row.options})
            except OptionError as error:
                if str(error).startswith(tuple(row.options.get("metrics", ()))):  # that the input does not allow
                    fix = f"It takes {row.form}." if row.form else error.fix
                    raise OptionError(f"{name}: {error.what}", fix=fix) from None
                raise
            evaluation.options["protocol"] = str(name)
            return evaluation

        return call

    return decorate


def _require_free(row: Protocol, name: str, passed: Mapping[str, Any]) -> None:
    """Refuse options that the protocol fixes otherwise."""
    for option, fixed in row.options.items():
        value = passed.get(option)
        if value is not None and not _equal(value, fixed):
            what = (
                f"{option} is {shorten(repr(value), 60, placeholder=' …')}, and the protocol {name} has {fixed!r:.60}"
            )
            raise OptionError(what, fix=f"Leave out {option}= or protocol=.").about(option)


def _require_cutoffs(row: Protocol, name: str, k: Any, usual: Any) -> None:
    """Refuse cut-offs that the protocol's metrics do not have; those by default need not be theirs."""
    metrics = row.options.get("metrics", ())
    own = [key.partition("@")[2] for key in metrics if "@" in key]
    asked = [str(each) for each in (k if isinstance(k, tuple | list) else [k])]
    if metrics and not _equal(k, usual) and asked != own:
        what = f"k is {k!r:.60}, and the protocol {name} has {', '.join(metrics)}"
        raise OptionError(what, fix="Leave out k= or protocol=.").about("k")


def _require_form(row: Protocol, name: str, passed: Mapping[str, Any]) -> None:
    """Refuse arguments of other dimensions than the protocol's, with those that take them."""
    for argument, wanted in row.dimensions.items():
        found = _dimensions(passed.get(argument))
        if found != wanted and not (passed.get(argument) is None and wanted):
            others = [
                f"{other.names[0]!r}"
                for other in protocols()
                if other.family == row.family and other.dimensions.get(argument) == found
            ]
            fix = f"Of this form {'is' if len(others) == 1 else 'are'} {', '.join(others)}." if others else None
            what = f"{name} takes {row.form}, and {argument} has {found} dimension{'s' if found != 1 else ''}"
            raise OptionError(what, fix=fix).about("protocol")


def _dimensions(value: Any) -> int:
    """The number of dimensions of an array or of nested lists; 0 of None."""
    if isinstance(value, list | tuple) and len(value):
        return 1 + _dimensions(value[0])
    return int(getattr(value, "ndim", 0))


def _equal(one: Any, other: Any) -> bool:
    one, other = (list(each) if isinstance(each, tuple | list) else each for each in (one, other))
    return type(one) is type(other) and bool(one == other)
