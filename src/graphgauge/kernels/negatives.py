"""Pairs of nodes without an edge, drawn without replacement: distinct, unordered, without loops.

If there are many non-edges, random pairs are drawn in turn and rejected if they are an edge or were drawn before.
If there are few, their ranks are drawn.
"""

from __future__ import annotations

import math

import numpy as np

from graphgauge.core.types import Ints

# Above this share of pairs that are edges or wanted, ranks are drawn: rejections would dominate.
_CROWDED = 0.5


def non_edges(edges: Ints, nodes: int, count: int, rng: np.random.Generator) -> Ints:
    """`count` distinct unordered pairs of nodes below `nodes` that are not in `edges`, or all if there are fewer.

    `edges` are codes `low · nodes + high`, distinct, in any order; so are the pairs that come back.
    """
    pairs = nodes * (nodes - 1) // 2
    free = pairs - len(edges)
    if count <= 0 or free <= 0:
        return np.empty(0, np.int64)
    if len(edges) + count > _CROWDED * pairs:
        return _by_rank(edges, nodes, min(count, free), free, rng)
    edges = np.require(edges, np.int64, ("C", "A"))
    # Every draw is rejected with a probability below `taken`; six standard deviations are almost always enough.
    taken = (len(edges) + count) / pairs
    draws = math.ceil(count / (1 - taken) + 6 * math.sqrt(count) / (1 - taken) + 16)
    drawn = rng.integers(0, nodes * (nodes - 1), draws)
    while len(found := _first_free(drawn, edges, nodes, count)) < count:
        drawn = np.concatenate([drawn, rng.integers(0, nodes * (nodes - 1), draws)])
    return found


def _first_free(drawn: Ints, edges: Ints, nodes: int, count: int) -> Ints:
    """Of pairs drawn by number, the first `count` that are no edge and were not drawn before, or fewer."""
    one, rest = np.divmod(drawn, nodes - 1)
    other = rest + (rest >= one)
    pairs = np.minimum(one, other) * nodes + np.maximum(one, other)
    distinct, first = np.unique(pairs, return_index=True)
    return np.asarray(pairs[np.sort(first[~np.isin(distinct, edges)])[:count]])


def _by_rank(edges: Ints, nodes: int, count: int, free: int, rng: np.random.Generator) -> Ints:
    ranks = np.sort(rng.choice(free, count, replace=False, shuffle=False))
    # An edge shifts every later non-edge by one place among all pairs.
    taken = np.sort(_rank(edges // max(nodes, 1), edges % max(nodes, 1), nodes))
    return _pair_at(ranks + np.searchsorted(taken - np.arange(len(taken)), ranks, side="right"), nodes)


def _rank(low: Ints, high: Ints, nodes: int) -> Ints:
    """The place of a pair among all, row by row."""
    ranks: Ints = low * (2 * nodes - low - 1) // 2 + high - low - 1
    return ranks


def _pair_at(ranks: Ints, nodes: int) -> Ints:
    rows = np.arange(nodes, dtype=np.int64)
    low = np.searchsorted(rows * (2 * nodes - rows - 1) // 2, ranks, side="right") - 1
    return low * nodes + ranks - low * (2 * nodes - low - 1) // 2 + low + 1
