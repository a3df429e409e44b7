"""Scores of joint forecasts: all nodes of a time step as one vector.

Each score comes with that of the same forecast after the members of every component were rotated by an offset of their
own. Rotation keeps each component's members and destroys their dependence, so the difference shows what the dependence
contributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.jit import inlined, kernel
from graphgauge.kernels.lanes import LANES, address, fill, lane, load, root, where
from graphgauge.kernels.lanes import first as lanes_before
from graphgauge.kernels.threads import map_blocks, row_blocks

# Members that are compared with others at once.
_ROWS = 4
# Vectors that the twin processes at once, in numbers.
_AT_ONCE = 1 << 20
# Constants of splitmix64, which turns positions into offsets.
GOLDEN, MIX, MIX_AGAIN = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Joint(NamedTuple):
    """A score of each vector, and that with rotated members; NaN if too few components are observed."""

    score: Floats
    rotated: Floats


def energy_scores(
    y: AnyArray, members: AnyArray, mask: Mask | None = None, *, first: int = 0, threads: int | None = None
) -> Joint:
    """The energy scores of ensembles (vectors, components, members) for the truths (vectors, components).

    The mean distance of a member to the truth less half the mean distance of two members (Gneiting and Raftery 2007).
    Masked components are left out; fewer than two have no score. `first` is the position of the first vector, from
    which the offsets of the rotation are derived.

    >>> y, members = np.zeros((1, 2)), np.array([[[3.0, 0.0], [4.0, 0.0]]])
    >>> energy_scores(y, members).score
    array([1.25])
    """
    _, components, count = members.shape

    def room() -> tuple[Floats, Floats]:
        """For one vector: its members, in whole vectors of lanes and some more, and the truth."""
        return np.zeros(components * -(-count // LANES) * LANES + _ROWS), np.empty(components)

    energy = _energy.implementation(members.size * count)
    return _scored(energy, y, members, mask, first, (), threads, room)


def variogram_scores(
    y: AnyArray,
    members: AnyArray,
    pairs: Ints,
    mask: Mask | None = None,
    *,
    power: float = 0.5,
    first: int = 0,
    threads: int | None = None,
) -> Joint:
    """The variogram scores (Scheuerer and Hamill 2015), mean over pairs of components (two columns of positions).

    Per pair, the squared difference of abs(y_i − y_j)**power and its mean over members. Pairs with a masked component
    are left out; vectors without a pair have no score.

    >>> y, members = np.array([[0.0, 4.0]]), np.array([[[0.0, 0.0], [1.0, 1.0]]])
    >>> variogram_scores(y, members, np.array([[0, 1]])).score
    array([1.])
    """
    work = len(y) * len(pairs) * members.shape[2] * 4
    more = np.ascontiguousarray(pairs, np.int64), float(power)
    return _scored(_variogram.implementation(work), y, members, mask, first, more, threads)


def _scored(
    score: Callable[..., None],
    y: AnyArray,
    members: AnyArray,
    mask: Mask | None,
    first: int,
    more: tuple[object, ...],
    threads: int | None,
    room: Callable[[], tuple[Floats, ...]] = tuple,
) -> Joint:
    dtype = np.result_type(y.dtype, members.dtype, np.float32)
    seen = np.zeros((0, 0), np.bool_) if mask is None else np.ascontiguousarray(mask, np.bool_)
    found = Joint(np.full(len(y), np.nan), np.full(len(y), np.nan))

    def of_block(block: slice) -> None:
        part = exact(y[block], dtype), exact(members[block], dtype), seen[block] if mask is not None else seen
        with np.errstate(all="ignore"):
            score(*part, *more, first + block.start, found.score[block], found.rotated[block], *room())

    if y.size and members.shape[2]:
        map_blocks(of_block, row_blocks(len(y), members.size * 8), threads=threads)
    return found


def offsets(first: int, vectors: int, components: int, members: int) -> NDArray[np.int64]:
    """How far the members of each component are rotated: pseudo-random, from the position alone."""
    with np.errstate(over="ignore"):
        place = (np.arange(vectors, dtype=np.uint64) + np.uint64(first))[:, np.newaxis] * np.uint64(components)
        state: NDArray[np.uint64] = (place + np.arange(components, dtype=np.uint64) + np.uint64(1)).astype(np.uint64)
        state = np.multiply(state, np.uint64(GOLDEN), dtype=np.uint64)
        state = np.multiply(state ^ (state >> np.uint64(30)), np.uint64(MIX), dtype=np.uint64)
        state = np.multiply(state ^ (state >> np.uint64(27)), np.uint64(MIX_AGAIN), dtype=np.uint64)
        return np.asarray(((state ^ (state >> np.uint64(31))) >> np.uint64(11)).astype(np.int64) % members)


@inlined
def _offset(place: int, members: int) -> Any:
    state = (np.uint64(place) + np.uint64(1)) * np.uint64(GOLDEN)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(MIX)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(MIX_AGAIN)
    return np.int64((state ^ (state >> np.uint64(31))) >> np.uint64(11)) % members


def _rotated(members: Floats, first: int) -> Floats:
    vectors, components, count = members.shape
    place = (np.arange(count) + offsets(first, vectors, components, count)[..., np.newaxis]) % count
    return np.take_along_axis(members, place, axis=2)


def _energy_twin(
    y: AnyArray,
    members: AnyArray,
    seen: Mask,
    first: int,
    score: Floats,
    rotated: Floats,
    cloud: Floats,
    truth: Floats,
) -> None:
    step = max(1, _AT_ONCE // max(members[0].size, 1))
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        there = seen[rows] if seen.size else np.ones(y[rows].shape, np.bool_)
        known = np.where(there, y[rows], 0).astype(np.float64)
        every = np.where(there[..., np.newaxis], members[rows], 0).astype(np.float64)
        enough = there.sum(axis=1) >= 2
        for scores, points in ((score, every), (rotated, _rotated(every, first + start))):
            count = points.shape[2]
            away = _in_lanes(np.sqrt(np.square(points - known[..., np.newaxis]).sum(axis=1))).sum(axis=1)
            apart = np.zeros(len(points))
            for i in range(0, count - 1, _ROWS):
                later = (i + 1) // LANES * LANES
                one, others = points[..., i : i + _ROWS, np.newaxis], points[..., np.newaxis, later:]
                distance = np.sqrt(np.square(others - one).sum(axis=1))
                distance[:, np.arange(later, count) <= np.arange(i, min(i + _ROWS, count))[:, np.newaxis]] = 0
                tiles = _one_by_one(_in_lanes(distance).sum(axis=1))
                apart = _one_by_one(np.concatenate([apart[:, np.newaxis], tiles], axis=1))
            scores[rows] = np.where(enough, _one_by_one(away) / count - apart / (count * count), np.nan)


def _in_lanes(numbers: Floats) -> Floats:
    """The last axis in rows of lanes, with zeros at its end: added up in the order of the loop, sums have its bits."""
    spare = -numbers.shape[-1] % LANES
    padded = np.concatenate([numbers, np.zeros((*numbers.shape[:-1], spare))], axis=-1)
    return padded.reshape(*numbers.shape[:-1], -1, LANES)


def _one_by_one(numbers: Floats) -> Floats:
    """The sum over the last axis from its start: `np.sum` would add in pairs."""
    return np.asarray(np.add.accumulate(numbers, axis=-1)[..., -1])


@kernel(twin=_energy_twin)
def _energy(
    y: AnyArray,
    members: AnyArray,
    seen: Mask,
    first: int,
    score: Floats,
    rotated: Floats,
    cloud: Floats,
    truth: Floats,
) -> None:
    vectors, components, count = members.shape
    width, masked = -(-count // LANES) * LANES, seen.size > 0
    for vector in range(vectors):
        for side in range(2):
            there = 0
            for component in range(components):
                if masked and not seen[vector, component]:
                    continue
                shift = _offset((first + vector) * components + component, count) if side else 0
                truth[there] = y[vector, component]
                for i in range(count - shift):
                    cloud[there * width + i] = members[vector, component, i + shift]
                for i in range(count - shift, count):
                    cloud[there * width + i] = members[vector, component, i + shift - count]
                there += 1
            if there < 2:
                break
            points = address(cloud)
            away, apart = _distances(points, address(truth), there, count, width), 0.0
            for i in range(0, count - 1, _ROWS):
                for j in range((i + 1) // LANES * LANES, count, LANES):
                    apart += _gaps(points, there, i, j, count, width)
            found = away / count - apart / (count * count)
            if side:
                rotated[vector] = found
            else:
                score[vector] = found


@inlined
def _distances(points: Any, truth: Any, components: int, count: int, width: int) -> float:
    """The summed distance of the members to the truth; addresses of both, of components by members."""
    total = fill(0.0)
    for j in range(0, count, LANES):
        squares = fill(0.0)
        for component in range(components):
            gap = load(points, component * width + j) - truth[component]
            squares = squares + gap * gap
        total = total + where(lanes_before(count - j), root(squares), fill(0.0))
    return added_up(total)


@inlined
def _gaps(points: Any, components: int, i: int, j: int, count: int, width: int) -> float:
    """The summed distance of the members from i on to the later ones among those from j on: four and eight of them."""
    one = two = three = four = fill(0.0)
    for component in range(components):
        at = component * width
        others = load(points, at + j)
        gap = others - points[at + i]
        one = one + gap * gap
        gap = others - points[at + i + 1]
        two = two + gap * gap
        gap = others - points[at + i + 2]
        three = three + gap * gap
        gap = others - points[at + i + 3]
        four = four + gap * gap
    total = fill(0.0)
    for row in range(_ROWS):
        squares = one if row == 0 else two if row == 1 else three if row == 2 else four
        later = lanes_before(count - j) & ~lanes_before(i + row + 1 - j)
        total = total + where(later, root(squares), fill(0.0))
    return added_up(total)


@inlined
def added_up(numbers: Any) -> float:
    total = 0.0
    for number in range(LANES):
        total += lane(numbers, number)
    return total


def _variogram_twin(
    y: AnyArray, members: AnyArray, seen: Mask, pairs: Ints, power: float, first: int, score: Floats, rotated: Floats
) -> None:
    step = max(1, _AT_ONCE // max(len(pairs) * members.shape[2], 1))
    left, right = pairs[:, 0], pairs[:, 1]
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        there = seen[rows] if seen.size else np.ones(y[rows].shape, np.bool_)
        both = there[:, left] & there[:, right]
        truth = np.where(there, y[rows], 0).astype(np.float64)
        cloud = np.where(there[..., np.newaxis], members[rows], 0).astype(np.float64)
        expected = np.abs(truth[:, left] - truth[:, right]) ** power
        count = cloud.shape[2]
        shifts = offsets(first + start, len(cloud), cloud.shape[1], count)
        # Only the offset between the two matters.
        places = (np.arange(count) + (shifts[:, right] - shifts[:, left])[..., np.newaxis]) % count
        turned = np.take_along_axis(cloud[:, right], places, axis=2)
        for scores, others in ((score, cloud[:, right]), (rotated, turned)):
            found = _one_by_one(np.abs(cloud[:, left] - others) ** power) / count
            total = (
                _one_by_one(np.where(both, np.square(expected - found), 0.0)) if len(pairs) else np.zeros(len(truth))
            )
            used = both.sum(axis=1)
            scores[rows] = np.where(used > 0, total / np.maximum(used, 1), np.nan)


@kernel(twin=_variogram_twin)
def _variogram(
    y: AnyArray, members: AnyArray, seen: Mask, pairs: Ints, power: float, first: int, score: Floats, rotated: Floats
) -> None:
    vectors, components, count = members.shape
    masked, of_roots = seen.size > 0, power == 0.5
    for vector in range(vectors):
        total, total_rotated, used = 0.0, 0.0, 0
        for pair in range(len(pairs)):
            left, right = pairs[pair, 0], pairs[pair, 1]
            if masked and not (seen[vector, left] and seen[vector, right]):
                continue
            used += 1
            truth = abs(np.float64(y[vector, left]) - np.float64(y[vector, right]))
            truth = np.sqrt(truth) if of_roots else truth**power
            # Only the offset between the two matters.
            shift = (
                _offset((first + vector) * components + right, count)
                - _offset((first + vector) * components + left, count)
            ) % count
            one, other = members[vector, left], members[vector, right]
            mean, mean_rotated = 0.0, 0.0
            for i in range(count):
                gap = abs(np.float64(one[i]) - np.float64(other[i]))
                place = i + shift
                gap_rotated = abs(np.float64(one[i]) - np.float64(other[place if place < count else place - count]))
                mean += np.sqrt(gap) if of_roots else gap**power
                mean_rotated += np.sqrt(gap_rotated) if of_roots else gap_rotated**power
            total += (truth - mean / count) ** 2
            total_rotated += (truth - mean_rotated / count) ** 2
        if used:
            score[vector] = total / used
            rotated[vector] = total_rotated / used
