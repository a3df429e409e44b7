"""Agreement in time of the edge pairs that share a node, for every prefix of a list of edges, in one pass.

cos(a − b) = cos a · cos b + sin a · sin b, so one edge's agreement with all edges it touches is a product of two
sums: those over the edges at either of its nodes, less those parallel to it, which are at both. The sums are of whole
numbers (cosines and sines as multiples of a power of two): they are exact in any order, edges that touch nothing
add nothing, and subtraction leaves no remainder.
"""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import Floats, Ints


def touching_pairs(source: Ints, target: Ints, phase: Floats) -> tuple[Floats, Ints]:
    """For each prefix of the edges: Σ cos(phase_i − phase_j) over ordered pairs that share a node, and their number.

    Nodes are numbered from 0. A loop counts once at its node, and parallel edges share both nodes.
    """
    edges = source.size
    nodes = int(max(source.max(), target.max())) + 1 if edges else 0
    # No sum of this many numbers exceeds 64 bits; up to a thousand edges nothing is rounded beyond the cosine itself.
    unit = 2.0 ** (62 - max(10, edges.bit_length()))
    cosine, sine = np.cos(phase), np.sin(phase)
    parts = np.stack([np.rint(cosine * unit), np.rint(sine * unit), np.ones(edges)], axis=1).astype(np.int64)
    touched = _touched(source, target, parts, nodes)
    agreement = cosine * touched[:, 0] + sine * touched[:, 1]
    return np.cumsum(agreement) * (2 / unit), 2 * np.cumsum(touched[:, 2])


def _touched(source: Ints, target: Ints, parts: Ints, nodes: int) -> Ints:
    """For each edge, the sums of `parts` over the earlier edges that share a node with it."""
    loops = (source == target)[:, np.newaxis]
    ends = np.stack([source, target], axis=1).ravel()
    at_ends = np.stack([parts, np.where(loops, 0, parts)], axis=1).reshape(-1, 3)
    before = _sums_before(ends, at_ends).reshape(-1, 2, 3)
    beside = _sums_before(np.minimum(source, target) * nodes + np.maximum(source, target), parts)
    return before[:, 0] + np.where(loops, 0, before[:, 1] - beside)


def _sums_before(group: Ints, parts: Ints) -> Ints:
    """For each row, the sum of the earlier rows of its group."""
    order = np.argsort(group, kind="stable")
    ordered = parts[order]
    # The running total over all groups may wrap around 64 bits: differences stay exact.
    total = np.cumsum(ordered, axis=0) - ordered
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    total -= np.repeat(total[starts], np.diff(starts, append=group.size), axis=0)
    sums = np.empty_like(total)
    sums[order] = total
    return sums
