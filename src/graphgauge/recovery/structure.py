"""What two graphs mean as causal models: their colliders, their equivalence classes, and adjustment distances."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.kernels.dags import compelled_edges
from graphgauge.kernels.graphs import sparse_pair_table
from graphgauge.recovery.counts import Counts

Ints = NDArray[np.int64]

# Parent pairs looked at together, and those beyond which looking at all of them is refused.
_BLOCK = 1 << 20
_MOST_PARENT_PAIRS = 1 << 28
# The process in which gadjid has started its threads.
_gadjid_process: int | None = None


@dataclass(frozen=True)
class Model:
    """A graph as distinct cells source·d + target in order; `undirected`: its two-way pairs are such edges."""

    cells: Ints
    d: int
    undirected: bool
    name: str

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
    def cpdag(self) -> Ints:
        """The cells of the graph of the model's equivalence class, undirected edges in both cells.

        A DAG gets its class. A graph with undirected edges is taken to be one already.
        """
        if self.undirected and self.has_two_way:
            return self.cells
        source, target = np.divmod(self.cells[~self.compelled], self.d)
        return np.sort(np.append(self.cells, target * self.d + source))

    @cached_property
    def compelled(self) -> NDArray[np.bool_]:
        """Which edges every equivalent DAG has; an error where the graph is not a DAG."""
        if self.has_two_way:
            raise InputError("is not a DAG: some edges run both ways", where=self.name, fix=_TWO_WAY)
        compelled = compelled_edges(self.cells, self.d)
        if compelled is None:
            raise InputError("is not a DAG: it has a cycle", where=self.name, fix="Break the cycle, or leave this out.")
        return compelled


def v_structures(model: Model) -> Ints:
    """Every a → c ← b with a < b not adjacent, as distinct numbers (c·d + a)·d + b in no order."""
    d = model.d
    if d > 2_000_000:
        raise InputError(f"{d:,} nodes are too many to number their triples", where=model.name)
    source, target = np.divmod(model.one_way, d)
    order = np.lexsort((source, target))
    parent, child = source[order], target[order]
    later = np.searchsorted(child, child, side="right") - np.arange(len(child)) - 1
    total = int(later.sum())
    if total > _MOST_PARENT_PAIRS:
        raise InputError(f"{total:,} pairs of parents are too many to look at", where=model.name)
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
        lookup = np.argsort(pair)  # in order, which the cache likes
        pair, common = pair[lookup], child[first[lookup]]
        found.append((common * (d * d) + pair)[~_among(adjacent, pair)])
        start = stop
    return np.concatenate(found) if found else np.empty(0, np.int64)


def cpdag_counts(truth: Model, prediction: Model) -> Counts:
    pairs = sparse_pair_table(truth.cpdag, prediction.cpdag, truth.d)
    return Counts.of(pairs, np.zeros((1, 4), np.int64))


def adjustment_distance(kind: str, truth: Model, prediction: Model) -> int:
    """How many ordered pairs of nodes get a wrong answer from adjusting as the prediction says (`gadjid`).

    gadjid aborts on graphs that it does not take, and waits for ever where its threads are gone: both are refused.
    """
    global _gadjid_process
    for model in (truth, prediction):
        if not (model.undirected and model.has_two_way):
            _ = model.compelled  # refuses what is not a DAG
        elif kind == "sid":
            raise InputError("has undirected edges; sid compares DAGs", where=model.name, fix="See parent_aid.")
    gadjid = need("gadjid", kind)
    if truth.d < 2:
        return 0
    if _gadjid_process not in (None, os.getpid()):
        raise InputError(f"{kind} does not work in a process forked from one that used it", fix="Start it by spawning.")
    _gadjid_process = os.getpid()
    distance = getattr(gadjid, kind)
    return int(distance(_gadjid_matrix(truth), _gadjid_matrix(prediction), edge_direction="from row to column")[1])


def _gadjid_matrix(model: Model) -> Any:
    from scipy.sparse import csr_matrix

    directed = model.one_way
    mutual = np.setdiff1d(model.cells, directed, assume_unique=True)
    source, target = np.divmod(mutual, model.d)
    cells = np.concatenate([directed, mutual[source < target]])
    marks = np.repeat(np.array([1, 2], np.int8), [len(directed), len(cells) - len(directed)])
    return csr_matrix((marks, np.divmod(cells, model.d)), shape=(model.d, model.d), dtype=np.int8)


def _among(ordered: Ints, wanted: Ints) -> NDArray[np.bool_]:
    place = np.searchsorted(ordered, wanted)
    place[place == len(ordered)] = 0
    return ordered[place] == wanted if len(ordered) else np.zeros(len(wanted), np.bool_)


_TWO_WAY = "If they mean edges without direction, name the encoding=."
