"""What every ranking is counted with, against counting by hand: distinct rows, and scores of any two types."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgauge import ranking
from graphgauge.core.errors import InputError
from graphgauge.ranking import counting
from graphgauge.ranking.counting import distinct, tally

SMALL, LARGE = st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)
DTYPES = ["float16", "float32", "float64", "bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.hypothesis
@pytest.mark.parametrize("elements", [SMALL, st.integers(-(10**6), 10**6), SMALL | LARGE])
def test_distinct_rows_sorted_with_their_counts(elements: st.SearchStrategy[int]) -> None:
    @given(st.lists(st.tuples(elements, elements, SMALL), min_size=1, max_size=40))
    @settings(max_examples=60)
    def check(rows: list[tuple[int, int, int]]) -> None:
        columns = [np.array([row[i] for row in rows], np.int64) for i in range(3)]
        found, counts = tally(columns)
        expected = sorted(Counter(rows).items())
        assert list(zip(*(column.tolist() for column in found), strict=True)) == [row for row, _ in expected]
        assert counts.tolist() == [count for _, count in expected]
        assert tally(found, counts)[1].tolist() == counts.tolist()
        first, number = distinct(columns)
        assert all((column[first][number] == column).all() for column in columns)

    check()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8, np.int32, np.uint32])
def test_narrow_columns_do_not_overflow(dtype: type[np.generic]) -> None:
    column = np.array([1, 0, 1], dtype)
    largest = np.array([np.iinfo(np.int32).max, 0, np.iinfo(np.int32).max])
    found, counts = tally([column, largest])
    assert [part.tolist() for part in found] == [[0, 1], [0, 2**31 - 1]]
    assert counts.tolist() == [1, 2]


def drawn(rng: np.random.Generator, shape: int | tuple[int, int], dtype: str) -> Any:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        return rng.integers(0, 12, shape).astype(kind)
    values = np.round(rng.standard_normal(shape), 1)
    values.flat[:6] = [0.0, -0.0, np.inf, -np.inf, 5e-324, 6e-8]
    return values.astype(kind)


@pytest.mark.parametrize("few", [0, 10**9], ids=["placed", "merged"])
@pytest.mark.parametrize("neg", DTYPES)
@pytest.mark.parametrize("pos", DTYPES)
def test_scores_of_any_two_types_are_counted(pos: str, neg: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_FEW_POSITIVES", few)
    rng = np.random.default_rng(0)
    one, others = drawn(rng, 20, pos), drawn(rng, (20, 30), neg)
    level, pool = counting.levels(one, others.ravel()), others.ravel().tolist()
    valued = Counter(one.tolist())
    assert level.values.tolist() == sorted(valued, reverse=True)
    assert level.positives.tolist() == [valued[value] for value in sorted(valued, reverse=True)]
    assert level.greater.tolist() == [sum(x > value for x in pool) for value in level.values.tolist()]
    assert level.equal.tolist() == [sum(x == value for x in pool) for value in level.values.tolist()]
    rows = counting.row_counts(one, np.asfortranarray(others))
    assert rows.greater.tolist() == [
        sum(x > p for x in row) for p, row in zip(one.tolist(), others.tolist(), strict=True)
    ]
    assert rows.equal.tolist() == [
        sum(x == p for x in row) for p, row in zip(one.tolist(), others.tolist(), strict=True)
    ]


def test_integers_that_do_not_compare_exactly_are_refused() -> None:
    large = np.array([2**53 + 1, 2**53])
    assert counting.levels(large, large).greater.tolist() == [0, 1]
    assert counting.row_counts(large[:1], large[None]).greater.tolist() == [0]
    with pytest.raises(InputError, match="does not compare exactly with floats"):
        counting.row_counts(np.array([0.5]), large[None])
    with pytest.raises(InputError, match="9007199254740993 beyond"):
        counting.levels(large, np.array([0.5]))


def test_areas_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    for m, n in ((3, 2000), (400, 900), (1, 1)):
        pos, neg = np.round(rng.normal(0.5, 1, m), 1), np.round(rng.normal(0, 1, n), 1)
        labels, scores = np.append(np.ones(m), np.zeros(n)), np.append(pos, neg)
        assert ranking.roc_auc(pos, neg) == pytest.approx(roc_auc_score(labels, scores), abs=1e-14)
        assert ranking.average_precision(pos, neg) == pytest.approx(average_precision_score(labels, scores), abs=1e-14)
