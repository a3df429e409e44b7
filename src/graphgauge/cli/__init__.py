"""The command line: it parses arguments, calls the library and prints."""

from __future__ import annotations

import os
import signal
from typing import Any


def main() -> None:
    """Run the command line. An interrupt ends it at once until it is loaded, when nothing can be half done."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)
    from graphgauge.cli import app

    app.main()


def end(number: int, frame: Any) -> None:
    """Leave without a word."""
    os._exit(130)
