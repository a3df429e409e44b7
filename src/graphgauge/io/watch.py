"""Which files an evaluation reads, and whether they stayed the same meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.files import files_named
from graphgauge.io.hashing import signature_of


class Watch:
    """The named files before an evaluation begins, so that a receipt names the files that were read."""

    def __init__(self, named: Iterable[str], folder: Path) -> None:
        self._folder = folder
        names = (name for text in named for name in files_named(text, folder))
        self._begun = {path: signature_of(path) for path in map(self._path, names)}

    def unchanged(self, inputs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The entries of a receipt, hashed after evaluating, if the files have not changed since the beginning."""
        entries = list(inputs)
        for entry in entries:
            path = self._path(entry["path"])
            if path in self._begun and signature_of(path) != self._begun[path]:
                raise InputError(f"changed while being evaluated: {entry['path']}", fix="Evaluate again.")
        return entries

    def _path(self, name: str) -> Path:
        return Path(os.path.abspath(self._folder / name))  # noqa: PTH100, links need not be followed
