"""Graphs to start from: a file with the arrays of Cora, torch_geometric's Planetoid, or a block model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphgauge.core.arrays import as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.extras import need
from graphgauge.core.factory import own_code
from graphgauge.evolution.inputs import as_edges, whole_numbers
from graphgauge.io.npz import read_npz

# Cora's numbers, also used by the block model.
CLASS_SIZES = (351, 217, 418, 818, 426, 298, 180)
EDGES = 5278
HOMOPHILY = 0.81
WORDS = 1433
WORDS_PER_NODE = 18
# Share of a node's words from the vocabulary of its class; the others are common.
_TOPICAL = 0.2
# Degrees follow 1 + Pareto, close to Cora: quartiles 2, 3, 5, standard deviation 5.2, largest degree 168.
_TAIL = 1.7
_LARGEST_DEGREE = 168
_ARRAYS = ("edges", "labels", "feature_indptr", "feature_indices", "feature_data", "num_features")


@dataclass(frozen=True)
class GraphData:
    """Distinct undirected edges without loops, one label per node, and sparse features."""

    edges: NDArray[np.int64]
    labels: NDArray[np.int64]
    features: sp.csr_array

    @property
    def num_nodes(self) -> int:
        return len(self.labels)


def read_graph_data(path: str | Path) -> GraphData:
    """Read `.npz` with edges, labels and features as CSR, or a folder of torch_geometric's `Planetoid`."""
    place = Path(path)
    if place.is_dir():
        return _planetoid(place)
    if not place.exists():
        raise InputError("no such file", where=str(place), fix="Leave --data out for the built-in graph.")
    arrays = read_npz(place, _ARRAYS)
    data, *indices = (arrays[f"feature_{part}"] for part in ("data", "indices", "indptr"))
    indices = [whole_numbers(part, f"{place}: features") for part in indices]
    width = whole_numbers(arrays["num_features"], f"{place}: num_features")
    try:
        features = sp.csr_array(
            (as_numeric(data, f"{place}: feature_data"), *indices), shape=(indices[1].size - 1, width.item())
        )
        features.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"its features are not a CSR matrix: {error}", where=str(place)) from None
    return from_arrays(arrays["edges"], arrays["labels"], features, str(place))


def _planetoid(folder: Path) -> GraphData:
    datasets = need("torch_geometric.datasets", "a Planetoid folder")
    if not (folder / "Cora" / "raw").is_dir():
        # Planetoid would download missing files.
        raise InputError("contains no Cora/raw", where=str(folder), fix="Pass the root folder of Planetoid.")
    with own_code(f"{folder}, read by Planetoid"):
        graph = datasets.Planetoid(str(folder), "Cora")[0]
    return from_arrays(graph.edge_index.numpy().T, graph.y.numpy(), graph.x.numpy(), str(folder))


def from_arrays(edges: Any, labels: Any, features: Any, where: str = "graph") -> GraphData:
    """Check the arrays; an edge given in both directions counts once."""
    classes = whole_numbers(labels, f"{where}: labels")
    require_shape(classes, (None,), f"{where}: labels", "Pass one class number per node.")
    pairs = as_edges(edges, f"{where}: edges", len(classes))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    matrix: Any = features if sp.issparse(features) else as_numeric(features, f"{where}: features")
    require_shape(matrix, (len(classes), None), f"{where}: features", "Pass one row per label.")
    return GraphData(pairs, classes, sp.csr_array(matrix))


def block_model(seed: int = 0) -> GraphData:
    """A degree-corrected block model with Cora's class sizes, number of edges, degree tail and homophily.

    Every node has at least one edge. Features are bags of words, some from the class's vocabulary, the others common.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(CLASS_SIZES)), CLASS_SIZES)
    rng.shuffle(labels)
    nodes = len(labels)
    weight = np.minimum(rng.pareto(_TAIL, nodes) + 1, _LARGEST_DEGREE)
    members = [np.flatnonzero(labels == c) for c in range(len(CLASS_SIZES))]
    inside = [weight[group] / weight[group].sum() for group in members]
    outside = [np.where(labels == c, 0, weight) / weight[labels != c].sum() for c in range(len(CLASS_SIZES))]
    edges: set[tuple[int, int]] = set()
    starts = [*rng.permutation(nodes), *rng.choice(nodes, 4 * EDGES, p=weight / weight.sum())]
    bare = np.ones(nodes, dtype=bool)
    for position, u in enumerate(starts):
        if len(edges) == EDGES:
            break
        if position < nodes and not bare[u]:
            continue
        c = labels[u]
        v = rng.choice(members[c], p=inside[c]) if rng.random() < HOMOPHILY else rng.choice(nodes, p=outside[c])
        if u != v:
            edges.add((min(int(u), int(v)), max(int(u), int(v))))
            bare[[u, v]] = False
    return GraphData(np.array(sorted(edges), dtype=np.int64), labels, _bags_of_words(labels, rng))


def _bags_of_words(labels: NDArray[np.int64], rng: np.random.Generator) -> sp.csr_array:
    common = 1 / np.arange(1, WORDS + 1)  # Zipf
    topics = np.stack([rng.permutation(common) for _ in CLASS_SIZES])
    chances = _TOPICAL * topics / topics.sum(axis=1, keepdims=True) + (1 - _TOPICAL) * common / common.sum()
    words = np.concatenate([rng.choice(WORDS, WORDS_PER_NODE, replace=False, p=chances[c]) for c in labels])
    rows = np.repeat(np.arange(len(labels)), WORDS_PER_NODE)
    return sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, words)), shape=(len(labels), WORDS))
