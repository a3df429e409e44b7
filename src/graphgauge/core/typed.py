"""The types of JSON content, as a JSON Schema declares them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


@cache
def schema_of(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def mistyped(content: Any, schema: Mapping[str, Any], root: Mapping[str, Any], place: str = "") -> Iterator[str]:
    """Places whose type, or whose name out of a few, is not as declared; what is absent or undeclared is left alone."""
    if "$ref" in schema:
        yield from mistyped(content, root["$defs"][schema["$ref"].rpartition("/")[2]], root, place)
        return
    if "type" in schema and not _is(content, schema["type"]):
        yield f"{place or 'it'} is {type(content).__name__}"
        return
    if "enum" in schema and content not in schema["enum"]:
        yield f"{place} is {content!r:.60}"
    if isinstance(content, dict):
        declared, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, value in content.items():
            below = declared.get(name, others)
            if isinstance(below, dict):
                yield from mistyped(value, below, root, f"{place}.{name}" if place else str(name))
    elif isinstance(content, list) and isinstance(schema.get("items"), dict):
        for number, value in enumerate(content):
            yield from mistyped(value, schema["items"], root, f"{place}[{number}]")


def _is(content: Any, types: str | list[str]) -> bool:
    kinds = [types] if isinstance(types, str) else types
    if isinstance(content, bool):
        return "boolean" in kinds
    return any(isinstance(content, _TYPES[kind]) for kind in kinds)
