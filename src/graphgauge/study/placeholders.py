"""`{method}`, `{seed}` and `{dataset}` in the values of a study."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphgauge.core.errors import InputError, one_of

# A brace, a placeholder with its format, or a brace that is neither.
_PART = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}:!]*)(?P<format>[^{}]*)\}|[{}]")
_WIDTH = re.compile(r"(:0?\d{1,2}d?)?")


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """The value with every text in it filled in; `{seed:03d}` sets a width, `{{` is a brace."""
    if isinstance(value, str):
        return _PART.sub(lambda part: _filled(part, values), value)
    if isinstance(value, list):
        return [fill(part, values) for part in value]
    if isinstance(value, dict):
        return {name: fill(part, values) for name, part in value.items()}
    return value


def placeholders(value: Any) -> Iterator[str]:
    """The names of all placeholders in a value. A brace by itself may be any of them: filling it in is an error."""
    if isinstance(value, str):
        for part in _PART.finditer(value):
            if part["name"] is not None:
                yield part["name"]
            elif len(part[0]) == 1:
                yield from ("dataset", "method", "seed")
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from placeholders(each)


def _filled(part: re.Match[str], values: Mapping[str, Any]) -> str:
    if part["name"] is None:
        if len(part[0]) == 2:
            return part[0][0]
        raise InputError(f"{part.string!r:.80} has a brace too many or too few", fix="Write {{ for a brace.")
    name = one_of("placeholder", part["name"], values)
    value = values[name]
    if value is None:
        raise InputError(f"{{{name}}} has no value here", fix=f"Give {name}s.")
    if not _WIDTH.fullmatch(part["format"]):
        fix = f"Write {{{name}}}, or a width as in {{seed:03d}}."
        raise InputError(f"{{{name}…}} has an unsupported format", fix=fix)
    try:
        text = format(value, part["format"][1:])
    except ValueError:
        raise InputError(f"{part[0]} does not apply to text", fix=f"Write {{{name}}}.") from None
    if glob.has_magic(text):
        # In a path it would be a pattern and might match the files of another method.
        raise InputError(f"{name} {text!r:.60} cannot be filled in", fix="Names with *, ? or [ are patterns in a path.")
    return text
