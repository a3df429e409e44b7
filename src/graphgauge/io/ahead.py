"""Reading ahead: another thread reads what comes next while this one is used, and hashes it if that is asked for."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from graphgauge.core.files import Signature, signature_of
from graphgauge.core.urls import Url

# Parts that are read before they are asked for.
_AHEAD = 2

T = TypeVar("T")
R = TypeVar("R")

_wanted: ContextVar[bool] = ContextVar("hashes of files while they are read", default=False)


@contextmanager
def hashing_while_reading(wanted: bool = True) -> Iterator[None]:
    """Within this block, files that are read from beginning to end are hashed on the way, for a receipt."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def hashes_wanted() -> bool:
    return _wanted.get()


def ahead(parts: Iterable[T], read: Callable[[T], R], most: int = _AHEAD) -> Iterator[tuple[T, R]]:
    """Each part with what was read for it, in order. One thread reads the next ones meanwhile; an error comes in turn.

    At most so many parts are in memory before they are needed.

    >>> list(ahead([1, 2, 3], lambda part: part**2))
    [(1, 1), (2, 4), (3, 9)]
    """
    coming = iter(parts)
    waiting: deque[tuple[T, Future[R]]] = deque()
    with ThreadPoolExecutor(1, "graphgauge-reader") as thread:
        try:
            while True:
                waiting.extend((part, thread.submit(read, part)) for part in islice(coming, 1 + most - len(waiting)))
                if not waiting:
                    return
                part, answer = waiting.popleft()
                found = answer.result()
                del answer  # what was read is not kept until the next part
                yield part, found
                del found
        finally:
            for _, answer in waiting:
                answer.cancel()


class RunningHash:
    """The SHA-256 of a file whose bytes come in order; known once all have come, if the file is still the same."""

    def __init__(self, path: Path | Url, size: int) -> None:
        self._path, self._size, self._signature = path, size, signature_of(path)
        self._digest, self._at = hashlib.sha256(), 0

    def add(self, start: int, content: Any) -> None:
        """Bytes that begin at this place of the file; out of order, nothing will be known."""
        if start == self._at:
            view = memoryview(content)
            self._digest.update(view)
            self._at += view.nbytes

    @property
    def missing(self) -> int:
        """How many bytes have not come."""
        return self._size - self._at

    def known(self) -> tuple[Signature, str] | None:
        """The signature that the file had before it was read, and its hash; None if it was not read as a whole."""
        return (self._signature, self._digest.hexdigest()) if self._at == self._size else None
