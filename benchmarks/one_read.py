"""One read of an input by two threads: the minimum cost of any code that looks at all of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

_BLOCK = 1 << 22  # 64-bit words that a thread takes at a time


def two_thread_read(arrays: Sequence[np.ndarray]) -> int:
    """The sum of all memory of the arrays as 64-bit words, by two threads."""
    pending = deque(
        words[start : start + _BLOCK] for words in map(_words, arrays) for start in range(0, words.size, _BLOCK)
    )

    def drain() -> int:
        found = 0
        while True:
            try:
                block = pending.popleft()
            except IndexError:
                return found
            found ^= int(block.sum())

    helper = _helper().submit(drain)
    return drain() ^ helper.result()


@cache
def _helper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="read")


def _words(array: np.ndarray) -> np.ndarray:
    if not array.flags.c_contiguous:
        raise ValueError("one read goes over contiguous arrays")
    flat = array.reshape(-1)
    whole = flat.nbytes // 8 * 8 // flat.itemsize
    return flat[:whole].view(np.int64)
