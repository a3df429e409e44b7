"""The births of a cycle against pairs without an edge: after it, before it, by pool, and of nodes born in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.evolution.areas import Area, Order, against_matched, against_non_edges
from graphgauge.evolution.edges import codes_of, edges_of, joined, set_of
from graphgauge.evolution.links import LinkScores
from graphgauge.evolution.pairs import FreePairs
from graphgauge.evolution.state import State

NO_BEFORE = "the embeddings before the cycle are unknown"
# Simple scores are left out for graphs with more edges, because they are sorted anew in every cycle.
_MOST_EDGES = 1 << 20


def after(state: State) -> Area:
    """Births against non-edges of original nodes, by the embeddings after the cycle."""
    births = state.births.edges[state.fresh & state.after.holds(state.births.edges)]
    why = "no births" if state.fresh.any() else _why_none(state)
    return _warned(state, _non_edges(state, state.after.order, births, state.eligible, state.births.after, why))


def before(state: State) -> Area:
    """The same births and pairs by the embeddings before the cycle; nodes without one are left out."""
    if state.before is None:
        return Area.none(NO_BEFORE, state.nodes)
    births = state.births.edges[state.old & state.fresh]
    eligible = state.eligible[state.before.present[state.eligible]]

    def area(order: Order) -> Area:
        return _non_edges(state, order, births, eligible, state.births.after, _why_none(state))

    found = area(state.before.order)
    edges = edges_of(state.births.before) if state.options.directed else None
    graph = state.births.before if edges is None else set_of(edges)
    if len(found) and state.options.per_birth is not None and 0 < len(graph) <= _MOST_EDGES:
        levels = {name: area(order).value for name, order in LinkScores(graph, state.nodes).orders.items()}
        found = replace(found, baselines=levels)
    young = np.count_nonzero(~state.old)
    said = f"births left out of auc_birth, because a node had no embedding before the cycle: {young}"
    return _warned(state, found, *([said] if young else []))


def matched(state: State) -> Area:
    """Births with at most one new end, which is never replaced, against other nodes of the replaced end's pool."""
    if state.before is None or state.inserted is None:
        return Area.none(NO_BEFORE, state.nodes)
    births, stood = state.births.edges, state.before.present
    births = births[state.fresh & state.inserted.holds(births) & stood[births].any(axis=1)]
    arms = [_arms(stood[births[:, 1]], kept=0)]
    if not state.options.directed:
        arms.append(_arms(stood[births[:, 0]], kept=1))
    return _other_ends(state, births, np.concatenate(arms), state.matched_pools, "matched", _why_none(state))


def newborn(state: State) -> Area:
    """Births with a new end, against other nodes of the type and age of the end it is linked to."""
    if state.inserted is None:
        return Area.none(NO_BEFORE, state.nodes)
    births, new = state.births.edges, state.newborn
    births = births[state.fresh & state.inserted.holds(births) & new[births].any(axis=1)]
    types = np.zeros(state.nodes, np.int64) if state.types is None else state.types
    pools = np.where(state.inserted.present, 2 * types + new, -1)
    arms = np.concatenate([_arms(new[births[:, end]], kept=end) for end in (0, 1)])
    why = "no birth has a new node" if len(state.births) else "no births"
    return _other_ends(state, births, arms, pools, "newborn", why)


def held_out(state: State) -> Area:
    """Held-out edges against pairs that are in neither graph nor test, by the embeddings after the cycle."""
    codes = set_of(state.test_edges, state.options.directed)
    edges = edges_of(codes)
    edges = edges[state.after.holds(edges)]
    eligible, taken = np.flatnonzero(state.after.present), joined(state.births.after, codes)
    return _non_edges(state, state.after.order, edges, eligible, taken, "no test edges", "held_out")


def gains(after: Area, before: Area) -> tuple[Floats, Ints] | None:
    """For the births scored both after and before, on the same pairs: what each gained, and the nodes of each."""
    if after.ends is None or before.ends is None:
        return None
    one, other = (codes_of(ends[:, 0], ends[:, 1], directed=True) for ends in (after.ends, before.ends))
    both, place, earlier = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return (after.shares[place] - before.shares[earlier], edges_of(both)) if len(both) else None


def _non_edges(
    state: State, order: Order, edges: Ints, eligible: Ints, taken: Ints, reason: str, use: str = "births"
) -> Area:
    """Edges against the pairs of eligible nodes that each could have been: of the same types, and not taken."""
    directed, types = state.options.directed, state.types
    group = np.zeros(len(edges), np.int64)
    sides = [(eligible, eligible)]
    if types is not None:
        ends = types[edges] if directed else np.sort(types[edges], axis=1)
        names, group = np.unique(ends, axis=0, return_inverse=True)
        sides = [(eligible[types[eligible] == first], eligible[types[eligible] == second]) for first, second in names]
    return against_non_edges(
        order,
        edges,
        group.reshape(-1),
        [FreePairs(*side, taken, state.nodes, directed) for side in sides],
        per_birth=state.options.per_birth,
        # One stream for all areas of the births, so that auc_birth uses the same pairs as auc_synthetic.
        rng=state.options.rng(state.cycle, use),
        reason=reason,
    )


def _other_ends(state: State, births: Ints, arms: Ints, pools: Ints, use: str, reason: str) -> Area:
    assert state.inserted is not None
    found = against_matched(
        state.inserted.order,
        births,
        arms,
        state.births.either,
        pools,
        directed=state.options.directed,
        per_birth=state.options.per_birth,
        rng=state.options.rng(state.cycle, use),
        reason=reason,
        what=f"auc_{use}",
    )
    return _warned(state, found)


def _arms(used: Mask, kept: int) -> Ints:
    """(birth, kept end, replaced end) of the births that are used."""
    births = np.flatnonzero(used)
    return np.stack([births, np.full(len(births), kept), np.full(len(births), 1 - kept)], axis=1)


def _warned(state: State, area: Area, *more: str) -> Area:
    return replace(area, warnings=(*state.warnings, *more, *area.warnings))


def _why_none(state: State) -> str:
    if not len(state.births):
        return "no births"
    return "every birth has a new node" if state.fresh.any() else "every birth is of an edge that existed before"
