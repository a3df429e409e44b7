"""Edges of a graph as checked pairs of rows, and as sorted codes, which sets are made of.

A node is its row in the embeddings, counted from 0. The code of an edge is source · nodes + target; without direction
the smaller end is first. Sorted distinct codes are sets: they are joined and subtracted by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints, Mask

_PAIRS = "Pass one edge per row, as (M, 2) node numbers; evaluate every relation by itself."


def whole_numbers(value: Any, name: str) -> Ints:
    """Integers, or floats with integer values, such as pandas makes of ids beside a missing one; others are refused."""
    array = as_numeric(value, name)
    if array.dtype.kind == "b":
        raise InputError("found booleans where node numbers are expected", where=name)
    if array.dtype.kind == "f":
        refuse_nan(array, name, fix="Give two nodes for every edge.")
        broken = ~np.isfinite(array) | (array != np.trunc(array))
        if broken.any():
            raise InputError(f"{array[broken][0]} is not a node number", where=name, fix="Pass integers.")
    elif array.dtype == np.uint64 and (array > np.iinfo(np.int64).max).any():
        raise InputError(f"{array.max()} is too large for a node number", where=name)
    return array.astype(np.int64, copy=False)


def as_edges(value: Any, name: str, nodes: int | None = None) -> Ints:
    """Edges as (M, 2) integers; None means no edges. If `nodes` is given, every end must be below it."""
    if value is None:
        return np.empty((0, 2), np.int64)
    edges = whole_numbers(value, name)
    if edges.size == 0 and edges.shape in ((0,), (0, 2), (2, 0), (1, 0)):
        return np.empty((0, 2), np.int64)
    if edges.ndim == 2 and edges.shape[0] == 2 and edges.shape[1] != 2:
        what = f"found shape {edges.shape}, one edge per column"
        raise InputError(what, where=name, fix="Transpose it: edge_index.T.")
    require_shape(edges, (None, 2), name, _PAIRS)
    last = np.iinfo(np.int64).max if nodes is None else nodes - 1
    # As unsigned integers, negative numbers are the largest.
    if len(edges) and edges.view(np.uint64).max() > np.uint64(max(last, 0)):
        outside = (edges < 0) | (edges > last)
        row = int(np.argmax(outside.any(axis=1)))
        known = "negative" if nodes is None else f"outside the {nodes} nodes"
        raise InputError(
            f"{np.count_nonzero(outside.any(axis=1))} of {len(edges)} edges have an end that is {known}, "
            f"the first is {tuple(edges[row].tolist())} in row {row}",
            where=name,
            fix="A node's number is its row, counted from 0.",
        )
    return edges


@dataclass(frozen=True)
class Codes:
    """Edges between so many nodes as numbers."""

    nodes: int
    directed: bool = False

    def of(self, edges: Ints) -> Ints:
        """The code of each edge."""
        first, second = edges[:, 0], edges[:, 1]
        if not self.directed:
            first, second = np.minimum(first, second), np.maximum(first, second)
        codes: Ints = first * self.nodes + second
        return codes

    def set_of(self, edges: Ints) -> Ints:
        """The distinct codes of edges other than loops, sorted."""
        loops = edges[:, 0] == edges[:, 1]
        return distinct(self.of(edges[~loops] if loops.any() else edges))

    def edges(self, codes: Ints) -> Ints:
        """The edges again, (M, 2)."""
        return np.stack(np.divmod(codes, max(self.nodes, 1)), axis=1)


@dataclass(frozen=True)
class Remembered:
    """Sorted codes of an earlier graph, which may have had fewer nodes."""

    nodes: int
    codes: Ints

    def now(self, nodes: int) -> Ints:
        """The same edges as codes of a graph with so many nodes."""
        if self.nodes == nodes or not len(self.codes):
            return self.codes
        earlier, later = Codes(self.nodes), Codes(nodes, directed=True)  # the ends are in order already
        return distinct(later.of(earlier.edges(self.codes)))

    def joined(self, nodes: int, *more: Ints) -> Remembered:
        """These edges and others of a graph with so many nodes."""
        found = self.now(nodes)
        for codes in more:
            new = distinct(codes)
            new = new[~among(new, found)]
            found = np.insert(found, np.searchsorted(found, new), new) if len(new) else found
        return Remembered(nodes, found)


NOTHING = Remembered(0, np.empty(0, np.int64))


def distinct(codes: Ints) -> Ints:
    """Distinct codes, sorted; np.unique hashes integers, which takes ten times as long."""
    ordered: Ints = np.sort(codes)
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered if new.all() else ordered[new]


def among(codes: Ints, ordered: Ints) -> Mask:
    """Which codes occur in a sorted list."""
    return _places(codes, ordered)[1]


def without(ordered: Ints, codes: Ints) -> Ints:
    """A sorted list without some codes; both lists are distinct."""
    places, found = _places(codes, ordered)
    rest = np.ones(len(ordered), bool)
    rest[places[found]] = False
    return ordered[rest]


def _places(codes: Ints, ordered: Ints) -> tuple[Ints, Mask]:
    """The positions of codes in a sorted list, and which of them are present."""
    if not len(ordered):
        return np.zeros(len(codes), np.int64), np.zeros(len(codes), bool)
    places = np.minimum(np.searchsorted(ordered, codes), len(ordered) - 1)
    found: Mask = ordered[places] == codes
    return places, found
