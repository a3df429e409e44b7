"""Pairs of nodes without an edge, drawn without replacement: distinct, unordered, without loops.

If there are many non-edges, random pairs are drawn in turn and rejected if they are an edge or were drawn before,
using a hash table with twice as many places as entries. If there are few, their ranks are drawn.
"""

from __future__ import annotations

import math

import numpy as np

from graphgauge.core.types import Ints
from graphgauge.kernels.jit import kernel

# Above this share of pairs that are edges or wanted, ranks are drawn: rejections would dominate.
_CROWDED = 0.5
# The cost of looking up a pair, in units of work.
_LOOKING_UP = 16


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
    # Every draw is rejected with a probability below `taken`; six standard deviations are almost always enough.
    taken = (len(edges) + count) / pairs
    draws = math.ceil(count / (1 - taken) + 6 * math.sqrt(count) / (1 - taken) + 16)
    drawn = rng.integers(0, nodes * (nodes - 1), draws)
    found = np.empty(count, np.int64)
    while True:
        choose = _first_free.implementation(_LOOKING_UP * (len(drawn) + len(edges)))
        if choose(drawn, edges, nodes, found) == count:
            return found
        drawn = np.concatenate([drawn, rng.integers(0, nodes * (nodes - 1), draws)])


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


def _first_free_twin(drawn: Ints, edges: Ints, nodes: int, found: Ints) -> int:
    first = drawn // (nodes - 1)
    second = drawn % (nodes - 1)
    second += second >= first
    codes = np.minimum(first, second) * nodes + np.maximum(first, second)
    _, places = np.unique(codes, return_index=True)
    places = np.sort(places)
    free = places[~np.isin(codes[places], edges)][: len(found)]
    found[: len(free)] = codes[free]
    return len(free)


@kernel(twin=_first_free_twin)
def _first_free(drawn: Ints, edges: Ints, nodes: int, found: Ints) -> int:
    """The first pairs of `drawn` that are not edges and not repeated, up to the length of `found`."""
    size = 16
    while size < 2 * (edges.size + found.size):
        size *= 2
    table = np.full(size, -1, np.int64)
    mask = size - 1
    for index in range(edges.size):
        code = edges[index]
        place = (np.uint64(code) * np.uint64(11400714819323198485)) >> np.uint64(20) & np.uint64(mask)
        while table[place] != -1 and table[place] != code:
            place = (place + np.uint64(1)) & np.uint64(mask)
        table[place] = code
    count = 0
    for index in range(drawn.size):
        first = drawn[index] // (nodes - 1)
        second = drawn[index] - first * (nodes - 1)
        if second >= first:
            second += 1
        code = first * nodes + second if first < second else second * nodes + first
        place = (np.uint64(code) * np.uint64(11400714819323198485)) >> np.uint64(20) & np.uint64(mask)
        while table[place] != -1 and table[place] != code:
            place = (place + np.uint64(1)) & np.uint64(mask)
        if table[place] == -1:
            table[place] = code
            found[count] = code
            count += 1
            if count == found.size:
                break
    return count
