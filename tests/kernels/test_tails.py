from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import average_precision_score, roc_auc_score

from graphgauge.kernels import tails as module
from graphgauge.kernels import threads
from graphgauge.kernels.dtypes import Scores
from graphgauge.kernels.tails import TailCounts, average_precision, roc_auc, roc_auc_wins, tail_counts

DTYPES = [
    "float16",
    "float32",
    "float64",
    ">f8",
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
]


@pytest.fixture(params=["merged", "placed"])
def strategy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(module, "_FEW_POSITIVES", {"merged": 10**9, "placed": 0}[request.param])
    return str(request.param)


def drawn(rng: np.random.Generator, size: int, dtype: str) -> Scores:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(size) < 0.5
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        ends = np.array([limits.min, limits.max], kind)
        return np.append(rng.integers(0, 20, size - 2).astype(kind), ends)
    values = np.round(rng.standard_normal(size), 1)
    values[:9] = [0.0, -0.0, np.inf, -np.inf, 5e-324, -5e-324, 6e-8, np.nan, -np.nan]
    return rng.permutation(values).astype(kind)


def by_hand(pos: list[Any], neg: list[Any]) -> list[tuple[Any, int, int, int]]:
    valued = Counter(p for p in pos if p == p)
    return [
        (value, valued[value], sum(x > value for x in neg), sum(x == value for x in neg))
        for value in sorted(valued, reverse=True)
    ]


def listed(tails: TailCounts) -> list[tuple[Any, int, int, int]]:
    columns = (tails.values, tails.positives, tails.greater, tails.equal)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2])
def test_every_dtype(dtype: str, count: int, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BLOCK_WORK", 50)
    rng = np.random.default_rng(0)
    pos, neg = drawn(rng, 60, dtype), drawn(rng, 300, dtype)
    kept = pos.copy(), neg.copy()
    pos.flags.writeable = neg.flags.writeable = False
    tails = tail_counts(pos, neg, threads=count)
    assert listed(tails) == by_hand(pos.tolist(), neg.tolist())
    missing = 2 if pos.dtype.kind == "f" else 0
    assert (tails.negatives, tails.pos_missing, tails.neg_missing) == (300 - missing, missing, missing)
    np.testing.assert_array_equal(pos, kept[0])
    np.testing.assert_array_equal(neg, kept[1])


@pytest.mark.parametrize(
    ("pos_dtype", "neg_dtype"), [("float64", "float32"), ("float32", "float64"), ("int8", "float16")]
)
def test_mixed_dtypes(pos_dtype: str, neg_dtype: str, strategy: str) -> None:
    rng = np.random.default_rng(1)
    pos, neg = drawn(rng, 40, pos_dtype)[::2], np.repeat(drawn(rng, 40, neg_dtype), 2)[::2]
    assert listed(tail_counts(pos, neg)) == by_hand(pos.tolist(), neg.tolist())


def test_integers_that_are_no_float64_stay_apart(strategy: str) -> None:
    pos, neg = np.array([2**62 + 1]), np.array([2**62, 2**62 + 1, 2**62 + 2, 2**62 + 3])
    assert listed(tail_counts(pos, neg)) == [(2**62 + 1, 1, 2, 1)]
    with pytest.raises(ValueError, match="beyond"):
        tail_counts(pos, np.array([0.5]))


@pytest.mark.parametrize("spread", [1.0, 1e-310, 1e308, 0.0])
def test_any_range_of_scores_is_placed(spread: float, strategy: str) -> None:
    rng = np.random.default_rng(2)
    pos, neg = spread * rng.uniform(-1, 1, 300), spread * rng.uniform(-1, 1, 300)
    pos[:3], neg[:3] = [np.inf, -np.inf, 1e308], [np.inf, -np.inf, -1e308]
    neg[50:100] = pos[50:100]
    assert listed(tail_counts(pos, neg)) == by_hand(pos.tolist(), neg.tolist())


@pytest.mark.parametrize(("pos", "neg"), [([], []), ([1.0], []), ([], [1.0]), ([np.nan], [np.nan])])
def test_an_empty_side_has_no_value(pos: list[float], neg: list[float], strategy: str) -> None:
    tails = tail_counts(np.array(pos), np.array(neg))
    assert listed(tails) == by_hand(pos, neg)
    assert roc_auc_wins(tails) == 0
    assert math.isnan(roc_auc(tails))
    assert math.isnan(average_precision(tails))


def test_one_dimension_only() -> None:
    with pytest.raises(ValueError, match="one-dimensional"):
        tail_counts(np.zeros((2, 2)), np.zeros(2))


def test_zeros_of_either_sign_are_one_value(strategy: str) -> None:
    tails = tail_counts(np.array([-0.0, 0.0, -0.0]), np.array([0.0, -0.0]))
    assert listed(tails) == [(0.0, 3, 0, 2)]
    assert not np.signbit(tails.values[0])


@pytest.mark.parametrize("decimals", [1, 3, 16])
def test_against_scikit_learn(decimals: int, strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BLOCK_WORK", 1000)
    monkeypatch.setattr(module, "_CACHED_WORK", 300)
    rng = np.random.default_rng(3)
    pos, neg = np.round(rng.standard_normal(1500) + 0.5, decimals), np.round(rng.standard_normal(4000), decimals)
    tails = tail_counts(pos, neg)
    labels, scores = np.repeat([1, 0], [pos.size, neg.size]), np.append(pos, neg)
    assert roc_auc(tails) == pytest.approx(roc_auc_score(labels, scores), abs=1e-14)
    assert average_precision(tails) == pytest.approx(average_precision_score(labels, scores), abs=1e-14)


def test_wins_are_exact_beyond_64_bits() -> None:
    count = np.array([2**31 + 1, 5])
    tails = TailCounts(np.array([1.0, 0.0]), count, np.array([0, 2**40 + 1]), np.array([3, 7]), 2**45 + 3, 0, 0)
    expected = sum(p * (2 * (2**45 + 3 - g) - e) for _, p, g, e in listed(tails))
    assert roc_auc_wins(tails) == expected > 2**64
    assert roc_auc(tails) == float(Fraction(expected, 2 * int(count.sum()) * (2**45 + 3)))


@pytest.mark.hypothesis
def test_both_strategies_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    @given(st.data())
    @settings(max_examples=60)
    def check(data: st.DataObject) -> None:
        dtype = data.draw(st.sampled_from(["float16", "float32", "float64"]))
        values = hnp.from_dtype(np.dtype(dtype)) | st.sampled_from([0.0, -0.0, 1.0])
        pos, neg = (data.draw(hnp.arrays(dtype, st.integers(0, 30), elements=values)) for _ in range(2))
        expected = by_hand(pos.tolist(), neg.tolist())
        for few in (0, 10**9):
            monkeypatch.setattr(module, "_FEW_POSITIVES", few)
            assert listed(tail_counts(pos, neg)) == expected

    check()
