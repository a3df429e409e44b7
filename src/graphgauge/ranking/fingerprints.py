"""Hashes of the scores of queries: whether states that were saved from files have queries in common."""

from __future__ import annotations

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError
from graphgauge.kernels.row_hashes import Hashes, bits_of, mixed, place_weights, row_sums

# Fewer equal queries may be a coincidence of coarse scores, even if none repeats within a state.
_FEWEST = 5


def query_hashes(pos: AnyArray, neg: AnyArray, offsets: Ints | None = None, *, threads: int | None = None) -> Hashes:
    """One hash of each query's scores, the positive's and its negatives' in their order."""
    if offsets is None:
        return mixed(bits_of(pos) + row_sums(neg, threads=threads))
    length = np.diff(offsets)
    places = np.arange(len(neg)) - np.repeat(offsets[:-1], length) + 1
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits_of(neg) * place_weights(places), dtype=np.uint64)])
    return mixed(bits_of(pos) + (total[offsets[1:]] - total[offsets[:-1]]) + length.astype(np.uint64))


class Fingerprints:
    """The hashes of queries that a state has counted; of states that were not made from files there are none."""

    def __init__(self, hashes: Hashes | None = None) -> None:
        self._parts = [] if hashes is None else [np.sort(hashes)]

    def add(self, hashes: Hashes) -> None:
        if len(hashes):
            self._parts.append(np.sort(hashes))

    def all(self) -> Hashes:
        return np.sort(np.concatenate([np.empty(0, np.uint64), *self._parts]))

    def require_apart(self, other: Fingerprints) -> None:
        """Refuse states with more queries in common than coarse scores explain.

        How often different queries have equal scores is seen within each state; between two it must not be more often.
        """
        mine, theirs = self.all(), other.all()
        shared = len(np.intersect1d(_once(mine), _once(theirs), assume_unique=True))
        expected = max(_coincidence(mine), _coincidence(theirs)) * len(mine) * len(theirs)
        if shared >= _FEWEST and shared > 10 * expected:
            raise InputError(
                f"{shared} queries have the same scores in both states: they would count twice",
                fix="Split the queries, and count each part once. Different queries with equal scores must be in one "
                "state.",
            )


def _once(ordered: Hashes) -> Hashes:
    """The hashes that occur once."""
    change = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]) if len(ordered) else np.ones(1, bool)
    found: Hashes = ordered[change[:-1] & change[1:]]
    return found


def _coincidence(ordered: Hashes) -> float:
    """The share of pairs of queries with equal hashes."""
    n = len(ordered)
    if n < 2:
        return 0.0
    counts = np.unique(ordered, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1)).sum()) / (n * (n - 1.0))
