"""Check a JSON value against a JSON Schema: the keywords that the package's own schemas use, without a dependency.

Stricter than the standard in one point: 40.0 is not an integer, since other readers of the file distinguish them.

A schema becomes a function once. Result files have thousands of numbers, so a value that is right costs no more than
the comparison: where a value stands is put together only on the way back from one that is wrong.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LARGEST = int(sys.float_info.max)
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_WORDS = {
    "object": "a table",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
# Keywords that describe, that only refer, or that another keyword reads.
_SILENT = frozenset(("$schema", "$id", "$defs", "title", "description", "then"))


@dataclass(frozen=True)
class _Fault:
    """What is wrong with the value at a place below the one that was checked."""

    text: str
    place: str = ""

    def below(self, step: str) -> _Fault:
        return _Fault(self.text, f"{step}{self.place}")

    def __str__(self) -> str:
        return f"{self.place.removeprefix('.') or 'it'} {self.text}"


_Check = Callable[[Any], _Fault | None]


def checker(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Callable[[Any], str | None]:
    """A function that says what is wrong with a value first, and where; None if nothing is.

    References in the schema are to the definitions of `root`, which is the schema itself unless it is given.
    """
    check = _Compiler(schema if root is None else root).check(schema)

    def violation(value: Any) -> str | None:
        fault = check(value)
        return None if fault is None else str(fault)

    return violation


class _Compiler:
    """Functions for the parts of one schema; a definition has one, however often it is referred to."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.definitions: dict[str, _Check] = {}

    def check(self, schema: Mapping[str, Any]) -> _Check:
        checks = [self._keyword(name, stated, schema) for name, stated in schema.items() if name not in _SILENT]
        if len(checks) == 1:
            return checks[0]

        def every(value: Any) -> _Fault | None:
            for check in checks:
                fault = check(value)
                if fault is not None:
                    return fault
            return None

        return every

    def _keyword(self, name: str, stated: Any, schema: Mapping[str, Any]) -> _Check:
        if name == "$ref":
            return self._definition(stated.removeprefix("#/$defs/"))
        if name in _SIMPLE:
            return _SIMPLE[name](stated)
        if name == "properties":
            return _properties({own: self.check(part) for own, part in stated.items()})
        if name == "additionalProperties":
            return _additional(frozenset(schema.get("properties", ())), self.check(stated))
        if name == "propertyNames":
            return _property_names(self.check(stated))
        if name == "items":
            return _items(self.check(stated), stated["type"] if stated.keys() == {"type"} else None)
        if name == "oneOf":
            return _one_of([self.check(part) for part in stated])
        if name == "not":
            return _not(self.check(stated))
        if name == "if":
            return _if(self.check(stated), self.check(schema["then"]))
        raise KeyError(name)

    def _definition(self, name: str) -> _Check:
        # Called late, since a definition may refer to itself.
        if name not in self.definitions:
            self.definitions[name] = lambda value: self.definitions[name](value)
            self.definitions[name] = self.check(self.root["$defs"][name])
        return self.definitions[name]


def _type(stated: str | Sequence[str]) -> _Check:
    names = [stated] if isinstance(stated, str) else stated
    fault = " or ".join(_WORDS[name] for name in names)
    allowed = frozenset(kind for name in names for kind in _TYPES[name])
    sure = allowed - {int}

    def check(value: Any) -> _Fault | None:
        kind = value.__class__
        # No float has the size of the largest whole numbers, so no reader could compute with them.
        if kind in sure or (kind in allowed and abs(value) <= _LARGEST):
            return None
        return _Fault(f"is {_shown(value)}, not {fault}")

    return check


def _const(stated: Any) -> _Check:
    return _enum([stated])


def _enum(stated: Sequence[Any]) -> _Check:
    def check(value: Any) -> _Fault | None:
        for one in stated:
            if value == one and type(value) is type(one):
                return None
        return _Fault(f"is {_shown(value)}, not {' or '.join(map(repr, stated))}")

    return check


def _pattern(stated: str) -> _Check:
    search = re.compile(stated).search

    def check(value: Any) -> _Fault | None:
        if isinstance(value, str) and search(value) is None:
            return _Fault(f"is {_shown(value)}, which is malformed")
        return None

    return check


