"""Archives of named arrays (.npz), read without unpickling and written atomically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError
from graphgauge.old.core.files import atomic_path, readable, require_bounded_archive

_SAVEZ = "Write it with np.savez; arrays of Python objects are not supported, because they can contain code."


class Archive:
    """An open .npz file, whose members must be arrays: np.load returns others as bytes."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self.files: list[str] = opened.files

    def __getitem__(self, name: str) -> AnyArray:
        found = self._opened[name]
        if not isinstance(found, np.ndarray):
            raise ValueError(f"{name!r:.60} is not an array")
        return found

    def all(self) -> dict[str, AnyArray]:
        return {name: self[name] for name in self.files}


@contextmanager
def open_npz(path: Path) -> Iterator[Archive]:
    """An open archive whose arrays are loaded on access."""
    # Opened here, because np.load does not close a file that it cannot read.
    with readable(path, _SAVEZ), path.open("rb") as stream:
        require_bounded_archive(stream, str(path))
        with _several(np.load(stream, allow_pickle=False)) as archive:
            yield Archive(archive)


def read_npz(path: Path, wanted: Sequence[str] = ()) -> dict[str, AnyArray]:
    """All arrays of an archive, which must include the wanted ones."""
    with open_npz(path) as archive:
        arrays = archive.all()
    for name in wanted:
        if name not in arrays:
            raise InputError(
                f"has no array {name!r}", where=str(path), fix=f"It contains {', '.join(arrays) or 'none'}."
            )
    return arrays


def write_npz(path: str | Path, arrays: Mapping[str, AnyArray]) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _several(found: Any) -> Any:
    if isinstance(found, np.ndarray):
        raise ValueError("one array instead of several named ones")
    return found
