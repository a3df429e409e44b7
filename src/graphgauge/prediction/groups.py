"""Labels per node for breakdowns: how many neighbours it has, and how many of them share its class."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphgauge.core.arrays import as_labels, as_numeric, require_shape
from graphgauge.core.errors import InputError
from graphgauge.core.options import whole_number
from graphgauge.core.types import AnyArray, Ints


def by_degree(edges: Any, n: int) -> AnyArray:
    """The degree of each of `n` nodes as a label of powers of two: 0, 1, 2–3, 4–7, …

    `edges` (m, 2) or (2, m), as in PyG, has each undirected edge once or in both directions.

    >>> from graphgauge.prediction import by_degree
    >>> by_degree([[0, 1], [0, 2], [0, 3]], 5).tolist()
    ['2–3', '1', '1', '1', '0']
    """
    source, target = _pairs(edges, n)
    degree = np.bincount(np.concatenate([source, target]), minlength=n)
    level = np.zeros(n, np.int64)
    level[degree > 0] = np.floor(np.log2(degree[degree > 0])).astype(np.int64) + 1
    names = ["0", "1", *(f"{1 << i}–{(2 << i) - 1}" for i in range(1, int(level.max(initial=0))))]
    return np.array(names)[level]


def by_homophily(edges: Any, labels: Any) -> AnyArray:
    """The share of each node's neighbours that have its label, as a label of quarters; `isolated` without neighbours.

    `edges` are as in `by_degree`; `labels` has the class of each node.

    >>> from graphgauge.prediction import by_homophily
    >>> by_homophily([[0, 1], [0, 2]], ["a", "a", "b"]).tolist()
    ['0.25–0.5', '0.75–1', '0–0.25']
    """
    classes = as_labels(labels, "labels")
    source, target = _pairs(edges, len(classes))
    same = (classes[source] == classes[target]).astype(float)
    ends, alike = np.concatenate([source, target]), np.concatenate([same, same])
    degree = np.bincount(ends, minlength=len(classes))
    agreed = np.bincount(ends, alike, len(classes))
    quarter = np.clip(np.ceil(4 * agreed / np.maximum(degree, 1)).astype(np.int64) - 1, 0, 3)
    names = np.array(["0–0.25", "0.25–0.5", "0.5–0.75", "0.75–1", "isolated"])
    return names[np.where(degree > 0, quarter, 4)]


def _pairs(edges: Any, n: int) -> tuple[Ints, Ints]:
    """Both ends of every edge between different nodes, each undirected edge once."""
    whole_number("n", n, 0)
    array = as_numeric(edges, "edges")
    if array.ndim == 2 and array.shape[0] == 2 and array.shape[1] != 2:
        array = array.T
    require_shape(array, (None, 2), "edges", "A row per edge, or the two rows of edge_index.")
    if array.dtype.kind not in "iu":
        raise InputError("expected whole numbers", where="edges", fix="Number the nodes from 0.")
    for node in (int(array.min()), int(array.max())) if array.size else ():
        if not 0 <= node < n:
            raise InputError(f"has a node {node} of {n}", where="edges", fix="Number the nodes from 0.")
    low, high = array.min(axis=1).astype(np.int64), array.max(axis=1).astype(np.int64)
    code = np.unique((low * n + high)[low != high])
    return code // n, code % n
