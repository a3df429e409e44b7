"""The command line: it parses, calls the library and prints."""

from graphgauge.cli.app import main

__all__ = ["main"]
