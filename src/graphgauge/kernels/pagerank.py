"""Approximate personalised PageRank by pushing probability along edges (Andersen, Chung and Lang 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphgauge import _core
from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.threads import threads_of


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
    given = [np.require(part, np.int64, ("C", "A")) for part in (offsets, neighbours, sources)]
    return Neighbours(*_core.push_pagerank(*given, restart, restart * tolerance, threads=threads_of(None)))
