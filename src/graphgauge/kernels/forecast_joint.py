"""Scores of joint forecasts: all nodes of a time step as one vector.

Each score comes with that of the same forecast after the members of every component were rotated by an offset of their
own. Rotation keeps each component's members and destroys their dependence, so the difference shows what the dependence
contributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.threads import even_blocks, map_blocks

# Constants of splitmix64, which turns positions into offsets.
GOLDEN, MIX, MIX_AGAIN = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


# Squared distances below this share of the squared lengths have lost half their digits.
_NEAR = 2.0**-26
# Numbers of a batch, which stay in the cache.
_AT_ONCE = 1 << 17


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
    return _scored(_energy, y, members, mask, first, (), threads)


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
    return _scored(_variogram, y, members, mask, first, (pairs, float(power)), threads)


def _scored(
    score: Callable[..., None],
    y: AnyArray,
    members: AnyArray,
    mask: Mask | None,
    first: int,
    more: tuple[object, ...],
    threads: int | None,
) -> Joint:
    dtype = np.result_type(y.dtype, members.dtype, np.float32)
    seen = np.ones(y.shape, np.bool_) if mask is None else np.require(mask, np.bool_, ("C", "A"))
    found = Joint(np.full(len(y), np.nan), np.full(len(y), np.nan))

    def of_block(block: slice) -> None:
        part = exact(y[block], dtype), exact(members[block], dtype), seen[block]
        with np.errstate(all="ignore"):
            score(*part, *more, first + block.start, found.score[block], found.rotated[block])

    if y.size and members.shape[2]:
        map_blocks(of_block, even_blocks(len(y), -(-members.size // _AT_ONCE)), threads=threads)
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


def _energy(y: AnyArray, members: AnyArray, seen: Mask, first: int, score: Floats, rotated: Floats) -> None:
    known, cloud = _seen(y, members, seen)
    scored = seen.sum(axis=1) >= 2
    score[:] = np.where(scored, _energy_of(known, cloud), np.nan)
    rotated[:] = np.where(scored, _energy_of(known, _rotated(cloud, first)), np.nan)


def _energy_of(y: Floats, cloud: Floats) -> Floats:
    """Distances of members are products of matrices, less their mean; those that lose digits are computed again."""
    away = np.sqrt(np.square(cloud - y[..., np.newaxis]).sum(1)).mean(-1)
    centred = cloud - cloud.mean(-1, keepdims=True)
    products = centred.swapaxes(1, 2) @ centred
    lengths = np.einsum("vii->vi", products)
    both = lengths[:, :, np.newaxis] + lengths[:, np.newaxis]
    squares = both - 2 * products
    vector, one, other = np.nonzero(squares <= _NEAR * both)
    squares[vector, one, other] = np.square(cloud[vector, :, one] - cloud[vector, :, other]).sum(-1)
    return np.asarray(away - np.sqrt(squares).mean((1, 2)) / 2)


def _variogram(
    y: AnyArray, members: AnyArray, seen: Mask, pairs: Ints, power: float, first: int, score: Floats, rotated: Floats
) -> None:
    known, cloud = _seen(y, members, seen)
    for scores, each in ((score, cloud), (rotated, _rotated(cloud, first))):
        scores[:] = _variogram_of(known, each, seen, np.asarray(pairs), power)


def _variogram_of(y: Floats, cloud: Floats, seen: Mask, pairs: Ints, power: float) -> Floats:
    """Vector by vector, so that the gaps of all pairs stay in the cache."""
    scores = np.full(len(y), np.nan)
    one, other = pairs.reshape(-1, 2).T
    for vector in range(len(y)):
        used = seen[vector, one] & seen[vector, other]
        if used.any():
            truth, members, (i, j) = y[vector], cloud[vector], (one[used], other[used])
            gaps = np.abs(members[i] - members[j])
            gaps = np.sqrt(gaps, out=gaps) if power == 0.5 else gaps**power
            scores[vector] = np.square(np.abs(truth[i] - truth[j]) ** power - gaps.mean(-1)).mean()
    return scores


def _rotated(cloud: Floats, first: int) -> Floats:
    shifts = offsets(first, *cloud.shape)
    places = (np.arange(cloud.shape[2]) + shifts[..., np.newaxis]) % cloud.shape[2]
    return np.take_along_axis(cloud, places, 2)


def _seen(y: AnyArray, members: AnyArray, seen: Mask) -> tuple[Floats, Floats]:
    """Truths and members, 0 where they are masked."""
    if seen.all():
        return y.astype(np.float64), members.astype(np.float64)
    return np.where(seen, y, 0).astype(np.float64), np.where(seen[..., np.newaxis], members, 0).astype(np.float64)
