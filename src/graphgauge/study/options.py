"""The keys that a table of a study may have, and the typed values that they become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphgauge.core.errors import OptionError
from graphgauge.old.core.family import family
from graphgauge.old.core.fields import Field, Fields, Output, read_all
from graphgauge.study.recipe import MERGE, fields_by_command

# Options of commands that a study sets in another way, and how.
ELSEWHERE = {
    "gate": "Write a [[gate]] table.",
    "threads": "`graphgauge run --jobs` divides the cores.",
    "engine": "It is an option of `graphgauge run`.",
    "scheduler": "It is an option of `graphgauge run`.",
    "format": "Results are written as JSON.",
    "draw": "Use `graphgauge compare --figure`.",
    "quiet": "It is an option of `graphgauge run`.",
    "debug": "It is an option of `graphgauge run`.",
}
IDENTITY = ("method", "dataset", "run_seed")
_OUTPUTS = ("output", "flat", "figure")


def keys_of(fields: Fields) -> dict[str, Field]:
    """The fields that a study may set. Output files are not among them: a study writes its own."""
    return {
        name: field for name, field in fields.items() if name not in ELSEWHERE and not isinstance(field.kind, Output)
    }


def refused(fields: Fields, command: str, key: str) -> str | None:
    """Why an option of the command is not a key of a study, if so."""
    if key in ELSEWHERE and key not in keys_of(fields):
        return ELSEWHERE[key]
    if key in _OUTPUTS or (key in fields and key not in keys_of(fields)):
        return f"Studies write their results themselves; use `graphgauge {command}` for --{key.replace('_', '-')}."
    return None


def options_of(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a family, or of `merge`, from a file that is not trusted: only keys of studies, checked and typed."""
    fields = fields_by_command(name)
    allowed = keys_of(fields)
    for key in given:
        if key not in allowed:
            raise OptionError(f"{key!r:.60} is not an option of a study")
    read = read_all(fields, given)
    if name != MERGE:
        family(name).check(read)
    return {key: read[key] for key in given}
