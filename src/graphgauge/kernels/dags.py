"""Which edges of a DAG are in every equivalent DAG, and which graphs with undirected edges represent DAGs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.types import Ints


def compelled_edges(cells: Ints, d: int) -> NDArray[np.bool_] | None:
    """For each edge of a DAG (cells source·d + target, in order): is it in all equivalent DAGs; None for a cycle."""
    compelled: NDArray[np.bool_] | None = _core.compelled_edges(np.require(cells, None, ("C", "A")), d)
    return compelled


def cycle_of(cells: Ints, d: int) -> list[int]:
    """The nodes of one directed cycle, each before its successor, the smallest first; empty for a DAG."""
    ordered = _core.topological_order(np.require(cells, None, ("C", "A")), d)
    if ordered.size == d:
        return []
    waiting = np.ones(d, np.bool_)
    waiting[ordered] = False
    # Every waiting node has a waiting parent, so a backward walk from any of them returns to itself.
    source, target = np.divmod(cells, d)
    held = waiting[source] & waiting[target]
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
    order: Ints = _core.sinks_first(np.require(directed, None, ("C", "A")), np.require(undirected, None, ("C", "A")), d)
    return order
