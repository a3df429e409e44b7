"""Which of two collections the nearest neighbours of samples are from: training samples, or real held-out ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphgauge.core.arrays import Floats, Ints
from graphgauge.generation.graph_mmd import cityblock
from graphgauge.generation.graph_reading import Words
from graphgauge.generation.graphs import Graphs
from graphgauge.generation.inputs import Samples
from graphgauge.generation.isomorphism import colour_counts, without_an_edge
from graphgauge.generation.levels import MOST
from graphgauge.generation.two_sample import squared_distances


class RowPoints:
    """Rows of numbers, whose distance is the squared Euclidean one: of bits, the number of those that differ."""

    def __init__(self, rows: Floats) -> None:
        self._rows = rows

    @classmethod
    def of(cls, samples: Any) -> RowPoints:
        return cls(samples.reshape(len(samples), int(np.prod(samples.shape[1:]))).astype(np.float64))

    def __len__(self) -> int:
        return len(self._rows)

    def take(self, rows: Ints) -> RowPoints:
        return RowPoints(self._rows[rows])

    def joined(self, other: RowPoints) -> RowPoints:
        return RowPoints(np.concatenate([self._rows, other._rows]))

    def distances(self, others: RowPoints) -> Floats:
        return squared_distances(self._rows, others._rows)


class GraphPoints:
    """Graphs, whose distance is that of counts of colours; graphs that differ by one edge are nearer than all others.

    Two graphs differ by one edge, removed, added or moved, if one of them, or one of them without an edge, equals the
    other, or the other without an edge.
    """

    def __init__(self, counts: Floats, owner: Ints, words: Words) -> None:
        self._counts, self._owner, self._words = counts, owner, words

    @classmethod
    def of(cls, graphs: Graphs) -> GraphPoints:
        return cls(colour_counts(graphs), *without_an_edge(graphs))

    def __len__(self) -> int:
        return len(self._counts)

    def take(self, rows: Ints) -> GraphPoints:
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        kept = place[self._owner] >= 0
        return GraphPoints(self._counts[rows], place[self._owner[kept]], self._words[kept])

    def joined(self, other: GraphPoints) -> GraphPoints:
        return GraphPoints(
            np.concatenate([self._counts, other._counts]),
            np.concatenate([self._owner, len(self) + other._owner]),
            np.concatenate([self._words, other._words]),
        )

    def distances(self, others: GraphPoints) -> Floats:
        from scipy.sparse import csr_array

        far = cityblock(self._counts, others._counts)
        words, place = np.unique(np.concatenate([self._words, others._words]), return_inverse=True)
        has, other_has = (
            csr_array((np.ones(len(owner)), (owner, own)), shape=(size, len(words)))
            for owner, own, size in (
                (self._owner, place[: len(self._words)], len(self)),
                (others._owner, place[len(self._words) :], len(others)),
            )
        )
        near = (has @ other_has.T).tocoo()
        far[near.row, near.col] -= 1 + far.max(initial=0.0)
        return far


Points = Any  # RowPoints or GraphPoints, the same on all sides


def as_points(samples: Samples) -> Points:
    return GraphPoints.of(samples) if isinstance(samples, Graphs) else RowPoints.of(samples)


@dataclass(frozen=True)
class Nearest:
    """The share of generated samples whose nearest neighbour is a training sample, among training and real samples.

    Ties share their weight. `drawn` are draws of the reference generators.
    """

    share: float
    n: int
    drawn: Mapping[str, Floats]

    @classmethod
    def of(
        cls, own: Points, train: Points, real: Points, near: Points | None, generator: np.random.Generator, draws: int
    ) -> Nearest:
        train, real = (_at_most(part, 5 * MOST, generator) for part in (train, real))
        own = _at_most(own, MOST, generator)
        pool = train.joined(real)

        def weights(points: Points) -> Floats:
            """How much of each point's nearest neighbour each of the pool is."""
            distances = points.distances(pool)
            nearest = distances == distances.min(axis=1, keepdims=True)
            return np.asarray(nearest / nearest.sum(axis=1, keepdims=True))

        counts = weights(own).sum(0)
        dealt = np.array(
            [counts[generator.choice(len(pool), len(train), replace=False)].sum() for _ in range(draws)]
        ) / len(own)
        drawn = {"perfect": dealt}
        if near is not None:
            shares = weights(_at_most(near, MOST, generator))[:, : len(train)].sum(1)
            drawn["near_copy"] = np.array([generator.choice(shares, len(own)).mean() for _ in range(draws)])
        return cls(float(counts[: len(train)].sum() / len(own)), len(own), drawn)


def _at_most(points: Points, most: int, generator: np.random.Generator) -> Points:
    if len(points) <= most:
        return points
    return points.take(np.sort(generator.choice(len(points), most, replace=False)))
