"""Inputs of checks that only an audit takes, and how they are read from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.core.arrays import AnyArray
from graphgauge.old.io.arrays import Shards, open_arrays, read_array


@dataclass(frozen=True)
class Material:
    """An option of `graphgauge audit FAMILY`, a new one or one that the family already has.

    `otherwise` gets it from the family's own options if it is not given.
    """

    help: str
    read: Callable[[Any], Any] = read_array
    otherwise: Callable[[Mapping[str, Any]], Any] | None = None


def read_shards(patterns: Sequence[str]) -> AnyArray:
    """The files of one array as a whole."""
    files = Shards(open_arrays(patterns))
    return files.rows(0, len(files))
