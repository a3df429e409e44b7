"""One array in a file, as readers of every format give it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.files import Signature
from graphgauge.core.mapped import fetch, give_back
from graphgauge.core.urls import Url
from graphgauge.io.ahead import RunningHash

# Fetched and hashed at once.
_AT_ONCE = 1 << 25


class ArrayFile(ABC):
    """One array in a file; `rows` reads a range of its first axis.

    `member` names it among several in one file; `columns` names its columns if the file does. `hash_as_read` is the
    hash of the bytes that were read, with the signature of the file before, once it was read from beginning to end.
    """

    member: str | None = None
    columns: list[str] | None = None
    hash_as_read: tuple[Signature, str] | None = None

    def __init__(self, path: Path | Url, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @abstractmethod
    def rows(self, start: int, stop: int) -> AnyArray: ...

    def begin(self, *, hashed: bool) -> None:
        """Before blocks are read in order: whether their bytes are hashed on the way."""
        return

    def ahead(self, start: int, stop: int) -> AnyArray:
        """`rows`, from the disk and not only promised: called by another thread before they are needed."""
        return self.rows(start, stop)

    def done_with(self, start: int, stop: int) -> None:
        """These rows are not needed again soon."""
        return

    def take(self, rows: AnyArray) -> AnyArray:
        """Some rows by number, in this order; read in the order of the file."""
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for place in np.argsort(rows, kind="stable").tolist():
            found[place] = self.rows(int(rows[place]), int(rows[place]) + 1)[0]
        return found


class LoadedArray(ArrayFile):
    """An array that is in memory."""

    def __init__(self, path: Path, array: AnyArray) -> None:
        super().__init__(path, array.shape, array.dtype)
        self._array = array

    def rows(self, start: int, stop: int) -> AnyArray:
        return self._array[start:stop]

    def take(self, rows: AnyArray) -> AnyArray:
        order = np.argsort(rows, kind="stable")
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        found[order] = self._array[rows[order]]
        return found


class MappedArray(LoadedArray):
    """A .npy file that is mapped into memory. Pages are fetched ahead of their use and given back after it."""

    _running: RunningHash | None = None

    def begin(self, *, hashed: bool) -> None:
        mapped = self._array
        self._running = None
        if hashed and isinstance(mapped, np.memmap) and mapped.flags.c_contiguous and isinstance(self.path, Path):
            self._running = RunningHash(self.path, self.path.stat().st_size)
            with self.path.open("rb") as stream:
                self._running.add(0, stream.read(mapped.offset))

    def ahead(self, start: int, stop: int) -> AnyArray:
        found = self._array[start:stop]
        step = max(1, _AT_ONCE // max(1, self.row_bytes))
        if self._running is None:
            fetch(found[:step])
            return found
        for first in range(start, stop, step):
            part = self._array[first : min(first + step, stop)]
            fetch(self._array[first : first + 2 * step])  # what is next is read while this is hashed
            self._running.add(self._array.offset + first * self.row_bytes, part)  # type: ignore[attr-defined]
            if stop - start > step:  # a long range is not kept in memory, only in the page cache
                give_back(part)
        if stop == len(self):
            self.hash_as_read = self._running.known()
        return found

    def done_with(self, start: int, stop: int) -> None:
        give_back(self._array[start:stop])
