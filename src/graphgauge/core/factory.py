"""Code that is a user's own: `module:factory`, imported and called, and what it raises."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError


def made(factory: str) -> Any:
    """What the factory returns; its module is looked for in the working folder, too."""
    with own_code(factory):
        return _called(factory)


@contextmanager
def own_code(where: str) -> Iterator[None]:
    """What a user's own code raises in this block becomes one paragraph, `where` being what was called of it.

    So does an attempt to end the process: nothing was evaluated, and no exit code may say otherwise. Ctrl-C stays an
    interrupt.
    """
    try:
        yield
    except (GraphgaugeError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        said = " ".join(str(error).split())
        text = f"{type(error).__name__}: {said:.200}" if said else type(error).__name__
        raise InputError(f"raised {text}", where=where, fix="Run it by itself; --debug shows where.") from error


def _called(factory: str) -> Any:
    module, _, name = factory.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, something that it imports is not: that is the message to show
        raise OptionError(
            f"no module {module!r}", fix="It is looked for in the working folder and where Python looks."
        ) from None
    call = getattr(found, name, None)
    if not callable(call):
        raise OptionError(f"{module} has no function {name!r}", fix="Name one that takes no arguments.")
    return call()
