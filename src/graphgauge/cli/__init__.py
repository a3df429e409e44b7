"""The command line: it parses arguments, calls the library and prints."""

from graphgauge.cli.app import main

__all__ = ["main"]
