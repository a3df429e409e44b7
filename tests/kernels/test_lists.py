"""Places of positives in candidate lists: against counting one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphgauge.kernels import lists

DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint64, np.float16, np.int8, np.bool_]


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Queries of different lengths in any order, with few distinct scores; some without a positive."""
    sizes = np.array(draw(st.lists(st.integers(1, 40), min_size=1, max_size=6)))
    dtype = draw(st.sampled_from(DTYPES))
    levels = draw(st.sampled_from([2, 5, 100]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores = rng.integers(0, levels, sizes.sum()).astype(dtype)
    labels = rng.random(len(scores)) < draw(st.sampled_from([0.05, 0.3, 1.0]))
    begin = np.cumsum(sizes) - sizes
    order = rng.permutation(len(sizes))
    positive = [start + np.flatnonzero(labels[start : start + size]) for start, size in zip(begin, sizes, strict=True)]
    own = [positive[query] for query in order]
    return scores, np.concatenate(own), begin[order], sizes[order], np.array([len(each) for each in own])


@given(batches())
def test_places_are_those_of_counting(batch: tuple[np.ndarray, ...]) -> None:
    scores, positive, begin, size, relevant = batch
    first = np.concatenate(([0], np.cumsum(relevant)))
    wanted = []
    for query, (start, length) in enumerate(zip(begin, size, strict=True)):
        candidates = scores[start : start + length]
        for index in sorted(positive[first[query] : first[query + 1]], key=lambda index: -float(scores[index])):
            wanted.append((index, int((candidates > scores[index]).sum()), int((candidates == scores[index]).sum())))
    found = lists.list_places(scores, positive, begin, size, relevant)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == wanted


@pytest.mark.parametrize("positives", [1, 7, 40, 600])
def test_long_lists(positives: int) -> None:
    rng = np.random.default_rng(positives)
    scores = rng.integers(0, 3000, 4 * 5000).astype(np.float32)
    begin, size = np.arange(4) * 5000, np.full(4, 5000)
    positive = np.concatenate([start + np.sort(rng.choice(5000, positives, replace=False)) for start in begin])
    found = lists.list_places(scores, positive, begin, size, np.full(4, positives))
    query = found.positive // 5000
    for index in range(0, len(positive), 37):
        candidates, own = scores[begin[query[index]] :][:5000], scores[found.positive[index]]
        assert found.ahead[index] == (candidates > own).sum()
        assert found.tied[index] == (candidates == own).sum()


@given(st.lists(st.integers(0, 5), max_size=30))
def test_candidates_are_brought_together_in_order(codes: list[int]) -> None:
    order, size = lists.grouped(np.array(codes, np.int64), 6)
    assert order.tolist() == sorted(range(len(codes)), key=lambda row: codes[row])
    assert size.tolist() == [codes.count(code) for code in range(6)]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=50), st.integers(1, 1000))
def test_changes_of_ids(ids: list[int], times: int) -> None:
    repeated = np.repeat(np.array(ids), times)
    wanted = [row for row in range(1, len(repeated)) if repeated[row] != repeated[row - 1]]
    assert lists.changes(repeated).tolist() == [0, *wanted]
    assert lists.changes(repeated.astype(str)).tolist() == [0, *wanted]


@given(batches(), st.integers(1, 12))
def test_score_of_the_last_place(batch: tuple[np.ndarray, ...], k: int) -> None:
    scores, _, begin, size, _ = batch
    whole = scores.astype(lists.working_dtype(scores.dtype))
    wanted = [
        sorted(whole[start : start + length].tolist(), reverse=True)[min(k, length) - 1]
        for start, length in zip(begin, size, strict=True)
    ]
    assert lists.last_places(scores, begin, size, k).tolist() == wanted
