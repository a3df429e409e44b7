"""The JSON Schema of study files, made from the declared fields of the families.

`python -m graphgauge.study.schema` writes `schema/study-1.json`; the tests fail when it is out of date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphgauge.old.core.family import BUILT_IN, family
from graphgauge.old.core.fields import Fields
from graphgauge.old.stats.compare_results import FIELDS as COMPARISON
from graphgauge.old.stats.regression import OVER
from graphgauge.study.options import keys_of
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
            "defaults": _object({name: {"$ref": f"#/$defs/{name}-defaults"} for name in BUILT_IN}),
            "evaluate": {"type": "array", "minItems": 1, "items": _any_family()},
            "compare": {"type": "array", "items": _comparison()},
            "gate": {"type": "array", "items": _gate()},
            "audit": _object({"ignore": {"type": "array", "items": _ignored()}}),
        },
        "$defs": {
            **{f"{name}-defaults": _object(_values(family(name).fields)) for name in BUILT_IN},
            **{f"{name}-evaluate": _evaluation(name) for name in BUILT_IN},
        },
    }


def _any_family() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["family"],
        "properties": {"family": {"enum": list(BUILT_IN)}},
        "allOf": [
            {
                "if": {"properties": {"family": {"const": name}}},
                "then": {"$ref": f"#/$defs/{name}-evaluate"},
            }
            for name in BUILT_IN
        ],
    }


def _evaluation(name: str) -> dict[str, Any]:
    axes: dict[str, Any] = {}
    for one, many, kind in AXES.values():
        single = {"type": _TYPES[kind]}
        axes |= {one: single, many: {"type": "array", "items": single, "minItems": 1, "uniqueItems": True}}
    needed = [{"oneOf": [{"required": [key]} for key in AXES[axis][:2]]} for axis in ("dataset", "method")]
    properties = {"family": {"const": name}, **axes, **_values(family(name).fields)}
    return {**_object(properties), "allOf": [*needed, {"not": {"required": list(AXES["seed"][:2])}}]}


def _comparison() -> dict[str, Any]:
    return {**_object({**_values(COMPARISON), "correction": {"const": "holm"}}), "required": ["metric"]}


def _gate() -> dict[str, Any]:
    require = {**_TEXT, "description": "KEY[.low|.high] >= NUMBER, for example 'mrr.low >= 0.7'."}
    filters = dict.fromkeys(GATE_FILTERS, _NAMES)
    against = {**_TEXT, "description": "Results of a baseline: a file or a folder. Needs metric and margin."}
    baseline = {
        "against": against,
        "metric": {**_TEXT, "description": "The metric that must not become worse."},
        "margin": {"type": "number", "exclusiveMinimum": 0, "description": "The loss that does not matter."},
        "over": {"enum": list(OVER)},
        "undecided": {"enum": ["fail", "pass"]},
    }
    one = [{"required": ["require"]}, {"required": ["against", "metric", "margin"]}]
    return {**_object({"require": require, **baseline, **filters}), "oneOf": one}


def _ignored() -> dict[str, Any]:
    return {**_object({"check": _TEXT, "because": _TEXT}), "required": ["check", "because"]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _values(fields: Fields) -> dict[str, Any]:
    return {key: {"description": field.kind.help, **field.kind.schema()} for key, field in keys_of(fields).items()}


def text() -> str:
    return json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(text(), encoding="utf-8")
