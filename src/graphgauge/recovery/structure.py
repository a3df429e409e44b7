"""Graphs as causal models: flaws, colliders, equivalence classes, their members, and adjustment distances."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from graphgauge import _core
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.compare import Pair
from graphgauge.recovery.graph import CIRCLE, ENDS, Kind, Names, is_among, mirrored, paired

# Nodes that a reason names; the others are counted.
_NAMED = 8
# The process in which gadjid has started its threads.
_gadjid_process: int | None = None


class NotDefined(Exception):
    """A pair of graphs has no such number; the message says why."""


@dataclass(frozen=True, eq=False)
class Model:
    """A graph by its adjacent pairs i·d + j, i < j, in order, and the kinds of their edges."""

    keys: Ints
    kinds: Ints
    d: int
    name: str = "graph"
    names: Names | None = None

    # ---- edges as cells source·d + target, in order

    @cached_property
    def arrows(self) -> Ints:
        """One-way edges."""
        backward = mirrored(self.keys[self.kinds == Kind.BACKWARD], self.d)
        return np.sort(np.append(self.keys[self.kinds == Kind.FORWARD], backward))

    @cached_property
    def lines(self) -> Ints:
        """The pairs of undirected edges."""
        pairs: Ints = self.keys[self.kinds == Kind.LINE]
        return pairs

    @cached_property
    def both_ways(self) -> Ints:
        """Undirected edges in both of their cells."""
        return np.sort(np.append(self.lines, mirrored(self.lines, self.d)))

    def label(self, node: int) -> str:
        return str(node if self.names is None else self.names[node])

    # ---- what it represents

    @property
    def class_name(self) -> str:
        """The narrowest class that the graph may belong to."""
        if (self.kinds > Kind.LINE).any():
            return "PAG" if (ENDS[self.kinds] & CIRCLE).any() else "MAG"
        return "CPDAG" if self.lines.size else "DAG"

    @cached_property
    def flaw(self) -> str | None:
        """Why the graph represents no class of DAGs, with the nodes responsible."""
        special = np.flatnonzero(self.kinds > Kind.LINE)
        if special.size:
            what = "an edge with two arrowheads" if self.kinds[special[0]] == Kind.TWO_HEADS else "a circle mark"
            return f"{self.name} has {what} between {self._ends(special[0])}, and this compares classes of DAGs"
        cycle = _cycle(self.arrows, self.d)
        if cycle:
            return f"{self.name} has the directed cycle {' → '.join(map(self.label, [*cycle, cycle[0]]))}"
        two_way = np.flatnonzero(self.kinds == Kind.TWO_WAY)
        if two_way.size:
            ends = self._ends(two_way[0])
            return f"{self.name} is not a DAG: {ends} have edges both ways, and no encoding= marks them undirected"
        if self.lines.size and len(self._sinks) < self.d:
            left = np.setdiff1d(np.arange(self.d), self._sinks)
            labels = ", ".join(self.label(int(node)) for node in left[:_NAMED])
            more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            return (
                f"{self.name} has no DAG extension: its undirected edges among {labels}{more} cannot be directed "
                "without a cycle or a new v-structure"
            )
        return None

    def _ends(self, place: int) -> str:
        return " and ".join(self.label(int(node)) for node in divmod(int(self.keys[place]), self.d))

    @cached_property
    def _sinks(self) -> Ints:
        """An order in which nodes can be removed as sinks (Dor and Tarsi 1992); all, if there is a DAG extension."""
        order: Ints = _core.sinks_first(self.arrows, self.both_ways, self.d)
        return order

    @cached_property
    def extension(self) -> Ints:
        """The cells of one DAG that a graph without a flaw represents: undirected edges lead to their earlier sink."""
        if not self.lines.size:
            return self.arrows
        place = np.empty(self.d, np.int64)
        place[self._sinks] = np.arange(self.d)
        source, target = np.divmod(self.both_ways, self.d)
        return np.sort(np.append(self.arrows, self.both_ways[place[source] > place[target]]))

    @cached_property
    def members_class(self) -> Model:
        """The graph of the equivalence class (CPDAG) of the DAGs that a graph without a flaw represents."""
        return cpdag_of(self.extension, self.d)

    @cached_property
    def compared(self) -> Model:
        """The graph that stands for the class: that of a DAG; a graph with undirected edges is taken to be one."""
        return self if self.lines.size else self.members_class

    def distance(self, other: Model) -> int:
        """Structural Hamming distance in pairs."""
        common, own, others = np.intersect1d(self.keys, other.keys, assume_unique=True, return_indices=True)
        same = int((self.kinds[own] == other.kinds[others]).sum())
        return len(self.keys) + len(other.keys) - len(common) - same

    def colliders(self) -> Ints:
        """Every a → c ← b with a < b not adjacent, as distinct unsorted numbers (c·d + a)·d + b."""
        d = self.d
        source, target = np.divmod(self.arrows, max(d, 1))
        order = np.lexsort((source, target))
        parent, child = source[order], target[order]
        later = np.searchsorted(child, child, side="right") - np.arange(len(child)) - 1
        first = np.repeat(np.arange(len(child)), later)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
        pairs = parent[first] * d + parent[second]
        triples: Ints = (child[first] * (d * d) + pairs)[~is_among(self.keys, pairs)]
        return triples


def models_of(pair: Pair) -> tuple[Model, Model]:
    """Truth and prediction of a pair without lags as causal models."""
    keys, kinds = pair.edges()
    truth, prediction = (
        Model(keys[own != Kind.NONE], own[own != Kind.NONE], pair.d, name, pair.names)
        for own, name in zip(kinds, ("A_true", "A_pred"), strict=True)
    )
    return truth, prediction


def model_of(cells: Ints, d: int) -> Model:
    """The model of one-way arrows as cells in order."""
    return Model(*paired(cells, d), d)


def cpdag_of(cells: Ints, d: int) -> Model:
    """The graph of a DAG's equivalence class (Chickering 1995)."""
    dag, fixed = model_of(cells, d), model_of(cells[_core.compelled_edges(cells, d)], d)
    return Model(dag.keys, np.where(is_among(fixed.keys, dag.keys), dag.kinds, int(Kind.LINE)), d)


