"""The edges over which messages can reach a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphgauge.explanation.inputs import Ints, Masks

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
