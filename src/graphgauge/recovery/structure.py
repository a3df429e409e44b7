"""What two graphs mean as causal models: their colliders, their equivalence classes, and adjustment distances."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.kernels.graphs import compelled_edges, sparse_pair_table
from graphgauge.recovery.counts import Counts

Ints = NDArray[np.int64]

# Parent pairs looked at together, and those beyond which looking at all of them is refused.
_BLOCK = 1 << 20
_MOST_PARENT_PAIRS = 1 << 28
_MOST_NODES = 1000


class Model(NamedTuple):
    """A graph as distinct cells source·d + target in order; `undirected`: its two-way pairs are such edges."""

    cells: Ints
    d: int
    undirected: bool
    name: str

    def mirrored(self) -> Ints:
        source, target = np.divmod(self.cells, self.d)
        return np.sort(target * self.d + source)

    def one_way(self) -> Ints:
        return np.setdiff1d(self.cells, self.mirrored(), assume_unique=True)

    def has_two_way(self) -> bool:
        return len(self.one_way()) < len(self.cells)


def v_structures(model: Model) -> Ints:
    """Every a → c ← b with a < b not adjacent, as distinct numbers (c·d + a)·d + b in no order."""
    d = model.d
    if d > 2_000_000:
        raise InputError(f"{d:,} nodes are too many to number their triples", where=model.name)
    source, target = np.divmod(model.one_way(), d)
    order = np.lexsort((source, target))
    parent, child = source[order], target[order]
    later = np.searchsorted(child, child, side="right") - np.arange(len(child)) - 1
    total = int(later.sum())
    if total > _MOST_PARENT_PAIRS:
        raise InputError(f"{total:,} pairs of parents are too many to look at", where=model.name)
    adjacent = np.union1d(model.cells, model.mirrored())
    found = []
    reach = np.cumsum(later)
    start = 0
    while start < len(child):
        stop = max(start + 1, int(np.searchsorted(reach, (reach[start - 1] if start else 0) + _BLOCK, side="right")))
        first = np.repeat(np.arange(start, stop), later[start:stop])
        second = np.arange(len(first)) - np.repeat(reach[start:stop] - later[start:stop], later[start:stop])
        second += first + 1 + (reach[start - 1] if start else 0)
        a, b = parent[first], parent[second]
        married = _among(adjacent, a * d + b)
        found.append(((child[first] * d + a) * d + b)[~married])
        start = stop
    return np.concatenate(found) if found else np.empty(0, np.int64)


def cpdag(model: Model) -> Ints:
    """The cells of the graph of the model's equivalence class, undirected edges in both cells.

    A DAG gets its class. A graph with undirected edges is taken to be one already.
    """
    if model.undirected and model.has_two_way():
        return model.cells
    compelled = _dag(model)
    source, target = np.divmod(model.cells[~compelled], model.d)
    return np.union1d(model.cells, target * model.d + source)


def cpdag_counts(truth: Model, prediction: Model) -> Counts:
    pairs = sparse_pair_table(cpdag(truth), cpdag(prediction), truth.d)
    return Counts.of(pairs, np.zeros((1, 4), np.int64))


def adjustment_distance(kind: str, truth: Model, prediction: Model) -> int:
    """How many ordered pairs of nodes get a wrong answer from adjusting as the prediction says (`gadjid`).

    gadjid aborts on graphs that it does not take, so these are refused first.
    """
    for model in (truth, prediction):
        if model.undirected and model.has_two_way():
            if kind == "sid":
                raise InputError("has undirected edges; sid compares DAGs", where=model.name, fix="See parent_aid.")
        else:
            _dag(model)
    gadjid = need("gadjid", kind)
    _, mistakes = getattr(gadjid, kind)(
        _gadjid_matrix(truth), _gadjid_matrix(prediction), edge_direction="from row to column"
    )
    return int(mistakes)


def _dag(model: Model) -> NDArray[np.bool_]:
    """Which edges are compelled; an error where the graph is not a DAG."""
    if model.has_two_way():
        raise InputError("is not a DAG: some edges run both ways", where=model.name, fix=_TWO_WAY)
    compelled = compelled_edges(model.cells, model.d)
    if compelled is None:
        raise InputError("is not a DAG: it has a cycle", where=model.name, fix="Break the cycle, or leave this out.")
    return compelled


def _gadjid_matrix(model: Model) -> Any:
    from scipy.sparse import csr_matrix

    directed = model.one_way()
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
