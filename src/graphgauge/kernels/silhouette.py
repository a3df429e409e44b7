"""Silhouettes (Rousseeuw 1987): how much nearer a point is to its own cluster than to the next one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.euclidean import Points
from graphgauge.kernels.threads import threads_of

# Sums of distances that are in memory at the same time.
_MOST_SUMS = 1 << 23


def silhouettes(points: NDArray[np.floating], labels: NDArray[np.integer], *, threads: int | None = None) -> Floats:
    """The silhouette of each of n points (n, D), exactly; 0 for the only point of a cluster, NaN with one cluster.

    Distances are Euclidean: all of them, in tiles that stay in the cache.

    >>> silhouettes(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]))
    array([0.8 , 0.75, 0.  ])
    """
    if np.shape(labels) != np.shape(points)[:1]:
        raise ValueError(f"{np.shape(labels)} labels for points of shape {np.shape(points)}")
    _, cluster, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.full(len(cluster), np.nan)
    order = np.argsort(cluster, kind="stable")  # blocks then contain few clusters
    cloud = Points.of(np.asarray(points)[order])
    found = np.empty(len(order))
    found[order] = _by_pair(cloud, cluster[order], counts, threads)
    return found


def _by_pair(cloud: Points, labels: Ints, counts: Ints, threads: int | None) -> Floats:
    step = max(1, _MOST_SUMS // len(counts))

    def part_silhouettes(rows: slice) -> Floats:
        sums = _core.group_distances(cloud.rows[rows], cloud.rows, labels, len(counts), threads=threads_of(threads))
        return _from_sums(sums, labels[rows], counts)

    return np.concatenate([part_silhouettes(slice(start, start + step)) for start in range(0, len(labels), step)])


def _from_sums(sums: Floats, labels: Ints, counts: Ints) -> Floats:
    """From each point's sum of distances to each cluster."""
    own = (np.arange(len(labels)), labels)
    inside = sums[own] / np.maximum(counts[labels] - 1, 1)
    means = sums / counts
    means[own] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    # A point that coincides with its own cluster and with the next one has silhouette 0.
    value = np.divide(outside - inside, larger, out=np.zeros(len(labels)), where=larger > 0)
    return np.where(counts[labels] > 1, value, 0.0)
