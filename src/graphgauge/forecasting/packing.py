"""Tables as small arrays: whole numbers in few bytes, rounding errors in four, nothing where there is nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.types import AnyArray, Floats
from graphgauge.forecasting.sums import Table

Arrays = dict[str, AnyArray]


def packed(tables: Mapping[str, Table]) -> tuple[dict[str, Any], Arrays]:
    """The facts about tables, and their arrays by name."""
    facts: dict[str, Any] = {}
    arrays: Arrays = {}
    for name, table in tables.items():
        low = table.low.any(axis=(0, 2))
        whole = ~low & (table.high == np.floor(table.high)).all(axis=(0, 2))
        facts[name] = {
            "names": table.names,
            "whole": whole.tolist(),
            "groups": table.groups,
            "shift": table.shift,
            "most": table.most,
        }
        arrays[f"{name}.at"] = table.at
        arrays[f"{name}.counts"] = _small(table.high[:, whole])
        arrays[f"{name}.high"] = table.high[:, ~whole]
        if low.any():
            arrays[f"{name}.low"] = table.low[:, ~whole].astype(np.float32)
    return facts, arrays


def unpacked(facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> dict[str, Table]:
    """The tables of which `packed` made this."""
    tables = {}
    for name, known in facts.items():
        at, counts, high = (arrays[f"{name}.{part}"] for part in ("at", "counts", "high"))
        names, whole = tuple(known["names"]), np.array(known["whole"], np.bool_)
        sums, lost = np.zeros((2, len(at), len(names), int(known["groups"])))
        sums[:, whole], sums[:, ~whole], lost[:, ~whole] = counts, high, arrays.get(f"{name}.low", 0.0)
        tables[name] = Table(names, at.astype(np.int64), int(known["shift"]), int(known["most"]), sums, lost)
    return tables


def _small(values: Floats) -> AnyArray:
    """Whole numbers as integers of as few bytes as hold them."""
    largest = float(np.abs(values).max(initial=0))
    kind = next((kind for kind in (np.int16, np.int32) if largest <= np.iinfo(kind).max), None)
    return values if kind is None else values.astype(kind)
