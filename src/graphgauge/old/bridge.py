"""Results of families that are not rebuilt, to and from the files and types of 1.0.

The old rooms work on the content of result files as dictionaries of edition 2; on disk every file is edition 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from graphgauge.core.content import ResultFile, evaluation_of
from graphgauge.core.errors import GraphgaugeError
from graphgauge.core.evaluation import Evaluation
from graphgauge.core.items import Items
from graphgauge.core.number import from_file, plain
from graphgauge.core.sealed import encode

# How readings were called in edition 2.
_READINGS = ("nan", "sign", "edges", "orientation", "encoding", "classes", "threshold", "null_value")
# Parts of a result that edition 3 does not have, kept in its receipt.
_KEPT = ("priority", "new_queries")


def text_of(content: Mapping[str, Any]) -> str:
    """The text of a result file with this content of edition 2."""
    return encode(renewed(content))


def renewed(content: Mapping[str, Any]) -> ResultFile:
    """The content of edition 2 as that of edition 3."""
    run = {name: value for name, value in content["run"].items() if name != "family"}
    kept = {
        "notes": content["notes"],
        "status": content["status"],
        **{part: {each["key"]: each[part] for each in content["results"] if part in each} for part in _KEPT},
    }
    fields = {
        "schema": "graphgauge/result/3",
        "family": content["run"]["family"],
        "status": "failed" if content["status"] == "failed" else "ok",
        "run": run,
        "error": content["error"],
        "conventions": {**content["conventions"], **content["readings"]},
        "options": content["options"],
        "results": [_new_result(each) for each in content["results"]],
        "breakdowns": {each["axis"]: each["columns"] for each in content["breakdowns"]},
        "drawings": {each["name"]: each["columns"] for each in content.get("drawings", ())},
        "skipped": {each["key"]: each["reason"] for each in content["skipped"]},
        "findings": [{"message": "", **each} for each in content["findings"]],
        "gates": [_new_gate(each) for each in content.get("gates", ())],
        "side_files": [_new_side(each) for each in content["side_files"]],
        "receipt": {**content["receipt"], "kept": kept},
    }
    return msgspec.convert(plain(fields), ResultFile, dec_hook=lambda _, value: from_file(value))


def aged(file: ResultFile) -> dict[str, Any]:
    """The content of edition 3 as that of edition 2, without its root."""
    fields: dict[str, Any] = plain(msgspec.to_builtins(file))
    kept = fields["receipt"].pop("kept", {})
    stated = fields["conventions"]
    content = {
        "schema": "graphgauge/result/2",
        "status": "failed" if file.status == "failed" else kept.get("status", "partial" if file.skipped else "ok"),
        "run": {"family": file.family, **fields["run"]},
        **_split(stated),
        "options": fields["options"],
        "results": [_old_result(each, kept) for each in fields["results"]],
        "breakdowns": [{"axis": axis, "columns": columns} for axis, columns in fields["breakdowns"].items()],
        "side_files": [_old_side(each) for each in fields["side_files"] if each["role"] != "items"],
        "skipped": [{"key": key, "reason": reason} for key, reason in fields["skipped"].items()],
        "findings": fields["findings"],
        "notes": kept.get("notes", []),
        "error": fields["error"],
        "receipt": fields["receipt"],
    }
    if fields["gates"]:
        content["gates"] = [_old_gate(each) for each in fields["gates"]]
    if fields["drawings"]:
        content["drawings"] = [
            {"name": name, "axis": next(iter(columns)), "columns": columns}
            for name, columns in fields["drawings"].items()
        ]
    return content


def new_evaluation(evaluation: Any) -> Evaluation:
    """An evaluation of an old family as one of 1.0, for comparisons."""
    if isinstance(evaluation, Evaluation):
        return evaluation
    from graphgauge.old.core.schema import evaluation_to_dict

    content = {**evaluation_to_dict(evaluation), "breakdowns": []}
    content.pop("root")
    made = evaluation_of(renewed(content), {})
    for axis, table in evaluation.breakdowns.items():
        from graphgauge.core.grid import Grid

        made.breakdowns[axis] = Grid(dict(table.columns))
    made.per_item = items_of(evaluation)
    return made


def items_of(evaluation: Any) -> Items | None:
    """The values of single items that an evaluation of an old family has kept."""
    old = evaluation.per_item
    if old is None:
        return None
    values = {}
    for key in evaluation:
        try:
            column = np.asarray(old.values_of(key), dtype=np.float64)
        except (GraphgaugeError, LookupError, ValueError, TypeError, AttributeError):
            continue
        if column.shape == (len(old),):
            values[key] = column
    unit = {"ranking": "query", "forecasting": "time step", "explanation": "event"}.get(evaluation.family, "item")
    return Items(unit, np.asarray(old.ids), values, cluster=getattr(old, "cluster", None))


def _new_result(entry: Mapping[str, Any]) -> dict[str, Any]:
    result = {name: value for name, value in entry.items() if name not in (*_KEPT, "levels", "readings")}
    result["conventions"] = {**entry["conventions"], **entry["readings"]}
    return {**result, "references": entry["levels"]}


def _old_result(entry: dict[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    optional: dict[str, Any] = {
        **dict.fromkeys(("section", "target", "interval", "no_interval", "reason")),
        "params": {},
        "warnings": [],
        "oracle": False,
    }
    levels = [{"kind": "chance", **each} for each in entry.pop("references", ())]
    stated = entry.pop("conventions", {})
    entry.pop("tolerance", None)
    own = {part: kept[part][entry["key"]] for part in _KEPT if entry["key"] in kept.get(part, ())}
    return {**optional, **entry, "levels": levels, **_split(stated), **own}


def _split(stated: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {
        "conventions": {name: value for name, value in stated.items() if name not in _READINGS},
        "readings": {name: value for name, value in stated.items() if name in _READINGS},
    }


def _new_gate(entry: Mapping[str, Any]) -> dict[str, Any]:
    verdict = "passed" if entry["passed"] else "undecided" if entry.get("undecided") else "failed"
    parts = {name: entry.get(name) for name in ("limit", "group")}
    return {"gate": entry["gate"], "verdict": verdict, "value": entry["found"], "why": entry.get("undecided"), **parts}


def _old_gate(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "gate": entry["gate"],
        "passed": entry["verdict"] == "passed",
        "found": entry["value"],
        "limit": entry.get("limit"),
        "group": entry.get("group"),
        "undecided": entry.get("why"),
    }


def _new_side(entry: Mapping[str, Any]) -> dict[str, Any]:
    # What an old family keeps of its items has a form of its own.
    role = "kept" if entry["role"] == "items" and not entry.get("new") else entry["role"]
    parts = {"hash": entry["hash"], "rows": entry["rows"], "axis": entry.get("axis")}
    return {"role": role, "name": entry["path"], **parts}


def _old_side(entry: Mapping[str, Any]) -> dict[str, Any]:
    axis = {} if entry.get("axis") is None else {"axis": entry["axis"]}
    role = "items" if entry["role"] == "kept" else entry["role"]
    return {"role": role, "path": entry["name"], "hash": entry["hash"], "rows": entry["rows"], **axis}
