"""Findings: what an evaluation's reader should know before believing it.

A check looks at a finished evaluation and at what its family measured it on, and returns the evidence or None.
Families and the audit register checks; `evaluate()` runs the cheap ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
Evidence = Mapping[str, Any]
CheckFunction = Callable[[Any, Mapping[str, Any]], Evidence | None]


@dataclass(frozen=True)
class Finding:
    check: str
    severity: Severity
    message: str
    evidence: Evidence
    remedy: str
    ignored: bool = False


@dataclass(frozen=True)
class Check:
    """`function(sample, results)` returns evidence when the check fires; `message` is formatted with it."""

    name: str
    family: str
    severity: Severity
    message: str
    remedy: str
    function: CheckFunction

    def run(self, sample: Any, results: Mapping[str, Any]) -> Finding | None:
        evidence = self.function(sample, results)
        if evidence is None:
            return None
        return Finding(self.name, self.severity, self.message.format(**evidence), evidence, self.remedy)


_CHECKS: dict[str, Check] = {}


def check(
    name: str, *, family: str, severity: Severity, message: str, remedy: str
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a check under a name that users can ignore it by."""

    def register(function: CheckFunction) -> CheckFunction:
        if name in _CHECKS:
            raise ValueError(f"check {name!r} is registered twice")
        _CHECKS[name] = Check(name, family, severity, message, remedy, function)
        return function

    return register


def checks(family: str | None = None) -> tuple[Check, ...]:
    return tuple(item for item in _CHECKS.values() if family in (None, item.family))


def find(family: str, sample: Any, results: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Run all checks of a family over what was measured and what came out."""
    found = (item.run(sample, results) for item in checks(family))
    return tuple(finding for finding in found if finding is not None)
