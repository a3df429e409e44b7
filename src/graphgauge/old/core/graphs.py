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
    """

    edges: Sequence[tuple[Any, ...]] | AnyArray
    nodes: Names | None = None
    undirected: bool = False
    mixed: bool = False


@dataclass(frozen=True)
class EdgeMarks:
    """Edges (source, target, mark at source, mark at target) between named nodes, each pair once.

    A mark is 1 for a circle, 2 for an arrowhead and 3 for a tail.
    """

    edges: Sequence[tuple[Any, Any, int, int]]
    nodes: Names


@dataclass(frozen=True)
class NamedMatrix:
    """A square matrix whose rows and columns are named nodes."""

    values: Any
    names: Names
