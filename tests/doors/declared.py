"""Cases for the common test of doors: the arguments of a call in Python, and the same in files.

A family with doors has `tests/FAMILY/door_cases.py` with `CASES`, at least one for each door. `SIGNATURES` there names
functions that take what the door's function passes on, by door.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.door import Door, Input, door_of
from graphgauge.core.items import Items


@dataclass(frozen=True)
class Case:
    """A call of a door's function; `written` writes an input of a family's own kind and returns the text for it."""

    family: str
    door: str
    inputs: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    written: Mapping[str, Callable[[Any, Path], str]] = field(default_factory=dict)

    @property
    def declared(self) -> Door:
        return door_of(self.family, self.door)

    def call(self, **options: Any) -> Any:
        """The call in Python, with other options."""
        return self.declared({**self.inputs, **self.options, **options})

    def fields(self, folder: Path, **options: Any) -> dict[str, Any]:
        """The fields of the same call, with its inputs in files."""
        known = {each.name: each for each in self.declared.inputs}
        files = {name: self._files(known[name], value, folder) for name, value in self.inputs.items()}
        return {**files, **self.options, **options}

    def words(self, folder: Path, **options: Any) -> list[str]:
        """The same call on the command line."""
        words = ["graphgauge", self.family, *([self.door] if self.door else [])][1:]
        for name, value in self.fields(folder, **options).items():
            flag = "--gate" if name == "gates" else "--" + name.replace("_", "-")
            if isinstance(value, Mapping):
                words += [word for key, each in value.items() for word in (flag, f"{key}={each}")]
            elif isinstance(value, bool):
                words += [flag] if value else []
            elif name == "gates" or (isinstance(value, list) and name in self.inputs):
                words += [word for each in value for word in (flag, str(each))]
            elif value is not None:
                words += [flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)]
        return words

    def _files(self, declared: Input, value: Any, folder: Path) -> Any:
        if declared.many == "named":
            return {key: self._file(declared, each, folder / f"{declared.name}-{key}") for key, each in value.items()}
        return self._file(declared, value, folder / declared.name)

    def _file(self, declared: Input, value: Any, stem: Path) -> str:
        if declared.name in self.written:
            return self.written[declared.name](value, stem)
        return write(declared.kind, value, stem)


def write(kind: str, value: Any, stem: Path) -> str:
    """Write a value in the way that a kind of inputs is read."""
    if kind in ("array", "ragged", "set", "labels") and not isinstance(value, tuple):
        np.save(path := stem.with_suffix(".npy"), np.asarray(value))
    elif kind in ("ragged", "set"):
        np.savez(path := stem.with_suffix(".npz"), values=value[0], offsets=value[1])
    elif kind == "table":
        np.savez(path := stem.with_suffix(".npz"), **{name: np.asarray(each) for name, each in value.items()})
    elif kind == "lines":
        (path := stem.with_suffix(".txt")).write_text("\n".join(value) + "\n")
    elif kind == "json":
        (path := stem.with_suffix(".json")).write_text(json.dumps(value))
    elif kind == "items" and isinstance(value, Items):
        value.save(path := stem.with_suffix(".npz"))
    else:
        raise ValueError(f"a case has to write {kind} itself")
    return str(path)
