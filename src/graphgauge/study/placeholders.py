"""`{method}`, `{seed}` and `{dataset}` in the values of a study."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping
from string import Formatter
from typing import Any

from graphgauge.core.errors import InputError, one_of

_WIDTH = re.compile(r"(?:0?\d{1,2}d?)?")


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """The value with every text in it filled in; `{seed:03d}` sets a width, `{{` is a brace."""
    if isinstance(value, str):
        return _filled(value, values)
    if isinstance(value, list):
        return [fill(part, values) for part in value]
    if isinstance(value, dict):
        return {name: fill(part, values) for name, part in value.items()}
    return value


def placeholders(value: Any) -> set[str]:
    """The names of all placeholders in a value. A wrong brace may be any of them: filling it in is an error."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*map(placeholders, value))
    try:
        return {name for _, name, _, _ in Formatter().parse(value) if name} if isinstance(value, str) else set()
    except ValueError:
        return {"dataset", "method", "seed"}


def _filled(text: str, values: Mapping[str, Any]) -> str:
    parts = []
    try:
        fields = list(Formatter().parse(text))
    except ValueError as error:
        raise InputError(
            f"{text!r:.80} has a brace too many or too few ({error})", fix="Write {{ for a brace."
        ) from None
    for literal, name, form, conversion in fields:
        parts.append(literal)
        if name is not None:
            parts.append(_field(one_of("placeholder", name, values), form or "", conversion, values))
    return "".join(parts)


def _field(name: str, form: str, conversion: str | None, values: Mapping[str, Any]) -> str:
    value = values[name]
    if value is None:
        raise InputError(f"{{{name}}} has no value here", fix=f"Give {name}s.")
    if conversion or not _WIDTH.fullmatch(form):
        raise InputError(
            f"{{{name}…}} has an unsupported format", fix=f"Write {{{name}}}, or a width as in {{seed:03d}}."
        )
    try:
        text = format(value, form)
    except ValueError:
        raise InputError(f"{{{name}:{form}}} does not apply to text", fix=f"Write {{{name}}}.") from None
    if glob.has_magic(text):
        # In a path it would be a pattern and might match the files of another method.
        raise InputError(f"{name} {text!r:.60} cannot be filled in", fix="Names with *, ? or [ are patterns in a path.")
    return text
