"""The built-in study: each family has seeded synthetic data, so that everything runs without a download."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.family import BUILT_IN

# The fewest with which three pairs of methods can all differ significantly.
SEEDS = tuple(range(7))


@dataclass(frozen=True)
class Demo:
    """A family's part: methods that run on data of all seeds, and the metric they are compared on.

    `write` writes the data into a folder; `inputs` are the keys of `[[evaluate]]` that refer to them.
    """

    family: str
    dataset: str
    methods: tuple[str, ...]
    inputs: Mapping[str, Any]
    metric: str
    write: Callable[[Path], None]


def demos() -> dict[str, Demo]:
    """The parts of all families that have one."""
    places = {family: f"{__name__}.{family}" for family in BUILT_IN}
    return {family: importlib.import_module(place).DEMO for family, place in places.items() if find_spec(place)}


def save(folder: Path, **arrays: Any) -> None:
    """Write each array into a folder, as NAME.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
