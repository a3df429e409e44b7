"""Shared by the tables of differences: importing peers on use, their versions, rows, and keeping pages current."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any


@cache
def peer(module: str) -> Any:
    """Imported on first use, so that the other tests of this folder can be collected without the peers."""
    logging.disable(logging.INFO)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imported = importlib.import_module(module)
    if "torch" in sys.modules:  # gcastle makes float64 the default of all that follow
        sys.modules["torch"].set_default_dtype(sys.modules["torch"].float32)
    return imported


def versions(packages: Iterable[str]) -> str:
    return ", ".join(f"{name} {version(name).partition('+')[0]}" for name in packages)


def lines(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(row)} |" for row in rows)]


def cases(rows: Iterable[list[str]]) -> list[str]:
    """A list with an item per case: title, this project's rule and its result, a library and that library's result.

    A row without a title is another library's answer to the case above it.
    """
    found: list[str] = []
    for title, rule, ours, whose, theirs in rows:
        if title:
            found.append(f"- {title}: **{ours}** ({rule}). {whose}: {theirs}.")
        else:
            found[-1] = f"{found[-1].removesuffix('.')}; {whose}: {theirs}."
    return found


def assert_current(page: Path, text: str) -> None:
    if os.environ.get("GRAPHGAUGE_REGENERATE"):
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text, "run with GRAPHGAUGE_REGENERATE=1"
