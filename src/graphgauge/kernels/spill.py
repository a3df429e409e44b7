"""Arrays in temporary files: what takes more memory than it may is kept on disk and mapped into memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError


def stored(blocks: Iterable[NDArray[Any]], row: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Blocks with rows of this shape, one after the other, in a temporary file that disappears with the array.

    The file is in `TMPDIR` and has no name: it is gone even if the process is killed. It is written block by block,
    because the length is not known before, and a mapped file that outgrows the disk would end the process.
    """
    try:
        with tempfile.TemporaryFile() as file:
            rows = 0
            for block in blocks:
                file.write(np.ascontiguousarray(block, dtype).tobytes())
                rows += len(block)
            file.flush()
            if not rows:
                return np.empty((0, *row), dtype)
            # The mapping keeps the file until it is no longer used.
            mapped: NDArray[Any] = np.memmap(file, dtype, "r", shape=(rows, *row))
            return mapped
    except OSError as error:
        raise InputError(
            f"the counts take more than max_memory, and a temporary file cannot be written ({error.strerror})",
            fix="Raise max_memory (state.max_memory = …), or set TMPDIR to a disk with space. Nothing is lost.",
        ) from None


def is_stored(array: Any) -> bool:
    return isinstance(array, np.memmap)


def joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays one after the other: in memory, or on disk if one of them is there."""
    if not any(map(is_stored, parts)):
        return np.concatenate(parts)
    if len(parts) == 1:
        return parts[0]
    dtype = np.result_type(*parts)
    return stored(parts, parts[0].shape[1:], dtype)
