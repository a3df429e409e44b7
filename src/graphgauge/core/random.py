"""Random numbers that stay the same: NumPy keeps the bits of PCG64 stable, but not what its generators make of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphgauge.core.types import Floats, Ints


class Random:
    """A stream of random numbers that belongs to a seed.

    Examples
    --------
    >>> Random(0).uniform(2).round(3).tolist()
    [0.637, 0.27]
    >>> sorted(Random(0).permutation(4).tolist())
    [0, 1, 2, 3]
    """

    def __init__(self, seed: int | Sequence[int]) -> None:
        self._bits = np.random.PCG64(seed)

    def uniform(self, *shape: int) -> Floats:
        """Numbers from 0 to below 1, each a multiple of 2⁻⁵³."""
        size = int(np.prod(shape, dtype=np.int64))
        raw = np.asarray(self._bits.random_raw(size)) >> np.uint64(11)
        return (raw.astype(np.float64) * 2.0**-53).reshape(shape)

    def exponential(self, *shape: int) -> Floats:
        """Waiting times with mean 1."""
        return -np.log1p(-self.uniform(*shape))

    def permutation(self, size: int) -> Ints:
        """The numbers below `size` in random order."""
        return np.argsort(self._bits.random_raw(size), kind="stable")
