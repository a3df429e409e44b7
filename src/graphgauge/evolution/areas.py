"""Births compared with pairs that are no edges: for each birth, the share of these pairs that are farther apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt

import numpy as np

from graphgauge import _core
from graphgauge.core.errors import InputError
from graphgauge.core.threads import threads_for
from graphgauge.core.types import Floats, Ints, Mask
from graphgauge.evolution.cycle import State
from graphgauge.evolution.edges import FreePairs, Order, among, codes_of, edges_of, joined, orders_by_graph, set_of
from graphgauge.stats.dyads import Dyads

# How often targets are drawn again before the remaining candidates are listed, and how many are drawn at once.
_REDRAWS, _MOST_DRAWN = 16, 1 << 27
NO_BEFORE = "the embeddings before the cycle are unknown"
# Simple scores are left out for graphs with more edges, because they are sorted anew in every cycle.
_MOST_EDGES = 1 << 20


@dataclass(frozen=True)
class Area:
    """For each positive, the share of negatives that are farther (ties half); `ends` are the nodes of the positives.

    `drawn` is the variance that sampled negatives add to the area; it is 0 if all negatives are used. `baselines` are
    the areas of simple scores for the same births, by name.
    """

    shares: Floats
    negatives: int = 0
    ends: Ints | None = None
    drawn: float = 0.0
    nodes: int = 0
    reason: str = "no births"
    warnings: tuple[str, ...] = ()
    baselines: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def none(cls, reason: str, nodes: int) -> Area:
        return cls(np.empty(0), nodes=nodes, reason=reason)

    def __len__(self) -> int:
        return len(self.shares)

    @cached_property
    def value(self) -> float:
        # Sorted, so that the sum does not depend on the order of the births.
        return float(np.sort(self.shares).sum() / len(self)) if len(self) and self.negatives else np.nan

    @cached_property
    def dyads(self) -> Dyads:
        return Dyads(np.arange(2 * len(self)).reshape(-1, 2) if self.ends is None else self.ends)

    def error(self) -> tuple[float, float]:
        """Standard error and degrees of freedom of the area."""
        # There are at least as many negatives as births, so they do not limit the degrees of freedom.
        error, df = self.dyads.error(self.shares)
        return sqrt(error**2 + self.drawn), df


def against_non_edges(
    state: State, order: Order, births: Ints, eligible: Ints, taken: Ints, reason: str, use: str = "births"
) -> Area:
    """Births against the pairs of eligible nodes that each could have been: of the same types, and not `taken`.

    So many pairs are drawn for each birth, or all are used. Same cycle and `use`, same pairs: so `auc_birth` has those
    of `auc_synthetic`.
    """
    if not len(births):
        return Area.none(reason, state.nodes)
    per_birth, rng = state.options.per_birth, state.options.rng(state.cycle, use)
    group, pairs = _kinds(state, births, eligible, taken)
    q = order(births[:, 0], births[:, 1])
    shares, used, drawn, negatives, warnings = np.full(len(q), np.nan), 0, 0.0, 0, []
    for number, own in enumerate(pairs):
        members = group == number
        count = int(np.count_nonzero(members))
        if not count or not own.free:
            continue
        wanted = own.free if per_birth is None else per_birth * count
        if wanted < own.free:
            others = order(*own.drawn(wanted, rng))
            shares[members] = _farther(q[members], [others])
            drawn += count**2 * _drawn_variance(q[members], others)
        else:
            shares[members] = _farther(q[members], (order(*block) for block in own.all()))
        if wanted > own.free:
            warnings.append(f"only {own.free} pairs have no edge, fewer than the {wanted} requested: all are used")
        negatives += min(wanted, own.free)
        used += count
    if not used:
        return Area.none("every pair of original nodes has an edge", state.nodes)
    have = ~np.isnan(shares)
    if not have.all():
        warnings.append(f"births left out, because every pair of their kind has an edge: {np.count_nonzero(~have)}")
    said = tuple(dict.fromkeys(warnings))
    return Area(shares[have], negatives, births[have], drawn / used**2, state.nodes, reason, said)


def _kinds(state: State, births: Ints, eligible: Ints, taken: Ints) -> tuple[Ints, list[FreePairs]]:
    """The kind of each birth, by the types of its nodes, and the free pairs of each kind."""
    directed, types = state.options.directed, state.types
    group, sides = np.zeros(len(births), np.int64), [(eligible, eligible)]
    if types is not None:
        ends = types[births] if directed else np.sort(types[births], axis=1)
        names, group = np.unique(ends, axis=0, return_inverse=True)
        sides = [(eligible[types[eligible] == first], eligible[types[eligible] == second]) for first, second in names]
    return group.reshape(-1), [FreePairs(*side, taken, state.nodes, directed) for side in sides]


def _farther(q: Floats, blocks: Iterable[Floats]) -> Floats:
    """For each of q, the share of all values that are greater, ties half."""
    values, place = np.unique(q, return_inverse=True)
    doubled, total = np.zeros(len(values), np.int64), 0
    for block in blocks:
        greater, equal, _ = _core.placed_counts(values, block, threads_for(len(block), None))
        doubled += 2 * greater + equal
        total += len(block)
    return np.asarray(doubled[place] / (2 * total))


def _drawn_variance(q: Floats, others: Floats) -> float:
    """Variance of the area due to drawn pairs, each with its share of births that are closer (DeLong et al. 1988)."""
    if len(others) < 2:
        return np.nan
    ordered = np.sort(q)
    closer = (np.searchsorted(ordered, others) + np.searchsorted(ordered, others, side="right")) / (2 * len(q))
    return float(closer.var(ddof=1) / len(others))


def against_matched(state: State, births: Ints, arms: Ints, pools: Ints, use: str, reason: str) -> Area:
    """Each birth against pairs in which one of its ends gives way to another node of its pool, as they were inserted.

    `arms` are (birth, kept end, replaced end), where ends are 0 or 1; a birth with two arms has their mean. `pools` has
    one number per node, negative if the node cannot be chosen. Edges before or after the cycle are no candidates.
    """
    assert state.inserted is not None
    order, directed, taken = state.inserted.order, state.options.directed, state.births.either
    kept, replaced = births[arms[:, 0], arms[:, 1]], births[arms[:, 0], arms[:, 2]]

    def ends(owner: Ints, node: Ints) -> tuple[Ints, Ints]:
        forward = (arms[owner, 1] == 0) | (not directed)
        return np.where(forward, kept[owner], node), np.where(forward, node, kept[owner])

    def fits(owner: Ints, node: Ints) -> Mask:
        free: Mask = node != kept[owner]
        free &= ~among(codes_of(*ends(owner, node), directed), taken)
        return free

    owner, node = _redrawn(replaced, pools, fits, state.options.per_birth, state.options.rng(state.cycle, use))
    q, other = order(births[:, 0], births[:, 1])[arms[owner, 0]], order(*ends(owner, node))
    counts = np.bincount(owner, minlength=len(arms))
    have = counts > 0
    shares = np.bincount(owner, (other > q) + 0.5 * (other == q), len(arms))[have] / counts[have]
    used = np.bincount(arms[have, 0], minlength=len(births))
    good = used > 0
    means = np.bincount(arms[have, 0], shares, len(births))[good] / used[good]
    alone = np.count_nonzero(~good)
    said = f"births left out of auc_{use}, because their pool has no other target: {alone}"
    return Area(
        means,
        len(node),
        births[good],
        nodes=len(pools),
        reason="no birth has another target to compare with" if len(births) else reason,
        warnings=(*state.warnings, *([said] if alone and good.any() else [])),
    )


def _redrawn(
    replaced: Ints, pools: Ints, fits: Callable[[Ints, Ints], Mask], per_birth: int | None, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """Numbers of arms, and other nodes of the pool for them: so many random ones each, or all with None."""
    members = np.argsort(pools, kind="stable")
    start = np.searchsorted(pools[members], pools[replaced])
    size = np.searchsorted(pools[members], pools[replaced], side="right") - start
    if per_birth is None:
        owner = np.repeat(np.arange(len(replaced)), size)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(size) - size, size)
        target = members[start[owner] + step]
        good = fits(owner, target)
        return owner[good], target[good]
    if per_birth * len(replaced) > _MOST_DRAWN:
        what = f"{per_birth * len(replaced):,} pairs are too many to draw"
        raise InputError(what, where="negatives", fix='Draw fewer, or pass "all".')
    pending = np.repeat(np.arange(len(replaced)), per_birth)
    owners, targets = [], []
    for _ in range(_REDRAWS):
        target = members[start[pending] + rng.integers(0, size[pending])]
        good = fits(pending, target)
        owners.append(pending[good])
        targets.append(target[good])
        pending = pending[~good]
    for arm in np.unique(pending):
        listed = members[start[arm] : start[arm] + size[arm]]
        listed = listed[fits(np.full(len(listed), arm), listed)]
        if len(listed):
            chosen = rng.choice(listed, np.count_nonzero(pending == arm))
            owners.append(np.full(len(chosen), arm))
            targets.append(chosen)
    return np.concatenate(owners), np.concatenate(targets)


# ---- the births of a cycle: after it, before it, by pool, and of nodes born in it


def after(state: State) -> Area:
    """Births against non-edges of original nodes, by the embeddings after the cycle."""
    births = state.births.edges[state.births.fresh & state.after.holds(state.births.edges)]
    why = "no births" if state.births.fresh.any() else _why_none(state)
    return _warned(state, against_non_edges(state, state.after.order, births, state.eligible, state.births.after, why))


def before(state: State) -> Area:
    """The same births and pairs by the embeddings before the cycle; nodes without one are left out."""
    if state.before is None:
        return Area.none(NO_BEFORE, state.nodes)
    births = state.births.edges[state.old & state.births.fresh]
    eligible = state.eligible[state.before.present[state.eligible]]

    def area(order: Order) -> Area:
        return against_non_edges(state, order, births, eligible, state.births.after, _why_none(state))

    found, edges = area(state.before.order), state.births.before
    if len(found) and state.options.per_birth is not None and 0 < len(edges) <= _MOST_EDGES:
        simple = orders_by_graph(set_of(edges_of(edges)), state.nodes)
        found = replace(found, baselines={name: area(order).value for name, order in simple.items()})
    young = np.count_nonzero(~state.old)
    said = f"births left out of auc_birth, because a node had no embedding before the cycle: {young}"
    return _warned(state, found, *([said] if young else []))


def matched(state: State) -> Area:
    """Births with at most one new end, which is never replaced, against other nodes of the replaced end's pool."""
    if state.before is None or state.inserted is None:
        return Area.none(NO_BEFORE, state.nodes)
    births, stood = state.births.edges, state.before.present
    births = births[state.births.fresh & state.inserted.holds(births) & stood[births].any(axis=1)]
    arms = [_arms(stood[births[:, 1]], kept=0)]
    if not state.options.directed:
        arms.append(_arms(stood[births[:, 0]], kept=1))
    return against_matched(state, births, np.concatenate(arms), state.matched_pools, "matched", _why_none(state))


