"""Totals as small arrays: whole numbers in few bytes, rounding errors in four, nothing where there is nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Floats
from graphgauge.forecasting.design import Design
from graphgauge.forecasting.measure import Sums
from graphgauge.forecasting.positions import Positions
from graphgauge.forecasting.spread import StdCells
from graphgauge.forecasting.sums import Table
from graphgauge.forecasting.totals import Totals

Arrays = dict[str, AnyArray]


def packed(totals: Totals) -> tuple[dict[str, Any], Arrays]:
    """The facts about the tables, and their arrays by name."""
    tables = {"horizon": totals.sums.by_horizon, "node": totals.sums.by_node}
    arrays: Arrays = {}
    if totals.joint is not None:
        tables["joint"] = totals.joint
    if totals.positions is not None:
        tables["positions"] = totals.positions.by_block
        for side in ("by_horizon", "by_node"):
            high, low = getattr(totals.positions, side)
            arrays |= {f"positions.{side}": _small(high), f"positions.{side}.low": low}
    if totals.spread is not None:
        arrays["spread.size"] = np.array([len(cells.key) for cells in totals.spread], np.int64)
        arrays["spread.key"] = _small(np.concatenate([cells.key for cells in totals.spread]))
        whole = np.concatenate([cells.high + cells.low for cells in totals.spread], axis=1)
        arrays |= {f"spread.{place}": _small(values) for place, values in enumerate(whole)}
    for name, table in tables.items():
        arrays |= _columns(name, table)
    facts = {
        name: {"names": table.names, "shift": table.shift, "groups": table.groups} for name, table in tables.items()
    }
    return facts, {name: array for name, array in arrays.items() if array.any() or not name.endswith(".low")}


def unpacked(design: Design, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Totals:
    """Totals of which `packed` made this; counts of cells are added by the caller."""
    tables = {name: _table(name, known, arrays) for name, known in facts.items()}
    if tables["horizon"].groups != design.horizons or tables["node"].groups != design.nodes:
        raise InputError("sums do not fit the forecast")
    counted, spread = None, None
    if "positions" in tables:
        counted = Positions(tables["positions"], *(_parts(side, arrays) for side in ("by_horizon", "by_node")))
    if "spread.size" in arrays:
        edges = np.cumsum(arrays["spread.size"])[:-1]
        key = arrays["spread.key"].astype(np.int64)
        sums = np.stack([arrays[f"spread.{place}"].astype(np.float64) for place in range(4)])
        parts = zip(np.split(key, edges), np.split(sums, edges, axis=1), strict=True)
        spread = tuple(StdCells(some, high, np.zeros(high.shape)) for some, high in parts)
    return Totals(Sums(design, tables["horizon"], tables["node"]), 0, 0, True, counted, spread, tables.get("joint"))


def _columns(name: str, table: Table) -> Arrays:
    arrays: Arrays = {f"{name}.at": table.at}
    for place, quantity in enumerate(table.names):
        arrays[f"{name}.{quantity}"] = _small(table.high[:, place])
        arrays[f"{name}.{quantity}.low"] = table.low[:, place].astype(np.float32)
    return arrays


def _table(name: str, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Table:
    at, names = arrays[f"{name}.at"].astype(np.int64), tuple(facts["names"])
    shape = len(at), len(names), int(facts["groups"])
    high, low = np.zeros((2, *shape))
    for place, quantity in enumerate(names):
        high[:, place] = arrays[f"{name}.{quantity}"]
        if f"{name}.{quantity}.low" in arrays:
            low[:, place] = arrays[f"{name}.{quantity}.low"]
    return Table(names, at, int(facts["shift"]), high, low)


def _parts(side: str, arrays: Mapping[str, AnyArray]) -> Floats:
    high = arrays[f"positions.{side}"].astype(np.float64)
    return np.stack([high, arrays.get(f"positions.{side}.low", np.zeros(high.shape))])


def _small(values: AnyArray | Floats) -> AnyArray:
    """Whole numbers as integers of as few bytes as hold them."""
    largest = float(np.abs(values).max(initial=0))
    kind = next((kind for kind in (np.int16, np.int32) if largest <= np.iinfo(kind).max), None)
    if kind is None or not (values == np.floor(values)).all():
        return values
    return values.astype(kind)
