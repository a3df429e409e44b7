"""Inputs of an audit beyond those of the family's evaluation: the table `MATERIALS` of the family's `checks.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphgauge.old.core.family import family
from graphgauge.old.io.materials import Material


def materials_of(name: str) -> Mapping[str, Material]:
    """The materials of a family's checks, by the name of the checks' parameter."""
    declared = family(name)
    return getattr(declared.module("checks"), "MATERIALS", {}) if declared.has("checks") else {}


def read_materials(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The materials that the options name or imply."""
    found = {}
    for key, material in materials_of(name).items():
        if options.get(key):
            found[key] = material.read(options[key])
        elif material.otherwise is not None:
            found[key] = material.otherwise(options)
    return found
