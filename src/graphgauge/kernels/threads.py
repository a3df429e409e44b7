"""Blocks of rows through one shared pool of threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.threads import available_threads as available_threads
from graphgauge.core.threads import default_threads

Block = TypeVar("Block")
Answer = TypeVar("Answer")

# Elements in a block: enough to make passing it to a thread cheap, few enough to keep all threads busy.
BLOCK_WORK = 1 << 22

_lock = Lock()
_pool: ThreadPoolExecutor | None = None


def row_blocks(rows: int, work: int) -> list[slice]:
    """`rows` rows with `work` elements altogether, in even blocks; small work is one block, on one thread.

    The blocks depend only on the input, so sums over them have the same bits with any number of threads.
    """
    return even_blocks(rows, -(-work // BLOCK_WORK))


def even_blocks(rows: int, count: int) -> list[slice]:
    """`rows` rows in `count` blocks, or in fewer if there are fewer rows, but at least one."""
    count = max(1, min(rows, count))
    edges = [rows * i // count for i in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def map_blocks(
    function: Callable[[Block], Answer], blocks: Sequence[Block], *, threads: int | None = None
) -> list[Answer]:
    """`function` of every block, in order, on at most `threads` threads (default: all that are available).

    The calling thread also works and does not wait for threads that have not started: calls from many threads at
    once, or from inside a block, cannot wait for each other.
    """
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    helpers = min(threads or default_threads(), len(blocks)) - 1
    if helpers < 1:
        return [function(block) for block in blocks]
    answers: dict[int, Answer] = {}
    pending = deque(enumerate(blocks))

    def drain() -> None:
        try:
            while True:
                try:
                    index, block = pending.popleft()
                except IndexError:
                    return
                answers[index] = function(block)
        except BaseException:
            pending.clear()
            raise

    futures = [_shared_pool().submit(drain) for _ in range(helpers)]
    try:
        drain()
    finally:
        # No block may still be reading or writing the caller's arrays after this function has returned.
        errors = [future.exception() for future in futures if not future.cancel()]
    for error in errors:
        if error is not None:
            raise error
    return [answers[index] for index in range(len(blocks))]


def sum_blocks(
    add: Callable[[Block, NDArray[np.int64]], Answer],
    blocks: Sequence[Block],
    cells: int,
    *,
    threads: int | None = None,
) -> tuple[NDArray[np.int64], list[Answer]]:
    """One table of `cells` counts to which `add(block, table)` has added every block, and the results of `add`."""
    # One table per working thread: a block takes a free one, or makes a new one.
    tables: deque[NDArray[np.int64]] = deque()

    def add_block(block: Block) -> Answer:
        try:
            table = tables.pop()
        except IndexError:
            table = np.zeros(cells, np.int64)
        answer = add(block, table)
        tables.append(table)
        return answer

    answers = map_blocks(add_block, blocks, threads=threads)
    total = tables.pop()
    for table in tables:
        total += table
    return total, answers


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(available_threads(), thread_name_prefix="graphgauge")
        return _pool


def _forget_pool() -> None:
    """A forked child has none of its parent's threads, but may have a lock that one of them held."""
    global _lock, _pool
    _lock, _pool = Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
