"""Edges by the marks at their ends, the one form in which graphs of all classes are compared.

An end has a tail, an arrowhead or a circle, which leaves open which of the two it is. A pair of nodes i < j has one of
eleven kinds of edges. An undirected edge has two tails; it is not a pair of arrows, which is a kind of its own.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints

# Marks as in pcalg's `amat.pag`.
NO_MARK, CIRCLE, ARROWHEAD, TAIL = range(4)
Ends = NDArray[np.int8]


class Edge(IntEnum):
    """The edge between i and j, i < j."""

    NONE = 0
    FORWARD = 1  # i → j
    BACKWARD = 2  # i ← j
    TWO_WAY = 3  # i → j and i ← j: a cycle of two arrows
    LINE = 4  # i – j
    TWO_HEADS = 5  # i ↔ j
    CIRCLE_HEAD = 6  # i o→ j
    HEAD_CIRCLE = 7  # i ←o j
    CIRCLES = 8  # i o–o j
    CIRCLE_TAIL = 9  # i o– j
    TAIL_CIRCLE = 10  # i –o j


KINDS = len(Edge)
# The marks at i and at j; two arrows have a tail and an arrowhead at both.
_ENDS: dict[Edge, tuple[tuple[int, ...], tuple[int, ...]]] = {
    Edge.NONE: ((), ()),
    Edge.FORWARD: ((TAIL,), (ARROWHEAD,)),
    Edge.BACKWARD: ((ARROWHEAD,), (TAIL,)),
    Edge.TWO_WAY: ((TAIL, ARROWHEAD), (TAIL, ARROWHEAD)),
    Edge.LINE: ((TAIL,), (TAIL,)),
    Edge.TWO_HEADS: ((ARROWHEAD,), (ARROWHEAD,)),
    Edge.CIRCLE_HEAD: ((CIRCLE,), (ARROWHEAD,)),
    Edge.HEAD_CIRCLE: ((ARROWHEAD,), (CIRCLE,)),
    Edge.CIRCLES: ((CIRCLE,), (CIRCLE,)),
    Edge.CIRCLE_TAIL: ((CIRCLE,), (TAIL,)),
    Edge.TAIL_CIRCLE: ((TAIL,), (CIRCLE,)),
}
_KIND_OF = {ends: kind for kind, ends in _ENDS.items() if kind not in (Edge.NONE, Edge.TWO_WAY)}
_BY_MARKS = np.zeros((4, 4), np.int64)
for (_low, _high), _kind in _KIND_OF.items():
    _BY_MARKS[_low[0], _high[0]] = _kind


def has_mark(mark: int) -> NDArray[np.int64]:
    """For each kind of edge: is the mark at i, and at j; (kinds, 2)."""
    return np.array([[mark in end for end in _ENDS[kind]] for kind in Edge], np.int64)


def _mirrored(kind: Edge) -> int:
    low, high = _ENDS[kind]
    return kind if kind in (Edge.NONE, Edge.TWO_WAY) else int(_BY_MARKS[high[0], low[0]])


# The kind as seen from j.
MIRRORED = np.array([_mirrored(kind) for kind in Edge])


def kinds_of_ends(ends: Ends) -> NDArray[np.int64]:
    """The kind of every pair of a matrix of marks: [i, j] is the mark at j; (d, d), to be read where i < j."""
    found: NDArray[np.int64] = _BY_MARKS[ends.T, ends]
    return found


def listed_kinds(cells: Ints, undirected: Ints, d: int) -> tuple[Ints, Ints]:
    """The pairs i·d + j, i < j, of a graph in order and their kinds, from distinct cells source·d + target.

    Undirected edges are in both cells.
    """
    source, target = np.divmod(cells, max(d, 1))
    pairs = np.minimum(source, target) * d + np.maximum(source, target)
    order = np.argsort(pairs, kind="stable")
    distinct, first = np.unique(pairs[order], return_index=True)
    bits = np.where(source < target, Edge.FORWARD, Edge.BACKWARD)[order]
    kinds = np.add.reduceat(bits, first) if len(first) else np.empty(0, np.int64)
    if undirected.size:
        start, end = np.divmod(undirected, d)
        kinds[np.searchsorted(distinct, undirected[(start < end) & np.isin(undirected, distinct)])] = Edge.LINE
    return distinct, kinds


def kind_table(truth: tuple[Ints, Ints], prediction: tuple[Ints, Ints], d: int) -> NDArray[np.int64]:
    """How many pairs have each combination of kinds, (1, kinds²), given the listed pairs of both graphs."""
    pairs = np.union1d(truth[0], prediction[0])
    kinds = []
    for listed, own in (truth, prediction):
        whole = np.zeros(len(pairs), np.int64)
        whole[np.searchsorted(pairs, listed)] = own
        kinds.append(whole)
    table = np.bincount(kinds[0] * KINDS + kinds[1], minlength=KINDS * KINDS)
    table[0] += d * (d - 1) // 2 - len(pairs)
    return table[np.newaxis].astype(np.int64)
