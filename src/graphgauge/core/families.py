"""The door to the families: the registries load a part of one by its name, on request, as they would a plug-in's.

Nothing else in `core` or `stats` names a family's module.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def part(family: str, name: str) -> ModuleType:
    """A module of a family, such as its `metrics` or `checks`."""
    return import_module(f"graphgauge.{family}.{name}")
