"""A value for every field of a family without doors that differs from its default, and how each way writes it."""

from __future__ import annotations

from typing import Any

from graphgauge.core.door import doors
from graphgauge.old.core.family import BUILT_IN, Family, family
from graphgauge.old.core.fields import (
    Choice,
    Factory,
    Field,
    File,
    Files,
    Flag,
    NamedFiles,
    Number,
    OneOrTwo,
    Output,
    Several,
    Text,
    Texts,
    Whole,
)
from graphgauge.study import toml

FAMILIES = {name: family(name) for name in BUILT_IN if not doors(name)}
# Fields whose value has to suit another one.
_CHOSEN: dict[str, Any] = {"by": ("horizon",), "horizons": (1,)}


def example(field: Field) -> Any:
    """A typed value other than the default; files are absent."""
    kind = field.kind
    if field.name in _CHOSEN and isinstance(kind, Several):
        return _CHOSEN[field.name]
    if isinstance(kind, Choice | OneOrTwo):
        return next(name for name in kind.names if name != field.default)
    if isinstance(kind, Whole):
        return (field.default or kind.least or 0) + 1
    if isinstance(kind, Number):
        return 0.7
    if isinstance(kind, Flag):
        return True
    if isinstance(kind, Several):
        return (example(Field(field.name, kind.each, None)),)
    if isinstance(kind, Factory):
        return "absent_module:factory"
    if isinstance(kind, Texts | Files):
        return ("absent.npy",)
    if isinstance(kind, NamedFiles):
        return {"axis": "absent.npy"}
    assert isinstance(kind, File | Output | Text), kind
    return "absent.npy"


def arguments(declared: Family, values: dict[str, Any]) -> list[str]:
    """The values on the command line."""
    found = []
    for name, value in values.items():
        field = declared.fields[name]
        if isinstance(field.kind, Flag):
            found += [field.flag] if value else []
        elif isinstance(value, dict):
            found += [f"{field.flag}={key}={part}" for key, part in value.items()]
        elif isinstance(field.kind, Files | Texts):
            found += [f"{field.flag}={part}" for part in value]
        else:
            parts = value if isinstance(value, tuple) else [value]
            found.append(f"{field.flag}={','.join(map(_quoted, parts))}")
    return found


def _quoted(part: Any) -> str:
    text = "" if part is None else str(part)
    return f'"{text}"' if "," in text else text


def study_text(declared: Family, values: dict[str, Any], **head: str) -> str:
    """The values in a study of one evaluation."""
    table = {"family": declared.name, "method": "m", "dataset": "d", **values}
    return "\n".join(["schema = 1", *toml.lines(head), "[[evaluate]]", *toml.lines(table), ""])


def written(declared: Family) -> list[str]:
    """The fields that a study can set."""
    return [name for name, field in declared.fields.items() if not isinstance(field.kind, Output) and name != "threads"]
