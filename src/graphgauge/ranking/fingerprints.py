"""Hashes of the scores of queries: whether states that were saved from files have queries in common."""

from __future__ import annotations

import numpy as np

from graphgauge.core.arrays import AnyArray, Ints
from graphgauge.core.errors import InputError
from graphgauge.kernels.row_hashes import Hashes, bits_of, mixed, place_weights, row_sums

# Fewer equal queries may be a coincidence of coarse scores, even if none repeats within a state.
_FEWEST = 5
# Hashes that are kept at most.
MOST = 1 << 20
_MOST_BITS = 32


def query_hashes(pos: AnyArray, neg: AnyArray, offsets: Ints | None = None, *, threads: int | None = None) -> Hashes:
    """One hash of each query's scores, the positive's and its negatives' in their order."""
    if offsets is None:
        return mixed(bits_of(pos) + row_sums(neg, threads=threads))
    length = np.diff(offsets)
    places = np.arange(len(neg)) - np.repeat(offsets[:-1], length) + 1
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(bits_of(neg) * place_weights(places), dtype=np.uint64)])
    return mixed(bits_of(pos) + (total[offsets[1:]] - total[offsets[:-1]]) + length.astype(np.uint64))


class Fingerprints:
    """The hashes of queries that a state has counted; of states that were not made from files there are none.

    Of many queries only those hashes are kept that begin with `shift` zero bits: states have the same of them in
    common, in proportion.
    """

    def __init__(self, hashes: Hashes | None = None, shift: int = 0) -> None:
        self._parts = [] if hashes is None else [np.sort(hashes)]
        self.shift = shift

    def add(self, hashes: Hashes) -> None:
        kept = _thinned(hashes, self.shift)
        if len(kept):
            self._parts.append(np.sort(kept))
        while sum(map(len, self._parts)) > MOST and self.shift < _MOST_BITS:
            self.thin(self.shift + 1)

    def absorb(self, other: Fingerprints) -> None:
        """Add all of another state."""
        self.thin(max(self.shift, other.shift))
        self.add(other.all())

    def thin(self, shift: int) -> None:
        """Keep only hashes that begin with so many zero bits."""
        self._parts, self.shift = [_thinned(part, shift) for part in self._parts], shift

    def all(self) -> Hashes:
        """All hashes, sorted."""
        if len(self._parts) != 1:
            self._parts = [_merged(*self._parts)]
        return self._parts[0]

    def require_apart(self, other: Fingerprints) -> None:
        """Refuse states with more queries in common than coarse scores explain.

        How often different queries have equal scores is seen within each state; between two it must not be more often.
        """
        shift = max(self.shift, other.shift)
        mine, theirs = _thinned(self.all(), shift), _thinned(other.all(), shift)
        shared = len(both := _merged(_once(mine), _once(theirs))) - len(_runs(both))
        expected = max(_coincidence(mine), _coincidence(theirs)) * len(mine) * len(theirs)
        if shared >= _FEWEST and shared > 10 * expected:
            about = f"about {shared << shift:,}" if shift else f"{shared}"
            raise InputError(
                f"{about} queries have the same scores in both states: they would count twice",
                fix="Split the queries, and count each part once. Different queries with equal scores must be in one "
                "state.",
            )


def _merged(*parts: Hashes) -> Hashes:
    """Sorted hashes in one order; a stable sort merges runs that are sorted."""
    return np.sort(np.concatenate([np.empty(0, np.uint64), *parts]), kind="stable")


def _runs(ordered: Hashes) -> Ints:
    """How often each hash occurs."""
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else np.empty(0, int)
    return np.diff(starts, append=len(ordered))


def _thinned(hashes: Hashes, shift: int) -> Hashes:
    return hashes[hashes >> np.uint64(64 - shift) == 0] if shift else hashes


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
    counts = _runs(ordered).astype(float)
    return float((counts * (counts - 1)).sum()) / (n * (n - 1.0))