def _bound(is_wrong: Callable[[Any, float], bool], words: str) -> Callable[[float], _Check]:
    def bound(stated: float) -> _Check:
        def check(value: Any) -> _Fault | None:
            if _is_number(value) and is_wrong(value, stated):
                return _Fault(f"is {_shown(value)}, {words} {stated}")
            return None

        return check

    return bound


def _is_number(value: Any) -> bool:
    return value.__class__ is float or (value.__class__ is int and abs(value) <= _LARGEST)


def _required(stated: Sequence[str]) -> _Check:
    def check(value: Any) -> _Fault | None:
        if isinstance(value, dict):
            for name in stated:
                if name not in value:
                    return _Fault(f"has no {name}")
        return None

    return check


def _size(is_wrong: Callable[[int, int], bool]) -> Callable[[int], _Check]:
    def size(stated: int) -> _Check:
        def check(value: Any) -> _Fault | None:
            if isinstance(value, list) and is_wrong(len(value), stated):
                return _Fault(f"has {len(value)} entries, not {stated}")
            return None

        return check

    return size


def _properties(parts: Mapping[str, _Check]) -> _Check:
    def check(value: Any) -> _Fault | None:
        if isinstance(value, dict):
            for name, part in parts.items():
                if name in value:
                    fault = part(value[name])
                    if fault is not None:
                        return fault.below(f".{name}")
        return None

    return check


def _additional(known: frozenset[str], part: _Check) -> _Check:
    def check(value: Any) -> _Fault | None:
        if isinstance(value, dict):
            for name, own in value.items():
                if name not in known:
                    fault = part(own)
                    if fault is not None:
                        return fault.below(f".{name:.60}")
        return None

    return check


def _property_names(part: _Check) -> _Check:
    def check(value: Any) -> _Fault | None:
        for name in value if isinstance(value, dict) else ():
            fault = part(name)
            if fault is not None:
                return _Fault(f"has a name that {fault.text}")
        return None

    return check


def _items(part: _Check, only_type: str | Sequence[str] | None) -> _Check:
    # Lists of numbers are long: the classes of all values suffice. Whole numbers may be too large.
    names = [only_type] if isinstance(only_type, str) else only_type or ()
    sure = {kind for name in names for kind in _TYPES[name]} - {int}

    def check(value: Any) -> _Fault | None:
        if not isinstance(value, list) or (sure and set(map(type, value)) <= sure):
            return None
        for number, own in enumerate(value):
            fault = part(own)
            if fault is not None:
                return fault.below(f"[{number}]")
        return None

    return check


def _one_of(parts: Sequence[_Check]) -> _Check:
    """The alternatives of these schemas exclude each other, so one that holds is enough."""

    def check(value: Any) -> _Fault | None:
        found = []
        for part in parts:
            fault = part(value)
            if fault is None:
                return None
            found.append(fault)
        # The most telling one: about a part of the value, not about its kind.
        return max(found, key=lambda fault: bool(fault.place) or not fault.text.startswith("is "))

    return check


def _not(part: _Check) -> _Check:
    def check(value: Any) -> _Fault | None:
        return _Fault(f"is {_shown(value)}, which does not belong there") if part(value) is None else None

    return check


def _if(condition: _Check, then: _Check) -> _Check:
    return lambda value: then(value) if condition(value) is None else None


_SIMPLE: dict[str, Callable[[Any], _Check]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "pattern": _pattern,
    "required": _required,
    "minimum": _bound(lambda value, stated: value < stated, "below"),
    "maximum": _bound(lambda value, stated: value > stated, "above"),
    "exclusiveMinimum": _bound(lambda value, stated: value <= stated, "not above"),
    "exclusiveMaximum": _bound(lambda value, stated: value >= stated, "not below"),
    "minItems": _size(lambda found, stated: found < stated),
    "maxItems": _size(lambda found, stated: found > stated),
}


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return _WORDS["object" if isinstance(value, dict) else "array"]
    if isinstance(value, int) and abs(value) > _LARGEST:
        return "a number beyond all floats"
    return "null" if value is None else f"{str(value).lower()}" if isinstance(value, bool) else f"{value!r:.60}"
