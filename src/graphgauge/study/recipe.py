"""The inputs of a result, and the key that shows whether it is up to date."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from graphgauge._version import __version__
from graphgauge.core.errors import InputError
from graphgauge.io.arrays import is_pattern, matching
from graphgauge.io.hashing import HashIndex, signature_of
from graphgauge.study.code import source_hash
from graphgauge.study.model import Item
from graphgauge.study.options import checked, family_command, named_factories, named_paths


@dataclass(frozen=True)
class Recipe:
    """An item with the hashes of its input files (by path) and of its code (by factory)."""

    item: Item
    inputs: dict[str, str]
    code: dict[str, str]

    @classmethod
    def of(cls, item: Item, folder: Path, index: HashIndex) -> Recipe:
        command = family_command(item.family)
        parameters = checked(command, item.arguments)
        files = [path for text in named_paths(command, parameters) for path in _files(text, folder)]
        return cls(
            item,
            {path: index.hash(path) for path in sorted(set(files))},
            {factory: source_hash(factory, folder) for factory in named_factories(command, parameters)},
        )

    @property
    def key(self) -> str:
        content = [self.item.to_dict(), self.inputs, self.code, __version__]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class Watch:
    """The input files of a command before it begins, so that a receipt names the files that were read."""

    def __init__(self, command: click.Command, parameters: dict[str, Any], folder: Path) -> None:
        self._folder = folder
        names = (name for text in named_paths(command, parameters) for name in _files(text, folder))
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


def factories(item: Item) -> list[str]:
    """The code that the item's evaluation would import."""
    command = family_command(item.family)
    return named_factories(command, checked(command, item.arguments))


def _files(text: str, folder: Path) -> Iterator[str]:
    """The files that a value names: a path, a pattern, `archive.npz:member`, or all files in a folder; else none."""
    if is_pattern(text, folder):
        yield from (path for path in matching(text, folder) if _is(Path.is_file, folder / path))
        return
    for path in (text, text.rpartition(":")[0]):
        if path and _is(Path.is_file, folder / path):
            yield path
            return
    if _is(Path.is_dir, folder / text):
        inside = (path.relative_to(folder / text) for path in (folder / text).rglob("*") if path.is_file())
        yield from (str(Path(text) / path) for path in inside)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # too long to be a name
        return False
