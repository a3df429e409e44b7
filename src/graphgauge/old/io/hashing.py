"""Hashes of input files, for the receipts of results."""

from __future__ import annotations

import hashlib
import json
import math
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphgauge.old.core.files import Signature, read_json, signature_of, split_member, write_text
from graphgauge.old.core.truths import may_be_truth
from graphgauge.old.io.arrays import ArrayFile

_CHUNK = 1 << 22
# File times have a limited resolution: a file that changed this shortly before it was hashed may have changed again
# without a new time.
_TICK_NS = 2_000_000_000
# Numbers of tables by their kind, so that a width that a library chose does not matter.
_WIDEST = {"b": "?", "i": "<f8", "u": "<f8", "f": "<f8", "m": "<m8[ns]", "M": "<M8[ns]"}


def file_hash(path: str | Path) -> str:
    """SHA-256 of a file, from the index in use or from its content."""
    index = _in_use.get()
    return _hash_of_content(path) if index is None else index.hash(path)


class HashIndex:
    """Hashes of files, kept while size, both times and inode stay the same; paths are relative to `folder`.

    A program can reset the modification time, but not the change time.
    """

    def __init__(self, folder: Path, known: Mapping[str, Any] | None = None) -> None:
        self._folder = folder
        self._known: dict[str, tuple[Signature, str]] = {}
        self._lasting: dict[str, list[Any]] = {}
        self._news: dict[str, list[Any]] = {}
        self.seconds = 0.0
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

    def news(self) -> dict[str, list[Any]]:
        """New entries since the last call that can be reused: path → size, times, inode, hash."""
        news, self._news = self._news, {}
        return news

    def add(self, news: Mapping[str, Any]) -> None:
        other = HashIndex(self._folder, news)
        self._known |= other._known
        self._lasting |= other._lasting

    def hash(self, path: str | Path) -> str:
        target = self._folder / path
        name = str(target.relative_to(self._folder) if target.is_relative_to(self._folder) else target)
        signature = signature_of(target)
        remembered = self._known.get(name)
        if remembered is not None and remembered[0] == signature:
            return remembered[1]
        begin, now = time.perf_counter(), time.time_ns()
        digest = _hash_of_content(target)
        self.seconds += time.perf_counter() - begin
        self._known[name] = signature, digest
        self._lasting.pop(name, None)
        if now - max(signature[1], signature[2]) > _TICK_NS:
            self._lasting[name] = self._news[name] = [*signature, digest]
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


def content_hash(files: Iterable[ArrayFile]) -> str:
    """SHA-256 of the numbers or labels in the files of one array, independent of their paths.

    Two arrays of one archive have different hashes; a copy or a link has the same one.
    """
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.dtype.str} {file.shape[1:]} ".encode())
        for rows in _chunks(file):
            digest.update(rows)
    return digest.hexdigest()


def arrays_hash(arrays: Mapping[str, Any]) -> str:
    """SHA-256 of named arrays."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def table_hash(columns: Mapping[str, Any]) -> str:
    """SHA-256 of the rows of a table, in any order: columns of keys and numbers, by name."""
    digest = hashlib.sha256()
    order = np.lexsort([np.unique(column, return_inverse=True)[1] for _, column in sorted(columns.items())])
    for name, column in sorted(columns.items()):
        values = np.asarray(column)[order]
        text = values.dtype.kind not in "biufmM"
        digest.update(f"{name} {len(values)} ".encode())
        digest.update(
            "\0".join(map(str, values)).encode() if text else values.astype(_WIDEST[values.dtype.kind]).tobytes()
        )
    return digest.hexdigest()


def _chunks(file: ArrayFile) -> Iterator[bytes]:
    step = max(1, _CHUNK // max(1, file.dtype.itemsize * math.prod(file.shape[1:])))
    for start in range(0, len(file), step):
        stop = min(start + step, len(file))
        yield np.ascontiguousarray(file.rows(start, stop)).tobytes()


def receipt_input(name: str, path: str | Path) -> dict[str, Any]:
    """Receipt entry of one file. For `archive.npz:name` the hash is of the archive and `content` of the array in it."""
    return _described(name, *split_member(str(path)))


def receipt_inputs(name: str, files: Iterable[ArrayFile]) -> list[dict[str, Any]]:
    """Receipt entries of the files that one input was read from."""
    return [
        {**_described(name, path, member or file.member, file), "shape": list(file.shape), "dtype": str(file.dtype)}
        for file in files
        for path, member in [split_member(str(file.path))]
    ]


def _described(name: str, path: Path, member: str | None, file: ArrayFile | None = None) -> dict[str, Any]:
    entry = {"name": name, "path": str(path), "bytes": path.stat().st_size, "hash": file_hash(path)}
    content = None
    if may_be_truth(name):
        content = _member_hash(path, member)
        if content is None and file is not None and path.suffix.lower() != ".npy":
            content = _array_hash(file)
    return entry if content is None else {**entry, "content": content}


def _array_hash(file: ArrayFile) -> str | None:
    """The hash that the array of another format would have as .npy; None for text, whose .npy depends on its widths."""
    if file.dtype.kind not in "biuf":
        return None
    head = BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(file.dtype), "fortran_order": False, "shape": tuple(file.shape)}
    np.lib.format.write_array_header_1_0(head, facts)
    digest = hashlib.sha256(head.getvalue())
    for rows in _chunks(file):
        digest.update(rows)
    return digest.hexdigest()


def _member_hash(file: Path, member: str | None) -> str | None:
    """SHA-256 of one array of an .npz, or of its only one. It equals the hash of the same array as .npy."""
    if file.suffix.lower() != ".npz":
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist() if member is None else [f"{member}.npy"]
            if len(names) > 1:
                return None
            with archive.open(names[0]) as stream:
                return _digest(stream)
    except (OSError, LookupError, ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error):
        return None  # read in another way, or damaged, which the array's reader will report


def _hash_of_content(path: str | Path) -> str:
    with Path(path).open("rb") as stream:
        return _digest(stream)


def _digest(stream: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
