"""The first items of each query, with all that tie for the last place: what is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphgauge.core.types import AnyArray, Floats, Ints
from graphgauge.ranking.sets import Sets


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
        query, item, score = query[order], item[order], score[order]
        place = np.arange(len(order))
        new_query = np.append(True, query[1:] != query[:-1])[: len(order)]
        new_run = new_query | np.append(True, score[1:] != score[:-1])[: len(order)]
        first = np.maximum.accumulate(np.where(new_run, place, 0))
        start = first - np.maximum.accumulate(np.where(new_query, place, 0))
        run = np.cumsum(new_run) - 1
        length = np.bincount(run)[run] if len(run) else run
        kept = start < k
        return cls(query[kept], item[kept], start[kept], length[kept], candidates)


def entries(
    scores: AnyArray, left_out: Sets, allowed: Sets | None, k: int, slack: Floats | float = 0.0
) -> tuple[Ints, Ints]:
    """Row and column of scores at or above the k-th of their row, or less by twice `slack`, among the candidates."""
    block = np.array(scores, np.float64 if scores.dtype.kind != "f" or scores.dtype.itemsize == 8 else np.float32)
    block[left_out.rows, left_out.values] = -np.inf
    if allowed is not None:
        outside = np.ones(block.shape, bool)
        outside[allowed.rows, allowed.values] = False
        block[outside] = -np.inf
    rows, width = block.shape
    if not rows or not width:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    place = max(width - k, 0)
    kth = np.partition(block, place, axis=1)[:, place]
    least = kth.astype(np.float64) - 2 * np.broadcast_to(slack, rows)
    row, column = np.divmod(np.flatnonzero(block >= least[:, None]), width)
    kept = ~left_out.contain(row, column)
    if allowed is not None:
        kept &= allowed.contain(row, column)
    return row[kept], column[kept]
