"""What a user's own code raises, as one paragraph that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from graphgauge.core.errors import GraphgaugeError, InputError


@contextmanager
def blaming(what: str, name: str, where: str | None = None) -> Iterator[None]:
    """What is raised in this block is the fault of `name`, a method of a `what`; its traceback stays with it."""
    try:
        yield
    except GraphgaugeError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        text = f"{type(error).__name__}: {said:.200}" if said else type(error).__name__
        raise InputError(
            f"{what} {name} raised {text}", where=where, fix="Run it by itself; --debug shows where."
        ) from error
