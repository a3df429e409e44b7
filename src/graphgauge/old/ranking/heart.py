"""Hard negatives of HeaRT (Li et al. 2023): the nodes that heuristics rank first for the query's fixed node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints, sorted_unique
from graphgauge.kernels.pagerank import personalised_pagerank
from graphgauge.old.ranking.edges import Edges

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Weight of a common neighbour with this degree.
COMMON = ("resource_allocation", "adamic_adar", "common_neighbours")
COMBINED = ("min", "mean")
# Sums that differ by rounding are equal.
_DECIMALS = 12
# Fixed nodes whose scores are computed together.
_AT_ONCE = 256


def adjacency(history: Edges, nodes: int) -> csr_array:
    """The undirected graph without loops and repeated edges."""
    from scipy.sparse import csr_array

    apart = history.head != history.tail
    ends = np.concatenate([history.head[apart], history.tail[apart]])
    others = np.concatenate([history.tail[apart], history.head[apart]])
    graph = csr_array((np.ones(len(ends)), (ends, others)), shape=(nodes, nodes))
    graph.sum_duplicates()
    graph.data[:] = 1.0
    return graph


def scored(graph: csr_array, sources: Ints, common: str) -> Iterator[tuple[slice, Ints, Ints, Floats, Floats]]:
    """For blocks of sources: place among the sources, node, and both scores, of nodes with a score above 0."""
    degree = np.diff(graph.indptr).astype(float)
    weighted = graph.multiply(_weight(degree, common)[:, None]).tocsr()
    neighbours, offsets = graph.indices.astype(np.int64), graph.indptr.astype(np.int64)
    for start in range(0, len(sources), _AT_ONCE):
        block = slice(start, min(start + _AT_ONCE, len(sources)))
        shared: Any = (graph[sources[block]] @ weighted).tocoo()
        walk = personalised_pagerank(neighbours, offsets, sources[block])
        place = np.repeat(np.arange(len(walk.offsets) - 1), np.diff(walk.offsets))
        size = graph.shape[0]
        by_neighbours, by_walk = shared.row * np.int64(size) + shared.col, place * np.int64(size) + walk.nodes
        keys = sorted_unique(np.concatenate([by_neighbours, by_walk]))
        columns = np.zeros((2, len(keys)))
        columns[0, np.searchsorted(keys, by_neighbours)] = np.round(shared.data, _DECIMALS)
        columns[1, np.searchsorted(keys, by_walk)] = np.round(walk.values, _DECIMALS)
        yield block, start + keys // size, keys % size, columns[0], columns[1]


def _weight(degree: Floats, common: str) -> Floats:
    if common == "common_neighbours":
        return np.ones(len(degree))
    if common == "resource_allocation":
        return 1 / np.maximum(degree, 1)
    # A common neighbour of two nodes has at least degree 2.
    return 1 / np.log(np.maximum(degree, 2))


def combined_ranks(owner: Ints, scores: list[Floats], how: str) -> Floats:
    """One rank per candidate of each owner from its ranks by several scores; owners are sorted.

    Nodes with score 0 rank after all others of their owner, together.
    """
    ranks = np.stack([_ranks(owner, score) for score in scores])
    combined: Floats = ranks.min(axis=0) if how == "min" else ranks.mean(axis=0)
    return combined


def _ranks(owner: Ints, score: Floats) -> Floats:
    """1 for the best score of each owner; nodes with equal scores share the rank of the last of them.

    The nodes with the best score count as one, as in HeaRT.
    """
    if not len(owner):
        return np.empty(0)
    order = np.lexsort((score, owner))
    who, value = owner[order], score[order]
    new_owner = np.r_[True, who[1:] != who[:-1]]
    place = np.arange(len(who))
    first = np.maximum.accumulate(np.where(new_owner | np.r_[True, value[1:] != value[:-1]], place, 0))
    # Scores of 0 come first in ascending order and are not counted.
    zeros = np.bincount(who, value == 0, minlength=int(who.max()) + 1).astype(np.int64)
    start = np.maximum.accumulate(np.where(new_owner, place, 0))
    below = first - start - zeros[who]
    end = np.flatnonzero(np.r_[new_owner[1:], True])
    most = np.zeros(len(zeros), np.int64)
    most[who[end]] = np.where(value[end] > 0, below[end] + 1, 0)
    ranks = np.empty(len(who))
    ranks[order] = np.where(value > 0, most[who] - below, most[who] + 1)
    return ranks
