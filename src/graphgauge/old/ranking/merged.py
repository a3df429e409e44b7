"""Add the counts of one ranking state to another; nothing is added if they do not go together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graphgauge.core.errors import InputError
from graphgauge.old.ranking.counts import BY_QUERY
from graphgauge.old.ranking.shared_pool import SharedPool

if TYPE_CHECKING:
    from graphgauge.old.ranking.state import RankingState


def merge(state: RankingState, other: RankingState) -> RankingState:
    if (state.pooled, state.keep, state.top) != (other.pooled, other.keep, other.top):
        raise InputError("one state keeps pooled scores or items, the other does not", fix="Use the same options.")
    if other._anything and (state._anything or state._negatives) and state.negatives != other.negatives:
        raise InputError(
            f"the states have different negatives: {state.negatives or 'not stated'}, and "
            f"{other.negatives or 'not stated'}",
            fix="Rank all queries against the same negatives.",
        )
    other._gather()
    if other._anything:
        state._refuse_mixing(shared=other.shares_pool)
        drawn = other.negatives
    else:
        drawn = state._drawn
    if other._shared is not None:
        return _merge_shared(state, other, other._shared)
    if other._cells is not None:
        state._histogram(other._layout)
        for axis, names in other._labels.items():
            state._labels[axis].require_kind(np.array(list(names)))
        cells = other._counted_cells()
    queries, ids = other._queries.all(), other._ids.all()
    # Nothing is counted before this check, and nothing can fail after it.
    state._shards.require_apart(other._shards)
    state._queries.require_new(queries)
    state._ids.require_new(ids)
    state._ids.add(ids)
    state._shards.absorb(other._shards)
    state._drawn = None if state._negatives else drawn
    state._queries.add(queries)
    if other._cells is not None:
        columns, counts = cells
        for axis, names in other._labels.items():
            columns[f"group:{axis}"] = state._labels[axis].recode(columns[f"group:{axis}"], names)
        shift = state._own_clusters if state._layout.clusters == BY_QUERY else 0
        if shift:
            columns["cluster"] = columns["cluster"] + shift
        state._own_clusters += other._own_clusters
        state._pool += [
            (pos, neg, lengths, None if units is None else units + shift) for pos, neg, lengths, units in other._pool
        ]
        state._histogram(other._layout).add([columns[name] for name in state._layout.columns], counts)
    for part in other._lists:
        codes = {axis: state._labels[axis].recode(part.groups[axis], names) for axis, names in other._labels.items()}
        state._lists.append(replace(part, groups=codes))
    state._items += other._items
    state._cut = state._cut if other._cut is None else other._cut.joined(state._cut)
    state._top += other._top
    state._numbered += other._numbered
    state.dropped_queries += other.dropped_queries
    state.dropped_candidates += other.dropped_candidates
    state.emptied_queries += other.emptied_queries
    state.without_positives += other.without_positives
    state.lowest_candidates += other.lowest_candidates
    return state


def _merge_shared(state: RankingState, other: RankingState, others: SharedPool) -> RankingState:
    pool = state._shared or SharedPool()
    for part in others:
        pool.require_alike(part)
    state._shards.require_apart(other._shards)
    for part in (*others, others.joined()):
        pool.require_new(part.neg)
    others.require_new(pool.joined().neg)
    state._shards.absorb(other._shards)
    for part in others:
        pool.add(part)
        state.dropped_queries += part.dropped_queries
        state.dropped_candidates += part.dropped_candidates
    state._shared, state._ranked = pool, None
    return state
