"""Hashes of input files, for the receipts of results."""

from __future__ import annotations

import hashlib
import json
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.disk import read_json, write_text
from graphgauge.core.errors import InputError

_CHUNK = 1 << 22
# File times have a limited resolution: a file that changed this shortly before it was hashed may have changed again
# without a new time.
_TICK_NS = 2_000_000_000
Signature = tuple[int, int, int, int]


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, from the index in use or from its content."""
    index = _in_use.get()
    return _content_hash(Path(path)) if index is None else index.hash(path)


def array_hash(array: AnyArray) -> str | None:
    """The SHA-256 of the .npy file of an array; None for texts, whose .npy depends on the longest."""
    if array.dtype.kind not in "biuf":
        return None
    head = BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(head, facts)
    digest = hashlib.sha256(head.getvalue())
    rows = max(1, _CHUNK // max(1, array[:1].nbytes))
    for start in range(0, len(array), rows):
        digest.update(np.ascontiguousarray(array[start : start + rows]).tobytes())
    return digest.hexdigest()


class HashIndex:
    """Hashes of files, kept while size, both times and inode stay the same; paths are relative to `folder`.

    A program can reset the modification time, but not the change time.
    """

    def __init__(self, folder: Path, known: Mapping[str, Any] | None = None) -> None:
        self._folder = folder
        self._known: dict[str, tuple[Signature, str]] = {}
        self._lasting: dict[str, list[Any]] = {}
        for path, (*signature, digest) in (known or {}).items():
            size, modified, changed, inode = (int(part) for part in signature)
            self._known[path] = (size, modified, changed, inode), str(digest)
            self._lasting[path] = [size, modified, changed, inode, str(digest)]

    @classmethod
    def load(cls, folder: Path, file: Path) -> HashIndex:
        """Load the index from a file. If it is absent or damaged, the inputs are hashed again."""
        try:
            return cls(folder, read_json(file)["files"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(folder)

    def save(self, file: Path) -> None:
        write_text(file, json.dumps({"files": self._lasting}))

    def hash(self, path: str | Path) -> str:
        target = self._folder / path
        name = str(target.relative_to(self._folder) if target.is_relative_to(self._folder) else target)
        signature = _signature(target)
        remembered = self._known.get(name)
        if remembered is not None and remembered[0] == signature:
            return remembered[1]
        now = time.time_ns()
        digest = _content_hash(target)
        self._known[name] = signature, digest
        self._lasting.pop(name, None)
        if now - max(signature[1], signature[2]) > _TICK_NS:
            self._lasting[name] = [*signature, digest]
        return digest


_in_use: ContextVar[HashIndex | None] = ContextVar("hash index", default=None)


@contextmanager
def using(index: HashIndex) -> Iterator[None]:
    """Within this block `file_hash` asks the index first."""
    token = _in_use.set(index)
    try:
        yield
    finally:
        _in_use.reset(token)


def _signature(path: Path) -> Signature:
    """Values that change when a file is edited or replaced, unless within the resolution of file times."""
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode):
        raise InputError("is not a regular file", where=str(path))
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


def _content_hash(path: Path) -> str:
    with path.open("rb") as stream:
        return _digest(stream)


def _digest(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
