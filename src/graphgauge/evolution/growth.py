"""How a graph grows: its births per node, its components, and whether it has two sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints
from graphgauge.evolution.edges import ends_of

WEIGHT = 0.1
# Edges beyond a spanning forest from which a graph is bipartite by design: once in 2 ** 20 by chance.
_SURELY_TWO = 20
# Edges that are looked at before all are.
_FIRST = 1 << 20


def tgc_step(births: int, nodes: int, component: int, previous: float | None = None) -> float:
    """The capacity after one more cycle: births/nodes · component/nodes, smoothed with weight 0.1 per cycle.

    Parameters
    ----------
    births, nodes, component
        Numbers of births, of all nodes, and of the nodes in the largest component.
    previous
        The capacity before; None in the first cycle.

    Returns
    -------
    float
        At least 0; NaN without nodes.

    Examples
    --------
    >>> from graphgauge import evolution
    >>> first = evolution.tgc_step(10, 100, 80)
    >>> round(first, 6), round(evolution.tgc_step(0, 100, 80, first), 6)
    (0.08, 0.072)
    """
    if nodes == 0:
        return float("nan")
    now = births / nodes * component / nodes
    return now if previous is None else (1 - WEIGHT) * previous + WEIGHT * now


def checked_tgc(tgc: Any) -> float | None:
    """The capacity reported by a system: one finite number, or None."""
    if tgc is None:
        return None
    number = as_numeric(tgc, "tgc")
    if number.ndim or not np.isfinite(number):
        raise InputError(f"found {tgc}", where="tgc", fix="Pass a number, or None to compute it.")
    return float(number)


def largest_component(codes: Ints, nodes: int) -> int:
    """Number of nodes in the largest connected component."""
    return int(np.bincount(_components(*ends_of(codes), nodes)).max()) if nodes else 0


def two_sides(codes: Ints, nodes: int) -> tuple[int, int] | None:
    """The sizes of the two sides of a graph without edges within a side; None if it may be so only by chance.

    Every edge beyond a spanning forest of a graph that is not bipartite by design is within a side with probability
    one half, so there must be many.
    """
    if not len(codes):
        return None
    # In the double cover a component that is not bipartite stays whole, as a part of nearly every graph says already.
    for part in (codes[:_FIRST], codes) if len(codes) > _FIRST else (codes,):
        first, second = ends_of(part)
        cover = _components(np.append(first, second), np.append(second, first) + nodes, 2 * nodes)
        used = np.bincount(np.append(first, second), minlength=nodes) > 0
        one, other = cover[:nodes][used], cover[nodes:][used]
        if (one == other).any():
            return None
    if len(codes) - len(one) + len(np.unique(np.minimum(one, other))) < _SURELY_TWO:
        return None
    left = int(np.count_nonzero(one < other))
    return left, len(one) - left


def _components(first: Ints, second: Ints, nodes: int) -> Ints:
    """The component of each node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = first.astype(np.int32), second.astype(np.int32)
    graph = coo_array((np.ones(len(first), np.int8), ends), shape=(nodes, nodes))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
