"""Check a JSON value against a JSON Schema: the keywords that the package's own schemas use, without a dependency.

Stricter than the standard in one point: 40.0 is not an integer, since other readers of the file distinguish them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

_LARGEST = int(sys.float_info.max)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
_WORDS = {
    "object": "a table", "array": "a list", "string": "text", "integer": "a whole number", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
# Keywords that describe, or that only refer.
_SILENT = frozenset(("$schema", "$id", "$defs", "title", "description"))


def violation(value: Any, schema: Mapping[str, Any]) -> str | None:
    """What is wrong with a value first, and where; None if nothing is."""
    return next(_violations(value, schema, schema, ""), None)


def _violations(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    for keyword, stated in schema.items():
        if keyword == "$ref":
            yield from _violations(value, root["$defs"][stated.removeprefix("#/$defs/")], root, where)
        elif keyword not in _SILENT:
            yield from _CHECKS[keyword](value, stated, schema, root, where)


def _type(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    names = [stated] if isinstance(stated, str) else stated
    if not any(_is(value, name) for name in names):
        yield f"{where or 'it'} is {_shown(value)}, not {' or '.join(_WORDS[name] for name in names)}"


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    # No float has this size, so no reader could compute with it.
    return isinstance(value, _TYPES[name]) and not (isinstance(value, int) and abs(value) > _LARGEST)


def _const(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    yield from _enum(value, [stated], schema, root, where)


def _enum(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if not any(value == one and type(value) is type(one) for one in stated):
        yield f"{where or 'it'} is {_shown(value)}, not {' or '.join(map(repr, stated))}"


def _pattern(value: Any, stated: str, schema: Any, root: Any, where: str) -> Iterator[str]:
    if isinstance(value, str) and re.search(stated, value) is None:
        yield f"{where or 'it'} is {_shown(value)}, which is malformed"


def _minimum(value: Any, stated: float, schema: Any, root: Any, where: str) -> Iterator[str]:
    if _is(value, "number") and value < stated:
        yield f"{where or 'it'} is {_shown(value)}, below {stated}"


def _maximum(value: Any, stated: float, schema: Any, root: Any, where: str) -> Iterator[str]:
    if _is(value, "number") and value > stated:
        yield f"{where or 'it'} is {_shown(value)}, above {stated}"


def _above(value: Any, stated: float, schema: Any, root: Any, where: str) -> Iterator[str]:
    if _is(value, "number") and value <= stated:
        yield f"{where or 'it'} is {_shown(value)}, not above {stated}"


def _below(value: Any, stated: float, schema: Any, root: Any, where: str) -> Iterator[str]:
    if _is(value, "number") and value >= stated:
        yield f"{where or 'it'} is {_shown(value)}, not below {stated}"


def _required(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{where or 'it'} has no {name}" for name in stated if name not in value)


def _properties(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, own in stated.items():
            if name in value:
                yield from _violations(value[name], own, root, f"{where}.{name}" if where else name)


def _additional(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, own in value.items():
            if name not in known:
                yield from _violations(own, stated, root, f"{where}.{name:.60}")


def _property_names(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    for name in value if isinstance(value, dict) else ():
        yield from _violations(name, stated, root, f"a name in {where}")


def _items(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if not isinstance(value, list) or (stated.keys() == {"type"} and _all_are(value, stated["type"])):
        return
    for number, own in enumerate(value):
        yield from _violations(own, stated, root, f"{where}[{number}]")


def _all_are(values: list[Any], names: Any) -> bool:
    """Whether the classes of all values suffice: lists of numbers are long. Whole numbers may be too large."""
    allowed = {kind for name in ([names] if isinstance(names, str) else names) for kind in _TYPES[name]}
    return set(map(type, values)) <= allowed - {int}


def _fewest(value: Any, stated: int, schema: Any, root: Any, where: str) -> Iterator[str]:
    if isinstance(value, list) and len(value) < stated:
        yield f"{where or 'it'} has {len(value)} entries, not {stated}"


def _most(value: Any, stated: int, schema: Any, root: Any, where: str) -> Iterator[str]:
    if isinstance(value, list) and len(value) > stated:
        yield f"{where or 'it'} has {len(value)} entries, not {stated}"


def _one_of(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    """The alternatives of these schemas exclude each other, so one that holds is enough."""
    found = [next(_violations(value, own, root, where), None) for own in stated]
    if None not in found:
        # The most telling one: about a part of the value, not about its kind.
        yield max((text for text in found if text is not None), key=lambda text: not text.startswith(f"{where} is"))


def _not(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if next(_violations(value, stated, root, where), None) is None:
        yield f"{where or 'it'} is {_shown(value)}, which does not belong there"


def _if(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    if next(_violations(value, stated, root, where), None) is None:
        yield from _violations(value, schema["then"], root, where)


def _nothing(value: Any, stated: Any, schema: Any, root: Any, where: str) -> Iterator[str]:
    """`then` is checked by `if`."""
    yield from ()


_CHECKS = {
    "type": _type, "const": _const, "enum": _enum, "pattern": _pattern, "minimum": _minimum, "maximum": _maximum,
    "exclusiveMinimum": _above, "exclusiveMaximum": _below, "required": _required, "properties": _properties,
    "additionalProperties": _additional, "propertyNames": _property_names, "items": _items, "minItems": _fewest,
    "maxItems": _most, "oneOf": _one_of, "not": _not, "if": _if, "then": _nothing,
}  # fmt: skip


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _WORDS["object" if isinstance(value, dict) else "array"]
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a number beyond all floats"
    return "null" if value is None else f"{str(value).lower()}" if isinstance(value, bool) else f"{value!r:.60}"
