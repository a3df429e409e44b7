"""Where the positives of candidate lists stand: what a metric over a whole list needs, without sorting the list.

A query's candidates are adjacent. Only its positives are sorted; the other candidates are compared with them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphgauge.kernels.dtypes import Scores, exact, working_dtype
from graphgauge.kernels.jit import kernel
from graphgauge.kernels.threads import BLOCK_WORK, map_blocks, row_blocks

Ints = NDArray[np.int64]

# Up to this many distinct positives, comparing all candidates with each is faster than searching for each candidate.
_COMPARE_ALL = 256
# The twin sorts all candidates, which costs this many comparisons for each.
_SORTED = 32
# Ids of other types are compared by NumPy.
_ID_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


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
    positive = positive.astype(np.int64)  # a copy, which is sorted
    ahead, tied = np.empty_like(positive), np.empty_like(positive)
    dtype = working_dtype(scores.dtype)
    work = np.concatenate(([0], np.cumsum(size * np.minimum(relevant, _COMPARE_ALL))))
    place = _place.implementation(_SORTED * int(size[relevant > 0].sum()))
    whole = exact(scores, dtype)

    def block_places(block: slice) -> None:
        own = slice(first[block.start], first[block.stop])
        queries = slice(block.start, block.stop)
        begins = first[block.start : block.stop + 1] - first[block.start]
        place(whole, positive[own], begins, begin[queries], size[queries], ahead[own], tied[own])

    map_blocks(block_places, _even_work(work), threads=threads)
    return Places(positive, ahead, tied)


def last_places(scores: Scores, begin: Ints, size: Ints, k: int, *, threads: int | None = None) -> Scores:
    """The k-th highest score of each query, or the lowest if it has fewer candidates; each must have one.

    >>> last_places(np.array([0.5, 0.9, 0.1]), np.array([0]), np.array([3]), 2)
    array([0.5])
    """
    found = np.empty(len(size), working_dtype(scores.dtype))
    whole = exact(scores, found.dtype)
    work = np.concatenate(([0], np.cumsum(size)))
    select = _last_place.implementation(4 * int(work[-1]))
    map_blocks(
        lambda block: select(whole, begin[block], size[block], k, found[block]), _even_work(4 * work), threads=threads
    )
    return found


def changes(ids: NDArray[Any], *, threads: int | None = None) -> Ints:
    """The rows at which the id differs from that of the row before; the first row is one.

    >>> changes(np.array([4, 4, 1, 1, 1, 4]))
    array([0, 2, 5])
    """
    if not len(ids):
        return np.empty(0, np.int64)
    find = _change.implementation(len(ids)) if ids.dtype in _ID_TYPES else _change.twin

    def block_changes(block: slice) -> Ints:
        last = min(block.stop + 1, len(ids))
        rows: Ints = find(ids[block.start : last]) + block.start
        return rows

    found = map_blocks(block_changes, row_blocks(len(ids), len(ids)), threads=threads)
    return np.concatenate([[0], *found])


def grouped(codes: Ints, queries: int) -> tuple[Ints, Ints]:
    """The order that brings the candidates of each query together, and how many each has; stable, without a sort.

    >>> grouped(np.array([1, 0, 1]), 2)
    (array([1, 0, 2]), array([1, 2]))
    """
    size = np.bincount(codes, minlength=queries)
    return _by_code.implementation(4 * len(codes))(codes, np.cumsum(size) - size), size


def _even_work(work: Ints) -> list[slice]:
    """Blocks of queries with about as much work each; they depend only on the input."""
    queries = len(work) - 1
    blocks = max(1, int(-(-work[-1] // (4 * BLOCK_WORK))))
    edges = np.unique(np.searchsorted(work, np.linspace(0, work[-1], blocks + 1)[1:-1]))
    edges = edges[(edges > 0) & (edges < queries)]
    bounds = [0, *edges.tolist(), queries]
    return [slice(start, stop) for start, stop in pairwise(bounds) if stop > start]


def _place_twin(scores: Scores, positive: Ints, first: Ints, begin: Ints, size: Ints, ahead: Ints, tied: Ints) -> None:
    """One sort of all candidates, by query and descending score."""
    asked = np.flatnonzero(np.diff(first))
    begin, size, relevant = begin[asked], size[asked], np.diff(first)[asked]
    start = np.cumsum(size) - size
    query = np.repeat(np.arange(len(asked)), size)
    candidate = np.arange(len(query)) + (begin - start)[query]
    order = np.argsort(scores[candidate])[::-1]
    order = order[np.argsort(query[order], kind="stable")]
    candidate, query = candidate[order], query[order]
    value = scores[candidate]
    change = np.flatnonzero((value[1:] != value[:-1]) | (query[1:] != query[:-1])) + 1
    run_start = np.concatenate(([0], change)) if len(value) else np.empty(0, np.int64)
    run_length = np.diff(np.append(run_start, len(value)))
    run = np.repeat(np.arange(len(run_start)), run_length)
    is_positive = np.zeros(len(scores), bool)
    is_positive[positive] = True
    chosen = np.flatnonzero(is_positive[candidate])
    # Positives with the same score keep the order of the input.
    chosen = chosen[np.lexsort((candidate[chosen], run[chosen]))]
    positive[:] = candidate[chosen]
    ahead[:] = run_start[run[chosen]] - np.repeat(start, relevant)
    tied[:] = run_length[run[chosen]]


@kernel(twin=_place_twin)
def _place(scores: Scores, positive: Ints, first: Ints, begin: Ints, size: Ints, ahead: Ints, tied: Ints) -> None:
    most = 0
    for query in range(size.size):
        most = max(most, first[query + 1] - first[query])
    # One allocation for all queries, of which there may be many short ones.
    all_levels = np.empty(most, scores.dtype)
    all_above, all_beside = np.empty(most, np.int64), np.empty(most, np.int64)
    for query in range(size.size):
        low, high = first[query], first[query + 1]
        count = high - low
        if count == 0:
            continue
        candidates = scores[begin[query] : begin[query] + size[query]]
        own = positive[low:high]
        if count <= 16:
            for i in range(1, count):  # by insertion: few, and positives with the same score keep their order
                moved = own[i]
                j = i
                while j > 0 and scores[own[j - 1]] < scores[moved]:
                    own[j] = own[j - 1]
                    j -= 1
                own[j] = moved
        else:
            # The reverse of a stable ascending order, taken over reversed input, is stable and descending.
            values = np.empty(count, scores.dtype)
            for i in range(count):
                values[i] = scores[own[count - 1 - i]]
            order = np.argsort(values, kind="mergesort")
            old = own.copy()
            for i in range(count):
                own[i] = old[count - 1 - order[count - 1 - i]]
        levels = all_levels[:count]
        level = -1
        for i in range(count):
            score = scores[own[i]]
            if level < 0 or score != levels[level]:
                level += 1
                levels[level] = score
        level += 1
        above, beside = all_above[:level], all_beside[:level]
        if level <= _COMPARE_ALL:
            done = 0
            while done + 4 <= level:  # four at a time, so that a candidate is loaded once for all of them
                a, b, c, d = levels[done], levels[done + 1], levels[done + 2], levels[done + 3]
                more_a, more_b, more_c, more_d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
                same_a, same_b, same_c, same_d = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
                for i in range(candidates.size):
                    score = candidates[i]
                    more_a = np.int32(more_a + (score > a))
                    more_b = np.int32(more_b + (score > b))
                    more_c = np.int32(more_c + (score > c))
                    more_d = np.int32(more_d + (score > d))
                    same_a = np.int32(same_a + (score == a))
                    same_b = np.int32(same_b + (score == b))
                    same_c = np.int32(same_c + (score == c))
                    same_d = np.int32(same_d + (score == d))
                above[done], above[done + 1], above[done + 2], above[done + 3] = more_a, more_b, more_c, more_d
                beside[done], beside[done + 1], beside[done + 2], beside[done + 3] = same_a, same_b, same_c, same_d
                done += 4
            for index in range(done, level):
                a = levels[index]
                more, same = np.int32(0), np.int32(0)
                for i in range(candidates.size):
                    score = candidates[i]
                    more = np.int32(more + (score > a))
                    same = np.int32(same + (score == a))
                above[index] = more
                beside[index] = same
        else:
            # Each candidate is counted at the first level that it reaches, and the counts are added up.
            reached = np.zeros(level + 1, np.int64)
            beside[:] = 0
            for i in range(candidates.size):
                score = candidates[i]
                left, length = 0, level
                while length > 0:  # levels fall: the number of levels above the score
                    half = length >> 1
                    if levels[left + half] > score:
                        left += half + 1
                        length -= half + 1
                    else:
                        length = half
                reached[left] += 1
                if left < level and levels[left] == score:
                    beside[left] += 1
            total = 0
            for index in range(level):
                total += reached[index]
                above[index] = total - beside[index]
        level = 0
        for i in range(count):
            if scores[own[i]] != levels[level]:
                level += 1
            ahead[low + i] = above[level]
            tied[low + i] = beside[level]


def _last_place_twin(scores: Scores, begin: Ints, size: Ints, k: int, found: Scores) -> None:
    for query, (start, length) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        place = max(length - k, 0)
        found[query] = np.partition(scores[start : start + length], place)[place]


@kernel(twin=_last_place_twin)
def _last_place(scores: Scores, begin: Ints, size: Ints, k: int, found: Scores) -> None:
    for query in range(size.size):
        candidates = scores[begin[query] : begin[query] + size[query]]
        count = min(k, candidates.size)
        best = np.sort(candidates[:count])  # ascending: the first is the one to beat
        for index in range(count, candidates.size):
            score = candidates[index]
            if score > best[0]:
                place = 1
                while place < count and best[place] < score:
                    best[place - 1] = best[place]
                    place += 1
                best[place - 1] = score
        found[query] = best[0]


def _change_twin(ids: NDArray[Any]) -> Ints:
    return np.flatnonzero(ids[1:] != ids[:-1]) + 1


@kernel(twin=_change_twin)
def _change(ids: NDArray[Any]) -> Ints:
    rows = ids.size
    found = np.empty(1024, np.int64)
    count = 0
    row = 1
    while row < rows:
        own = ids[row - 1]
        stop = min(row + 8, rows)
        while row < stop and ids[row] == own:
            row += 1
        if row == stop:  # a long stretch: most of it is passed without branches
            while row + 32 <= rows:
                part = ids[row : row + 32]
                differing = own ^ own
                for index in range(32):
                    differing |= part[index] ^ own
                if differing:
                    break
                row += 32
            while row < rows and ids[row] == own:
                row += 1
        if row < rows:
            if count == found.size:
                longer = np.empty(2 * count, np.int64)
                longer[:count] = found
                found = longer
            found[count] = row
            count += 1
            row += 1
    return found[:count].copy()


def _by_code_twin(codes: Ints, place: Ints) -> Ints:
    return np.argsort(codes, kind="stable")


@kernel(twin=_by_code_twin)
def _by_code(codes: Ints, place: Ints) -> Ints:
    order = np.empty(codes.size, np.int64)
    for index in range(codes.size):
        code = codes[index]
        order[place[code]] = index
        place[code] += 1
    return order
