"""Save a forecasting state to a file, and load it with validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError
from graphgauge.forecasting.joint import Pairs, graph_text
from graphgauge.forecasting.measures import ALL, CHANCE, Layout
from graphgauge.forecasting.state import ForecastState
from graphgauge.forecasting.steps import Steps
from graphgauge.forecasting.sums import BlockSums
from graphgauge.kernels.forecast_calibration import StdCells
from graphgauge.old.core.state import CountedShards, Place, load_state, place_name, save_state

_GROUPS = ("horizon", "node")
_SPREAD = ("key", "count", "square", "var", "var2")
_OPTIONS = ("axes", "coverage", "nodes", "ahead", "null_value", "null_tolerance")
# Changes with the columns of the sums.
_COLUMNS = 6
_FACTS = ("counted", "point", "channels", "ordered", "placed", "omits", "cells", "dropped")
# Facts that files of earlier versions lack.
_LATER = {"places": None, "labelled": False, "unlabelled": False}


def save(state: ForecastState, place: Place) -> None:
    arrays: dict[str, AnyArray] = {} if state.scale is None else {"scale": state.scale}
    if state.weights is not None:
        arrays["weights"] = state.weights
    if state.layout is not None:
        arrays |= state.by_horizon.arrays("horizon") | state.by_node.arrays("node")
        arrays["spread.groups"] = np.array([len(cells.key) for cells in state.spread], np.int64)
        for name in _SPREAD:
            arrays[f"spread.{name}"] = np.concatenate([getattr(cells, name) for cells in state.spread])
        arrays |= (
            state.pit.arrays("pit")
            | state.excess.arrays("excess")
            | state.joint.arrays("joint")
            | {"pit.node": state.node_pit}
        )
        if state.layout.graph is not None:
            arrays["graph"] = state.graph.pairs
        for group, ranks in zip(_GROUPS, state.ranks, strict=True):
            columns, counts = ranks.cells()
            arrays[f"ranks.{group}"] = np.array([*columns, counts], np.int64)
    facts: dict[str, Any] = {name: getattr(state, name) for name in (*_OPTIONS, *_FACTS, *_LATER)}
    facts |= {"layout": None if state.layout is None else asdict(state.layout), "shards": sorted(state.shards.names)}
    facts |= {"seen": state.seen.ranges, "columns": _COLUMNS}
    save_state(place, state.kind, facts, arrays)


def load(place: Place) -> ForecastState:
    _, facts, arrays = load_state(place, ForecastState.kind)
    if "layout" in facts and facts.get("columns") != _COLUMNS:
        raise InputError(
            "contains the sums of an earlier version",
            where=place_name(place),
            fix="Count the data again with this version, or merge with the version that wrote the file.",
        )
    try:
        return _restored(facts, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        raise InputError("the saved state is damaged", where=place_name(place)) from None


def _restored(facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> ForecastState:
    state = ForecastState(**{name: facts[name] for name in _OPTIONS})
    if "scale" in arrays:
        state.scale = _errors(arrays["scale"])
    if "weights" in arrays:
        state.weights = _positive(arrays["weights"])
    state.counted = tuple(part for part in (*ALL, CHANCE) if part in facts["counted"])
    state.shards = CountedShards(facts["shards"])
    state.ordered, state.placed = bool(facts["ordered"]), bool(facts["placed"])
    state.omits, state.seen = bool(facts["omits"]), Steps(facts["seen"])
    state.cells, state.dropped = int(facts["cells"]), int(facts["dropped"])
    state.point, state.channels = str(facts["point"]), facts["channels"]
    for name, default in _LATER.items():
        setattr(state, name, facts.get(name, default))
    if facts["layout"] is None:
        return state
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in facts["layout"].items()
    }
    layout = Layout(**given)
    state.lay_out(layout)
    state.by_horizon = BlockSums.restored("horizon", arrays, state.by_horizon)
    state.by_node = BlockSums.restored("node", arrays, state.by_node)
    state.pit = BlockSums.restored("pit", arrays, state.pit)
    state.excess = BlockSums.restored("excess", arrays, state.excess)
    state.joint = BlockSums.restored("joint", arrays, state.joint)
    if layout.graph is not None:
        pairs = arrays["graph"]
        if graph_text(pairs) != layout.graph:
            raise ValueError("another graph")
        state.graph = Pairs(pairs)
    state.node_pit = _like(arrays["pit.node"], state.node_pit)
    state.spread = _spread(arrays, layout.horizons)
    for group, ranks, count in zip(_GROUPS, state.ranks, (layout.horizons, layout.nodes), strict=True):
        ranks.add(*_ranks(arrays[f"ranks.{group}"], count, layout.members))
    _require_consistent(state, layout)
    return state


def _require_consistent(state: ForecastState, layout: Layout) -> None:
    """Raise an error for sums and counts that no data have."""
    counted = int(state.by_node.counts[..., 0].sum())
    size = layout.horizons * layout.nodes
    if counted != state.n or state.cells < state.n + state.dropped:
        raise ValueError("counts that differ")
    if state.placed and len(state.seen) * size != state.cells:
        raise ValueError("steps that are not those counted")
    for sums in (state.by_horizon, state.by_node):
        for name in ("abs", "square"):
            if name in layout.floats and (sums.high[..., layout.column(name)] < 0).any():
                raise ValueError("negative sums")


def _errors(scale: AnyArray) -> AnyArray:
    """One naive error per node, or two rows of them."""
    if scale.ndim not in (1, 2) or (scale.ndim == 2 and len(scale) != 2):
        raise ValueError("naive errors of another shape")
    return np.atleast_1d(np.stack([_positive(row) for row in np.atleast_2d(scale)]).reshape(scale.shape))


def _positive(weights: AnyArray) -> AnyArray:
    if weights.ndim != 1 or weights.dtype != np.float64 or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("impossible weights")
    return weights


def _like(array: AnyArray, known: AnyArray) -> AnyArray:
    if array.shape != known.shape or array.dtype != known.dtype or (array.size and int(array.min()) < 0):
        raise ValueError("counts of another shape")
    return array


def _spread(arrays: Mapping[str, AnyArray], horizons: int) -> list[StdCells]:
    groups, columns = arrays["spread.groups"], [arrays[f"spread.{name}"] for name in _SPREAD]
    total = int(groups.sum())
    shapes = [(total,), (total,), (total, 2), (total, 2), (total, 2)]
    if len(groups) != horizons or [column.shape for column in columns] != shapes:
        raise ValueError("spread of another shape")
    if not all(np.isfinite(column).all() for column in columns) or (total and int(columns[1].min()) < 1):
        raise ValueError("impossible spread")
    parts = [np.split(column, np.cumsum(groups)[:-1]) for column in columns]
    return [StdCells(*cells) for cells in zip(*parts, strict=True)]


def _ranks(saved: AnyArray, groups: int, members: int) -> tuple[list[AnyArray], AnyArray]:
    if saved.dtype != np.int64 or len(saved) != 4:
        raise ValueError("wrong columns")
    group, less, equal, counts = saved
    possible = (group >= 0) & (group < groups) & (less >= 0) & (equal >= 0) & (less + equal <= members) & (counts > 0)
    if not possible.all():
        raise ValueError("impossible ranks")
    return [group, less, equal], counts
