"""Euclidean distances between points on a CUDA device, tile by tile: n² distances are never in memory together.

Squared distances come from a matrix product in float64, of points centred on their mean. The product loses the digits
of small distances, so those are computed again from the differences of coordinates. The relative error of a distance is
below 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
            tile = _squared(cloud[rows], lengths[rows], cloud[columns], lengths[columns]).sqrt_()
            first = int(ordered[columns.start])
            there = ordered[columns] - first
            inside = torch.nn.functional.one_hot(there, int(there[-1]) + 1).double()
            sums[:, first : first + inside.shape[1]] += tile @ inside
        place = order[rows]
        found[place] = from_sums(sums.cpu().numpy(), cluster[place], counts)
    return found


def energy_distance(one: Any, other: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all ordered pairs."""
    n, m = len(one), len(other)
    first, second, across = _pair_sums(one, other, lambda squared: squared.sqrt_())
    return 2 * across / (n * m) - first / n**2 - second / m**2


def mmd(one: Any, other: Any, bandwidth: float) -> float:
    """The unbiased MMD² of two samples of points with the kernel exp(−d²/2σ²)."""
    n, m = len(one), len(other)
    first, second, across = _pair_sums(one, other, lambda squared: squared.div_(-2 * bandwidth**2).exp_())
    return (first - n) / (n * (n - 1)) + (second - m) / (m * (m - 1)) - 2 * across / (n * m)


def prdc(real: Any, generated: Any, k: int) -> tuple[float, float, float, float]:
    """Precision, recall, density and coverage of two samples of points, as in `generation.two_sample`."""
    import torch

    cloud, lengths = _centred(torch.cat([real.double(), generated.double()]))
    n, m = len(real), len(generated)
    sides = slice(0, n), slice(n, n + m)

    def tile(rows: slice, columns: slice) -> Any:
        return _squared(cloud[rows], lengths[rows], cloud[columns], lengths[columns])

    def radii(side: slice) -> Any:
        """The squared distance of each point to its k-th neighbour; the point itself, at distance 0, does not count."""
        found = []
        for rows in _parts(side, _ROWS):
            nearest = cloud.new_empty(rows.stop - rows.start, 0)
            for columns in _parts(side, _COLUMNS):
                both = torch.cat([nearest, tile(rows, columns)], 1)
                nearest = both.topk(min(k + 1, both.shape[1]), dim=1, largest=False).values
            found.append(nearest[:, k])
        return torch.cat(found)

    def flags(count: int) -> Any:
        return torch.zeros(count, dtype=torch.bool, device=cloud.device)

    real_radii, generated_radii = (radii(side) for side in sides)
    held, covered, reached, inside = flags(m), flags(n), flags(n), 0
    for rows in _parts(sides[0], _ROWS):
        for columns in _parts(sides[1], _COLUMNS):
            squared, place = tile(rows, columns), slice(columns.start - n, columns.stop - n)
            within = squared <= real_radii[rows, None]
            held[place] |= within.any(0)
            covered[rows] |= within.any(1)
            reached[rows] |= (squared <= generated_radii[place]).any(1)
            inside += int(within.sum())
    precision, recall, coverage = (float(each.double().mean()) for each in (held, reached, covered))
    return precision, recall, inside / (k * m), coverage


def _pair_sums(one: Any, other: Any, function: Callable[[Any], Any]) -> tuple[float, float, float]:
    """The sums of a function of squared distances over ordered pairs within either sample, and across."""
    import torch

    cloud, lengths = _centred(torch.cat([one.double(), other.double()]))
    first, second = slice(0, len(one)), slice(len(one), len(one) + len(other))

    def total(left: slice, right: slice) -> float:
        found = cloud.new_zeros(())
        for rows in _parts(left, _ROWS):
            for columns in _parts(right, _COLUMNS):
                found += function(_squared(cloud[rows], lengths[rows], cloud[columns], lengths[columns])).sum()
        return float(found)

    return total(first, first), total(second, second), total(first, second)


def _centred(points: Any) -> tuple[Any, Any]:
    points = points.double()
    points = points - points.mean(0)
    return points, (points * points).sum(1)


def _squared(left: Any, left_lengths: Any, right: Any, right_lengths: Any) -> Any:
    import torch

    reach = left_lengths[:, None] + right_lengths
    squared = torch.addmm(reach, left, right.T, alpha=-2)
    small = squared < _SMALL * reach
    if bool(small.any()):
        for row, column in _in_parts(small.nonzero(as_tuple=True), max(1, _AGAIN // max(1, left.shape[1]))):
            squared[row, column] = ((left[row] - right[column]) ** 2).sum(1)
    return squared.clamp_(min=0)


def _in_parts(pairs: tuple[Any, Any], size: int) -> Iterator[tuple[Any, Any]]:
    for start in range(0, len(pairs[0]), size):
        yield pairs[0][start : start + size], pairs[1][start : start + size]


def _parts(span: slice, size: int) -> list[slice]:
    return [slice(start, min(start + size, span.stop)) for start in range(span.start, span.stop, size)]
