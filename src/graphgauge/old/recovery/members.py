"""The DAGs that a graph with undirected edges represents: how metrics vary over them.

The undirected edges of an equivalence class fall into components that can be directed independently of each other, so
extremes and means are sums over components, and no list of whole DAGs is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Ints
from graphgauge.old.recovery.structure import Model

BOUNDS = ("min", "mean", "max")
# Directions of one component, or of components that have to be combined, that are enumerated.
MOST_MEMBERS = 1000

Directions = NDArray[np.bool_]
Cells = NDArray[np.bool_]


@dataclass(frozen=True)
class Range:
    """The least, mean and greatest value over members; bounds instead of extremes unless `exact`."""

    min: float
    mean: float
    max: float
    exact: bool = True


@dataclass(frozen=True)
class Matches(Range):
    """The number of pairs directed as in the truth, with the numbers of edges and of pairs adjacent in either graph."""

    true: int = 0
    predicted: int = 0
    pairs: int = 0


@dataclass(frozen=True)
class Component:
    """Edges of a class that can be directed in several ways: pairs i·d + j, i < j, in order.

    `members` has a row per way, true where the edge leads from i to j; None if there are too many.
    """

    pairs: Ints
    members: Directions | None


@dataclass(frozen=True)
class Class:
    """A graph without a flaw as its directed edges and the components of the others."""

    model: Model

    @cached_property
    def components(self) -> list[Component]:
        d, open_pairs = self.model.d, self._open_pairs
        if not open_pairs.size:
            return []
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        ends = np.divmod(open_pairs, d)
        number, label = connected_components(coo_matrix((np.ones(len(open_pairs)), ends), shape=(d, d)), directed=False)
        by_component = label[ends[0]]
        return [
            self._component(open_pairs[by_component == part]) for part in range(number) if (by_component == part).any()
        ]

    @cached_property
    def _open_pairs(self) -> Ints:
        """Pairs without direction in the class of the members; arrows of background knowledge restrict some of them."""
        if not self.model.has_undirected:
            return np.empty(0, np.int64)
        mutual = Model(self.model.class_cells, self.model.d, True, self.model.name).mutual
        source, target = np.divmod(mutual, self.model.d)
        return mutual[source < target]

    def _component(self, pairs: Ints) -> Component:
        d = self.model.d
        low, high = np.divmod(pairs, d)
        nodes = np.unique(np.append(low, high))
        low, high = np.searchsorted(nodes, low), np.searchsorted(nodes, high)
        lines = np.zeros((len(nodes), len(nodes)), bool)
        lines[low, high] = lines[high, low] = True
        known = self.directions.get
        fixed = [known(int(pair)) for pair in pairs]
        kept: list[Directions] = []
        for seen, dag in enumerate(acyclic_directions(lines)):
            if seen == MOST_MEMBERS:
                return Component(pairs, None)
            forward = dag[low, high]
            if all(way is None or way == found for way, found in zip(fixed, forward, strict=True)):
                kept.append(forward)
        return Component(pairs, np.array(kept))

    @cached_property
    def directions(self) -> dict[int, bool]:
        """The directed pairs of the graph or its class, and whether each leads from i to j."""
        cells = self.model.one_way
        if self.model.has_undirected:
            cells = np.union1d(cells, Model(self.model.class_cells, self.model.d, True, self.model.name).one_way)
        source, target = np.divmod(cells, self.model.d)
        pairs = np.minimum(source, target) * self.model.d + np.maximum(source, target)
        return dict(zip(pairs.tolist(), (source < target).tolist(), strict=True))


def acyclic_directions(lines: Cells) -> Iterator[Cells]:
    """Every way to direct a connected chordal graph without a cycle or a v-structure, each once.

    Such a DAG has one source. Directing all edges away from it, and what follows, leaves smaller chordal graphs (He,
    Jia and Yu 2015).
    """
    for source in range(len(lines)):
        directed, left = _directed_from(lines, source)
        parts = [part for part in _connected(left) if len(part) > 1]
        for choice in _combined([left[np.ix_(part, part)] for part in parts]):
            dag = directed.copy()
            for part, inner in zip(parts, choice, strict=True):
                dag[np.ix_(part, part)] |= inner
            yield dag


def _combined(graphs: list[Cells]) -> Iterator[list[Cells]]:
    """Every choice of directions for several graphs; one after the other, because there may be too many to list."""
    if not graphs:
        yield []
        return
    for first in acyclic_directions(graphs[0]):
        for others in _combined(graphs[1:]):
            yield [first, *others]


def _directed_from(lines: Cells, source: int) -> tuple[Cells, Cells]:
    """The arrows that follow if `source` is the only source, and the edges that stay undirected."""
    directed, left = np.zeros_like(lines), lines.copy()
    directed[source] = lines[source]
    left[source] = left[:, source] = False
    apart = ~lines & ~np.eye(len(lines), dtype=bool)
    while True:
        arrows = directed.astype(np.int64)
        # a → b – c with a and c apart; a → b → c with a – c.
        follows = left & (((arrows.T @ apart) > 0) | ((arrows @ arrows) > 0))
        if not follows.any():
            return directed, left
        directed |= follows
        left &= ~(follows | follows.T)


def _connected(lines: Cells) -> list[Ints]:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(csr_matrix(lines.astype(np.int8)), directed=False)
    return [np.flatnonzero(label == part) for part in range(number)]


def matches_over_members(truth: Model, prediction: Model) -> Matches:
    """The pairs that both graphs direct alike, over all members of both classes."""
    sides = Class(truth), Class(prediction)
    adjacent = [side.model.kinds[0] for side in sides]
    common = np.intersect1d(adjacent[0], adjacent[1], assume_unique=True)
    least = mean = most = 0.0
    exact, done = True, set()
    owners = [_owners(side) for side in sides]
    for pair in common.tolist():
        if all(pair not in owner for owner in owners):
            alike = float(sides[0].directions[pair] == sides[1].directions[pair])
            least, mean, most = least + alike, mean + alike, most + alike
        elif pair not in done:
            group = _group(pair, sides, owners)
            shared = np.intersect1d(np.unique(np.concatenate([part.pairs for side in group for part in side])), common)
            done |= set(shared.tolist())
            found = _alike(shared, sides, group)
            least, mean, most = least + found.min, mean + found.mean, most + found.max
            exact &= found.exact
    union = len(adjacent[0]) + len(adjacent[1]) - len(common)
    return Matches(least, mean, most, exact, len(adjacent[0]), len(adjacent[1]), union)


def _owners(side: Class) -> dict[int, Component]:
    return {pair: part for part in side.components for pair in part.pairs.tolist()}


Group = tuple[list[Component], list[Component]]


def _group(pair: int, sides: tuple[Class, Class], owners: list[dict[int, Component]]) -> Group:
    """The components of both graphs that have to be combined, because they share pairs, starting from one pair."""
    found: Group = [], []
    waiting = [pair]
    seen = {pair}
    while waiting:
        here = waiting.pop()
        for held, owner in zip(found, owners, strict=True):
            part = owner.get(here)
            if part is not None and not any(part is other for other in held):
                held.append(part)
                new = [other for other in part.pairs.tolist() if other not in seen]
                seen.update(new)
                waiting += new
    return found


def _alike(pairs: Ints, sides: tuple[Class, Class], group: Group) -> Range:
    """How many of these pairs have the same direction in both graphs, over the members of a group of components."""
    ways = [_ways(pairs, side, parts) for side, parts in zip(sides, group, strict=True)]
    forward = [_share_forward(pairs, side, parts) for side, parts in zip(sides, group, strict=True)]
    mean = np.nan
    if forward[0] is not None and forward[1] is not None:
        mean = float(np.sum(forward[0] * forward[1] + (1 - forward[0]) * (1 - forward[1])))
    if ways[0] is None or ways[1] is None:
        return Range(0.0, mean, float(len(pairs)), False)
    signs = [2 * found.astype(np.int64) - 1 for found in ways if found is not None]
    alike = (len(pairs) + signs[0] @ signs[1].T) / 2
    return Range(float(alike.min()), float(alike.mean()), float(alike.max()))


def _ways(pairs: Ints, side: Class, parts: list[Component]) -> Directions | None:
    """The directions of pairs in every member of some components, (members, pairs)."""
    if any(part.members is None for part in parts):
        return None
    sizes = [len(part.members) for part in parts if part.members is not None]
    if np.prod(sizes, dtype=float) > MOST_MEMBERS:
        return None
    found = np.zeros((int(np.prod(sizes)), len(pairs)), bool)
    found[:] = [side.directions.get(pair, False) for pair in pairs.tolist()]
    for rows, choice in enumerate(product(*(range(size) for size in sizes))):
        for part, member in zip(parts, choice, strict=True):
            assert part.members is not None
            held = np.isin(pairs, part.pairs)
            found[rows, held] = part.members[member][np.searchsorted(part.pairs, pairs[held])]
    return found


def _share_forward(pairs: Ints, side: Class, parts: list[Component]) -> NDArray[np.float64] | None:
    """The share of members in which each pair leads from i to j."""
    share = np.array([side.directions.get(pair, False) for pair in pairs.tolist()], float)
    for part in parts:
        if part.members is None:
            return None
        held = np.isin(pairs, part.pairs)
        share[held] = part.members.mean(0)[np.searchsorted(part.pairs, pairs[held])]
    return share


def sid_over_members(truth: Model, prediction: Model) -> Range:
    """The structural intervention distance of a true DAG from the members of a class.

    The errors of a node depend on its parents alone (Peters and Bühlmann 2015), so they add up over components.
    """
    side, wrong = Class(prediction), _ParentErrors(truth)
    d = truth.d
    parents: list[set[int]] = [set() for _ in range(d)]
    inside = {pair for part in side.components for pair in part.pairs.tolist()}
    for pair, forward in side.directions.items():
        if pair not in inside:
            first, second = divmod(pair, d)
            parents[second if forward else first].add(first if forward else second)
    open_nodes: set[int] = set()
    least = mean = most = 0.0
    exact = True
    for part in side.components:
        low, high = np.divmod(part.pairs, d)
        nodes = sorted(set(low.tolist()) | set(high.tolist()))
        open_nodes.update(nodes)
        if part.members is None:
            exact, mean, most = False, np.nan, most + len(nodes) * (d - 1)
            continue
        sums = []
        for member in part.members:
            own = {node: set(parents[node]) for node in nodes}
            for i, j, forward in zip(low.tolist(), high.tolist(), member.tolist(), strict=True):
                own[j if forward else i].add(i if forward else j)
            sums.append(sum(wrong.of(node, frozenset(own[node])) for node in nodes))
        least, mean, most = least + min(sums), mean + sum(sums) / len(sums), most + max(sums)
    fixed = sum(wrong.of(node, frozenset(parents[node])) for node in range(d) if node not in open_nodes)
    return Range(least + fixed, mean + fixed, most + fixed, exact)


class _ParentErrors:
    """The effects of a node on others that adjustment for given parents gets wrong in a true DAG."""

    def __init__(self, truth: Model) -> None:
        self.d = truth.d
        self._children: list[list[int]] = [[] for _ in range(self.d)]
        self._parents: list[list[int]] = [[] for _ in range(self.d)]
        for source, target in zip(*(part.tolist() for part in np.divmod(truth.cells, self.d)), strict=True):
            self._children[source].append(target)
            self._parents[target].append(source)
        self._known: dict[tuple[int, frozenset[int]], int] = {}

    def of(self, node: int, parents: frozenset[int]) -> int:
        if (node, parents) not in self._known:
            self._known[node, parents] = self._count(node, parents)
        return self._known[node, parents]

    def _count(self, node: int, parents: frozenset[int]) -> int:
        effects = self._reached(node)
        ancestors = set(parents).union(*(self._ancestors(parent) for parent in parents)) if parents else set()
        # Nodes on causal paths with a parent among their descendants: the effect beyond them is cut or biased.
        spoiled = {other for other in effects if other in ancestors}
        biased = {end for middle in spoiled for end in (self._reached(middle) | {middle})}
        open_ends = self._open_ends(node, parents, ancestors)
        wrong = 0
        for other in range(self.d):
            if other == node:
                continue
            if other in parents:
                wrong += other in effects
            else:
                wrong += other in open_ends or (other in effects and other in biased)
        return wrong

    def _reached(self, node: int) -> set[int]:
        return _closure(node, self._children)

    def _ancestors(self, node: int) -> set[int]:
        return _closure(node, self._parents)

    def _open_ends(self, node: int, given: frozenset[int], ancestors: set[int]) -> set[int]:
        """Where paths end that are open given the parents and are not causal paths from the node."""
        # A step arrives at a node along an arrow or against it; `causal` while all were along.
        waiting = [(child, True, True) for child in self._children[node]]
        waiting += [(parent, False, False) for parent in self._parents[node]]
        seen = set(waiting)
        ends = set()
        while waiting:
            here, along, causal = waiting.pop()
            if not causal:
                ends.add(here)
            steps = []
            if here not in given:
                steps += [(child, True, causal and along) for child in self._children[here]]
                if not along:
                    steps += [(parent, False, False) for parent in self._parents[here]]
            if along and here in ancestors:  # a collider that is given, or has a descendant that is
                steps += [(parent, False, False) for parent in self._parents[here]]
            for step in steps:
                if step[0] != node and step not in seen:
                    seen.add(step)
                    waiting.append(step)
        return ends


def _closure(node: int, steps: list[list[int]]) -> set[int]:
    found: set[int] = set()
    waiting = [node]
    while waiting:
        for other in steps[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found