def newborn(state: State) -> Area:
    """Births with a new end, against other nodes of the type and age of the end it is linked to."""
    if state.inserted is None:
        return Area.none(NO_BEFORE, state.nodes)
    births, new = state.births.edges, state.newborn
    births = births[state.births.fresh & state.inserted.holds(births) & new[births].any(axis=1)]
    types = np.zeros(state.nodes, np.int64) if state.types is None else state.types
    pools = np.where(state.inserted.present, 2 * types + new, -1)
    arms = np.concatenate([_arms(new[births[:, end]], kept=end) for end in (0, 1)])
    why = "no birth has a new node" if len(state.births) else "no births"
    return against_matched(state, births, arms, pools, "newborn", why)


def held_out(state: State) -> Area:
    """Held-out edges against pairs that are in neither graph nor test, by the embeddings after the cycle."""
    codes = set_of(state.test_edges, state.options.directed)
    edges = edges_of(codes)
    edges = edges[state.after.holds(edges)]
    eligible, taken = np.flatnonzero(state.after.present), joined(state.births.after, codes)
    return against_non_edges(state, state.after.order, edges, eligible, taken, "no test edges", "held_out")


def gains(after: Area, before: Area) -> tuple[Floats, Ints] | None:
    """For the births scored both after and before, on the same pairs: what each gained, and the nodes of each."""
    if after.ends is None or before.ends is None:
        return None
    one, other = (codes_of(ends[:, 0], ends[:, 1], directed=True) for ends in (after.ends, before.ends))
    both, place, earlier = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return (after.shares[place] - before.shares[earlier], edges_of(both)) if len(both) else None


def _arms(used: Mask, kept: int) -> Ints:
    """(birth, kept end, replaced end) of the births that are used."""
    births = np.flatnonzero(used)
    return np.stack([births, np.full(len(births), kept), np.full(len(births), 1 - kept)], axis=1)


def _warned(state: State, area: Area, *more: str) -> Area:
    return replace(area, warnings=(*state.warnings, *more, *area.warnings))


def _why_none(state: State) -> str:
    if not len(state.births):
        return "no births"
    return "every birth has a new node" if state.births.fresh.any() else "every birth is of an edge that existed before"
