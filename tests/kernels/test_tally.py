from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphgauge.kernels.tally import tally

SMALL, LARGE = st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)


@pytest.mark.hypothesis
@pytest.mark.parametrize("elements", [SMALL, st.integers(-(10**6), 10**6), SMALL | LARGE])
def test_distinct_rows_sorted_with_their_counts(elements: st.SearchStrategy[int]) -> None:
    @given(st.lists(st.tuples(elements, elements, SMALL), max_size=40))
    @settings(max_examples=60)
    def check(rows: list[tuple[int, int, int]]) -> None:
        columns = [np.array([row[i] for row in rows], np.int64) for i in range(3)]
        distinct, counts = tally(columns)
        expected = sorted(Counter(rows).items())
        assert list(zip(*(column.tolist() for column in distinct), strict=True)) == [row for row, _ in expected]
        assert counts.tolist() == [count for _, count in expected]
        own = np.arange(1, len(rows) + 1)
        assert tally(distinct, counts)[1].tolist() == counts.tolist()
        assert tally(columns, own)[1].sum() == own.sum()

    check()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int32, np.uint32])
def test_narrow_columns_do_not_overflow(dtype: type[np.generic]) -> None:
    column = np.array([1, 0, 1], dtype)
    largest = np.array([np.iinfo(np.int32).max, 0, np.iinfo(np.int32).max])
    distinct, counts = tally([column, largest])
    assert [part.tolist() for part in distinct] == [[0, 1], [0, 2**31 - 1]]
    assert counts.tolist() == [1, 2]


def test_many_rows_of_few_kinds() -> None:
    column = np.arange(10_000) % 7
    distinct, counts = tally([column, column % 2])
    assert distinct[0].tolist() == list(range(7))
    assert counts.tolist() == np.bincount(column).tolist()
