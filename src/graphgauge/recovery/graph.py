"""Graphs as edges between named nodes, and the eleven kinds of edges that a pair of nodes can have.

An end of an edge has a tail, an arrowhead, or a circle, which leaves open which of the two it is. An undirected edge
has two tails; it is not a pair of arrows, which is a kind of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric
from graphgauge.core.errors import InputError
from graphgauge.core.types import AnyArray, Ints

Names = tuple[Hashable, ...]

# Marks at the end of an edge, as bits.
TAIL, HEAD, CIRCLE = 1, 2, 4


class Kind(IntEnum):
    """The edge between i and j, i < j; the kinds from LINE on claim no direction."""

    NONE = 0
    FORWARD = 1  # i → j
    BACKWARD = 2  # i ← j
    TWO_WAY = 3  # i → j and i ← j: two arrows
    LINE = 4  # i – j
    TWO_HEADS = 5  # i ↔ j
    CIRCLE_HEAD = 6  # i o→ j
    HEAD_CIRCLE = 7  # i ←o j
    CIRCLES = 8  # i o–o j
    CIRCLE_TAIL = 9  # i o– j
    TAIL_CIRCLE = 10  # i –o j


KINDS = len(Kind)
_STARTS = {"-": TAIL, "<": HEAD, "o": CIRCLE, "x": CIRCLE}
_STOPS = {"-": TAIL, ">": HEAD, "o": CIRCLE, "x": CIRCLE}
# Edges as text, `-->` or `o-o`, with the marks at their first and second node.
MARKS = {f"{start}-{stop}": (_STARTS[start], _STOPS[stop]) for start in _STARTS for stop in _STOPS}
# The marks at i and at j of each kind.
_ARROWS = ((0, 0), MARKS["-->"], MARKS["<--"], (TAIL | HEAD, TAIL | HEAD))
ENDS = np.array([*_ARROWS, *(MARKS[text] for text in ("---", "<->", "o->", "<-o", "o-o", "o--", "--o"))])
# The kind of an edge by its marks at i and at j; and each kind as seen from j.
KIND_OF = np.zeros((8, 8), np.int64)
KIND_OF[tuple(ENDS.T)] = np.arange(KINDS)
MIRRORED = KIND_OF[ENDS[:, 1], ENDS[:, 0]]


@dataclass(frozen=True)
class Graph:
    """Edges between named nodes.

    Parameters
    ----------
    source, target
        The nodes that each edge joins, by name or by number.
    weight
        The weight or score of each edge; 1 by default.
    marks
        What each edge has at its ends: `-->`, `---`, `<->`, `o->`, `o-o` and so on; arrows by default.
    nodes
        All nodes, also those without an edge, in any order.
    directed
        Whether edges without marks are arrows, or have no direction.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> truth = recovery.Graph(["a", "b"], ["b", "c"], nodes=["a", "b", "c"])
    >>> found = recovery.Graph(["a", "c"], ["b", "b"], [0.9, 0.8], nodes=["a", "b", "c"])
    >>> recovery.evaluate(truth, found)["directed_f1"].value
    0.5
    """

    source: Sequence[Hashable]
    target: Sequence[Hashable]
    weight: Sequence[float] | None = None
    _: KW_ONLY
    marks: Sequence[str] | None = None
    nodes: Any = None
    directed: bool = True

    def __post_init__(self) -> None:
        source = tuple(self.source)
        given = np.ones(len(source)) if self.weight is None else as_numeric(self.weight, "weight")
        held = {
            "source": source,
            "target": tuple(self.target),
            "weight": tuple(given.ravel().astype(np.float64).tolist()),
            "marks": None if self.marks is None else tuple(self.marks),
        }
        wrong = next((name for name, values in held.items() if values is not None and len(values) != len(source)), None)
        if wrong is not None:
            raise InputError(f"{len(source):,} sources with {len(held[wrong] or ()):,} in {wrong}", where="Graph")
        unknown = next((text for text in held["marks"] or () if text not in MARKS), None)
        if unknown is not None:
            raise InputError(f"{unknown!r:.40} is no edge", where="marks", fix="Write --> --- <-> o-> o-o, and so on.")
        nodes = None if self.nodes is None else distinct_names(self.nodes, "nodes")
        for name, value in (*held.items(), ("nodes", nodes)):
            object.__setattr__(self, name, value)

    @classmethod
    def from_edges(cls, edges: Iterable[Sequence[Any]], **parts: Any) -> Graph:
        """A graph of `edges`, tuples (source, target) or (source, target, weight); `parts` are those of `Graph`."""
        listed = list(edges)
        wrong = [edge for edge in listed if not isinstance(edge, tuple | list) or len(edge) not in (2, 3)]
        if wrong:
            fix = "An edge is (source, target) or with a weight third."
            raise InputError(f"{wrong[0]!r:.80} is not an edge", fix=fix)
        if len(set(map(len, listed))) > 1:
            raise InputError("edges of different lengths", fix="Give all of them a weight, or none.")
        source, target, *weight = zip(*listed, strict=True) if listed else ((), ())
        return cls(source, target, *map(list, weight), **parts)

    def __len__(self) -> int:
        return len(self.source)

    def ends(self) -> AnyArray:
        """The marks at source and target of each edge, (edges, 2)."""
        if self.marks is None:
            return np.tile((TAIL, HEAD if self.directed else TAIL), (len(self), 1))
        return np.array([MARKS[text] for text in self.marks], np.int64).reshape(-1, 2)


def distinct_names(names: Iterable[Any], where: str) -> Names:
    """Names of nodes as a tuple, each once."""
    try:
        listed = tuple(names)
        counted = Counter(listed)
    except TypeError:
        raise InputError(f"{names!r:.80} cannot name nodes", where=where, fix="List text, numbers or tuples.") from None
    twice = next((name for name, count in counted.items() if count > 1), None)
    if twice is not None:
        raise InputError(f"the node {twice!r} occurs twice among the names", where=where)
    return listed


def are_numbers(names: Names) -> bool:
    """Whether the names are 0 … d − 1 in any order, as numbers or as text: rows of a matrix without names."""
    whole = [not isinstance(name, bool) and isinstance(name, int | np.integer | str) for name in names]
    return all(whole) and {str(name) for name in names} == set(map(str, range(len(names))))


def numbers_of(names: Iterable[Hashable], order: Names, where: str) -> Ints:
    """The place of each name in `order`."""
    place = {name: number for number, name in enumerate(order)}
    listed = list(names)
    unknown = list(dict.fromkeys(repr(name) for name in listed if name not in place))
    if unknown:
        known = some([repr(name) for name in order])
        raise InputError(f"edges between unknown nodes: {some(unknown)}", where=where, fix=f"Known: {known}.")
    return np.array([place[name] for name in listed], np.int64)


def some(labels: Sequence[str]) -> str:
    """A list in a sentence, cut where it is long."""
    return ", ".join(labels[:12]) + (" …" if len(labels) > 12 else "")


def refuse_other_names(own: Names, order: Names, where: str) -> None:
    """Refuse nodes that are not those in `order`."""
    lacks = [repr(name) for name in set(order) - set(own)]
    adds = [repr(name) for name in set(own) - set(order)]
    if lacks or adds:
        parts = [f"{word} {some(sorted(labels))}" for word, labels in (("lacks", lacks), ("adds", adds)) if labels]
        raise InputError(f"node names differ: {' and '.join(parts)}", where=where, fix="Nodes are matched by name.")
