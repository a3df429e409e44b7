"""The energy test: do two samples come from one distribution (Székely and Rizzo 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphgauge.core.errors import InputError
from graphgauge.generation.permuted import at_most, kernel_sums, p_value, two_samples
from graphgauge.kernels.euclidean import Points, tiles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EnergyTest:
    """The energy distance 2E‖X − Y‖ − E‖X − X'‖ − E‖Y − Y'‖, and what it is when members are exchanged at random.

    `n` is how many items of either side were compared.
    """

    distance: float
    p_value: float
    null: Floats
    n: tuple[int, int]

    @property
    def weight(self) -> float:
        """n·m/(n + m): the distance times this has a limit when nothing differs."""
        return self.n[0] * self.n[1] / sum(self.n)


def energy_test(
    x: Floats, y: Floats, *, permutations: int, generator: np.random.Generator, most: int = 2000
) -> EnergyTest:
    """Compare rows of x with rows of y by Euclidean distance; of either side at most `most` rows, drawn at random."""
    two_samples(x, y)
    x, y = at_most(x, most, generator), at_most(y, most, generator)
    n, m = len(x), len(y)
    cloud = Points.of(np.concatenate([x, y]))

    def strip(rows: slice) -> Floats:
        return np.concatenate([cloud.distances(rows, columns) for columns in tiles(0, n + m)], axis=1)

    sums = kernel_sums(strip, n, m, permutations, generator)
    values = cloud.unit * (2 * sums.across / (n * m) - sums.first / n**2 - sums.second / m**2)
    return _test(values, (n, m))


def stratified(tests: Sequence[EnergyTest]) -> EnergyTest:
    """One test over conditions: the mean of their distances by weight, members exchanged within a condition only."""
    if len({len(test.null) for test in tests}) != 1:
        raise InputError("expected at least one test, all with as many permutations", where="tests")
    weights = np.array([test.weight for test in tests]) / sum(test.weight for test in tests)
    values = weights @ np.array([np.append(test.distance, test.null) for test in tests])
    return _test(values, (sum(test.n[0] for test in tests), sum(test.n[1] for test in tests)))


def _test(values: Floats, n: tuple[int, int]) -> EnergyTest:
    # Not negative but for rounding.
    values = np.maximum(values, 0.0)
    return EnergyTest(float(values[0]), p_value(float(values[0]), values[1:]), values[1:], n)
