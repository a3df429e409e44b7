"""Hard negatives of HeaRT (Li et al. 2023): the nodes that heuristics rank first for the query's fixed node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphgauge import _core
from graphgauge.core.arrays import Floats, Ints, sorted_unique
from graphgauge.core.threads import default_threads
from graphgauge.ranking.cells import runs_of
from graphgauge.ranking.edges import Edges

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# PageRank returns to its source with this probability; this much of it may be left per degree.
_RESTART, _TOLERANCE = 0.15, 5e-5
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


def scored(graph: csr_array, sources: Ints) -> Iterator[tuple[slice, Ints, Ints, Floats, Floats]]:
    """For blocks of sources: place among the sources, node, and both scores, of nodes with a score above 0.

    The scores are resource allocation, the sum of 1 / degree over common neighbours, and PageRank from the source.
    """
    degree = np.diff(graph.indptr).astype(float)
    weighted = graph.multiply(1 / np.maximum(degree, 1)[:, None]).tocsr()
    offsets, neighbours = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    size, limit = np.int64(graph.shape[0]), _RESTART * _TOLERANCE
    for start in range(0, len(sources), _AT_ONCE):
        block = slice(start, min(start + _AT_ONCE, len(sources)))
        shared: Any = (graph[sources[block]] @ weighted).tocoo()
        near, walk, bounds = _core.push_pagerank(
            offsets, neighbours, sources[block], _RESTART, limit, threads=default_threads()
        )
        by_neighbours = shared.row * size + shared.col
        by_walk = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)) * size + near
        keys = sorted_unique(np.concatenate([by_neighbours, by_walk]))
        columns = np.zeros((2, len(keys)))
        columns[0, np.searchsorted(keys, by_neighbours)] = np.round(shared.data, _DECIMALS)
        columns[1, np.searchsorted(keys, by_walk)] = np.round(walk, _DECIMALS)
        yield block, start + keys // size, keys % size, columns[0], columns[1]


def best_ranks(owner: Ints, scores: list[Floats]) -> Floats:
    """The best rank of each candidate of each owner by several scores; owners are sorted.

    Nodes with score 0 rank after all others of their owner, together.
    """
    best: Floats = np.min([_ranks(owner, score) for score in scores], axis=0)
    return best


def _ranks(owner: Ints, score: Floats) -> Floats:
    """1 for the best score of each owner; nodes with equal scores share the rank of the last of them.

    The nodes with the best score count as one, as in HeaRT.
    """
    if not len(owner):
        return np.empty(0)
    order = np.lexsort((score, owner))
    who, value = owner[order], score[order]
    run, _, _, before = runs_of(who, value)
    # Scores of 0 come first in ascending order and are not counted.
    zeros = np.bincount(who, value == 0, minlength=int(who.max()) + 1).astype(np.int64)
    below = before[run] - zeros[who]
    end = np.flatnonzero(np.append(who[1:] != who[:-1], True))
    most = np.zeros(len(zeros), np.int64)
    most[who[end]] = np.where(value[end] > 0, below[end] + 1, 0)
    ranks = np.empty(len(who))
    ranks[order] = np.where(value > 0, most[who] - below, most[who] + 1)
    return ranks
