"""Where the positives of candidate lists stand: what a metric over a whole list needs, without sorting the list.

A query's candidates are adjacent. Only its positives are sorted; the other candidates are placed among them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge import _core
from graphgauge.core.threads import threads_for
from graphgauge.kernels.dtypes import Scores, exact, working_dtype
from graphgauge.kernels.threads import map_blocks, row_blocks

Ints = NDArray[np.int64]


class Places(NamedTuple):
    """The positives of each query, best first: who they are, candidates with a higher score, and with the same."""

    positive: Ints
    ahead: Ints
    tied: Ints


def list_places(
    scores: Scores, positive: Ints, begin: Ints, size: Ints, relevant: Ints, *, threads: int | None = None
) -> Places:
    """Compare positives with the candidates of their query, `scores[begin[q]:begin[q] + size[q]]`.

    `positive` are the places of all positives in `scores`, `relevant[q]` of them for each query in turn. A score that
    is tied with a positive counts in `tied`, and so does the positive itself. There must be no NaN.

    >>> one = np.array([0])
    >>> list_places(np.array([0.5, 0.9, 0.5, 0.1]), np.array([3, 2]), one, np.array([4]), np.array([2]))
    Places(positive=array([2, 3]), ahead=array([1, 3]), tied=array([2, 1]))
    """
    first = np.concatenate(([0], np.cumsum(relevant)))
    whole = exact(scores, working_dtype(scores.dtype))
    spans = np.require(begin, None, ("C", "A")), np.require(size, None, ("C", "A"))
    places = _core.list_places(
        whole, *spans, np.require(positive, None, ("C", "A")), first, threads_for(scores.size, threads)
    )
    return Places(*places)


def last_places(scores: Scores, begin: Ints, size: Ints, k: int) -> Scores:
    """The k-th highest score of each query, or the lowest if it has fewer candidates; each must have one.

    >>> last_places(np.array([0.5, 0.9, 0.1]), np.array([0]), np.array([3]), 2)
    array([0.5])
    """
    whole = exact(scores, working_dtype(scores.dtype))
    found = np.empty(len(begin), whole.dtype)
    for query, (start, length) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        place = max(length - k, 0)
        found[query] = np.partition(whole[start : start + length], place)[place]
    return found


def changes(ids: NDArray[Any], *, threads: int | None = None) -> Ints:
    """The rows at which the id differs from that of the row before; the first row is one.

    >>> changes(np.array([4, 4, 1, 1, 1, 4]))
    array([0, 2, 5])
    """
    if not len(ids):
        return np.empty(0, np.int64)

    def block_changes(block: slice) -> Ints:
        last = min(block.stop + 1, len(ids))
        rows: Ints = np.flatnonzero(ids[block.start + 1 : last] != ids[block.start : last - 1]) + block.start + 1
        return rows

    found = map_blocks(block_changes, row_blocks(len(ids), len(ids)), threads=threads)
    return np.concatenate([[0], *found])


def grouped(codes: Ints, queries: int) -> tuple[Ints, Ints]:
    """The order that brings the candidates of each query together, and how many each has; stable.

    >>> grouped(np.array([1, 0, 1]), 2)
    (array([1, 0, 2]), array([1, 2]))
    """
    size = np.bincount(codes, minlength=queries)
    # Numbers of rows below the codes make all keys distinct: sorting them is faster than sorting places by code.
    bits = len(codes).bit_length()
    keys = (codes.astype(np.int64) << bits) | np.arange(len(codes))
    keys.sort()
    return keys & ((1 << bits) - 1), size
