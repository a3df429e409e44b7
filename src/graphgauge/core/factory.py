"""`module:factory`: code that a user names, imported and called."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from graphgauge.core.errors import GraphgaugeError, InputError, OptionError


def made(factory: str) -> Any:
    """What the factory returns; its module is looked for in the working folder, too.

    What the user's own code raises becomes one paragraph.
    """
    try:
        return _called(factory)
    except GraphgaugeError:
        raise
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"failed ({what:.200})", where=factory, fix="With --debug it is shown where.") from error


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
