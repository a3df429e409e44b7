"""Standard errors of what was measured over time, where neighbours in time err together."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Fewer blocks say too little of how slowly errors move.
FEWEST = 8


def frequencies(blocks: int) -> int:
    """How many of the slowest cosines are taken: .41·blocks^(2/3), the choice of Lazarus et al. (2018)."""
    return max(2, round(0.41 * math.pow(blocks, 2 / 3)))


def cosine_error(influence: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Standard error and degrees of freedom of an estimate, from what each block (row) adds to its error.

    The long-run variance is the mean square of the slowest cosine transforms of the influences; whatever moves faster
    is noise to a mean. Each transform is nearly independent and normal, so the error has as many degrees of freedom,
    and Student's t is exact in the limit.
    """
    blocks = len(influence)
    count = frequencies(blocks)
    if blocks < FEWEST:
        nothing = np.full(influence.shape[1:], np.nan)
        return nothing, np.zeros(influence.shape[1:])
    wave = np.cos(np.pi * np.outer(np.arange(1, count + 1), np.arange(blocks) + 0.5) / blocks)
    variance = 2 * np.square(np.tensordot(wave, influence, axes=1)).mean(axis=0)
    return np.sqrt(variance), np.full(influence.shape[1:], float(count))
