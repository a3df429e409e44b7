"""Findings: problems to know about before a number is trusted.

A check is a function whose parameters name what it needs: a measurement of the family (`counts`), the results
(`results`), or an input of an audit (`train_edges`). It runs where all of them are available, and returns the evidence,
or None if there is nothing to say. A family's cheap checks give the findings of each evaluation.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from graphgauge.core.errors import OptionError
from graphgauge.core.grid import Grid

Severity = Literal["note", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
# How many findings a command prints beside the errors, all of which it prints.
MOST_PRINTED = 3
# The "family" of checks that look at many results together.
RUNS = "runs"


class Finding(Struct, frozen=True, kw_only=True):
    """What a check found; `where` names the run if several were checked.

    Severities: `error` if the number is wrong, `warning` if it misleads, `note` if it is worth knowing.
    """

    check: str
    severity: Severity
    message: str
    remedy: str
    evidence: dict[str, Any] = {}
    where: str = ""
    ignored: bool = False

    def __str__(self) -> str:
        place = f" {self.where}:" if self.where else ""
        return f"{'ignored' if self.ignored else self.severity} [{self.check}]{place} {self.message}. {self.remedy}"

    def _repr_html_(self) -> str:
        return Findings((self,)).to_grid().to_html()


class Findings(tuple[Finding, ...]):
    """Findings as a tuple, which prints a line each and is a table in a notebook."""

    __slots__ = ()

    def to_grid(self) -> Grid:
        """A row per finding; the run has a column if there are several."""
        runs = {"run": [each.where for each in self]} if any(each.where for each in self) else {}
        return Grid.of(
            severity=["ignored" if each.ignored else each.severity for each in self],
            check=[each.check for each in self],
            **runs,
            what=[f"{each.message}." for each in self],
            fix=[each.remedy for each in self],
        )

    def worst(self) -> Findings:
        """The errors, and of the others the most severe: what a command prints."""
        kept = [each for each in self if not each.ignored]
        ranked = sorted(kept, key=lambda each: -SEVERITIES.index(each.severity))
        errors = sum(each.severity == "error" for each in kept)
        return Findings(ranked[: max(MOST_PRINTED, errors)])

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "nothing found"

    def _repr_html_(self) -> str:
        return self.to_grid().to_html() if self else "<p>nothing found</p>"


@dataclass(frozen=True)
class Check:
    """A declared check; `message` is formatted with the evidence that `function` returns."""

    name: str
    family: str
    severity: Severity
    message: str
    remedy: str
    function: Callable[..., Mapping[str, Any] | None]
    costly: bool = False

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """What it cannot do without: its parameters that have no default."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(each.name for each in parameters if each.default is inspect.Parameter.empty)

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """What it takes where it is available."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def summary(self) -> str:
        """What goes wrong, in one line."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def run(self, materials: Mapping[str, Any]) -> Finding | None:
        """What it finds in these materials; a material that is a function is called first."""
        values = {name: materials[name] for name in self.uses if materials.get(name) is not None}
        evidence = self.function(**{name: each() if callable(each) else each for name, each in values.items()})
        if evidence is None:
            return None
        message = self.message.format(**evidence)
        return Finding(
            check=self.name, severity=self.severity, message=message, remedy=self.remedy, evidence=dict(evidence)
        )


_CHECKS: dict[str, Check] = {}


def check(
    name: str, *, family: str, message: str, remedy: str, severity: Severity = "warning", costly: bool = False
) -> Callable[[Callable[..., Mapping[str, Any] | None]], Check]:
    """Declare a check, as a decorator of its function.

    Parameters
    ----------
    name
        The name that users can ignore it by.
    family
        The family whose evaluations it looks at, or `runs` for many results together.
    message
        What was found, formatted with the evidence.
    remedy
        What to do about it.
    severity
        `error` if the number is wrong, `warning` if it misleads, `note` if it is worth knowing.
    costly
        Whether only an audit runs it, and no evaluation.

    Returns
    -------
    callable
        A decorator that makes a `Check` of its function.

    Examples
    --------
    >>> from graphgauge import check
    >>> @check("few-queries", family="ranking", message="{n} queries are few", remedy="Evaluate more.")
    ... def few_queries(counts):
    ...     "Intervals over few queries are wide."
    ...     return {"n": len(counts)} if len(counts) < 100 else None
    >>> few_queries.run({"counts": [1, 2]}).message
    '2 queries are few'
    """
    if severity not in SEVERITIES:
        raise OptionError(f"check {name!r}: severity is {severity!r}", fix=f"Write {', '.join(SEVERITIES)}.")
    if not isinstance(name, str) or not name or not message or not remedy:
        raise OptionError(f"check {name!r:.60} needs a name, a message and a remedy", fix='@check("few-queries", …)')

    def declare(function: Callable[..., Mapping[str, Any] | None]) -> Check:
        known = _CHECKS.get(name)
        if known is not None and _place(known.function) != _place(function):
            raise OptionError(f"check {name!r} is declared twice", fix="Give it another name.")
        if not inspect.getdoc(function):
            raise OptionError(f"check {name!r} has no docstring", fix="Say in one line what goes wrong.")
        _CHECKS[name] = Check(name, family, severity, message, remedy, function, costly)
        return _CHECKS[name]

    return declare


def checks(family: str) -> tuple[Check, ...]:
    """The declared checks of a family; its module `checks` is imported first."""
    from graphgauge.core.family import load_module

    load_module(family, "checks")
    return tuple(each for each in _CHECKS.values() if each.family == family)


def findings_of(family: str, materials: Mapping[str, Any]) -> Findings:
    """What a family's cheap checks find in these materials."""
    cheap = [each for each in checks(family) if not each.costly]
    able = [each for each in cheap if all(materials.get(name) is not None for name in each.needs)]
    return Findings(each for each in (one.run(materials) for one in able) if each is not None)


def _place(function: Callable[..., Any]) -> tuple[str, str]:
    """Where a function is written: a cell of a notebook may be run again."""
    return function.__module__, function.__qualname__
