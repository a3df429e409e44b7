"""Before Python 3.12, cached properties have locks. A forked child inherits those that other threads held, for ever."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from threading import RLock
from typing import Any


def renew_locks() -> None:
    """New locks for all cached properties of graphgauge; called in a forked child, which has one thread."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "graphgauge" or module is None:
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and kind.__module__ == name:
                for part in vars(kind).values():
                    _renew(part)


def _renew(part: Any) -> None:
    if isinstance(part, cached_property) and hasattr(part, "lock"):
        part.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_locks)
