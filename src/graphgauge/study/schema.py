"""The JSON Schema of study files, made from the options of the commands.

`python -m graphgauge.study.schema` writes `schema/study-1.json`; the tests fail when it is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from graphgauge.core.metric import FAMILIES
from graphgauge.study.options import IDENTITY, command_of, keys_of, takes_names
from graphgauge.study.parse import AXES, GATE_FILTERS, SCHEMA

SCHEMA_FILE = Path(__file__).parent.parent / "schema" / "study-1.json"
_TEXT: dict[str, Any] = {"type": "string"}
_NAMES: dict[str, Any] = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]}
_TYPES = {str: "string", int: "integer"}


def study_schema() -> dict[str, Any]:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"graphgauge/study/{SCHEMA}",
        "title": "A graphgauge study",
        "type": "object",
        "required": ["schema", "evaluate"],
        "additionalProperties": False,
        "properties": {
            "schema": {"const": SCHEMA},
            "name": _TEXT,
            "results": {**_TEXT, "description": "Results folder, relative to the study file; default results/."},
            "defaults": _object({family: {"$ref": f"#/$defs/{family}-defaults"} for family in FAMILIES}),
            "evaluate": {"type": "array", "minItems": 1, "items": _any_family()},
            "compare": {"type": "array", "items": _comparison()},
            "gate": {"type": "array", "items": _gate()},
            "audit": _object({"ignore": {"type": "array", "items": _ignored()}}),
        },
        "$defs": {
            **{f"{family}-defaults": _object(_options(family)) for family in FAMILIES},
            **{f"{family}-evaluate": _evaluation(family) for family in FAMILIES},
        },
    }


def _any_family() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["family"],
        "properties": {"family": {"enum": list(FAMILIES)}},
        "allOf": [
            {
                "if": {"properties": {"family": {"const": family}}},
                "then": {"$ref": f"#/$defs/{family}-evaluate"},
            }
            for family in FAMILIES
        ],
    }


def _evaluation(family: str) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for one, many, kind in AXES.values():
        single = {"type": _TYPES[kind]}
        axes |= {one: single, many: {"type": "array", "items": single, "minItems": 1, "uniqueItems": True}}
    needed = [{"oneOf": [{"required": [key]} for key in AXES[axis][:2]]} for axis in ("dataset", "method")]
    properties = {"family": {"const": family}, **axes, **_options(family)}
    return {**_object(properties), "allOf": [*needed, {"not": {"required": list(AXES["seed"][:2])}}]}


def _comparison() -> dict[str, Any]:
    properties = {key: _value(option) for key, option in keys_of(command_of("compare")).items()}
    return {**_object({**properties, "correction": {"const": "holm"}}), "required": ["metric"]}


def _gate() -> dict[str, Any]:
    require = {**_TEXT, "description": "KEY[.low|.high] >= NUMBER, for example 'mrr.low >= 0.7'."}
    filters = dict.fromkeys(GATE_FILTERS, _NAMES)
    return {**_object({"require": require, **filters}), "required": ["require"]}


def _ignored() -> dict[str, Any]:
    return {**_object({"check": _TEXT, "because": _TEXT}), "required": ["check", "because"]}


def _options(family: str) -> dict[str, Any]:
    options = keys_of(command_of(family))
    return {key: _value(option) for key, option in options.items() if key not in IDENTITY}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _value(option: click.Option) -> dict[str, Any]:
    single = _single(option)
    forms = [single]
    if single.get("type") != "boolean":
        forms.append({"type": "array", "items": single, "minItems": 1})
    if takes_names(option):
        forms.append({"type": "object", "additionalProperties": _TEXT})
    allowed = forms if option.multiple or _is_free(option) else forms[:1]
    shape = allowed[0] if len(allowed) == 1 else {"anyOf": allowed}
    return {"description": option.help, **shape} if option.help else shape


def _is_free(option: click.Option) -> bool:
    """Whether the command parses the text, for example as a comma-separated list."""
    return not option.is_flag and _single(option).get("type") in ("string", ["string", "number"])


def _single(option: click.Option) -> dict[str, Any]:
    kind = option.type
    if option.is_flag:
        return {"type": "boolean"}
    if isinstance(kind, click.Choice):
        return {"enum": list(kind.choices)}
    if isinstance(kind, click.IntRange | click.FloatRange):
        return {"type": "integer" if isinstance(kind, click.IntRange) else "number", **_bounds(kind)}
    if isinstance(kind, click.types.IntParamType | click.types.FloatParamType):
        return {"type": "integer" if isinstance(kind, click.types.IntParamType) else "number"}
    return _TEXT if isinstance(kind, click.types.StringParamType) else {"type": ["string", "number"]}


def _bounds(kind: click.IntRange | click.FloatRange) -> dict[str, Any]:
    low = "exclusiveMinimum" if kind.min_open else "minimum"
    high = "exclusiveMaximum" if kind.max_open else "maximum"
    return {name: bound for name, bound in ((low, kind.min), (high, kind.max)) if bound is not None}


def text() -> str:
    return json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
