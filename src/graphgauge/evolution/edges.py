"""Edges of a graph as checked pairs of rows, and as sorted codes, which sets are made of.

A node is its row in the embeddings, counted from 0. The code of an edge is source · 2³² + target, whatever the number
of nodes; without direction the smaller end is first. Sorted distinct codes are sets: they are joined and subtracted by
binary search.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.types import Ints, Mask

_SHIFT, _TARGET = 32, (1 << 32) - 1
_MOST_NODES = 1 << 31
# Codes that are looked up at once.
_BLOCK = 1 << 20
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


def as_edges(value: Any, name: str, nodes: int = _MOST_NODES) -> Ints:
    """Edges as (M, 2) integers below `nodes`; None means no edges."""
    if value is None:
        return np.empty((0, 2), np.int64)
    edges = whole_numbers(value, name)
    if edges.size == 0 and edges.shape in ((0,), (0, 2), (2, 0), (1, 0)):
        return np.empty((0, 2), np.int64)
    if edges.ndim == 2 and edges.shape[0] == 2 and edges.shape[1] != 2:
        what = f"found shape {edges.shape}, one edge per column"
        raise InputError(what, where=name, fix="Transpose it: edge_index.T.")
    require_shape(edges, (None, 2), name, _PAIRS)
    # As unsigned integers, negative numbers are the largest.
    if len(edges) and edges.view(np.uint64).max() >= np.uint64(nodes):
        outside = ((edges < 0) | (edges >= nodes)).any(axis=1)
        row = int(np.argmax(outside))
        raise InputError(
            f"{np.count_nonzero(outside)} of {len(edges)} edges have an end that is outside the {nodes} nodes, the "
            f"first is {tuple(edges[row].tolist())} in row {row}",
            where=name,
            fix="A node's number is its row, counted from 0.",
        )
    return edges


def codes_of(first: Ints, second: Ints, directed: bool = False) -> Ints:
    """The code of each edge; without direction, of its ends in order."""
    if not directed:
        first, second = np.minimum(first, second), np.maximum(first, second)
    codes: Ints = (first << _SHIFT) | second
    return codes


def set_of(edges: Ints, directed: bool = False) -> Ints:
    """The distinct codes of edges (M, 2) other than loops, sorted."""
    loops = edges[:, 0] == edges[:, 1]
    edges = edges[~loops] if loops.any() else edges
    return distinct(codes_of(edges[:, 0], edges[:, 1], directed))


def ends_of(codes: Ints) -> tuple[Ints, Ints]:
    """The first and the second end of each code."""
    return codes >> _SHIFT, codes & _TARGET


def edges_of(codes: Ints) -> Ints:
    """The edges of codes again, (M, 2)."""
    return np.stack(ends_of(codes), axis=1)


def distinct(codes: Ints) -> Ints:
    """Distinct codes, sorted; np.unique hashes integers, which takes ten times as long."""
    ordered: Ints = np.sort(codes)
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered if new.all() else ordered[new]


def joined(one: Ints, other: Ints) -> Ints:
    """The codes of either of two sets."""
    new = without(other, one)
    return np.insert(one, np.searchsorted(one, new), new) if len(new) else one


def without(ordered: Ints, codes: Ints) -> Ints:
    """A set without the codes of another."""
    return ordered[~among(ordered, codes)]


def among(codes: Ints, ordered: Ints) -> Mask:
    """Which codes occur in a set."""
    found = np.zeros(len(codes), bool)
    for start in range(0, len(codes) if len(ordered) else 0, _BLOCK):  # in blocks, which take little memory
        part = codes[start : start + _BLOCK]
        places = np.minimum(np.searchsorted(ordered, part), len(ordered) - 1)
        found[start : start + _BLOCK] = ordered[places] == part
    return found
