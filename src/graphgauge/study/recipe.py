"""The inputs of a result, and the key that shows whether it is up to date."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from graphgauge._version import __version__
from graphgauge.core.family import family
from graphgauge.core.fields import named_factories, named_paths
from graphgauge.core.files import files_named
from graphgauge.io.code import source_hash
from graphgauge.io.hashing import HashIndex
from graphgauge.study.model import Item


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
    declared = family(item.family)
    return named_factories(declared.fields, declared.read(item.options))
