"""The DAGs that a graph with undirected edges represents: how metrics vary over them.

The undirected edges of an equivalence class fall into components that are directed independently of each other, so
extremes and means are sums over components, and no list of whole DAGs is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.recovery.graph import Kind
from graphgauge.recovery.structure import Model, adjustment_distance, model_of

BOUNDS = ("min", "mean", "max")
# Directions of one component, or of components that have to be combined, that are enumerated.
MOST_MEMBERS = 1000


class TooManyMembers(Exception):
    """A component has more than `MOST_MEMBERS` ways to direct its edges."""


@dataclass(frozen=True)
class Component:
    """Pairs i·d + j in order that can be directed in several ways: a row per way, true where an edge leads to j."""

    pairs: Ints
    ways: Mask


@dataclass(frozen=True, eq=False)
class Members:
    """A graph without a flaw: the directions that all of its members have, and the components of the others."""

    model: Model

    @cached_property
    def fixed(self) -> Model:
        """The graph of the class; edges that background knowledge directs are directed in it, too."""
        whole = self.model.members_class
        kinds = np.where(self.model.kinds == Kind.LINE, whole.kinds, self.model.kinds)
        return Model(whole.keys, kinds, whole.d)

    @cached_property
    def components(self) -> list[Component]:
        """What can be directed independently, by the undirected edges of the class."""
        open_pairs = self.model.members_class.lines if self.model.lines.size else self.model.lines
        if not open_pairs.size:
            return []
        ends = np.stack(np.divmod(open_pairs, self.model.d))
        label = _labels(ends, self.model.d)[ends[0]]
        return [self._component(open_pairs[label == part]) for part in np.unique(label)]

    def _component(self, pairs: Ints) -> Component:
        nodes, numbers = np.unique(np.divmod(pairs, self.model.d), return_inverse=True)
        low, high = numbers.reshape(2, -1)
        lines = np.zeros((len(nodes), len(nodes)), np.bool_)
        lines[low, high] = lines[high, low] = True
        known = self.model.kinds[np.searchsorted(self.model.keys, pairs)]
        ways = []
        for number, dag in enumerate(_acyclic(lines)):
            if number == MOST_MEMBERS:
                raise TooManyMembers
            forward = dag[low, high]
            if np.all((known == Kind.LINE) | (forward == (known == Kind.FORWARD))):
                ways.append(forward)
        return Component(pairs, np.array(ways))

    def forward(self, pairs: Ints) -> Floats:
        """The share of members in which each pair leads from i to j."""
        kinds = self.fixed.kinds[np.searchsorted(self.fixed.keys, pairs)]
        share: Floats = np.equal(kinds, Kind.FORWARD).astype(np.float64)
        for part in self.components:
            held = np.isin(pairs, part.pairs)
            share[held] = part.ways.mean(0)[np.searchsorted(part.pairs, pairs[held])]
        return share

    def ways_of(self, pairs: Ints) -> Mask:
        """Every combination of directions that these pairs have, a row each."""
        parts = [part for part in self.components if np.isin(part.pairs, pairs).any()]
        if np.prod([len(part.ways) for part in parts], dtype=np.float64) > MOST_MEMBERS:
            raise TooManyMembers
        base = self.forward(pairs) > 0.5
        rows = []
        for choice in product(*(part.ways for part in parts)):
            row = base.copy()
            for part, way in zip(parts, choice, strict=True):
                held = np.isin(pairs, part.pairs)
                row[held] = way[np.searchsorted(part.pairs, pairs[held])]
            rows.append(row)
        return np.array(rows)


def _acyclic(lines: Mask) -> Iterator[Mask]:
    """Every way to direct a connected chordal graph without a cycle or a v-structure, each once.

    Such a DAG has one source. Directing all edges away from it, and what follows, leaves smaller chordal graphs (He,
    Jia and Yu 2015).
    """
    for source in range(len(lines)):
        directed, left = _directed_from(lines, source)
        label = _labels(np.array(np.nonzero(left)), len(lines))
        parts = [np.flatnonzero(label == part) for part in np.unique(label)]
        parts = [part for part in parts if len(part) > 1]
        inside = [list(islice(_acyclic(left[np.ix_(part, part)]), MOST_MEMBERS)) for part in parts]
        for choice in product(*inside):
            dag = directed.copy()
            for part, inner in zip(parts, choice, strict=True):
                dag[np.ix_(part, part)] |= inner
            yield dag


def _directed_from(lines: Mask, source: int) -> tuple[Mask, Mask]:
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


def _labels(ends: AnyArray, d: int) -> Ints:
    """For each node, the smallest node that edges connect it with."""
    label = np.arange(d)
    while True:
        lowest = label.copy()
        np.minimum.at(lowest, ends[0], label[ends[1]])
        np.minimum.at(lowest, ends[1], label[ends[0]])
        lowest = lowest[lowest]
        if np.array_equal(lowest, label):
            return label
        label = lowest


def alike(truth: Model, prediction: Model) -> tuple[float, float, float]:
    """The least, mean and greatest number of pairs that both graphs direct alike, over the members of both classes."""
    sides = Members(truth), Members(prediction)
    common = np.intersect1d(truth.keys, prediction.keys, assume_unique=True)
    share = [side.forward(common) for side in sides]
    mean = float(np.sum(share[0] * share[1] + (1 - share[0]) * (1 - share[1])))
    parts = [*sides[0].components, *sides[1].components]
    is_open = np.isin(common, np.concatenate([common[:0], *(part.pairs for part in parts)]))
    least = most = float(np.sum(share[0][~is_open] == share[1][~is_open]))
    # Components of both graphs that share pairs have to be combined.
    common, label = common[is_open], np.arange(int(is_open.sum()))
    for part in parts:
        held = np.isin(common, part.pairs)
        if held.any():
            label[np.isin(label, label[held])] = label[held].min()
    for group in np.unique(label):
        pairs = common[label == group]
        ways = [2 * side.ways_of(pairs).astype(np.int64) - 1 for side in sides]
        counts = (len(pairs) + ways[0] @ ways[1].T) / 2
        least, most = least + float(counts.min()), most + float(counts.max())
    return least, mean, most


def intervention_distances(truth: Model, prediction: Model) -> tuple[float, float, float]:
    """The least, mean and greatest structural intervention distance of a true DAG from the members of a class.

    The errors of a node depend on its parents alone (Peters and Bühlmann 2015), so components are varied one at a time.
    """
    members, cells = Members(prediction), prediction.extension
    first = adjustment_distance("sid", truth, model_of(cells, truth.d, prediction.name))
    least = mean = most = float(first)
    for part in members.components:
        own = np.isin(model_of(cells, truth.d).keys, part.pairs)
        changes = []
        for way in part.ways:
            dag = model_of(cells, truth.d, prediction.name)
            kinds = dag.kinds.copy()
            kinds[own] = np.where(way, int(Kind.FORWARD), int(Kind.BACKWARD))
            changes.append(adjustment_distance("sid", truth, Model(dag.keys, kinds, truth.d)) - first)
        least, mean, most = least + min(changes), mean + float(np.mean(changes)), most + max(changes)
    return least, mean, most
