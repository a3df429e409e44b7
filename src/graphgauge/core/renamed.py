"""Names that still work but are now called something else: each says so once."""

from __future__ import annotations

import warnings
from functools import cache


@cache
def say_renamed(what: str, now: str, category: type[Warning] = DeprecationWarning, stacklevel: int = 3) -> None:
    """Warn that `what` is now called `now`; the stack level is that of the user's line, counted from here."""
    warnings.warn(f"{what} is now called {now}; the old name still works", category, stacklevel)
