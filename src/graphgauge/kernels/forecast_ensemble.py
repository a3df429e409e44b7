"""CRPS of ensembles: many of them sorted at once, member by member, without a branch."""

from __future__ import annotations

import numpy as np

from graphgauge.core.types import AnyArray, Floats
from graphgauge.kernels.dtypes import exact
from graphgauge.kernels.jit import kernel
from graphgauge.kernels.threads import map_blocks, row_blocks

# Ensembles that are sorted together: each step of the sorting network is a few vector instructions for all of them.
_LANES = 64


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
    # Sorting takes about log2(members)**2 / 2 comparisons per member.
    score = _score.implementation(samples.size * 8)

    def block_scores(block: slice) -> None:
        score(y[block].astype(np.float64), exact(samples[block], dtype), away[block], apart[block])

    map_blocks(block_scores, row_blocks(len(y), samples.size * 8), threads=threads)
    away /= members
    fair_pairs = members * (members - 1) if members > 1 else np.nan
    return away - apart * (1.0 / (members * members)), away - apart * (1.0 / fair_pairs)


def _score_twin(y: Floats, samples: AnyArray, away: Floats, apart: Floats) -> None:
    members = samples.shape[1]
    distance = np.sort(samples, axis=1).astype(np.float64) - y[:, None]
    away[:], apart[:] = 0.0, 0.0
    for member in range(members):
        away += np.abs(distance[:, member])
        apart += (2 * member - (members - 1)) * distance[:, member]


@kernel(twin=_score_twin)
def _score(y: Floats, samples: AnyArray, away: Floats, apart: Floats) -> None:
    """The summed distance of the members to the truth, and half the summed distance of all ordered pairs of members."""
    members = samples.shape[1]
    lanes = np.zeros((members, _LANES), samples.dtype)
    truth, distances, gaps = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
    longest = 1
    while 2 * longest < members:
        longest *= 2
    for start in range(0, samples.shape[0], _LANES):
        width = min(_LANES, samples.shape[0] - start)
        for lane in range(width):
            truth[lane] = y[start + lane]
            for member in range(members):
                lanes[member, lane] = samples[start + lane, member]
        # Batcher's merge exchange (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M).
        run = longest if members > 1 else 0
        while run > 0:
            limit, phase, gap = longest, 0, run
            while gap > 0:
                for member in range(members - gap):
                    if member & run == phase:
                        for lane in range(_LANES):
                            a, b = lanes[member, lane], lanes[member + gap, lane]
                            lanes[member, lane] = a if a < b else b
                            lanes[member + gap, lane] = b if a < b else a
                gap, phase = limit - run, run
                limit >>= 1
            run >>= 1
        distances[:] = 0.0
        gaps[:] = 0.0
        for member in range(members):
            place = np.float64(2 * member - (members - 1))
            for lane in range(_LANES):
                distance = np.float64(lanes[member, lane]) - truth[lane]
                distances[lane] += abs(distance)
                gaps[lane] += place * distance
        for lane in range(width):
            away[start + lane] = distances[lane]
            apart[start + lane] = gaps[lane]
