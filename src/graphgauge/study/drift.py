"""Differences between two results of the same item."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from graphgauge.old.core.schema import number_from_json
from graphgauge.study.text import shown

# Fields compared as a whole; values and intervals are compared number by number.
_PARTS = (
    "status",
    "run",
    "conventions",
    "readings",
    "options",
    "breakdowns",
    "skipped",
    "findings",
    "notes",
    "error",
    "gates",
)
# A file that was written before there were any says nothing about them.
_IF_STATED = ("drawings",)
_SHOWN = 3


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Descriptions, largest difference first; empty if the two are equal apart from receipts and side files.

    Numbers are compared to the last bit, ends of intervals as well: what is small is for the reader to decide.
    """
    old, new = ({entry["key"]: entry for entry in content["results"]} for content in (then, now))
    moved = sorted(
        (
            (distance, f"{shown(key)} {words}")
            for key in old
            if key in new
            for distance, words in _moves(old[key], new[key])
        ),
        key=lambda move: -move[0],
    )
    found = [words for _, words in moved[:_SHOWN]]
    if len(moved) > _SHOWN:
        found.append(f"{len(moved) - _SHOWN} more numbers")
    found += [f"{shown(key)} is missing" for key in old if key not in new]
    found += [f"{shown(key)} is new" for key in new if key not in old]
    both = [key for key in old if key in new]
    found += [
        f"the interval of {shown(key)} is by {way[1]}, no longer by {way[0]}"
        for key in both
        if (way := _methods(old[key], new[key])) is not None
    ]
    if not found and _text(old) != _text(new):
        fields = dict.fromkeys(
            shown(name) if name.strip() else repr(name)
            for key in both
            for name in old[key] | new[key]
            if _text([old[key].get(name)]) != _text([new[key].get(name)]) or (name in old[key]) != (name in new[key])
        )
        found.append(f"the metadata of the values differs ({', '.join(fields)})")
    parts = [*_PARTS, *(part for part in _IF_STATED if part in then)]
    return found + [f"{part} differ" for part in parts if _text(then.get(part)) != _text(now.get(part))]


def _text(part: Any) -> str:
    """The JSON text, because Python treats 1 and true as equal."""
    return json.dumps(part, sort_keys=True)


def _methods(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str] | None:
    """How the interval was computed and how it is now, if that differs."""
    if old["interval"] is None or new["interval"] is None or old["interval"]["method"] == new["interval"]["method"]:
        return None
    return shown(old["interval"]["method"]), shown(new["interval"]["method"])


def _moves(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[float, str]]:
    for name in ("value", "n") if _methods(old, new) else ("value", "low", "high", "n"):
        before, after = _number(old, name), _number(new, name)
        if before == after or (math.isnan(before) and math.isnan(after)):
            continue
        label = "" if name == "value" else f"{name} "
        distance = abs(after - before)
        if not math.isfinite(distance):
            yield math.inf, f"{label}{before:.6g} → {after:.6g}"
            continue
        scale = max(abs(before), abs(after))
        yield distance / scale, f"{label}{before:.6g} → {after:.6g} (by {distance:.3g}, {distance / scale:.2g} of it)"


def _number(entry: Mapping[str, Any], name: str) -> float:
    if name in ("low", "high"):
        return math.nan if entry["interval"] is None else number_from_json(entry["interval"][name])
    return number_from_json(entry[name])
