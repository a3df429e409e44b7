"""CRPS of ensembles, whose members are sorted."""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import AnyArray, Floats
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.threads import map_blocks, row_blocks


def ensemble_crps(y: AnyArray, samples: AnyArray, *, fair: bool = False, threads: int | None = None) -> Floats:
    """The CRPS of each ensemble in `samples` (n, members) for the truths `y` (n,).

    The mean distance of a member to the truth less half the mean distance of two members: over all pairs of draws,
    or with `fair` over pairs of different members, for members that are a random sample (Ferro 2014).
    NaN for fair scores of a single member.

    >>> y, samples = np.array([1.0]), np.array([[0.0, 2.0]])
    >>> ensemble_crps(y, samples), ensemble_crps(y, samples, fair=True)
    (array([0.5]), array([0.]))
    """
    return ensemble_scores(y, samples, threads=threads)[int(fair)]


def ensemble_scores(y: AnyArray, samples: AnyArray, *, threads: int | None = None) -> tuple[Floats, Floats]:
    """The CRPS of the members' distribution, and the fair one, of each ensemble; see `ensemble_crps`."""
    y, samples = np.asarray(y), np.asarray(samples)
    if y.ndim != 1 or samples.ndim != 2 or len(y) != len(samples) or not samples.shape[1]:
        raise ValueError(f"truths (n,) and samples (n, members) expected, not {y.shape} and {samples.shape}")
    members = samples.shape[1]
    dtype = np.result_type(samples.dtype, np.float32)
    away, apart = np.empty(len(y)), np.empty(len(y))
    # In the sum of the distances of all pairs, a member counts by how many are below it less how many are above.
    place = 2.0 * np.arange(members) - (members - 1)

    def block_scores(block: slice) -> None:
        distance = np.sort(exact(samples[block], dtype), axis=1) - y[block, np.newaxis].astype(np.float64)
        apart[block] = distance @ place
        away[block] = np.abs(distance, out=distance) @ np.ones(members)

    map_blocks(block_scores, row_blocks(len(y), samples.size * 8), threads=threads)
    away /= members
    fair_pairs = members * (members - 1) if members > 1 else np.nan
    return away - apart * (1.0 / (members * members)), away - apart * (1.0 / fair_pairs)
