"""Graphs with named nodes, as readers return them and families take them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from graphgauge.core.arrays import AnyArray

Names = tuple[Hashable, ...]


@dataclass(frozen=True)
class EdgeList:
    """Edges (source, target) or (source, target, weight), and the nodes if they are known.

    `edges` are tuples, or an array (edges, 2) or (edges, 3) of node numbers and weights. In an `undirected` list no
    edge has a direction, whether it is listed one way or both; in a `mixed` one only edges listed both ways have none.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> truth = recovery.EdgeList([("a", "b"), ("b", "c")], nodes=["a", "b", "c"])
    >>> found = recovery.EdgeList([("a", "b", 0.9), ("c", "b", 0.8)], nodes=["a", "b", "c"])
    >>> recovery.evaluate(truth, found)["directed_f1"].value
    0.5
    """

    edges: Sequence[tuple[Any, ...]] | AnyArray
    nodes: Names | None = None
    undirected: bool = False
    mixed: bool = False


@dataclass(frozen=True)
class EdgeMarks:
    """Edges (source, target, mark at source, mark at target) between named nodes, each pair once.

    A mark is 1 for a circle, 2 for an arrowhead and 3 for a tail.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> truth = recovery.EdgeMarks([("a", "b", 3, 2)], nodes=["a", "b"])
    >>> found = recovery.EdgeMarks([("a", "b", 1, 2)], nodes=["a", "b"])
    >>> recovery.evaluate(truth, found)["arrowhead_precision"].value
    1.0
    """

    edges: Sequence[tuple[Any, Any, int, int]]
    nodes: Names


@dataclass(frozen=True)
class NamedMatrix:
    """A square matrix whose rows and columns are named nodes.

    Examples
    --------
    >>> from graphgauge import recovery
    >>> truth = recovery.NamedMatrix([[0, 1], [0, 0]], ["a", "b"])
    >>> found = recovery.NamedMatrix([[0, 0], [1, 0]], ["b", "a"])
    >>> recovery.evaluate(truth, found)["directed_shd"].value
    0.0
    """

    values: Any
    names: Names
