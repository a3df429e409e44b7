"""Findings: problems to know about before trusting an evaluation.

A check is a function of materials: measurements of a family (`ranks`), its results (`results`), or inputs of an audit
(`train_edges`). Its parameters name the materials that it needs, and it runs if they are available. It returns the
evidence, or None if there is no finding. Checks of a family are in its `checks.py`; the cheap ones give the findings of
an evaluation. Checks of many results are in `graphgauge.audit`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from graphgauge.core.family import family as family_named

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
Evidence = Mapping[str, Any]
CheckFunction = Callable[..., Evidence | None]
# The "family" of checks that look at many results together.
RUNS = "runs"


@dataclass(frozen=True)
class Finding:
    """The outcome of a check; `where` names the run if several were checked."""

    check: str
    severity: Severity
    message: str
    evidence: Evidence
    remedy: str
    ignored: bool = False
    where: str = ""

    @property
    def more(self) -> str:
        """The command that shows the check's page: what goes wrong, with an example."""
        return f"graphgauge audit --explain {self.check}"


@dataclass(frozen=True)
class Check:
    """A registered check: `message` is formatted with the evidence that `function` returns."""

    name: str
    family: str
    severity: Severity
    message: str
    remedy: str
    function: CheckFunction
    costly: bool = False

    @cached_property
    def needs(self) -> tuple[str, ...]:
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(each.name for each in parameters if each.default is inspect.Parameter.empty)

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """All materials it can use, required and optional."""
        return tuple(inspect.signature(self.function).parameters)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    def missing(self, materials: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(name for name in self.needs if materials.get(name) is None)

    def run(self, materials: Mapping[str, Any]) -> Finding | None:
        given = {name: materials[name] for name in self.uses if materials.get(name) is not None}
        evidence = self.function(**given)
        if evidence is None:
            return None
        return Finding(self.name, self.severity, self.message.format(**evidence), evidence, self.remedy)


_CHECKS: dict[str, Check] = {}


def check(
    name: str, *, family: str, severity: Severity, message: str, remedy: str, costly: bool = False
) -> Callable[[CheckFunction], Check]:
    """Register a check under a name that users can ignore it by; a costly one runs on request only."""

    def register(function: CheckFunction) -> Check:
        if name in _CHECKS:
            raise ValueError(f"check {name!r} is registered twice")
        _CHECKS[name] = Check(name, family, severity, message, remedy, function, costly)
        return _CHECKS[name]

    return register


def _load(name: str) -> None:
    declared = family_named(name)
    if declared.has("checks"):
        declared.module("checks")


def checks(family: str) -> tuple[Check, ...]:
    """The checks of a family; those of many results (`runs`) are registered by the audit."""
    if family != RUNS:
        _load(family)
    return tuple(item for item in _CHECKS.values() if item.family == family)


def find(family: str, materials: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The findings of a family's cheap checks on these materials."""
    able = [item for item in checks(family) if not item.costly and not item.missing(materials)]
    found: Sequence[Finding | None] = [item.run(materials) for item in able]
    return tuple(finding for finding in found if finding is not None)
