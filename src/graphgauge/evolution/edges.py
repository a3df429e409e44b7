"""Edges as checked pairs of rows and as sorted codes, the graphs that they make, and the pairs that are no edges.

A node is its row in the embeddings, counted from 0. The code of an edge is source · 2³² + target, whatever the number
of nodes; without direction the smaller end is first. Sorted distinct codes are sets: they are joined and subtracted by
binary search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphgauge.core.arrays import as_numeric, refuse_nan, require_shape, sorted_unique
from graphgauge.core.errors import InputError
from graphgauge.core.types import Floats, Ints, Mask

Ends = tuple[Ints, Ints]
# A value per pair (first ends, second ends) that rises with its distance, or falls with its score.
Order = Callable[[Ints, Ints], Floats]
_SHIFT, _TARGET = 32, (1 << 32) - 1
_MOST_NODES = 1 << 31
# Codes that are looked at at once, or before all are.
_BLOCK = 1 << 20
_PAIRS = "Pass one edge per row, as (M, 2) node numbers: edge_index.T of PyG; evaluate every relation by itself."
# Edges beyond a spanning forest from which a graph is bipartite by design: once in 2 ** 20 by chance.
_SURELY_TWO = 20
# Pairs that are made at once, and the most that are made at all; those whose common neighbours are looked up at once.
_MADE, _MOST_PAIRS, _LOOKED_UP = 1 << 21, 1 << 33, 1 << 16


# ---- edges, and sets of them


def whole_numbers(value: Any, name: str) -> Ints:
    """Integers, or floats with integer values, such as pandas makes of ids beside a missing one; others are refused."""
    array = as_numeric(value, name)
    if array.dtype.kind == "b":
        raise InputError("found booleans where whole numbers are expected", where=name)
    if array.dtype.kind == "f":
        refuse_nan(array, name, fix="Leave out the rows that lack a number.")
        broken = ~np.isfinite(array) | (array != np.trunc(array))
        if broken.any():
            raise InputError(f"{array[broken][0]} is not a whole number", where=name, fix="Pass integers.")
    return array.astype(np.int64, copy=False)


def as_edges(value: Any, name: str, nodes: int = _MOST_NODES) -> Ints:
    """Edges as (M, 2) integers below `nodes`; None means no edges."""
    if value is None:
        return np.empty((0, 2), np.int64)
    edges = whole_numbers(value, name)
    if not edges.size:
        return np.empty((0, 2), np.int64)
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
    return sorted_unique(codes_of(edges[:, 0], edges[:, 1], directed))


def ends_of(codes: Ints) -> tuple[Ints, Ints]:
    """The first and the second end of each code."""
    return codes >> _SHIFT, codes & _TARGET


def edges_of(codes: Ints) -> Ints:
    """The edges of codes again, (M, 2)."""
    return np.stack(ends_of(codes), axis=1)


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


# ---- graphs


def largest_component(codes: Ints, nodes: int) -> int:
    """Number of nodes in the largest connected component."""
    return int(np.bincount(_components(*ends_of(codes), nodes)).max()) if nodes else 0


def two_sides(codes: Ints, nodes: int) -> tuple[int, int] | None:
    """The sizes of the two sides of a graph without edges within a side; None if it may be so only by chance.

    Every edge beyond a spanning forest of a graph that is not bipartite by design is within a side with probability
    one half, so there must be many.
    """
    if not len(codes):
        return None
    # In the double cover a component that is not bipartite stays whole, as a part of nearly every graph says already.
    for part in (codes[:_BLOCK], codes):
        first, second = ends_of(part)
        cover = _components(np.append(first, second), np.append(second, first) + nodes, 2 * nodes)
        used = np.bincount(np.append(first, second), minlength=nodes) > 0
        one, other = cover[:nodes][used], cover[nodes:][used]
        if (one == other).any():
            return None
    if len(codes) - len(one) + len(np.unique(np.minimum(one, other))) < _SURELY_TWO:
        return None
    left = int(np.count_nonzero(one < other))
    return left, len(one) - left


def _components(first: Ints, second: Ints, nodes: int) -> Ints:
    """The component of each node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = first.astype(np.int32), second.astype(np.int32)
    graph = coo_array((np.ones(len(first), np.int8), ends), shape=(nodes, nodes))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


# ---- pairs of nodes


