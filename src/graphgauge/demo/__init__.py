"""The built-in study: each family has seeded synthetic data, so that everything runs without a download."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.family import BUILT_IN


@dataclass(frozen=True)
class Demo:
    """A family's part: methods that run on data of several seeds, and the metric they are compared on.

    `write` writes the data into a folder; `inputs` are the keys of `[[evaluate]]` that refer to them.
    """

    family: str
    dataset: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    inputs: Mapping[str, Any]
    metric: str
    write: Callable[[Path], None]


def demos() -> dict[str, Demo]:
    """The parts of all families."""
    return {family: importlib.import_module(f"graphgauge.demo.{family}").DEMO for family in BUILT_IN}
