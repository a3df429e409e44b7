"""One array in a file, as readers of every format give it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray


class ArrayFile(ABC):
    """One array in a file; `rows` reads a range of its first axis.

    `member` names it among several in one file; `columns` names its columns if the file does.
    """

    member: str | None = None
    columns: list[str] | None = None

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.path, self.shape, self.dtype = path, shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @abstractmethod
    def rows(self, start: int, stop: int) -> AnyArray: ...

    def take(self, rows: AnyArray) -> AnyArray:
        """Some rows by number, in this order; read in the order of the file."""
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for place in np.argsort(rows, kind="stable").tolist():
            found[place] = self.rows(int(rows[place]), int(rows[place]) + 1)[0]
        return found


class LoadedArray(ArrayFile):
    """An array in memory, or a .npy file that is mapped into it."""

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