@dataclass(frozen=True)
class FreePairs:
    """Pairs of a source and a target, which are sorted nodes, without those in `taken`, a set of codes.

    Without direction, sources and targets are the same nodes or have none in common. `nodes` is how many there are.
    """

    sources: Ints
    targets: Ints
    taken: Ints
    nodes: int
    directed: bool = False

    @cached_property
    def _folded(self) -> bool:
        """Whether every pair is counted in one order only."""
        return not self.directed and np.array_equal(self.sources, self.targets)

    @cached_property
    def every(self) -> int:
        """The number of pairs, taken ones included."""
        if self._folded:
            return len(self.sources) * (len(self.sources) - 1) // 2
        loops = len(np.intersect1d(self.sources, self.targets, assume_unique=True))
        return len(self.sources) * len(self.targets) - loops

    @cached_property
    def free(self) -> int:
        """The number of pairs that are not taken."""
        if len(self.sources) == len(self.targets) == self.nodes:
            return self.every - len(self.taken)
        source, target = np.zeros(self.nodes, bool), np.zeros(self.nodes, bool)
        source[self.sources], target[self.targets] = True, True
        first, second = ends_of(self.taken)
        inside = source[first] & target[second]
        if not self.directed and not self._folded:
            inside |= source[second] & target[first]
        return self.every - int(np.count_nonzero(inside))

    def all(self) -> Iterator[Ends]:
        """All free pairs, in blocks of rows."""
        if self.every > _MOST_PAIRS:
            what = f"{self.every:,} pairs are too many to score"
            raise InputError(what, where="negatives", fix="Draw a number of them for each birth.")
        step = max(1, _MADE // max(len(self.targets), 1))
        for start in range(0, len(self.sources), step):
            rows = self.sources[start : start + step]
            first, second = np.repeat(rows, len(self.targets)), np.tile(self.targets, len(rows))
            kept = first < second if self._folded else first != second
            first, second = first[kept], second[kept]
            free = ~among(codes_of(first, second, self.directed), self.taken)
            yield first[free], second[free]

    def drawn(self, count: int, rng: np.random.Generator) -> Ends:
        """So many distinct free pairs, which is less than all, drawn without replacement."""
        if 2 * count > self.free:
            first, second = (np.concatenate(ends) for ends in zip(*self.all(), strict=True))
            chosen = rng.choice(self.free, count, replace=False)
            return first[chosen], second[chosen]
        codes = np.empty(0, np.int64)
        # A draw is lost if it is a loop, or an edge, or was drawn before; a folded pair is drawn in two orders.
        share = self.free / (len(self.sources) * len(self.targets)) * (2 if self._folded else 1)
        while len(codes) < count:
            more = int((count - len(codes)) / share * 1.05) + 16
            first = self.sources[rng.integers(0, len(self.sources), more)]
            second = self.targets[rng.integers(0, len(self.targets), more)]
            if self._folded:
                first, second = np.minimum(first, second), np.maximum(first, second)
            # As they were drawn: a target may have the smaller number.
            new = codes_of(first, second, directed=True)[first != second]
            new = new[~among(codes_of(*ends_of(new), self.directed), self.taken)]
            codes = sorted_unique(np.concatenate([codes, new]))
        kept = codes if len(codes) == count else codes[rng.permutation(len(codes))[:count]]
        return ends_of(kept)


def orders_by_graph(edges: Ints, nodes: int) -> dict[str, Order]:
    """What the edges of an undirected graph, a set of codes, say about pairs: orders, of which high scores come first.

    Adamic–Adar counts common neighbours, each divided by the logarithm of its degree (Adamic and Adar 2003);
    preferential attachment is the product of the degrees (Barabási and Albert 1999).
    """
    from scipy.sparse import coo_array

    first, second = ends_of(edges)
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    adjacency = coo_array((np.ones(len(ends[0])), ends), shape=(nodes, nodes)).tocsr()
    degrees = np.bincount(ends[0], minlength=nodes)
    # A common neighbour has two neighbours at least, so its logarithm is not 0.
    weights = 1 / np.log(np.maximum(degrees, 2))

    def adamic_adar(first: Ints, second: Ints) -> Floats:
        scores = np.empty(len(first))
        for start in range(0, len(first), _LOOKED_UP):
            part = slice(start, start + _LOOKED_UP)
            scores[part] = adjacency[first[part]].multiply(adjacency[second[part]]) @ weights
        return -scores

    def preferential_attachment(first: Ints, second: Ints) -> Floats:
        return -np.asarray(degrees[first] * degrees[second], float)

    return {"Adamic–Adar": adamic_adar, "preferential attachment": preferential_attachment}
