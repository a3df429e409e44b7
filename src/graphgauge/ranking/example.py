"""Samples on which a metric of a user's script is tried when it is declared."""

from __future__ import annotations

import numpy as np

from graphgauge.ranking.counts import Counts
from graphgauge.ranking.samples import Lists, Pooled, Ranks, Sample

_RANKS = Counts.from_ranks(
    np.array([0, 2, 5, 1, 0, 9, 3, 4]), np.array([0, 1, 0, 2, 3, 0, 0, 1]), np.array([10, 10, 10, 10, 10, 10, 6, 6])
)
_LISTS = Counts(
    above=np.array([0, 3, 1, 0, 4, 2]),
    beside=np.array([0, 1, 1, 1, 0, 0]),
    positives=np.array([1, 1, 2, 1, 1, 1]),
    candidates=np.array([6, 8, 7, 5]),
    relevant=np.array([2, 2, 2, 1]),
    owner=np.array([0, 0, 1, 2, 2, 3]),
    lists=True,
)
SAMPLES = {
    "ranks": Ranks.of(_RANKS),
    "lists": Lists.of(_LISTS),
    "pooled": Pooled(np.array([0.9, 0.4, 0.7]), np.array([0.8, 0.4, 0.3, 0.1])),
}


def _permuted(sample: Sample | Pooled) -> Sample | Pooled:
    """The same queries, backwards."""
    if isinstance(sample, Pooled):
        return Pooled(sample.pos[::-1], sample.neg[::-1])
    kind, counts = (Lists, _LISTS) if isinstance(sample, Lists) else (Ranks, _RANKS)
    return kind.of(counts.take(np.arange(len(counts.candidates))[::-1]), sample.ties)


LAWS = {"permutation": _permuted}
