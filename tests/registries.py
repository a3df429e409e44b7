"""The registry of a family, whether its room is rebuilt or not; tests of all families ask here."""

from __future__ import annotations

from typing import Any

from graphgauge.core import registry
from graphgauge.core.family import BUILT_IN, Family, family
from graphgauge.old.core import metric as old


def is_rebuilt(name: str) -> bool:
    return isinstance(family(name), Family)


def metrics(name: str | None = None) -> tuple[Any, ...]:
    """The declared metrics of one family, or of all."""
    names = BUILT_IN if name is None else (name,)
    return tuple(
        each for known in names for each in (registry.metrics(known) if is_rebuilt(known) else old.metrics(known))
    )


def find(key: str, name: str) -> tuple[Any, dict[str, Any]]:
    """The metric of a key with its parameters."""
    return registry.find(key, name) if is_rebuilt(name) else old.find(key, name)


def levels(result: Any) -> tuple[Any, ...]:
    """The levels that a result is compared with."""
    return tuple(result.references if hasattr(result, "references") else result.chance)
