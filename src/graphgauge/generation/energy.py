"""The energy test of whether two samples come from one distribution (Székely and Rizzo 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge.core.arrays import Floats
from graphgauge.core.errors import InputError
from graphgauge.generation.permuted import at_most, kernel_sums, p_value, two_samples
from graphgauge.kernels.euclidean import Points, tiles


@dataclass(frozen=True)
class EnergyTest:
    """The energy distance 2E‖X − Y‖ − E‖X − X'‖ − E‖Y − Y'‖, and its distribution under random permutations.

    `n` are the numbers of items compared on either side.
    """

    distance: float
    p_value: float
    null: Floats
    n: tuple[int, int]

    @property
    def weight(self) -> float:
        """n·m/(n + m): the distance times this has a limit under the null hypothesis."""
        return self.n[0] * self.n[1] / sum(self.n)


def energy_test(
    x: Floats, y: Floats, *, permutations: int, generator: np.random.Generator, most: int = 2000
) -> EnergyTest:
    """Compare rows of x with rows of y by Euclidean distance; at most `most` rows per side, drawn at random."""
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
    """One test over conditions: the weighted mean of their distances, with permutations within conditions."""
    if len({len(test.null) for test in tests}) != 1:
        raise InputError("expected at least one test, all with the same number of permutations", where="tests")
    weights = np.array([test.weight for test in tests]) / sum(test.weight for test in tests)
    values = weights @ np.array([np.append(test.distance, test.null) for test in tests])
    return _test(values, (sum(test.n[0] for test in tests), sum(test.n[1] for test in tests)))


def _test(values: Floats, n: tuple[int, int]) -> EnergyTest:
    # Only negative by rounding.
    values = np.maximum(values, 0.0)
    return EnergyTest(float(values[0]), p_value(float(values[0]), values[1:]), values[1:], n)
