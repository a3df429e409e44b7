"""Silhouettes (Rousseeuw 1987): how much nearer a point is to its own cluster than to the next one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import Floats, Ints
from graphgauge.kernels.euclidean import Points, tiles
from graphgauge.kernels.threads import map_blocks

# Tables of sums that are filled at the same time, and the numbers in all of them.
_MOST_TABLES = 8
_MOST_SUMS = 1 << 23


def silhouettes(points: NDArray[np.floating], labels: NDArray[np.integer], *, threads: int | None = None) -> Floats:
    """The silhouette of each of n points (n, D), exactly; 0 for the only point of a cluster, NaN with one cluster.

    Distances are Euclidean: all of them, each pair once, in tiles that stay in the cache.

    >>> silhouettes(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]))
    array([0.8 , 0.75, 0.  ])
    """
    if np.shape(labels) != np.shape(points)[:1]:
        raise ValueError(f"{np.shape(labels)} labels for points of shape {np.shape(points)}")
    _, cluster, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.full(len(cluster), np.nan)
    order = np.argsort(cluster, kind="stable")  # tiles then contain few clusters
    cloud = Points.of(np.asarray(points)[order])
    found = np.empty(len(order))
    found[order] = _by_pair(cloud, cluster[order], counts, threads)
    return found


def _by_pair(cloud: Points, labels: Ints, counts: Ints, threads: int | None) -> Floats:
    n = len(labels)
    strips = tiles(0, n)
    tables = min(_MOST_TABLES, len(strips), _MOST_SUMS // (n * len(counts)))
    if tables < 1:
        # Too many clusters for a table of all sums: every pair is computed from both sides, strip by strip.
        def strip_silhouettes(strip: slice) -> Floats:
            sums = np.zeros((strip.stop - strip.start, len(counts)))
            for columns in strips:
                _add(sums, cloud.distances(strip, columns), labels[columns])
            return _from_sums(sums, labels[strip], counts)

        return np.concatenate(map_blocks(strip_silhouettes, strips, threads=threads))

    def table(first: int) -> Floats:
        """Sums (n, clusters) from every k-th strip, independent of the number of threads."""
        sums = np.zeros((n, len(counts)))
        for strip in strips[first::tables]:
            _add(sums[strip], cloud.distances(strip, strip), labels[strip])
            for columns in tiles(strip.stop, n):
                tile = cloud.distances(strip, columns)
                _add(sums[strip], tile, labels[columns])
                _add(sums[columns], tile.T, labels[strip])
        return sums

    sums = np.sum(map_blocks(table, range(tables), threads=threads), axis=0)
    return _from_sums(sums, labels, counts)


def _add(sums: Floats, distances: Floats, labels: Ints) -> None:
    """Add the columns of a tile to the sums of their clusters; equal labels are adjacent."""
    if labels[0] == labels[-1]:
        sums[:, labels[0]] += distances.sum(axis=1)
        return
    starts = np.append(0, np.flatnonzero(np.diff(labels)) + 1)
    sums[:, labels[starts]] += np.add.reduceat(distances, starts, axis=1)


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
