"""How often each node is at each place of the connected graphs of up to four nodes: the 15 orbits of Pržulj 2007.

Orbits are counted as induced subgraphs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.types import Ints
from graphgauge.kernels.threads import threads_of

ORBITS = 15
# The orbit of a triangle.
_TRIANGLE = 3


class Neighbourhoods(NamedTuple):
    """Neighbours by node: starts and nodes."""

    start: Ints
    around: Ints

    @classmethod
    def of(cls, ends: Ints, size: int) -> Neighbourhoods:
        """From edges (E, 2) that are listed in both directions, each once, without loops."""
        order = np.lexsort((ends[:, 1], ends[:, 0]))
        start = np.append(0, np.cumsum(np.bincount(ends[:, 0], minlength=size))).astype(np.int64)
        return cls(start, ends[order, 1].astype(np.int64))


def node_orbits(near: Neighbourhoods) -> Ints:
    """Counts (nodes, 15)."""
    return np.asarray(_core.orbits(near.start, near.around, threads=threads_of(None)))


def node_triangles(near: Neighbourhoods) -> Ints:
    """The number of triangles at each node."""
    return node_orbits(near)[:, _TRIANGLE]
