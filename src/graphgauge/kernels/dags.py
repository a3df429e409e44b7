"""Which edges of a DAG are in every equivalent DAG, and which graphs with undirected edges represent DAGs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints
from graphgauge.kernels.jit import kernel

# A few interpreted steps on one edge, in comparisons of two scores.
_STEP_WORK = 256


def compelled_edges(cells: Ints, d: int) -> NDArray[np.bool_] | None:
    """For each edge of a DAG (cells source·d + target, in order): is it in all equivalent DAGs; None for a cycle."""
    source, target = np.divmod(cells, d)
    by_target = np.argsort(target, kind="stable")
    parents = np.append(0, np.cumsum(np.bincount(target, minlength=d)))
    children = np.append(0, np.cumsum(np.bincount(source, minlength=d)))
    order = np.empty(d, np.int64)
    work = cells.size * _STEP_WORK
    if not _topological.implementation(work)(target, children, np.diff(parents), order):
        return None
    compelled = np.zeros(cells.size, np.bool_)
    _label.implementation(work)(source[by_target], parents, order, compelled)
    labels = np.empty_like(compelled)
    labels[by_target] = compelled
    return labels


def cycle_of(cells: Ints, d: int) -> list[int]:
    """The nodes of one directed cycle, each before its successor, the smallest first; empty for a DAG."""
    source, target = np.divmod(cells, d)
    children = np.append(0, np.cumsum(np.bincount(source, minlength=d)))
    waiting = np.bincount(target, minlength=d)
    if _topological.implementation(cells.size * _STEP_WORK)(target, children, waiting, np.empty(d, np.int64)):
        return []
    # Every waiting node has a waiting parent, so a backward walk from any of them returns to itself.
    held = (waiting[source] > 0) & (waiting[target] > 0)
    parent = dict(zip(target[held].tolist(), source[held].tolist(), strict=True))
    walk = [min(parent)]
    while (node := parent[walk[-1]]) not in walk:
        walk.append(node)
    cycle = walk[walk.index(node) :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def sinks_first(directed: Ints, undirected: Ints, d: int) -> Ints:
    """An order in which the nodes of a graph can be removed as sinks (Dor and Tarsi 1992).

    Cells source·d + target in order, undirected edges in both. A consistent extension, a DAG with the same adjacencies,
    arrows and v-structures, exists exactly if all nodes are in it; it directs every undirected edge to its earlier end.
    """
    source, target = np.divmod(directed, d)
    cells = np.concatenate([directed, target * d + source, undirected])
    # An edge as seen from its first node: leaving, entering, undirected.
    kinds = np.repeat(np.array([1, -1, 0], np.int8), [directed.size, directed.size, undirected.size])
    sequence = np.argsort(cells)
    cells, kinds = cells[sequence], kinds[sequence]
    ends = np.append(0, np.cumsum(np.bincount(cells // max(d, 1), minlength=d)))
    leaving = np.bincount(source, minlength=d)
    order = np.empty(d, np.int64)
    work = (cells.size + d) * _STEP_WORK
    taken = _take_sinks.implementation(work)(cells % max(d, 1), kinds, ends, leaving, order)
    return order[:taken]


def _topological_loop(target: Ints, children: Ints, waiting: Ints, order: Ints) -> bool:
    """Order the nodes so that no edge leads back (Kahn 1962); False if there is a cycle."""
    ready = 0
    for node in range(order.size):
        if waiting[node] == 0:
            order[ready] = node
            ready += 1
    for done in range(order.size):
        if done == ready:
            return False
        for edge in range(children[order[done]], children[order[done] + 1]):
            waiting[target[edge]] -= 1
            if waiting[target[edge]] == 0:
                order[ready] = target[edge]
                ready += 1
    return True


def _label_loop(source: Ints, parents: Ints, order: Ints, compelled: NDArray[np.bool_]) -> None:
    """Label the edges into each node by its nearest parent (Chickering 1995).

    All are compelled if a compelled edge leads into that parent from a node that is not a parent here, or if a
    parent here is not adjacent to it; else those whose source has a compelled edge into the nearest parent are.
    """
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    parent_of = np.full(order.size, -1)
    above_of = np.full(order.size, -1)
    for step in range(order.size):
        node = order[step]
        first, end = parents[node], parents[node + 1]
        if first == end:
            continue
        nearest = source[first]
        for edge in range(first, end):
            parent_of[source[edge]] = node
            if place[source[edge]] > place[nearest]:
                nearest = source[edge]
        all_compelled = False
        for above in range(parents[nearest], parents[nearest + 1]):
            above_of[source[above]] = node
            if compelled[above] and parent_of[source[above]] != node:
                all_compelled = True
        for edge in range(first, end):
            if source[edge] != nearest and above_of[source[edge]] != node:
                all_compelled = True
        for edge in range(first, end):
            compelled[edge] = all_compelled
        if not all_compelled:
            for above in range(parents[nearest], parents[nearest + 1]):
                if compelled[above]:
                    above_of[source[above]] = -2 - node
            for edge in range(first, end):
                compelled[edge] = above_of[source[edge]] == -2 - node


def _take_sinks_loop(neighbour: Ints, kind: NDArray[np.int8], ends: Ints, leaving: Ints, order: Ints) -> int:
    """Remove nodes that no edge leaves and whose undirected neighbours are adjacent to all their other neighbours.

    Adjacent pairs stay adjacent, and other pairs are waited for, so each node checks its pairs once.
    """
    d = order.size
    alive, queued = np.ones(d, np.bool_), np.ones(d, np.bool_)
    queue = np.arange(d - 1, -1, -1)
    waiting, taken = d, 0
    first, second = ends[:-1].copy(), ends[:-1].copy()
    while waiting:
        waiting -= 1
        node = queue[waiting]
        queued[node] = False
        if not alive[node] or leaving[node]:
            continue
        blocked = False
        while first[node] < ends[node + 1]:
            near = neighbour[first[node]]
            if kind[first[node]] == 0 and alive[near]:
                while second[node] < ends[node + 1]:
                    other = neighbour[second[node]]
                    if alive[other] and other != near:
                        low, high = ends[near], ends[near + 1]
                        while low < high:
                            middle = (low + high) // 2
                            if neighbour[middle] < other:
                                low = middle + 1
                            else:
                                high = middle
                        if low == ends[near + 1] or neighbour[low] != other:
                            blocked = True
                            break
                    second[node] += 1
            if blocked:
                break
            first[node] += 1
            second[node] = ends[node]
        if blocked:
            continue
        alive[node] = False
        order[taken] = node
        taken += 1
        for edge in range(ends[node], ends[node + 1]):
            other = neighbour[edge]
            if not alive[other]:
                continue
            if kind[edge] == -1:
                leaving[other] -= 1
            if not queued[other]:
                queued[other] = True
                queue[waiting] = other
                waiting += 1
    return taken


# Each step depends on the one before it, so there is no array form: the loops are their own twins.
_topological = kernel(twin=_topological_loop)(_topological_loop)
_label = kernel(twin=_label_loop)(_label_loop)
_take_sinks = kernel(twin=_take_sinks_loop)(_take_sinks_loop)
