"""User code: import and call `module:factory`, and report its errors."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError


def made(factory: str, **options: Any) -> Any:
    """Call the factory. Its module is also searched for in the working folder."""
    with own_code(factory):
        return _called(factory, options)


@contextmanager
def own_code(where: str) -> Iterator[None]:
    """Turn errors of user code in this block into one paragraph; `where` names the function called.

    An attempt to end the process is such an error too, because nothing was evaluated and the exit code must show that.
    Ctrl-C remains an interrupt.
    """
    try:
        yield
    except (GraphgaugeError, KeyboardInterrupt):
        raise
    except BaseException as error:
        said = " ".join(str(error).split())
        text = f"{type(error).__name__}: {said:.200}" if said else type(error).__name__
        raise InputError(f"raised {text}", where=where, fix="Run it alone; --debug shows the traceback.") from error


def _called(factory: str, options: Mapping[str, Any]) -> Any:
    module, _, name = factory.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module exists, one of its imports does not: show that message
        raise OptionError(
            f"no module {module!r}", fix="It is searched for in the working folder and on Python's path."
        ) from None
    call = getattr(found, name, None)
    if not callable(call):
        raise OptionError(f"{module} has no function {name!r}", fix="Name one that takes no arguments.")
    return call(**options)
