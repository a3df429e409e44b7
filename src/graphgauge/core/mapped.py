"""Pages of memory-mapped files: fetched ahead of their use, and given back after it.

Mapped pages count as memory of the process until they are given back. They stay in the page cache of the system, from
which a second use gets them again.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray


def fetch(array: AnyArray) -> None:
    """Ask the system to read the mapped pages of an array now; it does not wait for them."""
    _advise(array, getattr(mmap, "MADV_WILLNEED", None))


def give_back(array: Any) -> None:
    """Give back the mapped pages of an array; other arrays are left as they are."""
    _advise(array, getattr(mmap, "MADV_DONTNEED", None))


def _advise(array: Any, advice: int | None) -> None:
    if advice is None or not isinstance(array, np.ndarray) or not array.size or min(array.strides, default=0) < 0:
        return
    owner: Any = array
    while isinstance(owner, np.ndarray) and type(owner) is not np.memmap:
        owner = owner.base
    # Of a private mapping ("c") the changes would be lost.
    if type(owner) is not np.memmap or owner.mode != "r":
        return
    pages = owner._mmap  # type: ignore[attr-defined]
    whole = np.frombuffer(pages, np.uint8)
    low = array.ctypes.data
    high = low + sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)) + array.itemsize
    start = max(low - whole.ctypes.data, 0)
    start -= start % mmap.PAGESIZE
    pages.madvise(advice, start, min(high - whole.ctypes.data, len(whole)) - start)
