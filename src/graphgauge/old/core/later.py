"""Values that are computed when somebody reads them, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Later:
    """A value that `make` gives when it is asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def __call__(self) -> Any:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made


def read(value: Any) -> Any:
    """The value itself, computed if it is to be computed later.

    >>> read(Later(lambda: 1)), read(2)
    (1, 2)
    """
    return value() if isinstance(value, Later) else value
