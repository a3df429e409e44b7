"""The edges over which messages can reach a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphgauge.core.arrays import Ints
from graphgauge.explanation.inputs import Masks, Subgraph

FLOWS = ("source_to_target", "target_to_source")
# Layers of both kinds: messages flow along edges and against them.
BOTH_WAYS = "both"


def edges_within(
    edge_index: Ints, nodes: int, targets: Sequence[int], hops: int, flow: str = "source_to_target"
) -> Masks:
    """True for the edges on a path of at most `hops` edges that messages can take to a target."""
    source, sink = edge_index if flow != FLOWS[1] else edge_index[::-1]
    reached = np.zeros(nodes, bool)
    reached[list(targets)] = True
    used = np.zeros(edge_index.shape[1], bool)
    for _ in range(hops):
        entering = reached[sink] | (reached[source] if flow == BOTH_WAYS else False)
        if (entering == used).all():
            break
        used = entering
        reached[source[used]] = True
        if flow == BOTH_WAYS:
            reached[sink[used]] = True
    return used


def follow_messages(subgraph: Subgraph, target: Any) -> bool:
    """Whether the candidates are all the edges within some number of hops of the target, as messages flow."""
    ends = [target] if isinstance(target, int) else target
    nodes = len(subgraph.nodes)
    if not isinstance(ends, Sequence) or not all(isinstance(end, int) and 0 <= end < nodes for end in ends):
        return False
    wanted = np.zeros(subgraph.edges, bool)
    wanted[subgraph.candidates] = True
    for flow in (*FLOWS, BOTH_WAYS):
        hops, found = 0, np.zeros(subgraph.edges, bool)
        while not (found & ~wanted).any():
            if (found == wanted).all():
                return True
            hops, before = hops + 1, found
            found = edges_within(subgraph.edge_index, nodes, ends, hops, flow)
            if (found == before).all():
                break
    return False
