"""Which files an evaluation reads, and whether they stayed the same meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.files import is_pattern
from graphgauge.io.arrays import matching
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


def files_named(text: str, folder: Path) -> Iterator[str]:
    """The files that a value names: a path, a pattern, `archive.npz:member`, or all files in a folder; else none."""
    if is_pattern(text, folder):
        yield from (path for path in matching(text, folder) if _is(Path.is_file, folder / path))
        return
    for path in (text, text.rpartition(":")[0]):
        if path and _is(Path.is_file, folder / path):
            yield path
            return
    if _is(Path.is_dir, folder / text):
        yield from (str(Path(text) / path.relative_to(folder / text)) for path in _inside(folder / text))


def _inside(folder: Path, around: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """All files in a folder. Links to folders are followed, because readers follow them, but not in circles."""
    around |= {folder.resolve()}
    for path in folder.iterdir():
        if _is(Path.is_dir, path) and path.resolve() not in around:
            yield from _inside(path, around)
        elif _is(Path.is_file, path):
            yield path


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # too long to be a name
        return False
