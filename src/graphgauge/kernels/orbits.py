"""How often each node is at each place of the connected graphs of up to four nodes: the 15 orbits of Pržulj 2007.

Orbits are counted as induced subgraphs. The counts of subgraphs that need not be induced follow from degrees, common
neighbours and triangles; those are turned into induced ones with the number of times that each subgraph contains the
others. Only complete graphs of four nodes are searched for.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints
from graphgauge.kernels.jit import kernel

ORBITS = 15


class Neighbourhoods(NamedTuple):
    """Neighbours by node (starts and nodes), common neighbours of the ends of each edge, cycles of four by node."""

    start: Ints
    around: Ints
    common: Ints
    cycles: Ints

    @classmethod
    def of(cls, ends: Ints, size: int) -> Neighbourhoods:
        """From edges (E, 2) that are listed in both directions, each once, without loops."""
        from scipy.sparse import csr_array

        adjacency = csr_array((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(size, size))
        adjacency.sort_indices()
        start, around = adjacency.indptr.astype(np.int64), adjacency.indices.astype(np.int64)
        common, cycles = np.zeros(len(around), np.int64), np.zeros(size, np.int64)
        degree = np.diff(start)
        _walk.implementation(int((degree.astype(float) ** 2).sum()))(start, around, common, cycles)
        return cls(start, around, common, cycles)


def node_orbits(near: Neighbourhoods) -> Ints:
    """Counts (nodes, 15)."""
    start, around, common, cycles = near
    degree, size = np.diff(start), len(cycles)
    source = np.repeat(np.arange(size), degree)

    def over_edges(values: NDArray[np.int64]) -> Ints:
        """Sums over the neighbours of each node, of a value per edge."""
        return np.bincount(source, values, minlength=size).astype(np.int64)

    triangles = over_edges(common) // 2
    complete = np.zeros(size, np.int64)
    across = np.zeros((2, size), np.int64)
    _search.implementation(int((common * degree[source]).sum()))(start, around, common, degree, complete, across)

    d, other = degree, degree[around]
    ends3 = over_edges(other - 1)
    reach = ends3[around]
    loose = {
        4: over_edges(reach - (d[source] - 1) - common),
        5: over_edges((d[source] - 1) * (other - 1) - common),
        6: over_edges((other - 1) * (other - 2) // 2),
        7: d * (d - 1) * (d - 2) // 6,
        8: cycles,
        9: over_edges(triangles[around] - common),
        10: across[0],
        11: triangles * (d - 2),
        12: across[1],
        13: over_edges(common * (common - 1) // 2),
    }
    found = np.zeros((size, ORBITS), np.int64)
    found[:, 0], found[:, 3], found[:, 14] = d, triangles, complete
    found[:, 1], found[:, 2] = ends3 - 2 * triangles, d * (d - 1) // 2 - triangles
    for orbit in sorted(_CONTAINED, reverse=True):
        within = sum(times * found[:, larger] for larger, times in _CONTAINED[orbit].items())
        found[:, orbit] = loose[orbit] - within
    return found


def node_triangles(near: Neighbourhoods) -> Ints:
    """The number of triangles at each node."""
    sums = np.append(0, np.cumsum(near.common))
    return np.asarray((sums[near.start[1:]] - sums[near.start[:-1]]) // 2)


def _walk_twin(start: Ints, around: Ints, common: Ints, cycles: Ints) -> None:
    from scipy.sparse import csr_array

    size, degree = start.size - 1, np.diff(start)
    adjacency = csr_array((np.ones(len(around), np.int64), around, start), shape=(size, size))
    paths = (adjacency @ adjacency).tocsr()
    shared = adjacency.multiply(paths).tocsr()
    rows = np.repeat(np.arange(size), np.diff(shared.indptr))
    # `shared` leaves out edges without a common neighbour.
    source = np.repeat(np.arange(size), degree)
    common[np.searchsorted(source * size + around, rows * size + shared.indices)] = shared.data
    pairs = np.append(0, np.cumsum(paths.data * (paths.data - 1) >> 1))
    cycles[:] = np.diff(pairs[paths.indptr]) - (degree * (degree - 1) >> 1)


@kernel(twin=_walk_twin)
def _walk(start: Ints, around: Ints, common: Ints, cycles: Ints) -> None:
    """Count the paths of two edges from each node.

    Two different nodes with c common neighbours are opposite in c(c − 1)/2 cycles of four. A node has as many paths to
    itself as neighbours, which are no cycles.
    """
    size = start.size - 1
    paths = np.zeros(size, np.int64)
    for u in range(size):
        for to_v in range(start[u], start[u + 1]):
            v = around[to_v]
            for to_w in range(start[v], start[v + 1]):
                w = around[to_w]
                if w != u:
                    cycles[u] += paths[w]
                    paths[w] += 1
        for to_v in range(start[u], start[u + 1]):
            common[to_v] = paths[around[to_v]]
        for to_v in range(start[u], start[u + 1]):
            v = around[to_v]
            for to_w in range(start[v], start[v + 1]):
                paths[around[to_w]] = 0


# How often a node at the larger orbit is at this one, in subgraphs that need not be induced.
_CONTAINED = {
    4: {8: 2, 9: 2, 10: 1, 12: 4, 13: 2, 14: 6},
    5: {8: 2, 10: 1, 11: 2, 12: 2, 13: 4, 14: 6},
    6: {9: 1, 10: 1, 12: 2, 13: 1, 14: 3},
    7: {11: 1, 13: 1, 14: 1},
    8: {12: 1, 13: 1, 14: 3},
    9: {12: 2, 14: 3},
    10: {12: 2, 13: 2, 14: 6},
    11: {13: 2, 14: 3},
    12: {14: 3},
    13: {14: 3},
}


# Triples of nodes that the twin looks at together.
_TOGETHER = 1 << 18


def _search_twin(start: Ints, around: Ints, common: Ints, degree: Ints, complete: Ints, across: Ints) -> None:
    size = start.size - 1
    # Each edge once, from the node of smaller degree: few edges then leave a node.
    rank = np.empty(size, np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(size)
    source = np.repeat(np.arange(size), degree)
    chosen = np.flatnonzero(rank[source] < rank[around])
    low, high, shared = source[chosen], around[chosen], common[chosen]
    key = low * size + high
    first = np.searchsorted(low, np.arange(size + 1))
    leaving = np.diff(first)

    def edge(a: Ints, b: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """Whether a leads to b, and the number of that edge."""
        wanted = a * size + b
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return key[place] == wanted, place

    for some in _parts(leaving[high]):
        of, to_w = _ranges(first[high[some]], leaving[high[some]])
        to_v = np.arange(some.start, some.stop)[of]
        u, v, w = low[to_v], high[to_v], high[to_w]
        closed, across_w = edge(u, w)
        u, v, w = u[closed], v[closed], w[closed]
        opposite = (
            (u, v, w, shared[to_w[closed]]),
            (v, u, w, shared[across_w[closed]]),
            (w, u, v, shared[to_v[closed]]),
        )
        for node, b, c, both in opposite:
            across[0] += np.bincount(node, degree[b] + degree[c] - 4, size).astype(np.int64)
            across[1] += np.bincount(node, both - 1, size).astype(np.int64)
        for part in _parts(leaving[w]):
            of, last = _ranges(first[w[part]], leaving[w[part]])
            four = u[part][of], v[part][of], w[part][of], high[last]
            joined = edge(four[0], four[3])[0] & edge(four[1], four[3])[0]
            for node in four:
                complete += np.bincount(node[joined], minlength=size)


def _parts(sizes: Ints) -> list[slice]:
    """Ranges of items whose sizes sum to `_TOGETHER` or little more."""
    step = np.cumsum(sizes) // _TOGETHER
    edges = [0, *(np.flatnonzero(np.diff(step)) + 1).tolist(), len(sizes)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def _ranges(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """All numbers of some ranges, one range after the other, and the range of each."""
    of = np.repeat(np.arange(len(lengths)), lengths)
    before = np.cumsum(lengths) - lengths
    return of, np.arange(len(of)) + (starts - before)[of]


@kernel(twin=_search_twin)
def _search(start: Ints, around: Ints, common: Ints, degree: Ints, complete: Ints, across: Ints) -> None:
    """Over all triangles: pendant edges and further triangles on the opposite side, and fourth nodes that join all."""
    size = start.size - 1
    mark_u = np.full(size, -1, np.int64)
    mark_v = np.full(size, -1, np.int64)
    for u in range(size):
        for at in range(start[u], start[u + 1]):
            mark_u[around[at]] = at
        for to_v in range(start[u], start[u + 1]):
            v = around[to_v]
            if v <= u:
                continue
            for at in range(start[v], start[v + 1]):
                mark_v[around[at]] = at
            for to_w in range(start[v], start[v + 1]):
                w = around[to_w]
                if w <= v or mark_u[w] < start[u]:
                    continue
                across[0, u] += degree[v] + degree[w] - 4
                across[0, v] += degree[u] + degree[w] - 4
                across[0, w] += degree[u] + degree[v] - 4
                across[1, u] += common[to_w] - 1
                across[1, v] += common[mark_u[w]] - 1
                across[1, w] += common[to_v] - 1
                for at in range(start[w], start[w + 1]):
                    x = around[at]
                    if x > w and mark_u[x] >= start[u] and mark_v[x] >= start[v]:
                        complete[u] += 1
                        complete[v] += 1
                        complete[w] += 1
                        complete[x] += 1
            for at in range(start[v], start[v + 1]):
                mark_v[around[at]] = -1
        for at in range(start[u], start[u + 1]):
            mark_u[around[at]] = -1
