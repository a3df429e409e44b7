"""Graphs as causal models: colliders, equivalence classes and adjustment distances."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.arrays import Ints
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.kernels.dags import compelled_edges, cycle_of, sinks_first
from graphgauge.old.core.graphs import Names
from graphgauge.old.recovery.counts import Counts
from graphgauge.old.recovery.marks import CIRCLE, Edge, has_mark, kind_table, listed_kinds

# Nodes of graphs that are handed over as whole matrices.
_SMALL = 2000
# Parent pairs processed together, and the number above which they are refused.
_BLOCK = 1 << 20
_MOST_PARENT_PAIRS = 1 << 28
# The process in which gadjid has started its threads.
_gadjid_process: int | None = None
# Nodes that a reason names; the others are counted.
_NAMED = 8


_NOTHING = np.empty(0, np.int64), np.empty(0, np.int64)


@dataclass(frozen=True)
class Model:
    """A graph as distinct cells source·d + target in order; `undirected`: its two-way pairs are undirected edges.

    `special` are the pairs i·d + j, i < j, with other edges without direction, and their kinds.
    """

    cells: Ints
    d: int
    undirected: bool
    name: str
    names: Names | None = None
    special: tuple[Ints, Ints] = _NOTHING

    @cached_property
    def mirrored(self) -> Ints:
        source, target = np.divmod(self.cells, self.d)
        return np.sort(target * self.d + source)

    @cached_property
    def one_way(self) -> Ints:
        cells: Ints = self.cells[~_among(self.mirrored, self.cells)]
        return cells

    @property
    def has_two_way(self) -> bool:
        return len(self.one_way) < len(self.cells)

    @cached_property
    def mutual(self) -> Ints:
        """Both cells of the two-way pairs."""
        cells: Ints = np.setdiff1d(self.cells, self.one_way, assume_unique=True)
        return cells

    @property
    def has_undirected(self) -> bool:
        return self.undirected and self.has_two_way

    @property
    def class_name(self) -> str:
        """The narrowest class that the graph may belong to."""
        if self.special[0].size:
            return "pag" if has_mark(CIRCLE)[self.special[1]].any() else "mag"
        if not self.has_undirected:
            return "dag" if self.flaw is None else "directed"
        return "cpdag" if self.flaw is None and self.is_class else "mixed"

    @cached_property
    def flaw(self) -> str | None:
        """Why the graph represents no class of equivalent DAGs, with the nodes responsible."""
        if self.special[0].size:
            pair, kind = int(self.special[0][0]), Edge(int(self.special[1][0]))
            ends = " and ".join(self.label(node) for node in divmod(pair, self.d))
            what = "an edge with two arrowheads" if kind == Edge.TWO_HEADS else "a circle mark"
            return f"{self.name} has {what} between {ends}, and this compares classes of DAGs"
        cycle = cycle_of(self.one_way, self.d)
        if cycle:
            return f"{self.name} has the directed cycle {' → '.join(map(self.label, [*cycle, cycle[0]]))}"
        if self.has_two_way and not self.undirected:
            source, target = divmod(int(self.mutual[0]), self.d)
            ends = f"{self.label(source)} and {self.label(target)}"
            return f"{self.name} is not a DAG: {ends} have edges both ways, and no encoding= marks them undirected"
        if self.has_two_way and len(self._sinks) < self.d:
            left = np.setdiff1d(np.arange(self.d), self._sinks)
            labels = ", ".join(self.label(int(node)) for node in left[:_NAMED])
            more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            return (
                f"{self.name} has no DAG extension: its undirected edges among {labels}{more} cannot be directed "
                "without a cycle or a new v-structure"
            )
        return None

    def label(self, node: int) -> str:
        return str(node if self.names is None else self.names[node])

    @cached_property
    def _sinks(self) -> Ints:
        return sinks_first(self.one_way, self.mutual, self.d)

    @cached_property
    def cpdag(self) -> Ints:
        """The cells of the graph of the model's equivalence class, undirected edges in both cells.

        A DAG gets its class. A graph with undirected edges is taken to be one already.
        """
        if self.has_undirected:
            return self.cells
        compelled = compelled_edges(self.cells, self.d)
        assert compelled is not None, "a graph without a class has a flaw"
        source, target = np.divmod(self.cells[~compelled], self.d)
        return np.sort(np.append(self.cells, target * self.d + source))

    @cached_property
    def kinds(self) -> tuple[Ints, Ints]:
        """The adjacent pairs i·d + j, i < j, of a graph without a flaw, and the kinds of their edges."""
        return listed_kinds(self.cells, self.mutual if self.undirected else self.cells[:0], self.d)

    @cached_property
    def class_kinds(self) -> tuple[Ints, Ints]:
        """The same of the graph of the equivalence class."""
        return self.kinds if self.has_undirected else Model(self.cpdag, self.d, True, self.name).kinds

    @property
    def is_class(self) -> bool:
        """Whether a graph without a flaw is the graph of its class, or a DAG, which its class replaces."""
        return not self.has_undirected or np.array_equal(self.class_cells, self.cells)

    @cached_property
    def class_cells(self) -> Ints:
        """The cells of the graph of the class of the members of a graph without a flaw."""
        return Model(self.extension, self.d, False, self.name).cpdag

    @cached_property
    def extension(self) -> Ints:
        """The cells of one DAG that a graph without a flaw represents."""
        if not self.has_undirected:
            return self.cells
        place = np.empty(self.d, np.int64)
        place[self._sinks] = np.arange(self.d)
        source, target = np.divmod(self.mutual, self.d)
        return np.sort(np.append(self.one_way, self.mutual[place[source] > place[target]]))


def v_structures(model: Model) -> Ints:
    """Every a → c ← b with a < b not adjacent, as distinct unsorted numbers (c·d + a)·d + b."""
    d = model.d
    if d > 2_000_000:
        raise InputError(f"{d:,} nodes are too many to number their triples", where=model.name)
    source, target = np.divmod(model.one_way, d)
    order = np.lexsort((source, target))
    parent, child = source[order], target[order]
    later = np.searchsorted(child, child, side="right") - np.arange(len(child)) - 1
    total = int(later.sum())
    if total > _MOST_PARENT_PAIRS:
        raise InputError(f"{total:,} pairs of parents are too many", where=model.name)
    adjacent = np.union1d(model.cells, model.mirrored)
    found = []
    reach = np.cumsum(later)
    start = 0
    while start < len(child):
        stop = max(start + 1, int(np.searchsorted(reach, (reach[start - 1] if start else 0) + _BLOCK, side="right")))
        first = np.repeat(np.arange(start, stop), later[start:stop])
        second = np.arange(len(first)) - np.repeat(reach[start:stop] - later[start:stop], later[start:stop])
        second += first + 1 + (reach[start - 1] if start else 0)
        pair = parent[first] * d + parent[second]
        lookup = np.argsort(pair)  # in order, for the cache
        pair, common = pair[lookup], child[first[lookup]]
        found.append((common * (d * d) + pair)[~_among(adjacent, pair)])
        start = stop
    return np.concatenate(found) if found else np.empty(0, np.int64)


def class_counts(truth: Model, prediction: Model) -> Counts:
    """The counts of the graphs of both equivalence classes."""
    pairs = kind_table(truth.class_kinds, prediction.class_kinds, truth.d)
    return Counts.of(pairs, np.zeros((1, 4), np.int64))


def adjustment_distance(kind: str, truth: Model, prediction: Model) -> int:
    """The number of ordered node pairs for which the prediction gives a wrong adjustment set (`gadjid`).

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
    directed, mutual = model.one_way, model.mutual
    source, target = np.divmod(mutual, model.d)
    cells = np.concatenate([directed, mutual[source < target]])
    marks = np.repeat(np.array([1, 2], np.int8), [len(directed), len(cells) - len(directed)])
    if model.d <= _SMALL:
        matrix = np.zeros((model.d, model.d), np.int8)
        matrix.flat[cells] = marks
        return matrix
    from scipy.sparse import csr_matrix

    return csr_matrix((marks, np.divmod(cells, model.d)), shape=(model.d, model.d), dtype=np.int8)


def _among(ordered: Ints, wanted: Ints) -> NDArray[np.bool_]:
    place = np.searchsorted(ordered, wanted)
    place[place == len(ordered)] = 0
    return ordered[place] == wanted if len(ordered) else np.zeros(len(wanted), np.bool_)
