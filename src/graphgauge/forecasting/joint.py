"""Joint forecasts: the observed nodes of a time step and horizon as one vector.

Each score comes with that of the same members after those of every node were rotated by an offset of their own: as good
node by node, without dependence between them. The difference is what the dependence contributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.metric import Estimate
from graphgauge.core.types import AnyArray, Floats, Ints, Mask
from graphgauge.forecasting.sample import Sample
from graphgauge.forecasting.sums import Cells, Span, Table, grouped

# Squared distances below this share of the squared lengths have lost half their digits.
_NEAR = 2.0**-26
# Constants of splitmix64, which makes offsets of positions.
_GOLDEN, _MIX, _MIX_AGAIN = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# Numbers that are scored at once.
_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Vectors(Cells):
    """The scores of vectors, by horizon or over all."""

    def gain(self, name: str, reason: str) -> Estimate:
        """One less the score over that without dependence."""
        count, base = self.count(f"{name}_n"), self.total(f"{name}_shuffled")
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(base > 0, self.total(name) / base, np.nan)
            influence = -(self.series(name) - ratio * self.series(f"{name}_shuffled")) / base
        why = reason if not count.any() else "the members are all equal to the truth"
        return Estimate(1 - ratio, count, influence, reason=why, facts={"over": self.series(f"{name}_n")})


def joint_table(sample: Sample, *, first: int = 0, edges: Ints | None = None) -> Table:
    """Energy scores, and variogram scores over edges, by time block and horizon."""
    steps, horizons, nodes = sample.shape
    assert sample.members is not None
    span = Span.of(sample.shape, first)
    names = [f"{name}{part}" for name in ("energy", "variogram") for part in ("", "_shuffled", "_n")]
    columns = {name: np.zeros(steps * horizons) for name in ("n", *names)}
    together = max(1, _AT_ONCE // max(1, horizons * nodes * sample.members.shape[-1]))
    for start in range(0, steps if nodes > 1 else 0, together):
        part = sample.steps(slice(start, start + together))
        some = slice(start * horizons, (start + len(part.y)) * horizons)
        for name, values in _scores(part, (first + start) * horizons, edges).items():
            columns[name][some] = values
    columns["n"] = columns["energy_n"]
    step, horizon = np.divmod(np.arange(steps * horizons), max(horizons, 1))
    return grouped(columns, (step + first) >> span.shift, horizon, horizons, span.shift, span.most)


def _scores(part: Sample, position: int, edges: Ints | None) -> dict[str, Floats]:
    """The scores of each vector, 0 where there is none, and whether there is one."""
    assert part.members is not None
    vectors = part.shape[0] * part.shape[1]
    y, members = part.y.reshape(vectors, -1), part.members.reshape(vectors, part.shape[2], -1)
    seen = np.ones(y.shape, np.bool_) if part.mask is None else part.mask.reshape(y.shape)
    y, members = np.where(seen, y, 0).astype(np.float64), np.where(seen[..., None], members, 0).astype(np.float64)
    places = (np.arange(members.shape[2]) + offsets(position, *members.shape)[..., np.newaxis]) % members.shape[2]
    several = seen.sum(axis=1) >= 2
    columns: dict[str, AnyArray] = {"energy_n": several}
    for suffix, cloud in (("", members), ("_shuffled", np.take_along_axis(members, places, 2))):
        columns[f"energy{suffix}"] = np.where(several, _energy(y, cloud), 0.0)
        if edges is not None:
            scores = _variogram(y, cloud, seen, edges)
            columns["variogram_n"] = ~np.isnan(scores)
            columns[f"variogram{suffix}"] = np.where(np.isnan(scores), 0.0, scores)
    return columns


def _energy(y: Floats, cloud: Floats) -> Floats:
    """The energy score of members (vector, node, member): mean distance to the truth less half that of two members.

    Distances of members are products of matrices, less their mean; those that lose digits are computed again.
    """
    away = np.sqrt(np.square(cloud - y[..., np.newaxis]).sum(1)).mean(-1)
    centred = cloud - cloud.mean(-1, keepdims=True)
    products = centred.swapaxes(1, 2) @ centred
    lengths = np.einsum("vii->vi", products)
    both = lengths[:, :, np.newaxis] + lengths[:, np.newaxis]
    squares = both - 2 * products
    vector, one, other = np.nonzero(squares <= _NEAR * both)
    squares[vector, one, other] = np.square(cloud[vector, :, one] - cloud[vector, :, other]).sum(-1)
    return np.asarray(away - np.sqrt(squares).mean((1, 2)) / 2)


def _variogram(y: Floats, cloud: Floats, seen: Mask, edges: Ints) -> Floats:
    """The variogram score of each vector, mean over the edges whose nodes are both observed; NaN without one.

    Per edge the squared difference of abs(y_i − y_j)^½ and its mean over members. Vector by vector, so that the gaps
    of all edges stay in the cache.
    """
    scores, (one, other) = np.full(len(y), np.nan), edges.T
    for vector in range(len(y)):
        used = seen[vector, one] & seen[vector, other]
        if used.any():
            truth, members, i, j = y[vector], cloud[vector], one[used], other[used]
            gaps = np.sqrt(np.abs(members[i] - members[j])).mean(-1)
            scores[vector] = np.square(np.sqrt(np.abs(truth[i] - truth[j])) - gaps).mean()
    return scores


def offsets(first: int, vectors: int, components: int, members: int) -> Ints:
    """How far the members of each component are rotated: pseudo-random, from the position alone (splitmix64)."""
    with np.errstate(over="ignore"):
        place = (np.arange(vectors, dtype=np.uint64) + np.uint64(first))[:, np.newaxis] * np.uint64(components)
        state: Any = (place + np.arange(components, dtype=np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(_MIX)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(_MIX_AGAIN)
        return np.asarray(((state ^ (state >> np.uint64(31))) >> np.uint64(11)).astype(np.int64) % members)
