"""Topological generative capacity: how much a graph grows, and how connected it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints, as_numeric
from graphgauge.core.errors import InputError

WEIGHT = 0.1


def checked_tgc(tgc: Any) -> float:
    """The capacity reported by a system: one finite number."""
    number = as_numeric(tgc, "tgc")
    if number.ndim or not np.isfinite(number):
        raise InputError(f"found {tgc}", where="tgc", fix="Pass a number, or None to compute it.")
    return float(number)


def largest_component(codes: Ints, nodes: int) -> int:
    """Number of nodes in the largest connected component."""
    if nodes == 0:
        return 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = (codes // nodes, codes % nodes)
    graph = coo_array((np.ones(len(codes), np.int8), ends), shape=(nodes, nodes))
    _, part = connected_components(graph, directed=False)
    return int(np.bincount(part).max())


def tgc_step(births: int, nodes: int, component: int, previous: float | None = None) -> float:
    """The capacity after one more cycle: births/nodes · component/nodes, smoothed with weight 0.1 per cycle.

    >>> first = tgc_step(10, 100, 80)
    >>> round(first, 6), round(tgc_step(0, 100, 80, first), 6)
    (0.08, 0.072)
    """
    if nodes == 0:
        return float("nan")
    now = births / nodes * component / nodes
    return now if previous is None else (1 - WEIGHT) * previous + WEIGHT * now