def _cycle(cells: Ints, d: int) -> list[int]:
    """The nodes of one directed cycle, each before its successor, the smallest first; empty for a DAG."""
    ordered = _core.topological_order(cells, d)
    if ordered.size == d:
        return []
    waiting = np.ones(d, np.bool_)
    waiting[ordered] = False
    # Every waiting node has a waiting parent, so a backward walk from any of them returns to itself.
    source, target = np.divmod(cells, d)
    held = waiting[source] & waiting[target]
    parent = dict(zip(target[held].tolist(), source[held].tolist(), strict=True))
    walk = [min(parent)]
    while (node := parent[walk[-1]]) not in walk:
        walk.append(node)
    cycle = walk[walk.index(node) :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def adjustment_distance(kind: str, truth: Model, prediction: Model) -> int:
    """The ordered pairs for which the prediction gives a wrong adjustment set, by gadjid (Henckel et al. 2024).

    gadjid aborts on graphs with a flaw, and hangs in a forked process: both are refused.
    """
    global _gadjid_process
    gadjid = need("gadjid", kind)
    if truth.d < 2:
        return 0
    if _gadjid_process not in (None, os.getpid()):
        raise InputError(f"{kind} does not work in a process forked from one that used it", fix="Use spawn instead.")
    _gadjid_process = os.getpid()
    distance = getattr(gadjid, kind)
    return int(distance(_gadjid_matrix(truth), _gadjid_matrix(prediction), edge_direction="from row to column")[1])


def _gadjid_matrix(model: Model) -> Any:
    """1 for an arrow from row to column, 2 for an undirected edge in one of its cells."""
    from scipy.sparse import csr_matrix

    cells = np.append(model.arrows, model.lines)
    marks = np.repeat(np.array([1, 2], np.int8), [len(model.arrows), len(model.lines)])
    return csr_matrix((marks, np.divmod(cells, model.d)), shape=(model.d, model.d), dtype=np.int8)


# ---- members of a class

BOUNDS = ("min", "mean", "max")
# Directions of one component that are enumerated.
MOST_MEMBERS = 1000


def over_members(model: Model, value: Callable[[Model], float]) -> dict[str, float]:
    """The least, mean and greatest value of the DAGs that a graph without a flaw represents.

    `value` is a sum over nodes of what their parents alone decide, as distances are (Peters and Bühlmann 2015), so
    components are varied one at a time.
    """
    dag = model_of(model.extension, model.d)
    first = value(dag)
    least = mean = most = float(first)
    for pairs, ways in _components(model):
        own = np.isin(dag.keys, pairs)
        changes = []
        for way in ways:
            kinds = dag.kinds.copy()
            kinds[own] = np.where(way, int(Kind.FORWARD), int(Kind.BACKWARD))
            changes.append(value(replace(dag, kinds=kinds)) - first)
        least, mean, most = least + min(changes), mean + float(np.mean(changes)), most + max(changes)
    return dict(zip(BOUNDS, (least, mean, most), strict=True))


def _components(model: Model) -> Iterator[tuple[Ints, Mask]]:
    """What can be directed independently: pairs i·d + j in order, and a row per way, true where an edge leads to j.

    Edges of the class that the graph itself directs, by background knowledge, keep their direction.
    """
    lines = model.members_class.lines if model.lines.size else model.lines
    ends = np.stack(np.divmod(lines, max(model.d, 1)))
    label = _connected(ends, model.d)[ends[0]]
    for part in np.unique(label):
        pairs = lines[label == part]
        nodes, numbers = np.unique(np.divmod(pairs, model.d), return_inverse=True)
        low, high = numbers.reshape(2, -1)
        within = np.zeros((len(nodes), len(nodes)), np.bool_)
        within[low, high] = within[high, low] = True
        every = np.array([dag[low, high] for dag in islice(_acyclic(within), MOST_MEMBERS + 1)])
        if len(every) > MOST_MEMBERS:
            raise NotDefined(f"a class has more than {MOST_MEMBERS:,} members to enumerate")
        known = model.kinds[np.searchsorted(model.keys, pairs)]
        yield pairs, every[((known == Kind.LINE) | (every == (known == Kind.FORWARD))).all(1)]


def _acyclic(lines: Mask) -> Iterator[Mask]:
    """Every way to direct a chordal graph without a cycle or a v-structure, each once.

    Such a DAG has one source in each component. Directing all edges away from it, and what follows, leaves smaller
    chordal graphs (He, Jia and Yu 2015).
    """
    if not lines.any():
        yield lines
        return
    label = _connected(np.argwhere(lines).T, len(lines))
    for source in np.flatnonzero(label == label[lines.any(1)][0]):
        directed, left = _directed_from(lines, source)
        yield from (directed | rest for rest in _acyclic(left))


def _directed_from(lines: Mask, source: np.integer[Any]) -> tuple[Mask, Mask]:
    """The arrows that follow if `source` is the only source, and the edges that stay undirected."""
    directed, left = np.zeros_like(lines), lines.copy()
    directed[source] = lines[source]
    left[source] = left[:, source] = False
    apart = ~lines & ~np.eye(len(lines), dtype=np.bool_)
    while True:
        arrows = directed.astype(np.int64)
        # a → b – c with a and c apart; a → b → c with a – c.
        follows = left & (((arrows.T @ apart) > 0) | ((arrows @ arrows) > 0))
        if not follows.any():
            return directed, left
        directed |= follows
        left &= ~(follows | follows.T)


def _connected(ends: AnyArray, d: int) -> AnyArray:
    """For each node, the number of the component that edges connect it with."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    edges = coo_matrix((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(d, d))
    labels: AnyArray = connected_components(edges, directed=False)[1]
    return labels
