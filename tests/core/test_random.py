"""Random numbers that stay the same across versions of NumPy."""

from __future__ import annotations

import numpy as np

from graphgauge.core.random import Random


def test_numbers_are_those_of_the_bits() -> None:
    # What PCG64 with seed 0 gives, by its definition (O'Neill 2014): 53 bits of each raw number.
    raw = np.random.PCG64(0).random_raw(6)
    assert Random(0).uniform(2, 3).ravel().tolist() == [int(bits >> np.uint64(11)) / 2**53 for bits in raw]
    stream = Random(0)
    assert np.concatenate([stream.uniform(2), stream.uniform(4)]).tolist() == Random(0).uniform(6).tolist()
    assert Random(0).uniform(0, 3).shape == (0, 3)


def test_waiting_times_and_permutations() -> None:
    times = Random([1, 2]).exponential(20_000)
    assert abs(times.mean() - 1) < 0.03
    assert times.min() >= 0
    assert np.isfinite(times).all()
    orders = {tuple(Random(seed).permutation(3).tolist()) for seed in range(60)}
    assert len(orders) == 6
