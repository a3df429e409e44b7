"""Euclidean distances between points on a CUDA device, tile by tile: n² distances are never in memory together.

Squared distances come from a matrix product in float64, of points centred on their mean. The product loses the digits
of small distances, so those are computed again from the differences of coordinates. The relative error of a distance is
below 1e-10.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphgauge.core.types import Floats

# Points per side of a tile: a matrix of 256 MB.
_ROWS, _COLUMNS = 4096, 8192
# Squared distances below this share of the squared lengths have lost too many digits. The product is off by about
# 1e-15 of the squared lengths, the root halves it: 1e-10 remain.
_SMALL = 1e-5
# Coordinates of pairs that are subtracted at once.
_AGAIN = 1 << 26


def silhouettes(points: Any, labels: Any) -> Floats:
    """As `kernels.silhouette.silhouettes`, of a tensor of points (n, D); labels are a tensor or an array."""
    import torch

    from graphgauge.kernels.silhouette import from_sums

    codes = labels.cpu().numpy() if isinstance(labels, torch.Tensor) else np.asarray(labels)
    _, cluster, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.full(len(cluster), np.nan)
    order = np.argsort(cluster, kind="stable")  # a tile then has few clusters
    ordered = torch.as_tensor(cluster[order], device=points.device)
    cloud, lengths = _centred(points[torch.as_tensor(order, device=points.device)])
    found = np.empty(len(order))
    everything = slice(0, len(cloud))
    for rows in _parts(everything, _ROWS):
        sums = cloud.new_zeros(rows.stop - rows.start, len(counts))
        for columns in _parts(everything, _COLUMNS):
            tile = _distances(cloud[rows], lengths[rows], cloud[columns], lengths[columns])
            first = int(ordered[columns.start])
            there = ordered[columns] - first
            inside = torch.nn.functional.one_hot(there, int(there[-1]) + 1).double()
            sums[:, first : first + inside.shape[1]] += tile @ inside
        place = order[rows]
        found[place] = from_sums(sums.cpu().numpy(), cluster[place], counts)
    return found


def energy_distance(one: Any, other: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all ordered pairs."""
    import torch

    cloud, lengths = _centred(torch.cat([one.double(), other.double()]))
    n, m = len(one), len(other)
    first, second = slice(0, n), slice(n, n + m)

    def mean(left: slice, right: slice) -> Any:
        total = cloud.new_zeros(())
        for rows in _parts(left, _ROWS):
            for columns in _parts(right, _COLUMNS):
                total += _distances(cloud[rows], lengths[rows], cloud[columns], lengths[columns]).sum()
        return total / ((left.stop - left.start) * (right.stop - right.start))

    return float(2 * mean(first, second) - mean(first, first) - mean(second, second))


def _centred(points: Any) -> tuple[Any, Any]:
    points = points.double()
    points = points - points.mean(0)
    return points, (points * points).sum(1)


def _distances(left: Any, left_lengths: Any, right: Any, right_lengths: Any) -> Any:
    import torch

    reach = left_lengths[:, None] + right_lengths
    squared = torch.addmm(reach, left, right.T, alpha=-2)
    small = squared < _SMALL * reach
    if bool(small.any()):
        for row, column in _in_parts(small.nonzero(as_tuple=True), max(1, _AGAIN // max(1, left.shape[1]))):
            squared[row, column] = ((left[row] - right[column]) ** 2).sum(1)
    return squared.clamp_(min=0).sqrt_()


def _in_parts(pairs: tuple[Any, Any], size: int) -> Iterator[tuple[Any, Any]]:
    for start in range(0, len(pairs[0]), size):
        yield pairs[0][start : start + size], pairs[1][start : start + size]


def _parts(span: slice, size: int) -> list[slice]:
    return [slice(start, min(start + size, span.stop)) for start in range(span.start, span.stop, size)]
