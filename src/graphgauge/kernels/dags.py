"""Which edges of a DAG every equivalent DAG has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.jit import kernel

Ints = NDArray[np.int64]

# Comparisons of two scores that take as long as a few interpreted steps on one edge.
_STEP_WORK = 256


def compelled_edges(cells: Ints, d: int) -> NDArray[np.bool_] | None:
    """For each edge of a DAG (cells source·d + target, in order): do all equivalent DAGs have it; None for a cycle."""
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


def _topological_loop(target: Ints, children: Ints, waiting: Ints, order: Ints) -> bool:
    """Order the nodes so that no edge leads back (Kahn 1962); False where a cycle forbids it."""
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

    All are compelled where a compelled edge leads into that parent from a node that is no parent here, or where a
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


# Each step depends on the one before it: there is no array form, and the loops are their own twins.
_topological = kernel(twin=_topological_loop)(_topological_loop)
_label = kernel(twin=_label_loop)(_label_loop)
