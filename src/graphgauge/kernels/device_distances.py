"""Euclidean distances between points on a CUDA device, tile by tile: n² distances are never in memory together.

Squared distances come from a matrix product in float64, which is exact for small whole numbers such as bits. Other
points are centred on their mean, and the product loses the digits of small distances: pairs that are close to each
other, or on the surface of a ball, are computed again from the differences of coordinates, added up as on the host. The
relative error of a distance is below 1e-10, and points are inside balls exactly where they are on the host.

Tiles are computed without waiting for the device; only those with such pairs are computed a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from graphgauge.core.types import Floats

# Points per side of a tile: a matrix of 128 MB.
_SIDE = 4096
# Squared distances below this share of the squared lengths have lost too many digits. The product is off by about
# 1e-15 of the squared lengths, the root halves it: 1e-10 remain.
_SMALL = 1e-5
# Coordinates of pairs that are subtracted at once.
_AGAIN = 1 << 26
# Sums of distances to clusters that are kept at once: 1 GB.
_MOST_SUMS = 1 << 27
# Whole numbers up to this are exact.
_EXACT = 2.0**53
# Neighbours beyond the k-th that are looked at: of those at nearly the same distance, the product may take the wrong.
_SPARE = 8


def silhouettes(points: Any, labels: Any) -> Floats:
    """As `kernels.silhouette.silhouettes`, of a tensor of points (n, D); labels are a tensor or an array."""
    import torch

    from graphgauge.kernels.silhouette import from_sums

    codes = labels.cpu().numpy() if isinstance(labels, torch.Tensor) else np.asarray(labels)
    _, cluster, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        return np.full(len(cluster), np.nan)
    order = np.argsort(cluster, kind="stable")  # a tile then has few clusters
    ordered = cluster[order]
    place, clusters = (torch.as_tensor(each, device=points.device) for each in (order, ordered))
    frame, found, tiles = _Frame.of(points), np.empty(len(order)), _parts(len(points))

    def blocks(rows: slice, columns: slice) -> tuple[_Block, _Block]:
        one = frame.block(points[place[rows]])
        return one, one if rows == columns else frame.block(points[place[columns]])

    # Each pair once if there is room for the sums of all points, and else from both sides, strip by strip.
    both = len(points) * len(counts) <= _MOST_SUMS
    strips = [[(rows, columns) for columns in tiles[number if both else 0 :]] for number, rows in enumerate(tiles)]
    for pairs in [[*chain(*strips)]] if both else strips:
        start, stop = (0, len(points)) if both else (pairs[0][0].start, pairs[0][0].stop)
        sums, close = frame.centre.new_zeros(stop - start, len(counts)), []
        for rows, columns in pairs:
            tile, unsure = _squared(frame, *blocks(rows, columns))
            tile = tile.sqrt_().masked_fill_(unsure, 0)
            sides = [(rows, columns, tile), *([(columns, rows, tile.T)] if both and rows != columns else [])]
            for own, others, distances in sides:
                first, last = int(ordered[others.start]), int(ordered[others.stop - 1]) + 1
                inside = clusters[others, None] == torch.arange(first, last, device=points.device)
                sums[own.start - start : own.stop - start, first:last] += distances @ inside.double()
            close.append(unsure.any())
        for rows, columns in compress(pairs, torch.stack(close).tolist()):
            one, other = blocks(rows, columns)
            row, column = _squared(frame, one, other)[1].nonzero(as_tuple=True)
            again = _differences(one, other, row, column).sqrt_()
            row, column = row + rows.start, column + columns.start
            sums.index_put_((row - start, clusters[column]), again, accumulate=True)
            if both and rows != columns:
                sums.index_put_((column, clusters[row]), again, accumulate=True)
        found[order[start:stop]] = from_sums(sums.cpu().numpy(), ordered[start:stop], counts)
    return found


def energy_distance(one: Any, other: Any) -> float:
    """2·E‖X − Y‖ − E‖X − X′‖ − E‖Y − Y′‖ of two samples of points (n, D) and (m, D), over all ordered pairs."""
    n, m = len(one), len(other)
    frame = _Frame.of(one, other)
    first, second, across = _pair_sums(frame, one, other, lambda squared: squared.sqrt_())
    return max(frame.unit * (2 * across / (n * m) - first / n**2 - second / m**2), 0.0)  # only below 0 by rounding


def mmd(one: Any, other: Any, bandwidth: float) -> float:
    """The unbiased MMD² of two samples of points with the kernel exp(−d²/2σ²)."""
    n, m = len(one), len(other)
    frame = _Frame.of(one, other)
    width = -2 * (bandwidth / frame.unit) ** 2
    first, second, across = _pair_sums(frame, one, other, lambda squared: squared.div_(width).exp_())
    return (first - n) / (n * (n - 1)) + (second - m) / (m * (m - 1)) - 2 * across / (n * m)


def prdc(real: Any, generated: Any, k: int) -> tuple[float, float, float, float]:
    """Precision, recall, density and coverage of two samples of points, as in `generation.two_sample`."""
    import torch

    frame = _Frame.of(real, generated)
    n, m = len(real), len(generated)
    real_radii, generated_radii = (_radii(frame, side, k) for side in (real, generated))
    # For each generated point the real balls around it; for each real one those in its ball, and the balls around it.
    held, covered, reached = (torch.zeros(count, dtype=torch.int64, device=real.device) for count in (m, n, n))

    def tile(pair: tuple[slice, slice]) -> tuple[_Block, _Block, Any, list[tuple[Any, Any]]]:
        """Both sides, squared distances, and which are surely inside a ball of either side, or may be."""
        rows, columns = pair
        one, other = frame.block(real[rows]), frame.block(generated[columns])
        squared = _product(one, other)
        own, others = real_radii[rows, None], generated_radii[columns]
        by_row = frame.rounding * (one.lengths[:, None] + other.lengths.max())
        by_column = frame.rounding * (one.lengths.max() + other.lengths)
        balls = ((own, by_row), (others, by_column))
        return one, other, squared, [(squared <= radius - off, squared <= radius + off) for radius, off in balls]

    pairs = [(rows, columns) for rows in _parts(n) for columns in _parts(m)]
    doubtful = []
    for rows, columns in pairs:
        *_, ((within, perhaps), (without, perhaps_without)) = tile((rows, columns))
        held[columns] += within.sum(0)
        covered[rows] += within.sum(1)
        reached[rows] += without.sum(1)
        doubtful.append((within != perhaps).any() | (without != perhaps_without).any())
    for rows, columns in compress(pairs, torch.stack(doubtful).tolist()):
        one, other, _, ((within, perhaps), (without, perhaps_without)) = tile((rows, columns))
        row, column = ((within != perhaps) | (without != perhaps_without)).nonzero(as_tuple=True)
        squared = _differences(one, other, row, column)
        inside = (squared <= real_radii[rows][row]) & ~within[row, column]
        held[columns].index_add_(0, column, inside.long())
        covered[rows].index_add_(0, row, inside.long())
        outside = (squared <= generated_radii[columns][column]) & ~without[row, column]
        reached[rows].index_add_(0, row, outside.long())
    some, recalled, pairs_inside, hit = torch.stack(
        [(held > 0).sum(), (reached > 0).sum(), held.sum(), (covered > 0).sum()]
    ).tolist()
    return some / m, recalled / n, pairs_inside / (k * m), hit / n


def _radii(frame: _Frame, points: Any, k: int) -> Any:
    """The squared distance of each point to its k-th neighbour; the point itself, at distance 0, does not count."""
    import torch

    found, unsure = [], []
    tiles = _parts(len(points))
    for rows in tiles:
        one = frame.block(points[rows])
        nearest, where, longest = one.points[:, :0], one.points[:, :0].long(), one.lengths.max()
        for columns in tiles:
            other = frame.block(points[columns])
            near, place = _smallest(_product(one, other), k + 1 + _SPARE)
            nearest, where = torch.cat([nearest, near], 1), torch.cat([where, place + columns.start], 1)
            nearest, chosen = _smallest(nearest, k + 1 + _SPARE)
            where, longest = where.gather(1, chosen), torch.maximum(longest, other.lengths.max())
        if not frame.rounding:
            found.append(nearest[:, k])
            continue
        near = frame.block(points[where.reshape(-1)]).points.reshape(*where.shape, points.shape[1])
        again = _added_up(one.points[:, None], near)
        found.append(_smallest(again, k + 1)[0][:, k])
        # Points that were not chosen are at least as far as the last one that was, up to rounding.
        least = nearest[:, -1] - frame.rounding * (one.lengths + longest)
        unsure.append((found[-1] > least) & (where.shape[1] < len(points)))
    radii = torch.cat(found)
    missed = torch.cat(unsure).nonzero()[:, 0] if unsure else ()
    for some in _parts(len(missed)):
        one = frame.block(points[missed[some]])
        nearest = one.points[:, :0]
        for columns in tiles:
            other = frame.block(points[columns])
            every = _added_up(one.points[:, None], other.points)
            nearest = _smallest(torch.cat([nearest, every], 1), k + 1)[0]
        radii[missed[some]] = nearest[:, k]
    return radii


def _smallest(values: Any, count: int) -> Any:
    """The smallest values of each row in order, and their places."""
    return values.topk(min(count, values.shape[1]), dim=1, largest=False)


def _pair_sums(frame: _Frame, one: Any, other: Any, function: Callable[[Any], Any]) -> list[float]:
    """The sums of a function of squared distances over ordered pairs within either sample, and across."""
    import torch

    sums = frame.centre.new_zeros(3)
    tiles: list[_Pair] = []
    close = []
    for number, (left, right) in enumerate(((one, one), (other, other), (one, other))):
        for pair in _pairs(number, left, right):
            tile, unsure = _squared(frame, *pair.blocks(frame))
            sums[number] += pair.times * function(tile).masked_fill_(unsure, 0).sum()
            tiles.append(pair)
            close.append(unsure.any())
    for pair in compress(tiles, torch.stack(close).tolist()):
        blocks = pair.blocks(frame)
        again = _differences(*blocks, *_squared(frame, *blocks)[1].nonzero(as_tuple=True))
        sums[pair.number] += pair.times * function(again).sum()
    return [float(each) for each in sums.tolist()]


class _Pair(NamedTuple):
    """A tile of pairs between two samples, or within one, of which those off the diagonal count twice."""

    number: int
    left: Any
    right: Any
    rows: slice
    columns: slice

    @property
    def times(self) -> int:
        return 2 if self.left is self.right and self.rows != self.columns else 1

    def blocks(self, frame: _Frame) -> tuple[_Block, _Block]:
        one = frame.block(self.left[self.rows])
        same = self.left is self.right and self.rows == self.columns
        return one, one if same else frame.block(self.right[self.columns])


def _pairs(number: int, left: Any, right: Any) -> Iterator[_Pair]:
    for place, rows in enumerate(_parts(len(left))):
        for columns in _parts(len(right))[place if left is right else 0 :]:
            yield _Pair(number, left, right, rows, columns)


class _Block(NamedTuple):
    """Some points in units of their frame, the squares of their lengths from its centre, and the factors of products.

    A left and a right factor are (−2x, ‖x‖², 1) and (y, 1, ‖y‖²), whose product is a squared distance at once.
    """

    points: Any
    lengths: Any
    left: Any
    right: Any


class _Frame(NamedTuple):
    """The centre of all points, a power of 2 that keeps squares in range, and the rounding error of their products.

    An error of a squared distance is below `rounding` times the squared lengths of its points; whole numbers have none.
    """

    centre: Any
    unit: float
    rounding: float

    @classmethod
    def of(cls, *samples: Any) -> _Frame:
        import torch

        width, count = samples[0].shape[1], sum(len(each) for each in samples)
        blocks = [(each, rows) for each in samples for rows in _parts(len(each)) if width]
        centre = torch.zeros(width, dtype=torch.float64, device=samples[0].device)
        largest, whole = centre.new_zeros(()), torch.ones((), dtype=torch.bool, device=centre.device)
        for each, rows in blocks:
            part = each[rows].double()
            largest, whole = torch.maximum(largest, part.abs().max()), whole & (part == part.round()).all()
        most, exact = torch.stack([largest, whole.double()]).tolist()
        unit = float(np.ldexp(1.0, int(np.frexp(most)[1])))
        if exact and 2 * most * width**0.5 < _EXACT**0.5:
            return cls(centre, unit, 0.0)
        for each, rows in blocks:
            centre += (each[rows].double() / unit).sum(0) / count
        # In sums of D products, each is rounded at most D times.
        return cls(centre, unit, (width + 8) * 2.0**-51)

    def block(self, points: Any) -> _Block:
        points = points.double() / self.unit
        centred = points - self.centre
        squares = (centred * centred).sum(1, keepdim=True)
        # Products are faster if their length is a multiple of 8.
        left, right = (squares.new_zeros(len(points), -(-(points.shape[1] + 2) // 8) * 8) for _ in range(2))
        last = points.shape[1]
        left[:, :last], left[:, last : last + 1], left[:, last + 1] = -2 * centred, squares, 1
        right[:, :last], right[:, last], right[:, last + 1 : last + 2] = centred, 1, squares
        return _Block(points, squares[:, 0], left, right)


def _product(one: _Block, other: _Block) -> Any:
    """All squared distances between two blocks."""
    squared = one.left @ other.right.T
    return squared.fill_diagonal_(0) if one is other else squared


def _squared(frame: _Frame, one: _Block, other: _Block) -> tuple[Any, Any]:
    """The same, and which of them have lost too many digits."""
    squared = _product(one, other)
    if not frame.rounding:
        return squared, squared < 0
    close = squared < (_SMALL * one.lengths)[:, None] + _SMALL * other.lengths
    return squared, close.fill_diagonal_(False) if one is other else close


def _differences(one: _Block, other: _Block, row: Any, column: Any) -> Any:
    """The squared distances of some pairs, from the differences of their coordinates."""
    found = one.points.new_empty(len(row))
    for part in _parts(len(row), max(1, _AGAIN // max(1, one.points.shape[1]))):
        found[part] = _added_up(one.points[row[part]], other.points[column[part]])
    return found


def _added_up(left: Any, right: Any) -> Any:
    """Squared distances over the last axis, four coordinates at a time as in `kernels.euclidean`, with its bits."""
    total = (left[..., :0] - right[..., :0]).sum(-1)  # zeros of the shape of both
    for axis in range(0, left.shape[-1], 4):
        gaps = [left[..., each] - right[..., each] for each in range(axis, min(axis + 4, left.shape[-1]))]
        total += sum(gap * gap for gap in gaps[:2]) + sum(gap * gap for gap in gaps[2:])
    return total


def _parts(length: int, size: int | None = None) -> list[slice]:
    step = _SIDE if size is None else size
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]
