"""The built-in study: each family brings data that is made here, seeded, so that everything runs without a download."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge.core.metric import FAMILIES


@dataclass(frozen=True)
class Demo:
    """A family's part: methods that are run on data of several seeds, and the metric they are compared on.

    `write` puts the data into a folder; `inputs` are the keys of `[[evaluate]]` that name them from there. `needs` is a
    module of an extra without which the data cannot be made.
    """

    family: str
    dataset: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    inputs: Mapping[str, Any]
    metric: str
    write: Callable[[Path], None]
    needs: str | None = None


def demos() -> dict[str, Demo]:
    """The parts of the families that have all they need, by family."""
    return {family: demo for family, demo in _parts().items() if demo.needs is None or _there(demo.needs)}


def left_out() -> list[str]:
    """A sentence for each part that lacks what it needs."""
    return [
        f"Left out: {family}, whose data need {demo.needs}. Install it with: pip install 'graphgauge[{demo.needs}]'"
        for family, demo in _parts().items()
        if demo.needs is not None and not _there(demo.needs)
    ]


def _parts() -> dict[str, Demo]:
    return {family: importlib.import_module(f"graphgauge.demo.{family}").DEMO for family in FAMILIES}


def _there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
