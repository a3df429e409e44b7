"""Approximate personalised PageRank by pushing probability along edges (Andersen, Chung and Lang 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.jit import kernel

# Operations of the twin per push, in units of work.
_PUSHING = 64


class Neighbours(NamedTuple):
    """A sparse row per source: node numbers and values of source i at `offsets[i] : offsets[i + 1]`."""

    nodes: Ints
    values: Floats
    offsets: Ints


def personalised_pagerank(
    neighbours: Ints, offsets: Ints, sources: Ints, *, restart: float = 0.15, tolerance: float = 5e-5
) -> Neighbours:
    """PageRank of a walk that returns to its source with probability `restart`, for each source.

    The graph is a list of neighbours for each node, `neighbours[offsets[v] : offsets[v + 1]]`. Probability that is
    left at a node is at most `restart · tolerance` times its degree.
    """
    capacity = max(1024, 64 * len(sources))
    counts = np.zeros(len(sources), np.int64)
    parts: list[tuple[Ints, Floats]] = []
    done = 0
    while done < len(sources):
        nodes, values = np.empty(capacity, np.int64), np.empty(capacity)
        push = _push.implementation(_PUSHING * int(len(sources) / (restart * tolerance) ** 0.5))
        more = push(neighbours, offsets, sources[done:], restart, restart * tolerance, nodes, values, counts[done:])
        if more == 0:  # not even one source fits
            capacity *= 4
            continue
        used = int(counts[done : done + more].sum())
        parts.append((nodes[:used], values[:used]))
        done += more
    nodes = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
    values = np.concatenate([np.empty(0), *(part for _, part in parts)])
    return Neighbours(nodes, values, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


def _push_twin(
    neighbours: Ints,
    offsets: Ints,
    sources: Ints,
    restart: float,
    limit: float,
    nodes: Ints,
    values: Floats,
    counts: Ints,
) -> int:
    used = 0
    for place, source in enumerate(sources.tolist()):
        settled: dict[int, float] = {}
        left = {source: restart}
        waiting, queued = [source], {source}
        while waiting:
            node = waiting.pop()
            queued.discard(node)
            amount = left.get(node, 0.0)
            settled[node] = settled.get(node, 0.0) + amount
            left[node] = 0.0
            ends = neighbours[offsets[node] : offsets[node + 1]].tolist()
            for other in ends:
                left[other] = left.get(other, 0.0) + (1 - restart) * amount / len(ends)
                degree = int(offsets[other + 1] - offsets[other])
                if left[other] >= limit * degree and other not in queued:
                    queued.add(other)
                    waiting.append(other)
        if used + len(settled) > len(nodes):
            return place
        nodes[used : used + len(settled)] = list(settled)
        values[used : used + len(settled)] = list(settled.values())
        counts[place] = len(settled)
        used += len(settled)
    return len(sources)


@kernel(twin=_push_twin)
def _push(
    neighbours: Ints,
    offsets: Ints,
    sources: Ints,
    restart: float,
    limit: float,
    nodes: Ints,
    values: Floats,
    counts: Ints,
) -> int:
    """Rows of as many sources as fit into `nodes` and `values`; returns how many."""
    size = offsets.size - 1
    settled, left = np.zeros(size), np.zeros(size)
    is_settled, is_queued, is_touched = np.zeros(size, np.bool_), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    order, waiting, touched = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    used = 0
    for place in range(sources.size):
        source = sources[place]
        left[source] = restart
        waiting[0] = source
        is_queued[source] = is_touched[source] = True
        touched[0] = source
        queue, met, seen = 1, 1, 0
        while queue > 0:
            queue -= 1
            node = waiting[queue]
            is_queued[node] = False
            amount = left[node]
            if not is_settled[node]:
                is_settled[node] = True
                order[seen] = node
                seen += 1
            settled[node] += amount
            left[node] = 0.0
            degree = offsets[node + 1] - offsets[node]
            for index in range(offsets[node], offsets[node + 1]):
                other = neighbours[index]
                if not is_touched[other]:
                    is_touched[other] = True
                    touched[met] = other
                    met += 1
                left[other] += (1 - restart) * amount / degree
                if left[other] >= limit * (offsets[other + 1] - offsets[other]) and not is_queued[other]:
                    is_queued[other] = True
                    waiting[queue] = other
                    queue += 1
        fits = used + seen <= nodes.size
        for index in range(seen):
            if fits:
                nodes[used + index] = order[index]
                values[used + index] = settled[order[index]]
            settled[order[index]] = 0.0
            is_settled[order[index]] = False
        for index in range(met):
            left[touched[index]] = 0.0
            is_touched[touched[index]] = False
        if not fits:
            return place
        counts[place] = seen
        used += seen
    return sources.size
