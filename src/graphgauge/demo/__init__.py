"""The built-in study: each family has seeded synthetic data, so that everything runs without a download."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.disk import write_text
from graphgauge.core.errors import InputError
from graphgauge.core.family import BUILT_IN
from graphgauge.study.toml import lines

# The fewest with which three pairs of methods can all differ significantly.
SEEDS = tuple(range(7))


@dataclass(frozen=True)
class Demo:
    """A family's part: methods that run on data of all seeds, and the metric they are compared on.

    `write` writes the data of a seed into a folder; `inputs` are the keys of `[[evaluate]]` that refer to them.
    """

    dataset: str
    methods: tuple[str, ...]
    inputs: Mapping[str, Any]
    metric: str
    write: Callable[[Path, int], None]


def save(folder: Path, **arrays: Any) -> None:
    """Write each array into a folder, as NAME.npy."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def write_study(folder: Path) -> Path:
    """Write the data and the study file of all families into a folder, replacing an existing demo."""
    path = folder / "study.toml"
    demos: dict[str, Demo] = {family: import_module(f"{__name__}.{family}").DEMO for family in BUILT_IN}
    text = "\n".join([*_study(demos), ""])
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise InputError("contains another study", where=str(path), fix="Choose another folder with --output.")
    try:
        for family, demo in demos.items():
            (folder / family).mkdir(parents=True, exist_ok=True)
            for seed in SEEDS:
                demo.write(folder / family, seed)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", where=str(error.filename or folder)) from None
    write_text(path, text)
    return path


def _study(demos: Mapping[str, Demo]) -> Iterator[str]:
    yield from lines({"schema": 1, "name": "graphgauge demo", "results": "results/"})
    for family, demo in demos.items():
        named = {"family": family, "dataset": demo.dataset, "methods": demo.methods, "seeds": SEEDS}
        yield from ("", "[[evaluate]]", *lines({**named, **demo.inputs}))
        yield from ("", "[[compare]]", *lines({"metric": demo.metric, "family": family}))
