"""Save a ranking state to a file, and load it with validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import AnyArray
from graphgauge.core.errors import InputError
from graphgauge.old.core.state import CountedShards, Place, load_state, place_name, save_state
from graphgauge.old.ranking.inputs import checked_offsets
from graphgauge.old.ranking.items import Items
from graphgauge.old.ranking.labels import Labels
from graphgauge.old.ranking.lists import TopItems
from graphgauge.old.ranking.parts import CutLists, Layout, ListPart, sound_cells, sound_ids
from graphgauge.old.ranking.shared_pool import SharedPool

if TYPE_CHECKING:
    from graphgauge.old.ranking.state import RankingState


def save(state: RankingState, place: Place) -> None:
    columns, counts = state._counted_cells()
    cells = [*columns.values(), counts] if state._cells is not None else [counts]
    arrays: dict[str, AnyArray] = {"cells": np.array(cells, dtype=np.int64)}
    pooled, items = state.pool(), Items.join(state._items) if state.keep else None
    if state._shared is not None:
        pooled, items, arrays = None, None, arrays | state._shared.arrays()
    if pooled is not None:
        arrays |= {"pos": pooled.pos, "neg": pooled.neg, "offsets": pooled.offsets}
        if pooled.cluster is not None:
            arrays["pool_cluster"] = pooled.cluster
    if state._top:
        arrays |= {f"top_{name}": values for name, values in TopItems.join(state._top).columns().items()}
    if items is not None:
        arrays |= {f"item_{name}": values for name, values in items.columns().items()}
    if state._lists:
        arrays |= {f"list_{name}": values for name, values in ListPart.join(state._lists).columns().items()}
        arrays["queries"] = state._queries.all()
    facts = {
        "axes": None if state._cells is None else list(state._layout.axes),
        "labels": {axis: list(known) for axis, known in state._labels.items()},
        "clusters": state._layout.clusters,
        "weighted": state._layout.weighted,
        "lists": state._layout.lists,
        "cut": None if state._cut is None else vars(state._cut),
        "pooled": state.pooled,
        "shares_pool": state.shares_pool,
        "keep": state.keep,
        "top": state.top,
        "negatives": state.negatives,
        "own_clusters": state._own_clusters,
        "numbered": state._numbered,
        "dropped": [state.dropped_queries, state.dropped_candidates, state.emptied_queries, state.without_positives],
        "lowest": state.lowest_candidates,
        "shards": sorted(state._shards.names),
    }
    save_state(place, state.kind, facts, arrays)


def load(cls: type[RankingState], place: Place) -> RankingState:
    _, facts, arrays = load_state(place, cls.kind)
    try:
        return _restored(cls, facts, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise InputError("the saved state is damaged", where=place_name(place)) from None


def _restored(cls: type[RankingState], facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> RankingState:
    state = cls(pooled=facts["pooled"], keep=facts["keep"], top=facts.get("top"))
    state._drawn = facts.get("negatives")
    state.dropped_queries, state.dropped_candidates, state.emptied_queries, state.without_positives = facts["dropped"]
    state.lowest_candidates = facts.get("lowest", 0)
    state._shards = CountedShards(facts["shards"])
    state._own_clusters, state._numbered = facts["own_clusters"], facts["numbered"]
    if facts.get("shares_pool"):
        state._shared = SharedPool.restored(arrays, (state.dropped_queries, state.dropped_candidates))
        return state
    if facts["axes"] is not None:
        lists = facts.get("lists", any(name.startswith("list_") for name in arrays))
        state._cut = CutLists.restored(facts.get("cut"))
        layout = Layout(
            tuple(facts["axes"]), facts["clusters"], facts.get("weighted", False), lists, state._cut is not None
        )
        cells = state._histogram(layout)
        state._labels = {axis: Labels(axis, facts["labels"][axis]) for axis in state.axes}
        cells.add(*sound_cells(arrays["cells"], layout.columns, state._labels))
    if state.pooled:
        lengths = np.diff(checked_offsets(arrays["offsets"], len(arrays["pos"]), len(arrays["neg"])))
        state._pool = [(arrays["pos"], arrays["neg"], lengths, arrays.get("pool_cluster"))]
    if state.keep:
        state._items = [Items.from_columns({name[5:]: a for name, a in arrays.items() if name.startswith("item_")})]
        state._ids.add(state._items[0].ids)
    top = {name[4:]: values for name, values in arrays.items() if name.startswith("top_")}
    if top:
        state._top = [TopItems(**top)]
        state._top[0].check()
    lists = {name[5:]: values for name, values in arrays.items() if name.startswith("list_")}
    state._lists = [ListPart.from_columns(lists)] if lists else []
    if lists:
        state._queries.add(sound_ids(arrays["queries"]))
    return state
