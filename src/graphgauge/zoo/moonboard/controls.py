"""Generators with one known defect each, to test which metric detects it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphgauge.zoo.moonboard.board import SHAPE
from graphgauge.zoo.moonboard.problems import Problems
from graphgauge.zoo.moonboard.subject import Moonboard

Samples = NDArray[Any]


class Copies(Moonboard):
    """Returns problems from the training set."""

    def __init__(self, *args: Any, train: Problems, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._train = train

    def generate(self, condition: int, n: int, *, temperature: float = 1.0, seed: int = 0) -> Samples:
        known = np.flatnonzero(self._train.labels == condition)
        chosen = np.random.default_rng(seed).permutation(known)
        grids: Samples = self._train.grids[np.resize(chosen, n)]
        return grids


class Collapses(Moonboard):
    """Returns the same few problems again and again."""

    few = 3

    def generate(self, condition: int, n: int, *, temperature: float = 1.0, seed: int = 0) -> Samples:
        # One seed for all batches, so that the problems stay the same.
        made = super().generate(condition, self.few, temperature=temperature, seed=0)
        return made[np.arange(n) % self.few]


class IgnoresGrade(Moonboard):
    """Ignores the requested grade."""

    def generate(self, condition: int, n: int, *, temperature: float = 1.0, seed: int = 0) -> Samples:
        draw = np.random.default_rng([seed, condition])
        counts = draw.multinomial(n, np.full(len(self.conditions), 1 / len(self.conditions)))
        parts = [
            super(IgnoresGrade, self).generate(code, int(count), temperature=temperature, seed=seed)
            for code, count in enumerate(counts)
        ]
        return draw.permutation(np.concatenate(parts))


class ShufflesHolds(Moonboard):
    """Keeps the number of holds of each kind, and places them at random."""

    def generate(self, condition: int, n: int, *, temperature: float = 1.0, seed: int = 0) -> Samples:
        draw = np.random.default_rng([seed, condition])
        cells = (super().generate(condition, n, temperature=temperature, seed=seed) > 0.5).reshape(n, SHAPE[0], -1)
        order = draw.random((n, 1, cells.shape[2])).argsort(axis=2)
        return np.take_along_axis(cells, order, axis=2).reshape(n, *SHAPE)
