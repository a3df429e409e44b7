"""The outcome of a study as its results folder has it, and the checks that the study ignores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphgauge.core.errors import InputError
from graphgauge.core.scrub import scrub
from graphgauge.old.core.files import read_json

SUMMARY = "study.json"


def read_part(path: Path) -> dict[str, Any]:
    """The table of one file; its content is not trusted."""
    try:
        content = scrub(read_json(path))
    except (InputError, RecursionError) as error:
        what = error.what if isinstance(error, InputError) else "brackets are nested too deep"
        raise InputError(f"cannot be read ({what})", where=path.name) from None
    if not isinstance(content, dict):
        raise InputError("contains no table", where=path.name)
    return content


def ignored_checks(content: Mapping[str, Any]) -> frozenset[str]:
    """The checks that a study names as ignored."""
    return frozenset(str(check) for check in content.get("ignore") or {})


def ignored_in(folder: Path) -> frozenset[str]:
    """The checks that the study of a results folder ignores; none without a readable outcome."""
    path = folder / SUMMARY
    try:
        return ignored_checks(read_part(path)) if path.is_file() else frozenset()
    except (InputError, TypeError):
        return frozenset()
