"""The DAGs that a graph with undirected edges represents: how metrics vary over them.

The undirected edges of an equivalence class fall into components that are directed independently of each other, so
extremes and means are sums over components, and no list of whole DAGs is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, product

import numpy as np

from graphgauge.core.types import AnyArray, Ints, Mask
from graphgauge.recovery.graph import Kind
from graphgauge.recovery.structure import Model, NotDefined, model_of

BOUNDS = ("min", "mean", "max")
# Directions of one component that are enumerated.
MOST_MEMBERS = 1000


def over_members(model: Model, value: Callable[[Model], float]) -> dict[str, float]:
    """The least, mean and greatest value of the DAGs that a graph without a flaw represents.

    `value` is a sum over nodes of what their parents alone decide, as distances are (Peters and Bühlmann 2015), so
    components are varied one at a time.
    """
    dag = model_of(model.extension, model.d, model.name)
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
    """Every way to direct a connected chordal graph without a cycle or a v-structure, each once.

    Such a DAG has one source. Directing all edges away from it, and what follows, leaves smaller chordal graphs (He,
    Jia and Yu 2015).
    """
    for source in range(len(lines)):
        directed, left = _directed_from(lines, source)
        label = _connected(np.argwhere(left).T, len(lines))
        parts = [np.flatnonzero(label == part) for part in np.flatnonzero(np.bincount(label) > 1)]
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


def _connected(ends: AnyArray, d: int) -> AnyArray:
    """For each node, the number of the component that edges connect it with."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    edges = coo_matrix((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(d, d))
    labels: AnyArray = connected_components(edges, directed=False)[1]
    return labels
