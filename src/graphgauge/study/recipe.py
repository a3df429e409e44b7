"""The inputs of a result, and the key that shows whether it is up to date."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphgauge._version import __version__
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import Fields, fields_of, named_factories, named_paths, read_all
from graphgauge.old.core.files import files_named
from graphgauge.old.engines.merge import merge_files
from graphgauge.old.io.code import source_hash
from graphgauge.old.io.hashing import HashIndex
from graphgauge.study.model import Item

# The command that evaluates saved states.
MERGE = "merge"


@dataclass(frozen=True)
class Recipe:
    """An item with the hashes of its input files (by path) and of its code (by factory)."""

    item: Item
    inputs: dict[str, str]
    code: dict[str, str]

    @classmethod
    def of(cls, item: Item, folder: Path, index: HashIndex) -> Recipe:
        declared = family(item.family)
        values = declared.read(item.options)
        files = [path for text in named_paths(declared.fields, values) for path in files_named(text, folder)]
        return cls(
            item,
            {path: index.hash(path) for path in sorted(set(files))},
            {factory: source_hash(factory, folder) for factory in named_factories(declared.fields, values)},
        )

    @property
    def key(self) -> str:
        content = [self.item.to_dict(), self.inputs, self.code, __version__]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def factories(item: Item) -> list[str]:
    """The code that the item's evaluation would import."""
    return factories_of(item.family, item.options)


def factories_of(command: str, options: Mapping[str, Any]) -> list[str]:
    fields = fields_by_command(command)
    return named_factories(fields, read_by_command(command, options))


def fields_by_command(command: str) -> Fields:
    """The inputs and options of a command that evaluates: that of a family, or `merge`."""
    return fields_of(merge_files) if command == MERGE else family(command).fields


def read_by_command(command: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """All inputs and options, typed and checked together."""
    return read_all(fields_of(merge_files), options) if command == MERGE else family(command).read(options)
