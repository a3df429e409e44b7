"""The first items of each query, with all that tie for the last place: what is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints, Mask


@dataclass(frozen=True, eq=False)
class TopItems:
    """Items among the first of a query: each is in a run of `length` equal scores after `start` better candidates.

    One of the places of its run is an item's, all being as likely. `candidates` are those of each query.
    """

    query: Ints
    item: Ints
    start: Ints
    length: Ints
    candidates: Ints

    @staticmethod
    def join(parts: Sequence[TopItems]) -> TopItems:
        """The queries of several parts, one after the other."""
        starts = np.cumsum([0] + [len(part.candidates) for part in parts[:-1]])
        nothing = np.empty(0, np.int64)
        columns = {
            name: np.concatenate([nothing, *(getattr(part, name) for part in parts)])
            for name in ("item", "start", "length", "candidates")
        }
        query = [part.query + start for part, start in zip(parts, starts, strict=False)]
        return TopItems(query=np.concatenate([nothing, *query]), **columns)

    @classmethod
    def placed(cls, query: Ints, item: Ints, score: Floats, candidates: Ints, k: int) -> TopItems:
        """From entries that include all candidates of the first k places: those that can be among them."""
        order = np.lexsort((item, -score, query))
        query, item = query[order], item[order]
        run, _, size, start = runs_of(query, score[order])
        start, length = start[run], size[run]
        kept = start < k
        return cls(query[kept], item[kept], start[kept], length[kept], candidates)


def runs_of(row: Ints, score: AnyArray) -> tuple[Ints, Ints, Ints, Ints]:
    """Runs of equal scores, of entries in order of their row and then score.

    The run of each entry; the first entry of each run, its size, and how many entries of its row are before it.
    """
    new = np.ones(len(row), bool)
    new[1:] = (row[1:] != row[:-1]) | (score[1:] != score[:-1])
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(row)))
    return np.cumsum(new) - 1, first, size, first - np.searchsorted(row, row[first])


def entries(scores: AnyArray, candidates: Mask, k: int, slack: Floats | float = 0.0) -> tuple[Ints, Ints]:
    """Row and column of candidates whose score is at least the k-th best of their row, or less by twice `slack`."""
    block = np.array(scores, np.float64 if scores.dtype.kind != "f" or scores.dtype.itemsize == 8 else np.float32)
    block[~candidates] = -np.inf
    rows, width = block.shape
    if not rows or not width:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = max(width - k, 0)
    kth = np.partition(block, place, axis=1)[:, place]
    least = kth.astype(np.float64) - 2 * np.broadcast_to(slack, rows)
    row, column = np.nonzero((block >= least[:, None]) & candidates)
    return row, column
